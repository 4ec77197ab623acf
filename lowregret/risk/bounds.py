"""Risk bounds for rows yet to come, without a hold-out set: premises checked, M never assumed.

The inequalities themselves are in `online_to_batch.py`.

Classification errors lie in [0,1] by themselves. Losses do not: they are bounded by M on rows of length ≤ X, labels
|y| ≤ Y and iterates of length ≤ W. X, Y and W are taken from the powers of two, each of which has a share of δ set
aside for it, so that they may be read off the data; see docs/risk.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.evidence import convexity, displaced, keeping
from lowregret.learner.linear import Linear
from lowregret.loss.verify import MetScores
from lowregret.output import Average, Output, Random, WeightedAverage
from lowregret.risk.online_to_batch import (
    AVERAGE,
    DRAWN,
    WEIGHTED,
    RiskCertificate,
    cor_5_2,
    o2b_eb,
    o2b_hp,
    o2b_small,
    require_delta,
    thm_5_1,
)
from lowregret.risk.statistics import (
    ALARM,
    LARGEST_LABEL,
    LONGEST_ROW,
    SPREAD,
    SQUARED_WEIGHTS,
    WEIGHTS,
    Tally,
)
from lowregret.risk.statistics import WEIGHTED as WEIGHTED_LOSS
from lowregret.state import LONGEST, State
from lowregret.words import rounded_up

INDEPENDENT = "rows are drawn independently from one source"
ONCE = "no rows were noticed that come again"
IN_ORDER = "answers come in the order of the rows"  # or those that came first may be all of one kind
HUGE = 1e140  # what is larger counts as unbounded: its square, times weights and summed, would overflow
ROUNDING = 1 + 1e-5  # far more than the rules' lengths are off
_NAMES: dict[type[Output], str] = {Average: AVERAGE, WeightedAverage: WEIGHTED, Random: DRAWN}


@dataclass(frozen=True)
class RiskEvidence:
    """A run as its risk bounds see it."""

    learner: Any
    tally: Tally
    state: State
    rounds: int
    grows: bool  # whether the number of features was not known beforehand
    certificate: Callable[[], Certificate]  # of the regret
    met: MetScores | None = None  # scores and labels at which a loss of the user's own is put to the test
    orderly: bool | None = None  # whether answers that come late came in the order of the rows; None: they come at once
    knows_outputs: bool = True  # whether the iterates that an output is made of are those that scored the rows

    @classmethod
    def of(cls, run: Any) -> RiskEvidence:
        """Of a run on rows, as it stands."""
        found = run.tally, run.state, run.rounds, run.seen is not None
        orderly = None if run.late is None else run.late.orderly
        return cls(run.learner, *found, lambda: run.certificate, run.met, orderly, run.knows_outputs)


def risks(e: RiskEvidence, delta: float) -> list[RiskCertificate]:
    """All that can be said, each with probability 1 − δ by itself: the headline first, those that failed last.

    The headline is O2B-EB of the learner's own output if there is one, else of a model drawn from the run. It is
    settled by the learner, not by the data: the smallest of several bounds would fail more often than each. Where an
    output would be made of other iterates than those that scored the rows, nothing is known of it.
    """
    require_delta(delta)
    if not e.tally.rounds:
        return []
    premises = tuple(shared_premises(e))
    trusted = tuple(trusted_premises(e))
    if e.knows_outputs:
        found = [*_given(trusted, _of_output(e, delta)), *_of_errors(e, delta), *_given(trusted, _expected(e))]
    else:
        found = [] if isinstance(e.learner.output, Random) else list(_of_errors(e, delta))
    return sorted((replace(c, premises=premises + c.premises) for c in found), key=lambda c: not c.premises_hold)


def _given(premises: tuple[Premise, ...], found: Iterator[RiskCertificate]) -> Iterator[RiskCertificate]:
    return (replace(c, premises=c.premises + premises) for c in found)


def headline(found: list[RiskCertificate]) -> RiskCertificate | None:
    """The statement to show, if its premises hold."""
    return found[0] if found and found[0].premises_hold and found[0].delta is not None else None


def risk_json(found: list[RiskCertificate]) -> dict[str, Any]:
    """The public form: the headline or null, and the premises of all."""
    best = headline(found)
    premises = [{"name": p.name, "holds": p.holds, "observed": p.observed} for p in found[0].premises] if found else []
    return {"risk": None if best is None else best.to_json(), "risk_premises": premises}


def shared_premises(e: RiskEvidence) -> Iterator[Premise]:
    """The premises of every bound: independent rows, each once, all counted alike."""
    against = e.tally.dependence
    yield Premise(INDEPENDENT, against < math.log(1 / ALARM), chance(against))
    sample = f"{chance(e.tally.repetition.against)} in a sample of {e.tally.repetition.size} rows"
    yield Premise(ONCE, not e.tally.repeated, sample)
    yield Premise("all rows learnt have importance weight 1", e.tally.alike)
    yield Premise("every round was counted", e.tally.rounds == e.rounds, e.tally.rounds)
    if e.orderly is not None:
        yield Premise(IN_ORDER, e.orderly)


def trusted_premises(e: RiskEvidence) -> Iterator[Premise]:
    """The premises of bounds on losses, and of those promised: parts of the user's own are what they say."""
    rule, d = e.learner.rule, e.state.dimension
    yield from convexity(e.learner.loss, e.met, rule.domain.reach(2, d) + displaced(e.learner))
    yield from keeping(rule, d, e.state.sums)


