"""ALG-HEDGE on a continuum Ω: p_t(w) ∝ p_0(w)·e^{−ηΣℓ_s(w)}, a fresh draw every round.

- on a grid: `points = grid(low, high, 20)`, then `ExpertMixture(len(points), Hedge(η), Cost())` or `Drawing` on
  ℓ_t(points);
- linear losses on a box, uniform prior: `BoxHedge`, sampled and certified exactly;
- anything else: `SampledHedge` with a sampler of your own, and no certificate.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate
from lowregret.domain import Box
from lowregret.errors import PartError
from lowregret.learner.validate import finite_numbers
from lowregret.types import Vector
from lowregret.words import Brief

Matrix = NDArray[np.float64]
FLAT = 1e-4  # tilts below which a series is sharper


def grid(low: Any, high: Any, count: int) -> Matrix:
    """The middles of count^d equal cells of the box [low, high], one a row."""
    low, high = np.atleast_1d(np.asarray(low, float)), np.atleast_1d(np.asarray(high, float))
    middles = (np.arange(count) + 0.5) / count
    axes = np.meshgrid(*(a + (b - a) * middles for a, b in zip(low, high, strict=True)), indexing="ij")
    return np.column_stack([axis.ravel() for axis in axes])


class BoxHedge(Brief):
    """Linear losses ⟨z_t, w⟩ on a box: coordinates are independent with density ∝ e^{−ηZ_iw_i}, Z = Σz: O(d) a round.

    ΣE⟨z_t, w⟩ ≤ −ln E_{p_0}e^{−η⟨Z,w⟩}/η + (η/8)ΣM_t², M_t = Σ_i|z_t[i]|(b_i − a_i) (THM-14.15), all in closed form.
    """

    def __init__(self, low: Any, high: Any, eta: float, seed: int = 0) -> None:
        box = Box(low, high)
        self.low, self.high = (np.atleast_1d(np.asarray(v, float)) for v in (box.low, box.high))
        if self.low.shape != self.high.shape or not np.all(self.low < self.high):
            raise PartError("BoxHedge: every side of the box must have a length: low < high, vectors of one size")
        if not 0 < eta < math.inf:
            raise PartError(f"BoxHedge: eta must be a positive number, got {eta}")
        self.eta, self.rng = eta, np.random.default_rng(seed)
        self.sum, self.rounds, self.spread = np.zeros(self.low.size), 0, 0.0
        self.expected = self.realised = 0.0
        self._drawn: Vector | None = None

    @property
    def _tilt(self) -> Vector:
        """x = ηZ(b − a)"""
        return self.eta * self.sum * (self.high - self.low)

    @property
    def mean(self) -> Vector:
        """E w"""
        return self.low + (self.high - self.low) * tilted_mean(self._tilt)

    def draw(self) -> Vector:
        """The point of the coming round, the same until something is learnt: inverse distribution functions."""
        if self._drawn is None:
            x, u = self._tilt, self.rng.random(self.sum.size)
            far = np.maximum(np.abs(x), 1e-300)
            part = np.where(np.abs(x) < 1e-12, u, -np.log1p(u * np.expm1(-far)) / far)  # towards the cheaper side
            self._drawn = self.low + (self.high - self.low) * np.where(x < 0, 1 - part, part)
        return self._drawn

    def learn(self, z: Any) -> float:
        """Pay ⟨z, w⟩ at the point drawn, and learn; returns the expected loss."""
        z = finite_numbers(z, "the cost vector", self.sum.size)
        self.realised += float(z @ self.draw())
        expected = float(z @ self.mean)
        self.expected += expected
        self.spread += float(np.abs(z) @ (self.high - self.low)) ** 2
        self.sum, self._drawn, self.rounds = self.sum + z, None, self.rounds + 1
        return expected

    @property
    def potential(self) -> float:
        """−ln E_{p_0}e^{−η⟨Z,w⟩}/η"""
        return float(self.sum @ self.low) - float(log_tilt(self._tilt).sum()) / self.eta

    @property
    def certificate(self) -> Certificate:
        """Of the expected loss, against every point of the box."""
        best = float(np.minimum(self.low * self.sum, self.high * self.sum).sum())
        return Certificate(
            "THM-14.15",
            "ΣE⟨z_t, w⟩ ≤ −ln E_{p_0}e^{−η⟨Z,w⟩}/η + (η/8)ΣM_t²",
            {"set": "box"},
            self.expected - best,
            self.potential - best + self.eta / 8 * self.spread,
            regret=self.expected - best,
        )


def tilted_mean(x: Vector) -> Vector:
    """The mean of the density ∝ e^{−xs} on [0, 1]: 1/x − 1/(e^x − 1)"""
    far = np.where(np.abs(x) < FLAT, 1.0, np.minimum(np.abs(x), 700.0))
    part = 1 / np.where(np.abs(x) < FLAT, 1.0, np.abs(x)) - 1 / np.expm1(far)
    return np.where(np.abs(x) < FLAT, 0.5 - x / 12, np.where(x < 0, 1 - part, part))


def log_tilt(x: Vector) -> Vector:
    """ln ∫_0^1 e^{−xs}ds = ln((1 − e^{−x})/x)"""
    far = np.where(np.abs(x) < FLAT, 1.0, np.abs(x))
    return np.where(np.abs(x) < FLAT, -x / 2 + x * x / 24, np.log(-np.expm1(-far) / far) + np.maximum(-x, 0.0))


class SampledHedge:
    """Any losses on any Ω: `sampler(rng, losses)` draws a point with density ∝ p_0(w)·e^{−ηΣℓ(w)}, by whatever means.

    Whether it does nobody can check, so there is no certificate.
    """

    def __init__(self, sampler: Callable[[np.random.Generator, list[Callable[[Any], float]]], Any], seed: int = 0):
        self.sampler, self.rng = sampler, np.random.default_rng(seed)
        self.losses: list[Callable[[Any], float]] = []
        self.realised = 0.0
        self._drawn: tuple[Any] | None = None

    def draw(self) -> Any:
        """The point of the coming round, the same until something is learnt."""
        if self._drawn is None:
            self._drawn = (self.sampler(self.rng, self.losses),)
        return self._drawn[0]

    def learn(self, loss: Callable[[Any], float]) -> float:
        """Pay ℓ at the point drawn, and keep ℓ; returns what was paid."""
        paid = float(loss(self.draw()))
        self.realised += paid
        self.losses.append(loss)
        self._drawn = None
        return paid
