"""Progressive errors of learners that need no tuning, beside peers: python -m benchmarks.parameter_free DATA_FOLDER

Every row is predicted before it is learnt, once, in the order of the file; all have a bias. Writes the tables of
docs/parameter-free.md; ends with an error if a certificate does not hold though its premises do. What the peers did,
which takes them minutes, is kept in out/parameter_free.json: remove it to measure them again.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import SGDClassifier

from benchmarks.nested import Data, data_sets
from lowregret import DivergedError, Hinge, Logistic, train, zoo
from lowregret.learner.linear import Linear
from lowregret.rule import FTRLProximal
from lowregret.rule.newton import MOST
from lowregret.run import LinearRun

PAGE = Path(__file__).resolve().parents[1] / "docs" / "parameter-free.md"
KEPT = Path("out/parameter_free.json")
BEGIN, END = "<!-- measured -->\n", "<!-- end -->\n"

Scores = NDArray[np.float64]

LEARNERS: dict[str, Callable[[Data], Linear]] = {
    "ogd (adaptive)": lambda data: zoo.ogd(Logistic()),
    "adagrad, η = 1": lambda data: zoo.adagrad(Logistic(), 1.0),
    "adagrad, η = 0.1": lambda data: zoo.adagrad(Logistic(), 0.1),
    "ftrl-proximal": lambda data: zoo.ftrl_proximal(Logistic()),
    "kt": lambda data: zoo.kt(Logistic(), max(1.0, float(abs(data.x.data).max()))),
    "freegrad": lambda data: zoo.freegrad(Logistic()),
    "freegrad, wealth 0.01": lambda data: zoo.freegrad(Logistic(), 0.01),
    "cocob": lambda data: zoo.cocob(Logistic()),
    "nag": lambda data: zoo.nag(Logistic()),
    "newton": lambda data: zoo.newton(Logistic()),
    "newton-diagonal": lambda data: zoo.newton_diagonal(Logistic()),
    "pa": lambda data: zoo.pa(Hinge()),
    "pa, C = 0.01": lambda data: zoo.pa(Hinge(), 0.01),
    "pa-ii": lambda data: zoo.pa_ii(Hinge()),
    "arow": lambda data: zoo.arow(Hinge()),
}


def vowpal_wabbit(data: Data) -> Scores:
    """VW with its defaults and the logistic loss, from a file in its own format."""
    with tempfile.TemporaryDirectory() as folder:
        path, told = Path(folder, "rows.vw"), Path(folder, "scores")
        with open(path, "w") as out:
            for i in range(data.y.size):
                part = slice(data.x.indptr[i], data.x.indptr[i + 1])
                pairs = zip(data.x.indices[part], data.x.data[part], strict=True)
                out.write(f"{data.y[i]:g} | " + " ".join(f"{j}:{v:.9g}" for j, v in pairs) + "\n")
        command = [sys.executable, "-m", "vowpalwabbit", "-d", str(path), "-p", str(told), "--quiet"]
        subprocess.run([*command, "--loss_function", "logistic"], check=True)
        return np.loadtxt(told)


def stochastic_gradient(data: Data) -> Scores:
    """SGDClassifier as it comes, fed row by row."""
    peer, scores = SGDClassifier(random_state=0), np.zeros(data.y.size)
    for i in range(data.y.size):
        if i:
            scores[i] = peer.decision_function(data.x[i : i + 1])[0]
        peer.partial_fit(data.x[i : i + 1], data.y[i : i + 1], classes=[-1.0, 1.0])
    return scores


PEERS: dict[str, Callable[[Data], Scores]] = {
    "Vowpal Wabbit": vowpal_wabbit,
    "SGDClassifier": stochastic_gradient,
}


def error(scores: Scores, data: Data) -> float:
    """The share of rows on the wrong side."""
    return float(np.mean((scores >= 0) != (data.y > 0)))


def certified(run: LinearRun) -> str:
    """Linearised regret and bound a row, against the unit ball, as they stand in the table."""
    for found in run.certificates:
        assert found.holds == found.premises_hold, found
    best, rows = run.certificate, run.rounds
    assert best.linear_regret is not None
    mark = "" if best.premises_hold else " †"
    return f"{best.linear_regret / rows:.4f} ≤ {best.bound / rows:.4f} ({best.id}){mark}"


def measure(name: str, data: Data) -> dict[str, tuple[str, str]]:
    """Errors, and what is certified, of all on one data set."""
    table: dict[str, tuple[str, str]] = {}
    for who, make in LEARNERS.items():
        learner = replace(make(data), bias=1.0)
        if who == "newton" and data.x.shape[1] >= MOST:
            table[who] = "–", "–"
            continue
        begin = time.perf_counter()
        try:
            run = train(learner, data.x, data.y)
        except DivergedError:
            table[who] = "diverged", "–"
            continue
        text = f"{100 * error(run.scores, data):.2f}"
        if isinstance(learner.rule, FTRLProximal):
            text += f" ({np.count_nonzero(run.weights):,} of {run.weights.size:,} weights)"
        table[who] = text, certified(run)
        print(f"{name:<12}{who:<24}{text:<30}{time.perf_counter() - begin:6.1f} s", file=sys.stderr)
    known = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for who, scored in PEERS.items():
        known.setdefault(name, {}).setdefault(who, None)
        if known[name][who] is None:
            known[name][who] = 100 * error(scored(data), data)
            KEPT.parent.mkdir(exist_ok=True)
            KEPT.write_text(json.dumps(known))
        table[who] = f"{known[name][who]:.2f}", ""
        print(f"{name:<12}{who:<24}{table[who][0]}", file=sys.stderr)
    return table


def markdown(tables: dict[str, dict[str, tuple[str, str]]], which: int, rows: list[str]) -> str:
    """One of the two tables."""
    lines = ["| | " + " | ".join(tables) + " |", "|---" * (len(tables) + 1) + "|"]
    lines += [f"| {who} | " + " | ".join(table[who][which] for table in tables.values()) + " |" for who in rows]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure all and write the page's tables."""
    tables = {name: measure(name, data) for name, data in data_sets(Path(sys.argv[1]))}
    page = PAGE.read_text()
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    errors = "Progressive error in per cent:\n\n" + markdown(tables, 0, [*LEARNERS, *PEERS])
    proofs = (
        "\nLinearised regret ≤ bound, per row, against the unit L2 ball (†: a premise fails, and only the linearised "
        "regret is certified):\n\n" + markdown(tables, 1, list(LEARNERS))
    )
    PAGE.write_text(before + BEGIN + "\n" + errors + proofs + "\n" + END + after)


if __name__ == "__main__":
    main()
