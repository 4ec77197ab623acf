"""Regrets that are small beside the losses they are differences of."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.experts import AdaHedge, ExpertMixture, Layered, Quantiles, SeriesMixture, Specialists
from lowregret.loss import Absolute, Cost

COMMON = 2.0**45  # beside which sums of a hundred losses keep two digits behind the point
ROUNDS, EXPERTS = 100, 3


def costs() -> Any:
    return COMMON + np.random.default_rng(5).integers(0, 128, (ROUNDS, EXPERTS)) / 128


def exact(x: Any, p: Any) -> float:
    """max_k Σ p_t − x_t[k], in fractions."""
    own = sum(map(Fraction, p.tolist()), Fraction())
    return float(max(own - sum(map(Fraction, column.tolist()), Fraction()) for column in x.T))


@pytest.mark.parametrize("kind", ["one", "layers", "late", "specialists", "series"])
def test_a_regret_is_exact_beside_large_common_losses(kind: str, tmp_path: Path) -> None:
    """Of two sums of 2⁵¹ the last digit is ½, so that a difference of them was wrong in the second digit."""
    x, y = costs(), np.ones(ROUNDS)
    mixture: Any
    if kind == "one":
        mixture = ExpertMixture(EXPERTS, AdaHedge(), Cost(), compiled=False).learn(x, y)
        p = mixture.forecasts
        assert mixture.certificate.regret == mixture.regret
    elif kind == "late":
        mixture, asked = ExpertMixture(EXPERTS, AdaHedge(), Cost(), compiled=False), []
        for begin in range(0, ROUNDS, 10):
            waiting = [mixture.ask(row) for row in x[begin : begin + 10]]
            asked += [said for _, said in waiting]
            for number, _ in reversed(waiting):
                mixture.tell(number, 1.0)
        p = np.array(asked)
    elif kind == "layers":
        mixture = Layered(EXPERTS, Absolute(), compiled=False).learn(x, 0 * y)
        p = mixture.forecasts
        assert mixture.certificate.regret == mixture.regret
    elif kind == "specialists":
        starts = np.arange(ROUNDS + 1) * EXPERTS
        mixture = Specialists(EXPERTS, 0.01, Absolute(), compiled=False)
        p = mixture.learn(starts, np.tile(np.arange(EXPERTS), ROUNDS), x.ravel(), 0 * y).forecasts
    else:
        names = [f"m{k}" for k in range(EXPERTS)]
        mixture = SeriesMixture(names, Absolute(), compiled=False)
        table = {"unique_id": ["a"] * ROUNDS, "ds": np.arange(ROUNDS), "y": 0 * y} | dict(zip(names, x.T, strict=True))
        p = mixture.learn(table).forecasts
    assert mixture.regret == pytest.approx(exact(x, p), rel=1e-12)
    if kind in ("one", "series"):
        mixture.save(tmp_path / "a.lr")
        assert lowregret.load(tmp_path / "a.lr").regret == mixture.regret


@pytest.mark.parametrize("told", [False, True])
def test_what_pooling_gained_is_exact_beside_large_losses(told: bool) -> None:
    """Quantiles that cross, by 2⁴⁵ beyond all outcomes."""
    x = COMMON + np.random.default_rng(6).integers(0, 128, (ROUNDS, 2, 2)) * 1.0
    mixture = Quantiles(2, [0.25, 0.75], compiled=False)
    if told:
        p: Any = []
        for row in x:
            number, said = mixture.ask(row)
            p.append(said)
            mixture.tell(number, 0.0)
    else:
        p = mixture.learn(x, np.zeros(ROUNDS)).forecasts
    assert np.any(mixture.gained)
    own, *rivals = (crps(said) for said in (np.array(p), x[:, 0], x[:, 1]))
    assert mixture.regret == pytest.approx(float(own - min(rivals)), abs=0.05)  # of 400 losses, each rounded


def crps(said: Any) -> Fraction:
    """The score of quantiles of levels ¼ and ¾ above outcomes of 0, in fractions."""
    low, high = (sum(map(Fraction, column.tolist()), Fraction()) for column in said.T)
    return Fraction(3, 4) * low + Fraction(1, 4) * high
