"""regret ≤ linearised regret ≤ bound on real data, for every learner: python -m benchmarks.nested DATA_FOLDER

Learns a9a, farm_ads, enron_spam and elec2 with hinge, logistic and square loss, finds the best fixed choice in
hindsight with its gap, and writes the three numbers to docs/nested.md. Ends with an error if they are not nested.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from tqdm import tqdm

from lowregret import Hinge, L1Ball, L2Ball, Logistic, LqBall, Square, read, train, zoo
from lowregret.certificate import natural_comparator
from lowregret.convex.minimise import Solution
from lowregret.domain import Domain
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.linear import Linear
from lowregret.loss import Loss

OUT = Path(__file__).resolve().parents[1] / "docs" / "nested.md"
RADII = (1.0, 10.0, 100.0)
LOSSES: tuple[Loss, ...] = (Hinge(), Logistic(), Square())
WIDE, LONG = 600, 10_000  # coordinates, rows
NEAR = 1e-3  # how near to the least loss in hindsight, a row


class Data(NamedTuple):
    """All rows of a file."""

    x: Any
    y: Any

    @property
    def length(self) -> float:
        """√(mean ‖x‖²)"""
        return float(np.sqrt((self.x.data**2).sum() / self.x.shape[0]))


def data_sets(folder: Path) -> Iterator[tuple[str, Data]]:
    yield "a9a", rows(folder / "a9a.svm.gz")
    yield "elec2", rows(folder / "elec2.csv.gz", target="class", positive="UP", bits=10)
    yield "farm_ads", rows(folder / "farm_ads.svm.gz")
    yield "enron_spam", rows(folder / "enron_spam.svm.gz")


def rows(path: Path, **options: Any) -> Data:
    parts, labels = [], []
    for batch in read(str(path), **options).batches():
        x = batch.rows
        parts.append((np.diff(x.indptr), x.indices.copy(), x.data.copy()))
        labels.append(batch.labels.copy())
    counts, columns, values = (np.concatenate([part[k] for part in parts]) for k in range(3))
    used, columns = np.unique(columns, return_inverse=True)
    starts = np.concatenate([[0], np.cumsum(counts)])
    return Data(sparse.csr_matrix((values, columns, starts), (counts.size, used.size)), np.concatenate(labels))


def learners(data: Data, radius: float, loss: Loss) -> dict[str, Linear]:
    """Every algorithm that learns any loss, with rates that suit the set: η = B/(G√T), G a bound on sub-gradients."""
    rounds, d = data.x.shape
    slope = loss.lipschitz if math.isfinite(loss.lipschitz) else 2 * (1 + radius * data.length)
    steep = slope * data.length
    eta = radius / (steep * rounds**0.5)
    largest = float(abs(data.x.data).max())
    lam, ball = steep / (radius * rounds**0.5), L2Ball(radius)
    return {
        "ogd": zoo.ogd(loss),
        "ogd-lazy": zoo.ogd_lazy(loss, eta, radius),
        "ogd-eager": zoo.ogd_eager(loss, eta, radius),
        "ogd-sqrt": zoo.ogd_sqrt(loss, 2**0.5 * radius / steep, radius),
        "ogd-sc": zoo.ogd_sc(loss, lam, ball),
        "ogd-scw": zoo.ogd_scw(loss, lam, ball),
        "eg": zoo.eg(loss, (2 * math.log(d) / rounds) ** 0.5 / (slope * largest), radius),
        "pnorm": zoo.pnorm(loss, min(eta, 0.1 / (slope * data.length**2)), 3.0),
    }


def best_choice(loss: Loss, data: Data, comparator: Domain, weighted: bool, ridge: float) -> Solution:
    """The best fixed choice, near enough: roughly first, for that is often near enough already.

    What takes minutes gets a good choice only: in an L1 ball of many coordinates that of the L2 ball, made to fit; for
    the square loss of many rows in the largest ball that of a smaller one.
    """
    rows, columns = data.x.shape
    if isinstance(comparator, L1Ball) and columns > WIDE:
        found = best_choice(loss, data, L2Ball(comparator.radius), weighted, ridge)
        return Solution(found.w * (comparator.radius / max(np.abs(found.w).sum(), 1e-300)), math.nan, math.inf)
    hard = isinstance(loss, Square) and columns > WIDE and rows > LONG
    if hard and isinstance(comparator, L2Ball) and comparator.radius > RADII[1]:
        return best_choice(loss, data, L2Ball(RADII[1]), weighted, ridge)._replace(gap=math.inf)
    weights = np.arange(data.y.size) + 2.0 if weighted else None
    allowed = NEAR * (data.y.size if weights is None else weights.sum())
    rough = best_in_hindsight(loss, data.x, data.y, comparator, weights, ridge, tolerance=1.0)
    if rough.gap <= allowed:
        return rough
    finer = allowed / (1 + abs(rough.value))
    return best_in_hindsight(loss, data.x, data.y, comparator, weights, ridge, tolerance=finer)


class Nested(NamedTuple):
    """Three numbers, per row, and how far the first may be off."""

    regret: float
    gap: float
    linear: float
    bound: float
    theorem: str

    @property
    def holds(self) -> bool:
        slack = 1e-9 * (1 + abs(self.bound))
        return self.regret <= self.linear + slack and self.linear <= self.bound + slack


def measured(learner: Linear, comparator: Domain, data: Data, best: Callable[..., Solution]) -> Nested:
    """One run against the best fixed choice. Ridges and weights of rounds are part of what is minimised."""
    run = train(learner, data.x, data.y, comparator=comparator)
    certificate = run.certificate
    rounds, step = run.rounds, learner.rule.schedule()
    weights = np.diff([step.total_importance(t) for t in range(rounds + 1)]) if step.weighted() else None
    found = best(comparator, weights is not None, learner.ridge * step.total_importance(rounds), weights)
    regret = run.regret(found.w, data.x, data.y)
    unit = step.total_importance(rounds) if step.weighted() else 1.0
    share = 1.0 if step.weighted() else 1.0 / rounds
    assert certificate.linear_regret is not None
    return Nested(
        share * regret,
        share * found.gap / unit,
        share * certificate.linear_regret,
        share * certificate.bound,
        certificate.id,
    )


def table(name: str, cells: dict[tuple[str, str], list[Nested]]) -> str:
    lines = [
        f"## {name}",
        "",
        "| data | loss | " + " | ".join(f"radius {radius:g}" for radius in RADII) + " |",
        "|---|---|" + "---|" * len(RADII),
    ]
    for (data, loss), found in cells.items():
        shown = [
            f"{'' if math.isfinite(n.gap) else '≥ '}{n.regret:.4g} ≤ {n.linear:.4g} ≤ {n.bound:.4g} ({n.theorem})"
            for n in found
        ]
        lines.append(f"| {data} | {loss} | " + " | ".join(shown) + " |")
    return "\n".join(lines)


def main(folder: Path) -> int:
    results: dict[str, dict[tuple[str, str], list[Nested]]] = {}
    wrong = []
    for name, data in data_sets(folder):
        for loss in LOSSES:

            @cache
            def solved(
                comparator: Domain, weighted: bool, ridge: float, loss: Loss = loss, data: Data = data
            ) -> Solution:
                return best_choice(loss, data, comparator, weighted, ridge)

            for radius in RADII:
                for title, learner in tqdm(learners(data, radius, loss).items(), f"{name} {loss} {radius:g}"):
                    comparator = natural_comparator(learner, data.x.shape[1], radius)
                    if isinstance(comparator, LqBall):
                        comparator = L1Ball(radius)
                    nested = measured(
                        learner, comparator, data, lambda c, weighted, ridge, _: solved(c, weighted, ridge)
                    )
                    key = (name, type(loss).__name__.lower())
                    results.setdefault(title, {}).setdefault(key, []).append(nested)
                    if not nested.holds:
                        wrong.append(f"{title} {key} radius {radius:g}: {nested}")
        OUT.write_text(f"{HEAD}\n\n" + "\n\n".join(table(*item) for item in results.items()) + "\n")
    print(f"{sum(len(c) for t in results.values() for c in t.values())} runs, {len(wrong)} not nested; {OUT}")
    print("\n".join(wrong), file=sys.stderr)
    return 1 if wrong else 0


HEAD = """# regret ≤ linearised regret ≤ bound

Written by `python -m benchmarks.nested`. Per row; the regret is against the best fixed choice in hindsight of the L2
ball, for `eg` of the simplex and for `pnorm` of the L1 ball, as a solver found it: what is exact lies at most 0.001
above the number shown. For `ogd-sc` and `ogd-scw` the ridge is part of the loss, and `ogd-scw` weighs later rows more.
In brackets, the theorem. After ≥ stands the regret against a good choice, not the best one."""


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "../shared/data")))