def chance(against: float) -> str:
    """E as what independent rows would show with at most this probability: `1e-120`, and 1 for E ≤ 1."""
    return "1" if against <= 0 else f"1e-{int(against / math.log(10))}"


# ---- errors of a model drawn from the run: bounded by 1 -------------------------------------------------------------


def _of_errors(e: RiskEvidence, delta: float) -> Iterator[RiskCertificate]:
    if not e.tally.classifies:
        return
    t = e.tally
    said: dict[str, Any] = {"output": DRAWN, "of": "error"}
    log_inverse = math.log(1 / delta)
    for c in (
        o2b_eb(t.mistakes, t.mistake_spread, t.rounds, 1.0, log_inverse, delta, **said),
        o2b_hp(t.mistakes, t.rounds, t.rounds, 1.0, log_inverse, delta, **said),
        o2b_small(t.mistakes, t.rounds, delta, **said),
    ):
        yield replace(c, bound=min(c.bound, 1.0))


# ---- losses of averages: bounded by M on rows of bounded length ------------------------------------------------------


@dataclass(frozen=True)
class Ceiling:
    """ℓ ≤ M where ‖x‖ ≤ X, |y| ≤ Y and ‖w‖ ≤ W; `price` is what choosing W, X and Y afterwards adds to ln(1/δ)."""

    m: float
    row: float
    label: float
    iterate: float
    price: float
    outside: float  # ln(1/share) of X and Y alone


def _of_output(e: RiskEvidence, delta: float) -> Iterator[RiskCertificate]:
    """O2B-EB and O2B-HP of the output's loss, and of its error where the loss bounds that."""
    output = e.learner.output
    name = _NAMES.get(type(output))
    if name is None or (name == DRAWN and e.tally.classifies):
        return
    found = [c for ceiling in _ceilings(e) for c in _below(e, ceiling, name, delta / 2)]
    for kind in ("O2B-EB", "O2B-HP"):
        best = min((c for c in found if c.id == kind), key=lambda c: c.bound, default=None)
        if best is None:
            continue
        best = replace(best, delta=delta)
        worth = e.learner.loss.error_per_loss
        if worth is not None:
            yield _error(best, worth)
        yield _within(best, e.tally.classifies)


def _within(of_loss: RiskCertificate, classifies: bool) -> RiskCertificate:
    """E[ℓ(w̄)·1(‖x‖ ≤ X, |y| ≤ Y)] ≤ the bound, and the share of rows of which that says nothing."""
    d = of_loss.details
    where = f"‖x‖ ≤ {d['row']:.4g}" + ("" if classifies else f" and |y| ≤ {d['label']:.4g}")
    rest = f"of other rows, a share of at most {rounded_up(min(d['outside'], 1.0), 2)}, nothing is said"
    return replace(of_loss, statement=f"E[loss where {where}] ≤ {of_loss.statement}; {rest}")


