"""Processes that fork while a thread compiles: the fork waits, so that the compiler is whole in both processes."""

from __future__ import annotations

import os
from typing import Any

from llvmlite.binding import ffi  # type: ignore[import-untyped]
from numba.core.compiler_lock import global_compiler_lock

PATIENCE = 120.0  # seconds: longer than any loop takes to compile, and an end should that thread wait for this one
_LOCKS: tuple[Any, ...] = (
    global_compiler_lock._lock,
    ffi.lib._lock._lock,
)  # in the order of compiling
_taken: list[Any] = []


def _take() -> None:
    for lock in _LOCKS:
        if lock.acquire(timeout=PATIENCE):
            _taken.append(lock)


def _give_back() -> None:
    while _taken:
        _taken.pop().release()


def wait_with_forks() -> None:
    """Let forks of this process wait while another thread compiles, for its locks would stay shut in the child."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(before=_take, after_in_parent=_give_back, after_in_child=_give_back)
