"""Writing the model of a training, now and then and in the end."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from lowregret.cli.scores import ScoreFile
from lowregret.errors import CheckError, StoreError
from lowregret.run.served import Served
from lowregret.run.session import Session
from lowregret.store.watched import Watched


class Keeper:
    """Writes the model now and then, and in the end; if it cannot, it looks for another place."""

    def __init__(
        self, session: Session, path: Watched | None, every: float, scores: ScoreFile, predict_only: bool = False
    ) -> None:
        self.session, self.path, self.every, self.scores = session, path, every, scores
        self.predict_only = predict_only  # whether the model is written for prediction alone
        self.failed = False  # to write the model where it was wanted
        self.kept = time.perf_counter()
        again = session.origin is not None and session.origin[0] == str(path)
        self.written = 0 if again else None  # bytes of predictions by then, if there is a model at the path

    def checkpoint(self, *_: object) -> None:
        """Write the model if that was long ago. A failure can wait for the end."""
        if self.path is None or time.perf_counter() - self.kept < self.every:
            return
        if not self.session.run.rounds or self.session.lacks_positive:  # all may yet be refused
            return
        try:
            self._save()
        except StoreError as error:
            print(f"lowregret: no checkpoint: {error}", file=sys.stderr)
        self.kept = time.perf_counter()

    def _save(self) -> None:
        assert self.path is not None
        self._model.save(self.path)
        self.written = self.scores.end

    @property
    def _model(self) -> Served:
        return self.session.predictor() if self.predict_only else self.session

    def finish(self) -> str | None:
        """Write the model; returns where it is, if it is anywhere.

        If it is nowhere, predictions are cut back to where those of the model begin that was written last.
        """
        if self.path is None or not self.session.run.rounds:
            return None
        try:
            return self._save_somewhere()
        except BaseException:
            self._cut_back()
            raise

    def _cut_back(self) -> None:
        if self.written is not None:
            self.scores.cut_back(self.written)

    def _save_somewhere(self) -> str | None:
        assert self.path is not None
        found = save_somewhere(self._model, self.path)
        self.failed = found != str(self.path)
        if found is None:
            self._cut_back()
        elif not self.failed:
            self.written = self.scores.end
        return found


def save_somewhere(model: Served, path: Watched) -> str | None:
    """Write a model to its path or else to another, and say so; returns where it can be loaded from, if anywhere."""
    try:
        model.save(path)
    except CheckError as error:
        place, told = _put_elsewhere(model.save_draft, path, _free_names(f"{path}.draft"))
        kept = told if place is None else f"what was learnt is kept in {place}, for a version without it to load"
        print(f"lowregret: {error}; this is a fault of lowregret, please report it; {kept}", file=sys.stderr)
        return None
    except StoreError as error:
        place, told = _put_elsewhere(model.save, path, _free_names(f"{path}") if path.is_anothers else ())
        print(f"lowregret: {error}; {told if place is None else f'the model is kept in {place}'}", file=sys.stderr)
        return place
    return str(path)


def _put_elsewhere(save: Callable[[Watched], object], path: Watched, beside: Iterable[str]) -> tuple[str | None, str]:
    """Write beside a path, if names are given, or else to a new folder; returns where, or None and why it is lost."""
    for name in itertools.islice(beside, 1):
        with suppress(StoreError):
            save(Watched(name))
            return name, ""
    folder = None
    try:
        folder = tempfile.mkdtemp(prefix="lowregret-")
        save(elsewhere := Watched(os.path.join(folder, os.path.basename(path.path))))
    except OSError as error:
        if folder is not None:
            os.rmdir(folder)
        return None, f"the model is lost, as it cannot be written elsewhere either: {error.strerror or error}"
    return elsewhere.path, ""


def _free_names(path: str) -> Iterator[str]:
    """Paths like this one at which there is no file: m.lr, m.lr.2, m.lr.3, …"""
    names = itertools.chain([path], (f"{path}.{number}" for number in itertools.count(2)))
    return (name for name in names if not os.path.lexists(name))
