"""`lowregret experts` on long tables, on outcomes that come late, and from day to day."""

from __future__ import annotations

import csv
import json
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.bandit import Bandit
from lowregret.experts import AdaHedge, ExpertMixture, MLPoly, SeriesMixture, long_table
from lowregret.store.kinds import load
from tests.cli.running import run, written
from tests.experts.test_series import CROSS_VALIDATION, picked, table_of

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

INTERVALS = "Naive-lo-80,Naive-hi-80"


def as_csv(path: Path, table: dict[str, Any]) -> Path:
    """A table of columns as a file; NaN is an empty cell."""
    rows = zip(*(column.tolist() for column in table.values()), strict=True)
    cells = (["" if isinstance(v, float) and math.isnan(v) else str(v) for v in row] for row in rows)
    return written(path, [",".join(table), *(",".join(row) for row in cells)])


def lines_of(path: Path) -> list[dict[str, str]]:
    with path.open() as file:
        return list(csv.DictReader(file))


def test_a_backtest_is_recognised_and_told(capsys: Capsys, tmp_path: Path) -> None:
    out, weights, model = (tmp_path / name for name in ("p.csv", "w.csv", "m.lr"))
    words = ["experts", CROSS_VALIDATION, "--drop", INTERVALS, "-o", model]
    told = run(capsys, *words, "--predictions", out, "--weights-over-time", weights)
    assert told.code == 0, told.err
    for said in (
        "series unique_id, time ds, cutoff cutoff, outcome y (recognised: Nixtla's layout)",
        "3 series so far, latest origin 2023-06-30",
        "4, mixed by auto, weights shrunk; loss: square",
        "27 outcomes after the last origin",
        "SeasonalNaive, weight now",
        "because outcomes come late",
        f"{model}, {model.stat().st_size:,} bytes",
    ):
        assert said in told.out
    names = ["Naive", "SeasonalNaive", "HistoricAverage", "RWD"]
    table = {
        name: np.array([line[name] for line in lines_of(CROSS_VALIDATION)]) for name in ("unique_id", "ds", "cutoff")
    }
    numbers = {name: np.array([float(line[name]) for line in lines_of(CROSS_VALIDATION)]) for name in ("y", *names)}
    mixture = SeriesMixture(names, compiled=False).learn(table | numbers)
    written_ = lines_of(out)
    assert [float(line["forecast"]) for line in written_] == mixture.forecasts.tolist()
    assert [line["ds"] for line in written_] == table["ds"].tolist()
    over_time = lines_of(weights)
    assert len(over_time) == 3 * 4
    assert {line["cutoff"] for line in over_time} == set(table["cutoff"])
    for line in over_time:
        assert sum(float(line[name]) for name in names) == pytest.approx(1)
    again = load(model)
    assert again.rounds == 45
    assert again.pending == 27


def test_json_says_all(capsys: Capsys, tmp_path: Path) -> None:
    table = table_of(2, 4, 3, 2)
    told = run(capsys, "experts", as_csv(tmp_path / "t.csv", table), "--json", "--weights", "series").json
    mixture = SeriesMixture(["m0", "m1"], weights="series", compiled=False).learn(table)
    p = mixture.forecasts
    assert told["layout"] == {
        "series": "unique_id", "time": "ds", "cutoff": "cutoff", "outcome": "y", "layout": "Nixtla",
    }  # fmt: skip
    assert told["loss"]["total"] == pytest.approx(np.sum((p - table["y"]) ** 2))
    assert told["uniform"]["loss"] == pytest.approx(np.sum(((table["m0"] + table["m1"]) / 2 - table["y"]) ** 2))
    mixture.deliver()
    assert told["certificate"]["bound"] == pytest.approx(mixture.certificate.bound)
    assert told["certificate"]["holds"]
    assert told["drift"] == pytest.approx(mixture.drift)
    assert (told["rows"], told["waiting"], told["series"]) == (24, 6, 2)


def test_rows_in_another_order_say_the_same(capsys: Capsys, tmp_path: Path) -> None:
    """Last digits of sums over a table went by the order of its rows."""
    rng = np.random.default_rng(1)
    rows = [f"{s},{t},{rng.random():.3f},{rng.random():.3f},{rng.random():.3f}" for s in "abc" for t in range(40)]
    said = []
    for told in (rows, rng.permutation(rows).tolist()):
        table = written(tmp_path / "table.csv", ["unique_id,ds,y,m,n", *told])
        said.append(json.loads(run(capsys, "experts", table, "--target", "y", "--loss", "mae", "--json").out))
    for name in ("loss", "uniform", "experts", "best", "drift", "certificates"):
        assert said[0][name] == said[1][name], name


