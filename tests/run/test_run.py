"""Runs: any split is the unbroken run, saving changes nothing, and what a run says about itself is true."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import zoo
from lowregret.domain import Box, L1Ball, L2Ball, Point, Reals, Simplex
from lowregret.errors import DataError, LowRegretError, PartError, StoreError
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Affine, Hinge, Logistic, Loss, Margin, OnMistakes, Poisson, Square
from lowregret.mirror import UnnormalisedEntropy
from lowregret.output import Average
from lowregret.rule import Forgotten, MirrorDescent, ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import Constant, InverseSqrt
from lowregret.train import train
from lowregret.words import rounded_up
from tests.compositions import COMPOSITIONS, TEXTBOOK, Composition, Rows, every, every_compiled, rows_for
from tests.naive import Matrix, Vector

N, D = 40, 4
OTHERS = ("ogd-adaptive", "ridge-adaptive", "lazy-simplex", "eager-forgotten")
CASES = TEXTBOOK + [c for c in COMPOSITIONS if c.name in OTHERS]
pytestmark = pytest.mark.usefixtures("as_composed")
every_composition = every(CASES)


def sample(composition: Composition, seed: int, n: int = N) -> Rows:
    """Rows for this learner, compressed (which costs less to compile than dense ones)."""
    rows = rows_for(composition.task, n, D, seed)
    return rows._replace(X=sp.csr_array(rows.X))  # type: ignore[arg-type]


def begin(composition: Composition, **options: Any) -> LinearRun:
    learner = composition.learner(D)
    return LinearRun(learner, learner.start(D), **options)


def part(rows: Rows, start: int, stop: int) -> Rows:
    return Rows(*(array[start:stop] for array in rows))


def bits(run: LinearRun) -> list[bytes]:
    """Everything that a run carries on."""
    history = [row.tobytes() for row in run.record.history]
    arrays = [*run.state, *run.tally.arrays().values()]
    return [array.tobytes() for array in arrays] + history + [run.weights.tobytes(), str(run.uniform).encode()]


def labelled(n: int = 60, d: int = 4, seed: int = 0) -> tuple[Matrix, Vector]:
    rows = rows_for("margin", n, d, seed)
    return rows.X, rows.y


# ---- laws -----------------------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@every_composition
def test_splitting_and_resuming_changes_nothing(composition: Composition, tmp_path: Path) -> None:
    rows = sample(composition, 1)
    whole = begin(composition).learn(*rows)
    for cut in (1, 2, 9, 23, N - 1):
        first = begin(composition).learn(*part(rows, 0, cut))
        second = LinearRun.load(first.save(tmp_path / "run"))
        assert bits(second) == bits(first)
        second.learn(*part(rows, cut, N))
        assert bits(second) == bits(whole)
        assert np.concatenate([first.scores, second.scores]).tobytes() == whole.scores.tobytes()
        assert second.certificates == whole.certificates
        assert second.decision_function(rows.X).tobytes() == whole.decision_function(rows.X).tobytes()


@every_composition
def test_saving_is_pure(composition: Composition, tmp_path: Path) -> None:
    rows = sample(composition, 2)
    run = begin(composition).learn(*part(rows, 0, 20))
    before = bits(run), run.scores.tobytes()
    first, second = run.save(tmp_path / "first"), run.save(tmp_path / "second")
    assert (bits(run), run.scores.tobytes()) == before
    assert first.read_bytes() == second.read_bytes()
    assert LinearRun.load(first).save(tmp_path / "third").read_bytes() == first.read_bytes()
    run.learn(*part(rows, 20, N))
    assert bits(run) == bits(begin(composition).learn(*rows))


@every_compiled(CASES)
def test_compiled_is_interpreted(composition: Composition) -> None:
    rows = sample(composition, 3)
    fast, slow = begin(composition).learn(*rows), begin(composition, compiled=False).learn(*rows)
    assert fast.compiled
    assert not slow.compiled
    assert bits(slow) == bits(fast)
    assert slow.scores.tobytes() == fast.scores.tobytes()
    assert slow.decision_function(rows.X).tobytes() == fast.decision_function(rows.X).tobytes()
    assert slow.point.tobytes() == fast.point.tobytes()


def played(composition: Composition, rows: Rows) -> tuple[LinearRun, list[Vector]]:
    """A run in one call, and the points w_t of its rounds from a second run, row by row."""
    single, points = begin(composition, compiled=False), []
    for i in range(len(rows.y)):
        points.append(single.point)
        single.learn(*part(rows, i, i + 1))
    return begin(composition).learn(*rows), points


def exact_regret(run: LinearRun, points: list[Vector], rows: Any, u: Vector) -> float:
    """Σ c_t(f_t(w_t) − f_t(u)), written out."""
    learner, total, importance, t = run.learner, 0.0, 0.0, 0
    for w, x, y, weight in zip(points, rows.X.toarray(), rows.y, rows.weights, strict=True):
        if weight == 0:
            continue
        t += 1
        x = np.append(x, learner.bias) if learner.bias else x
        loss: Loss = learner.loss
        if isinstance(loss, OnMistakes):
            loss = loss.loss if loss.wrong(float(w @ x), y) else Flat()
        c = t + 1 if learner.rule.schedule().weighted() else 1
        total += c * weight * (loss.at(float(w @ x), y)[0] - loss.at(float(u @ x), y)[0])
        total += c * learner.ridge / 2 * float(w @ w - u @ u)
        importance += c
    return total / importance if learner.rule.schedule().weighted() else total


class Flat(Loss):
    """0"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        return 0.0, 0.0


