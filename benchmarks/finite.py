"""Finite classes: seconds to both dimensions, and how well a time limit is kept: python -m benchmarks.finite

Prints a table and writes out/finite.json: seconds on the clock, and of a processor. Each line is the command line in a
process of its own, start and imports included, after compiled code is in the cache; what compiling took is told first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from time import perf_counter, process_time
from typing import Any, NamedTuple

from benchmarks.speed import OUT
from lowregret.finite import Littlestone, make_hypotheses

CLASSES = (
    "thresholds:4096",
    "cube:10",
    "parities:8",
    "intervals:60",
    "halfspaces:6",
    "lists:4",
    "random:500x100:seed=1",
)
DENSITIES = (0.05, 0.1, 0.2, 0.3, 0.5)
LIMITS = (1.0, 2.0, 5.0)
HARD = "random:500x100:seed=1"  # its VC dimension takes longest


class Seconds(NamedTuple):
    """On the clock, and of a processor."""

    clock: float
    processor: float

    def __str__(self) -> str:
        return f"{self.clock:8.2f} {self.processor:8.2f} s "


def command(*words: str) -> tuple[Seconds, dict[str, Any]]:
    """What it took, and what was found."""
    begin, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    line = [sys.executable, "-m", "lowregret", "dimension", *words, "--json", "--quiet"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    after = getrusage(RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Seconds(perf_counter() - begin, processor), json.loads(done.stdout)


def littlestone_alone(spec: str) -> tuple[Seconds, int]:
    """What Ldim takes without the VC dimension, in this process."""
    hypotheses = make_hypotheses(spec)
    begin, before = perf_counter(), process_time()
    dimension = Littlestone(hypotheses).of(hypotheses.everything)
    return Seconds(perf_counter() - begin, process_time() - before), dimension


def show(seconds: Seconds, what: str, found: dict[str, Any]) -> None:
    verified = "verified" if found["verified"] else "NOT VERIFIED"
    print(f"{seconds} {what:<40} Ldim {found['littlestone']}, VC {found['vc']}, {verified}", flush=True)


def main() -> None:
    """Measure and tell."""
    results: dict[str, Any] = {"first run": command("cube:2")[0], "next run": command("cube:2")[0]}
    print(f"{results['first run']} first run, which compiles if the cache is empty")
    print(f"{results['next run']} the next")
    for density in DENSITIES:
        worst = max(littlestone_alone(f"random:500x100:seed={seed}:density={density}") for seed in range(5))
        results[f"Ldim of 500x100, density {density}"] = worst[0]
        print(f"{worst[0]} Ldim alone of random 500x100, density {density}, worst of 5 (Ldim {worst[1]})")
    for spec in CLASSES:
        seconds, found = command(spec)
        results[spec] = seconds
        show(seconds, spec, found)
    for limit in LIMITS:
        seconds, found = command(HARD, "--time", str(limit))
        results[f"limit {limit:g}"] = seconds
        show(seconds, f"{HARD} --time {limit:g}", found)
    OUT.mkdir(exist_ok=True)
    (OUT / "finite.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
