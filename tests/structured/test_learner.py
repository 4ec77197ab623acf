"""Structured learners: as the textbook writes them, compiled as interpreted, split as unbroken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import lowregret
from lowregret.domain import L2Ball, Reals
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.learner.multiclass import Multiclass
from lowregret.loss.multiclass import MultiHinge, MultiLoss, PerceptronLoss
from lowregret.mirror import Euclidean
from lowregret.output import Average, Last, Random, WeightedAverage
from lowregret.rule import MirrorDescent, ProjectedGradient, Rule
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime
from lowregret.structured import (
    Chain,
    Classes,
    LabelTree,
    Sequences,
    Structured,
    StructuredRun,
    sequences,
    structured_perceptron,
    structured_svm,
)
from lowregret.train import train
from tests.structured.naive import Step, structured
from tests.structured.problems import SPACES, pairs_of, sequence_problem

RULES: dict[str, tuple[Rule, Step]] = {
    "lazy": (MirrorDescent(Euclidean(), Constant(0.3)), Step(0.3)),
    "lazy on a ball": (MirrorDescent(Euclidean(L2Ball(1.5)), Constant(0.3)), Step(0.3, radius=1.5)),
    "adaptive": (MirrorDescent(Euclidean(), Adaptive(2.0)), Step(2.0, adaptive=True)),
    "eager on a ball": (ProjectedGradient(L2Ball(1.5), InverseSqrt(0.7)), Step(0.7, 0.5, 1.5, eager=True)),
    "ridge": (ProjectedGradient(Reals(), InverseTime(0.2)), Step(5.0, 1.0, eager=True, ridge=0.2)),
}


def run_of(learner: Any, data: Any, *args: Any, **options: Any) -> StructuredRun:
    run = train(learner, data, *args, **options)
    assert isinstance(run, StructuredRun)
    return run


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("margin", [0.0, 1.0, 0.4])
@pytest.mark.parametrize("space", SPACES)
def test_learners_are_the_textbooks(space: str, margin: float, rule: str) -> None:
    shipped, naive = SPACES[space]
    data = sequence_problem(shipped, 12, seed=3)
    theirs = structured(naive, pairs_of(data), margin, RULES[rule][1])
    learner = Structured(shipped, RULES[rule][0], margin, Average(), RULES[rule][1].ridge)
    run = run_of(learner, data, compiled=False)
    np.testing.assert_allclose(run.point, theirs.points[-1], atol=1e-9)
    np.testing.assert_allclose(run.weights, theirs.points[:-1].mean(axis=0), atol=1e-9)
    assert run.predictions.tolist() == [label for made in theirs.made for label in made]
    assert run.loss == pytest.approx(theirs.losses.sum())
    assert run.mistakes == sum(made != y for made, (_, y) in zip(theirs.made, pairs_of(data), strict=True))
    assert run.error == np.mean(run.predictions != data.labels)


def test_the_perceptron_learns_from_mistakes_only_and_its_step_changes_no_prediction() -> None:
    data = sequence_problem(Chain(3), 40)
    runs = [
        run_of(Structured(Chain(3), MirrorDescent(Euclidean(), Constant(eta)), 0.0), data, compiled=False)
        for eta in (1, 8)
    ]
    assert runs[0].predictions.tolist() == runs[1].predictions.tolist()
    np.testing.assert_allclose(8 * runs[0].weights, runs[1].weights)
    assert 0 < runs[0].mistakes < 40


@pytest.mark.usefixtures("interpreted")
def test_classes_are_the_multiclass_perceptron_to_the_last_bit() -> None:
    data = sequence_problem(Classes(4), 200)
    w, mistakes = np.zeros((4, data.features.shape[1])), 0
    for x, y in zip(data.features, data.labels, strict=True):
        guess = int(np.argmax([sum(a * b for a, b in zip(row, x, strict=True)) for row in w]))
        if guess != y:
            w[y] += x
            w[guess] -= x
            mistakes += 1
    run = run_of(structured_perceptron(Classes(4), Average()), data.features, data.labels)
    assert run.mistakes == mistakes
    np.testing.assert_array_equal(run.space.blocks(run.point, run.features)["classes"].T, w)


@pytest.mark.parametrize(("loss", "margin"), [(PerceptronLoss(), 0.0), (MultiHinge(), 1.0)])
def test_classes_are_the_multiclass_learner(loss: MultiLoss, margin: float) -> None:
    data, rule = sequence_problem(Classes(4), 60), MirrorDescent(Euclidean(), Constant(0.5))
    theirs = train(Multiclass(loss, rule), data.features, data.labels, classes=range(4), compiled=False)
    run = run_of(Structured(Classes(4), rule, margin), data, compiled=False)
    assert run.mistakes == theirs.mistakes
    np.testing.assert_allclose(run.blocks["classes"], theirs.weights, atol=1e-12)


COMPILED = {
    "perceptron chain": structured_perceptron(Chain(3), Average()),
    "svm chain on a ball": Structured(Chain(3), ProjectedGradient(L2Ball(1.5), InverseSqrt(0.7)), 1.0, Average()),
    "svm tree": structured_svm(SPACES["tree"][0], output=Random(5)),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_is_interpreted_and_split_is_unbroken(name: str, tmp_path: Path) -> None:
    learner = COMPILED[name]
    data = sequence_problem(learner.space, 60)
    run, slow = run_of(learner, data), run_of(learner, data, compiled=False)
    assert_same(run, slow)
    assert run.predictions.tolist() == slow.predictions.tolist()
    split = run_of(learner, data[:1])
    split.save(tmp_path / "one.lr")
    resumed = lowregret.load(tmp_path / "one.lr")
    assert isinstance(resumed, StructuredRun)
    resumed.learn(data[1:23]).learn(data[23:])
    assert_same(run, resumed)
    assert_same(run, run_of(learner, data[0:60]))


@pytest.mark.usefixtures("interpreted")
def test_sequence_by_sequence_is_a_batch_and_sparse_is_dense() -> None:
    learner = COMPILED["perceptron chain"]
    data = sequence_problem(Chain(3), 30)
    data = Sequences(np.where(data.features > 0, data.features, 0.0), data.offsets, data.labels)
    run = run_of(learner, data)
    single = run_of(learner, data[:1])
    for t in range(1, 30):
        single.learn(data[t])
    assert_same(run, single)
    sparse = Sequences(csr_matrix(data.features), data.offsets, data.labels)
    assert_same(run, run_of(learner, sparse))
    assert run.predict(sparse).tolist() == run.predict(data).tolist()


def assert_same(run: StructuredRun, other: StructuredRun) -> None:
    """Bit for bit: state, figures, history."""
    for mine, theirs in zip(run.state, other.state, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert run.figures.tobytes() == other.figures.tobytes()
    assert run.trace.loss.tobytes() == other.trace.loss.tobytes()


def test_saving_keeps_names_and_learner(tmp_path: Path) -> None:
    data = sequence_problem(Chain(3), 20)
    names = np.array(["z", "a", "m"])[data.labels]
    run = run_of(structured_perceptron(Chain(3)), sequences(data.features, names, lengths=data.lengths), compiled=False)
    other = lowregret.load(run.save(tmp_path / "named.lr"))
    assert isinstance(other, StructuredRun)
    assert (other.names, other.learner) == (run.names, run.learner)
    assert set(other.predict(data)) <= {"z", "a", "m"}
    with pytest.raises(DataError, match="names before"):
        other.learn(data)


def test_names_are_numbered_as_they_are_met_whatever_the_batches() -> None:
    data = sequence_problem(Chain(3), 20)
    named = sequences(data.features, np.array(["z", "a", "m"])[data.labels], lengths=data.lengths)
    run = run_of(structured_perceptron(Chain(3)), named, compiled=False)
    split = run_of(structured_perceptron(Chain(3)), named[:3], compiled=False).learn(named[3:])
    assert run.names == split.names
    assert_same(run, split)
    assert list(dict.fromkeys(named.labels.tolist())) == run.names
    assert np.mean(run.predictions != named.labels) == run.error


def test_outputs() -> None:
    data = sequence_problem(Classes(4), 25)
    theirs = structured(SPACES["classes"][1], pairs_of(data), 1.0, Step(0.3))
    points = theirs.points[:-1]
    kept = {
        Last(): theirs.points[-1],
        Average(): points.mean(axis=0),
        WeightedAverage(): np.average(points, axis=0, weights=np.arange(2, 27)),
    }
    for output, expected in kept.items():
        run = run_of(
            Structured(Classes(4), MirrorDescent(Euclidean(), Constant(0.3)), 1.0, output), data, compiled=False
        )
        np.testing.assert_allclose(run.weights, expected, atol=1e-12)
    drawn = run_of(structured_svm(Classes(4), 0.3, Random(2)), data, compiled=False).weights
    assert np.min(np.abs(points - drawn).max(axis=1)) < 1e-12


def test_what_cannot_be_learnt_is_refused() -> None:
    data = sequence_problem(Chain(3), 5)
    run = run_of(structured_perceptron(Chain(3)), data, compiled=False)
    before = run.state.copy()
    with pytest.raises(DataError, match=r"sequence 1, position 0: label 3.*0 … 2"):
        run.learn(sequences(np.ones((3, 3)), [0, 2, 3], lengths=[2, 1]))
    with pytest.raises(DataError, match="2 features, the learner 3"):
        run.learn(sequences(np.ones((2, 2)), [0, 1], lengths=[2]))
    with pytest.raises(DataError, match="there are no labels"):
        run.learn(sequences(np.ones((2, 3)), lengths=[2]))
    with pytest.raises(DataError, match="needs sequences"):
        run.learn(np.ones((2, 3)), [0, 1])
    with pytest.raises(DataError, match="numbers before"):
        run.learn(sequences(np.ones((2, 3)), ["a", "b"], lengths=[2]))
    assert all(a.tobytes() == b.tobytes() for a, b in zip(before, run.state, strict=True))
    with pytest.raises(DataError, match="'c' is new, and Chain"):
        train(structured_perceptron(Chain(2)), sequences(np.ones((3, 1)), ["a", "b", "c"], lengths=[3]))
    with pytest.raises(DataError, match="one row at a time"):
        train(structured_perceptron(Classes(3)), data)
    huge = sequences(np.full((3, 1), 1e200), [1, 0, 1], lengths=[1, 1, 1])
    with pytest.raises(DivergedError, match="sequence 0"):  # before anything of it is learnt
        train(Structured(Chain(2), MirrorDescent(Euclidean(), Constant(1.0))), huge, compiled=False)


def test_compositions_that_make_no_sense_are_refused() -> None:
    with pytest.raises(PartError, match="argmax"):
        Structured(object(), MirrorDescent(Euclidean(), Constant(1.0)))
    with pytest.raises(PartError, match="margin"):
        Structured(Chain(2), MirrorDescent(Euclidean(), Constant(1.0)), -1.0)
    with pytest.raises(PartError, match="ridge"):
        Structured(Chain(2), MirrorDescent(Euclidean(), Constant(1.0)), ridge=1.0)
    with pytest.raises(PartError, match="neither weights"):
        train(structured_perceptron(Classes(2)), [[1.0]], [0], [1.0])  # type: ignore[call-overload]


@pytest.mark.usefixtures("interpreted")
def test_groups_that_were_changed_are_looked_at_again() -> None:
    data = sequences(np.ones((8, 2)), np.zeros(8, int), lengths=[4, 4])
    run = train(structured_perceptron(Chain(2)), data)
    data.offsets[1] = 10**9
    for call in (run.learn, run.predict):
        with pytest.raises(DataError, match="offsets"):
            call(data)
    with pytest.raises(DataError, match="no rows"):
        run.predict(sequences(np.ones((8, 2)), lengths=[4, 4])[:0])


def test_gradients_are_added_to_a_vector_that_has_room() -> None:
    """Compiled loops wrote beyond a shorter one, and read importances of rounds that were not learnt."""
    data = sequences(np.eye(4), [0, 1, 1, 0], lengths=[2, 2])
    run = train(structured_svm(Chain(2)), data)
    u = np.zeros(run.dimension)
    unfit: list[Any] = [np.zeros(1), np.zeros(run.dimension, np.int8)]
    for gradient in unfit:
        with pytest.raises(DataError, match="gradient"):
            run.losses(u, data, gradient=gradient)
    with pytest.raises(DataError, match="learnt"):
        run.losses(u, data[:1], gradient=np.zeros(run.dimension))
    gradient = np.ones(run.dimension)
    run.losses(u, data, gradient=gradient)
    fresh = np.zeros(run.dimension)
    run.losses(u, data, gradient=fresh)
    assert np.allclose(gradient - 1, fresh)


def test_a_batch_that_is_refused_names_no_label() -> None:
    data = sequences(np.ones((2, 3)), ["a", "b"], lengths=[2])
    run: Any = train(structured_perceptron(Chain(3)), data)
    with pytest.raises(DataError, match="features"):
        run.learn(sequences(np.ones((2, 5)), ["x", "x"], lengths=[2]))
    assert run.learn(sequences(np.ones((2, 3)), ["c", "c"], lengths=[2])).names == ["a", "b", "c"]


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("space", [Chain(3, ends=False), Classes(3), LabelTree([-1, -1, -1])])
def test_a_margin_is_not_lost_beside_large_scores(space: Any) -> None:
    """Two labels score 2e16 both, beside which a margin of 1 is nothing; the round costs it all the same."""
    learner = Structured(space, MirrorDescent(Euclidean(), Constant(0.125)), 1.0)
    large = float(2**57)
    x = np.array([[1.0, 0.0], [0.0, 1.0], [large, large]])
    data = sequences(x, [1, 2, 1], lengths=[1, 1, 1])
    run: Any = train(learner, data)
    gamma = 2.0 if isinstance(space, LabelTree) else 1.0
    assert run.loss == 3 * gamma
    before = train(learner, data[:2])
    assert before.losses(before.point, data[2:]).tolist() == [gamma]
