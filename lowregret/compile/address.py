"""Where the elements of arrays lie, in compiled code."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils


def address(context: Any, builder: Any, kind: types.Array, array: Any, index: Any) -> Any:
    """Where array[index] lies, for an array of one dimension and an index that is not below 0."""
    if kind.layout == "C":
        return builder.gep(context.data_model_manager[kind].get(builder, array, "data"), [index])
    view = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, view, [index], wraparound=False)
