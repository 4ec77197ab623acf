"""Every game against every algorithm that fits it, with the regret counted again from the costs themselves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret.domain import Domain, L2Ball, Simplex
from lowregret.errors import PartError
from lowregret.experts import ExpertMixture, Hedge
from lowregret.game import (
    ALGORITHMS,
    CATALOGUE,
    AdaptiveGame,
    Contest,
    CostGame,
    Environment,
    ExpertGame,
    contest,
    fitting,
    game,
)
from lowregret.game.algorithms import Setting
from lowregret.game.cost_games import BallGame
from lowregret.game.environment import LateAnswers, ObliviousGame
from lowregret.game.tables import marks
from lowregret.loss import Hinge
from lowregret.mirror import Entropy
from lowregret.play import play
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from tests.laws.comparators import hindsight, least

ROUNDS = 24
NAMES = [name for name in CATALOGUE if name != "replay"]
NOTHING_PROMISED = {"ucb1", "thompson"}


def wrapped() -> list[str]:
    """All games that can be made, wrapped ones included."""
    found = list(NAMES)
    for prefix in ("late", "bandit"):
        for name in NAMES:
            try:
                game(f"{prefix}:{name}")
            except PartError:
                continue
            found.append(f"{prefix}:{name}")
    return found


PAIRS = [(name, a.name) for name in wrapped() for a in fitting(game(name))]


def promised(name: str, algorithm: str) -> bool:
    """Whether some theorem speaks of the pair: 1/t rates need curvature (E40), mistake bounds a right hypothesis."""
    e = game(name)
    if isinstance(e, CostGame) and algorithm == "ogd-sc":
        return e.curvature > 0
    if name in ("cover", "noisy-labels"):
        return algorithm not in ("consistent", "halving", "soa")
    return algorithm not in NOTHING_PROMISED


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "algorithm"), PAIRS)
def test_every_pair(name: str, algorithm: str) -> None:
    played = contest(name, algorithm, ROUNDS, seed=3)
    assert [row.round for row in played.rows] == [1, 2, 4, 8, 16, ROUNDS]
    assert played.holds == promised(name, algorithm), played.verdict
    for row in played.rows:
        if row.bound is not None:
            assert row.regret <= row.bound + 1e-9 * (1 + abs(row.bound))
    expected = counted_again(game(name), played)
    if expected is not None:
        assert [row.regret for row in played.rows] == pytest.approx(expected, abs=1e-9)


def counted_again(e: Environment, played: Contest) -> list[float] | None:
    """Loss less that of the best fixed choice, where the costs are known without the player."""
    inner: Any = getattr(e, "inner", e)
    if not isinstance(inner, ObliviousGame):
        return None
    z, found = inner.table(ROUNDS, 3), []
    for row in played.rows:
        seen = z[: row.round]
        if inner.curvature:
            mean = seen.mean(axis=0)
            best = 0.5 * float(np.sum((mean * min(1.0, 1 / max(float(np.linalg.norm(mean)), 1e-9)) - seen) ** 2))
        else:
            best = least(seen.sum(axis=0), inner.domain)
        found.append(row.loss - best)
    return found


def test_every_algorithm_fits_some_game_and_every_game_has_players() -> None:
    assert {algorithm for _, algorithm in PAIRS} == {a.name for a in ALGORITHMS}
    assert {name for name, _ in PAIRS} == set(wrapped())


@pytest.mark.parametrize("name", [*NAMES, "replay"])
def test_every_game_says_what_it_shows(name: str) -> None:
    told = CATALOGUE[name].__doc__
    assert told
    about, _, more = told.partition("\n\n")
    assert len(about) <= 110
    assert more.strip().endswith(".")


@pytest.mark.parametrize("pair", [("iid", "ogd-eager"), ("coin-flips", "hedge"), ("bandit-gap", "thompson"),
                                  ("bandit:iid", "bogd"), ("bandit:iid", "bogd-outside"),
                                  ("halfspace", "perceptron")])  # fmt: skip
def test_the_seed_settles_everything(pair: tuple[str, str]) -> None:
    one, same, other = (contest(*pair, ROUNDS, seed=s).to_json() for s in (5, 5, 6))
    assert one == same
    assert one["rows"] != other["rows"]


# ---- against transcriptions of the textbook --------------------------------------------------------------------------


def regret_on_ball(losses: list[float], z: Any) -> float:
    return sum(losses) + float(np.linalg.norm(z.sum(axis=0)))


@pytest.mark.parametrize("name", ["iid", "drift", "ftl-breaker", "turn", "constant", "wobble"])
def test_descent_in_a_few_lines(name: str) -> None:
    """η = 1/(L√T) on the unit ball, on all space, lazily and eagerly projected."""
    e: Any = game(name)
    z = e.table(50, 0)
    eta = 1 / (np.max(np.linalg.norm(z, axis=1)) * math.sqrt(50))

    def projected(v: Any) -> Any:
        return v / max(1.0, float(np.linalg.norm(v)))

    w, lazy, eager = np.zeros(e.d), [], []
    for t in range(50):
        lazy.append(float(projected(-eta * z[:t].sum(axis=0)) @ z[t]))
        eager.append(float(w @ z[t]))
        w = projected(w - eta * z[t])
    free = [float(-eta * z[:t].sum(axis=0) @ z[t]) for t in range(50)]
    for algorithm, losses in (("ogd", free), ("ogd-lazy", lazy), ("ogd-eager", eager)):
        last = contest(e, algorithm, 50).rows[-1]
        assert last.loss == pytest.approx(sum(losses), abs=1e-9)
        assert last.regret == pytest.approx(regret_on_ball(losses, z), abs=1e-9)


@pytest.mark.parametrize("name", ["coin-flips", "free-expert", "takeover"])
def test_exponential_weights_in_a_few_lines(name: str) -> None:
    e: Any = game(name)
    z = e.table(50, 0)
    for algorithm, eta in (("eg", math.sqrt(2 * math.log(e.d) / 50)), ("hedge", math.sqrt(8 * math.log(e.d) / 50))):
        total = 0.0
        for t in range(50):
            weights = np.exp(-eta * z[:t].sum(axis=0))
            total += float(weights @ z[t] / weights.sum())
        last = contest(e, algorithm, 50).rows[-1]
        assert last.regret == pytest.approx(total - float(z.sum(axis=0).min()), abs=1e-9)


# ---- what must happen ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rounds", [10, 100, 1000])
def test_ftl_loses_every_round_and_descent_does_not(rounds: int) -> None:
    """DEMO-FTL-FAIL: regret T − ½ − w₁/2 with w₁ = 0; tuned descent ≤ √T."""
    ftl = contest("ftl-breaker", "ftl", rounds)
    assert ftl.rows[-1].regret == rounds - 0.5
    assert ftl.rows[-1].loss == rounds - 1
    assert ftl.empty
    assert "promises nothing" in ftl.verdict
    assert contest("ftl-breaker", "ogd", rounds).rows[-1].regret <= math.sqrt(rounds)


def test_orthogonal_costs_make_the_tuned_bound_tight() -> None:
    for rounds in (16, 64, 256):
        last = contest("orthogonal", "ogd", rounds).rows[-1]
        assert last.regret == pytest.approx(math.sqrt(rounds))
        assert last.bound == pytest.approx(math.sqrt(rounds))


def test_one_over_t_does_not_turn() -> None:
    """E40, and the schedule that does."""
    slow = contest("turn", "ogd-sc", 1000)
    assert 0.3 < slow.rows[-1].regret / 1000 < 0.34
    assert not slow.holds
    assert "strongly convex" in slow.verdict
    assert contest("turn", "ogd-eager", 1000).rows[-1].regret <= math.sqrt(1000)


def test_the_mean_is_the_identity() -> None:
    for algorithm in ("ftl", "ogd-sc"):
        for row in contest("quadratic", algorithm, 200).rows:
            assert row.regret == pytest.approx(row.bound)


def test_whoever_trusts_one_expert_pays_each_round() -> None:
    rounds = 400
    ftl, hedge = (contest("heaviest-pays", name, rounds).rows[-1] for name in ("ftl", "hedge"))
    assert ftl.loss > 0.5 * rounds
    assert hedge.regret <= math.sqrt(rounds * math.log(4) / 2)


def test_experts_who_toss_coins_are_lucky() -> None:
    """THM-1.3's lower bound: the regret is a good part of √(T ln d/2)."""
    mean = np.mean([contest("coin-flips", "hedge", 300, seed=s).rows[-1].regret for s in range(10)])
    assert 0.5 < mean / math.sqrt(300 * math.log(10) / 2) < 1


