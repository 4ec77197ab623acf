"""Eras of a run of `auto`: equal stretches of rounds, and the losses of the mixture and of each expert in each.

The sums at the ends of 32 to 64 eras are kept. The length of eras doubles as the run goes on: 16 rounds, 32, 64, ….
The ends depend on the round alone, so a run that was split or resumed has the same eras.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lowregret.auto.learner import EXPERTS, GAP, LOSSES, MIXED, NAMES, PARTITIONS, TRUST, WEIGHTS, settle
from lowregret.certificate import Certificate
from lowregret.compile.numerics import EPSILON
from lowregret.errors import PartError
from lowregret.types import Vector

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHORTEST, MOST = 16, 64
ROUND, LOST, KEPT = 0, 1, 2  # a row of sums: the round, the mixture's loss, and what the mixture keeps (`trust`)
WIDTH = KEPT + TRUST


def era_length(rounds: int) -> int:
    """The length of eras after this many rounds: 16 times the least power of two for which 64 eras hold them."""
    length = SHORTEST
    while length * MOST < rounds:
        length *= 2
    return length


def next_end(rounds: int) -> int:
    """The end of the era that comes after this many rounds."""
    length = era_length(rounds + 1)
    return (rounds // length + 1) * length


def sums(rounds: int, loss: float, trust: Vector) -> Vector:
    """The row kept at the end of an era: the round, the mixture's loss so far, and the trust in the experts."""
    return np.concatenate([[rounds, loss], settle(trust)])


def thinned(ends: list[Vector], rounds: int) -> list[Vector]:
    """The rows of sums that still end an era after this many rounds: every second once the length has doubled."""
    length = era_length(rounds)
    return [row for row in ends if row[ROUND] % length == 0]


@dataclass(frozen=True)
class Eras:
    """Losses inside each era: of the mixture, and of each of the experts called `names`."""

    ends: NDArray[np.int64]  # the round that each ends with
    mixture: Vector
    experts: NDArray[np.float64]  # an era a row
    weights: NDArray[np.float64]  # how far each expert was trusted at the end
    gaps: Vector  # what importance weights above 1 cost
    classifies: bool
    names: tuple[str, ...]
    rate: float = 1.0  # how much of each verdict on experts counted: less than 1 if answers came late
    drift: float = 0.0  # how much less the mixture would have lost by its scores when the answers came
    rounding: float = 0.0  # by how much the regret of the whole run may be off

    @classmethod
    def of(cls, rows: list[Vector], count: int | None, classifies: bool) -> Eras:
        """Eras between `rows` of sums at their ends, the last at the end of the run; or `count`, nearly equal."""
        if count is not None and count < 1:
            raise PartError(f"a run has at least one era, got {count}")
        found = np.array(rows).reshape(-1, WIDTH)
        if count is not None and len(found):
            wanted = found[-1, ROUND] * np.arange(1, count + 1) / count
            found = found[np.unique(np.abs(found[:, ROUND, None] - wanted).argmin(axis=0))]
        losses = found[-1, KEPT + LOSSES : KEPT + LOSSES + EXPERTS] if len(found) else np.zeros(PARTITIONS)
        present = np.flatnonzero(losses < math.inf)
        wanted = [LOST, KEPT + GAP, *(KEPT + LOSSES + present)]  # absent experts have lost ∞, before and since
        inside = np.diff(_as_if_there(found, classifies)[:, wanted], axis=0, prepend=np.zeros((1, len(wanted))))
        return cls(
            found[:, ROUND].astype(np.int64),
            inside[:, 0],
            inside[:, 2:],
            found[:, KEPT + WEIGHTS + present],
            inside[:, 1],
            classifies,
            tuple(NAMES[k] for k in present),
        )

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The number of rounds in each era."""
        return np.diff(self.ends, prepend=0)

    @property
    def best(self) -> NDArray[np.int64]:
        """The best expert of each era."""
        return self.experts.argmin(axis=1)

    @property
    def least(self) -> Vector:
        """The loss of the best expert of each era."""
        return self.experts.min(axis=1, initial=math.inf)

    @property
    def bounds(self) -> Vector:
        """Bounds on the mixture's regret to the best expert of each era: ln N + ln(end) + Σ[loss − mix loss]₊ with
        its rounding for a loss that classifies, else ∞; so too if answers came late, whose cost is known of the whole
        run alone."""
        if not self.classifies or self.rate < 1:
            return np.full(self.ends.size, math.inf)
        return math.log(max(len(self.names), 1)) + np.log(self.ends) + self.gaps + self._off()

    @property
    def switches(self) -> NDArray[np.int64]:
        """The rounds after which another expert is the best."""
        return self.ends[:-1][np.diff(self.best) != 0]

    @property
    def certificate(self) -> Certificate:
        """MIX-SHARE-ERAS: the mixture against the best expert of each era, one after the other."""
        regret, bound, late = float(self.mixture.sum() - self.least.sum()), math.inf, self.rate < 1
        joined = late and NAMES[PARTITIONS] in self.names  # what lateness had cost by then is not known
        if self.classifies and self.ends.size and not joined:
            experts = math.log(len(self.names))
            logs = np.log([self.ends[-1], *self.switches]).sum() + (self.switches.size + 1) * experts
            bound = float(logs / self.rate + self.gaps.sum()) + self.drift
        comparator = {
            "set": "experts",
            "count": len(self.names),
            "eras": self.ends.size,
            "switches": self.switches.size,
        }
        name, logs_in_words = "MIX-SHARE-ERAS", "(m + 1)·ln N + ln T + Σ ln t_i"
        statement = f"{logs_in_words} over m switches after rounds t_i + Σ[loss − mix loss]₊"
        if late:
            name = f"{name}+DRIFT"
            statement = f"{1 / self.rate:.0f}·({logs_in_words}) over m switches after rounds t_i + Σ[loss − mix loss]₊"
            statement = f"{statement} + Σ(loss when asked − loss when answered)"
        return Certificate(name, statement, comparator, regret, bound, regret=regret, rounding=self._off())

    def _off(self) -> float:
        """By how much `regret` or its bound may be off: sums at both ends of each era are rounded."""
        best = self.experts[:, np.unique(self.best)].sum() if self.ends.size else 0.0
        rounds = int(self.lengths.sum())
        return self.rounding + 2 * self.ends.size * EPSILON * (rounds + 16) * float(self.mixture.sum() + best)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """A figure of the mean losses of the mixture and the best experts in eras, weights below; saved if `path`."""
        from lowregret.show.plot import plot_eras

        return plot_eras(self, path)


def _as_if_there(found: Vector, classifies: bool) -> Vector:
    """Rows of sums in which an expert that joined later has lost what the mixture did before, as `join` takes it."""
    found, place = found.copy(), KEPT + LOSSES + PARTITIONS
    before = found[:, place] == math.inf
    found[before, place] = found[before, LOST if classifies else KEPT + MIXED]
    return found
