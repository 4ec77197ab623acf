"""The scale of scaled errors: how far off the seasonal naive forecast has been, as it is known before each round."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.errors import DataError
from lowregret.learner.validate import real_numbers
from lowregret.types import Vector


def naive_scales(outcomes: Any, season: int = 1) -> Vector:
    """c_t, the mean of |y_s − y_{s−m}| over the rounds s < t, m the season: O(T).

    |p_t − y_t|/c_t is the scaled error of round t, whose mean is the MASE: forecasts and outcomes are divided by c_t
    and judged by `Absolute()`. c_t is known when the forecast is made, so this can be deployed; the MASE of papers
    divides by the mean over a stretch before the first round, which a table need not have. NaN in the rounds before a
    difference other than 0 was seen, of which nothing can be said. Outcomes that are NaN have no difference.
    """
    y = real_numbers(outcomes, "outcomes")
    if y.ndim != 1 or season < 1:
        raise DataError(f"scales are of a series and a season from 1 on, got the shape {y.shape} and {season}")
    apart = np.full(y.size, math.nan)
    apart[season:] = np.abs(y[season:] - y[:-season])
    known = ~np.isnan(apart)
    total, count = (np.concatenate([[0.0], np.cumsum(a)[:-1]]) for a in (np.where(known, apart, 0.0), known))
    return np.divide(total, count, out=np.full(y.size, math.nan), where=total > 0) if y.size else y
