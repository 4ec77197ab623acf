"""Intervals around forecasts: coverage that no adversary takes away, and radii nearly as good as the best fixed one."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, PartError, Quantile
from lowregret.experts import ConformalIntervals, ExpertMixture, MLPoly
from lowregret.experts.tracking import FORCED, MISSES
from lowregret.stream.table import read_table

PLAIN: dict[str, Any] = {"compiled": False}


def naive(p: Any, y: Any, coverage: float, budget: float) -> tuple[Any, Any]:
    """Radii and misses as the module's formulas say, round by round in NumPy; NaN where nothing is counted."""
    alpha, rates = 1 - coverage, 0.5 ** np.arange(16)
    mixture = ExpertMixture(16, MLPoly(), Quantile(coverage), compiled=False)
    q, largest, known, misses, rounds = np.zeros(16), 0.0, False, 0, 0
    radii, missed = np.full(len(p), math.inf), np.full(len(p), math.nan)
    for t, score in enumerate(np.abs(y - p)):
        guess = float(mixture.learn([np.clip(q, 0, largest)], [score]).forecasts[0])
        over = misses - alpha * rounds
        if known:
            radii[t] = min(guess * (budget + over) / (budget - over), 2 * largest) if abs(over) < budget else 0.0
            radii[t] = 2 * largest if over >= budget else radii[t]
        if math.isnan(score):
            continue
        if known:
            missed[t] = score > radii[t]
            misses, rounds = misses + int(missed[t]), rounds + 1
        q = q + rates * largest * ((score > q) - alpha)
        q = np.full(16, score) if largest == 0 and score > 0 else q
        largest, known = max(largest, score), True
    return radii, missed


