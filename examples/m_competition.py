"""Mix the methods of a forecasting competition: many short series, 14 horizons, a table of series, origin and h.

    python examples/m_competition.py

Makes such a table up, m.csv, and mixes it by origins and, wrongly, row by row: the outcome of h = 1 then helps to
forecast h = 2 of the same origin, which nobody could have done.
"""

from __future__ import annotations

import csv
from typing import Any

import numpy as np

from lowregret.experts import Layered, Percentage, SeriesMixture

AHEAD = 14


def made_up(series: int = 12, origins: int = 5) -> dict[str, Any]:
    """Series that wander, forecast by five methods whose errors last over the horizons of an origin."""
    rng = np.random.default_rng(0)
    which, origin, h = (a.ravel() for a in np.mgrid[:series, :origins, 1 : AHEAD + 1])
    first = 60 + AHEAD * origin
    paths = 100 + np.cumsum(rng.normal(size=(series, 60 + AHEAD * (origins + 1))), axis=1)
    y = paths[which, first + h]
    bias = np.repeat(rng.normal(size=(series * origins, 5)), AHEAD, axis=0)
    skill = np.array([1.0, 2.0, 3.0, 4.0, 6.0])
    said = y[:, None] + skill * bias + 0.3 * rng.normal(size=(y.size, 5)) * np.sqrt(h)[:, None]
    methods = dict(zip(("comb", "theta", "ets", "arima", "naive"), said.T, strict=True))
    names = np.array([f"M{k + 1}" for k in range(series)])[which]
    return {"series": names, "origin": first, "h": h, "actual": y} | methods


def main() -> None:
    table = made_up()
    experts = list(table)[4:]
    with open("m.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*(column.tolist() for column in table.values()), strict=True))
    mixture = SeriesMixture(experts, Percentage()).learn(table).deliver()
    row_by_row = Layered(experts, Percentage()).learn({name: table[name] for name in experts}, table["actual"])
    print(f"by origins   MAPE {mixture.loss / mixture.rounds:.3f} %, regret at most {mixture.certificate.proved:.5g}")
    print(f"row by row   MAPE {row_by_row.loss / row_by_row.rounds:.3f} %, which knows outcomes before their time")
    print(f"best method  MAPE {mixture.best.loss / mixture.rounds:.3f} %: {mixture.best.name}")
    print("lowregret experts m.csv --loss mape")


if __name__ == "__main__":
    main()
