"""Mixtures of experts under attack: random compositions on nasty tables, by random calls, checked in exact arithmetic.

    python -m benchmarks.fuzz_experts --runs 20000 --seed 0

Figures must be those that fractions give but for rounding, certificates must hold, calls in parts must give the bits of
one call, and files must lose nothing. A game that refuses its data by an error of the package's own is fine. The first
falsehood ends the run with the game and the seed that lead to it again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable

from benchmarks.experts_games.cover import interval_game, quantile_game
from benchmarks.experts_games.days import days_game
from benchmarks.experts_games.mixtures import FalsehoodError, joining_game, mixture_game
from benchmarks.experts_games.series import series_game
from benchmarks.experts_games.tables import Dice
from benchmarks.experts_games.wealth import wealth_game
from lowregret.errors import DataError, PartError

Game = Callable[[Dice, str], None]
GAMES: dict[str, Game] = {
    "mixture": mixture_game,
    "joining": joining_game,
    "series": series_game,
    "days": days_game,
    "interval": interval_game,
    "quantile": quantile_game,
    "wealth": wealth_game,
}


def play_game(name: str, seed: int, folder: str) -> str:
    """Play one game; returns how it ended, or raises what went wrong."""
    try:
        GAMES[name](Dice(seed), folder)
    except (DataError, PartError):
        return "refused"
    except OverflowError:
        return "infinite"
    return "played"


def play_games(names: list[str], first: int, runs: int) -> int:
    """Play games one after the other; 1 as soon as something is not so."""
    counts, began = Counter[str](), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(first, first + runs):
            name = names[seed % len(names)]
            try:
                counts[play_game(name, seed, folder)] += 1
            except Exception as error:
                print(f"\n{name} game, seed {seed}: {type(error).__name__}: {error}", file=sys.stderr)
                print(
                    f"again: python -m benchmarks.fuzz_experts --games {name} --seed {seed} --runs 1", file=sys.stderr
                )
                if not isinstance(error, FalsehoodError):
                    raise
                return 1
            if seed % 50 == 0:
                print(f"\rseed {seed}: {dict(counts)}, {time.monotonic() - began:.0f} s", end="", flush=True)
    print(f"\n{dict(counts)} in {time.monotonic() - began:.0f} s from seed {first}: nothing false")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--games", nargs="+", choices=GAMES, default=list(GAMES))
    args = parser.parse_args()
    return play_games(args.games, args.seed, args.runs)


if __name__ == "__main__":
    sys.exit(main())
