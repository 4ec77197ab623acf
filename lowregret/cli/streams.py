"""Standard output and error: names from files do not steer terminals, and messages that nobody reads end nothing."""

from __future__ import annotations

import codecs
import io
import os
import sys
from contextlib import suppress

from lowregret.words import visible

closed: list[str] = []  # standard streams that this process came without
FRESH = "\r\x1b[2K"  # a line of progress begins with it, over the one before


def settle_streams() -> None:
    """Let terminals and messages show control characters spelt out, and let standard error take whatever is said.

    What is piped to a file is often read on a terminal in the end, and nobody but people reads messages.
    """
    if isinstance(sys.stderr, io.TextIOWrapper):
        buffer = io.BufferedWriter(_Patient(sys.stderr.fileno(), "w", closefd=False))
        sys.stderr = _Terminal(buffer, sys.stderr.encoding, "backslashreplace", line_buffering=True)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.isatty():
        sys.stdout = _Terminal(sys.stdout.buffer, sys.stdout.encoding, sys.stdout.errors, line_buffering=True)


class _Terminal(io.TextIOWrapper):
    """Shows control characters as Python spells them, \\x1b, but for the beginning of a line of progress."""

    def write(self, text: str) -> int:
        begin = len(FRESH) if text.startswith(FRESH) else text.startswith("\r")  # tqdm's have no more
        super().write(text[:begin] + visible(text[begin:]))
        return len(text)


class _Patient(io.FileIO):
    """A file that takes what cannot be written, too: a full disk or a reader that went away."""

    def write(self, data: object) -> int:
        written = None  # what would have to be waited for
        with suppress(OSError):
            written = super().write(data)  # type: ignore[arg-type]
        return len(data) if written is None else written  # type: ignore[arg-type]


def escape_what_cannot_be_written() -> None:
    """Let standard output spell characters that its encoding lacks as JSON does, \\u2264, instead of failing.

    In the locale C, Python lets bytes of names pass that are no characters, but fails at others all the same.
    """
    codecs.register_error("json", _spelt)
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in ("strict", "surrogateescape"):
        sys.stdout.reconfigure(errors="json")


def _spelt(problem: UnicodeError) -> tuple[str, int]:
    """The characters that could not be encoded, each as one or two groups of four digits."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    found = problem.object[problem.start : problem.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(found[::2], found[1::2], strict=True)), problem.end


def open_what_is_closed() -> None:
    """Give a process without standard input, output or error one: files it opens must not be taken for them.

    Output that cannot be written is an error, and messages go nowhere.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            closed.append(name)
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)  # the lowest free number, this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115
