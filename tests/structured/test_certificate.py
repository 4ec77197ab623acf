"""regret ≤ linearised regret ≤ bound on structures and rankings, the best fixed choice found exactly."""

from __future__ import annotations

from typing import Any

import cvxpy
import numpy as np
import pytest

from lowregret.domain import L2Ball, Point, Reals
from lowregret.errors import DataError, PartError
from lowregret.hindsight.fixed_comparator import importances
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last
from lowregret.rule import Forgotten, MirrorDescent, Newton, ProjectedGradient
from lowregret.state import LARGEST, RIDGE
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, PassiveAggressive, WeightedInverseTime
from lowregret.structured import (
    Chain,
    Classes,
    Ranking,
    RankingRun,
    Structured,
    StructuredRun,
    sequences,
    structured_perceptron,
    structured_svm,
)
from lowregret.train import train
from tests.structured.naive import NaiveSpace
from tests.structured.problems import SPACES, click_problem, lists_of, pairs_of, sequence_problem

cp: Any = cvxpy  # not typed throughout

RULES: dict[str, tuple[Any, float, str]] = {
    "THM-14.5": (ProjectedGradient(L2Ball(2.0), Constant(0.1)), 0.0, "THM-14.5"),
    "EAGER-DEC": (ProjectedGradient(L2Ball(2.0), InverseSqrt(0.3)), 0.0, "EAGER-DEC"),
    "LAZY+": (MirrorDescent(Euclidean(L2Ball(2.0)), Constant(0.1)), 0.0, "LAZY+"),
    "EQ-2.15": (MirrorDescent(Euclidean(), Constant(0.1)), 0.0, "EQ-2.15"),
    "LAZY-DEC": (MirrorDescent(Euclidean(), Adaptive()), 0.0, "LAZY-DEC"),
    "THM-14.11": (ProjectedGradient(Reals(), InverseTime(0.5)), 0.5, "THM-14.11"),
    "THM-14.12": (ProjectedGradient(Reals(), WeightedInverseTime(0.5)), 0.5, "THM-14.12"),
}


def best(costs: list[Any], d: int, radius: float, weights: Any, kappa: float) -> tuple[float, Any]:
    """min_{‖u‖≤radius} Σ weight_t·max_k (c_k + ⟨g_k, u⟩) + (κ/2)‖u‖², by a solver; costs[t] lists (c, g)."""
    u, slack = cp.Variable(d), cp.Variable(len(costs))
    limits = [
        slack[t] >= np.array([c for c, _ in cost]) + np.array([g for _, g in cost]) @ u for t, cost in enumerate(costs)
    ]
    if np.isfinite(radius):
        limits.append(cp.norm(u) <= radius)
    problem = cp.Problem(cp.Minimize(weights @ slack + kappa / 2 * cp.sum_squares(u)), limits)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value), np.asarray(u.value)


def listed(naive: NaiveSpace, data: Any, margin: float) -> list[Any]:
    """Every structure of every round as a linear function of w."""
    return [
        [(margin * naive.cost(y, s), naive.psi(x, s) - naive.psi(x, y)) for s in naive.structures(x)]
        for x, y in pairs_of(data)
    ]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("space", ["chain", "tree"])
def test_nested_against_the_exact_best(space: str, rule: str) -> None:
    shipped, naive = SPACES[space]
    data = sequence_problem(shipped, 30, seed=7, longest=3)
    part, ridge, theorem = RULES[rule]
    run = train(
        Structured(shipped, part, 1.0, Average(), ridge),
        data,
        comparator=None if ridge else L2Ball(2.0),
        compiled=False,
    )
    assert isinstance(run, StructuredRun)
    c = importances(run.linear, run.rounds)
    value, u = best(listed(naive, data, 1.0), naive.dimension, np.inf if ridge else 2.0, c, ridge * c.sum())
    regret = run.regret(u, data)
    found = {certificate.id: certificate for certificate in run.certificates}
    assert theorem in found
    for certificate in found.values():
        assert certificate.linear_regret is not None
        assert regret <= certificate.linear_regret + 1e-5 * (1 + abs(regret))
        if certificate.premises_hold:
            assert certificate.holds
    if rule != "THM-14.12":
        mine = run.loss + ridge / 2 * float(run.state.sums[RIDGE])
        assert regret == pytest.approx(mine - value, abs=1e-4 * (1 + abs(value)))


@pytest.mark.parametrize("rule", RULES)
def test_the_regret_is_what_the_iterates_say(rule: str) -> None:
    shipped, naive = SPACES["tree"]
    data = sequence_problem(shipped, 12, seed=7)
    part, ridge, _ = RULES[rule]
    learner = Structured(shipped, part, 1.0, ridge=ridge)
    points = [np.zeros(naive.dimension)]
    run = train(learner, data[:1], compiled=False)
    for t in range(1, 12):
        points.append(run.point)
        run.learn(data[t])
    u = np.random.default_rng(0).normal(size=naive.dimension)
    costs = listed(naive, data, 1.0)
    mine, theirs = (
        [max(c + float(g @ w) for c, g in cost) + ridge / 2 * float(w @ w) for cost, w in zip(costs, ws, strict=True)]
        for ws in (points, [u] * 12)
    )
    c = np.arange(2, 14) / np.arange(2, 14).sum() if rule == "THM-14.12" else np.ones(12)
    assert run.regret(u, data) == pytest.approx(np.sum(c * (np.array(mine) - theirs)))


