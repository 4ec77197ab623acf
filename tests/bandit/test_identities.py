"""Exact facts by enumeration: unbiased estimates, prompt and late; expected regret; pathwise and confidence bounds."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from lowregret.bandit import Bandit, Exp3, Exp3IX, TsallisInf
from lowregret.bandit.algorithm import BanditAlgorithm, centre, local
from lowregret.bandit.proof import bandit_certificates
from lowregret.bandit.state import BanditState
from lowregret.compile.random import new_chance
from lowregret.types import Vector
from tests.bandit.stepping import estimates_of, learnt, paths, policy_of, started

GAMES = {
    "random": np.random.default_rng(5).random((6, 3)),
    "binary": (np.random.default_rng(6).random((8, 2)) < 0.5).astype(float),
    "one free": np.tile([0.0, 1.0, 1.0], (6, 1)),
    "turning": np.array([[0.0, 1.0]] * 4 + [[1.0, 0.0]] * 4),
    "all one": np.ones((6, 3)),
    "all nought": np.zeros((6, 3)),
}


BOTH = [
    made
    for centred in (True, False)
    for made in (*(Exp3(eta, centred) for eta in (0.1, 0.7, 5.0)), TsallisInf(centred))
]


def test_the_estimate_is_unbiased_and_its_second_moment_known() -> None:
    rng = np.random.default_rng(0)
    w, y = rng.dirichlet(np.ones(4)), rng.random(4)
    z = np.diag(y / w)  # row i: the estimate if arm i is drawn
    assert np.allclose(w @ z, y)
    assert sum(w[j] * np.sum(w * z[j] ** 2) for j in range(4)) == pytest.approx(np.sum(y**2))


def test_the_example_of_the_theory() -> None:
    algorithm = Exp3(0.1)
    s = learnt(algorithm, started(algorithm, 2), 0, 0.5, 1.0)
    assert np.allclose(policy_of(algorithm, s), [0.4502, 0.5498], atol=5e-5)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("algorithm", BOTH, ids=str)
def test_expected_regret_and_every_path(algorithm: BanditAlgorithm, game: str) -> None:
    """COR-4.2+, also with Σy² for KT; TSALLIS; the pathwise certificates on every path; Ĉ unbiased."""
    costs = GAMES[game]
    expected, mass, estimates = 0.0, 0.0, np.zeros(costs.shape[1])
    for chance, paid, s in paths(algorithm, costs):
        mass += chance
        expected += chance * paid
        estimates += chance * estimates_of(s)
        path, promised, *printed = bandit_certificates(algorithm, s)
        assert path.linear_regret == pytest.approx(paid - np.min(estimates_of(s)))
        assert path.holds
    regret = expected - np.min(np.sum(costs, axis=0))
    assert mass == pytest.approx(1.0)
    if not (
        isinstance(algorithm, Exp3) and algorithm.eta > 1
    ):  # there weights underflow to 0 on paths that never occur
        assert np.allclose(estimates, np.sum(costs, axis=0))
    assert regret <= promised.bound + 1e-9
    assert promised.premises_hold
    assert all(c.premises_hold and c.bound >= promised.bound for c in printed)
    if isinstance(algorithm, Exp3):
        sharp = math.log(costs.shape[1]) / algorithm.eta + algorithm.eta / 2 * np.sum(costs**2)
        assert regret <= sharp + 1e-9


@pytest.mark.parametrize("game", ["random", "binary", "turning", "all one"])
@pytest.mark.parametrize("algorithm", [Exp3IX(0.3, 0.15), Exp3IX(1.0, 0.1)], ids=str)
def test_implicit_exploration_overestimates_rarely(algorithm: Exp3IX, game: str) -> None:
    """Neu's lemma, exactly: E e^{2γ(Ĉ_i − C_i)} ≤ 1; so the observed regret bound fails with probability ≤ δ."""
    costs = GAMES[game]
    totals, moments, failures = np.sum(costs, axis=0), np.zeros(costs.shape[1]), 0.0
    for chance, paid, s in paths(algorithm, costs):
        moments += chance * np.exp(2 * algorithm.gamma * (s.estimates - totals))
        by_id = {c.id: c for c in bandit_certificates(algorithm, s, 0.2)}
        assert all(c.holds for c in by_id.values())
        upper = by_id["EXP3-IX"].linear_regret
        assert upper is not None
        failures += chance * (paid - np.min(totals) > upper + 1e-12)
        assert by_id["EXP3-PATH"].holds
    assert np.all(moments <= 1 + 1e-12)
    assert failures <= 0.2


# ---- late costs ------------------------------------------------------------------------------------------------------

ORDER = [("choose", 0), ("choose", 1), ("cost", 1), ("choose", 2), ("cost", 0), ("choose", 3), ("cost", 3), ("cost", 2)]


def expected_estimates(algorithm: BanditAlgorithm, costs: Vector, recomputed: bool) -> Vector:
    """E Ĉ when costs come in ORDER; `recomputed` takes the probability of the time when the cost comes."""

    def walk(k: int, s: BanditState, made: dict[int, tuple[int, float]]) -> Vector:
        if k == len(ORDER):
            return estimates_of(s)
        what, t = ORDER[k]
        w = policy_of(algorithm, s)
        if what == "cost":
            arm, p = made[t]
            return walk(k + 1, learnt(algorithm, s, arm, w[arm] if recomputed else p, costs[t, arm]), made)
        return sum(w[i] * walk(k + 1, s, made | {t: (i, w[i])}) for i in range(costs.shape[1]))

    return walk(0, started(algorithm, costs.shape[1]), {})


