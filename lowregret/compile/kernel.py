"""Compiled loops: one set of flags, an on-disk cache that is never stale, and errors in plain words.

`kernel` marks a loop. All it calls is compiled as written and inlined: methods of parts (see `part.py`) and plain
Python functions. Only the loop itself becomes machine code, so nothing is optimised twice.
"""

from __future__ import annotations

import gc
import linecache
import os
import re
from collections.abc import Callable
from functools import cache
from types import CellType, FunctionType
from typing import Any, TypeVar, cast

from llvmlite import binding as llvm  # type: ignore[import-untyped]
from numba import _dynfunc, types
from numba.core import config
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.errors import NumbaError, TypingError, UnsupportedBytecodeError
from numba.core.registry import CPUDispatcher

from lowregret.compile.builtins import BUILTINS
from lowregret.compile.cache import KernelCache
from lowregret.compile.context import import_arrays
from lowregret.compile.digest import digest, names, package_stamp
from lowregret.compile.forks import wait_with_forks
from lowregret.compile.pipeline import QUICK, contexts, pipeline
from lowregret.errors import PartError

Function = TypeVar("Function", bound=Callable[..., Any])

# Results must not depend on the optimiser's mood, so fastmath stays off. The NumPy error model spares a branch per
# division. Without Numba's memory manager compiled code cannot allocate, and pays for no reference counts. Every index
# is checked (`address.py`), whatever was checked before: that takes 3 to 14 %, and nothing is read or written
# outside of arrays, by parts of a user's own and rows that another thread changes either.
_FLAGS = {
    "nopython": True,
    "boundscheck": True,
    "error_model": "numpy",
    "nogil": True,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


def kernel(function: Function) -> Function:
    """Compile `function` on first use; `.py_func` is the same code interpreted."""
    if config.DISABLE_JIT:
        function.py_func = function  # type: ignore[attr-defined]
        return function
    return cast(Function, _Kernel(cast(FunctionType, function)))


def apart(function: Function) -> Function:
    """Mark a function that is seldom called, or takes far longer than a call: its code is there once in a loop."""
    function.apart = True  # type: ignore[attr-defined]
    return function


def compact(function: Function) -> Function:
    """Mark a loop of which LLVM makes no copies for what its branches decide once and for all, such as sound indices.

    Those make small loops faster. One as large as `auto`'s takes twice as long to compile for them, and gains nothing.
    """
    function.compact = True  # type: ignore[attr-defined]
    return function


wait_with_forks()
package_stamp()  # of the sources as they are imported: by the time that a loop is compiled they may be others


class _Kernel(CPUDispatcher):  # type: ignore[misc]
    def __init__(self, function: FunctionType) -> None:
        compiler = _CompactCompiler if hasattr(function, "compact") else _KernelCompiler
        super().__init__(function, targetoptions=dict(_FLAGS), pipeline_class=compiler)
        self._cache = KernelCache(function)

    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        """Called when there is no machine code for these types of arguments yet."""
        for arg in args:
            getattr(arg, "_numba_type_", None)  # a part that cannot be compiled says why; Numba would not pass it on
        collecting = gc.isenabled()
        gc.disable()  # compiling makes no garbage worth a tenth of its time
        try:
            return super()._compile_for_args(*args, **kwargs)
        except FAILURES as error:
            raise PartError(_explanation(self.__name__, error)) from None
        finally:
            if collecting:
                gc.enable()

    def __reduce__(self) -> Any:
        """Pickle by name; what another machine could not import, by value."""
        unnamed = self.__module__ == "__main__" or "<locals>" in self.__qualname__
        return (kernel, (self.py_func,)) if unnamed else self.__qualname__


class Inlined(CPUDispatcher):  # type: ignore[misc]
    """A function that compiled code can call, but that is not made machine code of its own."""

    def __init__(self, function: Callable[..., Any]) -> None:
        flags = _FLAGS | {"forceinline": not hasattr(function, "apart"), "no_cpython_wrapper": True}
        super().__init__(function, targetoptions=flags, pipeline_class=_InlineCompiler)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        return super().get_call_template(tuple(map(_general, args)), {name: _general(kws[name]) for name in kws})


def _general(argument: Any) -> Any:
    """The type to compile for: not again for every literal and every width of an integer."""
    plain = types.unliteral(argument)
    if isinstance(plain, types.Integer):
        return types.int64 if plain.signed else types.uint64
    return plain


# ---- compiling ------------------------------------------------------------------------------------------------------


class _InlineLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code as it was written, for linking into callers."""

    def _optimize_functions(self, module: Any) -> None:
        pass

    def finalize(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == llvm.Linkage.external:
                function.linkage = "linkonce_odr"
        self._shared_module = self._final_module
        self._finalized = True


_WRAPPER = "_ZN7cpython"  # so begin the names of functions that turn Python's arguments into numbers


class _KernelLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code linked with all it calls, directly or not, then optimised and made machine code."""

    level = 3  # at most, of LLVM's

    def _optimize_functions(self, module: Any) -> None:
        """Do nothing: all is optimised at once, when it is linked."""

    def finalize(self) -> None:
        self._linking_libraries = list(_callees_first(self, {}))[::-1]  # the linker drops what nobody calls yet
        super().finalize()

    def _optimize_final_module(self) -> None:
        """Optimise once: Numba's first round is for reference counts, of which there are none."""
        for function in self._final_module.functions:
            if function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = "internal"  # nobody else calls it: arguments that it does not need are dropped
            elif function.name.startswith(_WRAPPER) and not function.is_declaration:
                for attribute in ("noinline", "optnone"):
                    function.add_function_attribute(attribute)
        passes, builder = self._codegen._module_pass_manager(opt=min(self.level, config.OPT))
        passes.run(self._final_module, builder)

    def serialize_using_object_code(self) -> Any:
        """Machine code alone: Numba adds the LLVM code for callers to inline, of which most of a file would be."""
        self._ensure_finalized()
        return self.name, "object", (self._get_compiled_object(), llvm.parse_assembly("").as_bitcode())


class _CompactLibrary(_KernelLibrary):
    level = 2  # which makes no copies of loops


def _callees_first(library: Any, order: dict[Any, None]) -> dict[Any, None]:
    for callee in library._linking_libraries:
        if callee not in order:
            if isinstance(callee, _InlineLibrary):
                _callees_first(callee, order)
            order[callee] = None
    return order


class _KernelCompiler(Compiler):  # type: ignore[misc]
    library: type[JITCodeLibrary] = _KernelLibrary

    def __init__(self, typing: Any, target: Any, *args: Any) -> None:
        if self.library is not _InlineLibrary:
            import_arrays()
            target.refresh()
        super().__init__(*contexts(typing, target), *args)

    def define_pipelines(self) -> Any:
        return [pipeline(self.state)]

    def compile_extra(self, function: FunctionType) -> Any:
        self.state.library = self.library(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        if QUICK:
            self.state.targetctx.about(function.__code__, self.library is _InlineLibrary)
        result = super().compile_extra(_with_helpers(function, self.state.typingctx))
        return self.finished(result)

    def finished(self, result: Any) -> Any:
        for environment in result._find_referenced_environments():  # of inlined functions: `print` needs them
            result.library.codegen.set_env(environment.env_name, environment)
        return result


class _CompactCompiler(_KernelCompiler):
    library = _CompactLibrary


class _InlineCompiler(_KernelCompiler):
    library = _InlineLibrary

    def compile_extra(self, function: FunctionType) -> Any:
        self.state.flags.no_compile = True
        return super().compile_extra(function)

    def finished(self, result: Any) -> Any:
        """Register the function under a handle that has no machine code behind it."""
        result.library.finalize()
        description = result.fndesc
        handle = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", 0, result.environment, (result.library,)
        )
        result.target_context.insert_user_function(handle, description, [result.library])
        return result._replace(entry_point=handle)


def _with_helpers(function: FunctionType, context: Any) -> FunctionType:
    """`function`, with the plain Python functions it mentions made callable from compiled code."""

    def helper(value: Any) -> Any:
        if isinstance(value, _Kernel):
            value = value.py_func
        plain = isinstance(value, FunctionType) and context._lookup_global(value) is None
        return _inlined(value, digest(value)) if plain else value

    known = BUILTINS | function.__globals__
    mentioned = {name: helper(known[name]) for name in names(function.__code__) if name in known}
    cells = [helper(cell.cell_contents) for cell in function.__closure__ or ()]
    copy = FunctionType(
        function.__code__, known | mentioned, function.__name__, function.__defaults__, tuple(map(CellType, cells))
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__module__ = function.__module__
    copy.__qualname__ = function.__qualname__
    return copy


@cache
def _inlined(function: FunctionType, _digest: str) -> Inlined:
    return Inlined(function)


# ---- errors ---------------------------------------------------------------------------------------------------------

FAILURES = (NumbaError, UnsupportedBytecodeError, NotImplementedError)  # what Numba raises
_REMEDY = (
    "Compiled code works on numbers, tuples and elements of arrays, with math.*, NumPy scalars, parts and plain "
    "functions of these, and cannot make arrays, lists or strings: rewrite it, or run it slowly with compiled=False"
)
_EXPLAINED = re.compile("⟦(.*?)⟧", re.DOTALL)
_PLACE = re.compile(r'File "([^"\n]+)", line (\d+)|Raised from (.+) \((\d+)\)')


class MethodError(TypingError):
    """A method of a part cannot be compiled. Numba may try other types yet, and passes errors on as text."""

    def __init__(self, method: str, error: Exception) -> None:
        super().__init__(f"⟦{_explanation(method, error)}⟧", highlighting=False)


def _explanation(function: str, error: Exception) -> str:
    """A message that says which function cannot be compiled (the innermost that failed), why, where, and what to do."""
    text = re.sub(r"\x1b\[[0-9;]*m|@[0-9a-f]{16}", "", str(error))  # without colours and digests of parts
    inner = _EXPLAINED.search(text)
    return inner[1] if inner else f"{function} does not compile: {_cause(text)}{_place(error, text)}\n{_REMEDY}"


def _cause(text: str) -> str:
    if "NRT required" in text or "Only accept returning of array" in text:
        return "it makes an array"
    if "setitem(readonly array" in text:
        return "it writes to an array that is read-only: give it a copy of its own"
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not line.startswith("Failed in nopython mode")]
    call = [line.removeprefix(">>> ") for line in lines if line.startswith(">>> ")]
    return " ".join(said[:1] + call[:1]).rstrip(".")


def _place(error: Exception, text: str) -> str:
    loc = getattr(error, "loc", None)
    found = _PLACE.search(text)
    if loc:
        file, line = loc.filename, loc.line
    elif found:
        file, line = found[1] or found[3], int(found[2] or found[4])
    else:
        return ""
    return f" ({os.path.abspath(file)}, line {line}): {linecache.getline(os.path.abspath(file), line).strip()}"
