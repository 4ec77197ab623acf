"""A file's description and arrays, each looked at before it is believed: types, shapes, ranges."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

import numpy as np

from lowregret.compile.spec import from_json
from lowregret.errors import StoreError
from lowregret.store.file import Arrays

Record = TypeVar("Record", bound=NamedTuple)
MOST = 1 << 62  # of a count


@dataclass(frozen=True)
class Contents:
    """What was found at `path`. Whatever is missing raises a KeyError, whatever does not fit a `StoreError`."""

    path: str | os.PathLike[str]
    description: dict[str, Any]
    arrays: Arrays

    def array(self, name: str, *shape: int | None, like: Any = np.float64) -> Any:
        """An array of this type and shape; None stands for any length."""
        found, fits = self.arrays[name], len(self.arrays[name].shape) == len(shape)
        fits = fits and all(n in (None, m) for n, m in zip(shape, found.shape, strict=True))
        if not fits or found.dtype != np.dtype(like):
            wanted = " × ".join("any" if n is None else str(n) for n in shape)
            raise self.refusal(f"{name} is {found.dtype} of shape {found.shape}, expected {np.dtype(like)}, {wanted}")
        return found

    def record(self, fresh: Record) -> Record:
        """Arrays of the names, shapes and types of those in `fresh`."""
        arrays = fresh._asdict().items()
        return type(fresh)(*(self.array(name, *array.shape, like=array.dtype) for name, array in arrays))

    def indices(self, name: str, count: int | None, end: int) -> Any:
        """An array of whole numbers from 0 to before `end`."""
        found = self.array(name, count, like=np.int64)
        if np.any((found < 0) | (found >= end)):
            raise self.refusal(f"{name} goes from {found.min()} to {found.max()}, expected 0 to {end - 1}")
        return found

    def count(self, name: str, low: int = 0) -> int:
        """A whole number of the description, at least `low`."""
        found = self.description[name]
        if type(found) is not int or not low <= found < MOST:
            raise self.refusal(f"{name} is {str(found)[:80]}, expected a whole number from {low} on")
        return found

    def number(self, name: str) -> float:
        """A finite number of the description."""
        found = self.description[name]
        if type(found) not in (int, float) or not np.isfinite(found):
            raise self.refusal(f"{name} is {str(found)[:80]}, expected a number")
        return float(found)

    def flag(self, name: str) -> bool:
        """Yes or no."""
        found = self.description[name]
        if type(found) is not bool:
            raise self.refusal(f"{name} is {str(found)[:80]}, expected true or false")
        return found

    def words(self, name: str, count: int | None = None) -> list[str]:
        """A list of texts."""
        found = self.description[name]
        if not isinstance(found, list) or not all(isinstance(word, str) for word in found):
            raise self.refusal(f"{name} is {str(found)[:80]}, expected a list of texts")
        if count not in (None, len(found)):
            raise self.refusal(f"there are {len(found)} {name}, expected {count}")
        return found

    def part(self, name: str, kind: type[Any]) -> Any:
        """A part of the description, of the kind that it must be."""
        found = from_json(self.description[name])
        if not isinstance(found, kind):
            raise self.refusal(f"{name} is a {type(found).__name__}, which is no {kind.__name__}")
        return found

    def inner(self, name: str) -> Contents:
        """The contents of a run inside the run: `prefixed` wrote its arrays."""
        begin = f"{name}."
        arrays = {key.removeprefix(begin): array for key, array in self.arrays.items() if key.startswith(begin)}
        return Contents(self.path, self.description[name], arrays)

    def refusal(self, why: str) -> StoreError:
        """The error that says what is wrong with the file."""
        return StoreError(f"{self.path} cannot be read: {why}; restore it from a backup or train again")


def prefixed(name: str, arrays: Arrays) -> Arrays:
    """The arrays of a run inside a run."""
    return {f"{name}.{key}": array for key, array in arrays.items()}
