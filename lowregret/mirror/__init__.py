"""Mirror maps: see `base.py`."""

from lowregret.mirror.base import Mirror
from lowregret.mirror.centred import Centred
from lowregret.mirror.entropy import Entropic, Entropy, UnnormalisedEntropy
from lowregret.mirror.euclidean import Euclidean
from lowregret.mirror.pnorm import PNorm

__all__ = ["Centred", "Entropic", "Entropy", "Euclidean", "Mirror", "PNorm", "UnnormalisedEntropy"]
