"""Mirror maps: a regulariser R, its conjugate R*, and the link ∇R* that turns gradient sums into iterates.

    w_t = ∇R*(η θ_t),  θ_t = −Σ_{s<t} z_s          (R is written for η = 1; a rate η means R/η)

Each map says two things. As the textbook does, on vectors: `link`, `value`, and where they are known `conjugate`,
`gradient`, `strength` (σ, strong convexity) with the `norm` it refers to. And for compiled loops, on coordinates:
w_t[j] = scale · raw(j), where one aggregate over all coordinates (`MASS`) makes `scale` O(1), so a round costs O(nnz).

A map of your own needs `link` alone; see `GIVES` for what the other methods give:

    class Tanh(Mirror):                    # R(w) = ½Σ[(1 + w)ln(1 + w) + (1 − w)ln(1 − w)] on [−1, 1]
        def link(self, theta):
            return np.tanh(theta)

Without the methods on coordinates it runs interpreted, through `link`, at O(d) a round.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from itertools import product
from typing import Any, ClassVar

import numpy as np

from lowregret.compile.numerics import norm
from lowregret.compile.part import Part
from lowregret.domain import Domain, L1Ball, LqBall, Point, Reals, Simplex
from lowregret.errors import PartError
from lowregret.state import LONGEST, MASS, WEIGHT, State, worn
from lowregret.step import Constant
from lowregret.types import Index, Vector, cell

NORMS = {"2": 2.0, "1": 1.0, "inf": math.inf}
FEW = 10  # dimensions up to which all corners of a box are looked at
STREAMING = ("whole", "begin", "raw", "scale", "open", "push", "close", "refresh")  # all of them, or none
GIVES = {
    "value": "R(w): the equality LEM-2.20, and following functions that are not linear",
    "strength": "σ: THM-2.21 and LAZY-DEC, and rates that are tuned",
    "gradient": "∇R(w): `divergence`, and starting elsewhere (`Centred`)",
    "highest": "max R over a set of comparators, where convexity alone tells too little",
    "domain": "the set in which the iterates lie, to be compared with",
    ", ".join(STREAMING): "rows at O(nnz), in compiled code",
}


class Mirror(Part):
    """A regulariser R and its link."""

    norm: ClassVar[str] = "2"  # the norm in which R is strongly convex: "1", "2" or "inf", if there is no other word
    needs_dimension: ClassVar[bool] = False  # whether the best rate depends on d
    gives: ClassVar[dict[str, str]] = GIVES

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "compilable" not in vars(cls):
            cls.compilable = bool(_given(cls))  # else through `link`, which makes new vectors as compiled code cannot

    # ---- the textbook, on vectors -------------------------------------------------------------------------------

    @abstractmethod
    def link(self, theta: Vector) -> Vector:
        """∇R*(θ) = argmax_w ⟨w,θ⟩ − R(w), as a new vector."""

    def value(self, w: Vector) -> float:
        """R(w), inf outside its domain; NaN where it is not known."""
        return math.nan

    def knows_value(self) -> bool:
        """Whether R itself is told, and not its link alone."""
        return type(self).value is not Mirror.value

    def conjugate(self, theta: Vector) -> float:
        """R*(θ) = max_w ⟨w,θ⟩ − R(w), attained at the link."""
        w = self.link(theta)
        return float(w @ theta) - self.value(w)

    def gradient(self, w: Vector) -> Vector:
        """∇R(w): a θ whose link is w."""
        raise PartError(f"{type(self).__name__} does not tell ∇R: give it a method gradient(w), a θ whose link is w")

    def divergence(self, w: Vector, u: Vector) -> float:
        """The Bregman divergence D_R(w‖u) = R(w) − R(u) − ⟨∇R(u), w − u⟩."""
        return self.value(w) - self.value(u) - float(self.gradient(u) @ (w - u))

    def strength(self) -> float:
        """σ such that R is σ-strongly convex in `norm`; 0 if it is only so locally, or that is not known."""
        return 0.0

    def highest(self, comparator: Domain, d: int) -> float:
        """max R(u) over the comparator set: exact for points, simplices, L1 balls and boxes, else an upper bound.

        R is convex, so highest at a corner of a set, or of what surrounds it: an L1 ball, or in few dimensions a box.
        """
        if isinstance(comparator, Point):
            return self.value(comparator.u)
        if not self.knows_value():
            return math.inf
        return min((max(map(self.value, corners)) for corners in _corners(comparator, d)), default=math.inf)

    @property
    def exponent(self) -> float:
        """The q of the norm ‖·‖_q in which R is strongly convex; NaN where `norm` does not tell."""
        return NORMS.get(self.norm, math.nan)

    def dual_norm(self, z: Vector) -> float:
        """‖z‖_* for the norm in which R is strongly convex."""
        q = self.exponent
        self.require(not math.isnan(q), f"the dual of the {self.norm}-norm is not known")
        return norm(z, dual_exponent(q))

    def tuned_rate(self, radius: float, lipschitz: float, rounds: int, d: int) -> float:
        """The constant rate that minimises the regret bound against comparators of this size.

        η = √(2σ(max R − min R)/T)/L minimises (max R − min R)/η + (η/2σ)TL² (THM-2.21).
        """
        sigma, ball = self.strength(), L1Ball(radius) if self.exponent == 1 else LqBall(radius, self.exponent)
        height = self.highest(ball, d) - self.value(self.link(np.zeros(d)))
        self.require(
            sigma > 0 and 0 < height < math.inf,
            f"a rate cannot be tuned: that takes σ > 0 from `strength`, got {sigma:g}, and a finite maximum of R over "
            f"the comparators from `value` or `highest`, got {height:g} above the minimum",
        )
        return math.sqrt(2 * sigma * height / rounds) / lipschitz

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

    def tells_length(self) -> bool:
        """Whether steps tell how long iterates are, or sums that the map keeps; else learners look at weights."""
        return False

    facts: ClassVar[dict[str, Any]] = {
        "tells_length": tells_length,
        "conjugate": conjugate,
        "gradient": gradient,
        "strength": strength,
        "highest": highest,
    }

    @property
    def domain(self) -> Domain:
        """Where the link takes its values."""
        return Reals()

    def fits(self, d: int) -> None:
        """Refuse a dimension in which the map does not exist."""
        self.domain.fits(d)

    def streams(self) -> bool:
        """Whether rounds cost O(nnz), by methods on coordinates; refuses a map that has some of them and not others."""
        given = _given(type(self))
        lacking = [name for name in STREAMING if name not in given]
        self.require(
            not given or not lacking,
            f"has {', '.join(given)} but not {', '.join(lacking)}: together they give rows at O(nnz), in compiled "
            "code; leave all of them out to run at O(d), through `link`",
        )
        return bool(given)

    # ---- on coordinates: here through the link, at O(d) a round; compiled, where a map has its own -------------------

    def whole(self) -> bool:
        """Whether a round costs O(d) whatever the row."""
        return True

    def width(self) -> int:
        """Columns of the table: θ, and the raw weight where it is stored."""
        return 2

    def parted(self) -> bool:
        """Whether w[j] depends on θ[j] and η alone, so that several threads may move θ."""
        return False

    def rated(self) -> bool:
        """Whether raw weights depend on η."""
        return True

    def stores_rate(self) -> bool:
        """Whether stored raw weights depend on η, so that a new rate costs O(d)."""
        return True

    def begin(self, s: State) -> None:
        """Set a zero state to θ = 0."""
        self.refresh(s, 1.0)

    def raw(self, s: State, j: Index, eta: float) -> float:
        """w[j] up to the common factor `scale`."""
        return s.table[cell(j, 2) + WEIGHT]

    def scale(self, s: State, eta: float) -> float:
        """The common factor of all coordinates."""
        return 1.0

    def square_length(self, s: State, eta: float) -> float:
        """A number that ‖w‖₂² does not exceed but by rounding, inf if none is known."""
        return s.sums[MASS] if self.whole() else math.inf

    def swell(self, s: State, eta: float, square: float) -> float:
        """A number that no weight exceeds after a step with ‖z‖₂² = square; 0 where weights grow as z does."""
        return 0.0

    def fades(self, length: float) -> bool:
        """Whether iterates may leave the set by a part of this length, of whose square nothing is known."""
        return False

    def open(self, product: float, square: float) -> Any:
        """Running sums of one round, before its first coordinate. `product` is ⟨raw weights, z_t⟩."""
        return []

    def push(self, s: State, j: Index, g: float, eta: float, round_sums: Any) -> Any:
        """θ[j] −= g; returns the round's running sums."""
        s.table[cell(j, 2)] -= g
        round_sums.append(g)
        return round_sums

    def close(self, s: State, eta: float, scale: float, entries: int, round_sums: Any) -> float:
        """Fold the round's sums into the state; returns ‖z_t‖_*².

        `scale` is that of w_t, `entries` the number of coordinates pushed.
        """
        size = self.dual_norm(np.array(round_sums, float))
        return size * size

    def refresh(self, s: State, eta: float) -> None:
        """Compute all aggregates afresh for rate η: O(d)."""
        w = np.asarray(self.link(eta * s.theta), float)
        self.require(w.shape == (s.dimension,), f"link must give {s.dimension} coordinates, got shape {w.shape}")
        s.table[1::2] = w
        s.sums[MASS] = float(np.sum(w * w))
        self.require(math.isfinite(s.sums[MASS]) or bool(np.any(s.theta)), "link(0), where play begins, is not finite")
        s.sums[LONGEST] = max(s.sums[LONGEST], s.sums[MASS])

    def stale(self, s: State) -> bool:
        """Whether MASS should be computed afresh: rarely true, so that refreshing costs amortised O(1)."""
        return worn(s)


def dual_exponent(q: float) -> float:
    """The p with 1/p + 1/q = 1."""
    return math.inf if q == 1 else 1.0 if q == math.inf else q / (q - 1)


def _corners(comparator: Domain, d: int) -> Iterator[list[Vector]]:
    """The corners of bodies in which a set lies, as far as these are bounded and have few."""
    size = comparator.reach(1, d)
    if size < math.inf:
        signs = (1.0,) if isinstance(comparator, Simplex) else (1.0, -1.0)
        yield [sign * size * e for e in np.eye(d) for sign in signs]
    sides = np.array([np.broadcast_to(side, d) for side in comparator.bounds(d)])
    if d <= FEW and np.all(np.isfinite(sides)):
        yield [np.array(corner) for corner in product(*sides.T)]


def _given(cls: type[Mirror]) -> list[str]:
    """The methods on coordinates that a class has of its own."""
    return [name for name in STREAMING if getattr(cls, name) is not getattr(Mirror, name)]