def test_the_best_fixed_choice_is_the_solvers() -> None:
    shipped, naive = SPACES["chain without ends"]
    data = sequence_problem(shipped, 25, seed=2, longest=3)
    run = train(structured_svm(shipped), data, comparator=L2Ball(3.0), compiled=False)
    found = run.hindsight(data, tolerance=1e-4)
    value, u = best(listed(naive, data, 1.0), naive.dimension, 3.0, np.ones(25), 0.0)
    assert found.value - found.gap - 1e-6 <= value <= found.value + 1e-6
    assert found.gap <= 1e-3 * (1 + value)
    np.testing.assert_allclose(run.losses(u, data).sum(), value, rtol=1e-6)
    assert run.regret(found.w, data) <= run.linear_regret() + 1e-9


def test_the_best_ranking_is_the_solvers() -> None:
    data = click_problem(25, seed=4)
    rule = ProjectedGradient(L2Ball(2.0), InverseSqrt(0.3))
    run = train(Ranking(rule), data, compiled=False)
    assert isinstance(run, RankingRun)
    pairs = [[[(0.0, np.zeros(3)), (1.0, x[j] - x[y])] for j in range(len(x)) if j != y] for x, y in lists_of(data)]
    hinges = [hinge for of_list in pairs for hinge in of_list]
    value, u = best(hinges, 3, 2.0, np.ones(len(hinges)), 0.0)
    found = run.hindsight(data)
    assert found.value - found.gap - 1e-6 <= value <= found.value + 1e-6
    assert run.regret(u, data) <= run.linear_regret() + 1e-9
    assert all(c.holds for c in run.certificates if c.premises_hold)


@pytest.mark.parametrize("space", SPACES)
def test_mistake_bounds_hold_for_all_u(space: str) -> None:
    shipped, naive = SPACES[space]
    data = sequence_problem(shipped, 60, seed=1)
    run = train(structured_perceptron(shipped), data, compiled=False)
    assert isinstance(run, StructuredRun)
    rng, pairs = np.random.default_rng(0), pairs_of(data)
    made = [tuple(m.tolist()) for m in data.split(run.predictions)]
    for scale in (0.01, 0.3, 1.0):
        for u in (run.weights * scale, rng.normal(size=naive.dimension) * scale, np.zeros(naive.dimension)):
            found = {c.id: c for c in run.mistake_certificates(u, data)}
            assert all(c.holds for c in found.values() if c.premises_hold)
            deltas = [naive.psi(x, y) - naive.psi(x, m) for m, (x, y) in zip(made, pairs, strict=True) if m != y]
            f = sum(max(1 - float(u @ delta), 0.0) for delta in deltas)
            norm, squares = np.linalg.norm(u), [float(delta @ delta) for delta in deltas]
            assert found["MC-OBS"].bound == pytest.approx(f + norm * np.sqrt(sum(squares)))
            b = norm * np.sqrt(max(squares))
            assert found["PERC-ROOT"].bound == pytest.approx(f + b * b / 2 + b * np.sqrt(f + b * b / 4))
            margins = np.array([naive.margin(u, x, y) for x, y in pairs])
            hinge = 2 * np.maximum(1 - margins / np.geomspace(1e-3, 1e4, 4000)[:, None], 0).sum(axis=1)
            scanned = np.min(hinge + b**2 / np.geomspace(1e-3, 1e4, 4000) ** 2)
            assert found["THM-14.2"].bound <= scanned + 1e-6
            assert found["THM-14.2"].bound == pytest.approx(scanned, rel=1e-2, abs=0.1)


def test_the_example_in_which_both_bounds_are_tight() -> None:
    """Two classes, x = 1, y = 2: one mistake, δ = (−1, 1), u = (−½, ½)."""
    run = train(structured_perceptron(Classes(2)), [[1.0]], [1], compiled=False)
    assert isinstance(run, StructuredRun)
    found = {c.id: c.bound for c in run.mistake_certificates([-0.5, 0.5], [[1.0]], [1])}
    assert run.mistakes == 1
    assert found["MC-OBS"] == pytest.approx(1.0)
    assert found["THM-14.2"] == pytest.approx(1.0)
    assert run.drawn_error([-0.5, 0.5], [[1.0]], [1]).bound == pytest.approx(1.0)


