"""Predictors: the model that a run keeps, for prediction alone, in a small file.

    predictor = run.predictor()
    predictor.save("model.lr")
    lowregret.load("model.lr").predict(X)

It predicts as the run does, and tells how good the kept model was (`kept`). It cannot learn, and proves nothing, for
the sums that proofs follow from are gone: the certificate is the run's. See `models.py` for what is rounded.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Self

from lowregret.compile.spec import from_json, to_json
from lowregret.learner.labels import ClassNames
from lowregret.risk.kept_trial import Trial
from lowregret.run.expansion import Expansion, stored_expansion
from lowregret.run.models import FixedModel, model_for
from lowregret.run.schema_predictor import PredictorSchema
from lowregret.run.scoring import Scoring
from lowregret.store.file import Arrays
from lowregret.stream.places import Places
from lowregret.words import counted, percent


class Predictor(Scoring):
    """The model that a run kept, for prediction alone: it scores rows as the run did, and learns nothing.

    Its certificate is the run's: nothing here could prove one. If `auto` has learnt many features, weights are rounded.
    """

    kind = "predictor"
    schema = PredictorSchema()

    def __init__(
        self,
        learner: Any,
        model: FixedModel,
        rounds: int,
        trial: Trial,
        *,
        room: int,
        seen: int | None = None,
        places: Places | None = None,
        classes: ClassNames | None = None,
        expansion: Expansion | None = None,
        compiled: bool = True,
    ) -> None:
        self.learner, self._kept_model, self._rounds, self.trial = learner, model, rounds, trial
        self.seen, self.places, self._room = seen, places, room
        self.classes, self.expansion, self.compiled = classes, expansion, compiled

    @classmethod
    def of_run(cls, run: Scoring) -> Self:
        """The predictor that a run would leave now; it shares no memory with the run."""
        room = _room(run._met, run.seen)
        return cls(
            run.learner,
            run._model.compact(run._met, room),
            run.rounds,
            Trial() if run.kept is None else Trial(run.trial.records.copy(), run.trial.ended),
            room=room,
            seen=run.seen,
            places=None if run.places is None else Places(run.places.columns),
            classes=None if run.classes is None else ClassNames(run.classes.names),
            expansion=None if run.expansion is None else run.expansion.frozen(),
            compiled=run.compiled,
        )

    @property
    def rounds(self) -> int:
        return self._rounds

    @property
    def _model(self) -> FixedModel:
        return self._kept_model

    @property
    def _places(self) -> int:
        return self._room

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description = {
            "learner": to_json(self.learner),
            "compiled": self.compiled,
            "seen": self.seen,
            "classes": None if self.classes is None else self.classes.names,
            "rounds": self.rounds,
            "ended": self.trial.ended,
        }
        arrays = self._model.arrays(self._met) | {"trial": self.trial.records}
        if self.expansion is not None:
            told, kept = self.expansion.contents(self)
            description, arrays = description | told, arrays | kept
        return description, arrays if self.places is None else arrays | {"columns": self.places.columns}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        learner, seen, names = from_json(description["learner"]), description["seen"], description["classes"]
        expand = description.get("expand")
        room = _room(len(arrays["measures" if "measures" in arrays else "weights"]), seen)
        return cls(
            learner,
            model_for(learner).of(learner, len(names or ()), arrays, room),
            description["rounds"],
            Trial(arrays["trial"], description["ended"]),
            room=room,
            seen=seen,
            places=None if seen is None else Places(arrays["columns"]),
            classes=None if names is None else ClassNames(names),
            expansion=None if expand is None else stored_expansion(expand, arrays),
            compiled=description["compiled"],
        )

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _of(self) -> str:
        return type(self.learner).__name__

    def _facts(self) -> Iterator[str]:
        yield f"{counted(self.rounds, 'round')} learnt"
        kept = self.kept
        if kept is not None:
            error = "" if kept.error is None else f", error {percent(kept.error)}"
            when = " in its first pass" if kept.repeated else ""
            yield f"{type(self.learner.loss).__name__} loss {kept.loss:.4g}{error} of the kept model{when}"


def _room(met: int, seen: int | None) -> int:
    """The number of places; a feature that was never learnt reads the last, empty one, where features are not fixed."""
    return met if seen is None else met + 1
