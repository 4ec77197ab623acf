"""The best fixed choice in hindsight under attack: random losses and sets, nasty rows, answers checked with 120 digits.

    python -m benchmarks.fuzz_hindsight --runs 2000 --seed 0 [--wide] [--compiled]

`--wide`: few sparse rows of many columns, for other methods. It is checked, with sums and powers of 120 digits, that

- the point lies in the set,
- `value` is what the point loses, up to `rounding`, a part of the gap, and 1e-15 of what is summed,
- no other point loses less than `value` − `gap`: better ones on lines from it, corners of the set, points at random,
  what an independent solver finds, steps of Newton's method,
that it came in bounded time, and that a refusal is one of the package's own. A falsehood ends it, with its seed.
"""

from __future__ import annotations

import argparse
import decimal
import importlib
import math
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.exact import Decimals, decimals, loss_at, total
from benchmarks.newton import newton
from lowregret.convex.minimise import Solution
from lowregret.domain import Box, Domain, L1Ball, L2Ball, Orthant, Reals, Simplex
from lowregret.errors import LowRegretError
from lowregret.hindsight import best_in_hindsight
from lowregret.hindsight.newton import DENSE
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    LogWealth,
    Loss,
    Margin,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)
from lowregret.types import Vector

DIGITS = 120
SECONDS, LIMIT = 10.0, 60.0  # that a search is given, and that it may take on a machine with other things to do
SCALES = (1.0, 1.0, 1.0, 1.0, 1e-3, 1e3, 1e-8, 1e8, 1e15, 1e-15, 1e100, 1e-100, 1e150, 1e-150)
NEAR = Decimal("1e-15")  # of what is summed: by how much a value may be off, besides its gap
INSIDE = Decimal("1e-12")  # of the set's size: by how much a point may be outside
TINY = Decimal("1e-300")  # what is no number of doubles
POINTS, LINES, HALVINGS, CORNERS = 6, 6, 60, 5
STEPS, NARROW = 6, 8  # of Newton's method, up to so many columns


@dataclass(frozen=True)
class Case:
    """A problem: Σ c_i ℓ(⟨u, x_i⟩ + bias·u_d, y_i) + (κ/2)‖u‖² on a set."""

    loss: Loss
    x: Vector
    y: Vector
    c: Vector
    domain: Domain
    ridge: float
    tolerance: float

    def __str__(self) -> str:
        n, d = self.x.shape
        return f"{self.loss} on {self.domain}, {n} rows × {d}, ridge {self.ridge:g}, tolerance {self.tolerance:g}"


# ---- problems at random ---------------------------------------------------------------------------------------------


def some_scale(rng: np.random.Generator) -> float:
    return float(rng.choice(SCALES) * rng.choice([1.0, rng.uniform(0.1, 10)]))


def some_loss(rng: np.random.Generator) -> Loss:
    size = some_scale(rng)
    inner = [Hinge(), Logistic(), SquaredHinge(), Hinge(size)][int(rng.integers(4))]
    slope, offset = float(rng.choice([-2.0, 0.3, 1e6])), float(rng.choice([0.0, 1.0, -1e3, 1e9]))
    losses: list[Loss] = [
        *(Hinge(), Hinge(size), SquaredHinge(), Logistic(), Affine(inner, slope, offset)),
        *(Square(), Absolute(), Quantile(float(rng.choice([0.5, 0.01, 1e-9, 1 - 1e-9]))), Huber(1.0), Huber(size)),
        *(EpsilonInsensitive(size), EpsilonInsensitive(0.1), Poisson(), LogWealth(), Cost()),
    ]
    return losses[int(rng.integers(len(losses)))]


