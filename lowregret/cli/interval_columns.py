"""Columns that hold ends of intervals, found by their names: NAME-lo-80 and NAME-hi-80, NAME_lower and NAME_upper."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.errors import DataError, PartError
from lowregret.stream.table import Table

NUMBERED = re.compile(r"(?P<name>.+)[-_](?P<side>lo|hi)[-_](?P<share>\d+(\.\d+)?)")
PLAIN = re.compile(r"(?P<name>.+)[-_](?P<side>lower|upper)")


@dataclass(frozen=True)
class IntervalEnds:
    """The ends of intervals in a table: expert, level and column."""

    columns: dict[tuple[str, float], str]

    @classmethod
    def among(cls, columns: Iterable[str], share: float | None = None) -> IntervalEnds:
        """The ends of intervals by their names; `share`: the coverage in percent of those that do not say it."""
        found = {}
        for column in columns:
            match = NUMBERED.fullmatch(column) or (PLAIN.fullmatch(column) if share is not None else None)
            if match:
                percent = float(match.groupdict().get("share") or share or 0)
                half = (1 - percent / 100) / 2
                if not 0 < half < 0.5:
                    raise PartError(
                        f"column {column!r}: a coverage of {percent:g} % is none strictly between 0 and 100"
                    )
                low = match["side"].startswith("lo")
                found[match["name"], round(half if low else 1 - half, 12)] = column
        return cls(found)

    @property
    def levels(self) -> list[float]:
        """All levels that somebody forecasts, ascending."""
        return sorted({level for _, level in self.columns})

    @property
    def experts(self) -> list[str]:
        """Those who forecast all levels, in the order of their columns."""
        names = dict.fromkeys(name for name, _ in self.columns)
        return [name for name in names if all((name, level) in self.columns for level in self.levels)]

    def read(self, table: Table) -> Any:
        """x[t, i, l], expert i's quantile of level l."""
        if not self.experts:
            raise DataError(
                f"{table.name} has no expert with both ends of an interval: expected columns such as NAME-lo-80 and "
                "NAME-hi-80, or NAME_lower and NAME_upper with --intervals 80"
            )
        columns = [[table.numbers(self.columns[name, level]) for level in self.levels] for name in self.experts]
        return np.ascontiguousarray(np.array(columns).transpose(2, 0, 1))
