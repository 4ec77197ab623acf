"""`lowregret experts` with intervals, quantiles, prices and costs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.cli.interval_columns import IntervalEnds
from lowregret.experts import ConformalIntervals, ExponentiatedGradient, Layered, OnlineNewton, Quantiles, rebalanced
from tests.cli.running import run, written
from tests.cli.test_report import Page

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def forecasts(tmp_path: Path, rows: int = 60) -> tuple[Path, Any, Any, Any]:
    """A table in statsforecast's columns: two models with both ends of 80 % and 95 %, a third with none."""
    rng = np.random.default_rng(0)
    y = rng.normal(10, 1, rows).round(4)
    points = (10 + rng.normal(0, 0.3, (rows, 3))).round(4)
    ends = (points[:, :2, None] + np.array([-1.96, -1.28, 1.28, 1.96]) * [[0.8], [1.3]]).round(4)
    head = "ds,y,A,B,C," + ",".join(f"{m}-{end}" for m in "AB" for end in ("lo-95", "lo-80", "hi-80", "hi-95"))
    lines = [head]
    for t in range(rows):
        outcome = "" if t == rows - 1 else y[t]
        lines.append(",".join(map(str, [f"2020-01-{t % 28 + 1:02d}", outcome, *points[t], *ends[t].ravel()])))
    y[-1] = math.nan
    return written(tmp_path / "cv.csv", lines), y, points, ends


def test_intervals_and_quantiles_beside_the_mixture(capsys: Capsys, tmp_path: Path) -> None:
    file, y, points, ends = forecasts(tmp_path)
    said = tmp_path / "p.tsv"
    words = (file, "--target", "y", "--coverage", "0.8", "--intervals", "--predictions", said)
    told = run(capsys, "experts", *words, "--json")
    assert told.code == 0, told.err
    mixture = Layered(["A", "B", "C"], compiled=False).learn(points, y)
    around = ConformalIntervals(0.8, compiled=False).learn(mixture.forecasts, y)
    levels = [0.025, 0.1, 0.9, 0.975]
    mixed = Quantiles(["A", "B"], levels, compiled=False).learn(ends, y)
    assert told.json["experts"]["names"] == ["A", "B", "C"]
    assert told.json["coverage"]["realised"] == pytest.approx(around.coverage.realised)
    assert told.json["coverage"]["holds"]
    assert told.json["coverage"]["low"] <= 0.8 <= told.json["coverage"]["high"]
    assert told.json["quantiles"]["experts"] == ["A", "B"]
    assert [row["level"] for row in told.json["quantiles"]["levels"]] == pytest.approx(levels)
    assert told.json["quantiles"]["crps"] == pytest.approx(mixed.loss / 59)
    rows = np.loadtxt(said)
    np.testing.assert_allclose(rows[:, 0], mixture.forecasts)
    np.testing.assert_allclose(rows[:, 1:3], np.column_stack([around.lower, around.upper]))
    np.testing.assert_allclose(rows[:, 3:], mixed.forecasts)
    assert np.all(np.isfinite(rows[-1]))  # the row without an outcome is forecast
    plain = run(capsys, "experts", *words).out
    assert "80% wanted" in plain
    assert "whatever the outcomes" in plain
    assert "out of interval columns of A, B" in plain
    assert "level 0.025: pinball" in plain


def test_levels_of_all_experts(capsys: Capsys, tmp_path: Path) -> None:
    file, y, points, _ = forecasts(tmp_path)
    words = ("--target", "y", "--experts", "A,B,C", "--levels", "0.9,0.1")
    told = run(capsys, "experts", file, *words, "--json").json
    mixed = Quantiles(["A", "B", "C"], [0.1, 0.9], compiled=False).learn(points, y)
    assert told["quantiles"]["crps"] == pytest.approx(mixed.loss / 59)
    assert "coverage" not in told