def some_rows(rng: np.random.Generator, n: int, d: int) -> Vector:
    """Rows, of which columns or rows may be alike, collinear, empty, or of sizes out of all proportion."""
    x = rng.normal(size=(n, d)) * some_scale(rng)
    kind = int(rng.integers(9))
    if kind == 1:
        x[:] = x[:1] * rng.choice([1.0, -1.0, 0.5], size=(n, 1))
    elif kind == 2:
        x[:, d // 2 :] = x[:, :1]
    elif kind == 3:
        x *= 10.0 ** rng.integers(-8, 9, size=d)
    elif kind == 4:
        x *= 10.0 ** rng.integers(-8, 9, size=(n, 1))
    elif kind == 5:
        x *= rng.random((n, d)) < 0.4
    elif kind == 6:
        x = np.round(x / np.max(np.abs(x)) * 3)
    elif kind == 7:
        x[:, -1] = x[:, 0] * (1 + 1e-13 * rng.normal(size=n))
    return x


def some_labels(rng: np.random.Generator, loss: Loss, x: Vector) -> Vector:
    n, size = len(x), some_scale(rng)
    if isinstance(loss, Margin):
        return rng.choice([-1.0, 1.0], n) if rng.random() < 0.8 else np.ones(n)
    if isinstance(loss, Poisson):
        return np.abs(np.round(rng.normal(size=n) * min(size, 1e15)))
    with np.errstate(all="ignore"):
        told = x @ rng.normal(size=x.shape[1])
    choices: list[Vector] = [
        rng.normal(size=n),
        np.full(n, rng.normal()),
        np.zeros(n),
        told,
        told + rng.standard_cauchy(n),
    ]
    y = choices[int(rng.integers(5))] * size
    if isinstance(loss, EpsilonInsensitive) and rng.random() < 0.5:
        y = loss.epsilon * rng.choice([-1.0, 1.0], n) + rng.normal(size=n)
    return y if np.all(np.isfinite(y)) else rng.normal(size=n)


def some_set(rng: np.random.Generator, d: int, ridge: float) -> Domain:
    size = some_scale(rng)
    ends = np.sort(rng.normal(size=(2, d)) * size, axis=0)
    sets: list[Domain] = [L2Ball(size), L1Ball(size), Simplex(size), Box(-size, size), Box(0.0, size), Box(*ends)]
    sets += [Reals(), Orthant()] if ridge > 0 or rng.random() < 0.7 else []
    return sets[int(rng.integers(len(sets)))]


def some_case(rng: np.random.Generator, wide: bool = False) -> Case:
    loss, n, d = some_loss(rng), int(rng.integers(1, 13)), int(rng.integers(1, 6))
    d = DENSE + int(rng.integers(1, 200)) if wide else d
    x = some_rows(rng, n, d)
    x *= rng.random((n, d)) < 5 * rng.random() / d if wide else 1.0
    x = np.abs(x) + 0.0 if isinstance(loss, LogWealth) else x
    y = some_labels(rng, loss, x)
    weights = [np.ones(n), np.ones(n), rng.random(n), 10.0 ** rng.integers(-9, 9, size=n), np.full(n, some_scale(rng))]
    c = weights[int(rng.integers(5))] * (rng.random(n) < (1.0 if rng.random() < 0.8 else 0.5))
    ridge = float(rng.choice([0.0, 0.0, some_scale(rng)]))
    ridge = max(ridge, 0.0 if rng.random() < 0.5 else some_scale(rng)) if wide else ridge
    domain = some_set(rng, d, ridge) if not wide else Reals() if ridge else L2Ball(some_scale(rng))
    return Case(loss, x, y, c, domain, ridge, float(rng.choice([1e-4, 1e-6, 1e-9, 1e-14])))


# ---- the problem with many digits -----------------------------------------------------------------------------------


class Exactly:
    """A problem in many digits."""

    def __init__(self, case: Case) -> None:
        self.case = case
        used = case.c != 0
        self.rows = [[(j, Decimal(v)) for j, v in enumerate(row) if v] for row in case.x[used].tolist()]
        self.labels = [Decimal(v) for v in case.y[used].tolist()]
        self.weights = [Decimal(v) for v in case.c[used].tolist()]

    def terms(self, u: Decimals) -> Iterator[Decimal]:
        for row, y, c in zip(self.rows, self.labels, self.weights, strict=True):
            yield c * loss_at(self.case.loss, total(a * u[j] for j, a in row), y)
        yield Decimal(self.case.ridge) / 2 * total(a * a for a in u)

    def value(self, u: Decimals) -> Decimal:
        return total(self.terms(u))

    def size(self, u: Decimals) -> Decimal:
        return total(map(abs, self.terms(u)))


# ---- points of a set ------------------------------------------------------------------------------------------------


def within(domain: Domain, u: Decimals) -> Decimals:
    """A point of the set near u, with many digits; u itself if it is one."""
    match domain:
        case L2Ball(radius):
            return shrunk(u, total(a * a for a in u).sqrt(), Decimal(radius))
        case L1Ball(radius):
            return shrunk(u, total(map(abs, u)), Decimal(radius))
        case Simplex(size):
            positive = [max(a, Decimal(0)) for a in u]
            sum_, whole = total(positive), Decimal(size)
            return [a * whole / sum_ for a in positive] if sum_ > 0 else [whole / len(u)] * len(u)
        case Box(low, high):
            ends = (decimals(np.broadcast_to(side, len(u))) for side in (low, high))
            return [min(max(a, least), most) for a, least, most in zip(u, *ends, strict=True)]
        case Orthant():
            return [max(a, Decimal(0)) for a in u]
    return u


def shrunk(u: Decimals, length: Decimal, radius: Decimal) -> Decimals:
    return u if length <= radius else [a * radius / length * (1 - Decimal(10) ** (5 - DIGITS)) for a in u]


def others(case: Case, w: Vector, rng: np.random.Generator) -> Iterator[Vector]:
    """Points to compare with, near the set."""
    d, size = w.size, float(np.max(np.abs(w)))
    reach = case.domain.reach(2, d)
    reach = reach if math.isfinite(reach) else max(size, 1.0)
    yield np.zeros(d)
    for _ in range(POINTS):
        yield w + float(rng.choice([1e-15, 1e-9, 1e-3, 1.0, 10.0])) * size * rng.normal(size=d)
    for _ in range(2):
        yield reach * rng.normal(size=d)
    for j in rng.permutation(d)[:CORNERS]:
        for sign in (-1.0, 1.0):
            yield sign * reach * np.eye(d)[j]
    with np.errstate(all="ignore"):
        told = np.linalg.lstsq(case.x, case.y, rcond=None)[0] if np.all(np.abs(case.x) < 1e100) else w
    if np.all(np.isfinite(told)):
        yield np.asarray(told, float)
    found = by_cones(case)
    if found is not None:
        yield found


def by_cones(case: Case) -> Vector | None:
    """What cvxpy finds, where numbers are of a size that its solvers are made for."""
    cp: Any = importlib.import_module("cvxpy")

    numbers = np.abs(np.concatenate([case.x.ravel(), case.y, case.c, [case.ridge, 1.0]]))
    if numbers.max() > 1e6 or numbers[numbers > 0].min() < 1e-6:
        return None
    u: Any = cp.Variable(case.x.shape[1])
    losses, inside = coned_losses(cp, case, case.x @ u), coned_set(cp, case.domain, u)
    if losses is None:
        return None
    goal = cp.Minimize(case.c @ losses + case.ridge / 2 * cp.sum_squares(u))
    with warnings.catch_warnings(), suppress(cp.error.SolverError):
        warnings.simplefilter("ignore")
        cp.Problem(goal, inside).solve(solver="CLARABEL")
    return None if u.value is None or not np.all(np.isfinite(u.value)) else np.asarray(u.value)


def coned_losses(cp: Any, case: Case, p: Any) -> Any:
    """The losses of scores p as cvxpy writes them; None of those that it is not asked for."""
    y = case.y
    match case.loss:
        case Hinge(margin):
            return cp.pos(margin - cp.multiply(y, p))
        case SquaredHinge():
            return cp.square(cp.pos(1 - cp.multiply(y, p)))
        case Logistic():
            return cp.logistic(-cp.multiply(y, p))
        case Square():
            return cp.square(p - y)
        case Absolute():
            return cp.abs(p - y)
        case Quantile(tau):
            return cp.maximum(tau * (y - p), (1 - tau) * (p - y))
        case Huber(delta):
            return cp.huber(p - y, delta) / 2
        case EpsilonInsensitive(epsilon):
            return cp.pos(cp.abs(p - y) - epsilon)
        case Poisson():
            return cp.exp(p) - cp.multiply(y, p)
    return None


def coned_set(cp: Any, domain: Domain, u: Any) -> list[Any]:
    """What cvxpy is told of a set."""
    match domain:
        case L2Ball(radius):
            return [cp.norm(u, 2) <= radius]
        case L1Ball(radius):
            return [cp.norm(u, 1) <= radius]
        case Simplex(size):
            return [u >= 0, cp.sum(u) == size]
        case Box(low, high):
            return [u >= low, u <= high]
        case Orthant():
            return [u >= 0]
    return []


def better(o: Exactly, u: Decimals, v: Decimals) -> tuple[Decimals, Decimal]:
    """About the best point between u and v, by thirds: F is convex on the line."""

    def at(share: Decimal) -> Decimals:
        return [a + share * (b - a) for a, b in zip(u, v, strict=True)]

    low, high, best = Decimal(0), Decimal(1), (Decimal(0), o.value(u))
    for _ in range(HALVINGS):
        one, two = (2 * low + high) / 3, (low + 2 * high) / 3
        first, second = o.value(at(one)), o.value(at(two))
        best = min(best, (one, first), (two, second), key=lambda found: found[1])
        low, high = (low, two) if first <= second else (one, high)
    return at(best[0]), best[1]


# ---- checking -------------------------------------------------------------------------------------------------------


def falsehood(case: Case, found: Solution, rng: np.random.Generator) -> str | None:
    """What is not true of an answer."""
    if not (math.isfinite(found.value) and found.gap >= 0 and np.all(np.isfinite(found.w))):
        return f"value {found.value}, gap {found.gap}, point {found.w}: these are no numbers"
    o, w = Exactly(case), decimals(found.w)
    u = within(case.domain, w)
    size = Decimal(min(case.domain.reach(2, len(w)), 1e308))
    if max(abs(a - b) for a, b in zip(u, w, strict=True)) > INSIDE * size:
        return f"the point {found.w.tolist()} is outside of the set"
    own, value, gap = o.value(w), Decimal(found.value), Decimal(found.gap)
    if abs(own - value) > Decimal(found.rounding) + NEAR * o.size(w) + TINY or found.rounding > found.gap:
        return f"value {found.value!r} (rounding {found.rounding:g}) is not {own:.20g}, what the point loses"
    if gap == Decimal("Infinity"):
        return None
    least, best = o.value(u), u
    tried = [within(case.domain, decimals(v)) for v in others(case, found.w, rng)]
    values = [o.value(v) for v in tried]
    if min(values) < least:
        least, best = min(values), tried[int(np.argmin([float(v - least) for v in values]))]
    for k in rng.permutation(len(tried))[:LINES].tolist():
        if least < value - gap or not values[k].is_finite() or not least.is_finite():
            break
        best, least = better(o, best, tried[k])
    for _ in range(STEPS if len(w) <= NARROW and least.is_finite() else 0):
        ends = newton(case.loss, (o.rows, o.labels, o.weights), Decimal(case.ridge), best)
        least, best = min(
            ((o.value(v), v) for v in [best, *(within(case.domain, end) for end in ends)]), key=lambda f: f[0]
        )
    if least < value - gap - abs(value) * Decimal("2.3e-16") - TINY:
        return f"value {found.value!r} − gap {found.gap!r}, but {[float(a) for a in best]} loses {least:.20g}"
    return None


def attack(seed: int, compiled: bool = False, wide: bool = False) -> tuple[Case, str | None, float]:
    """One case: what it is, what was false about its answer, and the gap relative to 1 + |value| (NaN: refused)."""
    rng = np.random.default_rng(seed)
    case = some_case(rng, wide)
    x = csr_array(case.x) if wide and seed % 2 else case.x
    begin = time.monotonic()
    try:
        found = best_in_hindsight(
            *(case.loss, x, case.y, case.domain, case.c, case.ridge),
            tolerance=case.tolerance,
            seconds=SECONDS,
            compiled=compiled,
        )
    except LowRegretError:
        return case, None, math.nan
    except Exception as error:
        return case, f"{type(error).__name__}: {error}", math.nan
    if (took := time.monotonic() - begin) > LIMIT:
        return case, f"the search took {took:.0f} s", math.nan
    with decimal.localcontext(prec=DIGITS, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN) as context:
        context.traps[decimal.Overflow] = context.traps[decimal.Underflow] = False
        context.traps[decimal.InvalidOperation] = False
        said = falsehood(case, found, rng)
    return case, said, found.gap / (1 + abs(found.value))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="the first; each case has one of its own")
    parser.add_argument("--wide", action="store_true", help="more columns than Newton's method takes")
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--go-on", action="store_true", help="do not end at the first falsehood")
    arguments = parser.parse_args()
    gaps, false = [], 0
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        case, said, gap = attack(seed, arguments.compiled, arguments.wide)
        gaps.append(gap)
        if said is not None:
            false += 1
            print(f"\nseed {seed}: {case}\n{said}", flush=True)
            if not arguments.go_on:
                break
        answered = np.array([g for g in gaps if not math.isnan(g)] or [math.inf])
        print(f"\r{len(gaps)} cases, {np.mean(answered <= 1e-3):.0%} of those answered to 1e-3", end="", flush=True)
    sys.exit(false > 0)


if __name__ == "__main__":
    main()