def test_columns_may_be_named_and_a_report_written(capsys: Capsys, tmp_path: Path) -> None:
    table = table_of(2, 3, 3, 2)
    names = {"unique_id": "shop", "ds": "day", "cutoff": "asof", "y": "sold"}
    path = as_csv(tmp_path / "t.csv", {names.get(name, name): column for name, column in table.items()})
    words = ["experts", path, "--series", "shop", "--time", "day", "--cutoff", "asof", "--target", "sold"]
    page = tmp_path / "r.html"
    told = run(capsys, *words, "--json", "--algorithm", "adahedge", "--weights", "horizon", "--report", page)
    assert told.code == 0, told.err
    expected = SeriesMixture(["m0", "m1"], weights="horizon", aggregator=AdaHedge(), compiled=False).learn(table)
    assert told.json["loss"]["total"] == pytest.approx(np.sum((expected.forecasts - table["y"]) ** 2))
    assert "ADAHEDGE+DRIFT" in page.read_text()


# ---- from day to day ------------------------------------------------------------------------------------------------


def test_every_day_the_table_that_grew(capsys: Capsys, tmp_path: Path) -> None:
    """Forecasts of days to come today, their outcomes in the table of another day: as in a backtest, to a bit."""
    table = table_of(2, 5, 4, 2)
    model, out = tmp_path / "m.lr", tmp_path / "p.csv"
    for origin in range(0, 15, 3):
        today = picked(table, table["cutoff"] <= origin)
        today["y"] = np.where(today["ds"] <= origin, today["y"], math.nan)
        words = ["experts", as_csv(tmp_path / "t.csv", today), "-o", model, "--predictions", out]
        told = run(capsys, *words, *(["--resume", model] if origin else []))
        assert told.code == 0, told.err
        assert "without an outcome: forecast, and waiting for it" in told.out
    assert "forecasts were learnt before" in told.out
    assert "skipped" in told.out
    live = [float(line["forecast"]) for line in lines_of(out) if line["cutoff"] == "12"]
    backtest = SeriesMixture(["m0", "m1"], compiled=False).learn(table)
    assert live == backtest.forecasts[table["cutoff"] == 12].tolist()


def test_a_table_of_days_to_come_needs_no_outcomes(capsys: Capsys, tmp_path: Path) -> None:
    table = table_of(2, 4, 3, 2)
    model, out = tmp_path / "m.lr", tmp_path / "p.csv"
    history = as_csv(tmp_path / "a.csv", picked(table, table["cutoff"] < 9))
    future = as_csv(tmp_path / "b.csv", {k: v for k, v in picked(table, table["cutoff"] == 9).items() if k != "y"})
    assert run(capsys, "experts", history, "-o", model, "--quiet").code == 0
    told = run(capsys, "experts", future, "--resume", model, "--predictions", out)
    assert told.code == 0, told.err
    assert "6 rows without an outcome" in told.out
    expected = SeriesMixture(["m0", "m1"], compiled=False).learn(table).forecasts[table["cutoff"] == 9]
    assert [float(line["forecast"]) for line in lines_of(out)] == expected.tolist()
    assert run(capsys, "experts", future).code == 2
    plain = written(tmp_path / "c.csv", ["y,a,b", "1,2,3", "2,2,4"])
    assert run(capsys, "experts", plain, "--target", "y", "-o", model, "--quiet").code == 0
    told = run(capsys, "experts", written(tmp_path / "d.csv", ["b,a", "3,2"]), "--resume", model, "--predictions", out)
    assert told.code == 0, told.err
    weights = load(model).weights
    assert float(out.read_text()) == pytest.approx(weights @ [2.0, 3.0])


@pytest.mark.parametrize("words", [[], ["--delay", "1"]])
def test_outcomes_that_nobody_names_are_no_expert(capsys: Capsys, tmp_path: Path, words: list[str]) -> None:
    """The column of what came joined as an expert, which was the best, and nothing was learnt."""
    plain, model = written(tmp_path / "c.csv", ["y,a,b", "1,2,3", "2,2,4"]), tmp_path / "m.lr"
    assert run(capsys, "experts", plain, "--target", "y", "-o", model, "--quiet", *words).code == 0
    before = model.read_bytes()
    told = run(capsys, "experts", plain, "--resume", model, "-o", model)
    assert told.code == 2
    assert "none of the experts" in told.err
    assert "--target COL" in told.err
    assert model.read_bytes() == before
    for said in (["--target", "y"], ["--drop", "y"], ["--experts", "a,b,y"]):
        assert run(capsys, "experts", plain, "--resume", model, *said).code == 0


