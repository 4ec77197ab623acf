"""What of the features must not matter to `auto`: units, order, constants. And how much copies matter, which do."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array, hstack

from lowregret import zoo
from lowregret.loss import Logistic, Softmax, Square
from lowregret.train import train
from tests.auto.real import PROBLEMS, Find, Problem
from tests.auto.test_naive import mixed_rows

Change = Callable[[csr_array, np.random.Generator], csr_array]
HARMLESS = 1e-3  # relative, of losses and mistakes


def scaled(x: csr_array, factors: Any) -> csr_array:
    return csr_array(x @ diags_array(np.asarray(factors, float)))


def one_scaled(x: csr_array, rng: np.random.Generator) -> csr_array:
    """The feature that is there most often, in another unit."""
    factors = np.ones(x.shape[1])
    factors[np.argmax(np.bincount(x.indices, minlength=x.shape[1]))] = rng.choice([1e-6, 1e6])
    return scaled(x, factors)


def beside(x: csr_array, *columns: Any) -> csr_array:
    return csr_array(hstack([x, *columns], format="csr"))


def constants(x: csr_array, rng: np.random.Generator) -> csr_array:
    """One small, one huge, before and after the others."""
    column = csr_array(np.full((x.shape[0], 1), 0.1))
    return csr_array(hstack([column, x, -7e9 * column], format="csr"))


CHANGES: dict[str, Change] = {
    "one unit": one_scaled,
    "some units": lambda x, rng: scaled(x, rng.choice([1e-6, 1.0, 1e6], x.shape[1])),
    "all larger": lambda x, rng: scaled(x, np.full(x.shape[1], 1e6)),
    "all smaller": lambda x, rng: scaled(x, np.full(x.shape[1], 1e-6)),
    "order": lambda x, rng: csr_array(x[:, rng.permutation(x.shape[1])]),
    "constants": constants,
}
every_change = pytest.mark.parametrize("change", CHANGES)
every_loss = pytest.mark.parametrize("loss", [Logistic(), Square(), Softmax()], ids=lambda loss: type(loss).__name__)
every_set = pytest.mark.parametrize("name", PROBLEMS)


def made(loss: Any, seed: int) -> Problem:
    """Dense, rare, counted and constant features, labels that they tell."""
    rows, score = mixed_rows(seed, 500)
    labels = {
        Logistic: np.where(score > np.median(score), 1.0, -1.0),
        Square: score,
        Softmax: np.digitize(score, np.quantile(score, [0.3, 0.6, 0.8])),
    }
    return Problem(csr_array(rows), labels[type(loss)], loss)


@pytest.fixture(scope="module")
def problem(data_file: Find) -> Callable[[str], Problem]:
    return cache(lambda name: PROBLEMS[name](data_file))


def learnt(p: Problem, x: csr_array | None = None) -> Any:
    """A run on features as they are; random partitions are drawn anew for other features."""
    return train(zoo.auto(p.loss, "raw"), p.x if x is None else x, p.y)


@pytest.fixture(scope="module")
def plain(problem: Callable[[str], Problem]) -> Callable[[str], Any]:
    """The run on a set as it is."""
    return cache(lambda name: learnt(problem(name)))


def require_same(one: Any, other: Any) -> None:
    """The same loss, and the same mistakes: one in a thousand may differ, or a single one."""
    assert other.loss == pytest.approx(one.loss, rel=HARMLESS)
    if one.error is not None:
        wrong, now = one.error * one.rounds, other.error * one.rounds
        assert abs(now - wrong) <= max(1.0, HARMLESS * wrong) + 1e-6


# ---- what must not matter -------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@every_change
@every_loss
@pytest.mark.parametrize("seed", range(3))
def test_on_made_up_rows(loss: Any, change: str, seed: int) -> None:
    p = made(loss, seed)
    require_same(learnt(p), learnt(p, CHANGES[change](p.x, np.random.default_rng(seed))))


@pytest.mark.sampled(3)
@every_change
@every_set
def test_on_real_rows(name: str, change: str, problem: Callable[[str], Problem], plain: Callable[[str], Any]) -> None:
    p = problem(name)
    require_same(plain(name), learnt(p, CHANGES[change](p.x, np.random.default_rng(7))))


@every_set
def test_powers_of_two_change_no_bit_on_real_rows(
    name: str, problem: Callable[[str], Problem], plain: Callable[[str], Any]
) -> None:
    p = problem(name)
    factors = 2.0 ** np.random.default_rng(0).integers(-20, 21, p.x.shape[1])
    now = learnt(p, scaled(p.x, factors))
    assert now.loss == plain(name).loss
    assert np.array_equal(now.contest.losses, plain(name).contest.losses)


@every_loss
def test_what_does_matter_is_seen_by_the_same_yardstick(loss: Any) -> None:
    """Cubes are no change of units, and a feature less is not the same rows."""
    p = made(loss, 0)
    for other in (csr_array(p.x.power(3)), csr_array(p.x[:, 1:])):
        with pytest.raises(AssertionError):
            require_same(learnt(p), learnt(p, other))


# ---- copies ---------------------------------------------------------------------------------------------------------


@every_loss
def test_copies_share_alike_in_any_unit(loss: Any) -> None:
    """Copies begin alike and take the same steps, so their weights stay equal; a copy's unit does not matter."""
    p = made(loss, 1)
    d = p.x.shape[1]
    twice, units = learnt(p, beside(p.x, p.x)), learnt(p, beside(p.x, p.x * 1e6))
    np.testing.assert_allclose(twice.weights[:d], twice.weights[d : 2 * d], rtol=1e-5)
    np.testing.assert_allclose(units.weights[:d], units.weights[d : 2 * d] * 1e6, rtol=1e-5)
    require_same(twice, units)


@pytest.mark.sampled(3)
@every_set
def test_copies_move_losses_by_a_few_percent(
    name: str, problem: Callable[[str], Problem], plain: Callable[[str], Any]
) -> None:
    """c copies of a feature act as c times its rate or prior; lanes' rates lie factors of five and more apart."""
    p, known = problem(name), plain(name).loss
    often = int(np.argmax(np.bincount(p.x.indices, minlength=p.x.shape[1])))
    assert learnt(p, beside(p.x, p.x[:, [often]])).loss == pytest.approx(known, rel=0.01)
    assert learnt(p, beside(p.x, p.x)).loss == pytest.approx(known, rel=0.04)


@every_set
def test_a_second_bias_is_a_copy_of_the_first(
    name: str, problem: Callable[[str], Problem], plain: Callable[[str], Any]
) -> None:
    """A feature that is constant from row 2 on only is no constant."""
    p, known = problem(name), plain(name).loss
    for first in (0.0, 5.0):
        column = np.full((p.x.shape[0], 1), 3.0)
        column[0] = first
        assert learnt(p, beside(p.x, csr_array(column))).loss == pytest.approx(known, rel=0.04)


def test_a_feature_is_the_bias_until_it_changes() -> None:
    """From then on it is a feature."""
    p = made(Logistic(), 2)
    column = np.full((p.x.shape[0], 1), 4.0)
    column[300] = 5.0
    late, never = learnt(p, beside(p.x, csr_array(column))), learnt(p)
    apart = np.abs(late.scores - never.scores)
    assert apart[:300].max() < 1e-4
    assert apart[301:].max() > 1e-2
