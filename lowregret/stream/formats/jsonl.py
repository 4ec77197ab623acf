"""JSON lines: one object a line, whose names are columns; what their values mean is said in `stream/columns.py`.

`{"a": {"b": 1, "c": [2, 3]}}` has the columns a.b, a.c.0 and a.c.1. Text is a category even if it looks like a number;
true and false are the numbers 1 and 0; null, NaN and empty text are absent. A name that occurs twice counts twice (of
two labels, the latter counts). Whatever is no JSON object is a fault.
"""

from __future__ import annotations

import re
from typing import Any

from lowregret.stream.buffers import Buffers
from lowregret.stream.columns import OPTIONS, Tabular, header
from lowregret.stream.formats import Format
from lowregret.stream.json_rows import JsonRows
from lowregret.stream.text_format import TextFormat

_BOM = b"\xef\xbb\xbf"
_PLAIN = re.compile(r"[\w -]+", re.ASCII)  # a name that is written in one way only


class JsonLines(Tabular, TextFormat):
    """How to read JSON lines."""

    def opened(self, head: bytes, name: str) -> tuple[TextFormat, int]:
        known = [column for column, _ in self.roles()]
        known = list(dict.fromkeys([*known, *(column for group in self.interactions for column in group)]))
        chosen = self.columns(known, name)
        weighted = self.labelled and bool(self.weight)
        return JsonRows(chosen, *header(known, chosen), weighted), len(_BOM) if head.startswith(_BOM) else 0

    def lookouts(self) -> dict[str, re.Pattern[bytes]]:
        """Objects need not have all columns, but some object should have each that is named; places in arrays aside."""
        named = [*(self.drop if self.whole else ()), *self.categorical, *self.text, *self.date]
        named += [column for group in self.interactions for column in group]
        words = {name: next((word for word in name.split(".")[::-1] if not word.isdigit()), name) for name in named}
        plain = {name: word for name, word in words.items() if _PLAIN.fullmatch(word)}
        return {f"column {name}": re.compile(b'"%b"' % word.encode()) for name, word in plain.items()}

    def entries(self, size: int) -> int:
        return size // 2 + 1

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        raise NotImplementedError("what `opened` returns is what parses")


def _begins(line: bytes) -> bool:
    return line.lstrip().startswith(b"{")


FORMAT = Format(
    "jsonl",
    ("jsonl", "ndjson"),
    JsonLines,
    OPTIONS,
    "one JSON object a line",
    "nested objects are columns `outer.inner`, arrays `name.0`, `name.1`",
    begins=_begins,
    certain=True,
    sample='{"y": 1, "a": 0.5, "b": "x"}\n{"y": -1, "a": 1, "b": "z"}\n',
)
