"""Losses of a user's own, put to the test: is what certificates rest on so, at the scores and labels that were met?

Convexity cannot be seen, but its opposite can: two scores p and q with ℓ(q) < ℓ(p) + ℓ'(p)(q − p). The same pairs show
a slope that is not the derivative, and declared facts that are false. Losses of the package are not asked.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.loss.base import Loss, Margin
from lowregret.loss.jitter import jitter, jump
from lowregret.loss.multiclass import MultiLoss, OneAgainstAll
from lowregret.loss.wrapped import OnMistakes
from lowregret.types import Vector

PREMISE = "the loss is convex in the score, its slope its derivative, and what it declares is so"
CLOSE = 1e-9  # what may be missing, of the numbers compared
ROUNDING, JUMPS = 1e-12, 4.0  # what rounding may hide: of the largest value at most, and jumps of those compared
NARROW = 1e-8  # distances, relative to scores and labels, at which nothing but rounding is seen
MOST_LABELS, GRID, SCALES = 24, 40, 60
FARTHEST = 1e100
USUAL = (-2.5, -1.0, 0.0, 1.0, 3.0)  # labels that are tried before any is met


@dataclass(frozen=True)
class MetScores:
    """The range of the scores, the length of the longest row, and labels that a run has met."""

    low: float = 0.0
    high: float = 0.0
    longest: float = 0.0
    labels: tuple[float, ...] = ()

    def wider(self, scores: Any = (), labels: Any = (), longest: float = 0.0) -> MetScores:
        """With what a batch brought; of many labels some are kept, the least and the largest among them."""
        low, high = float(np.min(scores, initial=self.low)), float(np.max(scores, initial=self.high))
        known = np.union1d(self.labels, labels)
        if known.size > MOST_LABELS:
            known = known[np.unique(np.linspace(0, known.size - 1, MOST_LABELS).astype(int))]
        return replace(self, low=low, high=high, longest=max(self.longest, longest), labels=tuple(known.tolist()))

    def farthest(self, reach: float) -> float:
        """The largest score that a comparator makes; if any may be, ten times those of the run."""
        known = reach * self.longest if reach < math.inf else 10 * max(-self.low, self.high)
        return min(known, FARTHEST)

    def scores(self, reach: float, label: float) -> Vector:
        """Scores to try: those between the least and the largest that the run or a comparator makes, on all scales.

        Five in each of twelve decades, away from 0, from the label, and from the ends of what the run met.
        """
        far = self.farthest(reach)
        low, high = min(self.low, -far), max(self.high, far)
        if not low < high:
            low, high = low - 10.0, high + 10.0
        shares = np.geomspace(1e-12, 1.0, SCALES)
        near = np.concatenate([-shares, [0.0], shares]) * (high - low) / 2
        met = [*np.linspace(self.low, self.high, GRID + 1), *(self.low * shares), *(self.high * shares)]
        tried = np.concatenate([np.linspace(low, high, GRID + 1), met, near, label + near])
        return np.unique(tried[(low <= tried) & (tried <= high)])

    def to_json(self) -> list[float]:
        """The numbers that a file keeps."""
        return [self.low, self.high, self.longest, *self.labels]

    @classmethod
    def of(cls, told: list[float]) -> MetScores:
        """The inverse of `to_json`."""
        low, high, longest, *labels = told
        return cls(low, high, longest, tuple(labels))


def first_met(loss: Loss | MultiLoss) -> MetScores | None:
    """The record of a run with this loss before it begins; None if the loss need not be put to the test."""
    return MetScores() if is_own(loss) else None


def counterexample(loss: Any, met: MetScores | None, reach: float = 1.0) -> str | None:
    """Where a loss of the user's own is not what certificates take it for, in words; None if that was not found.

    `reach` is the length of the longest comparator.
    """
    if not is_own(loss):
        return None
    if isinstance(loss, MultiLoss):
        return counterexample(loss.loss, met, reach) if isinstance(loss, OneAgainstAll) else _of_many(loss, met, reach)
    if isinstance(loss, OnMistakes):  # which rounds are mistakes is settled at w_t
        return counterexample(loss.loss, met, reach)
    met = met or MetScores(-100.0, 100.0)
    labels = met.labels or ((-1.0, 1.0) if isinstance(loss, Margin) else USUAL)
    for y in labels:
        if loss.accepts(y):
            found = _at_label(loss, y, met.scores(reach, y), max(map(abs, labels)))
            if found is not None:
                return found
    return None


def misjudged(loss: Any) -> str | None:
    """Where a loss of the user's own takes a wrong prediction for a right one, in words; None if that was not found."""
    if not (isinstance(loss, Loss) and is_own(loss) and loss.classifies):
        return None
    sizes = np.geomspace(1e-9, 1e9, 2 * GRID + 1)
    scores = np.concatenate([-sizes, [0.0], sizes])
    for y in (-1.0, 1.0):
        for p, guess in zip(scores.tolist(), loss.predictions(scores).tolist(), strict=True):
            if loss.accepts(y) and guess != y and not loss.wrong(p, y):
                return (
                    f"a score of {p:.6g} predicts {guess:g}, and `wrong` takes that for right where the label is {y:g}"
                )
    return None


