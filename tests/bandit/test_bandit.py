"""Choices and their costs: numbers, order, ranges, refusals, files, and what is certified when costs are late."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import DataError, PartError, load
from lowregret.bandit import Bandit, BanditAlgorithm, BernoulliCosts, Exp3, Exp3IX, Exp4, Thompson, TsallisInf, Ucb1
from lowregret.bandit.costs import Costs
from lowregret.bandit.state import LATE, LEAST

ALL = [Exp3(0.1), Exp3IX(0.1, 0.05), TsallisInf(), Ucb1(), Thompson()]


def test_costs_come_in_any_order_once() -> None:
    bandit = Bandit(3, Exp3(0.5, centred=False), seed=1)
    (a, i), (b, j), (c, _) = (bandit.choose() for _ in range(3))
    assert (a, b, c) == (0, 1, 2)
    assert bandit.probability(a) == pytest.approx(1 / 3)
    bandit.reward(b, 0.25)
    bandit.reward(a, cost=0.5)
    expected = np.zeros(3)
    expected[j] += 0.75 * 3  # a reward of ¼ is a cost of ¾
    expected[i] += 0.5 * 3
    assert np.allclose(bandit.estimates, expected)
    assert bandit.pending == [c]
    with pytest.raises(DataError, match="known already"):
        bandit.reward(a, 0.0)
    with pytest.raises(DataError, match="no choice 7: 3 were made"):
        bandit.reward(7, 0.0)
    with pytest.raises(DataError, match="no choice 'x'"):
        bandit.reward("x", 0.0)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="not waiting"):
        bandit.probability(a)


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf"), "much", None])
def test_a_cost_that_is_refused_changes_nothing(wrong: object) -> None:
    bandit = Bandit(2)
    number, _ = bandit.choose()
    with pytest.raises(DataError):
        bandit.reward(number, cost=wrong)  # type: ignore[arg-type]
    with pytest.raises(DataError, match="either"):
        bandit.reward(number, 0.5, cost=0.5)
    assert bandit.pending == [number]
    assert bandit.rounds == 0
    bandit.reward(number, 1.0)
    assert bandit.loss == 0.0


def test_other_ranges_scale_costs_and_certificates() -> None:
    table = np.random.default_rng(0).random((500, 3))
    plain, wide = Bandit(3, Exp3(0.1)), Bandit(3, Exp3(0.1), low=-5.0, high=15.0)
    one, other = plain.learn(table).played, wide.learn(20 * table - 5).played
    assert np.array_equal(one.arms, other.arms)
    assert wide.loss == pytest.approx(np.sum(other.costs))
    for a, b in zip(plain.certificates, wide.certificates, strict=True):
        assert b.bound == pytest.approx(20 * a.bound)
    with pytest.raises(PartError, match="low < high"):
        Bandit(3, low=1.0, high=1.0)
    with pytest.raises(DataError, match=r"round 0: arm \d costs"):
        plain.learn(table + 1)


class Forgetful(Costs):
    """A user's own: arm 0 is free in even rounds"""

    def cost(self, t: int, arm: int) -> float:
        return 0.0 if arm == 0 and t % 2 == 0 else 1.0


def test_costs_of_ones_own_run_compiled_and_go_on_where_they_stopped() -> None:
    whole, parts = Bandit(4, TsallisInf()), Bandit(4, TsallisInf())
    one = whole.learn(Forgetful(), 300).played
    two = [parts.learn(Forgetful(), n).played for n in (101, 199)]
    assert np.array_equal(one.arms, np.concatenate([p.arms for p in two]))
    assert one.regret is None
    with pytest.raises(PartError, match="give rounds"):
        whole.learn(Forgetful())
    with pytest.raises(DataError, match="3 columns, the bandit 4 arms"):
        whole.learn(np.zeros((5, 3)))
    with pytest.raises(DataError, match="5 rounds, wanted are 6"):
        whole.learn(np.zeros((5, 4)), 6)
    with pytest.raises(PartError, match="2 means, the bandit has 4 arms"):
        whole.learn(BernoulliCosts([0.1, 0.2]), 5)
    with pytest.raises(DataError, match="table"):
        whole.learn(np.zeros(5))


