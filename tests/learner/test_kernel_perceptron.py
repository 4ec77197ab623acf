"""The Perceptron in kernel form: one primal algorithm, any kernel, the same promises as every run."""

from __future__ import annotations

import gzip
import math
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lowregret import zoo
from lowregret.errors import DataError, DivergedError, PartError, StoreError
from lowregret.learner.kernel_perceptron import (
    Coordinatewise,
    Gaussian,
    InnerProduct,
    Kernel,
    KernelPerceptron,
    Polynomial,
)
from lowregret.run.kernel import KernelRun
from lowregret.run.linear import LinearRun
from lowregret.store.kinds import load
from lowregret.train import train
from tests import naive
from tests.naive import Matrix, Vector

# ---- kernels of a user's own: they live in his module and compile like ours -----------------------------------------


class Laplace(Coordinatewise):
    """e^{−γ‖a − b‖₁}"""

    gamma: float = 0.5

    def inner(self, a: float, b: float) -> float:
        return abs(a - b)

    def outer(self, total: float) -> float:
        return math.exp(-self.gamma * total)


class Overlap(Kernel):
    """Σ_j min(a_j, b_j) for a, b ≥ 0: a kernel that is written whole"""

    def value(self, a: Vector, b: Vector) -> float:
        total = 0.0
        for j in range(a.size):
            total += min(a[j], b[j])
        return total


class Distance(Kernel):
    """‖a − b‖₁, which is no kernel, and which makes arrays"""

    def value(self, a: Vector, b: Vector) -> float:
        return float(np.sum(np.abs(a - b)))


class Negative(Coordinatewise):
    """−⟨a, b⟩, which is no kernel"""

    def inner(self, a: float, b: float) -> float:
        return -a * b

    def outer(self, total: float) -> float:
        return total


KERNELS: list[tuple[Kernel, Callable[[Vector, Vector], float]]] = [
    (InnerProduct(), lambda a, b: float(a @ b)),
    (Polynomial(3, 0.5), lambda a, b: float(a @ b + 0.5) ** 3),
    (Gaussian(0.7), lambda a, b: math.exp(-0.7 * float(np.sum((a - b) ** 2)))),
    (Laplace(0.5), lambda a, b: math.exp(-0.5 * float(np.sum(np.abs(a - b))))),
    (Overlap(), lambda a, b: float(np.sum(np.minimum(a, b)))),
]
every_kernel = pytest.mark.parametrize(("kernel", "formula"), KERNELS, ids=[type(k).__name__ for k, _ in KERNELS])


def gram(formula: Callable[[Vector, Vector], float], X: Matrix) -> Matrix:
    return np.array([[formula(a, b) for b in X] for a in X])


