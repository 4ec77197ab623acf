"""Learners that choose, under attack: bandits and logs, finite classes, structures, games and regret of every kind.

    python -m benchmarks.fuzz_choices --runs 2000

Each run makes a random composition and nasty data (scales from 1e-150 to 1e150, ties, constants, rare events), lets it
play in a random order of batches, late answers, files and copies, and holds what is shown against exact arithmetic, or
against listing everything. The first falsehood, or error that is none of ours, ends it with the case and the seed.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from itertools import cycle

import numpy as np

from benchmarks.choices import bandits, finite, games, structures
from benchmarks.choices.nasty import Falsehood, Generator

CASES: dict[str, Callable[[Generator], None]] = {
    "bandit": bandits.bandit,
    "advised": bandits.advised,
    "coverage": bandits.coverage,
    "dimension": finite.dimension,
    "learning": finite.learning,
    "structured": structures.structured,
    "beside": structures.beside,
    "ranking": structures.ranking,
    "game": games.game,
    "kinds": games.kinds,
    "hidden": games.hidden,
    "alike": games.alike,
}


def attack(name: str, seed: int) -> str | None:
    """What one case shows that is not so, in words; None if all is well."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            CASES[name](np.random.default_rng(seed))
        except Falsehood as falsehood:
            return str(falsehood)
        except Exception:
            return traceback.format_exc()
    return None


def main() -> int:
    """Run the cases in turn until one of them fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--case", choices=CASES, help="this one alone")
    args = parser.parse_args()
    names = cycle([args.case] if args.case else CASES)
    for run, name in zip(range(args.runs), names, strict=False):
        seed = args.seed + run
        print(f"\r{run + 1} of {args.runs}, seed {seed}, {name:<12}", end="", flush=True)
        found = attack(name, seed)
        if found is not None:
            print(f"\n--case {name} --seed {seed} --runs 1: {found}")
            return 1
    print(f"\n{args.runs} runs, no falsehood")
    return 0


if __name__ == "__main__":
    sys.exit(main())
