"""A model that scores rows from files: what predicts, how its rows are read, and the names that it met in training."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lowregret.compile.part import Part
from lowregret.compile.spec import from_json, to_json
from lowregret.errors import StoreError
from lowregret.run.confusion import Confusion
from lowregret.run.judge import Judged
from lowregret.run.metrics import SIGNS, Metrics
from lowregret.run.predictor import Predictor
from lowregret.run.scoring import Scoring
from lowregret.store import file as store
from lowregret.stream.names import Met
from lowregret.stream.read import know_formats, positive_name


@dataclass
class Served:
    """A run or a predictor, and the format that its rows are read in."""

    run: Scoring
    form: Part  # how rows are read
    algorithm: str
    unwritten: str = ""  # lines of predictions that found no room in their file
    met: Met = field(default_factory=Met)  # names of labels and columns
    origin: tuple[str, Met] | None = None  # the file that it was loaded from, and what was met by then

    @property
    def signs(self) -> tuple[str, str] | None:
        """The names of +1 and −1, if one of the labels was named as the positive one."""
        positive = positive_name(self.form)
        if positive is None:
            return None
        return positive, self.met.labels[0] if len(self.met.labels) == 1 else f"not {positive}"

    def judged(self, metrics: Judged) -> dict[str, Any]:
        """The public form of figures on predictions."""
        if isinstance(metrics, Confusion):
            assert self.run.classes is not None
            metrics.make_room(len(self.run.classes))
            return metrics.to_json(self.run.classes.names)
        assert isinstance(metrics, Metrics)
        return metrics.to_json(self.signs or SIGNS)

    # ---- files -------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it into one file, which `lowregret.load` reads as a run or a predictor.

        What could not be read again is not written, so that no good file makes way for it.
        """
        schema = self.run.schema
        store.write_checked(path, self.run.kind, schema, *schema.named(*self.contents()))

    def save_draft(self, path: str | os.PathLike[str]) -> None:
        """Write what fails its own check, so that what was learnt is not lost; `load` goes on to refuse it."""
        store.write(path, self.run.kind, *self.run.schema.named(*self.contents()))

    def contents(self) -> tuple[dict[str, Any], store.Arrays]:
        """Everything that a file keeps of it: the `contents` of the run, and the rest beside."""
        description, arrays = self.run.contents()
        met = {"labels": self.met.labels, "columns": list(self.met.columns), "spelt": self.met.spelling}
        description["session"] = {"form": to_json(self.form), "algorithm": self.algorithm} | met
        return description, arrays

    def remember(self, path: str | os.PathLike[str], told: dict[str, Any]) -> None:
        """Take up the names that it had met when it was written to `path`."""
        known = Met(list(told["labels"]), {str(path): tuple(told["columns"])}, spelt={str(path): told["spelt"]})
        self.met, self.origin = copy.deepcopy(known), (str(path), known)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Served:
        """Read a predictor written by `save`."""
        predictor, told, _ = read_served(path, {Predictor.kind: Predictor})
        found = Served(predictor, from_json(told["form"]), told["algorithm"])
        found.remember(path, told)
        return found


def read_served(
    path: str | os.PathLike[str], kinds: Mapping[str, type[Scoring]]
) -> tuple[Any, dict[str, Any], store.Arrays]:
    """A run or predictor of one of these kinds, what was saved beside it, and all arrays of the file."""
    kind = store.kind_of(path)
    if kind not in kinds:
        raise StoreError(f"{path} holds a {kind}, not a run from files: open it in Python, lowregret.load({path!r})")
    description, arrays = store.read(path, kind)
    if "session" not in description:
        raise StoreError(f"{path} was saved in Python, which does not say how to read rows: train it from files")
    know_formats()
    description, arrays = kinds[kind].schema.checked(path, description, arrays)
    return kinds[kind].from_checked(path, description, arrays), description["session"], arrays