def test_the_report_and_a_picture_of_coverage(capsys: Capsys, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    file, *_ = forecasts(tmp_path)
    words = ("--target", "y", "--coverage", "0.8", "--intervals", "--report", tmp_path / "r.html")
    told = run(capsys, "experts", file, *words, "--plot", tmp_path / "w.png", "--quiet")
    assert told.code == 0, told.err
    page = Page((tmp_path / "r.html").read_text())
    assert page.open == []
    assert "Coverage over the rounds" in " ".join(page.words)
    assert (tmp_path / "w.coverage.png").stat().st_size > 1000


def test_ends_of_intervals_by_their_names() -> None:
    columns = ["y", "A", "A-lo-80", "A-hi-80", "B_lo_80", "B_hi_80", "C-lo-80", "D_lower", "D_upper", "lo-80", "hi"]
    bounds = IntervalEnds.among(columns)
    assert bounds.levels == [0.1, 0.9]
    assert bounds.experts == ["A", "B"]
    assert IntervalEnds.among(columns, 80).experts == ["A", "B", "D"]
    assert IntervalEnds.among(columns, 50).levels == [0.1, 0.25, 0.75, 0.9]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "y", "--coverage", "90"], "expected a share strictly between 0 and 1, such as 0.9"),
        (["--target", "y", "--levels", "0.1,2"], "expected a share strictly between 0 and 1"),
        (["--target", "y", "--levels", "0.1", "--intervals"], "say one of them"),
        (["--target", "y", "--loss", "log", "--coverage", "0.9"], "--coverage is for forecasts of numbers"),
        (["--target", "y", "--intervals", "200"], "none strictly between 0 and 100"),
        (["--target", "y", "--prices"], "--prices is for --loss portfolio, not square"),
        (["--target", "y", "--cost", "0.1"], "--cost is for --loss portfolio"),
        (["--target", "y", "--algorithm", "universal"], "universal is for --loss portfolio"),
        (["--target", "y", "--beta", "1"], "takes no --beta"),
        (["--loss", "portfolio", "--coverage", "0.9"], "--coverage is for forecasts of numbers"),
    ],
)
def test_what_is_wrong_is_said(capsys: Capsys, tmp_path: Path, words: list[str], message: str) -> None:
    file = written(tmp_path / "t.csv", ["y,a,a_lower", "1,2,1", "1,2,1"])
    told = run(capsys, "experts", file, *words)
    assert told.code == 2
    assert message in told.err


def test_no_ends_of_intervals(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "t.csv", ["y,a", "1,2", "1,2"])
    assert "expected columns such as NAME-lo-80" in run(capsys, "experts", file, "--target", "y", "--intervals").err


# ---- portfolios ------------------------------------------------------------------------------------------------------


def walk(rows: int = 60, assets: int = 3, start: float = 100.0) -> Any:
    moves = np.exp(np.random.default_rng(4).normal(0, 0.02, (rows, assets)))
    return (start * np.cumprod(moves, axis=0)).round(6)


def priced(tmp_path: Path, prices: Any, name: str = "prices.csv") -> Path:
    cells = [",".join("" if math.isnan(v) else f"{v:.10g}" for v in row) for row in prices]
    return written(tmp_path / name, [",".join("abcdef"[: prices.shape[1]]), *cells])


def test_prices_that_are_taken_for_relatives_are_refused(capsys: Capsys, tmp_path: Path) -> None:
    """They used to end with a wealth of inf, and exit code 0."""
    for start, message in ((100.0, "holds numbers around 1"), (1.15, "if these are prices, say --prices")):
        prices = walk(start=start) if start > 2 else 1.15 + (walk() - 100) / 500
        told = run(capsys, "experts", priced(tmp_path, prices), "--loss", "portfolio")
        assert told.code == 2
        assert message.lower() in told.err.lower()
        assert "--prices" in told.err
    steady = np.column_stack([np.full(3000, 1.01), np.tile([0.99, 1.01], 1500)])
    assert "product over 3,000 rows" in run(capsys, "experts", priced(tmp_path, steady), "--loss", "portfolio").err
    cash = np.column_stack([np.full(60, 1.0001), np.diff(walk(61)[:, 0]) / 100 + 1])
    assert run(capsys, "experts", priced(tmp_path, cash), "--loss", "portfolio").code == 0


def test_prices_become_relatives(capsys: Capsys, tmp_path: Path) -> None:
    prices = walk()
    prices[:20, 1], prices[50:, 2] = math.nan, math.nan
    file = priced(tmp_path, prices)
    told = run(capsys, "experts", file, "--loss", "portfolio", "--prices", "--cost", "0.002", "--json")
    assert told.code == 0, told.err
    x = prices[1:] / prices[:-1]
    portfolio = ExponentiatedGradient(3, cost=0.002, compiled=False).learn(x)
    found = told.json["portfolio"]
    assert told.json["rounds"] == 59
    assert found["wealth"] == pytest.approx(portfolio.wealth)
    assert found["costs_paid"] == pytest.approx(portfolio.ledger.paid)
    assert found["drawdown"] == pytest.approx(portfolio.drawdown)
    assert found["sharpe"] == pytest.approx(portfolio.sharpe(252))
    even = rebalanced(np.ones(3) / 3, x, 0.002, compiled=False)
    assert found["others"]["evenly spread"] == pytest.approx(even.wealth)
    assert told.json["certificate"]["holds"]
    plain = run(capsys, "experts", file, "--loss", "portfolio", "--prices", "--cost", "0.002", "--periods", "12").out
    assert "after costs of 0.002 of what is bought or sold, which took" in plain
    assert "not listed       2 of 3 assets" in plain
    assert "12 periods a year" in plain
    assert "nearly uniform   its weights at η = 0.05 were never further than" in plain
    loud = run(capsys, "experts", file, "--loss", "portfolio", "--prices", "--algorithm", "eg", "--eta", "30").out
    assert "nearly uniform" not in loud


