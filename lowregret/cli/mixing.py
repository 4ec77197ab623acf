"""A mixture of experts from words: the loss and the aggregator that a command line names."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

import numpy as np

from lowregret.cli.arguments import THEORY
from lowregret.cli.commands.experts import AGGREGATORS
from lowregret.cli.forecast_losses import forecast_loss, names_where
from lowregret.cli.forecasts import Forecasts
from lowregret.cli.portfolios import make_portfolio, refuse_portfolio_options
from lowregret.cli.tuned_experts import tuned_aggregator
from lowregret.errors import DataError, PartError
from lowregret.experts import (
    BOA,
    AdaHedge,
    Aggregator,
    Calibrated,
    Descent,
    ExpertMixture,
    FixedShare,
    Hedge,
    Layered,
    Mean,
    MixedPortfolio,
    MLPoly,
    Squint,
)
from lowregret.experts.certify import mixable_rate
from lowregret.loss import Loss


def make_panel(args: Namespace, found: Forecasts) -> ExpertMixture:
    """The panel that the options describe; an option that the algorithm does not take is refused."""
    named, args.promise = forecast_loss(args.loss), None
    loss = named.loss(found.parts)
    prior = _prior(args.prior, found.names) if args.prior else None
    name = args.algorithm
    takes, linearised = AGGREGATORS[name]
    args.promise = None
    for option in ("eta", "share", "beta", "delta"):
        if getattr(args, option) is not None and option not in takes.split():
            raise PartError(f"--algorithm {name} takes no --{option}: leave it out")
    if not named.is_portfolio:
        if name in ("newton", "universal"):
            raise PartError(f"--algorithm {name} is for --loss {' or '.join(names_where('is_portfolio'))}")
        refuse_portfolio_options(args)
    elif (made := make_portfolio(args, found, prior)) is not None:
        return made
    if name == "calibrated" or (name == "auto" and not named.is_mixable):
        return _layers(args, found, loss, prior)
    if name == "auto":
        name, linearised = "bayes", False
    substitution = Mean() if linearised else named.substitution(found.parts)
    if args.eta == THEORY:
        _refuse_costs(args)
        aggregator, args.promise = tuned_aggregator(name, args.share, found, loss, linearised, prior)
    else:
        aggregator = _aggregator(name, args, mixable_rate(loss, substitution))
    if isinstance(aggregator, Hedge | FixedShare) and aggregator.eta > mixable_rate(loss, substitution):
        substitution = Mean()
    if named.is_portfolio:
        return MixedPortfolio(found.names, aggregator, linearised=linearised, prior=prior, cost=args.cost or 0.0)
    return ExpertMixture(
        found.names,
        aggregator,
        loss,
        parts=found.parts,
        linearised=linearised,
        substitution=substitution,
        prior=prior,
    )


def _refuse_costs(args: Namespace) -> None:
    """Refuse to promise beforehand what costs are part of."""
    if args.cost:
        raise PartError(
            "--eta theory promises a regret before costs, and nobody knows beforehand what these take: with --cost, "
            "give --eta a number, such as the one that --eta theory tells without --cost"
        )


def _layers(args: Namespace, found: Forecasts, loss: Loss, prior: Any) -> Layered:
    """The mixture of several aggregators that `auto` or `calibrated` is."""
    if not math.isfinite(loss.at(0.0, 1.0)[0]):
        raise PartError(
            f"--algorithm {args.algorithm} may trust one expert alone, whose loss can be infinite with "
            f"--loss {args.loss}: use auto, which needs no tuning either"
        )
    kind = Calibrated if args.algorithm == "calibrated" else Layered
    return kind(found.names, loss, parts=found.parts, prior=prior)


def _aggregator(name: str, args: Namespace, rate: float) -> Aggregator:
    """The aggregator asked for, for a loss that is mixable up to this rate."""
    if name == "bayes" and not rate:
        known = ", ".join(names_where("is_mixable"))
        raise PartError(f"--algorithm bayes is for losses that are mixable: {known}; not {args.loss}")
    eta: float = args.eta or (rate if name in ("bayes", "fixed-share") else 0.0)
    if not eta and "eta" in AGGREGATORS[name][0]:
        raise PartError(f"--algorithm {name} needs --eta, a learning rate; auto, adahedge and ml-poly do without")
    if name == "fixed-share" and args.share is None:
        raise PartError("--algorithm fixed-share needs --share: about switches / rounds, such as 0.01")
    match name:
        case "adahedge":
            return AdaHedge()
        case "ml-poly":
            return MLPoly()
        case "boa":
            return BOA()
        case "squint":
            return Squint()
        case "ogd":
            return Descent(eta)
        case "fixed-share":
            return FixedShare(eta, args.share)
    return Hedge(eta)


def _prior(path: str, names: list[str]) -> Any:
    """A file with a line for each expert: its name and a weight, or weights alone, in order."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.replace(",", " ").split() for line in file if line.strip()]
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from None
    given: dict[str, float] = {}
    for at, words in enumerate(lines):
        name = " ".join(words[:-1]) or (names[at] if at < len(names) else "")
        try:
            given[name] = float(words[-1])
        except ValueError:
            raise DataError(f"{path}:{at + 1}: {words[-1]!r} is not a number: expected a name and a weight") from None
        if name not in names:
            raise DataError(f"{path}:{at + 1}: there is no expert {name!r}")
    missing = [name for name in names if name not in given]
    if missing:
        raise DataError(f"{path} says nothing about {missing[0]!r}: give every expert a weight, 0 if none")
    return np.array([given[name] for name in names])