def test_no_delay_is_the_game_itself() -> None:
    for name in ("iid", "turn", "quadratic", "free-expert", "uphill"):
        inner = game(name)
        for algorithm in ("ogd-lazy", "ogd-eager"):
            one = contest(inner, algorithm, 40, seed=1, name="same").to_json()
            other = contest(LateAnswers(inner, 0), algorithm, 40, seed=1, name="same").to_json()
            assert one == other


def test_late_answers_cost_a_root_of_the_delay() -> None:
    prompt, late = (contest(LateAnswers(game("orthogonal"), tau), "ogd-eager", 500).rows[-1] for tau in (0, 10))
    assert late.regret > 2 * prompt.regret
    assert late.bound == pytest.approx(math.sqrt(21 * 500), rel=0.02)
    assert late.regret <= math.sqrt(21 * 500)


def test_the_mean_of_several_games_is_said_to_be_one() -> None:
    for where, algorithm in (("bandit-gap", "exp3"), ("bandit:iid", "bogd")):
        played = contest(where, algorithm, 16)
        assert played.games == played.to_json()["games"] == 20
        assert "the mean of 20 games" in played.verdict
    assert "mean" not in contest("iid", "ogd", 16).verdict


def test_marks() -> None:
    assert list(marks(1)) == [1]
    assert list(marks(8)) == [1, 2, 4, 8]
    assert list(marks(9)) == [1, 2, 4, 8, 9]


