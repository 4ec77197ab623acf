"""Refusals: bad input is named by row, feature and value, and nothing that was learnt is lost."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import zoo
from lowregret.domain import Box, L1Ball, L2Ball, Point, Reals, Simplex
from lowregret.errors import DataError, DivergedError, LowRegretError, PartError
from lowregret.experts.given import given_outcomes
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.validate import WHOLE_LIMIT, numbers
from lowregret.loss import Hinge, Logistic, LogWealth, Loss, Poisson, Softmax, Square
from lowregret.mirror import Entropy, Euclidean
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.step import Constant, InverseSqrt
from lowregret.stream.read import read
from lowregret.train import train
from tests.naive import Vector

HINGE = zoo.ogd(Hinge(), 0.1)
SQUARE = zoo.ogd(Square(), 0.1)


class Hasty(Loss):
    """A user's own loss that makes an array in every round"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        pair = np.array([p - y, 1.0])
        return float(pair[0]), float(pair[1])


# ---- rows -----------------------------------------------------------------------------------------------------------

BAD_ROWS: list[tuple[Linear, Any, Any, str]] = [
    (HINGE, [[1.0, 2.0], [3.0, np.nan]], [1, 1], r"row 1: feature 1 is nan; remove or repair the row"),
    (HINGE, [[1.0, -np.inf]], [1], r"row 0: feature 1 is -inf"),
    (HINGE, np.array([[np.inf, 1.0]], np.float32), [1], r"row 0: feature 0 is inf"),
    (HINGE, sp.csr_array([[0.0, 0.0, 1.0], [0.0, 0.0, np.nan]]), [1, 1], r"row 1: feature 2 is nan"),
    (zoo.eg(Hinge(), 0.1), [[1.0, np.nan]], [1], r"row 0: feature 1 is nan"),
    (zoo.winnow(2), [[np.inf, 0.0]], [1], r"row 0: feature 0 is inf"),
    (zoo.ogd_sc(Hinge(), 0.1), [[np.nan, 0.0]], [1], r"row 0: feature 0 is nan"),
    (HINGE, [[1.0], [1.0]], [1, 0], r"row 1: label 0 does not fit Hinge, which takes -1 or \+1"),
    (zoo.perceptron(), [[1.0]], [2], r"row 0: label 2 does not fit OnMistakes, which takes -1 or \+1"),
    (zoo.ogd(Logistic(), 0.1), [[1.0]], [0.5], r"row 0: label 0\.5 does not fit Logistic"),
    (HINGE, [[1.0]], [np.nan], r"row 0: label nan does not fit Hinge"),
    (SQUARE, [[1.0], [1.0]], [3.0, np.inf], r"row 1: label inf does not fit Square, which takes a finite number"),
    (SQUARE, [[1.0]], [np.nan], r"row 0: label nan does not fit Square"),
    (
        zoo.ogd(Poisson(), 0.1),
        [[1.0]],
        [-1.0],
        r"row 0: label -1 does not fit Poisson, which takes a finite number ≥ 0",
    ),
]


