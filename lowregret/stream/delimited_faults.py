"""Faults of a line of CSV or TSV, in numbers and in words."""

from __future__ import annotations

from lowregret.stream.column_rows import FAULTS, LACKS_LAG, OWN_FAULT, TOO_EARLY, TOO_LARGE

UNCLOSED, AFTER_QUOTE, TOO_FEW, TOO_MANY = range(OWN_FAULT, OWN_FAULT + 4)

WHOLE = (UNCLOSED, AFTER_QUOTE, TOO_FEW, TOO_MANY, TOO_EARLY, LACKS_LAG)  # faults of a line, not of one field

_FAULTS: dict[int, str] = FAULTS | {
    UNCLOSED: "expected a closing quote before the end of the line (a quoted text that goes on in the next line cannot "
    "be read: write a blank for each line feed in it)",
    AFTER_QUOTE: "expected the end of the field after its closing quote (a quote within quotes is written twice)",
    TOO_LARGE: "expected a finite number, below 1.8e308 (if it is no number, name its column in --categorical)",
}


def faults_of_lines(columns: int) -> dict[int, str]:
    """Messages for faults of a line of a table with this many columns."""
    many = f"expected {columns} fields, one for each column"
    return _FAULTS | {TOO_FEW: many, TOO_MANY: f"{many}, and then the end of the line"}
