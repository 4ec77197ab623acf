"""Parts as JSON and back: {"part": "Hinge", "margin": 1.0}. Parts that compile can be stored and configured, too."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.compile.fields import misfit
from lowregret.compile.part import Part, spec_name
from lowregret.errors import StoreError

_KINDS = {np.dtype(code).name for code in "?bBhHiIlLqQefd"}  # of arrays; others may stand for any amount of memory

# What making a part of the wrong numbers may raise.
_UNFIT = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError)


def to_json(part: Part) -> dict[str, Any]:
    """A JSON object that `from_json` turns into an equal part."""
    return {"part": spec_name(type(part))} | {name: _encode(part, name, v) for name, v in part.parameters.items()}


def _encode(part: Part, name: str, value: Any) -> Any:
    if isinstance(value, Part):
        return to_json(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.tolist(), "dtype": value.dtype.name}
    if isinstance(value, (tuple, list)):
        return [_encode(part, name, v) for v in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    raise StoreError(
        f"{type(part).__name__}.{name} = {value!r} cannot be written as JSON: a run with it can be played but not saved"
    )


def from_json(spec: dict[str, Any]) -> Part:
    """The part that a JSON object describes."""
    if not isinstance(spec, dict) or not isinstance(spec.get("part"), str):
        raise StoreError(f'not a part: expected an object with the key "part", got {str(spec)[:80]!r}')
    cls = Part.registry.get(spec["part"])
    if cls is None:
        raise StoreError(
            f"unknown part {spec['part']!r}: if it is your own, import the module that defines it before loading; "
            "if it belongs to a newer lowregret, upgrade"
        )
    try:
        values = {name: _decode(value) for name, value in spec.items() if name != "part"}
        fault = misfit(cls, values)
        if fault is not None:
            raise ValueError(fault)
        return cls(**values)
    except _UNFIT as error:
        raise StoreError(f"the stored {spec['part']} does not fit this version of it: {error}") from None


def _decode(value: Any) -> Any:
    if isinstance(value, dict):
        return _decode_array(**value) if "array" in value else from_json(value)
    if isinstance(value, list):
        return tuple(_decode(v) for v in value)
    return value


def _decode_array(array: Any, dtype: Any = None) -> Any:
    if dtype is not None and dtype not in _KINDS:
        raise ValueError(f"no array holds {str(dtype)[:80]}")
    return np.array(array, dtype)
