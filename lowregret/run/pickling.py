"""Runs in pickles, such as those of scikit-learn's estimators: they travel as what they would save."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from lowregret.run.base import RowRun
from lowregret.store.file import Arrays


class Packed(NamedTuple):
    """A run as what it would save."""

    kind: type[RowRun]
    description: dict[str, Any]
    arrays: Arrays


def packed(value: Any) -> Any:
    """What travels in a pickle instead of a run; anything else as it is."""
    return Packed(type(value), *value.to_file()) if isinstance(value, RowRun) else value


def unpacked(value: Any, path: str) -> Any:
    """The run again, with arrays of its own: those that joblib reads from `path` cannot be written to."""
    if not isinstance(value, Packed):
        return value
    arrays = {name: np.array(array) for name, array in value.arrays.items()}
    return value.kind.from_file(path, value.description, arrays)
