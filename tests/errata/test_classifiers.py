"""E22 to E26: the monograph on the Perceptron, Winnow and bandits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from lowregret import zoo
from lowregret.bandit import Bandit, BanditDescent, Exp3
from lowregret.domain import Box
from lowregret.errors import PartError
from lowregret.train import train
from tests.laws.classifiers import disjunction, mistakes_of_winnow
from tests.naive import Vector, exp3


def test_e22_mistakes_at_a_score_of_zero() -> None:
    """Monograph, 3.3.1.

    Printed: the loss is 1[y⟨w,x⟩ < 0] (as scanned).
    True: 1[y⟨w,x⟩ ≤ 0].
    Run: w = 0 would never err, whatever the labels.
    """
    y = np.array([1.0, -1.0, 1.0])
    x, w = np.eye(3), np.zeros(3)
    scores = y * (x @ w)
    assert np.sum(scores < 0) == 0
    assert np.sum(np.sign(x @ w) != y) == 3 == np.sum(scores <= 0)
    run = train(zoo.perceptron(), x, y, compiled=False)
    assert run.mistakes == 3
    assert all(c.holds for c in run.mistake_certificates(y, x, y))


def test_e23_the_sign_of_winnow() -> None:
    """Monograph, Winnow, theorem 3.10.

    Printed: w[i] ← w[i]·e^{−2ηyx[i]}, z_t = 2y_tx_t, η ≤ ½.
    True: e^{+2ηyx[i]}, z_t = −2y_tx_t, η < ½ (THM-3.10).
    Run: a disjunction of one in eight: 15 times the bound; at η = ½ it divides by 0.
    """
    stream = disjunction(2000, 8, 1, 0)
    printed, _, _ = mistakes_of_winnow(stream.x, stream.y, 0.25, sign=-1.0)
    bound = 8 * math.log(8)
    assert len(printed) > 15 * bound
    run = train(zoo.winnow(8), stream.x, stream.y, compiled=False)
    assert run.mistakes is not None
    assert run.mistakes <= bound
    assert all(c.holds for c in run.mistake_certificates(np.eye(8)[0], stream.x, stream.y))
    with pytest.raises(PartError, match="divides by 1 − 2η"):
        zoo.winnow(8, 0.5)


@pytest.mark.parametrize(("d", "k"), [(4, 1), (6, 2), (9, 9)])
def test_e24_the_perceptron_on_disjunctions(d: int, k: int) -> None:
    """Monograph, 3.3.2.

    Printed: the Perceptron on [2x, −1] has R²‖u‖² = 4(d + 1)k.
    True: (4d + 1)(k + 1), which is more; (2√(dk) + 1)² with the constant feature rescaled.
    Run: R and u of three classes, and the certificate of a run.
    """
    x = np.vstack([np.ones(d), np.eye(d)])
    u = np.concatenate([np.arange(d) < k, [True]]).astype(float)
    rows, labels = np.hstack([2 * x, -np.ones((d + 1, 1))]), np.where(x[:, :k].sum(axis=1) > 0, 1.0, -1.0)
    assert np.all(labels * (rows @ u) >= 1)  # margin 1
    exact = float(np.max(np.sum(rows**2, axis=1)) * (u @ u))
    assert exact == (4 * d + 1) * (k + 1) > 4 * (d + 1) * k
    run = train(zoo.perceptron(), rows, labels, compiled=False)
    found = {c.id: c for c in run.mistake_certificates(u, rows, labels)}
    assert found["PERC-MARGIN"].bound == pytest.approx(exact)  # the first row is the longest, and a mistake
    assert found["PERC-MARGIN"].holds
    scaled = minimize_scalar(lambda s: (4 * d + math.exp(s)) * (k + math.exp(-s)), bounds=(-5, 5), method="bounded")
    assert scaled.fun == pytest.approx((2 * math.sqrt(d * k) + 1) ** 2)


def test_e25_costs_that_follow_the_coins() -> None:
    """Monograph, theorem 4.1, corollary 4.2.

    Printed: E Σy_t[p_t] ≤ min_i Σy_t[i] + …, nothing being assumed of y_t.
    True: for costs that do not depend on the learner's coins (COR-4.2+).
    Run: both arms cost what the first draw was: on half of all runs the expected cost exceeds the bound.
    """
    rounds, d = 100, 2
    paths = dict[int, float]()  # the cost of a run by its first draw
    for seed in range(20):
        bandit = Bandit(d, Exp3.tuned(d, rounds), seed=seed, compiled=False)
        first = None
        for _ in range(rounds):
            number, arm = bandit.choose()
            bandit.reward(number, cost=0.0 if first is None else float(first))  # of both arms alike
            first = arm if first is None else first
        assert first is not None
        assert paths.setdefault(first, bandit.loss) == bandit.loss
    expected = 0.5 * (paths[0] + paths[1])  # w_1 is uniform
    promised = next(c for c in bandit.certificates if c.id == "COR-4.2+")
    assert expected > 0.0 + promised.bound  # where arm 0 came first, both arms cost nothing: on half of all runs
    assert promised.premises[0].name.startswith("costs do not depend on the learner's coins")

    # for costs fixed beforehand it holds: all draws of exp3, one after the other
    y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.5], [1.0, 0.0], [0.5, 1.0], [1.0, 0.0]])
    eta, total = 0.3, 0.0
    for draws in itertools.product(range(d), repeat=len(y)):
        total += float(np.prod(exp3(y, draws, eta))) * float(y[np.arange(len(y)), draws].sum())
    assert total <= y.sum(axis=0).min() + math.log(d) / eta + eta * d * len(y) / 2


def test_e26_the_largest_value_and_the_largest_size() -> None:
    """Monograph, corollary 4.5.

    Printed: F = max f_t; 3Lδ; f_t on S.
    True: F = max|f_t|; 2Lδ for convex f_t; f_t must be known on S + δ·ball, or be played inside (COR-4.5).
    Run: f = w − 1 on [−1,1] has max f = 0 and z of size 2/δ: five times the bound.
    """
    rounds, delta = 2000, 1e-3
    eta = 1 / math.sqrt(2 * rounds)
    regrets = []
    for seed in range(10):  # w = Π(ηθ), v = ±1, z = f(w + δv)v/δ
        coins, theta, lost = np.random.default_rng(seed).choice([-1.0, 1.0], rounds), 0.0, 0.0
        for v in coins:
            played = float(np.clip(eta * theta, -1, 1)) + delta * v
            lost += played - 1
            theta -= (played - 1) * v / delta
        regrets.append(lost - rounds * (-1.0 - 1.0))
    printed = 3 * delta * rounds + 1 / (2 * eta) + eta * rounds * (0.0 / delta + 1) ** 2
    true = 2 * delta * rounds + 1 / (2 * eta) + eta / 2 * rounds * (2.0 / delta + 1) ** 2
    assert 5 * printed < float(np.mean(regrets)) < true

    w, v = np.linspace(-1, 1, 41), np.linspace(-1, 1, 2001)
    smooth = np.mean(np.abs(w[:, None] + 0.3 * v), axis=1)  # f̂ of |w|, convex: f ≤ f̂ ≤ f + Lδ
    assert np.all(smooth >= np.abs(w) - 1e-12)
    assert np.all(smooth <= np.abs(w) + 0.3)
    assert np.all(np.abs(w)[:, None] + 0.3 - np.abs(w) <= smooth[:, None] - smooth + 2 * 0.3 + 1e-12)

    def on_the_set(_: int, point: Vector) -> float:
        assert abs(point[0]) <= 1.0  # f_t need not exist beyond S
        return float(point[0]) - 1.0

    learner = BanditDescent.tuned(Box(-1.0, 1.0), 1, 200, lipschitz=1.0, largest=2.0).learn(on_the_set, 200)
    assert learner.certificate.holds