@pytest.mark.parametrize("algorithm", ALL, ids=str)
def test_a_saved_bandit_goes_on_to_the_last_bit(algorithm: BanditAlgorithm, tmp_path: Path) -> None:
    bandit = Bandit(6, algorithm, seed=3, high=2.0)
    bandit.learn(BernoulliCosts(np.linspace(0.2, 0.8, 6)), 50)
    waiting = [bandit.choose()[0] for _ in range(3)]
    path = bandit.save(tmp_path / "bandit.lr")
    again = load(path)
    assert isinstance(again, Bandit)
    assert again.pending == waiting
    for b in (bandit, again):
        b.reward(waiting[1], 0.3)
        b.reward(waiting[0], cost=1.5)
        b.learn(BernoulliCosts(np.linspace(0.2, 0.8, 6)), 50)
    assert all(np.array_equal(x, y) for x, y in zip(bandit.state, again.state, strict=True))
    assert again.choose()[1] == bandit.choose()[1]
    assert str(again) == str(bandit)


def test_a_number_is_not_given_twice_though_an_older_save_is_restored(tmp_path: Path) -> None:
    """News of a choice made after the save is an error, not taken for news of a choice made after restoring it."""
    bandit = Bandit(3, seed=1)
    before, _ = bandit.choose()
    path = bandit.save(tmp_path / "bandit.lr")
    after = {bandit.choose()[0] for _ in range(50)}
    lives = [load(path), load(path)]
    given = [{again.choose()[0] for _ in range(50)} for again in lives]
    assert not (given[0] & given[1]) | (after & (given[0] | given[1]))
    for again in lives:
        for number in after:
            with pytest.raises(DataError, match="made after the save"):
                again.reward(number, 1.0)
        again.reward(before, 1.0)
        assert again.rounds == 1
        with pytest.raises(DataError, match="known already"):
            again.reward(before, 1.0)
    number, _ = lives[0].choose()
    lives[0].reward(number, 0.0)
    assert lives[0].state.counts[LATE] == 1  # that of the choice before
    with pytest.raises(DataError, match=f"the cost of choice {number} is known already"):
        lives[0].reward(number, 0.0)
    assert float(number) == number < 2**53  # exact in JSON


def test_the_smallest_weight_is_known() -> None:
    """EXP3 looks for it now and then; in between it knows a number that no weight is below."""
    bandit = Bandit(8, Exp3(0.2), seed=1, compiled=False)
    rng, exact = np.random.default_rng(0), 0
    for _ in range(300):
        number, arm = bandit.choose()
        bandit.reward(number, cost=float(rng.random() < 0.3 + 0.05 * arm))
        least = float(np.min(bandit.policy)) * bandit.state.weights[1]
        assert bandit.state.sums[LEAST] <= least * (1 + 1e-12)
        exact += bandit.state.sums[LEAST] >= least * (1 - 1e-12)
    assert exact > 100


@given(st.data())
@settings(max_examples=40)
def test_the_pathwise_certificates_hold_however_late_the_costs_are(data: st.DataObject) -> None:
    algorithm = data.draw(st.sampled_from([Exp3(0.3), Exp3(2.0), Exp3IX(0.3, 0.1), TsallisInf()]))
    bandit = Bandit(3, algorithm, seed=data.draw(st.integers(0, 1000)))
    waiting: list[int] = []
    for _ in range(data.draw(st.integers(1, 40))):
        if data.draw(st.booleans()) and waiting:
            number = waiting.pop(data.draw(st.integers(0, len(waiting) - 1)))
            bandit.reward(number, cost=data.draw(st.sampled_from([0.0, 0.3, 1.0])))
        else:
            waiting.append(bandit.choose()[0])
    path = next(c for c in bandit.certificates if c.id.endswith("PATH"))
    assert path.linear_regret is not None
    assert path.linear_regret <= path.bound + 1e-9 * (1 + abs(path.bound))


