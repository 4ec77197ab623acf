"""Losses ℓ(p, y) of a score p = ⟨w, x⟩: value and slope in p, and the facts the theorems ask for.

A loss of your own is a subclass of `Loss` with a method `at` that returns (value, slope):

    class Cauchy(Loss):
        def at(self, p, y):
            r = p - y
            return math.log(1 + r * r), 2 * r / (1 + r * r)

At a kink any slope between the one-sided ones is valid; the conventions of theory.md §0 are used here.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import ClassVar

from lowregret.part import Part
from lowregret.real import exp, log_factorial


class Loss(Part):
    """ℓ(p, y), convex in p.

    `lipschitz` bounds |slope|, `curvature` is σ if ℓ is σ-strongly convex in p, `smoothness` bounds the slope's slope.
    """

    labels: ClassVar[str] = "a finite number"
    classifies: ClassVar[bool] = False  # labels are ±1 and the sign of the score is the prediction

    @abstractmethod
    def at(self, p: float, y: float) -> tuple[float, float]:
        """(ℓ(p, y), ∂ℓ(p, y)/∂p)."""

    def accepts(self, y: float) -> bool:
        """Whether y is a possible label."""
        return math.isfinite(y)

    def wrong(self, p: float, y: float) -> bool:
        """Whether predicting with score p counts as a mistake (classification only)."""
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


class Margin(Loss):
    """Losses of the margin y·p with labels ±1; a score ≥ 0 predicts +1."""

    labels: ClassVar[str] = "-1 or +1"
    classifies: ClassVar[bool] = True

    def accepts(self, y: float) -> bool:
        return abs(y) == 1.0

    def decision(self, p: float) -> float:
        """The number whose sign is the prediction."""
        return p

    def wrong(self, p: float, y: float) -> bool:
        return (self.decision(p) >= 0.0) != (y > 0.0)


class Hinge(Margin):
    """ℓ = [margin − y·p]₊"""

    margin: float = 1.0

    def check(self) -> None:
        self.require(self.margin >= 0 and math.isfinite(self.margin), f"margin must be ≥ 0, got {self.margin}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        gap = self.margin - y * p
        return (gap, -y) if gap > 0.0 else (0.0, 0.0)

    @property
    def lipschitz(self) -> float:
        return 1.0


class SquaredHinge(Margin):
    """ℓ = [1 − y·p]₊²"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        gap = 1.0 - y * p
        return (gap * gap, -2.0 * y * gap) if gap > 0.0 else (0.0, 0.0)

    @property
    def smoothness(self) -> float:
        return 2.0


class Logistic(Margin):
    """ℓ = ln(1 + e^{−y·p}), in nats"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        m = y * p
        if m > 0.0:  # whichever exponential is small, so neither overflows
            e = math.exp(-m)
            return math.log1p(e), -y * e / (1.0 + e)
        e = math.exp(m)
        return math.log1p(e) - m, -y / (1.0 + e)

    @property
    def lipschitz(self) -> float:
        return 1.0

    @property
    def smoothness(self) -> float:
        return 0.25


class Square(Loss):
    """ℓ = (p − y)²"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        return r * r, 2.0 * r

    @property
    def curvature(self) -> float:
        return 2.0

    @property
    def smoothness(self) -> float:
        return 2.0


