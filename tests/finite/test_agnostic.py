"""ALG-AGNOSTIC: grouped is brute force; every hypothesis is some expert; certificates; restarts."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, PartError
from lowregret.certificate import Certificate, Premise
from lowregret.finite import Agnostic, Halving, Hypotheses, Littlestone, Restarting, WeightedMajority, make_hypotheses
from lowregret.finite.agnostic import log_choices
from tests.finite.naive import (
    all_experts,
    random_class,
    weighted_majority,
)


@pytest.mark.parametrize("rounds", [1, 2, 3, 5, 8, 10])
def test_grouped_is_brute_force(rounds: int) -> None:
    rng = np.random.default_rng(rounds)
    for _ in range(12):
        matrix = random_class(rng, 9, 4)
        points, labels = rng.integers(matrix.shape[1], size=rounds).tolist(), rng.integers(2, size=rounds).tolist()
        said = np.array(all_experts(matrix, points), float)
        learner = Agnostic(Hypotheses(matrix), rounds)
        assert math.exp(learner.log_experts) == pytest.approx(len(said))
        expected = weighted_majority(said, labels, learner.eta)
        for x, y, p in zip(points, labels, expected, strict=True):
            assert learner.predict(x) == pytest.approx(p, abs=1e-12)
            learner.learn(x, y)
        assert learner.loss == pytest.approx(np.abs(np.array(expected) - labels).sum())
        assert learner.certificate.holds


def test_pascal() -> None:
    """Experts of a node are those that flip now and those that do not."""
    for left, most in itertools.product(range(1, 12), range(1, 5)):
        whole = math.exp(log_choices(left, most))
        assert whole == pytest.approx(math.exp(log_choices(left - 1, most)) + math.exp(log_choices(left - 1, most - 1)))


def test_nodes_stay_few_where_experts_are_many() -> None:
    h = make_hypotheses("thresholds:128")
    rounds = 2000
    learner = Agnostic(h, rounds)
    rng = np.random.default_rng(1)
    for _ in range(60):
        x = int(rng.integers(h.points))
        learner.learn(x, int(x < 70) ^ int(rng.random() < 0.2))
        assert len(learner.nodes) <= len(h) + learner.depth + 1
    assert learner.log_experts > math.log(1e19)
    assert learner.certificate.holds


def test_textbook_example() -> None:
    """THM-3.6's example."""
    assert math.exp(log_choices(100, 2)) == pytest.approx(5051)
    assert math.sqrt(100 * log_choices(100, 2) / 2) == pytest.approx(20.65, abs=0.005)


@pytest.mark.parametrize("seed", range(4))
def test_certificate_against_an_adversary_that_does_not_see_the_coin(seed: int) -> None:
    rng = np.random.default_rng(seed)
    h, rounds = Hypotheses(random_class(rng, 12, 5)), 60
    for learner in (Agnostic(h, rounds), WeightedMajority(h, rounds)):
        for _ in range(rounds):
            x = int(rng.integers(h.points))
            learner.learn(x, int(learner.predict(x) < 0.5))
            assert learner.certificate.holds
        logarithm = learner.log_experts if isinstance(learner, Agnostic) else math.log(len(h))
        if logarithm > 0.7:
            assert learner.certificate.bound == pytest.approx(math.sqrt(rounds * logarithm / 2))


@pytest.mark.parametrize("kind", [Agnostic, WeightedMajority])
def test_restarts_where_the_number_of_rounds_is_unknown(kind: type[Agnostic] | type[WeightedMajority]) -> None:
    rng = np.random.default_rng(6)
    h = make_hypotheses("thresholds:9")
    learner = Restarting(kind, h)
    blocks = []
    for t in range(1, 41):
        x = int(rng.integers(h.points))
        learner.learn(x, int(learner.predict(x) < 0.5))
        assert learner.certificate.holds
        if t + 1 in (2, 4, 8, 16, 32):
            blocks.append(learner.block.certificate.bound)
    assert learner.length == 32
    assert learner.certificate.bound == pytest.approx(sum(blocks) + learner.block.certificate.bound)
    if kind is WeightedMajority:
        assert learner.certificate.bound <= 3.4143 * math.sqrt(40 * math.log(9) / 2)


def test_what_makes_no_sense_is_refused() -> None:
    h = make_hypotheses("thresholds:4")
    with pytest.raises(PartError, match="rounds is how many"):
        Agnostic(h, 0)
    with pytest.raises(PartError, match="needs no restarts"):
        Restarting(lambda h, rounds: Halving(h), h)
    learner = Agnostic(h, 1, Littlestone(h))
    learner.learn(0, 1)
    with pytest.raises(DataError, match="made for 1 round and no more"):
        learner.predict(0)
    for x, y in ((3, 0), (0, 2)):
        with pytest.raises(DataError):
            WeightedMajority(h, 3).learn(x, y)


def test_premises_of_a_learner_of_ones_own_are_those_of_its_restarts() -> None:
    class Hopeful(WeightedMajority):
        """A learner whose first blocks were not what its theorem asks for."""

        @property
        def certificates(self) -> list[Certificate]:
            return [replace(self.proof, premises=(Premise("blocks are of 4 rounds or more", self.horizon >= 4),))]

    learner = Restarting(Hopeful, make_hypotheses("thresholds:4"))
    for t in range(8):
        learner.learn(t % 3, t % 2)
    assert learner.block.certificate.premises_hold
    assert not learner.certificate.premises_hold
    assert not learner.certificate.holds


@pytest.mark.parametrize("point", ["x", [1], True, 1.5, -1, 4])
def test_what_is_no_point_is_refused(point: Any) -> None:
    with pytest.raises(DataError, match="no point"):
        WeightedMajority(make_hypotheses("thresholds:4"), 4).learn(point, 1)


@pytest.mark.parametrize("rounds", ["x", True, 2.5, 0])
def test_what_is_no_number_of_rounds_is_refused(rounds: Any) -> None:
    for kind in (WeightedMajority, Agnostic):
        with pytest.raises(PartError, match="how many will be played"):
            kind(make_hypotheses("thresholds:4"), rounds)
