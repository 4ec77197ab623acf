"""Whole numbers that several threads count together, and waiting for each other; interpreted, one thread is alone.

What a thread wrote before it `add`ed is there for whoever then `read`s the sum: so threads hand memory to each other.
"""

from __future__ import annotations

import os
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from lowregret.compile.address import address
from lowregret.types import Cells, Index


def add(a: Cells, at: Index, count: int) -> int:
    """Add to a[at] at once, whatever other threads do; returns the number before."""
    before = int(a[int(at)])
    a[int(at)] = before + count
    return before


def read(a: Cells, at: Index) -> int:
    """a[at] as it is now"""
    return int(a[int(at)])


def give_way() -> None:
    """Let another thread have the processor, if one wants it and the system can be told."""


@type_callable(add)
def _type_add(context: Any) -> Any:
    return lambda a, at, count: types.int64


@type_callable(read)
def _type_read(context: Any) -> Any:
    return lambda a, at: types.int64


@type_callable(give_way)
def _type_give_way(context: Any) -> Any:
    return lambda: types.void


@lower_builtin(add, types.Array, types.uint64, types.int64)
def _lower_add(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    pointer = address(context, builder, signature.args[0], *args[:2])
    return builder.atomic_rmw("add", pointer, args[2], "seq_cst")


@lower_builtin(read, types.Array, types.uint64)
def _lower_read(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return builder.load_atomic(address(context, builder, signature.args[0], *args), "seq_cst", 8)


@lower_builtin(give_way)
def _lower_give_way(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    if hasattr(os, "sched_yield"):
        form = ir.FunctionType(ir.IntType(32), [])
        builder.call(cgutils.get_or_insert_function(builder.module, form, "sched_yield"), [])
    return context.get_dummy_value()