def test_theorems_for_prompt_costs_say_so_when_costs_are_late() -> None:
    bandit = Bandit(2, Exp3(0.1))
    first, _ = bandit.choose()
    second, _ = bandit.choose()
    bandit.reward(second, 0.0)  # nothing was chosen since, but the first still waits
    assert [c.id for c in bandit.certificates if not c.premises_hold] == ["COR-4.2+", "COR-4.2"]
    assert "0 late, 1 still to come" in str(bandit)
    bandit.reward(first, 0.0)
    assert [c.id for c in bandit.certificates if not c.premises_hold] == ["COR-4.2+", "COR-4.2"]
    assert "1 late" in str(bandit)


def test_learning_from_a_log_finds_the_arm_that_was_best_not_the_one_shown_most() -> None:
    rng = np.random.default_rng(5)
    p = np.array([0.7, 0.2, 0.1])
    arms = rng.choice(3, 4000, p=p)
    costs = (rng.random(4000) < np.array([0.6, 0.6, 0.3])[arms]).astype(float)
    for algorithm in ALL:
        bandit = Bandit(3, algorithm).learn_log(arms, costs, p[arms])
        assert int(np.argmax(bandit.policy)) == 2
        assert not any(c.premises_hold for c in bandit.certificates)
    with pytest.raises(DataError, match="row 1: propensity 0"):
        Bandit(3).learn_log([0, 1], [0.0, 0.0], [0.5, 0.0])
    with pytest.raises(DataError, match="row 0: cost 2"):
        Bandit(3).learn_log([0, 1], [2.0, 0.0], [0.5, 0.5])
    with pytest.raises(DataError, match="from 0 to 2"):
        Bandit(3).learn_log([3], [0.0], [0.5])


@pytest.mark.parametrize("algorithm", [Exp3(1.0), Exp3IX(1.0, 1e-9), TsallisInf()], ids=str)
def test_tiny_propensities_in_a_log_stay_numbers(algorithm: BanditAlgorithm) -> None:
    rng = np.random.default_rng(7)
    arms, costs, p = rng.integers(0, 3, 200), rng.integers(0, 2, 200).astype(float), 10.0 ** -rng.integers(0, 9, 200)
    fast, slow = (Bandit(3, algorithm, compiled=c).learn_log(arms, costs, p) for c in (True, False))
    assert np.array_equal(fast.policy, slow.policy)
    assert np.sum(fast.policy) == pytest.approx(1)


@pytest.mark.parametrize("algorithm", [Exp3(0.1), Exp3IX(0.1, 1e-200), TsallisInf()], ids=lambda a: a.name)
def test_a_bandit_is_saved_though_squares_of_estimates_are_no_numbers(
    algorithm: BanditAlgorithm, tmp_path: Path
) -> None:
    bandit = Bandit(2, algorithm, compiled=False).learn_log([0, 1], [1.0, 0.5], [1e-200, 1e-200])
    loaded = load(bandit.save(tmp_path / "b.lr"))
    assert loaded.estimates.tolist() == bandit.estimates.tolist()
    assert not any(c.bound < math.inf for c in loaded.certificates if "PATH" in c.id)


def test_regret_is_below_what_was_promised_over_many_seeds() -> None:
    """Monte Carlo: the mean over 60 seeds of the regret against a cost sequence that turns round."""
    costs = np.zeros((1000, 5))
    costs[:, :] = 0.6
    costs[:500, 0], costs[500:, 1] = 0.0, 0.1
    for algorithm in (Exp3.tuned(5, 1000), TsallisInf()):
        found = [Bandit(5, algorithm, seed=seed).learn(costs).played.regret or 0.0 for seed in range(60)]
        bandit = Bandit(5, algorithm)
        bandit.learn(costs)
        promised = min(c.bound for c in bandit.certificates if c.measure == "expected regret")
        assert np.mean(found) <= promised
        assert np.mean(found) > -promised


