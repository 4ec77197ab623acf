"""Calling a loop compiled, or the same code interpreted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lowregret.compile.part import Part


def compilable(part: Part) -> bool:
    """Whether this part and all parts in it can be compiled; asked as a run begins, to which their code of now applies.

    A notebook may have changed what a method does, or a number it reads, since a part was compiled that it still has.
    """
    vars(part).pop("_numba_type_", None)  # it is found out anew
    inside = [compilable(value) for value in part.parameters.values() if isinstance(value, Part)]
    return part.compilable and all(inside)


def call(loop: Callable[..., Any], compiled: bool, *args: Any) -> Any:
    """Run a loop compiled, or the same code interpreted, where an overflow is then as quiet as in compiled code."""
    if compiled:
        return loop(*args)
    with np.errstate(all="ignore"):
        return getattr(loop, "py_func", loop)(*args)
