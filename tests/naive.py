"""The textbook, slowly: each algorithm as its formula says, in plain NumPy, O(d) or worse per round.

Which text has it where is in docs/book.md; where a text is wrong (docs/errata.md), what is true stands here.

Nothing here imports the package. A game tells in round t = 1, 2, … the loss of a point and a sub-gradient there:

    game(t, w) → (f_t(w), z_t),  z_t ∈ ∂f_t(w)

and every algorithm returns a `LinearRun`, which holds all iterates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float64]
Matrix: TypeAlias = NDArray[np.float64]
Game: TypeAlias = Callable[[int, Vector], tuple[float, Vector]]
Loss: TypeAlias = Callable[[float, float], tuple[float, float]]  # (score, label) → (value, slope)
Projection: TypeAlias = Callable[[Vector], Vector]
Link: TypeAlias = Callable[[float, Vector], Vector]  # (η, θ) → ∇R*(θ) for the regulariser R/η
Rate: TypeAlias = Callable[[int, Sequence[Vector]], float]  # (t, sub-gradients it may look at) → η_t


class LinearRun(NamedTuple):
    """What happened: w_1 … w_{T+1}, z_1 … z_T, f_t(w_t), η_t."""

    iterates: Matrix
    gradients: Matrix
    losses: Vector
    rates: Vector


# ---- losses of a score ---------------------------------------------------------------------------------------------


def hinge(p: float, y: float) -> tuple[float, float]:
    """[1 − yp]₊, slope 0 at the kink"""
    return (1 - y * p, -y) if y * p < 1 else (0.0, 0.0)


def logistic(p: float, y: float) -> tuple[float, float]:
    """ln(1 + e^{−yp})"""
    return float(np.logaddexp(0, -y * p)), -y * math.exp(-float(np.logaddexp(0, y * p)))


def square(p: float, y: float) -> tuple[float, float]:
    """(p − y)²"""
    return (p - y) ** 2, 2 * (p - y)


def absolute(p: float, y: float) -> tuple[float, float]:
    """|p − y|, slope 0 at the kink"""
    return abs(p - y), float(np.sign(p - y))


def cost(p: float, y: float) -> tuple[float, float]:
    """yp"""
    return y * p, y


def score_game(X: Matrix, y: Vector, weights: Vector, loss: Loss) -> Game:
    """f_t(w) = c_t·ℓ(⟨w,x_t⟩, y_t), so z_t = c_t·ℓ'·x_t."""

    def game(t: int, w: Vector) -> tuple[float, Vector]:
        value, slope = loss(float(w @ X[t - 1]), y[t - 1])
        return weights[t - 1] * value, weights[t - 1] * slope * X[t - 1]

    return game


def regularised(game: Game, lam: float) -> Game:
    """f_t(w) + (λ/2)‖w‖² (LOSS-L2REG)"""

    def harder(t: int, w: Vector) -> tuple[float, Vector]:
        value, z = game(t, w)
        return value + lam / 2 * float(w @ w), z + lam * w

    return harder


# ---- projections ---------------------------------------------------------------------------------------------------


def anywhere(v: Vector) -> Vector:
    """Π of R^d"""
    return v


def onto_l2_ball(radius: float) -> Projection:
    """v·min(1, r/‖v‖)"""
    return lambda v: v if np.linalg.norm(v) <= radius else v * (radius / np.linalg.norm(v))


def onto_box(low: float | Vector, high: float | Vector) -> Projection:
    """clip"""
    return lambda v: np.minimum(np.maximum(v, low), high)


def onto_orthant(v: Vector) -> Vector:
    """[v]₊"""
    return np.maximum(v, 0)


def onto_simplex(total: float) -> Projection:
    """[v − τ]₊, τ = (Σ_{j≤k} v_(j) − B)/k for the largest k with v_(k) > τ_k"""

    def project(v: Vector) -> Vector:
        falling = np.sort(v)[::-1]
        tau = (np.cumsum(falling) - total) / np.arange(1, v.size + 1)
        k = np.max(np.nonzero(falling > tau)[0])
        return np.maximum(v - tau[k], 0)

    return project


def onto_l1_ball(radius: float) -> Projection:
    """|v| on the simplex if ‖v‖₁ > r, signs restored"""
    return lambda v: v if np.abs(v).sum() <= radius else np.sign(v) * onto_simplex(radius)(np.abs(v))


# ---- step schedules ------------------------------------------------------------------------------------------------


def constant(eta: float) -> Rate:
    """η"""
    return lambda t, seen: eta


