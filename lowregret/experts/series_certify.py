"""Certificates of mixtures of many series whose outcomes come late.

In order of their outcomes, the rounds of group g are an undelayed run that plays q_t: Σ ℓ(q_t) − ℓ(x_t[k]) ≤ B_g by its
theorem. The forecasts p_t that were given lost more by the drift D_g = Σ ℓ(p_t) − ℓ(q_t), which is known exactly:

    Σ_g Σ_t ℓ(p_t) − ℓ(x_t[k_g]) ≤ Σ_g (B_g + D_g)

against the best expert k_g (or, linearised, the best weights) of every group. Where the pooled mixture, which plays
P_t, is an expert of every series, ℓ(q_t) − ℓ(x_t[k]) = [ℓ(q_t) − ℓ(P_t)] + [ℓ(P_t) − ℓ(x_t[k])], so against one k

    Σ_g Σ_t ℓ(p_t) − ℓ(x_t[k]) ≤ Σ_g (what series g owes to the pooled mixture + D_g) + what that owes to k     (SHRUNK)

Through lanes, or through the pooled mixture, it is over all rounds of a group: against experts that never slept there.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.evidence import convexity
from lowregret.compile.numerics import EPSILON
from lowregret.experts.aggregator import FixedShare
from lowregret.experts.certify import bound_against, is_mixable
from lowregret.experts.group_mixture import GroupMixture, Stage
from lowregret.experts.state import BLUR, ROUNDS
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from lowregret.experts.series import SeriesMixture

PER = {"pooled": "", "series": " of each series", "horizon": " of each horizon", "shrunk": " of each series"}
THROUGH_LANES = "min over lanes of what the mixture owes to the lane + what the lane owes to the best combination"


def series_certificates(m: SeriesMixture) -> list[Certificate]:
    """Against the best of every group and, of series that are shrunk to it, through the pooled mixture; O(GN)."""
    found = [_of_groups(m)] if m.pool is None else [_of_groups(m), _through_pool(m)]
    off = _rounding(m)
    return sorted((replace(c, rounding=off) for c in found), key=lambda c: (not c.premises_hold, c.bound))


def _of_groups(m: SeriesMixture) -> Certificate:
    """Σ over groups of the bound against the group's best."""
    accounts, played = m.accounts, np.flatnonzero(m.accounts.counts[:, ROUNDS])
    regrets = accounts.owed - accounts.losses + accounts.drift
    linear = accounts.linear + accounts.drift
    bound, worst, exact = 0.0, 0.0, 0.0
    name, statement = "LAYERED", f"R[k] ≤ {THROUGH_LANES}"
    for g in played.tolist():
        rivals = _rivals(m, g)
        known = (linear if m.way.linearised else regrets)[g]
        if m.own.chief is None:
            k = _best(known, rivals)
            name, statement, value = _bound(m, m.own.lanes[0], g, k + (m.pool is not None))
            bound += value + float(accounts.drift[g, k])
        else:
            offset = m.pool is not None
            bound += _layered(m, m.own, g, np.append(False, rivals) if offset else rivals) + float(accounts.late[g])
        worst += float(np.max(linear[g], where=rivals, initial=-math.inf))
        exact += float(np.max(regrets[g], where=rivals, initial=-math.inf))
    per = PER[m.keys.weighing]
    statement = f"Σ over {m.keys.weighing.replace('shrunk', 'series')}: {statement}" if per else statement
    return _certificate(m, name, statement, f"weights{per}", (bound, worst, exact), len(played))


