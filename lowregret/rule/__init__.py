"""Update rules: how a sub-gradient moves the iterate.

`MirrorDescent` keeps gradient sums, `ProjectedGradient` keeps the iterate; the others have a rate for each
coordinate.
"""

from lowregret.rule.adagrad import AdaGrad, Diagonal, DiagonalNewton
from lowregret.rule.arow import AROW
from lowregret.rule.base import SEEN, Rule
from lowregret.rule.betting import COCOB, KT, Betting, FreeGrad
from lowregret.rule.ftrl_proximal import FTRLProximal
from lowregret.rule.mirror_descent import MirrorDescent
from lowregret.rule.nag import NAG
from lowregret.rule.newton import Newton
from lowregret.rule.per_coordinate import PerCoordinate
from lowregret.rule.projected_gradient import Forgotten, Gradients, ProjectedGradient, Summed

__all__ = [
    "AROW",
    "COCOB",
    "KT",
    "NAG",
    "SEEN",
    "AdaGrad",
    "Betting",
    "Diagonal",
    "DiagonalNewton",
    "FTRLProximal",
    "Forgotten",
    "FreeGrad",
    "Gradients",
    "MirrorDescent",
    "Newton",
    "PerCoordinate",
    "ProjectedGradient",
    "Rule",
    "Summed",
]
