"""The learner that needs no tuning: see docs/auto.md."""

from lowregret.auto.binary import AutoClassifier
from lowregret.auto.classes import AutoMulticlass
from lowregret.auto.learner import Auto
from lowregret.auto.regression import AutoRegressor

__all__ = ["Auto", "AutoClassifier", "AutoMulticlass", "AutoRegressor"]
