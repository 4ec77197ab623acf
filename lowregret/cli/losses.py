"""From words to losses: `quantile:0.9` is Quantile(0.9), `oaa:hinge` is OneAgainstAll(Hinge())."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import fields
from typing import Any

from lowregret.errors import PartError
from lowregret.loss import LOSSES, Loss, MultiLoss, NamedLoss


def make_loss(words: str) -> Loss:
    """A loss of one score."""
    loss = _make(words)
    if not isinstance(loss, Loss):
        raise PartError(f"--loss {words} is a loss of many classes, which has no place here")
    return loss


def make_class_loss(words: str) -> MultiLoss | None:
    """A loss of many classes; None if it is of one score, or does not exist."""
    loss = _make(words) if _is_of_classes(words) else None
    return loss if isinstance(loss, MultiLoss) else None


def wants_classes(args: Namespace) -> bool:
    """Whether labels are to be read as classes, of which there may be many."""
    if args.algorithm:
        from lowregret.zoo import ALGORITHMS

        if ALGORITHMS[args.algorithm].classes:
            return True
    return _is_of_classes(args.loss or "")


def _is_of_classes(words: str) -> bool:
    return issubclass(LOSSES.get(words.partition(":")[0], NamedLoss), MultiLoss)


def _make(words: str) -> NamedLoss:
    name, colon, given = words.partition(":")
    if name not in LOSSES:
        raise PartError(f"--loss: there is no loss {name!r}; there are {', '.join(LOSSES)}")
    kind: Any = LOSSES[name]
    parameters = fields(kind)
    if colon and not parameters:
        raise PartError(f"--loss: {name} takes no parameter, got {given!r}")
    try:
        if not colon:
            return kind()
        return kind(float(given) if parameters[0].type == "float" else _make(given))
    except ValueError as error:
        raise PartError(f"--loss {words}: {error}") from None
