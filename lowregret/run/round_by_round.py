"""The base of runs that learn something other than rows: forecasts, costs, labels of a finite class."""

from __future__ import annotations

import os
import secrets
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from lowregret.certificate import Certificate, tightest
from lowregret.certificate.history import History
from lowregret.certificate.trace import Trace
from lowregret.compile.spec import from_json
from lowregret.run.schema_rounds import inside
from lowregret.store.file import Arrays, Saved

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Contents(NamedTuple):
    """The description and arrays of a file, already checked by a schema."""

    description: dict[str, Any]
    arrays: Arrays

    def part(self, name: str) -> Any:
        """The part whose JSON form is the entry `name` of the description."""
        return from_json(self.description[name])

    def tell(self, *names: str) -> Any:
        """The entries of the description with these names."""
        return (self.description[name] for name in names)

    def record(self, kind: Any) -> Any:
        """A named tuple of the given kind, made of the arrays named as its fields."""
        return kind(*(self.arrays[name] for name in kind._fields))

    def inner(self, name: str) -> Contents:
        """The contents of a run inside the run: `prefixed` wrote its arrays."""
        return Contents(self.description[name], inside(name, self.arrays))


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """The arrays of the run `name` inside another run, their names prefixed with its own."""
    return {f"{name}.{key}": array for key, array in arrays.items()}


ELSEWHERE = 2**40, 2**52  # where numbers go on; all of them are exact as doubles, as in JSON


def elsewhere() -> int:
    """A number from which on a run from a file counts what it gives out, drawn by chance for every run.

    Two runs from files whose numbers run into each other are as likely as one in 4·10¹⁵ for each number given.
    """
    return ELSEWHERE[0] + secrets.randbelow(ELSEWHERE[1] - ELSEWHERE[0])


class Recorded(Saved):
    """A run that keeps the points of its curves itself.

    A subclass counts `rounds` and `loss`, gives its `certificates`, and calls `_mark` after every round, or at least
    whenever `history.due` rounds are over. It is written by `_written` and made again by `_made`, once its
    `schema` has checked the file.
    """

    def __init__(self) -> None:
        self.history = History()

    @property
    @abstractmethod
    def rounds(self) -> int:
        """The number of rounds learnt so far."""

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
        """Loss, regret and bound after 1, 2, 3, 4, 6, 8, 12, … rounds, and now unless that is the last of them."""
        kept = self.history.points
        if not self.rounds or (len(kept) and kept[-1, 0] == self.rounds):
            return self.history.trace
        now = History(kept, self.history.theorem)
        now.keep(self.rounds, self.loss, self.certificate)
        return now.trace

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Mean loss, and regret under its bound, over the rounds; written to `path` if given."""
        from lowregret.show.plot import plot_recorded

        return plot_recorded(self, path)

    def __str__(self) -> str:
        from lowregret.show.text import recorded_summary

        return recorded_summary(self)

    @property
    def subject(self) -> str:
        """The name of the run's class and, if it is made of something, of that."""
        return f"{type(self).__name__}{self._of() and f' of {self._of()}'}"

    def _facts(self) -> Iterator[str]:
        yield from super()._facts()
        yield f"loss {self.loss / max(self.rounds, 1):.4g} a round"

    def _mark(self) -> None:
        """Keep a point of the curves if one is due after the present round."""
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
        """A description and arrays, the points of the curves among them."""
        description, arrays = self._written()
        return description | {"theorem": self.history.theorem}, arrays | {"history": self.history.points}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The run in a file."""
        return cls.from_contents(Contents(description, arrays))

    @classmethod
    def from_contents(cls, found: Contents) -> Self:
        """The run that has these contents, alone in a file or inside another run."""
        made = cls._made(found)
        made.history = History(found.arrays["history"], found.description["theorem"], made.rounds)
        return made
