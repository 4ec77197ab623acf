"""One expert drawn, a continuum of them, and very many of which few are awake."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from lowregret import Absolute, DataError, PartError, Square, StoreError
from lowregret.experts import BoxHedge, Drawing, ExpertMixture, Hedge, MLPoly, SampledHedge, Specialists, grid
from lowregret.experts.draw import coins
from lowregret.loss import Cost, Loss
from tests.experts.cases import random_rounds


def test_draws_follow_the_weights_and_the_loss_is_the_mixtures() -> None:
    rng = np.random.default_rng(0)
    costs = rng.random((4000, 3))
    drawing, panel = Drawing(3, Hedge(0.02), seed=5), ExpertMixture(3, Hedge(0.02), Cost())
    drawn = drawing.learn(costs).drawn
    assert drawing.loss == pytest.approx(panel.learn(costs, np.ones(4000)).forecasts.sum())
    assert drawing.realised == pytest.approx(costs[np.arange(4000), drawn].sum())
    assert abs(drawing.realised - drawing.loss) <= math.sqrt(4000 * math.log(1 / 0.001) / 2)
    assert drawing.certificate.holds
    share = np.bincount(drawn, minlength=3) / 4000
    assert np.abs(share - panel.weights_over_time[1].mean(0)).max() < 0.03


@given(st.integers(1, 39), st.integers(0, 100))
def test_pieces_one_by_one_and_who_is_asked(cut: int, seed: int) -> None:
    costs = np.random.default_rng(seed).random((40, 3))
    whole, split = (Drawing(3, MLPoly(), seed=seed, compiled=False) for _ in range(2))
    expected = whole.learn(costs).drawn
    found = split.learn(costs[:cut]).drawn.tolist()
    for row in costs[cut:]:
        asked = split.draw()
        found += split.learn(row[None]).drawn.tolist()
        assert found[-1] == asked
    assert found == expected.tolist()
    assert (split.loss, split.realised) == (whole.loss, whole.realised)


def test_sleepers_are_not_drawn() -> None:
    costs = np.tile([math.nan, 1.0, math.nan], (30, 1))
    drawing = Drawing(3, Hedge(0.1), compiled=False)
    assert set(drawing.learn(costs).drawn.tolist()) == {1}
    assert drawing.learn([[math.nan] * 3]).drawn.tolist() == [-1]


def test_coins_are_uniform_and_differ_by_seed() -> None:
    u = coins(1, 0, 100_000)
    assert np.abs(np.histogram(u, 20, (0, 1))[0] / 5000 - 1).max() < 0.06
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.02
    assert abs(np.corrcoef(u, coins(2, 0, 100_000))[0, 1]) < 0.02
    assert np.array_equal(coins(1, 500, 10), u[500:510])


# ---- a continuum ---------------------------------------------------------------------------------------------------


@settings(max_examples=40)
@given(st.integers(1, 4), st.integers(1, 60), st.integers(0, 10**6), st.floats(0.01, 5.0))
def test_boxes_are_certified(d: int, rounds: int, seed: int, eta: float) -> None:
    rng = np.random.default_rng(seed)
    low = rng.normal(size=d)
    hedge = BoxHedge(low, low + rng.uniform(0.1, 3, d), eta, seed)
    for z in rng.normal(size=(rounds, d)) * rng.choice([0.01, 1.0, 100.0]):
        w = hedge.draw()
        assert np.all((hedge.low <= w) & (w <= hedge.high))
        assert np.array_equal(w, hedge.draw())
        hedge.learn(z)
    assert hedge.certificate.holds, hedge.certificate


@pytest.mark.parametrize("pull", [0.0, 1e-6, 0.3, -2.0, 40.0, -300.0])
def test_box_moments_and_draws_are_those_of_the_density(pull: float) -> None:
    hedge = BoxHedge(-1.0, 2.0, 1.0, 0)
    hedge.learn([pull])
    middle = -1.0 if pull > 0 else 2.0
    mass = quad(lambda w: math.exp(-pull * (w - middle)), -1, 2, points=[middle], limit=200)[0]
    mean = quad(lambda w: w * math.exp(-pull * (w - middle)), -1, 2, points=[middle], limit=200)[0] / mass
    assert hedge.mean[0] == pytest.approx(mean, abs=1e-8)
    assert hedge.potential == pytest.approx(pull * middle - math.log(mass / 3), abs=1e-8)
    drawn = []
    for _ in range(4000):
        hedge._coins = None
        drawn.append(hedge.draw()[0])
    assert np.mean(drawn) == pytest.approx(mean, abs=5 * np.std(drawn) / math.sqrt(4000) + 1e-12)


def test_a_grid_comes_near_the_box() -> None:
    rng = np.random.default_rng(3)
    z, points = rng.normal(size=(30, 2)), grid([0, 0], [1, 2], 30)
    assert points.shape == (900, 2)
    panel, box = ExpertMixture(900, Hedge(0.5), Cost(), compiled=False), BoxHedge([0, 0], [1, 2], 0.5)
    panel.learn(z @ points.T, np.ones(30))
    for row in z:
        box.learn(row)
    assert panel.loss == pytest.approx(box.loss, abs=1e-2)
    assert panel.certificate.holds


def test_a_sampler_of_ones_own(tmp_path: Path) -> None:
    hedge = SampledHedge(lambda rng, losses: rng.normal() + len(losses), seed=1)
    first = hedge.draw()
    assert hedge.draw() == first
    assert hedge.learn(abs).loss == abs(first)
    assert hedge.draw() != first
    assert not hedge.certificate.premises_hold
    with pytest.raises(StoreError, match=r"the sampler <function .* cannot be written"):
        hedge.save(tmp_path / "hedge")


def test_boxes_that_are_none() -> None:
    with pytest.raises(PartError, match="low < high"):
        BoxHedge([0, 0], [1, 0], 1.0)
    with pytest.raises(PartError, match="eta"):
        BoxHedge(0, 1, 0.0)


# ---- specialists ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("linearised", [True, False])
@pytest.mark.parametrize("loss", [Square(), Absolute()])
def test_sparse_is_dense(loss: Loss, linearised: bool) -> None:
    x, y = random_rounds(200, 6, 4, 0.6)
    x[17], y[30] = math.nan, math.nan
    awake = ~np.isnan(x)
    starts = np.append(0, np.cumsum(awake.sum(1)))
    sparse = Specialists(6, 0.3, loss, linearised=linearised, compiled=False)
    dense = ExpertMixture(6, Hedge(0.3), loss, linearised=linearised, compiled=False)
    half = int(starts[100])
    p = np.concatenate(
        [
            sparse.learn(starts[:101], np.nonzero(awake[:100])[1], x[awake][:half], y[:100]).forecasts,
            sparse.learn(starts[100:] - half, np.nonzero(awake[100:])[1], x[awake][half:], y[100:]).forecasts,
        ]
    )
    np.testing.assert_allclose(p, dense.learn(x, y).forecasts, rtol=1e-9)
    ours, theirs = sparse.certificate, dense.certificate
    assert ours.bound == pytest.approx(theirs.bound, rel=1e-9)
    assert ours.regret == pytest.approx(theirs.regret, rel=1e-9)
    assert ours.holds
    assert sparse.rounds == dense.rounds == np.count_nonzero(awake.any(1) & ~np.isnan(y))


def test_a_million_specialists() -> None:
    rng = np.random.default_rng(5)
    rounds, awake = 20_000, 5
    ids = np.sort(rng.integers(0, 200_000, (rounds, awake)) * awake + np.arange(awake), 1)
    y = rng.normal(size=rounds)
    x = y[:, None] + rng.normal(size=(rounds, awake)) * (0.1 + ids % 3)
    many = Specialists(10**6, 0.2, Absolute())
    p = many.learn(np.arange(rounds + 1) * awake, ids.ravel(), x.ravel(), y).forecasts
    assert np.isfinite(p).all()
    assert many.certificate.holds
    assert many.loss == pytest.approx(np.abs(p - y).sum())


@pytest.mark.parametrize(
    ("starts", "ids", "x", "message"),
    [
        ([0, 3], [0, 1], [1.0, 2.0], "starts must ascend from 0 to 2"),
        ([0, 2], [0, 4], [1.0, 2.0], "between 0 and 3, got 0 to 4"),
        ([0, 2], [1, 1], [1.0, 2.0], "round 0: ids must ascend"),
        ([0, 2], [0, 1], [1.0, math.nan], "finite forecast for each id"),
    ],
)
def test_rounds_that_do_not_fit(starts: list[int], ids: list[int], x: list[float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Specialists(4, 0.1, compiled=False).learn(starts, ids, x, [1.0])
