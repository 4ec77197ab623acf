"""Quantiles as one forecast: pooled where they cross, scored by the CRPS, certified as their sum."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import DataError, PartError, Quantile, load
from lowregret.experts import Layered, Quantiles
from lowregret.experts.quantiles import cells, quantile_rows

PLAIN: dict[str, Any] = {"compiled": False}
LEVELS = [0.1, 0.3, 0.5, 0.9]


def pinball(tau: Any, y: Any, q: Any) -> Any:
    return np.where(y > q, tau * (y - q), (1 - tau) * (q - y))


def rounds(count: int = 80, seed: int = 0) -> tuple[Any, Any]:
    """Experts whose quantiles are shifted and stretched, and cross now and then."""
    rng = np.random.default_rng(seed)
    y = rng.normal(10, 1, count)
    base = 10 + np.array([-1.28, -0.52, 0.0, 1.28])
    x = base + rng.normal(0, 0.5, (count, 3, 1)) + rng.normal(0, 0.3, (count, 3, 4)) * [[1], [2], [3]]
    x[7, 1], y[30] = math.nan, math.nan
    return x, y


def pooled(p: Any, levels: Any, y: Any) -> tuple[Any, Any]:
    """What the loop makes of rows, and the losses by level."""
    p, levels = np.array(p, float), np.array(levels, float)
    losses, below, scratch = np.zeros(levels.size), np.zeros(levels.size, np.int64), np.empty((2, levels.size))
    room = scratch, np.empty(levels.size, np.int64)
    kept = losses, below, np.zeros(levels.size)
    getattr(quantile_rows, "py_func", quantile_rows)(
        p, p.copy(), np.array(y, float), levels, cells(levels), *room, *kept
    )
    return p, losses


@given(st.lists(st.floats(-10, 10), min_size=4, max_size=4), st.floats(-12, 12))
def test_pooling_is_isotonic_regression_and_never_costs(row: list[float], y: float) -> None:
    from scipy.optimize import isotonic_regression

    levels, shares = np.array(LEVELS), cells(np.array(LEVELS))
    (p,), losses = pooled([row], LEVELS, [y])
    np.testing.assert_allclose(p, isotonic_regression(row, weights=shares).x, atol=1e-9)
    assert np.all(np.diff(p) >= 0)
    np.testing.assert_allclose(losses, pinball(levels, y, p), atol=1e-9)
    assert shares @ losses <= shares @ pinball(levels, y, np.array(row)) + 1e-9


def test_sorting_can_cost_where_cells_differ() -> None:
    """Why levels are pooled and not sorted."""
    levels, row, y = np.array([0.1, 0.11, 0.12, 0.9]), np.array([0.0, 2.0, 1.0, 3.0]), 0.5
    shares = cells(levels)
    crossed, ordered, (p,) = row, np.sort(row), pooled([row], levels, [y])[0]
    score = [float(shares @ pinball(levels, y, q)) for q in (crossed, ordered, p)]
    assert score[1] > score[0] > score[2]


def test_the_score_is_the_crps_where_levels_are_the_middles_of_their_cells() -> None:
    """E|X − y| − ½E|X − X'|, X uniform on the quantiles."""
    levels = (np.arange(9) + 0.5) / 9
    q, y = np.sort(np.random.default_rng(1).normal(size=9)), 0.3
    np.testing.assert_allclose(cells(levels), 1 / 9)
    _, losses = pooled([q], levels, [y])
    exact = np.abs(q - y).mean() - np.abs(q[:, None] - q).mean() / 2
    assert 2 * cells(levels) @ losses == pytest.approx(exact)
    assert cells(np.array([0.2, 0.3, 0.9])).tolist() == pytest.approx([0.25, 0.35, 0.4])


