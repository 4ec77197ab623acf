"""A few rows which the model on trial of a run of `auto` never learnt, and what it can be tried on."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.auto.frozen import met
from lowregret.errors import DataError
from lowregret.rows import Rows, Sparse
from lowregret.run.meaning import GIVE, Tried
from lowregret.run.reserve import PREFIX, WIDEST, Reserve
from lowregret.store.file import Arrays
from lowregret.types import Vector


class Reserving:
    """Some of the rows that came since a run's model was frozen, while they are narrow."""

    def __init__(self, kept: Arrays | None = None) -> None:
        self._reserve = Reserve(True, **kept) if kept else None

    def reserve(self, run: Any) -> Reserve:
        """Rows that came since the model was frozen, if that knows few features: O(d) at first."""
        if self._reserve is None:
            self._reserve = Reserve(run.frozen is not None and met(run.frozen.measures)[0] <= WIDEST)
        return self._reserve

    def see(self, run: Any, x: Rows, y: Any, w: Vector, begin: int, end: int, rounds: int) -> None:
        """Keep some of rows begin, …, end − 1, before which this many rounds were played."""
        if run.frozen is not None and run.trial.ended is None:
            columns = None if run.places is None else run.places.columns
            self.reserve(run).see(x, columns, y, w, begin, end, rounds - run.trial.frozen)

    def forget(self) -> None:
        """Begin anew, as another model is on trial."""
        self._reserve = None

    def tried(self, run: Any) -> Tried:
        """The model on trial of a run, and the rows that are kept."""
        kept, frozen = self.reserve(run).arrays() if run.frozen is not None else {}, run.trial.frozen
        known = np.flatnonzero(kept["labels"] < run._frozen_known) if kept and run.classes is not None else None
        void = not run.orderly or run.trial.is_void(run.tally.repeated)
        if void or not kept or (known is not None and not known.size):
            raise DataError(f"no rows are kept that the model on trial never learnt, {self._why(run)}: {GIVE}")
        rows = Sparse(kept["indptr"], kept["indices"], kept["data"], run.features)
        tried = Tried(run._frozen_model, rows, kept["labels"], kept["weights"], frozen)
        return tried if known is None else tried.picked(known)

    def _why(self, run: Any) -> str:
        """Why there are no rows, in words."""
        if run.frozen is None:
            return "for there is none yet"
        if not run.orderly:
            return "for late answers came in another order than their rows, maybe of one kind first"
        if run.trial.is_void(run.tally.repeated):
            return "for rows came again"
        if self.reserve(run).is_open:
            return f"for none has come since it was frozen after {run.trial.frozen:,} rounds"
        return f"for there are more than {WIDEST} features"

    # ---- files -----------------------------------------------------------------------------------------------------

    def arrays(self) -> Arrays:
        """The arrays that a file keeps."""
        kept = self._reserve.arrays() if self._reserve is not None else {}
        return {f"{PREFIX}{name}": array for name, array in kept.items()}

    @classmethod
    def of(cls, arrays: Arrays) -> Reserving:
        """The rows that a file keeps by its arrays."""
        return cls({name.removeprefix(PREFIX): array for name, array in arrays.items() if name.startswith(PREFIX)})
