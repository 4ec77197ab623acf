"""The contexts that functions are compiled in: Numba's, made quicker where most of the time went.

- Functions that are inlined take whole structs. Numba passes the fields of structs and arrays one by one, and looks at
  every way in which a call may end; as inlining undoes the call, that was a third of all code to write and to optimise.
- What was found out about the types of `a + b` is not found out again in every function.
- What others may have registered is looked for once per loop, not at every function and call.
"""

from __future__ import annotations

import sys
from copy import copy
from functools import cache
from types import CodeType
from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.core import cgutils
from numba.core.callconv import RETCODE_OK, CPUCallConv, Status, errcode_t, excinfo_ptr_t
from numba.core.cpu import CPUContext
from numba.core.datamodel import models, register_default
from numba.core.errors import TypingError
from numba.core.typing import Context

_inlined: set[str] = set()  # names of functions that take whole structs


def import_arrays() -> None:
    """Import what compiling needs to know of arrays, without SciPy's linear algebra: Numba looks whether it is there.

    SciPy is among our requirements, and functions that use it look again.
    """
    if "numba.np.arraymath" not in sys.modules:
        from numba.np import linalg

        look, linalg.ensure_blas = linalg.ensure_blas, lambda: None
        try:
            import numba.np.arraymath  # noqa: F401
        finally:
            linalg.ensure_blas = look


class _Remembering(types.Function):  # type: ignore[misc]
    """A function of Numba's, such as `operator.add`, that remembers what it returns for which types."""

    def __init__(self, function: types.Function) -> None:
        super().__init__(function.templates)
        self._known: dict[tuple[Any, ...], Any] = {}

    def get_call_type(self, context: Any, args: Any, kws: Any) -> Any:
        if kws:
            return super().get_call_type(context, args, kws)
        key = tuple(args)
        if key not in self._known:
            try:
                self._known[key] = super().get_call_type(context, args, kws)
            except TypingError as error:
                self._known[key] = error
        if isinstance(self._known[key], TypingError):
            raise self._known[key]
        return self._known[key]


register_default(_Remembering)(models.OpaqueModel)


class KernelTyping(Context):  # type: ignore[misc]
    """Finds the types of expressions."""

    def resolve_function_type(self, function: Any, args: Any, kws: Any) -> Any:
        kind = function if isinstance(function, types.Function) else self._remembered(function)
        return kind.get_call_type(self, args, kws) if kind else super().resolve_function_type(function, args, kws)

    def resolve_value_type(self, value: Any) -> Any:
        return self._remembered(value) or super().resolve_value_type(value)

    def _remembered(self, value: Any) -> _Remembering | None:
        """The type of a function of Numba's, which callers are given one and the same of; None of anything else."""
        kind = self._lookup_global(value)
        return _remembering(kind) if isinstance(kind, types.Function) else None

    def refresh(self) -> None:
        """Look for what was registered while compiling."""
        for registry in list(self._registries):
            self.install_registry(registry)


class KernelContext(CPUContext):  # type: ignore[misc]
    """Turns typed expressions into LLVM code."""

    inlined = False  # whether the function at hand is one to inline
    tries = False  # whether it catches exceptions

    def about(self, code: CodeType, inlined: bool) -> None:
        """Say which function is at hand."""
        self.inlined, self.tries = inlined, bool(code.co_exceptiontable)

    @property
    def call_conv(self) -> Any:
        return _CallConv(self)

    def declare_function(self, module: Any, description: Any) -> Any:
        name = description.mangled_name
        if self.inlined and description.inline and description is self.fndesc:
            _inlined.add(name)
        if name not in _inlined:
            function = super().declare_function(module, description)
            if description is self.fndesc:
                function.attributes.add("noinline")
            return function
        result = self.call_conv.get_return_type(description.restype)
        arguments = map(self.get_value_type, description.argtypes)
        kind = ir.FunctionType(errcode_t, [result, excinfo_ptr_t.as_pointer(), *arguments])
        function = cgutils.get_or_insert_function(module, kind, name)
        function.attributes.add("alwaysinline")
        return function

    def get_getattr(self, kind: Any, name: str) -> Any:
        if isinstance(kind, types.Array) and name == "size":
            return _size
        return super().get_getattr(kind, name)

    def refresh(self) -> None:
        """Look for what was registered while compiling."""
        for registry in list(self._registries):
            self.install_registry(registry)


def _size(context: Any, builder: Any, kind: types.Array, array: Any, _name: str) -> Any:
    return context.data_model_manager[kind].get(builder, array, "nitems")


class _CallConv(CPUCallConv):  # type: ignore[misc]
    def decode_arguments(self, builder: Any, kinds: Any, function: Any) -> Any:
        if function.name in _inlined:
            return self.get_arguments(function)
        return super().decode_arguments(builder, kinds, function)

    def call_function(self, builder: Any, callee: Any, kind: Any, kinds: Any, args: Any, attrs: Any = None) -> Any:
        if callee.name not in _inlined:
            return super().call_function(builder, callee, kind, kinds, args, attrs)
        result = cgutils.alloca_once(builder, self.get_return_type(kind).pointee)
        problem = self._get_excinfo_argument(builder.function)  # the caller's own: it passes through
        expected = callee.function_type.args[2:]
        given = [
            x if x.type == t else ir.Constant(t, None) for x, t in zip(args, expected, strict=True)
        ]  # or a default
        code = builder.call(callee, [result, problem, *given])
        if self.context.tries or isinstance(kind, types.Optional):
            status = self._get_return_status(builder, code, builder.load(problem))
        else:
            status = Status(code, None, None, builder.icmp_signed("!=", code, RETCODE_OK), None, None, None, None)
        return status, self.context.get_returned_value(builder, kind, builder.load(result))

    def return_status_propagate(self, builder: Any, status: Any) -> None:
        if status.excinfoptr is None:
            builder.ret(status.code)
        else:
            super().return_status_propagate(builder, status)


@cache
def _remembering(function: types.Function) -> _Remembering:
    return _Remembering(function)


@cache
def kernel_typing(context: Context) -> KernelTyping:
    """Numba's typing context as one of ours: what either learns, both know."""
    ours = copy(context)
    ours.__class__ = KernelTyping
    return ours


@cache
def kernel_context(context: CPUContext) -> KernelContext:
    """Numba's target context as one of ours."""
    ours = copy(context)
    ours.__class__ = KernelContext
    ours.typing_context = kernel_typing(context.typing_context)
    return ours
