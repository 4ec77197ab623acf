"""Exhibits of half-spaces, bandits, moving comparators and late answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gallery.exhibit import Curves, Exhibit, curves
from benchmarks.gallery.measures import HORIZONS, along, at_costs, horizons, sitting
from lowregret import zoo
from lowregret.bandit import Bandit, Exp3
from lowregret.certificate.surrogate import surrogate_certificate
from lowregret.convex.functions import Function
from lowregret.domain import L2Ball, Point
from lowregret.game import LateAnswers, game
from lowregret.game.cost_games import Circling
from lowregret.game.row_games import Halfspace, Orthonormal
from lowregret.game.tables import RowTable
from lowregret.play import Game, play
from lowregret.regret import Moving, regret
from lowregret.rule import ProjectedGradient
from lowregret.step import Constant, InverseSqrt

DIMENSIONS = (4, 8, 16, 32, 64, 128, 256)


def _orthonormal() -> Curves:
    """As many mistakes as dimensions, u = ½·1."""
    found: dict[str, list[float]] = {"PERC-OBS": [], "PERC-ROOT": [], "THM-3.9": []}
    mistakes = []
    for d in DIMENSIONS:
        table = sitting(Orthonormal(d=d), "perceptron")(d)
        mistakes.append(table.until(d).regret)
        for c in table.certificates:
            if c.id in found:
                found[c.id].append(c.bound)
    return curves(DIMENSIONS, {"measured mistakes": mistakes}, found, x="dimensions d = rounds", y="mistakes")


def _surrogate() -> Curves:
    """THM-14.6 with g_t = −y_t x_t on the Perceptron's mistakes, u = 0.1·1."""
    mistakes, bounds = [], []
    for d in DIMENSIONS:
        x, u = np.eye(d), np.full(d, 0.1)
        points = np.vstack([np.zeros(d), np.cumsum(x, axis=0)[:-1]])  # each row is a mistake
        found = surrogate_certificate(0.1 * points, -x, np.ones(d), np.maximum(1 - x @ u, 0), u, 0.1)
        assert found.premises_hold
        mistakes.append(float(d))
        bounds.append(found.bound)
    return curves(
        DIMENSIONS, {"measured mistakes": mistakes}, {"THM-14.6": bounds}, x="dimensions d = rounds", y="mistakes"
    )


def _path() -> Curves:
    """EXP3-PATH against estimated costs, one game for each T."""
    measured, bound = [], []
    for t in HORIZONS:
        bandit = Bandit(16, Exp3.tuned(16, t), seed=1, compiled=False)
        bandit.learn(game("free-expert").table(t, 0))  # type: ignore[attr-defined]
        found = next(c for c in bandit.certificates if c.id == "EXP3-PATH")
        measured.append(found.linear_regret or 0.0)
        bound.append(found.bound)
    return curves(HORIZONS, {"regret on estimated costs": measured}, {"EXP3-PATH": bound})


def _moving() -> Curves:
    """DYN against the circling best point."""
    e, measured, sharp, seed_form = Circling(period=400.0), [], [], []
    for t in HORIZONS:
        played = play(ProjectedGradient(L2Ball(1.0), InverseSqrt(1.0)), e.table(t, 0), compiled=False)
        angle = 2 * np.pi * np.arange(t) / e.period
        path = -np.stack([np.cos(angle), np.sin(angle)], axis=1)
        found = regret(played, Moving(path))
        assert found.certificate is not None
        measured.append(found.value)
        sharp.append(found.certificate.bound)
        length = float(np.sum(np.linalg.norm(np.diff(path, axis=0), axis=1)))
        seed_form.append((2 + 1 + 4 * length) * math.sqrt(t))  # D = 2, G = 1
    return curves(HORIZONS, {"measured regret": measured}, {"DYN": sharp, "DYN as in the source": seed_form})


