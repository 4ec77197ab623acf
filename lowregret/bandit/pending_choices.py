"""Choices whose costs are still to come: each has a number, and is remembered with the probability it was made with."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any, Generic, TypeVar

import numpy as np

from lowregret.errors import DataError, PartError
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays

Choice = TypeVar("Choice")


class PendingChoices(Generic[Choice]):
    """Hands out numbers, takes costs in any order, and turns costs and rewards in [low, high] into [0, 1].

    A reward r is the cost high − r, brought to [0, 1]: (high − r)/(high − low); a cost c is (c − low)/(high − low).
    """

    def __init__(self, low: float, high: float, issued: int = 0, pending: dict[int, Choice] | None = None) -> None:
        if not (low < high and 0 < high - low < math.inf):
            raise PartError(f"costs must lie between low < high, a finite number apart, got {low} and {high}")
        self.low, self.high, self.issued = float(low), float(high), issued
        self.pending: dict[int, Choice] = pending or {}

    def issue(self, choice: Choice) -> int:
        """Remember a choice under a new number."""
        number = self.issued
        self.pending[number] = choice
        self.issued += 1
        return number

    def skip(self, count: int) -> None:
        """Use up numbers for choices whose costs are known at once."""
        self.issued += count

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
        if number in self.pending:
            return self.pending.pop(number), number != self.issued - 1
        if isinstance(number, Integral) and 0 <= int(number) < self.issued:
            raise DataError(f"the cost of choice {number} is known already: each choice has one cost")
        raise DataError(f"there is no choice {number!r}: {self.issued} were made, numbered from 0")

    def written(self) -> tuple[dict[str, Any], Arrays]:
        """Bounds and numbers, and the choices that wait: (arm, probability, …) each."""
        choices: list[Any] = list(self.pending.values())
        waiting = {
            "pending.number": np.array(list(self.pending), np.int64),
            "pending.arm": np.array([choice[0] for choice in choices], np.int64),
            "pending.probability": np.array([choice[1] for choice in choices], float),
        }
        return {"low": self.low, "high": self.high, "issued": self.issued}, waiting


def read_pending_choices(found: Contents, *more: list[Any]) -> PendingChoices[Any]:
    """Read pending choices (arm, probability, …) from a file; `more` adds columns to them."""
    numbers, *choices = (found.arrays[f"pending.{name}"].tolist() for name in ("number", "arm", "probability"))
    pending = dict(zip(numbers, zip(*choices, *more, strict=True), strict=True))
    low, high, issued = found.tell("low", "high", "issued")
    return PendingChoices(low, high, issued, pending)
