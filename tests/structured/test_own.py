"""Spaces of one's own, in plain Python."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import lowregret
from lowregret.compile.part import Part
from lowregret.domain import L2Ball
from lowregret.errors import DataError, PartError, StoreError
from lowregret.output import Average
from lowregret.rule import ProjectedGradient
from lowregret.step import InverseSqrt
from lowregret.structured import Chain, OwnRun, Structured, StructuredRun, structured_perceptron, structured_svm
from lowregret.train import train
from tests.structured.naive import NaiveChain, Structure, Vector
from tests.structured.problems import FEATURES, pairs_of, sequence_problem


class Matchings(Part):
    """Permutations of n rows: item i goes to place π(i), ψ = Σ_i x_i in the block of its place; solved exactly."""

    compilable: ClassVar[bool] = False
    places: int
    features: int

    @property
    def dimension(self) -> int:
        return self.places * self.features

    def argmax(self, w: Vector, x: Vector, y: Structure | None = None) -> Structure:
        scores = x @ w.reshape(self.places, self.features).T
        if y is not None:
            scores = scores + 1.0
            scores[np.arange(len(x)), list(y)] -= 1.0
        return tuple(linear_sum_assignment(-scores)[1].tolist())

    def psi(self, x: Vector, y: Structure) -> Vector:
        blocks = np.zeros((self.places, self.features))
        blocks[list(y)] = x
        return blocks.ravel()

    def cost(self, y: Structure, other: Structure) -> float:
        return float(sum(a != b for a, b in zip(y, other, strict=True)))

    def runner_up(self, w: Vector, x: Vector, y: Structure) -> Structure:
        others = [s for s in itertools.permutations(range(self.places)) if s != y]
        return max(others, key=lambda s: float(w @ self.psi(x, s)))


class OwnChain(NaiveChain):
    """A chain by listing, as a plain object."""

    def argmax(self, w: Vector, x: Vector, y: Structure | None = None) -> Structure:
        return self.best(w, x, y, 1.0)


def matchings(rounds: int) -> list[tuple[Vector, Structure]]:
    rng = np.random.default_rng(0)
    w, space = rng.normal(size=6), Matchings(3, 2)
    x = rng.normal(size=(rounds, 3, 2))
    return [(rows, space.argmax(w + 0.2 * rng.normal(size=6), rows)) for rows in x]


@pytest.mark.parametrize("margin", [0.0, 1.0, 0.5])
def test_a_chain_of_ones_own_is_the_chain(margin: float) -> None:
    data = sequence_problem(Chain(3), 25, longest=3)
    rule = ProjectedGradient(L2Ball(2.0), InverseSqrt(0.5))
    theirs = train(Structured(Chain(3), rule, margin, Average()), data, compiled=False)
    own = train(Structured(OwnChain(FEATURES, 3), rule, margin, Average()), pairs_of(data), compiled=False)
    assert isinstance(own, OwnRun)
    assert isinstance(theirs, StructuredRun)
    np.testing.assert_allclose(own.weights, theirs.weights, atol=1e-10)
    assert own.mistakes == theirs.mistakes
    assert own.loss == pytest.approx(theirs.loss)
    assert [label for made in own.predictions for label in made] == theirs.predictions.tolist()
    u = np.random.default_rng(0).normal(size=own.dimension)
    np.testing.assert_allclose(own.losses(u, pairs_of(data)), theirs.losses(u, data))


def test_permutations(tmp_path: Path) -> None:
    pairs = matchings(150)
    run = train(structured_svm(Matchings(3, 2)), pairs[:100], comparator=L2Ball(2.0), compiled=False)
    assert isinstance(run, OwnRun)
    resumed = lowregret.load(run.save(tmp_path / "own.lr"))
    assert isinstance(resumed, OwnRun)
    assert all(a.tobytes() == b.tobytes() for a, b in zip(resumed.state, run.state, strict=True))
    resumed.learn([x for x, _ in pairs[100:]], [y for _, y in pairs[100:]])
    run.learn(pairs[100:])
    assert resumed.weights.tobytes() == run.weights.tobytes()
    wrong = [made != y for made, (_, y) in zip(run.predict([x for x, _ in pairs]), pairs, strict=True)]
    assert np.mean(wrong) < 0.4 < 1 - 1 / 6
    best = run.hindsight(pairs, tolerance=1e-4)
    assert run.regret(best.w, pairs) <= run.linear_regret() + 1e-9
    assert run.certificate.holds


def test_compiled_descent_is_the_interpreted_one() -> None:
    pairs = matchings(40)
    runs = [train(structured_svm(Matchings(3, 2)), pairs, compiled=compiled) for compiled in (True, False)]
    assert runs[0].weights.tobytes() == runs[1].weights.tobytes()
    assert runs[0].trace.loss.tobytes() == runs[1].trace.loss.tobytes()


def test_mistake_bounds() -> None:
    pairs = matchings(80)
    run = train(structured_perceptron(Matchings(3, 2)), pairs, compiled=False)
    assert isinstance(run, OwnRun)
    found = {c.id: c for c in run.mistake_certificates(run.weights / 20, pairs)}
    assert {"MC-OBS", "PERC-ROOT", "THM-14.2"} <= found.keys()
    assert all(c.holds for c in found.values() if c.premises_hold)
    assert run.drawn_error(run.weights, pairs).bound > run.error / 2
    with pytest.raises(DataError, match="80 rounds"):
        run.mistake_certificates(run.weights, pairs[1:])
    chain = train(structured_perceptron(OwnChain(FEATURES, 3)), pairs_of(sequence_problem(Chain(3), 9)), compiled=False)
    assert isinstance(chain, OwnRun)
    with pytest.raises(PartError, match="runner_up"):
        chain.drawn_error(chain.weights, pairs)


class Signs:
    """±1 by the sign of w·x: the simplest space, whose methods the tests spoil."""

    dimension: Any = 1
    found: Any = None

    def argmax(self, w: Vector, x: float, y: int | None = None) -> int:
        return max((1, -1), key=lambda s: s * x * w[0] + (y is not None and s != y))

    def psi(self, x: float, y: int) -> Any:
        return {0: x * y} if self.found is None else self.found

    def cost(self, y: int, other: int) -> float:
        return float(y != other)


@pytest.mark.parametrize("psi", [lambda x, y: {0: x * y}, lambda x, y: ([0], [x * y]), lambda x, y: np.array([x * y])])
def test_joint_features_in_all_forms(psi: Any) -> None:
    space = Signs()
    space.psi = psi  # type: ignore[method-assign]
    run = train(structured_svm(space, 0.5), [(1.0, 1), (2.0, -1), (1.0, 1)], compiled=False)
    plain = train(structured_svm(Signs(), 0.5), [(1.0, 1), (2.0, -1), (1.0, 1)], compiled=False)
    assert run.weights.tolist() == plain.weights.tolist()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"argmax": lambda w, x, y=None: 1 if y is None else -y}, "argmax did not find the best"),
        ({"found": {1: 1.0}}, "finite values at 0 … 0"),
        ({"found": {0: np.nan}}, "finite values"),
        ({"found": ([0], [1.0, 2.0])}, "1 indices and 2 values"),
        ({"found": np.ones(3)}, "0 indices and 3 values"),
        ({"cost": lambda y, other: -1.0}, "finite number ≥ 0"),
        ({"dimension": 0}, "number of weights"),
    ],
)
def test_spaces_that_are_wrong_are_found_out(changes: dict[str, Any], message: str) -> None:
    space = Signs()
    for name, value in changes.items():
        setattr(space, name, value)
    with pytest.raises(PartError, match=message):
        train(structured_svm(space, 5.0), [(1.0, 1)] * 5, compiled=False)


def test_plain_objects_learn_but_cannot_be_saved(tmp_path: Path) -> None:
    run = train(structured_svm(Signs()), [1.0, -1.0], [1, -1], compiled=False)
    with pytest.raises(StoreError, match="cannot be written"):
        run.save(tmp_path / "signs.lr")
    with pytest.raises(DataError, match="2 inputs and 1 structures"):
        run.learn([1.0, 2.0], [1])
    with pytest.raises(DataError, match="expected pairs"):
        run.learn([1.0, 2.0])


class Flattering(Matchings):
    """Says that y, once given, is best, whatever scores more."""

    def argmax(self, w: Vector, x: Vector, y: Structure | None = None) -> Structure:
        return super().argmax(w, x) if y is None else y


def test_what_scores_more_than_y_is_found_out_where_it_is_predicted() -> None:
    """Losses were 0 in all rounds, and so was the certified regret, although most of them were predicted wrongly."""
    pairs = matchings(20)
    with pytest.raises(PartError, match=r"argmax did not find the best structure: \(.*\) scores more by"):
        train(structured_svm(Flattering(3, 2), 0.1), pairs, compiled=False)
    run = train(structured_svm(Matchings(3, 2), 0.1), pairs, compiled=False)
    assert [p.holds for p in run.certificate.premises if p.name.startswith("argmax finds")] == [True]
    assert run.certificate.holds


class Modest(Matchings):
    """Says of the worst structure that it comes second."""

    def runner_up(self, w: Vector, x: Vector, y: Structure) -> Structure:
        others = [s for s in itertools.permutations(range(self.places)) if s != y]
        return min(others, key=lambda s: float(w @ self.psi(x, s)))


def test_a_runner_up_that_is_not_second_is_found_out() -> None:
    """Margins were those to the worst structures, and bounds on mistakes below the mistakes."""
    pairs = matchings(80)
    run = train(structured_perceptron(Modest(3, 2)), pairs, compiled=False)
    u = run.weights / 20
    assert isinstance(run, OwnRun)
    for question in (lambda: run.mistake_certificates(u, pairs), lambda: run.drawn_error(u, pairs)):
        with pytest.raises(PartError, match=r"pair \d+: runner_up did not find the best structure other than y: \("):
            question()
    sound = train(structured_perceptron(Matchings(3, 2)), pairs, compiled=False)
    assert isinstance(sound, OwnRun)
    found = {c.id: [p.name for p in c.premises] for c in sound.mistake_certificates(u, pairs)}
    said = {name: any(p.startswith("runner_up finds") for p in premises) for name, premises in found.items()}
    assert said == {"MC-OBS": False, "PERC-ROOT": False, "THM-14.2": True}
    assert any(p.name.startswith("runner_up finds") for p in sound.drawn_error(u, pairs).premises)


class Reused(Signs):
    """Writes what it finds into one array."""

    def __init__(self) -> None:
        self.out = np.zeros(1)

    def argmax(self, w: Vector, x: float, y: Any = None) -> Any:
        self.out[0] = super().argmax(w, x, None if y is None else y[0])
        return self.out

    def psi(self, x: float, y: Any) -> Any:
        return {0: x * y[0]}

    def cost(self, y: Any, other: Any) -> float:
        return float(y[0] != other[0])


def test_arrays_that_are_written_again_are_what_they_were() -> None:
    """Predictions were those of the latest pair, and mistakes those of structures that cost more."""
    x, y = [1.0, 2.0, -1.0, 3.0, -2.0], [1, -1, -1, 1, -1]
    plain = train(structured_svm(Signs(), 1.0), x, y, compiled=False)
    run = train(structured_svm(Reused(), 1.0), x, [np.array([float(s)]) for s in y], compiled=False)
    assert isinstance(run, OwnRun)
    assert isinstance(plain, OwnRun)
    assert [made[0] for made in run.predictions] == plain.predictions
    assert (run.mistakes, run.loss) == (plain.mistakes, plain.loss)
