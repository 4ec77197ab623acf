"""The command line: `lowregret train | predict | zoo`. Answers --help without importing anything heavy."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

DONE, BAD, INTERRUPTED = 0, 2, 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    from lowregret.cli.arguments import parser

    args = parser().parse_args(argv)
    from lowregret.error import LowRegretError

    try:
        return int(args.command(args))
    except LowRegretError as error:
        print(f"lowregret: {error}", file=sys.stderr)
        return BAD
    except KeyboardInterrupt:
        print("lowregret: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # whoever read our output has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except MemoryError:
        print(
            "lowregret: out of memory: hash the features into fewer weights, such as --bits 20",
            file=sys.stderr,
        )
        return BAD
