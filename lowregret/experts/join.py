"""Experts that join later, as if they had been asleep before: R = 0, and a share of the prior.

With n experts and k that join, priors shrink by c = n/(n + k). Of `Hedge`, `MLPoly` and `Squint` every weight is then
what it would be had the k been there asleep, and so is the bound. `AdaHedge` had a rate for n experts: its potential
Φ(η) = ln(Σπe^{ηR})/η may jump, which is booked as a gap, and Δ grows so much that η = ln(n + k)/Δ does not: both are
all that its proof asks for. Of the others nothing is known.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from lowregret.errors import PartError
from lowregret.experts.aggregator import AdaHedge, Aggregator, Hedge, MLPoly, Squint
from lowregret.experts.state import BEFORE, ENERGY, GAPS, LARGEST, NAPS, ROUNDS
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.experts.mixture import ExpertMixture

State = TypeVar("State", bound=Any)


def join_experts(aggregator: Aggregator, kept: State, prior: Vector, joining: int) -> tuple[State, Vector]:
    """The book or standings of an aggregator with room for experts that join, and the prior: O(N) a group."""
    if not isinstance(aggregator, Hedge | MLPoly | Squint | AdaHedge):
        raise PartError(
            f"no expert can join {type(aggregator).__name__}, whose weights depend on all that were there: "
            "begin anew, or use auto, hedge, ml-poly, squint or adahedge"
        )
    n = prior.size
    shrunk = np.append(prior * (n / (n + joining)), np.full(joining, 1 / (n + joining)))
    sums, counts = kept.sums.copy(), kept.counts.copy()
    counts[..., NAPS] = counts[..., ROUNDS]
    wide = {
        name: np.concatenate([a, np.zeros((*a.shape[:-1], joining))], axis=-1)
        for name, a in kept._asdict().items()
        if name not in ("sums", "counts")
    }
    if isinstance(aggregator, MLPoly):
        largest = sums[..., LARGEST, None] ** 2
        wide["square"][..., n:] = largest
        wide["rate"][..., n:] = np.divide(1.0, largest, out=np.zeros_like(largest), where=largest > 0)
        sums[..., ENERGY] *= n / (n + joining)
    if isinstance(aggregator, AdaHedge):
        sums[..., GAPS] = sums[..., BEFORE] = _gaps(kept.regret, prior, sums[..., GAPS], joining)
    return kept._replace(**wide, sums=sums, counts=counts), shrunk


def _gaps(regret: Vector, prior: Vector, gaps: Vector, joining: int) -> Vector:
    """Δ of AdaHedge after experts have joined: Δ + [Φ' − Φ]₊ at the present η, at least Δ·ln(n + k)/ln n."""
    n = prior.size
    share, size = n / (n + joining), math.log(max(n, 2))
    top = np.max(np.where(prior > 0, regret, -np.inf), axis=-1)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        eta = np.where(gaps > 0, size / gaps, np.inf)[..., None]
        behind = np.where(regret < top[..., None], eta * (regret - top[..., None]), 0.0)
        total = np.sum(prior * np.exp(behind), axis=-1)
        before = top + np.log(total) / eta[..., 0]
        above = np.maximum(top, 0.0)
        terms = share * total * np.exp(np.where(top < above, eta[..., 0] * (top - above), 0.0))
        terms += (1 - share) * np.exp(np.where(above > 0, -eta[..., 0] * above, 0.0))
        after = above + np.log(terms) / eta[..., 0]
    jump = np.maximum(after - before, 0.0)
    return np.maximum(gaps + jump, gaps * (math.log(max(n + joining, 2)) / size))


def join_mixture(mixture: ExpertMixture, names: list[str]) -> None:
    """Let experts join a mixture that goes on: O(N), and O(kept rounds)."""
    lanes: list[ExpertMixture] = getattr(mixture, "lanes", [])
    chief: ExpertMixture | None = getattr(mixture, "chief", None)
    if type(mixture).kind not in ("experts", "layered-experts"):
        raise PartError(f"nobody can join a {type(mixture).__name__}: begin anew")
    for lane in lanes:
        join_mixture(lane, names)
    more = len(names)
    book, prior = join_experts(Squint() if lanes else mixture.aggregator, mixture.book, mixture.book.prior, more)
    mixture.book = book._replace(prior=prior, mass=prior.copy())
    mixture.names = [*mixture.names, *names]
    if chief is not None:
        chief.beside = len(mixture.names)
    if not lanes:
        mixture._weights = [np.append(w, np.zeros(more)) for w in mixture._weights]
    mixture.drift = np.insert(mixture.drift, -1, np.zeros(more))
    for number, (x, p) in mixture.pending.items():
        blank = np.full((*x.shape[:-1], more), np.nan)
        mixture.pending[number] = np.concatenate([x, blank], axis=-1), p
