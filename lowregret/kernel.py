"""Compiled loops: the flags every loop shares, and an on-disk cache that is never stale.

Numba caches a compiled loop next to its source file and re-uses it in later processes. Two things could make
that cache wrong or brittle, and both are handled here:

- a loop inlines methods from other files, so its entry is stamped with the contents of the whole package;
- an index written by another program state may be unreadable, which means "compile again", not a traceback.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.caching import FunctionCache

Function = TypeVar("Function", bound=Callable[..., Any])

# Results must not depend on the optimiser's mood, so fastmath stays off. The NumPy error model spares a branch per
# division. Without Numba's memory manager compiled code cannot allocate, and pays for no reference counts.
FLAGS = {"error_model": "numpy", "nogil": True, "_nrt": False}


@cache
def package_stamp() -> str:
    """A digest of every source file of the package: changes with any edit or upgrade."""
    digest = hashlib.sha256()
    root = Path(__file__).parent
    for path in sorted(root.rglob("*.py")):
        digest.update(str(path.relative_to(root)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


class _StampedCache(FunctionCache):  # type: ignore[misc]
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        index = self._cache_file
        index._source_stamp = (index._source_stamp, package_stamp())

    def load_overload(self, signature: Any, context: Any) -> Any:
        try:
            return super().load_overload(signature, context)
        except Exception:  # whatever is wrong with the stored entry, compiling again is always right
            self.flush()
            return None


def kernel(function: Function) -> Function:
    """Compile `function` on first use; `.py_func` is the same code interpreted."""
    compiled = njit(**FLAGS)(function)
    if hasattr(compiled, "_cache"):  # absent when NUMBA_DISABLE_JIT is set
        compiled._cache = _StampedCache(function)
    return cast(Function, compiled)
