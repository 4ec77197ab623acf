"""What can be wrong with a line of JSON, in numbers and in words."""

from __future__ import annotations

from lowregret.stream.buffers import FIRST_FAULT
from lowregret.stream.json_name import DEEPEST, LONGEST

NO_OBJECT, NO_NAME, NO_COLON, NO_VALUE, NO_COMMA, NO_TEXT, MORE = range(FIRST_FAULT, FIRST_FAULT + 7)
TOO_LARGE, TOO_DEEP, TOO_LONG, NO_LABEL, NO_WEIGHT = range(FIRST_FAULT + 7, FIRST_FAULT + 12)
BAD_DATE = NO_WEIGHT + 1  # and a column's number

FAULTS: dict[int, str] = {
    NO_OBJECT: "expected a JSON object, {…}",
    NO_NAME: "expected a name in double quotes",
    NO_COLON: "expected a colon after the name",
    NO_VALUE: "expected a value (a number, text in double quotes, true, false, null, {…} or […]) as JSON has it",
    NO_COMMA: "expected a comma or the end of the object or array",
    NO_TEXT: "expected text in double quotes, in UTF-8 and with control characters and backslashes escaped",
    MORE: "expected the end of the line after the object",
    TOO_LARGE: "expected a finite number, below 1.8e308",
    TOO_DEEP: f"expected at most {DEEPEST} objects and arrays within each other",
    TOO_LONG: f"expected a name of at most {LONGEST} bytes, those of the objects around it included",
    NO_LABEL: "expected a number in the target column (if it has classes, say with --positive which counts as +1, "
    "or use a loss of many classes, such as --loss softmax)",
    NO_WEIGHT: "expected a number, 0 or more, in the weight column",
}
