"""Losses ℓ(p, y) of a score p = ⟨w, x⟩: value and slope in p, and the facts the theorems ask for.

A loss of your own is a subclass of `Loss` with a method `at` that returns (value, slope):

    class PseudoHuber(Loss):
        def at(self, p, y):
            root = math.sqrt(1 + (p - y) ** 2)
            return root - 1, (p - y) / root

It must be convex in p, and the slope be its derivative: certificates rest on that, and `verify.py` looks for scores at
which it is not so. A subclass of another loss that changes it knows nothing of what is known of the other: see
`compile/altered.py`.

At a kink any slope between the one-sided ones is valid; it is 0 in the losses of the package.

A loss that states a `name` of its own is recorded in `LOSSES`: the command line, the docs and the tests find it there.

The best fixed choice in hindsight is found much faster if the loss also knows its dual side: `conjugate`, and the slope
and bend of its `envelope`. Both are optional in a loss of your own.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.part import Part
from lowregret.errors import PartError
from lowregret.types import Vector

__all__ = ["LOSSES", "Falling", "Loss", "Margin", "NamedLoss"]

LOSSES: dict[str, type[NamedLoss]] = {}  # every loss that has a name


class NamedLoss(Part):
    """A loss of one score or of many, and what it is called on the command line.

    The name is followed by its parameter, if the loss has one: `quantile:0.9`, `oaa:hinge`.
    """

    name: ClassVar[str]
    purpose: ClassVar[str]
    labels: ClassVar[str]  # which there can be, in words
    classifies: ClassVar[bool]  # whether a prediction is right or wrong

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        name = cls.__dict__.get("name")
        if name is not None:
            known = LOSSES.setdefault(name, cls)
            if (known.__module__, known.__qualname__) != (cls.__module__, cls.__qualname__):
                raise PartError(f"{cls.__qualname__}: {known.__qualname__} is called {name} already: name it otherwise")
            LOSSES[name] = cls

    def highest(self, reach: float, label: float) -> float:
        """sup ℓ(p, y) over |p| ≤ reach, |y| ≤ label; inf if it is not known."""
        return math.inf

    @property
    def error_per_loss(self) -> float | None:
        """κ with 1[wrong] ≤ κ·ℓ, if there is one that is known."""
        return None

    facts: ClassVar[dict[str, Any]] = {"highest": highest, "error_per_loss": error_per_loss}


class Loss(NamedLoss):
    """ℓ(p, y), convex in p.

    `lipschitz` bounds |slope|, `curvature` is σ if ℓ is σ-strongly convex in p, `smoothness` bounds the slope's slope.
    """

    labels: ClassVar[str] = "a finite number"
    classifies: ClassVar[bool] = False  # labels are ±1 and the sign of the score is the prediction
    gives: ClassVar[dict[str, str]] = {
        "lipschitz, curvature, smoothness": "theorems that ask for them",
        "accepts": "which labels there can be",
        "wrong": "mistakes, if it classifies",
        "conjugate, envelope": "the best fixed choice in hindsight, much faster",
        "name": "its place on the command line",
    }

    @abstractmethod
    def at(self, p: float, y: float) -> tuple[float, float]:
        """(ℓ(p, y), ∂ℓ(p, y)/∂p)."""

    def conjugate(self, a: float, y: float) -> float:
        """ℓ*(a, y) = sup_p a·p − ℓ(p, y), inf where not bounded: ℓ(p) + ℓ*(a) ≥ a·p, equal if a is a slope at p.

        It may also be more than that (never less), which only makes what rests on it less tight.
        """
        raise NotImplementedError

    def envelope(self, p: float, y: float, mu: float) -> tuple[float, float]:
        """Slope a and its derivative in p of e(p) = min_q ℓ(q, y) + (q − p)²/(2μ), the loss with its kinks rounded off.

        a lies where ℓ* is finite and maximises a·p − ℓ*(a, y) − μa²/2. With μ = 0: ∂ℓ/∂p and ∂²ℓ/∂p², 0 at kinks.
        """
        raise NotImplementedError

    def offsets(self, y: float) -> tuple[float, float]:
        """(g, h): how large the numbers are that scores are compared with, and those in ℓ whatever the score.

        Of ℓ as computed at p, and of ℓ* at a, the last digits of g and of h are lost, though both may be small.
        """
        return 0.0, 0.0

    @property
    def dual(self) -> bool:
        """Whether `conjugate` and `envelope` are known."""
        return type(self).conjugate is not Loss.conjugate and type(self).envelope is not Loss.envelope

    @property
    def kinked(self) -> bool:
        """Whether Newton's method needs the envelope: the slope jumps somewhere, or the loss ends."""
        return False

    def accepts(self, y: float) -> bool:
        """Whether y is a possible label."""
        return math.isfinite(y)

    def wrong(self, p: float, y: float) -> bool:
        """Whether predicting with score p counts as a mistake (classification only)."""
        return False

    def predictions(self, scores: Vector) -> Vector:
        """Predictions by scores: numbers, or −1 and +1."""
        return scores

    def probabilities(self, scores: Vector) -> Vector:
        """The chances of −1 and +1 that scores stand for, a column each."""
        raise PartError(f"{type(self).__name__} gives scores, not probabilities: use Logistic()")

    def highest(self, reach: float, label: float) -> float:
        if not (self.convex_in_label and reach < math.inf and label < math.inf):
            return math.inf
        return max(self.at(p, y)[0] for p in (-reach, reach) for y in (-label, label))

    @property
    def convex(self) -> bool:
        """Whether ℓ is convex in p, as theorems ask: one that is not can be learnt by its slope, without a promise."""
        return True

    @property
    def convex_in_label(self) -> bool:
        """Whether ℓ is known to be convex in y, too: then it is highest at a corner of |p| ≤ P, |y| ≤ Y."""
        return False

    @property
    def lipschitz(self) -> float:
        return math.inf

    @property
    def curvature(self) -> float:
        return 0.0

    @property
    def smoothness(self) -> float:
        return math.inf

    facts: ClassVar[dict[str, Any]] = {
        "error_per_loss": NamedLoss.error_per_loss,
        "highest": highest,
        "convex": convex,
        "convex_in_label": convex_in_label,
        "conjugate": conjugate,
        "envelope": envelope,
        "offsets": offsets,
        "dual": dual,
        "kinked": kinked,
        "lipschitz": lipschitz,
        "curvature": curvature,
        "smoothness": smoothness,
    }


class Margin(Loss):
    """Losses of the margin y·p with labels ±1; a score ≥ 0 predicts +1."""

    labels: ClassVar[str] = "-1 or +1"
    classifies: ClassVar[bool] = True

    def accepts(self, y: float) -> bool:
        return abs(y) == 1.0

    def decision(self, p: float) -> float:
        """The number whose sign is the prediction."""
        return p

    def decisions(self, scores: Vector) -> Vector:
        """The decision on each of many scores."""
        return np.array([self.decision(p) for p in scores.tolist()])

    def predictions(self, scores: Vector) -> Vector:
        return np.where(self.decisions(scores) >= 0, 1.0, -1.0)

    def wrong(self, p: float, y: float) -> bool:
        return (self.decision(p) >= 0.0) != (y > 0.0)


class Falling(Margin):
    """Losses that fall as the margin y·p grows, and are convex in it."""

    @property
    def convex_in_label(self) -> bool:
        return True

    @property
    def error_per_loss(self) -> float | None:
        """1/ℓ(0) for the label with the lesser one, for ℓ is at least that where the sign is wrong."""
        least = min(self.at(0.0, y)[0] for y in (1.0, -1.0))
        return 1 / least if least > 0 else None
