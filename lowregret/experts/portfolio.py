"""Portfolios: experts are assets, a forecast is an asset's price relative, the loss −ln of the portfolio's.

    wealth after T rounds = Π⟨w_t, x_t⟩ = e^{−loss},     regret = ln(best rebalanced portfolio's wealth / ours)

`ExpertMixture(assets, Hedge(0.05), LogWealth())` is EG (Helmbold, Schapire, Singer, Warmuth, Mathematical Finance 8,
1998), `ExpertMixture(assets, AdaHedge(), LogWealth())` the same without a learning rate, both with the gradients as
observed. Here are two that owe only a logarithm. Ask for `weights`, invest, and `learn` one row of relatives or many.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.signals import let_in, unbroken
from lowregret.convex.minimise import Solution
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import book_rows
from lowregret.experts.aggregator import Hedge, MLPoly
from lowregret.experts.best import best_mixture, quadratic_on_simplex
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.experts.schema import OnlineNewtonSchema, UniversalSchema
from lowregret.loss import LogWealth
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

CELLS = 2_000_000  # nodes × assets up to which the universal portfolio is integrated, not sampled


class Portfolio(ExpertMixture):
    """Assets and weights on them; a subclass says `weights` and `_invest`."""

    def __init__(self, assets: int | list[str], *, compiled: bool = True) -> None:
        super().__init__(assets, MLPoly(), LogWealth(), compiled=compiled)

    @unbroken
    def learn(self, relatives: Any, outcomes: Any = None) -> Self:
        """Rounds of price relatives; those of the portfolio itself become `forecasts`, one a round."""
        x = self.as_forecasts(relatives)[:, 0]
        if np.isnan(x).any() or np.any(x < 0):
            t, i = np.argwhere(~(x >= 0))[0].tolist()
            raise DataError(
                f"round {self.asked + t}: the price relative of {self.names[i]} is {x[t, i]:g}: expected price after "
                "/ price before, a number from 0 on"
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

    def _invest_rows(self, x: Matrix) -> Vector:
        """Invest in rounds between two points of the curves."""
        self._marks(len(x))
        first, weights, p = self.asked, list[Vector](), np.empty((len(x), 1))
        for t, row in enumerate(x):
            if (first + t) % self._every == 0:
                weights.append(self.weights.copy())
            p[t, 0] = self._invest(row)
            if not p[t, 0] > 0:
                self._book(x[:t], p[:t], weights)
                raise DataError(f"round {first + t}: all that the portfolio held has become worthless")
        self._book(x, p, weights)
        return p[:, 0]

    def _book(self, x: Matrix, p: Matrix, weights: list[Vector]) -> None:
        regrets = np.empty(len(x))
        call(book_rows, self.compiled, self.loss_function, self.book, x[:, None], np.ones((len(x), 1)), p, regrets)
        marks = self._marks(len(x))
        kept = np.array(weights).reshape(-1, len(self.names))
        self._keep(kept, regrets[-self.asked % self._every :: self._every], marks)
        self.asked += len(x)

    @abstractmethod
    def _invest(self, relatives: Vector) -> float:
        """Pay ⟨w, x⟩ and learn."""

    def ask(self, forecasts: Any) -> tuple[int, Any]:
        raise PartError("a portfolio is asked for its `weights`, before any price is known; then `learn([relatives])`")

    @property
    def wealth(self) -> float:
        """The present value of an initial wealth of 1."""
        return math.exp(-self.loss)


class OnlineNewton(Portfolio):
    """w = argmin_Δ ½‖w‖² + ½Σ⟨g_s, w⟩² − cΣ⟨g_s, w⟩ with g = x/⟨w, x⟩, c = δ(1 + 1/β): O(N²) and a programme a round

    (Agarwal, Hazan, Kale, Schapire, "Algorithms for portfolio management based on the Newton method", ICML 2006.)
    With a = ⟨u, g_t⟩ and κ = 1/(c − 1), ln a ≤ (a − 1) − (a − 1)²κ/2 as long as κ ≤ 2(d − ln(1 + d))/d² for the largest
    d = a − 1 seen; the right-hand side is κ times the surrogate's regret, which FTRL bounds (THM-2.11+):
    R(u) ≤ κ(‖u‖² − 1/N)/2 + Σ g_tᵀA_t⁻¹g_t/(2κ), A_t = I + Σ_{s≤t} ggᵀ. Without c > 1 nothing is claimed.
    """

    kind = "online-newton"
    schema = OnlineNewtonSchema()

    def __init__(
        self, assets: int | list[str], beta: float = 0.5, delta: float = 1.0, *, compiled: bool = True
    ) -> None:
        super().__init__(assets, compiled=compiled)
        if not (0 < beta < math.inf and 0 < delta < math.inf):
            raise PartError(f"OnlineNewton: beta and delta must be positive numbers, got {beta} and {delta}")
        self.pull = delta * (1 + 1 / beta)
        n = len(self.names)
        self._w, self._a, self._b = np.full(n, 1 / n), np.eye(n), np.zeros(n)
        self._inverse, self._curved, self._ahead = np.eye(n), 0.0, 0.0

    @property
    def weights(self) -> Vector:
        return self._w.copy()

    def _invest(self, relatives: Vector) -> float:
        p = float(self._w @ relatives)
        if p > 0:
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

    @property
    def certificates(self) -> list[Certificate]:
        """ONS, against every rebalanced portfolio."""
        d, n = self._ahead, len(self.names)
        kappa = 1 / (self.pull - 1) if self.pull > 1 else math.inf
        most = 2 * (d - math.log1p(d)) / d**2 if d > 1e-4 else 1 - 2 * d / 3
        bound = kappa * (1 - 1 / n) / 2 + self._curved / (2 * kappa) if self.pull > 1 else math.inf
        name = "1/(δ(1 + 1/β) − 1) is at most 2(d − ln(1 + d))/d², d the most an asset was ahead"
        found = Certificate(
            "ONS",
            "R(u) ≤ κ(‖u‖² − 1/N)/2 + Σ g_tᵀA_t⁻¹g_t/(2κ)",
            {"set": "simplex", "radius": 1.0},
            None,
            bound,
            (Premise(name, kappa <= most, f"{kappa:.4g}, allowed {most:.4g}"),),
            regret=self.regret,
        )
        return [found]

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


class Universal(Portfolio):
    """w_t = ∫u·wealth_{t−1}(u)du / ∫wealth_{t−1}(u)du over all rebalanced portfolios u (Cover 1991)

    The wealth of u is a polynomial of degree T in u, so a Gauss rule of enough nodes integrates it exactly, and the
    portfolio is the Bayes mixture of its nodes: R ≤ ln C(T+N−1, N−1) ≤ (N−1)ln(T+1) (Cover, Ordentlich 1996). It needs
    (⌈T/2⌉+1)^(N−1) nodes: with more assets, `nodes` portfolios are drawn instead, and what is certified is the regret
    to the best of those. `rounds`: how many there will be at most.
    """

    kind = "universal-portfolio"
    schema = UniversalSchema()

    def __init__(
        self, assets: int | list[str], rounds: int, *, nodes: int = 10_000, seed: int = 0, compiled: bool = True
    ) -> None:
        super().__init__(assets, compiled=compiled)
        if not (isinstance(rounds, (int, np.integer)) and rounds >= 0):
            raise PartError(f"Universal: rounds must be a whole number, not below 0, got {rounds!r}")
        n, self.horizon = len(self.names), int(rounds)
        count = rounds // 2 + 2
        self.exact = n == 1 or (n - 1) * math.log(count) + math.log(n) <= math.log(CELLS)
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

    @property
    def certificates(self) -> list[Certificate]:
        """Against every rebalanced portfolio, or where they were drawn against every one of those."""
        if not self.exact:
            return self.mixture.certificates
        n = len(self.names)
        found = Certificate(
            "UNIVERSAL",
            "R(u) ≤ (N−1)ln(T+1)",
            {"set": "simplex", "radius": 1.0},
            None,
            (n - 1) * math.log1p(self.rounds),
            (Premise(f"at most {counted(self.horizon, 'round')}", self.rounds <= self.horizon, self.rounds),),
            regret=self.regret,
        )
        return [found]

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


def simplex_rule(n: int, count: int) -> tuple[Matrix, Vector]:
    """Nodes and weights of a rule on the simplex of n parts, exact for polynomials of degree 2·count − 1, weights of 1.

    u_1 = s_1, u_2 = (1 − s_1)s_2, …: the uniform density is that of independent s_i with density ∝ (1 − s_i)^{n−1−i},
    each with its Gauss–Jacobi rule.
    """
    from scipy.special import roots_jacobi

    nodes, weights, left = np.ones((1, 0)), np.ones(1), np.ones(1)
    for i in range(1, n):
        points, shares = roots_jacobi(count, n - 1 - i, 0)
        s, shares = (1 + points) / 2, shares / shares.sum()
        taken = (left[:, None] * s).ravel()
        nodes = np.hstack([np.repeat(nodes, count, 0), taken[:, None]])
        left = (left[:, None] * (1 - s)).ravel()
        weights = (weights[:, None] * shares).ravel()
    return np.hstack([nodes, left[:, None]]), weights / weights.sum()


def best_rebalanced(relatives: Any) -> Solution:
    """The rebalanced portfolio that would have grown most: weights, −ln wealth, and a gap."""
    return best_mixture(np.ascontiguousarray(relatives, np.float64))
