"""`lowregret experts` on tables as forecasters have them: columns that are no forecasts, losses by usual names."""

from __future__ import annotations

import datetime
import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import load
from lowregret.cli.forecast_losses import loss_names
from lowregret.cli.forecasts import Forecasts
from lowregret.stream.table import read_table
from tests.cli.running import run, written
from tests.cli.test_experts import numbers, table
from tests.cli.test_report import Page

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
WORDS = ("--target", "y", "--algorithm", "adahedge")


def test_very_many_columns_take_the_time_of_their_text(tmp_path: Path) -> None:
    names = [f"e{i}" for i in range(40_000)]
    columns = read_table(str(written(tmp_path / "wide.csv", [",".join([*names, "y"]), ",".join(["1"] * 40_001)])))
    found = Forecasts(columns, names, np.ones((1, 40_000)), np.ones(1))
    begin = time.process_time()
    assert found.times is None
    assert time.process_time() - begin < 1


def day(t: Any) -> datetime.date:
    return datetime.date(2024, 1, 1) + datetime.timedelta(int(t))


def other_columns(rows: int) -> dict[str, Any]:
    """What else stands in tables of forecasts."""
    t = np.arange(rows)
    return {
        "id": t + 100,
        "date": [int(f"{day(s):%Y%m%d}") for s in t],
        "epoch": 1_700_000_000 + 86_400 * t,
        "steps": t % 3 + 1,
        "issue_date": [int(f"{day(3 * (s // 3)):%Y%m%d}") for s in t],
        "a-lo-80": 9.0 + t % 2,
        "a-hi-80": 11.0 + t % 2,
        "b_lower": 9.5 + t % 2,
        "b_upper": 11.5 + t % 2,
    }


REASONS = dict.fromkeys(["a-lo-80", "a-hi-80", "b_lower", "b_upper"], "a bound of an interval") | {
    "id": "names of rows",
    "date": "a time",
    "epoch": "time since 1970",
    "steps": "a horizon",
    "issue_date": "an origin",
}


def test_what_is_no_forecast_is_no_expert(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    columns = {**other_columns(60), "y": y, "a": x[:, 0], "b": x[:, 1], "c": x[:, 2]}
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values(), strict=True))]
    file = written(tmp_path / "all.csv", lines)
    told = run(capsys, "experts", file, *WORDS, "--json").json
    plain = run(capsys, "experts", table(tmp_path, x, y), *WORDS, "--json").json
    assert told["experts"] == plain["experts"]
    assert told["loss"] == plain["loss"]
    assert told["left_out"] == REASONS
    assert [w.split(" is not used")[0] for w in told["warnings"]] == ["the column 'steps'", "the column 'issue_date'"]
    text = run(capsys, "experts", file, *WORDS).out
    assert "date (a time)" in text
    assert "careful          the column 'steps' is not used" in text
    for k, name in enumerate("abc"):
        assert (
            f"{name}  {((x[:, k] - y) ** 2).mean():.6g} a round, weight now {told['experts']['weights'][k]:.3g}" in text
        )
    named = run(capsys, "experts", file, *WORDS, "--experts", "steps,a", "--json").json
    assert named["experts"]["names"] == ["steps", "a"]


def test_whole_numbers_that_are_dates_are_no_origins_to_count_on_from(capsys: Capsys, tmp_path: Path) -> None:
    """100 days after 20240131 is not 20240231; a column that counts rows is no series either."""
    x, y = numbers()
    origins = [f"{day(3 * (s // 3)):%Y%m%d}" for s in range(60)]
    lines = ["id,cutoff,h,y,a,b"]
    lines += [f"{s},{origins[s]},{s % 3 + 1},{y[s]},{x[s, 0]},{x[s, 1]}" for s in range(60)]
    told = run(capsys, "experts", written(tmp_path / "m.csv", lines), *WORDS)
    assert "how long a step is cannot be known of dates: give the time too" in told.err
    lines = [lines[0] + ",period", *(f"{line},{day(s + 1):%Y%m%d}" for s, line in enumerate(lines[1:]))]
    told = run(capsys, "experts", written(tmp_path / "m.csv", lines), *WORDS, "--algorithm", "ml-poly", "--json")
    assert told.json["layout"] == {
        "time": "period", "cutoff": "cutoff", "horizon": "h", "outcome": "y", "layout": "M-competition"
    }  # fmt: skip
    assert told.json["experts"]["names"] == ["a", "b"]


