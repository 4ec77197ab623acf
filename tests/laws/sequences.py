"""Sequences on which theorems are put to the test: random ones, those that make bounds tight, and real data."""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowregret.learner import Linear
from lowregret.loss import Cost
from lowregret.run import Run

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Adversary: TypeAlias = Callable[[float, Vector], Vector]  # (share of the rounds done, w_t) → the cost vector


class Stream(NamedTuple):
    """Rows and labels, in order. Under the loss `Cost` with label 1 a row is the cost vector itself."""

    name: str
    x: Matrix
    y: Vector

    def first(self, rounds: int) -> Stream:
        """The beginning of it."""
        return self._replace(x=self.x[:rounds], y=self.y[:rounds])


def of_costs(name: str, z: NDArray[Any]) -> Stream:
    """Cost vectors as a stream."""
    return Stream(name, np.ascontiguousarray(z, float), np.ones(len(z)))


# ---- random ----------------------------------------------------------------------------------------------------------


def random_costs(rounds: int, d: int, seed: int) -> list[Stream]:
    """Cost vectors of several kinds."""
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(rounds, d))
    few = rng.random((rounds, d)) < 0.3
    return [
        of_costs("normal", normal),
        of_costs("non-zero mean", normal + rng.normal(size=d)),
        of_costs("heavy tails", rng.standard_t(1.5, (rounds, d))),
        of_costs("sparse", normal * few),
        of_costs("signs", rng.choice([-1.0, 1.0], (rounds, d))),
        of_costs("drift", normal * 0.3 + np.outer(np.sin(np.arange(rounds) / 5), rng.normal(size=d))),
    ]


def random_experts(rounds: int, d: int, seed: int) -> list[Stream]:
    """Cost vectors in [0,1]^d."""
    rng = np.random.default_rng(seed)
    return [
        of_costs("uniform costs", rng.random((rounds, d))),
        of_costs("0/1 costs", rng.integers(0, 2, (rounds, d))),
        of_costs("one expert errs", np.eye(d)[rng.integers(0, d, rounds)]),
        of_costs("one good expert", rng.random((rounds, d)) ** np.linspace(0.3, 3.0, d)),
    ]


def labelled(rounds: int, d: int, seed: int) -> list[Stream]:
    """Rows with labels ±1: noisy half-space, imbalanced, sparse 0/1 rows, coin flips with heavy tails."""
    rng = np.random.default_rng(seed)
    u, normal = rng.normal(size=d), rng.normal(size=(rounds, d))
    binary = (rng.random((rounds, d)) < 0.4).astype(float)
    return [
        Stream("half-space", normal, _signs(normal @ u + 0.3 * rng.normal(size=rounds))),
        Stream("imbalanced", normal + 0.5, _signs(normal @ u - 1.5 * float(np.linalg.norm(u)))),
        Stream("0/1 rows", binary, _signs(binary @ u)),
        Stream("coin flips", rng.standard_t(2.0, (rounds, d)), rng.choice([-1.0, 1.0], rounds)),
    ]


def measured(rounds: int, d: int, seed: int) -> list[Stream]:
    """Rows with real labels, for regression."""
    return [
        s._replace(name=f"regression, {s.name}", y=s.x @ np.linspace(-1, 1, d) + 0.5 * s.y)
        for s in labelled(rounds, d, seed)
    ]


def _signs(v: Vector) -> Vector:
    return np.where(v > 0, 1.0, -1.0)


# ---- made to be hard -------------------------------------------------------------------------------------------------


def constant(rounds: int, d: int) -> Stream:
    """z = e_1 for ever."""
    return of_costs("constant", np.tile(np.eye(d)[0], (rounds, 1)))


def alternating(rounds: int, d: int) -> Stream:
    """z = 1, −1, 1, … in every coordinate."""
    return of_costs("alternating", np.outer((-1.0) ** np.arange(rounds), np.ones(d)))


def ftl_fail(rounds: int, d: int) -> Stream:
    """z = −½, 1, −1, 1, … in the first coordinate (DEMO-FTL-FAIL)."""
    sequence = (-1.0) ** (np.arange(rounds) + 1)
    sequence[0] = -0.5
    return of_costs("FTL-FAIL", np.outer(sequence, np.eye(d)[0]))


def orthonormal(rounds: int, d: int) -> Stream:
    """z = e_1, e_2, …, e_d, e_1, …, negated."""
    return of_costs("orthonormal", -np.eye(d)[np.arange(rounds) % d])


