"""Exponential weights over many experts, against a plain NumPy loop and River, in one run: python -m benchmarks.experts

100 experts, 100,000 rounds, absolute loss, the same learning rate for all; what they forecast must agree. The best of
several turns counts. Prints a table, writes out/experts.json and out/experts.png.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.speed import OUT
from lowregret import Absolute
from lowregret.experts import AdaHedge, Aggregator, ExpertMixture, Hedge, MLPoly, Specialists, Squint
from lowregret.loss import Cost
from lowregret.types import Vector

EXPERTS, ROUNDS, ETA = 100, 100_000, 0.05
SHARE = 50  # River learns one round in so many
WANTED = {"NumPy loop": 5.0, "River EWARegressor": 50.0}


def stream() -> tuple[Any, Vector]:
    """Forecasts and outcomes."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=ROUNDS)
    return y[:, None] + rng.normal(size=(ROUNDS, EXPERTS)) * rng.uniform(0.5, 2, EXPERTS), y


def numpy_loop(x: Any, y: Vector) -> Vector:
    """As one would write it."""
    losses, p = np.zeros(x.shape[1]), np.empty(y.size)
    for t in range(y.size):
        w = np.exp(-ETA * (losses - losses.min()))
        p[t] = w @ x[t] / w.sum()
        losses += np.abs(x[t] - y[t])
    return p


def river(x: Any, y: Vector) -> Vector:
    """River's, with models that say what is in a column."""
    from river import base, ensemble, optim

    class Column(base.Regressor):
        def __init__(self, number: int) -> None:
            self.number = number

        def learn_one(self, x: Any, y: Any) -> None:
            pass

        def predict_one(self, x: Any) -> Any:
            return x[self.number]

    model: Any = ensemble.EWARegressor([Column(i) for i in range(x.shape[1])], optim.losses.Absolute(), ETA)
    p = np.empty(y.size)
    for t, row in enumerate(x.tolist()):
        seen = dict(enumerate(row))
        p[t] = model.predict_one(seen)
        model.learn_one(seen, float(y[t]))
    return p


def ours(x: Any, y: Vector, aggregator: Aggregator) -> Vector:
    """The same aggregation, with regrets and certificate."""
    return np.asarray(ExpertMixture(x.shape[1], aggregator, Absolute(), linearised=False).learn(x, y).forecasts)


def timed(run: Callable[[], Any], turns: int) -> tuple[float, Any]:
    """The shortest of several turns, and what came out."""
    best, found = float("inf"), None
    for _ in range(turns):
        begin = time.perf_counter()
        found = run()
        best = min(best, time.perf_counter() - begin)
    return best, found


def contest(turns: int) -> dict[str, float]:
    """Seconds of each contender for all rounds."""
    x, y = stream()
    few = ROUNDS // SHARE
    aggregators: dict[str, Aggregator] = {"AdaHedge": AdaHedge(), "MLPoly": MLPoly(), "Squint": Squint()}
    for aggregator in (Hedge(ETA), *aggregators.values()):
        ours(x[:2], y[:2], aggregator)  # compiled once
    found = {"lowregret Hedge": float("inf"), "NumPy loop": float("inf")}
    for _ in range(turns):  # in turns, so that what else runs here disturbs both
        seconds, p = timed(lambda: ours(x, y, Hedge(ETA)), 2)
        found["lowregret Hedge"] = min(found["lowregret Hedge"], seconds)
        seconds, q = timed(lambda: numpy_loop(x, y), 1)
        found["NumPy loop"] = min(found["NumPy loop"], seconds)
    seconds, r = timed(lambda: river(x[:few], y[:few]), 1)
    found["River EWARegressor"] = seconds * SHARE
    np.testing.assert_allclose(p, q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(p[1:few], r[1:], rtol=1e-6, atol=1e-6)  # its first is a sum, not a mean
    for name, aggregator in aggregators.items():
        found[f"lowregret {name}"] = timed(lambda a=aggregator: ours(x, y, a), 1)[0]  # type: ignore[misc]
    return found


def long_run() -> dict[str, float]:
    """Seconds for ten million rounds of two experts with costs up to 1e6, and for a million specialists, ten awake."""
    rng = np.random.default_rng(1)
    costs = rng.uniform(-1e6, 1e6, (10**7, 2))
    ExpertMixture(2, AdaHedge(), Cost()).learn(costs[:2], np.ones(2))
    found = {
        "10⁷ rounds, 2 experts, AdaHedge": timed(
            lambda: ExpertMixture(2, AdaHedge(), Cost()).learn(costs, np.ones(10**7)), 1
        )[0]
    }
    rounds, awake = 100_000, 10
    ids = np.sort(rng.integers(0, 10**5, (rounds, awake)) * awake + np.arange(awake), 1).ravel()
    x, y, starts = rng.normal(size=ids.size), rng.normal(size=rounds), np.arange(rounds + 1) * awake
    Specialists(10, 0.1).learn([0, 1], [0], [1.0], [1.0])
    many = Specialists(10**6, 0.1)
    found["10⁵ rounds, 10⁶ specialists, 10 awake"] = timed(lambda: many.learn(starts, ids, x, y), 1)[0]
    return found


def draw(found: dict[str, float]) -> None:
    """Seconds as bars."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 3), layout="constrained")
    axes = figure.subplots()
    axes.barh(list(found), list(found.values()), color=["C0" if "lowregret" in name else "C7" for name in found])
    axes.set_xscale("log")
    axes.set_xlabel(f"seconds for {ROUNDS:,} rounds of {EXPERTS} experts")
    axes.invert_yaxis()
    figure.savefig(OUT / "experts.png", dpi=150)


def main() -> None:
    """Print the table and write the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=5)
    found = contest(parser.parse_args().turns)
    mine = found["lowregret Hedge"]
    for name, seconds in found.items():
        wanted = f"   (wanted ≥ {WANTED[name]:g})" if name in WANTED else ""
        print(f"{name:<22}{seconds:9.3f} s   {seconds / mine:8.1f} × ours{wanted}")
    runs = long_run()
    for name, seconds in runs.items():
        print(f"{name:<40}{seconds:7.2f} s")
    OUT.mkdir(exist_ok=True)
    (OUT / "experts.json").write_text(json.dumps({"seconds": found, "long runs": runs}, indent=2, ensure_ascii=False))
    draw(found)


if __name__ == "__main__":
    main()
