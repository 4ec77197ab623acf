"""A learner over somebody else's log: as it would have gone online (rejection), and what it learns from all of it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.bandit.algorithm import BanditAlgorithm
from lowregret.bandit.bandit import Bandit
from lowregret.bandit.exp3 import Exp3, Exp3IX
from lowregret.bandit.log import BanditLog
from lowregret.bandit.stochastic import Thompson, Ucb1
from lowregret.bandit.tsallis import TsallisInf
from lowregret.bandit.value import ASSUMES, AZUMA, Estimate, require_delta
from lowregret.errors import DataError, PartError
from lowregret.run.lags import checked_delay
from lowregret.types import Vector
from lowregret.words import counted

NAMES = ("exp3", "exp3-ix", "tsallis-inf", "ucb1", "thompson")


@dataclass(frozen=True)
class Replayed:
    """The learner afterwards, which rows it was given, and the running mean of what they brought."""

    bandit: Bandit
    kept: Any  # one flag per row
    running: Vector  # mean value of the kept rows so far
    estimate: Estimate | None  # None if no row was kept


def replay(
    log: BanditLog, algorithm: BanditAlgorithm, *, seed: int = 0, delta: float = 0.05, delay: int = 0
) -> Replayed:
    """Choose in every row; a row counts where the logged arm is the chosen one (Li, Chu, Langford, Wang 2011).

    With uniform logging and independent rows, the rows that count are as if the learner had been online: about n/K of
    them. The interval is for the mean of their expected values, whatever the learner did (Azuma), for a fixed number.
    With a `delay`, the learner hears what a choice brought after that many more which count, as it would online.
    """
    require_delta(delta)
    checked_delay(delay)
    if not log.uniform:
        low, high = np.min(log.propensities), np.max(log.propensities)
        raise DataError(
            f"rejection replay needs uniform logging, these propensities go from {low:.3g} to {high:.3g} "
            f"with {counted(len(log.names), 'arm')}: "
            "learn from the log with its propensities instead (Bandit.learn_log), or evaluate policies with ips"
        )
    bandit = Bandit(len(log.names), algorithm, seed=seed, low=log.low, high=log.high)
    kept = bandit.replay(log.arms, log.costs, delay)
    values = log.values[kept]
    running = np.cumsum(values) / np.arange(1, values.size + 1)
    return Replayed(bandit, kept, running, _online(log, values, delta) if values.size else None)


def _online(log: BanditLog, values: Vector, delta: float) -> Estimate:
    n, mean = values.size, float(np.mean(values))
    half = log.unit * math.sqrt(math.log(2 / delta) / (2 * n))
    return Estimate(
        "replay", mean, max(mean - half, log.low), min(mean + half, log.high), AZUMA, n, float(n), ASSUMES[AZUMA]
    )


def learn_from(log: BanditLog, algorithm: BanditAlgorithm, *, seed: int = 0) -> Bandit:
    """A bandit that has learnt from all rows, each weighed by its logged propensity."""
    return Bandit(len(log.names), algorithm, seed=seed).learn_log(log.arms, log.costs, log.propensities)


def make_algorithm(name: str, arms: int, rounds: int, eta: float | None = None) -> BanditAlgorithm:
    """An algorithm by name, tuned for these many rounds unless η is given."""
    if eta is not None and name not in ("exp3", "exp3-ix"):
        raise PartError(f"{name} has no learning rate: leave eta out")
    match name:
        case "exp3":
            return Exp3.tuned(arms, rounds) if eta is None else Exp3(eta)
        case "exp3-ix":
            return Exp3IX.tuned(arms, rounds) if eta is None else Exp3IX(eta, eta / 2)
        case "tsallis-inf":
            return TsallisInf()
        case "ucb1":
            return Ucb1()
        case "thompson":
            return Thompson()
    raise PartError(f"there is no bandit algorithm {name!r}: choose among {', '.join(NAMES)}")


def expected_rounds(log: BanditLog) -> int:
    """How many rows a replay will keep, about."""
    return max(round(len(log) * float(log.propensities[0])), 1)
