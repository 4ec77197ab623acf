"""The model that `auto` keeps of many classes: see `frozen.py`."""

from __future__ import annotations

import math
from typing import Any

from lowregret.auto.classes import DOUBT, AutoMulticlass, ClassWorkspace
from lowregret.auto.frozen import DONE, NOW, OWN, Frozen
from lowregret.auto.learner import EXPERTS, PARTITIONS
from lowregret.auto.stack import LAST_LABEL, STACKS
from lowregret.auto.view import look
from lowregret.compile.kernel import apart, kernel
from lowregret.compile.simd import LANES
from lowregret.learner.multiclass import NONE, Room
from lowregret.rows import Rows
from lowregret.types import Cells, Vector


def foretell(
    learner: AutoMulticlass,
    model: Frozen,
    work: ClassWorkspace,
    x: Rows,
    i: int,
    room: Room,
    beside: Any,
    n: int,
    scores: Cells,
) -> int:
    """Write ln(chance) of each class for row i, once looked at; returns the likeliest, or NONE: O(nnz · classes).

    If an expert joined, it gave the row the n-th scores beside.
    """
    learner.ask(model.mind, model.mind.bank, work, x, i, room, False, PARTITIONS)
    if model.average.size > 0:
        learner.ask(model.mind, model.average, work, x, i, room, False, LANES)
        weigh_means(learner, model.mind.stacks, STACKS - 1, work, room)
    if beside.shape[0] > 0:
        learner.heed(work, room, beside, n)
    return learner.mix(model.mind, work, room, scores)


def missed(chance: float) -> float:
    """The loss by which kept experts are weighed, of the chance given to the label."""
    return (1.0 - chance) * (1.0 - chance)


@apart
def weigh_means(learner: AutoMulticlass, stacks: Cells, k: int, work: ClassWorkspace, room: Room) -> None:
    """Write the chances that stack k, one of means, gives to the classes."""
    learner.weigh(stacks, k, work, room, LAST_LABEL, PARTITIONS - 1)
    learner.normalise(work, room, PARTITIONS - 1)


@kernel
def foretell_classes(
    learner: AutoMulticlass,
    model: Frozen,
    work: ClassWorkspace,
    x: Rows,
    room: Room,
    picked: Any,
    codes: Any,
    weights: Vector,
    beside: Any,
    values: Vector,
    guesses: Any,
    votes: Vector,
    stack: Cells,
    priors: Any,
) -> None:
    """Score the picked rows by a model that learns nothing; if they have labels, count what its experts lost.

    Scores go into `room`, a row for each if they are wanted; a row that cannot be scored gets NaN and no class.
    """
    lots, known = room.raw.size, room.known[0]
    for n in range(picked.size):
        i, scores = picked[n], room.scores[n if room.scores.shape[0] > 1 else 0]
        guesses[n] = NONE
        if not look(model.measures, model.mind.pace, x, i, work.sheet):
            scores[0] = math.nan
            continue
        guesses[n] = foretell(learner, model, work, x, i, room, beside, n, scores)
        if codes.size > 0:
            y, unmet = codes[n], DOUBT / (known + 1)
            values[n] = -scores[y] if y < known else -math.log(unmet)
            votes[OWN] += weights[n] * missed(math.exp(scores[y]) if y < known else unmet)
            for k in range(EXPERTS):
                if votes[DONE + k] < math.inf:
                    votes[NOW + k] += weights[n] * missed(work.chances[k * lots + y] if y < known else unmet)
            if y < known:
                weigh_means(learner, stack, 0, work, room)
                learner.move(stack, 0, work, room, y, min(weights[n], 1.0), priors, PARTITIONS - 1)
