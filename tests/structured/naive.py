"""The textbook, slowly: all structures are listed, joint features are dense vectors, iterates are kept."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Structure = tuple[int, ...]


class NaiveSpace:
    """ψ, γ and a list of all structures, in lexicographic order."""

    def __init__(self, features: int, dimension: int) -> None:
        self.features, self.dimension = features, dimension

    def structures(self, x: Vector) -> Iterator[Structure]:
        raise NotImplementedError

    def psi(self, x: Vector, structure: Structure) -> Vector:
        raise NotImplementedError

    def cost(self, y: Structure, other: Structure) -> float:
        return float(sum(a != b for a, b in zip(y, other, strict=True)))

    def best(self, w: Vector, x: Vector, y: Structure | None = None, margin: float = 0.0) -> Structure:
        """The first maximiser of ⟨w, ψ(x, ·)⟩ + margin·γ(y, ·)."""
        scored = []
        for structure in self.structures(x):
            extra = 0.0 if y is None else margin * self.cost(y, structure)
            scored.append((float(w @ self.psi(x, structure)) + extra, structure))
        top = max(value for value, _ in scored)
        return next(structure for value, structure in scored if value == top)

    def margin(self, w: Vector, x: Vector, y: Structure) -> float:
        """min_{ℓ≠y} ⟨w, ψ(x, y) − ψ(x, ℓ)⟩"""
        own = float(w @ self.psi(x, y))
        return min((own - float(w @ self.psi(x, s)) for s in self.structures(x) if s != y), default=np.inf)


class NaiveChain(NaiveSpace):
    def __init__(self, features: int, classes: int, ends: bool = True) -> None:
        super().__init__(features, classes * (features + classes + 2 * ends))
        self.classes, self.ends = classes, ends

    def structures(self, x: Vector) -> Iterator[Structure]:
        return itertools.product(range(self.classes), repeat=len(x))

    def psi(self, x: Vector, structure: Structure) -> Vector:
        emission = np.zeros((self.features, self.classes))
        transition = np.zeros((self.classes, self.classes))
        start, end = np.zeros((2, self.classes))
        for row, label in zip(x, structure, strict=True):
            emission[:, label] += row
        for a, b in itertools.pairwise(structure):
            transition[a, b] += 1
        start[structure[0]] += 1
        end[structure[-1]] += 1
        parts = [emission.ravel(), transition.ravel(), *([start, end] if self.ends else [])]
        return np.concatenate(parts)


class NaiveClasses(NaiveSpace):
    def __init__(self, features: int, classes: int) -> None:
        super().__init__(features, features * classes)
        self.classes = classes

    def structures(self, x: Vector) -> Iterator[Structure]:
        return ((c,) for c in range(self.classes))

    def psi(self, x: Vector, structure: Structure) -> Vector:
        return np.outer(x[0], np.eye(self.classes)[structure[0]]).ravel()


class NaiveTree(NaiveSpace):
    def __init__(self, features: int, parents: list[int]) -> None:
        super().__init__(features, features * len(parents))
        self.parents = parents
        self.leaves = [n for n in range(len(parents)) if n not in parents]

    def path(self, label: int) -> list[int]:
        """The leaf and its ancestors."""
        found = [self.leaves[label]]
        while self.parents[found[-1]] >= 0:
            found.append(self.parents[found[-1]])
        return found

    def structures(self, x: Vector) -> Iterator[Structure]:
        return ((c,) for c in range(len(self.leaves)))

    def psi(self, x: Vector, structure: Structure) -> Vector:
        nodes = np.zeros(len(self.parents))
        nodes[self.path(structure[0])] = 1
        return np.outer(x[0], nodes).ravel()

    def cost(self, y: Structure, other: Structure) -> float:
        return float(len(set(self.path(y[0])) ^ set(self.path(other[0]))))


class Step(NamedTuple):
    """Gradient descent: kept as θ (lazy) or w (eager), on a ball or not, η_t = eta / t^power or eta/√Σ‖g‖²."""

    eta: float
    power: float = 0.0
    radius: float = np.inf
    eager: bool = False
    adaptive: bool = False
    ridge: float = 0.0


@dataclass
class Played:
    """A run written out in full."""

    points: Vector  # w_1 … w_{T+1}
    gradients: Vector  # without the ridge
    losses: Vector
    made: list[Any]


def project(w: Vector, radius: float) -> Vector:
    length = float(np.linalg.norm(w))
    return w if length <= radius else w * (radius / length)


def descend(dimension: int, rounds: Any, step: Step) -> Played:
    """`rounds` are functions of w that return (loss, sub-gradient, prediction)."""
    w, theta, energy = np.zeros(dimension), np.zeros(dimension), 0.0
    played = Played(np.zeros((0, dimension)), np.zeros((0, dimension)), np.zeros(0), [])
    points, gradients, losses = [w], [], []
    for t, judge in enumerate(rounds, 1):
        loss, g, made = judge(w)
        z = g + step.ridge * w
        energy += float(z @ z)
        eta = step.eta / t**step.power
        if step.adaptive:
            eta = step.eta / np.sqrt(energy) if energy > 0 else step.eta
        if step.eager:
            w = project(w - eta * z, step.radius)
        else:
            theta = theta - z
            coming = eta if step.adaptive else step.eta / (t + 1) ** step.power
            w = project(coming * theta, step.radius)
        points.append(w)
        gradients.append(g)
        losses.append(loss)
        played.made.append(made)
    played.points, played.gradients, played.losses = np.array(points), np.array(gradients), np.array(losses)
    return played


def structured(space: NaiveSpace, pairs: Any, margin: float, step: Step) -> Played:
    """LOSS-STRUCT, or with margin 0 the structured Perceptron; pairs of (rows, structure)."""

    def judged(x: Vector, y: Structure) -> Any:
        def judge(w: Vector) -> tuple[float, Vector, Structure]:
            made = space.best(w, x)
            rival = space.best(w, x, y, margin)
            g = space.psi(x, rival) - space.psi(x, y)
            return margin * space.cost(y, rival) + float(w @ g), g, made

        return judge

    return descend(space.dimension, [judged(x, y) for x, y in pairs], step)


def ranking(features: int, lists: Any, step: Step) -> Played:
    """PROTO-RANK; pairs of (items, chosen). Predictions are positions, found by sorting with ties against y."""

    def judged(x: Vector, y: int) -> Any:
        def judge(w: Vector) -> tuple[float, Vector, int]:
            scores = x @ w
            order = sorted(range(len(x)), key=lambda j: (-scores[j], j == y))
            loss, g = 0.0, np.zeros(features)
            for j in range(len(x)):
                gap = 1 - (scores[y] - scores[j])
                if j != y and gap > 0:
                    loss, g = loss + gap, g + x[j] - x[y]
            return loss, g, order.index(y) + 1

        return judge

    return descend(features, [judged(x, y) for x, y in lists], step)
