"""Who a part is: a class that changes another is no longer that other, and inherits nothing that was known of it.

Theorems speak of classes (`isinstance(loss, Hinge)`) and believe what these say of themselves (`loss.curvature`). Both
would be false of a subclass with methods of its own:

    class Weighted(Hinge):
        def at(self, p, y): ...

So `isinstance(Weighted(), Hinge)` is False, though it is a `Margin` and a `Loss`; and of the facts that its family
names in `facts`, it has those of its own body, else what the family says where nothing is known. A subclass that
changes nothing, or only how it is called and shown, is what its base is.
"""

from __future__ import annotations

from abc import ABCMeta
from inspect import isabstract
from typing import Any

from lowregret.compile.digest import is_ours

# What no theorem asks for: how a part is called and shown, and what is noted here.
SHOWN = {"name", "purpose", "labels", "describe", "predictions", "probabilities", "alters"}


class Kind(ABCMeta):
    """The class of classes of parts: an instance of a class that changes another is not one of that other."""

    alters: frozenset[type]

    def __instancecheck__(cls, instance: Any) -> bool:
        """`isinstance`, by bases alone: parts have no others, and theorems ask often."""
        return type.__instancecheck__(cls, instance) and cls not in getattr(type(instance), "alters", ())

    def __setattr__(cls, name: str, value: Any) -> None:
        """Set what may change a class that is there already, as reloading a module does: it is settled anew."""
        super().__setattr__(name, value)
        if "alters" in vars(cls) and not (name.startswith("_abc_") or _is_dunder(name)):
            _settle_again(cls)


def settle_facts(cls: Any, root: type) -> None:
    """Note which of the package's classes a user's class alters, and take from it what is only known of its bases."""
    type.__setattr__(cls, "alters", frozenset())
    if is_ours(cls.__module__):
        return
    line = cls.__mro__
    finished = [k for k, c in enumerate(line) if k and _is_finished(c, line[:k], root)]
    changed = [k for k in finished if any(_changes(c, line[k]) for c in line[:k] if _is_foreign(c, line[k]))]
    type.__setattr__(cls, "alters", frozenset(line[k] for k in changed if is_ours(line[k].__module__)))
    if changed and changed[0] == finished[0]:
        own = {name for c in line[: finished[0]] for name in (*vars(c), *vars(c).get("__annotations__", ()))}
        for name, unknown in cls.facts.items():
            if name not in own:
                type.__setattr__(cls, name, unknown)


def _settle_again(cls: Any) -> None:
    """Settle a class that was changed, and those that inherit from it."""
    settle_facts(cls, next(c for c in reversed(cls.__mro__) if isinstance(c, Kind)))
    for inheriting in cls.__subclasses__():
        _settle_again(inheriting)


def is_own(part: Any) -> bool:
    """Whether a part, or one that it is made of, is of a user's own class."""
    if not is_ours(type(part).__module__):
        return True
    inside = [item for value in part.parameters.values() for item in (value if isinstance(value, tuple) else [value])]
    return any(isinstance(type(item), Kind) and is_own(item) for item in inside)


def _is_finished(c: type, before: tuple[type, ...], root: type) -> bool:
    """Whether a class among the bases is one that parts are made of, not a kind of which there are many."""
    kinds = any(isabstract(other) and issubclass(other, c) for other in before)
    return issubclass(c, root) and c is not root and not (isabstract(c) or kinds)


def _is_foreign(c: type, base: type) -> bool:
    """Whether a class that comes before a base is a user's, or one that only a user has put before it."""
    return not (is_ours(c.__module__) and issubclass(c, base))


def _changes(c: type, base: type) -> bool:
    """Whether the body of a class replaces what its base has; another default of a parameter is no change."""
    parameters = getattr(base, "__dataclass_fields__", {})
    return any(
        hasattr(base, name) and not (name in SHOWN or (name in parameters and not hasattr(value, "__get__")))
        for name, value in vars(c).items()
        if not (name.startswith("_abc_") or _is_dunder(name))
    )


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
