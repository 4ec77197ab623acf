"""Convex functions f_t for games: a value and a sub-gradient at any point, and how strongly convex they are.

    play(player, [LinearFunction([1, -1]), QuadraticFunction([0, 2]), ScoreFunction(Hinge(), x=[1, 0], y=1)])

A function of your own is `Function(f, gradient)`, or a subclass of `Convex` with the methods `value` and `subgradient`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.compile.part import Part
from lowregret.domain import Domain, Simplex
from lowregret.errors import DataError, PartError
from lowregret.loss import Loss
from lowregret.types import Vector

ROUNDING = 1e-15  # of a sum, times the root of the number of terms: by how much it may be off, relative to their sizes
LEAST = 1e-290  # below it a square has lost digits


class Convex(Part):
    """f: R^d → R, convex; may be +∞ somewhere."""

    compilable: ClassVar[bool] = False
    gives: ClassVar[dict[str, str]] = {
        "curvature": "σ: logarithmic regret, where it is positive",
        "dimension": "games that know their number of coordinates",
        "pieces": "sums that are minimised in O(d)",
    }
    instead: ClassVar[str] = "Function(f, gradient) makes one of two functions of w."

    @abstractmethod
    def value(self, w: Vector) -> float:
        """f(w)"""

    @abstractmethod
    def subgradient(self, w: Vector) -> Vector:
        """Some z with f(u) ≥ f(w) + ⟨z, u − w⟩ for all u."""

    def steepness(self, w: Vector, z: Vector) -> Vector:
        """The sizes of what the sub-gradient z at w is a sum of, by coordinate: rounding is relative to them."""
        return np.abs(z)

    def blur(self, w: Vector) -> float:
        """By how much `value` may be off at w, for rounding."""
        return 0.0

    @property
    def curvature(self) -> float:
        """σ such that f(u) ≥ f(w) + ⟨z, u − w⟩ + (σ/2)‖u − w‖₂²."""
        return 0.0

    @property
    def dimension(self) -> int | None:
        """d, or None if any will do."""
        return None

    def pieces(self) -> Pieces:
        """f split into a quadratic that can be added up in O(d), and the rest."""
        return Pieces(rest=self)

    facts: ClassVar[dict[str, Any]] = {"curvature": curvature, "pieces": pieces, "steepness": steepness, "blur": blur}


class Pieces(NamedTuple):
    """f(w) = (curvature/2)‖w‖² + ⟨linear, w⟩ + constant + rest(w)"""

    curvature: float = 0.0
    linear: Any = 0.0
    constant: float = 0.0
    rest: Convex | None = None


class LinearFunction(Convex):
    """f(w) = ⟨w, z⟩"""

    z: Any

    def check(self) -> None:
        _store_vector(self, "z")

    def value(self, w: Vector) -> float:
        return float(w @ self.z)

    def subgradient(self, w: Vector) -> Vector:
        return np.array(self.z)

    @property
    def dimension(self) -> int:
        return int(self.z.size)

    def pieces(self) -> Pieces:
        return Pieces(linear=self.z)


class QuadraticFunction(Convex):
    """f(w) = (σ/2)‖w − z‖²"""

    z: Any
    sigma: float = 1.0

    def check(self) -> None:
        _store_vector(self, "z")
        self.require(0 < self.sigma < math.inf, f"sigma must be a positive number, got {self.sigma}")

    def value(self, w: Vector) -> float:
        return self.sigma / 2 * float((w - self.z) @ (w - self.z))

    def subgradient(self, w: Vector) -> Vector:
        return self.sigma * (w - self.z)

    @property
    def curvature(self) -> float:
        return self.sigma

    @property
    def dimension(self) -> int:
        return int(self.z.size)

    def pieces(self) -> Pieces:
        return Pieces(self.sigma, -self.sigma * self.z, self.sigma / 2 * float(self.z @ self.z))


class ScoreFunction(Convex):
    """f(w) = ℓ(⟨w, x⟩, y) for any loss of a score: one labelled row as a function of w"""

    loss: Loss
    x: Any
    y: float = 1.0

    def check(self) -> None:
        self.require(isinstance(self.loss, Loss), f"loss must be a Loss such as Hinge(), got {self.loss!r}")
        _store_vector(self, "x")
        if not self.loss.accepts(self.y):
            raise DataError(f"label {self.y:g} does not fit {type(self.loss).__name__}, which takes {self.loss.labels}")

    def value(self, w: Vector) -> float:
        return self.loss.at(float(w @ self.x), self.y)[0]

    def subgradient(self, w: Vector) -> Vector:
        return self.loss.at(float(w @ self.x), self.y)[1] * self.x

    @property
    def curvature(self) -> float:
        """Only in one dimension: across the row's direction the function is flat."""
        return self.loss.curvature * float(self.x[0] ** 2) if self.x.size == 1 else 0.0

    @property
    def dimension(self) -> int:
        return int(self.x.size)


