"""Parts: frozen dataclasses that Numba sees as plain structs and whose methods compile as written.

    class Hinge(Loss):
        margin: float = 1.0

        def at(self, p, y):
            gap = self.margin - y * p
            return (gap, -y) if gap > 0 else (0.0, 0.0)

Subclassing is all it takes. The same object is a Python value, a `repr`, a JSON spec and a compilation key; the
same method source runs interpreted and compiled. A parameter is data: changing it never recompiles. A method is
code: changing it, or anything it calls, gives the part another type name and so another cache entry.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from functools import cache, cached_property
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, cast, dataclass_transform

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.core.datamodel import register_default
from numba.core.typing.templates import AttributeTemplate
from numba.extending import (
    NativeValue,
    infer_getattr,
    lower_getattr_generic,
    models,
    register_model,
    typeof_impl,
    unbox,
)
from numba.np.numpy_support import from_dtype, map_layout

from lowregret.compile.altered import Kind, settle_facts
from lowregret.compile.complete import require_complete
from lowregret.compile.digest import digest, is_ours
from lowregret.compile.fields import plain_fields
from lowregret.compile.kernel import FAILURES, Inlined, MethodError
from lowregret.errors import PartError


@dataclass_transform(frozen_default=True, eq_default=False)
class Part(metaclass=Kind):
    """A frozen dataclass of numbers, arrays and other parts, usable inside compiled loops."""

    registry: ClassVar[dict[str, type[Part]]] = {}
    facts: ClassVar[dict[str, Any]] = {}  # what theorems believe of a part, and what is said where nothing is known
    compilable: ClassVar[bool] = True  # False: only runs interpreted
    read_only: ClassVar[bool] = False  # whether compiled code that writes to one of its arrays is refused
    gives: ClassVar[dict[str, str]] = {}  # methods that may be left out, and what each is good for
    instead: ClassVar[str] = ""  # what is easier than a part of this kind, in a sentence

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        settle_facts(cls, Part)
        dataclasses.dataclass(eq=False, repr=False)(cls)  # `frozen` would cost a third of the time to import us
        _register(cls)

    if not TYPE_CHECKING:  # type checkers know what is abstract

        def __new__(cls, *args: Any, **kwargs: Any) -> Part:
            if cls.__abstractmethods__:
                require_complete(cls)
            return super().__new__(cls)

    def __post_init__(self) -> None:
        """Make plain fields what their annotation says (else integers for floats would compile twice), and check.

        Of what is not what it says, a part's own check, which knows the remedy, has the first word.
        """
        unfit = ""
        for name, (wanted, accepts, made) in plain_fields(type(self)):
            value = getattr(self, name)
            if accepts(value):
                object.__setattr__(self, name, made(value))
            else:
                unfit = unfit or f"{name} must be {wanted}, got {value!r}"
                self.require(made is not float, unfit)
        self.check()
        self.require(not unfit, unfit)

    def check(self) -> None:
        """Refuse parameters and combinations that make no sense, with cause and remedy."""

    def require(self, holds: bool, problem: str) -> None:
        """Raise a `PartError` that names this part unless `holds`."""
        if not holds:
            raise PartError(f"{type(self).__name__}: {problem}")

    @property
    def parameters(self) -> dict[str, Any]:
        """Field names and values, in order."""
        return {name: getattr(self, name) for name in _field_names(type(self))}

    def __repr__(self) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={v!r}' for name, v in self.parameters.items())})"

    if not TYPE_CHECKING:  # type checkers know that parts are frozen

        def __setattr__(self, name: str, value: Any) -> None:
            """Each field is set once, by `__init__`."""
            if name in self.__dict__ or name not in self.__dataclass_fields__:
                raise dataclasses.FrozenInstanceError(f"cannot assign to {name!r}: use dataclasses.replace")
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            raise dataclasses.FrozenInstanceError(f"cannot delete {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash((type(self), self._identity))

    @cached_property
    def _identity(self) -> tuple[Any, ...]:
        return _comparable(tuple(self.parameters.values()))

    @cached_property
    def _numba_type_(self) -> PartType:
        fields = {}
        for name, value in self.parameters.items():
            if isinstance(value, str):
                continue  # a label, which compiled code does not see
            kind = _kind(value, type(self))
            if kind is None:
                raise PartError(
                    f"{type(self).__name__}.{name} = {value!r} cannot be used in compiled code; "
                    "use numbers, NumPy arrays, parts or tuples of them, or run with compiled=False"
                )
            fields[name] = kind
        cls = type(self)
        reference = cls.__module__, cls.__qualname__, digest(cls)
        key = *reference, *fields, *map(id, fields.values())  # what is found keeps these alive
        return _types.get(key) or _types.setdefault(key, PartType(*reference, fields))

    def __getstate__(self) -> dict[str, Any]:
        return self.parameters  # not the cached properties: a Numba type does not travel


@cache
def _field_names(cls: type[Part]) -> tuple[str, ...]:
    """The fields of a class, in order."""
    return tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]


def _comparable(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return tuple(map(_comparable, value)) if isinstance(value, tuple) else value


def _register(cls: type[Part]) -> None:
    """Note a class by its name in specs. Its own module may define it again, as notebooks do; no other may."""
    known = Part.registry.setdefault(spec_name(cls), cls)
    if known.__module__ != cls.__module__:
        raise PartError(
            f"{cls.__module__} and {known.__module__} both have a part called {cls.__qualname__}, which is all that is "
            "stored of it: name one otherwise"
        )
    Part.registry[spec_name(cls)] = cls


def spec_name(cls: type[Part]) -> str:
    """The name of a part in specs: bare for the package's own, with its module for a user's."""
    return cls.__qualname__ if is_ours(cls.__module__) else f"{cls.__module__}:{cls.__qualname__}"


# ---- how Numba sees a part ----------------------------------------------------------------------------------------

_classes: dict[tuple[str, str, str], type[Part]] = {}
_types: dict[tuple[Any, ...], PartType] = {}  # made before: rows are parts, and every batch has its own
_kinds: dict[Any, Any] = {}  # likewise of arrays and whole numbers as fields


class PartType(types.Type):  # type: ignore[misc]
    """The struct type of a part: module, qualified name, digest of its code, and the types of its fields.

    It refers to its class by name, so unpickling a cache entry never imports or re-creates a user's class. Its own
    name is short because Numba makes the names of all compiled functions from it.
    """

    def __init__(self, module: str, qualname: str, code: str, fields: dict[str, Any]) -> None:
        self.reference = (module, qualname, code)
        self.fields = fields
        content = hashlib.sha256(repr((self.reference, fields)).encode()).hexdigest()[:16]
        super().__init__(f"{qualname}@{content}")

    def __reduce__(self) -> tuple[Any, ...]:
        return PartType, (*self.reference, self.fields)

    def method(self, name: str) -> FunctionType | None:
        method = inspect.getattr_static(_classes[self.reference], name, None)
        return method if isinstance(method, FunctionType) and not name.startswith("__") else None

    def fact(self, name: str) -> bool | None:
        """The answer of a method without arguments, if it is True or False for every part of this type, else None."""
        return _fact(self, name)


@cache
def _fact(part_type: PartType, name: str) -> bool | None:
    method = part_type.method(name)
    try:
        answer = method(_Ghost(part_type)) if method else None
    except Exception:  # it asked for what only a part has
        return None
    return answer if type(answer) is bool else None


class _Ghost:
    """A part of which only the type is known: its methods run as long as they ask for nothing but methods and parts."""

    def __init__(self, part_type: PartType) -> None:
        self._type = part_type

    def __getattr__(self, name: str) -> Any:
        method = self._type.method(name)
        if method:
            return MethodType(method, self)
        field = self._type.fields[name]
        return _Ghost(field) if isinstance(field, PartType) else _refuse()

    def __bool__(self) -> bool:
        _refuse()

    def __eq__(self, other: object) -> bool:
        _refuse()

    @property  # type: ignore[misc]
    def __class__(self) -> Any:  # of `isinstance`
        _refuse()


def _refuse() -> NoReturn:
    raise TypeError("only the type of this part is known")


def _kind(value: Any, owner: type[Part]) -> Any:
    """The type of a field in compiled code, or None if it has no place there (what is counted would never be freed).

    Arrays of a user's own part are what they are: code that writes to a read-only one does not compile. Those of the
    package's parts are all alike, for read-only rows, as memory maps and pandas give them, need no code of their own.
    """
    if type(value) is np.ndarray:
        key: Any = value.dtype, value.ndim, value.flags.num, owner.read_only, is_ours(owner.__module__)
    elif type(value) is int and value.bit_length() < 64:
        key = int
    else:
        return _found_kind(value, owner)
    if key not in _kinds:
        _kinds[key] = _found_kind(value, owner)
    return _kinds[key]


def _found_kind(value: Any, owner: type[Part]) -> Any:
    """The type of a field in compiled code, as `_kind` says, found out from the value."""
    try:
        kind = typeof(value)
    except ValueError as error:
        if isinstance(error, PartError):
            raise
        return None
    if isinstance(kind, types.Array) and (owner.read_only or is_ours(owner.__module__)):
        kind = _protected(kind, owner.read_only)
    return kind if _is_plain(kind) else None


@cache
def _protected(kind: types.Array, readonly: bool) -> types.Array:
    return kind.copy(readonly=readonly)


def _is_plain(kind: Any) -> bool:
    if isinstance(kind, types.BaseTuple):
        return all(map(_is_plain, kind.types))
    if isinstance(kind, types.Array):
        return _is_plain(kind.dtype)
    return isinstance(kind, (types.Number, types.Boolean, types.NoneType, PartType))


@typeof_impl.register(Part)
def _typeof_part(part: Part, _context: Any) -> PartType:
    numba_type = part._numba_type_
    _classes[numba_type.reference] = type(part)
    return numba_type


_typeof_array = typeof_impl.dispatch(np.ndarray)


@typeof_impl.register(np.ndarray)
def _typeof_plain_array(array: Any, context: Any) -> types.Array:
    """The type of an array as Numba tells it, who would import `numpy.ma` to ask whether it is masked."""
    if type(array) is not np.ndarray or array.dtype.kind not in "biuf":
        return _typeof_array(array, context)
    return types.Array(from_dtype(array.dtype), array.ndim, map_layout(array), readonly=not array.flags.writeable)


@register_model(PartType)
class _PartModel(models.StructModel):  # type: ignore[misc]
    def __init__(self, manager: Any, part_type: PartType) -> None:
        super().__init__(manager, part_type, list(part_type.fields.items()))


@unbox(PartType)
def _unbox_part(part_type: PartType, part: Any, c: Any) -> NativeValue:
    struct = cgutils.create_struct_proxy(part_type)(c.context, c.builder)
    for name, field_type in part_type.fields.items():
        value = c.pyapi.object_getattr_string(part, name)
        setattr(struct, name, c.unbox(field_type, value).value)
        c.pyapi.decref(value)
    return NativeValue(struct._getvalue(), is_error=cgutils.is_not_null(c.builder, c.pyapi.err_occurred()))


@infer_getattr
class _PartAttributes(AttributeTemplate):  # type: ignore[misc]
    key = PartType

    def generic_resolve(self, part_type: PartType, name: str) -> Any:
        if name in part_type.fields:
            return part_type.fields[name]
        return BoundMethod(part_type, name) if part_type.method(name) else None


@lower_getattr_generic(PartType)
def _lower_field(context: Any, builder: Any, part_type: PartType, value: Any, name: str) -> Any:
    return context.data_model_manager[part_type].get(builder, value, name)


class BoundMethod(types.BoundFunction):  # type: ignore[misc]
    """The type of `part.method`: calling it compiles the class's own source for the types of the arguments."""

    def __init__(self, part_type: PartType, name: str) -> None:
        self.this = part_type
        self.method = name
        self.typing_key = (PartType, name)
        types.Type.__init__(self, f"{part_type}.{name}")

    @property
    def key(self) -> str:
        return self.name

    @property
    def dispatcher(self) -> Any:
        return _dispatcher(self.this, self.method)

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        try:
            signature = self.dispatcher._type.get_call_type(context, (self.this, *args), kws)
        except FAILURES as error:
            raise MethodError(f"{self.this.reference[1]}.{self.method}", error) from None
        return signature.as_method()

    def get_impl_key(self, signature: Any) -> Any:
        return self.dispatcher.get_overload(signature.args)


register_default(BoundMethod)(lambda manager, bound: manager[bound.this])


@cache
def _dispatcher(part_type: PartType, name: str) -> Inlined:
    return Inlined(cast(FunctionType, part_type.method(name)))
