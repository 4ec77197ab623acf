"""`lowregret experts --eta theory`: the rate that the theorem tunes for this table, and what it promises."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.certificate import Promise
from lowregret.cli.forecasts import Forecasts
from lowregret.compile.call import call
from lowregret.errors import PartError
from lowregret.experts import AdaHedge, Aggregator, Descent, ExpertMixture, FixedShare, Hedge
from lowregret.experts.advice import loss_rows
from lowregret.experts.aggregator import path_price
from lowregret.experts.promise import Surprise, promised
from lowregret.loss import Loss


def tuned_aggregator(
    name: str, share: float | None, found: Forecasts, loss: Loss, linearised: bool, prior: Any = None
) -> tuple[Aggregator, Promise]:
    """The aggregator at its theorem's rate; the table tells the rounds, and by how much losses of a round differ."""
    rounds, spread = table_spread(found, loss, linearised)
    if not (rounds and 0 < spread < math.inf):
        raise PartError(f"--eta theory needs losses that differ, and by a finite number: here {spread}; say a number")
    n, switches = len(found.names), 0
    surprise, far = Surprise.of(max(n, 2), None if n < 2 else prior)
    if surprise == math.inf:
        raise PartError("--eta theory promises nothing against an expert that --prior gives no weight: say a number")
    made: Aggregator
    match name:
        case "ogd":
            made = Descent(2 * math.sqrt(far / (n * rounds)) / spread)
        case "fixed-share":
            if share is None:
                raise PartError("--algorithm fixed-share needs --share: about switches / rounds, such as 0.01")
            switches = round(share * (rounds - 1))
            price = path_price(surprise, share, switches, rounds)
            made = FixedShare(math.sqrt(8 * price / rounds) / spread, share)
        case "wm":
            made = Hedge(math.sqrt(surprise / rounds) / spread)  # as THM-3.1 is tuned
        case _:
            made = Hedge(math.sqrt(8 * surprise / rounds) / spread)
    return made, promised(made, n, rounds, spread, switches, prior)


def table_spread(found: Forecasts, loss: Loss, linearised: bool) -> tuple[int, float]:
    """Rounds that will be learnt, and M: by how much the losses of experts awake differ in a round at most."""
    panel = ExpertMixture(found.names, AdaHedge(), loss, parts=found.parts)
    x, y = panel.as_forecasts(found.x), panel.as_outcomes(found.y, len(found.x))
    awake = np.all(~np.isnan(x), axis=1)
    learnt = awake.any(axis=1) & ~np.isnan(y[:, 0])
    x, y, awake = x[learnt], y[learnt], awake[learnt]
    if linearised:
        return len(x), max((_linear_spread(loss, a, b) for a, b in zip(x, y, strict=True)), default=0.0)
    losses = np.empty(awake.shape)
    call(loss_rows, panel.compiled, loss, x, y, losses)
    highest = np.where(awake, losses, -np.inf).max(axis=1, initial=-np.inf)
    lowest = np.where(awake, losses, np.inf).min(axis=1, initial=np.inf)
    return len(x), float(np.max(highest - lowest, initial=0.0))


def _linear_spread(loss: Loss, x: Any, y: Any) -> float:
    """Σ_k max|ℓ'| over mixtures, times the range of the forecasts: slopes of a convex loss are largest at its ends."""
    total = 0.0
    for said, outcome in zip(x, y, strict=True):
        low, high = float(np.nanmin(said)), float(np.nanmax(said))
        total += max(abs(loss.at(p, float(outcome))[1]) for p in (low, high)) * (high - low)
    return total