def stream(n: int = 120, d: int = 5, seed: int = 0) -> tuple[Matrix, Vector]:
    """Rows in [0, 1]^d with an empty one, and labels that no half-space explains: many mistakes."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)) * (rng.random((n, d)) < 0.7)
    X[n // 2] = 0.0
    return X, np.where(np.sin(9 * X[:, 0]) + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)


def bits(run: KernelRun) -> list[bytes]:
    return [array.tobytes() for array in run.support.resized(run.support.size)]


# ---- what it computes -----------------------------------------------------------------------------------------------


integer_rows = st.integers(1, 6).flatmap(
    lambda d: st.integers(1, 25).flatmap(
        lambda n: st.tuples(
            hnp.arrays(np.float64, (n, d), elements=st.integers(-5, 5).map(float)),
            hnp.arrays(np.float64, n, elements=st.sampled_from([-1.0, 1.0])),
        )
    )
)


@given(integer_rows)
def test_kernel_form_is_primal_form_exactly(rows: tuple[Matrix, Vector]) -> None:
    """On integers no sum is rounded, so that both forms agree to the last bit, ties y·score = 0 included."""
    X, y = rows
    primal, dual = train(zoo.perceptron(), X, y), train(KernelPerceptron(InnerProduct()), X, y)
    assert dual.scores.tolist() == primal.scores.tolist()
    assert (dual.rounds, dual.mistakes, dual.error) == (primal.rounds, primal.mistakes, primal.error)
    assert dual.loss == primal.loss
    assert dual.decision_function(X).tolist() == primal.decision_function(X).tolist()


def test_kernel_form_is_primal_form_on_real_data(data_file: Callable[[str], Path]) -> None:
    """a9a has 0/1 features: exact again."""
    with gzip.open(data_file("a9a.svm.gz"), "rt") as file:
        lines = [line.split() for line in islice(file, 2000)]
    y = np.array([float(label) for label, *_ in lines])
    dense = np.zeros((2000, 124))
    for row, (_, *entries) in zip(dense, lines, strict=True):
        row[[int(entry.removesuffix(":1")) for entry in entries]] = 1.0
    X = sp.csr_matrix(dense)
    primal, dual = train(zoo.perceptron(), X, y), train(zoo.kernel_perceptron(InnerProduct()), X, y)
    assert dual.mistakes == primal.mistakes
    assert dual.mistakes > 300  # the support set has grown several times
    assert np.array_equal(dual.scores, primal.scores)
    assert np.array_equal(dual.decision_function(X), primal.decision_function(X))


@every_kernel
def test_transcription(kernel: Kernel, formula: Callable[[Vector, Vector], float]) -> None:
    X, y = stream()
    run = train(KernelPerceptron(kernel), X, y)
    scores, mistakes = naive.kernel_perceptron(gram(formula, X), y)
    np.testing.assert_allclose(run.scores, scores, rtol=1e-9, atol=1e-9)
    assert np.flatnonzero(y * run.scores <= 0).tolist() == mistakes
    assert run.mistakes == len(mistakes)
    np.testing.assert_allclose(run.decision_function(X), y[mistakes] @ gram(formula, X)[mistakes], rtol=1e-9, atol=1e-9)


def test_zero_score_is_a_mistake_whatever_the_label() -> None:
    X = np.eye(3)
    assert train(KernelPerceptron(InnerProduct()), X, [1, -1, 1]).mistakes == 3
    assert train(KernelPerceptron(InnerProduct()), np.zeros((4, 2)), [1, 1, -1, 1]).mistakes == 4


def test_homogeneous_polynomial_is_inner_product_of_products() -> None:
    """(⟨a,b⟩)² = ⟨a⊗a, b⊗b⟩: the Perceptron on all products of two features."""
    X = np.random.default_rng(1).integers(-3, 4, (80, 4)).astype(float)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    products = np.einsum("ti,tj->tij", X, X).reshape(len(X), -1)
    assert np.array_equal(
        train(KernelPerceptron(Polynomial(2, 0.0)), X, y).scores, train(zoo.perceptron(), products, y).scores
    )


# ---- invariants -----------------------------------------------------------------------------------------------------


@every_kernel
def test_compiled_is_interpreted(kernel: Kernel, formula: Any) -> None:
    X, y = stream()
    learner = KernelPerceptron(kernel)
    fast, slow = train(learner, X, y), train(learner, X, y, compiled=False)
    assert fast.compiled
    assert not slow.compiled
    assert bits(fast) == bits(slow)
    assert fast.scores.tobytes() == slow.scores.tobytes()
    assert fast.decision_function(X).tobytes() == slow.decision_function(X).tobytes()


@every_kernel
def test_sparse_is_dense(kernel: Kernel, formula: Any) -> None:
    """All kernels see rows spread out in double precision; a kernel of each kind is compiled for all rows."""
    X, y = stream()
    X = X.astype(np.float32)
    wide = X.astype(np.float64)
    known = train(KernelPerceptron(kernel), wide, y)
    for rows in (X, sp.csr_matrix(X)):
        run = train(KernelPerceptron(kernel), rows, y, compiled=isinstance(kernel, (InnerProduct, Overlap)))
        assert bits(run) == bits(known)
        assert run.scores.tobytes() == known.scores.tobytes()
        assert run.decision_function(rows).tobytes() == known.decision_function(wide).tobytes()


@every_kernel
def test_splitting_and_resuming_changes_nothing(kernel: Kernel, formula: Any, tmp_path: Path) -> None:
    X, y = stream()
    whole = train(KernelPerceptron(kernel), X, y)
    assert whole.mistakes > 16  # the support set has outgrown its first capacity
    for cut in (1, 2, 16, 17, 60, 119):
        first = train(KernelPerceptron(kernel), X[:cut], y[:cut])
        before = bits(first), first.scores.tobytes()
        path = first.save(tmp_path / "run")
        assert (bits(first), first.scores.tobytes()) == before
        second = load(path)
        assert isinstance(second, KernelRun)
        assert second.learner == whole.learner
        second.learn(X[cut:], y[cut:])
        assert bits(second) == bits(whole)
        assert np.concatenate([first.scores, second.scores]).tobytes() == whole.scores.tobytes()


def test_one_row_at_a_time_is_one_batch() -> None:
    X, y = stream(60)
    whole = train(KernelPerceptron(Gaussian(2.0)), X, y)
    single = KernelRun(whole.learner, whole.learner.start(5))
    scores = [single.learn(X[i : i + 1], y[i : i + 1]).scores[0] for i in range(60)]
    assert bits(single) == bits(whole)
    assert scores == whole.scores.tolist()


def test_a_run_without_mistakes_so_far_can_be_stored(tmp_path: Path) -> None:
    """Nothing learnt: an empty support set goes to disk and grows afterwards."""
    fresh = KernelRun(KernelPerceptron(Gaussian()), KernelPerceptron(Gaussian()).start(2))
    again = KernelRun.load(fresh.save(tmp_path / "empty"))
    assert (again.rounds, again.mistakes, again.error) == (0, 0, 0.0)
    assert again.learn([[1.0, 2.0]] * 40, [1, -1] * 20).rounds == 40


def test_interpreted_stays_interpreted_on_disk(tmp_path: Path) -> None:
    run = train(KernelPerceptron(Distance()), [[1.0], [2.0]], [1, -1], compiled=False)
    assert not KernelRun.load(run.save(tmp_path / "slow")).compiled


# ---- certificates ---------------------------------------------------------------------------------------------------


def test_textbook_example() -> None:
    """x_t = e_t, y = 1, u = ½·1: |M| = 4, F = 2, b = 1."""
    X, y = np.eye(4), np.ones(4)
    run = train(KernelPerceptron(InnerProduct()), X, y)
    found = {c.id: c for c in run.mistake_certificates(np.full(4, 0.5), X, y)}
    expected = {
        "PERC-OBS": 4,
        "PERC-ROOT": 4,
        "THM-3.9": 3 + math.sqrt(2),
        "PERC-2F": 5,
        "PERC-MARGIN": 4,
        "THM-14.6": 4.5,
    }
    assert {name: c.bound for name, c in found.items()} == pytest.approx(expected)
    assert all(c.holds and c.regret == 4 and c.details["F"] == 2 for c in found.values())
    assert all(c.comparator == {"set": "point", "radius": 1.0} for c in found.values())


@settings(max_examples=60)
@given(
    st.sampled_from([kernel for kernel, _ in KERNELS]),
    st.integers(0, 2**32 - 1),
    st.sampled_from([1e-3, 0.1, 1.0, 30.0]),
    st.booleans(),
)
def test_bounds_hold_against_any_comparator(kernel: Kernel, seed: int, size: float, helpful: bool) -> None:
    rng = np.random.default_rng(seed)
    X, y = stream(30, 3, seed)
    run = train(KernelPerceptron(kernel), X, y)
    alpha = size * rng.normal(size=30) * (rng.random(30) < 0.6)
    found = run.mistake_certificates(abs(alpha) * y if helpful else alpha, X, y)
    assert [c.id for c in found if c.premises and not c.premises_hold] in ([], ["PERC-MARGIN"])
    assert all(c.holds for c in found if c.premises_hold)


def test_same_certificates_as_primal_form() -> None:
    """u = Σ α_i x_i, real-valued rows: F, ‖u‖, R and Σ_M‖x‖² are the primal ones."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(80, 4))
    y = np.where(X @ [1.0, -2.0, 0.5, 0.0] + 0.1 > 0, 1.0, -1.0)
    alpha = 0.05 * rng.random(80) * y
    primal, dual = train(zoo.perceptron(), X, y), train(KernelPerceptron(InnerProduct()), X, y)
    mine = dual.mistake_certificates(alpha, X, y)
    theirs = primal.mistake_certificates(X.T @ alpha, X, y)
    assert [c.id for c in mine] == [c.id for c in theirs]
    for a, b in zip(mine, theirs, strict=True):
        assert (a.bound, a.regret, a.details["F"]) == pytest.approx((b.bound, b.regret, b.details["F"]), rel=1e-9)
        assert a.comparator["radius"] == pytest.approx(b.comparator["radius"], rel=1e-9)
        assert (a.statement, a.measure, a.holds) == (b.statement, b.measure, b.holds)


