"""The best fixed choice in hindsight, with a gap that proves how near the answer is.

    min_{u∈U} Σ weight_i·ℓ(⟨u, x_i⟩, y_i) + (κ/2)‖u‖²

| loss and set                                | method                                              | file            |
|---------------------------------------------|-----------------------------------------------------|-----------------|
| linear costs                                | written down                                        | `convex.minimise`|
| kinks, in a box, a simplex or an L1 ball    | interior points of the rows' slopes and the set     | `corner.py`     |
| up to 600 coordinates                       | Newton, its quadratic model solved in the set; with |                 |
|                                             | kinks, in an L2 ball, dual coordinate ascent first  | `newton.py`     |
| the same in an L2 ball or with κ > 0, if it | with kinks, interior points in boxes, with a larger | `corner.py`     |
| ended early                                 | ridge in a ball; smooth, as where the ball is far   | `path.py`       |
| more, the square loss, as below             | one subspace for every multiplier                   | `krylov.py`     |
| more of them, in an L2 ball or with κ > 0   | dual coordinate ascent, then Newton if need be      | `coordinate.py` |
| the same, smooth, where the ball is far     | Newton while the ball's multiplier falls            | `path.py`       |
| the same, one kink, up to 5,000 rows        | if need be, an interior-point method in the rows    | `interior.py`   |
| all of R^d without κ, where Newton ends early| the best point of larger and larger balls, and     | here            |
|                                             | slopes that balance, for the bound                  | `level.py`      |
| rows beyond memory, other losses, other sets| cutting planes, a pass over the rows for each       | `passes.py`     |

The gap never rests on a method having converged: it is the distance to a bound that holds by itself.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError

from lowregret.compile.numerics import norm
from lowregret.convex.functions import LinearFunction, Sum
from lowregret.convex.leader import FollowTheLeader
from lowregret.convex.minimise import Solution, minimise
from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Reals, Simplex
from lowregret.errors import DataError, PartError
from lowregret.hindsight.coordinate import ascend
from lowregret.hindsight.corner import corner, is_corner, rounded
from lowregret.hindsight.gather import gather_rows
from lowregret.hindsight.interior import has_one_kink, inside
from lowregret.hindsight.krylov import in_subspaces
from lowregret.hindsight.level import level
from lowregret.hindsight.newton import DENSE, gram, newton, start_on_sample
from lowregret.hindsight.objective import ROUNDING, Incumbent, Objective, Report
from lowregret.hindsight.passes import Pass, by_passes
from lowregret.hindsight.path import follow
from lowregret.hindsight.units import in_units, out_of_units
from lowregret.learner.linear import Linear
from lowregret.learner.validate import finite_numbers, room_for, settled
from lowregret.loss import Cost, Loss, OnMistakes, Square
from lowregret.loss.verify import counterexample, first_met
from lowregret.rows import as_rows, length
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant
from lowregret.types import Vector

__all__ = ["Pass", "Report", "Solution", "best_fixed", "best_in_hindsight", "require_answer"]

TOLERANCE = 1e-4  # gap, relative to 1 + |value|, that is near enough for a certificate
EPOCHS = 400  # of dual coordinate ascent before Newton's method takes over
FIRST = 2  # the same with few coordinates and kinks
EPOCHS_BEFORE_INTERIOR = 100  # before the interior-point method does
LEVEL = 1e-9  # of what slopes sum to: a gradient that is next to nothing
BALLS, LARGER = 4, 100.0  # that are tried where there is no end, each so many times as large as the one before
FALL = 1e-3  # of the ball's multiplier, after which smooth losses are left to the path of its minimisers


_BALLS: dict[float, Callable[[float], Domain]] = {
    1.0: L1Ball,
    2.0: L2Ball,
    math.inf: lambda radius: Box(-radius, radius),
}


def silent(steps: float, value: float, gap: float) -> None:
    """Reports to nobody."""


def best_in_hindsight(
    loss: Loss,
    features: Any,
    labels: Any,
    domain: Domain,
    weights: Any = None,
    ridge: float = 0.0,
    bias: float = 0.0,
    tolerance: float = 1e-6,
    *,
    seconds: float = math.inf,
    report: Report = silent,
    compiled: bool = True,
) -> Solution:
    """The u of the domain with the least Σ weight_i·ℓ(⟨u, x_i⟩, y_i) + (ridge/2)‖u‖², its loss, and a gap.

    No point of the domain has less than `value` − `gap`. The gap sought is tolerance·(1 + |value|); where it cannot be
    reached, by the steps there are or in about `seconds`, the answer says so by its gap. With `bias` > 0 each row gets
    one more feature of that value, the last.
    """
    learner = Linear(loss, ProjectedGradient(Reals(), Constant(1.0)), bias=bias)
    if not (0 < tolerance < math.inf and 0 <= ridge < math.inf):
        raise PartError(f"tolerance must be positive and ridge ≥ 0, got {tolerance} and {ridge}")
    if not seconds > 0:
        raise PartError(f"seconds must be positive, got {seconds!r}")
    if not isinstance(domain, Domain):
        raise PartError(f"domain must be a set such as L2Ball(1.0), got {domain!r}")
    labels, weights = settled(labels, "labels"), settled(weights, "weights", "numbers")
    x = as_rows(features)
    y = finite_numbers(labels, "labels", x.shape[0])
    c = np.empty(0) if weights is None else finite_numbers(weights, "weights", x.shape[0])
    with room_for(x.shape[1]):
        start = np.zeros(x.shape[1] + (bias > 0))
        return best_fixed(learner, domain, lambda: [(x, y, c)], start, ridge, compiled, tolerance, report, seconds)


def best_fixed(
    learner: Linear,
    comparator: Domain,
    rows: Pass,
    start: Vector,
    kappa: float = 0.0,
    compiled: bool = True,
    tolerance: float = TOLERANCE,
    report: Report = silent,
    seconds: float = math.inf,
) -> Solution:
    """The best u of the comparators on a stream's rows, its loss, and a gap: the minimum is at least loss − gap."""
    until = time.monotonic() + seconds
    if start.size == 0:
        raise DataError("the rows have no features, so there is nothing to choose: give some, or a bias")
    comparator.fits(start.size)
    require_answer(learner.loss, comparator)
    learner.require(
        not learner.centred(),
        "the best fixed choice around a centre is not looked for: use `regret(u, …)`, against a u of your own",
    )
    if isinstance(comparator, LqBall):
        comparator = _BALLS[comparator.q](comparator.radius)
    known = learner.loss.dual and isinstance(comparator, L2Ball | L1Ball | Simplex | Box | Reals)
    held = gather_rows(learner.loss, rows, learner.bias) if known else None
    if held is None:
        found = by_passes(learner, comparator, rows, start, kappa, compiled, tolerance, report, until)
        require_number(learner.loss, found.value)
    else:
        found = solve(Objective(learner.loss, *held, comparator, kappa, compiled, until), tolerance, report)
    return found if convex_on(learner, comparator, rows, found.w) else found._replace(gap=math.inf)


