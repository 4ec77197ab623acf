"""`min`, `max`, `int` and `in` in compiled code: of numbers, comparisons or nothing at all.

Numba would compile a function for each kind of call.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

from numba import types
from numba.core import cgutils
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin


def smallest(*values: Any) -> Any:
    """`min` of two numbers or more, in compiled code."""
    return min(*values)


def largest(*values: Any) -> Any:
    """`max` of two numbers or more, in compiled code."""
    return max(*values)


def whole(value: Any) -> Any:
    """`int` of a number, in compiled code."""
    return int(value)


def _register(extreme: Callable[..., Any], builtin: Callable[..., Any], symbol: str) -> None:
    """Compile calls of `extreme`; `v symbol best` says that v is better."""

    @infer_global(extreme)
    class Typing(AbstractTemplate):  # type: ignore[misc]
        def generic(self, given: tuple[Any, ...], named: Any) -> Any:
            if len(given) < 2 or not all(isinstance(kind, types.Number) for kind in given):
                return self.context.resolve_function_type(builtin, given, named)
            kind = self.context.unify_types(*map(types.unliteral, given))
            return signature(kind, *(kind for _ in given)) if isinstance(kind, types.Number) else None

    @lower_builtin(extreme, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
    def lowering(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        kind = typed.return_type
        if any(given != kind for given in typed.args) or not isinstance(kind, (types.Integer, types.Float)):
            return _numba(builtin, context, builder, typed, args)
        if isinstance(kind, types.Float):
            compare = builder.fcmp_ordered
        else:
            compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
        best = args[0]
        for value in args[1:]:
            best = builder.select(compare(symbol, value, best), value, best)
        return best


def _numba(builtin: Callable[..., Any], context: Any, builder: Any, typed: Any, args: Any) -> Any:
    """Compile a call as Numba does."""
    return context.get_function(context.typing_context.resolve_value_type(builtin), typed)(builder, args)


_register(smallest, min, "<")
_register(largest, max, ">")


@infer_global(whole)
class _Whole(AbstractTemplate):  # type: ignore[misc]
    def generic(self, given: tuple[Any, ...], named: Any) -> Any:
        kind = types.unliteral(given[0]) if len(given) == 1 else None
        if isinstance(kind, types.Integer):
            return signature(kind, kind)
        return self.context.resolve_function_type(int, given, named)


@lower_builtin(whole, types.VarArg(types.Any))  # type: ignore[untyped-decorator]
def _lower_whole(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return args[0] if typed.args == (typed.return_type,) else _numba(int, context, builder, typed, args)


@lower_builtin(operator.contains, types.UniTuple, types.Number)  # type: ignore[untyped-decorator]
def _lower_in(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    kind, sought = typed.args
    equal = context.typing_context.resolve_function_type(operator.eq, (kind.dtype, sought), {})
    compare, value = context.get_function(operator.eq, equal), context.cast(builder, args[1], sought, equal.args[1])
    members = (context.cast(builder, one, kind.dtype, equal.args[0]) for one in cgutils.unpack_tuple(builder, args[0]))
    return reduce(builder.or_, [compare(builder, (one, value)) for one in members])


BUILTINS = {"min": smallest, "max": largest, "int": whole}
