"""A run taken round by round, beside books of our own: iterates, sub-gradients, losses, in plain NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.loss import Loss, OnMistakes
from lowregret.run.linear import LinearRun
from lowregret.step import WeightedInverseTime
from tests.laws.comparators import Hindsight, hindsight, least, slopes, values
from tests.laws.sequences import Stream, Vector


@dataclass
class Books:
    """f_t(w) = weight_t·ℓ(⟨w,x_t⟩, y_t) + (λ/2)‖w‖², counted c_t times; only rounds of positive weight are rounds."""

    learner: Linear
    rows: list[Vector] = field(default_factory=list)
    labels: list[float] = field(default_factory=list)
    counted: list[float] = field(default_factory=list)  # c_t·weight_t, 0 where f_t is 0 throughout
    points: list[Vector] = field(default_factory=list)  # w_1, w_2, …
    gradients: list[Vector] = field(default_factory=list)  # z_t with the ridge's part, as the rule sees it
    own: float = 0.0  # Σ c_t f_t(w_t)
    linear: float = 0.0  # Σ c_t (⟨w_t,z_t⟩ + (λ/2)‖w_t‖²), z_t without the ridge's part
    total: Vector | float = 0.0  # Σ c_t z_t
    importance: float = 0.0  # Σ c_t
    size: float = 0.0  # Σ c_t (|⟨w_t,z_t⟩| + ‖w_t‖‖z_t‖): what rounding errors are measured against

    @property
    def weighted(self) -> bool:
        return isinstance(self.learner.rule.schedule(), WeightedInverseTime)

    @property
    def inner(self) -> Loss:
        """ℓ without the `OnMistakes` around it."""
        return self.learner.loss.loss if isinstance(self.learner.loss, OnMistakes) else self.learner.loss

    def add(self, w: Vector, x: Vector, y: float, weight: float) -> None:
        """Book one round played at w."""
        c = len(self.rows) + 2.0 if self.weighted else 1.0
        p = np.array([w @ x])
        inert = isinstance(self.learner.loss, OnMistakes) and y * p[0] > 0
        scale = 0.0 if inert else c * weight
        z = scale * float(slopes(self.inner, p, np.array([y]))[0]) * x
        ridge = c * self.learner.ridge / 2 * float(w @ w)
        self.rows.append(x)
        self.labels.append(y)
        self.counted.append(scale)
        self.points.append(w)
        self.gradients.append(z / c + self.learner.ridge * w)
        self.own += scale * float(values(self.inner, p, np.array([y]))[0]) + ridge
        self.linear += float(w @ z) + ridge
        self.total = self.total + z
        self.importance += c
        self.size += abs(float(w @ z)) + float(np.linalg.norm(w) * np.linalg.norm(z))

    def linear_regret(self, comparators: Domain) -> float:
        """max_u Σ c_t⟨w_t − u, z_t⟩, the ridge taken exactly; a weighted mean where the c_t are not 1."""
        assert isinstance(self.total, np.ndarray)
        found = self.linear - least(self.total, comparators, self.learner.ridge * self.importance)
        return found / self.importance if self.weighted else found

    def regret(self, comparators: Domain) -> tuple[float, float]:
        """An interval for the regret against the best comparator, likewise."""
        best = self.hindsight(comparators)
        share = self.importance if self.weighted else 1.0
        return (self.own - best.upper) / share, (self.own - best.lower) / share

    def hindsight(self, comparators: Domain) -> Hindsight:
        """The best fixed choice for the rounds so far."""
        kappa = self.learner.ridge * self.importance
        return hindsight(
            self.inner, np.array(self.rows), np.array(self.labels), np.array(self.counted), comparators, kappa
        )


def walk(learner: Linear, stream: Stream, weights: Vector | None = None) -> Iterator[tuple[LinearRun, Books]]:
    """Play a stream row by row, interpreted, yielding after every round."""
    run = LinearRun(learner, learner.start(stream.x.shape[1]), compiled=False)
    books = Books(learner)
    for t, (x, y) in enumerate(zip(stream.x, stream.y, strict=True)):
        weight = 1.0 if weights is None else float(weights[t])
        w = run.point
        run.learn(x[None, :], [y], None if weights is None else [weight])
        if weight > 0:
            books.add(w, np.append(x, learner.bias) if learner.bias > 0 else x, y, weight)
            yield run, books
