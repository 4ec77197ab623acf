"""Halving by a convex surrogate where labels need not be realisable, and restarts for unknown numbers of rounds."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.errors import PartError, StoreError
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import FiniteLearner
from lowregret.finite.schema import RESTARTED, RestartingSchema, SurrogateHalvingSchema
from lowregret.learner.validate import is_positive
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.store.kinds import class_of


class SurrogateHalving(FiniteLearner):
    """ALG-SURR-HALVING: p_t = 1 iff ⟨w_t,v_t⟩ ≥ ½, v_t = (h_i(x_t))_i; on a mistake w[i] ← w[i]·e^{±2ηv_t[i]}

    f_t(w) = 2|⟨w,v_t⟩ − y_t| in the rounds with a mistake, F(u) their sum: M ≤ (F(u) + ln n/η)/(1 − η/2) for every
    mixture u of hypotheses (SURR-M+), best for one of them: F = 2·(its mistakes in those rounds). That is 2F + 2 ln n
    for η = 1. The source has M ≤ (F(u) + ln n/η)/(1 − 2η) (SURR-M), and η = ¼: 2F + 8 ln n. w[i] ∝ e^{2ηc[i]} with
    whole numbers c, so that ties are found exactly: O(n) a round.
    """

    kind = "surrogate-halving"
    schema = SurrogateHalvingSchema()

    def __init__(self, hypotheses: Hypotheses, eta: float = 1.0) -> None:
        super().__init__(hypotheses)
        if not (is_positive(eta) and eta < 2):
            raise PartError(f"eta must lie between 0 and 2, for the bound divides by 1 − η/2; got {eta!r}")
        self.eta = float(eta)
        self.logs = np.zeros(len(hypotheses), np.int64)  # c
        self.surrogates = np.zeros(len(hypotheses), np.int64)  # F at each hypothesis

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        behind = self.logs.max() - self.logs
        signs = np.where(self.hypotheses.by_point[x], 1.0, -1.0)
        majority = np.bincount(behind, weights=signs)  # by weight: those who say 1, less those who say 0
        return float(majority @ np.exp(-2.0 * self.eta * np.arange(majority.size)) >= 0)

    def absorb(self, x: int, y: int, p: float) -> None:
        if p != y:
            said = self.hypotheses.by_point[x]
            self.logs += np.where(said, 1 if y else -1, 0)
            self.surrogates += 2 * (said != bool(y))

    @property
    def proof(self) -> Certificate:
        return self.certify("SURR-M+", "(F(u) + ln n/η)/(1 − η/2)", self._owed / (1 - self.eta / 2))

    @property
    def certificates(self) -> list[Certificate]:
        """SURR-M+, and SURR-M as the source has it."""
        slow = Premise("η < ½", self.eta < 0.5, self.eta)
        printed = self._owed / (1 - 2 * self.eta) if slow.holds else math.inf
        return [self.proof, self.certify("SURR-M", "(F(u) + ln n/η)/(1 − 2η)", printed, slow)]

    @property
    def _owed(self) -> float:
        """min_u F(u) + ln n/η"""
        return float(self.surrogates.min()) + math.log(len(self.hypotheses)) / self.eta

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        return description | {"eta": self.eta}, arrays | {"logs": self.logs, "surrogates": self.surrogates}

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        made = cls(Hypotheses.made(found), found.description.get("eta", 1.0))
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
        self.failed: tuple[Premise, ...] = ()  # of past blocks of one's own learner; those that files know have none

    def _begin(self) -> FiniteLearner:
        try:
            block = self.learner(self.hypotheses, self.length) if callable(self.learner) else self.learner
        except TypeError as error:
            raise PartError(
                f"restart what is made by learner(hypotheses, T), as WeightedMajority is: {error}"
            ) from error
        if not isinstance(block, FiniteLearner):
            raise PartError(f"restart a learner such as WeightedMajority, not a {type(block).__name__}")
        return block

    def predict(self, x: int) -> float:
        if self.block.rounds == self.length:
            past = self.block.certificate
            self.before += past.bound + past.rounding
            self.failed += tuple(premise for premise in past.premises if not premise.holds)
            self.length *= 2
            self.block = self._begin()
        return self.block.predict(x)

    def absorb(self, x: int, y: int, p: float) -> None:
        self.block.learn(x, y)

    @property
    def proof(self) -> Certificate:
        inner = self.block.certificate
        formula = "sum of the bounds of blocks of 1, 2, 4, … rounds (DOUBLING)"
        premises = *self.failed, *inner.premises
        return self.certify_regret(inner.id, formula, self.before + inner.bound + inner.rounding, *premises)

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
