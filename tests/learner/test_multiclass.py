"""Learners of many classes: the textbook's numbers, the invariants to the last bit, certificates above exact regret."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

from lowregret import zoo
from lowregret.domain import Box, L2Ball, Point, Reals
from lowregret.errors import DataError, PartError
from lowregret.learner.labels import ClassNames
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import CostHinge, Hinge, Logistic, MultiHinge, MultiLoss, OneAgainstAll, PerceptronLoss, Softmax
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.output import Average, Last, Random, WeightedAverage
from lowregret.rule import AdaGrad, MirrorDescent, ProjectedGradient, Rule
from lowregret.run.begin import begin
from lowregret.run.multiclass import MulticlassRun
from lowregret.state import MISTAKES
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from lowregret.store.kinds import load
from lowregret.train import train
from tests import naive
from tests.naive import Matrix, Vector

K, D, N = 4, 5, 60
COSTS = np.array([[0.0, 1, 2, 1], [1, 0, 1, 3], [0.5, 1, 0, 1], [1, 1, 1, 0]])

LOSSES: dict[str, tuple[MultiLoss, naive.MultiLoss]] = {
    "perceptron": (PerceptronLoss(), naive.mc_perceptron),
    "hinge": (MultiHinge(), naive.multi_hinge()),
    "softmax": (Softmax(), naive.softmax),
    "oaa hinge": (OneAgainstAll(Hinge()), naive.one_against_all(naive.hinge)),
    "oaa logistic": (OneAgainstAll(Logistic()), naive.one_against_all(naive.logistic)),
}
RULES: dict[str, tuple[Rule, Callable[[naive.Game, int, int], naive.LinearRun]]] = {
    "lazy": (MirrorDescent(Euclidean(), Constant(0.5)), lambda g, n, d: naive.ogd(g, n, d, 0.5)),
    "lazy ball, adaptive": (
        MirrorDescent(Euclidean(L2Ball(2.0)), Adaptive()),
        lambda g, n, d: naive.ogd_lazy(g, n, d, naive.onto_l2_ball(2.0), naive.adaptive(1.0)),
    ),
    "p-norm": (MirrorDescent(PNorm(3.0), Constant(0.3)), lambda g, n, d: naive.pnorm(g, n, d, 0.3, 3.0)),
    "eager ball": (
        ProjectedGradient(L2Ball(1.0), InverseSqrt(0.7)),
        lambda g, n, d: naive.ogd_eager(g, n, np.zeros(d), naive.onto_l2_ball(1.0), naive.inverse_sqrt(0.7)),
    ),
    "eager box": (
        ProjectedGradient(Box(-0.4, 0.3), Constant(0.2)),
        lambda g, n, d: naive.ogd_eager(g, n, np.zeros(d), naive.onto_box(-0.4, 0.3), naive.constant(0.2)),
    ),
    "AdaGrad": (AdaGrad(0.5), lambda g, n, d: naive.adagrad(g, n, np.zeros(d), naive.anywhere, 0.5)),
    "AdaGrad in a box": (
        AdaGrad(0.3, Box(-0.5, 0.4)),
        lambda g, n, d: naive.adagrad(g, n, np.zeros(d), naive.onto_box(-0.5, 0.4), 0.3),
    ),
}


class Sample(NamedTuple):
    X: Matrix
    y: list[int]  # in order of first appearance
    weights: Vector


def sample(seed: int, n: int = N, d: int = D, k: int = K, whole: bool = False) -> Sample:
    """Rows with zeros; `whole` numbers make ties. The last class comes late."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    X *= rng.random((n, d)) < 0.7
    labels = np.argmax(X @ rng.normal(size=(d, k)) + 0.3 * rng.normal(size=(n, k)), axis=1)
    labels[: n // 2] = np.where(labels[: n // 2] == k - 1, 0, labels[: n // 2])
    order: list[int] = list(dict.fromkeys(labels.tolist()))
    return Sample(X, [order.index(c) for c in labels.tolist()], rng.choice([0.5, 1.0, 2.0], n))


def same(a: MulticlassRun, b: MulticlassRun) -> None:
    assert [x.tobytes() for x in a.state] == [x.tobytes() for x in b.state]
    assert (a.classes.names, a.lanes, a.seen, a.uniform) == (b.classes.names, b.lanes, b.seen, b.uniform)
    assert np.array_equal(a.confusion.counts, b.confusion.counts)
    assert np.array(a.record.history).tobytes() == np.array(b.record.history).tobytes()
    assert [v.tobytes() for v in a.tally.arrays().values()] == [v.tobytes() for v in b.tally.arrays().values()]


# ---- the textbook ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("loss", LOSSES)
def test_learns_what_the_textbook_says(loss: str, rule: str, named: bool) -> None:
    """Interpreted, where a composition costs nothing; compiled code is held against it below."""
    (ours, theirs), (moves, slowly) = LOSSES[loss], RULES[rule]
    exact = rule == "lazy" and loss in ("perceptron", "hinge", "oaa hinge")  # sums of whole numbers, and many ties
    for seed in (1, 2):
        X, y, weights = sample(seed, whole=exact)
        game, guesses = naive.class_game(X, y, weights, K, theirs, named)
        wanted = slowly(game, len(y), D * K)
        learner = Multiclass(ours, moves, Average())
        run = train(learner, X, y, weights, classes=range(K) if named else None, compiled=False)
        assert np.array_equal(run.guesses, guesses)
        assert run.loss == pytest.approx(float(np.sum(wanted.losses)), rel=1e-6)
        assert run.point == pytest.approx(wanted.iterates[-1].reshape(D, K)[:, : len(run.classes)], rel=1e-6, abs=1e-9)
        assert run.weights == pytest.approx(naive.average(wanted).reshape(D, K)[:, : len(run.classes)], abs=1e-6)
        if moves.keeps_sum():
            u = np.random.default_rng(seed).normal(size=(D, K))
            far = run.linear_regret(Point(run._flat(u[:, : len(run.classes)])))
            assert far == pytest.approx(naive.linear_regret(wanted, u.ravel()), rel=1e-6, abs=1e-6)


def test_ties_go_to_the_lowest_class_and_a_right_guess_at_zero_is_no_update() -> None:
    run = train(zoo.mc_perceptron(), [[1.0]], [0], classes=[0, 1], compiled=False)
    assert run.mistakes == 0
    assert not run.point.any()
    run = train(zoo.mc_perceptron(), [[1.0]], [1], classes=[0, 1], compiled=False)  # an example by hand
    assert run.mistakes == 1
    assert run.point.tolist() == [[-1.0, 1.0]]
    found = run.mistake_certificates([[-0.5, 0.5]], [[1.0]], [1])
    assert {c.id: c.bound for c in found} == pytest.approx({"MC-OBS": 1.0, "PERC-ROOT": 1.0, "THM-14.2": 1.0})
    assert run.drawn_error([[-0.5, 0.5]], [[1.0]], [1]).bound == pytest.approx(1.0)


def test_costs_and_ridge_and_unit_rows() -> None:
    X, y, weights = sample(3)
    game, guesses = naive.class_game(X, y, weights, K, naive.multi_hinge(COSTS), True)
    wanted = naive.ogd_eager(naive.regularised(game, 0.3), N, np.zeros(D * K), naive.anywhere, naive.inverse_time(0.3))
    learner = Multiclass(CostHinge(COSTS), ProjectedGradient(Reals(), InverseTime(0.3)), ridge=0.3)
    run = train(learner, X, y, weights, classes=range(K), compiled=False)
    assert run.guesses.tolist() == guesses
    assert run.point.ravel() == pytest.approx(wanted.iterates[-1], rel=1e-6)
    assert run.certificate.id == "THM-14.11"
    assert run.certificate.holds
    X = X[np.any(X, axis=1)]
    unit = train(Multiclass(Softmax(), AdaGrad(0.5), bias=0.5, unit=True), X, y[: len(X)], compiled=False)
    by_hand = X / np.linalg.norm(X, axis=1, keepdims=True)
    plain = train(Multiclass(Softmax(), AdaGrad(0.5), bias=0.5), by_hand, y[: len(X)], compiled=False)
    assert unit.point == pytest.approx(plain.point, rel=1e-9)
    assert unit.decision_function(X) == pytest.approx(plain.decision_function(by_hand), rel=1e-9)
    with pytest.raises(PartError, match="costs are given for 4 classes"):
        train(Multiclass(CostHinge(COSTS), AdaGrad(0.5)), X, y[: len(X)])


def test_two_classes_of_one_against_all_are_two_binary_learners() -> None:
    X, y, _ = sample(4, k=2)
    run = train(
        Multiclass(OneAgainstAll(Logistic()), MirrorDescent(Euclidean(), Constant(0.5))),
        X,
        y,
        classes=[0, 1],
        compiled=False,
    )
    for label in (0, 1):
        one = train(zoo.ogd(Logistic(), 0.5), X, np.where(np.array(y) == label, 1.0, -1.0), compiled=False)
        assert run.point[:, label] == pytest.approx(one.point, rel=1e-9)


# ---- the invariants --------------------------------------------------------------------------------------------------

COMPILED = [
    Multiclass(Softmax(), AdaGrad(0.5), Average(), bias=1.0),
    Multiclass(PerceptronLoss(), MirrorDescent(Euclidean(), Constant(1.0)), Random(3)),
    Multiclass(
        MultiHinge(), ProjectedGradient(L2Ball(1.0), WeightedInverseTime(0.5)), WeightedAverage(), ridge=0.5, bias=1.0
    ),
]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("learner", COMPILED, ids=range(len(COMPILED)))
def test_however_rows_come_the_run_is_the_same_to_the_last_bit(learner: Multiclass, tmp_path: Path) -> None:
    X, y, weights = sample(5)
    names = np.array(["d", "a", "c", "b"])[y]
    whole = train(learner, X, names, weights)
    same(whole, train(learner, X, names, weights, compiled=False))
    for cuts in ([1], [7, 8, 31], list(range(1, N))):  # a class first appears after row N/2
        parts = np.split(np.arange(N), cuts)
        run = train(learner, X[parts[0]], names[parts[0]], weights[parts[0]])
        for part in parts[1:]:
            if len(cuts) < 5:
                run.save(tmp_path / "model.lr")
                loaded = load(tmp_path / "model.lr")
                assert isinstance(loaded, MulticlassRun)
                run = loaded
            run.learn(X[part], names[part], weights[part])
        same(run, whole)
    compiled = learner is not COMPILED[1]  # the others are of both kinds: eight classes side by side, and one by one
    spread = train(learner, sp.csr_array(X), names, weights, compiled=compiled)
    assert spread.weights == pytest.approx(whole.weights, rel=1e-12, abs=1e-15)
    assert np.array_equal(spread.guesses, whole.guesses)


def test_rows_of_weight_0_are_no_rounds_and_bring_no_classes() -> None:
    X, y, _ = sample(6)
    labels, weights = [*y, 77], np.append(np.ones(N), 0.0)
    run = train(COMPILED[0], np.vstack([X, X[:1]]), labels, weights)
    assert run.rounds == N
    assert run.classes.names == list(range(K))
    assert [x.tobytes() for x in run.state] == [x.tobytes() for x in train(COMPILED[0], X, y).state]


@pytest.mark.parametrize(
    "learner", [zoo.mc_perceptron(), zoo.auto(Softmax())], ids=lambda learner: type(learner).__name__
)
def test_a_class_first_met_in_a_row_of_weight_0_and_learnt_later(learner: Any) -> None:
    """Such a row has no known class, whether the row that brings the class is in the same batch or in a later one."""
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y, w = rng.normal(size=(12, 3)), rng.integers(0, 6, 12), rng.choice([0.0, 1.0], 12)
        found = []
        for cut in range(12):
            run, codes = begin(learner, 3, compiled=False), []
            for part in (slice(0, cut), slice(cut, 12)) if cut else (slice(0, 12),):
                run.learn(X[part], y[part], w[part])
                codes += run.learnt.labels.tolist()
            description, arrays = run.contents()
            found.append((codes, description, {name: array.tobytes() for name, array in arrays.items()}))
        assert all(other == found[0] for other in found)
        known: set[int] = set()
        for label, weight, code in zip(y.tolist(), w, found[0][0], strict=True):
            known |= {label} if weight else set()
            assert (code >= 0) == (label in known)


def test_names_of_several_types_and_numbers_beyond_64_bits() -> None:
    X, y = np.eye(3), np.array([1, "a", 1 << 70], object)
    run = train(zoo.mc_perceptron(), X, y, compiled=False)
    assert run.classes.names == [1, "a", 1 << 70]
    assert set(run.learn(X, y).predict(X).tolist()) <= {1, "a", 1 << 70}
    large = train(zoo.mc_perceptron(), X, [1e300, 7.0, 7.0], compiled=False)
    assert set(large.predict(X).tolist()) <= {int(1e300), 7}
    with pytest.raises(DataError, match="row 1: label None is no class"):
        train(zoo.mc_perceptron(), X, np.array([1, None, 2], object), compiled=False)


def test_features_and_classes_grow_together() -> None:
    rng = np.random.default_rng(0)
    n, columns = 300, 5000
    X: Any = sp.random_array((n, columns), density=0.002, rng=rng, format="csr")
    y = np.minimum(np.arange(n) // 20, 12)
    y[1:] = np.where(rng.random(n - 1) < 0.5, y[1:], rng.integers(0, y[1:] + 1))
    grown = begin(COMPILED[0], None)
    for i in range(0, n, 7):
        rows = X[i : i + 7]
        width = int(rows.indices.max(initial=0)) + 1
        grown.learn(sp.csr_matrix((rows.data, rows.indices, rows.indptr), (rows.shape[0], width)), y[i : i + 7])
    known = train(COMPILED[0], X, y)
    assert grown.lanes == 16
    assert len(grown.classes) == 13
    assert grown.weights[:-1] == pytest.approx(known.weights[: grown.features], rel=1e-12)
    assert np.array_equal(grown.predict(X), known.predict(X))


# ---- classes ---------------------------------------------------------------------------------------------------------


def test_one_row_one_class_no_row_and_unknown_classes() -> None:
    run = train(COMPILED[0], [[1.0, 2.0]], ["only"])
    assert run.predict([[0.0, 0.0]]).tolist() == ["only"]
    assert run.predict_proba([[1.0, 1.0]]).tolist() == [[1.0]]
    assert run.error == 1.0  # nothing could be predicted before the first class was met
    assert run.certificate.holds
    assert str(run).startswith("1 round, ")
    with pytest.raises(DataError, match="class 'x' is not among those named: 'a', 'b'"):
        train(COMPILED[0], [[1.0], [1.0]], ["a", "x"], classes=["a", "b"], compiled=False)
    with pytest.raises(DataError, match=r"label np.float64\(0.5\) is no class|label 0.5 is no class"):
        train(COMPILED[0], [[1.0], [1.0]], [1.0, 0.5])
    with pytest.raises(DataError, match="named twice"):
        ClassNames(["a", "a"])
    with pytest.raises(PartError, match="depends on the number of classes"):
        train(Multiclass(Softmax(), MirrorDescent(Entropy(1.0), Constant(0.1))), [[1.0]], ["a"])
    entropic = train(
        Multiclass(Softmax(), MirrorDescent(Entropy(1.0), Constant(0.1))),
        [[1.0]],
        ["a"],
        classes=["a", "b"],
        compiled=False,
    )
    assert entropic.point.sum() == pytest.approx(1.0)
    assert entropic.certificate.holds
    with pytest.raises(PartError, match="not probabilities"):
        train(zoo.mc_perceptron(), [[1.0]], ["a"], compiled=False).predict_proba([[1.0]])
    with pytest.raises(PartError, match="is a loss of one score"):
        train(zoo.ogd(Hinge()), [[1.0]], [1.0], classes=[1, 2])  # type: ignore[call-overload]


def test_a_row_that_cannot_be_learnt_leaves_the_rows_before_it_learnt() -> None:
    run = train(COMPILED[0], [[1.0, 0.0]], ["a"])
    with pytest.raises(DataError, match="row 1: feature 0 is nan"):
        run.learn([[1.0, 1.0], [np.nan, 0.0], [0.0, 1.0]], ["b", "c", "d"])
    assert run.rounds == 2
    assert run.classes.names == ["a", "b"]
    run.learn([[0.0, 1.0]], ["d"])
    assert run.classes.names == ["a", "b", "d"]
    with pytest.raises(DataError, match=r"row 0: feature 0 is 1e\+200"):
        train(
            Multiclass(OneAgainstAll(Hinge()), MirrorDescent(Euclidean(), Constant(1.0))),
            [[1e200], [1e200]],
            ["a", "b"],
            compiled=False,
        )


def test_confusion_recall_and_progressive_guesses() -> None:
    X, y, _ = sample(8)
    run = train(COMPILED[0], X, y, classes=range(K))
    assert run.confusion.error == run.error == pytest.approx(np.mean(run.guesses != y))
    for label in range(K):
        rows = np.array(y) == label
        assert run.confusion.recall[label] == pytest.approx(np.mean(run.guesses[rows] == label))
    assert run.confusion.rows == N
    assert run.confusion.to_json(run.classes.names)["classes"] == list(range(K))
    run.keep_scores = True
    run.learn(X, y)
    assert np.array_equal(np.argmax(run.scores, axis=1), run.guesses)
    chances = run.predict_proba(X)
    assert chances.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(np.argmax(chances, axis=1), run.predict(X))


# ---- certificates above the exact regret -----------------------------------------------------------------------------


def best_hinge(X: Matrix, y: Any, radius: float) -> Matrix:
    """argmin Σ max_ℓ(1[ℓ≠y] − s_y + s_ℓ) over the box: a linear program in u and slacks."""
    n, d = X.shape
    A, b = [], []
    for i in range(n):
        for label in range(K):
            if label != y[i]:
                row = np.zeros(d * K + n)
                row[: d * K].reshape(d, K)[:, label] = X[i]
                row[: d * K].reshape(d, K)[:, y[i]] -= X[i]
                row[d * K + i] = -1.0
                A.append(row)
                b.append(-1.0)
    costs = np.append(np.zeros(d * K), np.ones(n))
    found: Any = linprog(costs, np.array(A), b, bounds=[(-radius, radius)] * (d * K) + [(0, None)] * n)
    return np.asarray(found.x[: d * K]).reshape(d, K)


@pytest.mark.parametrize(
    "rule",
    [
        AdaGrad(0.5),
        ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(0.5)),
        MirrorDescent(Euclidean(Box(-1.0, 1.0)), Constant(0.2)),
    ],
    ids=["AdaGrad", "eager", "lazy"],
)
def test_nested_numbers_against_the_exactly_best_choice(rule: Rule) -> None:
    for seed in (11, 12):
        X, y, _ = sample(seed)
        run = train(Multiclass(MultiHinge(), rule), X, y, classes=range(K), comparator=Box(-1.0, 1.0), compiled=False)
        regret = run.regret(best_hinge(X, y, 1.0), X, y)
        assert all(c.premises_hold for c in run.certificates)
        assert regret <= run.linear_regret() * (1 + 1e-9) <= run.certificate.bound * (1 + 2e-9)
        assert regret > run.regret(np.zeros((D, K)), X, y)  # the linear program found something


def test_softmax_regret_against_a_solver_and_classes_that_are_met() -> None:
    X, y, _ = sample(13)
    learner = Multiclass(Softmax(), MirrorDescent(Euclidean(L2Ball(3.0)), Adaptive()), bias=1.0)
    for classes in (range(K), None):
        run = train(learner, X, y, classes=classes, compiled=False)
        shape = run.weights.shape

        def loss(u: Vector, run: MulticlassRun = run, shape: Any = shape) -> float:
            inside = u * min(1.0, 3.0 / float(np.linalg.norm(u)))
            return -run.regret(inside.reshape(shape), X, y)

        best = minimize(loss, run.weights.ravel() + 0.01, options={"maxiter": 8})
        assert run.regret(np.zeros(shape), X, y) < -best.fun <= run.linear_regret()
        assert run.certificate.holds


@pytest.mark.parametrize("loss", [Softmax(), PerceptronLoss()], ids=["softmax", "perceptron"])
@pytest.mark.parametrize("rule", [AdaGrad(0.5), ProjectedGradient(L2Ball(1.0), WeightedInverseTime(0.5))])
def test_rows_of_weight_0_change_no_regret(loss: MultiLoss, rule: Rule) -> None:
    X, y, _ = sample(14)
    weights, u = np.arange(N) % 3.0, np.random.default_rng(14).normal(size=(D, K))
    named = np.where(weights == 0, "none of these", np.array(y).astype(str))  # a class that was met in no round
    played = weights != 0
    whole = train(Multiclass(loss, rule), X, named, weights, compiled=False)
    some = train(Multiclass(loss, rule), X[played], named[played], weights[played], compiled=False)
    assert whole.regret(u, X, named, weights) == some.regret(u, X[played], named[played], weights[played])
    with pytest.raises(DataError, match="give the 40 rows that were learnt with their labels and weights; got 60"):
        whole.regret(u, X, y)


@pytest.mark.parametrize("seed", range(4))
def test_mistake_bounds_hold_for_many_comparators(seed: int) -> None:
    X, y, _ = sample(20 + seed, whole=seed % 2 == 0)
    rng = np.random.default_rng(seed)
    for classes in (range(K), None):
        run = train(zoo.mc_perceptron(), X, y, classes=classes, compiled=False)
        made = int(run.state.counts[MISTAKES]) - (
            classes is None
        )  # the first class met could not be guessed, nor learnt
        for u in (run.point, *(rng.normal(size=(D, K)) * size for size in (0.1, 1.0, 10.0))):
            for c in run.mistake_certificates(u, X, y, margin=0.5):
                assert c.regret == made <= c.bound + 1e-9, c.id
    with pytest.raises(PartError, match="mistake bounds speak of"):
        train(COMPILED[0], X, y, compiled=False).mistake_certificates(np.zeros((D, K)), X, y)


@pytest.mark.parametrize("margin", [0.0, -1.0, math.inf, math.nan, "1", None])
def test_a_margin_is_positive(margin: Any) -> None:
    X, y, _ = sample(20)
    run = train(zoo.mc_perceptron(), X, y, compiled=False)
    for asked in (run.mistake_certificates, run.drawn_error):
        with pytest.raises(PartError, match="margin must be positive"):
            asked(np.zeros((D, len(run.classes))), X, y, margin)


@pytest.mark.parametrize("u", ["abc", [1j], [[1.0], [1.0, 2.0]]])
def test_comparators_are_numbers(u: Any) -> None:
    X, y, _ = sample(20)
    with pytest.raises(DataError, match="u must be numbers"):
        train(zoo.mc_perceptron(), X, y, compiled=False).regret(u, X, y)


def test_last_is_an_output_too() -> None:
    X, y, _ = sample(30)
    run = train(Multiclass(Softmax(), AdaGrad(0.5), Last()), X, y, compiled=False)
    assert np.array_equal(run.weights, run.point)
    assert {r.id for r in run.risks()} == {"O2B-EB", "O2B-HP", "O2B-SMALL"}
