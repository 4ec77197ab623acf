"""ALG-WM: play one expert, drawn by its weight, instead of the mixture; costs of all are seen afterwards.

The expected cost Σ⟨w_t, z_t⟩ is that of the mixture, and certified as such; with costs in a range of M fixed before the
coin is thrown, the realised one exceeds it by at most M√(T ln(1/δ)/2) with probability 1 − δ (Azuma).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.kernel import kernel
from lowregret.compile.random import hash_number, key_of, unit
from lowregret.experts.advice import judge, mix
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.panel import ExpertMixture
from lowregret.experts.state import ROUNDS, Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Cost, Loss
from lowregret.types import Vector


class Drawing:
    """Experts, one of them played each round. The same seed gives the same coins, in pieces or all at once."""

    def __init__(
        self,
        experts: int | list[str],
        aggregator: Aggregator,
        *,
        seed: int = 0,
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        self.panel = ExpertMixture(experts, aggregator, Cost(), prior=prior, compiled=compiled)
        self.seed, self.realised = seed, 0.0

    @property
    def expected(self) -> float:
        """Σ⟨w_t, z_t⟩"""
        return self.panel.total

    @property
    def certificate(self) -> Certificate:
        """Of the expected cost."""
        return self.panel.certificate

    def draw(self) -> int:
        """Whom to follow in the coming round, if all are awake; asking again changes nothing."""
        coin = coins(self.seed, self.panel.asked, 1)[0]
        return min(int(np.searchsorted(np.cumsum(self.panel.weights), coin, "right")), len(self.panel.names) - 1)

    def learn(self, costs: Any) -> NDArray[np.int64]:
        """Rounds of costs[t, i], NaN for those asleep: draw, pay, learn. Returns whom it drew, −1 for nobody: O(TN)."""
        panel = self.panel
        x = panel.as_forecasts(costs)
        drawn, p = np.full(len(x), -1), np.empty((len(x), 1))
        parts = panel.aggregator, panel.substitution, panel.loss
        thrown = coins(self.seed, panel.asked, len(x))
        paid = call(draw_rows, panel.compiled, *parts, panel.book, x, np.ones((len(x), 1)), p, thrown, drawn)
        self.realised += float(paid)
        panel.asked += len(x)
        return drawn


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
) -> float:
    """Draw and learn all rows; returns what was paid."""
    paid = 0.0
    for t in range(x.shape[0]):
        if mix(aggregator, substitution, s, x, t, p) == 0:
            continue
        passed = 0.0
        for i in range(s.mass.size):
            if s.mass[i] > 0.0 and (passed <= thrown[t] or drawn[t] < 0):
                drawn[t] = i
            passed += s.mass[i]
        paid += x[t, 0, drawn[t]]
        judge(loss, s, x, t, p, y, True)
        aggregator.absorb(s)
        s.counts[ROUNDS] += 1
    return paid
