"""Minimising a sum of convex functions over a convex set, with a gap that proves how close the answer is.

    F(w) = P(w) + Σ f_i(w) on S,     P a simple penalty: 0, or a regulariser whose link is known

If the sum folds into a linear or quadratic function the minimiser is written down. Otherwise cutting planes: at points
v_k the functions give f(u) ≥ h_k + ⟨g_k, u⟩ + (s/2)‖u‖² (s their common strong convexity), so for all weights λ ≥ 0,
Σλ = 1,

    min_S F ≥ D(λ) = Σλ_k h_k + min_{u∈S} [P(u) + (s/2)‖u‖² + ⟨Σλ_k g_k, u⟩],

and the inner minimum is closed form. Maximise D over λ, play the inner minimiser, cut there, repeat (a bundle method;
Teo et al. 2010). Whatever λ comes out, F(w) − D(λ) bounds the error: the gap needs no trust in the optimiser.

Rounding is part of the gap: steep slopes make heights and inner minima that are huge, and all but cancel. D is taken to
be off by (1e-15)·√(cuts + functions + d) of the sizes of all that is summed (see `hindsight/objective.py`).
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple, Protocol

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.convex.functions import ROUNDING, Sum
from lowregret.domain import Box, CvxSet, Domain, L1Ball, L2Ball, LqBall, Orthant, Point, Reals, Simplex
from lowregret.domain.described import missed
from lowregret.errors import PartError
from lowregret.types import Vector

TOLERANCE = 1e-9  # gap, relative to 1 + |F|, at which the bundle is done
CUTS = 200  # and the number of cuts at which it gives up, reporting the gap it has
NEWTON = 50  # steps of each optimisation over λ, and of each search along one
SEARCH = 8  # points tried between the best one and the model's
FAR = 1e6  # how far outside a set a point is projected from to find a nearly extreme one


class Solution(NamedTuple):
    """A point w of S with F(w) ≤ min_S F + gap; `value` is F(w), up to the rounding of the sum (`Sum.blur`).

    Of the best fixed choice in hindsight `rounding` is known, a part of the gap: F(w) lies within it of `value`.
    """

    w: Vector
    value: float
    gap: float
    rounding: float = 0.0


class Penalty(Protocol):
    """A convex set S and a simple function P on it."""

    @property
    def domain(self) -> Domain: ...

    @property
    def folds(self) -> bool:
        """Whether `nearest` takes s > 0."""

    @property
    def curved(self) -> bool:
        """Whether P makes minimisers unique and bounded."""

    def penalty(self, w: Vector) -> float:
        """P(w)"""

    def nearest(self, b: Vector, s: float) -> Vector:
        """argmin_{u∈S} P(u) + ⟨b,u⟩ + (s/2)‖u‖²"""


def minimise(p: Penalty, total: Sum, start: Vector, tolerance: float = TOLERANCE, until: float = math.inf) -> Solution:
    """Closed form O(d) plus a projection, or the bundle method from `start`, O(d) per function and cut.

    The bundle method makes no further cut once time.monotonic() is past `until`.
    """
    if total.rest or (total.sigma > 0 and not p.folds):
        return _bundle(p, total, start, tolerance, until)
    w = p.nearest(total.linear, total.sigma)
    value = p.penalty(w) + total.value(w)
    if p.curved or total.sigma > 0:
        short = not p.curved and isinstance(p.domain, CvxSet)  # whose projections are a solver's
        gap = missed(p.domain, -total.linear, total.sigma, w) if short else 0.0
        return Solution(w, value, gap + (total.excess(w) if total.sigma > 0 else 0.0))
    gap = float(total.linear @ w) + p.domain.support(-total.linear) if np.any(total.linear) else 0.0
    return Solution(w, value, max(gap, 0.0))


# ---- linear functions ----------------------------------------------------------------------------------------------


def vertex(domain: Domain, b: Vector) -> Vector:
    """argmin_{u∈S}⟨b,u⟩, O(d) for the usual sets: Π_S(0) if every point will do, else the vertex of lowest index."""
    if not np.any(b):
        return domain.projection(np.zeros(b.size))
    match domain:
        case Point(u):
            return np.array(u)
        case L2Ball(radius):
            return -radius * (b / norm(b))
        case L1Ball(radius) | LqBall(radius, 1.0):
            i = int(np.argmax(np.abs(b)))
            return -math.copysign(radius, b[i]) * _unit(i, b.size)
        case LqBall(radius, q):
            return -radius * _dual_point(b, q)
        case Simplex(total) if np.ptp(b) > 0:
            return total * _unit(int(np.argmin(b)), b.size)
        case Simplex():
            return domain.projection(np.zeros(b.size))
        case Box(low, high):
            return np.where(b > 0, low, np.where(b < 0, high, domain.projection(np.zeros(b.size))))
    if isinstance(domain, Reals | Orthant) and math.isinf(domain.support(-b)):
        raise PartError(
            f"linear costs have no minimiser on {domain}: use a bounded set such as L2Ball(1.0), or "
            "FollowTheRegularisedLeader"
        )
    size = domain.reach(2, b.size)
    return domain.projection(-FAR * (1 + size if math.isfinite(size) else 1.0) / float(np.linalg.norm(b)) * b)


def _unit(i: int, d: int) -> Vector:
    e = np.zeros(d)
    e[i] = 1.0
    return e


def _dual_point(b: Vector, q: float) -> Vector:
    """The point of ‖u‖_q = 1 with the largest ⟨b,u⟩, 1 < q ≤ ∞."""
    p = 1.0 if q == math.inf else q / (q - 1)
    u = np.sign(b) * (np.abs(b) / np.max(np.abs(b))) ** (p - 1)
    return u / float(np.linalg.norm(u, q))


# ---- everything else -----------------------------------------------------------------------------------------------


class _Model:
    """Cuts of the functions, and the weights λ that make the best lower bound.

    Without curvature the minimiser of the model jumps about, so it is held to the best point so far (`centre`) by
    (pull/2)‖u − centre‖²; the lower bound is always that of F itself.
    """

    def __init__(self, p: Penalty, total: Sum, start: Solution) -> None:
        self.p, self.total, self.centre = p, total, start.w
        self.s = total.curvature if p.folds else 0.0
        self.heights: Vector = np.empty(0)
        self.slopes: Vector = np.empty((0, start.w.size))
        self.steep: Vector = np.empty((0, start.w.size))  # sizes of the terms that slopes are sums of
        self.sizes: Vector = np.empty(0)  # of those that heights are sums of
        self.blurs: Vector = np.empty(0)  # by how much values may be off
        self.weights: Vector = np.empty(0)
        self.pull = self.least = 0.0
        self.cut(start)
        if not p.curved and self.s == 0:  # at first, one step spans the set
            reach = p.domain.reach(2, start.w.size)
            self.pull = max(float(np.linalg.norm(self.slopes)) / (reach if 0 < reach < math.inf else 1.0), 1e-6)
            self.least = self.pull * 1e-9

    def hold(self, centre: Vector) -> None:
        """Move the centre and slacken the pull."""
        self.centre, self.pull = centre, max(self.pull / 2, self.least)

    def cut(self, at: Solution) -> None:
        """Add the cut at this point if F is finite there."""
        if not math.isfinite(at.value):
            return
        v, value, (g, steep) = at.w, at.value - self.p.penalty(at.w), self.total.slopes(at.w)
        bent = self.s / 2 * float(v @ v)
        self.heights = np.append(self.heights, value - float(g @ v) + bent)
        self.sizes = np.append(self.sizes, abs(value) + float(steep @ np.abs(v)) + bent)
        self.blurs = np.append(self.blurs, self.total.blur(v))
        self.steep = np.vstack([self.steep, steep + self.s * np.abs(v)])
        self.slopes = np.vstack([self.slopes, g - self.s * v])
        self.weights = np.append(self.weights, 0.0 if self.weights.size else 1.0)

    def inner(self, b: Vector) -> tuple[Vector, float]:
        """The minimiser of P(u) + (s/2)‖u‖² + ⟨b,u⟩ + (pull/2)‖u − centre‖², and the minimum."""
        pull, s = self.pull, self.s
        w = self.p.nearest(b - pull * self.centre, s + pull)
        away = w - self.centre
        return w, self.p.penalty(w) + s / 2 * float(w @ w) + float(b @ w) + pull / 2 * float(away @ away)

    def solve(self, allowed: float) -> tuple[Vector, float, float]:
        """Find the best λ up to this error.

        Returns the point to try next, the lower bound on min F, and by how much rounding may have raised it.
        """
        if self.weights.size > 1:
            self._maximise(allowed)
        b = self.slopes.T @ self.weights
        w, lowest = self.inner(b)
        if self.pull > 0:
            lowest = -self._highest(-b)
        return w, float(self.heights @ self.weights) + lowest, self._blur(w)

    def _highest(self, theta: Vector) -> float:
        """max_{u∈S}⟨θ, u⟩; in a set without end, of θ as it may be but for rounding, for the least of it has no end."""
        support, off = self.p.domain.support, self._rounding * (self.weights @ self.steep)
        if math.isfinite(self.p.domain.reach(2, theta.size)):
            return support(theta)
        return max(support(theta), support(theta + off), support(theta - off))

    @property
    def _rounding(self) -> float:
        return ROUNDING * math.sqrt(self.weights.size + self.total.count + self.centre.size)

    def _blur(self, w: Vector) -> float:
        """By how much rounding may have raised the bound whose inner minimiser is w.

        Slopes that are off by e cost ⟨e, w⟩ and, as the minimiser moves by up to ‖e‖/s, ‖e‖²/(2s).
        """
        steep, reach = self.weights @ self.steep, self.p.domain.reach(2, w.size)
        along = norm(steep) * reach if self.pull > 0 and math.isfinite(reach) else float(steep @ np.abs(w))
        inner = abs(self.p.penalty(w)) + self.s / 2 * float(w @ w) + along
        off = self._rounding * norm(steep)
        moved = off / self.s * off / 2 if self.s > 0 and self.pull == 0 else 0.0
        blurs = float(self.blurs @ self.weights)
        return self._rounding * (float(self.sizes @ self.weights) + inner) + moved + blurs

    def value(self, w: Vector) -> float:
        """The model at w: a lower bound on F(w)."""
        highest = float(np.max(self.heights + self.slopes @ w))
        return highest + self.p.penalty(w) + self.s / 2 * float(w @ w)

    def _maximise(self, allowed: float) -> None:
        """Newton's method for D on the simplex of λ, on the face where it may grow; D is concave and smooth."""
        for _ in range(NEWTON):
            grown = self._growth(self.weights)
            if float(np.max(grown) - grown @ self.weights) <= allowed:
                return
            step = self._direction(grown)
            if not (grown @ step > 0 and np.all(self.weights[step < 0] > 0)):
                step = np.zeros_like(step)  # from the least promising cut in use to the most promising one
                step[int(np.argmin(np.where(self.weights > 0, grown, math.inf)))] = -1.0
                step[int(np.argmax(grown))] = 1.0
            self.weights = self._climb(step)

    def _growth(self, weights: Vector) -> Vector:
        """∇D(λ): the value of each cut at the inner minimiser."""
        return self.heights + self.slopes @ self.inner(self.slopes.T @ weights)[0]

    def _direction(self, grown: Vector) -> Vector:
        """The Newton step with Σ = 0 among the cuts in use and the most promising one; the Hessian by differences."""
        used = self.weights > 0
        used[int(np.argmax(grown))] = True
        slopes, b = self.slopes[used], self.slopes.T @ self.weights
        here, n = self.inner(b)[0], len(slopes)
        moved = np.empty_like(slopes)
        for k, g in enumerate(slopes):
            h = 1e-6 * max(norm(b) / max(norm(g), 1e-300), 1e-9)
            moved[k] = (self.inner(b + h * g)[0] - here) / h
        hessian = -slopes @ moved.T
        system = np.ones((n + 1, n + 1))
        system[:n, :n] = (hessian + hessian.T) / 2 + 1e-12 * (1 + np.trace(abs(hessian))) * np.eye(n)
        system[n, n] = 0.0
        step = np.zeros(self.weights.size)
        if not np.isfinite(system).all():  # of slopes so steep that their squares overflow
            return step
        step[used] = np.linalg.lstsq(system, np.append(grown[used], 0.0), rcond=None)[0][:n]
        step[used] -= np.mean(step[used])
        return step

    def _climb(self, step: Vector) -> Vector:
        """The best point along the step inside the simplex, by bracketing the zero of the slope (regula falsi)."""
        falling = step < 0
        edge = float(np.min(-self.weights[falling] / step[falling]))
        low, high, share = 0.0, edge, min(1.0, edge)
        start = slope_low = float(self._growth(self.weights) @ step)
        slope_high = -math.inf
        for _ in range(NEWTON):
            slope = float(self._growth(self.weights + share * step) @ step)
            if abs(slope) <= 0.1 * start or (slope > 0 and share == edge) or high - low <= 1e-12 * edge:
                break
            low, slope_low, high, slope_high = (
                (share, slope, high, slope_high) if slope > 0 else (low, slope_low, share, slope)
            )
            if math.isinf(slope_high):
                share = min(edge, 4 * share)
            else:
                middle = low + (high - low) * slope_low / (slope_low - slope_high)
                share = min(max(middle, low + 0.1 * (high - low)), high - 0.1 * (high - low))
        return _normalise(self.weights + share * step)


