"""How far a loss as computed is off at a score, for rounding: seen in how it jumps between neighbouring floats.

A convex function is continuous and so, between its kinks, is its slope. What jumps is what was rounded inside: in
ln(1 + e^p) at p = −37 the last digit of 1, though the loss is as small as that digit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

NEAREST = (-8, -5, -3, -2, -1, 1, 2, 3, 5, 8)  # floats beside a score
AROUND = (-1.0, -0.83, -0.61, -0.42, -0.17, -0.05, 0.0, 0.09, 0.23, 0.46, 0.58, 0.79, 0.97)  # shares of a distance
SHARES = (1 / 8, 1 / 300)  # of the distance to the score that is compared with
AGREE = 1e-9  # a slope and a secant, relative to the slope
LONGEST = 1100  # doublings: more than floats have
_CUBIC = np.vander(np.array(AROUND), 4)
_REST = np.eye(len(AROUND)) - _CUBIC @ np.linalg.pinv(_CUBIC)

At = Callable[[float], tuple[float, float]]


def jitter(at: At, p: float, away: float) -> tuple[float, float]:
    """By how much the value and the slope at p are seen to be off: they are no line at the next floats, or no cubic.

    `away` is the distance to the score that p is compared with: far less than it, what is no cubic is rounding.
    """
    value, slope = at(p)
    ulp = _ulp(p)
    beside = [(float(k), *at(p + k * ulp)) for k in NEAREST]
    k, values, slopes = np.array([row for row in beside if all(map(math.isfinite, row))] or [(1.0, value, slope)]).T
    bend = float((slopes - slope) @ k) / float(k @ k)
    off = float(np.max(np.abs(values - value - slope * ulp * k))) + 4 * math.ulp(value)
    tilt = float(np.max(np.abs(slopes - slope - bend * k))) + 4 * math.ulp(slope)
    for share in SHARES:
        around = np.array([at(p + share * away * x) for x in AROUND])
        if np.isfinite(around).all():
            rest = np.max(np.abs(_REST @ around), axis=0)
            off, tilt = max(off, float(rest[0])), max(tilt, float(rest[1]))
    return off, tilt


def jump(at: At, p: float, away: float) -> tuple[float, float]:
    """By how much the value and the slope at p may be off: `jitter`, or what they jump by where they next do."""
    at = lru_cache(None)(at)
    off, tilt = jitter(at, p, away)
    for step in (_ulp(p), -_ulp(p)):
        off = max(off, _next_of_value(at, p, step))
        tilt = max(tilt, _next_of_slope(at, p, step, off))
    return off, tilt


def _ulp(p: float) -> float:
    return math.ulp(p) if p else math.ulp(1e-300)


def _next_of_value(at: At, p: float, step: float) -> float:
    """How far the value next jumps off its line through p; a jump from flat to flat is the loss's, none of rounding."""
    value, beyond = at(p)[0], at(p + 8 * step)[0]
    line = (beyond - value) / (8 * step) if math.isfinite(beyond) else 0.0

    def stays(q: float) -> bool:
        there, ahead = at(q)[0], line * (q - p)
        return abs(there - value - ahead) <= AGREE * abs(ahead) + (4 * math.ulp(there) if line else 0.0)

    near, far = _ends(at, stays, p, step)
    (before, here), (after, there) = at(near), at(far)
    return 0.0 if here == there == 0.0 or near == far else max(0.0, abs(after - before) - abs(line * (far - near)))


def _next_of_slope(at: At, p: float, step: float, off: float) -> float:
    """How far the slope next jumps, unless it is that of the secant as far as it is the same: then it is exact."""
    value, slope = at(p)
    near, far = _ends(at, lambda q: at(q)[1] == slope, p, step)
    there, ahead = at(near)[0], slope * (near - p)
    if near != p and slope == 0.0 and there == value:  # flat
        return 0.0
    if ahead and max(abs(there - value - ahead), off + 4 * math.ulp(there)) <= AGREE * abs(ahead):
        return 0.0
    return abs(at(far)[1] - slope)


def _ends(at: At, stays: Callable[[float], bool], p: float, step: float) -> tuple[float, float]:
    """The neighbouring floats between which something first seems not to stay as at p; p twice if it always does."""
    near, far = p, p
    for _ in range(LONGEST):
        far, step = p + step, 2 * step
        if not (math.isfinite(far) and all(map(math.isfinite, at(far)))):
            return p, p
        if not stays(far):
            break
        near = far
    while (middle := near + (far - near) / 2) not in (near, far):
        near, far = (middle, far) if stays(middle) else (near, middle)
    return near, far
