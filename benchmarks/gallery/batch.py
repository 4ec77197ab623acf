"""Exhibits of online to batch: rows drawn from four that are known, so that the true risk is, too."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.gallery.exhibit import Curves, Exhibit, curves
from lowregret import zoo
from lowregret.convex.functions import ScoreFunction
from lowregret.domain import L2Ball
from lowregret.hindsight import best_in_hindsight
from lowregret.learner.linear import Linear
from lowregret.loss import Hinge
from lowregret.output import Average, WeightedAverage
from lowregret.play import play
from lowregret.risk.online_to_batch import cor_13, o2b_hp, o2b_small, prop_3, prop_4, thm_14_9
from lowregret.rule import ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import Constant
from lowregret.train import train

ROUNDS, EXACTLY = (16, 32, 64, 128, 256), (1, 2, 3, 4, 5)
RUNS, DELTA, LAM = 40, 0.1, 0.1
X = np.array([[1.0, 0.0], [0.0, 1.0], [-0.6, 0.8], [0.8, -0.6]])  # of length 1
CLEAN = np.array([1.0, 1.0, 1.0, 1.0])  # ⟨u, x⟩ ≥ 0.2/√2 for u = (1, 1)/√2
Y = np.array([1.0, 1.0, 1.0, -1.0])  # one row is labelled against the others
P = np.array([0.4, 0.3, 0.2, 0.1])
HINGE_MOST = 2.0  # [1 − ⟨w,x⟩]₊ on the unit ball


class Sample(NamedTuple):
    """A run on independent rows."""

    run: LinearRun
    x: Any
    y: Any


def samples(learner: Linear, rounds: int, labels: Any = Y) -> Iterator[Sample]:
    """Forty runs."""
    for seed in range(RUNS):
        at = np.random.default_rng(seed).choice(P.size, rounds, p=P)
        yield Sample(train(learner, X[at], labels[at], compiled=False), X[at], labels[at])


def risk(w: Any) -> float:
    """C(w), hinge"""
    return float(P @ np.maximum(1 - Y * (X @ w), 0))


def error(w: Any) -> float:
    """Of clean labels; a zero score counts."""
    return float(P @ (CLEAN * (X @ w) <= 0))


@cache
def best() -> Any:
    """The least C(u) on the unit ball."""
    return best_in_hindsight(Hinge(), X, Y, L2Ball(1.0), weights=P, compiled=False).w


def _eager(rounds: int) -> Linear:
    return zoo.ogd_eager(Hinge(), 1 / math.sqrt(rounds), 1.0, Average())


def _excess() -> Curves:
    """THM-5.1 and COR-5.2 as exact expectations: every sample of T rows is played."""
    average, drawn, bound, u = [], [], [], best()
    for t in EXACTLY:
        means = np.zeros(3)
        for at in itertools.product(range(P.size), repeat=t):
            chance, rows = float(np.prod(P[list(at)])), [ScoreFunction(Hinge(), X[i], float(Y[i])) for i in at]
            game = play(ProjectedGradient(L2Ball(1.0), Constant(1 / math.sqrt(t))), rows, compiled=False)
            each = np.mean([risk(w) for w in game.points])
            means += chance * np.array([risk(np.mean(game.points, axis=0)), each, game.regret_to(u) / t + risk(u)])
        average.append(means[0] - risk(u))
        drawn.append(means[1] - risk(u))
        bound.append(means[2] - risk(u))
    return curves(
        EXACTLY, {"average: E C(w̄) − C(u)": average, "random iterate: E C(w_r) − C(u)": drawn},
        {"E regret/T": bound}, y="excess risk",
    )  # fmt: skip


def _perceptron_risk(labels: Any, bounds: dict[str, Callable[[int, Sample], float]], delta: float | None) -> Curves:
    """Mean error of the Perceptron's iterates, and bounds on it."""
    measured, found, failures = [], {name: [] for name in bounds}, 0  # type: tuple[list[float], dict[str, list[float]], int]
    for t in ROUNDS:
        runs = list(samples(zoo.perceptron(), t, labels))
        truth = [_mean_error(s) for s in runs]
        measured.append(float(np.mean(truth)))
        for name, bound in bounds.items():
            values = [bound(t, s) for s in runs]
            found[name].append(float(np.mean(values)))
            failures += sum(a > b for a, b in zip(truth, values, strict=True)) if delta else 0
    failed = (failures, RUNS * len(ROUNDS) * len(bounds), delta) if delta else None
    return curves(ROUNDS, {"mean error of the iterates": measured}, found, y="error", failures=failed)


def _mean_error(s: Sample) -> float:
    """(1/T)Σ err(w_t), from the iterates w_t = Σ_M y x."""
    wrong = (s.y * s.run.scores <= 0).astype(float)
    points = np.vstack([np.zeros(2), np.cumsum((wrong * s.y)[:, None] * s.x, axis=0)[:-1]])
    return float(np.mean([error(w) for w in points]))


def _hinge_of(u: Any) -> float:
    """E[1 − ⟨u, x⟩]₊ with clean labels"""
    return float(P @ np.maximum(1 - CLEAN * (X @ u), 0))


U = np.array([5.0, 5.0])  # margin 1 on all clean rows
MISTAKES = float(U @ U)  # K = ‖u‖²R²/γ²


