"""The contents of a few lines of JSON in plain Python, by the names of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from lowregret.stream.json_name import DEEPEST, LONGEST_NAME
from lowregret.stream.names import spelling
from lowregret.words import writable

ROOM = 32  # bytes of names for each byte of the lines that are looked at: a long name times a long array has no end


def text_at(line: str, name: str) -> str:
    """The text in the column `name` of a line; the last one, if there are several."""
    *_, text = (value for found, value in _values(_read(line)) if found == name and value and isinstance(value, str))
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
    """The numbers and texts in each column; of lines with very much longer names than text, in the first ones."""
    found: dict[str, list[Any]] = {}
    room = 0
    for line in lines:
        room += ROOM * len(line)
        try:
            for name, value in _values(_read(line)):
                room -= len(name)
                if room < 0:
                    return found
                if isinstance(value, str | int | float) and value != "":
                    found.setdefault(name, []).append(value)
        except (ValueError, RecursionError):
            continue
    return found


def _read(line: str) -> Any:
    """The value in a line, an object as a tuple of pairs, for a name may come twice; the first line may have a mark."""
    return json.loads(line.removeprefix("\ufeff"), object_pairs_hook=tuple)


def _values(value: Any, name: str = "", depth: int = 0) -> Iterator[tuple[str, Any]]:
    """A value and all within it, with their columns; that of the whole line has no name.

    Raises ValueError where compiled code refuses the line: beyond the longest name, or too deep.
    """
    yield name, value
    if not isinstance(value, tuple | list):
        return
    if depth == DEEPEST:
        raise ValueError(f"more than {DEEPEST} objects and arrays within each other")
    for key, inner in value if isinstance(value, tuple) else enumerate(value):
        full = f"{name}.{key}" if depth else str(key)
        if len(full) > LONGEST_NAME:
            raise ValueError(f"a name of more than {LONGEST_NAME} bytes")
        yield from _values(inner, full, depth + 1)
