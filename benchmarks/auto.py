"""`auto` without a parameter against the best of Vowpal Wabbit's grid: python -m benchmarks.auto [--data DIR] [NAME …]

Progressive figures of one pass: each row is predicted before it is learnt. The grid is `-l` in 0.02 … 20 times
`--power_t` in 0.5, 0 (for classes times logistic and square loss), with `-b 20`; its best is known afterwards only.
Names may end in -shuffled. `--vw PYTHON` is an interpreter that has vowpalwabbit. Prints a table, writes out/auto.json;
the rows go to out/auto/NAME.svm and NAME.vw. `--gigabytes N` times both, end to end, on a generated file instead.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import TypeAlias

import numpy as np

from benchmarks.files import contest, generate, repeated
from benchmarks.speed import OUT

RATES, POWERS = (0.02, 0.1, 0.25, 1, 2, 5, 20), (0.5, 0)
BINARY, NUMBER, CLASSES = "error", "square", "error of classes"
Row: TypeAlias = tuple[float, dict[int, float]]  # label, features by index from 1

FLIGHT = {
    "numbers": ("month", "day", "sched_dep_time", "sched_arr_time", "flight", "distance"),
    "names": ("carrier", "tailnum", "origin", "dest"),
}


def svm(path: Path) -> Iterator[Row]:
    """LIBSVM text."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            label, *pairs = line.split()
            yield float(label), {int(i): float(v) for i, v in (pair.split(":") for pair in pairs)}