def _loss_bounds(bound: Callable[[int, Sample], float]) -> Curves:
    """C(w̄) of averaged gradient descent under a bound with probability 1 − δ."""
    measured: list[float] = []
    found: list[float] = []
    failures = 0
    for t in ROUNDS:
        runs = list(samples(_eager(t), t))
        truth, values = [risk(s.run.weights) for s in runs], [bound(t, s) for s in runs]
        measured.append(float(np.mean(truth)))
        found.append(float(np.mean(values)))
        failures += sum(a > b for a, b in zip(truth, values, strict=True))
    failed = (failures, RUNS * len(ROUNDS), DELTA)
    return curves(ROUNDS, {"mean C(w̄)": measured}, {"mean bound": found}, y="expected hinge loss", failures=failed)


def _ridge() -> Curves:
    """COR-13: excess of C + (λ/2)‖·‖², Δ = 1, G = 1."""
    ball = L2Ball(1.0)
    u = best_in_hindsight(Hinge(), X, Y, ball, weights=P, ridge=LAM, compiled=False).w
    learners = {
        "a": zoo.ogd_sc(Hinge(), LAM, ball, Average()),
        "b": zoo.ogd_scw(Hinge(), LAM, ball, WeightedAverage()),
    }
    measured = {}
    for name, learner in learners.items():
        measured[name] = [
            float(np.mean([_ridged(s.run.weights) for s in samples(learner, t)])) - _ridged(u) for t in ROUNDS
        ]
    bounds = {
        f"COR-13 {name}": [cor_13(LAM, 1.0, 1.0, t, weighted=name == "b").bound for t in ROUNDS] for name in learners
    }
    worse = {"larger excess of the two": [max(pair) for pair in zip(*measured.values(), strict=True)]}
    return curves(ROUNDS, worse, bounds, y="excess of the regularised risk")


def _ridged(w: Any) -> float:
    return risk(w) + LAM / 2 * float(w @ w)


def _small(t: int, s: Sample) -> float:
    wrong = float(np.sum(s.y * s.run.scores <= 0))
    return o2b_small(wrong, t, DELTA, output="", of="error").bound


def _hp(t: int, s: Sample) -> float:
    return o2b_hp(s.run.loss, t, t, HINGE_MOST, math.log(1 / DELTA), DELTA, output="", of="loss").bound


def _14_9(t: int, s: Sample) -> float:
    u = best()
    return thm_14_9(risk(u), float(np.linalg.norm(u)), 1 / math.sqrt(t), 1.0, HINGE_MOST, t, DELTA).bound


_ROWS = "four rows, drawn independently, so that the true risk is known; means of 40 runs"
BATCH = (
    Exhibit(
        "online-to-batch", ("THM-5.1", "COR-5.2"), "From regret to risk",
        "E C(w_r) = E (1/T)Σf_t(w_t) ;  E C(w̄) − C(u) ≤ E regret(u)/T", "independent rows; C convex for the average",
        "gradient descent on the hinge loss, on all samples of four rows: exact expectations", _excess,
        remark="The random iterate meets the bound exactly; averaging can only help.",
    ),
    Exhibit(
        "perceptron-risk", ("PROP-3",), "The error of a Perceptron drawn from its run",
        "E err(w_s) ≤ 2E[1 − γ⁻¹⟨u, yx⟩]₊ + ‖u‖²B²/(γ²T)", "independent rows", _ROWS,
        lambda: _perceptron_risk(CLEAN, {
            "PROP-3": lambda t, s: prop_3(_hinge_of(U / 2), float(np.linalg.norm(U / 2)), 1.0, 1.0, t).bound}, None),
    ),
    Exhibit(
        "perceptron-margin-risk", ("PROP-4", "O2B-SMALL"), "The same, with high probability",
        "E_s err(w_s) ≤ inf_λ(λK + ln(1/δ))/((1 − e^{−λ})T) ;  observed: K → Σf_t(w_t), λ = 1 fixed beforehand",
        "independent rows; margin γ for the first, K = ‖u‖²R²/γ²", f"δ = 0.1; {_ROWS}",
        lambda: _perceptron_risk(CLEAN, {"PROP-4": lambda t, s: prop_4(MISTAKES, t, DELTA).bound,
                                         "O2B-SMALL": _small}, DELTA),
    ),
    Exhibit(
        "risk-observed", ("O2B-HP",), "A risk bound without a hold-out set",
        "C(w̄) ≤ (1/T)Σf_t(w_t) + M√(ln(1/δ)/(2T))", "independent rows, φ ∈ [0, M], C convex",
        f"gradient descent on the hinge loss, δ = 0.1; {_ROWS}", lambda: _loss_bounds(_hp),
    ),
    Exhibit(
        "risk-promised", ("THM-14.9",), "A risk bound before the first row",
        "C(w̄) ≤ inf_u[C(u) + ‖u − w₁‖²/(2ηT)] + ηG²/2 + M√(2 ln(2/δ)/T)", "independent rows, φ ∈ [0, M], G-Lipschitz",
        f"gradient descent on the hinge loss, η = 1/√T, δ = 0.1; {_ROWS}", lambda: _loss_bounds(_14_9),
        remark="The form printed, with ηG/2, is refuted: [E30](e30.md).",
    ),
    Exhibit(
        "risk-ridge", ("COR-13",), "Regularised risk",
        "a: excess ≤ ln(eT)(G + λΔ)²/(2λT), average ;  b: ≤ 2(G + λΔ)²/(λ(T+3)), weighted average",
        "independent rows, L2-regularised losses, ‖w‖ ≤ Δ", f"λ = 0.1 on the unit ball; {_ROWS}", _ridge,
    ),
)  # fmt: skip
