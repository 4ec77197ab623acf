"""How often statements on errors fail where they are nearly tight: python -m benchmarks.risk_kinds [--runs 300]

All rows are x = 1, with a label that is −1 with probability q. A model errs with probability q or 1 − q, by what it
says of x, so the mean error of the models that scored a run's rows is known exactly from its scores, whatever kind of
run it is. Runs are asked often: a statement that holds at any time has failed if it ever did, others are judged at the
end. With q·T of some units and δ up to a half, a constant that is too small shows. Ends with an error if a statement
fails more often than chance allows.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

from lowregret import KernelPerceptron, zoo
from lowregret.learner.kernel_perceptron import Gaussian
from lowregret.loss import Hinge
from lowregret.run.begin import begin
from lowregret.run.doubling import doubling
from lowregret.run.kernel import KernelRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.structured import Classes, StructuredRun, structured_perceptron
from lowregret.types import Vector

ROWS, ASKED = 256, 16  # rows of a run, and how often it is asked
SHARES = (1 / ROWS, 3 / ROWS, 0.05, 0.5)  # q
DELTAS = (0.5, 0.05)
KERNEL = KernelPerceptron(Gaussian(1.0))
SURE = 1e-6  # the chance that statements that are true are said to fail too often

WORD = ("kernel perceptron", "structured perceptron")  # kinds that take your word for independence

KINDS: dict[str, Callable[[], Any]] = {
    "ogd": lambda: begin(zoo.ogd_eager(Hinge(), eta=1e-9), 1),
    "ogd, late": lambda: begin(zoo.ogd_eager(Hinge(), eta=1e-9), 1, delay=7),
    "ogd, restarted": lambda: doubling(zoo.ogd_eager(Hinge(), eta=1.0), 1),
    "perceptron": lambda: begin(zoo.perceptron(), 1),
    "classes, perceptron": lambda: begin(zoo.mc_perceptron(), 1),
    "classes, late": lambda: begin(zoo.mc_perceptron(), 1, delay=7),
    "kernel perceptron": lambda: KernelRun(KERNEL, KERNEL.start(1)),
    "structured perceptron": lambda: StructuredRun.begin(structured_perceptron(Classes(2)), 1, None, True),
    "auto": lambda: begin(zoo.auto(), 1),
}


def said(run: Any, labels: Vector) -> Vector:
    """Learn rows x = 1 with these labels; returns scores that are positive where +1 was predicted, 0 where neither."""
    x = np.ones((labels.size, 1))
    if isinstance(run, StructuredRun):
        return np.where(run.learn(x, (labels > 0).astype(int)).predictions == 1, 1.0, -1.0)
    if isinstance(run.learn(x, labels), MulticlassRun):
        return np.array([float(run.classes.names[k]) if k >= 0 else 0.0 for k in run.guesses.tolist()])
    return np.array(run.scores)


def true_errors(name: str, scores: Vector, q: float) -> Vector:
    """The errors of the models that gave these scores; the Perceptron's score of 0 is wrong whatever the label."""
    errors = np.where(scores >= 0, q, 1 - q)
    return np.where(scores == 0, 1.0, errors) if "perceptron" in name or "classes" in name else errors


def failures(name: str, q: float, rng: np.random.Generator) -> dict[tuple[str, float], bool]:
    """Whether each statement failed in one run, by its ID and δ."""
    run, scores, failed = KINDS[name](), np.empty(0), dict[tuple[str, float], bool]()
    y = np.where(rng.random(ROWS) < q, -1.0, 1.0)
    for end in np.cumsum(np.full(ASKED, ROWS // ASKED)).tolist():
        scores = np.append(scores, said(run, y[scores.size : end]))
        truth = float(np.mean(true_errors(name, scores[: run.rounds], q))) if run.rounds else 0.0
        for delta in DELTAS:
            for c in run.risks(delta, independent=True) if name in WORD else run.risks(delta):
                if c.premises_hold and c.delta is not None and (c.anytime or end == ROWS):
                    key = c.id, delta
                    failed[key] = failed.get(key, False) or truth > c.bound * (1 + 1e-12)
    return failed


def measure(name: str, q: float, runs: int, rng: np.random.Generator) -> bool:
    """Print how often statements of one kind of run failed; whether none failed too often."""
    found: dict[tuple[str, float], list[bool]] = {}
    for _ in range(runs):
        for key, failed in failures(name, q, rng).items():
            found.setdefault(key, []).append(failed)
    kept = True
    for (statement, delta), outcomes in found.items():
        fine = bool(sum(outcomes) <= binom.ppf(1 - SURE, len(outcomes), delta))
        kept &= fine
        told = f"{name}, q = {q:.4f}, δ = {delta}: {statement} fails in {np.mean(outcomes):.1%} of {len(outcomes)} runs"
        print(told + ("" if fine else ": too often"), flush=True)
    return kept


def main() -> int:
    """Measure all kinds, and say whether every statement kept its promise."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--runs", type=int, default=300)
    arguments.add_argument("--seed", type=int, default=0)
    args = arguments.parse_args()
    rng = np.random.default_rng(args.seed)
    kept = [measure(name, q, args.runs, rng) for name in KINDS for q in SHARES]
    return 0 if all(kept) else 1


if __name__ == "__main__":
    sys.exit(main())
