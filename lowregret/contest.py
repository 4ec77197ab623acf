"""What can be proved about a run of `auto`: against its own experts, and against every fixed linear predictor."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lowregret.auto.learner import EXPERTS, GAP, LOSSES, MIXED, NAMES, WEIGHTS, Auto
from lowregret.certificate import Certificate, Premise
from lowregret.domain import Domain
from lowregret.state import LINEAR, TOTAL, State, Vector


@dataclass(frozen=True)
class Contest:
    """The experts of a run: what each lost, and how far it is trusted."""

    total: float  # the mixture's own loss
    rounds: int
    trust: Vector
    classifies: bool

    @property
    def losses(self) -> Vector:
        return self.trust[LOSSES : LOSSES + EXPERTS]

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
        return self.regret if self.classifies else float(self.trust[MIXED] - self.losses[self.best])

    @property
    def bound(self) -> float:
        """ln N + ln T (+ what weights above 1 cost), or 2Δ."""
        gap = float(self.trust[GAP])
        return math.log(EXPERTS) + math.log(max(self.rounds, 1)) + gap if self.classifies else 2 * gap

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


def contest(learner: Auto, state: State, trust: Vector) -> Contest:
    """The experts' standing in a run."""
    return Contest(float(state.sums[TOTAL]), state.rounds, trust, learner.loss.classifies)


def against_fixed(state: State, comparator: Domain) -> Certificate:
    """LINEARISED: Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ ≥ regret, for losses are convex in the score, whoever made it: O(d).

    g_t is the loss's slope at the mixture's own score s_t. No theorem limits it.
    """
    comparator.fits(state.dimension)
    regret = float(state.sums[LINEAR]) + comparator.support(state.theta.copy())
    statement = "Σ g_t s_t + max_u ⟨u, −Σ g_t x_t⟩, g_t the slope at the score s_t"
    return Certificate("LINEARISED", statement, comparator.describe(), regret, math.inf)
