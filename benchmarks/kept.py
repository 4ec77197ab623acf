"""The model that `auto` keeps, on the rows that follow: python -m benchmarks.kept [--data DIR] [NAME …]

Each set is cut after 50, 70, 75, 76 and 90 % of its rows, in file order and shuffled; models learn what comes before
and score the rest, whose labels they never see. Beside `auto`: Vowpal Wabbit by default, and our own AdaGrad, its
average and OGD (hinge and logistic, square, or softmax loss). `announced` is what the run said of its kept model at the
cut. Prints a table, writes out/kept.json.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from benchmarks.auto import BINARY, CLASSES, NUMBER, SETS, Row
from benchmarks.speed import OUT
from lowregret import Average, Hinge, Logistic, Multiclass, Softmax, Square, train, zoo
from lowregret.errors import LowRegretError

CUTS = (50, 70, 75, 76, 90)
NAMES = [name for name in SETS if name not in ("rcv1_sample", "news20")]


def loaded(name: str, data: Path) -> tuple[csr_array, Any, list[Row]]:
    """Rows, labels, and both as they were read."""
    base = name.removesuffix("-shuffled")
    file, kind, reader = SETS[base]
    rows = list(reader(data / file))
    if base != name:
        rows = [rows[i] for i in np.random.RandomState(0).permutation(len(rows))]
    ends = np.cumsum([0, *(len(features) for _, features in rows)])
    pairs = [pair for _, features in rows for pair in sorted(features.items())]
    columns, values = np.array([j for j, _ in pairs], np.int32), np.array([v for _, v in pairs])
    labels = np.array([label for label, _ in rows])
    X = csr_array((values, columns, ends.astype(np.int32)), shape=(len(rows), int(columns.max()) + 1))
    return X, labels.astype(int) if kind == CLASSES else labels, rows


def figure(kind: str, made: Any, labels: Any) -> float:
    """Root mean square, or share of errors."""
    if kind == NUMBER:
        return math.sqrt(float(np.mean((made - labels) ** 2)))
    return float(np.mean(made != labels) if kind == CLASSES else np.mean(made * labels <= 0))


def vw_after(rows: list[Row], labels: Any, kind: str, n: int) -> float:
    """Vowpal Wabbit by default: rows without a label are scored and not learnt."""
    path = OUT / "kept.vw"
    with open(path, "w") as file:
        for i, (label, features) in enumerate(rows):
            pairs = " ".join(f"{j}:{value:.9g}" for j, value in sorted(features.items()))
            file.write(f"{label:.9g} | {pairs}\n" if i < n else f"| {pairs}\n")
    options = ["--loss_function", "squared" if kind == NUMBER else "logistic"]
    options += ["--oaa", str(int(labels.max()))] if kind == CLASSES else []
    command = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), "-b", "20", "--quiet", "-p", "/dev/stdout"]
    told = subprocess.run([*command, *options], check=True, capture_output=True, text=True).stdout
    made = np.array([float(line.split()[0]) for line in told.splitlines() if line])
    return figure(kind, made[n:], labels[n:])


def rivals(kind: str) -> dict[str, Any]:
    """Our own learners that need no tuning."""
    losses: dict[str, Any] = {"square": Square()} if kind == NUMBER else {"hinge": Hinge(), "logistic": Logistic()}
    found = {
        f"{name} {loss}": learner
        for loss, part in losses.items()
        for name, learner in (
            ("adagrad", zoo.adagrad(part)),
            ("adagrad average", zoo.adagrad(part, output=Average())),
            ("ogd", zoo.ogd(part)),
        )
    }
    if kind == CLASSES:
        many = {name.removesuffix(" hinge"): one for name, one in found.items() if name.endswith(" hinge")}
        return {f"{name} softmax": Multiclass.like(one, Softmax()) for name, one in many.items()}
    return found


def after_cuts(learner: Any, X: Any, y: Any, kind: str) -> list[tuple[float, float | None]]:
    """What a learner's model makes of the rows after each cut, and what its run said of that."""
    run: Any = None
    found: list[tuple[float, float | None]] = []
    before = 0
    for cut in CUTS:
        n = len(y) * cut // 100
        try:
            run = train(learner, X[:n], y[:n]) if run is None else run.learn(X[before:n], y[before:n])
            kept = run.kept  # none if rows were noticed to come again
            said = None if kept is None else kept.loss**0.5 if kind == NUMBER else kept.error
            found.append((figure(kind, run.predict(X[n:]), y[n:]), said))
        except LowRegretError:
            found.append((math.inf, None))
        before = n
    return found


def compare(names: list[str], data: Path) -> dict[str, dict[str, Any]]:
    """The whole table."""
    table: dict[str, dict[str, Any]] = {}
    print("| rows | cut | auto, live | announced | kept | VW | best of the others | kept / VW | kept / best |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name in names:
        kind = SETS[name.removesuffix("-shuffled")][1]
        X, y, rows = loaded(name, data)
        learner: Any = {BINARY: zoo.auto(Logistic()), NUMBER: zoo.auto(Square()), CLASSES: zoo.auto(Softmax())}[kind]
        others = {rival: after_cuts(one, X, y, kind) for rival, one in rivals(kind).items()}
        for k, (cut, (kept, said)) in enumerate(zip(CUTS, after_cuts(learner, X, y, kind), strict=True)):
            n = len(y) * cut // 100
            run = train(learner, X[:n], y[:n])
            live = math.sqrt(run.loss / run.rounds) if kind == NUMBER else run.error
            vw = vw_after(rows, y, kind, n)
            rival = min(others, key=lambda other: others[other][k][0])
            best = min(vw, others[rival][k][0])
            row = {"live": live, "announced": said, "kept": kept, "vw": vw, "best": best, "rival": rival}
            table[f"{name} {cut}"] = row
            told = "–" if said is None else f"{said:.4g}"
            print(
                f"| {name} | {cut} % | {live:.4g} | {told} | {kept:.4g} | {vw:.4g} | {best:.4g} "
                f"({'VW' if vw == best else rival}) | {kept / vw:.2f} | {kept / best:.2f} |",
                flush=True,
            )
    return table


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("names", nargs="*", default=[f"{name}{order}" for name in NAMES for order in ("", "-shuffled")])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    args = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    table = compare(args.names, args.data)
    ratios = np.array([row["kept"] / row["best"] for row in table.values()])
    print(f"\nkept / best of the others: {ratios.mean():.3f} on average, at most {ratios.max():.3f}")
    (OUT / "kept.json").write_text(json.dumps(table, indent=1))


if __name__ == "__main__":
    main()
