"""Adaptive and parameter-free learners, slowly: each as its paper writes it, in plain NumPy, O(d) or worse per round.

Nothing here imports the package. See `naive.py` for games and runs. Coordinates have rates of their own, which the run
does not tell: its `rates` are 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tests.naive import Game, LinearRun, Loss, Matrix, Projection, Vector, anywhere

Update = Callable[[Vector, Vector], Vector]  # (w_t, z_t) → w_{t+1}


def _play(game: Game, rounds: int, w: Vector, update: Update) -> LinearRun:
    iterates, gradients, losses = [w], [], []
    for t in range(1, rounds + 1):
        value, z = game(t, w)
        w = update(w, z)
        iterates.append(w)
        gradients.append(z)
        losses.append(value)
    return LinearRun(np.array(iterates), np.array(gradients).reshape(-1, w.size), np.array(losses), np.ones(rounds))


def adagrad(game: Game, rounds: int, d: int, eta: float, project: Projection = anywhere) -> LinearRun:
    """Duchi, Hazan and Singer 2011, figure 1 with a diagonal matrix and δ = 0: w − ηz/√Σz², nothing where Σz² = 0."""
    seen: list[Vector] = []

    def update(w: Vector, z: Vector) -> Vector:
        seen.append(z)
        root = np.sqrt(np.sum(np.square(seen), axis=0))
        return project(w - np.divide(eta * z, root, out=np.zeros(d), where=root > 0))

    return _play(game, rounds, project(np.zeros(d)), update)


def newton_diagonal(game: Game, rounds: int, d: int, gamma: float, epsilon: float) -> LinearRun:
    """w − z/(γ(ε + Σz²))"""
    seen: list[Vector] = []

    def update(w: Vector, z: Vector) -> Vector:
        seen.append(z)
        return w - z / (gamma * (epsilon + np.sum(np.square(seen), axis=0)))

    return _play(game, rounds, np.zeros(d), update)


def ftrl_proximal(game: Game, rounds: int, d: int, alpha: float, beta: float, l1: float, l2: float) -> LinearRun:
    """McMahan et al. 2013, algorithm 1, line by line."""
    z, n = np.zeros(d), np.zeros(d)

    def update(w: Vector, g: Vector) -> Vector:
        for i in np.flatnonzero(g).tolist():
            sigma = (math.sqrt(n[i] + g[i] ** 2) - math.sqrt(n[i])) / alpha
            z[i] += g[i] - sigma * w[i]
            n[i] += g[i] ** 2
        new = np.zeros(d)
        for k in range(d):
            if abs(z[k]) > l1:
                new[k] = -(z[k] - np.sign(z[k]) * l1) / ((beta + math.sqrt(n[k])) / alpha + l2)
        return new

    return _play(game, rounds, np.zeros(d), update)


def kt(game: Game, rounds: int, d: int, limit: float, wealth: float) -> LinearRun:
    """Orabona and Pál 2016, algorithm 1 on each coordinate: w = (Σc/t)(ε + Σcw), t counting its coins ≠ 0 and one."""
    coins: list[list[float]] = [[] for _ in range(d)]
    gains = np.zeros(d)

    def update(w: Vector, z: Vector) -> Vector:
        for i in np.flatnonzero(z):
            coins[i].append(float(np.clip(-z[i] / limit, -1, 1)))
            gains[i] += coins[i][-1] * w[i]
        return np.array([sum(c) / (len(c) + 1) for c in coins]) * (wealth + gains)

    return _play(game, rounds, np.zeros(d), update)


def freegrad(game: Game, rounds: int, d: int, wealth: float) -> LinearRun:
    """Mhammedi and Koolen 2020, FreeGrad on each coordinate, with sub-gradients cut to the largest before."""
    first, largest, total, squares = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)

    def update(w: Vector, z: Vector) -> Vector:
        new = np.zeros(d)
        for i in range(d):
            if first[i] == 0 and z[i] != 0:
                first[i] = largest[i] = abs(z[i])
                squares[i] = z[i] ** 2
            cut = float(np.clip(z[i], -largest[i], largest[i]))
            total[i] += cut
            squares[i] += cut**2
            largest[i] = max(largest[i], abs(z[i]))
            if first[i] > 0:
                g, v, h = total[i], squares[i], largest[i]
                fraction = (2 * v + h * abs(g)) * first[i] ** 2 / (2 * (v + h * abs(g)) ** 2 * math.sqrt(v))
                new[i] = -wealth * g * fraction * math.exp(g**2 / (2 * v + 2 * h * abs(g)))
        return new

    return _play(game, rounds, np.zeros(d), update)


def cocob(game: Game, rounds: int, d: int, alpha: float) -> LinearRun:
    """Orabona and Tommasi 2017, algorithm 2 from w_1 = 0."""
    bound, absolute, reward, theta = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)

    def update(w: Vector, z: Vector) -> Vector:
        g = -z
        np.maximum(bound, np.abs(g), out=bound)
        absolute[:] += np.abs(g)
        reward[:] = np.maximum(reward + w * g, 0)
        theta[:] += g
        below = bound * np.maximum(absolute + bound, alpha * bound)
        return np.divide(theta, below, out=np.zeros(d), where=below > 0) * (bound + reward)

    return _play(game, rounds, np.zeros(d), update)


def newton(game: Game, rounds: int, d: int, gamma: float, epsilon: float) -> LinearRun:
    """Hazan, Agarwal and Kale 2007, figure 2 on R^d: w − A⁻¹z/γ."""
    a = epsilon * np.eye(d)

    def update(w: Vector, z: Vector) -> Vector:
        a[:] += np.outer(z, z)
        return w - np.linalg.solve(a, z) / gamma

    return _play(game, rounds, np.zeros(d), update)


# ---- learners that look at the row or its loss ---------------------------------------------------------------------


def epsilon_insensitive(epsilon: float) -> Loss:
    """[|p − y| − ε]₊"""
    return lambda p, y: (abs(p - y) - epsilon, float(np.sign(p - y))) if abs(p - y) > epsilon else (0.0, 0.0)


def nag(X: Matrix, y: Vector, weights: Vector, loss: Loss, eta: float) -> LinearRun:
    """Ross, Mineiro and Langford 2013, algorithm 2; scales of rows are learnt with them, after the score was made."""
    d = X.shape[1]
    w, scale, squares, content, turns = np.zeros(d), np.zeros(d), np.zeros(d), 0.0, 0
    iterates, gradients, losses = [w], [], []
    for x, label, c in zip(X, y, weights, strict=True):
        value, slope = loss(float(w @ x), label)
        z = c * slope * x
        losses.append(c * value)
        gradients.append(z)
        if slope != 0:
            w = w.copy()
            for i in np.flatnonzero(x):
                if abs(x[i]) > scale[i]:
                    w[i] *= scale[i] / abs(x[i])
                    scale[i] = abs(x[i])
            content += sum((x[i] / scale[i]) ** 2 for i in np.flatnonzero(x))
            turns += 1
            squares += z**2
            for i in np.flatnonzero(x):
                w[i] -= eta * math.sqrt(turns / content) * z[i] / (scale[i] * math.sqrt(squares[i]))
        iterates.append(w)
    return LinearRun(np.array(iterates), np.array(gradients), np.array(losses), np.ones(len(X)))


def passive_aggressive(
    X: Matrix, y: Vector, weights: Vector, loss: Loss, limit: float = math.inf, squared: bool = False
) -> LinearRun:
    """Crammer et al. 2006, figure 1 and its two soft forms, on the weighted loss."""
    w = np.zeros(X.shape[1])
    iterates, gradients, losses, rates = [w], [], [], []
    for x, label, c in zip(X, y, weights, strict=True):
        value, slope = loss(float(w @ x), label)
        z, value = c * slope * x, c * value
        square = float(z @ z)
        tau = 0.0
        if square > 0:
            tau = value / (square + 1 / (2 * limit)) if squared else min(limit, value / square)
        w = w - tau * z
        iterates.append(w)
        gradients.append(z)
        losses.append(value)
        rates.append(tau)
    return LinearRun(np.array(iterates), np.array(gradients), np.array(losses), np.array(rates))


def arow(X: Matrix, y: Vector, weights: Vector, loss: Loss, r: float) -> LinearRun:
    """Crammer, Kulesza and Dredze 2009, figure 1, keeping the diagonal of Σ⁻¹, on the weighted loss."""
    w, sigma = np.zeros(X.shape[1]), np.ones(X.shape[1])
    iterates, gradients, losses = [w], [], []
    for x, label, c in zip(X, y, weights, strict=True):
        value, slope = loss(float(w @ x), label)
        z, value = c * slope * x, c * value
        beta = 1 / (float(z @ (sigma * z)) + r)
        w = w - value * beta * sigma * z
        sigma = 1 / (1 / sigma + z**2 / r)
        iterates.append(w)
        gradients.append(z)
        losses.append(value)
    return LinearRun(np.array(iterates), np.array(gradients), np.array(losses), np.ones(len(X)))