class NegativeLog(Convex):
    """f(w) = −ln⟨w, x⟩, +∞ unless ⟨w, x⟩ > 0: what a portfolio w loses in log-wealth when prices change by factors x"""

    x: Any

    def check(self) -> None:
        _store_vector(self, "x")

    def value(self, w: Vector) -> float:
        growth = float(w @ self.x)
        return -math.log(growth) if growth > 0 else math.inf

    def subgradient(self, w: Vector) -> Vector:
        growth = float(w @ self.x)
        if growth <= 0:
            raise DataError(f"−ln⟨w, x⟩ needs ⟨w, x⟩ > 0, got {growth:g}: keep w on a simplex and x > 0")
        return -self.x / growth

    @property
    def dimension(self) -> int:
        return int(self.x.size)


class Function(Convex):
    """A function of your own: `f(w)` its value, `gradient(w)` a sub-gradient, σ its strong convexity if you know it.

    That it is convex is a premise of the certificates, tried at some points: see `verify.py`. Its values are taken to
    be exact: what it loses by rounding is in no gap. A game with it cannot be saved.
    """

    f: Callable[[Vector], float]
    gradient: Callable[[Vector], Any]
    sigma: float = 0.0

    def check(self) -> None:
        self.require(callable(self.f) and callable(self.gradient), "needs two functions of w: value and sub-gradient")
        self.require(0 <= self.sigma < math.inf, f"sigma must be ≥ 0, got {self.sigma}")

    def value(self, w: Vector) -> float:
        return float(self.f(w.copy()))  # which is the user's, and may change it

    def subgradient(self, w: Vector) -> Vector:
        return np.array(self.gradient(w.copy()), float)

    @property
    def curvature(self) -> float:
        return self.sigma


class Regularised(Convex):
    """f(w) + (λ/2)‖w − w₀‖², w₀ the `centre`, by default 0 (LOSS-L2REG)"""

    f: Convex
    lam: float
    centre: Any = None

    def check(self) -> None:
        if self.centre is not None:
            _store_vector(self, "centre")
        self.require(isinstance(self.f, Convex), f"f must be a Convex such as LinearFunction(z), got {self.f!r}")
        self.require(0 <= self.lam < math.inf, f"lam must be ≥ 0, got {self.lam}")
        self.require(
            self.centre is None or self.f.dimension in (None, self.centre.size),
            f"the centre has {np.size(self.centre)} coordinates, f takes {self.f.dimension}",
        )

    def value(self, w: Vector) -> float:
        away = self._away(w)
        return self.f.value(w) + self.lam / 2 * float(away @ away)

    def subgradient(self, w: Vector) -> Vector:
        return self.f.subgradient(w) + self.lam * self._away(w)

    def _away(self, w: Vector) -> Vector:
        return w if self.centre is None else w - self.centre

    @property
    def curvature(self) -> float:
        return self.f.curvature + self.lam

    @property
    def dimension(self) -> int | None:
        return self.f.dimension if self.centre is None else int(self.centre.size)

    def pieces(self) -> Pieces:
        inner = self.f.pieces()
        curved = inner._replace(curvature=inner.curvature + self.lam)
        if self.centre is None:
            return curved
        linear, constant = -self.lam * self.centre, self.lam / 2 * float(self.centre @ self.centre)
        return curved._replace(linear=inner.linear + linear, constant=inner.constant + constant)


