"""The contract of text formats: whole lines of a block become rows, in compiled code."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from lowregret.compile.kernel import kernel
from lowregret.compile.part import Part
from lowregret.stream.buffers import (
    Buffers,
)


class TextFormat(Part):
    """How lines become rows."""

    faults: ClassVar[dict[int, str]]  # what was expected, by the status that `parse` returns
    joint: ClassVar[bytes] = b"="  # between the two parts of a name: see `Dictionary`

    @property
    def mark(self) -> bytes:
        """The character before the fraction of a number."""
        return b"."

    @property
    def classed(self) -> bool:
        """Whether labels are classes that may be texts."""
        return False

    @property
    def signed(self) -> bool:
        """Whether one label, read as `POSITIVE`, is to be +1, and all others −1."""
        return False

    @property
    def feature_columns(self) -> tuple[str, ...]:
        """The columns of a table that are features, where the file names them."""
        return ()

    @property
    def has_weights(self) -> bool:
        """Whether the file has the column with the rows' weights."""
        return False

    @property
    def lateness(self) -> tuple[bool, bool]:
        """Whether rows say how late their labels come, and whether in seconds after a time of their own."""
        return False, False

    @property
    def header(self) -> bytes:
        """Text that recorded names may refer to, besides the block: the columns of a table."""
        return b""

    @classmethod
    def from_options(cls, options: dict[str, Any]) -> Self:
        """The part for options of `read` that fit."""
        return cls(**options)

    def opened(self, head: bytes, name: str) -> tuple[TextFormat, int]:
        """The format of one file, given the text it begins with, and how many bytes of it are no rows (a header)."""
        return self, 0

    def fault(self, status: int, before: bytes) -> str:
        """The message of a fault: what was expected; `before` is the text of the line up to the fault."""
        return self.faults[status]

    def offending(self, status: int, before: bytes, rest: bytes) -> bytes:
        """The part of a line that is to blame, given its text up to the fault and from there on."""
        return rest

    def class_in(self, line: str) -> str:
        """The text that is the label of a line, where labels are texts."""
        raise NotImplementedError

    def lookouts(self) -> dict[str, re.Pattern[bytes]]:
        """Names in the options that may never occur in the data, in words, and a pattern that finds each."""
        return {}

    def texts(self, lines: Sequence[str]) -> dict[str, list[str]]:
        """The categories that these lines have in columns without a role, by their names."""
        return {}

    def spelt(self, lines: Sequence[str]) -> dict[str, str]:
        """The kind of values that these lines have in columns without a role and in those of dates, by name."""
        return {}

    @abstractmethod
    def entries(self, size: int) -> int:
        """The most entries that a text of this many bytes can hold."""

    @abstractmethod
    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        """Read lines from cursor[AT] up to `end`, compiled; returns DONE, or why it stopped, with cursor[SPOT]."""


@kernel
def parse_text(form: TextFormat, text: Any, end: Any, out: Buffers) -> int:
    """`form.parse`, compiled."""
    return form.parse(text, end, out)
