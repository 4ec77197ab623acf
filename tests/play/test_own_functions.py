"""Functions of one's own are tried where comparators, paths and averages are, not only near the points played."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from lowregret import play
from lowregret.convex.functions import Function
from lowregret.convex.verify import PREMISE
from lowregret.domain import L2Ball
from lowregret.output import Average, Random, WeightedAverage
from lowregret.play.game import Game
from lowregret.regret import Best, Fixed, Moving, Switching, Windows, regret
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant
from lowregret.types import Vector


def well(unit: float, d: int) -> Function:
    """1 + w²/1000 near 0, and a well around 50 units along the last axis."""

    def outside(w: Vector) -> bool:
        return bool(1 + 0.001 * (w[-1] / unit) ** 2 < 0.01 * (w[-1] / unit - 50) ** 2)

    def value(w: Vector) -> float:
        return 1 + 0.001 * (w[-1] / unit) ** 2 if outside(w) else 0.01 * (w[-1] / unit - 50) ** 2

    def slope(w: Vector) -> Vector:
        z = np.zeros(d)
        z[-1] = (0.002 * w[-1] / unit if outside(w) else 0.02 * (w[-1] / unit - 50)) / unit
        return z

    return Function(value, slope)


def game(unit: float, reach: float, rounds: int = 30, d: int = 1) -> Game:
    player = ProjectedGradient(L2Ball(1e9 * unit), Constant(0.1 * unit * unit))
    return play(player, [well(unit, d)] * rounds, dimension=d, comparator=L2Ball(reach * unit))


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("d", [1, 3])
@pytest.mark.parametrize("reach", [60.0, 100.0, 1e5])
def test_a_well_in_reach_is_found(unit: float, reach: float, d: int) -> None:
    found = game(unit, reach, d=d)
    assert not any(c.holds for c in found.certificates)
    assert found.regret == math.inf
    assert regret(found, Best(L2Ball(reach * unit))).bound is None


def test_where_comparators_cannot_be_it_says_nothing() -> None:
    assert game(1.0, 1.0).certificate.holds


def test_paths_and_windows_are_tried_where_they_are() -> None:
    near = play(
        ProjectedGradient(L2Ball(60.0), Constant(1e3)), [well(1.0, 1)] * 30, dimension=1, comparator=L2Ball(1.0)
    )
    for comparator in (Moving(np.full((30, 1), 50.0)), Fixed([50.0]), Windows(7, L2Ball(60.0))):
        found = regret(near, comparator)
        assert found.bound is None
    assert regret(near, Switching(1, L2Ball(60.0))).value == math.inf
    assert regret(near, Moving(np.full((30, 1), 0.5))).bound is not None
    moved = regret(near, Moving(np.full((30, 1), 50.0))).certificate
    assert moved is not None
    assert [p.name for p in moved.premises if not p.holds] == [PREMISE]


class Turns:
    """Plays −1 and 1 by turns."""

    def __init__(self) -> None:
        self.rounds = 0

    def point(self) -> Any:
        return np.array([1.0 if self.rounds % 2 else -1.0])

    def learn(self, z: Any) -> None:
        self.rounds += 1


ROOF = Function(lambda w: max(0.0, 1 - abs(w[0])), lambda w: -np.sign(w) * (abs(w) < 1))
BOWL = Function(lambda w: abs(w[0]), np.sign)


@pytest.mark.parametrize("output", [Average(), WeightedAverage()])
def test_the_average_is_tried_where_it_is(output: Any) -> None:
    for f, holds in ((ROOF, False), (BOWL, True)):
        found = play(Turns(), [f] * 40, dimension=1)
        risks = found.risks(output=output, independent=True, ceiling=1.0)
        assert risks
        assert all(c.premises_hold == holds for c in risks)


def test_a_point_drawn_needs_no_convexity_of_averages() -> None:
    drawn = play(Turns(), [ROOF] * 40, dimension=1).risks(output=Random(), independent=True, ceiling=1.0)
    assert any(c.premises_hold for c in drawn)


def test_convex_functions_far_out_and_not_everywhere_pass() -> None:
    steep = Function(lambda w: math.exp(w[0]), lambda w: np.exp(w))
    barrier = Function(lambda w: -math.log(1 + w[0]), lambda w: -1 / (1 + w))
    offset = Function(lambda w: float((w - 1e6) @ (w - 1e6)), lambda w: 2 * (w - 1e6), 2.0)
    for f in (steep, barrier, offset):
        for reach in (0.5, 1e3, 1e9):
            found = play(
                ProjectedGradient(L2Ball(0.5), Constant(1e-8)), [f] * 20, dimension=1, comparator=L2Ball(reach)
            )
            assert all(p.holds for p in found.certificate.premises if p.name == PREMISE)
            assert all(c.premises_hold for c in found.risks(independent=True))
