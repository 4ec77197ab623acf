"""Exhibits of follow the leader, gradient descent, mirror descent and experts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from benchmarks.gallery.exhibit import Curves, Exhibit, curves
from benchmarks.gallery.measures import HORIZONS, along, at_costs, doubled, energy, horizons, root, sitting
from lowregret.domain import Point, Reals
from lowregret.game import game
from lowregret.game.cost_games import Wobble
from lowregret.game.tables import CostGameTable
from lowregret.mirror import Entropy, PNorm
from lowregret.play.game import Game
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Constant, WeightedInverseTime


def _rate(table: Any) -> float:
    return float(table.game.player.step.eta)


def _half(table: Any) -> float:
    """(η/2)Σ‖z_t‖²"""
    return _rate(table) / 2 * energy(table)


def _at_its_own_end() -> Curves:
    """LEM-2.20 against u = w_{T+1}."""
    measured, bound = [], []
    for t in HORIZONS:
        e: Any = game("coin-flips")
        table = CostGameTable(e, MirrorDescent(Entropy(), Constant(math.sqrt(2 * math.log(10) / t))), t, 0, ())
        table.until(t)
        u = Point(table.game.seat.point())
        again = Game(table.game.player, 10, u, compiled=False).learn(table.game.functions)
        measured.append(again.regret)
        bound.append(next(c.bound for c in again.certificates if c.id == "LEM-2.20"))
    return curves(HORIZONS, {"regret against w_{T+1}": measured}, {"LEM-2.20": bound})


def _weighted() -> Curves:
    """THM-14.12: Σa_t(f_t(w_t) − f_t(u)), a_t = 2(t+1)/(T(T+3)), at the best u, the weighted mean of the z_t."""
    measured, bound = [], []
    for t in HORIZONS:
        e: Any = game("quadratic")
        table = CostGameTable(e, ProjectedGradient(Reals(), WeightedInverseTime(1.0)), t, 0, ())
        table.until(t)
        a = 2 * (np.arange(t) + 2) / (t * (t + 3))
        z = np.array([f.z for f in table.game.functions])  # type: ignore[attr-defined]
        u = a @ z
        measured.append(float(a @ (table.game.losses - 0.5 * np.sum((u - z) ** 2, axis=1))))
        bound.append(next(c.bound for c in table.certificates if c.id == "THM-14.12"))
    return curves(HORIZONS, {"measured weighted regret": measured}, {"THM-14.12": bound}, y="weighted regret")


def _wm_bounds() -> Curves:
    """THM-3.1 in its four forms, on the loss above the best expert's."""
    make = sitting("free-expert", "wm")
    d, forms = 16, {"3.1(1)": [], "3.1(2)": [], "3.1+(1)": [], "3.1+(2)": []}  # type: tuple[int, dict[str, list[float]]]
    measured = []
    for t in HORIZONS:
        table: Any = make(t)
        measured.append(table.until(t).regret)
        eta, best, log = table.panel.aggregator.eta, 0.0, math.log(d)  # the free expert loses nothing
        forms["3.1(1)"].append(log / eta + eta * t)
        forms["3.1(2)"].append((best + log / eta) / (1 - eta) - best)
        forms["3.1+(1)"].append(log / eta + eta * t / 8)
        forms["3.1+(2)"].append((eta * best + log) / -math.expm1(-eta) - best)
    return curves(HORIZONS, {"measured regret": measured}, {f"THM-{name}": v for name, v in forms.items()})


