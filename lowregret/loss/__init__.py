"""Losses ℓ(p, y) of a score p = ⟨w, x⟩: see `base.py`; and of many scores: see `multiclass.py`."""

from lowregret.loss import base, cost, log_wealth, margin, multiclass, regression, wrapped
from lowregret.loss.base import *  # noqa: F403  each file says in `__all__` what is in it for others
from lowregret.loss.cost import *  # noqa: F403
from lowregret.loss.log_wealth import *  # noqa: F403
from lowregret.loss.margin import *  # noqa: F403
from lowregret.loss.multiclass import *  # noqa: F403
from lowregret.loss.regression import *  # noqa: F403
from lowregret.loss.wrapped import *  # noqa: F403

__all__: list[str] = []
for _file in (base, cost, log_wealth, margin, multiclass, regression, wrapped):
    __all__ += _file.__all__
