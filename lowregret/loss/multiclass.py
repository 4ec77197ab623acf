"""Losses of many scores: s_ℓ = ⟨w_ℓ, x⟩ is the score of class ℓ, y the row's class, both counted from 0.

A loss of your own is a subclass of `MultiLoss` with a method `at` that writes the slopes ∂/∂s_ℓ and returns the value.
Classes may turn up as the rows go by: `known` of them are known in a round, the row's own among them, and scores and
slopes beyond are not looked at. Ties are settled for the lowest class.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import margin_gap
from lowregret.errors import PartError
from lowregret.loss.base import Margin, NamedLoss
from lowregret.loss.margin import Logistic
from lowregret.types import Cells, Vector

__all__ = ["CostHinge", "MultiHinge", "MultiLoss", "OneAgainstAll", "PerceptronLoss", "Softmax"]


class MultiLoss(NamedLoss):
    """φ(s, y), convex in the scores s."""

    labels: ClassVar[str] = "a class"
    classifies: ClassVar[bool] = True

    @abstractmethod
    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        """φ(s, y), with ∂φ/∂s_ℓ written into slopes[ℓ], ℓ < known; `guess` is the class predicted, or −1."""

    def fits(self, classes: int | None) -> None:
        """Refuse a number of classes that the loss is not made for; None: as many as turn up."""

    def probabilities(self, scores: Vector) -> Vector:
        """The chances of the classes by a matrix of scores, a row each."""
        raise PartError(
            f"{type(self).__name__} gives scores, not probabilities: use Softmax() or OneAgainstAll(Logistic())"
        )


class PerceptronLoss(MultiLoss):
    """φ = [1 − s_y + s_ŷ]₊ in rounds where the class predicted, ŷ, is wrong, else 0 (ALG-MC-PERCEPTRON).

    Which rounds are mistakes, and ŷ, are settled at w_t, so f_t is convex.
    """

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        clear(slopes, known)
        gap = margin_gap(1.0, scores[y], scores[guess]) if guess >= 0 and guess != y else 0.0
        if gap > 0.0:
            slopes[guess], slopes[y] = 1.0, -1.0
        return max(gap, 0.0)


class MultiHinge(MultiLoss):
    """φ = max_ℓ[γ(y,ℓ) − s_y + s_ℓ] with γ(y,ℓ) = 1 for ℓ ≠ y, γ(y,y) = 0 (LOSS-STRUCT; Crammer and Singer)"""

    name: ClassVar[str] = "multi-hinge"
    purpose: ClassVar[str] = "many classes; the best of the others must lie a margin behind"

    def cost(self, y: int, other: int) -> float:
        """γ(y, ℓ) for ℓ ≠ y."""
        return 1.0

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        clear(slopes, known)
        value, worst = 0.0, y
        for other in range(known):
            if other != y:
                gap = margin_gap(self.cost(y, other), scores[y], scores[other])
                if gap > value:
                    value, worst = gap, other
        if worst != y:
            slopes[worst], slopes[y] = 1.0, -1.0
        return value


class CostHinge(MultiHinge):
    """φ = max_ℓ[γ(y,ℓ) − s_y + s_ℓ] with γ(y,ℓ) = costs[y, ℓ] ≥ 0, the cost of taking class y for ℓ"""

    costs: Any

    def check(self) -> None:
        costs = np.ascontiguousarray(self.costs, np.float64)
        object.__setattr__(self, "costs", costs)
        self.require(
            costs.ndim == 2 and costs.shape[0] == costs.shape[1] > 0,
            f"costs must be a square matrix, a row and a column for each class; got shape {costs.shape}",
        )
        self.require(bool(np.all((costs >= 0) & (costs < math.inf))), "costs must be finite numbers ≥ 0")
        self.require(not np.any(np.diagonal(costs)), "what is right costs nothing: the diagonal of costs must be 0")

    def cost(self, y: int, other: int) -> float:
        return self.costs[y, other]

    def fits(self, classes: int | None) -> None:
        self.require(
            classes == len(self.costs),
            f"costs are given for {len(self.costs)} classes, so they must be named in this order (classes=[…]); "
            f"there are {'none' if classes is None else classes} named",
        )


class Softmax(MultiLoss):
    """φ = ln Σ_ℓ e^{s_ℓ} − s_y, multinomial logistic regression, in nats"""

    name: ClassVar[str] = "softmax"
    purpose: ClassVar[str] = "many classes with their chances"

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        top = scores[0]
        for label in range(1, known):
            top = max(top, scores[label])
        total = 0.0
        for label in range(known):
            slopes[label] = math.exp(scores[label] - top)
            total += slopes[label]
        for label in range(known):
            slopes[label] /= total
        slopes[y] -= 1.0
        return math.log(total) + (top - scores[y])  # the other way round, large scores would swallow the logarithm

    def probabilities(self, scores: Vector) -> Vector:
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


class OneAgainstAll(MultiLoss):
    """φ = Σ_ℓ ℓ(s_ℓ, ±1), + for the row's own class: as many binary learners as classes, one certificate for all"""

    name: ClassVar[str] = "oaa"
    purpose: ClassVar[str] = "many classes, each learnt against all others by a loss of two"
    loss: Margin = Logistic()

    def check(self) -> None:
        self.require(
            isinstance(self.loss, Margin), f"loss must be a loss of the margin such as Hinge(), got {self.loss!r}"
        )

    def at(self, scores: Cells, known: int, guess: int, y: int, slopes: Cells) -> float:
        total = 0.0
        for label in range(known):
            value, slope = self.loss.at(scores[label], 1.0 if label == y else -1.0)
            slopes[label] = slope
            total += value
        return total

    def probabilities(self, scores: Vector) -> Vector:
        if not isinstance(self.loss, Logistic):
            return super().probabilities(scores)
        log_chances = -np.logaddexp(0.0, -scores)  # of each class against all others, then made to sum to 1
        return Softmax().probabilities(log_chances)


def clear(slopes: Cells, known: int) -> None:
    """All slopes 0."""
    for label in range(known):
        slopes[label] = 0.0
