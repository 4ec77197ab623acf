"""The command line: `commands/` holds a file for each command, the rest of this room does their work."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself looks up names, which takes long
import codecs
import gc
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

DONE, BAD, INTERRUPTED = 0, 2, 130
MANY = 1 << 17  # objects made before garbage is looked for: commands import more than they throw away


def command() -> NoReturn:
    """Run this process's command line, and leave without Python's ceremony, which takes as long as a small file."""
    _open_what_is_closed()
    _let_interrupt()
    gc.disable()  # importing makes much that stays, and no garbage
    try:
        code = main()
    except KeyboardInterrupt:  # a further one, while the first was being told
        code = INTERRUPTED
    _ignore_signals()
    with suppress(OSError):  # which `main` has told already
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    from lowregret.errors import BoundsError, LowRegretError

    try:
        return _run(argv)
    except (LowRegretError, BoundsError) as error:
        print(f"lowregret: {error}", file=sys.stderr)
        return BAD
    except KeyboardInterrupt:
        print("lowregret: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        print(f"lowregret: cannot write {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return BAD
    except MemoryError:
        print(
            "lowregret: out of memory: hash the features into fewer weights, such as --bits 20",
            file=sys.stderr,
        )
        return BAD


def _run(argv: Sequence[str] | None) -> int:
    """Read the options and run the command that they name; returns the exit code."""
    from lowregret.cli.parser import parser

    _escape_what_cannot_be_written()
    args = parser().parse_args(argv)
    from lowregret.cli.commands import command as named
    from lowregret.cli.overwrite import require_apart

    command = named(args.command)
    require_apart(command, args)
    import lowregret.compile  # noqa: F401  # which imports Numba as it should be, before others do

    if not gc.isenabled():
        gc.freeze()
        gc.set_threshold(MANY)
        gc.enable()
    from lowregret.cli.notice import Notice

    with Notice(wanted=not getattr(args, "quiet", False)):
        code = command.run(args)
    sys.stdout.flush()
    return code


def _open_what_is_closed() -> None:
    """Give a process without standard input, output or error one: files it opens must not be taken for them.

    Output that cannot be written is an error, and messages go nowhere.
    """
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_WRONLY if name == "stderr" else os.O_RDONLY)  # the lowest free number, this one
            setattr(sys, name, open(number, mode, closefd=False))  # noqa: SIM115


def _let_interrupt() -> None:
    """Let requests to terminate and terminals that are closed interrupt as Ctrl-C does, so that nothing is left behind.

    What is ignored, as by `nohup`, stays so.
    """
    for number in _signals("SIGTERM", "SIGHUP"):
        if signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def _ignore_signals() -> None:
    """Let the exit code be what it is: all is done."""
    for number in _signals("SIGINT", "SIGTERM", "SIGHUP"):
        signal.signal(number, signal.SIG_IGN)


def _signals(*names: str) -> list[int]:
    """Those of these signals that the system has."""
    return [getattr(signal, name) for name in names if hasattr(signal, name)]


def _escape_what_cannot_be_written() -> None:
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
