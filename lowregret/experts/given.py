"""Forecasts and outcomes as they are brought to a panel, made into arrays, or refused with the reason."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError
from lowregret.experts.by_name import by_name, unnamed
from lowregret.learner.validate import real_numbers, require_room
from lowregret.types import Vector
from lowregret.words import counted

Matrix = NDArray[np.float64]


def given_names(experts: Any) -> list[str]:
    """The names of experts, or of as many as a whole number says."""
    if isinstance(experts, (int, np.integer)):
        require_room(int(experts), "names of experts")
        experts = unnamed(int(experts))
    if not isinstance(experts, Iterable):
        raise DataError(f"experts must be a whole number, or their names; got {experts!r}")
    if not (names := list(experts)):
        raise DataError("there are no experts")
    other = [name for name in names if not isinstance(name, str)]
    if other:
        raise DataError(f"names of experts are texts, got {other[0]!r}: give '{other[0]}', or only how many there are")
    if len(set(names)) < len(names):
        raise DataError(f"two experts are called {Counter(names).most_common(1)[0][0]!r}: give each a name of its own")
    return names


def given_forecasts(forecasts: Any, names: Sequence[str], parts: int, first: int) -> Matrix:
    """Forecasts of rounds from `first` on: a column for each expert, then one for each class if there are `parts`."""
    x = real_numbers(by_name(forecasts, names, 1), "forecasts")
    wanted = (len(names),) if parts == 1 else (len(names), parts)
    if x.shape[1:] != wanted:
        raise DataError(f"a round has forecasts of shape {x.shape[1:]}, expected {wanted}: experts, then classes")
    infinite = np.isinf(x)
    if infinite.any():
        t, i = np.argwhere(infinite)[0][:2].tolist()
        raise DataError(f"round {first + t}: the forecast of {names[i]} is infinite")
    return x


def given_round(forecasts: Any, names: Sequence[str]) -> Matrix:
    """Forecasts of one round as a table of their own: they wait for their outcome, whatever becomes of the given."""
    return np.array(real_numbers(by_name(forecasts, names, 0), "forecasts"))[None]


def given_outcomes(outcomes: Any, rounds: int) -> Vector:
    """Outcomes, one for each round."""
    y = real_numbers(outcomes, "outcomes")
    if y.shape != (rounds,):
        raise DataError(f"got {counted(rounds, 'round')} of forecasts, but outcomes of shape {y.shape}")
    return y


def as_classes(y: Vector, parts: int, first: int) -> Matrix:
    """The classes 0 … parts − 1 of rounds from `first` on as 0s and a 1 each; not a number where there is none."""
    wrong = np.flatnonzero(~(np.isnan(y) | np.isin(y, np.arange(parts))))
    if wrong.size:
        raise DataError(
            f"round {first + int(wrong[0])}: the outcome {y[wrong[0]]:g} is no class: "
            f"they are numbered 0 to {parts - 1}"
        )
    return np.where(np.isnan(y)[:, None], math.nan, (y[:, None] == np.arange(parts)).astype(float))


def stacked(rows: list[Matrix], *shape: int) -> Matrix:
    """Arrays of one round each as one array, also if there are none."""
    return np.concatenate(rows) if rows else np.empty((0, *shape))
