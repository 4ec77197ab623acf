"""Losses ℓ(p, y) of a score p = ⟨w, x⟩: see `base.py`; and of many scores: see `multiclass.py`."""

from lowregret.loss.base import Loss, Margin
from lowregret.loss.linear import Cost, LogWealth
from lowregret.loss.margin import Hinge, Logistic, SquaredHinge
from lowregret.loss.multiclass import CostHinge, MultiHinge, MultiLoss, OneAgainstAll, PerceptronLoss, Softmax
from lowregret.loss.regression import Absolute, EpsilonInsensitive, Huber, Poisson, Quantile, Square
from lowregret.loss.wrapped import Affine, OnMistakes

__all__ = [
    "Absolute",
    "Affine",
    "Cost",
    "CostHinge",
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LogWealth",
    "Logistic",
    "Loss",
    "Margin",
    "MultiHinge",
    "MultiLoss",
    "OnMistakes",
    "OneAgainstAll",
    "PerceptronLoss",
    "Poisson",
    "Quantile",
    "Softmax",
    "Square",
    "SquaredHinge",
]
