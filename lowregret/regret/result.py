"""The regret that was found, and what it was found against."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.compile.numerics import summed
from lowregret.types import Vector
from lowregret.words import counted, rounded_down, rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ROUNDING = 1e-12  # a gap this small, relative to the losses summed, is not worth telling


@dataclass(frozen=True)
class Regret:
    """Σ mine − Σ theirs, the exact sum of losses as they were computed, rounded once.

    So it is if `low` = `high`; else a solver found `low`, and proved that it is at most `high`.
    """

    kind: str
    mine: Vector  # f_t(w_t), round by round
    theirs: Vector  # what the comparator found pays in the same rounds
    comparator: Any  # the point, path, experts, window or map found
    gap: float = 0.0
    path_length: float | None = None
    certificate: Certificate | None = None  # the theorem that bounds it, if one does
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def low(self) -> float:
        return summed(np.concatenate([self.mine, -self.theirs]))  # large ones that both pay hide no other

    @property
    def high(self) -> float:
        return self.low + self.gap

    @property
    def value(self) -> float:
        """The regret, rounded up by the solver's gap."""
        return self.high

    @property
    def bound(self) -> float | None:
        """The theorem's with its rounding, if there is one whose premises hold."""
        known = self.certificate is not None and self.certificate.premises_hold
        return self.certificate.promised if known and self.certificate is not None else None

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Cumulative loss, mine and the comparator's, and the regret; written to `path` if given."""
        from lowregret.show.plot import plot_regret

        return plot_regret(self, path)

    def __str__(self) -> str:
        text = f"{self.value:.6g}"
        if self.gap > ROUNDING * float(np.sum(np.abs(self.mine)) + np.sum(np.abs(self.theirs))):
            text = f"between {rounded_down(self.low)} and {rounded_up(self.high)}"
        if self.bound is not None and self.certificate is not None:
            text += f" ≤ {rounded_up(self.bound)} ({self.certificate.id})"
        text = f"{self.kind} regret {text} over {counted(self.mine.size, 'round')}"
        if "first" in self.details:
            text += f" ({self.details['first']:,} to {self.details['last']:,})"
        if "switches" in self.details:
            text += f", against {self.details['switches']:,} switch{'es' * (self.details['switches'] != 1)}"
        if self.path_length is not None:
            text += f", path length {self.path_length:.6g}"
        return text
