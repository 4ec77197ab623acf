"""Every aggregator is what its paper says, compiled and not, in pieces or whole."""

from __future__ import annotations

import math
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowregret
from lowregret import Absolute, DataError, PartError, Square
from lowregret.compile.part import Part
from lowregret.experts import AdaHedge, Aggregator, ExpertMixture, Hedge, Layered, LogScore
from lowregret.experts.aggregator import leading
from lowregret.experts.state import OWN, VARIED
from tests.experts import naive
from tests.experts.cases import AGGREGATORS, PROVED, SEQUENCES, random_rounds

NAMES = [repr(aggregator) for aggregator, _ in AGGREGATORS]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("linearised", [True, False])
@pytest.mark.parametrize("asleep", [0.0, 0.4])
@pytest.mark.parametrize(("aggregator", "weigh"), AGGREGATORS, ids=NAMES)
def test_naive(aggregator: Aggregator, weigh: naive.Weigh, asleep: float, linearised: bool) -> None:
    x, y = random_rounds(60, 4, 11, asleep)
    prior = np.array([0.1, 0.2, 0.3, 0.4])
    panel = ExpertMixture(4, aggregator, Square(), prior=prior, linearised=linearised)
    found = panel.learn(x, y).forecasts
    expected, weights, total = naive.mix(weigh, Square(), x, y, prior, linearised)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(panel.weights_over_time[1], weights, rtol=1e-7, atol=1e-9)
    measured = panel.book.linear if linearised else panel.book.owed - panel.book.losses
    np.testing.assert_allclose(measured, total, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("name", ["comeback", "only the worst awake", "jumping"])
@pytest.mark.parametrize("kind", [0, 2], ids=["Hedge", "AdaHedge"])
def test_naive_where_weights_underflow(kind: int, name: str) -> None:
    """Those awake are weighed against each other, however far behind those asleep."""
    (aggregator, weigh), (x, y) = AGGREGATORS[kind], SEQUENCES[name]
    panel = ExpertMixture(x.shape[1], aggregator, Absolute(), linearised=False, compiled=False)
    with np.errstate(over="ignore"):
        expected, weights, _ = naive.mix(weigh, Absolute(), x, y, panel.book.prior, False)
    np.testing.assert_allclose(panel.learn(x, y).forecasts, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(panel.weights_over_time[1], weights, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("aggregator", [a for a, _ in AGGREGATORS], ids=NAMES)
def test_compiled_is_interpreted(aggregator: Aggregator) -> None:
    x, y = random_rounds(80, 4, 12, 0.3)
    panels = [ExpertMixture(4, aggregator, Square(), compiled=compiled) for compiled in (True, False)]
    ours, theirs = (panel.learn(x, y).forecasts for panel in panels)
    np.testing.assert_allclose(ours, theirs, rtol=1e-12)
    for one, other in zip(panels[0].book, panels[1].book, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def panels(kind: int) -> ExpertMixture:
    return Layered(4) if kind == len(AGGREGATORS) else ExpertMixture(4, AGGREGATORS[kind][0])


@settings(max_examples=6)
@given(st.integers(0, len(AGGREGATORS)), st.integers(1, 2400), st.integers(0, 9))
def test_in_pieces_from_disk_and_one_by_one_is_all_at_once(kind: int, cut: int, seed: int) -> None:
    rounds = 2500  # so many that not every round is kept for the picture
    x, y = random_rounds(rounds, 4, seed)
    whole, split = panels(kind), panels(kind)
    expected = whole.learn(x, y).forecasts
    first = split.learn(x[:cut], y[:cut]).forecasts
    with TemporaryDirectory() as folder:
        split = lowregret.load(split.save(Path(folder) / "panel.lr"))
    assert type(split) is type(whole)
    said = []
    for row, outcome in zip(x[cut : cut + 20], y[cut : cut + 20], strict=True):
        number, p = split.ask(row)
        split.tell(number, outcome)
        said.append(p)
    rest = split.learn(x[cut + 20 :], y[cut + 20 :]).forecasts
    assert np.array_equal(np.concatenate([first, said, rest]), expected)
    for one, other in zip(whole.book, split.book, strict=True):
        assert np.array_equal(one, other)
    assert np.array_equal(whole.weights_over_time[1], split.weights_over_time[1])
    assert np.array_equal(whole.regrets, split.regrets)
    assert whole.certificate == split.certificate


def test_rounds_that_wait_are_saved(tmp_path: Path) -> None:
    x, y = random_rounds(5, 3, 4)
    for panel in (ExpertMixture(3, AdaHedge()), Layered(3)):
        asked = [panel.ask(row)[0] for row in x]
        again = lowregret.load(panel.save(tmp_path / "waiting.lr"))
        assert isinstance(again, ExpertMixture)
        for number, outcome in zip(asked, y, strict=True):
            assert again.tell(number, outcome) == panel.tell(number, outcome)
        assert np.array_equal(again.weights, panel.weights)


def test_a_number_is_not_given_twice_though_an_older_save_is_restored(tmp_path: Path) -> None:
    """The outcome of a round asked after the save is an error, not taken for that of another round."""
    x, _ = random_rounds(20, 3, 4)
    for panel in (ExpertMixture(3, AdaHedge()), Layered(3)):
        before, _ = panel.ask(x[0])
        path = panel.save(tmp_path / "older.lr")
        after = {panel.ask(row)[0] for row in x[1:]}
        again: Any = lowregret.load(path)
        given = [again.ask(row)[0] for row in x[1:]]
        assert not after & set(given)
        for number in after:
            with pytest.raises(DataError, match="asked after the save"):
                again.tell(number, 1.0)
        again.tell(given[-1], 1.0)
        again.tell(before, 1.0)
        assert again.rounds == 2
        with pytest.raises(DataError, match=r"its outcome was told before$"):
            again.tell(given[-1], 1.0)


@pytest.mark.parametrize(("aggregator", "asleep"), [*((a, s) for a in PROVED for s in (0.0, 0.3)), (None, 0.0)])
def test_late_outcomes_cost_a_drift_that_certificates_add(aggregator: Any, asleep: float) -> None:
    """In order of `tell` it is an undelayed run, to the last bit; the forecasts that were given lost more or less."""
    x, y = random_rounds(60, 3, 4, asleep)
    x[np.isnan(x).all(1)] = 0.0

    def make() -> ExpertMixture:
        return Layered(3, compiled=False) if aggregator is None else ExpertMixture(3, aggregator, compiled=False)

    late, p, waiting, told = make(), np.empty(60), list[tuple[int, int]](), list[int]()
    coins = np.random.default_rng(1)
    for t in range(90):
        if t < 60:
            number, p[t] = late.ask(x[t])
            waiting.append((number, t))
        while len(waiting) > (6 if t < 60 else 0):
            number, row = waiting.pop(int(coins.integers(len(waiting))))
            assert late.tell(number, y[row]) == pytest.approx((p[row] - y[row]) ** 2)
            told.append(row)
    regrets = np.where(np.isnan(x), 0.0, ((p - y) ** 2)[:, None] - (x - y[:, None]) ** 2).sum(0)
    assert late.loss == pytest.approx(np.sum((p - y) ** 2))
    assert late.regret == pytest.approx(regrets.max())
    found = late.certificate
    assert found.regret == pytest.approx(regrets.max())
    assert found.holds
    if aggregator is None:
        return
    prompt = make().learn(x[told], y[told])
    assert np.array_equal(late.weights, prompt.weights)
    others = ~np.isin(np.arange(prompt.book.sums.size), (OWN, VARIED))  # which are of the forecasts that were given
    assert late.book.sums[others].tolist() == prompt.book.sums[others].tolist()
    assert late.drift[-1] == pytest.approx(late.loss - prompt.loss)
    assert found.id == f"{prompt.certificate.id}+DRIFT"


def test_without_its_drift_the_bound_on_late_outcomes_would_be_wrong() -> None:
    """One expert is right a thousand times, and all forecasts are made before anybody knows it."""
    for panel in (ExpertMixture(2, AdaHedge()), Layered(2)):
        numbers = [panel.ask([0.0, 1.0])[0] for _ in range(1000)]
        for number in numbers:
            panel.tell(number, 0.0)
        assert panel.regret == pytest.approx(250)
        assert panel.certificate.holds
        inside = panel.lanes[3] if isinstance(panel, Layered) else panel
        assert panel.certificate.bound - inside.drift[-1] < 20


def test_one_expert_is_followed() -> None:
    x, y = random_rounds(30, 1, 8)
    for aggregator, _ in AGGREGATORS:
        panel = ExpertMixture(1, aggregator)
        assert np.array_equal(panel.learn(x, y).forecasts, x[:, 0])
        assert panel.regret == 0
        assert panel.weights.tolist() == [1.0]


@pytest.mark.usefixtures("interpreted")
def test_all_asleep_is_no_forecast_and_nothing_learnt() -> None:
    for panel in (ExpertMixture(2, Hedge(0.5)), Layered(2)):
        p = panel.learn([[1.0, 2.0], [math.nan, math.nan], [1.0, 2.0]], [1.0, 1.0, math.nan]).forecasts
        assert np.isnan(p).tolist() == [False, True, False]
        assert panel.rounds == 1
        with pytest.raises(DataError, match="no expert has a forecast"):
            panel.ask([math.nan, math.nan])
        assert panel.ask([1.0, 2.0])[0] == 3  # the failed question changed nothing


def test_an_expert_that_appears_late_owes_nothing() -> None:
    x, y = random_rounds(100, 3, 9)
    x[:50, 2] = math.nan
    panel = ExpertMixture(3, Hedge(0.2), Absolute(), linearised=False, compiled=False)
    p = panel.learn(x, y).forecasts
    expected = np.abs(p[50:] - y[50:]).sum() - np.abs(x[50:, 2] - y[50:]).sum()
    assert (panel.book.owed - panel.book.losses)[2] == pytest.approx(expected)
    alone = ExpertMixture(2, Hedge(0.2), Absolute(), linearised=False, compiled=False)
    np.testing.assert_allclose(p[:50], alone.learn(x[:50, :2], y[:50]).forecasts)


@pytest.mark.parametrize(
    ("doing", "message"),
    [
        (lambda p: p.tell(7, 1.0), "round 7 waits for no outcome: rounds so far: 0"),
        (lambda p: [p.ask([1.0, 2.0]), p.tell(0, 1.0), p.tell(0, 1.0)], "its outcome was told before"),
        (lambda p: [p.ask([1.0, 2.0]), p.tell(0, math.nan)], "tell it when it is known"),
        (lambda p: p.learn([[1.0, 2.0, 3.0]], [1.0]), r"shape \(3,\), expected \(2,\)"),
        (lambda p: p.learn([[1.0, math.inf]], [1.0]), "the forecast of b is infinite"),
        (lambda p: p.learn([[1.0, 2.0]], [math.inf]), "does not fit Square"),
        (lambda p: p.learn([[1.0, 2.0]], [1.0, 2.0]), "1 round of forecasts"),
        (lambda p: p.learn([["x", "y"]], [1.0]), "must be numbers"),
    ],
)
def test_errors_say_what_is_wrong(doing: Any, message: str) -> None:
    for panel in (ExpertMixture(["a", "b"], Hedge(0.1)), Layered(["a", "b"])):
        with pytest.raises(DataError, match=message):
            doing(panel)


def test_parts_that_do_not_fit() -> None:
    with pytest.raises(DataError, match="no experts"):
        ExpertMixture(0, AdaHedge())
    with pytest.raises(PartError, match="eta must be a positive number"):
        Hedge(0.0)
    with pytest.raises(DataError, match="prior must be 2 numbers"):
        ExpertMixture(2, AdaHedge(), prior=[1.0, -1.0])
    with pytest.raises(PartError, match="Bayes mixture"):
        Layered(2, LogScore(), parts=3)
    with pytest.raises(DataError, match="no class: they are numbered 0 to 2"):
        ExpertMixture(2, Hedge(1.0), LogScore(), parts=3).learn(np.full((1, 2, 3), 1 / 3), [3.0])


def test_no_two_parts_share_a_name() -> None:
    """Else a file would be read as something else."""
    found: dict[str, type] = {}
    todo: list[type[Part]] = list(Part.__subclasses__())
    while todo:
        part = todo.pop()
        todo += part.__subclasses__()
        if part.__module__.startswith("lowregret"):
            assert found.setdefault(part.__qualname__, part) is part


class Leader(Aggregator):
    """An aggregator of one's own: the best so far."""

    def weigh(self, s: Any) -> None:
        for i in range(s.mass.size):
            s.mass[i] = 1.0 if s.regret[i] == leading(s) else 0.0

    def absorb(self, s: Any) -> None:
        for i in range(s.mass.size):
            s.regret[i] += s.instant[i]


def test_an_aggregator_of_ones_own() -> None:
    x, y = random_rounds(50, 3, 2)
    panel = ExpertMixture(3, Leader(), linearised=False)
    panel.learn(x, y)
    assert panel.weights[panel.best.index] == 1.0
    assert panel.certificate.id == "EXACT"
    assert math.isinf(panel.certificate.bound)
