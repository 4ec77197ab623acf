"""A run that was spread over workers and servers, put together: it predicts, proves, saves and goes on like others."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn, Self

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.spread import BOOK, MISSED, MOST, spread_certificates
from lowregret.certificate.trace import Trace
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.rows import Features
from lowregret.run.linear import LinearRun
from lowregret.run.schema_spread import LAGS, SpreadSchema
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class SpreadRun(LinearRun):
    """A `LinearRun` whose rows were learnt by several workers at once, each on copies that others made stale.

    Its certificates hold for every schedule. More rows are learnt one by one, here.
    """

    kind = "spread-run"
    knows_outputs = False
    schema = SpreadSchema(Linear)

    def __init__(self, *args: Any, spread: Vector | None = None, lags: Any = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.spread: Vector = np.zeros(BOOK) if spread is None else spread
        self.lags = np.zeros(LAGS, np.int64) if lags is None else lags  # rows by how many they lacked: 0, 1, 2–3, …

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def staleness(self) -> int:
        """τ, the most rows that were missing when a row was decided."""
        return int(self.spread[MOST])

    @property
    def mean_staleness(self) -> float:
        """The rows that were missing when a row was decided, on the average."""
        return float(self.spread[MISSED]) / max(self.rounds, 1)

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner on any schedule, tightest first."""
        return spread_certificates(self.learner, self.state, self.comparator, self.met, self.spread)

    @property
    def trace(self) -> Trace:
        """Loss and linearised regret over the rounds; the regret is its own bound (LEM-2.5)."""
        found = super().trace
        return replace(found, bound=found.linear_regret, theorem="LEM-2.5")

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """Mean loss, and linearised regret; below, how stale rows were decided."""
        from lowregret.show.plot import plot_spread

        return plot_spread(self, path, theirs)

    def __str__(self) -> str:
        return f"{super().__str__()}\nstale      {self.stale}"

    @property
    def stale(self) -> str:
        """How stale rows were decided, in words."""
        most, mean = counted(self.staleness, "row"), counted(round(self.mean_staleness), "row")
        return f"{mean} of others missing on the average when a row was decided, at most {most}"

    def risks(self, delta: float = 0.05) -> list[RiskCertificate]:
        """No bounds: rows had no order, in which alone independence can be tested."""
        return []

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> NoReturn:
        """Raise a `PartError`: no mistake bound speaks of stale weights."""
        raise PartError(
            "the mistake bounds hold for rows learnt one by one: learn without workers, or see certificates"
        )

    def promised_risks(self, u: Any, features: Features, labels: Any, delta: float = 0.05) -> NoReturn:
        """Raise a `PartError`: these promises are made for rows learnt one by one."""
        raise PartError("these bounds hold for rows learnt one by one: learn without workers")

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        return description, arrays | {"spread": self.spread, "lags": self.lags}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        run = super().of(path, description, arrays)
        run.spread, run.lags = arrays["spread"], arrays["lags"]
        return run