def convex_on(learner: Linear, comparator: Domain, rows: Pass, u: Vector) -> bool:
    """Whether a loss of the user's own passes for convex on these rows, without which no gap is known."""
    met = first_met(learner.loss)
    if met is None:
        return True
    reach = comparator.reach(2, u.size)
    for x, y, weights in rows():
        far = math.hypot(length(x), learner.bias) * norm(u)
        met = met.wider([-far, far], y[weights != 0] if weights.size else y, math.hypot(length(x), learner.bias))
    return counterexample(learner.loss, met, reach) is None


def require_answer(loss: Loss, comparator: Domain) -> None:
    """Refuse a loss and a set for which nobody here can find the best fixed choice."""
    if isinstance(loss, OnMistakes):
        raise PartError(
            f"{loss} depends on the rounds played: no fixed choice has a loss of that kind, and there is no exact "
            "regret; do with the linearised regret (--certify stream)"
        )
    for name in ("conjugate", "envelope"):
        if isinstance(loss, Loss) and loss.dual and getattr(type(loss), name) is getattr(Loss, name):
            raise PartError(f"{type(loss).__name__} says that its dual side is known, and has no `{name}`: see Loss")
    if isinstance(comparator, LqBall) and comparator.q not in _BALLS:
        raise PartError(
            f"the best point of an lq-ball is looked for with q = 1, 2 or infinity only, not q = {comparator.q:g}: "
            "compare with an L1Ball or L2Ball, or do with the linearised regret (--certify stream)"
        )


