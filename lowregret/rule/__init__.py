"""Update rules: how a sub-gradient moves the iterate.

`Lazy` keeps gradient sums, `Eager` keeps the iterate; `Diagonal` and `Proximal` have a rate for each coordinate.
"""

from lowregret.rule.adagrad import Diagonal, Precision, Proportional, Proximal, Root
from lowregret.rule.base import SEEN, Rule
from lowregret.rule.betting import COCOB, KT, Betting, FreeGrad
from lowregret.rule.confidence import Arow
from lowregret.rule.mirror_descent import Lazy
from lowregret.rule.nag import Normalised
from lowregret.rule.newton import Newton
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.rule.projected_gradient import Eager, Forgotten, Gradients, Summed

__all__ = [
    "COCOB",
    "KT",
    "SEEN",
    "Arow",
    "Betting",
    "Diagonal",
    "Eager",
    "Forgotten",
    "FreeGrad",
    "Gradients",
    "Lazy",
    "Newton",
    "Normalised",
    "PerCoordinate",
    "Precision",
    "Proportional",
    "Proximal",
    "Root",
    "Rule",
    "Summed",
]