def misshapen(loss: Any) -> str | None:
    """The fault, in words, of a user's own `at` that does not take (p, y) or return two numbers; None if it does."""
    if not (isinstance(loss, Loss) and is_own(loss)):
        return None
    name = f"{type(loss).__name__}.at"
    try:
        inspect.signature(loss.at).bind(0.0, 1.0)
    except TypeError:
        return f"{name}{inspect.signature(loss.at)} must take (p, y), the score and the label"
    try:
        found: Any = loss.at(0.0, 1.0)
    except Exception:  # it need not be defined there
        return None
    if isinstance(found, tuple | list) and len(found) == 2 and all(isinstance(v, Real | np.bool_) for v in found):
        return None
    return f"{name} must return two numbers, the loss and its slope in p; {name}(0.0, 1.0) is {found!r}"


def _at_label(loss: Loss, y: float, tried: Vector, label: float) -> str | None:
    """The first fault found at pairs of these scores, in words."""
    pairs = np.array([_at(loss, p, y) for p in tried.tolist()])
    values, slopes = pairs.T
    if np.isnan(pairs).any():
        p = tried[np.isnan(pairs).any(axis=1)][0]
        return f"label {y:g}, score {p:.6g}: value or slope is not a number"
    inside = np.flatnonzero(np.isfinite(values) & np.isfinite(slopes))
    if inside.size < 2:
        return None
    if inside[-1] - inside[0] >= inside.size or np.any(values == -math.inf):
        return f"label {y:g}: the loss is infinite between scores at which it is finite, or −∞"
    p, values, slopes = tried[inside], values[inside], slopes[inside]
    sizes = [abs(_at(loss, score, y)[0]) for score in (-1.0, 0.0, 1.0, y - 1, y, y + 1)]  # of sums inside the loss
    size = max(float(np.max(abs(values))), *(s for s in sizes if s < math.inf), 0.0)
    found = _broken(loss, y, p, values, slopes, size)
    if found is not None:
        i, j = found
        curved = f", which is not {loss.curvature:g}-strongly convex," if loss.curvature > 0 else ""
        return (
            f"label {y:g}: the loss{curved} is {values[i]:.6g} at score {p[i]:.6g} with slope {slopes[i]:.6g}, and "
            f"{values[j]:.6g} at {p[j]:.6g} with slope {slopes[j]:.6g}"
        )
    return _declared(loss, y, p, values, slopes, label)


def _broken(loss: Loss, y: float, p: Vector, values: Vector, slopes: Vector, size: float) -> tuple[int, int] | None:
    """Two scores of which the second lies below the tangent at the first by more than both are rounded by."""
    away = p[None, :] - p[:, None]
    with np.errstate(over="ignore", invalid="ignore"):
        rise = slopes[:, None] * away + loss.curvature / 2 * away * away
        missing = values[:, None] + rise - values[None, :]
        missing -= CLOSE * (abs(values[:, None]) + abs(values) + abs(rise))
    i, j = np.nonzero(missing > 0)
    if not i.size:
        return None
    missing, away, most = missing[i, j], abs(away[i, j]), ROUNDING * size
    for seen in (jitter, jump) if np.max(missing) <= most else ():  # it may be rounding, as far as that is seen there
        off, tilt = _off(seen, loss, y, p, np.concatenate([i, j]), np.concatenate([j, i]))
        left = missing > np.minimum(JUMPS * (off[i] + off[j] + tilt[i] * away), most)
        i, j, missing, away = i[left], j[left], missing[left], away[left]
        if not i.size:
            return None
    k = int(np.argmax(missing))
    return int(i[k]), int(j[k])


def _off(seen: Any, loss: Loss, y: float, p: Vector, asked: Any, others: Any) -> tuple[Vector, Vector]:
    """By how much values and slopes at some of these scores are off, which are compared with those at others."""
    found, away = np.zeros((p.size, 2)), np.full(p.size, math.inf)
    np.minimum.at(away, asked, abs(p[asked] - p[others]))
    away = np.maximum(away, NARROW * np.maximum(abs(p), abs(y)))
    for k in np.unique(asked):
        found[k] = seen(lambda score: _at(loss, score, y), float(p[k]), float(away[k]))
    return found[:, 0], found[:, 1]


def _at(loss: Loss, p: float, y: float) -> tuple[float, float]:
    try:
        return loss.at(p, y)
    except (OverflowError, ZeroDivisionError, ValueError):  # compiled, this is infinity or NaN
        return math.inf, math.inf


