"""Finite classes: dimensions by listing everything, mistakes by counting, learners that stop and go on."""

from __future__ import annotations

import math
from typing import Any

from benchmarks.choices.nasty import Generator, again, claim, pick, same_arrays
from lowregret.finite import (
    Agnostic,
    Consistent,
    Halving,
    Hypotheses,
    Restarting,
    StandardOptimal,
    SurrogateHalving,
    WeightedMajority,
    dimensions,
)
from tests.finite.naive import everyone, ldim, vcdim

ROUNDS = 30


def hypotheses_of(rng: Generator) -> Hypotheses:
    """A small class, perhaps with rows that come again and columns that say nothing."""
    n, m = int(rng.integers(1, 14)), int(rng.integers(1, 7))
    matrix = rng.random((n, m)) < pick(rng, (0.1, 0.5, 0.9))
    if rng.random() < 0.3:
        matrix[:, 0] = True
    return Hypotheses(matrix)


def learner_of(rng: Generator, h: Hypotheses) -> Any:
    """Any learner of finite classes."""
    match int(rng.integers(7)):
        case 0:
            return Consistent(h)
        case 1:
            return Halving(h)
        case 2:
            return StandardOptimal(h)
        case 3:
            return SurrogateHalving(h, float(pick(rng, (0.25, 1.0, 0.4))))
        case 4:
            return WeightedMajority(h, ROUNDS)
        case 5:
            return Agnostic(h, ROUNDS)
    return Restarting(pick(rng, (WeightedMajority, Agnostic)), h)


def dimension(rng: Generator) -> None:
    """Both dimensions are those of the definitions, and the witnesses are witnesses."""
    h = hypotheses_of(rng)
    found = dimensions(h)
    true = ldim(h.matrix, everyone(h.matrix), {}), vcdim(h.matrix)
    claim(found.exact and found.verified, f"{h.matrix.astype(int).tolist()}: not exact or not verified")
    told = found.littlestone[0], found.vc[0]
    claim(told == true, f"{h.matrix.astype(int).tolist()}: Littlestone and VC are {true}, told {told}")


def learning(rng: Generator) -> None:
    """Mistakes are those of a slow loop, bounds are not below them, and files and copies change nothing."""
    h = hypotheses_of(rng)
    learner, right, noise = learner_of(rng, h), int(rng.integers(len(h))), float(pick(rng, (0.0, 0.0, 0.1, 0.5)))
    twin, lost, seen = learner, list[float](), list[tuple[int, int]]()
    learner = again(rng, learner)
    for _ in range(int(rng.integers(1, ROUNDS + 1))):
        x = int(rng.integers(h.points))
        y = int(h.matrix[right, x]) ^ int(rng.random() < noise)
        p = twin.predict(x)
        if learner is not twin:
            claim(learner.predict(x) == p, "a copy predicts otherwise")
            learner = again(rng, learner.learn(x, y))
        twin.learn(x, y)
        lost.append(abs(p - y))
        seen.append((x, y))
        check(twin, h, lost, seen)
    if learner is not twin:
        same_arrays(learner, twin, type(twin).__name__)


def check(learner: Any, h: Hypotheses, lost: list[float], seen: list[tuple[int, int]]) -> None:
    """The figures and the bound after some rounds."""
    errors = [sum(bool(h.matrix[i, x]) != bool(y) for x, y in seen) for i in range(len(h))]
    loss = math.fsum(lost)
    claim(abs(learner.loss - loss) <= 1e-12 * len(lost), f"lost {loss}, told {learner.loss}")
    claim(abs(learner.regret - (loss - min(errors))) <= 1e-12 * len(lost), "the regret is not the loss less the best")
    for c in learner.certificates:
        measured = loss if c.measure == "mistakes" else loss - min(errors)
        claim(not c.premises_hold or measured <= c.bound * (1 + 1e-12) + 1e-12, f"{c.id}: {measured} > {c.bound}")
        claim(
            c.id not in ("COR-1.1", "THM-1.2", "LEM-3.3") or c.premises_hold == (min(errors) == 0), f"{c.id}: premises"
        )
