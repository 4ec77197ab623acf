"""Certificates of learning in blocks, whose rows are all decided with one iterate, and the ledger that they read.

Block b of rows is decided with w_b, so Σ⟨w_t, z_t⟩ = Σ_t ℓ'_t·p_t is known from the scores p_t that were used, and the
linearised regret Σ⟨w_t, z_t⟩ + max_u⟨u, −Σz_t⟩ bounds the regret whoever moved which weight, and when (LEM-2.5). For
mirror descent LEM-2.20 follows, for ⟨u, θ⟩ ≤ (R(u) + R*(ηθ))/η whatever was played.

A block is also one round of a game, whose loss is the sum of its rows': the theorems about mirror descent hold with
the sub-gradient Z_b = Σ_{t∈b} z_t, which is no longer than N_b = Σ_{t∈b}‖z_t‖_*. With rates η_b that do not grow,
by LAZY-DEC,

    regret ≤ (R(u) − R(w₁))/η_T + (1/2σ)Σ_b η_b N_b²                                                        (DELAY)

and N_b² = Σ‖z_t‖² + 2Σ_{r<t}‖z_r‖‖z_t‖ makes this, for one η, DELAY with answers up to B − 1 rounds late: with ‖z‖ ≤ G
it is at most R(u)/η + (η/2σ)BTG², √B times as much as row by row if η is tuned for it.
"""

from __future__ import annotations

import math
from dataclasses import replace

from lowregret.certificate.certificate import Certificate
from lowregret.certificate.evidence import evidence
from lowregret.certificate.theorems import LINEARISED, THEOREMS
from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.loss.verify import MetScores
from lowregret.rule import MirrorDescent
from lowregret.rule.mirror_descent import RATE
from lowregret.state import ENERGY, LAST_RATE, PEAK, STEPPED, State
from lowregret.types import Vector

NAMES = (
    *("spent", "size", "decided"),
    *("stale", "lost", "block", "again", "patience", "probed", "known", "before"),
    *("watched", "lag", "longest_lag"),
)
SPENT = 0  # Σ η_b N_b² of the blocks before the present one
SIZE = 1  # N_b of the present block
DECIDED = 2  # η_b; 0 while θ = 0, where every rate gives w₁, so that the latest will do
STALE = (
    3  # Σ|ℓ'_t·(p_t − p'_t)|/(B − 1) of probes, p'_t being the score after the rows before t in its block; they fade
)
LOST = 4  # the loss of their rows
BLOCK = 5  # the size of blocks
AGAIN = 6  # rounds before which no longer blocks are tried
PATIENCE = 7  # periods that are let go by after the next trial that fails
PROBED = 8  # rounds of probes, which fade
KNOWN, BEFORE = 9, 10  # rounds and their loss when the size was settled last
WATCHED, LAG, LONGEST_LAG = 11, 12, 13  # free learners: rows watched, Σ and max of the rows learnt by others meanwhile
BOOK = len(NAMES)

_SPEAK = {theorem.id: theorem for theorem in THEOREMS}


def rate_of(ledger: Vector, s: State) -> float:
    """η_b of the present block; while all are as good, the one that its latest sub-gradient was entered with."""
    return ledger[DECIDED] if ledger[DECIDED] > 0.0 else s.sums[LAST_RATE]


def next_block(ledger: Vector, s: State) -> None:
    """Close the books of the present block, and open those of the next."""
    if ledger[SIZE] > 0.0:
        ledger[SPENT] += rate_of(ledger, s) * (ledger[SIZE] * ledger[SIZE])
    ledger[SIZE] = 0.0
    ledger[DECIDED] = s.sums[RATE] if s.sums[ENERGY] > 0.0 else 0.0


def block_certificates(
    learner: Linear, state: State, comparator: Domain, met: MetScores | None, ledger: Vector
) -> list[Certificate]:
    """Certificates of a run in blocks, tightest first: LEM-2.5, and LEM-2.20 and DELAY where they speak of the rule."""
    sums = state.sums.copy()
    sums[PEAK] = math.inf  # nobody knows the longest iterate: Σ‖z_t‖ bounds it
    e = evidence(learner, state._replace(sums=sums), comparator, met)
    found = [_SPEAK["LEM-2.20"].evaluate(e)] if _SPEAK["LEM-2.20"].applies(learner) else []
    if isinstance(learner.rule, MirrorDescent) and learner.rule.step.falling:
        sums = sums.copy()
        sums[STEPPED] = ledger[SPENT]
        if ledger[SIZE] > 0.0:
            sums[STEPPED] += rate_of(ledger, state) * ledger[SIZE] ** 2
        late = _SPEAK["LAZY-DEC"].evaluate(replace(e, sums=sums))
        statement = f"regret against every {e.rivals} ≤ (R(u) − R(w₁))/η_T + (1/2σ)Ση_b(Σ‖z_t‖_*)² over blocks b"
        found.append(replace(late, id="DELAY", statement=statement))
    return sorted([LINEARISED.evaluate(e), *found], key=lambda c: (not c.premises_hold, c.bound))
