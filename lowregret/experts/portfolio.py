"""Portfolios: experts are assets, a forecast is an asset's price relative, the loss −ln of the portfolio's.

    wealth after T rounds = Π⟨w_t, x_t⟩ = e^{−loss},     regret = ln(best rebalanced portfolio's wealth / ours)

`ExponentiatedGradient` is EG (`exponentiated.py`); here are two that owe only a logarithm. Ask for `weights`, invest,
and `learn` one row of relatives or many.
"""

from __future__ import annotations

import math
import os
from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.numerics import EPSILON
from lowregret.compile.signals import let_in
from lowregret.compile.turns import in_turn
from lowregret.convex.minimise import Solution
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import book_rows
from lowregret.experts.aggregator import Aggregator, Hedge, MLPoly
from lowregret.experts.best import best_mixture, quadratic_on_simplex
from lowregret.experts.certify import COMBINATIONS, rounding
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.experts.schema_wealth import MOST_PULL, OnlineNewtonSchema, UniversalSchema
from lowregret.experts.simplex_rule import is_integrable, nodes_a_side, shortfall, simplex_rule
from lowregret.experts.substitute import Mean
from lowregret.experts.wealth import WEALTH, YEAR, WealthLedger, after_costs, exponential, listed_weights, with_rounding
from lowregret.learner.validate import is_positive, is_whole, real_numbers
from lowregret.loss import LogWealth
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AHEAD = 1e100  # how much more than the portfolio an asset may grow in a round


