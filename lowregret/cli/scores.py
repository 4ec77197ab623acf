"""Scores in a file, one a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

import numpy as np

from lowregret.errors import PartError, StoreError
from lowregret.loss import Loss, Margin, MultiLoss
from lowregret.run.multiclass import MulticlassRun
from lowregret.run.session import Session
from lowregret.types import Vector


class ScoreFile:
    """Writes scores as they are (`raw`), as the chance of +1 (`prob`) or as the predicted class (`label`)."""

    def __init__(self, path: str | None, link: str, session: Session) -> None:
        self.path, self.link, self.session = path, link, session
        try:
            self.file = None if path is None else sys.stdout if path == "-" else open(path, "w")  # noqa: SIM115
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None

    def write(self, scores: Vector) -> None:
        """One line for each."""
        if self.file is not None and scores.size:
            with self._problems():
                self.file.write("\n".join(self._lines(scores)) + "\n")

    def _lines(self, scores: Vector) -> Iterator[str]:
        found, signs = linked(scores, self.link, self.session.run.learner.loss), self.session.signs
        if self.link == "label" and signs is not None:
            return (signs[label < 0] for label in found.tolist())
        return map(repr, found.tolist())

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


class ClassFile(ScoreFile):
    """Writes classes by name, or, with a first line of their names, a column of scores or chances for each."""

    def __init__(self, path: str | None, link: str, session: Session, run: MulticlassRun) -> None:
        super().__init__(path, link, session)
        self.run, self.begun = run, False
        if link != "label" and path is not None and not (run.classes.fixed or run.rounds):
            raise PartError(f"--link {link} writes a column for each class: name them with --classes A,B,…")

    def write(self, scores: Vector) -> None:
        """A line for each row: codes of classes, or a row of scores for each."""
        if self.file is None or not len(scores):
            return
        if scores.ndim == 1:
            names = [*self.run.classes.names, ""]
            lines = [str(names[code]) for code in scores.tolist()]
        else:
            loss = self.run.learner.loss
            table = loss.probabilities(scores) if self.link == "prob" else scores
            lines = [] if self.begun else [",".join(map(str, self.run.classes.names))]
            lines += [",".join(map(repr, row)) for row in table.tolist()]
        self.begun = True
        with self._problems():
            self.file.write("\n".join(lines) + "\n")


def score_file(path: str | None, link: str | None, session: Session) -> ScoreFile:
    """Where predictions go: scores unless said otherwise, of many classes their names."""
    run = session.run
    many = isinstance(run, MulticlassRun)
    if link == "prob":
        run.learner.loss.probabilities(np.zeros((1, 1) if many else 1))  # which says so if there are none
    if not isinstance(run, MulticlassRun):
        return ScoreFile(path, link or "raw", session)
    run.keep_scores = path is not None and link in ("raw", "prob")
    return ClassFile(path, link or "label", session, run)


def linked(scores: Vector, link: str, loss: Loss | MultiLoss) -> Vector:
    """Scores as they are, as probabilities 1/(1 + e^{−p}), or as the sign of the decision."""
    if link == "prob":
        return loss.probabilities(scores)[:, 1]
    return loss.predictions(scores) if link == "label" and isinstance(loss, Margin) else scores
