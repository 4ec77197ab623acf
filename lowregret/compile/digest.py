"""Digests of all that compiled code depends on: a cached entry must never be used for other code.

- `package_stamp`: every source file of the package, and the versions of what compiles it.
- `digest`: for code outside the package, all bytecode, constants, default arguments and global values it can reach.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite  # type: ignore[import-untyped]
import numba
import numpy as np

FIXED_PACKAGES = {"numpy", "scipy", "numba", "llvmlite"}
_STANDARD_LIBRARY = os.path.dirname(os.__file__) + os.sep
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), np.generic, np.dtype)


def is_ours(module: str) -> bool:
    """Whether a module belongs to this package."""
    return module == "lowregret" or module.startswith("lowregret.")


@cache
def package_stamp() -> str:
    """Changes with any edit or upgrade of the package, of Python, NumPy, Numba or LLVM."""
    stamp = hashlib.sha256(repr((sys.version, numba.__version__, llvmlite.__version__, np.__version__)).encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.rglob("*.py")):
        stamp.update(str(path.relative_to(root)).encode())
        stamp.update(path.read_bytes())
    return stamp.hexdigest()[:16]


def digest(code: type | FunctionType) -> str:
    """Names what a class's methods, or a function, compile to.

    Computed anew each time for code outside the package: a notebook may redefine what a method calls.
    """
    if _is_stamped(code):
        return package_stamp()
    text = "\n".join(_texts(code, (), set()))
    return hashlib.sha256(f"{package_stamp()}\n{text}".encode()).hexdigest()[:16]


def _is_stamped(thing: FunctionType | type) -> bool:
    """Whether the package's sources alone determine `thing`, which is not so for what it makes in a function."""
    module, name = _home(thing)
    return is_ours(module) and "<locals>" not in name


def _home(thing: FunctionType | type) -> tuple[str, str]:
    """The module in which `thing` was written and its name there; `functools.wraps` gives functions those of others."""
    if isinstance(thing, FunctionType):
        return thing.__globals__.get("__name__") or "", thing.__code__.co_qualname
    return thing.__module__ or "", thing.__qualname__


def names(code: CodeType) -> list[str]:
    """The global and attribute names that a piece of code mentions."""
    inner = (name for const in code.co_consts if isinstance(const, CodeType) for name in names(const))
    return sorted({*code.co_names, *inner})


def _texts(thing: Any, mentioned: Iterable[str], seen: set[tuple[int, Iterable[str]]]) -> Iterator[str]:
    """Texts that together determine what `thing` compiles to; `mentioned` are the names used beside it."""
    if isinstance(thing, (FunctionType, type, ModuleType)):
        yield f"{thing.__name__}"
        key = (id(thing), tuple(mentioned) if isinstance(thing, ModuleType) else ())
        if key not in seen and not _is_fixed(thing):
            seen.add(key)
            yield from _function(thing, seen) if isinstance(thing, FunctionType) else _members(thing, mentioned, seen)
    elif hasattr(thing, "py_func"):  # compiled by Numba
        yield repr(getattr(thing, "targetoptions", ""))
        yield from _texts(thing.py_func, mentioned, seen)
    elif isinstance(thing, Enum):
        yield from _texts((type(thing).__name__, thing.name, thing.value), mentioned, seen)
    elif isinstance(thing, _PLAIN):
        yield _exact(thing)
    elif isinstance(thing, np.ndarray):
        yield f"{thing.dtype}{thing.shape}{hashlib.sha256(thing.tobytes()).hexdigest()}"
    elif isinstance(thing, (tuple, list)):
        yield f"{type(thing).__name__} of {len(thing)} {getattr(thing, '_fields', '')}"
        for item in thing:
            yield from _texts(item, mentioned, seen)
    elif isinstance(thing, (set, frozenset)):
        yield from sorted(map(repr, thing))
    elif isinstance(thing, dict):
        yield from _texts(list(thing.items()), mentioned, seen)
    else:
        yield f"{type(thing).__module__}.{type(thing).__qualname__}"
        if callable(thing):  # a function of `math` or NumPy, under whatever name
            yield f"{getattr(thing, '__module__', '')} {thing!r}"


def _exact(thing: Any) -> str:
    """A number or a text in full, whatever the `repr` of a class of its own leaves out."""
    kind: Any = next(kind for kind in _PLAIN if isinstance(thing, kind))
    return f"{type(thing).__name__} {thing!r} {'' if kind is np.generic else kind.__repr__(thing)}"


def _is_fixed(thing: FunctionType | type | ModuleType) -> bool:
    """Whether `thing` can only change with a version that is stamped already."""
    if isinstance(thing, ModuleType):
        name, stamped = thing.__name__, is_ours(thing.__name__)
    else:
        name, stamped = _home(thing)[0], _is_stamped(thing)
    if stamped or name.partition(".")[0] in FIXED_PACKAGES or name in sys.builtin_module_names:
        return True
    file = getattr(sys.modules.get(name), "__file__", None) or ""
    return file.startswith(_STANDARD_LIBRARY) and "site-packages" not in file


def _function(function: FunctionType, seen: set[Any]) -> Iterator[str]:
    yield from _code(function.__code__)
    yield from _texts((function.__defaults__, function.__kwdefaults__), (), seen)
    mentioned = names(function.__code__)
    known = function.__globals__
    yield from _values({name: known[name] for name in mentioned if name in known}, mentioned, seen)
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    yield from _values({name: _content(cell) for name, cell in cells}, mentioned, seen)


def _members(thing: type | ModuleType, mentioned: Iterable[str], seen: set[Any]) -> Iterator[str]:
    """Texts of a module's names that were mentioned, or of all a class has and inherits (but no defaults of fields)."""
    if isinstance(thing, ModuleType):
        yield from _values({name: vars(thing)[name] for name in mentioned if name in vars(thing)}, mentioned, seen)
    else:
        own = {name: value for name, value in sorted(vars(thing).items()) if not name.startswith(("__", "_abc_"))}
        if is_dataclass(thing):
            own = {name: value for name, value in own.items() if isinstance(value, FunctionType)}
        yield from _values(own, (), seen)
        yield from _texts(thing.__bases__, (), seen)


def _values(values: dict[str, Any], mentioned: Iterable[str], seen: set[Any]) -> Iterator[str]:
    for name, value in values.items():
        yield name
        yield from _texts(value, mentioned, seen)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return None


def _code(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex() + code.co_exceptiontable.hex()
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for const in code.co_consts:
        if isinstance(const, CodeType):
            yield from _code(const)
        elif isinstance(const, frozenset):  # its order changes from process to process
            yield repr(sorted(map(repr, const)))
        else:
            yield repr(const)
