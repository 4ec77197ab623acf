"""Calling a loop compiled, or the same code interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.compile.part import Part


def compilable(part: Part) -> bool:
    """Whether this part and all parts in it can be compiled."""
    return part.compilable and all(compilable(v) for v in part.parameters.values() if isinstance(v, Part))


def call(loop: Callable[..., Any], compiled: bool, *args: Any) -> Any:
    """Run a loop compiled, or the same code interpreted, where an overflow is then as quiet as in compiled code."""
    if compiled:
        return loop(*args)
    with np.errstate(all="ignore"):
        return getattr(loop, "py_func", loop)(*args)