def drifting(rounds: int = 300, seed: int = 0) -> tuple[Any, Any]:
    """Errors whose size jumps and drifts, some forecasts and outcomes missing."""
    rng = np.random.default_rng(seed)
    p = rng.normal(100, 10, rounds)
    size = np.where(np.arange(rounds) // 80 % 2 == 1, 10.0, 1.0) * np.exp(np.cumsum(rng.normal(0, 0.02, rounds)))
    y = p + size * rng.standard_t(3, rounds)
    p[5], y[9], y[40:44] = math.nan, math.nan, math.nan
    return p, y


@pytest.mark.parametrize(("coverage", "budget"), [(0.9, 20.0), (0.5, 3.0)])
def test_it_is_what_the_formulas_say(coverage: float, budget: float) -> None:
    p, y = drifting()
    run = ConformalIntervals(coverage, budget=budget, **PLAIN).learn(p, y)
    radii, missed = naive(p, y, coverage, budget)
    np.testing.assert_allclose((run.upper - run.lower) / 2, np.where(np.isnan(p), math.nan, radii), rtol=1e-9)
    assert run.rounds == np.count_nonzero(~np.isnan(missed))
    assert run.book.counts[MISSES] == np.nansum(missed)
    inside = (y >= run.lower) & (y <= run.upper)
    counted = ~np.isnan(missed)
    assert run.coverage.realised == pytest.approx(inside[counted].mean())
    assert run.coverage.width == pytest.approx(2 * radii[counted].mean())
    latest = np.convolve(missed[counted], np.ones(100), "valid")
    assert run.coverage.worst == pytest.approx(1 - latest.max() / 100)
    assert run.coverage_over_time[-1, 1] == pytest.approx(run.coverage.realised)
    assert run.coverage_over_time[-1, 2] == pytest.approx(1 - latest[-1] / 100)


def test_compiled_it_is_the_same_to_the_last_bit() -> None:
    p, y = drifting()
    one, other = ConformalIntervals(0.9).learn(p, y), ConformalIntervals(0.9, **PLAIN).learn(p, y)
    assert one.lower.tobytes() == other.lower.tobytes()
    assert one.certificate == other.certificate


def excess(run: ConformalIntervals) -> float:
    return float(run.book.counts[MISSES] - run.alpha * run.rounds)


ADVERSARIES: dict[str, Callable[[float, int], float]] = {
    "misses wherever it can": lambda q, t: 1.0 if q < 1 else 0.0,
    "just outside": lambda q, t: min(1.0, q * (1 + 1e-9)),
    "hits wherever it can": lambda q, t: min(q, 1.0),
    "alternates in long stretches": lambda q, t: (1.0 if q < 1 else 0.0) if t // 60 % 2 else 0.0,
    "never errs": lambda q, t: 0.0,
    "trebles": lambda q, t: 3.0 ** min(t, 150),
    "falls by a thousandth": lambda q, t: 0.999**t,
    "jumps by twelve orders": lambda q, t: (1e12 if t // 40 % 2 else 1.0) * (1 + t % 7),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("budget", [3.0, 20.0])
@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize("adversary", ADVERSARIES)
def test_no_adversary_takes_coverage_away(adversary: str, coverage: float, budget: float) -> None:
    """It sees every interval before it chooses the outcome."""
    run = ConformalIntervals(coverage, budget=budget, **PLAIN)
    for t in range(240):
        number, (low, high) = run.ask(0.0)
        assert -low == high
        run.tell(number, ADVERSARIES[adversary](high if high < math.inf else 0.5, t))
        assert run.coverage.holds
    if adversary not in ("trebles", "never errs", "hits wherever it can"):  # in which Z or F is large
        assert -budget - 1 <= excess(run) <= budget + 1 + 2 * (adversary == "jumps by twelve orders")
    if adversary == "trebles":
        assert run.book.counts[FORCED] <= 1 + math.log2(3.0**150)
    assert run.certificate.holds, run.certificate


def test_coverage_is_the_budgets_work() -> None:
    """Trackers alone owe little pinball loss, but lag behind errors that grow: without a budget they cover too few."""
    errors = np.abs(np.random.default_rng(0).normal(size=3000)) * 1.002 ** np.arange(3000)
    alone, held = (ConformalIntervals(0.9, budget=budget).learn(np.zeros(3000), errors) for budget in (1e12, 20.0))
    assert excess(alone) > 21
    assert abs(excess(held)) < 5


@pytest.mark.parametrize("delay", [1, 7])
@pytest.mark.parametrize("adversary", ["misses wherever it can", "alternates in long stretches"])
def test_late_outcomes_cost_what_is_said(adversary: str, delay: int) -> None:
    """Many are asked before any is told, and told in another order."""
    run, rng = ConformalIntervals(0.8, budget=3.0, **PLAIN), np.random.default_rng(0)
    run.tell(run.ask(0.0)[0], 1.0)
    for t in range(40):
        asked = [run.ask(0.0) for _ in range(delay + 1)]
        for k in rng.permutation(delay + 1).tolist():
            number, (_, high) = asked[k]
            run.tell(number, ADVERSARIES[adversary](high, 12 * t))
    told = run.coverage
    assert told.delay == delay
    assert told.holds
    assert -3 - 0.2 * (1 + delay) <= excess(run) + 0.2 * run.book.counts[4] + 1e-9
    assert excess(run) <= 3 + 0.8 * (1 + delay) + 1e-9
    assert not run.certificate.premises_hold
    with pytest.raises(DataError, match="told before"):
        run.tell(asked[0][0], 0.0)


def test_radii_lose_little_more_than_any_fixed_one() -> None:
    for seed, scale in ((0, 1.0), (1, 1e-9), (2, 1e9)):
        p, y = drifting(400, seed)
        p, y = p * scale, y * scale
        run = ConformalIntervals(0.9, **PLAIN).learn(p, y)
        scores = np.abs(y - p)[~np.isnan(y - p)][1:]
        radii = (run.upper - run.lower)[~np.isnan(y - p)][1:] / 2
        loss = np.where(scores > radii, 0.9 * (scores - radii), 0.1 * (radii - scores)).sum()
        assert run.loss == pytest.approx(loss)
        each = scores[:, None] - np.append(scores, 0.0)
        best = np.where(each > 0, 0.9 * each, -0.1 * each).sum(0).min()
        found = run.certificate
        assert found.holds
        assert loss - best <= found.proved
        assert loss - best <= found.bound


def test_one_by_one_is_all_at_once() -> None:
    p, y = drifting(150)
    whole, single = ConformalIntervals(0.8, **PLAIN).learn(p, y), ConformalIntervals(0.8, **PLAIN)
    for t in np.flatnonzero(~np.isnan(p)).tolist():
        number, (low, high) = single.ask(p[t])
        assert (low, high) == (whole.lower[t], whole.upper[t])
        if not math.isnan(y[t]):
            assert single.tell(number, y[t]) == (low <= y[t] <= high)
    assert single.book.counts.tolist() == whole.book.counts.tolist()


@pytest.mark.parametrize("forecast", [0.0, 3.7, 1e8])
def test_an_outcome_at_an_end_is_inside(forecast: float) -> None:
    """Ends are rounded, and what is proved is of the ends that were given."""
    late, run = ConformalIntervals(0.9, compiled=False), ConformalIntervals(0.9, compiled=False)
    rng, outcomes, inside = np.random.default_rng(5), [], []
    forecasts = forecast + rng.normal(size=300)
    for p in forecasts.tolist():
        number, (low, high) = late.ask(p)
        y = p + 1 if math.isinf(high) else (high if rng.random() < 0.5 else low)
        inside.append(late.tell(number, y))
        outcomes.append(y)
    assert all(inside)
    assert late.coverage.realised == 1.0
    assert late.coverage.holds
    run.learn(forecasts, outcomes)
    assert run.coverage == late.coverage
    assert run.certificate.holds


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(PartError, match="strictly between 0 and 1"):
        ConformalIntervals(90)
    with pytest.raises(PartError, match="budget"):
        ConformalIntervals(0.9, budget=0)
    run = ConformalIntervals(0.9, **PLAIN)
    with pytest.raises(DataError, match="one number a round, got an array of shape"):
        run.learn([[1.0, 2.0]], [1.0])
    with pytest.raises(DataError, match="round 1: 1e\\+200 among the outcomes is too large"):
        run.learn([1.0, 1.0], [1.0, 1e200])
    with pytest.raises(DataError, match="outcomes of shape"):
        run.learn([1.0, 1.0], [1.0])
    with pytest.raises(DataError, match="there is no forecast"):
        run.ask(math.nan)
    with pytest.raises(DataError, match="waits for no outcome"):
        run.tell(3, 1.0)
    number, _ = run.ask(1.0)
    with pytest.raises(DataError, match="not a number"):
        run.tell(number, math.nan)
    assert run.rounds == 0


def test_the_picture_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = ConformalIntervals(0.9, **PLAIN).learn(*drifting(60))
    run.plot(tmp_path / "c.png")
    assert (tmp_path / "c.png").stat().st_size > 1000


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_within_a_point_on_real_streams(coverage: float, data_file: Callable[[str], Path]) -> None:
    """Forecasts through the lockdown of 2020; house prices by place, forecast by the mean of the latest fifty."""
    table = read_table(str(data_file("french_load_experts.csv.gz")))
    run = ConformalIntervals(coverage).learn(table.numbers("nat0.5"), table.numbers("load"))
    assert abs(run.coverage.realised - coverage) <= 0.01
    prices = read_table(str(data_file("cal_housing.csv.gz"))).numbers("median_house_value")
    mean = np.convolve(prices, np.ones(50) / 50, "valid")[:-1]
    run = ConformalIntervals(coverage).learn(mean, prices[50:])
    assert abs(run.coverage.realised - coverage) <= 0.01
    assert run.coverage.low >= coverage - 0.01
    assert run.certificate.holds