def _structured() -> Curves:
    """max_ℓ[1[ℓ ≠ y] − ⟨w, ψ(x,y) − ψ(x,ℓ)⟩] with three classes, against the u that made the labels."""
    k, d, measured, bounds = 3, 4, [], []
    rng = np.random.default_rng(0)
    u = rng.normal(size=(k, d))
    u *= 2 / np.linalg.norm(u)
    for t in HORIZONS:
        x = np.random.default_rng(1).normal(size=(t, d)) / math.sqrt(d)
        player = ProjectedGradient(L2Ball(2.0), Constant(2.0 / (2 * math.sqrt(t))))
        played = Game(player, k * d, Point(u.ravel()), compiled=False)
        played.learn([_max_loss(row, int(np.argmax(u @ row)), k) for row in x])
        measured.append(played.regret_to(u.ravel()))
        bounds.append(next(c.bound for c in played.certificates if c.id == "THM-14.5"))
    return curves(HORIZONS, {"measured regret": measured}, {"THM-14.5": bounds})


def _max_loss(x: Any, y: int, k: int) -> Function:
    def scores(w: Any) -> Any:
        s = w.reshape(k, -1) @ x
        return (np.arange(k) != y) + s - s[y]

    def gradient(w: Any) -> Any:
        worst = int(np.argmax(scores(w)))
        return np.outer((np.arange(k) == worst) * 1.0 - (np.arange(k) == y), x).ravel()

    return Function(lambda w: float(np.max(scores(w))), gradient)


def _svm(rounds: int) -> RowTable:
    return RowTable(Halfspace(d=9, radius=1.0), zoo.svm_online(1.0), rounds, 0, ("EAGER-DEC",))


def _seed_form(table: Any, t: int) -> float:
    """COR-4.2: ln d/η + ηdT"""
    eta = table.bandits[0].algorithm.eta
    return math.log(10) / eta + eta * 10 * t


def _recalled(table: Any, t: int) -> float:
    """4FL√(τT) for T ≥ τ², ½‖x − x'‖² ≤ F² = 2"""
    return 4 * math.sqrt(2) * math.sqrt(10 * t) if t >= 100 else math.nan


CLASSIFIERS = (
    Exhibit(
        "perceptron", ("PERC-OBS", "PERC-ROOT", "THM-3.9"), "The Perceptron on any data",
        "|M| ≤ F(u) + ‖u‖√(Σ_M‖x_t‖²) ;  ≤ F + b²/2 + b√(F + b²/4) ;  ≤ F + b√F + b²", "none; b = R‖u‖",
        "x_t = e_t, all labelled +1, u = ½·1: a mistake in every dimension", _orthonormal, "orthonormal perceptron",
        "The first is met exactly. The form printed in one source, F + b√(F + b²), is exceeded: [E02](e02.md).",
    ),
    Exhibit(
        "perceptron-margin", ("PERC-MARGIN",), "The Perceptron where there is a margin",
        "|M| ≤ (R‖u‖/γ)²", "y_t⟨u,x_t⟩ ≥ γ > 0 for all t", "rows on two sides of a plane, γ = 0.1",
        lambda: along(sitting("halfspace", "perceptron"), {"PERC-MARGIN": "PERC-MARGIN"}, 4096,
                      measure="measured mistakes", y="mistakes"), "halfspace perceptron",
    ),
    Exhibit(
        "surrogate", ("THM-14.6",), "Descent on vectors that need not be gradients",
        "Σℓ_t(w_t) ≤ Σℓ̃_t(u) + ‖w₁ − u‖²/(2η) + (η/2)Σ‖g_t‖²", "⟨g_t, u − w_t⟩ ≤ ℓ̃_t(u) − ℓ_t(w_t)",
        "the Perceptron on x_t = e_t: g_t = −y_t x_t on mistakes", _surrogate,
    ),
    Exhibit(
        "winnow", ("THM-3.10", "WIN-OBS"), "Winnow on a disjunction of few among many",
        "Σf_t(w_t) ≤ (F + k ln d/η)/(1 − 2η) = 8k ln d ;  observed: F + [1 + Σu ln(du/e)]/η + 4ηΣ_MΣ w_t x_t²",
        "x ∈ [0,1]^d, η < ½", "two of 40 features decide, η = ¼",
        lambda: along(sitting("disjunction", "winnow"), {"8k ln d": "THM-3.10", "WIN-OBS": "WIN-OBS"}, 1024,
                      measure="measured Σf_t(w_t) ≥ mistakes", y="Σf_t(w_t)"), "disjunction winnow",
    ),
    Exhibit(
        "svm-online", ("ONLINE-SVM",), "A support vector machine on a stream",
        "regret ≤ D²/(2η_T) + ½Ση_t‖g_t‖²", "hinge loss on [x, 1], ‖[w, b]‖ ≤ λ, D = 2λ, η_t = 1/√t",
        "rows on two sides of a plane, γ = 0.1",
        lambda: horizons(_svm, {"EAGER-DEC": "EAGER-DEC"}, HORIZONS[:6]),
    ),
    Exhibit(
        "structured", ("STRUCT",), "Structured losses",
        "regret(u) ≤ ‖w₁ − u‖²/(2η) + (η/2)Σ‖g_t‖², whatever the number of classes",
        "φ(w) = max_ℓ[γ(y,ℓ) − ⟨w, ψ(x,y) − ψ(x,ℓ)⟩]", "three classes, labels of a fixed u", _structured,
    ),
)  # fmt: skip

