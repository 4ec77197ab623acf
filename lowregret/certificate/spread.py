"""Certificates of learning spread over many workers, for every schedule of pulls and pushes, and their ledger.

Row t was given the score p_t = ⟨w_t, x_t⟩ by whatever its worker had pulled, and z_t = ℓ'(p_t)·x_t was pushed, once. So

    regret(u) ≤ Σℓ'_t·p_t + max_u ⟨u, −Σz_t⟩                                                         (LEM-2.5)

the first sum being the workers' own, the second vector the servers' θ; with one rate, LEM-2.20 follows as it does of
any scores. DELAY: batches b count in the order in which they were registered, which is one that workers could have
seen: whoever saw a push began after it was registered. In that order, mirror descent at one rate η with iterates
v_t = ∇R*(−ηΣ_{s<t} z_s) has THM-2.21 on the linear losses z_t, and w_t lacks of v_t the batches M_b alone that were
registered before b and not all at the servers when b was begun. Links are 1/σ-Lipschitz, so with Z_c = Σ_{t∈c} z_t

    Σ_t⟨w_t − v_t, z_t⟩ ≤ (η/σ)Σ_b N_b·Σ_{c∈M_b}‖Z_c‖,     N_b = ‖Z_b‖ on R^d, where links are linear, else Σ_{t∈b}‖z_t‖

`PATH` is Σ‖Z_c‖ over the batches registered, and a batch notes what of it was complete when it began: the second sum
is at most what PATH has grown by beyond that. With ‖z‖ ≤ G and τ rows missing at most, it is ηG²τT: √(1 + 2τ) times
the regret of row by row, η tuned for it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from lowregret.certificate.certificate import Certificate
from lowregret.certificate.evidence import evidence
from lowregret.certificate.theorems import LINEARISED, THEOREMS
from lowregret.domain import Domain, Reals
from lowregret.learner.linear import Linear
from lowregret.loss.verify import MetScores
from lowregret.rule import MirrorDescent
from lowregret.state import PEAK, State
from lowregret.types import Vector

NAMES = ("path", "lagged", "batches", "missed", "most")
PATH = 0  # Σ_b ‖Z_b‖
LAGGED = 1  # Σ_b N_b·(PATH at its registration − PATH complete when it began)
BATCHES = 2
MISSED = 3  # Σ over rows of the rows that were missing when it was decided, others' and registered before it
MOST = 4  # the most that were: τ
BOOK = len(NAMES)

_SPEAK = {theorem.id: theorem for theorem in THEOREMS}


def batch_size(learner: Linear, moved: float, rounds: int, energy: float) -> float:
    """N_b of ‖Z_b‖, its rounds and Σ‖z_t‖²: Σ‖z_t‖ ≤ √(nΣ‖z_t‖²)."""
    return moved if isinstance(learner.rule.domain, Reals) else math.sqrt(rounds * energy)


def spread_certificates(
    learner: Linear, state: State, comparator: Domain, met: MetScores | None, ledger: Vector
) -> list[Certificate]:
    """Certificates of a spread run, tightest first: LEM-2.5; LEM-2.20 and DELAY where they speak of the rule."""
    sums = state.sums.copy()
    sums[PEAK] = math.inf  # nobody knows the longest iterate: Σ‖z_t‖ bounds it
    e = evidence(learner, state._replace(sums=sums), comparator, met)
    told = {"staleness": float(ledger[MOST])}
    found = [_SPEAK["LEM-2.20"].evaluate(e)] if _SPEAK["LEM-2.20"].applies(learner) else []
    if _SPEAK["THM-2.21"].applies(learner) and isinstance(learner.rule, MirrorDescent):
        base = _SPEAK["THM-2.21"].evaluate(e)
        late = e.rate / learner.rule.mirror.strength() * float(ledger[LAGGED])
        statement = f"{base.statement} + (η/σ)Σ_b N_b·Σ‖Z_c‖ over the batches c that b lacked"
        found.append(replace(base, id="DELAY", statement=statement, bound=base.bound + late))
    found = sorted([LINEARISED.evaluate(e), *found], key=lambda c: (not c.premises_hold, c.bound))
    return [replace(c, details=told) for c in found]
