"""The losses of `lowregret experts` that `train` has not, one record each: what is forecast, and how it is mixed."""

from __future__ import annotations

from dataclasses import dataclass

from lowregret.cli.losses import make_loss
from lowregret.experts import BinaryLogScore, BrierSimplex, LogScore, Mean, Percentage, SquareOn, Substitution
from lowregret.experts.certify import mixable_rate
from lowregret.loss import LogWealth, Loss, Square


@dataclass(frozen=True)
class ForecastLoss:
    """A loss of forecasts: of one number each, or of one probability for each class."""

    one: Loss
    many: Loss | None = None  # None: forecasts are no probabilities
    sharpest: Substitution = Mean()  # by which `one` is mixable, if it is
    sharpest_of_many: Substitution = Mean()
    is_portfolio: bool = False  # whether forecasts are price relatives of assets, without an outcome
    divides: bool = False  # by the outcome, which must not be 0

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
    "mape": ForecastLoss(Percentage(), divides=True),
    "log": ForecastLoss(BinaryLogScore(), LogScore()),
    "brier": ForecastLoss(Square(), Square(), SquareOn(0.0, 1.0), BrierSimplex()),
    "portfolio": ForecastLoss(LogWealth(), is_portfolio=True),
}


def forecast_loss(words: str) -> ForecastLoss:
    """The loss that `--loss` says: one of forecasts, or one of scores, whose forecasts are one number each."""
    return FORECAST_LOSSES[words] if words in FORECAST_LOSSES else ForecastLoss(make_loss(words))


def loss_words(loss: Loss) -> str:
    """The words by which `--loss` says this loss."""
    if type(loss).name is not None:
        given = "".join(f":{value:g}" for value in loss.parameters.values())
        return f"{type(loss).name}{given}"
    return next(name for name, record in FORECAST_LOSSES.items() if loss in (record.one, record.many))


def names_where(fact: str) -> list[str]:
    """The names of the losses of forecasts of which a field or property of their records holds."""
    return [name for name, record in FORECAST_LOSSES.items() if getattr(record, fact)]
