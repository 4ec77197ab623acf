"""Quantile forecasts in statsforecast's columns, mixed without crossings, and intervals that keep their word.

python examples/quantile_forecasts.py writes out/forecasts.csv, and what to try with it on the command line.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from lowregret.experts import ConformalIntervals, Layered, Quantiles

OUT = Path("out")
DAYS, LEVELS, SIGMAS = 300, [0.1, 0.9], np.array([-1.28, 1.28])


def main() -> None:
    rng = np.random.default_rng(0)
    day = np.arange(DAYS)
    size = np.where(day < 150, 1.0, 3.0)  # errors treble halfway: a change that no model was told of
    sales = 50 + 10 * np.sin(day / 58) + size * rng.normal(size=DAYS)
    points = np.column_stack([50 + 10 * np.sin((day + lag) / 58) for lag in (0, 10, 40)])
    ends = points[:, :, None] + SIGMAS * np.array([1.0, 2.0, 0.5])[:, None]
    names = ["AutoARIMA", "ETS", "Theta"]

    mixture = Layered(names).learn(points, sales)
    intervals = ConformalIntervals(0.8).learn(mixture.forecasts, sales)
    quantiles = Quantiles(names, LEVELS).learn(ends, sales)
    print(intervals.coverage)
    print(quantiles)
    for score in quantiles.scores:
        print(f"level {score.level:g}: {score.below:.1%} of outcomes at or below, pinball {score.pinball:.4g}")

    OUT.mkdir(exist_ok=True)
    columns = [f"{name}-{end}" for name in names for end in ("lo-80", "hi-80")]
    with open(OUT / "forecasts.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["day", "y", *names, *columns])
        rows = zip(day, sales, points, ends.reshape(DAYS, -1), strict=True)
        table.writerows([f"day {t}", f"{y:.4f}", *(f"{v:.4f}" for v in (*p, *e))] for t, y, p, e in rows)
    command = f"lowregret experts {OUT / 'forecasts.csv'} --target y --intervals --coverage 0.8"
    print(f"{command} --report {OUT / 'report.html'}")


if __name__ == "__main__":
    main()
