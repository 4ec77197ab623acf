"""Losses that say how likely classes are."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowregret.errors import PartError
from lowregret.loss import Affine, Logistic, MultiLoss


def tells_chances(loss: Any) -> bool:
    """Whether a loss says how likely classes are; an `AttributeError` tells why one of many classes does not."""
    while isinstance(loss, Affine):
        loss = loss.loss
    if isinstance(loss, MultiLoss):
        try:
            loss.probabilities(np.zeros((1, 2)))
        except PartError as error:
            raise AttributeError(str(error)) from None
    return isinstance(loss, Logistic | MultiLoss)
