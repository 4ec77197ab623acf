"""Learners that keep a version space: mistakes counted against every adversary, certificates, what must fail."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lowregret.errors import PartError
from lowregret.finite import (
    Consistent,
    FiniteLearner,
    Halving,
    Hypotheses,
    Littlestone,
    StandardOptimal,
    SurrogateHalving,
    WeightedMajority,
    dimensions,
    make_hypotheses,
)
from lowregret.finite.hypotheses import size_of
from lowregret.finite.learner import VersionSpace
from tests.finite import naive
from tests.finite.naive import everyone, ldim, log2, random_class, surrogate_halving, weighted_majority

KEEPERS = [Consistent, Halving, StandardOptimal]


def worst(learner: VersionSpace, version: np.ndarray, known: dict[bytes, int]) -> int:
    """Most mistakes on any realisable sequence from this version space on: all points and labels are tried."""
    code = version.tobytes()
    if code not in known:
        found = 0
        for x in range(learner.hypotheses.points):
            learner.version = version
            p = learner.predict(x)
            for y in (0, 1):
                after = learner.hypotheses.agreeing(version, x, y)
                if after.any() and size_of(after) < size_of(version):
                    found = max(found, int(p != y) + worst(learner, after, known))
        known[code] = found
    return known[code]


def test_soa_against_every_adversary_makes_exactly_ldim_mistakes() -> None:
    rng = np.random.default_rng(0)
    for _ in range(1100):
        matrix = random_class(rng)
        h = Hypotheses(matrix)
        learner = StandardOptimal(h)
        assert (
            worst(learner, h.everything, {}) == learner.littlestone.of(h.everything) == ldim(matrix, everyone(matrix))
        )


@pytest.mark.parametrize("kind", [Consistent, Halving])
def test_others_against_every_adversary_keep_their_bounds_and_make_no_fewer(kind: type[VersionSpace]) -> None:
    rng = np.random.default_rng(1)
    for _ in range(300):
        h = Hypotheses(random_class(rng))
        most = log2(len(h)) if kind is Halving else len(h) - 1
        assert Littlestone(h).of(h.everything) <= worst(kind(h), h.everything, {}) <= most


@pytest.mark.parametrize("spec", ["thresholds:64", "random:200x30:seed=2", "intervals:6", "lists:3", "cube:4"])
@pytest.mark.parametrize("kind", KEEPERS)
def test_the_tree_adversary_forces_a_mistake_at_every_depth(kind: type[VersionSpace], spec: str) -> None:
    h = make_hypotheses(spec)
    found = dimensions(h)
    learner, i = kind(h), 0
    while i < len(found.tree):
        x = found.tree[i]
        y = 1 - int(learner.predict(x))
        learner.learn(x, y)
        i = 2 * i + 1 + y
    assert learner.loss == found.littlestone[0] == learner.rounds
    assert learner.certificate.holds
    if kind is StandardOptimal:
        assert learner.certificate.bound == learner.loss


@pytest.mark.parametrize("kind", [*KEEPERS, SurrogateHalving])
def test_certificates_hold_after_every_round_of_realisable_sequences(kind: type[FiniteLearner]) -> None:
    rng = np.random.default_rng(2)
    for _ in range(40):
        h = Hypotheses(random_class(rng, 40, 8))
        target = rng.integers(len(h))
        learner = kind(h)
        for x in rng.integers(h.points, size=15).tolist():
            assert learner.predict(x) in (0.0, 1.0)
            learner.learn(x, int(h.matrix[target, x]))
            assert learner.certificate.holds
            assert learner.certificate.regret == learner.loss


def test_consistent_can_be_as_bad_as_its_bound() -> None:
    """COR-1.1's example, h_i = 1[x = i], with the all-zero labels that nobody but the last allows."""
    h = make_hypotheses("singletons:9")
    learner = Consistent(h)
    for x in range(8):
        learner.learn(x, 0)
    assert learner.loss == learner.certificate.bound == 8
    assert learner.certificate.id == "COR-1.1"


def test_halving_can_be_as_bad_as_its_bound_and_says_1_if_even() -> None:
    learner = Halving(make_hypotheses("cube:3"))
    for x in range(3):
        assert learner.predict(x) == 1.0
        learner.learn(x, 0)
    assert learner.loss == learner.certificate.bound == 3


def test_textbook_example_of_four_thresholds() -> None:
    found = dimensions(make_hypotheses("thresholds:4"))
    assert (found.littlestone, found.vc) == ((2, 2), (1, 1))


@pytest.mark.parametrize("kind", KEEPERS)
def test_labels_nobody_realises_are_said_to_be_so(kind: type[VersionSpace]) -> None:
    """DEMO-COVER: both constants, and a label that is always the other one."""
    learner = kind(Hypotheses([[0], [1]]))
    rounds = 50
    for t in range(rounds):
        assert learner.certificate.premises_hold == (t < 2)
        learner.learn(0, 1 - int(learner.predict(0)))
    assert not learner.certificate.holds
    assert learner.certificate.premises[0].observed > 0
    assert learner.loss == rounds
    assert learner.regret >= math.ceil(rounds / 2)


