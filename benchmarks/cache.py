"""Caches beside Vowpal Wabbit's, in one sitting: python -m benchmarks.cache [--times 10] [--turns 5] [--folder out]

From the generated file of `benchmarks.files`, so many times over, both make a cache; then each reads its own, once and
in ten passes, by turns. Every contender is a process of its own, start-up included; the file cache is warm. Wall clock
and processor seconds are both told, for on a busy machine the first is of others, too; ratios are taken turn by turn,
and their median counts. Prints a table and writes out/cache.json.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

from benchmarks.files import PYTHON, generate, ours, repeated, theirs
from benchmarks.speed import OUT

PASSES = 10


class Spent(NamedTuple):
    """What one process took."""

    wall: float
    processor: float


def spent(command: list[str]) -> Spent:
    """Run a command and tell what it took."""
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.decode()[-500:]}")
    return Spent(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def made(svm: Path, vw: Path) -> tuple[Path, Path, dict[str, Spent]]:
    """The caches of both, and what it took to make them."""
    cache, other = svm.with_suffix(".lrc"), vw.with_suffix(".vwcache")
    other.unlink(missing_ok=True)
    convert = [PYTHON, "-m", "lowregret", "convert", str(svm), "-o", str(cache), "--quiet"]
    return cache, other, {"lowregret": spent(convert), "VW": spent(theirs(vw, "--cache_file", str(other)))}


def contests(svm: Path, vw: Path, cache: Path, other: Path) -> dict[str, dict[str, list[str]]]:
    """The commands of each contest by the name of the contender; the first one is what others are compared with."""
    again = ("--passes", str(PASSES))
    stored = theirs(vw, "--cache_file", str(other))
    return {
        "one pass": {"lowregret, cache": ours(cache), "lowregret, text": ours(svm), "VW, cache": stored},
        f"{PASSES} passes": {
            "lowregret, cache": ours(cache, *again),
            "lowregret, text": ours(svm, *again),
            "VW, cache": [*stored, *again, "--holdout_off"],
        },
    }


def contest(commands: dict[str, list[str]], turns: int) -> dict[str, list[Spent]]:
    """What each took in each turn."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(turns):
        for name, command in commands.items():
            found[name].append(spent(command))
            wall, processor = found[name][-1]
            print(f"  turn {turn + 1}: {name:<18} {wall:7.2f} s, {processor:6.2f} s of processor", file=sys.stderr)
    return found


def table(title: str, found: dict[str, list[Spent]]) -> list[str]:
    """Medians, and ratios to the first contender by turns: median, and from the least to the largest."""
    first = next(iter(found.values()))
    lines = [title]
    for name, turns in found.items():
        line = f"  {name:<18}"
        for what in ("wall", "processor"):
            times = [float(getattr(turn, what)) for turn in turns]
            ratios = [mine / getattr(one, what) for mine, one in zip(times, first, strict=True)]
            told = f"{statistics.median(ratios):.2f} × ({min(ratios):.2f} to {max(ratios):.2f})"
            line += f"{statistics.median(times):8.2f} s {what}, {told}"
        lines.append(line)
    return lines


def main() -> None:
    """Make the caches and run the contests."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=1, help="how often the file of 213 MB is repeated")
    arguments.add_argument("--turns", type=int, default=5)
    arguments.add_argument("--folder", type=Path, default=OUT, help="where the files are, or are made")
    args = arguments.parse_args()
    OUT.mkdir(exist_ok=True)
    args.folder.mkdir(exist_ok=True)
    svm, vw = (repeated(path, args.times) for path in generate(args.folder))
    spent(ours(generate(args.folder)[0], "--passes", "2"))  # compile
    cache, other, making = made(svm, vw)
    spent(ours(cache))
    print(
        "\n".join(table(f"making a cache of {svm.stat().st_size / 1e6:,.0f} MB", {k: [v] for k, v in making.items()}))
    )
    print(f"  bytes: lowregret {cache.stat().st_size:,}, VW {other.stat().st_size:,}")
    figures: dict[str, object] = {"times": args.times, "making": making}
    for title, commands in contests(svm, vw, cache, other).items():
        found = contest(commands, args.turns)
        print("\n".join(table(title, found)), flush=True)
        figures[title] = found
    (OUT / "cache.json").write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
