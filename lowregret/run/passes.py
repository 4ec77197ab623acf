"""Passes over the same rows: the figures of each, the best of them, and weights of rows learnt in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lowregret.rows import Rows
from lowregret.run.judge import Judged
from lowregret.step import Step
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.hindsight import Pass as Rereading


class Earlier(NamedTuple):
    """The rows that a session had read, and those it had learnt, when it was loaded."""

    read: int = 0
    learnt: int = 0


@dataclass(frozen=True)
class Pass:
    """The figures of one pass; in all but the first, they are of rows that were learnt before."""

    number: int
    loss: float  # per unit of weight
    error: float | None
    held: Judged | None  # of the rows held out, if there are any

    @property
    def merit(self) -> float | None:
        """The loss on rows held out, or the error where the loss is not known: the pass with the least is the best."""
        if self.held is None:
            return None
        return self.held.error if self.held.mean_loss is None else self.held.mean_loss

    def to_json(self) -> dict[str, Any]:
        """The public form: number, loss and error of the pass, and figures of the rows held out."""
        held = self.held
        told = None if held is None else {"rows": held.rows, "loss": held.mean_loss, "error": held.error}
        mine = {"loss": self.loss, "error": self.error, "training": self.number > 1}
        return {"pass": self.number, **mine, "holdout": told}


def best_pass(passes: Iterable[Pass]) -> Pass:
    """The pass that predicted the rows held out best, the first if several did; without such rows, the last."""
    *_, best = passes = list(passes)
    return min(passes, key=lambda p: p.merit or 0.0) if best.merit is not None else best


def best_of(passes: Iterable[Pass]) -> int:
    """The passes among which the rows held out chose: their figures flatter the best of several."""
    return max(sum(done.held is not None for done in passes), 1)


def weighed(rows: Rereading, step: Step, rounds: int, passes: int) -> Iterator[tuple[Rows, Vector, Vector]]:
    """The rows of one pass, each weight multiplied by Σ c_t over the rounds t in which the row was learnt."""
    t, each = 0, rounds // passes
    for x, y, given in rows():
        weights = np.array(given, float) if given.size else np.ones(y.size)
        played = np.flatnonzero(weights)
        total = np.zeros(played.size)
        for begin in range(t, rounds, each):
            total += np.diff([step.total_importance(begin + k) for k in range(played.size + 1)])
        weights[played] *= total
        t += played.size
        yield x, y, weights