def test_experts_join_and_retire(capsys: Capsys, tmp_path: Path) -> None:
    table = table_of(2, 4, 3, 3)
    first, then = picked(table, table["cutoff"] < 6), picked(table, table["cutoff"] >= 6)
    del first["m2"], then["m0"]
    model = tmp_path / "m.lr"
    assert run(capsys, "experts", as_csv(tmp_path / "a.csv", first), "-o", model, "--quiet").code == 0
    told = run(capsys, "experts", as_csv(tmp_path / "b.csv", then), "--resume", model)
    assert "joined           m2: as if asleep before" in told.out
    assert "retired          m0: not in this table" in told.out
    bad = {name: column for name, column in then.items() if not name.startswith("m")} | {"other": then["m1"]}
    told = run(capsys, "experts", as_csv(tmp_path / "c.csv", bad), "--resume", model)
    assert told.code == 2
    assert "has none of the experts m0, m1" in told.err


@pytest.mark.parametrize("layered", [True, False])
def test_plain_tables_go_on_by_name(capsys: Capsys, tmp_path: Path, layered: bool) -> None:
    """Columns in another order, one gone and one new; figures are those of the rows of this table."""
    rng = np.random.default_rng(0)
    y = rng.normal(10, 1, 40).round(4)
    x = (y[:, None] + rng.normal(size=(40, 4)) * [0.2, 0.5, 1, 0.1]).round(4)
    cut, model = 25, tmp_path / "m.lr"
    first = {"y": y[:cut], "a": x[:cut, 0], "b": x[:cut, 1], "c": x[:cut, 2]}
    then = {"d": x[cut:, 3], "c": x[cut:, 2], "y": np.append(y[cut:-1], math.nan), "a": x[cut:, 0]}
    words = ["--target", "y", "--algorithm", "auto" if layered else "ml-poly", "-o", model]
    assert run(capsys, "experts", as_csv(tmp_path / "a.csv", first), *words, "--quiet").code == 0
    out, weights = tmp_path / "p.txt", tmp_path / "w.csv"
    words = ["--target", "y", "--resume", model, "-o", model, "--predictions", out, "--weights-over-time", weights]
    told = run(capsys, "experts", as_csv(tmp_path / "b.csv", then), *words)
    assert told.code == 0, told.err
    for said in (
        "25 rounds before, 14 rounds now",
        "joined           d",
        "retired          b",
        "future           1 row",
    ):
        assert said in told.out
    both = np.vstack([x, x])[:40].copy()
    both[:cut, 3] = both[cut:, 1] = math.nan
    again = load(model)
    assert again.rounds == 39
    assert again.names == ["a", "b", "c", "d"]
    assert list(lines_of(weights)[0]) == ["round", "a", "b", "c", "d"]
    if not layered:
        asleep = ExpertMixture(4, MLPoly(), compiled=False).learn(both, np.append(y[:-1], math.nan))
        written_ = [float(line) for line in out.read_text().split()]
        np.testing.assert_allclose(written_, asleep.forecasts[cut:], rtol=1e-12)
        assert again.certificate.holds
        assert again.certificate.bound == pytest.approx(asleep.certificate.bound)
    assert run(capsys, "experts", as_csv(tmp_path / "b.csv", then), *words[:4], "--json").json["before"] == 39


def test_a_model_of_something_else_is_refused(capsys: Capsys, tmp_path: Path) -> None:
    path = Bandit(2).save(tmp_path / "b.lr")
    table = as_csv(tmp_path / "t.csv", table_of(1, 2, 2, 2))
    told = run(capsys, "experts", table, "--resume", path)
    assert told.code == 2
    assert "holds a Bandit, not a mixture of experts" in told.err
    mixture = SeriesMixture(["m0", "m1"], compiled=False).learn(table_of(1, 2, 2, 2)).save(tmp_path / "m.lr")
    told = run(capsys, "predict", mixture, table)
    assert told.code == 2
    assert "series-experts" in told.err or "SeriesMixture" in told.err


