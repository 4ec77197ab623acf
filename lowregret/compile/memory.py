"""Memory in whole cache lines, with room to grow where it lies, and asked for before it is needed."""

from __future__ import annotations

import math
import mmap
import os
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, type_callable

from lowregret.compile.address import unchecked_address
from lowregret.types import Cells, Index

LINE = 64  # bytes
LARGE = 1 << 16  # bytes of an array that is worth growing where it lies
AHEAD = 1 << 30  # bytes of addresses set aside behind it: systems take no memory for what is asked for at this size


def untouched(size: int, kind: Any) -> Any:
    """Zeros of which few may ever be written to: only these take memory, a small page at a time.

    NumPy asks the system for huge pages, of which a single number takes one.
    """
    how = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_PRIVATE") else {}
    try:
        return np.frombuffer(mmap.mmap(-1, max(size * np.dtype(kind).itemsize, 1), **how), kind, size)
    except OSError as error:
        raise MemoryError(str(error)) from None


def physical_memory() -> float:
    """The bytes of memory that the machine has; ∞ where that is not told."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return math.inf


def free_memory() -> float:
    """The bytes of memory that programs can have now without ending others; ∞ where that is not told."""
    try:
        with open("/proc/meminfo") as file:
            told = dict(line.split(":") for line in file)
        return 1024.0 * sum(int(told[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError, IndexError):
        return math.inf


def room() -> float:
    """The bytes of memory that may be asked for: those that programs can have now, of those that the machine has."""
    return min(physical_memory(), free_memory())


def zeros(size: int, kind: Any, ahead: int = 0) -> Any:
    """Zeros that begin at a cache line, `ahead` bytes set aside; memory that is never written to is never taken."""
    count = size * np.dtype(kind).itemsize
    spare = np.zeros(count + ahead + LINE, np.uint8)
    begin = -spare.ctypes.data % LINE
    return spare[begin : begin + count].view(kind)


def roomy(size: int, kind: Any) -> Any:
    """Zeros that `extend` can make longer where they lie, if they are many and the system has the addresses."""
    count = size * np.dtype(kind).itemsize
    try:
        return zeros(size, kind, AHEAD if count >= LARGE else 0)
    except MemoryError:
        return zeros(size, kind)


def extend(cells: Any, size: int) -> Any:
    """All cells of an array, then zeros up to `size`: where they lie if there is room behind them, else moved."""
    owner, kind = cells.base, cells.dtype
    if isinstance(owner, np.ndarray) and owner.dtype == np.uint8 and cells.flags.writeable:  # made here, not lent
        begin = cells.ctypes.data - owner.ctypes.data
        end = begin + size * kind.itemsize
        if end <= owner.size:
            return owner[begin:end].view(kind)
    moved = roomy(size, kind)
    moved[: cells.size] = cells
    return moved


def prefetch(cells: Cells, at: Index) -> None:
    """Say that cells[at] will be needed soon. It changes nothing, and does nothing if interpreted."""


@type_callable(prefetch)
def _type_prefetch(context: Any) -> Any:
    return lambda cells, at: types.void


@lower_builtin(prefetch, types.Array, types.uint64)
def _lower_prefetch(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kind = signature.args[0]
    pointer = unchecked_address(context, builder, kind, *args)
    number, byte = ir.IntType(32), ir.IntType(8).as_pointer()
    form = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
    function = cgutils.get_or_insert_function(builder.module, form, "llvm.prefetch.p0")
    builder.call(function, [builder.bitcast(pointer, byte), number(1), number(3), number(1)])
    return context.get_dummy_value()
