"""Learning from answers that come late: compiled loops, the ledger of lateness, and the certificates that read it.

Round s is decided with w_s; when its answer arrives, the iterate is v_s, and it moves by z_s = ∂f_s(w_s). In order of
arrival this is an undelayed run on the linear losses z_s, which plays the v_s: all theorems about LinReg hold for it.
What lateness costs beside is the *drift*, which is known exactly:

    Σ_s⟨w_s − u, z_s⟩ = Σ_s⟨v_s − u, z_s⟩ + Σ_s⟨w_s − v_s, z_s⟩

and is bounded by how far the iterate travelled meanwhile. A step of a projected or mirrored rule is at most η‖z‖_*/σ
long (projections do not lengthen steps; the link is 1/σ-Lipschitz), so with A the sum of η‖z‖_* over the steps so far,

    ⟨w_s − v_s, z_s⟩ ≤ ‖z_s‖_*·(A at arrival − A at decision)/σ                                            (DELAY)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from lowregret.certificate import Certificate
from lowregret.compile.kernel import kernel
from lowregret.learner.linear import Linear
from lowregret.mirror import PNorm
from lowregret.rows import Rows
from lowregret.rule import Eager, Lazy
from lowregret.run.pending import NEVER, Slots
from lowregret.state import LAST_RATE, ROUNDS, State
from lowregret.types import Vector

TRAVELLED = 0  # A = Σ η‖z‖_*, over the steps taken so far
LAGGED = 1  # Σ ‖z_s‖_*·(A at arrival − A at decision)
DRIFT = 2  # Σ ⟨w_s − v_s, z_s⟩
LEDGER = 3  # what the history keeps
WEIGHT = 3  # Σ of the importance weights of answers
WRONG = 4  # the same over mistakes
BOOK = 5


# ---- compiled --------------------------------------------------------------------------------------------------------


def length(learner: Linear, x: Rows, i: int, p: float) -> float:
    """‖x_i‖_p with the bias, for p = 2, ∞ or any other ≥ 1: O(nnz)."""
    if p == 2.0:
        return math.sqrt(learner.square(x, i))
    largest = learner.bias
    for k in range(x.begin(i), x.end(i)):
        largest = max(largest, abs(x.value(i, k)))
    if p == math.inf or largest == 0.0:
        return largest
    total = (learner.bias / largest) ** p
    for k in range(x.begin(i), x.end(i)):
        total += (abs(x.value(i, k)) / largest) ** p
    return largest * total ** (1.0 / p)


def answer(learner: Linear, s: State, x: Rows, slots: Slots, i: int, ledger: Vector, p: float) -> bool:
    """Learn row i, judged by the score made when it was asked; False if it cannot be, nothing having changed."""
    y, weight, score = slots.labels[i], slots.weights[i], slots.scores[i]
    scale = learner.rule.scale(s)
    raw = learner.dot(s, x, i)
    if not math.isfinite(raw * scale):
        return False
    if not math.isfinite(learner.absorb(s, x, i, y, weight, score, raw, scale)):
        return False
    ledger[WEIGHT] += weight
    ledger[WRONG] += weight * learner.loss.wrong(score, y)
    slope = weight * learner.loss.at(score, y)[1] if weight != 0.0 else 0.0
    if slope != 0.0:
        size = abs(slope) * length(learner, x, i, p)
        ledger[DRIFT] += slope * (score - raw * scale)
        ledger[LAGGED] += size * (ledger[TRAVELLED] - slots.heights[i])
        ledger[TRAVELLED] += s.sums[LAST_RATE] * size
    return True


def ask(learner: Linear, s: State, x: Rows, slots: Slots, i: int) -> bool:
    """Score row i with the present iterate; False if it, or an answer that is on its way, is not acceptable."""
    weight, sent = slots.weights[i], slots.due[i] < NEVER
    if sent and weight != 0.0 and not (0.0 < weight < math.inf and learner.loss.accepts(slots.labels[i])):
        return False
    if not x.inside(i):
        return False
    score = learner.dot(s, x, i) * learner.rule.scale(s)
    slots.scores[i] = score
    return math.isfinite(score)


@kernel
def ask_and_learn(
    learner: Linear,
    s: State,
    x: Rows,
    slots: Slots,
    arrivals: Any,
    ledger: Vector,
    p: float,
    asked: int,
    size: int,
    i: int,
    e: int,
    until: int,
) -> tuple[int, int]:
    """Ask rows i, i+1, … of `size`; after each, learn the rows `arrivals[e]`, … that are due. Returns the new (i, e).

    `asked` rounds went before. Stops early after `until` answers, or at a row that cannot be asked or learnt, leaving
    the state as it was before that row.
    """
    while True:
        while e < arrivals.size and slots.due[arrivals[e]] <= asked:
            if s.counts[ROUNDS] >= until or not answer(learner, s, x, slots, arrivals[e], ledger, p):
                return i, e
            e += 1
        if i >= size or not ask(learner, s, x, slots, i):
            return i, e
        slots.heights[i] = ledger[TRAVELLED]
        i += 1
        asked += 1


# ---- certificates ----------------------------------------------------------------------------------------------------


def dual_exponent(learner: Linear) -> float:
    """The p of the norm ‖·‖_p in which steps are measured; NaN where none is known."""
    rule = learner.rule
    if isinstance(rule, Lazy) and isinstance(rule.mirror, PNorm):
        return float(rule.mirror.p)
    norm = rule.mirror.norm if isinstance(rule, Lazy) else "2"
    return {"2": 2.0, "1": math.inf}.get(norm, math.nan)


def late_certificates(learner: Linear, found: list[Certificate], ledger: Vector, pending: int) -> list[Certificate]:
    """What theorems about the run in order of arrival say about the delayed one: their bound and the drift.

    DELAY bounds the drift too, in advance: it holds for every order of arrival, and every rate that does not grow.
    """
    drift, lagged = float(ledger[DRIFT]), float(ledger[LAGGED])
    details = {"drift": drift, "pending": float(pending)}
    about = f", over the rounds answered ({pending} pending)" if pending else ""
    if drift == 0.0 and lagged == 0.0:  # no answer was late
        return [replace(c, statement=c.statement + about, details=details) for c in found]
    late = [
        replace(
            c,
            id=f"{c.id}+DRIFT",
            statement=f"{c.statement} + Σ⟨w_s − v_s, z_s⟩{about}",
            linear_regret=None if c.linear_regret is None else c.linear_regret + drift,
            bound=c.bound + drift,
            details=details,
        )
        for c in found
    ]
    base, strength = _base(learner)
    late += [
        replace(
            c,
            id="DELAY",
            statement=f"{found[k].statement} + Σ‖z_s‖(A'_s − A_s){about}",
            bound=found[k].bound + lagged / strength,
        )
        for k, c in enumerate(late)
        if found[k].id == base
    ]
    return sorted(late, key=lambda c: (not c.premises_hold, c.bound))


def _base(learner: Linear) -> tuple[str, float]:
    """The theorem that DELAY rests on, and σ; none where nothing is known about the length of a step."""
    rule = learner.rule
    if isinstance(rule, Eager):
        return ("THM-14.5" if rule.step.constant else "EAGER-DEC"), 1.0
    if not isinstance(rule, Lazy):
        return "", 1.0
    known = rule.step.constant and not math.isnan(dual_exponent(learner))
    return ("THM-2.21" if known else ""), rule.mirror.strength()
