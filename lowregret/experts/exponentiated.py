"""Portfolios whose weights an aggregator makes; EG is the one of exponential weights."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from lowregret.compile.call import call
from lowregret.errors import DataError
from lowregret.experts.advice import learn_rows
from lowregret.experts.aggregator import Aggregator, Hedge
from lowregret.experts.mixture import Matrix
from lowregret.experts.portfolio import Portfolio
from lowregret.experts.schema_wealth import MixedPortfolioSchema
from lowregret.experts.wealth import listed_weights
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays
from lowregret.types import Vector

CALM = 0.05  # η of EG on portfolios, from the paper: daily relatives are so near 1 that no rate learns fast


class MixedPortfolio(Portfolio):
    """Weights on assets as any aggregator makes them out of −ln⟨w, x⟩, linearised or asset by asset: O(N) a round.

    `linearised=True` competes with every rebalanced portfolio, `linearised=False` with every asset. `distance` is how
    far it was at most from the evenly spread portfolio of the assets listed: max_t ½Σ|w_t[i] − 1/N|, between 0 and 1.
    """

    kind = "mixed-portfolio"
    schema = MixedPortfolioSchema()
    distance = 0.0

    def _invest_rows(self, x: Matrix) -> Vector:
        rows = len(x)
        p, weights, regrets = np.empty((rows, 1)), np.empty(x.shape), np.empty(rows)
        parts, y = (self.aggregator, self.substitution, self.loss_function), np.ones((rows, 1))
        arrays = np.ascontiguousarray(x[:, None]), y, p, weights, regrets
        done = call(learn_rows, self.compiled, *parts, self.book, *arrays, 0, 1, self.linearised, self.history.due)
        even = listed_weights(np.ones((done, x.shape[1])), x[:done])
        self.distance = max(self.distance, float(np.abs(weights[:done] - even).sum(1).max(initial=0.0)) / 2)
        self._settle(x[:done], weights[:done], regrets[:done])
        if done < rows:
            if p[done, 0] <= 0:
                raise DataError(f"round {self.asked}: all that the portfolio held has become worthless")
            raise DataError(self.refusal(y, p, done, self.asked))
        return p[:, 0]

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        return description | {"distance": self.distance}, arrays

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = super()._made(found)
        made.distance = found.description["distance"]
        return made

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        return cls(found.description["names"], found.part("aggregator"))


class ExponentiatedGradient(MixedPortfolio):
    """w[i] ∝ w[i]·e^{ηx[i]/⟨w, x⟩}: EG (Helmbold, Schapire, Singer, Warmuth, Mathematical Finance 8, 1998)

    R(u) ≤ ln N/η + (η/8)ΣM_t², M_t the range of x_t/⟨w_t, x_t⟩ (THM-14.15). With the paper's η = 0.05 daily relatives
    hardly move it: `distance` says how far it was from the evenly spread portfolio.
    """

    kind = "eg-portfolio"

    def __init__(
        self,
        assets: int | list[str],
        eta: float = CALM,
        *,
        prior: Any = None,
        cost: float = 0.0,
        compiled: bool = True,
    ) -> None:
        super().__init__(assets, Hedge(eta), prior=prior, cost=cost, compiled=compiled)

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        aggregator: Aggregator = found.part("aggregator")
        return cls(found.description["names"], aggregator.eta if isinstance(aggregator, Hedge) else CALM)