class Sum:
    """Σ f_i, folded as far as it goes: (sigma/2)‖w‖² + ⟨linear, w⟩ + constant + Σ rest.

    Linear and quadratic functions cost O(d) memory and time in all, others O(d) each. What is folded is a difference of
    large numbers where quadratic functions lie far from 0: `blur` and `excess` say what is lost.
    """

    def __init__(self, dimension: int, functions: Iterable[Convex] = ()) -> None:
        self.sigma = 0.0
        self.linear: Vector = np.zeros(dimension)
        self.constant = 0.0
        self.rest: list[Convex] = []
        self.curvature = 0.0
        self.count, self.held = 0, 0.0  # functions, and Σ|constant|
        self.spread: Vector = np.zeros(dimension)  # Σ|linear|
        for f in functions:
            self.add(f)

    def add(self, f: Convex) -> None:
        """Append one function."""
        pieces = f.pieces()
        self.sigma += pieces.curvature
        self.linear += pieces.linear
        self.constant += pieces.constant
        self.curvature += f.curvature
        self.count += 1
        self.spread += np.abs(pieces.linear)
        self.held += abs(pieces.constant)
        if pieces.rest is not None:
            self.rest.append(pieces.rest)

    def plus(self, f: Convex) -> Sum:
        """A sum with one function more; this one stays what it is."""
        more = copy(self)
        more.linear, more.spread, more.rest = self.linear.copy(), self.spread.copy(), self.rest.copy()
        more.add(f)
        return more

    def value(self, w: Vector) -> float:
        """Σ f_i(w)"""
        folded = self._curved(w) + float(self.linear @ w) + self.constant
        return folded + sum(f.value(w.copy()) for f in self.rest)

    def _curved(self, w: Vector) -> float:
        """(sigma/2)‖w‖², 0 of a flat sum however long w is; ‖w‖² alone may be too small or too large for a number."""
        if self.sigma == 0:
            return 0.0
        with np.errstate(over="ignore"):
            square = float(w @ w)
        return self.sigma / 2 * square if LEAST < square < math.inf else self.sigma * norm(w) / 2 * norm(w)

    def blur(self, w: Vector) -> float:
        """By how much `value` may be off at w."""
        folded = self._curved(w) + float(self.spread @ np.abs(w)) + self.held
        rest = sum(abs(f.value(w.copy())) for f in self.rest) if len(self.rest) > 1 else 0.0
        return self._rounding * (folded + rest) + sum(f.blur(w.copy()) for f in self.rest)

    def excess(self, w: Vector) -> float:
        """A bound on Σ f_i(w) − min_S, of a w that minimises what is folded on a set S; σ > 0.

        The sum is known up to ⟨e, w⟩: its minimiser is ‖e‖/σ away at most, which costs ‖e‖²/σ. Projecting rounds w.
        """
        off = self._rounding * norm(self.spread + self.sigma * np.abs(w))
        return off / self.sigma * off + (norm(self.sigma * w + self.linear) + off) * ROUNDING * norm(w)

    @property
    def _rounding(self) -> float:
        return ROUNDING * math.sqrt(self.count + self.linear.size)

    def subgradient(self, w: Vector) -> Vector:
        """Σ of the functions' sub-gradients."""
        return self.slopes(w)[0]

    def slopes(self, w: Vector) -> tuple[Vector, Vector]:
        """Σ of the functions' sub-gradients, and the sizes of what is summed, coordinate by coordinate."""
        g, sizes = self.sigma * w + self.linear, self.sigma * np.abs(w) + self.spread
        for f in self.rest:
            z = f.subgradient(w.copy())
            g, sizes = g + z, sizes + f.steepness(w.copy(), z)
        return g, sizes


def alike(costs: Any) -> Any:
    """The median of each row, a column: beside what all coordinates cost, sums have no digits for differences."""
    middle = (costs.shape[1] - 1) // 2
    return np.partition(costs, middle, axis=1)[:, middle : middle + 1]


def sum_on(domain: Domain, dimension: int, functions: Sequence[Convex]) -> Sum:
    """Σ f_i up to a constant: of costs on a simplex, what all coordinates cost in a round is one, and is left out."""
    if functions and isinstance(domain, Simplex) and all(type(f) is LinearFunction for f in functions):
        costs = np.array([f.z for f in functions])  # type: ignore[attr-defined]
        with np.errstate(over="ignore"):
            linear = np.sum(costs - alike(costs), axis=0)
        if np.all(np.isfinite(linear)):
            return Sum(dimension, [LinearFunction(linear)])
    return Sum(dimension, functions)


def _store_vector(f: Convex, name: str) -> None:
    """Replace a field by a read-only copy, refusing what is not a vector of finite numbers."""
    try:
        vector = np.array(getattr(f, name), float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{type(f).__name__}: {name} must be numbers: {error}") from None
    if vector.ndim != 1 or vector.size == 0:
        raise DataError(f"{type(f).__name__}: {name} must be a vector, got shape {vector.shape}")
    require_finite(vector, f"{type(f).__name__}: {name}")
    vector.setflags(write=False)
    object.__setattr__(f, name, vector)


def require_finite(vector: Vector, what: str) -> None:
    """Name the first coordinate that is not a finite number."""
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise DataError(f"{what}[{bad[0]}] = {vector[bad[0]]} is not a finite number")


def as_function(thing: Any) -> Convex:
    """A function or a vector of costs as a convex function."""
    if isinstance(thing, Convex):
        return thing
    if callable(thing):
        raise PartError(f"a function of your own needs a sub-gradient too: Function(f, gradient); got {thing!r} alone")
    if thing is None or isinstance(thing, str) or np.isscalar(thing):
        raise DataError(f"an answer is a vector of costs, one a coordinate, or a convex function, got {thing!r}")
    return LinearFunction(thing)
