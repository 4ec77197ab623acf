"""How fast one works alone and several together, found out on the way: a busy machine may have no core to spare."""

from __future__ import annotations

import math

FIRST_TURNS = 4  # by turns, to find out
AGAIN = 16  # turns after which the slower way is tried again, for the machine may have changed; twice as many next
NEW = 0.25  # what the latest measurement counts


class Pace:
    """The time that an entry took lately, alone and together, and which way is to be gone next."""

    def __init__(self) -> None:
        self._turns = 0
        self._again = AGAIN  # turns to the next trial of the slower way
        self._wait = AGAIN  # and how many they were
        self._time = {False: math.inf, True: math.inf}  # together or not: seconds per entry

    @property
    def gain(self) -> float | None:
        """How many times as fast several are as one; None before both were tried."""
        alone, together = self._time[False], self._time[True]
        return None if math.inf in (alone, together) else alone / together

    def together(self) -> bool:
        """Whether several should work next."""
        gain = self.gain
        if gain is None or self._turns < FIRST_TURNS:
            return self._turns % 2 == 0
        return (gain > 1.0) != (self._again == 0)

    def took(self, together: bool, seconds: float, entries: int) -> None:
        """Note how long a turn took."""
        faster, tried = (self.gain or 0.0) > 1.0, self._again == 0
        self._turns += 1
        before, now = self._time[together], seconds / max(entries, 1)
        early = self._turns <= FIRST_TURNS
        self._time[together] = min(before, now) if early else (1 - NEW) * before + NEW * now
        if tried:
            changed = ((self.gain or 0.0) > 1.0) != faster
            self._wait = AGAIN if changed else 2 * self._wait
        self._again = self._wait if tried else max(self._again - (not early), 0)
