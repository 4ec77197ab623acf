"""Scores in a file, one a line."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType

import numpy as np

from lowregret.cli.room import give_back, set_aside
from lowregret.errors import PartError, StoreError
from lowregret.learner.labels import ClassNames, Name
from lowregret.loss import Loss, Margin, MultiLoss
from lowregret.run.outcome import Learnt
from lowregret.run.served import Served
from lowregret.store.replacing import open_alone, require_place
from lowregret.stream.batch import Batch
from lowregret.types import Vector
from lowregret.words import one_line

NUMBER = 32  # bytes that suffice for a number and what follows it


class ScoreFile:
    """Writes scores as they are (`raw`), as the chance of +1 (`prob`) or as the predicted class (`label`).

    Room for the lines of a batch is set aside before it is learnt, where that can be done. Lines that find none
    all the same wait in the session, and so in its model: whoever resumes it writes them first.
    """

    def __init__(self, path: str | None, link: str, session: Served) -> None:
        self.path, self.link, self.session = path, link, session
        self.end = 0  # bytes in the file, which are whole lines
        if path is not None and path != "-":
            require_place(path)
        try:
            self.file = None if path is None or path == "-" else open_alone(path)
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(f"cannot write {path}: {error.strerror}") from None
        self.regular = self.file is not None and stat.S_ISREG(os.fstat(self.file.fileno()).st_mode)

    def make_room(self, batch: Batch) -> None:
        """Set aside room for all lines of a batch that is about to be learnt; raises `StoreError` if there is none."""
        if self.regular and self.file is not None:
            size = len(self.session.unwritten.encode()) + len(batch) * self._longest(batch)
            with self._problems():
                set_aside(self.file.fileno(), self.end, size)

    def _longest(self, batch: Batch) -> int:
        """The most bytes that a line can have."""
        names = [*(self.session.signs or ()), *batch.met.labels] if self.link == "label" else []
        return max([NUMBER, *(len(f"not {one_line(name)}\n".encode()) for name in names)])

    def see(self, batch: Batch, learnt: Learnt) -> None:
        """Take up what was predicted of a batch."""
        if self.path is not None and learnt.done:
            self.session.unwritten += "\n".join(self._lines(learnt.scores)) + "\n"

    def flush(self, *_: object) -> None:
        """Write all lines that wait, or none of them."""
        with self._problems():
            if self.path == "-":
                sys.stdout.write(self.session.unwritten)
                sys.stdout.flush()
            elif self.file is not None:
                rest = memoryview(self.session.unwritten.encode())
                end = self.end + len(rest)
                try:
                    while rest:
                        rest = rest[self.file.write(rest) :]
                except BaseException:
                    self.cut_back(self.end)
                    raise
                self.end = end
                if self.regular:
                    give_back(self.file.fileno(), end)
            if self.path is not None:
                self.session.unwritten = ""

    def cut_back(self, end: int) -> None:
        """Cut the file to this many bytes, if it is one that can be cut."""
        if self.file is not None:
            with suppress(OSError):
                self.file.seek(end)
                self.file.truncate()
                self.end = end

    def _lines(self, scores: Vector) -> Iterable[str]:
        """One for each row."""
        found, signs = apply_link(scores, self.link, self.session.run.learner.loss), self.session.signs
        if self.link == "label" and signs is not None:
            return (one_line(signs[label < 0]) for label in found.tolist())
        return map(repr, found.tolist())

    def __enter__(self) -> ScoreFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, at: TracebackType | None) -> None:
        if self.file is not None:
            with self._problems():
                if self.regular:
                    give_back(self.file.fileno(), self.end)
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

    def __init__(self, path: str | None, link: str, session: Served, classes: ClassNames) -> None:
        super().__init__(path, link, session)
        self.classes = classes
        self.head = "" if link == "label" else ",".join(map(_column, classes.names)) + "\n"
        if link != "label" and path is not None and not (classes.fixed or session.run.rounds):
            raise PartError(f"--link {link} writes a column for each class: name them with --classes A,B,…")

    def see(self, batch: Batch, learnt: Learnt) -> None:
        if self.path is not None and learnt.done and not self.session.unwritten.startswith(self.head):
            self.session.unwritten, self.head = self.head + self.session.unwritten, ""
        super().see(batch, learnt)

    def _longest(self, batch: Batch) -> int:
        if self.link != "label":
            return NUMBER * (len(self.classes) + 1) + len(self.head.encode())
        names = [*self.classes.names, *(batch.names or {}).values()]
        return max((len(one_line(str(name)).encode()) + 1 for name in names), default=0) + NUMBER

    def _lines(self, scores: Vector) -> Iterable[str]:
        """Names of classes, or a row of scores for each."""
        if scores.ndim == 1:
            names = [*map(one_line, map(str, self.classes.names)), ""]
            return [names[code] for code in scores.tolist()]
        table = self.session.run.learner.loss.probabilities(scores) if self.link == "prob" else scores
        return [",".join(map(repr, row)) for row in table.tolist()]


def _column(name: Name) -> str:
    """The name of a class in the first line of a table, quoted if it has commas or quotes."""
    shown = one_line(str(name))
    return '"{}"'.format(shown.replace('"', '""')) if {",", '"'} & set(shown) else shown


def score_file(path: str | None, link: str | None, session: Served) -> ScoreFile:
    """Where predictions go: scores unless said otherwise, of many classes their names."""
    run = session.run
    if link == "prob":
        nothing = np.zeros(1 if run.classes is None else (1, 1))
        run.learner.loss.probabilities(nothing)  # which says so if there are none
    if run.classes is None:
        return ScoreFile(path, link or "raw", session)
    run.keep_scores = path is not None and link in ("raw", "prob")
    return ClassFile(path, link or "label", session, run.classes)


def apply_link(scores: Vector, link: str, loss: Loss | MultiLoss) -> Vector:
    """Scores as they are, as probabilities 1/(1 + e^{−p}), or as the sign of the decision."""
    if link == "prob":
        return loss.probabilities(scores)[:, 1]
    return loss.predictions(scores) if link == "label" and isinstance(loss, Margin) else scores