def test_the_run_has_the_certificates_and_the_trace_of_the_primal_form() -> None:
    """Of a linear kernel: each theorem gives the same bound of the same regret, at all marks of the trace."""
    X, y = stream(150, 4, 9)
    primal, dual = train(zoo.perceptron(), X, y), train(KernelPerceptron(InnerProduct()), X, y)
    mine, theirs = ({c.id: c for c in run.certificates} for run in (dual, primal))
    assert theirs.keys() - mine.keys() == {"LEM-2.20"}  # whose gaps D_t = ‖z_t‖²/2 are EQ-2.15's here
    assert len(mine) >= 2
    for name, c in mine.items():
        of_primal = theirs[name]
        assert (c.statement, c.holds, c.comparator) == (of_primal.statement, of_primal.holds, of_primal.comparator)
        assert (c.bound, c.linear_regret) == pytest.approx((of_primal.bound, of_primal.linear_regret), rel=1e-9)
    assert dual.certificate.id == primal.certificate.id
    assert dual.trace.rounds.tolist() == primal.trace.rounds.tolist()
    for curve in ("loss", "linear_regret", "bound"):
        np.testing.assert_allclose(getattr(dual.trace, curve), getattr(primal.trace, curve), rtol=1e-9)


def test_margin_bound_speaks_where_a_margin_exists() -> None:
    """A narrow Gaussian separates distinct points: u = Σ y_i K(x_i,·) has a positive margin."""
    X, y = stream(40, 3, 5)
    X = X[np.unique(X, axis=0, return_index=True)[1]]
    y = y[: len(X)]
    run = train(KernelPerceptron(Gaussian(500.0)), X, y)
    margin = {c.id: c for c in run.mistake_certificates(y, X, y)}["PERC-MARGIN"]
    assert margin.premises_hold
    assert margin.holds


