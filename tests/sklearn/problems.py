"""What tests of the estimators share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from lowregret import AdaGrad, Logistic, Multiclass, Softmax, train, zoo

ADAGRAD = zoo.adagrad(Logistic())
MANY = Multiclass(Softmax(), AdaGrad(0.5), bias=1.0)

Problem = tuple[Any, Any]

spell: Callable[..., Any] = partial(train, compiled=False)  # the same, without waiting for a compiler


def bits(model: Any) -> dict[str, bytes]:
    """All that the run carries."""
    return bits_of(model.run_)


def bits_of(run: Any) -> dict[str, bytes]:
    """All that a run carries, but for the form, dense or sparse, in which its first rows came."""
    arrays = run.contents()[1]
    arrays["tally.sampled"] = arrays["tally.sampled"][:3]
    return {name: np.asarray(array).tobytes() for name, array in arrays.items()}


def signs(y: Any, positive: Any) -> Any:
    return np.where(y == positive, 1.0, -1.0)
