"""Figures read off a learner and its state."""

from __future__ import annotations

from lowregret.learner.linear import Learner
from lowregret.risk.statistics import Tally
from lowregret.state import MISTAKES, TOTAL, State


class Figures:
    """The plain figures of a run."""

    learner: Learner
    state: State
    tally: Tally
    seen: int | None  # features that occurred so far, in a run that grows with them

    @property
    def features(self) -> int:
        """How many features there are, or were so far."""
        return self.state.dimension - (self.learner.bias > 0) if self.seen is None else self.seen

    @property
    def dimension(self) -> int:
        """Number of weights: features, and the bias if there is one."""
        return self.features + (self.learner.bias > 0)

    @property
    def rounds(self) -> int:
        return self.state.rounds

    @property
    def loss(self) -> float:
        """Σ ℓ_t(w_t), progressive: each row is judged before it is learnt."""
        return float(self.state.sums[TOTAL])

    @property
    def mistakes(self) -> int | None:
        """Number of rows predicted wrongly before they were learnt; None for regression."""
        return int(self.state.counts[MISTAKES]) if self.learner.loss.classifies else None

    @property
    def error(self) -> float | None:
        """Σ c·[wrong] / Σ c, c the importance of a row that was judged before it was learnt; None for regression."""
        return self.wrong / (self.weight or 1.0) if self.learner.loss.classifies else None

    @property
    def mean_loss(self) -> float:
        """Σ c·ℓ / Σ c, progressive: the loss per unit of importance weight, or per row if all weights are 1."""
        return self.loss / (self.weight or 1.0)

    @property
    def weight(self) -> float:
        """Σ c of the rows learnt: how many they are if all weights are 1."""
        return self.tally.weight

    @property
    def wrong(self) -> float:
        """Σ c of the rows predicted wrongly before they were learnt."""
        return self.tally.wrong

    @property
    def alike(self) -> bool:
        """Whether all importance weights were 1, or 0: rows that were not learnt."""
        return self.tally.alike
