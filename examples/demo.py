"""The product in one minute: learn a stream, and know how far it is from the best choice in hindsight.

python examples/demo.py writes out/demo.png.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from lowregret import Box, Euclidean, FollowTheLeader, L2Ball, Logistic, MirrorDescent, play, train, zoo
from lowregret.convex import LinearFunction
from lowregret.run import LinearRun
from lowregret.show.plot import finish, nested_curves, new_figure

OUT = Path("out")
ROWS, FEATURES, WORDS = 100_000, 5_000, 30
RADIUS = 20.0


def stream(seed: int = 1) -> tuple[sp.csr_array, NDArray[np.float64]]:
    """Documents of about 30 words, unit length, common words more often; labels of a noisy linear rule."""
    rng = np.random.default_rng(seed)
    words = np.minimum(rng.zipf(1.3, (ROWS, WORDS)) + rng.integers(0, 200, (ROWS, WORDS)), FEATURES) - 1
    rows = sp.csr_array((np.ones(ROWS * WORDS), (np.repeat(np.arange(ROWS), WORDS), words.ravel())), (ROWS, FEATURES))
    rows = sp.csr_array(sp.diags_array(1 / np.sqrt(rows.power(2).sum(axis=1))) @ rows)
    noise = rng.logistic(size=ROWS)
    return rows, np.where(rows @ rng.normal(scale=4, size=FEATURES) + noise > 0, 1.0, -1.0)


def best_in_hindsight(x: sp.csr_array, y: NDArray[np.float64], ball: L2Ball) -> tuple[NDArray[np.float64], float]:
    """The best fixed weights in the ball by accelerated projected gradients, and how much better any could still be.

    F(u) − min F ≤ ⟨∇F(u), u⟩ + max_v⟨−∇F(u), v⟩, for convex F (the duality gap of Frank and Wolfe).
    """
    w = v = np.zeros(x.shape[1])
    rate = 4 / float(sp.linalg.norm(x) ** 2 / x.shape[1] * 50)  # a first guess, halved whenever it fails
    for t in range(1, 2000):
        p = x @ v
        gradient = -(x.T @ (y / (1 + np.exp(y * p))))
        new = ball.projection(v - rate * gradient)
        if _loss(x, y, new) > _loss(x, y, v) + gradient @ (new - v) + np.sum((new - v) ** 2) / (2 * rate):
            rate /= 2
            continue
        w, v = new, new + (t - 1) / (t + 2) * (new - w)
        if t % 50 == 0:
            gradient = -(x.T @ (y / (1 + np.exp(y * (x @ w)))))
            gap = float(gradient @ w) + ball.support(-gradient)
            if gap < 1e-3 * _loss(x, y, w):
                break
    return w, gap


def _loss(x: sp.csr_array, y: NDArray[np.float64], w: NDArray[np.float64]) -> float:
    return float(np.logaddexp(0, -y * (x @ w)).sum())


def learn_a_stream() -> None:
    """Three nested numbers for a stream of documents."""
    x, y = stream()
    learner = zoo.ogd_lazy(Logistic(), eta=RADIUS / np.sqrt(ROWS), radius=RADIUS)
    train(learner, x[:10], y[:10])  # compile
    begin = time.perf_counter()
    run = train(learner, x, y)
    seconds = time.perf_counter() - begin
    print(
        f"A stream of {ROWS:,} documents, {FEATURES:,} words, learnt in {seconds * 1e3:.0f} ms on one core:\n\n{run}\n"
    )
    u, gap = best_in_hindsight(x, y, L2Ball(RADIUS))
    regret = run.regret(u, x, y)
    print(
        f"  regret             {regret:10,.1f}  (at most {gap:.1f} more) loss above the best fixed weights in hindsight"
    )
    print(f"  linearised regret  {run.linear_regret():10,.1f}  known at every moment, without a second pass")
    for found in run.certificates[:2]:
        print(f"  bound              {found.bound:10,.1f}  {found.id}, premises checked: {found.premises_hold}")
    draw(run, u, x, y)


def draw(run: LinearRun, u: NDArray[np.float64], x: sp.csr_array, y: NDArray[np.float64]) -> None:
    """The regret against u, round by round, under the linearised regret and the bound."""
    ours, best = np.logaddexp(0, -y * run.scores), np.logaddexp(0, -y * (x @ u))
    t = run.trace
    figure, (axes,) = new_figure(1, "What not knowing the best weights in advance has cost")
    regret = np.cumsum(ours - best)[t.rounds - 1]
    axes.plot(t.rounds[regret > 0], regret[regret > 0], color="#009e73", label="regret against the best in hindsight")
    nested_curves(axes, t.rounds, t.linear_regret, t.bound, t.theorem, run.certificate)
    OUT.mkdir(exist_ok=True)
    finish(figure, OUT / "demo.png")
    print(f"\nThe picture: {OUT / 'demo.png'}\n")


def play_a_game(rounds: int = 1000) -> None:
    """Follow-the-leader loses every round of a sequence on which mirror descent's regret stays below √T."""
    square = Box(-1.0, 1.0)

    def costs() -> Iterator[LinearFunction]:
        yield LinearFunction(np.array([-0.5]))
        for t in range(2, rounds + 1):
            yield LinearFunction(np.array([1.0 if t % 2 == 0 else -1.0]))

    mirror = Euclidean(square)
    descent = MirrorDescent(mirror, mirror.tuned(radius=1, lipschitz=1, rounds=rounds))
    print(f"A game of {rounds} rounds made to mislead whoever follows the leader:")
    for name, player in (("follow the leader", FollowTheLeader(square)), ("mirror descent", descent)):
        game = play(player, costs(), dimension=1, comparator=square)
        bound = game.certificate
        print(f"  {name:<18} regret {game.regret:8.1f}   bound {bound.bound:8.1f} ({bound.id})")
    print(f"  (√T = {np.sqrt(rounds):.1f})")


if __name__ == "__main__":
    learn_a_stream()
    play_a_game()
