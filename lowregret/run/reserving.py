"""The base of runs that keep a few rows which their model on trial never learnt."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from lowregret.auto.frozen import met
from lowregret.errors import DataError
from lowregret.rows import Rows, Sparse
from lowregret.run.base import RowRun
from lowregret.run.meaning import GIVE, Tried
from lowregret.run.models import FixedModel
from lowregret.run.reserve import PREFIX, WIDEST, Reserve
from lowregret.store.file import Arrays
from lowregret.types import Vector


class ReservingRun(RowRun):
    """A run of `auto`, which keeps some of the rows that came since its model was frozen, while they are narrow."""

    _frozen_known: int = 0

    def __init__(self, *given: Any, reserve: Arrays | None = None, **how: Any) -> None:
        super().__init__(*given, **how)
        self._reserve = Reserve(True, **reserve) if reserve else None

    @property
    def reserve(self) -> Reserve:
        """Rows that came since the model was frozen, if that knows few features: O(d) at first."""
        if self._reserve is None:
            self._reserve = Reserve(self.frozen is not None and met(self.frozen.measures)[0] <= WIDEST)
        return self._reserve

    @property
    @abstractmethod
    def _frozen_model(self) -> FixedModel:
        """The model on trial."""

    def _judge(self, x: Rows, y: Any, w: Vector) -> None:
        begin, rounds = self._unjudged
        if self.frozen is not None and self.trial.ended is None:
            columns = None if self.places is None else self.places.columns
            self.reserve.see(x, columns, y, w, begin, self._reached, rounds - self.trial.frozen)
        super()._judge(x, y, w)

    def _pause(self) -> None:
        super()._pause()
        if self.trial.ended is None and self.trial.frozen == self.rounds:
            self._reserve = None

    def _tried(self) -> Tried:
        kept, frozen = self.reserve.arrays() if self.frozen is not None else {}, self.trial.frozen
        known = np.flatnonzero(kept["labels"] < self._frozen_known) if kept and self.classes is not None else None
        if not kept or (known is not None and not known.size):
            raise DataError(f"no rows are kept that the model on trial never learnt, {_why(self)}: {GIVE}")
        rows = Sparse(kept["indptr"], kept["indices"], kept["data"], self.features)
        tried = Tried(self._frozen_model, rows, kept["labels"], kept["weights"], frozen)
        return tried if known is None else tried.picked(known)

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        kept = {name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)}
        return super()._given(learner, description, arrays) | {"reserve": kept}

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        kept = self._reserve.arrays() if self._reserve is not None else {}
        return description, arrays | {f"{PREFIX}{name}": array for name, array in kept.items()}


def _why(run: ReservingRun) -> str:
    """Why there are no rows, in words."""
    if run.frozen is None:
        return "for there is none yet"
    if run.reserve.is_open:
        return f"for none has come since it was frozen after {run.trial.frozen:,} rounds"
    return f"for there are more than {WIDEST} features"
