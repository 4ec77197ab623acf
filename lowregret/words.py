"""Counts in words, and objects in one line; the sentences of summaries are in `show/text.py`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

MOST_SAID = 4000  # characters of a problem: names in it may be as long as a file
MOST_DIGITS = 15  # of a share behind the point
FAINT = Decimal("1e-290")  # numbers below it may have too few digits as floats, or none
_BREAKS = {ord(c): repr(c)[1:-1] for c in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"}  # where a text becomes several lines

_CONTROLS = [*range(9), *range(11, 32), *range(127, 160)]  # all but tabs and line feeds
_DIRECTIONS = [0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)]  # which change the order shown
_SPELT = {code: f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" for code in _CONTROLS + _DIRECTIONS}


def hyphenated(name: str) -> str:
    """The name of a class as words with hyphens: log-cosh for LogCosh."""
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", name).lower()


def visible(text: str) -> str:
    """A text whose control characters are spelt as Python does, \\x1b, and those that change the order of writing."""
    return text.translate(_SPELT)


def one_line(text: str) -> str:
    """A text with its line breaks spelt as Python does, \\n: names from files must not pass for lines of ours."""
    return text.translate(_BREAKS)


def in_lines(lines: Iterable[str]) -> str:
    """Lines one below the other, each of them one."""
    return "\n".join(map(one_line, lines))


def told(problem: object) -> str:
    """The message of a problem, of bounded length, further lines indented: no name passes for a message of its own."""
    text = str(problem)
    more = f"… ({len(text) - MOST_SAID:,} characters more)" if len(text) > MOST_SAID else ""
    return "\n  ".join((text[:MOST_SAID] + more).splitlines())


def listed(names: Sequence[Any], most: int = 20, write: Callable[[Any], str] = str) -> str:
    """Names with commas between them: the first few, and how many there are more."""
    shown = ", ".join(map(write, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def quoted(values: Sequence[Any]) -> str:
    """Values as Python writes them, the text '0' unlike the number 0, with commas between them."""
    return listed(values, write=repr)


def counted(count: float, thing: str, things: str = "") -> str:
    """`1 round`, `2,000 rounds`; plurals that are not made by an s are given."""
    return f"{count:,.0f} {thing if count == 1 else things or thing + 's'}"


def nearest(value: float, digits: int = 6, among: int = 1) -> str:
    """The number value/among in a few digits."""
    return f"{value / among:.{digits}g}"


def rounded_up(value: float, digits: int = 6, among: int = 1) -> str:
    """The number value/among rounded up: whatever was at most that is at most what is shown."""
    return _rounded(value, digits, among, ROUND_CEILING)


def rounded_down(value: float, digits: int = 6, among: int = 1) -> str:
    """The number value/among rounded down: whatever was at least that is at least what is shown."""
    return _rounded(value, digits, among, ROUND_FLOOR)


def _rounded(value: float, digits: int, among: int, way: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    shown = Context(prec=digits, rounding=way).divide(Decimal(float(value)), Decimal(among))
    if shown and abs(shown) < FAINT:
        return f"{shown.normalize():e}"
    return f"{float(shown):.{digits}g}"


def percent(value: float | None, digits: int = 2) -> str:
    """A share in percent, `0.00%` or `100.00%` only if it is none or all: else with as many digits as it takes.

    What is not known is a dash.
    """
    if value is None:
        return "–"
    while round(value, digits + 2) in (0.0, 1.0) and value not in (0.0, 1.0) and digits < MOST_DIGITS:
        digits += 1
    return f"{value:.{digits}%}"


def percent_up(value: float, digits: int = 2) -> str:
    """A share in percent, rounded up."""
    return _percent(value, digits, ROUND_CEILING)


def percent_down(value: float, digits: int = 2) -> str:
    """A share in percent, rounded down."""
    return _percent(value, digits, ROUND_FLOOR)


def _percent(value: float, digits: int, way: str) -> str:
    return f"{Decimal(float(value)).quantize(Decimal(1).scaleb(-digits - 2), rounding=way):.{digits}%}"


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
