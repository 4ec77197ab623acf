"""Rejection replay: as if online, by enumeration; and on the real log."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from lowregret import DataError, PartError
from lowregret.bandit import Exp3, TsallisInf, Ucb1, bandit_log, learn_from, read_log, replay
from lowregret.bandit.rejection import NAMES, expected_rounds, make_algorithm


def test_the_first_row_kept_is_distributed_as_online() -> None:
    """Over all uniform logs of four rows, the arm of the first kept row is as the learner draws it: uniformly."""
    counts = np.zeros(2)
    for arms in product(range(2), repeat=4):
        for seed in range(40):
            log = bandit_log([*arms, 0, 1], reward=np.zeros(6))  # the last two name both arms
            kept = replay(log[:4], Exp3(0.5), seed=seed).kept
            if kept.any():
                counts[arms[int(np.argmax(kept))]] += 1
    assert abs(counts[0] / counts.sum() - 0.5) < 0.06


def test_it_learns_from_the_rows_it_keeps_and_no_others() -> None:
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 4, 20_000)
    log = bandit_log(arms, reward=(rng.random(20_000) < np.array([0.2, 0.2, 0.7, 0.2])[arms]).astype(float))
    done = replay(log, TsallisInf(), seed=1)
    assert done.bandit.rounds == np.count_nonzero(done.kept)
    assert 4000 < done.bandit.rounds < 6000
    assert done.estimate is not None
    assert done.estimate.value == pytest.approx(np.mean(log.values[done.kept]))
    assert done.estimate.value > 0.55
    assert done.running[-1] == pytest.approx(done.estimate.value)
    assert np.array_equal(done.bandit.state.seen, np.bincount(arms[done.kept], minlength=4))
    assert int(np.argmax(done.bandit.policy)) == 2
    assert all(c.holds or c.id == "NONE" for c in done.bandit.certificates)


def test_logging_that_was_not_uniform_is_refused() -> None:
    log = bandit_log(["a", "b"], reward=[0, 1], propensity=[0.9, 0.1])
    with pytest.raises(DataError, match=r"uniform logging, these propensities go from 0\.1 to 0\.9"):
        replay(log, Ucb1())
    assert learn_from(log, TsallisInf()).rounds == 2


def test_nothing_kept_is_nothing_said() -> None:
    log = bandit_log(["a", "b"], reward=[0, 0])
    done = replay(log[1:], Ucb1())  # begins with arm a
    assert done.estimate is None
    assert done.running.size == 0


@pytest.mark.parametrize("name", NAMES)
def test_the_real_log(name: str, data_file: Callable[[str], Path]) -> None:
    path = data_file("obd_random_all.csv.gz")
    log = read_log(path, "item_id", reward="click", propensity="propensity_score")
    assert expected_rounds(log) == 125
    done = replay(log, make_algorithm(name, 80, 125))
    assert 80 < done.bandit.rounds < 180
    assert done.estimate is not None
    assert done.estimate.low <= 0.0038 <= done.estimate.high
    assert all(c.holds or c.id == "NONE" for c in done.bandit.certificates)


@pytest.mark.parametrize("delta", [0.0, 2.0, -1.0])
def test_an_interval_of_no_probability_is_refused(delta: float) -> None:
    with pytest.raises(PartError, match="delta"):
        replay(bandit_log(["a", "b"], reward=[0, 1]), TsallisInf(), delta=delta)


def test_one_propensity_that_not_all_arms_can_have_is_not_uniform() -> None:
    log = bandit_log(["a", "b", "c"], reward=[0, 1, 1], propensity=[0.9] * 3)
    with pytest.raises(DataError, match=r"uniform logging, these propensities go from 0\.9 to 0\.9 with 3 arms"):
        replay(log, Ucb1())
