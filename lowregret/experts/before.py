"""Mixtures that learn together: all of them, or none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowregret.experts.mixture import ExpertMixture

LEARNT = (
    "regret",
    "square",
    "rate",
    "losses",
    "owed",
    "crumbs",
    "linear",
    "added",
    "awake",
    "trust",
    "sums",
    "counts",
)  # the book's, by learning
PLAIN = ("drift", "late", "inside", "orderly", "met", "asked", "_weights", "_regrets", "_every")
WAITING = ("_round_of", "pending", "_rounds")  # what is known of rounds that wait, when first; the last of layers alone


class Before:
    """A mixture as it was before it learns, to go back to: O(N), whatever it keeps of earlier rounds.

    What it keeps of these only grows at the end, but for the one round that waits under `number`.
    """

    def __init__(self, mixture: ExpertMixture, number: int | None = None) -> None:
        book = mixture.book
        self.mixture, self.learnt = mixture, [getattr(book, name).copy() for name in LEARNT]
        self.plain = [getattr(mixture, name) for name in PLAIN]
        self.asked, self.kept, self.marks = mixture.asked, len(mixture._weights), mixture.history.mark()
        self.done = 0  # rounds learnt and taken back
        self.number = number
        known = [] if number is None else [getattr(mixture, name) for name in WAITING if hasattr(mixture, name)]
        self.waited = [(rounds, rounds[number]) for rounds in known]

    def restore(self) -> None:
        """Make the mixture what it was."""
        mixture = self.mixture
        self.done = mixture.asked - self.asked
        mixture.book = mixture.book._replace(**dict(zip(LEARNT, self.learnt, strict=True)))
        for name, value in zip(PLAIN, self.plain, strict=True):
            setattr(mixture, name, value)
        del mixture._weights[self.kept :], mixture._regrets[self.kept :]
        mixture.history.back(self.marks)
        for rounds, waited in self.waited:
            if self.number not in rounds:
                rounds[self.number] = waited
                ordered = sorted(rounds.items(), key=lambda waiting: mixture._round_of[waiting[0]])
                rounds.clear()
                rounds.update(ordered)


@contextmanager
def all_or_none(before: list[Before]) -> Iterator[None]:
    """Go back to what was before if any of the mixtures refuses."""
    try:
        yield
    except BaseException:
        for old in before:
            old.restore()
        raise