@pytest.mark.parametrize(("learner", "features", "labels", "message"), BAD_ROWS)
def test_bad_rows_are_refused_by_name(learner: Linear, features: Any, labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        train(learner, features, labels, compiled=False)


@pytest.mark.parametrize("case", [0, 3, 7, 11], ids=["nan", "sparse nan", "label", "infinite label"])
def test_compiled_code_refuses_alike(case: int) -> None:
    learner, features, labels, message = BAD_ROWS[case]
    with pytest.raises(DataError, match=message):
        train(learner, features, labels)


SHAPES: list[tuple[Any, Any, Any, str]] = [
    (np.empty((0, 2)), [], None, "there are no rows"),
    (sp.csr_array((0, 2)), [], None, "there are no rows"),
    ([[1.0], [2.0]], [1], None, r"labels must be a vector of 2 numbers, got shape \(1,\)"),
    ([[1.0], [2.0]], [[1], [1]], None, r"labels must be a vector of 2 numbers, got shape \(2, 1\)"),
    ([[1.0], [2.0]], 1, None, r"labels must be a vector of 2 numbers, got shape \(1,\)"),
    ([[1.0], [2.0]], ["spam", "ham"], None, r"labels must be numbers: .*spam"),
    ([[1.0], [2.0]], [None, 1], None, "row 0: label nan does not fit"),
    ([[1.0], [2.0]], [1, 1], [1], r"weights must be a vector of 2 numbers"),
    ([[1.0], [2.0]], [1, 1], ["a", "b"], r"weights must be numbers"),
    ([["red", "blue"]], [1], None, r"features must be numbers.*encode text and categories first"),
    ([[None, "x"]], [1], None, r"features must be numbers"),
    ([[1.0, 2.0], [1.0]], [1, 1], None, r"features must be numbers"),
    ([1.0, 2.0], [1, 1], None, r"one row per example, not 1-dimensional: for one row use X\[None, :\]"),
    (np.ones((2, 2, 2)), [1, 1], None, r"not 3-dimensional"),
    (3.0, [1], None, r"not 0-dimensional"),
]


@pytest.mark.parametrize(("features", "labels", "weights", "message"), SHAPES)
def test_bad_shapes_are_refused(features: Any, labels: Any, weights: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        train(HINGE, features, labels, weights, compiled=False)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf, -np.inf])
def test_bad_weights_are_refused(weight: float) -> None:
    with pytest.raises(DataError, match=rf"row 1: weight {weight} is not a finite number ≥ 0"):
        train(HINGE, [[1.0]] * 3, [1] * 3, [1.0, weight, 1.0])


def test_zero_columns_are_refused_unless_there_is_a_bias() -> None:
    with pytest.raises(PartError, match="a learner needs at least one feature"):
        train(HINGE, np.empty((3, 0)), [1, 1, 1])
    only_bias = Linear(Square(), ProjectedGradient(Reals(), Constant(0.25)), bias=1.0)
    assert train(only_bias, np.empty((40, 0)), [3.0] * 40, compiled=False).weights == pytest.approx([3.0])


def test_other_dimensions_are_refused_later() -> None:
    run = train(HINGE, np.ones((3, 2)), [1, 1, 1])
    asks: list[Callable[[], object]] = [
        lambda: run.learn(np.ones((1, 3)), [1]),
        lambda: run.decision_function(np.ones((1, 3))),
        lambda: run.regret([0.0, 0.0], np.ones((3, 3)), [1, 1, 1]),
        lambda: run.decision_function(sp.csr_array((1, 3))),
    ]
    for ask in asks:
        with pytest.raises(DataError, match="the rows have 3 features, the learner 2"):
            ask()
    assert run.rounds == 3


def test_the_bias_is_not_a_feature_of_the_rows() -> None:
    run = train(zoo.svm_online(), np.ones((2, 3)), [1, -1], compiled=False)
    assert run.weights.size == 4
    with pytest.raises(DataError, match="the rows have 4 features, the learner 3"):
        run.decision_function(np.ones((1, 4)))


@pytest.mark.parametrize("compiled", [True, False])
def test_what_was_learnt_before_a_bad_row_stays(compiled: bool) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), rng.choice([-1.0, 1.0], 30)
    harms: list[tuple[str, Callable[[Any, Vector, Vector], object]]] = [
        ("row 20: feature 1 is nan", lambda X, y, w: X.__setitem__((20, 1), np.nan)),
        ("row 20: label 7 does not fit", lambda X, y, w: y.__setitem__(20, 7.0)),
        ("row 20: weight -1.0", lambda X, y, w: w.__setitem__(20, -1.0)),
    ]
    good = train(HINGE, X[:20], y[:20], compiled=compiled)
    whole = train(HINGE, X, y, compiled=compiled)
    for message, harm in harms:
        broken = X.copy(), y.copy(), np.ones(30)
        harm(*broken)
        run = LinearRun(HINGE, HINGE.start(3), compiled=compiled)
        with pytest.raises(DataError, match=message):
            run.learn(*broken)
        assert [a.tobytes() for a in run.state] == [a.tobytes() for a in good.state]
        assert np.array_equal(run.scores[:20], good.scores)
        assert np.isnan(run.scores[20:]).all()
        run.learn(X[20:], y[20:])
        assert [a.tobytes() for a in run.state] == [a.tobytes() for a in whole.state]
        assert np.array_equal(run.record.history, whole.record.history)


