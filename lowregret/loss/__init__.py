"""Losses ℓ(p, y) of a score p = ⟨w, x⟩: see `kind.py`."""

from lowregret.loss.kind import Loss, Margin
from lowregret.loss.linear import Cost, LogWealth
from lowregret.loss.margin import Hinge, Logistic, SquaredHinge
from lowregret.loss.regression import Absolute, EpsilonInsensitive, Huber, Poisson, Quantile, Square
from lowregret.loss.wrapped import Affine, OnMistakes

__all__ = [
    "Absolute",
    "Affine",
    "Cost",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LogWealth",
    "Logistic",
    "Loss",
    "Margin",
    "OnMistakes",
    "Poisson",
    "Quantile",
    "Square",
    "SquaredHinge",
]
