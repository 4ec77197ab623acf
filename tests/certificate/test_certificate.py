"""regret ≤ linearised regret ≤ bound, at every prefix, for every theorem and every learner it speaks of.

The regret is computed independently of the package: closed forms, linear programs, cone programs with a checked gap.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from lowregret import zoo
from lowregret.certificate import THEOREMS, Certificate, Premise, certificates, natural_comparator, tightest
from lowregret.domain import Box, Domain, L1Ball, L2Ball, LqBall, Orthant, Point, Reals, Simplex
from lowregret.learner.linear import Linear
from lowregret.loss import Absolute, Cost, Hinge, Logistic, Loss, OnMistakes, Square
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.state import LINEAR
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, WeightedInverseTime
from lowregret.train import train
from tests.laws import sequences
from tests.laws.bounds import Facts, transcribed
from tests.laws.cases import CASES, Case
from tests.laws.comparators import hindsight, minimiser
from tests.laws.sequences import ADVERSARIES, Stream, Vector, adapted
from tests.laws.walk import Books, walk

D = 4
PREFIXES = (1, 2, 3, 7, 15, 24)  # where a cone program is solved


def by_name(case: Case) -> str:
    return case.name


def close(a: float, b: float, size: float = 0.0) -> bool:
    """Equal but for rounding, which grows with the sizes of what was added up."""
    return a == b or abs(a - b) <= 1e-9 * (1 + abs(b)) + 1e-13 * size


def check(run: LinearRun, books: Books, comparators: Domain, regret: float | None = None) -> Iterator[Certificate]:
    """Assert regret ≤ linearised regret ≤ bound; yields the certificates whose premises hold."""
    linear = books.linear_regret(comparators)
    for found in certificates(run.learner, run.state, comparators):
        if found.id == "NEWTON":  # sharper where the losses are curved
            assert found.linear_regret is not None
            assert not found.premises_hold or regret is None or regret <= found.linear_regret + 1e-9 * (1 + abs(linear))
        elif found.linear_regret is not None:
            assert close(found.linear_regret, linear, books.size)
        if not found.premises_hold:
            assert not found.holds
            continue
        assert found.holds, found
        assert found.id == "NEWTON" or linear <= found.bound + 1e-9 * (1 + abs(found.bound)), found
        if regret is not None:
            assert regret <= linear + 1e-9 * (1 + abs(linear)) + 1e-13 * books.size, found
        yield found


# ---- the invariant ---------------------------------------------------------------------------------------------------


def cost_streams(learner: Linear, features: int) -> list[Stream]:
    """Random, fixed hard and adaptive sequences."""
    return [
        *sequences.random_costs(10, features, seed=1),
        *sequences.random_experts(10, features, seed=2),
        *sequences.hard_costs(10, features),
        *(adapted(learner, adversary, 10, features) for adversary in ADVERSARIES.values()),
    ]


@cache
def on_costs(case: Case) -> Counter[tuple[str, bool]]:
    """How often each theorem was checked with a positive regret, and how often its premises failed.

    Under `Cost` the regret is the linearised regret, known in closed form.
    """
    count: Counter[tuple[str, bool]] = Counter()
    features = D - (case.bias > 0)
    learner = case.learner(Cost(), features)
    for stream in cost_streams(learner, features):
        for run, books in walk(learner, stream):
            for comparators in case.comparators(D):
                linear = books.linear_regret(comparators)
                held = {found.id for found in check(run, books, comparators, regret=linear)}
                count.update((name, True) for name in held if linear > 0)
                count.update((t.id, False) for t in THEOREMS if t.applies(learner) and t.id not in held)
    return count


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_nested_at_every_prefix_on_costs(case: Case) -> None:
    assert on_costs(case).total() > 0


def test_every_theorem_was_called_upon() -> None:
    total = sum((on_costs(case) for case in CASES), Counter[tuple[str, bool]]())
    for theorem in THEOREMS:
        if theorem.id not in ("NEWTON", "ONLINE-SVM", "DUAL"):  # costs are not curved, no hinge, and not ≥ 0
            assert total[theorem.id, True] >= 100, theorem.id
    with_premises = {"THM-2.22", "THM-2.22+", "THM-2.23", "THM-2.23+", "EQ-8", "THM-14.11", "KT", "KT+", "NEWTON"}
    assert {name for name, held in total if not held} == with_premises


LOSSES: dict[str, tuple[Loss, Callable[[int, int, int], list[Stream]]]] = {
    "hinge": (Hinge(), sequences.labelled),
    "absolute": (Absolute(), sequences.measured),
    "square": (Square(), sequences.measured),
    "logistic": (Logistic(), sequences.labelled),
    "hinge on mistakes": (OnMistakes(Hinge()), sequences.labelled),
}


def quick(loss: Loss, comparators: Domain) -> bool:
    """Whether a linear program gives the regret, so that it can be had at every prefix."""
    return isinstance(loss, Hinge | Absolute) and isinstance(comparators, Box | Simplex | L1Ball)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_nested_on_curved_losses_with_importance_weights(case: Case, name: str) -> None:
    loss, streams = LOSSES[name]
    features = D - (case.bias > 0)
    which = (CASES.index(case) + len(name)) % 4  # each rule and each loss meets all kinds of rows
    stream = streams(PREFIXES[-1], features, 7)[which]
    weights = np.random.default_rng(which).choice([0.0, 0.5, 1.0, 3.0], len(stream.y), p=[0.1, 0.3, 0.4, 0.2])
    learner = case.learner(loss, features, eta=0.1)
    for run, books in walk(learner, stream, weights):
        for i, comparators in enumerate(case.comparators(D)):
            solve = i == 0 and (run.rounds in PREFIXES or quick(loss, comparators))
            if solve:
                low, high = books.regret(comparators)
                assert high - low <= 1e-3 * (1 + abs(high))  # what the solver leaves open
            found = list(check(run, books, comparators, low if solve else None))
            assert found or not run.learner.rule.schedule().constant


# ---- real data -------------------------------------------------------------------------------------------------------


def rotated(x: object) -> sequences.Matrix:
    """The rows in coordinates of their own span: balls and scores stay what they are."""
    left, sizes, _ = np.linalg.svd(np.asarray(x), full_matrices=False)
    return left * sizes


@pytest.mark.parametrize(("name", "rounds"), [("a9a.svm.gz", 150), ("farm_ads.svm.gz", 60)])
def test_nested_on_sparse_real_data(name: str, rounds: int, data_file: Callable[[str], Path]) -> None:
    stream, ball = sequences.read_svm(data_file(name), rounds), L2Ball(2.0)
    for learner, compiled in ((zoo.ogd_lazy(Hinge(), 0.05, 2.0), True), (zoo.ogd_sqrt(Hinge(), 0.2, 2.0), False)):
        run = LinearRun(learner, learner.start(stream.x.shape[1]), compiled=compiled)
        for begin, end in ((0, 1), (1, rounds // 3), (rounds // 3, rounds)):
            run.learn(stream.x[begin:end], stream.y[begin:end])
            rows = rotated(stream.x[:end].toarray())
            best = hindsight(Hinge(), rows, stream.y[:end], np.ones(end), ball)
            assert best.upper - best.lower <= 1e-5 * (1 + best.upper)
            check_run(run, run.loss - best.upper)


def check_run(run: LinearRun, regret: float) -> None:
    """As `check`, for a run without books."""
    for found in run.certificates:
        assert found.linear_regret is not None
        assert regret <= found.linear_regret + 1e-9 * (1 + abs(regret))
        assert found.holds == found.premises_hold


def electricity() -> list[tuple[Linear, Domain]]:
    return [
        (zoo.ogd_lazy(Hinge(), 0.1, 3.0), L2Ball(3.0)),
        (zoo.eg(Hinge(), 0.1, 5.0), Simplex(5.0)),
        (Linear(Logistic(), ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(0.3))), Box(-1.0, 1.0)),
        (Linear(Absolute(), ProjectedGradient(L1Ball(2.0), Adaptive())), L1Ball(2.0)),
    ]


@pytest.mark.parametrize(("learner", "comparators"), electricity(), ids=lambda part: type(part).__name__)
def test_nested_on_the_electricity_market(
    learner: Linear, comparators: Domain, data_file: Callable[[str], Path]
) -> None:
    stream = sequences.read_elec2(data_file("elec2.csv.gz"), 400)
    run = LinearRun(learner, learner.start(stream.x.shape[1]), compiled=False)
    for begin, end in ((0, 10), (10, 100), (100, 400)):
        run.learn(stream.x[begin:end], stream.y[begin:end])
        best = hindsight(learner.loss, stream.x[:end], stream.y[:end], np.ones(end), comparators)
        assert best.upper - best.lower <= 1e-3 * (1 + best.upper)
        check_run(run, run.loss - best.upper)


def test_nested_with_a_ridge_on_real_data(data_file: Callable[[str], Path]) -> None:
    stream = sequences.read_svm(data_file("a9a.svm.gz"), 80)
    dense = Stream(stream.name, stream.x.toarray(), stream.y)
    for run, books in walk(zoo.ogd_sc(Hinge(), 0.1), dense):
        low = books.regret(Reals())[0] if run.rounds in (1, 9, 80) else None
        assert [c.id for c in check(run, books, Reals(), low)] == ["THM-14.11", "EAGER-DEC"]


# ---- the numbers themselves ------------------------------------------------------------------------------------------


@pytest.mark.sampled(2)
@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_bounds_equal_the_textbook_written_down_again(case: Case) -> None:
    """A bound that is too large would pass every other test."""
    features = D - (case.bias > 0)
    u = next(c.u for c in case.comparators(D) if isinstance(c, Point))
    for loss, streams in ((Cost(), sequences.random_costs), (Hinge(), sequences.labelled)):
        learner = case.learner(loss, features)
        for stream in streams(12, features, 3)[:2]:
            for run, books in walk(learner, stream, np.linspace(0.2, 1.7, 12)):
                if not np.any(books.gradients):
                    continue
                facts = Facts(books, run.point)
                for found in certificates(learner, run.state, Point(u)):
                    assert found.bound == pytest.approx(transcribed(found.id, facts, u), rel=1e-9, abs=1e-12), found.id


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_sparse_rows_have_the_certificates_of_dense_ones(case: Case) -> None:
    features = D - (case.bias > 0)
    stream = sequences.random_costs(20, features, 4)[3]
    learner = case.learner(Cost(), features)
    dense, sparse = (train(learner, x, stream.y, compiled=False) for x in (stream.x, csr_array(stream.x)))
    for comparators in case.comparators(D):
        pairs = zip(*(certificates(learner, run.state, comparators) for run in (dense, sparse)), strict=True)
        for a, b in pairs:
            assert (a.id, a.premises_hold) == (b.id, b.premises_hold)
            assert a.bound == pytest.approx(b.bound, rel=1e-12)
            assert a.linear_regret == (None if b.linear_regret is None else pytest.approx(b.linear_regret, rel=1e-9))


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_a_set_is_as_hard_as_its_hardest_point(case: Case) -> None:
    features = D - (case.bias > 0)
    run = train(
        case.learner(Cost(), features), sequences.random_costs(20, features, 5)[1].x, np.ones(20), compiled=False
    )
    rng = np.random.default_rng(0)
    for comparators in case.comparators(D):
        whole = {c.id: c for c in certificates(run.learner, run.state, comparators)}
        for _ in range(5):
            u = minimiser(rng.normal(size=D), comparators, kappa=float(isinstance(comparators, Reals)))
            for found in certificates(run.learner, run.state, Point(u)):
                assert found.bound <= whole[found.id].bound * (1 + 1e-12)
                if found.linear_regret is not None:
                    assert found.linear_regret <= (whole[found.id].linear_regret or 0.0) + 1e-9


MIRRORS: dict[str, Callable[[int], Mirror]] = {
    "euclid": lambda d: Euclidean(),
    "ball": lambda d: Euclidean(L2Ball(0.7)),
    "box": lambda d: Euclidean(Box(-0.3, 0.4)),
    "simplex": lambda d: Euclidean(Simplex(1.3)),
    "l1": lambda d: Euclidean(L1Ball(0.8)),
    "p-norm": lambda d: PNorm(3.5),
    "entropy": lambda d: Entropy(1.4),
    "unnormalised": lambda d: UnnormalisedEntropy(1 / d),
}

vectors = st.lists(st.floats(-2, 2), min_size=3, max_size=3).map(np.array)


@pytest.mark.parametrize("name", MIRRORS)
@given(rows=st.lists(vectors, min_size=1, max_size=6), direction=vectors, eta=st.floats(0.05, 2.0))
def test_lemma_2_20_is_exact(name: str, rows: list[Vector], direction: Vector, eta: float) -> None:
    """Slack = Fenchel–Young gap for every u ∈ S, and 0 at u = w_{T+1}."""
    mirror = MIRRORS[name](3)
    run = train(zoo.omd(Cost(), mirror, eta), np.array(rows), np.ones(len(rows)), compiled=False)
    for u in (mirror.link(direction), run.point):
        found = next(c for c in certificates(run.learner, run.state, Point(u)) if c.id == "LEM-2.20")
        assert found.slack is not None
        assert found.linear_regret is not None
        assert found.premises_hold
        size = 1 + abs(found.bound) + abs(found.linear_regret) + abs(float(run.state.sums[LINEAR]))
        assert found.bound - found.linear_regret == pytest.approx(found.slack, abs=1e-9 * size)
        assert found.slack >= -1e-9 * size
    assert found.slack == pytest.approx(0.0, abs=1e-9 * size)


@given(rows=st.lists(vectors, min_size=1, max_size=8), eta=st.floats(0.05, 2.0))
def test_equation_2_15_is_exact_at_the_last_iterate(rows: list[Vector], eta: float) -> None:
    run = train(zoo.ogd(Cost(), eta), np.array(rows), np.ones(len(rows)), compiled=False)
    found = next(c for c in certificates(run.learner, run.state, Point(run.point)) if c.id == "EQ-2.15")
    assert found.linear_regret == pytest.approx(found.bound, rel=1e-9, abs=1e-9)


def named(run: LinearRun, comparators: Domain) -> dict[str, Certificate]:
    return {c.id: c for c in certificates(run.learner, run.state, comparators)}


def play(rule: MirrorDescent | ProjectedGradient, costs: list[list[float]]) -> LinearRun:
    return train(Linear(Cost(), rule), np.array(costs), np.ones(len(costs)), compiled=False)


def test_worked_examples_of_gradient_descent() -> None:
    run = play(MirrorDescent(Euclidean(), Constant(0.5)), [[1.0], [1.0]])
    found = named(run, Point([-1.0]))["EQ-2.15"]
    assert (found.linear_regret, found.bound) == (1.5, 1.5)

    run = play(MirrorDescent(Euclidean(Box(-0.5, 0.5)), Constant(1.0)), [[1.0], [1.0]])
    certified = named(run, Point([-0.5]))
    assert run.linear_regret(Point([-0.5])) == 0.5
    assert certified["LAZY+"].bound == 1.125
    assert certified["LEM-2.20"].bound == 0.5

    run = play(ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), [[1.0], [-1.0], [1.0], [-1.0]])
    observed = 4 + 0.5 * sum(1 / math.sqrt(t) for t in range(1, 5))
    assert named(run, Box(-1.0, 1.0))["EAGER-DEC"].bound == pytest.approx(observed, rel=1e-12)
    assert observed <= 5.5  # the printed form, with G²(√T − ½)

    run = play(ProjectedGradient(L2Ball(1.0), InverseSqrt(math.sqrt(2.0))), [[1.0]] * 100)
    assert f"{named(run, L2Ball(1.0))['EQ-8'].bound:.1f}" == "28.3"


def test_worked_example_of_the_online_svm() -> None:
    """λ = 1, ‖x⁺‖ = √2, η_t = 1/√t, T = 100: 20 + 19 = 39, the 19 being 2√T − 1 ≥ Σ1/√t."""
    run = train(zoo.svm_online(1.0), [[1.0]] * 100, [1.0, -1.0] * 50, compiled=False)
    found = named(run, L2Ball(1.0))["EAGER-DEC"]
    assert found.bound == pytest.approx(20 + sum(1 / math.sqrt(t) for t in range(1, 101)), rel=1e-12)
    assert 38.5 < found.bound < 39


def test_worked_examples_of_strong_convexity() -> None:
    """G = σ = 1, T = 10: 1.65 is the form with ln T; Σ1/(2t) is the observed one. T = 2: .4."""
    learner = Linear(Cost(), ProjectedGradient(Reals(), InverseTime(1.0)), ridge=1.0)
    run = LinearRun(learner, learner.start(1), compiled=False)
    for _ in range(10):  # ‖z_t + w_t‖ = 1
        run.learn([[1.0 - run.point[0]]], [1.0])
    bound = named(run, Reals())["THM-14.11"].bound
    assert bound == pytest.approx(sum(1 / (2 * t) for t in range(1, 11)), rel=1e-12)
    assert bound <= (1 + math.log(10)) / 2
    assert f"{(1 + math.log(10)) / 2:.2f}" == "1.65"

    learner = Linear(Cost(), ProjectedGradient(Reals(), WeightedInverseTime(1.0)), ridge=1.0)
    run = LinearRun(learner, learner.start(1), compiled=False)
    for _ in range(2):
        run.learn([[1.0 - run.point[0]]], [1.0])
    assert named(run, Reals())["THM-14.12"].bound == pytest.approx(0.4, rel=1e-12)


def test_worked_examples_of_mirror_descent() -> None:
    run = play(MirrorDescent(Entropy(), Constant(math.log(2))), [[1.0, 0.0]] * 2)
    certified = named(run, Point([0.0, 1.0]))
    assert f"{run.loss:.4f}" == "0.8333"
    assert f"{certified['THM-2.22+'].bound:.3f}" == "1.289"
    assert f"{certified['EG-RANGE'].bound:.3f}" == "1.173"

    run = play(MirrorDescent(UnnormalisedEntropy(1.0), Constant(1.0)), [[1.0]])
    certified = named(run, Point([math.exp(-1)]))
    assert f"{certified['THM-2.23+'].linear_regret:.3f}" == "0.632"
    assert f"{certified['LEM-2.20'].bound:.3f}" == "0.632"
    assert f"{certified['THM-2.23+'].bound:.3f}" == "0.764"

    run = play(MirrorDescent(PNorm(3.0), Constant(1.0)), [[1.0, 1.0]])
    found = named(run, Point([0.0, 0.0]))["COR-2.18"]
    assert found.linear_regret == 0
    assert f"{found.bound:.3f}" == "1.587"
    assert [f"{w:.3f}" for w in -run.point] == ["0.794", "0.794"]


def test_tuned_rates_give_the_printed_bounds() -> None:
    """B = L = 1: BL√T for gradient descent; BL√(2T ln d) = 74.5 for EG with d = 16, T = 1000."""
    rate = Entropy().tuned_rate(1.0, 1.0, 1000, 16)
    run = play(MirrorDescent(Entropy(), Constant(rate)), [[1.0] + [0.0] * 15] * 1000)
    assert f"{named(run, Simplex())['COR-2.14'].bound:.1f}" == "74.5"
    rate = Euclidean().tuned_rate(1.0, 1.0, 25, 3)
    run = play(MirrorDescent(Euclidean(), Constant(rate)), [[1.0, 0.0, 0.0]] * 25)
    assert named(run, L2Ball())["EQ-2.15"].bound == pytest.approx(5.0, rel=1e-12)


# ---- premises --------------------------------------------------------------------------------------------------------


def failed(found: Certificate) -> list[str]:
    assert not found.holds
    return [p.name for p in found.premises if not p.holds]


@pytest.mark.parametrize(
    ("rule", "cost", "comparators", "theorem", "premise", "observed"),
    [
        (MirrorDescent(Entropy(), Constant(0.5)), [-2.5, 0.0], Simplex(), "THM-2.22", "η·z_t[i] ≥ −1", -1.25),
        (MirrorDescent(Entropy(), Constant(0.5)), [-0.1, 0.0], Simplex(), "THM-2.22+", "z_t[i] ≥ 0", -0.05),
        (
            MirrorDescent(UnnormalisedEntropy(0.5), Constant(2.0)),
            [-0.6, 0.0],
            Simplex(),
            "THM-2.23",
            "η·z_t[i] ≥ −1",
            -1.2,
        ),
        (
            MirrorDescent(UnnormalisedEntropy(0.5), Constant(2.0)),
            [-0.1, 0.0],
            Simplex(),
            "THM-2.23+",
            "z_t[i] ≥ 0",
            -0.2,
        ),
        (
            ProjectedGradient(L2Ball(1.0), InverseSqrt(math.sqrt(2.0))),
            [1.5, 0.0],
            L2Ball(1.0),
            "EQ-8",
            "‖z_t‖ ≤ G = √2·U/η = 1",
            1.5,
        ),
        (
            ProjectedGradient(L2Ball(1.0), InverseTime(0.5)),
            [1.0, 0.0],
            L2Ball(1.0),
            "THM-14.11",
            "losses are 0.5-strongly convex",
            0.0,
        ),
        (
            ProjectedGradient(L2Ball(1.0), WeightedInverseTime(0.5)),
            [1.0, 0.0],
            L2Ball(1.0),
            "THM-14.12",
            "losses are 0.5-strongly convex",
            0.0,
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_premise_that_fails_says_so(
    rule: MirrorDescent | ProjectedGradient,
    cost: list[float],
    comparators: Domain,
    theorem: str,
    premise: str,
    observed: float,
) -> None:
    run = play(rule, [cost])
    found = named(run, comparators)[theorem]
    assert failed(found) == [premise]
    assert next(p.observed for p in found.premises if p.name == premise) == pytest.approx(observed)
    assert run.certificate.premises_hold == any(c.premises_hold for c in run.certificates)


@pytest.mark.parametrize(
    ("rule", "inside", "outside"),
    [
        (MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.5)), L1Ball(1.0), L2Ball(1.01)),
        (MirrorDescent(Euclidean(Box(-1.0, 1.0)), Constant(0.5)), L2Ball(1.0), Point([0.0, 1.5])),
        (MirrorDescent(Entropy(), Constant(0.5)), Point([0.5, 0.5]), Simplex(1.5)),
        (MirrorDescent(UnnormalisedEntropy(0.5), Constant(0.5)), Simplex(7.0), Point([1.0, -0.1])),
        (ProjectedGradient(L1Ball(1.0), Constant(0.5)), Simplex(1.0), L2Ball(1.0)),
        (ProjectedGradient(Orthant(), Constant(0.5)), Box(0.0, 2.0), L2Ball(1.0)),
    ],
)
def test_comparators_must_be_playable(rule: MirrorDescent | ProjectedGradient, inside: Domain, outside: Domain) -> None:
    run = play(rule, [[1.0, 0.5]])
    assert tightest(certificates(run.learner, run.state, inside)).holds
    for found in certificates(run.learner, run.state, outside):
        assert f"comparators lie in the learner's {rule.domain.name}" in failed(found)


@pytest.mark.parametrize(
    ("learner", "comparators"),
    [
        (zoo.ogd(Hinge(), 0.1), L2Ball(1.0)),
        (zoo.ogd_lazy(Hinge(), 0.1, 3.0), L2Ball(3.0)),
        (zoo.ogd_sc(Hinge(), 0.1), Reals()),
        (zoo.pnorm(Hinge(), 0.1, 3.0), LqBall(1.0, 1.5)),
        (zoo.eg(Hinge(), 0.1, 2.0), Simplex(2.0)),
        (zoo.ueg(Hinge(), 0.1, 3), Simplex(1.0)),
        (Linear(Hinge(), ProjectedGradient(Orthant(), Constant(0.1))), Simplex(1.0)),
        (Linear(Hinge(), ProjectedGradient(Box(0.0, 2.0), Constant(0.1))), Box(0.0, 2.0)),
    ],
    ids=repr,
)
def test_comparators_by_default(learner: Linear, comparators: Domain) -> None:
    """The learner's own domain, or the unit ball of its geometry: always playable."""
    assert natural_comparator(learner, 3) == comparators
    assert learner.rule.domain.covers(comparators, 3)


