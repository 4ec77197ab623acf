"""Logs of somebody else's choices: which arm, what came of it, and with what probability it was chosen."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowregret.errors import DataError
from lowregret.learner.labels import is_missing
from lowregret.learner.validate import require_unmasked
from lowregret.stream.table import read_table
from lowregret.types import Vector

REWARD, COST = "reward", "cost"


@dataclass(frozen=True)
class BanditLog:
    """n choices among K arms. `values` are rewards or costs, as `measure` says, between `low` and `high`."""

    arms: Any  # n whole numbers from 0 to K − 1
    values: Vector
    propensities: Vector
    names: tuple[str, ...]  # of the arms
    measure: str = REWARD
    low: float = 0.0
    high: float = 1.0
    assumed: bool = False  # nobody said the propensities: uniform logging is assumed

    def __post_init__(self) -> None:
        n, k = self.arms.size, len(self.names)
        if n == 0:
            raise DataError("the log has no rows")
        known = self.arms.dtype.kind in "iu" and np.all((self.arms >= 0) & (self.arms < k))
        if not (known and n == self.values.size == self.propensities.size):
            raise DataError(f"a log needs whole numbers from 0 to {k - 1} as arms, and as many values and propensities")
        if not np.all((self.propensities > 0) & (self.propensities <= 1)):
            raise DataError("propensities must be above 0 and at most 1")
        if not 0 < self.unit < np.inf:
            raise DataError(
                f"values must lie between low < high, a finite number apart, got {self.low} and {self.high}"
            )
        if not np.all((self.values >= self.low) & (self.values <= self.high)):
            raise DataError(f"values must lie between {self.low:g} and {self.high:g}")

    def __len__(self) -> int:
        return int(self.arms.size)

    def __getitem__(self, rows: slice) -> BanditLog:
        return replace(self, arms=self.arms[rows], values=self.values[rows], propensities=self.propensities[rows])

    @property
    def unit(self) -> float:
        return self.high - self.low

    @property
    def costs(self) -> Vector:
        """In [0, 1]: a reward r is the cost (high − r)/(high − low)."""
        off = self.values - self.low if self.measure == COST else self.high - self.values
        return off / self.unit

    @property
    def uniform(self) -> bool:
        """Whether all choices were made with one probability, which every arm can have: K of them are at most 1."""
        p = self.propensities
        return bool(np.ptp(p) <= 1e-9 * p[0] and p[0] * len(self.names) <= 1 + 1e-6)

    @property
    def chance(self) -> float:
        """At most how likely some arm's count is so far off, if all are chosen with the one probability p; else 1.

        2K·e^{−n·max KL(n_a/n ‖ p)}, by Chernoff's bound for each side of each arm.
        """
        p, n, k = float(self.propensities[0]), len(self), len(self.names)
        if not self.uniform or k == 1:
            return 1.0
        share = np.bincount(self.arms, minlength=k) / n
        off = _surprise(share, p) + _surprise(1 - share, 1 - p)
        return min(1.0, 2 * k * math.exp(-n * float(np.max(off))))


def _surprise(share: Vector, p: float) -> Vector:
    """share·ln(share/p), 0 for no share."""
    return np.where(share > 0, share * np.log(np.where(share > 0, share, p) / p), 0.0)


def bandit_log(
    actions: Any,
    *,
    reward: Any = None,
    cost: Any = None,
    propensity: Any = None,
    low: float = 0.0,
    high: float = 1.0,
    place: Callable[[int], str] = "row {}".format,
) -> BanditLog:
    """A log from columns: actions of any kind, rewards or costs in [low, high], propensities in (0, 1].

    Without propensities uniform logging over the actions that occur is assumed. `place` says where row k is.
    """
    if (reward is None) == (cost is None):
        raise DataError("a log has either rewards or costs: give one of them")
    measure, told = (REWARD, reward) if cost is None else (COST, cost)
    require_unmasked(actions, "actions")
    given = actions.to_pylist() if hasattr(actions, "to_pylist") else actions  # Arrow's
    labels = ["" if is_missing(a) else str(a).strip() for a in given]
    if not labels:
        raise DataError("the log has no rows")
    if "" in labels:
        raise DataError(f"{place(labels.index(''))}: there is no action")
    names = tuple(sorted(set(labels), key=_order))
    number = {name: k for k, name in enumerate(names)}
    arms = np.array([number[label] for label in labels], np.int64)
    values = _numbers(told, len(labels), place, measure, lambda v: low <= v <= high, f"between {low:g} and {high:g}")
    if propensity is None:
        p = np.full(len(labels), 1 / len(names))
    else:
        wanted = "above 0 and at most 1: without it the row cannot be weighed; remove the row, or log propensities"
        p = _numbers(propensity, len(labels), place, "propensity", lambda v: 0 < v <= 1, wanted)
    return BanditLog(arms, values, p, names, measure, float(low), float(high), propensity is None)


def read_log(
    path: str | os.PathLike[str],
    action: str,
    *,
    reward: str | None = None,
    cost: str | None = None,
    propensity: str | None = None,
    low: float = 0.0,
    high: float = 1.0,
) -> BanditLog:
    """A log from columns of a CSV, TSV or Parquet file, compressed or not."""
    wanted = {"actions": action, "reward": reward, "cost": cost, "propensity": propensity}
    chosen = {key: column for key, column in wanted.items() if column is not None}
    table = read_table(os.fspath(path), wanted=set(chosen.values()))
    columns = {key: table.column(column) for key, column in chosen.items()}
    return bandit_log(columns.pop("actions"), **columns, low=low, high=high, place=table.place)


def _order(name: str) -> tuple[float, str]:
    try:
        return float(name), name
    except ValueError:
        return math.inf, name


def _numbers(
    told: Sequence[Any], size: int, place: Callable[[int], str], what: str, fits: Callable[[float], bool], wanted: str
) -> Vector:
    """Numbers that fit, or an error that names the row."""
    if len(told) != size:
        raise DataError(f"there are {size} actions and {len(told)} of {what}")
    out = np.empty(size)
    for k, text in enumerate(told):
        try:
            out[k] = float(text)
        except (TypeError, ValueError):
            out[k] = math.nan
        if not fits(out[k]):
            found = repr(text) if text not in (None, "") else "missing"
            raise DataError(f"{place(k)}: {what} is {found}, it must be a number {wanted}")
    return out
