"""The command line: `commands/` holds a file for each command, the rest of this room does their work."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

DONE, BAD, INTERRUPTED = 0, 2, 130


def command() -> NoReturn:
    """Run this process's command line, and leave without Python's ceremony, which takes as long as a small file."""
    gc.disable()  # importing makes much that stays, and no garbage
    code = main()
    with suppress(OSError):  # which `main` has told already
        sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    from lowregret.cli.parser import parser

    args = parser().parse_args(argv)
    from lowregret.cli.commands import command as named
    from lowregret.cli.overwrite import require_apart
    from lowregret.errors import LowRegretError

    try:
        command = named(args.command)
        require_apart(command, args)
        if not gc.isenabled():
            gc.freeze()
            gc.enable()
        from lowregret.cli.notice import Notice

        with Notice(wanted=not getattr(args, "quiet", False)):
            code = command.run(args)
        sys.stdout.flush()
        return code
    except LowRegretError as error:
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