class Absolute(Loss):
    """ℓ = |p − y|"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        return (r, 1.0) if r > 0.0 else (-r, -1.0 if r < 0.0 else 0.0)

    @property
    def lipschitz(self) -> float:
        return 1.0


class Quantile(Loss):
    """ℓ = τ[y − p]₊ + (1 − τ)[p − y]₊: its minimiser is the τ-quantile"""

    tau: float = 0.5

    def check(self) -> None:
        self.require(0 < self.tau < 1, f"tau must lie strictly between 0 and 1, got {self.tau}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        if r > 0.0:
            return (1.0 - self.tau) * r, 1.0 - self.tau
        return -self.tau * r, -self.tau if r < 0.0 else 0.0

    @property
    def lipschitz(self) -> float:
        return max(self.tau, 1.0 - self.tau)


class Huber(Loss):
    """ℓ = ½r² for |r| ≤ δ, δ(|r| − ½δ) beyond; r = p − y"""

    delta: float = 1.0

    def check(self) -> None:
        self.require(0 < self.delta < math.inf, f"delta must be positive, got {self.delta}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        if abs(r) <= self.delta:
            return 0.5 * r * r, r
        return self.delta * (abs(r) - 0.5 * self.delta), math.copysign(self.delta, r)

    @property
    def lipschitz(self) -> float:
        return self.delta

    @property
    def smoothness(self) -> float:
        return 1.0


class EpsilonInsensitive(Loss):
    """ℓ = [|p − y| − ε]₊"""

    epsilon: float = 0.1

    def check(self) -> None:
        self.require(0 <= self.epsilon < math.inf, f"epsilon must be ≥ 0, got {self.epsilon}")

    def at(self, p: float, y: float) -> tuple[float, float]:
        r = p - y
        gap = abs(r) - self.epsilon
        return (gap, math.copysign(1.0, r)) if gap > 0.0 else (0.0, 0.0)

    @property
    def lipschitz(self) -> float:
        return 1.0


class Poisson(Loss):
    """ℓ = e^p − y·p + ln y!: the negative log-likelihood of a count y with mean e^p"""

    labels: ClassVar[str] = "a finite number ≥ 0"

    def accepts(self, y: float) -> bool:
        return 0.0 <= y < math.inf

    def at(self, p: float, y: float) -> tuple[float, float]:
        mean = exp(p)
        return mean - y * p + log_factorial(y), mean - y


class Cost(Loss):
    """ℓ = y·p: the row is a cost vector z, and with label 1 the loss is ⟨w, z⟩"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return y * p, y


class LogWealth(Loss):
    """ℓ = −ln p: the row holds price relatives, w a portfolio; p must be positive, the label is ignored"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return (-math.log(p), -1.0 / p) if p > 0.0 else (math.inf, -math.inf)


class Affine(Margin):
    """ℓ(slope·p + offset, y) for another loss of the margin: the score is scaled and shifted before it is judged"""

    loss: Margin
    slope: float = 1.0
    offset: float = 0.0

    def check(self) -> None:
        _require_margin(self, self.loss)
        self.require(
            self.slope != 0 and math.isfinite(self.slope), f"slope must be a number other than 0, got {self.slope}"
        )
        self.require(math.isfinite(self.offset), f"offset must be finite, got {self.offset}")

    def shifted(self, p: float) -> float:
        """The score that the inner loss judges."""
        return self.slope * p + self.offset

    def at(self, p: float, y: float) -> tuple[float, float]:
        value, slope = self.loss.at(self.shifted(p), y)
        return value, self.slope * slope

    def decision(self, p: float) -> float:
        return self.loss.decision(self.shifted(p))

    def wrong(self, p: float, y: float) -> bool:
        return self.loss.wrong(self.shifted(p), y)

    @property
    def lipschitz(self) -> float:
        return abs(self.slope) * self.loss.lipschitz

    @property
    def curvature(self) -> float:
        return self.slope * self.slope * self.loss.curvature

    @property
    def smoothness(self) -> float:
        return self.slope * self.slope * self.loss.smoothness


class OnMistakes(Margin):
    """ℓ on the rounds that are mistakes, else 0: what makes the Perceptron and Winnow conservative.

    A zero decision counts as a mistake, whatever the label: the start w₁ = 0 needs it. Which rounds are mistakes is
    settled at w_t, so f_t is either ℓ or 0 throughout, and convex both times.
    """

    loss: Margin

    def check(self) -> None:
        _require_margin(self, self.loss)
        inner = self.loss
        while isinstance(inner, Affine):
            inner = inner.loss
        self.require(
            inner != Hinge(0.0),
            "Hinge(0) is flat at a zero decision, so nothing would ever be learnt: use a margin above 0",
        )

    def at(self, p: float, y: float) -> tuple[float, float]:
        return self.loss.at(p, y) if self.wrong(p, y) else (0.0, 0.0)

    def decision(self, p: float) -> float:
        return self.loss.decision(p)

    def wrong(self, p: float, y: float) -> bool:
        return y * self.decision(p) <= 0.0

    @property
    def lipschitz(self) -> float:
        return self.loss.lipschitz


def _require_margin(outer: Margin, inner: Margin) -> None:
    outer.require(isinstance(inner, Margin), f"loss must be a loss of the margin such as Hinge(), got {inner!r}")
