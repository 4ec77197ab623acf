"""The schema of the files of runs that were spread over workers."""

from __future__ import annotations

from collections.abc import Collection

from lowregret.certificate.spread import NAMES
from lowregret.learner.schema import Demands
from lowregret.run.block_learners import why_not
from lowregret.run.schema import RowSchema
from lowregret.store.schema import Array, Arrays, Told, floats, wholes

LAGS = 64  # bins of lags: 0, 1, 2–3, 4–7, … rows


class SpreadSchema(RowSchema):
    """The schema of a run that was spread, with its ledger of staleness."""

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return super().slots(present) | {"spread": NAMES}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        return super().arrays(told, present) | {"spread": floats(len(NAMES), low=0), "lags": wholes(LAGS)}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        yield why_not(told["learner"]) is None, "a learner whose features several can move"
        yield arrays["lags"].sum() <= self.rounds(arrays), "no more rows with a lag than rounds"
