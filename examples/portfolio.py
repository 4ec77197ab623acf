"""A portfolio from prices: one asset is listed later, trades cost, and the certificate says what was owed.

python examples/portfolio.py writes out/prices.csv and out/wealth.png.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np

from lowregret.experts import AdaHedge, ExponentiatedGradient, MixedPortfolio, rebalanced

OUT, DAYS, COST = Path("out"), 700, 0.001


def main() -> None:
    rng = np.random.default_rng(3)
    prices = 100 * np.exp(np.cumsum(rng.normal([0.0002, 0.0005, 0.0009], [0.005, 0.01, 0.02], (DAYS, 3)), axis=0))
    prices[:200, 2] = math.nan  # not listed yet
    x = prices[1:] / prices[:-1]
    names = ["bonds", "shares", "start-up"]

    for portfolio in (ExponentiatedGradient(names, cost=COST), MixedPortfolio(names, AdaHedge(), cost=COST)):
        portfolio.learn(x)
        found = portfolio.certificate
        print(
            f"{type(portfolio).__name__}: 1 has become {portfolio.wealth:.4g}, costs took {portfolio.ledger.paid:.2%}"
        )
        print(
            f"  drawdown {portfolio.drawdown:.1%}, Sharpe {portfolio.sharpe(252):.2f}, regret at most {found.bound:.4g}"
        )
    print(f"evenly spread: {rebalanced(np.ones(3) / 3, x, COST).wealth:.4g}")

    OUT.mkdir(exist_ok=True)
    portfolio.plot(OUT / "wealth.png")
    with open(OUT / "prices.csv", "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(names)
        table.writerows(["" if math.isnan(v) else f"{v:.4f}" for v in row] for row in prices)
    print(f"lowregret experts {OUT / 'prices.csv'} --loss portfolio --prices --cost {COST} --algorithm adahedge")


if __name__ == "__main__":
    main()
