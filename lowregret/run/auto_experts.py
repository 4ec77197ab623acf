"""The experts of a run of `auto`: the loss of each, how far each is trusted, and the certificates that follow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.auto.frozen import DONE, KEPT_NAMES, NOW, OWN, close_round, hedge_weights
from lowregret.auto.frozen import GAP as KEPT_GAP
from lowregret.auto.frozen import MIXED as KEPT_MIXED
from lowregret.auto.learner import EXPERTS, GAP, MIXED, NAMES, WEIGHTS, expert_losses
from lowregret.auto.view import COLUMNS, COUNT, DEVIATION, MEAN
from lowregret.certificate import Certificate, Premise
from lowregret.compile.numerics import EPSILON, norm
from lowregret.domain import Domain
from lowregret.state import ENERGY, LINEAR, LONGEST, TOTAL, State
from lowregret.types import Vector

ROUNDING = 1e-12  # of sums of many losses, relative
MIXING = 32  # operations of which a mixture of numbers is made
LIKELY = 1024  # ε that the logarithm of a chance may be off by: that of e^u doubles with each of seven squarings
EACH = 4  # as many more for each class that chances are shared among
HEDGED = 20  # roundings of sums so far that a mixability gap is made of


@dataclass(frozen=True)
class Standings:
    """The experts of a run: the loss of each, and how far each is trusted."""

    total: float  # the mixture's own loss
    rounds: int
    trust: Vector
    classifies: bool
    rate: float = 1.0  # how much of each verdict on them counted: see `share_trust`
    drift: float = 0.0  # how much less the mixture would have lost by its scores when the answers came
    weight: float = 0.0  # Σ of the importance weights of rows
    size: float = 0.0  # the largest score, of numbers
    classes: int = 1  # that there is room for

    @property
    def present(self) -> Any:
        """Which experts there are: one may have joined, or left."""
        return np.flatnonzero(expert_losses(self.trust) < math.inf)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(NAMES[k] for k in self.present)

    @property
    def losses(self) -> Vector:
        return expert_losses(self.trust)[self.present]

    @property
    def weights(self) -> Vector:
        return self.trust[WEIGHTS : WEIGHTS + EXPERTS][self.present]

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def regret(self) -> float:
        """The mixture's loss minus that of the best expert by its scores when the answers came, exactly."""
        return self.total - float(self.losses[self.best])

    @property
    def linear_regret(self) -> float:
        """Σ⟨w_t, losses_t⟩ minus the best expert's loss, at least `regret`; `regret` itself if the loss classifies."""
        mixed = self.drift + float(self.trust[MIXED] - self.losses[self.best])
        return max(self.regret, -math.inf if self.classifies else mixed)

    @property
    def bound(self) -> float:
        """(ln N + ln T)/rate + Σ[loss − mix loss]₊ if the loss classifies, else 2Δ; plus the rounding of such sums,
        and what late answers cost."""
        gap, rounding = float(self.trust[GAP]), ROUNDING * abs(self.total)
        logs = math.log(len(self.names)) + math.log(max(self.rounds, 1))
        return (logs / self.rate + gap if self.classifies else 2 * gap) + rounding + self.drift

    def certificate(self) -> Certificate:
        """MIX-SHARE or MIX-ADAHEDGE: the mixture against the best of its experts."""
        many = f"{1 / self.rate:.0f}·(" if self.rate < 1 else ""  # answers were under way together
        name, statement = (
            ("MIX-SHARE", f"{many}ln N + ln T{')' * bool(many)} + Σ[loss − mix loss]₊")
            if self.classifies
            else ("MIX-ADAHEDGE", "2Δ, Δ = Σ(⟨w,losses⟩ − mix loss)")
        )
        comparator = {"set": "experts", "count": len(self.names), "best": self.names[self.best]}
        if self.drift:
            name, statement = f"{name}+DRIFT", f"{statement} + Σ(loss when asked − loss when answered)"
            comparator["judged"] = "when answers came"
        finite = Premise("all losses are finite", math.isfinite(self.total + float(self.losses.sum())))
        return Certificate(
            name, statement, comparator, self.linear_regret, self.bound, premises=(finite,), regret=self.regret,
            rounding=self.rounding,
        )  # fmt: skip

    @property
    def rounding(self) -> float:
        """By how much `regret`, or its bound, may be off, as sums, losses and the mixture's scores are rounded."""
        sums = self.total, float(self.losses[self.best]), float(self.trust[MIXED]), float(self.trust[GAP])
        count = self.rounds * (1 if self.classifies else HEDGED)
        blur = blurred(self.rounds / self.rate, self.weight, self.size, self.total, self.classes)
        return off(count, *sums) + blur

    def to_json(self) -> dict[str, object]:
        """The public form, with the keys that `lowregret experts` prints."""
        return {
            "experts": {"names": list(self.names), "losses": self.losses.tolist(), "weights": self.weights.tolist()},
            "best": {"name": self.names[self.best], "loss": float(self.losses[self.best])},
        }


