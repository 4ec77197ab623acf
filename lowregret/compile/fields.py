"""Fields of parts: the values that the annotation of a field allows.

Compiled code is made for the types of the fields, so that a value of another type costs a compilation, or fails in one.
Fields annotated as a number, a truth value or a text are settled whenever a part is made, all others also when it is
read from a file, whose author may have written anything. `Any` is left to the part's own `check`.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from functools import cache
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

LEAST, MOST = -(1 << 63), (1 << 64) - 1  # whole numbers that compiled code knows
SHOWN = 80  # characters of what was found


class Plain(NamedTuple):
    """A plain type of fields: its values in words, as a test, and as compiled code knows them."""

    wanted: str
    accepts: Callable[[Any], bool]
    made: Callable[[Any], Any]


PLAIN: dict[Any, Plain] = {
    float: Plain("a number", lambda value: isinstance(value, Real) and bool(value == value), float),
    int: Plain("a whole number of 64 bits", lambda value: _is_whole(value) and LEAST <= value <= MOST, int),
    bool: Plain("true or false", lambda value: isinstance(value, bool | np.bool_), bool),
    str: Plain("a text", lambda value: isinstance(value, str), str),
}


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


@cache
def plain_fields(cls: type) -> tuple[tuple[str, Plain], ...]:
    """The fields of a class that are annotated as a plain type, and these types."""
    named = {kind.__name__: plain for kind, plain in PLAIN.items()} | PLAIN
    fields = dataclasses.fields(cls)
    return tuple((field.name, named[field.type]) for field in fields if field.type in named)


def misfit(cls: type, values: dict[str, Any]) -> str | None:
    """The first of some values for fields of a class that its annotation does not allow, in words; None if all fit."""
    hints = _hints(cls)
    for name, value in values.items():
        if name in hints and not fits(value, hints[name]):
            wanted = PLAIN[hints[name]].wanted if hints[name] in PLAIN else _called(hints[name])
            return f"{name} must be {wanted}, got {repr(value)[:SHOWN]}"
    return None


def _called(hint: Any) -> str:
    return f"a {hint.__name__}" if isinstance(hint, type) and not typing.get_args(hint) else str(hint)


@cache
def _hints(cls: type) -> dict[str, Any]:
    """The annotations of the fields of a class, unless they name what type checkers alone know, as a user's may."""
    try:
        found = typing.get_type_hints(cls)
    except (NameError, TypeError, AttributeError):
        return {}
    return {field.name: found[field.name] for field in dataclasses.fields(cls)}


def fits(value: Any, hint: Any) -> bool:
    """Whether an annotation allows a value that was read from JSON, where lists become tuples."""
    inner, kind = typing.get_args(hint), typing.get_origin(hint) or hint
    if kind in PLAIN:
        return PLAIN[kind].accepts(value)
    if kind in (typing.Union, types.UnionType):
        return any(fits(value, each) for each in inner)
    if kind is tuple and inner:
        return isinstance(value, tuple) and _items_fit(value, inner)
    if kind is np.ndarray and inner:
        return isinstance(value, np.ndarray) and _holds(value.dtype, inner[-1])
    if kind is Any or not isinstance(kind, type) or getattr(kind, "_is_protocol", False):
        return True
    if issubclass(kind, np.generic):
        return _holds(np.asarray(value).dtype, kind)
    return isinstance(value, tuple if kind is list else kind)


def _items_fit(values: tuple[Any, ...], hints: tuple[Any, ...]) -> bool:
    if hints[-1] is Ellipsis:
        return all(fits(value, hints[0]) for value in values)
    return len(values) == len(hints) and all(map(fits, values, hints))


def _holds(found: np.dtype[Any], hint: Any) -> bool:
    """Whether numbers are of the kind that `np.dtype[…]`, or a type of NumPy's, says."""
    if typing.get_origin(hint) is np.dtype:
        (hint,) = typing.get_args(hint)
    kind = typing.get_origin(hint) or hint
    return kind is Any or not isinstance(kind, type) or bool(np.issubdtype(found, kind))