@every_composition
def test_regret_is_what_the_certificate_bounds(composition: Composition) -> None:
    rows = sample(composition, 4)
    run, points = played(composition, rows)
    rng = np.random.default_rng(5)
    domain = run.learner.rule.domain
    for size in (0.0, 0.3, 3.0):
        u = domain.projection(size * rng.normal(size=run.state.dimension))
        regret = run.regret(u, *rows)
        assert regret == pytest.approx(exact_regret(run, points, rows, u), rel=1e-9, abs=1e-9)
        if run.learner.rule.keeps_sum():
            assert regret <= run.linear_regret(Point(u)) + 1e-9 * (1 + abs(regret))
        if run.comparator.contains(u):
            assert regret <= run.certificate.bound + 1e-9 * (1 + run.certificate.bound)
    assert all(c.holds for c in run.certificates if c.premises_hold)


# ---- what comes out -------------------------------------------------------------------------------------------------


def test_train_is_a_run_that_learnt() -> None:
    X, y = labelled()
    run = train(zoo.ogd(Hinge(), 0.1), X, y)
    again = LinearRun(run.learner, run.learner.start(4))
    assert again.learn(X, y) is again
    assert bits(run) == bits(again)


def test_whatever_holds_rows() -> None:
    X, y = labelled()
    dense: list[Any] = [X, X.tolist(), np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]]
    sparse: list[Any] = [sp.csr_array(X), sp.csr_matrix(X), sp.csc_matrix(X), sp.coo_array(X)]
    runs = [[train(zoo.ogd(Hinge(), 0.1), form, list(y)) for form in forms] for forms in (dense, sparse)]
    for group in runs:
        assert all(bits(run) == bits(group[0]) for run in group)
    np.testing.assert_allclose(runs[0][0].scores, runs[1][0].scores, rtol=1e-12, atol=1e-12)


