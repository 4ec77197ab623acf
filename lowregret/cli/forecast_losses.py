"""The losses of `lowregret experts` that `train` has not, one record each: what is forecast, and how it is mixed."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from lowregret.cli.losses import make_loss
from lowregret.errors import PartError
from lowregret.experts import (
    BinaryLogScore,
    BrierSimplex,
    LogScore,
    Mean,
    Percentage,
    SquareOn,
    Substitution,
    SymmetricPercentage,
)
from lowregret.experts.certify import mixable_rate
from lowregret.loss import LOSSES, Absolute, LogWealth, Loss, Square
from lowregret.loss.regression import Residual


@dataclass(frozen=True)
class ForecastLoss:
    """A loss of forecasts: of one number each, or of one probability for each class."""

    one: Loss
    many: Loss | None = None  # None: forecasts are no probabilities
    sharpest: Substitution = Mean()  # by which `one` is mixable, if it is
    sharpest_of_many: Substitution = Mean()
    is_portfolio: bool = False  # whether forecasts are price relatives of assets, without an outcome
    divides: bool = False  # by the outcome, which must not be 0
    root: bool = False  # whether the root of the mean is shown
    season: int = 0  # of the naive forecast by whose mean error all is divided

    def loss(self, parts: int) -> Loss:
        """The loss of forecasts that are this many numbers each."""
        return self.many if parts > 1 and self.many else self.one

    def substitution(self, parts: int) -> Substitution:
        """The substitution by which the loss of this many numbers is mixable."""
        return self.sharpest_of_many if parts > 1 else self.sharpest

    @property
    def is_mixable(self) -> bool:
        """Whether some rate is known for which the loss is mixable."""
        return mixable_rate(self.one, self.sharpest) > 0


FORECAST_LOSSES = {
    "mae": ForecastLoss(Absolute()),
    "mse": ForecastLoss(Square()),
    "rmse": ForecastLoss(Square(), root=True),
    "mape": ForecastLoss(Percentage(), divides=True),
    "smape": ForecastLoss(SymmetricPercentage()),
    "mase": ForecastLoss(Absolute(), season=1),
    "log": ForecastLoss(BinaryLogScore(), LogScore()),
    "brier": ForecastLoss(Square(), Square(), SquareOn(0.0, 1.0), BrierSimplex()),
    "portfolio": ForecastLoss(LogWealth(), is_portfolio=True),
}
ALIASES = {"pinball": "quantile"}


def loss_names() -> list[str]:
    """The losses that `lowregret experts` knows: those of forecasts, and those of scores that are forecasts."""
    residual = [name for name, kind in LOSSES.items() if issubclass(kind, Residual)]
    return [*FORECAST_LOSSES, *ALIASES, *residual]


def forecast_loss(words: str) -> ForecastLoss:
    """The loss that `--loss` says: one of forecasts, or one of scores, whose forecasts are one number each."""
    name, colon, given = words.partition(":")
    if name == "mase" and colon:
        if not given.isdigit() or int(given) < 1:
            raise PartError(f"--loss {words}: the season of mase is a whole number of rows from 1 on, such as mase:7")
        return replace(FORECAST_LOSSES[name], season=int(given))
    if name in FORECAST_LOSSES:
        if colon:
            raise PartError(f"--loss: {name} takes no parameter, got {given!r}")
        return FORECAST_LOSSES[name]
    if name not in loss_names():
        raise PartError(f"--loss: there is no loss {name!r} of forecasts; there are {', '.join(loss_names())}")
    return ForecastLoss(make_loss(ALIASES.get(name, name) + colon + given))


def loss_json(words: str, total: float, rounds: int) -> dict[str, Any]:
    """The public form of what `--loss` says: in all, and as summaries show it, the mean of a round or its root."""
    mean = total / rounds if rounds else None  # of none there is no mean
    return {"name": words, "total": total, "mean": math.sqrt(mean) if mean and forecast_loss(words).root else mean}


def loss_words(loss: Loss, parts: int = 1, called: str | None = None) -> str:
    """The words for `--loss` that say a loss of forecasts of this many numbers: as it was called, or else the usual."""
    with suppress(PartError):  # of a name that a file made up
        if called is not None and (named := forecast_loss(called)).loss(parts) == loss and not named.season:
            return called
    for name, record in FORECAST_LOSSES.items():
        if loss == (record.many if parts > 1 else record.one):
            return name
    if type(loss) not in LOSSES.values():
        raise PartError(f"no --loss says {loss!r}, the loss of this mixture: go on in Python, by lowregret.load")
    name = next((alias for alias, known in ALIASES.items() if known == type(loss).name), type(loss).name)
    return name + "".join(f":{value!r}" for value in loss.parameters.values())


def names_where(fact: str) -> list[str]:
    """The names of the losses of forecasts of which a field or property of their records holds."""
    return [name for name, record in FORECAST_LOSSES.items() if getattr(record, fact)]