def test_a_margin_bounds_the_mistakes_for_ever() -> None:
    rng = np.random.default_rng(5)
    x = rng.normal(size=(400, 3))
    u = rng.normal(size=(3, 4))
    scores = np.sort(x @ u, axis=1)
    x = x[scores[:, -1] - scores[:, -2] > 0.3]
    y = np.argmax(x @ u, axis=1)
    run = train(structured_perceptron(Classes(4)), x, y, compiled=False)
    assert isinstance(run, StructuredRun)
    found = {c.id: c for c in run.mistake_certificates(u.ravel(), x, y)}
    margin = np.min(np.diff(np.sort(x @ u), axis=1)[:, -1])
    separable = (np.linalg.norm(u) / margin) ** 2 * run.state.sums[LARGEST]
    assert run.mistakes <= found["THM-14.2"].bound <= separable * (1 + 1e-9)
    assert found["THM-14.2"].details["γ"] <= margin * (1 + 1e-9) or found["THM-14.2"].bound < separable


def test_prop_3_in_expectation_over_all_samples() -> None:
    """Three kinds of rows, all 27 samples of three: the mean error of a drawn iterate is below the mean bound."""
    x, y = np.array([[1.0, 0.2], [-1.0, 0.5], [0.1, -1.0]]), np.array([0, 1, 2])
    u = np.array([[1.0, -1.0, 0.0], [0.2, 0.6, -1.0]]).ravel()
    errors, bounds = [], []
    for sample in np.ndindex(3, 3, 3):
        chosen = list(sample)
        prefix = [
            train(structured_perceptron(Classes(3)), x[chosen[:t]], y[chosen[:t]], compiled=False) for t in (1, 2, 3)
        ]
        models = [np.zeros(6), *(run.point for run in prefix[:2])]
        errors.append(np.mean([np.argmax(x @ w.reshape(2, 3), axis=1) != y for w in models]))
        last = prefix[-1]
        assert isinstance(last, StructuredRun)
        bounds.append(last.drawn_error(u, x, y).bound)
    assert np.mean(errors) <= np.mean(bounds)


def test_what_the_bounds_do_not_speak_of_is_refused() -> None:
    data = sequence_problem(Chain(3), 10)
    svm = train(structured_svm(Chain(3)), data, compiled=False)
    assert isinstance(svm, StructuredRun)
    with pytest.raises(PartError, match="structured Perceptron"):
        svm.mistake_certificates(svm.weights, data)
    run = train(structured_perceptron(Chain(3)), data, compiled=False)
    assert isinstance(run, StructuredRun)
    with pytest.raises(DataError, match="10 rounds"):
        run.mistake_certificates(run.weights, data[:9])
    with pytest.raises(DataError, match="10 rounds"):
        run.regret(run.weights, data[:9])
    with pytest.raises(DataError, match="u must be a vector of 24"):
        run.regret([1.0], data)
    with pytest.raises(PartError, match="margin"):
        run.drawn_error(run.weights, data, margin=0.0)
    forgetful = train(
        Structured(Chain(3), ProjectedGradient(L2Ball(1.0), Constant(0.1), Forgotten())), data, compiled=False
    )
    with pytest.raises(PartError, match="Forgotten"):
        forgetful.linear_regret()


def test_linear_regret_is_what_it_says() -> None:
    data = sequence_problem(Chain(3), 30)
    run = train(structured_svm(Chain(3), 0.2), data, compiled=False)
    rng = np.random.default_rng(1)
    for _ in range(20):
        u = rng.normal(size=run.dimension)
        assert run.regret(u, data) <= run.linear_regret(Point(u)) + 1e-9


def test_traces_and_plots(tmp_path: Any) -> None:
    data = sequences(np.random.default_rng(0).normal(size=(200, 2)), [0, 1] * 100, lengths=[4] * 50)
    run = train(structured_svm(Chain(2)), data, compiled=False)
    assert run.trace.loss[-1] == run.loss
    assert run.trace.linear_regret[-1] == pytest.approx(run.certificate.linear_regret)
    run.plot(tmp_path / "run.png")
    assert (tmp_path / "run.png").stat().st_size > 1000
    assert "theory promised" in str(run)
    assert "of the sequences" in str(run)


@pytest.mark.parametrize(
    "rule",
    [
        ProjectedGradient(L2Ball(10.0), InverseSqrt(1.0)),  # ONLINE-SVM asked for a bias
        Newton(),  # NEWTON for the curvature of a loss
        MirrorDescent(Euclidean(), PassiveAggressive()),  # whose last step is 0
    ],
)
def test_rules_of_which_theorems_speak_on_rows_alone_have_certificates(rule: Any) -> None:
    data = sequences(np.sin(np.arange(24.0)).reshape(12, 2), np.arange(12) % 2, lengths=[3] * 4)
    for output in (Last(), Average()):
        run = train(Structured(Chain(2), rule, 1.0, output), data, compiled=False)
        found = run.certificate
        assert found.holds
        assert found.id not in ("ONLINE-SVM", "NEWTON")


def test_a_passive_aggressive_mirror_descent_has_certificates() -> None:
    """The rate of its last step is 0, by which the size of its terms was divided."""
    x = np.sin(np.arange(1.0, 25.0)).reshape(12, 2)
    run = train(Linear(Hinge(), MirrorDescent(Euclidean(), PassiveAggressive())), x, np.sign(x[:, 0]), compiled=False)
    assert run.certificate.holds
