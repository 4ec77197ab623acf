"""Online ranking by experts and by scores."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Constant, DataError, DivergedError, Euclidean, L2Ball, MirrorDescent
from lowregret.bandit import ExpertRanking, ScoreRanking
from lowregret.certificate import certificates


def test_experts_regret_in_positions() -> None:
    """Expected positions against the best expert, exactly, under the certificate, which is × (k − 1)."""
    rng, ranking = np.random.default_rng(0), ExpertRanking(4, 5, 0.3, seed=1)
    of_experts, expected = np.zeros(4), 0.0
    for _ in range(300):
        orders = np.array([rng.permutation(5) for _ in range(4)])
        item = int(orders[2, 0]) if rng.random() < 0.6 else int(rng.integers(5))
        places = np.argmax(orders == item, axis=1) + 1
        expected += float(ranking.descent.point @ places)
        shown = ranking.rank(orders)
        position = ranking.learn(item).position
        assert shown[position - 1] == item
        of_experts += places
    regret = expected - np.min(of_experts)
    for certificate in ranking.certificates:
        assert certificate.linear_regret == pytest.approx(regret)
        assert certificate.holds
    assert 1 <= ranking.mean_position < 3
    assert 0.2 <= ranking.mean_reciprocal_rank <= 1
    assert ranking.rounds == 300


def test_scores_learn_and_the_surrogate_stays_above() -> None:
    rng, ranking = np.random.default_rng(2), ScoreRanking(MirrorDescent(Euclidean(L2Ball(3.0)), Constant(0.1)), 5)
    u, loss, best = rng.normal(size=5), 0.0, 0.0
    u *= 3 / np.linalg.norm(u)
    for _ in range(400):
        features = rng.normal(size=(6, 5))
        item = int(np.argmax(features @ u))
        w, others = ranking.descent.point, np.arange(6) != item
        loss += float(np.sum(np.maximum(1 - (features[item] - features[others]) @ w, 0)))
        best += float(np.sum(np.maximum(1 - (features[item] - features[others]) @ u, 0)))
        order = ranking.rank(features)
        position = ranking.learn(item).position
        scores = features @ w
        assert position == 1 + np.sum(scores[others] >= scores[item])
        assert len(set(scores.tolist())) < 6 or order[position - 1] == item
    assert ranking.surrogate == pytest.approx(loss)
    assert ranking.mean_position - 1 <= loss / 400
    assert ranking.mean_reciprocal_rank > 0.8
    for certificate in ranking.certificates:
        assert certificate.holds
        assert loss - best <= (certificate.linear_regret or 0.0) + 1e-9


def test_one_item_and_ties() -> None:
    alone = ExpertRanking(2, 1, 0.1)
    assert alone.rank([[0], [0]]).tolist() == [0]
    assert alone.learn(0).position == 1
    tied = ScoreRanking(MirrorDescent(Euclidean(L2Ball(3.0)), Constant(0.1)), 2)
    tied.rank([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert tied.learn(0).position == 3  # all scores are 0: the others count as placed before it
    assert tied.surrogate == 2


def test_refusals() -> None:
    experts, scores = ExpertRanking(2, 3, 0.1), ScoreRanking(MirrorDescent(Euclidean(L2Ball(3.0)), Constant(0.1)), 2)
    for orders in ([[0, 1, 2]], [[0, 1, 1], [0, 1, 2]]):
        with pytest.raises(DataError, match="permutations"):
            experts.rank(orders)
    for ranking in (experts, scores):
        with pytest.raises(DataError, match="rank first"):
            ranking.learn(0)
    experts.rank([[0, 1, 2], [2, 1, 0]])
    with pytest.raises(DataError, match="no item 3"):
        experts.learn(3)
    for features in (np.zeros((3, 3)), np.zeros(2), [[np.nan, 0.0]]):
        with pytest.raises(DataError, match="features"):
            scores.rank(features)


@pytest.mark.parametrize("item", [0.5, "1", None, [0], -1])
def test_what_is_no_item_is_refused_and_changes_nothing(item: Any) -> None:
    experts, scores = ExpertRanking(2, 3, 0.1), ScoreRanking(MirrorDescent(Euclidean(L2Ball(3.0)), Constant(0.1)), 2)
    experts.rank([[0, 1, 2], [2, 1, 0]])
    scores.rank(np.eye(2))
    for ranking in (experts, scores):
        with pytest.raises(DataError, match="there is no item"):
            ranking.learn(item)
        assert ranking.rounds == 0
        assert ranking.learn(1).rounds == 1


def test_rounding_is_told_in_positions() -> None:
    """Of 1,001 items a cost of 1 is a thousand positions, and so is what rounding may add to it."""
    ranking = ExpertRanking(2, 1001, 0.1)
    for t in range(50):
        ranking.rank([np.roll(np.arange(1001), t), np.arange(1001)])
        ranking.learn(7 * t)
    found = certificates(ranking.descent.seat.learner, ranking.descent.seat.state, ranking.descent.comparator)
    assert [c.rounding for c in ranking.certificates] == [1000 * c.rounding for c in found]
    assert ranking.certificate.rounding > 0


def test_an_array_may_be_used_again_while_its_round_waits() -> None:
    rule = MirrorDescent(Euclidean(L2Ball(3.0)), Constant(0.1))
    scores, orders = ScoreRanking(rule, 2), ExpertRanking(2, 3, 0.1)
    features, table = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[0, 1, 2], [0, 1, 2]])
    scores.rank(features)
    orders.rank(table)
    features[:], table[:] = 0.0, [2, 1, 0]
    scores.learn(1)
    assert scores.descent.point.tolist() == pytest.approx([-0.1, 0.1])
    assert orders.learn(0).position == 1


def test_a_round_that_is_refused_leaves_the_ranking_as_it_was(tmp_path: Path) -> None:
    """The surrogate's loss is booked with the round, not before: an infinite one could never be saved again."""
    ranking = ScoreRanking(MirrorDescent(Euclidean(), Constant(0.1)), 2)
    ranking.rank([[1.0, 0.0], [2.0, 1.0]])
    ranking.learn(0)
    lost = ranking.surrogate
    for far in ([[1e308, 1e308], [-1e308, -1e308]], [[1e308, -1e308], [-1e308, 1e308]]):
        ranking.rank(far)
        with pytest.raises(DivergedError, match="scale the features down"):
            ranking.learn(0)
    assert (ranking.rounds, ranking.surrogate) == (1, lost)
    ranking.save(tmp_path / "ranking.lr")
    ranking.rank([[1.0, 0.0], [2.0, 1.0]])
    assert ranking.learn(1).rounds == 2