# ---- refusals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: contest("nope", "ogd"), "there is no game 'nope'; there are iid, drift"),
        (lambda: contest("iid", "nope"), "no algorithm 'nope'; iid can be played by ftl, ftrl, ogd"),
        (lambda: contest("coin-flips", "ogd"), "ogd cannot play coin-flips; coin-flips can be played by ftl"),
        (lambda: contest("iid", "ftl", eta=0.1), "ftl has no learning rate in iid"),
        (lambda: contest("iid", "ogd", 0), "at least one round"),
        (lambda: game("late:bandit-gap:x"), "there is no game"),
        (lambda: game("bandit:uphill"), "fixed beforehand"),
        (lambda: game("bandit:quadratic"), "linear costs"),
        (lambda: game("late:halfspace"), "game of costs"),
        (lambda: game("replay"), "--data FILE"),
        (lambda: game("coin-flips", radius=2.0), "takes no radius"),
        (lambda: LateAnswers(game("iid"), -1), "tau must be a whole number"),
        (lambda: LateAnswers(LateAnswers(game("iid"), 1), 1), "shown at once"),
    ],
)
def test_refusals(call: Any, said: str) -> None:
    with pytest.raises(PartError, match=said):
        call()


def test_eta_and_radius_are_taken() -> None:
    played = contest(game("iid", radius=3.0), "ogd-lazy", 30, eta=0.25)
    assert played.spec == {
        "part": "MirrorDescent",
        "mirror": {"part": "Euclidean", "domain": {"part": "L2Ball", "radius": 3.0}},
        "step": {"part": "Constant", "eta": 0.25},
    }
    assert played.tuning == "η = 0.25, as given"
    assert played.certificate.comparator == {"set": "l2-ball", "radius": 3.0}
    assert isinstance(game("iid").domain, L2Ball)
    assert isinstance(game("bandit-gap").domain, Simplex)


# ---- adversaries that look at the player -----------------------------------------------------------------------------


class Recorder(AdaptiveGame):
    """Another adversary, whose answers are written down."""

    inner: Any = None

    def check(self) -> None:
        self.__dict__["book"] = []

    @property
    def dimension(self) -> int:
        return int(self.inner.dimension)

    @property
    def domain(self) -> Domain:
        return self.inner.domain

    @property
    def unit(self) -> bool:
        return bool(self.inner.unit)

    def answer(self, done: float, w: Any) -> Any:
        z = self.inner.answer(done, w)
        self.__dict__["book"].append((w.copy(), z))
        return z


