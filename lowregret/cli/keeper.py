"""Writing the model of a training, now and then and in the end."""

from __future__ import annotations

import itertools
import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from lowregret.cli.scores import ScoreFile
from lowregret.errors import StoreError
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
        if self.predict_only:
            self.session.run.frozen = None  # the model on trial: what is written takes its memory
        try:
            return self._save_somewhere()
        except BaseException:
            self._cut_back()
            raise

    def _cut_back(self) -> None:
        if self.written is not None:
            self.scores.cut_back(self.written)

    def _save_somewhere(self) -> str | None:
        try:
            self._save()
        except StoreError as error:
            self.failed = True
            elsewhere = self._rescue()
            if elsewhere is None:
                self._cut_back()
            told = f"the model is kept in {elsewhere}" if elsewhere else "the model is lost, for nowhere else is room"
            print(f"lowregret: {error}; {told}", file=sys.stderr)
            return elsewhere
        return str(self.path)

    def _rescue(self) -> str | None:
        """Write the model beside the file of another process, or to a new folder; returns where it is, if anywhere."""
        assert self.path is not None
        if self.path.is_anothers:
            with suppress(StoreError):
                self._model.save(beside := _free_beside(self.path))
                return str(beside)
        try:
            elsewhere = Path(tempfile.mkdtemp(prefix="lowregret-")) / Path(self.path).name
            self._model.save(elsewhere)
        except OSError:
            return None
        return str(elsewhere)


def _free_beside(path: Watched) -> Watched:
    """A path like this one at which there is no file: m.lr.2, m.lr.3, …"""
    names = (f"{path}.{number}" for number in itertools.count(2))
    return next(Watched(name) for name in names if not os.path.lexists(name))