# ---- outcomes known later -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delay", [1, 7])
def test_a_delay_is_a_loop_that_waits(capsys: Capsys, tmp_path: Path, delay: int) -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(10, 1, 30).round(4)
    x = (y[:, None] + rng.normal(size=(30, 2)) * [0.2, 1]).round(4)
    table = {"y": y, "a": x[:, 0], "b": x[:, 1]}
    p, waiting, panel = [], list[int](), ExpertMixture(2, AdaHedge(), compiled=False)
    for t in range(30):
        number, said = panel.ask(x[t])
        waiting.append(number)
        p.append(said)
        if len(waiting) > delay:
            panel.tell(waiting.pop(0), y[t - delay])
    out, model = tmp_path / "p.csv", tmp_path / "m.lr"
    words = ["--target", "y", "--algorithm", "adahedge", "-o", model, "--predictions", out]
    told = run(capsys, "experts", as_csv(tmp_path / "t.csv", table), *words, "--delay", delay, "--json")
    assert told.code == 0, told.err
    assert [float(line["forecast"]) for line in lines_of(out)] == pytest.approx(p, rel=1e-12)
    assert told.json["waiting"] == delay + 1  # that of one row is known when the next is asked
    parts = tmp_path / "parts.lr"
    for k, part in enumerate((slice(0, 11), slice(11, 30))):
        options = ["--resume", parts] if k else ["--delay", delay, "--algorithm", "adahedge"]
        path = as_csv(tmp_path / "part.csv", picked(table, part))
        assert run(capsys, "experts", path, "--target", "y", "-o", parts, "--predictions", out, *options).code == 0
    assert [float(line["forecast"]) for line in lines_of(out)] == pytest.approx(p[11:], rel=1e-12)
    assert load(parts).loss == load(model).loss


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cutoff", "day", "--target", "y"], "--cutoff needs --time and --cutoff"),
        (["--cutoff", "nowhere", "--target", "y"], "has no column 'nowhere'; its columns are"),
        (["--weights", "series", "--target", "y"], "--weights needs --time and --cutoff"),
        (["--delay", "2", "--time", "day", "--target", "y"], "--delay is of plain tables"),
        (["--delay", "2", "--algorithm", "hedge", "--eta", "theory", "--target", "y"], "known at once"),
        (["--delay", "2", "--levels", "0.9", "--target", "y"], "outcomes of this table are known late"),
        (["--delay", "2", "--loss", "mase", "--target", "y"], "known late or are of several series: use mae"),
        (["-o", "/tmp/m.lr", "--loss", "mase", "--target", "y"], "but model files do not hold it: use mae"),
    ],
)
def test_options_that_make_no_sense(capsys: Capsys, tmp_path: Path, words: list[str], said: str) -> None:
    path = written(tmp_path / "t.csv", ["day,y,a,b", "1,1,2,3", "2,2,3,4"])
    told = run(capsys, "experts", path, *words)
    assert told.code == 2
    assert said in told.err


def test_what_needs_the_rows_in_order_is_refused_where_they_are_not(capsys: Capsys, tmp_path: Path) -> None:
    words = ["experts", CROSS_VALIDATION, "--algorithm", "ml-poly"]
    for more in (["--levels", "0.1,0.9"], ["--intervals"]):
        told = run(capsys, *words, *more)
        assert (told.code, told.out) == (2, "")
        assert f"{more[0]} makes each interval knowing all outcomes before it" in told.err
    assert "use mae" in run(capsys, *words, "--loss", "mase:12").err
    rmse, mse = (run(capsys, *words, "--loss", name).out for name in ("rmse", "mse"))
    shown = [float(out.split("the mixture ")[1].split()[0]) for out in (rmse, mse)]
    assert shown[0] == pytest.approx(math.sqrt(shown[1]), rel=1e-5)
    assert run(capsys, *words, "--loss", "rmse", "--json").json["loss"]["mean"] == pytest.approx(shown[0], rel=1e-5)
    plain, model = written(tmp_path / "t.csv", ["y,a,b", "1,2,3", "2,3,4"]), tmp_path / "m.lr"
    assert run(capsys, "experts", plain, "--target", "y", "--algorithm", "ml-poly", "-o", model).code == 0
    told = run(capsys, "experts", plain, "--target", "y", "--resume", model, "--coverage", "0.8")
    assert "m.lr holds the mixture without its state" in told.err
    relatives = written(tmp_path / "r.csv", ["a,b", "1.01,0.99", "0.98,1.02"])
    assert run(capsys, "experts", relatives, "--loss", "portfolio", "-o", model).code == 0
    assert load(model).rounds == 2
    told = run(capsys, "experts", relatives, "--resume", model)
    assert (told.code, "m.lr holds a portfolio" in told.err) == (2, True)


# ---- frames ---------------------------------------------------------------------------------------------------------


