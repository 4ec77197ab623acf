"""Tables in Parquet files, and what reads all tables in Arrow's memory layout: see `stream/arrow_rows.py`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lowregret.stream.columns import MEANING, OPTIONS, Tabular
from lowregret.stream.formats import Format


class TableFormat(Tabular):
    """How to read tables. `drop` also takes the name of a struct or list, with all that is in it."""

    typed: bool = False  # columns of Arrow's own dates are dates without being named

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> TableFormat:
        """The part for options of `read` that fit."""
        return cls(**options, typed=True)

    def of_types(self, found: Sequence[tuple[str, bool]]) -> TableFormat:
        """How to read columns of which it is known whether they are of dates; those to drop are gone already."""
        named = {name for name, _ in self.roles()}
        dates = [name for name, is_date in found if is_date and self.typed and name not in named]
        return replace(self, drop=(), date=(*self.date, *dates))

    @property
    def column_names(self) -> list[str]:
        """The columns that the rows of every file must have."""
        crossed_columns = [name for group in self.interactions for name in group]
        judged = (self.target, self.weight, self.delay_column, self.time_column) if self.labelled else ()
        return [name for name in (*judged, *self.categorical, *self.text, *self.date, *crossed_columns) if name]


FORMAT = Format(
    "parquet",
    ("parquet", "pq"),
    TableFormat,
    OPTIONS,
    "a table (`pip install 'lowregret[arrow]'`)",
    MEANING,
    magic=(b"PAR1",),
    certain=True,
)