def _normalise(weights: Vector) -> Vector:
    """Weights on the simplex, without crumbs."""
    weights = np.where(weights > 1e-14, weights, 0.0)
    return weights / weights.sum()


def _bundle(p: Penalty, total: Sum, start: Vector, tolerance: float, until: float) -> Solution:
    lower = sure = -math.inf  # bounds, and bounds less what rounding may have added
    with np.errstate(over="ignore", invalid="ignore"):  # of trial points far out, which are then not taken
        best = _evaluate(p, total, start)
        if not math.isfinite(best.value):
            raise PartError("the functions are not finite at the starting point, so cannot be minimised from there")
        model, promised = _Model(p, total, best), 0.0
        for _ in range(CUTS):
            allowed = tolerance * (1 + abs(best.value))
            w, bound, blur = model.solve(max(allowed / 10, 0.01 * promised))
            lower = bound if bound > lower else lower  # NaN is no bound
            sure = bound - blur if bound - blur > sure else sure
            promised = max(best.value - model.value(w), 0.0)
            if best.value - lower <= allowed or (math.isinf(lower) and promised <= allowed):
                break  # done; or nothing to gain nearby, and no bound to be had on an unbounded set without curvature
            if time.monotonic() > until:
                break
            if math.isfinite(lower) and promised < 0.1 * (
                best.value - lower
            ):  # the pull, not the cuts, is what keeps the bound low
                model.hold(best.w)
            for tried in _search(p, total, best, w, promised):
                model.cut(tried)
                if tried.value < best.value:
                    best = tried
                    model.hold(best.w)
    rounding = total.blur(best.w)
    return best._replace(gap=max(best.value - sure, 0.0) + rounding, rounding=rounding)


def _search(p: Penalty, total: Sum, best: Solution, w: Vector, promised: float) -> list[Solution]:
    """w; or, if F is much worse there than at the best point, two points between: one where it still is, one not."""
    tried = [_evaluate(p, total, w)]
    share = 1.0
    for _ in range(SEARCH):
        excess = tried[-1].value - best.value
        if excess <= share * promised:
            break
        # the minimiser of the parabola with F's value and promised slope at the best point and F's value here
        share *= max(share * promised / (2 * (excess + share * promised)), 0.01) if math.isfinite(excess) else 0.1
        tried.append(_evaluate(p, total, best.w + share * (w - best.w)))
    return tried[-2:]


def _evaluate(p: Penalty, total: Sum, w: Vector) -> Solution:
    value = p.penalty(w) + total.value(w)
    return Solution(w, math.inf if math.isnan(value) else value, math.inf)