def table(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a CSV file."""
    with gzip.open(path, "rt", newline="") as lines:
        yield from csv.DictReader(lines)


def numbers(cells: list[str]) -> dict[int, float]:
    """Columns by place, without zeros."""
    return {i: float(cell) for i, cell in enumerate(cells, 1) if float(cell) != 0}


def last_column(label: Callable[[str], float]) -> Callable[[Path], Iterator[Row]]:
    """A table whose last column is the label."""

    def rows(path: Path) -> Iterator[Row]:
        for row in table(path):
            *cells, last = row.values()
            yield label(last), numbers(cells)

    return rows


def letters(path: Path) -> Iterator[Row]:
    for row in table(path):
        first, *cells = row.values()
        yield ord(first) - 64, numbers(cells)


def pixels(path: Path) -> Iterator[Row]:
    for row in table(path):
        yield ord(row["letter"]) - 96, numbers(list(row["pixels"]))


def flights(path: Path) -> Iterator[Row]:
    """What is known before departure; each carrier, aircraft, origin and destination is a feature."""
    places = {name: i for i, name in enumerate(FLIGHT["numbers"], 1)}
    for row in table(path):
        if row["arr_delay"]:
            found = {places[name]: float(row[name]) for name in FLIGHT["numbers"] if row[name] and float(row[name])}
            named = (f"{name}={row[name]}" for name in FLIGHT["names"] if row[name])
            yield float(row["arr_delay"]), found | {places.setdefault(n, len(places) + 1): 1.0 for n in named}


SETS: dict[str, tuple[str, str, Callable[[Path], Iterator[Row]]]] = {
    "a9a": ("a9a.svm.gz", BINARY, svm),
    "enron_spam": ("enron_spam.svm.gz", BINARY, svm),
    "farm_ads": ("farm_ads.svm.gz", BINARY, svm),
    "rcv1_sample": ("rcv1_sample.svm.gz", BINARY, svm),
    "elec2": ("elec2.csv.gz", BINARY, last_column(lambda cell: 1.0 if cell == "UP" else -1.0)),
    "covtype": ("covtype.csv.gz", BINARY, last_column(lambda cell: 1.0 if float(cell) == 2 else -1.0)),
    "news20": ("news20_train.svm.gz", CLASSES, svm),
    "letter": ("letter.csv.gz", CLASSES, letters),
    "covtype-7": ("covtype.csv.gz", CLASSES, last_column(float)),
    "ocr_letters": ("ocr_letters.csv.gz", CLASSES, pixels),
    "nycflights13": ("nycflights13.csv.gz", NUMBER, flights),
    "cal_housing": ("cal_housing.csv.gz", NUMBER, last_column(float)),
}


def written(name: str, data: Path) -> tuple[Path, Path, np.ndarray]:
    """The rows of a set in both forms, and the labels."""
    base = name.removesuffix("-shuffled")
    file, _, reader = SETS[base]
    folder = OUT / "auto"
    folder.mkdir(parents=True, exist_ok=True)
    rows = list(reader(data / file))
    if base != name:
        rows = [rows[i] for i in np.random.RandomState(0).permutation(len(rows))]
    ours, theirs = folder / f"{name}.svm", folder / f"{name}.vw"
    with open(ours, "w") as one, open(theirs, "w") as other:
        for label, features in rows:
            pairs = " ".join(f"{i}:{value:.9g}" for i, value in sorted(features.items()))
            one.write(f"{label:.9g} {pairs}\n")
            other.write(f"{label:.9g} | {pairs}\n")
    return ours, theirs, np.array([label for label, _ in rows])


def ours(path: Path, kind: str) -> tuple[float, str]:
    """What `lowregret train FILE` says, and which expert was best."""
    loss = {BINARY: [], NUMBER: [], CLASSES: ["--loss", "softmax"]}[kind]
    command = [sys.executable, "-m", "lowregret", "train", str(path), "--json", "--quiet", *loss]
    told = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert told["certificate"]["holds"]
    return told["loss"]["mean"] if kind == NUMBER else told["error"], told["best"]["name"]


def theirs(python: str, path: Path, kind: str, labels: np.ndarray, *options: str) -> float:
    """The same figure from Vowpal Wabbit's progressive predictions."""
    command = [python, "-m", "vowpalwabbit", "-d", str(path), "-b", "20", "--quiet", "-p", "/dev/stdout", *options]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    made = np.array([float(line.split()[0]) for line in told.splitlines() if line])
    if kind == NUMBER:
        return float(np.mean((made - labels) ** 2))
    return float(np.mean(made != labels) if kind == CLASSES else np.mean(made * labels <= 0))


def grid(python: str, path: Path, kind: str, labels: np.ndarray) -> tuple[float, float, str]:
    """Vowpal Wabbit by default, its best, and the options of that."""
    many = ["--oaa", str(int(labels.max()))] if kind == CLASSES else []
    losses = {BINARY: ["logistic"], NUMBER: ["squared"], CLASSES: ["logistic", "squared"]}[kind]
    plain = theirs(python, path, kind, labels, *many, "--loss_function", losses[0])
    found = {"default": plain}
    for loss, rate, power in product(losses, RATES, POWERS):
        options = f"--loss_function {loss} -l {rate} --power_t {power}"
        found[options] = theirs(python, path, kind, labels, *many, *options.split())
    best = min(found, key=lambda options: found[options])
    return plain, found[best], best


def compare(names: list[str], data: Path, python: str) -> dict[str, dict[str, float | str]]:
    """The whole table."""
    found: dict[str, dict[str, float | str]] = {}
    print("| set | figure | auto | best expert | VW by default | VW's best | at | auto / VW's best |")
    print("|---|---|---|---|---|---|---|---|")
    for name in names:
        kind = SETS[name.removesuffix("-shuffled")][1]
        mine, other, labels = written(name, data)
        auto, expert = ours(mine, kind)
        plain, best, options = grid(python, other, kind, labels)
        found[name] = {"auto": auto, "expert": expert, "default": plain, "best": best, "options": options}
        print(
            f"| {name} | {kind} | {auto:.4g} | {expert} | {plain:.4g} | {best:.4g} | `{options}` | {auto / best:.3f} |",
            flush=True,
        )
    return found


def speed(gigabytes: float, python: str) -> dict[str, dict[str, float]]:
    """Wall clock from file to model, the best of two turns."""
    times = max(1, round(5 * gigabytes))
    one, other = (repeated(path, times) for path in generate(OUT))
    return contest(
        {
            "lowregret auto": [sys.executable, "-m", "lowregret", "train", str(one), "--quiet"],
            "VW": [
                python,
                "-m",
                "vowpalwabbit",
                "-d",
                str(other),
                "--loss_function",
                "logistic",
                "-b",
                "18",
                "--quiet",
            ],
        },
        2,
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=list(SETS))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--vw", default=sys.executable, metavar="PYTHON")
    parser.add_argument("--gigabytes", type=float)
    args = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    if args.gigabytes:
        found: object = speed(args.gigabytes, args.vw)
    else:
        found = compare(args.names, args.data, args.vw)
    (OUT / ("auto-speed.json" if args.gigabytes else "auto.json")).write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