def test_certificates_whose_premises_hold_come_first() -> None:
    run = play(ProjectedGradient(L2Ball(1.0), InverseTime(0.5)), [[1.0, 0.0]] * 5)
    assert [c.id for c in run.certificates] == ["EAGER-DEC", "THM-14.11"]
    assert run.certificates[1].bound < run.certificates[0].bound
    assert run.certificate.id == "EAGER-DEC"


def test_a_learner_without_a_theorem_still_has_its_linearised_regret() -> None:
    run = play(MirrorDescent(UnnormalisedEntropy(0.5), InverseSqrt(0.5)), [[1.0, 0.0], [0.0, 2.0]])
    (found,) = run.certificates
    assert (found.id, found.holds) == ("LEM-2.5", True)
    assert found.bound == found.linear_regret == run.linear_regret()
    np.testing.assert_allclose(run.trace.bound, run.trace.linear_regret)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_before_the_first_round_there_is_no_regret(case: Case) -> None:
    learner = case.learner(Cost(), D - (case.bias > 0))
    state = learner.start(D - (case.bias > 0))
    for comparators in case.comparators(D):
        for found in certificates(learner, state, comparators):
            assert found.linear_regret in (0.0, None)
            assert found.bound >= 0


# ---- what a certificate says -----------------------------------------------------------------------------------------


