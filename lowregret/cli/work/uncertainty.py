"""`lowregret experts --coverage`, `--levels` and `--intervals`: intervals and quantiles beside the mixture."""

from __future__ import annotations

import math
from argparse import Namespace
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowregret.cli.forecast_losses import forecast_loss
from lowregret.cli.forecasts import Forecasts
from lowregret.cli.html_report import picture, table
from lowregret.cli.interval_columns import IntervalEnds
from lowregret.cli.overwrite import coverage_picture
from lowregret.errors import PartError
from lowregret.experts import ConformalIntervals, Quantiles
from lowregret.stream.table import Table
from lowregret.words import listed, percent, rounded_up


@dataclass
class Uncertainty:
    """Intervals of certain coverage around the mixture, and quantiles mixed of the experts', as far as wanted."""

    conformal: ConformalIntervals | None = None
    quantiles: Quantiles | None = None
    bounds: IntervalEnds | None = None
    columns: list[Any] = field(default_factory=list)  # beside the forecasts, in --predictions

    def lines(self) -> list[str]:
        """Of the summary."""
        found = [] if self.conformal is None else [str(self.conformal.coverage)]
        if self.quantiles is not None:
            found += self._quantile_lines(self.quantiles)
        return found

    def _quantile_lines(self, found: Quantiles) -> list[str]:
        whose = "out of all experts" if self.bounds is None else f"out of interval columns of {listed(found.names)}"
        rounds, best = max(found.rounds, 1), found.best
        lines = [f"quantiles        CRPS {found.loss / rounds:.6g} a round, {whose}"]
        lines.append(f"                 {best.loss / rounds:.6g} that of {best.name}, the best expert")
        for score in found.scores:
            told = f"level {score.level:g}: pinball {score.pinball:.6g}, {percent(score.below)} of outcomes at or below"
            lines.append(f"                 {told}")
        proof = found.certificate
        if proof.premises_hold and math.isfinite(proof.promised):
            lines.append(
                f"                 theory promised a regret of at most {rounded_up(proof.promised)} ({proof.id})"
            )
        return lines

    def to_json(self) -> dict[str, Any]:
        """For `--json`."""
        told: dict[str, Any] = {}
        if self.conformal is not None:
            told["coverage"] = self.conformal.coverage.to_json() | {"certificate": self.conformal.certificate.to_json()}
        if self.quantiles is not None:
            found = self.quantiles
            told["quantiles"] = {
                "experts": found.names,
                "levels": [score._asdict() for score in found.scores],
                "crps": found.loss / max(found.rounds, 1),
                "losses": found.expert_losses.tolist(),
                "weights": found.weights.tolist(),
                "certificate": found.certificate.to_json(),
            }
        return told

    def sections(self) -> list[tuple[str, str]]:
        """Of the report."""
        found = []
        if self.conformal is not None:
            found.append(("Coverage over the rounds", picture(self.conformal.plot())))
        if self.quantiles is not None:
            rows = [tuple(f"{value:.6g}" for value in score) for score in self.quantiles.scores]
            found.append(("Quantiles", table(("level", "mean pinball loss", "share at or below"), rows)))
        return found

    def plot(self, path: str) -> None:
        """Draw coverage over the rounds beside the picture of weights."""
        if self.conformal is not None:
            self.conformal.plot(coverage_picture(path))


def refuse_apart(args: Namespace, late: bool) -> None:
    """Refuse what needs all rows of a table in order, each outcome known before the next: where it is not so."""
    wanted = [name for name in _wanted(args) if name != "coverage" or args.resume or not late]
    if wanted and (late or args.resume):
        why = "outcomes of this table are known late" if late else f"{args.resume} holds the mixture without its state"
        raise PartError(
            f"--{wanted[0]} makes each interval knowing all outcomes before it, from a first row on, but {why}: leave "
            "it out, or let ConformalIntervals or Quantiles of lowregret.experts ask and tell around --predictions"
        )
    if forecast_loss(args.loss).season and (late or args.resume or args.model):
        why = "outcomes of this table are known late or are of several series" if late else "model files do not hold it"
        raise PartError(
            f"--loss {args.loss} divides by the mean error of the naive forecast over the rows before, but {why}: use "
            "mae, or mape or smape, which have no scale"
        )


def _wanted(args: Namespace) -> list[str]:
    return [name for name in ("coverage", "levels", "intervals") if getattr(args, name) not in (None, ())]


def refuse_or_drop(args: Namespace, columns: Table) -> IntervalEnds | None:
    """Refuse what has no intervals; the ends of intervals in a table if they are wanted, which are no experts then."""
    wanted = _wanted(args)
    if wanted and (args.classes or forecast_loss(args.loss).many or forecast_loss(args.loss).is_portfolio):
        raise PartError(f"--{wanted[0]} is for forecasts of numbers, not --loss {args.loss}: leave it out")
    if args.intervals is None:
        return None
    if args.levels:
        raise PartError("--levels mixes all experts, --intervals their interval columns: say one of them")
    bounds = IntervalEnds.among(columns.columns, args.intervals or None)
    args.drop = (*args.drop, *bounds.columns.values())
    return bounds


def around(args: Namespace, found: Forecasts, p: Any, bounds: IntervalEnds | None) -> Uncertainty:
    """Make intervals and quantiles for the rounds of a table, each before its outcome."""
    made, y = Uncertainty(bounds=bounds), found.unscaled(found.y)
    if args.coverage is not None:
        made.conformal = ConformalIntervals(args.coverage).learn(found.unscaled(p), y)
        made.columns += [made.conformal.lower, made.conformal.upper]
    if bounds is not None:
        x = bounds.read(found.table)
        made.quantiles = Quantiles(bounds.experts, bounds.levels).learn(x, y)
    elif args.levels:
        made.quantiles = Quantiles(found.names, sorted(args.levels)).learn(found.unscaled(found.x), y)
    if made.quantiles is not None:
        made.columns += list(np.asarray(made.quantiles.forecasts).T)
    return made
