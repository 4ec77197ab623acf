"""The base of runs that learn something other than rows: forecasts, costs, labels of a finite class."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowregret.certificate import Certificate, tightest
from lowregret.certificate.history import WIDTH, History
from lowregret.certificate.trace import Trace
from lowregret.store.contents import Contents
from lowregret.store.file import Arrays, Saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Recorded(Saved):
    """A run that keeps the points of its curves itself.

    A subclass counts `rounds` and `loss`, gives its `certificates`, and calls `_mark` after every round, or at least
    whenever `history.due` rounds are over. It is written by `_written` and made again by `_made`.
    """

    def __init__(self) -> None:
        self.history = History()

    @property
    @abstractmethod
    def rounds(self) -> int:
        """Rounds learnt so far."""

    @property
    @abstractmethod
    def loss(self) -> float:
        """The loss of all rounds, each judged before it was learnt."""

    @property
    @abstractmethod
    def certificates(self) -> list[Certificate]:
        """Every certificate that speaks of this learner, tightest first; those whose premises fail come last."""

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold, or the first that fails, which says why."""
        return tightest(self.certificates)

    @property
    def trace(self) -> Trace:
        """Loss, regret and bound after 1, 2, 3, 4, 6, 8, 12, … rounds."""
        return self.history.trace

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Mean loss, and regret under its bound, over the rounds; written to `path` if given."""
        from lowregret.show.plot import plot_recorded

        return plot_recorded(self, path)

    def __str__(self) -> str:
        from lowregret.show.text import recorded_summary

        return recorded_summary(self)

    @property
    def subject(self) -> str:
        """Its name and what it is made of."""
        return f"{type(self).__name__}{self._of() and f' of {self._of()}'}"

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        yield f"loss {self.loss / max(self.rounds, 1):.4g} a round"

    def _mark(self) -> None:
        """Keep the point of the curves that is due, if it is."""
        if self.rounds == self.history.due:
            self.history.keep(self.rounds, self.loss, self.certificate)

    # ---- files -------------------------------------------------------------------------------------------------------

    @abstractmethod
    def _written(self) -> tuple[dict[str, Any], Arrays]:
        """A description and arrays of all but the history."""

    @classmethod
    @abstractmethod
    def _made(cls, found: Contents) -> Self:
        """The run that `_written` described."""

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """What `save` writes."""
        description, arrays = self._written()
        return description | {"theorem": self.history.theorem}, arrays | {"history": self.history.points}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The run in a file."""
        return cls.from_contents(Contents(path, description, arrays))

    @classmethod
    def from_contents(cls, found: Contents) -> Self:
        """The run that has these contents, alone in a file or inside another run."""
        points = found.array("history", None, WIDTH)
        if np.any(np.diff(points[:, 0], prepend=0.0) < 1) or np.any(points[:, 0] > 1 << 62):
            raise found.refusal("the rounds of its history do not ascend")
        made = cls._made(found)
        made.history = History(points, str(found.description["theorem"]), made.rounds)
        return made
