"""Faults of a line of JSON, in numbers and in words."""

from __future__ import annotations

from lowregret.stream import column_rows
from lowregret.stream.column_rows import OWN_FAULT, TOO_LARGE
from lowregret.stream.json_name import DEEPEST, LONGEST_NAME

NO_OBJECT, NO_NAME, NO_COLON, NO_VALUE, NO_COMMA, NO_TEXT, MORE, TOO_DEEP, TOO_LONG = range(OWN_FAULT, OWN_FAULT + 9)

FAULTS: dict[int, str] = column_rows.FAULTS | {
    NO_OBJECT: "expected a JSON object, {…}",
    NO_NAME: "expected a name in double quotes",
    NO_COLON: "expected a colon after the name",
    NO_VALUE: "expected a value (a number, text in double quotes, true, false, null, {…} or […]) as JSON has it",
    NO_COMMA: "expected a comma or the end of the object or array",
    NO_TEXT: "expected text in double quotes, in UTF-8 and with control characters and backslashes escaped",
    MORE: "expected the end of the line after the object",
    TOO_LARGE: "expected a finite number, below 1.8e308",
    TOO_DEEP: f"expected at most {DEEPEST} objects and arrays within each other",
    TOO_LONG: f"expected a name of at most {LONGEST_NAME} bytes, those of the objects around it included",
}
