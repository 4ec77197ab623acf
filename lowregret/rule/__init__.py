"""Update rules: how a sub-gradient moves the iterate. `Lazy` keeps gradient sums, `Eager` keeps the iterate."""

from lowregret.rule.adagrad import AdaGrad
from lowregret.rule.eager import Eager, Forgotten, Gradients, Summed
from lowregret.rule.lazy import Lazy
from lowregret.rule.rule import SEEN, Rule

__all__ = ["SEEN", "AdaGrad", "Eager", "Forgotten", "Gradients", "Lazy", "Rule", "Summed"]