def _error(of_loss: RiskCertificate, worth: float) -> RiskCertificate:
    """err(w̄) ≤ P(‖x‖ > X) + E[ℓ(w̄)·1(‖x‖ ≤ X)]/ℓ(0)"""
    bound = min(of_loss.details["outside"] + worth * of_loss.bound, 1.0)
    return replace(of_loss, of="error", bound=bound, statement=f"P(‖x‖ > X) + {worth:.4g}·[{of_loss.statement}]")


def _below(e: RiskEvidence, c: Ceiling, name: str, delta: float) -> Iterator[RiskCertificate]:
    s, log_inverse = e.tally.sums, math.log(1 / delta) + c.price
    outside = (math.log(1 / delta) + c.outside) / e.tally.rounds
    details = {"outside": outside, "ceiling": c.m, "row": c.row, "label": c.label, "iterate": c.iterate}
    said = {"output": name, "of": "loss", "details": details}
    heaviest, price = _heaviest(e.learner.output, e.tally.rounds)
    total, weights = float(s[WEIGHTED_LOSS]), float(s[WEIGHTS])
    yield o2b_eb(total, float(s[SPREAD]), weights, heaviest * c.m, log_inverse + price, delta, **said)
    yield o2b_hp(total, weights, float(s[SQUARED_WEIGHTS]), c.m, log_inverse, delta, **said)


def _heaviest(output: Output, rounds: int) -> tuple[float, float]:
    """A number ≥ c_1 … c_T, and what choosing it adds to ln(1/δ): a power of two where weights grow with t."""
    if not isinstance(output, WeightedAverage):
        return 1.0, 0.0
    return power_of_two(output.weight(rounds))


def _ceilings(e: RiskEvidence) -> Iterator[Ceiling]:
    """The domain's own W, and the one that the iterates showed, each with half a share."""
    row, row_price = power_of_two(math.sqrt(float(e.tally.sums[LONGEST_ROW])))
    label, label_price = 1.0, 0.0
    if not e.tally.classifies:
        label, label_price = power_of_two(float(e.tally.sums[LARGEST_LABEL]))
    d, domain = e.state.dimension, e.learner.rule.domain
    reach, known = domain.reach(2, d), not e.grows or domain.reach(2, d) == domain.reach(2, 1)
    found = [power_of_two(math.sqrt(float(e.state.sums[LONGEST])))]
    if known:
        found.append((reach * ROUNDING, 0.0))
    offset = e.learner.centre.length() if isinstance(e.learner, Linear) else 0.0
    for moved, price in found:
        iterate = moved + offset
        m = max(e.learner.loss.highest(iterate * row, label), 1 / HUGE)  # nor may it be 0, or its square
        if m < HUGE:
            outside = row_price + label_price
            yield Ceiling(m, row, label, iterate, outside + price + math.log(2), outside)


def power_of_two(size: float) -> tuple[float, float]:
    """The least 2^k(1 + 10⁻⁵) ≥ size (k = 0 for 0), and ln(1/share): shares (2/3)/((|k|+1)(|k|+2)) sum to 1."""
    if not size < HUGE:
        return math.inf, 0.0
    k = math.ceil(math.log2(size / ROUNDING)) if size > 0 else 0
    return 2.0**k * ROUNDING, math.log(1.5 * (abs(k) + 1) * (abs(k) + 2))


def _expected(e: RiskEvidence) -> Iterator[RiskCertificate]:
    """THM-5.1 on the loss and COR-5.2 on the linearised regret of this run: in expectation, no bound on rows needed."""
    output, convex = e.learner.output, e.learner.loss.highest(1.0, 1.0) < math.inf
    name = _NAMES.get(type(output))
    if name is not None and (convex or name == DRAWN) and float(e.tally.sums[WEIGHTS]) > 0:
        yield thm_5_1(float(e.tally.sums[WEIGHTED_LOSS] / e.tally.sums[WEIGHTS]), output=name, of="loss")
    if name is not None and name != WEIGHTED and convex and e.learner.ridge == 0:
        found = e.certificate()
        if found.measure == "regret" and found.measured is not None:
            yield cor_5_2(found.measured, e.tally.rounds, output=name)
