"""Rates tuned by the theorems: the promise is the theorem's bound at the worst that was announced, and is kept."""

from __future__ import annotations

import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import tuned, zoo
from lowregret.bandit import Bandit, Exp3, TsallisInf, Ucb1
from lowregret.bandit.proof import promised as promised_bandit
from lowregret.certificate import Certificate
from lowregret.cli import main
from lowregret.convex.leader import FollowTheRegularisedLeader
from lowregret.domain import Box, L1Ball, L2Ball, LqBall, Reals, Simplex
from lowregret.errors import PartError
from lowregret.experts import AdaHedge, Aggregator, Descent, ExpertMixture, FixedShare, Hedge
from lowregret.experts.promise import promised
from lowregret.finite import WeightedMajority, make_hypotheses
from lowregret.learner.delayed import Delayed
from lowregret.loss import Cost, Hinge, Logistic
from lowregret.mirror import Entropy, Euclidean, PNorm, UnnormalisedEntropy
from lowregret.play import play
from lowregret.rule import AdaGrad, MirrorDescent, Newton, ProjectedGradient
from lowregret.step import Constant, InverseSqrt, InverseTime

pytestmark = pytest.mark.usefixtures("interpreted")

RULES: dict[str, tuple[Any, float]] = {  # and the dual norm
    "ogd": (MirrorDescent(Euclidean(), Constant(1.0)), 2),
    "lazy ball": (MirrorDescent(Euclidean(L2Ball(2.0)), Constant(1.0)), 2),
    "lazy simplex": (MirrorDescent(Euclidean(Simplex()), Constant(1.0)), 2),
    "eg": (MirrorDescent(Entropy(1.5), Constant(1.0)), math.inf),
    "pnorm": (MirrorDescent(PNorm(3.0), Constant(1.0)), 3),
    "eager ball": (ProjectedGradient(L2Ball(2.0), Constant(1.0)), 2),
    "eager simplex": (ProjectedGradient(Simplex(), Constant(1.0)), 2),
    "eager box": (ProjectedGradient(Box(0.5, 1.5), Constant(1.0)), 2),
    "sqrt ball": (ProjectedGradient(L2Ball(2.0), InverseSqrt(1.0)), 2),
    "sqrt box": (ProjectedGradient(Box(-1.0, 1.0), InverseSqrt(1.0)), 2),
    "adagrad": (AdaGrad(1.0, Box(-1.0, 1.0)), 2),
}
CONSTANT = [name for name in RULES if name not in ("sqrt ball", "sqrt box", "adagrad")]
EACH = pytest.mark.parametrize("name", RULES)
D = 5


def by_id(found: list[Certificate]) -> dict[str, Certificate]:
    return {c.id: c for c in found}


