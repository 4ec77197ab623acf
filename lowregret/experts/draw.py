"""ALG-WM: play one expert, drawn by its weight, instead of the mixture; costs of all are seen afterwards.

The expected cost Σ⟨w_t, z_t⟩ is that of the mixture, and certified as such; with costs in a range of M fixed before the
coin is thrown, the realised one exceeds it by at most M√(T ln(1/δ)/2) with probability 1 − δ (Azuma).
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import hash_number, key_of, unit
from lowregret.compile.turns import Changing, in_turn
from lowregret.errors import DataError
from lowregret.experts.advice import absorb, judge, mix
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.mixture import ExpertMixture
from lowregret.experts.schema import DrawingSchema
from lowregret.experts.state import ROUNDS, Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Cost, Loss
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.run.round_by_round import Contents, Recorded, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted


class Drawing(Recorded):
    """Experts, one of them played each round. The same seed gives the same coins, in pieces or all at once.

    `drawn` says whom it drew in the rounds of the latest `learn`, −1 for nobody; `realised` is what they cost.
    """

    kind = "drawing"
    schema = DrawingSchema()

    def __init__(
        self,
        experts: int | list[str],
        aggregator: Aggregator,
        *,
        seed: int = 0,
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        super().__init__()
        self.mixture = ExpertMixture(experts, aggregator, Cost(), prior=prior, compiled=compiled)
        key_of(seed)  # which refuses what is none
        self.seed, self.realised = int(seed) % 2**64, 0.0
        self.drawn: NDArray[np.int64] = np.empty(0, np.int64)

    @property
    def rounds(self) -> int:
        """Rounds in which somebody was awake."""
        return self.mixture.rounds

    @property
    def loss(self) -> float:
        """The expected cost, Σ⟨w_t, z_t⟩"""
        return self.mixture.loss

    @property
    def regret(self) -> float:
        """The expected cost, less that of the best expert."""
        return self.mixture.regret

    @property
    def certificates(self) -> list[Certificate]:
        """Of the expected cost."""
        return self.mixture.certificates

    def risks(self, delta: float = 0.05, *, independent: bool = False) -> list[RiskCertificate]:
        """Bounds on the expected cost of rounds yet to come, by experts drawn with `mixture.average_weights`."""
        return self.mixture.risks(delta, independent=independent)

    def draw(self) -> int:
        """Whom to follow in the coming round, if all are awake; asking again changes nothing."""
        coin, names = coins(self.seed, self.mixture.asked, 1)[0], self.mixture.names
        return min(int(np.searchsorted(np.cumsum(self.mixture.weights), coin, "right")), len(names) - 1)

    @in_turn
    def learn(self, costs: Any) -> Self:
        """Rounds of costs[t, i], NaN for those asleep: draw, pay, learn: O(TN)."""
        mixture = self.mixture
        x = mixture.as_forecasts(costs)
        rows, done, failed = len(x), 0, False
        drawn, p, y, paid = np.full(rows, -1), np.empty((rows, 1)), np.ones((rows, 1)), np.array([self.realised])
        parts = mixture.aggregator, mixture.substitution, mixture.loss_function
        thrown = coins(self.seed, mixture.asked, rows)
        while done < rows and not failed:
            arrays = x[done:], y[done:], p[done:], thrown[done:], drawn[done:], paid
            with Changing(mixture):  # whose weights are written where those of a question would be
                done += call(draw_rows, mixture.compiled, *parts, mixture.book, *arrays, self.history.due)
            failed = done < rows and mixture.rounds < self.history.due
            self._mark()
        self.realised, self.drawn = float(paid[0]), drawn[:done]
        mixture.asked += done
        if failed:
            raise DataError(mixture.refusal(y, p, done, mixture.asked))
        return self

    def _of(self) -> str:
        return counted(len(self.mixture.names), "expert")

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        inner, arrays = self.mixture.contents()
        return {"mixture": inner, "seed": self.seed, "realised": self.realised}, prefixed("mixture", arrays)

    @classmethod
    def _made(cls, found: Contents) -> Self:
        mixture = ExpertMixture.from_contents(found.inner("mixture"))
        made = cls(mixture.names, mixture.aggregator, seed=found.description["seed"])
        made.mixture, made.realised = mixture, found.description["realised"]
        return made


def coins(seed: int, first: int, count: int) -> Vector:
    """Uniform numbers in [0, 1), one for each round, whatever came before."""
    rounds = np.arange(first, first + count, dtype=np.uint64)
    return np.asarray(unit(hash_number(key_of(seed), rounds)))


@kernel
def draw_rows(
    aggregator: Aggregator,
    substitution: Substitution,
    loss: Loss,
    s: Book,
    x: Any,
    y: Any,
    p: Any,
    thrown: Any,
    drawn: Any,
    paid: Any,
    until: int,
) -> int:
    """Draw and learn rows until that many rounds are learnt, add what is paid to paid[0]; returns how many were.

    Stops before a row that cannot be learnt.
    """
    for t in range(x.shape[0]):
        awake = mix(aggregator, substitution, s, x, t, p)
        if awake < 0:
            return t
        if awake == 0:
            continue
        passed = 0.0
        for i in range(s.mass.size):
            if s.mass[i] > 0.0 and (passed <= thrown[t] or drawn[t] < 0):
                drawn[t] = i
            passed += s.mass[i]
        if not math.isfinite(judge(loss, s, x, t, p, y, True, aggregator.squares())):
            return t
        paid[0] += x[t, 0, drawn[t]]
        absorb(aggregator, s)
        if s.counts[ROUNDS] == until:
            return t + 1
    return int(x.shape[0])
