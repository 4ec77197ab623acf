"""Bounds of one aggregator in many groups at once: those of `certify.bound_against`, group by group."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.experts.aggregator import RATES, AdaHedge, MLPoly, Squint
from lowregret.experts.certify import bound_against
from lowregret.experts.group_mixture import Stage
from lowregret.experts.groups import GroupStandings
from lowregret.experts.state import BEFORE, ENERGY, GAPS, LARGEST
from lowregret.types import Vector


def bounds_against(stage: Stage, mixable: bool, groups: Any, k: Any) -> Vector:
    """The bound on R[k] in each group, k an expert for each: O(GN)."""
    s, prior = stage.standings, stage.prior[k]
    with np.errstate(divide="ignore", invalid="ignore"):
        match stage.aggregator:
            case AdaHedge():
                share = -np.log(prior) / math.log(max(stage.prior.size, 2))
                earlier = np.where(prior > 0, share * s.sums[groups, BEFORE], math.inf)
                return np.asarray(s.sums[groups, GAPS] + earlier)
            case MLPoly(memory) if memory == 1:
                rate = prior * s.rate[groups, k]
                idle = np.where(prior > 0, 0.0, math.inf)
                return np.where(rate > 0, np.sqrt(s.sums[groups, ENERGY] / rate), idle)
            case MLPoly():
                return np.full(len(groups), math.inf)
            case Squint():
                return _squint(s, stage.prior, groups, k)
    return np.array(
        [bound_against(stage.aggregator, mixable, stage.book(g), i)[2] for g, i in zip(groups, k, strict=True)]
    )


def _squint(s: GroupStandings, prior: Vector, groups: Any, k: Any) -> Vector:
    """min_j (ln Φ + ln(1/(π[k]γ_j)))/η_j + η_jV[k], 0 where nobody has lost anything yet."""
    largest = np.where(s.sums[groups, LARGEST] > 0, s.sums[groups, LARGEST], 1.0)
    rates = 0.5 ** (np.arange(RATES) + 1) / largest[:, None]
    highest, total = np.full(len(groups), -math.inf), np.zeros(len(groups))
    for i in np.flatnonzero(prior > 0).tolist():  # one expert at a time: tables of G × 30 numbers, not of G × N × 30
        regret = s.regret[groups, i, None]
        terms = np.where(regret > -math.inf, regret * rates - s.square[groups, i, None] * rates**2, -math.inf)
        terms = terms + math.log(prior[i]) - math.log(RATES)
        above = np.maximum(highest, terms.max(1))
        total = total * np.exp(np.where(highest > -math.inf, highest - above, -math.inf))
        total += np.exp(terms - above[:, None]).sum(1)
        highest = above
    potential = np.maximum(highest + np.log(total), 0.0)
    price = potential - np.log(prior[k]) + math.log(RATES)
    found = np.min(price[:, None] / rates + rates * s.square[groups, k][:, None], axis=1)
    return np.where(s.sums[groups, LARGEST] > 0, found, 0.0)
