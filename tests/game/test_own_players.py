"""Contests with players and adversaries of one's own, in Python and on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Constant, Domain, Euclidean, FollowTheLeader, L2Ball, MirrorDescent, PartError
from lowregret.convex import QuadraticFunction
from lowregret.game import Adversary, contest, game
from lowregret.types import Vector
from tests.cli.running import process, run, svm_lines, written

FILE = """
import numpy as np
from lowregret.game import AdaptiveGame


class Mine:
    def __init__(self, dimension, rounds, domain, lipschitz):
        self.w, self.domain = domain.projection(np.zeros(dimension)), domain
        self.eta = domain.reach(2, dimension) / (lipschitz * rounds**0.5)

    def point(self):
        return self.w

    def learn(self, z):
        self.w = self.domain.projection(self.w - self.eta * z)


class Seesaw(AdaptiveGame):
    \"\"\"against the sign of w\"\"\"

    def answer(self, done, w):
        return np.sign(w + 1e-12)


def contrary(t, w):
    return np.sign(w + 1e-12) / len(w) ** 0.5


number = 3
"""


class Mine:
    """Projected gradient descent, tuned by what the game tells."""

    def __init__(self, dimension: int, rounds: int, domain: Domain, lipschitz: float) -> None:
        self.w, self.domain = domain.projection(np.zeros(dimension)), domain
        self.eta = domain.reach(2, dimension) / (lipschitz * rounds**0.5)

    def point(self) -> Vector:
        return self.w

    def learn(self, z: Vector) -> None:
        self.w = self.domain.projection(self.w - self.eta * z)


def contrary(t: int, w: Vector) -> Vector:
    """Costs against the sign of w."""
    return np.sign(w + 1e-12) / np.sqrt(len(w))


@pytest.mark.parametrize("name", ["iid", "uphill", "quadratic", "free-expert", "halfspace", "contrary"])
def test_a_class_of_players_is_told_of_the_game(name: str) -> None:
    played = contest(name, Mine, 64)
    assert played.algorithm == "Mine"
    assert played.certificate.id == "LEM-2.5"
    assert played.holds, played.verdict
    assert "which no theorem promised in advance" in played.verdict
    assert played.spec is None
    assert all(row.bound is not None and row.regret <= row.bound + 1e-9 for row in played.rows)


def test_it_does_as_the_algorithm_that_it_is() -> None:
    for name in ("iid", "uphill", "drift"):
        own, known = contest(name, Mine, 64), contest(name, "ogd-eager", 64)
        assert [row.regret for row in own.rows] == pytest.approx([row.regret for row in known.rows])
    own = contest("halfspace", Mine, 64)
    assert own.rows[-1].loss == pytest.approx(contest("halfspace", "ogd-eager", 64).rows[-1].loss)


def test_rules_and_followers_are_players() -> None:
    played = contest("uphill", MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), 64)
    assert (played.algorithm, played.certificate.id) == ("MirrorDescent", "LAZY+")
    assert played.spec is not None
    assert played.holds
    tuned = contest("uphill", lambda rounds, domain: MirrorDescent(Euclidean(domain), Constant(rounds**-0.5)), 64)
    assert (tuned.algorithm, tuned.rows) == ("MirrorDescent", contest("uphill", "ogd-lazy", 64).rows)
    late = contest("late:turn", MirrorDescent(Euclidean(L2Ball(1.0)), Constant(0.1)), 64)
    assert late.holds
    assert contest("ftl-breaker", FollowTheLeader(L2Ball(1.0)), 64).rows[-1].regret == pytest.approx(63.5)


def test_any_callable_is_an_adversary() -> None:
    for player in ("ogd", "ogd-lazy", "doubling", Mine):
        played = contest(contrary, player, 64, dimension=3)
        assert played.game == "contrary"
        assert played.holds, played.verdict
    curved = contest(lambda t, w: QuadraticFunction(-w), Mine, 16, dimension=2)
    assert curved.holds
    wide = contest(Adversary(lambda t, w: 5 * contrary(t, w), d=2, radius=3.0, longest=5.0), "ogd", 64)
    assert wide.holds
    assert wide.certificate.comparator == {"set": "l2-ball", "radius": 3.0}


class Curious(Mine):
    def __init__(self, dimension: int, secret: int) -> None:
        pass


@pytest.mark.parametrize(
    ("against", "player", "said"),
    [
        ("bandit:iid", Mine, "Mine cannot play bandit:iid: players of your own play games of costs or rows"),
        ("late:iid", Mine, "a rule plays late ones too"),
        ("tree", Mine, "Mine cannot play tree"),
        ("iid", Curious, "Curious asks for secret, which a game does not tell: it tells dimension, rounds, domain"),
        ("iid", 3, r"int cannot play: it lacks point"),
        ("iid", Euclidean, r"Euclidean is a mirror map: .* MirrorDescent\(Euclidean\(…\), Constant\(η\)\)"),
        ("iid", lambda dimension: 3, r"int cannot play: it lacks point"),
        (3, Mine, r"must be a game's name, an Environment such as AdaptiveGame, or a function of \(t, w_t\)"),
    ],
)
def test_what_cannot_be_played(against: Any, player: Any, said: str) -> None:
    with pytest.raises(PartError, match=said):
        contest(against, player, 8)


def test_leave_out_what_is_settled() -> None:
    with pytest.raises(PartError, match="leave eta out"):
        contest("iid", Mine, 8, eta=0.1)
    with pytest.raises(PartError, match="leave dimension out"):
        contest(game("iid"), Mine, 8, dimension=77)


# ---- the command line ------------------------------------------------------------------------------------------------


def test_on_the_command_line(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = written(tmp_path / "mine.py", [FILE])
    told = run(capsys, "play", "uphill", f"{file}:Mine", "--rounds", 64, "--json")
    assert told.code == 0, told.err
    assert told.json["algorithm"] == "Mine"
    assert told.json["certificate"]["id"] == "LEM-2.5"
    assert told.json["holds"]
    assert "Mine plays uphill: 64 rounds" in run(capsys, "play", "uphill", f"{file}:Mine", "--rounds", 64).out
    both = run(capsys, "play", f"{file}:contrary", f"{file}:Mine", "--dimension", 3, "--radius", 2, "--json").json
    assert both["certificate"]["comparator"]["radius"] == 2
    assert both["holds"]
    ours = run(capsys, "play", f"{file}:Seesaw", "ogd", "--dimension", 2, "--rounds", 32, "--json").json
    assert ours["certificate"]["id"] == "EQ-2.15"
    page = run(capsys, "play", f"{file}:Seesaw")
    assert "against the sign of w" in page.out
    assert "ogd-lazy" in page.out
    rows = written(tmp_path / "rows.svm", svm_lines(60))
    replayed = run(capsys, "play", "replay", f"{file}:Mine", "--data", rows, "--json").json
    assert replayed["rounds"] == 60
    assert replayed["holds"]


def test_in_a_process_of_its_own(tmp_path: Path) -> None:
    file = written(tmp_path / "mine.py", [FILE])
    done = process("play", "uphill", f"{file}:Mine", "--rounds", "16")
    assert done.code == 0, done.err
    assert "which no theorem promised in advance" in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("uphill", "{}:Yours"), "has no 'Yours'; it has Mine, Seesaw, contrary"),
        (("uphill", "nowhere.py:Mine"), "there is no file nowhere.py"),
        (("{}:number", "ogd"), "must be an environment, or a function of"),
        (("{}:Seesaw", "ogd", "--radius", "2"), "takes no radius"),
        (("uphill", "ogd", "--dimension", "2"), "--dimension is for an adversary of your own"),
        (("uphill", "{}:number"), "int cannot play"),
        (("uphill", "{}"), "mine.py:NAME; it has Mine, Seesaw, contrary"),
    ],
)
def test_what_the_command_line_refuses(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, words: tuple[str, ...], said: str
) -> None:
    file = written(tmp_path / "mine.py", [FILE])
    told = run(capsys, "play", *(word.format(file) for word in words))
    assert told.code == 2
    assert said in told.err


def test_a_file_that_does_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = written(tmp_path / "broken.py", ["import nothing_of_the_kind"])
    told = run(capsys, "play", "uphill", f"{file}:Mine")
    assert told.code == 2
    assert "broken.py cannot be run: ModuleNotFoundError" in told.err
