"""Right-hand sides against one u, written down again from the textbook over whole iterates and sub-gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.domain import L2Ball
from lowregret.mirror import Entropy, PNorm, UnnormalisedEntropy
from lowregret.rule import MirrorDescent, PerCoordinate
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from tests.laws.coordinates import of_coordinates
from tests.laws.sequences import Matrix, Vector
from tests.laws.walk import Books


class Facts:
    """A run as the textbook sees it: w_1 … w_{T+1}, z_1 … z_T and the rates, up to the last round with z_t ≠ 0."""

    def __init__(self, books: Books, coming: Vector) -> None:
        self.rule: Any = books.learner.rule
        self.rounds = len(books.points)
        self.w: Matrix = np.array([*books.points, coming])
        self.z: Matrix = np.array(books.gradients)
        self.norms: Vector = np.array([self.dual_norm(z) for z in self.z])
        used = np.flatnonzero(self.norms)
        self.eta: Vector = self.rates()[used]
        self.w, self.z, self.norms = self.w[[*used, self.rounds]], self.z[used], self.norms[used]

    @property
    def mirror(self) -> Any:
        return self.rule.mirror if isinstance(self.rule, MirrorDescent) else None

    def dual_norm(self, z: Vector) -> float:
        match self.mirror:
            case PNorm(p):
                return float(np.linalg.norm(z, p))
            case Entropy() | UnnormalisedEntropy():
                return float(np.max(np.abs(z)))
        return float(np.linalg.norm(z))

    def rates(self) -> Vector:
        t = np.arange(1.0, self.rounds + 1)
        if isinstance(self.rule, PerCoordinate):
            return np.ones(self.rounds)
        match self.rule.step:
            case Constant(eta):
                return np.full(self.rounds, eta)
            case InverseSqrt(eta):
                return eta / np.sqrt(t)
            case InverseTime(sigma):
                return 1 / (sigma * t)
            case WeightedInverseTime(lam):
                return 2 / (lam * (t + 1))
            case Adaptive(scale):
                energy = np.cumsum(self.norms**2)
                first = np.min(energy[energy > 0], initial=math.inf)
                past = energy if not isinstance(self.rule, MirrorDescent) else np.append(0.0, energy[:-1])
                return scale / np.sqrt(np.maximum(past, first))
        raise ValueError(f"no formula for {self.rule.step}")

    @property
    def sigma(self) -> float:
        """Strong convexity of R at rate 1"""
        match self.mirror:
            case PNorm(p):
                return 1 / (p - 1)
            case Entropy(total):
                return 1 / total
        return 1.0

    def regulariser(self, w: Vector) -> float:
        """R(w) at rate 1"""
        logs = np.sum(w * np.log(np.where(w > 0, w, 1.0)))
        match self.mirror:
            case PNorm(p):
                return float(np.linalg.norm(w, p / (p - 1))) ** 2 / 2
            case Entropy():
                return float(logs)
            case UnnormalisedEntropy(start):
                return float(logs - np.sum(w) * (1 + math.log(start)))
        return float(w @ w) / 2

    def divergences(self) -> float:
        """ΣD_t with D_t = R(w_t) − R(w_{t+1}) − ⟨θ_{t+1}, w_t − w_{t+1}⟩, at a constant rate"""
        total, theta, eta = 0.0, np.zeros(self.w.shape[1]), self.rule.step.eta
        for t, z in enumerate(self.z):
            theta = theta - z
            change = self.regulariser(self.w[t]) - self.regulariser(self.w[t + 1])
            total += change / eta - float(theta @ (self.w[t] - self.w[t + 1]))
        return total


def transcribed(theorem: str, f: Facts, u: Vector) -> float:
    """The bound of a theorem against u."""
    if isinstance(f.rule, PerCoordinate):
        return of_coordinates(theorem, f.rule, f.w, f.z, u)
    return (
        _of_mirror_descent(theorem, f, u) if isinstance(f.rule, MirrorDescent) else _of_projected_descent(theorem, f, u)
    )


def _of_mirror_descent(theorem: str, f: Facts, u: Vector) -> float:
    eta, w_1 = float(f.eta[-1]), f.w[0]
    energy = float(np.sum(f.norms**2))
    between = (f.regulariser(u) - f.regulariser(w_1)) / eta
    local = float(np.sum(f.w[:-1] * f.z**2))
    match theorem:
        case "EQ-2.15":
            return float(u @ u) / (2 * eta) + eta / 2 * energy
        case "THM-2.4" | "COR-2.17":
            return float(u @ u) / (2 * eta) + eta * energy
        case "THM-2.15":
            return between + eta / f.sigma * energy
        case "LAZY+":
            return float(u @ u - w_1 @ w_1) / (2 * eta) + eta / 2 * energy
        case "COR-2.18":
            p = f.mirror.p
            return float(np.linalg.norm(u, p / (p - 1))) ** 2 / (2 * eta) + eta * (p - 1) / 2 * energy
        case "COR-2.14":
            total = f.mirror.total
            entropy = float(np.sum(u[u > 0] * np.log(u[u > 0]))) - total * math.log(total / u.size)
            return entropy / eta + eta * total / 2 * energy
        case "THM-2.21":
            return between + eta / (2 * f.sigma) * energy
        case "LEM-2.20":
            return between + f.divergences()
        case "THM-2.22" | "THM-2.23":
            return between + eta * local
        case "THM-2.22+" | "THM-2.23+":
            return between + eta / 2 * local
        case "EG-RANGE":
            return between + f.mirror.total * eta / 8 * float(np.sum(np.ptp(f.z, axis=1) ** 2))
        case "LAZY-DEC":
            return between + float(np.sum(f.eta * f.norms**2)) / (2 * f.sigma)
    raise ValueError(f"no transcription of {theorem}")


def _of_projected_descent(theorem: str, f: Facts, u: Vector) -> float:
    first, eta, w_1, domain = float(f.eta[0]), float(f.eta[-1]), f.w[0], f.rule.domain
    energy, stepped = float(np.sum(f.norms**2)), float(np.sum(f.eta * f.norms**2))
    radius = domain.radius if isinstance(domain, L2Ball) else math.inf
    match theorem:
        case "THM-14.5":
            return float((w_1 - u) @ (w_1 - u)) / (2 * eta) + eta / 2 * energy
        case "EAGER-DEC":
            seen = float(np.max(np.linalg.norm(f.w[:-1], axis=1)) + np.linalg.norm(u))
            return min(seen, domain.diameter(u.size)) ** 2 / (2 * eta) + stepped / 2
        case "THM-4.1.3" | "ONLINE-SVM":
            wide, root, largest = domain.diameter(u.size), math.sqrt(f.rounds), float(np.max(f.norms)) ** 2
            return wide**2 * root / (2 * f.rule.step.eta) + f.rule.step.eta * largest * (root - 0.5)
        case "EQ-8":
            lipschitz = math.sqrt(2) * radius / f.rule.step.eta
            return radius * lipschitz * math.sqrt(8 * f.rounds)
        case "EQ-8+":
            return radius**2 / (2 * first) + 2 * radius**2 * (1 / eta - 1 / first) + stepped / 2
        case "THM-14.11":
            return stepped / 2
        case "ADAGRAD":
            farthest = float(np.max(np.abs(f.w)) + np.max(np.abs(u)))
            return (farthest**2 / (2 * eta) + eta) * float(np.sum(np.linalg.norm(f.z, axis=0)))
        case "THM-14.12":
            return 2 * energy / (f.rule.step.lam * f.rounds * (f.rounds + 3))
    raise ValueError(f"no transcription of {theorem}")
