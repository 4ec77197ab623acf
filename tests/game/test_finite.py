"""Games of finite classes: the tree adversary, Cover, and what majorities save."""

from __future__ import annotations

import itertools
import math
from typing import Any

import pytest

from lowregret.finite import Consistent, Halving, StandardOptimal, SurrogateHalving
from lowregret.game import contest, game
from lowregret.game.finite_games import Cover, NoisyLabels, TreeAdversary

DETERMINISTIC: dict[str, Any] = {
    "consistent": Consistent,
    "halving": Halving,
    "surr-halving": SurrogateHalving,
    "soa": StandardOptimal,
}


def depth_by_hand(rows: frozenset[tuple[bool, ...]]) -> int:
    """Ldim by the definition: O(2^n)."""
    if not rows:
        return -1
    points = range(len(next(iter(rows))))
    halves = [(frozenset(r for r in rows if not r[x]), frozenset(r for r in rows if r[x])) for x in points]
    return max((1 + min(map(depth_by_hand, pair)) for pair in halves if all(pair)), default=0)


@pytest.mark.parametrize("kind", ["thresholds:8", "singletons:5", "cube:3", "intervals:4", "random:12x6:seed=3"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_the_tree_forces_exactly_ldim_mistakes(kind: str, name: str) -> None:
    """LEM-3.2: in as many rounds as Ldim, and some hypothesis agrees with all labels; later SOA makes no more."""
    e = TreeAdversary(kind=kind)
    matrix = e.hypotheses.matrix
    ldim = depth_by_hand(frozenset(tuple(map(bool, row)) for row in matrix))
    assert e.depth == ldim
    learner = DETERMINISTIC[name](e.hypotheses)
    answer, seen = e.begin(60, 0), []
    for t in range(1, 61):
        x, y = answer(t, learner.predict)
        learner.learn(x, y)
        seen.append((x, y))
        if t == ldim:
            assert learner.loss == ldim
    assert any(all(row[x] == bool(y) for x, y in seen) for row in matrix)
    if name == "soa":
        assert learner.loss == ldim


@pytest.mark.parametrize("name", DETERMINISTIC)
@pytest.mark.parametrize("rounds", [1, 7, 40])
def test_cover_beats_whoever_does_not_draw(name: str, rounds: int) -> None:
    """Loss T, the better constant at most ⌊T/2⌋: regret ≥ ⌈T/2⌉; no certificate claims otherwise."""
    learner = DETERMINISTIC[name](Cover().hypotheses)
    answer = Cover().begin(rounds, 0)
    labels = []
    for t in range(1, rounds + 1):
        x, y = answer(t, learner.predict)
        learner.learn(x, y)
        labels.append(y)
    assert learner.loss == rounds
    assert learner.regret == rounds - min(sum(labels), rounds - sum(labels)) >= math.ceil(rounds / 2)
    assert learner.certificate.bound >= rounds or not learner.certificate.premises_hold


@pytest.mark.parametrize("rounds", [10, 100, 400])
def test_cover_does_not_beat_coins(rounds: int) -> None:
    for algorithm in ("wm", "agnostic"):
        played = contest("cover", algorithm, rounds)
        assert played.holds
    assert contest("cover", "wm", rounds).rows[-1].regret <= math.sqrt(rounds * math.log(2) / 2)


def test_a_needle_costs_the_gullible_everything() -> None:
    """COR-1.1 met; a majority, and SOA, err once."""
    mistakes = {name: contest("needle", name, 64).rows[-1].loss for name in DETERMINISTIC}
    assert mistakes["consistent"] == 15
    assert mistakes["halving"] == mistakes["soa"] == 1


def test_bisection_meets_the_bound_of_halving() -> None:
    played = contest("bisection", "halving", 64)
    assert played.rows[-1].loss == played.rows[-1].bound == 5


def test_noise_is_noise_and_seeded() -> None:
    e = NoisyLabels(kind="thresholds:8", noise=0.25)
    rounds = [[e.begin(300, seed)(t, lambda x: 0.0) for t in range(1, 301)] for seed in (1, 1, 2)]
    assert rounds[0] == rounds[1] != rounds[2]
    wrong = [sum(bool(row[x]) != bool(y) for x, y in rounds[0]) for row in e.hypotheses.matrix]
    assert 45 <= min(wrong) <= 105  # the true one errs in a quarter of 300


def test_the_class_is_the_players_to_name() -> None:
    for kind, algorithm in itertools.product(("cube:3", "intervals:5"), ("halving", "soa", "agnostic")):
        assert contest(game("tree", kind=kind), algorithm, 30).holds