def require_number(loss: Loss, value: float) -> None:
    """Refuse the best of all points that were tried if its loss is no number."""
    if not math.isfinite(value):
        raise PartError(
            f"{type(loss).__name__} is not finite at any point that was tried: no row may rule out all of them, nor "
            "be so large that its loss overflows (scale the features or the labels)"
        )


def solve(o: Objective, tolerance: float, report: Report = silent) -> Solution:
    """Minimise by the method that suits the loss, the set and the size."""
    if isinstance(o.loss, Cost):
        return _cheapest(o)
    with np.errstate(all="ignore"):  # of points far out, which are then not taken
        scaled, k, j = in_units(o)
        best = out_of_units(o, _search(scaled, tolerance, report, math.ldexp(1.0, -j)), k, j)
    require_number(o.loss, best.value)
    with np.errstate(all="ignore"):
        hidden = o.hidden(best.point, o.scores(best.point))
    hidden = hidden if hidden < math.inf else math.inf  # nor is what is not a number known
    return Solution(best.point, float(best.value), best.gap + hidden, hidden)


def _cheapest(o: Objective) -> Solution:
    """The best point for linear costs, which is written down."""
    with np.errstate(all="ignore"):
        costs = o.gather(o.y)
        if not np.all(np.isfinite(costs)):
            raise PartError("the sum of the costs overflows: scale the features, the costs or the weights")
        total = Sum(o.dimension, [LinearFunction(costs)])
        total.sigma = o.kappa
        found = minimise(FollowTheLeader(o.domain), total, np.zeros(o.dimension))
        bound = o.bound(o.y, costs)
        rounding = o.blur(o.y, costs) + ROUNDING * abs(found.value)
    if not math.isfinite(found.value):
        raise PartError("the least cost overflows: scale the features, the costs or the set")
    gap = max(found.value - bound, 0.0) if bound < math.inf else math.inf
    rounding = rounding if rounding < math.inf else math.inf
    return found._replace(gap=max(gap, rounding), rounding=rounding)


def _search(o: Objective, tolerance: float, report: Report, one: float) -> Incumbent:
    """The best point by the methods that suit; `one` is what a loss of 1 is in the units of o."""
    start, slopes = o.domain.projection(np.zeros(o.dimension)), np.zeros(o.rows)
    best = Incumbent(start, until=o.until, one=one)
    scores = o.scores(start) if np.any(start) else np.zeros(o.rows)
    best.see(start, o.value(start, scores), o.bound(slopes, np.zeros(o.dimension)))
    curved = not (o.loss.kinked or isinstance(o.loss, Square))
    radial = isinstance(o.domain, L2Ball) or (isinstance(o.domain, Reals) and o.kappa > 0)
    wide = o.dimension > DENSE and radial and not best.near(tolerance)
    if wide and isinstance(o.loss, Square):
        in_subspaces(o, best, tolerance, report)
    elif wide:
        kink = has_one_kink(o)
        slopes = ascend(o, best, tolerance, EPOCHS_BEFORE_INTERIOR if kink else EPOCHS, report, FALL if curved else 0.0)
        if not best.near(tolerance) and kink:
            inside(o, best, slopes, tolerance, report)
        elif not best.near(tolerance) and curved:
            follow(o, best, slopes, tolerance, report)
    elif not best.near(tolerance) and is_corner(o):
        corner(o, best, tolerance, report)
    elif radial and o.loss.kinked and not best.near(tolerance):
        slopes = ascend(o, best, tolerance, FIRST, report)
    if not best.near(tolerance):
        begin = start_on_sample(o, start) if curved and o.dimension <= DENSE else best.point
        newton(o, best, slopes, tolerance, report, begin)
    if radial and o.loss.kinked and not best.near(tolerance):
        rounded(o, best, tolerance, report)
    elif radial and curved and o.dimension <= DENSE and not best.near(tolerance):
        with suppress(LinAlgError):  # of bends that are too large for numbers
            follow(o, best, slopes, tolerance, report)
    if isinstance(o.domain, Reals) and o.kappa == 0 and o.loss.curvature > 0 and o.dimension <= DENSE:
        best.see(best.point, math.inf, best.value - _remainder(o, best.point))
    elif isinstance(o.domain, Reals) and o.kappa == 0 and not best.near(tolerance):
        _on_all(o, best, tolerance, report, one)
    return best


