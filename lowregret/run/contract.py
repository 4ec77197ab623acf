"""The protocol of every run, whether it learns from rows, games, forecasts, bandits, finite classes or structures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Self, runtime_checkable

from lowregret.certificate import Certificate

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@runtime_checkable
class Run(Protocol):
    """A learner, its record so far, and the proof of how well it has done.

    `repr` is one line at little cost, `str` tells the run in words; `lowregret.load` reads what `save` wrote, and the
    run goes on from there as if it had never stopped, to the last bit.
    """

    @property
    def rounds(self) -> int:
        """The number of rounds played so far."""

    @property
    def loss(self) -> float:
        """The loss of all rounds, each judged before it was learnt."""

    @property
    def certificates(self) -> list[Certificate]:
        """Every certificate that speaks of this learner, tightest first; those whose premises fail come last."""

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold, or the first that fails, which says why."""

    @property
    def trace(self) -> Any:
        """The record over the rounds: arrays `rounds`, `loss`, `linear_regret` and `bound`, and the name `theorem`."""

    def learn(self, *data: Any, **options: Any) -> Self:
        """Learn more; splitting the data over several calls changes nothing, not even the last bit."""

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the trace; written to `path` if given."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the run into a file."""
