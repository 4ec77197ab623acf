"""How often the risk certificates fail, and how loose they are: python -m benchmarks.risk [--runs 500] [--data DIR]

Many runs on rows drawn with replacement from a9a, whose mean over all rows is then the true risk, and from a Gaussian
source whose error is known exactly. A certificate at δ = 0.05 may fail in 5 % of the runs. Prints the table of
docs/risk.md, writes out/risk.json and out/risk.png, and ends with an error if a certificate fails too often.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_svmlight_file

from benchmarks.speed import OUT
from lowregret import zoo
from lowregret.domain import L2Ball
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge, Logistic, OnMistakes
from lowregret.output import Average, Random, WeightedAverage
from lowregret.risk.online_to_batch import AVERAGE, DRAWN, WEIGHTED
from lowregret.rule import MirrorDescent
from lowregret.run.linear import LinearRun
from lowregret.train import train

DELTA, ROUNDS = 0.05, 4000
NOISE, DIMENSION = 0.1, 20
CONTROL = "none: the error as seen"  # about half of the runs must belie it, or this benchmark could not see a failure
Key = tuple[str, str, str, str]  # source, what, certificate, learner


class Source(NamedTuple):
    """Where rows come from, and the true error and loss of models (one a row); the loss only where it is known."""

    name: str
    draw: Callable[[np.random.Generator], tuple[Any, Any]]
    truth: Callable[[Any, Linear], dict[str, Any]]
    stretches: int = 0  # of a run, from each of which one iterate is judged; 0: all are


def a9a(folder: Path) -> Source:
    """Rows of a9a, with replacement."""
    x, y = load_svmlight_file(str(folder / "a9a.svm.gz"), n_features=124)
    dense = x.toarray().astype(np.float32)

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        at = rng.integers(0, y.size, ROUNDS)
        return x[at], y[at]

    def truth(models: Any, learner: Linear) -> dict[str, Any]:
        margins = y[:, None].astype(np.float32) * (dense @ models.T.astype(np.float32))
        ties = isinstance(learner.loss, OnMistakes) | (y[:, None] < 0)  # the Perceptron counts a zero score as wrong
        wrong = (margins < 0) | ((margins == 0) & ties)
        losses = np.maximum(1 - margins, 0) if isinstance(learner.loss, Hinge) else np.logaddexp(0, -margins)
        return {"error": np.mean(wrong, axis=0), "loss": np.mean(losses, axis=0)}

    return Source("a9a", draw, truth, stretches=100)


def gaussian() -> Source:
    """x ~ N(0, I/d), y = sign⟨u, x⟩, wrong with probability ρ: err(w) = ρ + (1 − 2ρ)·angle(u, w)/π."""
    u = np.ones(DIMENSION) / DIMENSION**0.5

    def draw(rng: np.random.Generator) -> tuple[Any, Any]:
        x = rng.normal(size=(ROUNDS, DIMENSION)) / DIMENSION**0.5
        return x, np.where((x @ u >= 0) != (rng.random(ROUNDS) < NOISE), 1.0, -1.0)

    def truth(models: Any, learner: Linear) -> dict[str, Any]:
        length = np.linalg.norm(models, axis=1)
        cosine = np.divide(models @ u, length, out=np.zeros_like(length), where=length > 0)
        return {"error": NOISE + (1 - 2 * NOISE) * np.arccos(np.clip(cosine, -1, 1)) / np.pi}

    return Source("Gaussian", draw, truth)


LEARNERS = {
    "ogd, hinge, average": zoo.ogd(Hinge(), output=Average()),
    "ogd, logistic, average": zoo.ogd(Logistic(), output=Average()),
    "ogd-scw, hinge, weighted": zoo.ogd_scw(Hinge(), 0.05, L2Ball(4.0), WeightedAverage()),
    "perceptron, random": zoo.perceptron(Random(0)),
}


def directions(run: LinearRun, x: Any, y: Any) -> Any:
    """θ_1 … θ_T, of which the iterates of Euclidean mirror descent are positive multiples, as good for errors."""
    scored = zip(run.scores.tolist(), y.tolist(), strict=True)
    slopes = np.array([run.learner.loss.at(p, label)[1] for p, label in scored])
    dense = x if isinstance(x, np.ndarray) else x.toarray()
    return np.vstack([np.zeros(x.shape[1]), -np.cumsum(slopes[:, None] * dense, axis=0)[:-1]])


def mean_error(source: Source, run: LinearRun, x: Any, y: Any, rng: np.random.Generator) -> float:
    """Of the run's iterates: of all, or of one drawn from each of so many equal stretches."""
    points = directions(run, x, y)
    if source.stretches:
        length = ROUNDS // source.stretches
        points = points[np.arange(0, ROUNDS, length) + rng.integers(0, length, source.stretches)]
    return float(np.mean(source.truth(points, run.learner)["error"]))


