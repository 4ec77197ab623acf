"""What few lines of JSON hold, in plain Python: texts by the names of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any


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
    found: dict[str, list[str]] = {}
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            continue
        for name, text in _leaves("", row):
            found.setdefault(name, []).append(text)
    return found


def _leaves(name: str, value: Any) -> Iterator[tuple[str, str]]:
    """The texts within a value, with their columns."""
    if isinstance(value, str):
        yield from [(name, value)] if value else []
    elif isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(f"{name}.{key}" if name else str(key), inner)