def made(**changes: object) -> Certificate:
    fields: dict[str, object] = {
        "id": "LAZY+",
        "statement": "regret ≤ …",
        "comparator": {"set": "l2-ball", "radius": 1.0},
        "linear_regret": 2.0,
        "bound": 3.0,
        "premises": (Premise("z ≥ 0", True, 0.0),),
        "regret": 1.0,
    }
    return Certificate(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "changes",
    [
        {"regret": 2.1},
        {"linear_regret": 3.1},
        {"bound": 1.9},
        {"bound": math.nan},
        {"linear_regret": math.nan},
        {"regret": math.nan},
        {"linear_regret": None, "regret": 3.1},
        {"linear_regret": math.inf},
        {"premises": (Premise("z ≥ 0", True, 0.0), Premise("η < ½", False, 0.7))},
    ],
    ids=repr,
)
def test_numbers_out_of_order_do_not_hold(changes: dict[str, object]) -> None:
    assert made().holds
    assert not made(**changes).holds


@pytest.mark.parametrize(
    "changes",
    [{"regret": None}, {"linear_regret": None}, {"bound": 2.0 - 1e-9}, {"regret": -5.0}, {"bound": math.inf}],
    ids=repr,
)
def test_what_is_missing_or_rounded_does_not_count(changes: dict[str, object]) -> None:
    assert made(**changes).holds


