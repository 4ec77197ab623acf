"""Update rules: how a sub-gradient moves the iterate.

`Lazy` keeps gradient sums, `Eager` keeps the iterate; `Diagonal` and `Proximal` have a rate for each coordinate.
"""

from lowregret.rule.adagrad import Diagonal, Precision, Proportional, Proximal, Root
from lowregret.rule.betting import COCOB, KT, Betting, FreeGrad
from lowregret.rule.eager import Eager, Forgotten, Gradients, Summed
from lowregret.rule.lazy import Lazy
from lowregret.rule.percoordinate import PerCoordinate
from lowregret.rule.rule import SEEN, Rule

__all__ = [
    "COCOB",
    "KT",
    "SEEN",
    "Betting",
    "Diagonal",
    "Eager",
    "Forgotten",
    "FreeGrad",
    "Gradients",
    "Lazy",
    "PerCoordinate",
    "Precision",
    "Proportional",
    "Proximal",
    "Root",
    "Rule",
    "Summed",
]
