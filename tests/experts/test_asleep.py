"""Sleepers: what is proved of the rounds in which an expert was awake, and the best weights over these."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowregret
from lowregret import Absolute, DataError, Square
from lowregret.experts import AdaHedge, Calibrated, ExpertMixture, Layered, Review
from lowregret.experts.state import NAPS
from tests.experts import naive
from tests.experts.cases import random_rounds
from tests.experts.test_certify import require_certified

LANES = [naive.ml_poly(), naive.ml_poly(0.99), naive.ml_poly(0.9), naive.adahedge(), naive.squint()]
RATES = [naive.scaled_hedge(4.0**j) for j in range(2, -7, -1)]


@pytest.mark.parametrize(("kind", "lanes"), [(Layered, LANES), (Calibrated, RATES)], ids=["layered", "calibrated"])
def test_layers_with_sleepers_are_what_they_say(kind: type[Layered], lanes: list[naive.Weigh]) -> None:
    x, y = random_rounds(40, 4, 8)
    x[np.random.default_rng(0).random(x.shape) < 0.25] = np.nan
    x[:, 0] = np.where(np.isnan(x).all(1), y, x[:, 0])
    panel = kind(4, compiled=False).learn(x, y)
    forecasts, weights = naive.layered(lanes, naive.ml_poly(), Square(), x, y)
    np.testing.assert_allclose(panel.forecasts, forecasts, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(panel.weights_over_time[1], weights, rtol=1e-6, atol=1e-9)


def test_compiled_in_pieces_from_disk_and_one_by_one_is_all_at_once(tmp_path: Path) -> None:
    x, y = random_rounds(120, 4, 9, 0.3)
    x[50:60] = np.nan  # nobody is awake
    x[70:90], y[75] = random_rounds(20, 4, 1)[0], math.nan
    whole = Layered(4, Absolute()).learn(x, y)
    split = Layered(4, Absolute(), compiled=False).learn(x[:30], y[:30])
    first = split.forecasts
    split = lowregret.load(split.save(tmp_path / "panel.lr"))
    split.compiled = True
    for mixture in (*split.lanes, split.chief):
        mixture.compiled = True
    said = []
    for row, outcome in zip(x[30:50], y[30:50], strict=True):
        number, p = split.ask(row)
        split.tell(number, outcome)
        said.append(p)
    rest = split.learn(x[50:], y[50:]).forecasts
    assert np.array_equal(np.concatenate([first, said, rest]), whole.forecasts, equal_nan=True)
    assert np.array_equal(split.weights_over_time[1], whole.weights_over_time[1])
    assert split.certificate == whole.certificate
    assert whole.certificate.holds
    with pytest.raises(DataError, match="all are NaN"):
        whole.ask([math.nan] * 4)


@settings(max_examples=25)
@given(st.integers(1, 4), st.integers(1, 25), st.integers(0, 10**6), st.floats(0, 0.9), st.floats(-3, 3))
def test_whoever_sleeps_the_promise_is_kept(n: int, rounds: int, seed: int, asleep: float, size: float) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice([0.0, 1.0, 2.0], (rounds, n)) * 10.0 ** (size * rng.random((rounds, 1)))
    y = rng.choice([0.0, 1.0], rounds)
    x[rng.random(x.shape) < asleep] = np.nan
    for kind in (Layered, Calibrated):
        panel = kind(n, Absolute(), compiled=False).learn(x, y)
        if panel.rounds:
            require_certified(panel, panel.forecasts, x, y)
            assert panel.certificate.premises_hold


def test_one_who_sleeps_whenever_the_others_do_well() -> None:
    """Lanes that trust the others look good in the rounds in which expert 0 sleeps, and are wrong in its own."""
    own = np.arange(150) % 3 == 0
    x = np.tile([0.0, 1.0, 0.8], (150, 1))
    x[~own, 0] = math.nan
    panel = Layered(3, Absolute(), compiled=False).learn(x, np.where(own, 0.0, 1.0))
    assert panel.regret > 1
    assert panel.best.index == 0
    assert panel.certificate.premises_hold
    assert panel.certificate.holds


def test_a_round_that_cannot_be_learnt_is_refused_with_all_that_come_after() -> None:
    x, y = random_rounds(12, 3, 5, 0.2)
    wrong = x.copy()
    wrong[7] = 1e100, 0.0, math.nan
    panel, plain = Layered(3, compiled=False), Layered(3, compiled=False)
    with pytest.raises(DataError, match="round 7: losses differ by more"):
        panel.learn(wrong, y)
    assert (panel.asked, panel.rounds) == (7, 7)
    plain.learn(x, y)
    panel.learn(x[7:], y[7:])
    assert np.array_equal(panel.forecasts, plain.forecasts[7:], equal_nan=True)
    assert panel.certificate == plain.certificate


def test_lanes_that_learnt_without_sleepers_claim_nothing() -> None:
    """As they are in files from before."""
    panel = Layered(3, compiled=False).learn(*random_rounds(20, 3, 2))
    panel.lanes[0].book.counts[NAPS] = 3
    assert [p.observed for p in panel.certificate.premises if not p.holds] == ["not in 3 rounds"]


@pytest.mark.parametrize("panel", [Layered(4, compiled=False), ExpertMixture(4, AdaHedge(), compiled=False)])
def test_one_empty_cell_takes_nothing_away(panel: ExpertMixture) -> None:
    x, y = random_rounds(80, 4, 3)
    x[7, 1] = math.nan
    review = Review.of(panel.learn(x, y), x, y)
    found, text = review.combination, str(review)
    assert found is not None
    for words in ("the best weights", "theory promised at most", "made to sum to 1 among those awake", "was awake"):
        assert words in text
    filled = np.where(np.isnan(x), panel.forecasts[:, None], x)
    rng = np.random.default_rng(1)
    certificate: Any = review.certificate
    assert certificate.regret == pytest.approx(panel.loss - ((filled @ found.w - y) ** 2).sum())
    for u in (*rng.dirichlet(np.ones(4), 200), *np.eye(4)):
        other = float(((filled @ u - y) ** 2).sum())
        assert found.value - found.gap <= other * (1 + 1e-12)
        assert panel.loss - other <= certificate.proved
    u = found.w / (1 - found.w[1])
    among = np.delete(found.w, 1) * [x[7, [0, 2, 3]]] / (1 - found.w[1])
    kept = np.arange(80) != 7
    expected = ((x[kept] @ found.w - y[kept]) ** 2).sum() + (among.sum() - y[7]) ** 2
    assert review.among_awake == pytest.approx(expected)


def test_a_review_of_sleepers_needs_to_know_what_was_said() -> None:
    x, y = random_rounds(30, 3, 4, 0.2)
    panel = ExpertMixture(3, AdaHedge(), compiled=False)
    first = panel.learn(x[:10], y[:10]).forecasts
    said = np.concatenate([first, panel.learn(x[10:], y[10:]).forecasts])
    assert Review.of(panel, x, y).combination is None
    assert Review.of(panel, x, y, said).combination is not None
