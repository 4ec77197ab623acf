"""What must fail: statements as they are printed, and learners that cannot learn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gallery.exhibit import Curves, Exhibit, curves
from benchmarks.gallery.measures import along, at_costs, energy, horizons, root, sitting
from benchmarks.gallery.rows import DIMENSIONS
from lowregret.domain import Box, Point
from lowregret.game import ObliviousGame
from lowregret.game.cost_games import Wobble
from lowregret.game.row_games import Disjunction, Orthonormal
from lowregret.mirror import PNorm
from lowregret.risk.online_to_batch import thm_14_9
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Constant, InverseSqrt
from tests.laws.classifiers import mistakes_of_winnow


def _e02() -> Curves:
    """u = 1/√d in every coordinate: b = 1, F = d − √d, which is taken off both sides."""
    above, true, printed = [], [], []
    for d in DIMENSIONS:
        f, b = d - math.sqrt(d), 1.0
        above.append(sitting(Orthonormal(d=d), "perceptron")(d).until(d).regret - f)
        true.append(b * math.sqrt(f) + b * b)
        printed.append(b * math.sqrt(f + b * b))
    return curves(
        DIMENSIONS, {"measured mistakes − F": above}, {"b√F + b²": true}, {"b√(F + b²)": printed},
        x="dimensions d = rounds", y="mistakes − F(u)",
    )  # fmt: skip


def _e23() -> Curves:
    """The update with the sign as printed, beside the corrected one."""
    e, d, marks = Disjunction(d=8, k=1), 8, (16, 32, 64, 128, 256, 512, 1024)
    wrong, right = [], []
    for t in marks:
        x, y = e.rows(t, 0)
        wrong.append(len(mistakes_of_winnow(x, y, 0.25, sign=-1.0)[0]))
        right.append(len(mistakes_of_winnow(x, y, 0.25)[0]))
    bound = [8 * math.log(d)] * len(marks)
    return curves(
        marks, {"mistakes, sign as printed": wrong, "mistakes, sign corrected": right}, {}, {"8k ln d": bound},
        y="mistakes",
    )  # fmt: skip


def _e30() -> Curves:
    """φ = max(10w, −5w) on [−1, 1], η = .01, δ = .1; nothing is random, so any T shows it."""
    ends, eta, delta = tuple(2**k for k in range(10, 21)), 0.01, 0.1
    w, total, found, printed, true = 0.0, 0.0, [], [], []
    for t in range(1, ends[-1] + 1):
        total += w
        w = min(max(w - eta * (10.0 if w >= 0 else -5.0), -1.0), 1.0)
        if t in ends:
            mean = total / t
            found.append(max(10 * mean, -5 * mean))
            true.append(thm_14_9(0.0, 0.0, eta, 10.0, 10.0, t, delta).bound)
            printed.append(true[-1] - eta * 10.0**2 / 2 + eta * 10.0 / 2)
    return curves(
        ends, {"C(w̄)": found}, {"with ηG²/2": true}, {"with ηG/2": printed}, y="expected loss of the averaged model"
    )


class _OneWay(ObliviousGame):
    """The cost −1 for ever."""

    def costs(self, rounds: int, rng: np.random.Generator) -> Any:
        return -np.ones((rounds, 1))


def _e38() -> Curves:
    """From the left end of [0, 2], diameter 2, radius 1, to the right."""
    interval = Box(0.0, 2.0)
    return along(
        at_costs(_OneWay(), lambda t: ProjectedGradient(interval, InverseSqrt(1.0)), interval),
        {"EAGER-DEC, D the diameter": "EAGER-DEC",
         "D²√T/2 + G²√T, D the radius": lambda _, t: 1.5 * math.sqrt(t)},
        16, exceeded=("D²√T/2 + G²√T, D the radius",),
    )  # fmt: skip


FAILURES = (
    Exhibit(
        "ftl-fails", ("DEMO-FTL-FAIL",), "Follow the leader off a cliff",
        "regret of FTL = T − ½ − w₁/2, while gradient descent stays under √T",
        "linear costs: nothing steadies the leader",
        "−½, 1, −1, 1, … on [−1, 1]: the leader is wrong in every round",
        lambda: horizons(sitting("ftl-breaker", "ftl"), {"LEM-2.1": "LEM-2.1", "√T": root(1.0)}, exceeded=("√T",),
                         others={"regret of gradient descent":
                                 lambda t: sitting("ftl-breaker", "ogd")(t).until(t).regret}), "ftl-breaker ftl",
    ),
    Exhibit(
        "e02", ("E02",), "A root over both terms",
        "printed: |M| ≤ F + b√(F + b²) ;  true: |M| ≤ F + b√F + b²", "any data",
        "the Perceptron on x_t = e_t, u = 1/√d in every coordinate, so b = 1 and F = d − √d; F is taken off both sides",
        _e02, "orthonormal perceptron",
    ),
    Exhibit(
        "e13", ("E13",), "A rate that does not give its bound",
        "printed: η = √(ln d)/(L√(2T)) gives BL√(2T ln d) ;  true: η = √(2 ln d/T)/L does", "simplex, costs in [0, 1]",
        "EG at the printed rate; one of 16 experts is free, the others pay",
        lambda: horizons(sitting("free-expert", "eg", eta=lambda t: math.sqrt(math.log(16) / (2 * t))), {
            "COR-2.14 at this η": "COR-2.14", "√(2T ln d)": root(math.sqrt(2 * math.log(16)))},
            (32, 64, 128, 256, 512, 1024), exceeded=("√(2T ln d)",),
            per=lambda t: math.sqrt(2 * t * math.log(16)), y="regret ÷ √(2T ln d)"), "free-expert eg --eta 0.0368",
    ),
    Exhibit(
        "e14", ("E14",), "The p-norm's second term",
        "printed: ‖u‖_q²/(2η(q−1)) + ηΣ‖z_t‖_p² ;  true: ‖u‖_q²/(2η) + (η(p−1)/2)Σ‖z_t‖_p²", "p > 3",
        "p = 6, η = ½, u = 0: one long step, then small ones across it",
        lambda: along(at_costs(Wobble(d=2), lambda t: MirrorDescent(PNorm(6.0), Constant(0.5)), Point(np.zeros(2))), {
            "COR-2.18": "COR-2.18", "ηΣ‖z_t‖_p²": lambda table, t: 0.5 * energy(table, 6.0)}, 1024,
            exceeded=("ηΣ‖z_t‖_p²",)),
    ),
    Exhibit(
        "e23", ("E23",), "Winnow with its sign wrong",
        "printed: w[i] ← w[i]·e^{−2ηy x[i]} ;  true: e^{+2ηy x[i]}", "a disjunction of k features, η = ¼",
        "one of 8 features decides; with the printed sign Winnow unlearns", _e23,
    ),
    Exhibit(
        "e30", ("E30",), "A square that was lost",
        "printed: C(w̄) ≤ inf_u[…] + ηG/2 + M√(2 ln(2/δ)/T) ;  true: ηG²/2", "φ ∈ [0, M], G-Lipschitz",
        "φ(w) = max(10w, −5w) on [−1, 1], η = .01, δ = .1, u = 0", _e30,
    ),
    Exhibit(
        "e38", ("E38",), "A radius called diameter",
        "printed: D²√T/2 + G²√T with D the radius ;  true: with the diameter", "eager projection, η_t = 1/√t",
        "from one end of an interval to the other", _e38,
    ),
    Exhibit(
        "e40", ("E40",), "Rates of 1/t where nothing is curved",
        "printed: η_t = 1/t is good for convex costs ;  true: it needs strong convexity, else regret ≈ .32T",
        "linear costs", "plus for T/e² rounds, then minus",
        lambda: horizons(sitting("turn", "ogd-sc"), {
            "EAGER-DEC": "EAGER-DEC", "G²(1 + ln T)/2": lambda _, t: (1 + math.log(t)) / 2},
            (64, 128, 256, 512, 1024), exceeded=("G²(1 + ln T)/2",)), "turn ogd-sc",
    ),
)  # fmt: skip