def test_covers_adversary_gains_little_against_a_learner_that_draws() -> None:
    rounds = 200
    learner = WeightedMajority(Hypotheses([[0], [1]]), rounds)
    for _ in range(rounds):
        learner.learn(0, int(learner.predict(0) < 0.5))
    assert learner.regret <= learner.certificate.bound == pytest.approx(math.sqrt(rounds * math.log(2) / 2))
    assert learner.certificate.holds


def test_weighted_majority_is_exponential_weights() -> None:
    rng = np.random.default_rng(3)
    h = Hypotheses(rng.random((20, 6)) < 0.5)
    points, labels = rng.integers(6, size=30).tolist(), rng.integers(2, size=30).tolist()
    learner = WeightedMajority(h, 30)
    expected = weighted_majority(h.matrix[:, points].astype(float), labels, learner.eta)
    for x, y, p in zip(points, labels, expected, strict=True):
        assert learner.predict(x) == pytest.approx(p, abs=1e-12)
        learner.learn(x, y)
    assert learner.loss == pytest.approx(np.abs(np.array(expected) - labels).sum())
    assert learner.regret == pytest.approx(learner.loss - (h.matrix[:, points] != np.array(labels, bool)).sum(1).min())
    assert learner.certificate.holds


def test_weighted_majority_with_a_large_rate_is_halving() -> None:
    """Identity 8: threshold ½, ties to 1, on realisable labels."""
    rng = np.random.default_rng(4)
    for _ in range(30):
        h = Hypotheses(random_class(rng, 20, 6))
        target, points = rng.integers(len(h)), rng.integers(h.points, size=12).tolist()
        labels = [int(h.matrix[target, x]) for x in points]
        mixed = weighted_majority(h.matrix[:, points].astype(float), labels, 50.0)
        halving = Halving(h)
        for x, y, p in zip(points, labels, mixed, strict=True):
            assert halving.predict(x) == float(p >= 0.5 - 1e-12)
            halving.learn(x, y)


def test_surrogate_halving_is_what_the_formulas_say() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        h = Hypotheses(random_class(rng, 12, 5))
        points, labels = rng.integers(h.points, size=25).tolist(), rng.integers(2, size=25).tolist()
        said, f = surrogate_halving(h.matrix, points, labels)
        learner = SurrogateHalving(h)
        for x, y, p in zip(points, labels, said, strict=True):
            assert learner.predict(x) == p
            learner.learn(x, y)
            assert learner.certificate.holds
        assert learner.certificate.bound == pytest.approx(2 * f + 2 * math.log(len(h)))
    assert SurrogateHalving(make_hypotheses("cube:2")).certificate.bound == pytest.approx(2.77, abs=0.005)


def test_surrogate_bound_without_the_second_term_fails() -> None:
    """M ≤ 2F(u) alone is false: the logarithm is needed."""
    learner = SurrogateHalving(make_hypotheses("cube:3"))
    for x in range(3):
        learner.learn(x, 1 - int(learner.predict(x)))
    assert learner.loss > 2 * float(learner.surrogates.min())
    assert learner.certificate.holds


@pytest.mark.parametrize(
    ("learner", "slowly"), [(Consistent, naive.consistent), (Halving, naive.halving), (StandardOptimal, naive.soa)]
)
def test_they_say_what_the_textbook_says(learner: type[Any], slowly: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        matrix = naive.random_class(rng, 9, 4)
        points, target = rng.integers(matrix.shape[1], size=8).tolist(), int(rng.integers(len(matrix)))
        run = learner(Hypotheses(matrix))
        for x, rows in zip(points, naive.version_spaces(matrix, points, target), strict=True):
            assert run.predict(x) == slowly(matrix, rows, x)
            run.learn(x, int(matrix[target, x]))


class Minority(Halving):
    """Predicts as the fewer do."""

    def predict(self, x: int) -> float:
        return 1.0 - super().predict(x)


class Certain(Halving):
    """Predicts what is no probability."""

    def predict(self, x: int) -> float:
        return math.nan


def test_learners_that_change_what_a_theorem_speaks_of() -> None:
    """They kept its certificate, and had more mistakes than that allowed."""
    hypotheses = make_hypotheses("thresholds:8")
    learner = Minority(hypotheses)
    for _ in range(10):
        learner.learn(0, 0)
    assert learner.loss > 0
    failed = [p for c in learner.certificates for p in c.premises if not p.holds]
    assert [(p.name, p.observed) for p in failed] == [("Halving learns as the theorem has it", "Minority changes it")]
    with pytest.raises(PartError, match="Certain predicts nan at point 0: it must be a probability"):
        Certain(hypotheses).learn(0, 0)
