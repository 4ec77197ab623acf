"""Forecasts of any size: weights and certificates are numbers, or the round is refused and nothing is changed."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import load
from lowregret.errors import DataError, StoreError
from lowregret.experts import (
    AdaHedge,
    BoxHedge,
    Drawing,
    ExpertMixture,
    Hedge,
    Layered,
    MLPoly,
    OnlineNewton,
    Squint,
)
from lowregret.loss import Absolute, Square

SIZES = (1e-300, 1e-200, 1e-150, 1e-100, 1e-30, 1.0, 1e30, 1e100, 1e150, 1e200, 1e300)


def book(panel: Any) -> list[bytes]:
    return [np.asarray(array).tobytes() for array in (panel.book.losses, panel.book.regret, panel.book.sums)]


def finite(panel: Any) -> bool:
    told = panel.certificate
    bounds = [panel.regret, told.linear_regret, told.bound]
    return bool(np.isfinite(panel.weights).all()) and all(b is None or math.isfinite(b) for b in bounds)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("loss", [Square(), Absolute()], ids=repr)
@pytest.mark.parametrize("aggregator", [MLPoly(), Squint()], ids=repr)
def test_finite_or_refused(aggregator: Any, loss: Any, size: float) -> None:
    rng = np.random.default_rng(0)
    x, y = size * rng.random((40, 3)), size * rng.random(40)
    panel = ExpertMixture(3, aggregator, loss, compiled=False)
    before = book(panel)
    try:
        panel.learn(x, y)
    except DataError as error:
        told = str(error)
        assert told.startswith("round 0: ")
        assert "scale forecasts and outcomes" in told or "is not finite" in told
        assert book(panel) == before
        _, p = panel.ask(x[0])
        assert math.isfinite(p)
        with pytest.raises(DataError, match=r"^round 0: "):
            panel.tell(0, y[0])
        assert book(panel) == before
    assert finite(panel)
    if 1e-60 < size < 1e60:
        assert panel.rounds == 40


@pytest.mark.parametrize("aggregator", [MLPoly(), Squint()], ids=repr)
def test_a_round_out_of_range_changes_nothing(aggregator: Any) -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random((20, 3)), rng.random(20)
    x[10, 1] = 1e145
    panel, shorter = (ExpertMixture(3, aggregator, Absolute(), compiled=False) for _ in range(2))
    with pytest.raises(DataError, match=r"^round 10: losses differ by more than 1e\+140"):
        panel.learn(x, y)
    assert book(panel) == book(shorter.learn(x[:10], y[:10]))
    costs = rng.random((20, 3))
    costs[7, 2] = 1e145
    drawing = Drawing(3, aggregator)
    with pytest.raises(DataError, match=r"^round 7: losses differ"):
        drawing.learn(costs)
    same = Drawing(3, aggregator).learn(costs[:7])
    assert drawing.realised == same.realised
    assert book(drawing.mixture) == book(same.mixture)


@pytest.mark.parametrize("aggregator", [AdaHedge(), Hedge(1.0)], ids=repr)
def test_aggregators_that_square_nothing_take_all_sizes(aggregator: Any) -> None:
    panel = ExpertMixture(2, aggregator, Absolute(), compiled=False)
    panel.learn([[1e-300, 2e-300], [0.0, 1e200]], [0.0, 0.0])
    assert panel.rounds == 2


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("wrong", [0, 10])
def test_layers_refuse_a_round_all_together(wrong: int, late: bool) -> None:
    """After a round that one lane refuses, all lanes have learnt the rounds before it, to the last bit, and go on."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    good = np.arange(20) != wrong
    told = np.where(good, y, 1e150)
    panel, wanted = Layered(3), Layered(3)
    if late:
        for t in range(20):
            number, _ = panel.ask(x[t])
            if good[t]:
                panel.tell(number, told[t])
                wanted.tell(wanted.ask(x[t])[0], told[t])
            else:
                with pytest.raises(DataError, match=f"round {wrong}"):
                    panel.tell(number, told[t])
                assert panel.pending
    else:
        with pytest.raises(DataError, match=f"round {wrong}"):
            panel.learn(x, told)
        assert panel.rounds == panel.asked == wrong
        panel.learn(x[wrong + 1 :], y[wrong + 1 :])
        wanted.learn(x[good], y[good])
        assert np.array_equal(panel.weights_over_time[1], wanted.weights_over_time[1])
    for mine, other in zip((*panel.lanes, panel.chief, panel), (*wanted.lanes, wanted.chief, wanted), strict=True):
        assert mine.rounds == other.rounds == 19
        assert all(map(np.array_equal, mine.book, other.book))
        assert np.array_equal(mine.history.points, other.history.points, equal_nan=True)


