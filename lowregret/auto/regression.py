"""`auto` for numbers and the square loss: experts are trusted by AdaHedge, which needs no range of losses.

The lanes see (label − first label)/unit, the unit being a power of two near the first difference of labels, so that
neither the origin nor the unit of the labels matters. Experts never leave the range of labels seen. A label that is
beyond single precision in that unit makes a larger one necessary: `take_unit`.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from lowregret.auto.bank import ADAGRAD
from lowregret.auto.learner import (
    DEVIATION,
    EXPERTS,
    GAP,
    HIGH,
    LAST,
    LOSSES,
    LOW,
    MEAN,
    MISSES,
    MIXED,
    ORIGIN,
    PARTITIONS,
    RECENT,
    UNIT,
    WEIGHTS,
    Auto,
    Mind,
    Workspace,
)
from lowregret.auto.stack import (
    EVEN,
    FADE,
    LAST_LABEL,
    ONE,
    RECENT_LABELS,
    STACKS,
    SURE,
    fresh_stacks,
    stack_guess,
    stack_learn,
    stack_project,
)
from lowregret.auto.view import ROWS, TINY
from lowregret.compile.part import Part
from lowregret.compile.simd import LANES, Eight, load, spread
from lowregret.loss import Square
from lowregret.types import Cells, Vector

LOG_PARTITIONS, LOG_EXPERTS = math.log(PARTITIONS), math.log(EXPERTS)  # before one joined, and since
FINEST = 2.0**40  # units that |label − origin| may be, and weight·|label − origin| too
SETTLED = 64  # rows after which labels far from all others are not believed at once
ALONE = 1.5  # of n labels within a range, the most times range/n that their mean is from its end if one is far off
FAINTEST = 1e-300  # gaps up to this are none: ln N divided by them is near the end of numbers, or beyond
FARTHEST = 32.0  # and how far that is, in ranges of the labels so far


class AutoRegressor(Auto):
    """AdaHedge over eleven experts, p = Σ w_k p_k, with w ∝ e^{−ηL} and η = ln 11/Δ, Δ the mixability gaps so far.

    Its loss is at most that of the best expert + 2Δ (de Rooij, van Erven, Grünwald & Koolen, JMLR 2014).
    """

    losses: ClassVar[type[Part]] = Square
    example: ClassVar[str] = "Square()"

    loss: Square = Square()

    def stacks(self) -> Vector:
        return fresh_stacks(EVEN, SURE)

    @property
    def spread(self) -> float:
        return float(SURE.max())

    def fits(self, mind: Mind, y: float, weight: float) -> bool:
        past = mind.past
        if self.misled(mind):
            return False
        return past[DEVIATION] == 0.0 or self.extent(mind, y, weight) <= FINEST * past[UNIT]

    def extent(self, mind: Mind, y: float, weight: float) -> float:
        """How large the numbers are that lanes meet at a row: the label from the origin, as often as it counts.

        A row that hardly counts shows them its label as any other does.
        """
        return max(weight, 1.0) * abs(self.believed(mind, y) - mind.past[ORIGIN])

    def misled(self, mind: Mind) -> bool:
        """Whether one of the first n labels is further from the nearest ones at the other end of the range than twice
        what all others are from there together: beside it, lanes see no difference between those.

        Their mean is then at most 3/2·range/n from that end.
        """
        past, n = mind.past, mind.pace[ROWS]
        across = past[HIGH] - past[LOW]
        near = min(past[MEAN] - past[LOW], past[HIGH] - past[MEAN])
        return n == SETTLED and across > 0.0 and near * n <= ALONE * across

    def believed(self, mind: Mind, y: float) -> float:
        """No label is taken to be further away than `FARTHEST` times as far as all those before are apart.

        One that is wrong by orders of magnitude would otherwise be all that lanes ever learn. Others like it widen the
        range, and are soon believed.
        """
        past = mind.past
        across = past[HIGH] - past[LOW]
        if mind.pace[ROWS] < SETTLED or across == 0.0:
            return y
        low, high = past[LOW] - FARTHEST * across, past[HIGH] + FARTHEST * across
        return min(max(y, past[ORIGIN] + past[UNIT] * low), past[ORIGIN] + past[UNIT] * high)

    def hear(self, mind: Mind, work: Workspace, known: bool) -> None:
        low, high, mean = mind.past[LOW], mind.past[HIGH], 0.0
        for k in range(LANES):
            p = min(max(work.experts[k], low), high)
            work.experts[k] = p
            mean += p / LANES
        size = self.size(mind)
        for k in range(LANES):
            work.inputs[k] = (work.experts[k] - mean) * size
        work.inputs[ONE] = 1.0 if size > 0.0 else 0.0
        work.inputs[LAST_LABEL] = (mind.past[LAST] - mean) * size if known else 0.0
        work.inputs[RECENT_LABELS] = (mind.past[RECENT] - mean) * size if known else 0.0
        for k in range(STACKS):
            p = stack_guess(mind.stacks, k, work.inputs) / size if size > 0.0 else 0.0
            work.experts[LANES + k] = min(max(mean + p, low), high)

    def heed(self, mind: Mind, work: Workspace, score: float) -> None:
        p = (score - mind.past[ORIGIN]) / mind.past[UNIT]
        work.experts[PARTITIONS] = min(max(p, mind.past[LOW]), mind.past[HIGH])

    def limited(self, mind: Mind, score: float) -> float:
        past = mind.past
        low, high = past[ORIGIN] + past[UNIT] * past[LOW], past[ORIGIN] + past[UNIT] * past[HIGH]
        return min(max(score, low), high)

    def lost(self, mind: Mind, work: Workspace, k: int, y: float) -> float:
        off = mind.past[ORIGIN] + mind.past[UNIT] * work.experts[k] - y
        return off * off

    def weighed(self, p: float, y: float) -> float:
        return (p - y) * (p - y)

    def size(self, mind: Mind) -> float:
        """1/root mean square of what the mean of the lanes missed."""
        return 1.0 / math.sqrt(mind.past[MISSES]) if mind.past[MISSES] > 0.0 else 0.0

    def mix(self, mind: Mind, work: Workspace) -> float:
        p = 0.0
        for k in range(EXPERTS):
            p += mind.trust[WEIGHTS + k] * work.experts[k]
        return mind.past[ORIGIN] + mind.past[UNIT] * p

    def judge(self, mind: Mind, work: Workspace, y: float, weight: float, t: float, rate: float) -> None:
        mixed = 0.0
        for k in range(EXPERTS):
            loss = weight * self.lost(mind, work, k, y)
            work.chances[k] = loss
            mixed += mind.trust[WEIGHTS + k] * loss
            mind.trust[LOSSES + k] += loss  # which leaves ∞ as it is
        mind.trust[MIXED] += mixed
        mind.trust[GAP] += max(mixed - self.mix_loss(mind, work), 0.0)
        self.trust(mind)
        self.settle(mind, y)
        self.teach_all(mind, work, (self.believed(mind, y) - mind.past[ORIGIN]) / mind.past[UNIT], weight)

    def settle(self, mind: Mind, y: float) -> None:
        """The origin is the first label; the unit a power of two near the first difference from it."""
        if mind.pace[ROWS] == 1.0:
            mind.past[ORIGIN] = y
        off = abs(y - mind.past[ORIGIN])
        if mind.past[UNIT] == 1.0 and off > 0.0 and mind.past[DEVIATION] == 0.0:
            mind.past[UNIT] = math.ldexp(1.0, math.floor(math.log2(off)))

    def mix_loss(self, mind: Mind, work: Workspace) -> float:
        """−ln(Σ w e^{−η·loss})/η from the sums before and after; with η = ∞, by how much the best expert's sum grew."""
        before = after = math.inf
        for k in range(EXPERTS):
            sum_now = mind.trust[LOSSES + k]
            before, after = min(before, sum_now - work.chances[k]), min(after, sum_now)
        eta, old, new = self.rate(mind), 0.0, 0.0
        if eta == math.inf:
            return after - before
        for k in range(EXPERTS):
            sum_now = mind.trust[LOSSES + k]
            old += math.exp(-eta * (sum_now - work.chances[k] - before))
            new += math.exp(-eta * (sum_now - after))
        return after - before - (math.log(new) - math.log(old)) / eta

    def rate(self, mind: Mind) -> float:
        """η = ln N/Δ, ∞ as long as Δ is 0 or hardly above."""
        logs = LOG_EXPERTS if mind.trust[LOSSES + PARTITIONS] < math.inf else LOG_PARTITIONS
        return logs / mind.trust[GAP] if mind.trust[GAP] > FAINTEST else math.inf

    def trust(self, mind: Mind) -> None:
        """w ∝ e^{−ηL}; with η = ∞, the best share all."""
        best, total = math.inf, 0.0
        eta = self.rate(mind)
        for k in range(EXPERTS):
            best = min(best, mind.trust[LOSSES + k])
        for k in range(EXPERTS):
            behind = mind.trust[LOSSES + k] - best
            w = 1.0 if behind == 0.0 else 0.0
            if eta < math.inf:
                w = math.exp(-eta * behind)
            mind.trust[WEIGHTS + k] = w
            total += w
        for k in range(EXPERTS):
            mind.trust[WEIGHTS + k] /= total

    def teach_all(self, mind: Mind, work: Workspace, y: float, weight: float) -> None:
        """A step of every stack: recursive least squares on what the mean of the lanes missed."""
        mean, size = self.mean(mind, work), self.size(mind)
        if size > 0.0:
            for k in range(STACKS):
                self.move(mind.stacks, k, work, (y - mean) * size, weight, SURE)
        mind.past[MISSES] += ((y - mean) * (y - mean) - mind.past[MISSES]) / mind.pace[ROWS]

    def mean(self, mind: Mind, work: Workspace) -> float:
        """The mean of the lanes' scores, within the range of labels: rows asked before any label came had another."""
        mean = 0.0
        for k in range(LANES):
            mean += min(max(work.experts[k], mind.past[LOW]), mind.past[HIGH]) / LANES
        return mean

    def move(self, stacks: Cells, k: int, work: Workspace, target: float, weight: float, priors: Any) -> None:
        """A step of stack k towards the target of its inputs."""
        q = weight * stack_project(stacks, k, work.inputs, work.along)
        missed = target - stack_guess(stacks, k, work.inputs)
        stack_learn(stacks, k, work.along, weight * missed / (1.0 + q), weight / (1.0 + q), priors)

    def teach(self, stacks: Cells, mind: Mind, work: Workspace, y: float, weight: float, priors: Any) -> None:
        size, label = self.size(mind), (self.believed(mind, y) - mind.past[ORIGIN]) / mind.past[UNIT]
        if size > 0.0:
            self.move(stacks, 0, work, (label - self.mean(mind, work)) * size, weight, priors)

    def lean(self, mind: Mind, work: Workspace, y: float, weight: float) -> Eight:
        """weight·(label − score) of each lane: the negated slope of half the square loss."""
        label = np.float32((y - mind.past[ORIGIN]) / mind.past[UNIT])
        return (label - load(work.lanes, np.uint64(0))) * np.float32(weight)

    def answer(self, mind: Mind, work: Workspace, y: float, weight: float, q: Eight) -> tuple[Eight, Eight]:
        much = np.float32(weight)
        return self.lean(mind, work, y, weight) / (np.float32(1) + q * much), spread(much)

    def reach(self, mind: Mind) -> float:
        return math.sqrt(mind.past[DEVIATION] / max(mind.pace[ROWS] - 1.0, 1.0))

    def remember(self, mind: Mind, y: float) -> None:
        past, label = mind.past, (y - mind.past[ORIGIN]) / mind.past[UNIT]
        past[LAST] = label
        past[RECENT] = label if mind.pace[ROWS] == 1.0 else FADE * past[RECENT] + (1.0 - FADE) * label
        past[LOW], past[HIGH] = min(past[LOW], label), max(past[HIGH], label)
        off = label - past[MEAN]
        past[MEAN] += off / mind.pace[ROWS]
        past[DEVIATION] += off * (label - past[MEAN])