def test_times_in_parquet_are_no_experts(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    x, y = numbers()
    when = [datetime.datetime(2024, 1, 1) + datetime.timedelta(days=t) for t in range(60)]
    columns = {
        "when": pa.array(when),
        "origin of it": pa.array(when, pa.timestamp("ns", "UTC")),
        "day": pa.array([w.date() for w in when]),
        "ahead": pa.array([datetime.timedelta(hours=t) for t in range(60)]),
        "holiday": pa.array([t % 7 == 0 for t in range(60)]),
        "y": y,
        "a": x[:, 0],
        "b": x[:, 1],
    }
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    plot = tmp_path / "w.svg"
    told = run(capsys, "experts", tmp_path / "t.parquet", *WORDS, "--json", "--plot", plot).json
    assert told["experts"]["names"] == ["a", "b"]
    times = dict.fromkeys(["when", "origin of it", "day", "ahead"], "a time")
    assert told["left_out"] == times | {"holiday": "truth values"}
    assert told["loss"]["mean"] < 1
    assert plot.stat().st_size > 1000


def test_other_units_and_headers_of_numbers_are_told(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    x[:, 1] *= 1000
    told = run(capsys, "experts", table(tmp_path, x, y), *WORDS, "--json").json
    assert [w.split(" says")[0] for w in told["warnings"]] == ["the expert 'b'"]
    relatives = np.random.default_rng(0).uniform(0.9, 1.1, (20, 3)).round(4)
    file = written(tmp_path / "r.csv", [",".join(map(str, row)) for row in relatives])
    text = run(capsys, "experts", file, "--loss", "portfolio").out
    assert "if the first line is no header, say --no-header" in text
    assert "--no-header" not in run(capsys, "experts", file, "--loss", "portfolio", "--no-header").out


def test_no_forecasts_at_all(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "none.csv", ["y,date,a-lo-80", "1,20240101,2", "2,20240102,3"])
    told = run(capsys, "experts", file, "--target", "y")
    assert told.code == 2
    assert "name --experts. Left out: date (a time), a-lo-80 (a bound of an interval)" in told.err


@pytest.mark.parametrize(("usual", "other"), [("mae", "absolute"), ("mse", "square"), ("pinball:0.9", "quantile:0.9")])
def test_usual_names_of_losses(capsys: Capsys, tmp_path: Path, usual: str, other: str) -> None:
    file = table(tmp_path, *numbers())
    one, two = (run(capsys, "experts", file, *WORDS, "--loss", name, "--json").json for name in (usual, other))
    assert {**one["loss"], "name": ""} == {**two["loss"], "name": ""}
    assert one["certificate"] == two["certificate"]


@pytest.mark.parametrize(
    ("made", "usual"),
    [
        ("mae", "mae"),
        ("rmse", "mse"),
        ("brier", "mse"),
        ("pinball:0.9", "pinball:0.9"),
        ("log", "log"),
        ("huber:2", "huber:2.0"),
    ],
)
def test_a_mixture_that_goes_on_calls_its_loss_by_its_name(
    capsys: Capsys, tmp_path: Path, made: str, usual: str
) -> None:
    """`rmse` and `brier` were told as mse, for a file held the loss alone; names that are not of it are not told."""
    x, y = numbers()
    file, model = table(tmp_path, np.clip(x, 0.1, 0.9), (y > 0).astype(float)), str(tmp_path / "m.lr")
    for more in ((), ("--delay", 2)):
        assert run(capsys, "experts", file, *WORDS, "--loss", made, "-o", model, *more).code == 0
        for name, later in ((made, made), ("mase:3", usual), ("no name", usual)):
            mixture: Any = load(model)
            mixture.called = name
            mixture.save(model)
            told = run(capsys, "experts", file, "--target", "y", "--resume", model)
            assert f"loss: {later}" in told.out
            assert ("root mean square" in told.out) == (later == "rmse")


def test_the_root_of_the_mean_is_shown(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    file = table(tmp_path, x, y)
    text = run(capsys, "experts", file, *WORDS, "--loss", "rmse").out
    assert f"{math.sqrt(((x.mean(1) - y) ** 2).mean()):.6g} root mean square" in text
    assert "to the best expert, in squares" in text
    roots, squares = (run(capsys, "experts", file, *WORDS, "--loss", name, "--json").json for name in ("rmse", "mse"))
    assert roots["loss"]["mean"] == pytest.approx(math.sqrt(squares["loss"]["mean"]))
    assert f"the mixture      {roots['loss']['mean']:.6g} root mean square" in text
    assert {key for key in roots if roots[key] != squares[key]} <= {"loss", "seconds"}
    assert roots["loss"]["total"] == squares["loss"]["total"]


def test_scaled_errors(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    file, said = table(tmp_path, x, y), tmp_path / "p.txt"
    told = run(capsys, "experts", file, *WORDS, "--loss", "mase:7", "--predictions", said, "--json").json
    assert told["rounds"] == 52
    p = np.loadtxt(said)
    scale = [np.mean(np.abs(y[7:t] - y[: t - 7])) for t in range(8, 60)]
    assert told["loss"]["total"] == pytest.approx(np.sum(np.abs(p - y)[8:] / scale))
    assert np.all((p >= x.min(1) - 1e-9) & (p <= x.max(1) + 1e-9))
    text = run(capsys, "experts", file, *WORDS, "--loss", "mase:7").out
    assert "8 rows without an outcome, or before the naive forecast was wrong once" in text


def test_losses_of_this_command_are_told(capsys: Capsys, tmp_path: Path) -> None:
    file = table(tmp_path, *numbers(5))
    for name in ("cubic", "hinge", "oaa:hinge"):
        told = run(capsys, "experts", file, *WORDS, "--loss", name)
        assert (
            f"there is no loss '{name.partition(':')[0]}' of forecasts; there are {', '.join(loss_names())}" in told.err
        )
    assert "hinge" not in loss_names()
    for name, message in (("mase:x", "the season of mase is"), ("mae:3", "mae takes no parameter")):
        assert message in run(capsys, "experts", file, *WORDS, "--loss", name).err


def test_smape_promises_nothing_and_says_so(capsys: Capsys, tmp_path: Path) -> None:
    text = run(capsys, "experts", table(tmp_path, *numbers()), *WORDS, "--loss", "smape").out
    assert "nothing was promised" in text
    assert "SymmetricPercentage is not convex" in text


def test_boa_and_calibrated_rates(capsys: Capsys, tmp_path: Path) -> None:
    for name, theorem in (("boa", "BOA"), ("calibrated", "LAYERED")):
        words = ("--target", "y", "--algorithm", name, "--json")
        told = run(capsys, "experts", table(tmp_path, *numbers()), *words).json
        assert told["certificate"]["id"] == theorem
        assert told["certificate"]["holds"]


def test_the_report_has_dates_and_all_experts(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    lines = ["ds,y,a,b,c", *(f"{day(t)},{y[t]},{x[t, 0]},{x[t, 1]},{x[t, 2]}" for t in range(60))]
    report = tmp_path / "r.html"
    told = run(capsys, "experts", written(tmp_path / "d.csv", lines), *WORDS, "--report", report)
    assert told.code == 0, told.err
    text = report.read_text()
    page = Page(text)
    assert page.open == []
    words = " ".join(page.words)
    for expected in ("Weights, losses and regret over time", "weight in hindsight", "ds", "a time"):
        assert expected in words
    assert "<!-- 2024-01-" in text or "<!-- 2024-02-" in text  # what the axis says
    assert "the best expert: a" in text


LONG = ["unique_id,ds,cutoff,y,a,b", *(f"s,{t + 1},{t},{t % 3},{t % 2},1" for t in range(6))]
PRICES = ["A,B", "1,2", "1.1,2", "1,2.2"]


def test_what_cannot_go_on_with_a_table_is_refused(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    plain, long, prices = table(tmp_path, x, y), written(tmp_path / "l.csv", LONG), written(tmp_path / "p.csv", PRICES)
    invest = "--loss", "portfolio", "--algorithm", "newton"
    assert run(capsys, "experts", plain, *WORDS, "-o", tmp_path / "plain.lr").code == 0
    assert run(capsys, "experts", prices, *invest, "-o", tmp_path / "p.lr").code == 0
    late = run(capsys, "experts", long, "--resume", tmp_path / "plain.lr")
    assert late.code == 2
    assert "begin anew" in late.err
    for more in ((prices, *invest[:2]), (plain, "--target", "y"), (long,)):
        told = run(capsys, "experts", *more, "--resume", tmp_path / "p.lr")
        assert told.code == 2
        assert "go on in Python" in told.err


def test_units_are_compared_before_errors_are_scaled(capsys: Capsys, tmp_path: Path) -> None:
    y = 1e6 + np.array([0.0, 3e4, 1e4, -2e4, 6e4, 1e4, 5e4])
    file = table(tmp_path, y[:, None] + np.array([1e3, 2e3, 5e3]), y)
    told = run(capsys, "experts", file, "--target", "y", "--loss", "mase:3", "--json").json
    assert told["rounds"] == 3
    assert told["warnings"] == []
    file = table(tmp_path, y[:, None] * np.array([1.0, 1.0, 1e3]), y)
    told = run(capsys, "experts", file, "--target", "y", "--loss", "mase:3", "--json").json
    assert [warning.partition(" says")[0] for warning in told["warnings"]] == ["the expert 'c'"]


@pytest.mark.parametrize("loss", ["log", "portfolio"])
def test_losses_without_limit_are_not_for_calibrated(capsys: Capsys, tmp_path: Path, loss: str) -> None:
    file = written(tmp_path / "p.csv", ["y,a,b", *["1,0.9,0.8", "0,0.9,0.7"] * 5])
    target = ["--drop", "y"] if loss == "portfolio" else ["--target", "y"]
    told = run(capsys, "experts", file, *target, "--loss", loss, "--algorithm", "calibrated")
    assert told.code == 2
    assert told.err.endswith(f"can be infinite with --loss {loss}: use auto, which needs no tuning either\n")
    assert run(capsys, "experts", file, *target, "--loss", loss).code == 0


def test_regret_of_roots_is_said_to_be_in_squares(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    file, model = table(tmp_path, x, y), tmp_path / "m.lr"
    words = ("experts", file, "--target", "y")
    first, late = (run(capsys, *words, "--loss", "rmse", *more).out for more in (("-o", model), ("--delay", "2")))
    told = [first, late, run(capsys, *words, "--resume", model).out]
    for shown in told:
        assert next(line for line in shown.splitlines() if "regret  " in line).endswith(", in squares")
    assert ", in squares" not in run(capsys, *words, "--delay", "2").out


@pytest.mark.parametrize("name", ["hedge", "wm", "eg", "ogd", "fixed-share"])
def test_what_theory_promises_counts_the_prior(capsys: Capsys, tmp_path: Path, name: str) -> None:
    file = written(tmp_path / "t.csv", ["y,a,b", *["1,1,0"] * 50])
    share = ["--share", "0.02"] if name == "fixed-share" else []
    words = ["experts", file, "--target", "y", "--loss", "mae", "--algorithm", name, "--eta", "theory", *share]
    promises = []
    for prior in ("a 1e-9\nb 1\n", "a 1\nb 1\n"):
        Path(tmp_path / "prior.txt").write_text(prior)
        told = run(capsys, *words, "--prior", tmp_path / "prior.txt", "--json").json
        assert told["best"]["regret"] <= told["promise"]["bound"]
        promises.append(told["promise"])
    plain = run(capsys, *words, "--json").json["promise"]
    assert [promises[1][key] for key in ("bound", "eta")] == pytest.approx([plain[key] for key in ("bound", "eta")])
    assert promises[0]["bound"] > plain["bound"]
    Path(tmp_path / "prior.txt").write_text("a 0\nb 1\n")
    refused = run(capsys, *words, "--prior", tmp_path / "prior.txt")
    assert refused.code == 2
    assert "promises nothing against an expert that --prior gives no weight: say a number" in refused.err
