"""The contents of a few lines of JSON in plain Python, by the names of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lowregret.stream.names import spelling
from lowregret.words import writable


def text_at(line: str, name: str) -> str:
    """The text in the column `name` of a line; the last one, if there are several."""
    *_, text = (value for found, value in _leaves(None, _read(line)) if found == name and isinstance(value, str))
    return writable(text)


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
            row = _read(line)
        except (ValueError, RecursionError):
            continue
        for name, value in _leaves(None, row):
            found.setdefault(name, []).append(value)
    return found


def _read(line: str) -> Any:
    """The value in a line, an object as a tuple of pairs, for a name may come twice; the first line may have a mark."""
    return json.loads(line.removeprefix("\ufeff"), object_pairs_hook=tuple)


def _leaves(name: str | None, value: Any) -> Iterator[tuple[str, Any]]:
    """The numbers and texts within a value, with their columns; that of the whole line has no name."""
    if isinstance(value, str | int | float):
        yield from [(name or "", value)] if value != "" else []
    elif isinstance(value, tuple | list):
        for key, inner in value if isinstance(value, tuple) else enumerate(value):
            yield from _leaves(str(key) if name is None else f"{name}.{key}", inner)
