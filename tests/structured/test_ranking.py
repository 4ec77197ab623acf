"""Rankings: positions as sorting gives them, the surrogate above them, learning as the textbook writes it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lowregret
from lowregret.domain import L2Ball
from lowregret.errors import DataError, DivergedError, PartError
from lowregret.mirror import Euclidean
from lowregret.output import Average
from lowregret.rule import MirrorDescent, ProjectedGradient, Rule
from lowregret.step import Constant, InverseSqrt
from lowregret.structured import Chain, Choices, Ranking, RankingRun, choices, click_ranking, structured_svm
from lowregret.train import train
from tests.structured.naive import Step, ranking
from tests.structured.problems import click_problem, lists_of, sequence_problem

RULES: dict[str, tuple[Rule, Step]] = {
    "lazy": (MirrorDescent(Euclidean(), Constant(0.1)), Step(0.1)),
    "eager": (ProjectedGradient(L2Ball(1.0), InverseSqrt(0.3)), Step(0.3, 0.5, 1.0, eager=True)),
}


def run_of(learner: Ranking, data: Choices, compiled: bool = True) -> RankingRun:
    run = train(learner, data, compiled=compiled)
    assert isinstance(run, RankingRun)
    return run


@pytest.mark.parametrize("name", RULES)
def test_learning_is_the_textbooks(name: str) -> None:
    data = click_problem(40)
    rule, step = RULES[name]
    run, theirs = run_of(Ranking(rule, Average()), data, compiled=False), ranking(3, lists_of(data), step)
    np.testing.assert_allclose(run.point, theirs.points[-1], atol=1e-10)
    np.testing.assert_allclose(run.weights, theirs.points[:-1].mean(axis=0), atol=1e-10)
    assert run.positions.tolist() == theirs.made
    assert run.mean_position == pytest.approx(np.mean(theirs.made))
    assert run.mean_reciprocal_rank == pytest.approx(np.mean(1 / np.array(theirs.made)))
    assert run.error == np.mean(np.array(theirs.made) > 1)
    assert run.loss == pytest.approx(theirs.losses.sum())


@given(st.lists(st.lists(st.integers(-1, 1).map(float), min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_positions_with_ties_and_the_surrogate_above_them(lists: list[list[float]], data: st.DataObject) -> None:
    """One feature and a fixed weight, so that scores are the feature and ties are many."""
    chosen = [data.draw(st.integers(0, len(items) - 1)) for items in lists]
    shown = choices([(np.array(items)[:, None], y) for items, y in zip(lists, chosen, strict=True)])
    run = run_of(Ranking(MirrorDescent(Euclidean(), Constant(0.5))), shown, compiled=False)
    w = run.weights
    losses = run.losses(w, shown)
    for items, y, loss in zip(lists, chosen, losses, strict=True):
        scores = np.array(items) * w[0]
        position = 1 + sum(scores[j] >= scores[y] for j in range(len(items)) if j != y)
        assert position - 1 <= loss + 1e-12
        gaps = [1 - (scores[y] - scores[j]) for j in range(len(items)) if j != y]
        assert loss == pytest.approx(sum(max(gap, 0.0) for gap in gaps))
    assert run.figures[0] - run.rounds <= run.loss + 1e-9


def test_the_first_round_ties_all_items() -> None:
    run = run_of(click_ranking(), choices(np.eye(4), [2], lengths=[4]), compiled=False)
    assert run.positions.tolist() == [4]
    assert run.loss == 3


def test_one_item_is_always_first() -> None:
    run = run_of(click_ranking(), choices([[1.0], [2.0]], [0, 0], lengths=[1, 1]), compiled=False)
    assert (run.mean_position, run.loss, run.mistakes) == (1.0, 0.0, 0)


def test_compiled_is_interpreted_is_round_by_round_is_resumed(tmp_path: Path) -> None:
    data = click_problem(80, features=5)
    learner = Ranking(ProjectedGradient(L2Ball(2.0), InverseSqrt(0.4)), Average())
    run, slow = run_of(learner, data), run_of(learner, data, compiled=False)
    part = run_of(learner, data[:31])
    resumed = lowregret.load(part.save(tmp_path / "rank.lr"))
    assert isinstance(resumed, RankingRun)
    resumed.learn(data[31:])
    for other in (slow, resumed):
        assert all(a.tobytes() == b.tobytes() for a, b in zip(run.state, other.state, strict=True))
        assert run.figures.tobytes() == other.figures.tobytes()


def test_ranking_new_items() -> None:
    data = click_problem(60)
    run = run_of(click_ranking(), data, compiled=False)
    items = data[0].features
    order = run.rank(items)
    assert np.all(np.diff(run.predict(items)[order]) <= 0)
    assert "mean reciprocal rank" in str(run)
    with pytest.raises(DataError, match="2 features, the learner 3"):
        run.predict(np.ones((3, 2)))


def test_other_data_are_refused() -> None:
    with pytest.raises(PartError, match="learns Choices, not Sequences"):
        train(click_ranking(), sequence_problem(Chain(2), 3))
    with pytest.raises(PartError, match="learns Sequences, not Choices"):
        train(structured_svm(Chain(2)), click_problem(3))
    with pytest.raises(DataError, match="which item was chosen"):
        train(click_ranking(), choices(np.ones((2, 2)), lengths=[2]))


def test_arrays_that_were_changed_are_looked_at_again() -> None:
    """Compiled loops do not check bounds: an item that is not in its list was read from beyond the matrix."""
    data = choices(np.ones((8, 2)), [0, 1], lengths=[4, 4])
    run = train(click_ranking(), data)
    data.chosen[0] = 10**9
    with pytest.raises(DataError, match="list 0"):
        run.learn(data)
    for offsets in ([0, 4, 10**9], [0, -4, 8], [4, 4, 8], [0, 8, 8], [0.0, 4.0, 8.0], [[0, 8]]):
        with pytest.raises(DataError, match=r"offsets|list"):
            run.learn(Choices(np.ones((8, 2)), np.array(offsets), np.zeros(len(offsets) - 1, np.int64)))
    assert run.rounds == 2


@pytest.mark.parametrize("compiled", [False, True])
def test_scores_beyond_numbers_are_no_margin(compiled: bool) -> None:
    """⟨θ, ψ⟩ overflows before the rate makes it small: an infinite score of the chosen item is not above all others."""
    rows = np.array([[-7e150], [1e153], [1e141], [-2e156]])
    rule = MirrorDescent(Euclidean(L2Ball(5e-158)), Constant(2.5e-315))
    run = train(Ranking(rule), choices(rows[:2], [0], lengths=[2]), compiled=compiled)
    before = run.state.theta.copy()
    with pytest.raises(DivergedError):
        run.learn(choices(rows[2:], [1], lengths=[2]))
    assert (run.loss, run.rounds) == (1.0, 1)
    assert np.array_equal(run.state.theta, before)