KEYS = "id statement comparator linear_regret bound holds premises hindsight regret risk"


def test_the_json_form_has_every_key_of_the_public_contract() -> None:
    run = play(MirrorDescent(Euclidean(L2Ball(2.0)), Constant(0.5)), [[1.0, 0.5]])
    said = json.loads(json.dumps(run.certificate.to_json(), allow_nan=False))
    assert set(KEYS.split()) <= set(said)
    assert said["comparator"] == {"set": "l2-ball", "radius": 2.0}
    assert said["holds"] is True
    assert all(set(p) == {"name", "holds", "observed"} for p in said["premises"])
    assert (said["hindsight"], said["risk"], said["regret"]) == (None, None, None)


@pytest.mark.parametrize("case", CASES, ids=by_name)
def test_every_json_form_is_json(case: Case) -> None:
    features = D - (case.bias > 0)
    run = train(case.learner(Cost(), features), sequences.constant(3, features).x, np.ones(3), compiled=False)
    for comparators in [*case.comparators(D), Reals(), Orthant(), LqBall(1.0, 1.5)]:
        if case.ridge == 0 or isinstance(comparators, Reals | L2Ball | Point):
            for found in certificates(run.learner, run.state, comparators):
                json.dumps(found.to_json(), allow_nan=False)
