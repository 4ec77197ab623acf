"""Memory in whole cache lines, and asked for before it is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from lowregret.state import Cells, Index

LINE = 64  # bytes


def zeros(size: int, kind: Any) -> Any:
    """Zeros that begin at a cache line; memory that is never written to is never taken."""
    count = size * np.dtype(kind).itemsize
    spare = np.zeros(count + LINE, np.uint8)
    begin = -spare.ctypes.data % LINE
    return spare[begin : begin + count].view(kind)


def aligned(values: Any) -> Any:
    """A copy that begins at a cache line."""
    copy = zeros(values.size, values.dtype)
    copy[...] = values
    return copy


def prefetch(cells: Cells, at: Index) -> None:
    """Say that cells[at] will be needed soon. It changes nothing, and does nothing if interpreted."""


@type_callable(prefetch)
def _type_prefetch(context: Any) -> Any:
    return lambda cells, at: types.void


@lower_builtin(prefetch, types.Array, types.uint64)
def _lower_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    pointer = cgutils.get_item_pointer(context, builder, kind, view, [args[1]], wraparound=False)
    number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(pointer, byte), number(1), number(3), number(1)])
    return context.get_dummy_value()
