"""Certificates of players that follow the leader, regularised or not, from the record of a game.

F_t = R + Σ_{i<t} f_i is what w_t minimises (up to a certified gap), R the penalty: R/η for FTRL, 0 for FTL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from lowregret.certificate.certificate import Certificate, Premise
from lowregret.certificate.evidence import mirroring
from lowregret.compile.numerics import EPSILON, norm, norms, squared_over
from lowregret.convex.functions import Convex, QuadraticFunction
from lowregret.convex.leader import Follower, FollowTheLeader, FollowTheRegularisedLeader
from lowregret.domain import Domain, Reals
from lowregret.types import Vector

EXACT = 1e-9  # a gap this small, relative to the losses and the penalty, counts as an exact minimum


@dataclass(frozen=True)
class Following:
    """A follower's game: functions, points w_1 … w_T, sub-gradients, losses, and what following cost."""

    player: Follower
    functions: Sequence[Convex]
    points: Vector
    gradients: Vector
    losses: Vector
    drops: Vector  # f_t(w_t) − f_t(w_{t+1})
    steps: Vector  # F_{t+1}(w_t) − F_{t+1}(w_{t+1})
    gaps: Vector  # of w_1 … w_{T+1}
    comparator: Domain
    regret: float

    @property
    def penalty_range(self) -> float:
        """max_U R(u) − R(w_1)"""
        d = self.points.shape[1]
        return self.player.highest(self.comparator, d) - self.player.penalty(self.player.first(d))

    @property
    def rounding(self) -> float:
        """By how much the sums over all rounds, each of sums over the rounds before it, may be off."""
        rounds, d = self.points.shape
        reach = self.comparator.reach(2, d)
        far = max((norm(w) for w in self.points), default=0.0) + (reach if reach < math.inf else 0.0)
        terms = float(np.sum(np.abs(self.losses)) + far * sum(norm(z) for z in self.gradients)) + abs(
            self.penalty_range
        )
        return EPSILON * (rounds + d + 16) * max(rounds, 1) * terms


def following_certificates(g: Following) -> list[Certificate]:
    """Every certificate that speaks of a follower's game, tightest first; none where its penalty is not known."""
    mirror = g.player.mirror if isinstance(g.player, FollowTheRegularisedLeader) else None
    if mirror is not None and not mirror.knows_value():
        return []
    found = [ftrl_identity(g), be_the_leader(g)]
    if isinstance(g.player, FollowTheRegularisedLeader) and g.player.strength > 0:
        found += strongly_convex(g)
    if isinstance(g.player, FollowTheLeader):
        found += quadratic_game(g)
    if mirror is not None:
        tried = mirroring(mirror, g.comparator, g.points.shape[1])
        found = [replace(c, premises=(*c.premises, *tried)) for c in found]
    return sorted(found, key=lambda c: (not c.premises_hold, c.bound))


def ftrl_identity(g: Following) -> Certificate:
    """FTRL-ID: regret(u) = R(u) − R(w_1) + Σ[F_{t+1}(w_t) − F_{t+1}(w_{t+1})] + [F_{T+1}(w_{T+1}) − F_{T+1}(u)].

    True for any points; the last bracket is at most the gap of w_{T+1}, so inexact minimisation stays certified.
    """
    bound = g.penalty_range + float(np.sum(g.steps)) + float(g.gaps[-1])
    return _certificate(g, "FTRL-ID", "R(u) − R(w₁) + Σ[F_{t+1}(w_t) − F_{t+1}(w_{t+1})] + gap", bound)


def be_the_leader(g: Following) -> Certificate:
    """LEM-2.3 (LEM-2.1 for R = 0): regret(u) ≤ R(u) − R(w_1) + Σ(f_t(w_t) − f_t(w_{t+1})), exact minima.

    By FTRL-ID it loses F_t(w_t) − F_t(w_{t+1}) a round, and the last bracket: at most the gaps of all minima.
    """
    name = "LEM-2.1" if isinstance(g.player, FollowTheLeader) else "LEM-2.3"
    bound = g.penalty_range + float(np.sum(g.drops))
    lost = float(np.sum(g.gaps))
    return _certificate(g, name, "R(u) − R(w₁) + Σ(f_t(w_t) − f_t(w_{t+1}))", bound, _exact(g), lost)