def test_rows_that_do_not_count_may_lack_a_label_but_not_a_feature() -> None:
    assert train(HINGE, [[1.0], [1.0]], [1, np.nan], [1, 0]).rounds == 1
    with pytest.raises(DataError, match="row 1: feature 0 is nan"):
        train(HINGE, [[1.0], [np.nan]], [1, 1], [1, 0])


def test_predicting_bad_rows_is_refused() -> None:
    run = train(HINGE, np.ones((3, 2)), [1, 1, 1])
    for bad in (np.nan, np.inf):
        with pytest.raises(DataError, match=f"row 1: feature 0 is {bad}"):
            run.decision_function([[1.0, 1.0], [bad, 1.0]])


# ---- numbers that leave their range ---------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [True, False])
def test_diverging_square_loss(compiled: bool) -> None:
    """η = 1 on features of size 10: every step overshoots twenty-fold."""
    run = LinearRun(zoo.ogd(Square(), 1.0), zoo.ogd(Square(), 1.0).start(1), compiled=compiled)
    with pytest.raises(
        DivergedError, match=r"row \d+: .*although the row is finite: the weights diverged \(use a smaller"
    ):
        run.learn([[10.0]] * 1000, [1.0] * 1000)
    assert 50 < run.rounds < 200
    assert np.isfinite(run.weights).all()


@pytest.mark.parametrize("compiled", [True, False])
def test_a_loss_that_is_not_defined_there(compiled: bool) -> None:
    with pytest.raises(DivergedError, match=r"row 1: .*or the loss is not defined there"):
        train(zoo.eg(LogWealth(), 0.1), [[1.0, 1.1], [0.0, 0.0]], [1, 1], compiled=compiled)


def test_huge_but_finite_features() -> None:
    run = train(zoo.ogd_eager(Hinge(), 0.1, 1.0), [[1e150, -1e150]] * 5, [1, -1, 1, -1, 1])
    assert np.isfinite(run.weights).all()


# ---- parts ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: zoo.ogd_lazy(Hinge(), 0.1, -1.0), "L2Ball: radius must be"),
        (lambda: zoo.ogd_eager(Hinge(), 0.1, math.nan), "L2Ball: radius must be a number"),
        (lambda: zoo.ogd(Hinge(), 0.0), "Constant: eta must be a positive number, got 0"),
        (lambda: zoo.ogd(Hinge(), -0.1), "Constant: eta must be a positive number"),
        (lambda: zoo.ogd_sqrt(Hinge(), math.inf), "InverseSqrt: eta must be a positive number"),
        (lambda: zoo.ogd_sc(Hinge(), 0.0), "InverseTime: sigma must be a positive number"),
        (lambda: zoo.eg(Hinge(), 0.1, 0.0), "Entropy: total must be a positive number"),
        (lambda: zoo.pnorm(Hinge(), 0.1, 1.5), "PNorm: p must be at least 2"),
        (lambda: zoo.winnow(10, 0.5), "Winnow needs η < ½"),
        (lambda: Linear(Hinge(), ProjectedGradient(L2Ball(), Constant(1.0)), ridge=-1.0), "ridge must be ≥ 0"),
        (lambda: Linear(Hinge(), ProjectedGradient(L2Ball(), Constant(1.0)), bias=-1.0), "bias must be ≥ 0"),
        (lambda: Linear(Hinge(), ProjectedGradient(Box(), Constant(1.0)), ridge=1.0), "use L2Ball instead of Box"),
        (
            lambda: Linear(Hinge(), MirrorDescent(Euclidean(), Constant(1.0)), ridge=1.0),
            "use ProjectedGradient instead of MirrorDescent",
        ),
        (lambda: Linear(0.5, ProjectedGradient(L2Ball(), Constant(1.0))), "loss must be a Loss"),  # type: ignore[arg-type]
        (lambda: zoo.ogd("hinge", 0.1), "loss must be a Loss such as"),  # type: ignore[arg-type]
        (lambda: Box(1.0, -1.0), "low must not exceed high"),
    ],
)
def test_senseless_parts_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PartError, match=message):
        make()