def test_each_level_is_a_mixture_of_its_own() -> None:
    x, y = rounds()
    run = Quantiles(["a", "b", "c"], LEVELS, **PLAIN).learn(x, y)
    known, score = ~np.isnan(y), 0.0
    raw = np.stack([Layered(3, Quantile(t), **PLAIN).learn(x[:, :, k], y).forecasts for k, t in enumerate(LEVELS)], 1)
    assert np.any(np.diff(raw, axis=1) < 0)
    expected, losses = pooled(raw, LEVELS, y)
    assert np.array_equal(run.forecasts, expected)
    for k, (tau, share) in enumerate(zip(LEVELS, cells(np.array(LEVELS)).tolist(), strict=True)):
        own = pinball(tau, y, run.forecasts[:, k])[known]
        assert run.scores[k].pinball == pytest.approx(own.mean())
        assert run.scores[k].below == pytest.approx((y <= run.forecasts[:, k])[known].mean())
        score += 2 * share * own.sum()
    assert run.loss == pytest.approx(score) == pytest.approx(2 * cells(np.array(LEVELS)) @ losses)
    mixed = 2 * cells(np.array(LEVELS)) @ [m.loss for m in run.mixtures]
    assert run.loss < mixed
    found, shares = run.certificate, cells(np.array(LEVELS))
    assert np.isnan(x).any()  # somebody slept, and is taken to have said what the level's mixture said
    heard = np.where(np.isnan(x), raw[:, None], x)[known]
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (50, len(LEVELS)))
    rivals = [np.einsum("til,li->tl", heard, w) for w in weights]
    theirs = min(2 * (shares * pinball(np.array(LEVELS), y[known, None], rival)).sum() for rival in rivals)
    assert found.premises_hold
    assert run.loss - theirs <= mixed - theirs <= found.proved <= found.bound + found.rounding


def test_it_is_certified() -> None:
    x, y = rounds(120, 3)
    x[7], y[30] = x[6], 9.0
    run = Quantiles(3, LEVELS, **PLAIN).learn(x, y)
    found, shares, levels = run.certificate, cells(np.array(LEVELS)), np.array(LEVELS)
    each = 2 * pinball(levels, y[:, None, None], x).sum(0) @ shares
    np.testing.assert_allclose(run.expert_losses, each)
    assert run.best.loss == pytest.approx(each.min())
    assert found.holds
    assert found.regret == pytest.approx(run.loss - each.min())
    weights = np.random.default_rng(0).dirichlet(np.ones(3), (50, 4))
    theirs = [2 * (shares * pinball(levels, y[:, None], np.einsum("til,li->tl", x, w))).sum() for w in weights]
    assert run.loss - min(theirs) <= found.proved <= found.bound + found.rounding


def test_numbers_that_all_levels_use_and_one_by_one(tmp_path: Path) -> None:
    x, y = rounds()
    plain = x[:, :, 2]
    whole = Quantiles(3, [0.2, 0.8], **PLAIN).learn(plain, y)
    same = Quantiles(3, [0.2, 0.8], **PLAIN).learn(np.repeat(plain[:, :, None], 2, 2), y)
    assert np.array_equal(whole.forecasts, same.forecasts)
    single = Quantiles(3, [0.2, 0.8], **PLAIN)
    for t in range(len(y)):
        number, p = single.ask(plain[t])
        assert np.array_equal(p, whole.forecasts[t])
        if t == 40:
            single = load(single.save(tmp_path / "q"))
        if not math.isnan(y[t]):
            single.tell(number, y[t])
    assert single.loss == pytest.approx(whole.loss)
    assert single.weights.shape == (2, 3)
    with pytest.raises(DataError, match="waits for no outcome"):
        single.tell(-1, 0.0)


def test_an_outcome_that_one_level_refuses_is_learnt_by_none(tmp_path: Path) -> None:
    run = Quantiles(2, [0.1, 0.5, 0.9], compiled=False)
    number, _ = run.ask([[0.0, 0.0, 0.0], [1.0, 1.0, 1e-170]])  # differences whose squares are no numbers, at one level
    later, _ = run.ask([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]])
    with pytest.raises(DataError, match="scale forecasts"):
        run.tell(number, 0.5)
    assert run.rounds == 0
    assert list(run.pending) == [number, later]
    run.save(tmp_path / "q.lr")
    assert list(load(tmp_path / "q.lr").pending) == [number, later]
    run.tell(later, 0.5)
    assert [mixture.rounds for mixture in run.mixtures] == [1, 1, 1]
    assert run.certificate.holds


def test_what_is_wrong_is_said() -> None:
    for levels in ([], [0.5, 0.5], [0.9, 0.1], [0.0, 0.5], [0.5, 1.0], [math.nan]):
        with pytest.raises(PartError, match="ascend strictly between 0 and 1"):
            Quantiles(2, levels)
    run = Quantiles(2, [0.1, 0.9], **PLAIN)
    with pytest.raises(DataError, match=r"expected \(2, 2\): experts, then levels"):
        run.learn(np.zeros((3, 4)), np.zeros(3))
    with pytest.raises(DataError, match="round 1: the forecast 1e\\+200 is too large"):
        run.learn([[0.0, 0.0], [1e200, 0.0]], [0.0, 0.0])
    with pytest.raises(DataError, match="round 0: the outcome inf is too large"):
        run.learn([[0.0, 0.0]], [math.inf])
    with pytest.raises(DataError, match="no expert has a forecast"):
        run.ask([math.nan, math.nan])
    assert run.rounds == 0
