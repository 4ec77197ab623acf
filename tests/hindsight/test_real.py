"""On real rows: as scikit-learn's solvers find, and the exact regret of runs."""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from lowregret import Hinge, L2Ball, Logistic, Loss, Reals, Square, best_in_hindsight
from lowregret.state import Vector

ROWS = 2000
PEERS: dict[str, tuple[Loss, Callable[[float], Any]]] = {
    "hinge": (Hinge(), lambda c: LinearSVC(C=c, loss="hinge", tol=1e-7, max_iter=20_000, fit_intercept=False)),
    "logistic": (Logistic(), lambda c: LogisticRegression(C=c, solver="newton-cg", tol=1e-9, fit_intercept=False)),
    "square": (Square(), lambda c: Ridge(alpha=0.5 / c, solver="lsqr", tol=1e-12, fit_intercept=False)),
}


def prefix(find: Callable[[str], Path], name: str) -> tuple[Any, Vector]:
    if name == "elec2":
        with gzip.open(find("elec2.csv.gz"), "rt") as file:
            _, *rows = (row for _, row in zip(range(ROWS + 1), csv.reader(file), strict=False))
        return np.array([list(map(float, r[:-1])) for r in rows]), np.array(
            [1.0 if r[-1] == "UP" else -1.0 for r in rows]
        )
    with gzip.open(find(f"{name}.svm.gz")) as lines:
        text = io.BytesIO(b"".join(line for _, line in zip(range(ROWS), lines, strict=False)))
    x, y = load_svmlight_file(text)
    x.indices, x.indptr = x.indices.astype(np.int32), x.indptr.astype(np.int32)
    return x, y


@pytest.mark.parametrize(
    ("name", "peer"),
    [(name, peer) for name in ("elec2", "a9a") for peer in PEERS]
    + [(name, peer) for name in ("farm_ads", "enron_spam") for peer in ("hinge", "logistic")],
)
def test_as_others_find(data_file: Callable[[str], Path], name: str, peer: str) -> None:
    """With a ridge as scikit-learn has it; then in the ball through its answer, which has the same answer."""
    x, y = prefix(data_file, name)
    (loss, make), c = PEERS[peer], 1e-2 if name == "enron_spam" else 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        w = make(c).fit(x, y).coef_.ravel()
    theirs = sum(loss.at(p, label)[0] for p, label in zip((x @ w).tolist(), y.tolist(), strict=True))
    size = float(np.linalg.norm(w))
    found = best_in_hindsight(loss, x, y, Reals(), ridge=1 / c, tolerance=1e-7)
    assert found.gap <= 1e-7 * (1 + found.value)
    assert found.value == pytest.approx(theirs + size**2 / (2 * c), rel=1e-6)
    ball = best_in_hindsight(loss, x, y, L2Ball(size), tolerance=1e-6)
    assert ball.gap <= 1e-6 * (1 + ball.value)
    assert ball.value == pytest.approx(theirs, rel=3e-6)


@pytest.mark.parametrize("radius", [1.0, 10.0, 100.0])
@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Square()], ids=repr)
@pytest.mark.parametrize("name", ["elec2", "a9a"])
def test_any_radius(data_file: Callable[[str], Path], name: str, loss: Loss, radius: float) -> None:
    """Whether the ball is in reach or not."""
    x, y = prefix(data_file, name)
    found = best_in_hindsight(loss, x, y, L2Ball(radius), bias=1.0, tolerance=1e-6)
    assert found.gap <= 1e-6 * (1 + found.value)
    assert np.linalg.norm(found.w) <= radius * (1 + 1e-12)
