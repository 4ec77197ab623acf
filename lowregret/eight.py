"""Eight numbers at once: a vector register to compiled code, an array of eight if interpreted, with the same results.

`u + v`, `u - v`, `u * v`, `u / v` and `u > v` go lane by lane, a single number being that of every lane.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from lowregret.state import Cells, Index

LANES = 8
Eight: TypeAlias = Any  # eight numbers of one kind
Mask: TypeAlias = Any  # eight times yes or no


# ---- what there is besides operators, as it is interpreted ----------------------------------------------------------


def load(a: Cells, at: Index) -> Eight:
    """a[at], …, a[at+7]"""
    return a[int(at) : int(at) + LANES].copy()


def store(a: Cells, at: Index, v: Eight) -> None:
    """a[at], …, a[at+7] = v"""
    a[int(at) : int(at) + LANES] = v


def spread(a: Any) -> Eight:
    """a in every lane"""
    return np.full(LANES, a)


def root(v: Eight) -> Eight:
    """√v"""
    return np.sqrt(v)


def where(mask: Mask, u: Eight, v: Eight) -> Eight:
    """u where the mask says yes, else v"""
    return np.where(mask, u, v)


def total(v: Eight) -> Any:
    """Their sum, in an order of addition that never changes."""
    four = v[:4] + v[4:]
    two = four[:2] + four[2:]
    return two[0] + two[1]


# ---- as it is compiled ----------------------------------------------------------------------------------------------


class EightType(types.Type):  # type: ignore[misc]
    """Eight numbers."""

    def __init__(self, kind: Any) -> None:
        self.kind = kind
        super().__init__(f"eight({kind})")


class MaskType(types.Type):  # type: ignore[misc]
    """Eight bits."""


_BITS = MaskType("eight(bits)")


@register_model(EightType)
class _EightModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: EightType) -> None:
        number = ir.FloatType() if kind.kind == types.float32 else ir.DoubleType()
        super().__init__(manager, kind, ir.VectorType(number, LANES))


@register_model(MaskType)
class _MaskModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: MaskType) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.IntType(1), LANES))


def _vector(context: Any, builder: Any, kind: EightType, source: Any, value: Any) -> Any:
    """A value of type `source` as eight numbers of this kind; one number goes into every lane."""
    if isinstance(source, EightType):
        return value
    number = context.cast(builder, value, source, kind.kind)
    empty = ir.Constant(context.get_value_type(kind), ir.Undefined)
    first = builder.insert_element(empty, number, ir.IntType(32)(0))
    return builder.shuffle_vector(first, empty, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _compiled(function: Any, result: Callable[..., Any], *kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Compile calls of `function` with arguments of such kinds by what is decorated; `result` tells their type."""

    @infer_global(function)
    class Typing(AbstractTemplate):  # type: ignore[misc]
        def generic(self, given: tuple[Any, ...], named: Any) -> Any:
            fits = any(len(given) == len(kind) and all(map(isinstance, given, kind)) for kind in kinds)
            found = result(*given) if fits else None
            return None if found is None else signature(found, *given)

    def register(lowering: Any) -> Any:
        for kind in kinds:
            lower_builtin(function, *kind)(lowering)
        return lowering

    return register


def _operation(symbol: Any, build: Callable[[Any, Any, Any], Any], result: MaskType | None = None) -> None:
    """Compile `u symbol v` of eights of one kind, or of one and a number."""

    def kind(u: Any, v: Any) -> Any:
        alike = not isinstance(u, EightType) or not isinstance(v, EightType) or u == v
        return (result or (u if isinstance(u, EightType) else v)) if alike else None

    @_compiled(symbol, kind, (EightType, EightType), (EightType, types.Float), (types.Float, EightType))
    def lowering(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        to = next(kind for kind in typed.args if isinstance(kind, EightType))
        u, v = (_vector(context, builder, to, *given) for given in zip(typed.args, args, strict=True))
        return build(builder, u, v)


_operation(operator.add, lambda builder, u, v: builder.fadd(u, v))
_operation(operator.sub, lambda builder, u, v: builder.fsub(u, v))
_operation(operator.mul, lambda builder, u, v: builder.fmul(u, v))
_operation(operator.truediv, lambda builder, u, v: builder.fdiv(u, v))
_operation(operator.gt, lambda builder, u, v: builder.fcmp_ordered(">", u, v), _BITS)


@_compiled(operator.getitem, lambda v, k: v.kind, (EightType, types.Integer))
def _lane(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.extract_element(*args)


@_compiled(load, lambda a, at: EightType(a.dtype), (types.Array, types.Integer))
def _load(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    pointer, align = _place(context, builder, typed, args)
    return builder.load(pointer, align=align)


@_compiled(store, lambda a, at, v: types.void, (types.Array, types.Integer, EightType))
def _store(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    pointer, align = _place(context, builder, typed, args)
    builder.store(args[2], pointer, align=align)
    return context.get_dummy_value()


def _place(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    """Where eight numbers of an array begin, and how memory there is aligned."""
    kind = typed.args[0]
    view = context.make_array(kind)(context, builder, args[0])
    pointer = cgutils.get_item_pointer(context, builder, kind, view, [args[1]], wraparound=False)
    vector = context.get_value_type(EightType(kind.dtype))
    return builder.bitcast(pointer, vector.as_pointer()), kind.dtype.bitwidth // 8


@_compiled(spread, EightType, (types.Float,))
def _spread(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _vector(context, builder, typed.return_type, typed.args[0], args[0])


@_compiled(root, lambda v: v, (EightType,))
def _root(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _intrinsic("sqrt", context, builder, typed.return_type, args[0])


@_compiled(abs, lambda v: v, (EightType,))
def _size(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _intrinsic("fabs", context, builder, typed.return_type, args[0])


def _intrinsic(name: str, context: Any, builder: Any, kind: EightType, value: Any) -> Any:
    vector = context.get_value_type(kind)
    form = ir.FunctionType(vector, [vector])
    full = f"llvm.{name}.v{LANES}f{kind.kind.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, form, full), [value])


@_compiled(where, lambda mask, u, v: u if u == v else None, (MaskType, EightType, EightType))
def _where(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.select(*args)


@_compiled(total, lambda v: v.kind, (EightType,))
def _total(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    sums = args[0]
    for count in (4, 2, 1):
        low, high = (
            builder.shuffle_vector(sums, sums, ir.Constant(ir.VectorType(ir.IntType(32), count), list(lanes)))
            for lanes in (range(count), range(count, 2 * count))
        )
        sums = builder.fadd(low, high)
    return builder.extract_element(sums, ir.IntType(32)(0))


# ---- of these -------------------------------------------------------------------------------------------------------


def larger(u: Eight, v: Eight) -> Eight:
    """max(u, v)"""
    return where(u > v, u, v)


def largest(v: Eight) -> Any:
    """The largest of them."""
    most = v[0]
    for k in range(1, LANES):
        most = max(most, v[k])
    return most
