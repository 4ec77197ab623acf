"""Aggregators and substitutions of one's own: what is no mixture is refused, or nothing is claimed of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Absolute, DataError
from lowregret.experts import Aggregator, Drawing, ExpertMixture, Hedge, Layered, MixedPortfolio, MLPoly, SeriesMixture
from lowregret.experts.state import ROUNDS
from lowregret.experts.substitute import Substitution
from tests.experts.cases import random_rounds


class Debtor(Aggregator):
    """An aggregator that gives what are no weights from round 3 on, and to sleepers always."""

    kind: int = 0

    def weigh(self, s: Any) -> None:
        for i in range(s.mass.size):
            s.mass[i] = 1.0 if s.present[i] > 0.0 else -1.0
        if s.counts[ROUNDS] >= 3:
            bad = 1.7e308 if self.kind == 2 else -1000.0
            s.mass[0] = 1001.0 if self.kind == 0 else 1.7e308
            s.mass[1] = math.inf - math.inf if self.kind == 1 else bad

    def absorb(self, s: Any) -> None:
        """Nothing is learnt."""


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("kind", "weight"), [(0, "-1000"), (1, "nan"), (2, r"1.7e\+308")])
def test_weights_that_are_none_are_refused(kind: int, weight: str, compiled: bool, tmp_path: Path) -> None:
    """Forecasts beyond all experts were mixed, and bounds on their risk stood beside premises that held."""
    x, y = random_rounds(6, 3, 2)
    x[1, 2] = math.nan
    why = f"Debtor gave expert [01] the weight {weight}: its `weigh` must write numbers from 0 on"
    panel = ExpertMixture(3, Debtor(kind), Absolute(), compiled=compiled)
    number = panel.ask(x[0])[0]
    with pytest.raises(DataError, match=f"round 4: {why}"):
        panel.learn(x, y)
    good = ExpertMixture(3, Debtor(kind), Absolute(), compiled=compiled).learn(x[:3], y[:3])
    assert (panel.rounds, panel.loss, panel.regret) == (3, good.loss, good.regret)
    for question in (lambda: panel.tell(number, 1.0), lambda: panel.ask(x[0]), lambda: panel.weights):
        with pytest.raises(DataError, match=why):
            question()
    panel.save(tmp_path / "panel.lr")
    drawing, portfolio = Drawing(3, Debtor(kind), compiled=compiled), MixedPortfolio(3, Debtor(kind), compiled=compiled)
    for learnt in (drawing, portfolio):
        with pytest.raises(DataError, match=f"round 3: {why}"):
            learnt.learn(np.abs(x) + 1)
        assert learnt.rounds == 3


@pytest.mark.parametrize("asleep", [False, True])
def test_lanes_and_series_refuse_weights_that_are_none(asleep: bool) -> None:
    class Mine(Layered):
        aggregators = (MLPoly(), Debtor())

    x, y = random_rounds(6, 3, 2)
    x[2:5, 2] = math.nan if asleep else x[2:5, 2]
    panel, why = Mine(3), "round 3: Debtor gave expert 1 the weight -1000"
    with pytest.raises(DataError, match=why):
        panel.learn(x, y)
    assert [mixture.rounds for mixture in (panel, panel.chief, *panel.lanes)] == [3, 3, 3, 3]
    with pytest.raises(DataError, match=why):
        panel.ask(x[3])
    table = {"series": ["u"] * 6, "time": range(6), "y": y} | {name: x[:, k] for k, name in enumerate("abc")}
    series = SeriesMixture(list("abc"), aggregator=Debtor())
    with pytest.raises(DataError, match="row 3: Debtor gave expert 1 the weight -1000"):
        series.learn(table)
    assert series.rounds == 0


class Beyond(Substitution):
    """A substitution of one's own: twice the mean."""

    def forecast(self, s: Any, x: Any, t: int, p: Any) -> None:
        p[t, 0] = 0.0
        for i in range(s.mass.size):
            p[t, 0] += 2.0 * s.mass[i] * x[t, 0, i]


def test_no_risk_is_bound_of_forecasts_that_anybody_makes() -> None:
    """The ceiling of the bounds is that of the experts' losses, which such forecasts exceed."""
    x, y = random_rounds(50, 3, 2)
    own = ExpertMixture(3, Hedge(0.1), Absolute(), linearised=False, substitution=Beyond()).learn(x, y)
    known = ExpertMixture(3, Hedge(0.1), Absolute(), linearised=False).learn(x, y)
    assert all(risk.premises_hold for risk in known.risks(independent=True))
    assert not any(risk.premises_hold for risk in own.risks(independent=True))


class Mute(Substitution):
    """A substitution of one's own that says nothing from round 2 on."""

    def forecast(self, s: Any, x: Any, t: int, p: Any) -> None:
        if s.counts[ROUNDS] < 2:
            p[t, 0] = 0.5


@pytest.mark.parametrize("compiled", [True, False])
def test_a_substitution_that_says_nothing_is_told(compiled: bool) -> None:
    """What lay in memory was the forecast, and experts were told to give every class some probability."""
    x, y = random_rounds(6, 3, 2)
    panel = ExpertMixture(3, Hedge(0.1), Absolute(), linearised=False, substitution=Mute(), compiled=compiled)
    number = panel.ask(x[0])[0]
    with pytest.raises(DataError, match=r"round 3: what the mixture says is no number: .* of your own must write"):
        panel.learn(x, y)
    for question in (lambda: panel.ask(x[0]), lambda: panel.tell(number, 1.0)):
        with pytest.raises(DataError, match="what the mixture says is no number"):
            question()
    assert panel.rounds == 2
