"""Many classes, against Vowpal Wabbit in one run: python -m benchmarks.multiclass [--data DIR] [--times 20]

Progressive error (every row predicted before it is learnt) on news20 (the training part, in its file's order), letter
and covtype, with defaults on both sides, and certificates; then end to end, from text file to result, on news20 so many
times over, best of several turns. Every contender is a process of its own. Prints tables, writes out/multiclass.json.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.files import repeated
from benchmarks.speed import OUT

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
TURNS = 3
OURS = [sys.executable, "-m", "lowregret", "train"]
VW = [sys.executable, "-m", "vowpalwabbit", "--bit_precision", "22", "--oaa"]

LEARNERS = {
    "softmax": ("--loss", "softmax", "--algorithm", "adagrad"),
    "multi-hinge": ("--loss", "multi-hinge", "--algorithm", "adagrad"),
    "oaa:squared-hinge": ("--loss", "oaa:squared-hinge", "--algorithm", "adagrad"),
    "oaa:squared-hinge --unit": ("--loss", "oaa:squared-hinge", "--unit", "--algorithm", "adagrad"),
    "mc-perceptron": ("--algorithm", "mc-perceptron"),
}


def news(data: Path) -> tuple[Path, Path, int]:
    """The training part of news20 as LIBSVM and VW text."""
    svm, vw = OUT / "news20.svm", OUT / "news20.vw"
    svm.write_bytes(gzip.decompress((data / "news20_train.svm.gz").read_bytes()))
    with open(svm) as rows, open(vw, "w") as out:
        out.writelines(row.replace(" ", " | ", 1) for row in rows)
    return svm, vw, 20


def table(data: Path, name: str, target: str) -> tuple[Path, Path, int]:
    """A table as it is, and as VW text."""
    path, vw = data / f"{name}.csv.gz", OUT / f"{name}.vw"
    classes: dict[str, int] = {}
    with gzip.open(path, "rt") as rows, open(vw, "w") as out:
        for row in csv.DictReader(rows):
            label = classes.setdefault(row.pop(target), len(classes) + 1)
            out.write(f"{label} | {' '.join(f'{k}:{v}' for k, v in row.items())}\n")
    return path, vw, len(classes)


def ours(path: Path, *words: str) -> dict[str, Any]:
    """What our command says."""
    done = subprocess.run([*OURS, str(path), *words, "--quiet", "--json"], check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def theirs(path: Path, classes: int) -> float:
    """Vowpal Wabbit's progressive error."""
    done = subprocess.run([*VW, str(classes), "-d", str(path)], check=True, capture_output=True, text=True)
    found = re.search(r"average loss = ([\d.]+)", done.stdout + done.stderr)
    assert found is not None
    return float(found[1])


def errors(data: Path) -> Iterator[dict[str, Any]]:
    """A line for each data set and learner."""
    for name, (path, vw, classes), words in (
        ("news20", news(data), ()),
        ("letter", table(data, "letter", "letter"), ("--target", "letter")),
        ("covtype", table(data, "covtype", "Cover_Type"), ("--target", "Cover_Type")),
    ):
        peer = theirs(vw, classes)
        print(f"{name}: {classes} classes; vw --oaa {peer:.4f}", flush=True)
        for learner, options in LEARNERS.items():
            told = ours(path, *words, *options)
            proof = told["certificate"]
            print(
                f"  {learner:<26} error {told['error']:.4f}  regret ≤ {proof['linear_regret']:.6g} "
                f"≤ {proof['bound']:.6g} ({proof['id']}, holds: {proof['holds']})",
                flush=True,
            )
            yield {"data": name, "learner": learner, "error": told["error"], "vw": peer, "certificate": proof}


def seconds(command: list[str]) -> tuple[float, float]:
    """Wall-clock and processor seconds of a process, the best of several."""
    walls, works = [], []
    for _ in range(TURNS):
        begin, before = time.perf_counter(), os.times()
        subprocess.run(command, check=True, capture_output=True)
        after = os.times()
        walls.append(time.perf_counter() - begin)
        works.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(walls), min(works)


def speed(times: int) -> Iterator[dict[str, Any]]:
    """End to end on news20, so many times over."""
    svm, vw = repeated(OUT / "news20.svm", times), repeated(OUT / "news20.vw", times)
    peer, peer_work = seconds([*VW, "20", "-d", str(vw)])
    size = svm.stat().st_size / 1e6
    print(f"news20 × {times}: {size:.0f} MB; vw --oaa 20: {peer:.2f} s, processor {peer_work:.2f} s", flush=True)
    for learner, options in LEARNERS.items():
        for certify in ("stream", "off"):
            took, work = seconds([*OURS, str(svm), *options, "--certify", certify, "--quiet", "--json"])
            print(
                f"  {learner:<26} --certify {certify:<6} {took:6.2f} s ({peer / took:.2f} × vw), "
                f"processor {work:.2f} s ({peer_work / work:.2f} × vw)",
                flush=True,
            )
            yield {"learner": learner, "certify": certify, "wall": [took, peer], "processor": [work, peer_work]}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--times", type=int, default=20)
    args = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    found = {"errors": list(errors(args.data)), "speed": list(speed(args.times))}
    (OUT / "multiclass.json").write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