def costs_of(kind: str, rounds: int, p: float, size: float, seed: int) -> Any:
    """Costs of dual norm exactly `size`: random, or all pulling the same way, or to and fro."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(rounds, D))
    if kind == "steady":
        z = np.tile(z[0], (rounds, 1))
    elif kind == "to and fro":
        z = np.tile(z[0], (rounds, 1)) * np.where(np.arange(rounds) % 2, 1.0, -1.0)[:, None]
    return size * z / np.array([np.linalg.norm(row, p) for row in z])[:, None]


@EACH
@pytest.mark.parametrize("kind", ["random", "steady", "to and fro"])
def test_promises_are_kept(name: str, kind: str) -> None:
    """The certificate on observed quantities is at most the promise, over the rounds announced and over fewer."""
    rule, p = RULES[name]
    for rounds in (1, 7, 60):
        made, promise = tuned(rule, lipschitz=1.3, rounds=60, dimension=D)
        game = play(made, costs_of(kind, rounds, p, 1.3, seed=rounds))
        found = by_id(game.certificates)[promise.id]
        assert found.holds
        assert game.regret <= promise.bound * (1 + 1e-9)
        assert promise.rounds == 60
        assert found.bound <= promise.bound * (1 + 1e-9)


@pytest.mark.parametrize("name", [name for name in CONSTANT if name != "eager box"])
def test_the_promise_is_the_bound_at_the_worst(name: str) -> None:
    """With all norms as announced, over all rounds, against all comparators: the same number."""
    rule, p = RULES[name]
    made, promise = tuned(rule, lipschitz=0.7, rounds=25, dimension=D)
    found = by_id(play(made, costs_of("random", 25, p, 0.7, 0)).certificates)[promise.id]
    assert found.bound == pytest.approx(promise.bound, rel=1e-9)


@pytest.mark.parametrize("name", CONSTANT)
def test_no_other_constant_rate_promises_less(name: str) -> None:
    """Of the bound a/η + bη, which the tuned rate makes as small as it can be."""
    rule, p = RULES[name]
    made, promise = tuned(rule, lipschitz=1.0, rounds=40, dimension=D)
    z = costs_of("random", 40, p, 1.0, 1)
    at = {}
    for factor in (0.8, 1.0, 1.25):
        step = Constant(promise.eta * factor)
        other = (
            MirrorDescent(made.mirror, step)
            if isinstance(made, MirrorDescent)
            else ProjectedGradient(made.domain, step)
        )
        at[factor] = by_id(play(other, z).certificates)[promise.id].bound
    assert at[1.0] < min(at[0.8], at[1.25])


def test_the_textbooks_numbers() -> None:
    """B = L = 1, d = 16, T = 1000: 74.5 (EG); U = G = 1, T = 100: 28.3 ([003]); D₁ = G = 1: √T."""
    assert tuned(RULES["eg"][0], lipschitz=1.0, rounds=1000, dimension=16).promise.bound == pytest.approx(
        1.5 * 74.466, abs=0.01
    )
    ball = ProjectedGradient(L2Ball(1.0), InverseSqrt(9.0))
    made, promise = tuned(ball, lipschitz=1.0, rounds=100)
    assert made.step.eta == pytest.approx(math.sqrt(2))
    assert promise.bound == pytest.approx(28.28, abs=0.01)
    learner, promise = tuned(zoo.ogd(Hinge(), eta=3.0), lipschitz=2.0, rounds=64, radius=0.5)
    assert learner == zoo.ogd(Hinge(), eta=0.5 / 16)
    assert promise.bound == pytest.approx(8.0)
    assert "at most 8 (EQ-2.15" in str(promise)


@pytest.mark.parametrize("domain", [L2Ball(1.0), Box(-1.0, 1.0), Reals()], ids=lambda s: s.name)
def test_a_start_of_its_own_is_what_promises_count_from(domain: Any) -> None:
    """From one end of the set to the other: ‖u − w₁‖ = 2, whatever ‖u‖ is."""
    rule = ProjectedGradient(domain, Constant(1.0), start=np.array([-1.0]))
    made, promise = tuned(rule, lipschitz=1.0, rounds=100, radius=2.0)
    for sign in (1.0, -1.0):
        game = play(made, np.full((100, 1), sign), comparator=Box(-1.0, 1.0))
        assert game.regret <= promise.bound * (1 + 1e-9)
    assert promise.bound == pytest.approx(20.0)
    assert promise.radius == 2.0


def test_a_lazy_promise_says_which_comparators_it_speaks_of() -> None:
    """On a box without 0, B² = max ‖u‖² − ‖w₁‖² is what the bound has, and max ‖u‖ the size of comparators."""
    promise = tuned(
        MirrorDescent(Euclidean(Box(3.0, 5.0)), Constant(1.0)), lipschitz=1.0, rounds=4, dimension=1
    ).promise
    assert promise.bound == pytest.approx(8.0)
    assert promise.radius == 5.0


@pytest.mark.parametrize("name", ["ogd", "lazy ball", "eager ball", "eager simplex", "eg", "pnorm"])
def test_late_answers_are_tuned_for(name: str) -> None:
    rule, p = RULES[name]
    made, promise = tuned(rule, lipschitz=1.0, rounds=50, dimension=D, delay=3)
    game = play(Delayed(made, 3), costs_of("random", 50, p, 1.0, 2))
    assert promise.id == "DELAY"
    assert by_id(game.certificates)["DELAY"].bound <= promise.bound * (1 + 1e-9)
    assert promise.bound == pytest.approx(
        tuned(rule, lipschitz=1.0, rounds=50, dimension=D).promise.bound * math.sqrt(7)
    )


def test_unnormalised_weights_are_tuned_for_costs() -> None:
    rule = MirrorDescent(UnnormalisedEntropy(1 / D), Constant(1.0))
    made, promise = tuned(rule, lipschitz=1.0, rounds=80, radius=1.0, dimension=D)
    game = play(made, np.random.default_rng(3).random((80, D)), comparator=Simplex())
    found = by_id(game.certificates)["THM-2.23+"]
    assert found.bound <= promise.bound
    assert promise.premise == "0 ≤ z_t[i] ≤ G"


@pytest.mark.parametrize("mirror", [Euclidean(L2Ball(1.0)), Entropy(), PNorm(3.0)], ids=lambda m: type(m).__name__)
def test_regularised_leaders_are_tuned_alike(mirror: Any) -> None:
    player, promise = tuned(FollowTheRegularisedLeader(mirror, 1.0), lipschitz=1.0, rounds=40, dimension=D)
    p = {"Euclidean": 2.0, "Entropy": math.inf, "PNorm": 3.0}[type(mirror).__name__]
    against = LqBall(1.0, 1.5) if p == 3 else None
    found = by_id(play(player, costs_of("random", 40, p, 1.0, 4), comparator=against).certificates)["THM-2.11+"]
    assert found.bound == pytest.approx(promise.bound)
    assert promise.id == "THM-2.11+"


@pytest.mark.parametrize(
    ("part", "known", "why"),
    [
        (zoo.ogd_sc(Hinge(), 0.1), {}, "ridge"),
        (zoo.perceptron(), {}, "mistakes alone"),
        (zoo.kt(Hinge()), {}, "no theorem tunes"),
        (Newton(1.0, 1.0), {}, "no theorem tunes"),
        (ProjectedGradient(L2Ball(1.0), InverseTime(1.0)), {}, "no theorem tunes"),
        (AdaGrad(0.5), {}, "bounded domains only"),
        (MirrorDescent(Entropy(), Constant(1.0)), {}, "give dimension"),
        (MirrorDescent(Euclidean(Box(-1.0, 1.0)), Constant(1.0)), {}, "box depends on .* give dimension"),
        (ProjectedGradient(Box(-1.0, 1.0), Constant(1.0)), {}, "give dimension"),
        (ProjectedGradient(Simplex(), InverseSqrt(1.0)), {}, "give dimension"),
        (zoo.ogd_sqrt(Logistic(), 1.0), {"delay": 2}, "constant rate"),
        (zoo.ogd(Hinge(), 1.0), {"rounds": 0}, "rounds must be"),
        (zoo.ogd(Hinge(), 1.0), {"lipschitz": math.inf}, "lipschitz must be"),
        (L1Ball(1.0), {}, "only rules"),
    ],
)  # fmt: skip
def test_what_cannot_be_tuned_says_why(part: Any, known: dict[str, Any], why: str) -> None:
    with pytest.raises(PartError, match=why):
        tuned(part, **({"lipschitz": 1.0, "rounds": 10} | known))


# ---- experts, bandits, finite classes --------------------------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 6), st.integers(1, 80), st.floats(0.1, 10.0), st.integers(0, 10**6))
def test_panels_keep_their_promises(experts: int, rounds: int, spread: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs = spread * np.round(rng.random((rounds, experts)))
    made: list[Aggregator] = [Hedge.tuned(experts, rounds, spread), Descent.tuned(experts, rounds, spread)]
    for aggregator in made:
        panel = ExpertMixture(experts, aggregator, Cost(), compiled=False).learn(costs, np.ones(rounds))
        assert panel.regret <= promised(aggregator, experts, rounds, spread).bound + 1e-9
    share = FixedShare.tuned(experts, rounds, spread, switches=2)
    panel = ExpertMixture(experts, share, Cost(), compiled=False).learn(costs, np.ones(rounds))
    assert panel.bound(2) <= promised(share, experts, rounds, spread, 2).bound + 1e-6 * (1 + spread * rounds)


def test_panels_promise_the_printed_bounds() -> None:
    assert promised(Hedge.tuned(4, 100), 4, 100).bound == pytest.approx(math.sqrt(50 * math.log(4)))
    assert promised(Descent.tuned(4, 100, 2.0), 4, 100, 2.0).bound == pytest.approx(math.sqrt(3 * 100))
    with pytest.raises(PartError, match="no rate to tune"):
        promised(AdaHedge(), 2, 10)
    with pytest.raises(PartError, match="rounds ≥ 1"):
        Hedge.tuned(2, 0)
    learner = WeightedMajority(make_hypotheses("thresholds:8"), 50)
    assert learner.promise.bound == pytest.approx(math.sqrt(25 * math.log(8)))
    assert learner.promise.id == "THM-1.3"


def test_bandits_promise_the_printed_bounds() -> None:
    promise = promised_bandit(Exp3.tuned(2, 500), 2, 500)
    assert promise.bound == pytest.approx(37.2, abs=0.05)
    bandit = Bandit(2, Exp3.tuned(2, 500)).learn(np.random.default_rng(4).random((500, 2)))
    assert by_id(bandit.certificates)["COR-4.2+"].bound == pytest.approx(promise.bound)
    assert promised_bandit(TsallisInf(), 4, 100).bound == pytest.approx(81)
    with pytest.raises(PartError, match="beforehand"):
        promised_bandit(Ucb1(), 2, 10)


# ---- the command line ------------------------------------------------------------------------------------------------


def write_rows(path: Path) -> float:
    """Rows in a file; returns the longest."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50, 3)).round(3)
    y = np.where(X[:, 0] > 0, 1, -1)
    lines = (f"{b} 1:{x[0]} 2:{x[1]} 3:{x[2]}\n" for x, b in zip(X, y, strict=True))
    path.write_bytes(gzip.compress("".join(lines).encode()))
    return float(np.max(np.linalg.norm(X, axis=1)))


