"""Mirror maps: a regulariser R, its conjugate R*, and the link ∇R* that turns gradient sums into iterates.

    w_t = ∇R*(η θ_t),  θ_t = −Σ_{s<t} z_s          (R is written for η = 1; a rate η means R/η)

Each map says two things. As the textbook does, on vectors: `value`, `conjugate`, `link`, `divergence`, `strength`
(σ, strong convexity) with the `norm` it refers to. And for compiled loops, on coordinates: w_t[j] = scale · raw(j),
where one aggregate over all coordinates (`MASS`) makes `scale` O(1), so a round costs O(nnz) for every geometry.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar

from lowregret.compile.part import Part
from lowregret.domain import Domain, Reals
from lowregret.state import State, worn
from lowregret.step import Constant
from lowregret.types import Index, Vector


class Mirror(Part):
    """A regulariser R and its link."""

    norm: ClassVar[str]  # the norm in which R is strongly convex, for reports
    needs_dimension: ClassVar[bool] = False  # whether the best rate depends on d

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

    def tuned(self, *, radius: float, lipschitz: float, rounds: int, dimension: int | None = None) -> Constant:
        """The constant step that minimises the regret bound over `rounds` rounds.

        `radius` bounds the comparators in this map's norm, `lipschitz` the sub-gradients in the dual one (2 ↔ 2, 1 ↔ ∞,
        q ↔ p).
        """
        self.require(0 < radius < math.inf, f"radius must be a positive number, got {radius}")
        self.require(0 < lipschitz < math.inf, f"lipschitz must be a positive number, got {lipschitz}")
        self.require(1 <= rounds < math.inf, f"rounds must be at least 1, got {rounds}")
        self.require(
            dimension is not None or not self.needs_dimension,
            "its best rate depends on the number of coordinates: give dimension",
        )
        self.require(dimension is None or dimension >= 1, f"dimension must be at least 1, got {dimension}")
        return Constant(self.tuned_rate(radius, lipschitz, rounds, dimension or 1))

    facts: ClassVar[dict[str, Any]] = {
        "conjugate": lambda self, theta: math.inf,
        "strength": lambda self: 0.0,
        "highest": lambda self, comparator, d: math.inf,
    }

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

    def square_length(self, s: State, eta: float) -> float:
        """A number that ‖w‖₂² does not exceed but by rounding, inf if none is known."""
        return math.inf

    @abstractmethod
    def open(self, product: float, square: float) -> Any:
        """Running sums of one round, before its first coordinate. `product` is ⟨raw weights, z_t⟩."""

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
