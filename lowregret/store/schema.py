"""Schemas: the fields and arrays that a kind of file must hold, checked before anything is made of them.

    class Dots(Schema):
        def fields(self):
            return {"colours": whole(1)}

        def slots(self, present):
            return {"sums": ("total", "largest")}

        def arrays(self, told, present):
            return {"sums": floats(2), "dots": floats("dots", 2), "colour": wholes("dots", high=told["colours"] - 1)}

Fields are those of the description. A size is a number, or a name that stands for one number wherever it occurs. The
last axis of an array with `slots` is stored by name, in any order. A kernel that leaves an array ends
the run, so whatever it uses as an index, a size or a number of rounds must be settled here.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.spec import from_json
from lowregret.errors import DataError, PartError, StoreError
from lowregret.words import writable

MOST = 1 << 48  # rounds, rows and whatever else is counted
LARGEST = float(np.finfo(np.float64).max)
SHOWN = 80  # characters of what was found
LEVELS = 64  # of lists and objects in each other: what goes down them calls itself

Arrays = dict[str, "np.ndarray[Any, Any]"]
Told = dict[str, Any]  # the description, its parts made
Path = str | os.PathLike[str]


def is_shallow(value: Any, levels: int = LEVELS) -> bool:
    """Whether lists and objects from JSON are in each other on so few levels that all can be gone through."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return levels > 0 and all(is_shallow(each, levels - 1) for each in inner if isinstance(each, dict | list))


# ---- fields of the description --------------------------------------------------------------------------------------


class Field(NamedTuple):
    """A field of a description: the values accepted, in words and as a test, and the object made of a value."""

    wanted: str
    accepts: Callable[[Any], bool]
    made: Callable[[Any], Any] = lambda value: value
    needed: bool = True  # whether it is in every file


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


FLAG = Field("true or false", lambda value: isinstance(value, bool))
NUMBER = Field("a number", lambda value: isinstance(value, float) or (_is_whole(value) and abs(value) <= MOST))
TEXT = Field("a text", lambda value: isinstance(value, str) and value == writable(value))


def whole(low: int = 0, high: int = MOST) -> Field:
    """A whole number in a range, both ends included."""
    return Field(f"a whole number from {low} to {high}", lambda value: _is_whole(value) and low <= value <= high)


def number(low: float = -LARGEST, high: float = LARGEST) -> Field:
    """A number in a range, both ends included."""
    wanted = f"a number from {low:g} to {high:g}"
    return Field(wanted, lambda value: (_is_whole(value) or isinstance(value, float)) and low <= value <= high)


def maybe(field: Field) -> Field:
    """A field that holds nothing, or a value that the given field accepts."""
    wanted, accepts, made, _ = field
    return Field(
        f"nothing or {wanted}",
        lambda value: value is None or accepts(value),
        lambda value: None if value is None else made(value),
    )


def items(field: Field, least: int = 0, most: float = math.inf) -> Field:
    """A list of `least` to `most` items, each of which the given field accepts."""
    wanted, accepts, made, _ = field
    return Field(
        f"a list of {f'at least {least}' if most == math.inf else f'{least} to {most}'}, each {wanted}",
        lambda value: isinstance(value, list) and least <= len(value) <= most and all(map(accepts, value)),
        lambda value: [made(item) for item in value],
    )


def table(keys: Field, values: Field) -> Field:
    """A JSON object of any size whose keys and values the given fields accept."""
    return Field(
        f"an object, each key {keys.wanted}, each value {values.wanted}",
        lambda value: isinstance(value, dict) and all(keys.accepts(k) and values.accepts(v) for k, v in value.items()),
        lambda value: {key: values.made(inner) for key, inner in value.items()},
    )


def part(*kinds: type) -> Field:
    """The JSON form of a part of one of these kinds."""
    names = " or ".join(kind.__name__ for kind in kinds)

    def made(spec: Any) -> Part:
        found = from_json(spec)
        if not isinstance(found, kinds):
            raise StoreError(f"is a {type(found).__name__}, expected a {names}")
        return found

    return Field(f"the description of a {names}", lambda value: isinstance(value, dict), made)


def record(fields: Mapping[str, Field]) -> Field:
    """A JSON object with these fields and no others."""

    def made(value: Told) -> Told:
        return _told(fields, value)

    return Field(f"an object with {', '.join(fields)}", lambda value: isinstance(value, dict), made)


# ---- arrays ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """An array's type, its sizes, and the range of its numbers, both ends included; None: any number, also NaN."""

    kind: str
    shape: tuple[int | str, ...]
    low: float | None = None
    high: float | None = None

    def fault(self, array: Any, sizes: dict[str, int]) -> str | None:
        """The fault of an array, in words, if it has one; the first array with a named size settles it in `sizes`."""
        if not isinstance(array, np.ndarray) or array.dtype.name != self.kind:
            return f"holds {getattr(array, 'dtype', type(array).__name__)}, expected {self.kind}"
        if array.ndim == len(self.shape):
            for size, found in zip(self.shape, array.shape, strict=True):
                if isinstance(size, str):
                    sizes.setdefault(size, found)
        wanted = tuple(sizes.get(size, 0) if isinstance(size, str) else size for size in self.shape)
        if array.shape != wanted:
            return f"has shape {array.shape}, expected {wanted}"
        if self.low is not None and self.high is not None and array.size:
            low, high = array.min().item(), array.max().item()  # NaN if one is
            if not (low >= self.low and high <= self.high):
                return f"has numbers from {low} to {high}, expected from {self.low:g} to {self.high:g}"
        return None