class Portfolio(ExpertMixture):
    """Assets and weights on them; a subclass says `_invest_rows`.

    An asset without a relative (NaN) is not listed in that round: its weight goes to the others in proportion. That is
    as if it had the relative of the portfolio itself, and against such assets the certificate holds. `cost`: the share
    of whatever is bought or sold that is lost; `loss` is −ln of the wealth that remains, and every bound has −Σln μ_t,
    what costs took, added: the regret is to fixed weights that pay nothing; to those that pay, it is less by that.
    """

    def __init__(
        self,
        assets: int | list[str],
        aggregator: Aggregator = MLPoly(),
        *,
        linearised: bool = True,
        prior: Any = None,
        cost: float = 0.0,
        compiled: bool = True,
    ) -> None:
        super().__init__(assets, aggregator, LogWealth(), linearised=linearised, prior=prior, compiled=compiled)
        self.ledger = WealthLedger(len(self.names), cost)
        self._wealth: list[float] = []  # ln wealth before each of the rounds whose weights are kept

    @in_turn
    def learn(self, relatives: Any, outcomes: Any = None) -> Self:
        """Rounds of price relatives, NaN for assets not listed; those of the portfolio before costs are `forecasts`."""
        x = self.as_forecasts(relatives)[:, 0]
        bad = (x < 0) | np.isnan(x).all(1, keepdims=True)
        if bad.any():
            t, i = np.argwhere(bad)[0].tolist()
            raise DataError(
                f"round {self.asked + t}: the price relative of {self.names[i]} is {x[t, i]:g}: expected price after "
                "/ price before, a number from 0 on, for one asset at least"
            )
        said, done = [], 0
        while done < len(x):
            part = x[done : done + self.history.due - self.rounds]
            said.append(self._invest_rows(part))
            self._mark()
            let_in()
            done += len(part)
        self.forecasts = np.concatenate(said) if said else np.empty(0)
        return self

    @abstractmethod
    def _invest_rows(self, x: Matrix) -> Vector:
        """Invest in rounds between two points of the curves; returns the portfolio's relatives before costs."""

    def _settle(self, x: Matrix, weights: Matrix, regrets: Vector) -> None:
        """Book the wealth of rounds, and keep what the picture needs."""
        marks, before = self._marks(len(x)), self.ledger.settle(weights, x, self.compiled)
        shown = slice(-self.asked % self._every, None, self._every)
        self._keep(weights[shown].copy(), regrets[shown], marks)
        self._wealth += before[shown].tolist()
        self.asked += len(x)

    def _marks(self, rounds: int) -> int:
        every = self._every
        marks = super()._marks(rounds)
        self._wealth = self._wealth[:: self._every // every]
        return marks

    def ask(self, forecasts: Any) -> tuple[int, Any]:
        raise PartError("a portfolio is asked for its `weights`, before any price is known; then `learn([relatives])`")

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def loss(self) -> float:
        """−ln of the present wealth: −Σ ln⟨w_t, x_t⟩ − Σ ln μ_t"""
        return super().loss + self.ledger.paid

    @property
    def regret(self) -> float:
        """ln of the wealth of the best asset over the present one, over the rounds in which it was listed."""
        return super().regret + self.ledger.paid

    @property
    def wealth(self) -> float:
        """The present value of an initial wealth of 1, after costs."""
        return exponential(-self.loss)

    @property
    def drawdown(self) -> float:
        """The largest fall from a highest wealth, as a share of it."""
        return self.ledger.drawdown

    def sharpe(self, periods: float = YEAR) -> float:
        """Mean return over its standard deviation, times √(periods a year); without a riskless rate taken off."""
        return self.ledger.sharpe(periods)

    @property
    def wealth_over_time(self) -> tuple[Any, Vector]:
        """Rounds, and the wealth before them, the present one last: at most 2,001 of them, evenly spaced."""
        rounds = np.append(np.arange(len(self._wealth)) * self._every, self.rounds)
        return rounds, np.exp(np.append(self._wealth, self.ledger.sums[WEALTH]))

    @property
    def certificates(self) -> list[Certificate]:
        """Against every rebalanced portfolio, before its costs."""
        return [after_costs(c, self.ledger, self.rounds) for c in self._certificates()]

    def _certificates(self) -> list[Certificate]:
        """The certificates of wealth before costs."""
        return super().certificates

    def bound(self, switches: int) -> float:
        return super().bound(switches) + (self.ledger.paid if switches else 0.0)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Weights over the rounds, wealth, and how far it was below its highest; written to `path` if given."""
        from lowregret.experts.plot_cover import plot_portfolio

        return plot_portfolio(self, path)

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"wealth {self.wealth:.4g} from 1"
        yield f"regret {self.regret:.4g} to the best asset"

    def _of(self) -> str:
        return counted(len(self.names), "asset")

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        ledger = {"holdings": self.ledger.holdings, "ledger": self.ledger.sums, "wealth": np.array(self._wealth)}
        return description | {"cost": self.ledger.cost}, arrays | ledger

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = super()._made(found)
        made.ledger = WealthLedger(len(made.names), found.description["cost"])
        made.ledger.holdings, made.ledger.sums = found.arrays["holdings"], found.arrays["ledger"]
        made._wealth = found.arrays["wealth"].tolist()
        return made


class StepwisePortfolio(Portfolio):
    """A portfolio that learns row by row; a subclass says `weights` and `_invest`."""

    def _invest_rows(self, x: Matrix) -> Vector:
        """Invest in rounds between two points of the curves."""
        p, weights = np.empty((len(x), 1)), np.empty(x.shape)
        for t, row in enumerate(x):
            weights[t] = listed_weights(self.weights[None], row[None])[0]
            earned = float(weights[t] @ np.nan_to_num(row))
            ahead = float(np.nanmax(row)) / earned if earned > 0 else math.inf
            if not ahead <= AHEAD:
                self._book(x[:t], p[:t], weights[:t])
                why = "all that the portfolio held has become worthless"
                far = f"an asset grew {ahead:g} times as much as the portfolio, which cannot be squared: leave it out"
                raise DataError(f"round {self.asked}: {far if earned > 0 else why}")
            p[t, 0] = self._invest(np.where(np.isnan(row), earned, row))
        self._book(x, p, weights)
        return p[:, 0]

    def _book(self, x: Matrix, p: Matrix, weights: Matrix) -> None:
        """Book rounds whose weights were made elsewhere."""
        regrets = np.empty(len(x))
        call(book_rows, self.compiled, self.loss_function, self.book, x[:, None], np.ones((len(x), 1)), p, regrets)
        self._settle(x, weights, regrets)

    @abstractmethod
    def _invest(self, relatives: Vector) -> float:
        """Learn relatives, all known; returns ⟨w, x⟩, which is above 0."""


class OnlineNewton(StepwisePortfolio):
    """w = argmin_Δ ½‖w‖² + ½Σ⟨g_s, w⟩² − cΣ⟨g_s, w⟩ with g = x/⟨w, x⟩, c = δ(1 + 1/β): O(N²) and a programme a round

    (Agarwal, Hazan, Kale, Schapire, "Algorithms for portfolio management based on the Newton method", ICML 2006.)
    With a = ⟨u, g_t⟩ and κ = 1/(c − 1), ln a ≤ (a − 1) − (a − 1)²κ/2 as long as κ ≤ 2(d − ln(1 + d))/d² for the largest
    d = a − 1 seen; the right-hand side is κ times the surrogate's regret, which FTRL bounds (THM-2.11+):
    R(u) ≤ κ(‖u‖² − 1/N)/2 + Σ g_tᵀA_t⁻¹g_t/(2κ), A_t = I + Σ_{s≤t} ggᵀ. Without c > 1 nothing is claimed.
    """

    kind = "online-newton"
    schema = OnlineNewtonSchema()

    def __init__(
        self,
        assets: int | list[str],
        beta: float = 0.5,
        delta: float = 1.0,
        *,
        cost: float = 0.0,
        compiled: bool = True,
    ) -> None:
        super().__init__(assets, cost=cost, compiled=compiled)
        if not (is_positive(beta) and is_positive(delta)):
            raise PartError(f"OnlineNewton: beta and delta must be positive numbers, got {beta!r} and {delta!r}")
        self.pull = delta * (1 + 1 / beta)
        if self.pull > MOST_PULL:
            raise PartError(f"OnlineNewton: δ(1 + 1/β) must be at most {MOST_PULL:g}, got {self.pull:g}")
        n = len(self.names)
        self._w, self._a, self._b = np.full(n, 1 / n), np.eye(n), np.zeros(n)
        self._inverse, self._curved, self._ahead = np.eye(n), 0.0, 0.0

    @property
    def weights(self) -> Vector:
        return self._w.copy()

    def _invest(self, relatives: Vector) -> float:
        p = float(self._w @ relatives)
        g = relatives / p
        self._ahead = max(self._ahead, float(g.max()) - 1)
        self._a += np.outer(g, g)
        self._b += self.pull * g
        side = self._inverse @ g
        share = float(g @ side)
        self._inverse -= np.outer(side, side) / (1 + share)  # Sherman, Morrison
        self._curved += share / (1 + share)  # gᵀA_t⁻¹g
        self._w = quadratic_on_simplex(self._a, self._b, self._w)
        return p

    def _certificates(self) -> list[Certificate]:
        """ONS, against every rebalanced portfolio."""
        d, n = self._ahead, len(self.names)
        kappa = 1 / (self.pull - 1) if self.pull > 1 else math.inf
        most = 2 * (d - math.log1p(d)) / d**2 if d > 1e-4 else 1 - 2 * d / 3
        bound = kappa * (1 - 1 / n) / 2 + self._curved / (2 * kappa) if self.pull > 1 else math.inf
        name = "1/(δ(1 + 1/β) − 1) is at most 2(d − ln(1 + d))/d², d the most an asset was ahead"
        found = Certificate(
            "ONS",
            "R(u) ≤ κ(‖u‖² − 1/N)/2 + Σ g_tᵀA_t⁻¹g_t/(2κ)",
            COMBINATIONS,
            None,
            bound,
            (Premise(name, kappa <= most, f"{kappa:.4g}, allowed {most:.4g}"),),
            regret=self.regret - self.ledger.paid,
        )
        return [with_rounding(found, self.book, self._excess(kappa, bound) if self.pull > 1 else 0.0)]

    def _excess(self, kappa: float, bound: float) -> float:
        """By how much κ·max_u Σ⟨g_t, u⟩c − ½⟨g_t, u⟩² − c + ½, at least R(u) whatever w_t is, may be above the bound.

        The maximum over the simplex of the concave ⟨b, u⟩ − ½uᵀGu is at most ½wᵀGw + max_i(b − Gw)[i], for every w. So
        nothing hangs on how exactly programmes are solved; all numbers that are added up are above 0.
        """
        w, rounds, n = self._w, self.rounds, len(self.names)
        curved = self._a @ w - w
        above = kappa * (w @ curved / 2 + float(np.max(self._b - curved)) - rounds * (self.pull - 0.5))
        size = kappa * (w @ curved + 1 + float(np.max(self._b + curved)) + rounds * self.pull)
        return max(float(above) - bound, 0.0) + 8 * EPSILON * (rounds + 2 * n + 16) * float(size)

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        description |= {"pull": self.pull, "curved": self._curved, "ahead": self._ahead}
        return description, arrays | {name: getattr(self, f"_{name}") for name in ("w", "a", "b", "inverse")}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = super()._made(found)
        made.pull, made._curved, made._ahead = found.tell("pull", "curved", "ahead")
        for name in ("w", "a", "b", "inverse"):
            setattr(made, f"_{name}", found.arrays[name])
        return made

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        return cls(found.description["names"])


class Universal(StepwisePortfolio):
    """w_t = ∫u·wealth_{t−1}(u)du / ∫wealth_{t−1}(u)du over all rebalanced portfolios u (Cover 1991)

    The wealth of u is a polynomial of degree T in u, so a Gauss rule of enough nodes integrates it exactly, and the
    portfolio is the Bayes mixture of its nodes: R ≤ ln C(T+N−1, N−1) ≤ (N−1)ln(T+1) (Cover, Ordentlich 1996). It needs
    (⌈T/2⌉+1)^(N−1) nodes: with more assets, or more than 10,001 rounds, `nodes` portfolios are drawn instead, and what
    is certified is the regret to the best of those. `rounds`: how many there will be at most.
    """

    kind = "universal-portfolio"
    schema = UniversalSchema()

    def __init__(
        self,
        assets: int | list[str],
        rounds: int,
        *,
        nodes: int = 10_000,
        seed: int = 0,
        cost: float = 0.0,
        compiled: bool = True,
    ) -> None:
        super().__init__(assets, cost=cost, compiled=compiled)
        if not is_whole(rounds):
            raise PartError(f"Universal: rounds must be a whole number, not below 0, got {rounds!r}")
        if not (is_whole(nodes, 1) and is_whole(seed)):
            raise PartError(f"Universal: nodes ≥ 1 and seed ≥ 0 are whole numbers, got {nodes!r} and {seed!r}")
        n, self.horizon = len(self.names), int(rounds)
        count = nodes_a_side(rounds)
        self.exact = is_integrable(n, count)
        if self.exact:
            self.nodes, prior = simplex_rule(n, count)
        else:
            self.nodes = np.random.default_rng(seed).dirichlet(np.ones(n), nodes)
            prior = np.full(nodes, 1 / nodes)
        self.mixture = ExpertMixture(
            len(prior), Hedge(1.0), LogWealth(), linearised=False, prior=prior, compiled=compiled
        )

    @property
    def weights(self) -> Vector:
        return np.asarray(self.mixture.weights @ self.nodes)

    def _invest(self, relatives: Vector) -> float:
        return float(self.mixture.learn((self.nodes @ relatives)[None], [1.0]).forecasts[0])

    def _certificates(self) -> list[Certificate]:
        """Against every rebalanced portfolio, or where they were drawn against every one of those."""
        if not self.exact:
            return self.mixture.certificates
        n = len(self.names)
        found = Certificate(
            "UNIVERSAL",
            "R(u) ≤ (N−1)ln(T+1)",
            COMBINATIONS,
            None,
            (n - 1) * math.log1p(self.rounds),
            (Premise(f"at most {counted(self.horizon, 'round')}", self.rounds <= self.horizon, self.rounds),),
            regret=self.regret - self.ledger.paid,
        )
        short = shortfall(n, nodes_a_side(self.horizon), self.horizon)
        return [with_rounding(found, self.book, rounding(self.mixture.book, Mean()) + short)]

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        inner, kept = self.mixture.contents()
        description |= {"horizon": self.horizon, "exact": self.exact, "mixture": inner}
        return description, arrays | prefixed("mixture", kept) | {"nodes": self.nodes}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = super()._made(found)
        made.horizon, made.exact = found.tell("horizon", "exact")
        made.mixture, made.nodes = ExpertMixture.from_contents(found.inner("mixture")), found.arrays["nodes"]
        return made

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        return cls(found.description["names"], 1, nodes=1)


def best_rebalanced(relatives: Any) -> Solution:
    """The rebalanced portfolio that would have grown most: weights, −ln wealth, and a gap."""
    x = real_numbers(relatives, "relatives")
    if x.ndim != 2 or not x.shape[1] or not np.all((x >= 0) & (x < math.inf)):
        raise DataError("price relatives are numbers from 0 on, a row for each round and a column for each asset")
    return best_mixture(x)
