"""The one JSON object that `--json` prints: JSON as its standard has it, which knows neither NaN nor infinities."""

from __future__ import annotations

import json
import math
from typing import Any


def print_json(told: Any) -> None:
    """Print an object in one line; a number that is none, or without limit, is null."""
    print(json.dumps(_finite(told), ensure_ascii=False, allow_nan=False))


def _finite(told: Any) -> Any:
    """Put null for the numbers that JSON does not have, throughout an object."""
    if isinstance(told, float):
        return told if math.isfinite(told) else None
    if isinstance(told, dict):
        return {name: _finite(value) for name, value in told.items()}
    return [_finite(value) for value in told] if isinstance(told, list | tuple) else told
