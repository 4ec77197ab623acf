"""A deployment: every day forecasts for the days to come, learnt when their outcomes are there, in a model file.

    python examples/daily_forecasts.py

Each day could be a process of its own: all there is between two of them is the file. A crash leaves the one of before.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from lowregret.experts import SeriesMixture

AHEAD, DAYS, NEWCOMER = 3, 40, 20
SHOPS = ("north", "south")


def sold(shop: int, day: int) -> float:
    """The truth, which is known on the day after."""
    return float(40 + 20 * shop + 5 * np.sin(day / 5) + np.random.default_rng([shop, day]).normal())


def noise(model: str, time: Any, cutoff: Any) -> Any:
    """By how much a model errs, the same whenever it is asked about the same forecast."""
    return np.array([np.random.default_rng([*pair, len(model)]).normal() for pair in zip(time, cutoff, strict=True)])


def table_of(today: int) -> dict[str, Any]:
    """All forecasts of the last few days, with the outcomes that are known today; a third model begins later."""
    rows = [
        (name, day + h, day, sold(shop, day + h) if day + h <= today else np.nan)
        for day in range(max(today - AHEAD, 0), today + 1)
        for shop, name in enumerate(SHOPS)
        for h in range(1, AHEAD + 1)
    ]
    shop, time, cutoff, y = zip(*rows, strict=True)
    models = {"level": 1.5, "trend": 2.5} | ({"newcomer": 0.5} if today >= NEWCOMER else {})
    truth = np.array([sold(SHOPS.index(name), day) for name, day in zip(shop, time, strict=True)])
    said = {model: truth + size * noise(model, time, cutoff) for model, size in models.items()}
    return {"shop": shop, "day": time, "asof": cutoff, "sold": y} | said


def one_day(model: Path, today: int) -> None:
    """Load, forecast, learn what is known by now, save."""
    mixture = SeriesMixture.load(model) if model.exists() else SeriesMixture(["level", "trend"])
    table = table_of(today)
    mixture.learn(table, series="shop", time="day", cutoff="asof", target="sold")
    mixture.save(model)
    if mixture.joined:
        print(f"day {today}: {', '.join(mixture.joined)} joined")
    if today % 10 == 0:
        new = np.array(table["asof"]) == today
        print(f"day {today}: {np.round(mixture.forecasts[new], 1)} for {SHOPS}, {AHEAD} days ahead")
        print(f"         {mixture!r}")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "shops.lr"
        for today in range(DAYS):
            one_day(model, today)
        mixture = SeriesMixture.load(model)
        print(mixture)
        print({name: round(float(w), 3) for name, w in zip(mixture.names, mixture.weights.mean(0), strict=True)})


if __name__ == "__main__":
    main()
