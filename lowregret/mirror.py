"""Mirror maps: a regulariser R, its conjugate R*, and the link ∇R* that turns gradient sums into iterates.

    w_t = ∇R*(η θ_t),  θ_t = −Σ_{s<t} z_s          (R is written for η = 1; a rate η means R/η)

Each map says two things. As the textbook does, on vectors: `value`, `conjugate`, `link`, `divergence`, `strength`
(σ, strong convexity) with the `norm` it refers to. And for compiled loops, on coordinates: w_t[j] = scale · raw(j),
where one aggregate over all coordinates (`MASS`) makes `scale` O(1), so a round costs O(nnz) for every geometry.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from lowregret.domain import Domain, L1Ball, Orthant, Point, Reals, Simplex
from lowregret.part import Part
from lowregret.state import (
    DIMENSION,
    FACTOR,
    HUGE,
    LOCAL,
    LOWEST,
    MASS,
    SPREAD,
    WEIGHT,
    Index,
    State,
    Vector,
    cell,
    worn,
)

TINY = 1e-100


class Mirror(Part):
    """A regulariser R and its link."""

    norm: ClassVar[str]  # the norm in which R is strongly convex, for reports

    # ---- the textbook, on vectors -------------------------------------------------------------------------------

    @abstractmethod
    def value(self, w: Vector) -> float:
        """R(w), inf outside its domain."""

    @abstractmethod
    def conjugate(self, theta: Vector) -> float:
        """R*(θ) = max_w ⟨w,θ⟩ − R(w)."""

    @abstractmethod
    def link(self, theta: Vector) -> Vector:
        """∇R*(θ), the maximiser."""

    @abstractmethod
    def divergence(self, w: Vector, u: Vector) -> float:
        """The Bregman divergence D_R(w‖u) = R(w) − R(u) − ⟨∇R(u), w − u⟩."""

    @abstractmethod
    def strength(self) -> float:
        """σ such that R is σ-strongly convex in `norm`; 0 if it is only so locally."""

    @abstractmethod
    def highest(self, comparator: Domain, d: int) -> float:
        """max R(u) over the comparator set."""

    @abstractmethod
    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """The constant rate that minimises the regret bound against comparators of this size."""

    @property
    def domain(self) -> Domain:
        """Where the link takes its values."""
        return Reals()

    def fits(self, d: int) -> None:
        """Refuse a dimension in which the map does not exist."""
        self.domain.fits(d)

    @abstractmethod
    def begin(self, s: State) -> None:
        """Set a zero state to θ = 0."""

    # ---- compiled, on coordinates -----------------------------------------------------------------------------

    def whole(self) -> bool:
        """Whether a round costs O(d) whatever the row."""
        return False

    def width(self) -> int:
        """Columns of the table: θ, and the raw weight where it is stored."""
        return 2

    def rated(self) -> bool:
        """Whether raw weights depend on η."""
        return False

    def stores_rate(self) -> bool:
        """Whether stored raw weights depend on η, so that a new rate costs O(d)."""
        return False

    @abstractmethod
    def raw(self, s: State, j: Index, eta: float) -> float:
        """w[j] up to the common factor `scale`."""

    @abstractmethod
    def scale(self, s: State, eta: float) -> float:
        """The common factor of all coordinates."""

    @abstractmethod
    def open(self) -> Any:
        """Running sums of one round, before its first coordinate."""

    @abstractmethod
    def push(self, s: State, j: Index, g: float, eta: float, round_sums: Any) -> Any:
        """θ[j] −= g; returns the round's running sums."""

    @abstractmethod
    def close(self, s: State, eta: float, scale: float, entries: int, round_sums: Any) -> float:
        """Fold the round's sums into the state; returns ‖z_t‖_*².

        `scale` is that of w_t, `entries` the number of coordinates pushed.
        """

    @abstractmethod
    def refresh(self, s: State, eta: float) -> None:
        """Compute all aggregates afresh for rate η: O(d)."""

    def stale(self, s: State) -> bool:
        """Whether MASS should be computed afresh: rarely true, so that refreshing costs amortised O(1)."""
        return worn(s)