def turn(rounds: int, d: int) -> Stream:
    """z = +1 for T₀ rounds, then −1 until e²T₀, in the first coordinate (E40)."""
    late = np.arange(rounds) >= round(rounds / math.e**2)
    return of_costs("plus then minus", np.outer(np.where(late, -1.0, 1.0), np.eye(d)[0]))


def free_expert(rounds: int, d: int) -> Stream:
    """One expert is free, the others cost 1 each round (E13)."""
    return of_costs("free expert", np.tile(1.0 - np.eye(d)[0], (rounds, 1)))


def wobble(rounds: int, d: int, size: float = 0.05) -> Stream:
    """One long step to −1, then small steps ± across it: the sharpest curvature of a p-norm (E14)."""
    across = size * (-1.0) ** np.arange(d)
    z = np.outer((-1.0) ** np.arange(rounds), across)
    z[0] = -1.0
    return of_costs("wobble", z)


def hard_costs(rounds: int, d: int) -> list[Stream]:
    """All fixed hard sequences."""
    makers = (constant, alternating, ftl_fail, orthonormal, turn, free_expert, wobble)
    return [make(rounds, d) for make in makers]


def uphill(done: float, w: Vector) -> Vector:
    """The unit vector along w_t: the loss grows at once."""
    norm = float(np.linalg.norm(w))
    return w / norm if norm > 0 else np.eye(w.size)[0]


def across(done: float, w: Vector) -> Vector:
    """A unit vector orthogonal to w_t: gradient sums grow as fast as √T while the learner gains nothing."""
    v = np.eye(w.size)[int(np.argmin(np.abs(w)))]
    rest = v - (w @ v) / max(float(w @ w), 1e-300) * w
    norm = float(np.linalg.norm(rest))
    return rest / norm if norm > 1e-6 else uphill(done, w)


def flip(done: float, w: Vector) -> Vector:
    """The signs of w_t."""
    return np.where(w >= 0, 1.0, -1.0)


def heaviest(done: float, w: Vector) -> Vector:
    """Only the largest weight pays."""
    return np.eye(w.size)[int(np.argmax(w))]


def last_stand(done: float, w: Vector) -> Vector:
    """The sign of w_t's first coordinate, and at last always +: the learner has just been driven to the wrong side."""
    return np.eye(w.size)[0] * (1.0 if done > 0.93 or w[0] >= 0 else -1.0)


ADVERSARIES: dict[str, Adversary] = {
    "uphill": uphill,
    "across": across,
    "sign flips": flip,
    "heaviest pays": heaviest,
    "last stand": last_stand,
}


def adapted(learner: Linear, adversary: Adversary, rounds: int, d: int) -> Stream:
    """What an adversary that sees w_t does to this learner (its loss must be `Cost`)."""
    assert isinstance(learner.loss, Cost)
    run = Run(learner, learner.start(d), compiled=False)
    rows = []
    for t in range(rounds):
        rows.append(adversary(t / rounds, run.point[:d]))
        run.learn(rows[-1][None, :], [1.0])
    name = next((name for name, known in ADVERSARIES.items() if known is adversary), adversary.__name__)
    return of_costs(name, np.array(rows))


# ---- real ------------------------------------------------------------------------------------------------------------


class SparseStream(NamedTuple):
    """Rows and labels of a real data set."""

    name: str
    x: csr_array
    y: Vector


def read_svm(path: Path, rounds: int) -> SparseStream:
    """The first rows of a LIBSVM file; indices are used as they stand less 1."""
    labels, columns, values, ends = [], [], [], [0]
    with gzip.open(path, "rt") as lines:
        for _, line in zip(range(rounds), lines, strict=False):
            label, *entries = line.split()
            labels.append(float(label))
            for entry in entries:
                column, value = entry.split(":")
                columns.append(int(column) - 1)
                values.append(float(value))
            ends.append(len(values))
    x = csr_array((np.array(values), np.array(columns, np.int32), np.array(ends, np.int32)))
    return SparseStream(path.name, x, np.array(labels))


def read_elec2(path: Path, rounds: int) -> Stream:
    """The first rows of the electricity market, UP = +1."""
    with gzip.open(path, "rt") as lines:
        table = [row for _, row in zip(range(rounds + 1), csv.reader(lines), strict=False)][1:]
    return Stream(
        path.name,
        np.array([[float(v) for v in row[:-1]] for row in table]),
        np.array([1.0 if row[-1] == "UP" else -1.0 for row in table]),
    )
