"""Forecasts that come with names: tables and rounds whose columns are found by what they are called, not by order."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from lowregret.errors import DataError
from lowregret.learner.validate import real_numbers

FEW = 8  # names that an error lists


def unnamed(count: int) -> list[str]:
    """The names of experts that were given none."""
    return [f"expert {i}" for i in range(count)]


def column_names(forecasts: Any) -> list[Any] | None:
    """The names of the columns of a table, or of the entries of one round; None if they have only an order.

    Tables are dicts, frames of pandas and polars, and Arrow tables; rounds are dicts and pandas series.
    """
    if isinstance(forecasts, Mapping):
        return list(forecasts)
    if isinstance(forecasts, np.ndarray):
        return None
    for attribute in ("column_names", "columns"):
        found = getattr(forecasts, attribute, None)
        if found is not None and not callable(found):
            return list(found)
    index = getattr(forecasts, "index", None)
    if index is not None and not callable(index) and all(isinstance(name, str) for name in index):
        return list(index)
    return None


def by_name(forecasts: Any, names: Sequence[str], axis: int) -> Any:
    """Forecasts whose experts stand along an axis in the order of `names`, wherever their columns were: O(TN).

    What has no names is taken in its order, and so is a table given to experts that were given none. Columns of no
    expert are not looked at. An expert that sleeps must say so, by NaN, for a column may be missing by mistake.
    """
    found = column_names(forecasts)
    if found is None:
        return forecasts
    known = set(found)
    if not isinstance(forecasts, Mapping) and list(names) == unnamed(len(names)) and not known.intersection(names):
        return forecasts
    missing = [name for name in names if name not in known]
    if missing:
        raise DataError(
            f"there are no forecasts of {_some(missing)}: the columns are called {_some(found)}. Name them after the "
            "experts, fill a column with NaN if its expert sleeps, or give an array to have them taken in order"
        )
    count = Counter(found)
    twice = [name for name in names if count[name] > 1]
    if twice:
        raise DataError(f"two columns are called {twice[0]!r}: rename one")
    columns = [_cells(forecasts[name], name) for name in names]
    odd = [name for name, column in zip(names, columns, strict=True) if column.shape != columns[0].shape]
    if odd or columns[0].ndim < axis:
        raise DataError(f"the forecasts of {(odd or names)[0]!r} are not one a round, as many as those of {names[0]!r}")
    return np.stack(columns, axis=axis)


def _cells(column: Any, name: str) -> Any:
    """The forecasts of one expert, NaN where there is none."""
    kind = getattr(column, "dtype", None)
    if hasattr(kind, "na_value") and getattr(kind, "kind", "") in tuple("biuf"):  # pandas' own numbers
        column = column.to_numpy(np.float64, na_value=math.nan)
    column = math.nan if column is None else column
    return real_numbers(column, f"the forecasts of {name!r}").reshape(np.shape(column))


def _some(names: Sequence[Any]) -> str:
    """The first few names."""
    shown = ", ".join(map(repr, names[:FEW]))
    return shown if len(names) <= FEW else f"{shown} and {len(names) - FEW} more"
