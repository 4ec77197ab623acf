"""Tables in text: CSV (commas, RFC 4180 quotes) and TSV, one row a line, their columns named by a header."""

from __future__ import annotations

import csv
import re
from typing import Any

from lowregret.errors import DataError
from lowregret.stream.buffers import Buffers
from lowregret.stream.columns import MEANING, OPTIONS, Tabular
from lowregret.stream.delimited_rows import DelimitedRows
from lowregret.stream.delimited_wide import WideRows
from lowregret.stream.formats import NUMBER, Format
from lowregret.stream.text_format import TextFormat

_BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",\t;|"
_LABEL = re.compile(rb"\s*%b\s*(?:#.*)?" % NUMBER)


class DelimitedText(Tabular, TextFormat):
    """How to read CSV or TSV."""

    delimiter: str = ""  # empty: whichever of `_DELIMITERS` the first line has most of
    header: bool = True  # type: ignore[assignment]  # else columns are named 1, 2, 3 …
    decimal: str = "."  # what stands before the fraction of a number

    def check(self) -> None:
        super().check()
        self.require(self.decimal in (".", ","), f"decimal must be a point or a comma, got {self.decimal!r}")
        self.require(
            self.delimiter in ("", *_DELIMITERS),
            f"delimiter must be a comma, tab, semicolon or bar, got {self.delimiter!r}",
        )

    def opened(self, head: bytes, name: str) -> tuple[TextFormat, int]:
        begin = len(_BOM) if head.startswith(_BOM) else 0
        end = head.find(b"\n", begin) + 1 or len(head)
        line = head[begin:end].decode(errors="surrogateescape").rstrip("\r\n")
        if not line:
            found = "begins with an empty line" if head[begin:].strip() else "is empty"
            raise DataError(f"{name} {found}: expected {'the names of its columns' if self.header else 'rows'}")
        delimiter = self.delimiter or self.commonest(line)
        try:
            names = next(csv.reader([line], delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise DataError(f"{name}:1: the names of columns must be on one line, quoted or not: {error}") from None
        if not self.header:
            names, end = [str(column + 1) for column in range(len(names))], begin
        chosen = self.columns(names, name)
        rows = WideRows if chosen.wide or chosen.crossing.keys.size else DelimitedRows
        return rows.of(chosen, names, ord(delimiter), ord(self.decimal)), end

    def commonest(self, line: str) -> str:
        """The delimiter that a line has most of; a comma that may be within numbers only if there is no other."""
        others = _DELIMITERS.replace(self.decimal, "")
        return max(others if any(mark in line for mark in others) else _DELIMITERS, key=line.count)

    def entries(self, size: int) -> int:
        return size + 1

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        raise NotImplementedError("what `opened` returns is what parses")


def _begins(line: bytes) -> bool:
    """Whether a line is anything but a number alone, which may also be a label without features."""
    return not _LABEL.fullmatch(line)


FORMAT = Format(
    "csv",
    ("csv",),
    DelimitedText,
    (*OPTIONS, "delimiter", "decimal", "header"),
    "a header, then one row a line; RFC 4180 quotes",
    MEANING,
    begins=_begins,
    rank=1,  # nearly every line of text is a row of some table
    sample="y,a,b\n1,0.5,x\n-1,1,z\n",
)
