"""What losses are called on the command line and in JSON."""

from __future__ import annotations

import re

from lowregret.loss.base import Loss
from lowregret.loss.margin import Hinge
from lowregret.loss.multiclass import MultiLoss, OneAgainstAll, PerceptronLoss
from lowregret.loss.wrapped import Affine, OnMistakes


def loss_name(loss: Loss | MultiLoss) -> str:
    """A loss's own name, else that of its class with hyphens; of a loss around another, the name of the other."""
    if isinstance(loss, OneAgainstAll):
        return f"{loss.name}:{loss_name(loss.loss)}"
    if isinstance(loss, PerceptronLoss):
        return Hinge.name
    while isinstance(loss, OnMistakes | Affine):
        loss = loss.loss
    own: str | None = type(loss).__dict__.get("name")
    return own or re.sub("(?<=[a-z])(?=[A-Z])", "-", type(loss).__name__).lower()