@dataclass(frozen=True)
class Keeping:
    """The experts of the kept model: the loss of each while it was frozen, and how far each is trusted.

    Where only a sample of the rows was judged, losses are estimates for all rows.
    """

    votes: Vector
    rows: int = 0  # that were judged
    weight: float = 0.0  # Σ of their importance weights, as often as each stands for others
    size: float = 0.0  # the largest score, of numbers
    classes: int = 1  # that there is room for

    @property
    def present(self) -> Any:
        """Which experts there are: one may have joined, or left."""
        return np.flatnonzero(self.votes[DONE:NOW] < math.inf)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(KEPT_NAMES[k] for k in self.present)

    @property
    def losses(self) -> Vector:
        return (self.votes[DONE:NOW] + self.votes[NOW:KEPT_GAP])[self.present]

    @property
    def weights(self) -> Vector:
        return hedge_weights(self.votes)[self.present]

    @property
    def best(self) -> int:
        return int(self.losses.argmin())

    @property
    def certificate(self) -> Certificate:
        """KEPT-ADAHEDGE: the kept mixture against the best of its experts, all of them frozen while they are judged."""
        settled, least = close_round(self.votes), float(self.losses[self.best])
        regret, linear = float(self.votes[OWN]) - least, float(settled[KEPT_MIXED]) - least
        bound = 2 * float(settled[KEPT_GAP]) + ROUNDING * abs(float(settled[KEPT_MIXED]))
        comparator = {"set": "kept experts", "count": len(self.names), "best": self.names[self.best]}
        sums = float(self.votes[OWN]), least, float(settled[KEPT_MIXED])
        rounding = off(self.rows, *sums) + blurred(self.rows, self.weight, self.size, sums[0], self.classes)
        finite = Premise("all losses are finite", math.isfinite(linear + bound))
        return Certificate(
            "KEPT-ADAHEDGE", "2Δ, Δ = Σ(⟨v,losses⟩ − mix loss) over freezes", comparator, max(regret, linear), bound,
            premises=(finite,), regret=regret, rounding=rounding,
        )  # fmt: skip

    def to_json(self) -> dict[str, object]:
        """The public form: names, losses and weights of the experts, and the best of them."""
        return {
            "names": list(self.names),
            "losses": self.losses.tolist(),
            "weights": self.weights.tolist(),
            "best": self.names[self.best],
        }


def against_fixed(state: State, comparator: Domain, measures: Vector) -> Certificate:
    """LINEARISED: Σ g_t s_t + max_u⟨u, −Σ g_t x_t⟩ ≥ regret against fixed linear predictors: O(d).

    g_t is the loss's slope at the mixture's own score s_t. It holds for any scores, since losses are convex in the
    score; no theorem bounds the sum.

    Terms may cancel, so rounding goes by Σ|g_t s_t| ≤ max|s_t|·√(T·Σg_t²) and Σ|g_t x_tj| ≤ √(Σg_t²·Σx_tj²), the
    latter being known by the measures of features.
    """
    comparator.fits(state.dimension)
    linear, highest = float(state.sums[LINEAR]), comparator.support(state.theta.copy())
    slopes, reach = math.sqrt(state.sums[ENERGY]), comparator.reach(2.0, state.dimension)
    scores = slopes * math.sqrt(state.rounds) * math.sqrt(state.sums[LONGEST])
    rows = slopes * math.hypot(math.sqrt(state.rounds), lengths(measures)) * (reach if reach < math.inf else 0.0)
    rounding = off(state.rounds + state.dimension, linear, highest, float(state.sums[TOTAL]), scores, rows)
    statement = "Σ g_t s_t + max_u ⟨u, −Σ g_t x_t⟩, g_t the slope at the score s_t"
    return Certificate("LINEARISED", statement, comparator.describe(), linear + highest, math.inf, rounding=rounding)


def lengths(measures: Vector) -> float:
    """√Σ‖x_t‖² of the rows learnt, by the measures of their features: O(d)."""
    counts, means, deviations = (measures[int(place) :: COLUMNS] for place in (COUNT, MEAN, DEVIATION))
    with np.errstate(over="ignore"):
        return math.hypot(math.sqrt(deviations.sum()), norm(means * np.sqrt(counts)))


def against_forests(run: Any, companion: Any, trees: int, cells: int) -> Certificate:
    """FOREST: my loss minus the companion's, plus what LINEARISED says of the companion.

    The companion has played the same rounds, some of them again once its cells were settled; what it lost is known
    exactly, and its own sums tell that no weighting of its cells and features lost less than `proof` allows.
    """
    statement = (
        "Σ (loss − companion's loss) + Σ g_t c_t + max_u ⟨u, −Σ g_t φ(x_t)⟩, g_t the slope at the companion's c_t"
    )
    mine, theirs, proof = run.loss, companion.loss, companion.fixed_certificate
    comparator = proof.comparator | {"of": f"weighting of {trees} trees' cells and the features"}
    linear = mine - theirs + float(proof.linear_regret or 0.0)
    rounding = float(proof.rounding or 0.0) + off(run.rounds, mine, theirs)
    told = {"trees": float(trees), "cells": float(cells)}
    return Certificate("FOREST", statement, comparator, linear, math.inf, rounding=rounding, details=told)


def blurred(rounds: float, weight: float, size: float, lost: float, classes: int) -> float:
    """By how much losses may be off as chances and scores are rounded: (1024 + 4K)ε a row of K classes, as often as it
    counts, and trust in experts by as much a round (proof: docs/auto.md); numbers of some `size` by e = 32ε·size, their
    squares by Σc(2|y − p|e + e²).

    By Cauchy and Schwarz, Σc|y − p| ≤ √(Σc·Σc(y − p)²), and Σc(y − p)² is what is lost, or twice that.
    """
    e = MIXING * EPSILON * size
    likely = (LIKELY + EACH * classes) * EPSILON * (rounds + weight)
    return likely + 2 * e * math.sqrt(weight) * math.sqrt(2 * lost) + weight * e * e


def off(count: int, *sums: float) -> float:
    """By how much sums of `count` rounded numbers, each of one sign, may be off."""
    return EPSILON * (count + 16) * sum(map(abs, sums))
