"""A panel of panels: several aggregators mix the experts, and one more mixes the aggregators. Nothing to tune.

    ℓ(p) − ℓ(u) = [ℓ(p) − ℓ(p_l)] + [ℓ(p_l) − ℓ(u)]

for every lane l, so the regret is at most what the mixture of lanes owes to a lane plus what that lane owes to u: the
smallest such sum is the bound. Lanes that forget follow changes; those that do not carry the proof.
"""

from __future__ import annotations

import math
import os
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.errors import PartError
from lowregret.experts.advice import book_rows
from lowregret.experts.aggregator import AdaHedge, Aggregator, MLPoly, Squint
from lowregret.experts.certify import bound_against
from lowregret.experts.panel import KEPT, ExpertMixture, Matrix
from lowregret.experts.schema import LayeredSchema
from lowregret.experts.state import NAPS, Book
from lowregret.loss import Loss, Square
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

LANES: tuple[Aggregator, ...] = (MLPoly(), MLPoly(0.99), MLPoly(0.9), AdaHedge(), Squint())


class Layered(ExpertMixture):
    """The default: every lane linearises at its own forecasts, and `MLPoly` mixes the lanes."""

    kind = "layered-experts"
    schema = LayeredSchema(len(LANES))

    def __init__(
        self,
        experts: int | list[str],
        loss: Loss = Square(),
        *,
        parts: int = 1,
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        if not math.isfinite(loss.at(0.0, 1.0)[0]):
            raise PartError(
                f"{type(loss).__name__} can be infinite for a lane that trusts one expert: use "
                "ExpertMixture(experts, Hedge(1.0), loss, linearised=False), the Bayes mixture, which needs no tuning"
            )
        super().__init__(experts, MLPoly(), loss, parts=parts, prior=prior, compiled=compiled)
        self.lanes = [
            ExpertMixture(self.names, lane, loss, parts=parts, prior=prior, compiled=compiled) for lane in LANES
        ]
        self.chief = ExpertMixture([_name(lane) for lane in LANES], MLPoly(), loss, parts=parts, compiled=compiled)
        self._rounds: dict[int, list[int]] = {}  # pending rounds: their numbers in each lane and the chief

    def learn(self, forecasts: Any, outcomes: Any) -> Matrix:
        """As `ExpertMixture.learn`: O(TN) for each lane."""
        x = self.as_forecasts(forecasts)
        y = self.as_outcomes(outcomes, x.shape[0])
        said = np.stack([lane.learn(forecasts, outcomes) for lane in self.lanes], axis=1)
        p = self.chief.learn(said, outcomes)
        regrets = np.empty(len(x))
        call(book_rows, self.compiled, self.loss, self.book, x, y, np.ascontiguousarray(p.reshape(len(p), -1)), regrets)
        marks = self._marks(len(x))
        self._keep(np.empty((marks, 0)), regrets[-self.asked % self._every :: self._every], marks)
        self.asked += len(x)
        return p

    def ask(self, forecasts: Any) -> tuple[int, Any]:
        asked = [lane.ask(forecasts) for lane in self.lanes]
        chief, p = self.chief.ask([said for _, said in asked])
        x = self.as_forecasts(np.asarray(forecasts, float)[None])
        self._keep(np.empty((1, 0)), np.array([self.regret]), self._marks(1))
        self.asked += 1
        number = self.asked - 1
        self._rounds[number] = [*(own for own, _ in asked), chief]
        self.pending[number] = x, np.atleast_2d(np.asarray(p, float)), np.empty((1, 0))
        return number, p

    def tell(self, number: int, outcome: Any) -> float:
        if number not in self.pending:
            return super().tell(number, outcome)  # which says why not
        y = self.as_outcomes([outcome], 1)
        *lanes, chief = self._rounds[number]
        own = self.chief.tell(chief, outcome)
        for lane, round_ in zip(self.lanes, lanes, strict=True):
            lane.tell(round_, outcome)
        x, p, _ = self.pending.pop(number)
        del self._rounds[number]
        call(book_rows, self.compiled, self.loss, self.book, x, y, p, np.empty(1))
        self.late = self.chief.late
        return own

    @property
    def weights(self) -> Vector:
        return np.asarray(self.chief.weights @ np.array([lane.weights for lane in self.lanes]))

    @property
    def history(self) -> tuple[Any, Matrix]:
        rounds, trust = self.chief.history
        lanes = np.array([lane.history[1] for lane in self.lanes])
        return rounds, np.einsum("tl,ltn->tn", trust, lanes)

    @property
    def certificate(self) -> Certificate:
        regrets = self.book.owed - self.book.losses
        linear = float(np.max(self.book.linear))
        slept = int(self.book.counts[NAPS])  # over the rounds of one expert only, the mixture may owe a lane more
        bound = min(self._bound(lane) for lane in range(len(self.lanes)))
        return Certificate(
            "LAYERED",
            "regret ≤ min over lanes of what the mixture owes to the lane + what the lane owes to the best combination",
            {"set": "simplex", "radius": 1.0},
            linear if linear <= bound else None,
            bound,
            (*self._premises(), Premise("no expert slept", slept == 0, f"{counted(slept, 'round')} with a sleeper")),
            regret=float(np.max(regrets)),
        )

    def _bound(self, lane: int) -> float:
        inner = self.lanes[lane]
        owed = bound_against(self.chief.aggregator, False, self.chief.book, lane)[2]
        k = int(np.argmax(inner.book.linear))
        return owed + bound_against(inner.aggregator, False, inner.book, k)[2]

    # ---- files -------------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """What `save` writes, with all lanes."""
        description, arrays = super().contents()
        description["rounds"] = {str(number): rounds for number, rounds in self._rounds.items()}
        for i, panel in enumerate([*self.lanes, self.chief]):
            told, kept = panel.contents()
            description[f"lane {i}"] = told
            arrays |= {f"lane {i}.{name}": array for name, array in kept.items()}
        return description, arrays

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        outer = ExpertMixture.of(path, description, arrays)
        whole = cls(outer.names, outer.loss, parts=outer.parts, compiled=outer.compiled)
        for name in ("book", "late", "asked", "pending", "_weights", "_regrets", "_every"):
            setattr(whole, name, getattr(outer, name))
        panels = [
            ExpertMixture.of(
                path,
                description[f"lane {i}"],
                {name: arrays[f"lane {i}.{name}"] for name in (*Book._fields, *KEPT)},
            )
            for i in range(len(whole.lanes) + 1)
        ]
        *whole.lanes, whole.chief = panels
        whole._rounds = {int(number): rounds for number, rounds in description["rounds"].items()}
        return whole


def _name(lane: Aggregator) -> str:
    """`MLPoly(memory=0.9)` is polynomial 0.9."""
    return " ".join([type(lane).__name__.lower(), *(f"{value:g}" for value in lane.parameters.values())])
