"""Parts that lack something: what is missing, what it is for, and what the methods that may be left out would give."""

from __future__ import annotations

import inspect
from typing import Any

from lowregret.errors import PartError


def require_complete(cls: Any) -> None:
    """Raise a `PartError` that names the methods that a class of parts must have and lacks."""
    lacking = [name for c in reversed(cls.__mro__) for name in vars(c) if name in cls.__abstractmethods__]
    if not lacking:
        return
    needed = "; ".join(f"{_called(cls, name)}: {_purpose(cls, name)}" for name in dict.fromkeys(lacking))
    absent = {names: use for names, use in cls.gives.items() if not _has(cls, names)}
    further = "; ".join(f"{names}: {use}" for names, use in absent.items())
    raise PartError(
        f"{cls.__name__} is not complete. It must have {needed.rstrip('.')}."
        + (f" It may have {further}." if further else "")
        + (f" {cls.instead}" if cls.instead else "")
    )


def _called(cls: Any, name: str) -> str:
    """A method as it is called, its arguments named; a property by its name."""
    found = inspect.getattr_static(cls, name)
    if isinstance(found, property):
        return name
    arguments = list(inspect.signature(getattr(found, "__func__", found)).parameters)[1:]
    return f"{name}({', '.join(arguments)})"


def _purpose(cls: Any, name: str) -> str:
    """The first line of what the docstring says of a method."""
    return (inspect.getdoc(inspect.getattr_static(cls, name)) or "no word on it").split("\n")[0].rstrip(".")


def _has(cls: Any, names: str) -> bool:
    """Whether a class, and not only a kind of which there are many, has one of these methods."""
    owners = [next((c for c in cls.__mro__ if name in vars(c)), None) for name in names.split(", ")]
    return any(owner is not None and "gives" not in vars(owner) for owner in owners)
