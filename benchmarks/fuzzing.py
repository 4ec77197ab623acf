"""What fuzzers of runs share: falsehoods, and random runs one after the other until one of them is found."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nasty import Draw
from lowregret.errors import LowRegretError

Attack = Callable[[Draw, Path, list[Any]], int]
"""One random run, with a folder for files and a list for what should be told of a falsehood: the number of claims."""


class Falsehood(AssertionError):
    """Something that was shown is not true."""


def require(holds: bool, what: str) -> None:
    """Raise a `Falsehood` unless this holds."""
    if not holds:
        raise Falsehood(what)


def fuzzed(attacks: Sequence[Attack], runs: int, seed: int, refuses: bool = True) -> Iterator[tuple[int, int]]:
    """The seed and the number of claims checked, of each run; a `Falsehood` tells how to see it again.

    With `refuses` parts may be drawn that do not fit together, and the package may say so.
    """
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for k in range(seed, seed + runs):
            r, told = Draw(k), list[Any]()
            try:
                yield k, r.choice(attacks)(r, Path(folder), told)
            except Exception as found:  # a falsehood, or an error that is not the package's own
                if refuses and isinstance(found, LowRegretError):
                    yield k, 0
                    continue
                shown = "\n".join([f"--seed {k} --runs 1: {type(found).__name__}: {found}", *map(repr, told)])
                raise Falsehood(shown) from found


def main(purpose: str | None, attacks: Sequence[Attack], runs: int, refuses: bool = True) -> None:
    """The command line of a fuzzer."""
    kinds = {attack.__name__.removeprefix("fuzz_"): attack for attack in attacks}
    parser = argparse.ArgumentParser(description=purpose, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=runs)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=kinds, help="this one alone")
    options = parser.parse_args()
    chosen = [kinds[options.kind]] if options.kind else attacks
    claims, begin_at = 0, time.perf_counter()
    try:
        for done, (_, more) in enumerate(fuzzed(chosen, options.runs, options.seed, refuses), 1):
            claims += more
            if done % 50 == 0 or done == options.runs:
                print(f"{done} runs, {claims} claims in {time.perf_counter() - begin_at:.0f} s", flush=True)
    except Falsehood as found:
        sys.exit(f"FALSE {f'--kind {options.kind} ' if options.kind else ''}{found}")