class Euclidean(Mirror):
    """R(w) = ½‖w‖₂² on S, link Π_S(θ); MASS = ‖θ‖²"""

    norm: ClassVar[str] = "2"
    on: Domain = Reals()

    def check(self) -> None:
        self.require(isinstance(self.on, Domain), f"needs a domain such as Reals() or L2Ball(1.0), got {self.on!r}")

    @property
    def domain(self) -> Domain:
        return self.on

    def value(self, w: Vector) -> float:
        return 0.5 * float(w @ w) if self.on.contains(w) else math.inf

    def conjugate(self, theta: Vector) -> float:
        w = self.on.projection(theta)
        return float(w @ theta) - 0.5 * float(w @ w)

    def link(self, theta: Vector) -> Vector:
        return self.on.projection(theta)

    def divergence(self, w: Vector, u: Vector) -> float:
        return 0.5 * float((w - u) @ (w - u))

    def strength(self) -> float:
        return 1.0

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.5 * comparator.reach(2, d) ** 2

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = B/(L√T) gives BL√T (THM-2.21)."""
        return radius / (lipschitz * math.sqrt(rounds))

    def begin(self, s: State) -> None:
        if self.on.whole():
            s.table[1::2] = self.on.projection(np.zeros(s.dimension))

    def whole(self) -> bool:
        return self.on.whole()

    def width(self) -> int:
        return 2 if self.on.whole() else 1

    def rated(self) -> bool:
        return self.on.rated()

    def raw(self, s: State, j: Index, eta: float) -> float:
        if self.on.whole():
            return s.table[cell(j, self.width()) + WEIGHT]
        return self.on.lazy_raw(j, s.table[cell(j, self.width())], eta)

    def scale(self, s: State, eta: float) -> float:
        return self.on.lazy_scale(eta, math.sqrt(s.sums[MASS]))

    def open(self) -> tuple[float, float]:
        return 0.0, 0.0

    def push(self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float]) -> tuple[float, float]:
        change, square = round_sums
        at = cell(j, self.width())
        old = s.table[at]
        new = old - g
        s.table[at] = new
        return change + (new - old) * (new + old), square + g * g

    def close(self, s: State, eta: float, scale: float, entries: int, round_sums: tuple[float, float]) -> float:
        s.sums[MASS] = max(s.sums[MASS] + round_sums[0], 0.0)
        return round_sums[1]

    def refresh(self, s: State, eta: float) -> None:
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            theta = s.table[cell(j, self.width())]
            mass += theta * theta
        s.sums[MASS] = mass
        if self.on.whole():
            for j in range(s.counts[DIMENSION]):
                at = cell(j, self.width())
                s.table[at + WEIGHT] = eta * s.table[at]
            self.on.project(s.table[1::2])


class PNorm(Mirror):
    """R(w) = ½‖w‖_q², 1/p + 1/q = 1, p ≥ 2; link sgn(θ)|θ|^{p−1}/‖θ‖_p^{p−2}.

    MASS = Σ|θ/c|^p and raw = sgn(θ)|θ/c|^{p−1} with a unit c near max|θ| (FACTOR), so that no power overflows.
    """

    norm: ClassVar[str] = "q"
    p: float = 2.0

    def check(self) -> None:
        self.require(2 <= self.p < math.inf, f"p must be at least 2 and finite, got {self.p}")

    @property
    def q(self) -> float:
        return self.p / (self.p - 1)

    def value(self, w: Vector) -> float:
        return 0.5 * float(np.linalg.norm(w, self.q)) ** 2

    def conjugate(self, theta: Vector) -> float:
        return 0.5 * float(np.linalg.norm(theta, self.p)) ** 2

    def link(self, theta: Vector) -> Vector:
        return _norm_gradient(theta, self.p)

    def divergence(self, w: Vector, u: Vector) -> float:
        return self.value(w) - self.value(u) - float(_norm_gradient(u, self.q) @ (w - u))

    def strength(self) -> float:
        return 1.0 / (self.p - 1.0)

    def highest(self, comparator: Domain, d: int) -> float:
        return 0.5 * comparator.reach(self.q, d) ** 2

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = (B/L)√((q−1)/T) gives BL√((p−1)T) (COR-2.18 corrected)."""
        return radius / lipschitz * math.sqrt(self.strength() / rounds)

    def begin(self, s: State) -> None:
        s.sums[FACTOR] = 1.0

    def raw(self, s: State, j: Index, eta: float) -> float:
        return s.table[cell(j, 2) + WEIGHT]

    def scale(self, s: State, eta: float) -> float:
        mass = s.sums[MASS]
        return eta * s.sums[FACTOR] * mass ** (2.0 / self.p - 1.0) if mass > 0.0 else 0.0

    def open(self) -> tuple[float, float, float]:
        return 0.0, 0.0, 0.0

    def push(
        self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float, float]
    ) -> tuple[float, float, float]:
        change, power, largest = round_sums
        unit = s.sums[FACTOR]
        at = cell(j, 2)
        old = s.table[at]
        new = old - g
        raw = math.copysign(abs(new / unit) ** (self.p - 1.0), new)
        change += (raw * new - s.table[at + WEIGHT] * old) / unit
        s.table[at] = new
        s.table[at + WEIGHT] = raw
        return change, power + abs(g / unit) ** self.p, max(largest, abs(g))

    def close(
        self,
        s: State,
        eta: float,
        scale: float,
        entries: int,
        round_sums: tuple[float, float, float],
    ) -> float:
        change, power, largest = round_sums
        s.sums[MASS] = max(s.sums[MASS] + change, 0.0)
        if TINY <= power <= HUGE:
            return (s.sums[FACTOR] * power ** (1.0 / self.p)) ** 2
        return (largest * entries ** (1.0 / self.p)) ** 2  # an upper bound where the power left the number range

    def stale(self, s: State) -> bool:
        return worn(s) or s.sums[MASS] < TINY

    def refresh(self, s: State, eta: float) -> None:
        unit = 0.0
        for j in range(s.counts[DIMENSION]):
            unit = max(unit, abs(s.table[cell(j, 2)]))
        unit = unit if unit > 0.0 else 1.0
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            theta = s.table[cell(j, 2)] / unit
            s.table[cell(j, 2) + WEIGHT] = math.copysign(abs(theta) ** (self.p - 1.0), theta)
            mass += abs(theta) ** self.p
        s.sums[FACTOR] = unit
        s.sums[MASS] = mass