def test_what_is_no_learner_is_refused() -> None:
    for thing in ("perceptron", None, Hinge(), zoo.perceptron):
        with pytest.raises(PartError, match="the learner must be a Linear, Multiclass or KernelPerceptron such as"):
            train(thing, [[1.0]], [1])  # type: ignore[call-overload]


def test_sets_of_another_dimension_are_refused() -> None:
    with pytest.raises(PartError, match="the bounds have 2 entries, the learner has 3 coordinates"):
        train(Linear(Hinge(), ProjectedGradient(Box([0.0, 0.0], [1.0, 1.0]), Constant(1.0))), np.ones((1, 3)), [1])
    with pytest.raises(PartError, match="u has 2 coordinates, the learner has 3"):
        train(HINGE, np.ones((1, 3)), [1], comparator=Point([1.0, 2.0]))


WHOLE = [
    Linear(Hinge(), ProjectedGradient(Simplex(), Constant(0.1))),
    Linear(Hinge(), ProjectedGradient(L1Ball(), Constant(0.1))),
    Linear(Hinge(), MirrorDescent(Euclidean(Simplex()), Constant(0.1))),
    Linear(Hinge(), MirrorDescent(Entropy(), InverseSqrt(0.1))),
]


@pytest.mark.parametrize("learner", WHOLE, ids=lambda learner: str(learner.rule)[:40])
def test_whole_sets_on_very_many_sparse_features_are_refused(learner: Linear) -> None:
    d = WHOLE_LIMIT + 1
    X = sp.csr_array(([1.0], ([0], [d - 1])), shape=(1, d))
    with pytest.raises(PartError, match=rf"costs O\(d\) per row, too slow for {d} sparse features: use L2Ball, Box or"):
        train(learner, X, [1])
    assert train(learner, X.toarray()[:, -3:], [1], compiled=False).rounds == 1


def test_cheap_rules_take_very_many_sparse_features() -> None:
    X = sp.csr_array(([1.0, 2.0], ([0, 1], [7, 999_999])), shape=(2, 1_000_000))
    run = train(zoo.ogd_lazy(Hinge(), 0.1), X, [1, -1])
    assert run.rounds == 2
    assert run.certificate.holds


def test_parts_that_do_not_compile_are_refused_but_run_interpreted() -> None:
    learner = Linear(Hasty(), ProjectedGradient(L2Ball(), Constant(0.1)))
    with pytest.raises(PartError, match=r"Hasty\.at does not compile: it makes an array .*test_validate\.py, line"):
        train(learner, [[1.0]], [1])
    assert train(learner, [[1.0]], [1], compiled=False).rounds == 1


def test_regret_refuses_what_was_not_learnt() -> None:
    X, y = np.ones((3, 2)), np.array([1.0, -1.0, 1.0])
    run = train(HINGE, X, y)
    with pytest.raises(DataError, match="give the 3 rows that were learnt; got 2"):
        run.regret([0.0, 0.0], X[:2], y[:2])
    with pytest.raises(DataError, match="give the 3 rows that were learnt; got 2"):
        run.regret([0.0, 0.0], X, y, [1.0, 0.0, 1.0])
    with pytest.raises(DataError, match="u must be a vector of 2 numbers"):
        run.regret([0.0], X, y)
    with pytest.raises(DataError, match=r"u\[1\] is inf"):
        run.regret([0.0, np.inf], X, y)
    with pytest.raises(DataError, match="row 1: label 0 does not fit Hinge"):
        run.regret([0.0, 0.0], X, [1, 0, 1])
    weights = np.full(3, 1.0)
    run.regret([0.0, 0.0], X, y, weights)
    assert weights.tolist() == [1.0, 1.0, 1.0]  # the caller's numbers are his


