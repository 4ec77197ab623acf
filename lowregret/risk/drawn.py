"""Risk of runs whose rows were not looked at for independence: kernels, structures, games. The premise is your word."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.certificate import Premise
from lowregret.output import Average, Output, Random, WeightedAverage
from lowregret.risk.bounds import HUGE, INDEPENDENT
from lowregret.risk.online_to_batch import (
    AVERAGE,
    DRAWN,
    WEIGHTED,
    RiskCertificate,
    cor_5_2,
    o2b_eb,
    o2b_hp,
    o2b_small,
    require_delta,
    thm_5_1,
)
from lowregret.types import Vector

WORD = "your word: say independent=True if it is so"
NAMES: dict[type[Output], str] = {Average: AVERAGE, WeightedAverage: WEIGHTED, Random: DRAWN}


def independence(given: bool) -> Premise:
    """The premise that rounds are independent, which nobody looked at."""
    return Premise(INDEPENDENT, bool(given), WORD)


def error_risks(
    mistakes: float, rounds: int, delta: float, premises: Sequence[Premise], regret: float | None = None
) -> list[RiskCertificate]:
    """Bounds on the error of a model drawn from the run, which made these mistakes: O2B-EB, O2B-HP and O2B-SMALL.

    Of O2B-EB the guesses m_t are 0, so that V is the number of mistakes. With the linearised regret also COR-5.2.
    """
    require_delta(delta)
    if not rounds:
        return []
    said: dict[str, Any] = {"output": DRAWN, "of": "error"}
    log_inverse = math.log(1 / delta)
    found = [
        o2b_eb(mistakes, mistakes, rounds, 1.0, log_inverse, delta, **said),
        o2b_hp(mistakes, rounds, rounds, 1.0, log_inverse, delta, **said),
        o2b_small(mistakes, rounds, delta, **said),
        thm_5_1(mistakes / rounds, **said),
    ]
    found = [replace(c, bound=min(c.bound, 1.0)) for c in found]
    if regret is not None:
        found.append(cor_5_2(regret, rounds, output=DRAWN))
    return [replace(c, premises=(*c.premises, *premises)) for c in found]


def game_risks(
    losses: Vector,
    output: Output,
    delta: float,
    ceiling: float | None,
    excess: float | None,
    premises: Sequence[Premise],
) -> list[RiskCertificate]:
    """Stochastic convex optimisation: bounds on C = E f of the output, f_t independent draws of f.

    THM-5.1 and, with the mean regret `excess` in the output's weights, COR-5.2 in expectation; with f ∈ [0, M] on the
    set that was played, M = `ceiling`, O2B-EB and O2B-HP with probability 1 − δ each.
    """
    require_delta(delta)
    rounds, name = losses.size, NAMES.get(type(output))
    if name is None or not rounds:
        return []
    c = np.array([output.weight(t) for t in range(1, rounds + 1)]) if name == WEIGHTED else np.ones(rounds)
    total, said = float(c @ losses), {"output": name, "of": "loss"}
    found: list[RiskCertificate] = []
    if ceiling is not None and float(np.max(c, initial=1.0)) * ceiling < HUGE:  # squares would overflow
        inside = Premise(
            f"0 ≤ f ≤ M = {ceiling:g} (assumed on the whole set, seen at the points played)",
            bool(np.all((losses >= 0) & (losses <= ceiling))),
            (float(losses.min()), float(losses.max())),
        )
        before = np.append(0.0, np.cumsum(losses)[:-1]) / np.maximum(np.arange(rounds), 1)
        spread = float(np.sum((c * (losses - before)) ** 2))
        heaviest, log_inverse = float(c.max()) * max(ceiling, 1 / HUGE), math.log(1 / delta)
        found = [
            o2b_eb(total, spread, float(c.sum()), heaviest, log_inverse, delta, **said),
            o2b_hp(total, float(c.sum()), float(c @ c), ceiling, log_inverse, delta, **said),
        ]
        found = [replace(x, premises=(inside,), anytime=x.anytime and name != WEIGHTED) for x in found]
    found.append(thm_5_1(total / float(c.sum()), **said))
    if excess is not None:
        found.append(cor_5_2(excess, 1, output=name))
    return [replace(x, premises=(*x.premises, *premises)) for x in found]