def test_the_confidence_bound_is_kept_over_many_seeds() -> None:
    costs = (np.random.default_rng(6).random((400, 4)) < [0.4, 0.5, 0.5, 0.5]).astype(float)
    failures = 0
    for seed in range(200):
        bandit = Bandit(4, Exp3IX.tuned(4, 400), seed=seed)
        regret = bandit.learn(costs).played.regret
        known = next(c for c in bandit.certificates_at(0.1) if c.id == "EXP3-IX")
        assert regret is not None
        assert known.linear_regret is not None
        failures += regret > known.linear_regret
    assert failures <= 20


@pytest.mark.parametrize(
    ("low", "high"), [(-8e307, 8e307), (-1e308, 1e308), (0.0, math.inf), (1.0, 1.0), (math.nan, 1.0)]
)
def test_bounds_that_are_no_finite_number_apart_are_refused(low: float, high: float) -> None:
    with pytest.raises(PartError, match=r"low < high, of at most 1e\+290"):
        Bandit(3, low=low, high=high)


@pytest.mark.parametrize("wrong", [math.nan, -1000.0, 1.5])
def test_a_table_is_refused_for_a_cost_of_an_arm_that_may_not_be_chosen(wrong: float) -> None:
    """Such a cost makes regret of any size, of which no bound knows; nothing is played before it is found."""
    costs = np.full((50, 2), 0.5)
    costs[45] = 0.5, wrong
    for seed in range(6):
        bandit = Bandit(2, seed=seed)
        with pytest.raises(DataError, match="round 45: arm 1 costs"):
            bandit.learn(costs)
        assert bandit.rounds == 0


def test_what_is_no_number_is_refused_with_the_reason() -> None:
    wrong: list[dict[str, Any]] = [{"low": "a"}, {"high": None}]
    for limits in wrong:
        with pytest.raises(PartError, match="costs must lie between"):
            Bandit(3, **limits)
    for seed in ("a", 1.5, None):
        with pytest.raises(PartError, match="seed must be a whole number"):
            Bandit(3, seed=seed)  # type: ignore[arg-type]
    for rounds in (-1, 0.5, "3"):
        with pytest.raises(PartError, match="rounds must be a whole number"):
            Bandit(3).learn(np.zeros((4, 3)), rounds)  # type: ignore[arg-type]
    numbers: list[Any] = [[0], {}, "0"]
    for number in numbers:
        bandit = Bandit(3)
        bandit.choose()
        with pytest.raises(DataError, match="there is no choice"):
            bandit.reward(number, 0.5)


def test_regret_is_exact_where_all_costs_are_large() -> None:
    """Sums of costs near 1e12 have no digits left for their differences: regret was 9e4 too much."""
    low, rng = 1e12, np.random.default_rng(0)
    costs = low + (rng.random((20_000, 2)) < 0.5)
    bandit = Bandit(2, Exp3(0.1), low=low, high=low + 1).learn(costs)
    exp4 = Exp4(2, 2, 0.1, low=low, high=low + 1).learn(costs, np.tile(np.eye(2), (len(costs), 1, 1)))
    for played in (bandit.played, exp4.played):
        assert played.regret == max(int(np.sum((played.costs - low) - (column - low))) for column in costs.T)


def test_curves_end_at_the_present_round() -> None:
    """They ended at the last mark, under a title with all rounds."""
    bandit = Bandit(2, Exp3(0.1), compiled=False).learn(np.tile([0.0, 1.0], (40, 1)))
    assert bandit.trace.rounds[-2:].tolist() == [32, 40]
    assert bandit.trace.loss[-1] == bandit.loss
    assert bandit.history.points[-1, 0] == 32  # which further rounds go on from