FOLLOWING = (
    Exhibit(
        "ftl-quadratic", ("LEM-2.1", "COR-2.2"), "Follow the leader on squared distances",
        "regret ≤ Σ(f_t(w_t) − f_t(w_{t+1})) ≤ L²/2 + 2L²(H_T − 1) ≤ 4L²(1 + ln T)",
        "f_t = ½‖w − z_t‖² on R^d, ‖z_t‖ ≤ L, exact minima", "z_t = ±1 at random; FTL is the running mean",
        lambda: horizons(sitting("quadratic", "ftl"), {"LEM-2.1": "LEM-2.1", "COR-2.2 (sharp)": "COR-2.2+",
                                                       "COR-2.2": "COR-2.2"}), "quadratic ftl",
    ),
    Exhibit(
        "ftl-identity", ("FTL-QUAD-ID",), "The regret of a running mean, exactly",
        "regret = ½Σ‖w_t − z_t‖²/t", "w_t is the mean of z_1 … z_{t−1}", "z_t = ±1 at random",
        lambda: horizons(sitting("quadratic", "ftl"), {"FTL-QUAD-ID": "FTL-QUAD-ID"}), "quadratic ftl",
        "The two curves are one: an identity, not a bound (Welford's).",
    ),
    Exhibit(
        "ftrl-identity", ("FTRL-ID",), "Where regret comes from",
        "regret(u) = R(u) − R(w₁) + Σ[F_{t+1}(w_t) − F_{t+1}(w_{t+1})] + [F_{T+1}(w_{T+1}) − F_{T+1}(u)]",
        "none: true for arbitrary points", "FTL (R = 0) on the sequence that breaks it",
        lambda: horizons(sitting("ftl-breaker", "ftl"), {"FTRL-ID": "FTRL-ID"}), "ftl-breaker ftl",
        "An identity also where the learner fails: it says by how much.",
    ),
    Exhibit(
        "ftrl", ("LEM-2.3", "THM-2.11"), "Follow the regularised leader",
        "regret(u) ≤ R(u) − R(w₁) + Σ(f_t(w_t) − f_t(w_{t+1})) ;  ≤ R(u) − R(w₁) + Σ‖z_t‖²/(2σ)   (seed: /σ)",
        "R σ-strongly convex, exact minima", "costs orthogonal to what is played",
        lambda: horizons(sitting("orthogonal", "ftrl"), {
            "LEM-2.3": "LEM-2.3", "THM-2.11+": "THM-2.11+",
            "THM-2.11": doubled("THM-2.11+", lambda t: t.game.player.eta / 2 * energy(t))}), "orthogonal ftrl",
    ),
    Exhibit(
        "doubling", ("DOUBLING",), "Without a horizon: restart when the time doubles",
        "regret ≤ Σ of the blocks' bounds ≤ α·√2/(√2 − 1)·√T = 3.414α√T",
        "on every prefix of its block the learner's regret ≤ α√(2^m)", "costs orthogonal to what is played",
        lambda: along(sitting("orthogonal", "doubling"), {"sum of blocks": "Σ THM-14.5", "3.414α√T": "DOUBLING"}),
        "orthogonal doubling",
    ),
)  # fmt: skip