def test_every_refusal_is_one_of_ours() -> None:
    for kind in (DataError, PartError, DivergedError):
        assert issubclass(kind, LowRegretError)
    assert issubclass(DataError, ValueError)


@pytest.mark.parametrize("values", [np.array([1j, 2.0]), np.array(["2020-01-01", "2021-01-01"], "datetime64[D]")])
def test_complex_numbers_and_dates_are_no_labels(values: Any) -> None:
    with pytest.raises(DataError, match=r"labels must be numbers: .* is not a real number"):
        numbers(values, "labels", 2)


def test_a_vector_that_lies_askew_in_memory() -> None:
    askew = np.frombuffer(bytearray(b"." + np.array([1.0, 2.0]).tobytes()), np.float64, offset=1)
    found = numbers(askew, "labels", 2)
    assert found.flags.aligned
    assert found.tolist() == [1.0, 2.0]


def test_what_is_behind_a_mask_is_no_label_weight_class_or_outcome() -> None:
    x, y = np.ones((4, 1)), np.ma.masked_array([1.0, -1.0, 1.0, -1.0], mask=[False, True, False, False])
    with pytest.raises(DataError, match="some labels are masked"):
        train(HINGE, x, y)
    with pytest.raises(DataError, match="some weights are masked"):
        train(HINGE, x, y.data, abs(y))
    with pytest.raises(DataError, match="some labels are masked"):
        train(Multiclass(Softmax(), MirrorDescent(Euclidean(Reals()), Constant(0.1))), x, y)
    with pytest.raises(DataError, match="some outcomes are masked"):
        given_outcomes(y, 4)
    assert train(HINGE, x, np.ma.masked_array(y.data, mask=False)).rounds == 4


@pytest.mark.parametrize("learner", ["auto", zoo.mc_perceptron(), zoo.perceptron()], ids=repr)
@pytest.mark.parametrize(
    "labels",
    [[[1], [2, 3]], np.zeros(2, [("a", "f8")]), np.array([1, 2], "M8[s]"), [1j, 2j], {1, 2}],
    ids=["ragged", "records", "dates", "complex", "a set"],
)
def test_what_can_be_no_label_is_refused(learner: Any, labels: Any) -> None:
    with pytest.raises(DataError):
        train(learner, np.eye(2), labels)


def test_whole_numbers_beyond_doubles_are_refused() -> None:
    for x, y in (([[10**400], [1]], [1, -1]), ([[1], [1]], [10**400, 1])):
        with pytest.raises(DataError, match="must be numbers: int too large"):
            train(zoo.perceptron(), x, y)


@pytest.mark.parametrize("data", [5, None, [1, 2], object()])
def test_what_rows_cannot_be_read_from(data: Any) -> None:
    with pytest.raises(DataError, match=f"rows cannot be read from a {type(data).__name__}: give names of files"):
        read(data)


def test_lengths_of_time_are_no_classes() -> None:
    """To NumPy they are whole numbers, but of which unit?"""
    with pytest.raises(DataError):
        train(zoo.mc_perceptron(), np.eye(3), np.array([1, 2, 1], "m8[s]"), compiled=False)


def test_delays_of_no_shape_are_refused() -> None:
    run = begin(zoo.ogd(Hinge()), 3, delay=1, compiled=False)
    with pytest.raises(DataError, match="delays must be whole numbers"):
        run.learn(np.eye(3), [1.0, -1.0, 1.0], delay=[[1, 2], [1]])
