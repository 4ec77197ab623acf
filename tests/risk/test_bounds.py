"""Risk certificates of runs: who gets which, what they rest on, when there is none, and that they are true."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.domain import Box
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    OnMistakes,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)
from lowregret.mirror import Euclidean
from lowregret.output import Average, Random, WeightedAverage
from lowregret.risk.bounds import INDEPENDENT, ONCE, headline, power_of_two, risk_json
from lowregret.risk.online_to_batch import AVERAGE, DRAWN, WEIGHTED
from lowregret.rule import MirrorDescent
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.show.text import summary
from lowregret.step import Constant
from lowregret.stream.read import read
from lowregret.train import train
from lowregret.words import rounded_up


def source(rng: Any, rows: int, noise: float = 0.2) -> tuple[Any, Any]:
    """y = sign⟨u, x⟩, wrong with probability `noise`; x ∈ [−1,1]^4."""
    X = rng.uniform(-1, 1, (rows, 4))
    y = np.where(X @ [1.0, -1.0, 0.5, 0.0] >= 0, 1.0, -1.0)
    return X, np.where(rng.random(rows) < noise, -y, y)


def learnt(learner: Linear, rows: int = 400, seed: int = 0, weights: Any = None) -> LinearRun:
    return train(learner, *source(np.random.default_rng(seed), rows), weights, compiled=False)


def failed(run: LinearRun) -> set[str]:
    return {p.name for p in run.risks()[0].premises if not p.holds}


# ---- who gets which --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("learner", "output", "of"),
    [
        (zoo.ogd(Hinge(), output=Average()), AVERAGE, "error"),
        (zoo.ogd(Logistic(), output=WeightedAverage()), WEIGHTED, "error"),
        (zoo.ogd(Hinge(0.0), 0.1, Average()), AVERAGE, "loss"),  # Hinge(0) does not bound the error
        (zoo.ogd(Hinge(), output=Random(1)), DRAWN, "error"),
        (zoo.ogd(Hinge()), DRAWN, "error"),
        (zoo.perceptron(Average()), DRAWN, "error"),  # its loss is not a convex function of w
        (zoo.perceptron(), DRAWN, "error"),
        (zoo.ogd(Absolute(), output=Average()), AVERAGE, "loss"),
        (zoo.ogd(Absolute(), output=Random(1)), DRAWN, "loss"),
    ],
    ids=repr,
)
def test_the_headline_speaks_of_the_output(learner: Linear, output: str, of: str) -> None:
    best = headline(learnt(learner).risks())
    assert best is not None
    assert (best.id, best.output, best.of, best.delta, best.anytime) == ("O2B-EB", output, of, 0.05, True)


def test_the_last_iterate_is_never_certified() -> None:
    run = learnt(zoo.ogd(Hinge()))
    assert {c.output for c in run.risks()} == {DRAWN}
    assert "nothing of the kind is known of the model that is kept" in summary(run)
    assert "nothing of the kind" in summary(learnt(zoo.perceptron(Average())))
    assert "nothing of the kind" not in summary(learnt(zoo.perceptron(Random(0))))
    assert learnt(zoo.ogd(Absolute())).risks() == []  # and of a regression nothing at all
    assert risk_json([]) == {"risk": None, "risk_premises": []}


@pytest.mark.parametrize("loss", [Absolute(), Hinge(0.0)], ids=repr)
def test_a_bound_of_a_loss_says_of_which_rows_it_speaks(loss: Any) -> None:
    best = headline(learnt(zoo.ogd(loss, 0.1, Average())).risks())
    assert best is not None
    row, label, outside = (best.details[name] for name in ("row", "label", "outside"))
    where = f"‖x‖ ≤ {row:.4g}" + (f" and |y| ≤ {label:.4g}" if isinstance(loss, Absolute) else "")
    rest = f"of other rows, a share of at most {rounded_up(outside, 2)}, nothing is said"
    assert best.statement == f"E[loss where {where}] ≤ (Σf_t(w_t) + M·D)/T; {rest}"
    assert best.to_json()["statement"] == best.statement


def test_what_is_listed() -> None:
    found = learnt(zoo.ogd(Hinge(), output=Average())).risks(0.1)
    told = [(c.id, c.output, c.of) for c in found]
    assert told == [
        ("O2B-EB", AVERAGE, "error"),
        ("O2B-EB", AVERAGE, "loss"),
        ("O2B-HP", AVERAGE, "error"),
        ("O2B-HP", AVERAGE, "loss"),
        ("O2B-EB", DRAWN, "error"),
        ("O2B-HP", DRAWN, "error"),
        ("O2B-SMALL", DRAWN, "error"),
        ("THM-5.1", AVERAGE, "loss"),
        ("COR-5.2", AVERAGE, "excess"),
    ]
    assert all(c.delta == 0.1 for c in found[:-2])
    assert [c.delta for c in found[-2:]] == [None, None]


@pytest.mark.parametrize("loss", [Cost(), Poisson()], ids=repr)
def test_losses_without_a_ceiling_are_not_certified(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    run = train(zoo.ogd(loss, 0.01, Average()), rng.random((50, 3)), np.ones(50), compiled=False)
    assert run.risks() == []


def test_a_rule_that_cannot_tell_its_length_needs_a_bounded_domain() -> None:
    X, y = source(np.random.default_rng(0), 100)
    box = Linear(Hinge(), MirrorDescent(Euclidean(Box(-1.0, 1.0)), Constant(0.1)), Average())
    known = headline(train(box, X, y, compiled=False).risks())
    assert known is not None
    assert known.output == AVERAGE
    assert known.details["iterate"] == pytest.approx(2.0, rel=1e-4)  # of the box in 4 dimensions
    grown = headline(begin(box, None, compiled=False).learn(X, y).risks())  # of how many, nobody knew beforehand
    assert grown is not None
    assert grown.output == DRAWN


# ---- premises --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [zoo.ogd(Hinge()), zoo.ogd(Hinge(), output=Average())], ids=repr)
def test_none_with_importance_weights(learner: Linear) -> None:
    run = learnt(learner, weights=np.full(400, 2.0))
    assert headline(run.risks()) is None
    assert failed(run) == {"all rows learnt have importance weight 1"}
    assert "unknown, for this is not so: all rows learnt have importance weight 1" in summary(run)
    assert headline(learnt(learner, weights=np.ones(400)).risks()) is not None


def test_none_after_a_second_pass(tmp_path: Path) -> None:
    X, y = source(np.random.default_rng(0), 400)
    run = train(zoo.ogd(Hinge()), X, y, compiled=False)
    assert headline(run.risks()) is not None
    again = LinearRun.load(run.save(tmp_path / "run")).learn(X, y)
    assert headline(again.risks()) is None
    assert ONCE in failed(again)
    told = risk_json(again.risks())
    assert told["risk"] is None
    premises = {premise["name"]: premise for premise in told["risk_premises"]}
    assert premises[ONCE]["holds"] is False
    assert premises[ONCE]["observed"].endswith(" in a sample of 800 rows")


def test_none_where_labels_are_sorted() -> None:
    X, y = source(np.random.default_rng(0), 400)
    order = np.argsort(y, kind="stable")
    run = train(zoo.ogd(Hinge()), X[order], y[order], compiled=False)
    assert failed(run) == {INDEPENDENT}
    assert "the stream does not look independent" in summary(run)
    assert headline(run.risks()) is None


def test_none_where_rounds_were_not_counted() -> None:
    run = learnt(zoo.ogd(Hinge()))
    later = LinearRun(run.learner, run.state.copy(), compiled=False).learn(*source(np.random.default_rng(1), 100))
    assert failed(later) == {"every round was counted"}
    assert LinearRun(run.learner, run.learner.start(4)).risks() == []


def test_delta_is_a_probability() -> None:
    with pytest.raises(PartError, match="delta is the probability"):
        learnt(zoo.ogd(Hinge())).risks(0.0)


@pytest.mark.parametrize("delta", [5e-324, 1e-310, 1.0, math.nan, "0.05", None])
def test_delta_has_an_inverse(delta: Any) -> None:
    with pytest.raises(PartError, match="delta is the probability"):
        learnt(zoo.ogd(Hinge(), output=Average())).risks(delta)


@pytest.mark.parametrize("output", [Average(), WeightedAverage(), Random(1)], ids=repr)
@pytest.mark.parametrize("size", [1e-90, 1e-60, 1e60, 1e69])
def test_labels_of_any_size(output: Any, size: float) -> None:
    """The squares of squares neither vanish nor overflow, and bounds have the size of the losses."""
    x = np.full((200, 1), min(size, 1.0))
    run = train(zoo.ogd_eager(Square(), 0.1, output=output), x, size * np.sin(np.arange(200.0)), compiled=False)
    found = [c.bound for c in run.risks() if c.of == "loss" and c.delta is not None]
    assert len(found) == 2
    assert run.loss / 200 <= min(found)
    assert max(found) <= max(10 * size**2, 1e-139)


@pytest.mark.parametrize(
    ("name", "options", "independent"),
    [
        ("a9a.svm.gz", {}, True),
        ("elec2.csv.gz", {"target": "class", "positive": "UP"}, False),
    ],
)
def test_real_streams(data_file: Callable[[str], Path], name: str, options: Any, independent: bool) -> None:
    """a9a was shuffled; the price of electricity goes up and down in spells."""
    run = train(zoo.ogd(Hinge()), read(data_file(name), **options))
    assert (INDEPENDENT not in failed(run)) == independent
    best = headline(run.risks())
    assert (best is not None) == independent
    if best is not None:
        assert run.error is not None
        assert run.error < best.bound < run.error + 0.01


# ---- ceilings --------------------------------------------------------------------------------------------------------


def test_shares_of_powers_of_two_sum_to_one() -> None:
    total = sum(math.exp(-power_of_two(2.0**k)[1]) for k in range(-465, 466))
    assert 0.99 < total <= 1


@given(st.floats(1e-30, 1e30))
def test_powers_of_two_cover(size: float) -> None:
    power, price = power_of_two(size)
    assert size <= power <= 2.01 * size
    assert price >= math.log(3)
    assert power_of_two(math.inf)[0] == math.inf
    assert power_of_two(0.0)[0] == pytest.approx(1.0, abs=1e-4)
    assert power_of_two(1.0000001) == power_of_two(1.0)


MARGINS = [Hinge(), Hinge(0.5), SquaredHinge(), Logistic(), Affine(Hinge(), 2.0, -1.0), Affine(Logistic(), -0.5, 0.3)]
RESIDUALS = [Square(), Absolute(), Quantile(0.9), Huber(0.5), EpsilonInsensitive(0.2)]


@pytest.mark.parametrize("loss", [*MARGINS, *RESIDUALS], ids=repr)
@given(st.floats(0, 20), st.floats(0.1, 20), st.floats(-1, 1), st.floats(-1, 1))
def test_no_loss_exceeds_its_ceiling(loss: Loss, reach: float, label: float, p: float, y: float) -> None:
    if loss.classifies:
        label, y = 1.0, math.copysign(1.0, y)
    assert 0 <= loss.at(p * reach, y * label)[0] <= loss.highest(reach, label) * (1 + 1e-12)


@pytest.mark.parametrize("loss", MARGINS, ids=repr)
@given(st.floats(-50, 50), st.sampled_from([-1.0, 1.0]))
def test_the_loss_bounds_the_error(loss: Loss, p: float, y: float) -> None:
    worth = loss.error_per_loss
    assert worth is not None
    assert loss.wrong(p, y) <= worth * loss.at(p, y)[0] * (1 + 1e-12)


@pytest.mark.parametrize("loss", [Square(), SquaredHinge(), Logistic(), EpsilonInsensitive(9.0)], ids=repr)
@pytest.mark.parametrize("size", [0.0, 1e-160, 1e-9, 1e60, 1e140])
def test_rows_of_any_size(loss: Loss, size: float) -> None:
    """Ceilings that overflow, or are 0, leave what is said finite."""
    X, y = source(np.random.default_rng(0), 100)
    run = train(zoo.ogd_eager(loss, 1e-300, 1.0, Average()), size * X, y, compiled=False)
    assert all(math.isfinite(c.bound) for c in run.risks())
    assert summary(run)


def test_what_has_no_ceiling() -> None:
    assert OnMistakes(Hinge()).highest(1.0, 1.0) == math.inf
    assert Hinge().highest(math.inf, 1.0) == math.inf
    assert Hinge(0.0).error_per_loss is None
    assert Square().error_per_loss is None


# ---- the truth -------------------------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_bounds_hold_on_a_finite_source() -> None:
    """300 runs of 200 rows from 400 points at δ = 0.2: the risks of the average and of a drawn model are exact."""
    rng = np.random.default_rng(8)
    X, y = source(rng, 400)
    broken = dict.fromkeys([(AVERAGE, "error"), (AVERAGE, "loss"), (DRAWN, "error")], 0)
    for _ in range(300):
        at = rng.integers(0, 400, 200)
        run = train(zoo.ogd(Hinge(), 0.1, Average()), X[at], y[at])
        margins = y[at] * run.scores
        played = np.vstack([np.zeros(4), 0.1 * np.cumsum((y[at] * (margins < 1))[:, None] * X[at], axis=0)])[:-1]
        np.testing.assert_allclose(played.mean(axis=0), run.weights, atol=1e-9)
        truth = {
            (AVERAGE, "error"): np.mean((X @ run.weights >= 0) != (y > 0)),
            (AVERAGE, "loss"): np.mean(np.maximum(1 - y * (X @ run.weights), 0)),
            (DRAWN, "error"): np.mean((X @ played.T >= 0) != (y > 0)[:, None]),
        }
        bounds = {(c.output, c.of): c.bound for c in run.risks(0.2) if c.id == "O2B-EB"}
        for what in broken:
            broken[what] += truth[what] > bounds[what]
    assert max(broken.values()) <= 0.2 * 300


def test_long_rows_and_large_labels_are_named() -> None:
    """A regression: the loss where ‖x‖ ≤ X and |y| ≤ Y, and how much lies outside."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(3000, 3))
    y = X @ [1.0, 2.0, -1.0] + rng.normal(size=3000)
    run = train(zoo.ogd_eager(Absolute(), 0.02, 4.0, Average()), X, y, compiled=False)
    best = headline(run.risks())
    assert best is not None
    new = rng.normal(size=(20000, 3))
    label = new @ [1.0, 2.0, -1.0] + rng.normal(size=20000)
    inside = (np.linalg.norm(new, axis=1) <= best.details["row"]) & (abs(label) <= best.details["label"])
    assert np.mean(abs(new @ run.weights - label) * inside) <= best.bound
    assert np.mean(~inside) <= best.details["outside"]
    assert f"rows longer than {best.details['row']:g}" in summary(run)