def _norm_gradient(x: Vector, p: float) -> Vector:
    """∇½‖x‖_p², 0 at 0."""
    norm = float(np.linalg.norm(x, p))
    return np.sign(x) * np.abs(x / norm) ** (p - 1) * norm if norm > 0 else np.zeros_like(x, dtype=float)


class Entropic(Mirror):
    """What the two entropies share: raw weights e^{ηθ − offset}, MASS their sum, local norms in the ledger."""

    norm: ClassVar[str] = "1"

    def rated(self) -> bool:
        return True

    def stores_rate(self) -> bool:
        return True

    def begin(self, s: State) -> None:
        s.table[1::2] = 1.0
        s.sums[MASS] = s.dimension

    def raw(self, s: State, j: Index, eta: float) -> float:
        return s.table[cell(j, 2) + WEIGHT]

    def open(self) -> tuple[float, float, float, float]:
        return 0.0, 0.0, math.inf, -math.inf

    def push(
        self, s: State, j: Index, g: float, eta: float, round_sums: tuple[float, float, float, float]
    ) -> tuple[float, float, float, float]:
        change, local, low, high = round_sums
        at = cell(j, 2)
        old = s.table[at + WEIGHT]
        theta = s.table[at] - g
        new = math.exp(eta * theta - s.sums[FACTOR])
        s.table[at] = theta
        s.table[at + WEIGHT] = new
        return change + (new - old), local + old * g * g, min(low, g), max(high, g)

    def close(
        self,
        s: State,
        eta: float,
        scale: float,
        entries: int,
        round_sums: tuple[float, float, float, float],
    ) -> float:
        """The dual norm is ‖z‖_∞."""
        change, local, low, high = round_sums
        s.sums[MASS] += change
        if entries < s.counts[DIMENSION]:  # coordinates outside the row have z = 0
            low, high = min(low, 0.0), max(high, 0.0)
        s.sums[LOCAL] += scale * local
        s.sums[LOWEST] = min(s.sums[LOWEST], eta * low)
        s.sums[SPREAD] += (high - low) ** 2
        return max(abs(high), abs(low)) ** 2