@pytest.mark.parametrize("algorithm", [Exp3(0.8), Exp3(0.8, False), TsallisInf(), TsallisInf(False)], ids=str)
def test_late_costs_stay_unbiased_because_the_probability_is_kept(algorithm: BanditAlgorithm) -> None:
    costs = np.random.default_rng(3).random((4, 3))
    assert np.allclose(expected_estimates(algorithm, costs, recomputed=False), np.sum(costs, axis=0))
    assert not np.allclose(expected_estimates(algorithm, costs, recomputed=True), np.sum(costs, axis=0), atol=1e-3)


def choices_of(bandit: Bandit) -> Iterator[tuple[Bandit, int, int, float]]:
    """A bandit after each choice that it may make: the number, the arm and its probability."""
    left, seed = set(range(bandit.arms)), 0
    while left:
        made = copy.deepcopy(bandit)
        made.state.chance[:] = new_chance(seed)
        number, arm = made.choose()
        if arm in left:
            left.remove(arm)
            yield made, number, arm, made.probability(number) or 0.0
        seed += 1


@pytest.mark.parametrize("algorithm", [Exp3(0.3), Exp3(0.3, False), TsallisInf(), TsallisInf(False)], ids=str)
def test_costs_that_are_late_for_one_arm_alone_stay_unbiased(algorithm: BanditAlgorithm) -> None:
    """The baseline is that of the choice: of the time when a cost comes, it hangs on the arm (by 0.25 here)."""
    costs = np.array([[1.0, 1.0], [1.0, 1.0], [0.0, 0.0], [0.0, 0.0], [0.5, 0.5]])

    def walk(bandit: Bandit, t: int, late: tuple[int, ...]) -> Vector:
        if t == len(costs):
            for number in late:
                bandit.reward(number, cost=costs[1, 1])
            return bandit.estimates
        total = np.zeros(bandit.arms)
        for made, number, arm, p in choices_of(bandit):
            waits = t == 1 and arm == 1
            if not waits:
                made.reward(number, cost=costs[t, arm])
            total += p * walk(made, t + 1, (number,) if waits else late)
        return total

    assert np.allclose(walk(Bandit(2, algorithm, compiled=False), 0, ()), np.sum(costs, axis=0))


@pytest.mark.parametrize("name", ["exp3", "tsallis-inf"])
def test_centring_is_worth_something(name: str) -> None:
    """The noise of estimates of costs near 1 falls."""
    costs = 1 - 0.1 * np.random.default_rng(8).random((7, 2))
    noise = {}
    for centred in (True, False):
        one = Exp3(0.1, centred) if name == "exp3" else TsallisInf(centred)
        far = [chance * np.sum((estimates_of(s) - np.sum(costs, axis=0)) ** 2) for chance, _, s in paths(one, costs)]
        noise[centred] = float(np.sum(far))
    assert noise[True] < 0.6 * noise[False]


@pytest.mark.parametrize("v", [1e-6, 1e-3, 0.05, 0.4])
@pytest.mark.parametrize("eta", [0.003, 0.1, 1.0])
def test_a_step_costs_no_more_than_was_allowed_for(eta: float, v: float) -> None:
    """v·(cost of a step of z = (y − b)/v) ≤ η/2 of EXP3 and η√v of Tsallis-INF, for all y and the b that is allowed."""
    for y in (0.0, 0.01, 0.3, 0.9, 1.0):
        b = centre(1.0, 3 * v / eta)
        z = (y - b) / v
        assert v * local(v * z * z, z, v, eta / 3, 2 / eta) * eta / 2 <= eta / 2 * (1 + 1e-9)
        exact = v * z + math.log1p(v * math.expm1(min(-eta * z, 600.0))) / eta  # the step itself
        assert exact <= local(v * z * z, z, v, eta / 3, 2 / eta) * eta / 2 + 1e-12
        b = centre(1.0, math.sqrt(v) / eta)
        z = (y - b) / v
        square, slope = eta * v**1.5 * z * z, eta * math.sqrt(v)
        assert v * local(square, z, v, slope, 1.0) <= eta * math.sqrt(v) * (1 + 1e-9)
        for w in np.linspace(0, 1, 2001):
            assert (v - w) * z - (math.sqrt(v) - math.sqrt(w)) ** 2 / slope <= local(square, z, v, slope, 1.0) + 1e-12


@pytest.mark.parametrize("arms", [1, 2, 3])
@pytest.mark.parametrize("algorithm", [Exp3(0.5), Exp3(1e-12, False), Exp3IX(0.5, 0.25), TsallisInf(False)], ids=str)
def test_what_is_proved_on_a_run_is_true_of_exact_sums(algorithm: BanditAlgorithm, arms: int) -> None:
    """Σy − min Ĉ in fractions, of the probabilities and baselines that choices were made with: `proved` is no less."""
    for seed in range(12):
        bandit, rng = Bandit(arms, algorithm, seed=seed, compiled=False), np.random.default_rng(seed)
        paid, estimates = Fraction(0), [Fraction(0)] * arms
        for _ in range(40):
            number, arm = bandit.choose()
            _, p, baseline = bandit.choices.pending[number]
            cost = float(rng.choice([0.1, 1 / 3, rng.random()]))
            chance = Fraction(p) + Fraction(getattr(algorithm, "gamma", 0.0))
            paid += Fraction(cost)
            estimates = [c + Fraction(baseline) for c in estimates]
            estimates[arm] += (Fraction(cost) - Fraction(baseline)) / chance
            bandit.reward(number, cost=cost)
        path = next(c for c in bandit.certificates if c.id.endswith("-PATH"))
        assert path.holds
        assert paid - min(estimates) <= Fraction(path.proved)
        assert path.rounding < 1e-9 * (1 + path.bound)
