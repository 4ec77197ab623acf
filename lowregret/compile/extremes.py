"""`min` and `max` in compiled code: of numbers, comparisons. Numba would compile a function for each kind of call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin


def smallest(*values: Any) -> Any:
    """`min` of two numbers or more, in compiled code."""
    return min(*values)


def largest(*values: Any) -> Any:
    """`max` of two numbers or more, in compiled code."""
    return max(*values)


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
            return context.get_function(context.typing_context.resolve_value_type(builtin), typed)(builder, args)
        if isinstance(kind, types.Float):
            compare = builder.fcmp_ordered
        else:
            compare = builder.icmp_signed if kind.signed else builder.icmp_unsigned
        best = args[0]
        for value in args[1:]:
            best = builder.select(compare(symbol, value, best), value, best)
        return best


_register(smallest, min, "<")
_register(largest, max, ">")
EXTREMES = {"min": smallest, "max": largest}