def inverse_sqrt(eta: float) -> Rate:
    """η/√t"""
    return lambda t, seen: eta / math.sqrt(t)


def inverse_time(sigma: float) -> Rate:
    """1/(σt)"""
    return lambda t, seen: 1 / (sigma * t)


def weighted_inverse_time(lam: float) -> Rate:
    """2/(λ(t+1))"""
    return lambda t, seen: 2 / (lam * (t + 1))


def adaptive(scale: float, norm: float = 2) -> Rate:
    """scale/√(Σ‖z_s‖²) over the sub-gradients seen, scale before any"""

    def rate(t: int, seen: Sequence[Vector]) -> float:
        energy = sum(float(np.linalg.norm(z, norm)) ** 2 for z in seen)
        return scale / math.sqrt(energy) if energy > 0 else scale

    return rate


# ---- follow the (regularised) leader -------------------------------------------------------------------------------


def ftl_box(Z: Matrix, low: Vector, high: Vector, first: Vector) -> Matrix:
    """ALG-FTL on f_t = ⟨w,z_t⟩, S a box: the corner against the sum; w_1, and ties, are `first`."""
    sums = np.vstack([np.zeros(Z.shape[1]), np.cumsum(Z, axis=0)])
    return np.array([np.where(s > 0, low, np.where(s < 0, high, first)) for s in sums])


def ftl_ball(Z: Matrix, radius: float) -> Matrix:
    """ALG-FTL on f_t = ⟨w,z_t⟩, S an L2 ball: −r·Z/‖Z‖, 0 at Z = 0."""
    sums = np.vstack([np.zeros(Z.shape[1]), np.cumsum(Z, axis=0)])
    return np.array([-radius * s / np.linalg.norm(s) if np.any(s) else s for s in sums])


def ftl_quadratic(Z: Matrix) -> Matrix:
    """ALG-FTL-QUAD: f_t = ½‖w − z_t‖², w_1 = 0, w_{t+1} = (1 − 1/t)w_t + z_t/t."""
    iterates = [np.zeros(Z.shape[1])]
    for t, z in enumerate(Z, start=1):
        iterates.append((1 - 1 / t) * iterates[-1] + z / t)
    return np.array(iterates)


def ftrl_linear(Z: Matrix, eta: float, project: Projection = anywhere) -> Matrix:
    """ALG-FTRL, f_t = ⟨w,z_t⟩, R = ‖w‖²/(2η) on S: argmin ‖w + ηΣz‖² over S."""
    return np.array([project(-eta * Z[:t].sum(axis=0)) for t in range(len(Z) + 1)])


def ftrl_entropy(Z: Matrix, eta: float, total: float) -> Matrix:
    """ALG-FTRL, f_t = ⟨w,z_t⟩, R = (1/η)Σw ln w on {w ≥ 0, Σw = B}: stationary where ln w + ηΣz is constant."""
    logs = [-eta * Z[:t].sum(axis=0) for t in range(len(Z) + 1)]
    return np.array([total * np.exp(v - np.max(v)) / np.exp(v - np.max(v)).sum() for v in logs])


def ftrl_quadratic(Z: Matrix, eta: float) -> Matrix:
    """ALG-FTRL, f_t = ½‖w − z_t‖², R = ‖w‖²/(2η): Σz/(t − 1 + 1/η)."""
    return np.array([Z[:t].sum(axis=0) / (t + 1 / eta) for t in range(len(Z) + 1)])


# ---- gradient descent ----------------------------------------------------------------------------------------------


def ogd(game: Game, rounds: int, d: int, eta: float) -> LinearRun:
    """ALG-OGD: w_1 = 0, w_{t+1} = w_t − ηz_t."""
    return ogd_eager(game, rounds, np.zeros(d), anywhere, constant(eta))


def ogd_lazy(game: Game, rounds: int, d: int, project: Projection, rate: Rate) -> LinearRun:
    """ALG-OGD-LAZY: w_t = Π_S(η_t θ_t), θ_{t+1} = θ_t − z_t."""
    return omd(game, rounds, d, euclid(project), rate)


def ogd_eager(game: Game, rounds: int, start: Vector, project: Projection, rate: Rate) -> LinearRun:
    """ALG-OGD-EAGER: w_{t+1} = Π_S(w_t − η_t z_t); η_t may look at z_1 … z_t."""
    w, iterates, gradients, losses, rates = start, [start], [], [], []
    for t in range(1, rounds + 1):
        value, z = game(t, w)
        gradients.append(z)
        eta = rate(t, gradients)
        w = project(w - eta * z)
        iterates.append(w)
        losses.append(value)
        rates.append(eta)
    return _run(iterates, gradients, losses, rates)