def measure(source: Source, runs: int, found: dict[Key, list[tuple[float, float]]]) -> None:
    """(truth, bound) of every certificate in every run."""
    rng = np.random.default_rng(1)
    for turn in range(runs):
        x, y = source.draw(rng)
        for name, learner in LEARNERS.items():
            run = train(learner, x, y)
            own = source.truth(run.weights[None], learner)
            truth = {(output, of): float(own[of][0]) for output in (AVERAGE, WEIGHTED) for of in own}
            if isinstance(learner.rule, MirrorDescent):
                truth[DRAWN, "error"] = mean_error(source, run, x, y, rng)
                key = source.name, f"error of {DRAWN}", CONTROL, name
                found.setdefault(key, []).append((truth[DRAWN, "error"], float(run.error or 0.0)))
            for c in run.risks(DELTA):
                if c.delta is not None and c.premises_hold and (c.output, c.of) in truth:
                    key = source.name, f"{c.of} of {c.output}", c.id, name
                    found.setdefault(key, []).append((truth[c.output, c.of], c.bound))
        if turn % 50 == 49:
            print(f"{source.name}: {turn + 1} runs", file=sys.stderr)


def rows(found: dict[Key, list[tuple[float, float]]]) -> Iterable[dict[str, Any]]:
    """One line of the table for each certificate."""
    for (source, what, name, learner), pairs in found.items():
        truth, bound = np.array(pairs).T
        yield {
            "source": source, "learner": learner, "what": what, "certificate": name, "runs": len(pairs),
            "violated": float(np.mean(truth > bound)), "truth": float(truth.mean()), "bound": float(bound.mean()),
        }  # fmt: skip


def table(lines: list[dict[str, Any]]) -> str:
    """As it stands in docs/risk.md."""
    head = "| source | learner | what | certificate | runs | violated | truth | bound | ratio |\n" + "|---" * 9
    body = [
        f"| {r['source']} | {r['learner']} | {r['what']} | {r['certificate']} | {r['runs']} | {r['violated']:.1%} | "
        f"{r['truth']:.4f} | {r['bound']:.4f} | {r['bound'] / r['truth']:.2f} |"
        for r in lines
    ]
    return "\n".join([head + "|", *body])


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    """Truth and bound of each certificate, a panel for each source and learner."""
    from matplotlib.figure import Figure

    groups: dict[str, list[dict[str, Any]]] = {}
    for r in lines:
        groups.setdefault(f"{r['source']}: {r['learner']}", []).append(r)
    heights = [len(group) + 1.5 for group in groups.values()]
    figure = Figure(figsize=(9, 0.28 * sum(heights) + 1), layout="constrained")
    panels = figure.subplots(len(groups), sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (title, group) in zip(panels, groups.items(), strict=True):
        names = [f"{r['what'].replace(DRAWN, 'a drawn model')}, {r['certificate']}" for r in group]
        truth, bound = ([r[key] for r in group] for key in ("truth", "bound"))
        axes.hlines(names, truth, bound, color="0.7")
        axes.plot(truth, names, "o", label="truth")
        axes.plot(bound, names, "|", markersize=10, label="bound")
        axes.set_title(title, fontsize="medium", loc="left")
        axes.set_ylim(len(group) - 0.5, -0.5)
    panels[0].legend()
    panels[0].set_xlim(0, 1.05 * max(r["bound"] for r in lines))
    panels[-1].set_xlabel(f"mean over the runs, T = {ROUNDS}, δ = {DELTA}")
    figure.savefig(path, dpi=150)


def main() -> int:
    """Measure, print, and say whether every certificate kept its promise."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--runs", type=int, default=500)
    arguments.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder of real sets")
    args = arguments.parse_args()
    sources = [gaussian()]
    if (args.data / "a9a.svm.gz").exists():
        sources.insert(0, a9a(args.data))
    else:
        print(f"no {args.data / 'a9a.svm.gz'}: left out", file=sys.stderr)
    found: dict[Key, list[tuple[float, float]]] = {}
    for source in sources:
        measure(source, args.runs, found)
    lines = list(rows(found))
    print(table(lines))
    OUT.mkdir(exist_ok=True)
    (OUT / "risk.json").write_text(json.dumps(lines, indent=2, ensure_ascii=False))
    draw(lines, OUT / "risk.png")
    broken = [r for r in lines if (r["violated"] < 0.2 if r["certificate"] == CONTROL else r["violated"] > DELTA)]
    for r in broken:
        print(f"error: {r['certificate']} of {r['what']} fails in {r['violated']:.1%} of the runs", file=sys.stderr)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
