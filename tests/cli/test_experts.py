"""`lowregret experts`: a table of forecasts in, weights and the proof out."""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Absolute
from lowregret.cli.forecast_losses import FORECAST_LOSSES
from lowregret.experts import ExpertMixture, Hedge, Layered
from tests.cli.running import process, run, written
from tests.cli.test_report import Page

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def numbers(rows: int = 60, seed: int = 0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 1, rows).round(4)
    return (y[:, None] + rng.normal(size=(rows, 3)) * [0.2, 0.5, 1]).round(4), y


def table(tmp_path: Path, x: Any, y: Any, name: str = "t.csv", gap: str = ",") -> Path:
    lines = [gap.join(["day", "y", "a", "b", "c"])]
    for t, (row, outcome) in enumerate(zip(x, y, strict=True)):
        cells = ["" if math.isnan(v) else f"{v:.12g}" for v in (outcome, *row)]
        lines.append(gap.join([f"2020-01-{t % 30 + 1:02d}", *cells]))
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress(("\n".join(lines) + "\n").encode()))
        return tmp_path / name
    return written(tmp_path / name, lines)


def test_the_default_is_layers_and_json_says_all(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    told = run(capsys, "experts", table(tmp_path, x, y), "--target", "y", "--json")
    assert told.code == 0, told.err
    found, panel = told.json, Layered(["a", "b", "c"])
    p = panel.learn(x, y).forecasts
    assert found["algorithm"] == "auto"
    assert found["rounds"] == 60
    assert found["left_out"] == {"day": "not numbers"}
    assert found["warnings"] == []
    assert found["loss"]["name"] == "square"
    assert found["loss"]["total"] == pytest.approx(((p - y) ** 2).sum())
    assert found["loss"]["mean"] == pytest.approx(((p - y) ** 2).mean())
    assert found["experts"]["names"] == ["a", "b", "c"]
    np.testing.assert_allclose(found["experts"]["losses"], ((x - y[:, None]) ** 2).sum(0))
    np.testing.assert_allclose(found["experts"]["weights"], panel.weights)
    assert found["best"]["name"] == "a"
    assert found["uniform"]["loss"] == pytest.approx(((x.mean(1) - y) ** 2).sum())
    assert [path["switches"] for path in found["switching"]] == [1, 5, 10]
    certificate = found["certificate"]
    assert certificate["holds"]
    assert certificate["regret"] == pytest.approx(found["loss"]["total"] - found["combination"]["loss"])
    assert certificate["hindsight"]["loss"] <= found["best"]["loss"]


@pytest.mark.parametrize(("name", "gap"), [("t.tsv", "\t"), ("t.csv.gz", ","), ("t.csv", ";")])
def test_other_tables(capsys: Capsys, tmp_path: Path, name: str, gap: str) -> None:
    x, y = numbers()
    told = run(
        capsys, "experts", table(tmp_path, x, y, name, gap), "--target", "y", "--loss", "absolute",
        "--algorithm", "hedge", "--eta", "0.5", "--json",
    )  # fmt: skip
    panel = ExpertMixture(3, Hedge(0.5), Absolute(), linearised=False)
    panel.learn(x, y)
    assert told.json["loss"]["total"] == pytest.approx(panel.loss)


def test_parquet_and_arrow(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    x, y = numbers()
    columns = {"day": ["mon"] * 60, "y": y, "a": x[:, 0], "b": x[:, 1], "c": [None, *x[1:, 2].tolist()]}
    parquet.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as file, pa.ipc.new_file(file, pa.table(columns).schema) as sink:
        sink.write(pa.table(columns))
    x[0, 2] = math.nan
    expected = run(capsys, "experts", table(tmp_path, x, y), "--target", "y", "--json").json
    for name in ("t.parquet", "t.arrow"):
        found = run(capsys, "experts", tmp_path / name, "--target", "y", "--json").json
        assert {**found, "seconds": 0} == {**expected, "seconds": 0}


def test_from_standard_input(tmp_path: Path) -> None:
    x, y = numbers()
    told = process("experts", "-", "--target", "y", "--json", stdin=table(tmp_path, x, y).read_bytes())
    assert told.code == 0, told.err
    assert told.json["rounds"] == 60


def test_sleepers_unknown_outcomes_and_a_choice_of_experts(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    x[5:20, 1], y[30] = math.nan, math.nan
    file, said = table(tmp_path, x, y), tmp_path / "p.txt"
    words = ("--target", "y", "--experts", "b,a", "--loss", "quantile:0.9", "--algorithm", "ml-poly")
    told = run(capsys, "experts", file, *words, "--predictions", said, "--json")
    assert told.code == 0, told.err
    assert told.json["rounds"] == 59
    assert told.json["experts"]["names"] == ["b", "a"]
    found = told.json["combination"]
    u, kept, p = np.array(found["weights"]), np.arange(60) != 30, np.loadtxt(said)[np.arange(60) != 30]
    known, came = ~np.isnan(x[kept][:, [1, 0]]), y[kept]
    mixed = np.where(known, np.nan_to_num(x[kept][:, [1, 0]]), p[:, None]) @ u
    among = np.where(known, np.nan_to_num(x[kept][:, [1, 0]]), 0.0) @ u / (known @ u)
    for key, forecast in (("loss", mixed), ("among_awake", among)):
        assert found[key] == pytest.approx(np.maximum(0.9 * (came - forecast), 0.1 * (forecast - came)).sum())
    assert told.json["certificate"]["holds"]
    assert len(said.read_text().split()) == 60
    plain = run(capsys, "experts", file, *words)
    assert "1 row without an outcome" in plain.out
    assert "15 rows in which some expert has no forecast" in plain.out
    assert run(capsys, "experts", file, *words, "--quiet").out == ""


def football(tmp_path: Path, odds: bool) -> tuple[Path, Any, Any]:
    rng = np.random.default_rng(3)
    p, y = rng.dirichlet(np.ones(3) * 5, (50, 2)), rng.integers(0, 3, 50)
    rows = ["result,extra,oneH,oneD,oneA,twoH,twoD,twoA"]
    for probabilities, came in zip(p, y, strict=True):
        cells = (0.95 / probabilities if odds else probabilities).ravel()
        rows.append(",".join(["HDA"[came], "7", *(f"{v:.12f}" for v in cells)]))
    return written(tmp_path / "f.csv", rows), p, y


@pytest.mark.parametrize("odds", [True, False])
def test_classes(capsys: Capsys, tmp_path: Path, odds: bool) -> None:
    file, p, y = football(tmp_path, odds)
    words = ("--target", "result", "--classes", "H,D,A", *(["--odds"] if odds else []))
    told = run(capsys, "experts", file, *words, "--loss", "log", "--json").json
    assert told["experts"]["names"] == ["one", "two"]
    assert told["left_out"] == {"extra": "of no expert"}
    np.testing.assert_allclose(told["experts"]["losses"], -np.log(p[np.arange(50), :, y]).sum(0), rtol=1e-6)
    assert told["certificate"]["id"] == "MIX"
    assert told["certificate"]["regret"] <= math.log(2)
    brier = run(capsys, "experts", file, *words, "--loss", "brier", "--json").json
    came = np.eye(3)[y]
    np.testing.assert_allclose(brier["experts"]["losses"], ((p - came[:, None]) ** 2).sum((0, 2)), rtol=1e-6)
    assert brier["certificate"]["holds"]
    shared = run(capsys, "experts", file, *words, "--loss", "log", "--algorithm", "fixed-share", "--share", "0.1")
    assert "theory promised" in shared.out


def test_yes_or_no(capsys: Capsys, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    rows = [f"{int(rng.random() < 0.7)},{rng.uniform(0.5, 0.9):.3f},{rng.uniform(0.1, 0.9):.3f}" for _ in range(40)]
    file = written(tmp_path / "yes.csv", ["y,a,b", *rows])
    for loss in ("log", "brier"):
        told = run(capsys, "experts", file, "--target", "y", "--loss", loss, "--json").json
        assert told["certificate"]["id"] == "MIX"
        assert told["certificate"]["holds"]


def test_a_portfolio_that_is_ruined_beyond_all_numbers(capsys: Capsys, tmp_path: Path) -> None:
    """Wealth of e^−921 is 0 as a number, whose logarithm is none."""
    file = tmp_path / "prices.csv"
    falling = [10.0 ** (200 - 100 * (t // 10)) * (1 + t % 3 / 100) for t in range(45)]
    file.write_text("a,b\n" + "".join(f"{p!r},{1.5 * p!r}\n" for p in falling))
    told = run(capsys, "experts", file, "--loss", "portfolio", "--prices", "--cost", "0.01")
    assert told.code == 0
    assert "if these pay costs, too" in told.out


def test_portfolio_without_names(capsys: Capsys, tmp_path: Path) -> None:
    x = np.random.default_rng(2).uniform(0.9, 1.15, (40, 3)).round(6)
    file = written(tmp_path / "r.csv", [",".join(map(str, row)) for row in x])
    for algorithm in ("auto", "newton", "bayes", "adahedge"):
        words = ("--no-header", "--loss", "portfolio", "--algorithm", algorithm)
        told = run(capsys, "experts", file, *words, "--json").json
        assert told["experts"]["names"] == ["1", "2", "3"]
        assert told["rounds"] == 40
        assert told["certificate"]["holds"]
        assert told["uniform"]["loss"] == pytest.approx(-np.log(x.mean(1)).sum())
        assert told["combination"]["loss"] <= -np.log(x).sum(0).min() + 1e-9
    assert "1 has become" in run(capsys, "experts", file, *words).out


def test_report_plot_and_prior(capsys: Capsys, tmp_path: Path) -> None:
    x, y = numbers()
    prior = written(tmp_path / "prior.txt", ["c 0.7", "a 0.2", "b 0.1"])
    report, plot = tmp_path / "r.html", tmp_path / "w.png"
    told = run(
        capsys, "experts", table(tmp_path, x, y), "--target", "y", "--algorithm", "wm", "--eta", "0.1",
        "--prior", prior, "--report", report, "--plot", plot, "--json",
    )  # fmt: skip
    assert told.code == 0, told.err
    panel = ExpertMixture(3, Hedge(0.1), linearised=False, prior=[0.2, 0.1, 0.7])
    panel.learn(x, y)
    np.testing.assert_allclose(told.json["experts"]["weights"], panel.weights)
    page = Page(report.read_text())
    assert page.open == []
    assert page.loaded == []
    assert f"{told.json['certificate']['bound']:.6g}" in " ".join(page.words)
    assert plot.stat().st_size > 1000


def test_the_help_names_every_loss_of_forecasts(capsys: Capsys) -> None:
    told = run(capsys, "experts", "--help").out
    assert [name for name in FORECAST_LOSSES if name not in told.partition("--loss")[2]] == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--target", "z"], "has no column 'z'; its columns are day, y, a, b, c"),
        ([], "say which column holds the outcome: --target COL"),
        (["--target", "y", "--experts", "day"], "'2020-01-01' in column 'day' is not a finite number"),
        (["--target", "y", "--algorithm", "hedge"], "needs --eta"),
        (["--target", "y", "--algorithm", "adahedge", "--eta", "1"], "takes no --eta"),
        (["--target", "y", "--algorithm", "fixed-share", "--eta", "1"], "needs --share"),
        (["--target", "y", "--algorithm", "bayes"], "mixable: log, brier, portfolio; not square"),
        (["--target", "y", "--algorithm", "newton"], "newton is for --loss portfolio"),
        (["--target", "y", "--loss", "cubic"], "there is no loss 'cubic'"),
        (["--target", "y", "--loss", "log"], "t.csv:2: "),
        (["--target", "y", "--classes", "A,B"], "--classes is for --loss log and brier"),
        (["--target", "y", "--odds", "--loss", "log"], "--odds needs --classes"),
        (
            ["--target", "day", "--loss", "log", "--classes", "A,B"],
            "t.csv:2: '2020-01-01' in column 'day' is none of",
        ),
        (["--target", "y", "--loss", "portfolio"], "has no target"),
        (["--target", "y", "--report", "/no/such/folder/x.html"], "there is no folder"),
        (["--target", "y", "--prior", "/no/such/file"], "cannot read /no/such/file"),
    ],
)
def test_what_is_wrong_is_said(capsys: Capsys, tmp_path: Path, words: list[str], message: str) -> None:
    told = run(capsys, "experts", table(tmp_path, *numbers(5)), *words)
    assert told.code == 2
    assert message in told.err


def test_bad_cells_are_named(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "bad.csv", ["y,a", "1,2", "1,x"])
    told = run(capsys, "experts", file, "--target", "y")
    assert "bad.csv:3: 'x' in column 'a' is not a finite number: repair it" in told.err
    file = written(tmp_path / "short.csv", ["y,a", "1,2", "1"])
    assert "short.csv:3: 1 fields, expected 2" in run(capsys, "experts", file, "--target", "y").err
    file = written(tmp_path / "zero.csv", ["y,a", "1,2", "0,1"])
    assert "zero.csv:3: 0 in column 'y'" in run(capsys, "experts", file, "--target", "y", "--loss", "mape").err
    file = written(tmp_path / "log.csv", ["y,aA,aB", "A,0.5,0.5", "A,0,1"])
    told = run(capsys, "experts", file, "--target", "y", "--loss", "log", "--classes", "A,B")
    assert "log.csv:3: " in told.err
    assert "Give every class some probability" in told.err
    file = written(tmp_path / "sum.csv", ["y,aA,aB", "A,0.5,0.6"])
    told = run(capsys, "experts", file, "--target", "y", "--loss", "log", "--classes", "A,B")
    assert "sum to 1.1, not to 1: are these --odds?" in told.err
    assert "cannot read" in run(capsys, "experts", tmp_path / "none.csv", "--target", "y").err


def test_help_has_an_example(capsys: Capsys) -> None:
    told = run(capsys, "experts", "--help")
    assert told.code == 0
    assert "lowregret experts load.csv.gz --target load" in told.out


def test_json_is_one_object(tmp_path: Path) -> None:
    told = process("experts", table(tmp_path, *numbers()), "--target", "y", "--json")
    assert told.out.count("\n") == 1
    json.loads(told.out)