def adagrad(game: Game, rounds: int, start: Vector, project: Projection, eta: float) -> LinearRun:
    """w_{t+1}[j] = Π(w_t[j] − η·z_t[j]/√(Σ_{s≤t} z_s[j]²)), 0/0 = 0."""
    w, iterates, gradients, losses, squares = start, [start], [], [], np.zeros(start.size)
    for t in range(1, rounds + 1):
        value, z = game(t, w)
        squares = squares + z**2
        w = project(w - eta * z / np.sqrt(np.where(squares > 0, squares, 1.0)))
        iterates.append(w)
        gradients.append(z)
        losses.append(value)
    return _run(iterates, gradients, losses, [eta] * rounds)


def ogd_sqrt(game: Game, rounds: int, d: int, radius: float, eta: float) -> LinearRun:
    """ALG-OGD-SQRT: a ball, η_t = η/√t."""
    return ogd_eager(game, rounds, np.zeros(d), onto_l2_ball(radius), inverse_sqrt(eta))


def ogd_sc(game: Game, rounds: int, d: int, lam: float, project: Projection = anywhere) -> LinearRun:
    """ALG-OGD-SC on f_t + (λ/2)‖w‖²: η_t = 1/(λt)."""
    return ogd_eager(regularised(game, lam), rounds, np.zeros(d), project, inverse_time(lam))


def ogd_scw(game: Game, rounds: int, d: int, lam: float, project: Projection = anywhere) -> tuple[LinearRun, Vector]:
    """ALG-OGD-SCW on f_t + (λ/2)‖w‖²: η_t = 2/(λ(t+1)); and its output Σ 2(t+1)/(T(T+3)) w_t."""
    run = ogd_eager(regularised(game, lam), rounds, np.zeros(d), project, weighted_inverse_time(lam))
    return run, weighted_average(run)


def svm_online(X: Matrix, y: Vector, weights: Vector, radius: float) -> LinearRun:
    """ALG-SVM-ONLINE: hinge on x⁺ = [x, 1], ‖w⁺‖ ≤ λ, η_t = 1/√t."""
    plus = np.hstack([X, np.ones((len(X), 1))])
    return ogd_sqrt(score_game(plus, y, weights, hinge), len(X), plus.shape[1], radius, 1.0)


# ---- mirror descent ------------------------------------------------------------------------------------------------


def omd(game: Game, rounds: int, d: int, link: Link, rate: Rate) -> LinearRun:
    """ALG-OMD: θ_1 = 0, w_t = g(θ_t), θ_{t+1} = θ_t − z_t; η_t may look at z_1 … z_{t−1}."""
    theta = np.zeros(d)
    iterates: list[Vector] = []
    gradients: list[Vector] = []
    losses: list[float] = []
    rates = [rate(1, [])]
    for t in range(1, rounds + 1):
        iterates.append(link(rates[-1], theta))
        value, z = game(t, iterates[-1])
        gradients.append(z)
        losses.append(value)
        theta = theta - z
        rates.append(rate(t + 1, gradients))
    iterates.append(link(rates[-1], theta))
    return _run(iterates, gradients, losses, rates[:-1])


def euclid(project: Projection = anywhere) -> Link:
    """Π_S(ηθ)"""
    return lambda eta, theta: project(eta * theta)


def entropic(total: float) -> Link:
    """B·softmax(ηθ)"""

    def link(eta: float, theta: Vector) -> Vector:
        weights = np.exp(eta * theta - np.max(eta * theta))
        return total * weights / weights.sum()

    return link


def unnormalised(start: float) -> Link:
    """λe^{ηθ}"""
    return lambda eta, theta: start * np.exp(eta * theta)


def p_norm(p: float) -> Link:
    """η·sgn(θ)|θ|^{p−1}/‖θ‖_p^{p−2}, 0 at θ = 0"""

    def link(eta: float, theta: Vector) -> Vector:
        if not np.any(theta):
            return np.zeros_like(theta)
        return eta * np.sign(theta) * np.abs(theta) ** (p - 1) / np.linalg.norm(theta, p) ** (p - 2)

    return link


def eg(game: Game, rounds: int, d: int, eta: float, total: float = 1.0) -> LinearRun:
    """ALG-EG: w_1 = B/d, w_{t+1} ∝ w_t e^{−ηz_t}, with sum B."""
    return _multiplicative(game, rounds, np.full(d, total / d), eta, lambda w: total * w / w.sum())