def test_scores_and_losses_are_progressive() -> None:
    X, y = labelled(30)
    run = train(zoo.ogd(Logistic(), 0.3), X, y, compiled=False)
    w, scores = np.zeros(4), []
    for x, label in zip(X, y, strict=True):
        scores.append(w @ x)
        w = w + 0.3 * label * x / (1 + np.exp(label * scores[-1]))
    np.testing.assert_allclose(run.scores, scores, rtol=1e-9)
    np.testing.assert_allclose(run.weights, w, rtol=1e-9)
    assert run.loss == pytest.approx(np.logaddexp(0, -y * scores).sum())
    assert run.mistakes == np.sum((np.array(scores) >= 0) != (y > 0))
    assert run.error == np.mean((np.array(scores) >= 0) != (y > 0))
    assert run.rounds == 30


def test_predictions_use_the_output_and_the_bias() -> None:
    X, y = labelled()
    learner = Linear(Hinge(), ProjectedGradient(L2Ball(2.0), InverseSqrt(1.0)), Average(), bias=0.5)
    run, points = LinearRun(learner, learner.start(4), compiled=False), []
    for i in range(60):
        points.append(run.point)
        run.learn(X[i : i + 1], y[i : i + 1])
    np.testing.assert_allclose(run.weights, np.mean(points, axis=0), rtol=1e-9, atol=1e-12)
    expected = X @ run.weights[:4] + 0.5 * run.weights[4]
    np.testing.assert_allclose(run.decision_function(X), expected, rtol=1e-9, atol=1e-12)
    assert not np.allclose(run.weights, run.point)


def test_regression_has_no_mistakes() -> None:
    X, _ = labelled()
    run = train(zoo.ogd(Square(), 0.01), X, X @ [1.0, 2.0, 3.0, 4.0], compiled=False)
    assert run.error is None
    assert run.mistakes is None
    assert "predicted wrongly" not in str(run)


def test_rows_that_do_not_count_change_nothing() -> None:
    X, y = labelled()
    weights = (np.arange(60) % 3 > 0).astype(float)
    kept = weights > 0
    all_rows, counted = train(zoo.ogd(Hinge(), 0.1), X, y, weights), train(zoo.ogd(Hinge(), 0.1), X[kept], y[kept])
    assert [a.tobytes() for a in all_rows.state] == [a.tobytes() for a in counted.state]
    assert np.array_equal(all_rows.scores[kept], counted.scores)
    assert np.isfinite(all_rows.scores).all()


@every(TEXTBOOK)
def test_one_row_one_feature_one_class(composition: Composition) -> None:
    learner = composition.learner(1)
    run = train(learner, sp.csr_array([[1.0]]), [1.0])
    assert run.rounds == 1
    assert np.isfinite(run.weights).all()
    assert run.certificate.holds
    assert len(str(run).splitlines()) >= 4
    assert run.trace.rounds.tolist() == [1]
    run.learn(sp.csr_array([[1.0]] * 9), [1.0] * 9)
    assert run.rounds == 10
    assert run.certificate.holds


def test_comparator_of_ones_own() -> None:
    X, y = labelled()
    learner = zoo.ogd(Hinge(), 0.1)
    for comparator in (L2Ball(3.0), L1Ball(2.0), Box(-0.5, 0.5), Simplex(2.0), Point([1.0, 0.0, 0.0, 0.0])):
        run = train(learner, X, y, comparator=comparator)
        assert run.certificate.comparator == comparator.describe()
        assert run.certificate.linear_regret == run.linear_regret() == train(learner, X, y).linear_regret(comparator)
        assert run.certificate.holds
    assert train(learner, X, y).comparator == L2Ball(1.0)
    assert train(zoo.ogd_lazy(Hinge(), 0.1, 7.0), X, y).comparator == L2Ball(7.0)


def test_comparator_survives_on_disk(tmp_path: Path) -> None:
    X, y = labelled()
    run = train(zoo.ogd(Hinge(), 0.1), X, y, comparator=Point([1.0, 2.0, 3.0, 4.0]))
    assert LinearRun.load(run.save(tmp_path / "run")).certificates == run.certificates


