"""What a stream hands over: rows with labels and weights, and where they come from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

from lowregret.rows import Sparse
from lowregret.state import Vector


@dataclass
class Batch:
    """Some rows of one file, valid until the next batch is asked for."""

    rows: Sparse
    labels: Vector
    weights: Vector  # empty: all 1
    lines: Any  # the line of each row in its file, from 1
    name: str  # of the file
    unlabelled: int = 0  # rows without a label: their weight is 0
    position: int = 0  # bytes of the files read so far, as they are on disk
    faults: list[str] = field(default_factory=list)  # what was skipped
    fault: str | None = None  # what follows the rows and cannot be read

    def __len__(self) -> int:
        return self.labels.size

    def place(self, i: int) -> str:
        """Where row i is."""
        return f"{self.name}:{int(self.lines[i])}"


@runtime_checkable
class Stream(Protocol):
    """Rows in batches, as often as asked for."""

    @property
    def size(self) -> int:
        """Bytes on disk; 0 if nobody knows."""

    def batches(self) -> Iterator[Batch]:
        """All rows in order. A fault ends it with a batch that says so."""