def floats(*shape: int | str, low: float = -LARGEST, high: float = LARGEST, kind: str = "float64") -> Array:
    """An array of finite numbers in a range."""
    return Array(kind, shape, max(low, -LARGEST), min(high, LARGEST))


def extended(*shape: int | str, low: float = -math.inf, high: float = math.inf) -> Array:
    """An array of finite or infinite numbers in a range."""
    return Array("float64", shape, low, high)


def anything(*shape: int | str) -> Array:
    """An array of any floating-point numbers, NaN included."""
    return Array("float64", shape)


def wholes(*shape: int | str, low: int = 0, high: int = MOST, kind: str = "int64") -> Array:
    """An array of whole numbers in a range."""
    return Array(kind, shape, low, high)


def flags(*shape: int | str) -> Array:
    """An array of truth values."""
    return Array("bool", shape)


# ---- a kind of file -------------------------------------------------------------------------------------------------


class Schema:
    """The base of schemas: a subclass declares the fields, slots and arrays of one kind of file."""

    def fields(self) -> dict[str, Field]:
        """The fields of the description."""
        return {}

    def slots(self, present: Collection[str]) -> Mapping[str, tuple[str, ...]]:
        """For arrays stored by name, the names along their last axis; not all of them need be `present`."""
        return {}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        """All arrays that a file with the description `told` must hold; `present` are the names of those it holds."""
        return {}

    def demands(self, told: Told, arrays: Arrays) -> Iterator[tuple[Any, str]]:
        """Further conditions on arrays that are as declared: pairs (whether it holds, the condition in words)."""
        yield from ()

    # ---- files -----------------------------------------------------------------------------------------------------

    def named(self, description: Told, arrays: Arrays) -> tuple[Told, Arrays]:
        """The description with the names of slots added, and the arrays, ready to be written."""
        slots = {name: list(names) for name, names in self.slots(arrays.keys()).items() if name in arrays}
        return description | {"slots": slots}, arrays

    def checked(self, path: Path, description: Told, arrays: Arrays) -> tuple[Told, Arrays]:
        """The inverse of `named`; raises a `StoreError` that names whatever does not fit the schema."""
        try:
            return self._checked(description, arrays)
        except StoreError as error:
            raise StoreError(f"{path} {error}") from error
        except (PartError, DataError) as error:
            raise StoreError(f"{path} holds what does not fit together: {error}") from error
        except MemoryError as error:  # of what is computed from arrays that do fit into it
            raise StoreError(f"{path} cannot be checked: it does not fit into memory") from error

    def _checked(self, description: Told, arrays: Arrays) -> tuple[Told, Arrays]:
        names = description.get("slots")
        plain = {name: value for name, value in description.items() if name != "slots"}
        _require("slots" in description, "lacks 'slots', which this version of lowregret needs: train again")
        told = _told(self.fields(), plain)
        arrays = arrays | _by_place(self.slots(arrays.keys()), names, arrays)
        declared, sizes = self.arrays(told, arrays.keys()), dict[str, int]()
        _require_all(declared, arrays)
        for name, array in declared.items():
            fault = array.fault(arrays[name], sizes)
            _require(fault is None, f"is damaged or was changed: array {name!r} {fault}")
        for holds, demand in self.demands(told, arrays):
            _require(bool(holds), f"is damaged or was changed: {demand} does not hold")
        return plain, arrays


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise StoreError(problem)


def _require_all(wanted: Collection[str], found: Collection[str]) -> None:
    for name in wanted:
        _require(name in found, f"lacks {name!r}, which this version of lowregret needs: train again")
    for name in found:
        _require(name in wanted, f"holds {str(name)[:SHOWN]!r}, which this version of lowregret does not know: upgrade")


def _told(fields: Mapping[str, Field], description: Told) -> Told:
    """The description with each value checked and turned into the object its field makes of it."""
    present = {name: field for name, field in fields.items() if field.needed or name in description}
    _require_all(present, description)
    told = {}
    for name, (wanted, accepts, made, _) in present.items():
        value = description[name]
        _require(accepts(value), f"is damaged or was changed: {name!r} is {str(value)[:SHOWN]}, expected {wanted}")
        try:
            told[name] = made(value)
        except StoreError as error:
            raise StoreError(f"cannot be read: {name!r} {error}") from error
    return told


def _by_place(slots: Mapping[str, tuple[str, ...]], names: Any, arrays: Arrays) -> Arrays:
    """Arrays that are stored by name, their last axis brought into the order of `slots`."""
    found = {}
    for name, wanted in slots.items():
        if name in arrays:
            array, known = arrays[name], names.get(name, ()) if isinstance(names, dict) else ()
            _require(items(TEXT).accepts(known), f"does not name the slots of array {name!r}")
            _require(len(set(known)) == len(known), f"names a slot of array {name!r} twice")
            _require_all([f"{name}: {slot}" for slot in wanted], [f"{name}: {slot}" for slot in known])
            fits = array.ndim > 0 and array.shape[-1] == len(known)
            _require(fits, f"has shape {array.shape} of array {name!r}, expected {len(known)} slots")
            same = known == list(wanted)
            found[name] = array if same else np.ascontiguousarray(array[..., [known.index(slot) for slot in wanted]])
    return found