def take_unit(mind: Mind, average: Cells, size: float) -> None:
    """Let the unit be a power of two near `size`, which is much larger than the unit so far: O(d).

    What the lanes learnt is written in the new unit. What the stacks learnt is forgotten: they go by how far the lanes
    were off, and that was nothing in the new unit.
    """
    past, unit = mind.past, math.ldexp(1.0, math.floor(math.log2(size)))
    ratio = past[UNIT] / unit
    lanes = mind.bank.reshape(-1, 2, LANES)  # weights, sums
    lanes[:, 0] *= np.float32(ratio)
    lanes[:, 1, :ADAGRAD] *= np.float32(ratio * ratio)
    average *= np.float32(ratio)
    past[[LAST, RECENT, LOW, HIGH, MEAN]] *= ratio
    past[DEVIATION] = max(past[DEVIATION] * ratio * ratio, TINY)  # above 0: the unit is settled
    past[MISSES], past[UNIT] = 0.0, unit
    mind.stacks[:] = fresh_stacks(EVEN, SURE)


def begin_anew(mind: Mind, average: Cells) -> float:
    """Forget what lanes and stacks learnt, and all labels but one of those that are near each other: O(d).

    That one is the origin from now on; returns by how much the origin moved.
    """
    past = mind.past
    near = past[LOW] if past[MEAN] - past[LOW] < past[HIGH] - past[MEAN] else past[HIGH]
    moved = float(past[UNIT] * near)
    mind.bank[:], average[:], mind.stacks[:] = 0.0, 0.0, fresh_stacks(EVEN, SURE)
    past[[LAST, RECENT, LOW, HIGH, MEAN, DEVIATION, MISSES]] = 0.0
    past[ORIGIN], past[UNIT] = past[ORIGIN] + moved, 1.0
    return moved