DESCENT = (
    Exhibit(
        "ogd", ("THM-2.4", "EQ-2.15"), "Gradient descent",
        "regret(u) ≤ ‖u‖²/(2η) + (η/2)Σ‖z_t‖²   (THM-2.4: η instead of η/2)", "R^d, constant η = B/(L√T), any u",
        "unit costs orthogonal to what is played: nothing is lost, but the best fixed point gains √T",
        lambda: horizons(sitting("orthogonal", "ogd"), {"EQ-2.15": "EQ-2.15", "THM-2.4": doubled("EQ-2.15", _half)}),
        "orthogonal ogd", "The tuned bound BL√T is met exactly.",
    ),
    Exhibit(
        "ogd-lazy", ("COR-2.13", "COR-2.17", "LAZY+"), "Gradient descent, projected lazily",
        "regret(u) ≤ (‖u‖² − ‖w₁‖²)/(2η) + (η/2)Σ‖z_t‖²   (COR-2.13, 2.17: η)", "convex S, constant η, u ∈ S",
        "against the sign of what is played, and at last always the same way",
        lambda: horizons(sitting("last-stand", "ogd-lazy"), {"LAZY+": "LAZY+",
                                                             "COR-2.17": doubled("LAZY+", _half)}),
        "last-stand ogd-lazy",
    ),
    Exhibit(
        "ogd-eager", ("THM-14.5",), "Gradient descent, projected at once",
        "regret(u) ≤ ‖w₁ − u‖²/(2η) + (η/2)Σ‖g_t‖²", "convex S, constant η, u ∈ S", "unit costs orthogonal to w_t",
        lambda: horizons(sitting("orthogonal", "ogd-eager"), {"THM-14.5": "THM-14.5"}), "orthogonal ogd-eager",
    ),
    Exhibit(
        "ogd-sqrt", ("EQ-8",), "A rate that falls like 1/√t",
        "regret ≤ UG√(8T) ;  observed: U²/(2η₁) + 2U²(1/η_T − 1/η₁) + ½Ση_t‖g_t‖²",
        "ball of radius U, η_t = √2·U/(G√t), ‖g_t‖ ≤ G", "against the sign of w_t, at last always the same way",
        lambda: horizons(sitting("last-stand", "ogd-sqrt"), {"EQ-8": "EQ-8", "observed": "EQ-8+"}),
        "last-stand ogd-sqrt",
    ),
    Exhibit(
        "eager-dec", ("EAGER-DEC",), "Any rates that do not grow",
        "regret ≤ D²/(2η_T) + ½Ση_t‖g_t‖² ;  η_t = 1/√t: D²√T/2 + G²(√T − ½)", "D ≥ diameter of S",
        "η_t = 1/√t; against the sign of w_t, at last always the same way",
        lambda: horizons(sitting("last-stand", "ogd-sqrt", eta=lambda t: 1.0), {
            "observed": "EAGER-DEC", "D²√T/2 + G²(√T − ½)": lambda _, t: 3 * math.sqrt(t) - 0.5}),
        "last-stand ogd-sqrt --eta 1",
    ),
    Exhibit(
        "ogd-sc", ("THM-14.11",), "Curved losses: ln T instead of √T",
        "regret ≤ Σ‖g_t‖²/(2σt) ≤ G²(1 + ln T)/(2σ)", "σ-strongly convex, η_t = 1/(σt), any u", "½(w − z_t)², z_t = ±1",
        lambda: horizons(sitting("quadratic", "ogd-sc"), {
            "observed": "THM-14.11",
            "G²(1 + ln T)/2σ": lambda k, t: (1 + math.log(t)) / 2 * float(np.max(k.game.gradients**2))}),
        "quadratic ogd-sc",
    ),
    Exhibit(
        "ogd-scw", ("THM-14.12",), "Later rounds count more: 1/T",
        "Σa_t(ℓ_t(w_t) − ℓ_t(u)) ≤ 2Σ‖g_t‖²/(λT(T+3)), a_t = 2(t+1)/(T(T+3))", "λ-strongly convex, η_t = 2/(λ(t+1))",
        "½(w − z_t)², z_t = ±1", _weighted,
    ),
)  # fmt: skip