def _through_pool(m: SeriesMixture) -> Certificate:
    """What series owe to the pooled mixture, and that to the best for all."""
    assert m.pool is not None
    accounts, played = m.accounts, np.flatnonzero(m.accounts.counts[:, ROUNDS])
    rivals = np.all(accounts.awake == accounts.counts[:, ROUNDS, None], axis=0)
    bound = sum(
        (_bound(m, m.own.lanes[0], g, 0)[2] if m.own.chief is None else _to_pool(m, g)) + float(accounts.late[g])
        for g in played.tolist()
    )
    if not rivals.any():
        bound = math.inf
    elif m.pool.chief is None:
        stage = m.pool.lanes[0]
        tried = (
            range(rivals.size) if isinstance(stage.aggregator, FixedShare) else [_best(stage.book(0).regret, rivals)]
        )
        bound += max(_bound(m, stage, 0, k)[2] for k in tried if rivals[k])
    else:
        bound += _layered(m, m.pool, 0, rivals)
    linear, regrets = ((a + accounts.drift).sum(0) for a in (accounts.linear, accounts.owed - accounts.losses))
    worst, exact = (float(np.max(a, where=rivals, initial=-math.inf)) for a in (linear, regrets))
    statement = "R[k] ≤ Σ over series of what it owes to the pooled mixture + what that owes to k, one for all series"
    return _certificate(m, "SHRUNK", statement, "weights for all series", (bound, worst, exact), len(played))


def _certificate(
    m: SeriesMixture, name: str, statement: str, rivals: str, found: tuple[float, float, float], played: int
) -> Certificate:
    """The certificate of a bound, the linearised regret and the exact one, which are `found`."""
    bound, worst, exact = found
    premises = [*convexity(m.way.loss, m.met, 0.0)]
    if played and exact == -math.inf:
        premises.append(Premise("some expert never slept", False, "nobody to compare with, in all series or in one"))
    drift = float(m.accounts.late.sum())
    late, waiting = bool(np.any(m.accounts.late)), m.pending
    about = f", over the forecasts whose outcomes are learnt ({counted(waiting, 'other')} pending)" if waiting else ""
    compared: dict[str, Any] = {"set": "simplex", "radius": 1.0} if m.way.linearised else {"set": "experts"}
    return Certificate(
        f"{name}+DRIFT" if late else name,
        statement + (" + Σ ℓ(p_t) − ℓ(q_t)" if late else "") + about,
        compared | {"of": rivals},
        worst if m.way.linearised and worst <= bound and math.isfinite(worst) else None,
        bound,
        tuple(premises),
        regret=exact if math.isfinite(exact) else None,
        details={"drift": drift, "pending": float(waiting)},
    )


def _rivals(m: SeriesMixture, g: int) -> Any:
    """The experts that group g is compared with: through lanes those that never slept, else all that were awake."""
    awake = m.accounts.awake[g]
    return awake > 0 if m.own.chief is None else awake == m.accounts.counts[g, ROUNDS]


def _best(regrets: Vector, rivals: Any) -> int:
    """The rival of the largest regret."""
    return int(np.argmax(np.where(rivals, regrets, -np.inf)))


def _bound(m: SeriesMixture, stage: Stage, g: int, k: int) -> tuple[str, str, float]:
    """ID, statement and value of the bound against expert k of one aggregator in group g."""
    mixable = is_mixable(stage.aggregator, m.way.substitution, m.way.loss, m.way.linearised)
    return bound_against(stage.aggregator, mixable, stage.book(g), k)


def _layered(m: SeriesMixture, mixture: GroupMixture, g: int, rivals: Any) -> float:
    """The lane through which group g owes least to its best rival."""
    if not rivals.any():
        return math.inf
    chief, found = mixture.chief, []
    assert chief is not None
    for place, lane in enumerate(mixture.lanes):
        owed = _bound(m, lane, g, _best(lane.standings.regret[g], rivals))[2]
        found.append(owed + _bound(m, chief, g, place)[2] if owed < math.inf else math.inf)
    return min(found)


def _to_pool(m: SeriesMixture, g: int) -> float:
    """What the layers of series g owe to the pooled mixture, its first expert."""
    return _layered(m, m.own, g, np.arange(m.own.prior.size) == 0)


def _rounding(m: SeriesMixture) -> float:
    """By how much sums may be off, in all groups and stages together: `certify.rounding` of each."""
    kept: list[Any] = [m.accounts, *(stage.standings for _, mixture in m.mixtures() for stage in mixture.stages)]
    off = 0.0
    for found in kept:
        rounds, experts = found.counts[:, ROUNDS], found.added.shape[1]
        largest = np.max(found.added, axis=1, where=np.isfinite(found.added), initial=0.0)
        off += 4 * EPSILON * float(((rounds + experts + 16) * largest).sum())
        off += 4 * EPSILON * (experts + 256) * float(found.sums[:, BLUR].sum())
    return off
