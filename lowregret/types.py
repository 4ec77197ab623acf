"""Names for arrays and indices in annotations, and where a coordinate's numbers lie."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Cells: TypeAlias = Any  # a vector read and written element by element in compiled loops
Index: TypeAlias = Any  # an unsigned NumPy integer in compiled loops, any integer otherwise


def cell(j: Index, width: int) -> Index:
    """Where coordinate j begins in the table; its width is a constant to the compiler, a matrix's would not be."""
    return np.uint64(j) * np.uint64(width)
