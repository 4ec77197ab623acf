"""What people hold in a notebook shows itself in one line: before the first round, after some, and half made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from lowregret import (
    Adaptive,
    Euclidean,
    FollowTheLeader,
    Hinge,
    Intersection,
    KernelPerceptron,
    L2Ball,
    MirrorDescent,
    Multiclass,
    Softmax,
    delayed,
    doubling,
    play,
    train,
    zoo,
)
from lowregret.bandit import Bandit, BanditDescent, Exp3, Exp4
from lowregret.experts import AdaHedge, BoxHedge, ExpertMixture, Specialists
from lowregret.learner import Gaussian
from lowregret.run import LinearRun
from lowregret.run.begin import begin
from lowregret.words import rounded_up

X = np.random.default_rng(3).normal(size=(20, 3))
Y = np.sign(X[:, 0])
CLASSES = Multiclass(Softmax(), MirrorDescent(Euclidean(), Adaptive()))

MADE: list[tuple[Callable[[], Any], str]] = [
    (lambda: begin(zoo.ogd(Hinge()), None), "<LinearRun of MirrorDescent: 0 rounds, Hinge loss 0 a round, regret ≤ 0>"),
    (lambda: train(CLASSES, X, Y, compiled=False), "<MulticlassRun of MirrorDescent: 20 rounds, Softmax loss 0."),
    (lambda: train(zoo.auto(), X, Y, compiled=False), "<AutoRun: 20 rounds, Logistic loss 0."),
    (lambda: train(KernelPerceptron(Gaussian(1.0)), X, Y, compiled=False), "<KernelRun of Gaussian: 20 rounds, error "),
    (
        lambda: doubling(zoo.ogd_eager(Hinge(), 1.0), 3),
        "<DoublingRun of ProjectedGradient: 0 rounds, Hinge loss 0 a round, regret",
    ),
    (lambda: delayed(zoo.ogd(Hinge()), 3), "<DelayedRun of MirrorDescent: 0 rounds, Hinge loss 0 a round, regret ≤ 0>"),
    (lambda: play(FollowTheLeader(L2Ball(1.0)), [[1.0, 0.0]]), "<Game of FollowTheLeader: 1 round, loss 0 a round>"),
    (lambda: Bandit(3, Exp3(0.1)), "<Bandit of exp3 on 3 arms: 0 rounds, loss 0 a round>"),
    (lambda: Exp4(2, 3, 0.1), "<Exp4 of 2 experts on 3 arms: 0 rounds, loss 0 a round>"),
    (
        lambda: ExpertMixture(2, AdaHedge()),
        "<ExpertMixture of 2 experts: 0 rounds, Square loss 0 a round, regret 0 to the best expert>",
    ),
    (lambda: Specialists(5, 0.1), "<Specialists of 5 experts: 0 rounds, loss 0 a round>"),
    (lambda: BoxHedge([0.0], [1.0], 0.1), "<BoxHedge of 1 side: 0 rounds, loss 0 a round>"),
    (lambda: BanditDescent(L2Ball(1.0), 2, 0.1, 0.1), "<BanditDescent of l2-ball, 1 point a round: 0 rounds, loss 0 a"),
]


@pytest.mark.parametrize(("make", "told"), MADE, ids=[told.split()[0][1:].rstrip(":") for _, told in MADE])
def test_one_line(make: Callable[[], Any], told: str) -> None:
    text = repr(make())
    assert text.startswith(told)
    assert text.endswith(">")
    assert "\n" not in text
    assert len(text) < 140


def test_the_figures_are_those_of_the_run() -> None:
    run = train(zoo.ogd(Hinge()), X, Y, compiled=False)
    assert (
        repr(run)
        == f"<LinearRun of MirrorDescent: 20 rounds, Hinge loss {run.loss / 20:.4g} a round, regret ≤ {regret(run)}>"
    )
    weighted = train(zoo.ogd_scw(Hinge(), 0.1), X, Y, compiled=False)
    assert f"weighted regret ≤ {regret(weighted)}>" in repr(weighted)
    bandit = Bandit(3, Exp3(0.1), compiled=False)
    bandit.choose()
    assert repr(bandit).endswith("1 pending>")


def regret(run: LinearRun) -> str:
    found = [c.linear_regret + c.rounding for c in run.certificates if c.linear_regret is not None and c.premises_hold]
    return rounded_up(min(found), 4)


def test_what_would_cost_much_or_is_not_known_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_much(*_: object) -> None:
        raise AssertionError

    both = Intersection((L2Ball(1.0), L2Ball(2.0)))
    run = train(zoo.ogd(Hinge()), X, Y, comparator=both, compiled=False)
    monkeypatch.setattr(Intersection, "support", too_much)
    assert repr(run).endswith(" a round>")
    forgetful = train(zoo.ogd_eager(Hinge(), 0.1), X, Y, certify=False, compiled=False)
    assert repr(forgetful).endswith(" a round>")
    game = play(FollowTheLeader(L2Ball(1.0)), [[1.0, 0.0]])
    assert "regret" not in repr(game)
    known = game.certificate  # which the game keeps
    assert repr(game).endswith(f"regret ≤ {known.regret:.4g}>")


def test_half_made_objects_are_shown_too() -> None:
    assert repr(LinearRun.__new__(LinearRun)).startswith("<lowregret.run.linear.LinearRun object at ")
