"""How far rounded sums may fall short: the term that a certificate adds to what it has computed.

A sum of n numbers, each rounded, is off by at most n·ε·Σ|terms|, ε = 2⁻⁵³, and by what underflows. The terms of the
linearised regret are not kept one by one, but with E = Σ‖z_t‖_*² and weights c_t ≤ c, Σc_t‖z_t‖_* ≤ c√(nE), and so
Σ|⟨w_t,z_t⟩| ≤ W·c√(nE) with W the length of the longest iterate, and Σ|⟨u,z_t⟩| likewise with that of the longest
comparator. Around a centre w₀, ⟨w₀, x_t⟩ is rounded once a row, which costs (d + 1)·ε·‖w₀‖·c√(nE) more.

Of a row whose loss is flat at its score, or nearly, Σ‖z_t‖ knows nothing, but the score is rounded as any other: by at
most (d + 16)·ε‖w_t‖₂‖x_t‖₂, and the loss by the steepest slope times that, or, beyond what the slope at the score
accounts for, by half the slope's steepest slope times its square.

Where the iterate is scaled by a norm that is itself a running sum, as in a lazy ball, it is off by more, and so is the
theorem's bound: that sum may have fallen to `COLLAPSE` of its peak since it was computed afresh.
"""

from __future__ import annotations

import math
from sys import float_info
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.compile.altered import is_own
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.numerics import EPSILON, norm
from lowregret.domain import L2Ball, Reals
from lowregret.learner.linear import Linear
from lowregret.loss import Cost, Loss, MultiHinge, MultiLoss, OneAgainstAll, PerceptronLoss, Softmax
from lowregret.loss.verify import MetScores
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.mirror.pnorm import UNIT
from lowregret.rule import MirrorDescent, ProjectedGradient, Rule
from lowregret.rule.base import WIDEST
from lowregret.rule.per_coordinate import PerCoordinate, keeps_weights, largest_kept
from lowregret.rule.projected_gradient import FACTOR
from lowregret.state import (
    BLUR,
    BLURRIEST,
    COLLAPSE,
    DIMENSION,
    ENERGY,
    LARGEST,
    LINEAR,
    LONGEST,
    MASS,
    PEAK,
    REFRESH,
    RIDGE,
    TOTAL,
    WEIGHTED,
    State,
)

if TYPE_CHECKING:
    from lowregret.certificate.evidence import Evidence

EXTRA = 16  # operations that a term itself takes, beside those along the row
VANISHING = 2 * math.sqrt(float_info.min)  # sub-gradients below it have squares that lack digits, or are 0
SURE = 2.0**-26  # errors of scores whose square is below rounding, of losses of which nothing else is known
FEW = 4096  # weights that are computed one by one without compiling what computes them
PAST = 32.0  # times the longest iterate since its norm was computed afresh: that happens when it falls to a 32nd


def rounding(e: Evidence) -> float:
    """By how much the linearised regret of a run may be less than if its sums were exact, in their units."""
    if e.rounds == 0:
        return 0.0
    step = e.learner.rule.schedule()
    heaviest = step.total_importance(e.rounds) - step.total_importance(e.rounds - 1)
    slopes = heaviest * _slopes(e)
    own = _size(e) * slopes if slopes > 0 else 0.0
    kept = [TOTAL, WEIGHTED, LINEAR]
    terms = own + _comparator(e) * slopes + sum(abs(float(e.sums[k])) for k in kept) + abs(e.support or 0.0)
    terms += e.learner.ridge * float(e.sums[RIDGE])
    row = e.dimension + EXTRA
    moved = heaviest * _blurred(e) + row * EPSILON * _centre(e) * slopes
    return (e.rounds + row) * (EPSILON * terms + float_info.min) + moved


def of_bound(e: Evidence, bound: float) -> float:
    """By how much the linearised regret of a run, or its bound, may be less than if its sums were exact."""
    share = e.rounding / max(e.importance, 1.0) if e.learner.rule.schedule().weighted() else e.rounding
    share += _vanished(e)
    return share + drift(e) + EPSILON * e.rounds * abs(bound) if bound < math.inf else share


