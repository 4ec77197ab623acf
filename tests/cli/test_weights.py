"""Importance weights in figures: the same definition in `train` and `predict`, Σ c·ℓ / Σ c."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.types import Vector
from tests.cli.running import run, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

ROWS = 60


def rows(seed: int) -> tuple[list[str], Vector, Vector]:
    """Lines of a table with weights, labels ±1, and the weights."""
    rng = np.random.default_rng(seed)
    x, c = rng.normal(size=(ROWS, 3)).round(2), rng.integers(0, 4, ROWS)
    y = np.where(x @ [1.0, -2.0, 0.5] + rng.normal(size=ROWS) > 0, 1, -1)
    lines = [f"{label},{weight},{','.join(map(str, row))}" for label, weight, row in zip(y, c, x.tolist(), strict=True)]
    return ["y,c,a,b,d", *lines], y.astype(float), c.astype(float)


def naive(y: Vector, p: Vector, c: Vector, loss: str) -> dict[str, float]:
    """Figures of progressive scores, recomputed."""
    losses = np.logaddexp(0, -y * p) if loss == "logistic" else (p - y) ** 2
    return {"loss": float(c @ losses / c.sum()), "error": float(c @ (np.where(p >= 0, 1, -1) != y) / c.sum())}


@pytest.mark.parametrize(("loss", "algorithm"), [("logistic", "ogd"), ("logistic", "auto"), ("square", "ogd")])
def test_figures_of_training_are_per_unit_of_weight(capsys: Capsys, tmp_path: Path, loss: str, algorithm: str) -> None:
    lines, y, c = rows(0)
    path = written(tmp_path / "a.csv", lines)
    said = ("train", path, "--target", "y", "--weight", "c", "--loss", loss, "--algorithm", algorithm)
    told = run(capsys, *said, "--json", "--quiet", "--predictions", tmp_path / "p.txt").json
    p = np.loadtxt(tmp_path / "p.txt")
    known = naive(y, p, c, loss)
    assert told["loss"]["mean"] == pytest.approx(known["loss"])
    assert told["loss"]["total"] == pytest.approx(known["loss"] * c.sum())
    assert told["metrics"]["weight"] == c.sum()
    learnt = [line.split(",")[2:] for line, weight in zip(lines[1:], c, strict=True) if weight]
    assert told["nonzeros"] == sum(float(value) != 0 for row in learnt for value in row)
    assert (told["rounds"], told["metrics"]["rows"]) == (np.count_nonzero(c), ROWS)
    if loss == "logistic":
        assert told["error"] == pytest.approx(known["error"])
        assert told["metrics"]["log_loss"] == pytest.approx(known["loss"])
        confusion = told["metrics"]["confusion"]
        assert sum(n for said in confusion.values() for n in said.values()) == np.count_nonzero(c)
    else:
        assert told["metrics"]["rmse"] == pytest.approx(known["loss"] ** 0.5)
        assert told["metrics"]["mae"] == pytest.approx(c @ np.abs(p - y) / c.sum())
    held = run(capsys, *said, "--json", "--quiet", "--holdout", 3, "--predictions", tmp_path / "h.txt").json
    out = np.arange(ROWS) % 3 == 2
    judged = naive(y[out], np.loadtxt(tmp_path / "h.txt")[out], c[out], loss)
    assert held["metrics"]["holdout"]["loss"] == pytest.approx(judged["loss"])
    text = run(capsys, *said).out
    assert "per unit of weight" in text
    assert ("of the weight predicted wrongly" in text) == (loss == "logistic")
    plain = run(capsys, *said[:4], "--drop", "c", *said[6:]).out
    assert "weight predicted" not in plain
    assert "per unit of weight" not in plain


@pytest.mark.parametrize("kind", ["logistic", "square", "softmax"])
def test_a_whole_weight_is_as_many_rows_to_a_fixed_model(capsys: Capsys, tmp_path: Path, kind: str) -> None:
    """A repeated row is judged once more, a weighted one counts more: the same figures but for the counts."""
    model, said = tmp_path / "m.lr", ("--target", "y", "--weight", "c", "--loss", kind, "--algorithm", "adagrad")
    assert run(capsys, "train", written(tmp_path / "a.csv", rows(0)[0]), *said, "-o", model, "--quiet").code == 0
    lines, _, c = rows(1)
    ones = [f"{line.partition(',')[0]},1,{line.split(',', 2)[2]}" for line in lines[1:]]
    repeated = [line for line, count in zip(ones, c.astype(int), strict=True) for _ in range(count)]

    def figures(path: Path) -> dict[str, Any]:
        told = run(capsys, "predict", model, path, "--json").json
        assert told["loss"]["name"] == kind
        counts = ("confusion", "recall", "worst_confusions", "classes")
        metrics = {name: value for name, value in told["metrics"].items() if name not in counts}
        metrics |= told["metrics"].get("recall", {})  # a share, as the error is
        return {"error": told["error"] or 0.0, **metrics} | {name: told["loss"][name] for name in ("total", "mean")}

    weighed = written(tmp_path / "b.csv", lines)
    assert figures(weighed) == pytest.approx(figures(written(tmp_path / "c.csv", [lines[0], *repeated])))
    said_so = run(capsys, "predict", model, weighed, "-o", tmp_path / "p.txt").err
    assert said_so.startswith(f"{ROWS} rows scored\nloss ")
    assert f"per unit of weight ({kind}), of {np.count_nonzero(c)} rows with a label" in said_so
    assert ("\nfound      by weight: " in said_so) == (kind == "softmax")


def test_a_weight_that_is_none_is_refused(capsys: Capsys, tmp_path: Path) -> None:
    model, lines = tmp_path / "m.lr", rows(0)[0]
    run(capsys, "train", written(tmp_path / "a.csv", lines), "--target", "y", "--weight", "c", "--loss", "logistic",
        "--algorithm", "ogd", "-o", model, "--quiet")  # fmt: skip
    told = run(capsys, "predict", model, written(tmp_path / "b.csv", [lines[0], "1,1,2,3,4", "1,-2,2,3,4"]))
    assert told.code == 2
    assert "b.csv:3: " in told.err


def test_weights_whose_sum_is_no_number_are_refused(capsys: Capsys, tmp_path: Path) -> None:
    """Their sum was infinite: the error was told as 0 % of it, whatever was wrong."""
    model, lines = tmp_path / "m.lr", rows(0)[0]
    run(capsys, "train", written(tmp_path / "a.csv", lines), "--target", "y", "--weight", "c", "--loss", "logistic",
        "--algorithm", "ogd", "-o", model, "--quiet")  # fmt: skip
    told = run(capsys, "predict", model, written(tmp_path / "b.csv", [lines[0], "1,1e290,2,3,4", "1,1.7e308,2,3,4"]))
    assert told.code == 2
    assert "b.csv:3: weight 1.7e+308: sums of weights would leave the range of numbers" in told.err


@pytest.mark.parametrize(
    "loss", [("logistic",), ("softmax",), ("softmax", "--delay", 2), ("hinge", "--delay", 2), ("oaa",)], ids=str
)
def test_weights_whose_sum_is_no_number_are_not_learnt(capsys: Capsys, tmp_path: Path, loss: tuple[Any, ...]) -> None:
    """Of rows that cost nothing they were, and shares of an infinite sum were told as nan %."""
    table = written(tmp_path / "a.csv", ["y,w,x", "1,1,1e-250", *["1,1.7e308,1e-250"] * 20])
    told = run(capsys, "train", table, "--target", "y", "--weight", "w", "--algorithm", "ogd", "--loss", *loss)
    assert told.code == 2
    assert "a.csv:3: weight 1.7e+308: sums of weights would leave the range of numbers; scale them all" in told.err
    assert "nan" not in told.out
