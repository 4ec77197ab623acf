"""Eight numbers at once: a vector register to compiled code, an array of eight if interpreted, with the same results.

`u + v`, `u - v`, `u * v`, `u / v`, `-u` and `u > v` go lane by lane, a single number being that of every lane; masks,
which come of `>`, are joined with `&` and `|`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import lower_builtin, register_model

from lowregret.compile.address import address
from lowregret.types import Cells, Index

LANES = 8
CELL = 4  # numbers
Eight: TypeAlias = Any  # eight numbers of one kind
Mask: TypeAlias = Any  # eight times yes or no


# ---- what there is besides operators, as it is interpreted ----------------------------------------------------------


def load(a: Cells, at: Index) -> Eight:
    """a[at], …, a[at+7]"""
    return a[int(at) : int(at) + LANES].copy()


def store(a: Cells, at: Index, v: Eight) -> None:
    """a[at], …, a[at+7] = v"""
    a[int(at) : int(at) + LANES] = v


def load_cells(a: Cells, places: Cells, at: Index) -> tuple[Eight, Eight, Eight, Eight]:
    """The first, second, third and fourth numbers of eight cells, which begin at a[places[at]], …, a[places[at+7]]."""
    cells = np.stack([a[int(place) : int(place) + CELL] for place in places[int(at) : int(at) + LANES]])
    return tuple(cells.T.copy())


def store_cells(a: Cells, at: Index, cells: tuple[Eight, Eight, Eight, Eight]) -> None:
    """Eight cells one after the other from a[at] on, given by their first, second, third and fourth numbers."""
    a[int(at) : int(at) + LANES * CELL] = np.stack(cells, axis=1).ravel()


def move_cell(a: Cells, at: Index, b: Cells, place: Index, less: float) -> None:
    """Copy the cell at a[at] to b[place], its first number reduced by `less`."""
    b[int(place) : int(place) + CELL] = a[int(at) : int(at) + CELL]
    b[int(place)] -= less


def spread(a: Any) -> Eight:
    """a in every lane"""
    return np.full(LANES, a)


def root(v: Eight) -> Eight:
    """√v"""
    return np.sqrt(v)


def half_roots(u: Eight, v: Eight) -> tuple[Eight, Eight]:
    """√u and √v of the first four, the others as they are: in the time of one root"""
    return np.concatenate([np.sqrt(u[:4]), u[4:]]), np.concatenate([np.sqrt(v[:4]), v[4:]])


def where(mask: Mask, u: Eight, v: Eight) -> Eight:
    """u where the mask says yes, else v"""
    return np.where(mask, u, v)


def somewhere(mask: Mask) -> bool:
    """Whether a mask says yes to any lane"""
    return bool(mask.any())


def single(v: Eight) -> Eight:
    """v in single precision"""
    return v.astype(np.float32)


def double(v: Eight) -> Eight:
    """v in double precision"""
    return v.astype(np.float64)


def total(v: Eight) -> Any:
    """The sum of all lanes, in an order of addition that never changes."""
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
    return _pick(builder, first, empty, [0] * LANES)


def _register(function: Any, result: Callable[..., Any], *kinds: tuple[Any, ...]) -> Callable[[Any], Any]:
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

    @_register(symbol, kind, (EightType, EightType), (EightType, types.Float), (types.Float, EightType))
    def lowering(context: Any, builder: Any, typed: Any, args: Any) -> Any:
        to = next(kind for kind in typed.args if isinstance(kind, EightType))
        u, v = (_vector(context, builder, to, *given) for given in zip(typed.args, args, strict=True))
        return build(builder, u, v)


_operation(operator.add, lambda builder, u, v: builder.fadd(u, v))
_operation(operator.sub, lambda builder, u, v: builder.fsub(u, v))
_operation(operator.mul, lambda builder, u, v: builder.fmul(u, v))
_operation(operator.truediv, lambda builder, u, v: builder.fdiv(u, v))
_operation(operator.gt, lambda builder, u, v: builder.fcmp_ordered(">", u, v), _BITS)


@_register(operator.neg, lambda v: v, (EightType,))
def _negated(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.fneg(args[0])


@_register(operator.and_, lambda a, b: a, (MaskType, MaskType))
def _both(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.and_(*args)


@_register(operator.or_, lambda a, b: a, (MaskType, MaskType))
def _either(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.or_(*args)


@_register(operator.getitem, lambda v, k: v.kind, (EightType, types.Integer))
def _lane(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.extract_element(*args)


@_register(load, lambda a, at: EightType(a.dtype), (types.Array, types.Integer))
def _load(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    pointer, align = _place(context, builder, typed.args[0], args[:2], LANES)
    return builder.load(pointer, align=align)


@_register(store, lambda a, at, v: types.void, (types.Array, types.Integer, EightType))
def _store(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    pointer, align = _place(context, builder, typed.args[0], args[:2], LANES)
    builder.store(args[2], pointer, align=align)
    return context.get_dummy_value()


def _place(context: Any, builder: Any, array: Any, args: Any, count: int) -> Any:
    """A pointer to `count` numbers of an array, and how memory there is aligned."""
    pointer = address(context, builder, array, args[0], args[1], count)
    vector = ir.VectorType(context.get_value_type(array.dtype), count)
    return builder.bitcast(pointer, vector.as_pointer()), array.dtype.bitwidth // 8


@_register(
    load_cells, lambda a, places, at: types.UniTuple(EightType(a.dtype), CELL), (types.Array,) * 2 + (types.Integer,)
)
def _load_cells(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    array, places = typed.args[0], typed.args[1]
    cells = []
    for lane in range(LANES):
        spot = builder.add(args[2], context.get_constant(typed.args[2], lane))
        given = (args[0], builder.load(address(context, builder, places, args[1], spot)))
        place, align = _place(context, builder, array, given, CELL)
        cells.append(builder.load(place, align=align))
    for count in (2, 4, 8):  # cells that are joined: all their first numbers, then all their second ones, …
        half, joined = count // 2, []
        for u, v in zip(cells[::2], cells[1::2], strict=True):
            order = [c * half + k + side * CELL * half for c in range(CELL) for side in (0, 1) for k in range(half)]
            joined.append(_pick(builder, u, v, order))
        cells = joined
    columns = [_pick(builder, cells[0], cells[0], range(c * LANES, (c + 1) * LANES)) for c in range(CELL)]
    return context.make_tuple(builder, typed.return_type, columns)


@_register(store_cells, lambda a, at, cells: types.void, (types.Array, types.Integer, types.UniTuple))
def _store_cells(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    first, second, third, fourth = cgutils.unpack_tuple(builder, args[2], CELL)
    low, high = (_pick(builder, u, v, range(2 * LANES)) for u, v in ((first, second), (third, fourth)))
    order = [c * LANES + lane for lane in range(LANES) for c in range(CELL)]
    pointer, align = _place(context, builder, typed.args[0], args[:2], LANES * CELL)
    builder.store(_pick(builder, low, high, order), pointer, align=align)
    return context.get_dummy_value()


@_register(
    move_cell,
    lambda a, at, b, place, less: types.void,
    (types.Array, types.Integer, types.Array, types.Integer, types.Float),
)
def _move_cell(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    source, align = _place(context, builder, typed.args[0], args[:2], CELL)
    target, _ = _place(context, builder, typed.args[2], args[2:4], CELL)
    cell = builder.load(source, align=align)
    less = builder.insert_element(ir.Constant(cell.type, [0.0] * CELL), args[4], ir.IntType(32)(0))
    builder.store(builder.fsub(cell, less), target, align=align)
    return context.get_dummy_value()


@_register(spread, EightType, (types.Float,))
def _spread(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _vector(context, builder, typed.return_type, typed.args[0], args[0])


@_register(root, lambda v: v, (EightType,))
def _root(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _intrinsic("sqrt", context, builder, typed.return_type, args[0])


@_register(abs, lambda v: v, (EightType,))
def _size(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return _intrinsic("fabs", context, builder, typed.return_type, args[0])


@_register(half_roots, lambda u, v: types.UniTuple(u, 2), (EightType, EightType))
def _half_roots(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    u, v = args
    low, high = (0, 1, 2, 3), (4, 5, 6, 7)
    few = _pick(builder, u, v, (*low, 8, 9, 10, 11))
    roots = _intrinsic("sqrt", context, builder, typed.args[0], few)
    whole = _pick(builder, roots, u, (*low, 12, 13, 14, 15)), _pick(builder, roots, v, (*high, 12, 13, 14, 15))
    return context.make_tuple(builder, typed.return_type, whole)


def _intrinsic(name: str, context: Any, builder: Any, kind: EightType, value: Any) -> Any:
    form = ir.FunctionType(value.type, [value.type])
    full = f"llvm.{name}.v{value.type.count}f{kind.kind.bitwidth}"
    return builder.call(cgutils.get_or_insert_function(builder.module, form, full), [value])


def _pick(builder: Any, u: Any, v: Any, lanes: Iterable[int]) -> Any:
    """Some lanes of two vectors, those of the second counted on from the first."""
    chosen = list(lanes)
    return builder.shuffle_vector(u, v, ir.Constant(ir.VectorType(ir.IntType(32), len(chosen)), chosen))


@_register(where, lambda mask, u, v: u if u == v else None, (MaskType, EightType, EightType))
def _where(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.select(*args)


@_register(somewhere, lambda mask: types.boolean, (MaskType,))
def _somewhere(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    bits = ir.IntType(LANES)
    return builder.icmp_unsigned("!=", builder.bitcast(args[0], bits), bits(0))


@_register(single, lambda v: EightType(types.float32), (EightType,))
def _single(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.fptrunc(args[0], context.get_value_type(typed.return_type))


@_register(double, lambda v: EightType(types.float64), (EightType,))
def _double(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    return builder.fpext(args[0], context.get_value_type(typed.return_type))


@_register(total, lambda v: v.kind, (EightType,))
def _total(context: Any, builder: Any, typed: Any, args: Any) -> Any:
    sums = args[0]
    for count in (4, 2, 1):
        low, high = range(count), range(count, 2 * count)
        sums = builder.fadd(_pick(builder, sums, sums, low), _pick(builder, sums, sums, high))
    return builder.extract_element(sums, ir.IntType(32)(0))


# ---- of these -------------------------------------------------------------------------------------------------------


def larger(u: Eight, v: Eight) -> Eight:
    """max(u, v)"""
    return where(u > v, u, v)


def smaller(u: Eight, v: Eight) -> Eight:
    """min(u, v)"""
    return where(v > u, u, v)


def between(u: Eight, a: Eight) -> Eight:
    """u, kept within ±a"""
    return -larger(-larger(u, -a), -a)


def largest(v: Eight) -> Any:
    """The largest lane."""
    most = v[0]
    for k in range(1, LANES):
        most = max(most, v[k])
    return most
