"""Where the elements of arrays lie, in compiled code that reads and writes nothing else."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import cgutils

from lowregret.errors import BoundsError

OUTSIDE = (
    "a compiled loop was about to leave an array, and was stopped: rows or a model changed while they were learnt, "
    "or a part's index is wrong (compiled=False shows where); what was being learnt is not to be used further"
)


def address(context: Any, builder: Any, kind: types.Array, array: Any, index: Any, count: int = 1) -> Any:
    """Where array[index] lies, for an array of one dimension and an index that is not below 0.

    Unless all of array[index], …, array[index+count−1] exist, the loop ends here with a `BoundsError`.
    """
    if context.enable_boundscheck:
        _require_within(context, builder, context.data_model_manager[kind].get(builder, array, "nitems"), index, count)
    return unchecked_address(context, builder, kind, array, index)


def unchecked_address(context: Any, builder: Any, kind: types.Array, array: Any, index: Any) -> Any:
    """Where array[index] would lie, whether there is such an element or not."""
    if kind.layout == "C":
        return builder.gep(context.data_model_manager[kind].get(builder, array, "data"), [index])
    view = context.make_array(kind)(context, builder, array)
    return cgutils.get_item_pointer(context, builder, kind, view, [index], wraparound=False)


def _require_within(context: Any, builder: Any, size: Any, index: Any, count: int) -> None:
    """Raise a `BoundsError` unless index + count ≤ size: one comparison, as an index below 0 is a huge one."""
    places = size
    if count > 1:  # where so many may begin, which a loop finds out once
        rest = builder.sub(size, size.type(count - 1))
        places = builder.select(builder.icmp_signed("<", rest, rest.type(0)), rest.type(0), rest)
    at = index if index.type == places.type else builder.zext(index, places.type)
    within = builder.append_basic_block("within")
    branch = builder.cbranch(builder.icmp_unsigned("<", at, places), within, _outside(context, builder))
    branch.set_weights((99, 1))
    builder.position_at_end(within)


def _outside(context: Any, builder: Any) -> Any:
    """A block that ends this function with a `BoundsError`: one for all its indices, unless it catches errors."""
    function = builder.function
    if getattr(context, "tries", True) or not hasattr(function, "outside"):
        function.outside = builder.append_basic_block("outside")
        with builder.goto_block(function.outside):
            context.call_conv.return_user_exc(builder, BoundsError, (OUTSIDE,))
    return function.outside
