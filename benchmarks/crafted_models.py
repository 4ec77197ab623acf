"""Changes of model files as somebody would make them who knows the format: what is changed still fits the rest.

Sizes are changed wherever they occur, in arrays and in the description; whole numbers become others that occur, or the
next ones; parts become parts of other kinds, with parameters that make no sense; names come twice.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.spec import to_json
from lowregret.errors import LowRegretError

EDGES = (0, 1, -1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**48, 2**53, 2**62, 2**63 - 1)
FLOATS = (0.0, -0.0, 5e-324, -5e-324, 1e308, -1e308, math.inf, math.nan, 0.5, -1.0, 2.0**31, 2.0**53, 2.0**63, 1e18)
PARAMETERS = (0, -1, 1, -0.0, 5e-324, 1e300, 10**9, 2**40, 2**63, 10**30, 1.0000001, math.inf, -math.inf, True)
KINDS = ("float64", "int64", "float32", "object", "complex128", "U3", ">f8", "M8[s]", "(3,)f8")
LISTS: tuple[Any, ...] = ([], [1.0], [1.0] * 4, [[1.0] * 3] * 3, [1e308] * 3, 0.0, [1.0] * 1027, None, ["a"] * 3)
NAMES: tuple[Any, ...] = ("", "new\0", "-1", "\ud800", 3, True, "a\nb", 10**20, -5)

Path = tuple[Any, ...]
Told = dict[str, Any]
Arrays = dict[str, Any]


def places(value: Any, fits: Callable[[Any], bool], path: Path = ()) -> Iterator[Path]:
    """Where something stands in a description that fits; the names of slots aside, which are many."""
    if path and fits(value):
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        if (*path, key) != ("slots",):
            yield from places(item, fits, (*path, key))


def at(told: Any, path: Path) -> Any:
    for key in path:
        told = told[key]
    return told


def put(told: Any, path: Path, value: Any) -> None:
    at(told, path[:-1])[path[-1]] = copy.deepcopy(value)


def is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def is_part(value: Any) -> bool:
    return isinstance(value, dict) and "part" in value


@cache
def parts() -> tuple[Told, ...]:
    """The descriptions of all parts of the package: those made without parameters whole, the others by name.

    A process may have parts of others, which do as they like; what is drawn must not depend on them.
    """
    found: list[Told] = []
    for name, kind in Part.registry.items():
        if not kind.__module__.startswith("lowregret."):
            continue
        try:
            found.append(to_json(kind()))
        except (LowRegretError, TypeError, ValueError, AttributeError, NotImplementedError):
            found.append({"part": name})
    return tuple(found)


def edges(told: Told, arrays: Arrays) -> list[int]:
    """Whole numbers that occur in a file, as sizes too, and those beside them."""
    sizes = [size for array in arrays.values() for size in array.shape]
    known = {*sizes, *(at(told, path) for path in places(told, is_whole))}
    return sorted({*EDGES, *(number + step for number in known for step in (-1, 0, 1))})


# ---- changes --------------------------------------------------------------------------------------------------------


def resize(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Change a size wherever it occurs, or in some of these places."""
    sizes = sorted({size for array in arrays.values() for size in array.shape})
    if not sizes:
        return
    old, share = rng.choice(sizes), rng.choice((1.0, 1.0, 0.5))
    new = max(rng.choice((0, 1, 2, old - 1, old + 1, 2 * old, old + 8, 1024)), 0)
    for name, array in arrays.items():
        for axis, size in enumerate(array.shape):
            if size == old and rng.random() < share:
                shape = (*array.shape[:axis], new, *array.shape[axis + 1 :])
                arrays[name] = np.take(array, np.arange(new) % old, axis) if old else np.zeros(shape, array.dtype)
                array = arrays[name]
    for path in places(told, lambda value: is_whole(value) and value == old):
        if rng.random() < 0.8:
            put(told, path, new)


def renumber(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Let some numbers of an array be others, at the edge of something."""
    known = [name for name, array in arrays.items() if array.size]
    if not known:
        return
    name = rng.choice(known)
    array = arrays[name] = arrays[name].copy()
    numbers, kind, others = array.reshape(-1), array.dtype, edges(told, arrays)
    for _ in range(rng.choice((1, 1, 2, array.size))):
        if kind.kind == "f":
            value: Any = rng.choice((*FLOATS, float(rng.choice(others))))
        elif kind.kind == "b":
            value = rng.random() < 0.5
        else:
            value = min(max(rng.choice(others), int(np.iinfo(kind).min)), int(np.iinfo(kind).max))
        with np.errstate(over="ignore"):
            numbers[rng.randrange(array.size)] = value


def recount(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Let a whole number of the description be another, at the edge of something."""
    found = list(places(told, is_whole))
    if found:
        put(told, rng.choice(found), rng.choice(edges(told, arrays)))


def replace_part(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Let a part be any other."""
    found = list(places(told, is_part))
    if found:
        put(told, rng.choice(found), rng.choice(parts()))


def misuse_part(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Give a part a parameter that makes no sense: a number, or an array of another kind or length."""
    found = list(places(told, is_part))
    if found:
        inner = at(told, rng.choice(found))
        name = rng.choice(list(inner))
        if name != "part":
            array = {"array": rng.choice(LISTS), "dtype": rng.choice(KINDS)}
            inner[name] = copy.deepcopy(array if rng.random() < 0.3 else rng.choice(PARAMETERS))


def rename(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Let an item of a list come twice, not at all, or be another."""
    found = list(places(told, lambda value: isinstance(value, list) and bool(value)))
    if found:
        items = at(told, rng.choice(found))
        place = rng.randrange(len(items))
        match rng.randrange(4):
            case 0:
                items[place] = copy.deepcopy(items[0])
            case 1:
                items.append(copy.deepcopy(items[place]))
            case 2:
                del items[place]
            case _:
                items[place] = rng.choice(NAMES)


def drop(rng: random.Random, told: Told, arrays: Arrays) -> None:
    """Leave out an inner field, which other fields may rely on."""
    found = [path for path in places(told, lambda value: True) if len(path) > 1 and isinstance(path[-1], str)]
    if found:
        path = rng.choice(found)
        del at(told, path[:-1])[path[-1]]


CHANGES = (resize, resize, renumber, renumber, recount, replace_part, misuse_part, rename, drop)


def crafted(rng: random.Random, told: Told, arrays: Arrays) -> tuple[Told, Arrays]:
    """A description and arrays, changed in one way or two."""
    told, arrays = copy.deepcopy(told), dict(arrays)
    for _ in range(rng.choice((1, 1, 2))):
        rng.choice(CHANGES)(rng, told, arrays)
    return told, arrays
