"""Bandits: learners that see only the cost of what they chose, and what can be proved of them all the same."""

from lowregret.bandit.algorithm import BanditAlgorithm, Exp3, Exp3IX
from lowregret.bandit.bandit import Bandit, Played
from lowregret.bandit.costs import BernoulliCosts, Costs, CostTable
from lowregret.bandit.stochastic import Thompson, Ucb1
from lowregret.bandit.tsallis import TsallisInf

__all__ = [
    "Bandit",
    "BanditAlgorithm",
    "BernoulliCosts",
    "CostTable",
    "Costs",
    "Exp3",
    "Exp3IX",
    "Played",
    "Thompson",
    "TsallisInf",
    "Ucb1",
]
