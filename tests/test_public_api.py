"""Everything that users can call, with its signature, as it stood when it was last agreed upon: `public_api.txt`.

`python -m tests.test_public_api` writes the file anew; the change then shows in the diff.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import lowregret

SNAPSHOT = Path(__file__).with_name("public_api.txt")
MOST_NAMES = 80


def top() -> dict[str, Any]:
    """The names of the package, those of its namespaces last."""
    found = {name: getattr(lowregret, name) for name in sorted(vars(lowregret)["__all__"])}
    return dict(sorted(found.items(), key=lambda item: isinstance(item[1], ModuleType)))


def namespace(module: ModuleType) -> dict[str, Any]:
    """The names of a namespace: what it says is public, else all that it defines."""
    said = getattr(module, "__all__", None)
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    names = said if said is not None else [name for name in own if not name.startswith("_")]
    return {name: getattr(module, name) for name in sorted(names)}


def signature(function: Any) -> str:
    """Arguments and result as they are written: annotations without quotes, functions by name."""
    text = str(inspect.signature(function)).replace("'", "")
    text = re.sub(r"<(?:function|built-in method) ([\w.<>]+)[^<>]* at 0x[0-9a-f]+>", r"\1", text)
    return re.sub(r"ForwardRef\((\w+)\)", r"\1", text)


def own_members(cls: type) -> dict[str, str]:
    """The public methods and properties that a class itself defines, as lines."""
    lines = {}
    for name, value in vars(cls).items():
        if isinstance(value, property | functools.cached_property):
            getter = value.fget if isinstance(value, property) else value.func
            lines[name] = f"{name}: {signature(getter).partition(' -> ')[2]}"
        elif isinstance(value, classmethod | staticmethod):
            lines[name] = f"{name}{signature(value.__func__)}"
        elif inspect.isfunction(value):
            lines[name] = f"{name}{signature(value)}"
    return {name: line for name, line in lines.items() if not name.startswith("_")}


def members(cls: type, known: set[type]) -> list[str]:
    """The members that a class has, but for those that a public base has in the same form."""
    found: dict[str, str] = {}
    above: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.startswith("lowregret"):
            found = own_members(base) | found
            above |= set(own_members(base).values()) if base in known and base is not cls else set()
    return sorted(line for line in found.values() if line not in above)


def described(path: str, value: Any, known: set[type]) -> Iterator[str]:
    """A public name, and what belongs to it."""
    if inspect.isclass(value):
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        plain = getattr(value, "_is_protocol", False) or issubclass(value, Exception)
        made = "" if plain else signature(value).removesuffix(" -> None")
        yield f"class {path}{made}" + f": {bases}" * bool(bases)
        yield from (f"    {line}" for line in members(value, known))
    elif inspect.isfunction(getattr(value, "py_func", value)):
        yield f"def {path}{signature(value)}"
    else:
        yield f"{path}: {type(value).__name__}"


def snapshot() -> str:
    """All public names; one that stands in several places is described in the first and then only named."""
    names = {f"lowregret.{name}": value for name, value in top().items() if not isinstance(value, ModuleType)}
    for name, value in top().items():
        if isinstance(value, ModuleType):
            names |= {f"lowregret.{name}.{inner}": found for inner, found in namespace(value).items()}
    known = {value for value in names.values() if inspect.isclass(value)}
    first: dict[int, str] = {}
    lines: list[str] = []
    for path, value in names.items():
        if isinstance(value, ModuleType):
            lines.append(f"module {path}")
        elif callable(value) and first.setdefault(id(value), path) != path:
            lines.append(f"{path} = {first[id(value)]}")
        else:
            lines += described(path, value, known)
    return "\n".join(lines) + "\n"


def test_the_public_api_is_what_was_agreed_upon() -> None:
    agreed, found = SNAPSHOT.read_text(encoding="utf-8"), snapshot()
    changes = difflib.unified_diff(agreed.splitlines(), found.splitlines(), "agreed", "found", n=0, lineterm="")
    assert agreed == found, "\n".join([*changes, "if this is meant: python -m tests.test_public_api"])


def test_a_snapshot_says_nothing_that_changes_from_run_to_run() -> None:
    assert " at 0x" not in snapshot()


def test_few_names_stand_at_the_top() -> None:
    names = [name for name, value in top().items() if not isinstance(value, ModuleType)]
    assert len(names) <= MOST_NAMES


if __name__ == "__main__":
    SNAPSHOT.write_text(snapshot(), encoding="utf-8")
