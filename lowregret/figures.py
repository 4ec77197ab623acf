"""What can be read off a learner and its state."""

from __future__ import annotations

from lowregret.learner import Learner
from lowregret.state import MISTAKES, TOTAL, State


class Figures:
    """The plain figures of a run."""

    learner: Learner
    state: State
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
        """Share of rows predicted wrongly before they were learnt; None for regression."""
        return None if self.mistakes is None else self.mistakes / max(self.rounds, 1)
