"""The experts of a run of `auto`: what each lost, how far it is trusted, and what that proves."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lowregret.auto.kept import DONE, KEPT_NAMES, NOW, OWN, close_round, hedge_weights
from lowregret.auto.kept import GAP as KEPT_GAP
from lowregret.auto.kept import MIXED as KEPT_MIXED
from lowregret.auto.learner import EXPERTS, GAP, MIXED, NAMES, WEIGHTS, expert_losses
from lowregret.certificate import Certificate, Premise
from lowregret.domain import Domain
from lowregret.state import LINEAR, State
from lowregret.types import Vector

ROUNDING = 1e-12  # of sums of many losses, relative


@dataclass(frozen=True)
class Standings:
    """The experts of a run: what each lost, and how far it is trusted."""

    total: float  # the mixture's own loss
    rounds: int
    trust: Vector
    classifies: bool

    @property
    def losses(self) -> Vector:
        return expert_losses(self.trust)

    @property
    def weights(self) -> Vector:
        return self.trust[WEIGHTS : WEIGHTS + EXPERTS]

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def regret(self) -> float:
        """My loss minus the best expert's, exactly."""
        return self.total - float(self.losses[self.best])

    @property
    def linear_regret(self) -> float:
        """Σ⟨w_t, losses_t⟩ minus the best expert's; the log loss is a mix loss already."""
        return max(self.regret, -math.inf if self.classifies else float(self.trust[MIXED] - self.losses[self.best]))

    @property
    def bound(self) -> float:
        """ln N + ln T (+ what weights above 1 cost), or 2Δ; and what rounding may do to sums of this size."""
        gap, rounding = float(self.trust[GAP]), ROUNDING * abs(self.total)
        logs = math.log(EXPERTS) + math.log(max(self.rounds, 1))
        return (logs + gap if self.classifies else 2 * gap) + rounding

    def certificate(self) -> Certificate:
        """MIX-SHARE or MIX-ADAHEDGE: the mixture against the best of its experts."""
        name, statement = (
            ("MIX-SHARE", "ln N + ln T + Σ[loss − mix loss]₊")
            if self.classifies
            else ("MIX-ADAHEDGE", "2Δ, Δ = Σ(⟨w,losses⟩ − mix loss)")
        )
        comparator = {"set": "experts", "count": EXPERTS, "best": NAMES[self.best]}
        finite = Premise("all losses are finite", math.isfinite(self.total + float(self.losses.sum())))
        return Certificate(
            name, statement, comparator, self.linear_regret, self.bound, premises=(finite,), regret=self.regret
        )

    def to_json(self) -> dict[str, object]:
        """The public form: as of `lowregret experts`."""
        return {
            "experts": {"names": list(NAMES), "losses": self.losses.tolist(), "weights": self.weights.tolist()},
            "best": {"name": NAMES[self.best], "loss": float(self.losses[self.best])},
        }


@dataclass(frozen=True)
class Keeping:
    """The experts of the kept model: what each lost while it was frozen, and how far it is trusted.

    Where a sample of the rows was judged, losses are those of all rows, as the sample tells them.
    """

    votes: Vector

    names = KEPT_NAMES

    @property
    def losses(self) -> Vector:
        return self.votes[DONE:NOW] + self.votes[NOW:KEPT_GAP]

    @property
    def weights(self) -> Vector:
        return hedge_weights(self.votes)

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def certificate(self) -> Certificate:
        """KEPT-ADAHEDGE: the kept mixture against the best of its experts, all of them frozen when they are judged."""
        settled, least = close_round(self.votes), float(self.losses[self.best])
        regret, linear = float(self.votes[OWN]) - least, float(settled[KEPT_MIXED]) - least
        bound = 2 * float(settled[KEPT_GAP]) + ROUNDING * abs(float(settled[KEPT_MIXED]))
        comparator = {"set": "kept experts", "count": EXPERTS, "best": KEPT_NAMES[self.best]}
        finite = Premise("all losses are finite", math.isfinite(linear + bound))
        return Certificate(
            "KEPT-ADAHEDGE", "2Δ, Δ = Σ(⟨v,losses⟩ − mix loss) over freezes", comparator, max(regret, linear), bound,
            premises=(finite,), regret=regret,
        )  # fmt: skip

    def to_json(self) -> dict[str, object]:
        """The public form."""
        return {
            "names": list(KEPT_NAMES),
            "losses": self.losses.tolist(),
            "weights": self.weights.tolist(),
            "best": KEPT_NAMES[self.best],
        }


def against_fixed(state: State, comparator: Domain) -> Certificate:
    """LINEARISED: Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ ≥ regret, for losses are convex in the score, whoever made it: O(d).

    g_t is the loss's slope at the mixture's own score s_t. No theorem limits it.
    """
    comparator.fits(state.dimension)
    regret = float(state.sums[LINEAR]) + comparator.support(state.theta.copy())
    statement = "Σ g_t s_t + max_u ⟨u, −Σ g_t x_t⟩, g_t the slope at the score s_t"
    return Certificate("LINEARISED", statement, comparator.describe(), regret, math.inf)