def strongly_convex(g: Following) -> list[Certificate]:
    """THM-2.11+: regret(u) ≤ R(u) − R(w_1) + Σ‖z_t‖_*²/(2σ), R σ-strongly convex, exact minima; THM-2.11 without the 2.

    COR-2.13 is THM-2.11 for R = ‖w‖²/(2η), which leaves out R(w_1): ‖u‖²/(2η) + ηΣ‖z_t‖². A w_t with a gap ε lies
    within √(2ε/σ) of the minimum, so that f_t costs ε + ‖z_t‖_*√(2ε/σ) more.
    """
    player, exact = g.player, _exact(g)
    assert isinstance(player, FollowTheRegularisedLeader)
    sizes = [player.mirror.dual_norm(z) for z in g.gradients]
    moved = sum(squared_over(size, player.strength) for size in sizes)
    off = (size * math.sqrt(2 * gap / player.strength) for size, gap in zip(sizes, g.gaps, strict=False) if gap > 0)
    lost = float(np.sum(g.gaps)) + sum(off)
    plus, printed = "R(u) − R(w₁) + Σ‖z_t‖_*²/(2σ)", "R(u) − min R + Σ‖z_t‖_*²/σ"
    found = [
        _certificate(g, "THM-2.11+", plus, g.penalty_range + moved / 2, exact, lost),
        _certificate(g, "THM-2.11", printed, g.penalty_range + moved, exact, lost),
    ]
    if player.folds:
        highest = player.highest(g.comparator, g.points.shape[1])
        found.append(_certificate(g, "COR-2.13", "‖u‖²/(2η) + ηΣ‖z_t‖²", highest + moved, exact, lost))
    return found


def quadratic_game(g: Following) -> list[Certificate]:
    """FTL-QUAD-ID: regret = (σ/2)Σ‖w_t − z_t‖²/t, and COR-2.2, seed and sharp form, L = max‖z_t‖."""
    quadratics = [f for f in g.functions if isinstance(f, QuadraticFunction)]
    if not quadratics:
        return []
    sigma, rounds = quadratics[0].sigma, len(g.functions)
    alike = len(quadratics) == rounds and all(f.sigma == sigma for f in quadratics)
    premises = (
        Premise("all functions are (σ/2)‖w − z_t‖² with one σ", alike, sigma),
        Premise("played on all of R^d", isinstance(g.player.domain, Reals), g.player.domain.name),
    )
    if not alike:
        return [_certificate(g, "FTL-QUAD-ID", "(σ/2)Σ‖w_t − z_t‖²/t", math.inf, premises)]
    z, t = np.array([f.z for f in quadratics]), np.arange(1, rounds + 1)
    off = g.points - z
    exact = float(np.sum(np.sum(sigma / 2 * off * off, axis=1) / t))
    squared = squared_over(float(np.max(norms(z))), 1 / sigma)
    harmonic = float(np.sum(1 / t))
    return [
        _certificate(g, "FTL-QUAD-ID", "(σ/2)Σ‖w_t − z_t‖²/t", exact, premises),
        _certificate(g, "COR-2.2+", "σ(L²/2 + 2L²(H_T − 1))", squared * (2 * harmonic - 1.5), premises),
        _certificate(g, "COR-2.2", "4σL²(1 + ln T)", 4 * squared * (1 + math.log(rounds)), premises),
    ]


def _exact(g: Following) -> tuple[Premise, ...]:
    scale = float(np.sum(np.abs(g.losses)) + np.sum(np.abs(g.drops))) + abs(g.penalty_range)
    largest = float(np.max(g.gaps))
    return (Premise("every w_t is an exact minimiser", largest <= EXACT * scale, largest),)


def _certificate(
    g: Following, name: str, formula: str, bound: float, premises: tuple[Premise, ...] = (), lost: float = 0.0
) -> Certificate:
    """A certificate of the game; `lost` is what it may fall short by as minima have gaps."""
    d = g.points.shape[1]
    inside = Premise(
        f"comparators lie in the player's {g.player.domain.name}",
        g.player.domain.covers(g.comparator, d),
        g.comparator.describe()["set"],
    )
    return Certificate(
        id=name,
        statement=f"regret against every u in {g.comparator.name} ≤ {formula}",
        comparator=g.comparator.describe(),
        linear_regret=None,
        bound=bound,
        premises=(inside, *premises),
        regret=g.regret,
        rounding=g.rounding + lost,
    )
