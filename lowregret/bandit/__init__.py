"""Bandits: learners that see only the cost of what they chose, and what can be proved of them all the same."""

from lowregret.bandit.algorithm import BanditAlgorithm
from lowregret.bandit.bandit import Bandit
from lowregret.bandit.base import Played
from lowregret.bandit.costs import BernoulliCosts, Costs, CostTable
from lowregret.bandit.descent import BanditDescent
from lowregret.bandit.estimated import EstimatedDescent
from lowregret.bandit.exp3 import Exp3, Exp3IX
from lowregret.bandit.exp4 import Exp4
from lowregret.bandit.log import BanditLog, bandit_log, read_log
from lowregret.bandit.ranking import ExpertRanking, ScoreRanking
from lowregret.bandit.rejection import Replayed, learn_from, make_algorithm, replay
from lowregret.bandit.stochastic import Thompson, Ucb1
from lowregret.bandit.tsallis import TsallisInf
from lowregret.bandit.value import Estimate, doubly_robust, ips, logged_value, snips

__all__ = [
    "Bandit",
    "BanditAlgorithm",
    "BanditDescent",
    "BanditLog",
    "BernoulliCosts",
    "CostTable",
    "Costs",
    "Estimate",
    "EstimatedDescent",
    "Exp3",
    "Exp3IX",
    "Exp4",
    "ExpertRanking",
    "Played",
    "Replayed",
    "ScoreRanking",
    "Thompson",
    "TsallisInf",
    "Ucb1",
    "bandit_log",
    "doubly_robust",
    "ips",
    "learn_from",
    "logged_value",
    "make_algorithm",
    "read_log",
    "replay",
    "snips",
]
