"""Scores in a file, one a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

import numpy as np

from lowregret.error import StoreError
from lowregret.loss import Loss, Margin
from lowregret.state import Vector


class ScoreFile:
    """Writes scores as they are (`raw`), as the chance of +1 (`prob`) or as the predicted class (`label`)."""

    def __init__(self, path: str | None, link: str, loss: Loss) -> None:
        self.path, self.link, self.loss = path, link, loss
        try:
            self.file = None if path is None else sys.stdout if path == "-" else open(path, "w")  # noqa: SIM115
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None

    def write(self, scores: Vector) -> None:
        """One line for each."""
        if self.file is not None and scores.size:
            with self._problems():
                self.file.write("\n".join(map(repr, linked(scores, self.link, self.loss).tolist())) + "\n")

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self.file is None:
            return
        with self._problems():
            self.file.flush()
            if self.file is not sys.stdout:
                with suppress(OSError):  # a pipe, say, which cannot be synchronised
                    os.fsync(self.file.fileno())
                self.file.close()

    @contextmanager
    def _problems(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            raise
        except OSError as error:
            raise StoreError(f"cannot write {self.path}: {error.strerror}") from None


def linked(scores: Vector, link: str, loss: Loss) -> Vector:
    """Scores as they are, as probabilities 1/(1 + e^{−p}), or as the sign of the decision."""
    if link == "prob":
        return 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
    if link == "label" and isinstance(loss, Margin):
        decided = np.array([loss.decision(p) for p in scores.tolist()])
        return np.where(decided >= 0, 1.0, -1.0)
    return scores
