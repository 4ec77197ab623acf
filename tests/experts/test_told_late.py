"""What is told of forecasts that were given, though their outcomes found others: losses, files, risks, words."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret import Absolute, Square
from lowregret.errors import DataError
from lowregret.experts import (
    BinaryLogScore,
    Calibrated,
    ExpertMixture,
    ExponentiatedGradient,
    FixedShare,
    Hedge,
    Layered,
    Review,
    SeriesMixture,
    rebalanced,
)
from lowregret.risk.bounds import IN_ORDER


def squares(given: list[float], outcomes: list[float]) -> float:
    """The sum of squares, rounded once."""
    return float(sum((Fraction(p) - Fraction(y)) ** 2 for p, y in zip(given, outcomes, strict=True)))


def misled(mixture: Any) -> tuple[list[float], list[float]]:
    """Ask rounds whose outcomes find weights that are wildly wrong; returns forecasts and outcomes."""
    asked = [mixture.ask([1.0, 1e8]) for _ in range(2)]
    for _ in range(5):
        mixture.learn([[1000.1, 0.3]], [0.0])
    outcomes = [asked[0][1] + 1e-3, asked[1][1] - 1e-3]
    for (number, _), y in zip(asked, outcomes, strict=True):
        mixture.tell(number, y)
    return [p for _, p in asked], outcomes


def test_losses_are_summed_as_forecasts_were_given() -> None:
    """Σℓ(q_t) + drift had no digit of Σℓ(p_t) left where the forecasts found were much worse."""
    mixture = ExpertMixture(2, Hedge(1.0), Square(), prior=[1.0, 1e-12], compiled=False)
    before = mixture.loss
    given, outcomes = misled(mixture)
    learnt = mixture.loss - before
    in_time = ExpertMixture(2, Hedge(1.0), Square(), prior=[1.0, 1e-12], compiled=False)
    in_time.learn(np.tile([1000.1, 0.3], (5, 1)), np.zeros(5))
    assert mixture.drift[-1] < -1e15
    assert math.isclose(learnt, in_time.loss + squares(given, outcomes), rel_tol=1e-12)
    assert mixture.certificate.holds


def test_series_sum_losses_as_forecasts_were_given() -> None:
    mixture = SeriesMixture(
        ["a", "b"], Square(), weights="pooled", aggregator=Hedge(1.0), prior=[1, 1e-12], compiled=False
    )
    numbers, given = mixture.ask(
        {"unique_id": ["s"] * 2, "ds": [9, 10], "cutoff": [0, 0], "a": [1.0, 1.0], "b": [1e8, 1e8]}
    )
    later = {"unique_id": ["s"] * 5, "ds": [2, 3, 4, 5, 6], "cutoff": [1, 2, 3, 4, 5]}
    mixture.learn(later | {"y": [0.0] * 5, "a": [1000.1] * 5, "b": [0.3] * 5}).deliver()
    before = mixture.loss
    outcomes = [float(given[0]) + 1e-3, float(given[1]) - 1e-3]
    mixture.tell(numbers, outcomes)
    assert mixture.drift < -1e15
    assert math.isclose(mixture.loss, before + squares(given.tolist(), outcomes), rel_tol=1e-12)


@pytest.mark.parametrize("kind", [Layered, Calibrated])
def test_layers_from_a_file_are_saved_with_rounds_that_wait(kind: Any, tmp_path: Path) -> None:
    """Numbers of rounds go on at a random place up to 2⁵², which the file did not take of lanes."""
    mixture = kind(2, Absolute(), compiled=False).learn([[1.0, 2.0]], [1.0])
    for _ in range(5):
        mixture.save(tmp_path / "a.lr")
        mixture = lowregret.load(tmp_path / "a.lr")
        mixture.ask([1.0, 3.0])
    mixture.save(tmp_path / "a.lr")
    assert len(lowregret.load(tmp_path / "a.lr").pending) == 5


def test_paths_are_promised_no_less_than_late_outcomes_cost() -> None:
    late, in_time = (ExpertMixture(2, FixedShare(0.1, 0.1), Absolute(), compiled=False) for _ in range(2))
    rows = [[0.0, 4.0]] * 6
    asked = [late.ask(row)[0] for row in rows]
    for number in asked:
        late.tell(number, 0.0)
    in_time.learn(rows, np.zeros(6))
    assert late.drift[-1] > 0
    assert math.isclose(late.bound(1), in_time.bound(1) + late.drift[-1], rel_tol=1e-9)
    assert np.isclose(late.book.owed[0] - late.book.losses[0], late.regret)


def test_risks_speak_of_outcomes_in_order_only(tmp_path: Path) -> None:
    """Of two rounds that wait, whose outcome is told first may depend on it."""
    for first in (0, 1):
        mixture = ExpertMixture(2, Hedge(0.1), Absolute(), compiled=False)
        asked = [mixture.ask([0.0, 1.0])[0] for _ in range(2)]
        mixture.tell(asked[first], 1.0)
        mixture.save(tmp_path / "a.lr")
        for found in lowregret.load(tmp_path / "a.lr").risks(0.5, independent=True):
            assert [p.holds for p in found.premises if p.name == IN_ORDER] == [first == 0]
    mixture.learn([[0.0, 1.0]], [1.0])
    assert not mixture.orderly


def test_excess_risk_is_that_of_the_weights_that_are_averaged() -> None:
    mixture = ExpertMixture(2, Hedge(1.0), Absolute(), compiled=False)
    asked = [mixture.ask([0.0, 1.0])[0] for _ in range(20)]
    for number in asked:
        mixture.tell(number, 0.0)
    found = mixture.regret - mixture.drift[-1]
    excess = next(c for c in mixture.risks(0.5, independent=True) if c.of == "excess")
    outside, ceiling = excess.details["outside"], excess.details["ceiling"]
    assert math.isclose(excess.bound, found / 20 + ceiling * math.sqrt(2 * (outside + math.log(2) / 20)))


def test_sure_forecasts_lose_the_little_they_lose() -> None:
    assert BinaryLogScore().at(1e-17, 0.0) == (1e-17, 1.0)
    assert BinaryLogScore().at(1.0, 0.0)[0] == math.inf


def test_gains_that_cancel_are_shown_as_nothing() -> None:
    """−2.8e-17 a round was shown where wealth is 1.25·0.8."""
    x = np.array([[2.0, 0.5], [0.5, 2.0]])
    portfolio = ExponentiatedGradient(2, 1e-9, compiled=False).learn(x)
    portfolio.book.sums[0] = 1.2e-17  # as other sums of such logarithms have it
    told = str(Review.of(portfolio, x, np.ones(2)))
    assert "the mixture      0 a round (0 in all" in told
    assert "e-17" not in told
    assert " -0 " not in told


def test_deviations_beyond_all_numbers_have_no_ratio() -> None:
    assert math.isnan(rebalanced([1.0], [[1e200], [1.0]], compiled=False).sharpe())


@pytest.mark.parametrize("aggregator", [FixedShare(1e200, 0.1), Hedge(1e200)])
@pytest.mark.filterwarnings("error")
def test_rates_out_of_all_proportion_leave_a_mixture_that_learns(aggregator: Any) -> None:
    """ηr was infinite, and shares of infinity were no numbers: weights stayed those of the beginning for ever."""
    mixture = ExpertMixture(2, aggregator, Absolute(), compiled=False)
    mixture.learn([[0.0, 1e150]], [0.0])
    assert mixture.weights[0] > 0.9
    assert mixture.learn([[1e10, 0.0]], [0.0]).weights[0] > (0.9 if aggregator == Hedge(1e200) else 0.0)
    assert mixture.certificate.holds


def test_a_round_that_was_refused_still_waits_before_later_ones() -> None:
    """The chief refuses what lanes have learnt: taken back, the round came to stand behind all others."""
    close = [0.0, 3e-140]  # experts whose losses can be squared, and lanes that say still closer things
    mixture = Layered(2, Absolute(), compiled=False).learn([close], [1.0])
    first, second = (mixture.ask(row)[0] for row in (close, [0.0, 1.0]))
    before = [list(part.pending) for part in (mixture, *mixture.lanes, mixture.chief)]
    with pytest.raises(DataError):
        mixture.tell(first, 1.0)
    assert [list(part.pending) for part in (mixture, *mixture.lanes, mixture.chief)] == before
    mixture.tell(second, 0.5)
    assert not any(part.orderly for part in (mixture, *mixture.lanes, mixture.chief))


def test_many_rounds_that_wait_are_told_in_time() -> None:
    """Each search for the oldest went past all that had been told: 80,000 rounds took four seconds."""
    mixture = ExpertMixture(1, Hedge(0.1), Absolute(), compiled=False)
    x = np.zeros((1, 1, 1)), np.zeros((1, 1))
    numbers = [mixture._wait(*x) for _ in range(80_000)]
    begun = time.process_time()
    for number in numbers:
        mixture._forget(number)
    assert time.process_time() - begun < 1
    assert mixture.orderly