def ueg(game: Game, rounds: int, d: int, eta: float, start: float) -> LinearRun:
    """ALG-UEG: w_1 = λ, w_{t+1} = w_t e^{−ηz_t}."""
    return _multiplicative(game, rounds, np.full(d, start), eta, lambda w: w)


def _multiplicative(game: Game, rounds: int, start: Vector, eta: float, normalise: Projection) -> LinearRun:
    w, iterates, gradients, losses = start, [start], [], []
    for t in range(1, rounds + 1):
        value, z = game(t, w)
        w = normalise(w * np.exp(-eta * z))
        iterates.append(w)
        gradients.append(z)
        losses.append(value)
    return _run(iterates, gradients, losses, [eta] * rounds)


def pnorm(game: Game, rounds: int, d: int, eta: float, p: float) -> LinearRun:
    """ALG-PNORM"""
    return omd(game, rounds, d, p_norm(p), constant(eta))


# ---- bandits -------------------------------------------------------------------------------------------------------


def exp3(costs: Matrix, arms: Sequence[int], eta: float) -> Vector:
    """ALG-EXP3, told which arms it draws: w_t[p_t] in every round, w_t ∝ e^{−ηĈ}, Ĉ[p_t] += y_t[p_t]/w_t[p_t]."""
    estimates, chances = np.zeros(costs.shape[1]), []
    for y, p in zip(costs, arms, strict=True):
        w = np.exp(-eta * (estimates - estimates.min()))
        chances.append(w[p] / w.sum())
        estimates[p] += y[p] / chances[-1]
    return np.array(chances)


# ---- linear classifiers --------------------------------------------------------------------------------------------


def perceptron(X: Matrix, y: Vector, weights: Vector) -> tuple[LinearRun, list[int]]:
    """ALG-PERCEPTRON: w += yx on mistakes y⟨w,x⟩ ≤ 0 (times the round's weight); and the mistake rounds, from 0."""
    w = np.zeros(X.shape[1])
    iterates, gradients, losses, mistakes = [w], [], [], []
    for t, (x, label) in enumerate(zip(X, y, strict=True)):
        wrong = label * float(w @ x) <= 0
        losses.append(weights[t] * (1 - label * float(w @ x)) if wrong else 0.0)
        gradients.append(-weights[t] * label * x if wrong else np.zeros_like(x))
        w = w - gradients[-1]
        iterates.append(w)
        mistakes += [t] if wrong else []
    return _run(iterates, gradients, losses, [1.0] * len(X)), mistakes


def kernel_perceptron(K: Matrix, y: Vector) -> tuple[Vector, list[int]]:
    """The same in kernel form, K[s,t] = k(x_s, x_t): score_t = Σ_{s∈M} y_s K[s,t]; scores and mistake rounds."""
    scores, mistakes = [], list[int]()
    for t in range(len(y)):
        scores.append(sum(y[s] * K[s, t] for s in mistakes))
        mistakes += [t] if y[t] * scores[-1] <= 0 else []
    return np.array(scores, float), mistakes


def winnow(X: Matrix, y: Vector, weights: Vector, eta: float) -> LinearRun:
    """ALG-WINNOW: w_1 = 1/d; on mistakes y(2⟨w,x⟩ − 1) ≤ 0, w[i] ← w[i]·e^{+2ηy x[i]} (to the round's weight)."""
    d = X.shape[1]
    w = np.full(d, 1 / d)
    iterates, gradients, losses = [w], [], []
    for x, label, c in zip(X, y, weights, strict=True):
        margin = label * (2 * float(w @ x) - 1)
        losses.append(c * (1 - margin) if margin <= 0 else 0.0)
        gradients.append(-2 * c * label * x if margin <= 0 else np.zeros(d))
        if margin <= 0:
            w = w * np.exp(2 * eta * c * label * x)
        iterates.append(w)
    return _run(iterates, gradients, losses, [eta] * len(X))


# ---- many classes: w holds the weights of all classes, w.reshape(d, L)[j, ℓ] ----------------------

MultiLoss: TypeAlias = Callable[[Vector, int, int], tuple[float, Vector]]  # (scores, ŷ or −1, y) → (value, slopes)


def mc_perceptron(scores: Vector, guess: int, y: int) -> tuple[float, Vector]:
    """ALG-MC-PERCEPTRON: [1 − s_y + s_ŷ]₊ if ŷ ≠ y, so z = ψ(x,ŷ) − ψ(x,y) on mistakes; ŷ = −1: nothing to learn."""
    e = np.eye(scores.size)
    if guess in (-1, y) or 1 - scores[y] + scores[guess] <= 0:
        return 0.0, np.zeros(scores.size)
    return float(1 - scores[y] + scores[guess]), e[guess] - e[y]


