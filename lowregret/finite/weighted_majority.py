"""Weighted Majority over the hypotheses of a finite class, whatever the labels, for a known number of rounds."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

from lowregret.certificate import Certificate, Promise
from lowregret.certificate.mistakes import best_first
from lowregret.errors import DataError, PartError
from lowregret.experts.aggregator import Hedge
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.promise import promised
from lowregret.experts.small_loss import small_losses
from lowregret.experts.state import SECOND
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import FiniteLearner
from lowregret.finite.schema import WeightedMajoritySchema
from lowregret.learner.validate import is_whole
from lowregret.loss import Absolute
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.words import counted


class WeightedMajority(FiniteLearner):
    """ALG-WM over the hypotheses: p_t = Σw_t[i]h_i(x_t), w_t ∝ e^{−η·mistakes}, η = √(8 ln n/T), T = `rounds`

    Expected mistakes ≤ those of any hypothesis + ln n/η + ηt/8 after t rounds, which is √(T ln n/2) in the end
    (THM-1.3), whatever the labels; they may not depend on the coin of their own round. Where the best hypothesis errs
    L times, they are at most (ηL + ln n)/(1 − e^{−η}) as well (THM-3.1). O(n) a round.
    """

    kind = "weighted-majority"
    schema = WeightedMajoritySchema()

    def __init__(self, hypotheses: Hypotheses, rounds: int) -> None:
        super().__init__(hypotheses)
        self.horizon = require_horizon(rounds)
        self.eta = tuned_rate(math.log(len(hypotheses)), rounds)
        self.mixture = ExpertMixture(len(hypotheses), Hedge(self.eta), Absolute(), linearised=False)

    @property
    def promise(self) -> Promise:
        """√(T ln n/2), known before the first round (THM-1.3)."""
        return replace(promised(Hedge(self.eta), len(self.hypotheses), self.horizon), id="THM-1.3")

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        return min(float(self.mixture.weights @ self.hypotheses.by_point[x]), 1.0)

    def absorb(self, x: int, y: int, p: float) -> None:
        self.mixture.learn(self.hypotheses.by_point[x][None].astype(float), [float(y)])

    @property
    def proof(self) -> Certificate:
        bound = math.log(len(self.hypotheses)) / self.eta + self.eta * self.rounds / 8
        return self.certify_regret("THM-1.3", "ln n/η + ηt/8", bound)

    @property
    def certificates(self) -> list[Certificate]:
        """THM-1.3 and the forms of THM-3.1, which are smaller where the best hypothesis errs little."""
        s, least = self.mixture.book, float(self.errors.min())
        found = small_losses(self.eta, self.rounds, self.errors.astype(float), s.prior, float(s.sums[SECOND]))
        small = [self.certify_regret(c.id, f"{c.formula} − L[k]", c.loss - least, *c.premises) for c in found]
        return best_first([self.proof, *small])

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        inner, kept = self.mixture.contents()
        return description | {"horizon": self.horizon, "mixture": inner}, arrays | prefixed("mixture", kept)

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        made = cls(Hypotheses.made(found), found.description["horizon"])
        made.mixture = ExpertMixture.from_contents(found.inner("mixture"))
        return made


def require_horizon(rounds: int) -> int:
    """Refuse what is no number of rounds."""
    if not is_whole(rounds, 1):
        raise PartError(f"rounds is how many will be played, from 1 on, got {rounds!r}; if unknown, see Restarting")
    return int(rounds)


def require_round_left(played: int, rounds: int) -> None:
    """Refuse a round too many."""
    if played >= rounds:
        raise DataError(f"made for {counted(rounds, 'round')} and no more: say more, or use Restarting if nobody knows")


def tuned_rate(log_experts: float, rounds: int) -> float:
    """η = √(8 ln N/T); with one expert any will do."""
    return math.sqrt(8 * max(log_experts, math.log(2)) / rounds)
