"""The contents of a few lines of JSON in plain Python, by the names of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lowregret.stream.names import spelling


def text_at(found: Any, name: str) -> str:
    """The text in the column `name` of a JSON object, by the names of the objects and arrays around it."""
    if isinstance(found, list):
        found = {str(place): value for place, value in enumerate(found)}
    if name in found:
        return str(found[name])
    around = next(key for key, value in found.items() if name.startswith(f"{key}.") and isinstance(value, dict | list))
    return text_at(found[around], name[len(around) + 1 :])


def texts_in(lines: Iterable[str]) -> dict[str, list[str]]:
    """The texts in each column; lines that are no JSON have none."""
    found = ((name, [v for v in values if isinstance(v, str)]) for name, values in _columns(lines).items())
    return {name: texts for name, texts in found if texts}


def spelt_in(lines: Iterable[str]) -> dict[str, str]:
    """The kind of values that each column holds, where that is clear."""
    found = {name: [isinstance(v, str) for v in values] for name, values in _columns(lines).items()}
    told = ((name, spelling(named.count(False), named.count(True))) for name, named in found.items())
    return {name: what for name, what in told if what is not None}


def _columns(lines: Iterable[str]) -> dict[str, list[Any]]:
    """The numbers and texts in each column."""
    found: dict[str, list[Any]] = {}
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for name, value in _leaves("", row):
            found.setdefault(name, []).append(value)
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and texts within a value, with their columns."""
    if isinstance(value, str | int | float):
        yield from [(name, value)] if value != "" else []
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}.{key}" if name else str(key), inner)
