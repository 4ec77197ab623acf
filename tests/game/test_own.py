"""An environment of one's own, as docs/games.md shows, and the games of rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.errors import DataError, LowRegretError
from lowregret.game import AdaptiveGame, ExpertGame, Replay, contest, game
from tests.cli.running import svm_lines, written
from tests.laws.classifiers import mistakes_of_perceptron, mistakes_of_winnow, perceptron_bounds


class Seesaw(AdaptiveGame):
    """against the sign of w, a little more each round"""

    def answer(self, done: float, w: Any) -> Any:
        return np.sign(w + 1e-12) * (0.5 + done / 2)


class Liars(ExpertGame):
    """expert i is wrong in every i-th round"""

    d: int = 6

    def costs(self, rounds: int, rng: np.random.Generator) -> Any:
        return (np.arange(1, rounds + 1)[:, None] % np.arange(2, self.d + 2) == 0).astype(float)


def test_an_adversary_in_a_few_lines() -> None:
    for algorithm in ("ftl", "ogd", "ogd-lazy", "doubling"):
        played = contest(Seesaw(), algorithm, 100)
        assert played.game == "Seesaw"
        assert played.holds, played.verdict
    assert contest(Seesaw(), "ftl", 100).rows[-1].regret > 3 * contest(Seesaw(), "ogd-lazy", 100).rows[-1].regret


def test_experts_in_a_few_lines() -> None:
    played = contest(Liars(), "adahedge", 84)
    assert played.holds
    assert played.rows[-1].loss - played.rows[-1].regret == 12  # the last expert is wrong in every 7th round


def test_the_perceptron_counts_as_by_hand() -> None:
    for name in ("halfspace", "orthonormal", "disjunction"):
        e: Any = game(name)
        x, y = e.rows(200, 4)
        wrong = mistakes_of_perceptron(x, y)
        played = contest(e, "perceptron", 200, seed=4)
        assert played.rows[-1].loss == len(wrong)
        bounds = perceptron_bounds(x, y, wrong, e.rival(x, y))
        assert played.certificate.bound == pytest.approx(bounds[played.certificate.id])
    assert contest("halfspace", "perceptron", 200).certificate.id == "PERC-MARGIN"


def test_winnow_counts_as_by_hand_and_needs_fewer_mistakes() -> None:
    e: Any = game("disjunction")
    x, y = e.rows(600, 0)
    wrong, suffered, _ = mistakes_of_winnow(x, y, 0.25)
    played = contest(e, "winnow", 600)
    assert played.rows[-1].loss == len(wrong)
    assert played.rows[-1].regret == pytest.approx(suffered)
    assert played.verdict.startswith("surrogate loss ")
    assert played.certificate.statement.startswith("mistakes ≤ Σf_t(w_t) ≤ (F")
    assert played.certificate.bound == pytest.approx(8 * 2 * math.log(40))
    assert len(wrong) < contest(e, "perceptron", 600).rows[-1].loss


def test_the_perceptron_on_disjunctions_counts_as_by_hand() -> None:
    e: Any = game("disjunction")
    x, y = e.rows(600, 0)
    wrong = mistakes_of_perceptron(np.hstack([x, np.full((600, 1), 0.5)]), y)
    played = contest(e, "perceptron-or", 600)
    assert played.rows[-1].regret == played.rows[-1].loss == len(wrong)
    assert played.certificate.id == "PERC-OR"
    assert played.certificate.bound == pytest.approx((4 * 40 + 1) * (2 + 1))
    assert played.holds


def test_a_contrary_label_is_always_wrong() -> None:
    played = contest("contrary", "perceptron", 60)
    assert [row.loss for row in played.rows] == [row.round for row in played.rows]
    assert played.holds


# ---- replay ----------------------------------------------------------------------------------------------------------


def test_replay_of_a_file(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", svm_lines(150))
    e = Replay(data=str(path), radius=2.0)
    assert e.length == 150
    x, y = e.rows(150, 0)
    dense = x.toarray()
    assert contest(e, "perceptron").rows[-1].loss == len(mistakes_of_perceptron(dense, y))
    played = contest(e, "ogd-eager", name="replay")
    assert played.rounds == 150
    assert played.holds
    assert contest(e, "ogd-eager", 40).rounds == 40
    w, total, eta = np.zeros(dense.shape[1]), 0.0, 2 / (np.max(np.linalg.norm(dense, axis=1)) * math.sqrt(150))
    for row, label in zip(dense, y, strict=True):
        total += max(1 - label * float(w @ row), 0.0)
        w = w + eta * label * row * (label * float(w @ row) < 1)
        w = w * min(1.0, 2 / max(float(np.linalg.norm(w)), 1e-9))
    assert played.rows[-1].loss == pytest.approx(total)


def test_replay_of_a_table(tmp_path: Path) -> None:
    lines = ["a,b,kind", *(f"{i % 3},{i % 5},{'yes' if i % 3 else 'no'}" for i in range(40))]
    path = written(tmp_path / "rows.csv", lines)
    e = Replay(data=str(path), target="kind", positive="yes")
    assert contest(e, "perceptron").rounds == 40


@pytest.mark.parametrize(
    ("lines", "said"),
    [(["1 1:2", "3 1:1"], "row 2 has the label 3"), ([], "no rows|empty"), (["1 1:2", "what"], "what")],
)
def test_replay_refuses(tmp_path: Path, lines: list[str], said: str) -> None:
    path = written(tmp_path / "rows.svm", lines)
    with pytest.raises(LowRegretError, match=said):
        contest(Replay(data=str(path)), "perceptron")


def test_replay_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(DataError):
        contest(Replay(data=str(tmp_path / "none.svm")), "perceptron")


def test_replay_of_real_rows(data_file: Callable[[str], Path]) -> None:
    e = Replay(data=str(data_file("a9a.svm.gz")), radius=5.0)
    for algorithm in ("perceptron", "ogd-lazy"):
        played = contest(e, algorithm, 500)
        assert played.holds, played.verdict


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (np.full((8, 3), math.nan), "round 1, cost 0 is nan: all must be finite"),
        (np.diag([1.0, math.inf, 1.0]).repeat(3, axis=0), "round 4, cost 1 is inf: all must be finite"),
        (np.ones((7, 3)), r"must give 8 rounds of 3 costs, got shape \(7, 3\)"),
        (np.ones((8, 4)), r"must give 8 rounds of 3 costs, got shape \(8, 4\)"),
        (None, "must give 8 rounds of 3 costs"),
        ("ones", "must be numbers"),
    ],
)
@pytest.mark.parametrize("algorithm", ["hedge", "wm", "ftl"])
def test_a_table_of_costs_has_a_number_for_every_expert_in_every_round(algorithm: str, table: Any, told: str) -> None:
    """An expert without a number was taken for one that sleeps, and all of them for a game without regret."""

    class Given(ExpertGame):
        """a table"""

        d: int = 3

        def costs(self, rounds: int, rng: Any) -> Any:
            return table

    with pytest.raises(DataError, match=f"Given.costs:? {told}"):
        contest(Given(), algorithm, 8)


@pytest.mark.parametrize("rounds", [0, -1, 1.5, "8", True])
def test_rounds_are_a_whole_number(rounds: Any) -> None:
    with pytest.raises(LowRegretError, match="a game has at least one round"):
        contest("orthogonal", "ogd", rounds)