def test_frames_of_pandas_and_polars_say_the_same() -> None:
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pandas.read_csv(CROSS_VALIDATION, parse_dates=["ds", "cutoff"])
    names = ["Naive", "SeasonalNaive", "HistoricAverage", "RWD"]
    expected = SeriesMixture(names, compiled=False).learn(frame).forecasts
    for other in (
        frame.set_index("unique_id"),
        frame.set_index(["unique_id", "ds"]),
        polars.read_csv(CROSS_VALIDATION, try_parse_dates=True),
        frame.assign(ds=frame["ds"].astype(str)).to_dict("list") | {"cutoff": frame["cutoff"].dt.to_period("D")},
    ):
        given = other if not isinstance(other, dict) else {name: np.asarray(column) for name, column in other.items()}
        found = long_table(given)
        assert found.names == names
        np.testing.assert_array_equal(SeriesMixture(names, compiled=False).learn(given).forecasts, expected)


def test_layouts_of_other_tools() -> None:
    """sktime's index of instances and time points, Darts' components and time, quarters as text."""
    pandas = pytest.importorskip("pandas")
    base = table_of(2, 3, 3, 2)
    index = pandas.MultiIndex.from_arrays([base["unique_id"], base["ds"]], names=["instances", "timepoints"])
    sktime = pandas.DataFrame(
        {"cutoff": base["cutoff"], "y_test": base["y"], "m0": base["m0"], "m1": base["m1"]}, index
    )
    darts = {"component": base["unique_id"], "time": base["ds"], "forecast_start": base["cutoff"], "actual": base["y"]}
    quarters = {name: np.array([f"{2000 + t // 4}Q{t % 4 + 1}" for t in base[name]]) for name in ("ds", "cutoff")}
    expected = SeriesMixture(["m0", "m1"], compiled=False).learn(base).forecasts
    for other in (sktime, darts | {name: base[name] for name in ("m0", "m1")}, base | quarters):
        mixture = SeriesMixture(["m0", "m1"], compiled=False).learn(other)
        np.testing.assert_array_equal(mixture.forecasts, expected)


def test_parquet_with_timestamps(capsys: Capsys, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.read_csv(CROSS_VALIDATION, parse_dates=["ds", "cutoff"])
    frame.to_parquet(tmp_path / "t.parquet")
    words = ["--drop", INTERVALS, "--json"]
    one = run(capsys, "experts", tmp_path / "t.parquet", *words).json
    other = run(capsys, "experts", CROSS_VALIDATION, *words).json
    assert one["loss"] == other["loss"]
    assert one["layout"]["layout"] == "Nixtla"


# ---- crashes --------------------------------------------------------------------------------------------------------


def test_a_kill_while_saving_leaves_a_model_that_goes_on(tmp_path: Path) -> None:
    """kill -9 at any moment: the file is the one before or the one after."""
    table = table_of(3, 4, 3, 3)
    model = tmp_path / "m.lr"
    SeriesMixture(["m0", "m1", "m2"], compiled=False).learn(picked(table, table["cutoff"] == 0)).save(model)
    loop = (
        "import sys\nfrom lowregret.store.kinds import load\nm = load(sys.argv[1])\n"
        "print('ready', flush=True)\nwhile True: m.save(sys.argv[1])"
    )
    for wait in (0.0, 0.05, 0.13):
        child = subprocess.Popen([sys.executable, "-c", loop, str(model)], stdout=subprocess.PIPE)
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        time.sleep(wait)
        os.kill(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
        mixture = lowregret.load(model)
        assert isinstance(mixture, SeriesMixture)
        assert mixture.asked == 9
    mixture.learn(picked(table, table["cutoff"] > 0))
    assert mixture.asked == table["y"].size
    assert json.dumps(mixture.certificate.to_json())


def test_weights_of_an_origin_are_of_rows_in_which_somebody_was_awake(capsys: Capsys, tmp_path: Path) -> None:
    lines = ["unique_id,ds,cutoff,y,a,b", "u,2,1,1.0,1.5,", "u,3,2,2.0,,", "u,4,2,3.0,2.5,3.5", "v,3,2,2.0,,"]
    file, weights = written(tmp_path / "long.csv", lines), tmp_path / "w.csv"
    told = run(capsys, "experts", file, "--weights", "series", "--weights-over-time", weights)
    assert told.code == 0, told.err
    found = {(line["series"], line["cutoff"]): float(line["a"]) + float(line["b"]) for line in lines_of(weights)}
    assert found == {("u", "1"): 1.0, ("u", "2"): pytest.approx(1.0), ("v", "2"): 0.0}  # nobody spoke of v
