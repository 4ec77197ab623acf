"""The schema of the files of runs that learn in blocks."""

from __future__ import annotations

from collections.abc import Collection

from lowregret.certificate.blocks import AGAIN, BLOCK, NAMES, PATIENCE
from lowregret.learner.schema import Demands
from lowregret.run.block_learners import LARGEST_BLOCK, MOST_LEARNERS, why_not
from lowregret.run.block_size import FOR_EVER, LONGEST_BLOCK, MOST_PATIENCE, BlockSize
from lowregret.run.schema import RowSchema
from lowregret.state import SUM_NAMES, SUMS
from lowregret.store.schema import FLAG, Array, Arrays, Field, Told, extended, floats, whole


class BlockSchema(RowSchema):
    """The schema of a run that learns in blocks, with the iterate that decides the rest of a block."""

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"measured": FLAG, "learners": whole(1, MOST_LEARNERS)}

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
        ledger, rounds = arrays["ledger"], self.rounds(arrays)
        most = LONGEST_BLOCK if told["measured"] else LARGEST_BLOCK
        block = float(ledger[BLOCK])
        whole_numbers = all(float(number).is_integer() for number in (block, ledger[PATIENCE], ledger[AGAIN]))
        yield whole_numbers and 1 <= block <= most, f"ledger: blocks of 1 to {most} rounds"
        yield not told["measured"] or int(block) & int(block) - 1 == 0, "ledger: a power of two as the size of blocks"
        yield 1 <= ledger[PATIENCE] <= MOST_PATIENCE and ledger[AGAIN] <= FOR_EVER, "ledger: patience"
        size = BlockSize(ledger, told["measured"]).now(rounds)
        yield (rounds % size > 0) == ("decided" in arrays), f"the iterate of a block of {size} rounds if one is begun"
        yield why_not(told["learner"]) is None, "a learner that learns in blocks"
