"""The command line: `commands/` holds a file for each command, the rest of this room does their work."""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # `signal` itself looks up names, which takes long
import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType
from typing import NoReturn

DONE, BAD, INTERRUPTED = 0, 2, 130
MANY = 1 << 17  # objects made before garbage is looked for: commands import more than they throw away


def command() -> NoReturn:
    """Run this process's command line, and leave without Python's ceremony, which takes as long as a small file."""
    _let_interrupt()
    gc.disable()  # importing makes much that stays, and no garbage
    try:
        from lowregret.cli.streams import open_what_is_closed, settle_streams

        open_what_is_closed()
        settle_streams()
        code = main()
        _heed.done = True  # no call lies between this and the end of `main`, so no signal comes in between
    except SystemExit as end:  # of --help, or of options that cannot be read
        _heed.done = True
        code = BAD if end.code else DONE
    except KeyboardInterrupt:  # a further one, while the first was being told
        _heed.done = True
        code = INTERRUPTED
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
        _tell(error)
        return BAD
    except KeyboardInterrupt:
        print("lowregret: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:
        place = error.filename or "standard output"
        _tell(f"cannot write {place}: {error.strerror}" if error.strerror else error)  # else nothing was written
        return BAD
    except MemoryError:
        print(
            "lowregret: out of memory: free some for this process; many features take less of it hashed into fewer "
            "weights, such as --bits 20",
            file=sys.stderr,
        )
        return BAD


def _tell(problem: object) -> None:
    """Say on standard error what is wrong."""
    from lowregret.words import told

    print(f"lowregret: {told(problem)}", file=sys.stderr)


def _run(argv: Sequence[str] | None) -> int:
    """Read the options and run the command that they name; returns the exit code."""
    from lowregret.cli.parser import parser
    from lowregret.cli.streams import escape_what_cannot_be_written

    escape_what_cannot_be_written()
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

    _heed.settle()
    with Notice(wanted=not getattr(args, "quiet", False)):
        code = command.run(args)
    sys.stdout.flush()
    return code


def _let_interrupt() -> None:
    """Let requests to terminate and terminals that are closed interrupt as Ctrl-C does, so that nothing is left behind.

    What is ignored, as by `nohup`, stays so.
    """
    for number in _signals("SIGINT", "SIGTERM", "SIGHUP"):
        if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _heed)


class _Heed:
    """Handle signals that interrupt: amid imports, where what is raised may be swallowed, a little later."""

    AGAIN, PATIENCE = 0.01, 100  # seconds, and how often: an import may be of a file of the user's that does not end

    def __init__(self) -> None:
        self.done = self.waits = False
        self.times = 0

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self.done:  # let the exit code be what it is
            return
        self.times += 1
        if self.times < self.PATIENCE and hasattr(signal, "setitimer") and _is_importing(frame):
            signal.signal(signal.SIGALRM, self)
            signal.setitimer(signal.ITIMER_REAL, self.AGAIN)
            self.waits = True
            return
        self.waits = False
        raise KeyboardInterrupt

    def settle(self) -> None:
        """Raise what was put off."""
        if self.waits:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            self.waits = False
            raise KeyboardInterrupt


def _is_importing(frame: FrameType | None) -> bool:
    """Whether a call amid an import that this command line made is at work."""
    while frame is not None and frame.f_code is not command.__code__:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


_heed = _Heed()


def _signals(*names: str) -> list[int]:
    """Those of these signals that the system has."""
    return [getattr(signal, name) for name in names if hasattr(signal, name)]