BANDITS = (
    Exhibit(
        "exp3", ("COR-4.2",), "Bandits: EXP3",
        "E regret ≤ ln d/η + ηdT/2 = √(2dT ln d)   (COR-4.2: ηdT)", "costs in [0, 1] that ignore the coins",
        "one of ten arms is better by √(d/T)/4, too little to see in time; mean of 20 games",
        lambda: horizons(sitting("bandit-gap", "exp3"), {"COR-4.2+": "COR-4.2+", "COR-4.2": _seed_form},
                         y="expected regret"), "bandit-gap exp3",
    ),
    Exhibit(
        "exp3-path", ("EXP3-PATH",), "EXP3 on the run at hand",
        "Σy_t[p_t] ≤ min_i Ĉ_T[i] + ln d/η + (η/2)Σy_t²/w_t[p_t]", "none; against estimated costs",
        "one of 16 arms is free, the others cost 1", _path, "bandit:free-expert exp3",
    ),
    Exhibit(
        "bogd", ("COR-4.5",), "Gradient descent without a gradient",
        "E regret ≤ (2δ + αB)LT + B²/(2η) + (η/2)T·d²F²/δ²", "L-Lipschitz, |f_t| ≤ F, costs ignore the coins",
        "the same cost for ever, seen at one point a round; mean of 20 games",
        lambda: horizons(sitting("bandit:constant", "bogd"), {"COR-4.5": "COR-4.5"}, HORIZONS[:6],
                         y="expected regret"), "bandit:constant bogd",
    ),
)  # fmt: skip

MOVING = (
    Exhibit(
        "dynamic", ("DYN",), "Against a comparator that moves",
        "Σ(f_t(w_t) − f_t(u_t)) ≤ D²/(2η_T) + DΣ‖u_{t+1} − u_t‖/η_t + ½Ση_t‖g_t‖²",
        "eager projection, η_t do not grow; path length P = Σ‖u_{t+1} − u_t‖", "the best point goes round in circles",
        _moving,
    ),
    Exhibit(
        "delay", ("DELAY",), "Answers that come late",
        "regret(u) ≤ ‖w₁ − u‖²/(2η) + (η/2)Σ‖g_s‖² + ηΣ_s‖g_s‖Σ_{r=s−τ}^{s−1}‖g_r‖ = D₁G√((1+2τ)T)",
        "eager projection, constant η, delay τ", "orthogonal costs, ten rounds late",
        lambda: horizons(sitting("late:orthogonal", "ogd-eager"), {
            "DELAY": "DELAY", "D₁G√((1+2τ)T)": lambda _, t: math.sqrt(21 * t)}), "late:orthogonal ogd-eager",
    ),
    Exhibit(
        "delay-recalled", ("recalled delay bound (M)",), "Answers that come late, falling rates",
        "regret ≤ 4FL√(τT)", "η_t = σ/√(t − τ), σ² = F²/(2τL²), T ≥ τ²; recalled from the literature: no certificate",
        "orthogonal costs, ten rounds late",
        lambda: horizons(
            at_costs(LateAnswers(game("orthogonal"), 10),
                     lambda t: ProjectedGradient(L2Ball(1.0), InverseSqrt(math.sqrt(2 / 20)))),
            {"4FL√(τT)": _recalled, "DELAY": "DELAY"}, HORIZONS[4:]),
    ),
)  # fmt: skip

OTHERS = (*CLASSIFIERS, *BANDITS, *MOVING)
