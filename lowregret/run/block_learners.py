"""Learners whose features several threads can move at once, a block of rows at a time."""

from __future__ import annotations

from typing import Any

from lowregret.auto import Auto, AutoMulticlass
from lowregret.compile.altered import is_own
from lowregret.errors import PartError
from lowregret.learner.linear import Linear

LARGEST_BLOCK = 1 << 16  # rounds
FREE = "free"  # instead of a size of blocks: nobody waits
MOST_LEARNERS = 256  # threads


def why_not(learner: Any) -> str | None:
    """The reason why a learner cannot learn in blocks; None if it can."""
    if isinstance(learner, Auto):
        return "auto weighs its experts after every row, so the next row cannot be scored before"
    if isinstance(learner, AutoMulticlass):
        return "auto on many classes learns row by row, alone"
    if not isinstance(learner, Linear):
        return f"{type(learner).__name__} learns row by row"
    if is_own(learner.rule) or not learner.rule.parted():
        return f"{learner.rule} moves its weights together, not each by what is known of it alone"
    if learner.ridge > 0 or learner.rule.weighted():
        return "a ridge, or a schedule that weighs the rounds, needs each iterate on the way"
    if learner.output.averages():
        return f"{learner.output} needs each iterate on the way"
    return None


def require_learners(learner: Any, learners: Any, block: Any) -> None:
    """Refuse to let this many learn, in blocks of this size, if that cannot be."""
    sized = block is not None and block != FREE
    for name, value, most in [("learners", learners, MOST_LEARNERS), ("block", block, LARGEST_BLOCK)][: 1 + sized]:
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            free = f", or {FREE!r}" if name == "block" else ""
            raise PartError(f"{name} must be a whole number from 1 to {most}{free}, got {value!r}")
    if isinstance(learner, Auto):
        if block is not None:
            raise PartError("auto learns row by row, whoever helps: leave block (--block) out")
        return
    reason = why_not(learner)
    if reason is not None:
        raise PartError(
            f"{reason}: leave learners (--learners) out, or use ogd, adagrad or ftrl-proximal and keep the last iterate"
        )
