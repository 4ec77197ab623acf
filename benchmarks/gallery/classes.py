"""Exhibits of finite classes and of many classes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.gallery.exhibit import Curves, Exhibit, curves
from benchmarks.gallery.measures import HORIZONS, horizons, sitting
from benchmarks.gallery.rows import DIMENSIONS
from lowregret.game.finite_games import Bisection, FiniteGame, Needle, NoisyLabels, TreeAdversary

SIZES = (4, 8, 16, 32, 64)
NOISY = NoisyLabels(kind="thresholds:16", noise=0.1)


def _by_size(games: Sequence[FiniteGame], algorithm: str, theorem: str, rounds: int) -> Curves:
    """Mistakes in classes of growing size."""
    mistakes, bounds = [], []
    for e in games:
        table = sitting(e, algorithm)(rounds)
        mistakes.append(table.until(rounds).regret)
        assert table.certificate.id == theorem
        assert table.certificate.premises_hold
        bounds.append(table.certificate.bound)
    return curves(
        [e.dimension for e in games],
        {"measured mistakes": mistakes},
        {theorem: bounds},
        x="hypotheses |H|",
        y="mistakes",
    )


def _quarter() -> Curves:
    """ALG-SURR-HALVING with η = ¼, as the source has it."""
    h, mistakes, bounds = NOISY.hypotheses, [], []
    for rounds in HORIZONS:
        answer = NOISY.begin(rounds, 0)
        logs, surrogate, wrong = np.zeros(len(h)), np.zeros(len(h)), 0
        for t in range(1, rounds + 1):
            x, y = answer(t, lambda x: 0.0)  # these labels ignore the prediction
            weights = np.exp(logs - logs.max())
            said = h.by_point[x]
            if (2 * float(weights @ said) >= float(weights.sum())) != bool(y):
                wrong += 1
                logs += 0.25 * 2 * np.where(said, 1 if y else -1, 0)
                surrogate += 2 * (said != bool(y))
        mistakes.append(wrong)
        bounds.append(2 * float(surrogate.min()) + 8 * math.log(len(h)))
    return curves(HORIZONS, {"measured mistakes": mistakes}, {"2F + 8 ln d": bounds}, y="mistakes")


def _cover() -> Curves:
    """Regret of Halving, and of weighted majority, against Cover's adversary."""

    def halving(t: int) -> Any:
        table: Any = sitting("cover", "halving")(t)
        table.until(t)
        return table.learner.regret

    majority = [sitting("cover", "wm")(t).until(t).regret for t in HORIZONS]
    measured = {"regret of Halving, which does not draw": [halving(t) for t in HORIZONS],
                "regret of weighted majority, which draws": majority}  # fmt: skip
    return curves(HORIZONS, measured, {}, {"√(T ln 2/2)": [math.sqrt(t * math.log(2) / 2) for t in HORIZONS]})


def _many_classes() -> Curves:
    """The Perceptron of many classes on x_t = e_t, label 1 of {0, 1, 2}; ties go to class 0; u = ½Σδ_t, γ = 1."""
    mistakes, first, observed = [], [], []
    for d in DIMENSIONS:
        w, u, deltas = np.zeros((3, d)), np.zeros((3, d)), []
        u[1], u[0] = 0.5, -0.5
        for x in np.eye(d):
            said = int(np.argmax(w @ x))
            if said != 1:
                deltas.append(np.outer([-(said == 0) * 1.0, 1.0, -(said == 2) * 1.0], x))
                w += deltas[-1]
        hinge = sum(max(1 - float(np.sum(u * delta)), 0.0) for delta in deltas)
        margins = [min(float((u[1] - u[k]) @ x) for k in (0, 2)) for x in np.eye(d)]
        size = float(np.sum(u**2))
        mistakes.append(len(deltas))
        observed.append(hinge + math.sqrt(size * sum(float(np.sum(delta**2)) for delta in deltas)))
        first.append(2 * sum(max(1 - m, 0.0) for m in margins) + size * 2)
    return curves(
        DIMENSIONS, {"measured mistakes": mistakes}, {"MC-OBS": observed, "THM-14.2": first},
        x="dimensions d = rounds", y="mistakes",
    )  # fmt: skip


FINITE = (
    Exhibit(
        "consistent", ("COR-1.1",), "Any hypothesis that was never wrong", "M ≤ |H| − |V|", "realisable, finite H",
        "1[x = i]: the points are asked one by one, and it is the last",
        lambda: _by_size([Needle(kind=f"singletons:{n}") for n in SIZES], "consistent", "COR-1.1", 128),
        "needle consistent",
    ),
    Exhibit(
        "halving", ("THM-1.2",), "Halving", "M ≤ ⌊log2(|H|/|V|)⌋", "realisable, finite H",
        "all functions on a few points, labels against the prediction",
        lambda: _by_size([Bisection(kind=f"cube:{k}") for k in range(1, 8)], "halving", "THM-1.2", 32),
        "bisection halving",
    ),
    Exhibit(
        "surrogate-halving", ("SURR-M+",), "Halving by a convex surrogate", "M ≤ 2F(u) + 2 ln d", "η = 1",
        "16 thresholds, a tenth of the labels wrong",
        lambda: horizons(sitting(NOISY, "surr-halving"), {"2F + 2 ln d": "SURR-M+"}, measure="measured mistakes",
                         y="mistakes"), "noisy-labels surr-halving",
    ),
    Exhibit(
        "surrogate-halving-quarter", ("SURR-M",), "The same at the source's rate", "M ≤ 2F(u) + 8 ln d", "η = ¼",
        "16 thresholds, a tenth of the labels wrong", _quarter,
    ),
    Exhibit(
        "soa", ("LEM-3.2", "LEM-3.3"), "The optimal learner and the tree that proves it",
        "M ≤ Ldim(H) − Ldim(V), and no learner without coins can promise less than Ldim(H)", "realisable, finite H",
        "thresholds; down a shattered tree, always against the prediction, then points at random",
        lambda: _by_size([TreeAdversary(kind=f"thresholds:{n}") for n in (2, *SIZES)], "soa", "LEM-3.3", 64),
        "tree soa",
    ),
    Exhibit(
        "agnostic", ("THM-3.6",), "Nobody is always right", "expected regret ≤ ln N/η + ηT/8 = √(T ln N/2)",
        "T known; N = Σ_{L≤Ldim} C(T, L)", "two constants, and the label that is less likely predicted",
        lambda: horizons(sitting("cover", "agnostic"), {"THM-3.6": "THM-3.6"}, HORIZONS[:6]), "cover agnostic",
    ),
    Exhibit(
        "mc-perceptron", ("THM-14.2", "MC-OBS"), "The Perceptron of many classes",
        "|M| ≤ Σ_M[1 − ⟨u,δ_t⟩]₊ + ‖u‖√(Σ_M‖δ_t‖²) ;  |M| ≤ 2Σ_t[1 − margin_t/γ]₊ + ‖u‖²B²/γ²", "none",
        "three classes, x_t = e_t, all of class 1 while ties go to class 0; u = ½Σδ_t, γ = 1", _many_classes,
    ),
)  # fmt: skip

COVER = Exhibit(
    "cover", ("DEMO-COVER",), "Cover's adversary",
    "without coins: regret ≥ T/2 for any learner ;  with coins: ≤ √(T ln 2/2)", "none",
    "two constants, y_t = 1[p_t < ½]: the label that is less likely predicted", _cover, "cover halving",
)  # fmt: skip
