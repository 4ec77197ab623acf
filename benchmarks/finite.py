"""Finite classes: seconds to both dimensions, and how well a time limit is kept: python -m benchmarks.finite

Prints a table and writes out/finite.json. Each line is the command line in a process of its own, start and imports
included, after compiled code is in the cache; the seconds that compiling took are told first.
"""

from __future__ import annotations

import json
import subprocess
import sys
from time import perf_counter
from typing import Any

from benchmarks.speed import OUT
from lowregret import Littlestone, make_hypotheses

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


def command(*words: str) -> tuple[float, dict[str, Any]]:
    """Seconds, and what was found."""
    begin = perf_counter()
    line = [sys.executable, "-m", "lowregret", "dimension", *words, "--json", "--quiet"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    return perf_counter() - begin, json.loads(done.stdout)


def littlestone_alone(spec: str) -> tuple[float, int]:
    """Seconds for Ldim without the VC dimension, in this process."""
    hypotheses = make_hypotheses(spec)
    begin = perf_counter()
    dimension = Littlestone(hypotheses).of(hypotheses.everything)
    return perf_counter() - begin, dimension


def show(seconds: float, what: str, found: dict[str, Any]) -> None:
    verified = "verified" if found["verified"] else "NOT VERIFIED"
    print(f"{seconds:8.2f} s  {what:<40} Ldim {found['littlestone']}, VC {found['vc']}, {verified}", flush=True)


def main() -> None:
    """Measure and tell."""
    results: dict[str, Any] = {"first run": command("cube:2")[0], "next run": command("cube:2")[0]}
    print(f"{results['first run']:8.2f} s  first run, which compiles if the cache is empty")
    print(f"{results['next run']:8.2f} s  the next")
    for density in DENSITIES:
        worst = max(littlestone_alone(f"random:500x100:seed={seed}:density={density}") for seed in range(5))
        results[f"Ldim of 500x100, density {density}"] = worst[0]
        print(f"{worst[0]:8.3f} s  Ldim alone of random 500x100, density {density}, worst of 5 (Ldim {worst[1]})")
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