@pytest.mark.parametrize("name", ["orthogonal", "uphill", "last-stand", "heaviest-pays"])
def test_regret_against_adversaries_counted_again(name: str) -> None:
    inner: Any = game(name)
    for algorithm in fitting(inner):
        e = Recorder(inner=inner)
        played = contest(e, algorithm.name, 20)
        book = e.__dict__["book"]
        assert len(book) == 20
        loss, total = sum(float(w @ z) for w, z in book), np.sum([z for _, z in book], axis=0)
        assert played.rows[-1].loss == pytest.approx(loss, abs=1e-9)
        assert played.rows[-1].regret == pytest.approx(loss - least(total, inner.domain), abs=1e-9)
        one = contest(name, algorithm.name, 20)
        assert one.rows == played.rows


# ---- any costs whatever ----------------------------------------------------------------------------------------------


class Given(ExpertGame):
    """A table of costs."""

    z: Any = None

    def costs(self, rounds: int, rng: np.random.Generator) -> Any:
        return self.z[:rounds]


class GivenOnBall(BallGame):
    """A table of costs."""

    z: Any = None

    def costs(self, rounds: int, rng: np.random.Generator) -> Any:
        return self.z[:rounds]


@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(1, 12), st.floats(0.01, 3.0))
@settings(max_examples=10)
def test_no_costs_break_a_bound(seed: int, d: int, rounds: int, spread: float) -> None:
    rng = np.random.default_rng(seed)
    unit = np.clip(rng.random((rounds, d)) ** spread, 0, 1)
    signs = rng.normal(size=(rounds, d)) * spread * rng.integers(0, 2, (rounds, 1)) + 1e-3
    for e in (Given(d=d, z=unit), GivenOnBall(d=d, z=signs)):
        for algorithm in fitting(e):
            if algorithm.name != "ogd-sc":
                played = contest(e, algorithm.name, rounds)
                assert played.holds, (algorithm.name, played.verdict)


# ---- rows ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["halfspace", "contrary"])
@pytest.mark.parametrize("algorithm", ["ogd", "ogd-lazy", "ogd-sqrt"])
def test_regret_on_rows_lies_where_a_cone_program_says(name: str, algorithm: str) -> None:
    e: Any = game(name)
    table: Any = next(a for a in ALGORITHMS if a.name == algorithm).sit(Setting(e, 30, 2))
    row = table.until(30)
    found = hindsight(Hinge(), table.x, table.y, np.ones(30), e.domain)
    slack = 2e-4 * (1 + found.upper)
    assert row.loss - found.upper - slack <= row.regret <= row.loss - found.lower + slack


def test_what_a_table_shows_of_bounds_has_their_rounding_in_it() -> None:
    """In floats a tight game's regret may exceed a bare bound, but not what rows, tables and curves show."""
    played = contest("orthogonal", "ogd", 64)
    last, c = played.rows[-1], played.certificate
    assert c.rounding > 0
    assert last.bound == c.promised > c.bound
    assert last.linear_regret == c.measured
    assert str(played).splitlines()[-2].split()[-2] == "8.0001"  # 8 and its rounding, rounded up
    wide = replace(c, bound=1.0, rounding=15.0)
    shares = replace(played, rows=(replace(last, regret=8.0, bound=wide.promised),), certificate=wide).verdict
    assert "50% of what" in shares  # of a bound of 1, the share was 800%
    curves = play(MirrorDescent(Entropy(), Constant(0.1)), np.random.default_rng(0).random((16, 3)))
    named = next(c for c in curves.certificates if c.id == curves.trace.theorem)
    assert curves.trace.bound[-1] == named.promised > named.bound
    mixture = ExpertMixture(2, Hedge(0.1)).learn([[1.0, 2.0], [3.0, 5.0]], [1.0, 4.0])
    assert mixture.bound(0) == mixture.certificate.promised > mixture.certificate.bound