def test_comparators_outside_the_domain_fail_a_premise() -> None:
    X, y = labelled()
    run = train(zoo.ogd_lazy(Hinge(), 0.1, 1.0), X, y, comparator=L2Ball(5.0), compiled=False)
    assert not run.certificate.premises_hold
    assert not run.certificate.holds
    assert "but the premise fails: comparators lie in the learner's l2-ball" in str(run)


def test_forgotten_gradients_leave_the_bound() -> None:
    X, y = labelled()
    run = train(Linear(Hinge(), ProjectedGradient(L2Ball(), Constant(0.1), Forgotten())), X, y, compiled=False)
    assert run.certificate.linear_regret is None
    assert run.certificate.bound > 0
    assert "at most" in str(run)
    assert np.isnan(run.trace.linear_regret).all()
    with pytest.raises(PartError, match="the sum of sub-gradients was not kept; use ProjectedGradient"):
        run.linear_regret()


def test_regret_of_mistakes_needs_one_call() -> None:
    X, y = labelled()
    run = train(zoo.perceptron(), X[:30], y[:30]).learn(X[30:], y[30:])
    for ask in (lambda: run.regret(np.ones(4), X, y), lambda: run.mistake_certificates(np.ones(4), X, y)):
        with pytest.raises(DataError, match="give all 60 rows of the run, learnt in one call"):
            ask()


class Slow(Margin):
    """A user's own loss of the margin that only runs interpreted"""

    def at(self, p: float, y: float) -> tuple[float, float]:
        values = np.array([1.0 - y * p, 0.0])
        return float(values.max()), -y * float(values[0] > 0)


def test_regret_of_mistakes_runs_interpreted_too() -> None:
    X, y = labelled()
    learner = Linear(OnMistakes(Slow()), ProjectedGradient(Reals(), Constant(1.0)))
    run, twin = train(learner, X, y, compiled=False), train(zoo.perceptron(), X, y)
    assert run.regret(np.ones(4), X, y) == pytest.approx(twin.regret(np.ones(4), X, y))


def test_mistake_certificates_of_a_run() -> None:
    X, y = labelled()
    run = train(zoo.perceptron(), X, y)
    found = run.mistake_certificates([1.0, -1.0, 0.5, 0.0], X, y)
    assert all(c.holds and c.regret == run.mistakes for c in found if c.premises_hold)
    weighted = train(zoo.perceptron(), X, y, np.full(60, 2.0))
    with pytest.raises(PartError, match="mistake bounds need importance weights of 1"):
        weighted.mistake_certificates(np.ones(4), X, y)
    with pytest.raises(PartError, match="mistake bounds speak of the Perceptron and Winnow"):
        train(zoo.ogd(Hinge(), 0.1), X, y).mistake_certificates(np.ones(4), X, y)
    with pytest.raises(DataError, match="not the labels that were learnt"):
        run.mistake_certificates(np.ones(4), X, -y)


def test_a_promise_alone_says_of_what_it_is() -> None:
    X, y = labelled()
    run = train(zoo.ogd_eager(Hinge(), 0.1, 2.0), X, y, certify=False, compiled=False)
    told = f"{rounded_up(run.certificate.promised)} against every fixed choice in the l2-ball of radius 2 (THM-14.5)"
    assert f"\nregret     theory promised at most {told}\n" in str(run)


def test_printing() -> None:
    X, y = labelled()
    run = train(zoo.ogd_lazy(Hinge(), 0.1, 2.0), X, y, compiled=False)
    assert run.certificate.measured is not None
    first, loss, error, regret, bound, whose, risk, last = str(run).splitlines()
    assert first == "60 rounds, 4 weights"
    assert f"{run.loss:.6g} in all" in loss
    assert f"{run.error:.2%} of the rows predicted wrongly" in error
    assert f"at most {rounded_up(run.certificate.measured)}" in regret
    assert "every fixed choice in the l2-ball of radius 2" in regret
    assert f"theory promised at most {rounded_up(run.certificate.promised)} ({run.certificate.id})" in bound
    assert "the error of a model drawn from those of the run" in whose
    assert f"at most {run.risks()[0].bound:.2%} on average over the draw (O2B-EB" in risk
    assert "nothing of the kind is known of the model that is kept" in last


