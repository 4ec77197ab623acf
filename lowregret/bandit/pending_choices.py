"""Choices whose costs are still to come.

Each has a number, and is remembered with the probability and the baseline that it was made with.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Generic, TypeVar

import numpy as np

from lowregret.errors import DataError, PartError
from lowregret.run.round_by_round import Contents, elsewhere
from lowregret.store.file import Arrays

Choice = TypeVar("Choice")
LARGEST = 1e290  # cost or reward, of which sums over any number of rounds are numbers


class PendingChoices(Generic[Choice]):
    """Hands out numbers, takes costs in any order, and turns costs and rewards in [low, high] into [0, 1].

    A reward r is the cost high − r, brought to [0, 1]: (high − r)/(high − low); a cost c is (c − low)/(high − low).

    Numbers are 0, 1, 2, … In a run from a file they go on elsewhere (`elsewhere`), and choices that wait keep theirs.
    So none is given twice, though an older save be restored: what is told of a choice made after that save is an error,
    not taken for news of another choice.
    """

    def __init__(self, low: float, high: float) -> None:
        ends: tuple[Any, Any] = low, high
        if not (all(isinstance(end, Real) for end in ends) and -LARGEST <= low < high <= LARGEST):
            raise PartError(f"costs must lie between low < high, of at most {LARGEST:g}, got {low} and {high}")
        self.low, self.high, self.issued, self.latest = float(low), float(high), 0, -1
        self.first = self.next = 0  # number that this run gave, and that it gives next
        self.pending: dict[int, Choice] = {}
        self.places: dict[int, int] = {}  # how many choices were made before each of them

    def issue(self, choice: Choice) -> int:
        """Remember a choice under a new number."""
        place = self.issued
        self.skip(1)
        self.pending[self.latest], self.places[self.latest] = choice, place
        return self.latest

    def skip(self, count: int) -> None:
        """Use up numbers for choices whose costs are known at once."""
        self.issued += count
        self.next += count
        self.latest = self.next - 1 if count else self.latest

    def cost(self, reward: float | None, cost: float | None) -> float:
        """Turn the reward or the cost of a choice, whichever is given, into a cost in [0, 1]."""
        if (reward is None) == (cost is None):
            raise DataError("say either the reward or cost=…, not both and not neither")
        what, value = ("reward", reward) if cost is None else ("cost", cost)
        try:
            number = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = math.nan
        if not self.low <= number <= self.high:
            raise DataError(
                f"{what} {value!r} is not a number between {self.low:g} and {self.high:g}: "
                "make the bandit with the low and high of your numbers"
            )
        off = number - self.low if cost is not None else self.high - number
        return off / (self.high - self.low)

    def settle(self, number: Any) -> tuple[Choice, bool]:
        """Forget a choice whose cost has come; returns it, and whether a later choice was made meanwhile."""
        if isinstance(number, Integral) and number in self.pending:
            del self.places[int(number)]
            return self.pending.pop(int(number)), number != self.latest
        if isinstance(number, Integral) and self.first <= int(number) < self.next:
            raise DataError(f"the cost of choice {number} is known already: each choice has one cost")
        if self.first > 0:
            raise DataError(
                f"there is no choice {number!r} that waits for its cost: it is known already, or the choice was made "
                "after the save that this run goes on from, and is lost"
            )
        raise DataError(f"there is no choice {number!r}: {self.issued} were made, numbered from 0")

    @property
    def in_order(self) -> bool:
        """Whether no choice that waits was made before one whose cost has come, so that nobody picks which come."""
        return min(self.places.values(), default=self.issued) == self.issued - len(self.places)

    @property
    def overtaken(self) -> int:
        """How many choices still wait although a later one was made."""
        return len(self.pending) - (self.latest in self.pending)

    def written(self) -> tuple[dict[str, Any], Arrays]:
        """Bounds and numbers, and the choices that wait: (arm, probability, baseline, …) each."""
        choices: list[Any] = list(self.pending.values())
        waiting = {
            "pending.number": np.array(list(self.pending), np.int64),
            "pending.place": np.array(list(self.places.values()), np.int64),
            "pending.arm": np.array([choice[0] for choice in choices], np.int64),
            "pending.probability": np.array([choice[1] for choice in choices], float),
            "pending.baseline": np.array([choice[2] for choice in choices], float),
        }
        return {"low": self.low, "high": self.high, "issued": self.issued, "latest": self.latest}, waiting


def read_pending_choices(found: Contents, *more: list[Any]) -> PendingChoices[Any]:
    """Read pending choices (arm, probability, baseline, …) from a file; `more` adds columns to them."""
    names = "number", "arm", "probability", "baseline"
    numbers, *choices = (found.arrays[f"pending.{name}"].tolist() for name in names)
    pending = dict(zip(numbers, zip(*choices, *more, strict=True), strict=True))
    low, high, issued, latest = found.tell("low", "high", "issued", "latest")
    made: PendingChoices[Any] = PendingChoices(low, high)
    made.issued, made.latest, made.pending = issued, latest, pending
    made.places = dict(zip(numbers, found.arrays["pending.place"].tolist(), strict=True))
    made.first = made.next = elsewhere()
    return made
