"""Runs in pickles, such as those of scikit-learn's estimators: pickled as the contents of their files."""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.turns import turns_of
from lowregret.run.base import RowRun
from lowregret.store.file import Arrays


class Packed(NamedTuple):
    """A run as the contents of the file that it would save."""

    kind: type[RowRun]
    description: dict[str, Any]
    arrays: Arrays


def packed(value: Any) -> Any:
    """The `Packed` form of a run, which stands for it in a pickle; any other value unchanged."""
    if not isinstance(value, RowRun):
        return value
    with turns_of(value):
        return Packed(type(value), *copy.deepcopy(value.to_file()))  # it is read when the turn is over


def unpacked(value: Any, path: str) -> Any:
    """The run that `packed` packed, its arrays copied: those that joblib reads from `path` are read-only."""
    if not isinstance(value, Packed):
        return value
    arrays = {name: np.array(array) for name, array in value.arrays.items()}
    return value.kind.from_file(path, value.description, arrays)
