"""A portfolio from words, and what became of it in lines, numbers and JSON."""

from __future__ import annotations

import math
from argparse import Namespace
from typing import Any

import numpy as np

from lowregret.cli.arguments import THEORY
from lowregret.cli.commands.experts import AGGREGATORS
from lowregret.cli.forecasts import Forecasts
from lowregret.errors import PartError
from lowregret.experts import ExponentiatedGradient, MixedPortfolio, OnlineNewton, Review, Universal, rebalanced
from lowregret.experts.exponentiated import CALM
from lowregret.experts.portfolio import Portfolio
from lowregret.experts.wealth import WEALTH, YEAR, WealthLedger
from lowregret.words import percent, percent_up

NEAR = 0.05  # a distance from the evenly spread portfolio that makes no difference
OPTIONS = ("prices", "cost", "periods", "beta", "delta")  # of portfolios alone


def refuse_portfolio_options(args: Namespace) -> None:
    """Refuse options of portfolios where forecasts are mixed."""
    for option in OPTIONS:
        if getattr(args, option):
            raise PartError(f"--{option} is for --loss portfolio, not {args.loss}: leave it out")


def make_portfolio(args: Namespace, found: Forecasts, prior: Any) -> Portfolio | None:
    """The portfolio of an algorithm for portfolios alone, or EG; None if another aggregator is wanted."""
    cost, name = args.cost or 0.0, args.algorithm
    if name in ("newton", "universal") and prior is not None:
        raise PartError(f"--algorithm {name} takes no --prior: leave it out")
    match name:
        case "newton":
            return OnlineNewton(found.names, args.beta or 0.5, args.delta or 1.0, cost=cost)
        case "universal":
            return Universal(found.names, len(found.x), cost=cost)
        case "auto" | "eg" if args.eta != THEORY:
            return ExponentiatedGradient(found.names, args.eta or CALM, prior=prior, cost=cost)
    return None


def wealth_lines(args: Namespace, found: Forecasts, review: Review) -> list[str]:
    """Lines on the wealth that 1 has become, what others made of it, the largest fall, and the ratio of Sharpe."""
    portfolio = review.mixture
    assert isinstance(portfolio, Portfolio)
    cost = portfolio.ledger.cost
    lines = [f"wealth           1 has become {portfolio.wealth:.6g}"]
    if cost:
        took = -math.expm1(-portfolio.ledger.paid)
        lines[0] += f", after costs of {cost:g} of what is bought or sold, which took {percent(took)}"
    for how, other in _others(found, review).items():
        lines.append(f"                 {other.wealth:.6g} {how}")
    best = review.combination
    if cost and best is not None:
        paying = rebalanced(best.w, found.x, cost, compiled=portfolio.compiled)
        regret = portfolio.loss + float(paying.sums[WEALTH])
        lines.append(f"                 regret {regret:.6g} to the best fixed weights if these pay costs, too")
    late = int(np.isnan(found.x).any(0).sum())
    if late:
        lines.append(
            f"not listed       {late} of {len(found.names)} assets in some rows: the others share their weight"
        )
    lines.append(f"drawdown         {percent(portfolio.drawdown)}, the largest fall from a highest wealth")
    return [*lines, _sharpe_line(portfolio, args.periods or YEAR), *_nearly_uniform(args, portfolio)]


def _sharpe_line(portfolio: Portfolio, periods: float) -> str:
    sharpe = portfolio.sharpe(periods)
    if math.isnan(sharpe):
        return "sharpe           unknown: returns of one round, or that are all the same, have no deviation"
    return f"sharpe           {sharpe:.4g} ({periods:g} periods a year; no riskless rate taken off)"


def _nearly_uniform(args: Namespace, portfolio: Portfolio) -> list[str]:
    """Lines on weights that were hardly moved, and what moves them further."""
    few = portfolio.rounds < 2 or len(portfolio.names) < 2
    if few or not isinstance(portfolio, MixedPortfolio) or portfolio.distance >= NEAR:
        return []
    eta = portfolio.aggregator.parameters.get("eta")
    which = "" if eta is None else f" at η = {eta:g}"
    far = percent_up(portfolio.distance)
    others = [name for name in ("newton", "adahedge") if name != args.algorithm]
    larger = "" if "eta" in AGGREGATORS[args.algorithm][0] else "--algorithm eg with "
    return [
        f"nearly uniform   its weights{which} were never further than {far} from evenly spread",
        f"                 (½Σ|w − 1/N|): {larger}a larger --eta, or --algorithm {' or '.join(others)}, moves further",
    ]


def _others(found: Forecasts, review: Review) -> dict[str, WealthLedger]:
    """Fixed weights beside the portfolio, which pay the same costs."""
    portfolio = review.mixture
    assert isinstance(portfolio, Portfolio)
    n, best, cost = len(found.names), portfolio.best, portfolio.ledger.cost
    others = {"evenly spread": np.full(n, 1 / n)}
    if not np.isnan(found.x[:, best.index]).any():
        others[f"all in {best.name}"] = np.eye(n)[best.index]
    if review.combination is not None:
        others["with the best fixed weights"] = review.combination.w
    compiled = portfolio.compiled
    return {how: rebalanced(weights, found.x, cost, compiled=compiled) for how, weights in others.items()}


def portfolio_json(args: Namespace, found: Forecasts, review: Review) -> dict[str, Any]:
    """For `--json`."""
    portfolio, periods = review.mixture, args.periods or YEAR
    assert isinstance(portfolio, Portfolio)
    sharpe = portfolio.sharpe(periods)
    told = {
        "wealth": portfolio.wealth,
        "cost": portfolio.ledger.cost,
        "costs_paid": portfolio.ledger.paid,
        "drawdown": portfolio.drawdown,
        "sharpe": None if math.isnan(sharpe) else sharpe,
        "periods": periods,
        "others": {how: other.wealth for how, other in _others(found, review).items()},
    }
    if isinstance(portfolio, MixedPortfolio):
        told["distance_from_uniform"] = portfolio.distance
    return {"portfolio": told}
