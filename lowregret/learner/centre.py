"""Where weights are counted from: 0, or a w₀ of one's own, as in (λ/2)‖w − w₀‖² and in warm starts.

A learner with a centre plays w_t = w₀ + v_t, and its rule moves v_t, which begins where the rule begins: on scores
⟨w₀, x⟩ + ⟨v, x⟩ every rule is what it was, a ridge pulls towards w₀, and every theorem holds with v = u − w₀ in place
of u, for f_t(w₀ + v) is as convex in v as f_t is in w. Only ⟨w₀, x_t⟩ is added to a round: O(nnz).
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from lowregret.compile.numerics import norm
from lowregret.compile.part import Part
from lowregret.domain.base import constant_vector
from lowregret.types import Index, Vector


class Centre(Part):
    """A point w₀ from which weights are counted."""

    @abstractmethod
    def shifts(self) -> bool:
        """Whether it is another than 0."""

    @abstractmethod
    def at(self, j: Index) -> float:
        """w₀[j]"""

    @abstractmethod
    def fits(self, d: int) -> None:
        """Refuse a number of weights that w₀ does not have."""

    def away(self, u: Vector) -> Vector:
        """u − w₀"""
        return u

    def length(self, q: float = 2.0) -> float:
        """‖w₀‖_q"""
        return 0.0


class Origin(Centre):
    """w₀ = 0"""

    def shifts(self) -> bool:
        return False

    def at(self, j: Index) -> float:
        return 0.0

    def fits(self, d: int) -> None:
        return


class Around(Centre):
    """Any w₀, such as the weights of another run"""

    w: Any

    def check(self) -> None:
        object.__setattr__(self, "w", constant_vector(self, "w", self.w))

    def shifts(self) -> bool:
        return True

    def at(self, j: Index) -> float:
        return self.w[j]

    def fits(self, d: int) -> None:
        self.require(
            self.w.size == d,
            f"the centre has {self.w.size} weights, the learner has {d} (a bias has the last): they must be as many, "
            "and known beforehand (`dimension`, of a stream)",
        )

    def away(self, u: Vector) -> Vector:
        return u - self.w

    def length(self, q: float = 2.0) -> float:
        return norm(self.w, q)


def as_centre(given: Any) -> Centre:
    """A centre as it is, 0 for None, and around anything else."""
    if isinstance(given, Centre):
        return given
    return Origin() if given is None else Around(given)
