"""How long blocks are: as told, or as long as rows can be decided together at little cost, which is found out.

Row t of a block is decided with the score p_t of the iterate before the block; p'_t is the score that it would have had
after the rows before it. To first order the difference costs |ℓ'_t·(p_t − p'_t)|, which grows with the rows between.
Where the sum of these over probes is at most LITTLE of the loss, blocks of that length are as good as row by row, and
twice as long ones are tried next.
Probes come at certain rounds, and what is decided depends on scores and labels alone, never on clocks or threads.
"""

from __future__ import annotations

from lowregret.certificate.blocks import AGAIN, BEFORE, BLOCK, KNOWN, LOST, PATIENCE, PROBED, STALE
from lowregret.types import Vector

FIRST = 1024  # rounds before the first probe, learnt one by one
PROBE = 128  # rounds of a probe
LONGEST_PERIOD = 1 << 14  # rounds from one probe to the next, an eighth of all so far at first
LONGEST_BLOCK = 64  # rounds, unless more are told
LITTLE = 0.005  # of the loss
MEMORY = 0.8  # of earlier probes, for staleness may cost much seldom
CALM = 0.5  # of the usual loss a round
MOST_PATIENCE = 64  # periods that are let go by after trials that failed
FOR_EVER = 1 << 62  # rounds


class BlockSize:
    """The size of blocks; if `measured`, it is found out on the way. All that it remembers stands in the ledger."""

    def __init__(self, ledger: Vector, measured: bool) -> None:
        self.ledger, self.measured = ledger, measured

    def now(self, rounds: int) -> int:
        """The size of the block in which the next round is."""
        return self._tried(rounds) if self.probing(rounds) else self.settled

    @property
    def settled(self) -> int:
        """The size of blocks between probes."""
        return int(self.ledger[BLOCK])

    def _tried(self, rounds: int) -> int:
        """The size of blocks in a probe: twice as long if that is due, else as they are, to see if they may stay."""
        longer = rounds - rounds % period(rounds) >= self.ledger[AGAIN]
        return min(2 * self.settled, LONGEST_BLOCK) if longer else self.settled

    def probing(self, rounds: int) -> bool:
        """Whether the next round is one of a probe."""
        due = self.measured and rounds >= FIRST and rounds % period(rounds) < PROBE
        return due and self._tried(rounds) > 1

    def until(self, rounds: int) -> int:
        """The rounds after which it may be otherwise: all sizes divide them."""
        if not self.measured:
            return FOR_EVER
        length = period(rounds)
        begin = rounds - rounds % length
        return begin + (PROBE if begin >= FIRST and rounds < begin + PROBE else length)

    def decide(self, rounds: int, total: float) -> None:
        """Settle the size of blocks after a probe: the longest up to twice as long that would have cost little.

        Blocks do not grow by a probe that met much less loss than the rounds since the last, `total` being that of all.
        """
        ledger, block, tried = self.ledger, self.settled, self._tried(rounds - 1)
        calm = ledger[LOST] * (rounds - ledger[KNOWN]) < CALM * (total - ledger[BEFORE]) * ledger[PROBED]
        tried = min(tried, block) if calm else tried
        while tried > 1 and ledger[STALE] * (tried - 1) > LITTLE * ledger[LOST]:
            tried //= 2
        if tried < block or tried == 1:
            ledger[AGAIN] = rounds + ledger[PATIENCE] * period(rounds)
            ledger[PATIENCE] = min(2 * ledger[PATIENCE], MOST_PATIENCE)
        ledger[BLOCK], ledger[KNOWN], ledger[BEFORE] = tried, rounds, total
        for slot in (STALE, LOST, PROBED):
            ledger[slot] *= MEMORY


def period(rounds: int) -> int:
    """Rounds from one probe to the next, a power of two: an eighth of those so far, within limits."""
    return min(max(1 << max(rounds.bit_length() - 4, 0), FIRST), LONGEST_PERIOD)
