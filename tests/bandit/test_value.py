"""Off-policy values: unbiased by enumeration of all logs, intervals that cover, and what cannot be said."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, PartError
from lowregret.bandit import BanditLog, Estimate, bandit_log, doubly_robust, ips, logged_value, read_log, snips
from lowregret.bandit.value import arm_values, evaluate, lowest_mean
from lowregret.types import Vector

P, MEANS, POLICY = np.array([0.6, 0.3, 0.1]), np.array([0.2, 0.5, 0.9]), np.array([0.1, 0.3, 0.6])


def log_of(arms: Any, rewards: Any, p: Vector = P, **more: Any) -> BanditLog:
    """A log in which all three arms have their names, whichever occur."""
    arms = np.asarray(arms)
    return BanditLog(arms, np.asarray(rewards, float), p[arms], ("0", "1", "2"), **more)


def drawn_log(n: int, seed: int, p: Vector = P) -> BanditLog:
    rng = np.random.default_rng(seed)
    arms = rng.choice(3, n, p=p)
    return log_of(arms, rng.random(n) < MEANS[arms], p)


@pytest.mark.parametrize("method", [ips, doubly_robust])
def test_unbiased_over_all_logs_of_three_rows(method: Callable[..., Estimate]) -> None:
    expected = 0.0
    for arms in product(range(3), repeat=3):
        for rewards in product((0, 1), repeat=3):
            chance = np.prod([P[a] * (MEANS[a] if r else 1 - MEANS[a]) for a, r in zip(arms, rewards, strict=True)])
            expected += chance * method(log_of(arms, rewards), POLICY).value
    assert expected == pytest.approx(POLICY @ MEANS)


def test_by_hand() -> None:
    log = log_of([0, 2, 1, 2], [1, 1, 0, 0])
    w = POLICY[[0, 2, 1, 2]] / P[[0, 2, 1, 2]]
    assert ips(log, POLICY).value == pytest.approx((w[0] + w[1]) / 4)
    assert snips(log, POLICY).value == pytest.approx((w[0] + w[1]) / w.sum())
    assert snips(log, POLICY).effective_rows == pytest.approx(w.sum() ** 2 / (w @ w))
    assert ips(log, 2).value == pytest.approx(10 / 4)
    model = np.tile([0.3, 0.4, 0.5], (4, 1))
    direct = POLICY @ model[0]
    terms = direct + w * (np.array([1, 1, 0, 0]) - model[0][[0, 2, 1, 2]])
    assert doubly_robust(log, POLICY, model=lambda rows: model[rows]).value == pytest.approx(terms.mean())
    by_row = np.tile(POLICY, (4, 1))
    assert ips(log, by_row).value == pytest.approx(ips(log, POLICY).value)
    assert doubly_robust(log, by_row).value == pytest.approx(doubly_robust(log, POLICY).value)


def test_all_arms_at_once() -> None:
    log = drawn_log(60, 7)
    assert np.allclose(arm_values(log), [snips(log, arm).value for arm in range(3)])
    assert np.isnan(arm_values(log_of([0, 1], [1, 0]))).tolist() == [False, False, True]


def test_the_logging_policy_is_its_own_mean() -> None:
    log = drawn_log(500, 1)
    assert ips(log, P).value == pytest.approx(logged_value(log).value)
    assert snips(log, P).effective_rows == pytest.approx(500)
    assert logged_value(log).low < np.mean(log.values) < logged_value(log).high


def test_the_interval_of_cross_fitting_by_hand() -> None:
    """Each half by the other's means, drawn to the overall mean by one row; 1 − δ/2 for each half."""
    log = drawn_log(4000, 2, np.full(3, 1 / 3))
    w, value, half = 3 * POLICY[log.arms], 0.0, 0.0
    for a, b in ((0, 1), (1, 0)):
        arms, r = log.arms[b::2], log.values[b::2]
        q = np.array([(np.sum(r[arms == i]) + np.mean(r)) / (np.sum(arms == i) + 1) for i in range(3)])
        x = POLICY @ q + w[a::2] * (log.values[a::2] - q[log.arms[a::2]])
        span, term = np.max(w) * (1 + np.ptp(q)), np.log(8 / 0.05)
        value += np.mean(x) / 2
        half += (np.sqrt(2 * np.var(x, ddof=1) * term / 2000) + 7 * span * term / (3 * 1999)) / 2
    e = doubly_robust(log, POLICY)
    assert e.value == pytest.approx(value)
    assert e.low == pytest.approx(value - half)
    assert e.high == pytest.approx(value + half)


