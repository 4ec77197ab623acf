"""Sequences on which theorems are put to the test: random ones, those that make bounds tight, and real data."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from lowregret.game import hard_sequences as sequences
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.run.linear import LinearRun

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Adversary: TypeAlias = sequences.Rival


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
    return of_costs("constant", sequences.constant(rounds, d))


def alternating(rounds: int, d: int) -> Stream:
    return of_costs("alternating", sequences.alternating(rounds, d))


def ftl_fail(rounds: int, d: int) -> Stream:
    return of_costs("FTL-FAIL", sequences.ftl_fail(rounds, d))


def orthonormal(rounds: int, d: int) -> Stream:
    return of_costs("orthonormal", sequences.orthonormal(rounds, d))


def turn(rounds: int, d: int) -> Stream:
    return of_costs("plus then minus", sequences.turn(rounds, d))


def free_expert(rounds: int, d: int) -> Stream:
    return of_costs("free expert", sequences.free_expert(rounds, d))


def wobble(rounds: int, d: int, size: float = 0.05) -> Stream:
    return of_costs("wobble", sequences.wobble(rounds, d, size))


def hard_costs(rounds: int, d: int) -> list[Stream]:
    """All fixed hard sequences."""
    makers = (constant, alternating, ftl_fail, orthonormal, turn, free_expert, wobble)
    return [make(rounds, d) for make in makers]


ADVERSARIES: dict[str, Adversary] = {
    "uphill": sequences.uphill,
    "across": sequences.across,
    "sign flips": sequences.flip,
    "heaviest pays": sequences.heaviest,
    "last stand": sequences.last_stand,
}


def adapted(learner: Linear, adversary: Adversary, rounds: int, d: int) -> Stream:
    """What an adversary that sees w_t does to this learner (its loss must be `Cost`)."""
    assert isinstance(learner.loss, Cost)
    run = LinearRun(learner, learner.start(d), compiled=False)
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