def test_a_small_ball_and_a_small_radius_lower_the_ceiling() -> None:
    X, y = source(np.random.default_rng(0), 2000)
    wide, narrow = (zoo.ogd_eager(Hinge(), 0.01, radius, Average()) for radius in (1000.0, 0.5))
    seen = headline(train(wide, X, y, compiled=False).risks())
    known = headline(train(narrow, X, y, compiled=False).risks())
    assert seen is not None
    assert known is not None
    assert seen.details["iterate"] <= 9  # read off the iterates, not the ball of 1000
    assert known.details["iterate"] == pytest.approx(0.5, rel=1e-4)


@pytest.mark.usefixtures("interpreted")
def test_a_bound_that_says_nothing_names_the_reason() -> None:
    X, y = source(np.random.default_rng(5), 2_000, 0.05)
    free = train(zoo.ogd_scw(Hinge(), 1e-4), X, y)
    told = free.risks()[0].details
    assert told["iterate"] >= 1e3  # the first rates are about 1/λ
    assert (
        f"risk       of the weighted average nothing can be said: weights of length up to {told['iterate']:,.4g} and "
        f"rows\n           of length up to {told['row']:,.4g} allow losses up to {told['ceiling']:,.5g}, too large for "
        "2,000 rows\n           more is known of a model drawn from those of the run: output=Random() keeps one"
    ) in summary(free)
    assert "nothing can be said" not in summary(train(zoo.ogd_scw(Hinge(), 1e-4, output=Random()), X, y))
    few = train(zoo.ogd(Hinge()), X[:3], -y[:3])
    assert summary(few).endswith("nothing can be said: too many errors, or too few rows (3)")
