"""Bandits: rounds a second by number of arms, and regret of all algorithms: python -m benchmarks.bandits

Prints tables, writes out/bandits.json and out/bandits.png.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.speed import OUT
from lowregret.bandit import Bandit, BernoulliCosts, Exp3, Exp3IX, Thompson, TsallisInf, Ucb1
from lowregret.bandit.algorithm import BanditAlgorithm
from lowregret.types import Vector

ARMS, ROUNDS, SEEDS = 10, 20_000, 20
Figures = dict[str, dict[str, float]]


def algorithms(arms: int, rounds: int) -> dict[str, BanditAlgorithm]:
    """All of them, tuned to the game where they can be."""
    return {
        "exp3": Exp3.tuned(arms, rounds),
        "exp3-ix": Exp3IX.tuned(arms, rounds),
        "tsallis-inf": TsallisInf(),
        "ucb1": Ucb1(),
        "thompson": Thompson(),
    }


def speed() -> Figures:
    """Rounds a second, choosing and learning, against costs that are computed when they are asked for."""
    found: Figures = {}
    for arms in (10, 1000, 100_000, 1_000_000):
        costs = BernoulliCosts(np.random.default_rng(0).random(arms))
        for name, algorithm in algorithms(arms, 1_000_000).items():
            rounds = 1_000_000 if name.startswith("exp3") else max(10_000_000 // (20 * arms), 20)
            bandit = Bandit(arms, algorithm)
            bandit.learn(costs, 10)  # compile
            found.setdefault(name, {})[str(arms)] = rounds / min(_timed(bandit, costs, rounds) for _ in range(3))
        found.setdefault("exp3 in NumPy", {})[str(arms)] = _in_numpy(arms)
    return found


def _timed(bandit: Bandit, costs: BernoulliCosts, rounds: int) -> float:
    begin = perf_counter()
    bandit.learn(costs, rounds)
    return perf_counter() - begin


def _in_numpy(arms: int) -> float:
    """What a script does: a softmax and a draw over all arms in every round."""
    rng, estimates = np.random.default_rng(0), np.zeros(arms)
    eta, rounds = math.sqrt(2 * math.log(arms) / arms / 1e6), max(200_000 // arms, 20)
    begin = perf_counter()
    for _ in range(rounds):
        w = np.exp(-eta * (estimates - estimates.min()))
        w /= w.sum()
        arm = int(rng.choice(arms, p=w))
        estimates[arm] += 0.5 / w[arm]
    return rounds / (perf_counter() - begin)


def games() -> dict[str, Vector]:
    """Costs for the stochastic algorithms, costs that rise and fall together, and costs made to defeat UCB1."""
    rng = np.random.default_rng(1)
    means = np.full((ROUNDS, ARMS), 0.5)
    means[:, 3] = 0.4
    phase = np.floor(np.log1p(np.arange(ROUNDS)) / math.log(1.6)) % 2  # one arm is better by 0.1 in all of them
    tides = np.where(phase[:, None] == 0, 0.1, 1.0) * np.ones(ARMS)
    tides[:, 3] -= 0.1
    followed = np.zeros((ROUNDS, ARMS))
    followed[np.arange(ROUNDS), Bandit(ARMS, Ucb1()).learn(np.ones((ROUNDS, ARMS))).played.arms] = 1.0
    coins = rng.random((ROUNDS, ARMS))
    return {
        "stochastic": (coins < means).astype(float),
        "tides": (coins < tides).astype(float),
        "against UCB1": followed,
    }


def centring() -> Figures:
    """Mean cost a round of the algorithms that centre costs, with and without, and of Thompson sampling."""
    found: Figures = {}
    rng = np.random.default_rng(2)
    moving = np.full((ROUNDS, 5), 0.97)
    moving[np.arange(ROUNDS), np.arange(ROUNDS) * 3 // ROUNDS] -= 0.04
    chances = {
        "five banners, 1 to 5 % clicks": np.tile(1 - np.arange(1, 6) / 100, (ROUNDS, 1)),
        "the same clicks, the best banner moves twice": moving,
        "means 0.5, one 0.4": np.tile([0.5, 0.5, 0.4, 0.5, 0.5], (ROUNDS, 1)),
    }
    for game, means in chances.items():
        table = (rng.random(means.shape) < means).astype(float)
        eta = Exp3.tuned(5, ROUNDS).eta
        for algorithm in (TsallisInf(), TsallisInf(False), Exp3(eta), Exp3(eta, False), Thompson()):
            paid = [Bandit(5, algorithm, seed=seed).learn(table).loss / ROUNDS for seed in range(SEEDS)]
            name = algorithm.name + (", not centred" if getattr(algorithm, "centred", True) is False else "")
            found.setdefault(game, {})[name] = float(np.mean(paid))
    return found


def regrets() -> dict[str, dict[str, Any]]:
    """Mean regret against the best arm over the seeds, its standard error, and what was promised in expectation."""
    found: dict[str, dict[str, Any]] = {}
    for game, table in games().items():
        best = int(np.argmin(table.sum(axis=0)))
        for name, algorithm in algorithms(ARMS, ROUNDS).items():
            curves = []
            for seed in range(SEEDS):
                bandit = Bandit(ARMS, algorithm, seed=seed)
                curves.append(np.cumsum(bandit.learn(table).played.costs - table[:, best]))
            ends = np.array([curve[-1] for curve in curves])
            promised = [c.bound for c in bandit.certificates if c.measure == "expected regret"]
            found.setdefault(game, {})[name] = {
                "regret": float(np.mean(ends)),
                "error": float(np.std(ends, ddof=1) / math.sqrt(SEEDS)),
                "promised": promised[0] if promised else None,
                "curve": np.mean(curves, axis=0)[:: ROUNDS // 100].tolist(),
            }
    return found


def tables(speeds: Figures, found: dict[str, dict[str, Any]]) -> Iterable[str]:
    """Both, for people."""
    yield "rounds a second     " + "".join(f"{int(arms):>14,} arms" for arms in next(iter(speeds.values())))
    for name, row in speeds.items():
        yield f"  {name:<18}" + "".join(f"{value:>19,.0f}" for value in row.values())
    yield f"regret after {ROUNDS:,} rounds, {ARMS} arms, mean of {SEEDS} seeds ± its error (promised in expectation)"
    for game, of_game in found.items():
        for name, f in of_game.items():
            promised = "" if f["promised"] is None else f"({f['promised']:.0f})"
            yield f"  {game:<14}{name:<14}{f['regret']:>9.0f} ± {f['error']:<6.0f}{promised}"


def draw(found: dict[str, dict[str, Any]]) -> None:
    """Mean regret over the rounds, a panel per game."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 3.6), layout="constrained")
    for axes, (game, row) in zip(figure.subplots(1, len(found)), found.items(), strict=True):
        for name, f in row.items():
            axes.plot(np.linspace(0, ROUNDS, len(f["curve"])), f["curve"], label=name)
        axes.set_title(game)
        axes.set_xlabel("round")
    figure.axes[0].set_ylabel("regret, mean over seeds")
    figure.axes[0].legend()
    figure.savefig(OUT / "bandits.png", dpi=150)


def main() -> None:
    """Measure, print, write."""
    OUT.mkdir(exist_ok=True)
    speeds, found, centred = speed(), regrets(), centring()
    print("\n".join(tables(speeds, found)))
    for game, row in centred.items():
        print(f"cost a round, {game}: " + ", ".join(f"{name} {cost:.4f}" for name, cost in row.items()))
    (OUT / "bandits.json").write_text(
        json.dumps({"rounds a second": speeds, "regret": found, "centring": centred}, indent=1)
    )
    draw(found)


if __name__ == "__main__":
    main()