def test_certificates_refuse_other_rows() -> None:
    X, y = stream(30)
    run = train(KernelPerceptron(Gaussian()), X, y)
    with pytest.raises(DataError, match="give all 30 rows of the run, learnt in one call; got 29"):
        run.mistake_certificates(np.ones(29), X[1:], y[1:])
    with pytest.raises(DataError, match="not the labels that were learnt"):
        run.mistake_certificates(np.ones(30), X, -y)
    with pytest.raises(DataError, match="alpha must be a vector of 30 numbers"):
        run.mistake_certificates(np.ones(5), X, y)
    with pytest.raises(DataError, match=r"alpha\[3\] is nan"):
        run.mistake_certificates(np.where(np.arange(30) == 3, np.nan, 1.0), X, y)
    run.learn(X, y)
    with pytest.raises(DataError, match="give all 60 rows"):
        run.mistake_certificates(np.ones(30), X, y)


def test_certificates_need_a_positive_kernel() -> None:
    """u = K(x_1,·) − K(x_2,·) has ‖u‖² = −2·distance with what is no kernel."""
    X, y = np.array([[1.0], [5.0]]), np.array([1.0, -1.0])
    run = train(KernelPerceptron(Distance()), X, y, compiled=False)
    with pytest.raises(PartError, match="not positive semi-definite: αᵀKα = -8 < 0"):
        run.mistake_certificates([1.0, -1.0], X, y)


# ---- refusals -------------------------------------------------------------------------------------------------------

BAD_DATA: list[tuple[Any, Any, str]] = [
    ([[1.0, 2.0], [np.nan, 1.0]], [1, 1], r"row 1: feature 0 is nan"),
    ([[1.0, np.inf]], [1], r"row 0: feature 1 is inf"),
    (sp.csr_matrix([[0.0, 1.0], [0.0, -np.inf]]), [1, 1], r"row 1: feature 1 is -inf"),
    ([[1.0], [2.0]], [1, 0], r"row 1: label 0 does not fit the Perceptron, which takes -1 or \+1"),
    ([[1.0], [2.0]], [1, np.nan], r"row 1: label nan does not fit"),
    ([[1.0], [2.0]], [1], r"labels must be a vector of 2 numbers, got shape \(1,\)"),
    ([[1.0], [2.0]], ["yes", "no"], r"labels must be numbers"),
    ([["a", "b"]], [1], r"features must be numbers"),
    ([1.0, 2.0], [1, 1], r"matrix, one row per example"),
    (np.empty((0, 3)), [], r"there are no rows"),
]


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize(("features", "labels", "message"), BAD_DATA)
def test_bad_data_are_refused_by_name(features: Any, labels: Any, message: str, compiled: bool) -> None:
    """The Gaussian of an infinite feature is a finite number: it is the row that must be looked at."""
    with pytest.raises(DataError, match=message):
        train(KernelPerceptron(Gaussian()), features, labels, compiled=compiled)