def multi_hinge(costs: Matrix | None = None) -> MultiLoss:
    """LOSS-STRUCT: max_ℓ γ(y,ℓ) − s_y + s_ℓ; at 0 the row's own class is the maximiser, else the lowest."""

    def loss(scores: Vector, guess: int, y: int) -> tuple[float, Vector]:
        e = np.eye(scores.size)
        gamma = 1 - e[y] if costs is None else costs[y, : scores.size]
        gaps = gamma - scores[y] + scores
        worst = int(np.argmax(gaps)) if gaps.max() > 0 else y
        return max(float(gaps.max()), 0.0), e[worst] - e[y]

    return loss


def softmax(scores: Vector, guess: int, y: int) -> tuple[float, Vector]:
    """ln Σe^{s_ℓ} − s_y"""
    total = float(np.logaddexp.reduce(scores))
    return total - float(scores[y]), np.exp(scores - total) - np.eye(scores.size)[y]


def one_against_all(binary: Loss) -> MultiLoss:
    """Σ_ℓ ℓ(s_ℓ, ±1)"""

    def loss(scores: Vector, guess: int, y: int) -> tuple[float, Vector]:
        each = [binary(float(s), 1.0 if label == y else -1.0) for label, s in enumerate(scores)]
        return sum(value for value, _ in each), np.array([slope for _, slope in each])

    return loss


def class_game(
    X: Matrix, y: Sequence[int], weights: Vector, lanes: int, loss: MultiLoss, named: bool
) -> tuple[Game, list[int]]:
    """f_t(w) = c_t·φ(scores, y_t) over all classes if `named`, else over those met up to t; and the guesses."""
    guesses: list[int] = []

    def game(t: int, w: Vector) -> tuple[float, Vector]:
        before = lanes if named else max([*y[: t - 1], -1]) + 1
        known = max(before, y[t - 1] + 1)
        scores = X[t - 1] @ w.reshape(-1, lanes)
        guesses.append(int(np.argmax(scores[:before])) if before else -1)
        value, slopes = loss(scores[:known], guesses[-1], y[t - 1])
        padded = np.append(slopes, np.zeros(lanes - known))
        return weights[t - 1] * value, weights[t - 1] * np.outer(X[t - 1], padded).ravel()

    return game, guesses


# ---- outputs and regret --------------------------------------------------------------------------------------------


def average(run: LinearRun) -> Vector:
    """(1/T)Σ_{t≤T} w_t"""
    return run.iterates[:-1].mean(axis=0)


def weighted_average(run: LinearRun) -> Vector:
    """Σ_{t≤T} 2(t+1)/(T(T+3)) w_t"""
    t = np.arange(1, len(run.iterates))
    share = 2 * (t + 1) / (t.size * (t.size + 3))
    return share @ run.iterates[:-1]


def linear_regret(run: LinearRun, u: Vector) -> float:
    """LinReg(u) = Σ⟨w_t − u, z_t⟩: the regret itself if all losses are linear."""
    return float(np.sum((run.iterates[:-1] - u) * run.gradients))


def best_in_l2_ball(Z: Vector, radius: float) -> Vector:
    """argmin ⟨u,Z⟩, with value −r‖Z‖₂"""
    return -radius * Z / np.linalg.norm(Z) if np.any(Z) else Z


def best_in_l1_ball(Z: Vector, radius: float) -> Vector:
    """argmin ⟨u,Z⟩, with value −r‖Z‖_∞"""
    u = np.zeros_like(Z)
    i = np.argmax(np.abs(Z))
    u[i] = -radius * np.sign(Z[i])
    return u


def best_in_simplex(Z: Vector, total: float) -> Vector:
    """argmin ⟨u,Z⟩, with value B·min_i Z[i]"""
    return total * (np.arange(Z.size) == np.argmin(Z)).astype(float)


def best_in_box(Z: Vector, low: float | Vector, high: float | Vector) -> Vector:
    """argmin ⟨u,Z⟩, with value Σ_i min(lo_i Z_i, hi_i Z_i)"""
    return np.where(Z > 0, low, high)


def _run(iterates: list[Vector], gradients: list[Vector], losses: list[float], rates: list[float]) -> LinearRun:
    d = iterates[0].size
    return LinearRun(
        np.array(iterates), np.array(gradients).reshape(-1, d), np.array(losses, float), np.array(rates, float)
    )
