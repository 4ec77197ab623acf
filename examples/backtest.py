"""Mix the models of a backtest: a frame as statsforecast's `cross_validation` returns it.

    python examples/backtest.py [cv.csv]

Without a file, a frame of the same layout is made up: unique_id, ds, cutoff, y, and a column for each model.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from lowregret.experts import SeriesMixture, long_table
from lowregret.stream.table import read_table


def made_up(series: int = 30, windows: int = 6, ahead: int = 12) -> dict[str, Any]:
    """Months of some shops, forecast by three models of which each is the best one somewhere."""
    rng = np.random.default_rng(0)
    shop, window, h = (a.ravel() for a in np.mgrid[:series, :windows, 1 : ahead + 1])
    months = np.datetime64("2022-01") + ahead // 2 * window
    level = 100 + 10 * shop + 8 * np.sin((months.astype(int) + h) / 2)
    y = level + rng.normal(size=shop.size)
    noise = rng.normal(size=(shop.size, 3)) * np.sqrt(h)[:, None]
    skill = np.where(np.arange(3) == (shop % 3)[:, None], 1.0, 3.0)
    models = {f"model_{name}": y + noise[:, k] * skill[:, k] for k, name in enumerate("abc")}
    return {"unique_id": shop, "ds": months + h, "cutoff": months, "y": y} | models


def from_file(path: str) -> dict[str, Any]:
    """A table of text or Parquet as columns, numbers where they are such."""
    table = read_table(path)
    keys = ("unique_id", "ds", "cutoff")
    return {name: np.array(table.words(name)) if name in keys else table.numbers(name) for name in table.columns}


def main() -> None:
    frame = from_file(sys.argv[1]) if len(sys.argv) > 1 else made_up()
    given = long_table(frame)
    for weights in ("pooled", "series", "horizon", "shrunk"):
        mixture = SeriesMixture(given.names, weights=weights).learn(given).deliver()
        found = mixture.certificate
        print(
            f"{weights:<8} loss {mixture.loss / mixture.rounds:.4f} a row, of which drift {mixture.drift:.4g} in all;"
        )
        print(f"         regret at most {found.proved:.5g} to {found.rivals()}")
    print(f"best     loss {mixture.best.loss / mixture.rounds:.4f} a row: {mixture.best.name}")


if __name__ == "__main__":
    main()
