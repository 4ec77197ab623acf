"""Memory that is only taken where it is written to."""

from __future__ import annotations

import numpy as np
import pytest

from lowregret.compile.memory import untouched


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm") as told:
        return int(told.read().split()[1]) * 4096


@pytest.mark.parametrize("kind", [np.float64, np.int64, np.uint32])
def test_memory_of_which_little_is_written_takes_little(kind: type) -> None:
    before = resident()
    arrays = [untouched(1 << 23, kind) for _ in range(20)]
    for array in arrays:
        array[: 1 << 10] = 1
    assert resident() - before < 10 << 20  # huge pages would be 40 MB
    assert all(array.dtype == kind and array.size == 1 << 23 and array.flags.writeable for array in arrays)
    assert all(array[1023] == 1 and not array[1024:2048].any() for array in arrays)


def test_no_numbers_are_an_array_too() -> None:
    assert untouched(0, np.int64).shape == (0,)


def test_memory_that_there_is_not_is_a_lack_of_memory() -> None:
    with pytest.raises(MemoryError):
        untouched(1 << 58, np.uint8)
