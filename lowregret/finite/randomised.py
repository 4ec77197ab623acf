"""Learners of finite classes that need no realisable labels: WeightedMajority, SurrogateHalving, restarts."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from lowregret.certificate import Certificate
from lowregret.errors import DataError, PartError
from lowregret.experts.aggregator import Hedge
from lowregret.experts.panel import ExpertMixture
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import FiniteLearner
from lowregret.loss import Absolute
from lowregret.words import counted


class WeightedMajority(FiniteLearner):
    """ALG-WM over the hypotheses: p_t = Σw_t[i]h_i(x_t), w_t ∝ e^{−η·mistakes}, η = √(8 ln n/T), T = `rounds`

    Expected mistakes ≤ those of any hypothesis + ln n/η + ηt/8 after t rounds, which is √(T ln n/2) in the end
    (THM-1.3), whatever the labels; they may not depend on the coin of their own round. O(n) a round.
    """

    def __init__(self, hypotheses: Hypotheses, rounds: int) -> None:
        super().__init__(hypotheses)
        self.horizon = require_horizon(rounds)
        self.eta = tuned_rate(math.log(len(hypotheses)), rounds)
        self.panel = ExpertMixture(len(hypotheses), Hedge(self.eta), Absolute(), linearised=False)

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        return min(float(self.panel.weights @ self.hypotheses.by_point[x]), 1.0)

    def absorb(self, x: int, y: int, p: float) -> None:
        self.panel.learn(self.hypotheses.by_point[x][None].astype(float), [float(y)])

    @property
    def certificate(self) -> Certificate:
        bound = math.log(len(self.hypotheses)) / self.eta + self.eta * self.rounds / 8
        return self.certify_regret("THM-1.3", "ln n/η + ηt/8", bound)


class SurrogateHalving(FiniteLearner):
    """ALG-SURR-HALVING with η = 1: p_t = 1 iff ⟨w_t,v_t⟩ ≥ ½, v_t = (h_i(x_t))_i; on a mistake w[i] ← w[i]·e^{±2v_t[i]}

    f_t(w) = 2|⟨w,v_t⟩ − y_t| in the rounds with a mistake, F(u) their sum: M ≤ 2F(u) + 2 ln n for every mixture u of
    hypotheses (SURR-M+), best for one of them: F = 2·(its mistakes in those rounds). w[i] ∝ e^{2c[i]} with whole
    numbers c, so that ties are found exactly: O(n) a round.
    """

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.logs = np.zeros(len(hypotheses), np.int64)  # c
        self.surrogates = np.zeros(len(hypotheses), np.int64)  # F at each hypothesis

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        behind = self.logs.max() - self.logs
        signs = np.where(self.hypotheses.by_point[x], 1.0, -1.0)
        majority = np.bincount(behind, weights=signs)  # by weight: those who say 1, less those who say 0
        return float(majority @ np.exp(-2.0 * np.arange(majority.size)) >= 0)

    def absorb(self, x: int, y: int, p: float) -> None:
        if p != y:
            said = self.hypotheses.by_point[x]
            self.logs += np.where(said, 1 if y else -1, 0)
            self.surrogates += 2 * (said != bool(y))

    @property
    def certificate(self) -> Certificate:
        bound = 2.0 * float(self.surrogates.min()) + 2.0 * math.log(len(self.hypotheses))
        return self.certify("SURR-M+", "2F(u) + 2 ln n", bound)


class Restarting(FiniteLearner):
    """ALG-DOUBLING: a learner tuned for 1, 2, 4, … rounds, each begun afresh, where the number of rounds is not known.

    `make(T)` gives the learner of a block of T rounds. Regret against one hypothesis throughout ≤ the sum of the bounds
    of the blocks; for bounds α√T it is at most 3.414α√T.
    """

    def __init__(self, make: Callable[[int], FiniteLearner]) -> None:
        self.make, self.block = make, make(1)
        if self.block.certificate.measure != "regret":
            raise PartError(f"{type(self.block).__name__} needs no restarts: its bound knows no number of rounds")
        self.length = 1
        self.before = 0.0  # the bounds of past blocks
        super().__init__(self.block.hypotheses)

    def predict(self, x: int) -> float:
        if self.block.rounds == self.length:
            self.before += self.block.certificate.bound
            self.length *= 2
            self.block = self.make(self.length)
        return self.block.predict(x)

    def absorb(self, x: int, y: int, p: float) -> None:
        self.block.learn(x, y)

    @property
    def certificate(self) -> Certificate:
        inner = self.block.certificate
        formula = "sum of the bounds of blocks of 1, 2, 4, … rounds (DOUBLING)"
        return self.certify_regret(inner.id, formula, self.before + inner.bound)


def require_horizon(rounds: int) -> int:
    """Refuse what is no number of rounds."""
    if rounds < 1:
        raise PartError(f"rounds is how many will be played, from 1 on, got {rounds}; if unknown, see Restarting")
    return rounds


def require_round_left(played: int, rounds: int) -> None:
    """Refuse a round too many."""
    if played >= rounds:
        raise DataError(f"made for {counted(rounds, 'round')} and no more: say more, or use Restarting if nobody knows")


def tuned_rate(log_experts: float, rounds: int) -> float:
    """η = √(8 ln N/T); with one expert any will do."""
    return math.sqrt(8 * max(log_experts, math.log(2)) / rounds)
