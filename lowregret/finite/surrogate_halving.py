"""Halving by a convex surrogate where labels need not be realisable, and restarts for unknown numbers of rounds."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate
from lowregret.errors import PartError, StoreError
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import FiniteLearner
from lowregret.finite.schema import RESTARTED, RestartingSchema, SurrogateHalvingSchema
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.store.kinds import class_of


class SurrogateHalving(FiniteLearner):
    """ALG-SURR-HALVING with η = 1: p_t = 1 iff ⟨w_t,v_t⟩ ≥ ½, v_t = (h_i(x_t))_i; on a mistake w[i] ← w[i]·e^{±2v_t[i]}

    f_t(w) = 2|⟨w,v_t⟩ − y_t| in the rounds with a mistake, F(u) their sum: M ≤ 2F(u) + 2 ln n for every mixture u of
    hypotheses (SURR-M+), best for one of them: F = 2·(its mistakes in those rounds). w[i] ∝ e^{2c[i]} with whole
    numbers c, so that ties are found exactly: O(n) a round.
    """

    kind = "surrogate-halving"
    schema = SurrogateHalvingSchema()

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
    def proof(self) -> Certificate:
        bound = 2.0 * float(self.surrogates.min()) + 2.0 * math.log(len(self.hypotheses))
        return self.certify("SURR-M+", "2F(u) + 2 ln n", bound)

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        return description, arrays | {"logs": self.logs, "surrogates": self.surrogates}

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        made = cls(Hypotheses.made(found))
        made.logs, made.surrogates = found.arrays["logs"], found.arrays["surrogates"]
        return made


class Restarting(FiniteLearner):
    """ALG-DOUBLING: a learner tuned for 1, 2, 4, … rounds, each begun afresh, where the number of rounds is not known.

    `learner(hypotheses, T)` is the learner of a block of T rounds: `WeightedMajority`, `Agnostic`, or a class of your
    own. Regret against one hypothesis throughout ≤ the sum of the bounds of the blocks; for bounds α√T it is at most
    3.414α√T.
    """

    kind = "restarting"
    schema = RestartingSchema()

    def __init__(self, learner: Any, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.learner, self.length = learner, 1
        self.block = self._begin()
        if self.block.certificate.measure != "regret":
            raise PartError(f"{type(self.block).__name__} needs no restarts: its bound knows no number of rounds")
        self.before = 0.0  # the bounds of past blocks

    def _begin(self) -> FiniteLearner:
        block = self.learner(self.hypotheses, self.length)
        if not isinstance(block, FiniteLearner):
            raise PartError(f"restart a learner such as WeightedMajority, not a {type(block).__name__}")
        return block

    def predict(self, x: int) -> float:
        if self.block.rounds == self.length:
            self.before += self.block.certificate.bound
            self.length *= 2
            self.block = self._begin()
        return self.block.predict(x)

    def absorb(self, x: int, y: int, p: float) -> None:
        self.block.learn(x, y)

    @property
    def proof(self) -> Certificate:
        inner = self.block.certificate
        formula = "sum of the bounds of blocks of 1, 2, 4, … rounds (DOUBLING)"
        return self.certify_regret(inner.id, formula, self.before + inner.bound)

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        kind = getattr(self.learner, "kind", None)
        if kind not in RESTARTED or class_of(kind) is not self.learner:
            raise StoreError(f"{self.learner!r} is no learner that files can name: it can be played but not saved")
        description, arrays = super()._written()
        inner, kept = self.block.contents()
        description |= {"learner": kind, "block": inner, "length": self.length, "before": self.before}
        return description, arrays | prefixed("block", kept)

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        kind, length, before = found.tell("learner", "length", "before")
        made = cls(class_of(kind), Hypotheses.made(found))
        made.block = made.learner.from_contents(found.inner("block"))
        made.length, made.before = length, before
        return made