def told(capsys: pytest.CaptureFixture[str], *args: object) -> tuple[dict[str, Any], str]:
    assert main([str(a) for a in args]) == 0
    out, err = capsys.readouterr()
    return json.loads(out), err


def test_train_is_tuned_and_says_what_is_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.svm.gz"
    longest = write_rows(path)
    how = "train", path, "--json", "--algorithm", "ogd-lazy", "--radius", 2, "--eta", "theory"
    found, said = told(capsys, *how)
    assert "promises a regret of at most" in said
    assert found["promise"]["bound"] == pytest.approx(2 * longest * math.sqrt(50))
    assert found["promise"]["rounds"] == 50
    assert found["certificate"]["linear_regret"] <= found["promise"]["bound"]
    found, _ = told(capsys, *how, "--rounds", 200, "--lipschitz", 5, "--quiet")
    assert found["promise"]["bound"] == pytest.approx(2 * 5 * math.sqrt(200))
    found, _ = told(capsys, *how, "--loss", "square", "--quiet")
    assert found["promise"]["lipschitz"] == pytest.approx(2 * (2 * longest + 1) * longest)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        (("--algorithm", "adagrad", "--eta", "theory"), "bounded domains only"),
        (("--algorithm", "winnow", "--dimension", 3, "--eta", "theory"), "mistakes alone|ueg for costs"),
        (("--eta", "theory", "--loss", "square"), "no bound where weights have none"),
        (("--eta", 0.1, "--rounds", 5), "say what --eta theory"),
        (("--algorithm", "kt", "--eta", "theory"), "takes no --eta"),
    ],
)  # fmt: skip
def test_train_refuses_what_no_theorem_tunes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[Any, ...], why: str
) -> None:
    path = tmp_path / "rows.svm.gz"
    write_rows(path)
    assert main(["train", str(path), *map(str, more)]) != 0
    assert re.search(why, capsys.readouterr().err)