def _on_all(o: Objective, best: Incumbent, tolerance: float, report: Report, one: float) -> None:
    """Improve `best` on all of R^d: the point by balls, if it is not level, and the bound by slopes that balance."""
    if not _is_level(o, best.point):
        _in_larger_balls(o, best, tolerance, report, one)
    if o.dimension <= DENSE and not best.near(tolerance):
        with suppress(LinAlgError, ValueError):  # of rows that are too large for numbers
            level(o, best, tolerance)


def _is_level(o: Objective, u: Vector) -> bool:
    """Whether the gradient at u is next to nothing, for a loss that has one."""
    slopes = np.array([o.loss.at(p, y)[1] for p, y in zip(o.scores(u), o.y, strict=True)])
    return not o.loss.kinked and norm(o.gather(slopes)) <= LEVEL * float(np.abs(o.c * slopes) @ o.lengths)


def _in_larger_balls(o: Objective, best: Incumbent, tolerance: float, report: Report, one: float) -> None:
    """Improve `best` on all of R^d by the best point of a ball, of larger ones until it lies well inside.

    What a ball knows from below it does not know of R^d: see `level.py`.
    """
    lengths = o.lengths[o.lengths > 0]
    if lengths.size == 0:
        return
    radius = (1.0 + float(np.max(np.abs(o.y)))) / float(np.median(lengths))
    for _ in range(BALLS):
        radius *= LARGER
        if not 0 < radius < math.inf or best.near(tolerance):
            return
        found = _search(replace(o, domain=L2Ball(radius)), tolerance, report, one)
        best.see(found.point, found.value, -math.inf)
        if norm(found.point) <= radius / 2:
            return


def _remainder(o: Objective, u: Vector) -> float:
    """The most that F may fall below F(u) as computed: ½‖g‖²/s if F is s-strongly convex, and rounding; inf if not.

    A score is off by δ at most: its loss by δ times the steepest slope there, its slope by what slopes differ there.
    """
    p = o.scores(u)
    off = ROUNDING * math.sqrt(o.dimension + 1) * (o.lengths * norm(u) + np.abs(o.y))
    low, slopes, high = (
        np.array([o.loss.at(q, y)[1] for q, y in zip(scores, o.y, strict=True)]) for scores in (p - off, p, p + off)
    )
    values = np.linalg.eigvalsh(o.loss.curvature * gram(o, o.c))
    least = float(values[0]) - 1e-15 * o.dimension * o.rows * float(values[-1])
    blur = np.maximum(high - slopes, slopes - low) + ROUNDING * math.sqrt(o.rows + o.dimension) * np.abs(slopes)
    g = norm(o.gather(slopes)) + float((o.c * blur) @ o.lengths)
    hidden = float((o.c * np.maximum(np.abs(low), np.abs(high))) @ off)
    hidden += ROUNDING * math.sqrt(o.rows) * abs(o.value(u, p))
    return g * g / (2 * least) + hidden if least > 0 else math.inf