def test_a_run_before_its_first_row() -> None:
    run = LinearRun(zoo.ogd(Hinge(), 0.1), zoo.ogd(Hinge(), 0.1).start(3))
    assert (run.rounds, run.loss, run.error) == (0, 0.0, 0.0)
    assert run.certificate.holds
    assert "0 rounds, 3 weights" in str(run)
    assert run.plot() is not None


def test_a_learner_without_a_theorem_of_its_own() -> None:
    """Unnormalised entropy with a changing rate: what remains is regret ≤ linearised regret."""
    X, y = labelled()
    run = train(
        Linear(Absolute(), MirrorDescent(UnnormalisedEntropy(0.25), InverseSqrt(0.1))), abs(X), y, compiled=False
    )
    assert run.certificate.holds
    assert "at most" in str(run)
    assert run.plot() is not None


# ---- traces and pictures --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [zoo.ogd_lazy, zoo.ogd_eager])
def test_learning_without_a_certificate_learns_the_same(make: Any, tmp_path: Path) -> None:
    X, y = labelled(61)
    certified, bare = (train(make(Hinge(), 0.1, 2.0), X, y, certify=c, compiled=False) for c in (True, False))
    assert bare.scores.tobytes() == certified.scores.tobytes()
    assert bare.weights.tobytes() == certified.weights.tobytes()
    assert not bare.record.history
    assert bare.certificate.holds
    assert bare.trace.rounds.tolist() == [61]
    resumed = LinearRun.load(bare.save(tmp_path / "bare.lr")).learn(X, y)
    assert not resumed.record.history


def test_trace_ends_with_the_run() -> None:
    X, y = labelled(61)
    run = train(zoo.ogd_lazy(Hinge(), 0.1, 2.0), X, y, compiled=False)
    t = run.trace
    assert t.rounds.tolist() == [1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46, 61]
    assert t.loss[-1] == run.loss
    assert t.linear_regret[-1] == pytest.approx(run.certificate.linear_regret)
    for k, rounds in enumerate(t.rounds):
        prefix = train(run.learner, X[:rounds], y[:rounds], compiled=False)
        assert t.loss[k] == prefix.loss
        assert t.linear_regret[k] == pytest.approx(prefix.linear_regret())
        assert prefix.linear_regret() <= t.bound[k] + 1e-9


@pytest.mark.parametrize(
    "comparator", [L2Ball(2.0), L1Ball(2.0), Simplex(2.0), Box(-0.5, 0.5), Box(-0.5, 0.25)], ids=lambda c: str(c)
)
def test_trace_against_other_comparators(comparator: Any) -> None:
    """A norm of θ gives the support function of balls; of other sets nothing is claimed."""
    X, y = labelled(50)
    run = train(zoo.ogd(Hinge(), 0.1), X, y, comparator=comparator)
    last = run.trace.linear_regret[-1]
    assert np.isnan(last) if comparator == Box(-0.5, 0.25) else last == pytest.approx(run.linear_regret())


@every([CASES[k] for k in (1, 5, 7, 12, -1)])
def test_plots_are_pictures(composition: Composition, tmp_path: Path) -> None:
    run = begin(composition).learn(*sample(composition, 6))
    figure = run.plot(tmp_path / "run.png")
    picture = (tmp_path / "run.png").read_bytes()
    assert picture.startswith(b"\x89PNG")
    assert len(picture) > 10_000
    above, below = figure.axes
    assert above.get_ylabel() == "loss per round so far"
    best, drawn = run.certificate, run.trace.theorem
    apart = best.id != drawn and best.premises_hold and not best.bound >= 0.99 * run.trace.bound[-1]
    tighter = [f"in the end ({best.id})"] if apart else []
    assert [line.get_label() for line in below.get_lines()] == [f"bound ({drawn})", *tighter, "linearised regret"]
    assert below.get_title() == f"against {best.rivals()}"