def of_terms(e: Evidence, size: float, bound: float) -> float:
    """By how much a bound may be off that is a difference of terms of this size, each computed once; 0 of ∞."""
    if not bound < math.inf:
        return 0.0
    return EPSILON * (e.dimension + EXTRA) * size if size < math.inf else math.inf


def over_rounds(e: Evidence, size: float) -> float:
    """The size, as `of_terms` counts it, of terms of this size that were added up over all rounds."""
    return (1 + e.rounds / (e.dimension + EXTRA)) * size


def drift(e: Evidence) -> float:
    """By how much iterates that are not exactly those of the theorem may have cost more than its bound."""
    if e.rounds == 0 or not _is_scaled(e):
        return 0.0
    slopes = _slopes(e)
    own = _size(e) * slopes if slopes > 0 else 0.0
    return EPSILON * min(e.rounds, REFRESH) / (2 * COLLAPSE) * own


def _vanished(e: Evidence) -> float:
    """The most that bounds miss of squares too small to be numbers: of sub-gradients, and of lengths, over 2η."""
    own, lengths = _size(e), e.dimension * (float_info.min / max(e.rate, float_info.min))
    return e.rounds * e.dimension * VANISHING * (_comparator(e) + (own if own < math.inf else 0.0)) + lengths


def _slopes(e: Evidence) -> float:
    """√(nE) ≥ Σ‖z_t‖_*, without overflow"""
    return math.sqrt(e.rounds) * math.sqrt(float(e.sums[ENERGY]))


def _size(e: Evidence) -> float:
    """The length of the longest iterate, by what is known."""
    return min(_longest(e), _farthest(e))


def _exponent(e: Evidence) -> float:
    """The q of the norm ‖·‖_q whose dual measures the sub-gradients."""
    rule = e.learner.rule
    q = rule.mirror.exponent if isinstance(rule, MirrorDescent) else 2.0
    return 2.0 if math.isnan(q) else q


def _longest(e: Evidence) -> float:
    """The length of the longest iterate that the domain or the ledger allows; inf if they do not say."""
    q = _exponent(e)
    reach = e.learner.rule.domain.reach(q, e.dimension)
    seen = math.sqrt(float(e.sums[LONGEST])) * e.dimension ** max(0.0, 1 / q - 0.5) or math.inf
    return min(reach, seen)


def _farthest(e: Evidence) -> float:
    """The length of an iterate by how far steps may have led; 0 where nothing is known and the sums must do."""
    rule = e.learner.rule
    if isinstance(rule, MirrorDescent) and isinstance(rule.mirror, Euclidean | PNorm):
        led = max(e.rate * _slopes(e), e.first_rate * math.sqrt(e.sums[LARGEST]))
        p = rule.mirror.p if isinstance(rule.mirror, PNorm) else 2.0
        unit = float(e.sums[UNIT]) if isinstance(rule.mirror, PNorm) else 1.0
        peak = e.rate * unit * float(max(e.sums[PEAK], e.sums[MASS])) ** (1 / p)
        start = 0.0 if isinstance(rule.domain, Reals | L2Ball) else norm(e.start)  # which takes O(d)
        return start + (min(led, PAST * peak) if rule.step.constant else led)
    if isinstance(rule, PerCoordinate) or not rule.tells_widest():
        return float(e.sums[WIDEST]) * e.dimension ** (1 / _exponent(e))
    return math.inf if _longest(e) < math.inf or e.sums[LONGEST] > 0 else 0.0


def _comparator(e: Evidence) -> float:
    """The length of the longest comparator that matters: with a ridge κ, (κ/2)‖u‖² is at most the support."""
    reach = e.comparator.reach(_exponent(e), e.dimension)
    if reach < math.inf:
        return reach
    return math.sqrt(2 * abs(e.support or 0.0) / e.learner.ridge) if e.learner.ridge > 0 else 0.0


