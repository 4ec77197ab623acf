"""Passes over the same rows: what each came to, which was best, and what rows weigh that were learnt in several."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.rows import Rows
from lowregret.run.judge import Judged
from lowregret.step import Step
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.hindsight import Pass as Rereading


@dataclass(frozen=True)
class Pass:
    """One pass. In the first, rows were judged before they were learnt; later figures are of rows learnt before."""

    number: int
    loss: float  # per unit of weight
    error: float | None
    held: Judged | None  # of the rows held out, if there are any

    @property
    def merit(self) -> float | None:
        """What passes are compared by, the less the better: loss on rows held out, or error where it is not known."""
        if self.held is None:
            return None
        return self.held.error if self.held.mean_loss is None else self.held.mean_loss

    def to_json(self) -> dict[str, Any]:
        """The public form."""
        held = self.held
        told = None if held is None else {"rows": held.rows, "loss": held.mean_loss, "error": held.error}
        mine = {"loss": self.loss, "error": self.error, "training": self.number > 1}
        return {"pass": self.number, **mine, "holdout": told}


def best_pass(passes: Iterable[Pass]) -> Pass:
    """The first of those that predicted the rows held out best; without such rows, the last."""
    *_, best = passes = list(passes)
    return min(passes, key=lambda p: p.merit or 0.0) if best.merit is not None else best


def weighed(rows: Rereading, step: Step, rounds: int, passes: int) -> Iterator[tuple[Rows, Vector, Vector]]:
    """The rows of a pass, with weights that count for all passes: times Σ c_t over the rounds of a row."""
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
