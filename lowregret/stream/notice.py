"""Columns of which little is learnt as they are read: free text, dates, ids, numbers that are not read as such.

The first rows tell, so that it costs next to nothing: each of their texts is looked at once, in plain Python.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lowregret.stream.columns import number_of
from lowregret.stream.names import spelling

LOOKED = 1000  # rows looked at
LEAST_ROWS = 50  # rows that show nothing

_MOST, _NEARLY_TEXT, NEARLY = 0.9, 0.8, 0.9  # shares of a column's texts
_NUMBER = re.compile(r"[+-]?\d*([.,])\d+", re.ASCII)
_PLAIN = r"[+-]?\d*[.,]?\d+"
_DRESSED = re.compile(  # with a sign of money or a percent sign, or in groups of three digits
    rf"(?!{_PLAIN}$)[+-]?[$€£¥]? ?[+-]?\d+([.,' ]\d{{3}})*([.,]\d+)? ?[%$€£¥]?", re.ASCII
)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?", re.ASCII)
_OTHER_DATE = re.compile(r"(\d{4}[./]\d\d?[./]\d\d?|\d\d?[./-]\d\d?[./-]\d{4})([T ,].*)?", re.ASCII)
_MISSING = frozenset(["", "NA", "NaN", "nan", "null", "None"])

DATE, OTHER_DATE, TEXT, NUMBER, DRESSED, ID = "date", "other date", "text", "number", "dressed number", "id"


class Note(NamedTuple):
    """A finding about a column, with one of its texts, and how many different texts its rows have."""

    column: str
    what: str
    example: str
    values: int
    rows: int

    def sentence(self, shell: bool = False) -> str:
        """The finding and its remedy in a sentence, for the command line (`shell`) or for Python."""
        column, begin = self.column, f"column {self.column}: "
        if self.what in (DATE, OTHER_DATE):
            how = f"--date {column}" if shell else f"date=[{column!r}]"
            how += ", if they are written as 2024-03-31" * (self.what == OTHER_DATE)
            return f"{begin}dates such as {self.example!r}, learnt as names; their parts are learnt with {how}"
        if self.what == NUMBER:
            how = f"--decimal {self.mark} reads them in csv, or " * shell + "make them numbers"
            return f"{begin}numbers such as {self.example!r}, learnt as names; {how}"
        if self.what == DRESSED:
            return f"{begin}numbers such as {self.example!r}, learnt as names; write them plainly, such as 1234.5"
        many = f"{begin}nearly as many values as rows ({self.values:,} of the first {self.rows:,})"
        out = f"leave it out with --drop {column}" if shell else "leave it out"
        if self.what == ID:
            return f"{many}; if it is an id, {out}"
        how = f"--text {column}" if shell else f"text=[{column!r}]"
        return f"{many}; words are learnt with {how}, or {out}"

    @property
    def mark(self) -> str:
        """The character before the fraction of a number."""
        return "," if "," in self.example else "."


class Notices:
    """Findings about the first rows of a stream; whoever reads them calls `see`."""

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self.wanted = True  # nothing was seen yet

    def see(self, columns: Mapping[str, Sequence[str]]) -> None:
        """Judge columns by their texts in the first rows."""
        self.wanted = False
        self.notes = [note for name, texts in columns.items() if (note := judge_column(name, texts)) is not None]


def judge_column(column: str, texts: Sequence[str]) -> Note | None:
    """A finding about a column that has these texts, or None."""
    rows = len(texts)
    if rows < LEAST_ROWS:
        return None
    values, first = len(set(texts)), texts[0]
    for pattern, what in ((_DATE, DATE), (_OTHER_DATE, OTHER_DATE)):
        if _share(pattern, texts) >= _MOST:
            return Note(column, what, first, values, rows)
    if _share(_NUMBER, texts) >= _MOST and ("," in first or values > LEAST_ROWS):
        return Note(column, NUMBER, first, values, rows)
    if _share(_DRESSED, texts) >= _MOST:
        return Note(column, DRESSED, first, values, rows)
    if sum(" " in text.strip() for text in texts) >= rows / 2:
        return Note(column, TEXT, first, values, rows) if values >= _NEARLY_TEXT * rows else None
    return Note(column, ID, first, values, rows) if values >= NEARLY * rows else None


def _share(pattern: re.Pattern[str], texts: Sequence[str]) -> float:
    """The share of the texts that match a pattern."""
    return sum(pattern.fullmatch(text.strip()) is not None for text in texts) / len(texts)


def rows_of(lines: Iterable[str], delimiter: str, columns: int) -> list[list[str]]:
    """The fields of lines, each read by itself, that have one for each column; what `csv` refuses is left out."""
    found: list[list[str]] = []
    for line in lines:
        try:
            fields = next(csv.reader([line], delimiter=delimiter), [])
        except csv.Error:
            continue
        found += [fields] if len(fields) == columns else []
    return found


def categories(fields: Sequence[str], decimal: str) -> list[str]:
    """The fields of a column of CSV that are read as categories; none if the first rows have none."""
    shown = _drop_numbers(fields[:LEAST_ROWS], decimal)
    return shown + _drop_numbers(fields[LEAST_ROWS:], decimal) if shown else []


def spell_columns(columns: Mapping[str, Sequence[str]], decimal: str) -> dict[str, str]:
    """The kind of values of columns of CSV, by their first fields, where that is clear."""
    found: dict[str, str] = {}
    for name, fields in columns.items():
        names, present = len(_drop_numbers(fields, decimal)), sum(field.strip() not in _MISSING for field in fields)
        if what := spelling(present - names, names):
            found[name] = what
    return found


def _drop_numbers(fields: Iterable[str], decimal: str) -> list[str]:
    swap = str.maketrans({decimal: ".", ".": decimal})
    return [
        field for field in fields if field.strip() not in _MISSING and number_of(field.translate(swap)) == float("inf")
    ]
