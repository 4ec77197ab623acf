"""E17 to E21: the monograph on finite classes and Littlestone's dimension."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from lowregret import zoo
from lowregret.finite import Agnostic, Hypotheses, StandardOptimal, dimensions, make_hypotheses
from lowregret.finite.agnostic import log_choices
from lowregret.finite.witness import is_shattered_tree
from lowregret.train import train
from tests.finite.naive import Rows, everyone, expert, ldim, mistakes_of_soa, random_class


def test_e17_labels_of_labels_and_a_class_of_one() -> None:
    """Monograph, definition 3.1, example 3.2.

    Printed: sequences (x_t, h*(y_t)); h_d(x) = 1 iff x = d, with Ldim 1.
    True: h*(x_t); h_j(x) = 1 iff x = j, with Ldim 1 from d = 2 on.
    Run: h* of labels contradicts itself at one x: 20 mistakes in 40 rounds; d times the same row has Ldim 0.
    """
    h = make_hypotheses("singletons:3")
    learner, target = StandardOptimal(h), h.matrix[0]
    for y in [0, 1] * 20:  # h*(y_t) at one and the same x_t
        learner.learn(2, int(target[y]))
    assert learner.loss >= 20 > dimensions(h).littlestone[1]
    assert not learner.certificate.premises_hold
    honest = StandardOptimal(h)
    for x in [0, 1, 2] * 20:
        honest.learn(x, int(target[x]))
    assert honest.loss <= 1
    assert honest.certificate.holds
    d = 5
    literal = Hypotheses(np.array([np.arange(d) == d - 1 for _ in range(d)]))
    assert dimensions(literal).littlestone == (0, 0)
    found = [dimensions(make_hypotheses(f"singletons:{n}")).littlestone for n in (1, 2, 5)]
    assert found == [(0, 0), (1, 1), (1, 1)]  # 1 needs d ≥ 2


def test_e18_the_tree_of_thresholds() -> None:
    """Monograph, example 3.3.

    Printed: 1[x > a] shatters the tree ½; ¼, ¾.
    True: 1[x < a] does, or the children change places.
    Run: label 0 at ½ means a ≥ ½, and then ¼ has label 0 too.
    """
    points = [0.25, 0.5, 0.75]
    above = Hypotheses(np.greater.outer(points, (0.1, 0.3, 0.6, 0.9)).T)
    below = Hypotheses(np.less.outer(points, (0.1, 0.3, 0.6, 0.9)).T)
    assert not is_shattered_tree(above, (1, 0, 2))
    assert is_shattered_tree(above, (1, 2, 0))
    assert is_shattered_tree(below, (1, 0, 2))
    assert not is_shattered_tree(below, (1, 2, 0))


def _disjunctions(d: int, r: int, k: int) -> tuple[np.ndarray, Hypotheses, np.ndarray]:
    """Rows with at most r ones, the disjunctions of at most k variables on them, and these as 0/1 vectors."""
    rows = np.array([x for x in itertools.product((0, 1), repeat=d) if sum(x) <= r])
    chosen = np.array([w for w in itertools.product((0, 1), repeat=d) if sum(w) <= k])
    return rows, Hypotheses(chosen @ rows.T > 0), chosen


def test_e19_the_perceptron_does_not_prove_rk() -> None:
    """Monograph, example 3.4.

    Printed: Ldim ≤ rk, since the Perceptron errs at most rk times.
    True: its bound is (4r + 1)(k + 1). Ldim ≤ rk follows for w ∈ {0,1}^d by elimination; for real w it is open
    here.
    Run: r = k = 1: two mistakes. Elimination, and the exact dimension of four classes, stay within rk.
    """
    x, y = np.array([[0.0, 2.0, -1.0], [2.0, 0.0, -1.0]]), np.array([-1.0, 1.0])  # φ = [2x, −1] of e_2 and e_1
    run = train(zoo.perceptron(), x, y, compiled=False)
    assert run.mistakes == 2 > 1 * 1
    u = np.array([1.0, 0.0, 1.0])  # the disjunction of the first variable
    found = {c.id: c for c in run.mistake_certificates(u, x, y)}
    assert found["PERC-MARGIN"].bound == pytest.approx((4 * 1 + 1) * (1 + 1))
    assert found["PERC-MARGIN"].holds
    for d, r, k in ((4, 1, 1), (4, 2, 1), (4, 2, 2), (5, 1, 3)):
        rows, hypotheses, chosen = _disjunctions(d, r, k)
        assert dimensions(hypotheses).littlestone[1] <= r * k
        rng = np.random.default_rng(d)
        for target in chosen:
            assert _eliminating(rows, target, rng) <= r * k


def _eliminating(rows: np.ndarray, target: np.ndarray, rng: np.random.Generator) -> int:
    """Mistakes of the learner that proves rk: add the variables of a missed positive, delete those of a false one."""
    suspects, mistakes = np.zeros(len(target), bool), 0
    deleted = np.zeros(len(target), bool)
    for x in rng.permutation(np.repeat(rows, 5, axis=0)).astype(bool):
        label = bool(np.any(x & target.astype(bool)))
        if bool(np.any(x & suspects)) != label:
            mistakes += 1
            deleted |= x & (not label)
            suspects = (suspects | (x & label)) & ~deleted
    return mistakes


def test_e20_two_rules_for_ties() -> None:
    """Monograph, SOA and Expert, lemma 3.7.

    Printed: ties go to 1 in the one, to 0 in the other.
    True: to the same label in both; Ldim(∅) = −1 must be said.
    Run: most hypotheses of 60 random classes are then no expert's; with one rule all are.
    """
    rng = np.random.default_rng(0)
    cases = failures = 0
    for _ in range(60):
        matrix = random_class(rng, 8, 4)
        points = rng.integers(matrix.shape[1], size=6).tolist()
        known: dict[Rows, int] = {frozenset(): -1}  # Ldim(∅), which the text does not declare
        for target in range(len(matrix)):
            flips = mistakes_of_soa(matrix, points, target, known)
            wanted = [int(matrix[target, x]) for x in points]
            assert expert(matrix, points, flips, known) == wanted
            assert len(flips) <= ldim(matrix, everyone(matrix), known)
            failures += expert(matrix, points, flips, known, tie=0) != wanted
            cases += 1
    assert failures > cases / 2


def test_e21_when_there_are_fewer_rounds_than_the_dimension() -> None:
    """Monograph, (3.1).

    Printed: Σ_{L≤ℓ} C(T,L) ≤ (eT/ℓ)^ℓ.
    True: for T ≥ ℓ ≥ 1.
    Run: T = 1, ℓ = 5: 2 > .05.
    """
    assert math.exp(log_choices(1, 5)) > 1.99 > (math.e / 5) ** 5
    for rounds, depth in itertools.product(range(1, 40), range(1, 8)):
        fine = log_choices(rounds, depth) <= depth * math.log(math.e * rounds / depth) + 1e-12
        assert fine or rounds < depth
    learner = Agnostic(make_hypotheses("cube:5"), 1)
    learner.learn(0, 1)
    assert learner.certificate.bound > math.sqrt(math.log(1.99) / 2)
    assert learner.certificate.holds