MIRROR = (
    Exhibit(
        "eg", ("COR-2.14",), "Exponentiated gradient",
        "regret ≤ B ln d/η + (ηB/2)Σ‖z_t‖_∞² = BL√(2T ln d)", "simplex of total B, η = √(2 ln d/T)/L",
        "one of 16 experts is free, the others pay each round",
        lambda: horizons(sitting("free-expert", "eg"), {
            "observed": "COR-2.14", "L√(2T ln d)": root(math.sqrt(2 * math.log(16)))}), "free-expert eg",
        "The rate that the source prints fails on this very game: [E13](e13.md).",
    ),
    Exhibit(
        "omd", ("THM-2.15", "THM-2.21"), "Mirror descent in any norm",
        "regret(u) ≤ R(u) − min R + Σ‖z_t‖_*²/(2σ)   (THM-2.15: /σ)", "R σ-strongly convex in ‖·‖, constant η",
        "p-norm geometry, p = 2 ln d, against orthogonal costs",
        lambda: horizons(sitting("orthogonal", "pnorm"), {
            "THM-2.21": "THM-2.21",
            "THM-2.15": doubled("THM-2.21", lambda t: _rate(t) / 2 * (2 * math.log(5) - 1)
                                * energy(t, 2 * math.log(5)))}), "orthogonal pnorm",
    ),
    Exhibit(
        "omd-equality", ("LEM-2.20",), "Mirror descent, exactly",
        "regret(u) ≤ R(u) − R(w₁) + ΣD_t, with equality at u = w_{T+1}", "constant η; no strong convexity needed",
        "exponentiated gradient on tossed coins, compared with its own last point", _at_its_own_end,
    ),
    Exhibit(
        "local-norms", ("THM-2.22",), "Local norms",
        "regret(u) ≤ (ln d + Σu ln u)/η + (η/2)Σ_tΣ_i w_t[i]z_t[i]²   (THM-2.22: η)", "ηz ≥ −1; the half needs z ≥ 0",
        "one of 16 experts is free, the others pay each round",
        lambda: horizons(sitting("free-expert", "eg"), {"THM-2.22+": "THM-2.22+", "THM-2.22": "THM-2.22"}),
        "free-expert eg",
    ),
    Exhibit(
        "ueg", ("THM-2.23",), "Unnormalised exponentiated gradient",
        "regret(u) ≤ [dλ + Σu ln(u/(eλ))]/η + (η/2)Σ_tΣ_i w_t z_t²   (THM-2.23: η)",
        "u ≥ 0, ηz ≥ −1; the half needs z ≥ 0", "one of 16 experts is free, the others pay each round",
        lambda: horizons(sitting("free-expert", "ueg"), {"THM-2.23+": "THM-2.23+", "THM-2.23": "THM-2.23"}),
        "free-expert ueg",
    ),
    Exhibit(
        "pnorm", ("COR-2.18",), "The p-norm algorithm",
        "regret(u) ≤ ‖u‖_q²/(2η) + (η(p−1)/2)Σ‖z_t‖_p²", "p ≥ 2", "p = 6 at u = 0, where a p-norm curves most",
        lambda: along(at_costs(Wobble(d=2), lambda t: MirrorDescent(PNorm(6.0), Constant(0.5)), Point(np.zeros(2))),
                      {"COR-2.18": "COR-2.18"}, 1024), "wobble pnorm --eta 0.5",
        "The form that the source prints is exceeded on this very game: [E14](e14.md).",
    ),
)  # fmt: skip

EXPERTS = (
    Exhibit(
        "hedge", ("THM-1.3",), "Experts: the best constant",
        "expected loss ≤ best expert's + √(T ln d/2)", "costs in [0, 1], η = √(8 ln d/T)",
        "ten experts toss coins: the lower bound's own sequence",
        lambda: horizons(sitting("coin-flips", "hedge"), {"√(T ln d/2)": root(math.sqrt(math.log(10) / 2))}),
        "coin-flips hedge",
    ),
    Exhibit(
        "weighted-majority", ("THM-3.1",), "Weighted majority, as the textbook tunes it",
        "Λ ≤ L* + ln d/η + ηT ;  Λ ≤ (L* + ln d/η)/(1 − η) ;  sharper: ηT/8 ;  (ηL* + ln d)/(1 − e^{−η})",
        "costs in [0, 1]; the second form η < 1", "one of 16 experts is free, η = √(ln d/T)", _wm_bounds,
        "free-expert wm",
    ),
    Exhibit(
        "hedge-range", ("THM-14.15",), "Hedge, by the range of each round",
        "ΣEℓ_t ≤ inf_p[E_pΣℓ_t + KL(p‖p₀)/η] + (η/8)ΣM_t²", "M_t = range of ℓ_t, any sign",
        "one of 16 experts is free, η = √(ln d/T)",
        lambda: horizons(sitting("free-expert", "wm"), {"THM-14.15": "THM-14.15"}), "free-expert wm",
    ),
)  # fmt: skip

REGRET = (*FOLLOWING, *DESCENT, *MIRROR, *EXPERTS)