@pytest.mark.parametrize(("method", "most"), [(ips, 10), (doubly_robust, 10), (snips, 30)])
def test_intervals_cover(method: Callable[..., Estimate], most: int) -> None:
    """200 logs: betting fails in at most 5 %; the normal approximation, no guarantee, in not many more."""
    truth, failures, width = POLICY @ MEANS, 0, 0.0
    for seed in range(200):
        e = method(drawn_log(800, seed), POLICY)
        failures += not e.low <= truth <= e.high
        width += (e.high - e.low) / 200
    assert failures <= most
    assert width < 0.75


def test_a_good_model_narrows_the_interval() -> None:
    log = drawn_log(20_000, 3)
    plain = ips(log, POLICY)
    helped = doubly_robust(log, POLICY, model=lambda rows: np.tile(MEANS, (rows.size, 1)))
    spread = [np.ptp([f(drawn_log(500, s), POLICY).value for s in range(60)]) for f in (ips, doubly_robust)]
    assert plain.interval == helped.interval == "betting"
    assert abs(helped.value - POLICY @ MEANS) < 0.03
    assert spread[1] < spread[0]


def test_units_and_costs() -> None:
    log = drawn_log(300, 4)
    wide = log_of(log.arms, 10 * log.values - 2, low=-2.0, high=8.0)
    for method in (ips, snips, doubly_robust):
        assert method(wide, POLICY).value == pytest.approx(10 * method(log, POLICY).value - 2)
        assert method(wide, POLICY).high <= 8.0


def test_little_is_said_of_little() -> None:
    log = log_of([0], [1.0])
    assert (ips(log, 0).low, ips(log, 0).high) == (0.0, 1.0)
    assert (doubly_robust(log, 0).low, doubly_robust(log, 0).high) == (0.0, 1.0)
    nothing = log_of([0, 0, 0], [0, 0, 0])
    assert (snips(nothing, 0).low, snips(nothing, 0).high) == (0.0, 1.0)  # all alike: no spread to go by
    with pytest.raises(DataError, match="no arm of the log"):
        snips(nothing, 2)
    assert [e.method for e in evaluate(nothing, 2)] == ["IPS", "DR"]
    assert evaluate(nothing, 2)[0].effective_rows == 0


def test_refusals() -> None:
    log = drawn_log(10, 0)
    for wrong in ([0.5, 0.5], [0.5, 0.6, 0.2], [1.5, -0.5, 0.0], 3, -1):
        with pytest.raises(DataError):
            ips(log, wrong)
    with pytest.raises(PartError, match="delta"):
        ips(log, 0, delta=0.0)
    with pytest.raises(DataError, match="the model must predict 10 rows × 3 arms"):
        doubly_robust(log, 0, model=lambda rows: np.zeros(3))
    with pytest.raises(DataError, match="clip"):
        doubly_robust(log, 0, model=lambda rows: np.full((10, 3), 2.0))


def test_real_logs_agree_about_the_uniform_policy(data_file: Callable[[str], Path]) -> None:
    """The value of choosing uniformly, from a uniform log and from one of Thompson sampling."""
    one, other = (
        read_log(data_file(f"obd_{name}_all.csv.gz"), "item_id", reward="click", propensity="propensity_score")
        for name in ("random", "bts")
    )
    uniform = np.full(80, 1 / 80)
    direct = logged_value(one)
    for e in evaluate(other, uniform):
        assert e.low <= direct.value <= e.high
        assert e.effective_rows < len(other) / 5
    assert ips(one, uniform).value == pytest.approx(direct.value)


def test_names_order_numbers_by_value() -> None:
    assert bandit_log([10, 9, 1], reward=[0, 0, 1]).names == ("1", "9", "10")


@pytest.mark.parametrize("method", [ips, doubly_robust])
@pytest.mark.parametrize("good", [0.0, 1.0])
def test_the_largest_weight_need_not_have_been_seen(method: Callable[..., Estimate], good: float) -> None:
    """An arm that is logged once in 2,000 rows or, with luck, once in 4: most logs of 200 rows never saw its weight."""
    misses, unseen = 0, 0
    for seed in range(500):
        rng = np.random.default_rng(seed)
        rare = np.where(rng.random(200) < 0.5, 1 / 2000, 1 / 4)  # in half of the rows
        chosen = rng.random(200) < rare
        rewards = np.where(chosen & (rare < 0.01), good, np.where(chosen, 1 - good, 0.5))
        p = np.where(chosen, rare, 1 - rare)
        log = BanditLog(chosen.astype(np.int64), rewards, p, ("usual", "rare"))
        e = method(log, 1)  # its reward is good or bad, as often as not
        misses += not e.low <= 0.5 <= e.high
        unseen += not np.any(p < 0.01)
        assert e.assumes == "rows are independent, propensities true; no weight is assumed to be the largest"
    assert unseen > 400
    assert misses <= 25


