"""Newton's method in decimals with as many digits as their context has: better points than solvers of floats find."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from benchmarks.exact import Decimals, exp, total
from lowregret.loss import Huber, Logistic, Loss, Poisson, Square, SquaredHinge

SHARES = (Decimal(1), Decimal("0.1"), Decimal("1e-3"))  # of a step that are tried


def slope_and_bend(loss: Loss, p: Decimal, y: Decimal) -> tuple[Decimal, Decimal] | None:
    """∂ℓ/∂p and ∂²ℓ/∂p² of a loss without kinks; None for others."""
    one, none = Decimal(1), Decimal(0)
    match loss:
        case Logistic():
            s = 1 / (1 + exp(y * p))
            return -y * s, s * (1 - s)
        case Poisson():
            mean = exp(p)
            return mean - y, mean
        case Square():
            return 2 * (p - y), 2 * one
        case SquaredHinge():
            return (-2 * y * (1 - y * p), 2 * one) if y * p < 1 else (none, none)
        case Huber(delta):
            r, end = p - y, Decimal(delta)
            return (r, one) if abs(r) <= end else (end.copy_sign(r), none)
    return None


def solved(matrix: list[Decimals], right: Decimals) -> Decimals | None:
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


def newton(loss: Loss, data: tuple[Any, Decimals, Decimals], kappa: Decimal, u: Decimals) -> list[Decimals]:
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