@pytest.mark.parametrize("experts", [1, 3, 7])
@pytest.mark.parametrize("aggregator", [Hedge(1e10), MLPoly(), Squint(), AdaHedge(), None], ids=repr)
def test_experts_who_say_the_same_are_repeated_to_the_last_bit(experts: int, aggregator: Any) -> None:
    """All are right, and large: a mean that rounding moves would owe them more than any theorem allows."""
    y = np.random.default_rng(0).random(500) * 1e8
    panel = Layered(experts, Absolute()) if aggregator is None else ExpertMixture(experts, aggregator, Absolute())
    panel.learn(np.tile(y[:, None], (1, experts)), y)
    assert np.array_equal(panel.forecasts, y)
    assert panel.certificate.holds
    assert panel.regret <= panel.certificate.proved


@pytest.mark.parametrize("kind", [Layered, lambda experts: ExpertMixture(experts, Hedge(0.5))])
def test_an_array_may_be_used_again_while_its_round_waits(kind: Any) -> None:
    rng, reused = np.random.default_rng(0), np.empty(3)
    panel, wanted = kind(3), kind(3)
    for _ in range(20):
        x, y = rng.normal(size=3), rng.normal()
        reused[:] = x
        number, _ = panel.ask(reused)
        reused[:] = y  # as if all had known
        panel.tell(number, y)
        wanted.tell(wanted.ask(x)[0], y)
    assert panel.loss == wanted.loss
    assert panel.regret == wanted.regret


def test_what_is_handed_out_is_ones_own() -> None:
    """Weights are often turned into amounts where they are."""
    portfolio, box = OnlineNewton(2), BoxHedge([0.0, 0.0], [1.0, 1.0], 0.5, seed=3)
    weights, point = portfolio.weights, box.draw()
    drawn = point.copy()
    weights *= 1000.0
    point *= 1000.0
    assert portfolio.weights.tolist() == [0.5, 0.5]
    assert box.draw().tolist() == drawn.tolist()
    assert box.learn([1.0, 1.0]).realised == drawn.sum()


def test_what_could_not_be_read_again_is_not_written(tmp_path: Path) -> None:
    """The good file stays where it is."""
    path, panel = tmp_path / "panel.lr", ExpertMixture(2, Hedge(0.5))
    good = panel.learn([[0.0, 1.0]], [0.0]).save(path).read_bytes()
    panel.book.prior[:] = 2.0
    with pytest.raises(StoreError, match=r"not written, as it could not be read again: .*prior that sums to 1"):
        panel.save(path)
    assert path.read_bytes() == good


@pytest.mark.parametrize("seed", [2**60, 10**30, -(2**50), np.int64(3)])
def test_a_drawing_of_any_seed_is_read_again(seed: Any, tmp_path: Path) -> None:
    costs = np.random.default_rng(0).random((40, 3))
    drawing = Drawing(np.int64(3), Hedge(0.5), seed=seed)  # type: ignore[arg-type]
    whole = Drawing(3, Hedge(0.5), seed=int(seed)).learn(costs).realised
    assert load(drawing.learn(costs[:20]).save(tmp_path / "d.lr")).learn(costs[20:]).realised == whole


def test_priors_of_any_size() -> None:
    assert ExpertMixture(2, Hedge(0.5), prior=[1e308, 1e308]).weights.tolist() == [0.5, 0.5]
    for wrong in (["a", "b"], [0.0, 0.0], [-1.0, 2.0]):
        with pytest.raises(DataError, match="the prior must be"):
            ExpertMixture(2, Hedge(0.5), prior=wrong)