def test_bets_on_a_mean() -> None:
    """Of nothing the bound is nothing, of a constant it comes near; it exceeds the mean no oftener than δ allows."""
    assert lowest_mean(np.zeros(100), 1.0, 0.05) < 1e-12
    assert 0.45 < lowest_mean(np.full(1000, 0.5), 1.0, 0.05) < 0.5
    rng, failures = np.random.default_rng(3), 0
    for _ in range(400):
        x = np.where(rng.random(300) < 1e-3, 500.0, 0.0)  # mean ½, of which most samples see nothing
        failures += lowest_mean(x, 1.0, 0.1) > 0.5
    assert failures <= 40


def test_a_propensity_of_next_to_nothing_stays_a_number() -> None:
    log = BanditLog(np.array([0, 1, 1]), np.array([0.0, 1.0, 0.0]), np.array([1.0, 5e-324, 0.5]), ("0", "1"))
    alike = BanditLog(np.array([0, 1, 1]), np.array([0.0, 1.0, 0.0]), np.full(3, 5e-324), ("0", "1"))
    for e in (*evaluate(log, 1), *evaluate(alike, [0.5, 0.5])):
        assert 0 <= e.low <= e.high <= 1
        assert np.isfinite(e.value)


def test_propensities_that_cannot_be_true_prove_nothing() -> None:
    """From weights of 1e6 in every row both a high value and a low one would follow."""
    log = BanditLog(np.zeros(40, np.int64), np.tile([0.0, 1.0], 20), np.full(40, 1e-6), ("0", "1"))
    e = ips(log, 0)
    assert (e.low, e.high) == (0.0, 1.0)


def test_every_estimate_says_what_it_assumes() -> None:
    log, uniform = drawn_log(100, 1), drawn_log(100, 1, np.full(3, 1 / 3))
    assert "no weight is assumed" in ips(uniform, POLICY).assumes
    assert "propensity of the log" in doubly_robust(uniform, POLICY).assumes
    assert "no proof" in snips(log, POLICY).assumes
    assert logged_value(log).to_json()["assumes"] == "rows are independent"


@pytest.mark.parametrize("method", [ips, doubly_robust])
def test_logs_may_drift(method: Callable[..., Estimate]) -> None:
    """A policy that all but gives up an arm while its rewards fall: rows are independent, but not alike."""
    early, misses = np.arange(20_000) < 10_000, 0
    p, mean = np.where(early, 0.9, 0.05), np.where(early, 0.6, 0.4)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        other = rng.random(20_000) >= p
        rewards = (rng.random(20_000) < mean).astype(float)
        e = method(BanditLog(other.astype(np.int64), rewards, np.where(other, 1 - p, p), ("given up", "taken up")), 0)
        misses += not e.low <= 0.5 <= e.high
    assert misses <= 1


def test_one_propensity_seen_is_not_that_of_an_arm_never_seen() -> None:
    """Of two arms one is chosen with 0.99: in many logs alone, and of the other nothing is known then."""
    misses = 0
    for seed in range(200):
        rare = np.random.default_rng(seed).random(100) < 0.01
        log = BanditLog(rare.astype(np.int64), np.where(rare, 0.0, 1.0), np.where(rare, 0.01, 0.99), ("a", "b"))
        e = doubly_robust(log, 1)
        misses += not e.low <= 0.0 <= e.high
    assert misses <= 10


def test_a_log_has_rows_of_whole_numbers() -> None:
    for arms in (np.array([], np.int64), np.array([0.5])):
        with pytest.raises(DataError):
            BanditLog(arms, np.full(arms.size, 0.5), np.full(arms.size, 0.5), ("a",))
    with pytest.raises(DataError, match="a policy must be numbers"):
        ips(drawn_log(10, 0), "first")


def test_propensities_near_0_leave_figures_finite() -> None:
    tiny = np.where(np.arange(20_000) % 2, 1e-200, 0.5)
    log = bandit_log(np.arange(20_000) % 2, reward=np.ones(20_000), propensity=tiny)
    assert np.array_equal(arm_values(log), [1.0, 1.0])
    for found in evaluate(log, 1):
        assert found.effective_rows == pytest.approx(10_000)
        assert found.low <= found.high


def test_rewards_of_1_have_a_value_of_1() -> None:
    """Two sums of the same weights, rounded differently, made it more, outside of the interval."""
    p = np.array([0.17, 0.5, 0.59, 0.08, 0.18, 0.89, 0.11, 0.17, 0.9])
    found = snips(bandit_log(np.arange(9) % 2, reward=np.ones(9), propensity=p), [0.5, 0.5])
    assert found.low <= found.value <= found.high
