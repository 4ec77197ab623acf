"""Counts in words, and objects in one line; the sentences of summaries are in `show/text.py`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def counted(count: float, thing: str, things: str = "") -> str:
    """`1 round`, `2,000 rounds`; plurals that are not made by an s are given."""
    return f"{count:,.0f} {thing if count == 1 else things or thing + 's'}"


class Brief:
    """Shows itself in one line, such as `<LinearRun of MirrorDescent: 2,000 rounds, …>`, at any time, cheaply."""

    def _of(self) -> str:
        """The parts it is made of, if they are worth a word."""
        return ""

    def _facts(self: Any) -> Iterator[str]:
        """Facts about the run so far, in O(d)."""
        yield counted(self.rounds, "round")

    def __repr__(self) -> str:
        try:
            of = self._of()
            return f"<{type(self).__name__}{of and f' of {of}'}: {', '.join(self._facts())}>"
        except Exception:  # half made, or damaged: just then people want to see what it is
            return object.__repr__(self)


def writable(text: str) -> str:
    """A text that every file can hold: lone surrogates, as JSON can spell them, are replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