def _blurred(e: Evidence) -> float:
    """By how much losses may be more than at the scores as they were rounded, beyond what their slopes tell."""
    off = (e.dimension + EXTRA) * EPSILON * _width(e)
    total, most = off * float(e.sums[BLUR]), off * float(e.sums[BLURRIEST])
    steepest, bend = _steepness(e.learner.loss, e.dimension)
    if total == 0.0 or steepest < math.inf:
        return steepest * total if total > 0.0 else 0.0
    if bend < math.inf:
        return bend / 2 * most * total if bend > 0.0 else 0.0
    if e.met is not None and e.met.labels and isinstance(e.learner.loss, Loss):
        return _steepest_met(e.learner.loss, e.met, most) * total
    return math.inf if most > SURE else 0.0


def _steepest_met(loss: Loss, met: MetScores, off: float) -> float:
    """The steepest slope of a convex loss, of which no more is known, at the scores met: it is at one of their ends."""
    ends = [(p, y) for p in (met.low - off, met.high + off) for y in met.labels]
    with np.errstate(all="ignore"):
        found = max(abs(float(loss.at(p, y)[1])) for p, y in ends)
    return found if found == found else math.inf


def _steepness(loss: Any, dimension: int) -> tuple[float, float]:
    """How much a loss may grow per unit of error of every score, and twice how much per unit squared; ∞ if unknown."""
    if isinstance(loss, OneAgainstAll):
        steepest, bend = _steepness(loss.loss, dimension)
        return math.sqrt(dimension) * steepest, bend
    if isinstance(loss, MultiLoss):
        known = isinstance(loss, PerceptronLoss | MultiHinge | Softmax)
        return (2.0 if known else math.inf), math.inf
    if isinstance(loss, Cost):  # which is its slope
        return math.inf, 0.0
    if not isinstance(loss, Loss):  # structures, which book by how much their losses may grow
        return 1.0, math.inf
    return loss.lipschitz, loss.smoothness


def _width(e: Evidence) -> float:
    """A length that no iterate exceeds in ‖·‖₂, that of rounds since the last sub-gradient included."""
    rule, q = e.learner.rule, _exponent(e)
    known = _size(e) * e.dimension ** max(0.0, 0.5 - 1 / q)
    if isinstance(rule, ProjectedGradient):
        known = max(known, abs(float(e.sums[FACTOR])) * math.sqrt(float(e.sums[MASS])))
    if (isinstance(rule, PerCoordinate) or not rule.tells_widest()) and e.table is not None:
        known = max(known, _latest(rule, e) * math.sqrt(e.dimension))
    return known + (e.learner.centre.length(2.0) if isinstance(e.learner, Linear) else 0.0)


def _latest(rule: Rule, e: Evidence) -> float:
    """The largest weight of the present iterate: O(d), interpreted where weights are few or a user's rule has them."""
    assert e.table is not None
    if keeps_weights(rule):
        return largest_kept(e.table.reshape(e.dimension, -1))
    state = State(e.table, np.empty(0), e.sums, e.counts)
    with np.errstate(all="ignore"):
        return float(call(largest_weight, e.dimension > FEW and not is_own(rule), rule, state))


@kernel
def largest_weight(rule: Rule, s: State) -> float:
    """max |w[j]|, each weight computed: O(d)."""
    most, scale = 0.0, rule.scale(s)
    for j in range(np.uint64(s.counts[DIMENSION])):
        most = max(most, abs(scale * rule.raw(s, j)))
    return most


def _centre(e: Evidence) -> float:
    """‖w₀‖_q, the length of the point that weights are counted from."""
    return e.learner.centre.length(_exponent(e)) if isinstance(e.learner, Linear) else 0.0


def _is_scaled(e: Evidence) -> bool:
    """Whether iterates are scaled by a running sum."""
    rule = e.learner.rule
    if not isinstance(rule, MirrorDescent):
        return False
    return isinstance(rule.mirror, PNorm | Entropy) or (rule.domain.radial() and _longest(e) < math.inf)
