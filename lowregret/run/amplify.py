"""From expectation to high probability: several independent runs, and rows held back to choose the best of them.

If E C(model) ≤ C(u) + ε for u the best of the set in which models lie, C(model) − C(u) is never below 0, and Markov's
inequality says that a run is off by more than 2ε with probability ½ at most; k independent runs all are with
probability 2^{−k}. (Of a u that models may surpass it says nothing: one in a hundred may be better by 100, all others
worse by 1.) Rows held back tell which is good: by
Hoeffding's inequality, for losses in [0, M] and n rows, the chosen model has with probability 1 − δ

    C ≤ C(u) + 2ε + M√(2 ln(4k/δ)/n),   k = ⌈log2(2/δ)⌉                                                    (AMPLIFY)
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lowregret.certificate import Premise
from lowregret.errors import DataError, PartError
from lowregret.learner.linear import Linear
from lowregret.learner.validate import numbers
from lowregret.output import Random
from lowregret.risk.drawn import independence
from lowregret.risk.online_to_batch import RiskCertificate, require_delta
from lowregret.rows import Features, as_rows
from lowregret.run.begin import begin
from lowregret.types import Vector


class Amplified(NamedTuple):
    """The run whose model lost least on the rows held back, the mean losses there of all, and what is proved of it."""

    run: Any
    losses: Vector
    certificate: RiskCertificate


def runs_needed(delta: float) -> int:
    """k = ⌈log2(2/δ)⌉: that all of k runs fail has probability δ/2."""
    require_delta(delta)
    return math.ceil(math.log2(2 / delta))


def amplify(
    learner: Linear,
    features: Features,
    labels: Any,
    *,
    excess: float,
    ceiling: float,
    delta: float = 0.05,
    held: float = 0.5,
    independent: bool = False,
    compiled: bool = True,
) -> Amplified:
    """Train on k shares of the rows, choose by the rows held back, a share `held` of all; a pass over the rows.

    `excess` is ε of one run on its share of the rows, known beforehand (COR-5.2 of a tuned rate on a bounded set:
    promise.bound/T; COR-13) against the best u of the set in which models lie; `ceiling` is M ≥ loss ≥ 0 wherever the
    model can lie. That rows are independent is your word.
    """
    x, k = as_rows(features), runs_needed(delta)
    y = numbers(labels, "labels", x.shape[0])
    back = int(held * y.size)
    share = (y.size - back) // k
    if not (0 < held < 1 and back >= 1 and share >= 1):
        raise DataError(
            f"{y.size} rows are too few for {k} runs and rows held back: give more, or another share `held`"
        )
    if not (excess >= 0 and 0 < ceiling < math.inf):
        raise PartError(f"excess must be ≥ 0 and ceiling a positive number, got {excess} and {ceiling}")
    runs = [begin(_drawing_apart(learner, j), x.shape[1], compiled=compiled) for j in range(k)]
    data, first = np.asarray(features) if isinstance(features, list) else features, k * share
    for j, run in enumerate(runs):
        run.learn(data[j * share : (j + 1) * share], y[j * share : (j + 1) * share])
    lost = [_losses(run, data[first:], y[first:]) for run in runs]
    losses = np.array([float(np.mean(found)) for found in lost])
    told = Premise(f"E C − C(u) ≤ ε = {excess:g} of one run, u the best of {learner.rule.domain.name} (assumed)", True)
    certificate = _certified(lost, excess, ceiling, delta, (independence(independent), told))
    return Amplified(runs[int(np.argmin(losses))], losses, certificate)


def _drawing_apart(learner: Linear, j: int) -> Linear:
    """The learner of run j: a model drawn by its own coins, for with the same ones all runs draw badly together."""
    output = learner.output
    return replace(learner, output=replace(output, seed=output.seed ^ j)) if isinstance(output, Random) else learner


def _certified(
    lost: list[Vector], excess: float, ceiling: float, delta: float, known: tuple[Premise, ...]
) -> RiskCertificate:
    """AMPLIFY, of k models whose losses on the rows held back are given."""
    k, n = len(lost), lost[0].size
    low, high = min(float(found.min()) for found in lost), max(float(found.max()) for found in lost)
    name = f"0 ≤ loss ≤ M = {ceiling:g} (assumed of rows yet to come)"
    inside = Premise(name, low >= 0 and high <= ceiling, (low, high))
    return RiskCertificate(
        "AMPLIFY",
        "C − C(u) ≤ 2ε + M√(2 ln(4k/δ)/n)",
        f"the best of {k} models",
        "excess",
        2 * excess + ceiling * math.sqrt(2 * math.log(4 * k / delta) / n),
        delta,
        (*known, inside),
        details={"runs": float(k), "held": float(n), "excess": excess},
    )


def _losses(run: Any, features: Any, y: Vector) -> Vector:
    """The losses of a run's model on rows, which the run does not learn."""
    pairs = zip(run.decision_function(features).tolist(), y.tolist(), strict=True)
    return np.array([run.learner.loss.at(p, label)[0] for p, label in pairs])