def _declared(loss: Loss, y: float, p: Vector, values: Vector, slopes: Vector, label: float) -> str | None:
    """A declared fact that is false at one of these scores."""
    steepest, size = float(np.max(abs(slopes))), float(np.max(abs(values)))
    where = f"label {y:g}, scores from {p[0]:.6g} to {p[-1]:.6g}"
    if steepest > loss.lipschitz * (1 + CLOSE):
        return f"{where}: a slope is {steepest:.6g}, but lipschitz = {loss.lipschitz:g}"
    if loss.smoothness < math.inf and _bends(loss, y, p, slopes, CLOSE * steepest):
        return f"{where}: the slope changes faster than smoothness = {loss.smoothness:g} says"
    if size > loss.highest(float(np.max(abs(p))), label) * (1 + CLOSE):
        return f"{where}: a value is {size:.6g}, more than `highest` says"
    worth = loss.error_per_loss
    if worth is not None:
        wrong = np.array([loss.wrong(score, y) for score in p.tolist()])
        if np.any(worth * values[wrong] < 1 - CLOSE):
            return f"{where}: a mistake costs {np.min(values[wrong]):.6g}, but error_per_loss = {worth:g}"
    return _dual(loss, y, p, values, slopes) if loss.dual else None


def _bends(loss: Loss, y: float, p: Vector, slopes: Vector, most: float) -> bool:
    """Whether the slope changes faster than the loss says between two neighbouring scores."""
    with np.errstate(over="ignore", invalid="ignore"):
        more = np.diff(slopes) - loss.smoothness * np.diff(p) - CLOSE * (abs(slopes[1:]) + abs(slopes[:-1]))
    k = np.flatnonzero(more > 0)
    if not k.size or np.max(more) > most:
        return bool(k.size)
    tilt = _off(jump, loss, y, p, np.append(k, k + 1), np.append(k + 1, k))[1]
    return bool(np.any(more[k] > np.minimum(JUMPS * (tilt[k] + tilt[k + 1]), most)))


def _dual(loss: Loss, y: float, p: Vector, values: Vector, slopes: Vector) -> str | None:
    """A slope a of which the conjugate lies below a·p − ℓ(p) at one of these scores."""
    for a in np.unique(slopes).tolist():
        told = loss.conjugate(a, y)
        with np.errstate(over="ignore", invalid="ignore"):
            heights, sizes = a * p - values, abs(a * p) + abs(values)
            low = np.flatnonzero(~(told >= heights - CLOSE * sizes) & (sizes < math.inf))
        if not low.size:
            continue
        off, _ = _off(jump, loss, y, p, low, np.where(low > 0, low - 1, 1))
        most = CLOSE * float(np.max(sizes[sizes < math.inf]))
        low = low[~(told >= heights[low] - np.minimum(JUMPS * off[low], most))]
        if low.size:
            return f"label {y:g}: conjugate({a:.6g}) = {told:.6g} is less than {heights[low[0]]:.6g} = a·p − ℓ(p)"
    return None


def _of_many(loss: MultiLoss, met: MetScores | None, reach: float, classes: int = 3, tries: int = 12) -> str | None:
    """A fault of a loss of many scores, in words: between random ones, as large as the run and its comparators make."""
    rng, farthest = np.random.default_rng(0), 10.0 if met is None else met.farthest(reach)
    sizes = {0.1, 1.0, 10.0, *(share * farthest for share in (1e-4, 1e-3, 0.01, 0.1, 0.3, 1.0) if farthest > 0)}
    points = [rng.normal(size=classes) * size for size in sorted(sizes) for _ in range(tries)]
    for s in points:
        guess = int(np.argmax(s))
        for y in range(classes):
            slopes = np.zeros(classes)
            value = loss.at(s, classes, guess, y, slopes)
            found = np.array([loss.at(other, classes, guess, y, np.zeros(classes)) for other in points])
            with np.errstate(over="ignore", invalid="ignore"):
                rise = (points - s) @ slopes
                missing = value + rise - found - CLOSE * (abs(value) + abs(found) + abs(points - s) @ abs(slopes))
            k = int(np.argmax(np.where(np.isnan(missing), math.inf, missing)))
            if missing[k] <= 0 or _is_rounding(loss, s, points[k], guess, y, missing[k], CLOSE * np.max(abs(found))):
                continue
            return f"class {y}: the loss is {value:.6g} at {s} with slopes {slopes}, and {found[k]:.6g} at {points[k]}"
    return None


def _is_rounding(loss: MultiLoss, s: Vector, other: Vector, guess: int, y: int, missing: float, most: float) -> bool:
    """Whether so much may be missing at the other scores for rounding, as that is seen on the line to them."""

    def at(t: float) -> tuple[float, float]:
        slopes = np.zeros(s.size)
        try:
            value = loss.at(s + t * (other - s), s.size, guess, y, slopes)
        except (OverflowError, ZeroDivisionError, ValueError):  # compiled, this is infinity or NaN
            return math.inf, math.inf
        return value, float(slopes @ (other - s))

    if not missing <= most:
        return False
    with np.errstate(all="ignore"):
        (here, tilt), (there, _) = jump(at, 0.0, 1.0), jump(at, 1.0, 1.0)
    return missing <= JUMPS * (here + there + tilt)