def test_what_was_learnt_before_a_bad_row_stays() -> None:
    X, y = stream(40)
    good = train(KernelPerceptron(Gaussian()), X[:25], y[:25])
    broken = X.copy()
    broken[25, 3] = np.nan
    run = KernelRun(good.learner, good.learner.start(5))
    with pytest.raises(DataError, match="row 25: feature 3 is nan"):
        run.learn(broken, y)
    assert bits(run) == bits(good)
    run.learn(X[25:], y[25:])
    assert bits(run) == bits(train(good.learner, X, y))


def test_other_dimensions_are_refused() -> None:
    run = train(KernelPerceptron(Gaussian()), np.ones((3, 2)), [1, 1, 1])
    for verb in (lambda: run.learn(np.ones((1, 3)), [1]), lambda: run.decision_function(np.ones((1, 3)))):
        with pytest.raises(DataError, match="the rows have 3 features, the learner 2"):
            verb()
    with pytest.raises(PartError, match="at least one feature"):
        train(KernelPerceptron(Gaussian()), np.ones((2, 0)), [1, 1])


def test_predicting_bad_rows_is_refused() -> None:
    run = train(KernelPerceptron(Gaussian()), np.ones((3, 2)), [1, 1, 1])
    with pytest.raises(DataError, match="row 1: feature 0 is nan"):
        run.decision_function([[1.0, 1.0], [np.nan, 1.0]])


@pytest.mark.parametrize("compiled", [True, False])
def test_scores_beyond_the_numbers_are_refused(compiled: bool) -> None:
    learner = KernelPerceptron(Polynomial(9))
    with pytest.raises(DataError, match=r"row 1: feature 0 is 1e\+100: .* would leave the range of numbers"):
        train(learner, [[1.0], [1e100]], [1, -1], compiled=compiled)
    run = train(learner, [[1.0]], [1], compiled=compiled)
    with pytest.raises(DivergedError, match="row 0"):
        run.decision_function([[1e100]])


def test_a_function_that_is_no_kernel_is_refused() -> None:
    with pytest.raises(PartError, match=r"row 1: Negative\(\) is not positive semi-definite: K\(x, x\) = -4 < 0"):
        train(KernelPerceptron(Negative()), [[0.0], [2.0]], [1, 1])


def test_a_kernel_that_makes_arrays_is_refused() -> None:
    with pytest.raises(PartError, match=r"Distance\.value does not compile: it makes an array"):
        train(KernelPerceptron(Distance()), [[1.0]], [1])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Gaussian(0.0), "gamma must be a positive number"),
        (lambda: Gaussian(math.nan), "gamma must be a number"),
        (lambda: Polynomial(0), "degree must be 1, 2, 3"),
        (lambda: Polynomial(2.5), "degree must be 1, 2, 3"),  # type: ignore[arg-type]
        (lambda: Polynomial(2, -1.0), "offset must be ≥ 0"),
        (lambda: KernelPerceptron(1.0), "needs a Kernel such as"),  # type: ignore[arg-type]
    ],
)
def test_bad_parameters_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(PartError, match=message):
        make()


def test_very_many_sparse_features_are_refused() -> None:
    X = sp.csr_matrix(([1.0], ([0], [5])), shape=(1, 20_000))
    with pytest.raises(
        PartError, match=r"costs O\(d\) per row, too slow for 20000 sparse features: use zoo.perceptron"
    ):
        train(KernelPerceptron(InnerProduct()), X, [1])


def test_what_only_linear_learners_take_is_refused() -> None:
    from lowregret.domain import L2Ball

    with pytest.raises(PartError, match="neither weights nor a comparator"):
        train(KernelPerceptron(Gaussian()), [[1.0]], [1], [1.0])  # type: ignore[call-overload]
    with pytest.raises(PartError, match="neither weights nor a comparator"):
        train(KernelPerceptron(Gaussian()), [[1.0]], [1], comparator=L2Ball())  # type: ignore[call-overload]


