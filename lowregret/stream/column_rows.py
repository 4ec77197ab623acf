"""Rows of named columns, in compiled code: what CSV and JSON lines have in common once a value is found."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.stream.buffers import DONE, FIRST_FAULT, ROW, Buffers
from lowregret.stream.columns import LAG, TARGET, TEXT, TIME, WEIGHT, Columns
from lowregret.stream.dates import add_date, faults_of_dates, moment
from lowregret.stream.lags import EARLY, NO_DELAY, NO_MOMENT, note_lag, seconds, settle_lag
from lowregret.stream.names import POSITIVE
from lowregret.stream.text_format import TextFormat
from lowregret.stream.tokens import add_words

NUMBER, PLAIN, ESCAPED, MISSING = -1, -2, -3, -4  # what a value is: PLAIN text, or ESCAPED, with characters to undo

TOO_LARGE, NO_LABEL, NO_WEIGHT, NO_LAG, NO_TIME, TOO_EARLY, LACKS_LAG = range(FIRST_FAULT, FIRST_FAULT + 7)
OWN_FAULT = LACKS_LAG + 1  # the first that a format gives a meaning of its own
BAD_DATE = FIRST_FAULT + 32  # and a column's number: beyond all others

FAULTS: dict[int, str] = {
    NO_LABEL: "expected a number in the target column (if it has classes, say with --positive which counts as +1, "
    "or use a loss of many classes, such as --loss softmax)",
    NO_WEIGHT: "expected a number, 0 or more, in the weight column",
    NO_LAG: NO_DELAY,
    NO_TIME: NO_MOMENT,
    TOO_EARLY: EARLY,
    LACKS_LAG: f"{NO_DELAY}: the row has a label",
}


class ColumnRows(TextFormat):
    """How to read the rows of one file with named columns; the i-th name is names[ends[i]:ends[i + 1]].

    Behind the names of the columns are those of parts of dates.
    """

    columns: Columns
    names: NDArray[np.uint8]
    ends: NDArray[np.int64]

    @property
    def header(self) -> bytes:
        return self.names.tobytes()

    @property
    def date_faults(self) -> dict[int, str]:
        """Messages for columns of dates that hold none, by status."""
        return faults_of_dates(self.columns, self.names, self.ends, BAD_DATE)

    @property
    def classed(self) -> bool:
        return self.columns.classed

    @property
    def signed(self) -> bool:
        return bool(self.columns.has_classes())

    @property
    def has_weights(self) -> bool:
        return bool(np.any(self.columns.kinds == WEIGHT))

    @property
    def lateness(self) -> tuple[bool, bool]:
        return self.columns.lagged, self.columns.timed

    def column_name(self, column: int) -> str:
        """The name of a column, as text to be shown."""
        return self.names[self.ends[column] : self.ends[column + 1]].tobytes().decode(errors="replace")

    def is_positive(self, text: Any, begin: Any, end: Any, escaped: bool) -> bool:
        """Whether text[begin:end], unescaped if need be, names the positive class."""
        raise NotImplementedError

    def name_at(self, column: Any) -> tuple[int, int]:
        """Where the name of a column begins and ends, as `record` wants it."""
        at = np.uint64(column)
        return -1 - self.ends[at], -1 - self.ends[at + np.uint64(1)]

    def take_role(self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, out: Buffers) -> int:
        """Take in the value of a column that is no feature: a label, a weight, or nothing; returns DONE or why not."""
        row = out.cursor[ROW]
        if kind == TARGET:
            out.labels[row] = self.label(text, begin, end, what, value)
            if out.labels[row] == math.inf:
                return TOO_LARGE if what == TOO_LARGE else NO_LABEL
        elif kind >= LAG:
            return self.take_lag(kind, text, begin, end, what, value, out)
        elif kind == WEIGHT and (what != MISSING or self.columns.labelled):
            out.weights[row] = value
            if what != NUMBER or value < 0.0:
                return TOO_LARGE if what == TOO_LARGE else NO_WEIGHT
        return DONE

    def take_lag(self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, out: Buffers) -> int:
        """Take in how late a label comes, or when its row came; returns DONE or why not."""
        return self.read_lag(kind, text, begin, end, what, value, out)

    def read_lag(self, kind: Any, text: Any, begin: Any, end: Any, what: int, value: float, out: Buffers) -> int:
        """`take_lag`, of formats whose rows may have one."""
        if what == TOO_LARGE:
            return TOO_LARGE
        moment = math.nan if what in (NUMBER, MISSING) else seconds(text, begin, end)
        wanted = NO_TIME if kind == TIME else NO_LAG
        if what not in (NUMBER, MISSING) and not (self.columns.timed and moment == moment):
            return wanted
        return DONE if note_lag(out, kind == TIME, self.columns.timed, what == NUMBER, value, moment) else wanted

    def settle_lag(self, out: Buffers) -> int:
        """Find the lag of a row whose fields are read; returns DONE or why there is none."""
        return (DONE, NO_TIME, TOO_EARLY, LACKS_LAG)[settle_lag(out, self.columns.timed)]

    def label(self, text: Any, begin: Any, end: Any, what: int, value: float) -> float:
        """The label of a row; `no_label` if the target should be a number and is none."""
        if what == TOO_LARGE:
            return self.columns.no_label()
        if self.columns.has_classes() and self.is_positive(text, begin, end, what == ESCAPED):
            return POSITIVE
        if what == NUMBER:
            return self.columns.label(value)
        return math.nan if what == MISSING else self.columns.other_label(text, begin, end)

    def add_parts(
        self, column: Any, kind: Any, text: Any, begin: Any, end: Any, escaped: bool, entry: Any, out: Buffers
    ) -> tuple[Any, int]:
        """Add the features of a text or a date from this entry on; returns their end, and DONE or why not."""
        if kind == TEXT:
            name, name_end = self.name_at(column)
            last = add_words(self.columns, column, text, begin, end, escaped, out, entry, name, name_end)
            return last, DONE
        parts = moment(text, begin, end)
        if not parts[4]:
            return entry, int(BAD_DATE + np.int64(column))
        return add_date(self.columns, column, parts, out, entry, self.ends), DONE
