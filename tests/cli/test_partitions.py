"""`train --partitions`: rows from files with the cells of random trees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowregret import load, read, train, zoo
from lowregret.features import Partitions
from lowregret.hindsight import best_in_hindsight
from lowregret.loss import Logistic
from lowregret.rows import Sparse
from tests.cli.running import run, written

Capsys = pytest.CaptureFixture[str]

ROWS = 1200
_made = np.random.default_rng(3)
X = np.round(_made.normal(size=(ROWS, 3)), 2)
SIGNS = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
SVM = [f"{y} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) for x, y in zip(X, SIGNS, strict=True)]
SAID = ("--algorithm", "adagrad", "--loss", "logistic", "--partitions", "--quiet")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.svm", SVM)


def test_the_command_learns_as_python_does(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    told = run(capsys, "train", file, *SAID, "--json", "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    mine = train(zoo.adagrad(Logistic()), read(file), expand=Partitions())
    assert told.json["loss"]["total"] == mine.loss
    assert "cells of 64 random trees" in told.json["expand"]["summary"]
    assert np.array_equal(load(tmp_path / "m.lr").weights, mine.weights)
    run(capsys, "predict", tmp_path / "m.lr", file, "-o", tmp_path / "q.txt", "--quiet")
    rows = Sparse(np.arange(ROWS + 1) * 3, np.tile(np.arange(1, 4, dtype=np.uint32), ROWS), X.ravel(), 4)
    assert np.allclose(np.loadtxt(tmp_path / "q.txt"), mine.decision_function(rows), rtol=1e-12)


@pytest.mark.parametrize("first", [400, 1024, 1100])
def test_resumed_is_unbroken(capsys: Capsys, tmp_path: Path, file: Path, first: int) -> None:
    head, tail = written(tmp_path / "head.svm", SVM[:first]), written(tmp_path / "tail.svm", SVM[first:])
    run(capsys, "train", file, *SAID, "-o", tmp_path / "whole.lr")
    run(capsys, "train", head, *SAID, "-o", tmp_path / "m.lr")
    run(capsys, "train", tail, "--resume", tmp_path / "m.lr", "-o", tmp_path / "m.lr", "--quiet")
    whole, resumed = load(tmp_path / "whole.lr"), load(tmp_path / "m.lr")
    assert np.array_equal(whole.weights, resumed.weights)
    assert whole.loss == resumed.loss


def test_predict_only_predicts_the_same(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    for name, words in (("whole", ()), ("small", ("--predict-only",))):
        run(capsys, "train", file, *SAID, *words, "-o", tmp_path / f"{name}.lr")
        run(capsys, "predict", tmp_path / f"{name}.lr", file, "-o", tmp_path / f"{name}.txt", "--quiet")
    assert (tmp_path / "whole.txt").read_bytes() == (tmp_path / "small.txt").read_bytes()


def test_passes_and_rows_held_out(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    told = run(capsys, "train", file, *SAID, "--passes", 3, "--holdout", "last:100", "--json").json
    assert told["metrics"]["holdout"]["rows"] == 100
    assert told["metrics"]["holdout"]["error"] < 0.3
    classes = ("--algorithm", "adagrad", "--loss", "softmax", "--partitions", "--holdout", 4, "--quiet", "--json")
    assert run(capsys, "train", file, *classes).json["rounds"] == 900


def test_cells_have_names(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    run(capsys, "train", file, *SAID, "--bias", "--weights", tmp_path / "w.txt")
    names = [line.split("\t")[0] for line in (tmp_path / "w.txt").read_text().splitlines()]
    assert {"(bias)", "1", "2", "3"} == {name for name in names if not name.startswith("cell ")}
    assert len(names) > 100


def test_exact_regret_is_that_on_cells(capsys: Capsys, file: Path) -> None:
    learner = ("--algorithm", "ogd-lazy", "--eta", 0.05, "--loss", "logistic", "--partitions", "--quiet", "--json")
    found = run(capsys, "train", file, *learner, "--certify", "exact").json["certificate"]
    mine = train(zoo.ogd_lazy(Logistic(), 0.05, 1.0), X, SIGNS, expand=Partitions())
    best = best_in_hindsight(Logistic(), mine.expanded(X), SIGNS, mine.comparator)
    assert found["hindsight"]["loss"] == pytest.approx(best.value, rel=1e-3)
    assert found["regret"] <= found["linear_regret"] <= found["bound"] * (1 + 1e-9)
    told = run(capsys, "train", file, *learner, "--certify", "exact", "--passes", 2)
    assert told.code == 2
    assert "--passes 1" in told.err


def test_who_counts_features_counts_cells(capsys: Capsys, file: Path) -> None:
    told = run(
        capsys, "train", file, "--algorithm", "eg", "--eta", 0.1, "--dimension", 4, "--partitions", "--json", "--quiet"
    )
    assert told.json["dimension"] == 4 + Partitions().most_cells(1024)


def test_auto_says_what_it_has_instead(capsys: Capsys, tmp_path: Path, file: Path) -> None:
    told = run(capsys, "train", file, "--partitions")
    assert told.code == 2
    assert "--features" in told.err
    run(capsys, "train", file, *SAID, "-o", tmp_path / "m.lr")
    assert "settles --partitions" in run(capsys, "train", file, "--resume", tmp_path / "m.lr", "--partitions").err


def test_far_columns_are_refused_with_the_place(capsys: Capsys, tmp_path: Path) -> None:
    far = written(tmp_path / "far.svm", [*SVM[:3], "1 2000000:1"])
    told = run(capsys, "train", far, *SAID)
    assert told.code == 2
    assert "far.svm:4: feature 2000000 is beyond the first 2^20" in told.err
