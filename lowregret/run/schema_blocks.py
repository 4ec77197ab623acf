"""The schema of the files of runs that learn in blocks."""

from __future__ import annotations

from collections.abc import Collection

from lowregret.certificate.blocks import NAMES
from lowregret.learner.schema import Demands
from lowregret.run.block_learners import LARGEST_BLOCK, MOST_LEARNERS, why_not
from lowregret.run.schema import RowSchema
from lowregret.state import SUM_NAMES, SUMS
from lowregret.store.schema import Array, Arrays, Field, Told, extended, floats, whole


class BlockSchema(RowSchema):
    """The schema of a run that learns in blocks, with the iterate that decides the rest of a block."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"block": whole(1, LARGEST_BLOCK), "learners": whole(1, MOST_LEARNERS)}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        begun = {"decided.sums": SUM_NAMES} if "decided.sums" in present else {}
        return super().slots(present) | {"ledger": NAMES} | begun

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        found = super().arrays(told, present) | {"ledger": floats(len(NAMES), low=0)}
        if any(name.startswith("decided") for name in present):
            found |= self.split(told, "decided", self.columns(told)) | {"decided.sums": extended(SUMS)}
        return found

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        begun = self.rounds(arrays) % told["block"] > 0
        yield begun == ("decided" in arrays), f"the iterate of a block of {told['block']} rounds if one is begun"
        yield why_not(told["learner"]) is None, "a learner that learns in blocks"
