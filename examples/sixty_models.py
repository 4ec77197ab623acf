"""One series, sixty models: who is to be trusted, day by day, and one page that shows it.

python examples/sixty_models.py makes out/sixty.csv and out/sixty.html, and prints the summary. The page is also what
`lowregret experts out/sixty.csv --target sales --loss mae --report out/sixty.html` writes.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lowregret import Absolute
from lowregret.cli import main
from lowregret.experts import Layered, Review

Vector = NDArray[np.float64]
OUT = Path("out")
DAYS, WEEK, OPENED, CLOSED = 730, 7, 200, 500


def sales(seed: int = 1) -> Vector:
    """Weeks and seasons; half-way, people begin to buy at weekends what they bought on weekdays."""
    rng, t = np.random.default_rng(seed), np.arange(DAYS)
    weekend = np.where(t % WEEK >= 5, np.where(t < DAYS // 2, -20.0, 25.0), 0.0)
    level = 200 + 30 * np.sin(2 * np.pi * t / 365) + np.cumsum(rng.normal(0, 1.5, DAYS))
    return level + weekend + rng.normal(0, 8, DAYS)


def smoothed(y: Vector, rate: float, lag: int) -> Vector:
    """Exponential smoothing of every `lag`-th day: 1 of days, 7 of Mondays, Tuesdays, …"""
    said = np.full(y.size, y[0])
    for t in range(lag, y.size):
        said[t] = said[t - lag] + rate * (y[t - lag] - said[t - lag])
    return said


def mean_of(y: Vector, days: list[int]) -> Vector:
    """The mean of what came the given numbers of days ago, of those days that there were."""
    return np.array([np.mean([y[t - d] for d in days if d <= t] or [y[0]]) for t in range(y.size)])


def regressed(y: Vector, lags: list[int], window: int) -> Vector:
    """Least squares on some days before, fitted every week to the latest ones."""
    said, w = np.full(y.size, y[0]), np.ones(len(lags)) / len(lags)
    for t in range(max(lags) + window, y.size):
        if t % WEEK == 0:
            rows = np.array([[y[s - d] for d in lags] for s in range(t - window, t)])
            w = np.linalg.solve(rows.T @ rows + np.eye(len(lags)), rows.T @ y[t - window : t])
        said[t] = w @ [y[t - d] for d in lags]
    return said


def models(y: Vector) -> dict[str, Vector]:
    """Sixty forecasts for every day, each made of the days before it."""
    found = {f"weeks_{k}": mean_of(y, [WEEK * j for j in range(1, k + 1)]) for k in range(1, 13)}
    found |= {f"days_{k}": mean_of(y, list(range(1, k + 1))) for k in (1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 56, 84)}
    rates = [0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    for kind, lag in (("daily", 1), ("weekly", WEEK)):
        found |= {f"{kind}_{rate}": smoothed(y, rate, lag) for rate in rates}
    for lags in ([1, 7], [1, 2, 7], [1, 7, 14], [7, 14, 21]):
        found |= {f"ar_{'_'.join(map(str, lags))}_{window}": regressed(y, lags, window) for window in (28, 56, 112)}
    assert len(found) == 60
    found["ar_1_7_28"][:OPENED] = np.nan  # a model that joins later, and one that retires
    found["weeks_12"][CLOSED:] = np.nan
    return found


if __name__ == "__main__":
    OUT.mkdir(exist_ok=True)
    came = sales()
    said = models(came)
    mixture = Layered(list(said), Absolute()).learn(said, came)  # columns are found by name
    print(Review.of(mixture, said, came))
    print("trusted most tomorrow:", {name: round(w, 3) for name, w in list(mixture.named_weights.items())[:5]})

    first = np.datetime64("2024-01-01")
    with open(OUT / "sixty.csv", "w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["date", "sales", *said])
        for t, row in enumerate(np.column_stack([came, *said.values()])):
            table.writerow([first + t, *("" if np.isnan(v) else f"{v:.2f}" for v in row)])
    words = ["--target", "sales", "--loss", "mae", "--quiet", "--report", f"{OUT}/sixty.html"]
    main(["experts", f"{OUT}/sixty.csv", *words])
