"""ALG-HEDGE on a continuum Ω: p_t(w) ∝ p_0(w)·e^{−ηΣℓ_s(w)}, a fresh draw every round.

- on a grid: `points = grid(low, high, 20)`, then `ExpertMixture(len(points), Hedge(η), Cost())` or `Drawing` on
  ℓ_t(points);
- linear losses on a box, uniform prior: `BoxHedge`, sampled and certified exactly;
- anything else: `SampledHedge` with a sampler of your own, and no certificate.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from sys import float_info
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate, no_theorem
from lowregret.compile.numerics import EPSILON, summed
from lowregret.compile.part import Part
from lowregret.compile.spec import from_json, to_json
from lowregret.compile.turns import in_turn
from lowregret.domain import Box
from lowregret.errors import DataError, PartError, StoreError
from lowregret.experts.schema import BoxHedgeSchema, SampledHedgeSchema
from lowregret.learner.validate import finite_rows, is_positive, is_whole
from lowregret.run.round_by_round import Contents, Recorded
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

Matrix = NDArray[np.float64]
FLAT = 0.05  # tilts below which a series is sharper


def grid(low: Any, high: Any, count: int) -> Matrix:
    """The middles of count^d equal cells of the box [low, high], one a row."""
    low, high = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
    middles = (np.arange(count) + 0.5) / count
    axes = np.meshgrid(*(a + (b - a) * middles for a, b in zip(low, high, strict=True)), indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


class Drawer(Recorded):
    """One that draws a point each round, by coins that are saved as they were before the latest draw."""

    rounds: int = 0
    loss: float = 0.0

    def __init__(self, seed: int) -> None:
        super().__init__()
        if not is_whole(seed):
            raise PartError(f"seed must be a whole number, not below 0, got {seed!r}")
        self.rng = np.random.default_rng(seed)
        self._coins: Any = None  # their state before the draw of the coming round, if that was made
        self._drawn: Any = None

    def draw(self) -> Any:
        """The point of the coming round, the same until something is learnt."""
        if self._coins is None:
            self._coins = self.rng.bit_generator.state
            self._drawn = self._point()
        return self._drawn.copy() if isinstance(self._drawn, np.ndarray) else self._drawn

    @abstractmethod
    def _point(self) -> Any:
        """A fresh draw."""

    def _over(self) -> None:
        """The round is over."""
        self._coins = self._drawn = None
        self.rounds += 1
        self._mark()

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        coins = self._coins or self.rng.bit_generator.state
        return {"rounds": self.rounds, "loss": self.loss, "coins": coins}, {}

    def _restore(self, found: Contents) -> None:
        """Rounds, loss and coins of a file."""
        self.rounds, self.loss, coins = found.tell("rounds", "loss", "coins")
        self.rng.bit_generator.state = coins


class BoxHedge(Drawer):
    """Linear losses ⟨z_t, w⟩ on a box: coordinates are independent with density ∝ e^{−ηZ_iw_i}, Z = Σz: O(d) a round.

    ΣE⟨z_t, w⟩ ≤ −ln E_{p_0}e^{−η⟨Z,w⟩}/η + (η/8)ΣM_t², M_t = Σ_i|z_t[i]|(b_i − a_i) (THM-14.15), all in closed form.
    `loss` is the expected one, `realised` that of the points drawn, `behind` the expected one less that of either end
    of each side, the lower one first: the regret, though the box be far from 0, is Σ_i max_e behind[e, i].
    """

    kind = "box-hedge"
    schema = BoxHedgeSchema()

    def __init__(self, low: Any, high: Any, eta: float, seed: int = 0) -> None:
        super().__init__(seed)
        box = Box(low, high)
        self.low, self.high = (np.atleast_1d(np.asarray(v, float)) for v in (box.low, box.high))
        if self.low.shape != self.high.shape or not np.all(self.low < self.high):
            raise PartError("BoxHedge: every side of the box must have a length: low < high, vectors of one size")
        if not np.all(np.isfinite(self._sides)):
            raise PartError("BoxHedge: the sides of the box must have finite lengths")
        if not is_positive(eta):
            raise PartError(f"BoxHedge: eta must be a positive number, got {eta!r}")
        self.eta = float(eta)
        self.sum, self.spread, self.realised = np.zeros(self.low.size), 0.0, 0.0
        self.behind = np.zeros((2, self.low.size))

    @property
    def _sides(self) -> Vector:
        """b − a"""
        with np.errstate(over="ignore"):
            return self.high - self.low

    @property
    def _tilt(self) -> Vector:
        """x = ηZ(b − a)"""
        with np.errstate(over="ignore"):
            return self.eta * self.sum * self._sides

    @property
    def mean(self) -> Vector:
        """E w"""
        return self.low + self._sides * tilted_mean(self._tilt)

    def _point(self) -> Vector:
        """Inverse distribution functions of uniform numbers."""
        x, u = self._tilt, self.rng.random(self.sum.size)
        far = np.maximum(np.abs(x), 1e-300)
        part = np.where(np.abs(x) < 1e-12, u, -np.log1p(u * np.expm1(-far)) / far)  # towards the cheaper side
        return np.clip(self.low + self._sides * np.where(x < 0, 1 - part, part), self.low, self.high)

    def learn(self, costs: Any) -> Self:
        """Rounds of costs z_t, one row each (or a single z): pay ⟨z_t, w⟩ at the point drawn, and learn."""
        for z in finite_rows(costs, "the cost vector", self.sum.size):
            self._round(z)
        return self

    @in_turn
    def _round(self, z: Vector) -> None:
        x, swing, w = self._tilt, z * self._sides, self.draw()
        with np.errstate(over="ignore", invalid="ignore"):
            realised, loss = self.realised + float(z @ w), self.loss + float(z @ self.mean)
            spread = self.spread + float(np.sum(np.abs(swing)) ** 2)
            behind = self.behind + swing * (tilted_mean(x), -tilted_mean(-x))
            total = self.sum + z
        if not all(np.all(np.isfinite(found)) for found in (realised, loss, spread, behind, total)):
            raise DataError(f"round {self.rounds}: costs as large as {np.abs(z).max():g} are too large on this box")
        self.realised, self.loss, self.spread, self.behind, self.sum = realised, loss, spread, behind, total
        self._over()

    @property
    def regret(self) -> float:
        """The expected loss, less that of the best point of the box."""
        return summed(self.behind.max(axis=0))

    @property
    def potential(self) -> float:
        """−ln E_{p_0}e^{−η⟨Z,w⟩}/η"""
        return float(self.sum @ self.low) - float(log_tilt(self._tilt).sum()) / self.eta

    @property
    def certificates(self) -> list[Certificate]:
        """Of the expected loss, against every point of the box."""
        found = Certificate(
            "THM-14.15",
            "ΣE⟨z_t, w⟩ ≤ −ln E_{p_0}e^{−η⟨Z,w⟩}/η + (η/8)ΣM_t²",
            {"set": "box"},
            self.regret,
            -summed(log_tilt(np.abs(self._tilt))) / self.eta + self.eta / 8 * self._squares,
            regret=self.regret,
            rounding=self._rounding,
        )
        return [found]

    @property
    def _squares(self) -> float:
        """ΣM_t², each of which may have lost as much as the least number that keeps all its digits."""
        return self.spread + self.rounds * float_info.min

    @property
    def _rounding(self) -> float:
        """By how much sums and Z may be off: as the mean of a density moves by a twelfth of the tilt, n·εS(1 + ηS).

        S is √(TΣM_t²), which is ΣM_t or more.
        """
        size = math.sqrt(self.rounds) * math.sqrt(self._squares)
        return 4 * EPSILON * (self.rounds + self.sum.size + 128) * size * (1 + self.eta * size)

    def _of(self) -> str:
        return counted(self.sum.size, "side")

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        description |= {"eta": self.eta, "spread": self.spread, "realised": self.realised}
        return description, arrays | {"low": self.low, "high": self.high, "sum": self.sum, "behind": self.behind}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = cls(found.arrays["low"], found.arrays["high"], found.description["eta"])
        made._restore(found)
        made.sum, made.behind = found.arrays["sum"], found.arrays["behind"]
        made.spread, made.realised = found.tell("spread", "realised")
        return made


def tilted_mean(x: Vector) -> Vector:
    """The mean of the density ∝ e^{−xs} on [0, 1]: 1/x − 1/(e^x − 1)"""
    flat = np.abs(x) < FLAT
    near, far = np.where(flat, x, 0.0), np.where(flat, 1.0, np.abs(x))
    part = 1 / far - 1 / np.expm1(np.minimum(far, 700.0))
    series = 0.5 - near / 12 * (1 - near**2 / 60 * (1 - near**2 / 42))
    return np.where(flat, series, np.where(x < 0, 1 - part, part))


def log_tilt(x: Vector) -> Vector:
    """ln ∫_0^1 e^{−xs}ds = ln((1 − e^{−x})/x)"""
    flat = np.abs(x) < FLAT
    near, far = np.where(flat, x, 0.0), np.where(flat, 1.0, np.abs(x))
    series = -near / 2 * (1 - near / 12 * (1 - near**2 / 120 * (1 - near**2 / 63)))
    return np.where(flat, series, np.log(-np.expm1(-far)) - np.log(far) + np.maximum(-x, 0.0))


Losses = list[Callable[[Any], float]]


class SampledHedge(Drawer):
    """Any losses on any Ω: `sampler(rng, losses)` draws a point with density ∝ p_0(w)·e^{−ηΣℓ(w)}, by whatever means.

    Whether it does nobody can check, so nothing is certified. It can be saved if the sampler and the losses are parts:
    subclasses of `Part` with a method `__call__`.
    """

    kind = "sampled-hedge"
    schema = SampledHedgeSchema()

    def __init__(self, sampler: Callable[[np.random.Generator, Losses], Any], seed: int = 0):
        super().__init__(seed)
        self.sampler = sampler
        self.losses: Losses = []

    def _point(self) -> Any:
        return self.sampler(self.rng, self.losses)

    def learn(self, *losses: Callable[[Any], float]) -> Self:
        """Rounds, one for each ℓ_t: pay ℓ_t at the point drawn, and keep ℓ_t."""
        for loss in losses:
            self._round(loss)
        return self

    @in_turn
    def _round(self, loss: Callable[[Any], float]) -> None:
        paid = float(loss(self.draw()))
        if not math.isfinite(paid):
            raise DataError(f"round {self.rounds}: the loss at the point drawn is {paid}")
        self.loss += paid
        self.losses.append(loss)
        self._over()

    @property
    def certificates(self) -> list[Certificate]:
        """None but the one that says that nobody can check the sampler."""
        return [no_theorem({"set": "points"}, "it is known that the sampler draws by exponential weights")]

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        told = [_told("the sampler", self.sampler), *(_told("the loss", loss) for loss in self.losses)]
        return description | {"sampler": told[0], "losses": told[1:]}, arrays

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = cls(found.part("sampler"))
        made._restore(found)
        losses: list[Any] = [from_json(spec) for spec in found.description["losses"]]
        made.losses = losses
        return made


def _told(what: str, thing: Any) -> dict[str, Any]:
    if isinstance(thing, Part):
        return to_json(thing)
    raise StoreError(
        f"{what} {thing!r} cannot be written: a run with it can be played but not saved; "
        "make it a subclass of Part with a method __call__"
    )