def test_a_promise_whose_premises_were_not_so_is_taken_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.svm.gz"
    write_rows(path)
    how = "train", path, "--json", "--algorithm", "ogd-lazy", "--radius", 2, "--eta", "theory"
    for more, holds in (((), True), (("--rounds", 200), True), (("--rounds", 2, "--lipschitz", 0.1), False)):
        found, said = told(capsys, *how, *more)
        assert found["promise"]["holds"] == holds
        assert ("was not so: nothing was promised" in said) != holds
        assert found["certificate"]["linear_regret"] <= found["promise"]["bound"] or not holds


@pytest.mark.parametrize("name", ["hedge", "wm", "eg", "ogd", "fixed-share"])
def test_experts_are_tuned_and_say_what_is_promised(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(6)
    y = rng.random(40)
    x = y[:, None] + rng.normal(size=(40, 3)) * [0.1, 0.3, 0.5]
    table = tmp_path / "table.csv"
    rows = (",".join(map(str, (b, *a))) for a, b in zip(x, y, strict=True))
    table.write_text("y,a,b,c\n" + "\n".join(rows) + "\n")
    how = "experts", table, "--target", "y", "--loss", "absolute", "--algorithm", name, "--eta", "theory", "--json"
    found, said = told(capsys, *how, *(("--share", 0.05) if name == "fixed-share" else ()))
    assert "promises a regret of at most" in said
    assert found["promise"]["rounds"] == 40
    assert found["best"]["regret"] <= found["certificate"]["bound"] <= found["promise"]["bound"] * (1 + 1e-9)
    assert {c["id"] for c in found["certificates"]} >= {found["certificate"]["id"]}


def test_play_takes_the_word_for_what_it_does_anyway(capsys: pytest.CaptureFixture[str]) -> None:
    how = "play", "iid", "ogd", "--rounds", 32, "--json"
    assert told(capsys, *how, "--eta", "theory")[0]["certificate"] == told(capsys, *how)[0]["certificate"]