class Entropy(Entropic):
    """R(w) = Σ w ln w on {w ≥ 0, Σw = total}; link total·softmax(θ)"""

    total: float = 1.0

    def check(self) -> None:
        self.require(0 < self.total < math.inf, f"total must be a positive number, got {self.total}")

    @property
    def domain(self) -> Domain:
        return Simplex(self.total)

    def value(self, w: Vector) -> float:
        return _sum_w_ln(w, w) if self.domain.contains(w) else math.inf

    def conjugate(self, theta: Vector) -> float:
        top = float(np.max(theta))
        return self.total * (top + math.log(float(np.sum(np.exp(theta - top)))) - math.log(self.total))

    def link(self, theta: Vector) -> Vector:
        weights = np.exp(theta - np.max(theta))
        return self.total * weights / weights.sum()

    def divergence(self, w: Vector, u: Vector) -> float:
        return _sum_w_ln(w, w) - _sum_w_ln(w, u)

    def strength(self) -> float:
        return 1.0 / self.total

    def highest(self, comparator: Domain, d: int) -> float:
        return _highest(comparator, lambda u: _sum_w_ln(u, u))

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """η = √(2 ln d/T)/L gives BL√(2T ln d) (COR-2.14 corrected)."""
        return math.sqrt(2 * math.log(d) / rounds) / lipschitz

    def fits(self, d: int) -> None:
        self.require(d >= 1, "needs at least one coordinate")

    def scale(self, s: State, eta: float) -> float:
        return self.total / s.sums[MASS]

    def refresh(self, s: State, eta: float) -> None:
        offset = -math.inf
        for j in range(s.counts[DIMENSION]):
            offset = max(offset, eta * s.table[cell(j, 2)])
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            s.table[cell(j, 2) + WEIGHT] = math.exp(eta * s.table[cell(j, 2)] - offset)
            mass += s.table[cell(j, 2) + WEIGHT]
        s.sums[FACTOR] = offset
        s.sums[MASS] = mass


class UnnormalisedEntropy(Entropic):
    """R(w) = Σ w(ln w − 1 − ln start) on {w ≥ 0}; link start·e^θ. The first iterate is `start` everywhere."""

    start: float

    def check(self) -> None:
        self.require(0 < self.start < math.inf, f"start must be a positive number, such as 1/d; got {self.start}")

    @property
    def domain(self) -> Domain:
        return Orthant()

    def value(self, w: Vector) -> float:
        return _sum_w_ln(w, w) - (1 + math.log(self.start)) * float(np.sum(w)) if np.all(w >= 0) else math.inf

    def conjugate(self, theta: Vector) -> float:
        return self.start * float(np.sum(np.exp(theta)))

    def link(self, theta: Vector) -> Vector:
        return self.start * np.exp(theta)

    def divergence(self, w: Vector, u: Vector) -> float:
        return _sum_w_ln(w, w) - _sum_w_ln(w, u) - float(np.sum(w)) + float(np.sum(u))

    def strength(self) -> float:
        return 0.0

    def highest(self, comparator: Domain, d: int) -> float:
        return _highest(comparator, self.value)

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """As for the normalised entropy: the bound is only local, so this is a rule of thumb with the right order."""
        return math.sqrt(2 * math.log(max(d, 2)) / rounds) / lipschitz

    def scale(self, s: State, eta: float) -> float:
        return self.start

    def refresh(self, s: State, eta: float) -> None:
        mass = 0.0
        for j in range(s.counts[DIMENSION]):
            s.table[cell(j, 2) + WEIGHT] = math.exp(eta * s.table[cell(j, 2)])
            mass += s.table[cell(j, 2) + WEIGHT]
        s.sums[MASS] = mass


def _highest(comparator: Domain, value: Callable[[Vector], float]) -> float:
    """The largest value of an entropy over non-negative comparators: it is convex and symmetric, so at a vertex."""
    if isinstance(comparator, Point):
        return value(comparator.u)
    if isinstance(comparator, Simplex):
        return value(np.array([comparator.total]))
    if isinstance(comparator, L1Ball):
        return max(0.0, value(np.array([comparator.radius])))
    return math.inf


def _sum_w_ln(w: Vector, u: Vector) -> float:
    """Σ w ln u with 0·ln 0 = 0."""
    positive = np.asarray(w) > 0
    with np.errstate(divide="ignore"):
        return float(np.sum(np.asarray(w)[positive] * np.log(np.asarray(u)[positive])))
