"""Names of losses on the command line and in JSON."""

from __future__ import annotations

import re

from lowregret.loss.base import Loss
from lowregret.loss.multiclass import MultiLoss, OneAgainstAll, PerceptronLoss
from lowregret.loss.wrapped import Affine, OnMistakes


def loss_name(loss: Loss | MultiLoss) -> str:
    """`SquaredHinge` is squared-hinge, as on the command line."""
    if isinstance(loss, OneAgainstAll):
        return f"oaa:{loss_name(loss.loss)}"
    if isinstance(loss, PerceptronLoss):
        return "hinge"
    while isinstance(loss, OnMistakes | Affine):
        loss = loss.loss
    return re.sub("(?<=[a-z])(?=[A-Z])", "-", type(loss).__name__).lower()
