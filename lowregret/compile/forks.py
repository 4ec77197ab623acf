"""Processes that fork while a thread compiles: the fork waits, so that the compiler is whole in both processes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from llvmlite import binding  # type: ignore[import-untyped]
from numba.core import compiler_lock

PATIENCE = 120.0  # seconds: longer than any loop takes to compile, and an end should that thread wait for this one
_OWNERS = (  # in the order of compiling; they are no promise of Numba's, so that another release may lack them
    (compiler_lock, "global_compiler_lock._lock"),
    (binding, "ffi.lib._lock._lock"),
)
_taken: list[Any] = []


def compiler_locks() -> Iterator[Any]:
    """The locks that a thread holds while it compiles, as far as this release of Numba has them."""
    for owner, names in _OWNERS:
        found: Any = owner
        for name in names.split("."):
            found = getattr(found, name, None)
        if hasattr(found, "acquire") and hasattr(found, "release"):
            yield found


def _take() -> None:
    for lock in compiler_locks():
        if lock.acquire(timeout=PATIENCE):
            _taken.append(lock)


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


def wait_with_forks() -> None:
    """Let forks of this process wait while another thread compiles, for its locks would stay shut in the child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)
