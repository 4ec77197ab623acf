"""Rows that are judged and never learnt, as `--holdout` says."""

from __future__ import annotations

import math
from argparse import ArgumentTypeError
from dataclasses import dataclass

from lowregret.cli.arguments import MOST


@dataclass(frozen=True)
class Holdout:
    """Which rows are held out: one in `every`, or the last ones; none if all is 0."""

    every: int = 0
    last: int = 0
    percent: float = 0.0  # of the rows, the last ones, where nobody has counted them yet

    def __bool__(self) -> bool:
        return bool(self.every or self.last or self.percent)

    def of(self, rows: int) -> Holdout:
        """The rows to hold out of this many: a share of the last ones becomes a number."""
        return Holdout(last=math.ceil(rows * self.percent / 100))


def holdout(text: str) -> Holdout:
    """`N`, `last:N` or `last:P%`."""
    kind, _, size = text.rpartition(":")
    try:
        if kind not in ("", "last"):
            raise ValueError
        if kind and size.endswith("%"):
            percent = float(size[:-1])
            if 0 < percent < 100:
                return Holdout(percent=percent)
        elif 0 < int(size) <= MOST:
            return Holdout(last=int(size)) if kind else Holdout(every=int(size))
    except ValueError:
        pass
    raise ArgumentTypeError(f"expected N (every N-th row), last:N or last:P% (the last rows), got {text[:80]!r}")
