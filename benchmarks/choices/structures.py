"""Structures: decoders against listing all, losses and regret in fractions, rounds one by one and all at once."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.choices.nasty import LOOSE, Generator, Vector, again, claim, near, pick, product, same_arrays, vectors
from lowregret import Average, Constant, Euclidean, InverseSqrt, L2Ball, Last, MirrorDescent, ProjectedGradient, train
from lowregret.compile.numerics import FAINT
from lowregret.errors import LowRegretError
from lowregret.structured import Chain, Ranking, Structured, choices, sequences
from tests.structured.naive import NaiveSpace, Structure
from tests.structured.problems import FEATURES, SPACES, lists_of, pairs_of


def rule_of(rng: Generator, scale: float) -> Any:
    """A rule whose steps fit rows of this scale, more or less."""
    eta = min(float(pick(rng, (0.01, 0.5, 3.0))) / scale / scale, 1e300)
    ball = L2Ball(max(float(pick(rng, (0.1, 10.0))) / scale, FAINT))
    rules = MirrorDescent(Euclidean(), Constant(eta)), MirrorDescent(Euclidean(ball), Constant(eta))
    return pick(rng, (*rules, ProjectedGradient(ball, InverseSqrt(eta))))


def judged(space: NaiveSpace, w: Vector, x: Vector, y: Structure, margin: float) -> tuple[Fraction, Fraction]:
    """φ(w) and the size of its terms."""
    own = product(w, space.psi(x, y))
    found = [
        (Fraction(margin) * Fraction(space.cost(y, s)) + product(w, space.psi(x, s)) - own) for s in space.structures(x)
    ]
    sizes = [product(np.abs(w), np.abs(space.psi(x, s))) for s in space.structures(x)]
    return max(found), 2 * max(sizes) + Fraction(margin) * len(y) * 8


def decoded(space: NaiveSpace, w: Vector, x: Vector, made: Structure) -> None:
    """Claim that no structure scores more than the one that was made."""
    scores = {s: product(w, space.psi(x, s)) for s in space.structures(x)}
    size = max(product(np.abs(w), np.abs(space.psi(x, s))) for s in scores)
    slack = Fraction(LOOSE) * 64 * size + Fraction(5e-324) * 64
    claim(scores[made] >= max(scores.values()) - slack, f"decoded {made}, which is not the best of {w} at {x}")


def structured(rng: Generator) -> None:
    """Structured learners."""
    space, naive = SPACES[pick(rng, list(SPACES))]
    rounds = int(rng.integers(1, 10))
    lengths = np.ones(rounds, int) if space.single else rng.integers(1, 4, rounds)
    x = vectors(rng, int(lengths.sum()), FEATURES)
    data = sequences(x, rng.integers(space.labels(), size=len(x)), lengths=lengths)
    margin, scale = float(pick(rng, (0.0, 1.0, 0.3))), float(np.max(np.abs(x))) or 1.0
    learner = Structured(space, rule_of(rng, scale), margin, pick(rng, (Last(), Average())))
    try:
        whole: Any = train(learner, data)
    except LowRegretError:
        return
    one: Any = train(learner, data[:1])
    points, made = [np.zeros(one.dimension)], [tuple(one.predictions.tolist())]
    for t in range(1, rounds):
        one = again(rng, one)
        points.append(one.point)
        made.append(tuple(one.learn(data[t : t + 1]).predictions.tolist()))
    same_arrays(whole, one, "all at once and one by one")
    pairs = pairs_of(data)
    for w, (x_t, _), structure in zip(points, pairs, made, strict=True):
        decoded(naive, w, x_t, structure)
    wrong = sum(made_t != y for made_t, (_, y) in zip(made, pairs, strict=True))
    claim(whole.mistakes == wrong, f"{wrong} mistakes, told {whole.mistakes}")
    against(rng, whole, points, [lambda u, x=x_t, y=y_t: judged(naive, u, x, y, margin) for x_t, y_t in pairs])


def beside(rng: Generator) -> None:
    """Losses of fixed weights are exact beside scores of any size, where these are not rounded."""
    space, naive = SPACES[pick(rng, list(SPACES))]
    rounds = int(rng.integers(1, 10))
    lengths = np.ones(rounds, int) if space.single else rng.integers(1, 4, rounds)
    scales = np.repeat(2.0 ** rng.integers(0, 70, rounds), lengths)
    x = rng.integers(-2, 3, (len(scales), FEATURES)) * scales[:, None]
    data = sequences(x, rng.integers(space.labels(), size=len(x)), lengths=lengths)
    margin = float(pick(rng, (0.0, 1.0, 0.25)))
    run: Any = train(Structured(space, MirrorDescent(Euclidean(), Constant(0.5)), margin), data[:1])
    u = rng.integers(-2, 3, run.dimension) / 4
    if isinstance(space, Chain):
        u[FEATURES * space.classes :] = 0.0  # beside the others, transitions would be rounded
    for told, (x_t, y_t) in zip(run.losses(u, data).tolist(), pairs_of(data), strict=True):
        true, _ = judged(naive, u, x_t, y_t, margin)
        near(told, true, 0, 16, f"the loss of {y_t} at {x_t} by {u}, margin {margin},")


def ranking(rng: Generator) -> None:
    """Rankings from clicks."""
    rounds = int(rng.integers(1, 12))
    lengths = rng.integers(1, 6, rounds)
    x = vectors(rng, int(lengths.sum()), FEATURES)
    data = choices(x, [int(rng.integers(n)) for n in lengths], lengths=lengths)
    learner = Ranking(rule_of(rng, float(np.max(np.abs(x))) or 1.0), pick(rng, (Last(), Average())))
    try:
        whole: Any = train(learner, data)
    except LowRegretError:
        return
    one: Any = train(learner, data[:1])
    points = [np.zeros(FEATURES)]
    for t in range(1, rounds):
        one = again(rng, one)
        points.append(one.point)
        one.learn(data[t : t + 1])
    same_arrays(whole, one, "all at once and one by one")
    against(rng, whole, points, [lambda u, x=x_t, y=y_t: surrogate(u, x, y) for x_t, y_t in lists_of(data)])


def surrogate(u: Vector, x: Vector, chosen: int) -> tuple[Fraction, Fraction]:
    """Σ_{j≠y}[1 − ⟨u, ψ_y − ψ_j⟩]₊ and the size of its terms."""
    scores = [product(u, row) for row in x]
    lost = [max(1 - scores[chosen] + s, Fraction(0)) for j, s in enumerate(scores) if j != chosen]
    return sum(lost, Fraction(0)), 4 * sum((1 + product(np.abs(u), np.abs(row)) for row in x), Fraction(0))


def against(rng: Generator, run: Any, points: list[Vector], losses: list[Any]) -> None:
    """The loss, and regret that no certificate which holds is below, against some points of the comparators."""
    mine = [f(w) for f, w in zip(losses, points, strict=True)]
    total, sizes = sum((a for a, _ in mine), Fraction(0)), sum((b for _, b in mine), Fraction(0))
    near(run.loss, total, 16 * sizes, len(mine), "the loss")
    d = run.dimension
    for u in (np.zeros(d), *rng.normal(size=(3, d)) * (run.comparator.reach(2, d) / np.sqrt(d))):
        fixed = run.comparator.projection(u)
        theirs = [f(fixed) for f in losses]
        regret = total - sum((a for a, _ in theirs), Fraction(0))
        slack = Fraction(2.0**-44) * (sizes + sum((b for _, b in theirs), Fraction(0)))
        for c in run.certificates:
            told = not (c.holds and np.isfinite(c.proved)) or regret <= Fraction(c.proved) + slack
            claim(told, f"{c.id}: the regret is {float(regret)}, proved {c.proved}")
