"""Regrets that are small beside the losses they are differences of."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.errors import DataError
from lowregret.experts import AdaHedge, BoxHedge, ExpertMixture, Layered, Quantiles, SeriesMixture, Specialists
from lowregret.loss import Absolute, Cost
from lowregret.store.migrate import from_8

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


def test_a_regret_to_one_expert_for_all_series_is_exact_beside_those_of_single_series() -> None:
    """Of two series an expert wins one by 2⁵⁵ and loses the other by as much, but for the thirds of later rounds."""
    big, few = 2.0**55, 5
    table = {
        "unique_id": ["a", "b"] * (few + 1),
        "ds": np.repeat(np.arange(few + 1), 2),
        "y": np.zeros(2 * (few + 1)),
        "m": np.append([0.0, 2 * big], np.full(2 * few, 1 / 3)),
        "n": np.append([2 * big, 0.0], np.full(2 * few, 2 / 3)),
    }
    mixture = SeriesMixture(["m", "n"], Absolute(), weights="series", compiled=False).learn(table)
    mixture.deliver()
    p = sum((Fraction(abs(v)) for v in mixture.forecasts.tolist()), Fraction())
    exactly = [float(p - sum(map(Fraction, np.array(table[name]).tolist()), Fraction())) for name in ("m", "n")]
    assert mixture.regrets == pytest.approx(exactly, rel=1e-12)


def test_a_box_far_from_0_hides_no_regret(tmp_path: Path) -> None:
    """Losses of 10¹⁶ are even: their difference from the best was 2, of files as of runs."""
    far, near = (BoxHedge([low], [low + 4.0], 0.1).learn([[1.0], [-1.0], [1.0]]) for low in (1e16, 0.0))
    assert far.regret == pytest.approx(near.regret, rel=1e-14) == pytest.approx(2.1329791268789453)
    c = far.certificate
    assert c.bound == pytest.approx(near.certificate.bound, rel=1e-14)
    assert 0 < c.rounding < 1e-10
    far.save(tmp_path / "far.lr")
    assert lowregret.load(tmp_path / "far.lr").regret == far.regret
    old = {"loss": near.loss}, {"low": near.low, "high": near.high, "sum": near.sum}
    assert from_8("box-hedge", *old)[1]["behind"].max(0).sum() == pytest.approx(near.regret, rel=1e-14)
    with pytest.raises(DataError, match="too large"):
        near.learn([[1e300]])
    assert near.rounds == 3


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
