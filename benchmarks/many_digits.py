"""Losses of a score with as many digits as the context of `decimal` has, to compare what doubles say with."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from typing import Any

from lowregret.loss import (
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    LogWealth,
    Loss,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)

Exact = list[Decimal]

SHARES = (Decimal(1), Decimal("0.1"), Decimal("1e-3"))  # of a step of Newton's method that are tried

FAR = Decimal(10**6)  # beyond it powers of e are 0 or without end for all that is compared
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")
BERNOULLI = (
    *((1, 6), (-1, 30), (1, 42), (-1, 30), (5, 66), (-691, 2730), (7, 6), (-3617, 510), (43867, 798), (-174611, 330)),
    *((854513, 138), (-236364091, 2730)),
)  # B_2, B_4, …


def exact(v: Any) -> Exact:
    """Numbers as they are stored."""
    return [Decimal(float(a)) for a in v]


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Σ"""
    return sum(numbers, Decimal(0))


def log_gamma(x: Decimal) -> Decimal:
    """ln Γ(x), x > 0: Stirling's series beyond 60, to some 40 digits."""
    product = Decimal(1)
    while x < 60:
        product, x = product * x, x + 1
    series = Decimal(0)
    for k, (top, bottom) in enumerate(BERNOULLI, start=1):
        series += Decimal(top) / bottom / (2 * k * (2 * k - 1) * x ** (2 * k - 1))
    return (x - Decimal("0.5")) * x.ln() - x + (2 * PI).ln() / 2 + series - product.ln()


def loss_at(loss: Loss, p: Decimal, y: Decimal) -> Decimal:
    """ℓ(p, y)"""
    match loss:
        case Affine(inner, slope, offset):
            return loss_at(inner, Decimal(slope) * p + Decimal(offset), y)
        case Hinge(margin):
            return max(Decimal(margin) - y * p, Decimal(0))
        case SquaredHinge():
            return max(1 - y * p, Decimal(0)) ** 2
        case Logistic():
            return max(-y * p, Decimal(0)) + ln_one_and(max(-abs(p), -FAR).exp())
        case Square():
            return (p - y) ** 2
        case Absolute():
            return abs(p - y)
        case Quantile(tau):
            return max(Decimal(tau) * (y - p), (1 - Decimal(tau)) * (p - y))
        case Huber(delta):
            r, end = abs(p - y), Decimal(delta)
            return r * r / 2 if r <= end else end * (r - end / 2)
        case EpsilonInsensitive(epsilon):
            return max(abs(p - y) - Decimal(epsilon), Decimal(0))
        case Poisson():
            return max(min(p, FAR), -FAR).exp() - y * p + log_gamma(y + 1)
        case LogWealth():
            return -p.ln() if p > 0 else Decimal("Infinity")
        case Cost():
            return y * p
    raise TypeError(f"{loss} is not known here")


def ln_one_and(e: Decimal) -> Decimal:
    """ln(1 + e), e ≥ 0, where 1 + e may be 1."""
    return e - e * e / 2 if e < Decimal("1e-60") else (1 + e).ln()


def slope_and_bend(loss: Loss, p: Decimal, y: Decimal) -> tuple[Decimal, Decimal] | None:
    """∂ℓ/∂p and ∂²ℓ/∂p² of a loss without kinks; None for others."""
    one, none = Decimal(1), Decimal(0)
    match loss:
        case Logistic():
            s = 1 / (1 + max(min(y * p, FAR), -FAR).exp())
            return -y * s, s * (1 - s)
        case Poisson():
            mean = max(min(p, FAR), -FAR).exp()
            return mean - y, mean
        case Square():
            return 2 * (p - y), 2 * one
        case SquaredHinge():
            return (-2 * y * (1 - y * p), 2 * one) if y * p < 1 else (none, none)
        case Huber(delta):
            r, end = p - y, Decimal(delta)
            return (r, one) if abs(r) <= end else (end.copy_sign(r), none)
    return None


def solved(matrix: list[Exact], right: Exact) -> Exact | None:
    """The solution of linear equations, by elimination; None if there is no single one."""
    size, rows = len(right), [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for i in range(size):
        top = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[top] = rows[top], rows[i]
        if rows[i][i] == 0:
            return None
        for k in range(size):
            share = rows[k][i] / rows[i][i] if k != i else Decimal(0)
            rows[k] = [a - share * b for a, b in zip(rows[k], rows[i], strict=True)] if share else rows[k]
    return [row[size] / row[i] for i, row in enumerate(rows)]


def newton(loss: Loss, data: tuple[Any, Exact, Exact], kappa: Decimal, u: Exact) -> list[Exact]:
    """Points on the way of a step of Newton's method from u, for losses without kinks: else none."""
    d = len(u)
    g, bends = [kappa * a for a in u], [[kappa * (j == k) for k in range(d)] for j in range(d)]
    for row, y, c in zip(*data, strict=True):
        found = slope_and_bend(loss, total(a * u[j] for j, a in row), y)
        if found is None:
            return []
        for j, a in row:
            g[j] += c * found[0] * a
            for k, b in row:
                bends[j][k] += c * found[1] * a * b
    step = solved(bends, g)
    return [[a - share * b for a, b in zip(u, step, strict=True)] for share in SHARES] if step else []