def test_plots_without_matplotlib_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(LowRegretError, match=r"pip install 'lowregret\[plot\]'"):
        train(zoo.perceptron(), [[1.0]], [1]).plot()


# ---- files ----------------------------------------------------------------------------------------------------------


def damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-3] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (damaged, "damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-1]), "damaged"),
        (lambda path: path.write_text("a model, honestly"), "not a lowregret file"),
        (lambda path: path.unlink(), "there is no file"),
    ],
)
def test_files_that_cannot_be_read(harm: Callable[[Path], object], message: str, tmp_path: Path) -> None:
    path = train(zoo.perceptron(), [[1.0]], [1]).save(tmp_path / "run")
    harm(path)
    with pytest.raises(StoreError, match=message):
        LinearRun.load(path)


def test_a_run_that_cannot_be_written_stays_as_it_is(tmp_path: Path) -> None:
    run = train(zoo.perceptron(), [[1.0]], [1])
    before = bits(run)
    with pytest.raises(StoreError, match="cannot write"):
        run.save(tmp_path / "missing" / "run")
    assert bits(run) == before


def test_a_users_own_part_must_be_known_to_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lowregret.compile.part import Part

    path = train(Linear(Flat(), ProjectedGradient(L2Ball(), Constant(0.1))), [[1.0]], [1], compiled=False).save(
        tmp_path / "run"
    )
    assert LinearRun.load(path).learner.loss == Flat()
    monkeypatch.delitem(Part.registry, "tests.run.test_run:Flat")
    with pytest.raises(StoreError, match=r"unknown part 'tests\.run\.test_run:Flat': if it is your own"):
        LinearRun.load(path)


@pytest.mark.parametrize("loss", [Hinge(), Logistic(), Affine(Logistic(), 2.0, -1.0)])
def test_classes_are_the_signs_of_decisions(loss: Margin) -> None:
    X, y = labelled()
    run = train(zoo.ogd(loss), X, y, compiled=False)
    scores = run.decision_function(X)
    decided = [loss.decision(p) for p in scores]
    assert run.predict(X).tolist() == [1.0 if d >= 0 else -1.0 for d in decided]
    if isinstance(loss, Hinge):
        with pytest.raises(PartError, match="Hinge gives scores, not probabilities"):
            run.predict_proba(X)
    else:
        chances = run.predict_proba(X)
        np.testing.assert_allclose(chances[:, 1], 1 / (1 + np.exp(-np.array(decided))), rtol=1e-12)
        np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-15)


def test_numbers_are_forecasts_of_the_label() -> None:
    X, _ = labelled()
    counts = np.arange(len(X)) % 4
    cases: list[tuple[Loss, Any]] = [(Square(), lambda p: p), (Poisson(), np.exp)]
    for loss, forecast in cases:
        run = train(zoo.adagrad(loss, 0.1), X, counts, compiled=False)
        assert run.predict(X).tobytes() == forecast(run.decision_function(X)).tobytes()


def test_threads_do_not_learn_at_the_same_time() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(2000, 5)), np.sign(rng.normal(size=2000))
    run, refused = train(zoo.ogd(Logistic(), 0.1), X[:10], y[:10]), list[str]()

    def go_on() -> None:
        for i in range(10, 2000, 10):
            try:
                run.learn(X[i : i + 10], y[i : i + 10])
            except PartError as error:
                refused.append(str(error))

    threads = [threading.Thread(target=go_on) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert run.rounds == 10 * (1 + 3 * 199 - len(refused))
    assert all(said.startswith("another thread is learning with this run") for said in refused)
    assert run.learn(X[:10], y[:10]).rounds == 10 * (2 + 3 * 199 - len(refused))
