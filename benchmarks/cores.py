"""Two learners beside one, in one sitting: python -m benchmarks.cores [--turns 7] [--file big.svm] [--learners 2]

In memory: 200,000 sparse rows of 72 features, and 20,000 dense ones; `train` as a whole, by turns. From a file: the
command, a process of its own, start-up included. Ratios to row by row are taken turn by turn, and their median counts.
`gain` is what the run itself found for the loop alone; loss is the progressive one, compared with row by row. On a
machine that others use it tells what they left over. Prints tables and writes out/cores.json.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.files import PYTHON
from benchmarks.speed import FEATURES, NONZEROS, OUT, ROWS, stream
from lowregret import Logistic, train, zoo

LEARNERS: dict[str, Any] = {
    "ogd": zoo.ogd(Logistic()),
    "adagrad": zoo.adagrad(Logistic(), 0.1),
    "auto": zoo.auto(Logistic()),
}
OPTIONS = {"ogd": [], "adagrad": ["--eta", "0.1"], "auto": []}
Found = dict[str, list[dict[str, Any]]]


def ways(name: str, learners: int) -> dict[str, dict[str, Any]]:
    """The options of each contender, row by row first."""
    found: dict[str, dict[str, Any]] = {"row by row": {}, "learners": {"learners": learners}}
    if name != "auto":
        found |= {f"block {block}": {"learners": learners, "block": block} for block in (8, 64, "free")}
    return found


def in_memory(name: str, x: Any, y: Any, learners: int, turns: int) -> Found:
    """What each way took, by turns."""

    def once(how: dict[str, Any]) -> dict[str, Any]:
        begin = time.perf_counter()
        run = train(LEARNERS[name], x, y, **how)
        seconds = time.perf_counter() - begin
        gain = run.crew_json()["gain"] if how else None
        return {"seconds": seconds, "gain": gain, "loss": run.mean_loss}

    return by_turns({way: partial(once, how) for way, how in ways(name, learners).items()}, turns)


def from_file(name: str, path: Path, learners: int, turns: int) -> Found:
    """What the command took with each of the ways, by turns."""

    def once(how: dict[str, Any]) -> dict[str, Any]:
        said = [word for option, value in how.items() for word in (f"--{option}", str(value))]
        command = [PYTHON, "-m", "lowregret", "train", str(path), "--algorithm", name, "--loss", "logistic"]
        begin = time.perf_counter()
        done = subprocess.run([*command, *OPTIONS[name], *said, "--quiet", "--json"], capture_output=True, check=True)
        told = json.loads(done.stdout)
        gain = told["learners"]["gain"] if how else None
        return {"seconds": time.perf_counter() - begin, "gain": gain, "loss": told["loss"]["mean"]}

    return by_turns({way: partial(once, how) for way, how in ways(name, learners).items()}, turns)


def by_turns(contenders: dict[str, Callable[[], dict[str, Any]]], turns: int) -> Found:
    """What each tells of each turn; a turn before the first is for compiling."""
    found: Found = {name: [] for name in contenders}
    for turn in range(turns + 1):
        for name, contender in contenders.items():
            told = contender()
            if turn:
                found[name].append(told)
    return found


def table(title: str, found: Found) -> str:
    """Medians, ratios to row by row and losses."""
    first, lines = next(iter(found.values())), [title]
    for name, turns in found.items():
        ratios = [one["seconds"] / mine["seconds"] for one, mine in zip(first, turns, strict=True)]
        gains = [turn["gain"] for turn in turns if turn["gain"] is not None]
        gain = f"{statistics.median(gains):.2f} ×" if gains else "–"
        loss = turns[-1]["loss"] / first[-1]["loss"] - 1
        seconds = statistics.median(turn["seconds"] for turn in turns)
        lines.append(
            f"  {name:<12}{seconds:8.3f} s  {statistics.median(ratios):5.2f} × ({min(ratios):.2f} to {max(ratios):.2f})"
            f"   loop alone {gain:>7}   loss {loss:+.3%}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run all contests."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--turns", type=int, default=7)
    arguments.add_argument("--learners", type=int, default=2)
    arguments.add_argument("--algorithms", default=",".join(LEARNERS))
    arguments.add_argument(
        "--file", type=Path, action="append", default=[], help="rows to be learnt by the command, too"
    )
    args = arguments.parse_args()
    OUT.mkdir(exist_ok=True)
    rng, figures = np.random.default_rng(0), dict[str, Found]()
    dense = rng.standard_normal((20_000, NONZEROS))
    signs = np.where(dense @ rng.random(NONZEROS) > 0, 1.0, -1.0)
    sets = {"sparse": stream(ROWS, NONZEROS, FEATURES), "dense": (dense, signs)}
    for name in args.algorithms.split(","):
        for kind, (x, y) in sets.items():
            figures[f"{name}, {kind}"] = in_memory(name, x, y, args.learners, args.turns)
            print(table(f"{name}, {kind} rows in memory", figures[f"{name}, {kind}"]), flush=True)
        for path in args.file:
            figures[f"{name}, {path.name}"] = from_file(name, path, args.learners, args.turns)
            print(table(f"{name}, {path.name}", figures[f"{name}, {path.name}"]), flush=True)
    (OUT / "cores.json").write_text(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
