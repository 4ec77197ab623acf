"""Intervals around forecasts of many series, several steps ahead: each knows the outcomes that its origin knew."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.experts.conformal import ConformalIntervals, Coverage
from lowregret.experts.long import LongTable
from lowregret.experts.origins import events_of, in_order
from lowregret.experts.series_keys import SeriesKeys
from lowregret.types import Vector
from lowregret.words import counted, percent, percent_down, percent_up


class OriginIntervals(NamedTuple):
    """Ends of intervals, one a row of a table, and the coverage of each group, which has intervals of its own."""

    lower: Vector
    upper: Vector
    coverages: dict[str, Coverage]

    @classmethod
    def of(cls, coverage: float, table: LongTable, forecasts: Vector, weighing: str) -> OriginIntervals:
        """Make the intervals of all rows of an origin before any outcome that it did not know is told: O(16) a row.

        `weighing` says whose errors an interval goes by, as it says whose weights a forecast has: those of all rows, of
        its series or of its horizon. Outcomes after the last origin are told at the end.
        """
        keys = SeriesKeys("series" if weighing == "shrunk" else weighing)
        rows, y = keys.meet(table), table.y
        rank, known = keys.ranks()[rows.series], ~np.isnan(y) & ~np.isnan(forecasts)
        events = events_of(rows.time, rows.cutoff, rank, np.ones(y.size, bool), known)
        left = known.copy()
        left[events.arrivals] = False
        last = in_order(rows.time, rows.cutoff, rank, np.flatnonzero(left))
        made = [ConformalIntervals(coverage, compiled=False) for _ in keys.groups]
        ends, numbers = np.full((y.size, 2), math.nan), np.full(y.size, -1)
        for part in (events, last):
            for row, asks in zip(part.rows.tolist(), part.asks.tolist(), strict=True):
                one = made[rows.group[row]]
                if not asks:
                    one.tell(int(numbers[row]), float(y[row]))
                elif not math.isnan(forecasts[row]):
                    numbers[row], ends[row] = one.ask(float(forecasts[row]))
        told = {name: one.coverage for name, one in zip(keys.groups, made, strict=True)}
        return cls(ends[:, 0], ends[:, 1], told)

    @property
    def known(self) -> list[Coverage]:
        """The coverages of groups of which an outcome is known."""
        return [c for c in self.coverages.values() if c.rounds]

    def to_json(self) -> dict[str, Any]:
        """For `lowregret experts --json`: over all groups, and the least of one."""
        found, rounds = self.known, max(sum(c.rounds for c in self.known), 1)
        names = ("realised", "low", "high", "width")
        means = {name: sum(getattr(c, name) * c.rounds for c in found) / rounds for name in names}
        unknown = {} if found else {"realised": None, "high": 1.0}  # as of one group
        return (
            means
            | unknown
            | {
                "wanted": next(iter(self.coverages.values())).wanted if self.coverages else None,
                "rounds": sum(c.rounds for c in found),
                "groups": len(self.coverages),
                "least": min((c.realised for c in found), default=None),
                "delay": max((c.delay for c in found), default=0),
            }
        )

    def lines(self) -> list[str]:
        """The figures in words; of one group as that tells them itself."""
        found = self.known
        if len(found) < 2:
            return [str(c) for c in found or list(self.coverages.values())[:1]]
        told = self.to_json()
        return [
            f"coverage         {percent(told['realised'])} of {counted(told['rounds'], 'outcome')} inside, "
            f"{100 * found[0].wanted:g}% wanted; {percent(told['least'])} in the worst of "
            f"{len(found):,} groups, each with intervals of its own",
            f"                 bound to lie between {percent_down(told['low'])} and {percent_up(told['high'])}, "
            "whatever the outcomes, "
            f"up to {counted(told['delay'], 'outcome')} late",
            f"                 mean width {told['width']:.6g}",
        ]