def test_algorithms_of_portfolios(capsys: Capsys, tmp_path: Path) -> None:
    x = np.exp(np.random.default_rng(2).normal(0, 0.02, (30, 3))).round(8)
    file = priced(tmp_path, x)
    words = ("experts", file, "--loss", "portfolio", "--json", "--algorithm")
    for algorithm in ("newton", "universal", "adahedge", "bayes", "eg"):
        told = run(capsys, *words, algorithm)
        assert told.code == 0, told.err
        assert told.json["certificate"]["holds"]
    own = run(capsys, *words, "newton", "--beta", "1", "--delta", "0.125").json
    assert own["portfolio"]["wealth"] == pytest.approx(OnlineNewton(3, 1.0, 0.125, compiled=False).learn(x).wealth)
    assert not own["certificate"]["holds"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a,b", "1,2", "1,0", "1,2"], "p.csv:3: 0 in column 'b': expected a price above 0"),
        (["a,b", "1,2", "1,", "1,2"], "p.csv:3: column 'b' has no price between others that it has: fill it in"),
        (["a,b", "1,", "1,", ",2", ",3"], "p.csv:4: no asset has a price"),
        (["a,b", "1,2"], "no asset with two prices in a row"),
        (["a", *(f"{1 + 0.01 * math.sin(t * t):.6f}" for t in range(40))], "seems to hold price relatives already"),
    ],
)
def test_prices_that_are_none(capsys: Capsys, tmp_path: Path, rows: list[str], message: str) -> None:
    told = run(capsys, "experts", written(tmp_path / "p.csv", rows), "--loss", "portfolio", "--prices")
    assert told.code == 2
    assert message in told.err


def test_growth_is_drawn_at_the_dates_on_which_it_was_known(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prices, dates = walk(), [str(np.datetime64("2024-01-01") + t) for t in range(len(walk()))]
    prices[:3] = math.nan
    lines = [",".join(["ds", *"abcdef"[: prices.shape[1]]])]
    for day, row in zip(dates, prices, strict=True):
        lines.append(",".join([day, *("" if math.isnan(v) else f"{v:.10g}" for v in row)]))
    drawn: list[Any] = []
    monkeypatch.setattr("lowregret.experts.review.Review.plot", lambda *_, times, **__: drawn.append(times))
    words = ("--loss", "portfolio", "--prices", "--plot", tmp_path / "p.png", "--json")
    told = run(capsys, "experts", written(tmp_path / "p.csv", lines), *words)
    assert told.code == 0, told.err
    assert told.json["rounds"] == len(dates) - 4
    assert [str(day)[:10] for day in drawn[0]] == dates[4:]


@pytest.mark.parametrize("algorithm", ["auto", "eg", "squint", "adahedge", "ogd"])
def test_what_is_said_to_move_a_portfolio_further_is_possible(capsys: Capsys, tmp_path: Path, algorithm: str) -> None:
    eta = ["--eta", "0.001"] if algorithm in ("eg", "ogd") else []
    words = ["experts", priced(tmp_path, walk()[:6, [0, 0]]), "--loss", "portfolio", "--prices"]
    told = run(capsys, *words, "--algorithm", algorithm, *eta)
    assert "nearly uniform" in told.out
    remedy = told.out.partition("(½Σ|w − 1/N|): ")[2]
    named = remedy.split("--algorithm ")[1].split()[0] if remedy.startswith("--algorithm") else algorithm
    further = run(capsys, *words, "--algorithm", named, "--eta", "0.5")
    assert further.code == 0, further.err
    assert f"or {algorithm}" not in remedy


def test_no_deviation_has_no_ratio(capsys: Capsys, tmp_path: Path) -> None:
    told = run(capsys, "experts", priced(tmp_path, walk()[:2]), "--loss", "portfolio", "--prices")
    assert "sharpe           unknown: returns of one round" in told.out
    assert "nan" not in told.out


@pytest.mark.parametrize("algorithm", ["eg", "hedge", "ogd"])
def test_theory_promises_nothing_after_costs(capsys: Capsys, tmp_path: Path, algorithm: str) -> None:
    file = written(tmp_path / "x.csv", ["a,b", *["0.97,1.05", "1.05,0.97"] * 30])
    words = ["experts", file, "--loss", "portfolio", "--algorithm", algorithm, "--eta", "theory"]
    found = run(capsys, *words, "--json").json
    assert found["best"]["regret"] <= found["promise"]["bound"]
    told = run(capsys, *words, "--cost", "0.3")
    assert told.code == 2
    assert "--eta theory promises a regret before costs" in told.err
    words[-1] = repr(found["promise"]["eta"])
    assert run(capsys, *words, "--cost", "0.3").code == 0