def test_files_of_another_kind_are_refused(tmp_path: Path) -> None:
    linear = train(zoo.perceptron(), [[1.0]], [1]).save(tmp_path / "linear")
    kernel = train(KernelPerceptron(Gaussian()), [[1.0]], [1]).save(tmp_path / "kernel")
    with pytest.raises(StoreError, match="holds a run, not a kernel-run"):
        KernelRun.load(linear)
    with pytest.raises(StoreError, match="holds a kernel-run, not a run"):
        LinearRun.load(kernel)


def test_printing() -> None:
    text = str(train(KernelPerceptron(Gaussian()), [[1.0], [1.0]], [1, 1]))
    assert "2 rounds, 1 feature, 1 support row\n" in text
    assert "50.00% of the rows predicted wrongly" in text


class Same(Kernel):
    """Whether both are of the same kind, the first feature: 1 or 0"""

    def value(self, a: Vector, b: Vector) -> float:
        return bool(a[0] == b[0])


def test_a_kernel_that_says_yes_or_no_is_certified() -> None:
    X = np.arange(12.0)[:, None] % 3
    y = np.where(X[:, 0] > 0, 1.0, -1.0)
    run = train(KernelPerceptron(Same()), X, y, compiled=False)
    assert run.mistakes == 3
    assert all(c.holds for c in (*run.certificates, *run.mistake_certificates(y * (np.arange(12) < 3), X, y)))
    assert "regret" in str(run)


@pytest.mark.parametrize("given", [None, "1", 1j, np.ones(2)], ids=repr)
def test_a_kernel_gives_numbers(given: Any) -> None:
    class Odd(Kernel):
        """Something else"""

        def value(self, a: Vector, b: Vector) -> float:
            return given

    with pytest.raises(PartError, match=r"Odd.value must give a number, got"):
        train(KernelPerceptron(Odd()), np.ones((2, 1)), [1.0, -1.0], compiled=False)


class Repelling(Kernel):
    """1 of a row and itself, and −1/40 of any two others: no kernel of more than 41 rows."""

    def value(self, a: Vector, b: Vector) -> float:
        same = True
        for j in range(a.size):
            same = same and a[j] == b[j]
        return 1.0 if same else -1 / 40


def test_a_kernel_that_the_ledger_refutes_fails_the_premise() -> None:
    """‖θ‖² = Σ_{t∈M} K(x_t, x_t) − 2Σ⟨w_t, z_t⟩ is below 0 although few rows of the support show nothing."""
    X, y = np.arange(1.0, 151.0)[:, None], np.ones(150)
    run = train(KernelPerceptron(Repelling()), X, y, compiled=False)
    for c in (*run.certificates, *run.mistake_certificates(np.ones(150) * (X[:, 0] < 20), X, y)):
        assert not c.premises_hold, c
        assert any("< 0" in str(p.observed) for p in c.premises)
    assert np.isnan(run.trace.bound[-1])
    few = train(KernelPerceptron(Repelling()), X[:30], y[:30], compiled=False)
    assert few.certificate.premises_hold


def test_a_comparator_whose_square_is_below_zero_fails_the_premise() -> None:
    """αᵀKα = −1e-10 where its terms are as large as 1."""

    class Nearly(Kernel):
        def value(self, a: Vector, b: Vector) -> float:
            return float(a[0] * b[0] - 1e-10 * a[1] * b[1])

    X, y = np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0])
    run = train(KernelPerceptron(Nearly()), X, y, compiled=False)
    found = run.mistake_certificates([1.0, -1.0], X, y)
    assert not any(c.premises_hold for c in found)
    assert all("αᵀKα" in str(c.premises[-1].observed) for c in found)
    assert all(c.premises_hold for c in run.mistake_certificates([1.0, 1.0], X, y) if c.id != "PERC-MARGIN")


@pytest.mark.parametrize("degree", [2, 100, 1024])
def test_high_powers_are_not_proved_below_the_exact_regret(degree: int) -> None:
    """Against u = φ(x)/‖φ(x)‖ the regret of one row is √K(x, x): rounding of x² counts `degree` times."""
    for k in range(40):
        x = math.sqrt(0.5 ** (1 / degree) * (0.9999 + 2.5e-6 * k))
        run = train(KernelPerceptron(Polynomial(degree, 0.0)), [[x]], [1.0], compiled=False)
        exact, proved = Fraction(x) ** degree, Fraction(run.certificate.proved)
        assert exact <= proved
