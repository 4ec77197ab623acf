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
from lowregret.compile.numerics import EPSILON, summed
from lowregret.experts.aggregator import FixedShare
from lowregret.experts.certify import bound_against, is_mixable
from lowregret.experts.group_bounds import bounds_against
from lowregret.experts.group_mixture import GroupMixture, Stage
from lowregret.experts.state import BLUR, ROUNDS, Book, behind_all, behind_each
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
    awake, pooled = accounts.awake[played], int(m.pool is not None)
    rivals = awake > 0 if m.own.chief is None else awake == accounts.counts[played, ROUNDS, None]
    regrets = behind_each(accounts)[played]
    linear = (accounts.linear + accounts.drift)[played]
    if m.own.chief is None:
        k = _best(linear if m.way.linearised else regrets, rivals)
        name, statement = _theorem(m, m.own.lanes[0])
        values = _bounds(m, m.own.lanes[0], played, k + pooled) + accounts.drift[played, k]
    else:
        name, statement = "LAYERED", f"R[k] ≤ {THROUGH_LANES}"
        padded = np.hstack([np.zeros((len(played), pooled), bool), rivals])
        values = _layered(m, m.own, played, padded) + accounts.late[played]
    worst, exact = (summed(np.max(a, axis=1, where=rivals, initial=-math.inf)) for a in (linear, regrets))
    per = PER[m.keys.weighing]
    statement = f"Σ over {m.keys.weighing.replace('shrunk', 'series')}: {statement}" if per else statement
    whom = {"of": f"weights{per}"} | _slept(rivals | (awake == 0))
    return _certificate(m, name, statement, whom, (summed(values), worst, exact), len(played))


def _through_pool(m: SeriesMixture) -> Certificate:
    """Σ of what series owe to the pooled mixture, and what that owes to the best for all."""
    assert m.pool is not None
    accounts, played = m.accounts, np.flatnonzero(m.accounts.counts[:, ROUNDS])
    rivals = np.all(accounts.awake == accounts.counts[:, ROUNDS, None], axis=0)[None]
    if m.own.chief is None:
        owed = _bounds(m, m.own.lanes[0], played, np.zeros(len(played), np.int64))
    else:
        owed = _layered(m, m.own, played, np.tile(np.arange(m.own.prior.size) == 0, (len(played), 1)))
    bound, one = summed([*owed, *accounts.late[played]]), np.zeros(1, np.int64)
    if m.pool.chief is not None:
        bound += float(_layered(m, m.pool, one, rivals)[0])
    elif isinstance(m.pool.lanes[0].aggregator, FixedShare):  # which keeps weights, not regrets
        each = [_bounds(m, m.pool.lanes[0], one, np.array([k]))[0] for k in np.flatnonzero(rivals)]
        bound += float(max(each, default=math.inf))
    else:
        k = _best(m.pool.lanes[0].standings.regret, rivals)
        bound += float(_bounds(m, m.pool.lanes[0], one, k)[0]) if rivals.any() else math.inf
    owing = accounts.linear + accounts.drift
    linear, regrets = np.array([summed(column) for column in owing.T]), behind_all(accounts)
    worst, exact = (float(np.max(a, where=rivals[0], initial=-math.inf)) for a in (linear, regrets))
    statement = "R[k] ≤ Σ over series of what it owes to the pooled mixture + what that owes to k, one for all series"
    whom = {"of": "weights for all series"} | _slept(rivals | np.all(accounts.awake == 0, axis=0))
    return _certificate(m, "SHRUNK", statement, whom, (bound, worst, exact), len(played))


def _slept(spoken_of: Any) -> dict[str, str]:
    """A note that the comparators never slept, if not all experts who were ever awake are spoken of."""
    return {} if np.all(spoken_of) else {"slept": "never"}


def _certificate(
    m: SeriesMixture, name: str, statement: str, whom: dict[str, str], found: tuple[float, float, float], played: int
) -> Certificate:
    """The certificate of a bound, the linearised regret and the exact one to the best experts, which are `found`."""
    bound, worst, exact = found
    premises = [*convexity(m.way.loss, m.met, 0.0)]
    if played and exact == -math.inf:
        premises.append(Premise("some expert never slept", False, "nobody to compare with, in all series or in one"))
    drift = m.drift
    late, waiting = bool(np.any(m.accounts.late)), m.pending
    about = f", over the forecasts whose outcomes are learnt ({counted(waiting, 'other')} pending)" if waiting else ""
    compared: dict[str, Any] = {"set": "simplex", "radius": 1.0} if m.way.linearised else {"set": "experts"}
    return Certificate(
        f"{name}+DRIFT" if late else name,
        statement + (" + Σ ℓ(p_t) − ℓ(q_t)" if late else "") + about,
        compared | whom,
        worst if m.way.linearised and worst <= bound and math.isfinite(worst) else None,
        bound,
        tuple(premises),
        regret=None if m.way.linearised or not math.isfinite(exact) else exact,
        details={"drift": drift, "pending": float(waiting), "to_experts": exact},
    )


def _best(regrets: Vector, rivals: Any) -> Any:
    """The rival of the largest regret, in each group."""
    return np.argmax(np.where(rivals, regrets, -np.inf), axis=1)


def _theorem(m: SeriesMixture, stage: Stage) -> tuple[str, str]:
    """ID and statement of the theorem about an aggregator."""
    return bound_against(stage.aggregator, _is_mixable(m, stage), Book.fresh(stage.prior), 0)[:2]


def _bounds(m: SeriesMixture, stage: Stage, groups: Any, k: Any) -> Vector:
    """The bound against expert k of one aggregator in each group."""
    return bounds_against(stage, _is_mixable(m, stage), groups, k)


def _is_mixable(m: SeriesMixture, stage: Stage) -> bool:
    return is_mixable(stage.aggregator, m.way.substitution, m.way.loss, m.way.linearised)


def _layered(m: SeriesMixture, mixture: GroupMixture, groups: Any, rivals: Any) -> Vector:
    """The debt of each group to its best rival, through the lane by which it is least; infinite without rivals."""
    assert mixture.chief is not None
    found = np.full(len(groups), math.inf)
    for place, lane in enumerate(mixture.lanes):
        owed = _bounds(m, lane, groups, _best(lane.standings.regret[groups], rivals))
        found = np.minimum(found, owed + _bounds(m, mixture.chief, groups, np.full(len(groups), place)))
    return np.where(rivals.any(1), found, math.inf)


def _rounding(m: SeriesMixture) -> float:
    """By how much sums may be off, in all groups and stages together: `certify.rounding` of each."""
    kept: list[Any] = [m.accounts, *(stage.standings for _, mixture in m.mixtures() for stage in mixture.stages)]
    off = 0.0
    for found in kept:
        rounds, experts = found.counts[:, ROUNDS], found.added.shape[1]
        largest = np.max(found.added, axis=1, where=np.isfinite(found.added), initial=0.0)
        off += 4 * EPSILON * summed((rounds + experts + 16) * largest)
        off += 4 * EPSILON * (experts + 256) * summed(found.sums[:, BLUR])
    return off
