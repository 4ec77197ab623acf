"""Games and regret of every kind: certificates and figures against fractions, and against trying everything."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.choices.nasty import (
    SCALES,
    Generator,
    Vector,
    again,
    claim,
    exact,
    near,
    pick,
    product,
    shares,
    vectors,
)
from lowregret import (
    Box,
    Constant,
    Entropy,
    Euclidean,
    FollowTheLeader,
    FollowTheRegularisedLeader,
    InverseSqrt,
    L2Ball,
    MirrorDescent,
    ProjectedGradient,
    Simplex,
    play,
)
from lowregret.convex import LinearFunction, QuadraticFunction, Regularised
from lowregret.errors import LowRegretError
from lowregret.play.game import Game
from lowregret.regret import Best, ExpertRecord, Realised, Swap, Switching, Windows, regret


class Liar:
    """A player who gives a view, moves it afterwards, and spoils what it is told."""

    def __init__(self, dimension: int) -> None:
        self.memory = np.zeros(3 * dimension)

    def point(self) -> Vector:
        """Every third number."""
        return self.memory[::3]

    def learn(self, z: Vector) -> None:
        """Momentum, in place."""
        self.memory[::3] -= 0.1 * z / (1.0 + np.abs(z))
        z[:] = np.nan


class Fickle:
    """A player whose points were settled before."""

    def __init__(self, points: Vector) -> None:
        self.points, self.t = points, 0

    def point(self) -> Vector:
        """The one of this round, the last of all after the game."""
        return self.points[min(self.t, len(self.points) - 1)]

    def learn(self, z: Vector) -> None:
        """Nothing."""
        self.t += 1


def player_of(rng: Generator, domain: Any, dimension: int, eta: float) -> Any:
    """A player on a set."""
    mirror = Entropy() if isinstance(domain, Simplex) else Euclidean(domain)
    rules = MirrorDescent(mirror, Constant(eta)), ProjectedGradient(domain, InverseSqrt(eta))
    followers = FollowTheLeader(domain), FollowTheRegularisedLeader(Euclidean(domain), eta)
    return pick(rng, (*rules, *followers, ProjectedGradient(domain, Constant(eta)), Liar(dimension)))


def function_of(rng: Generator, z: Vector, far: float) -> Any:
    """A linear function, a quadratic one, or one with a centre that may lie far away."""
    centre = far + rng.normal(size=z.size)
    made = QuadraticFunction(centre, float(pick(rng, (0.5, 2.0)))), Regularised(LinearFunction(z), 0.3, centre)
    return pick(rng, (LinearFunction(z), *made))


def worth(f: Any, w: Vector) -> tuple[Fraction, Fraction]:
    """f(w), and the size of its terms."""
    if isinstance(f, LinearFunction):
        return product(w, f.z), product(np.abs(w), np.abs(f.z))
    if isinstance(f, QuadraticFunction):
        square = sum(((a - b) ** 2 for a, b in zip(exact(w), exact(f.z), strict=True)), Fraction(0))
        return Fraction(f.sigma) / 2 * square, Fraction(f.sigma) / 2 * square
    (a, b), (c, d) = worth(f.f, w), worth(QuadraticFunction(f.centre, f.lam), w)
    return a + c, b + d


def game(rng: Generator) -> None:
    """Whole games are games in parts, and no certificate that holds is below the exact regret."""
    d, rounds = int(rng.integers(1, 4)), int(rng.integers(1, 14))
    domain = pick(rng, (L2Ball(1.0), L2Ball(100.0), Box(-1.0, 1.0), Simplex(1.0)))
    z, far = vectors(rng, rounds, d), float(pick(rng, (0.0, 0.0, 1e4, 1e8)))
    linear = rng.random() < 0.5
    functions = [LinearFunction(row) if linear else function_of(rng, row, far) for row in z]
    player = player_of(rng, domain, d, float(pick(rng, (1e-3, 0.1, 5.0))) / (float(np.max(np.abs(z))) or 1.0))
    try:
        whole = play(player, functions, comparator=domain)
        certificates, best = whole.certificates, whole.best()
    except LowRegretError:
        return
    if not isinstance(player, Liar):
        parts = Game(player, d, domain)
        for f in functions:
            parts = again(rng, parts).learn([f])
        claim(np.array_equal(parts.points, whole.points), "a game in parts is played otherwise")
        told, other = (g.certificate.bound for g in (whole, parts))
        claim(told == other, f"a game in parts has the bound {other}, the whole one {told}")
    mine = [worth(f, w) for f, w in zip(functions, whole.points, strict=True)]
    total, sizes = (sum(column, Fraction(0)) for column in zip(*mine, strict=True))
    near(whole.loss, total, sizes, rounds + d, "the loss")
    for u in (best.w, *(domain.projection(rng.normal(size=d) * 200) for _ in range(3))):
        theirs, terms = (sum(column, Fraction(0)) for column in zip(*(worth(f, u) for f in functions), strict=True))
        slack = Fraction(2.0**-46) * (sizes + terms)
        limits = {c.id: c.proved for c in certificates if c.holds} | {"regret": whole.regret}
        for name, limit in limits.items():
            fits = not np.isfinite(limit) or total - theirs <= Fraction(limit) + slack
            claim(fits, f"{name}: {limit} is less than the regret {float(total - theirs)} to {u}")


def kinds(rng: Generator) -> None:
    """Swap, internal, switching and window regret are those of trying all maps, sequences and windows."""
    rounds, n = int(rng.integers(1, 7)), int(rng.integers(1, 4))
    costs = shares(rng, rounds, n) * pick(rng, SCALES)
    costs = costs - np.max(costs) / 2 if rng.random() < 0.5 else costs
    weights = rng.dirichlet(np.full(n, 0.4), rounds)
    record, c, w = ExpertRecord(costs, weights), [exact(row) for row in costs], [exact(row) for row in weights]
    mine = [sum((a * b for a, b in zip(p, q, strict=True)), Fraction(0)) for p, q in zip(c, w, strict=True)]
    sizes = sum((abs(v) for row in c for v in row), Fraction(0)) * 4
    moved = {(i, j): sum((w[t][i] * (c[t][i] - c[t][j]) for t in range(rounds)), Fraction(0))
             for i in range(n) for j in range(n)}  # fmt: skip
    swap = regret(record, Swap())
    near(swap.value, sum((max(moved[i, j] for j in range(n)) for i in range(n)), Fraction(0)), sizes, 64, "swap regret")
    near(swap.details["internal"], max(moved.values()), sizes, 64, "internal regret")
    most = int(rng.integers(0, rounds + 1))
    paths = [
        p for p in itertools.product(range(n), repeat=rounds) if sum(a != b for a, b in itertools.pairwise(p)) <= most
    ]
    least = min(sum((c[t][i] for t, i in enumerate(path)), Fraction(0)) for path in paths)
    near(regret(record, Switching(most)).value, sum(mine, Fraction(0)) - least, sizes, 64, f"{most} switches: regret")
    length = int(rng.integers(1, rounds + 1)) if rng.random() < 0.5 else None
    windows = [(a, b) for a in range(rounds) for b in range(a + 1, rounds + 1) if length in (None, b - a)]
    worst = max(sum((mine[t] - c[t][i] for t in range(a, b)), Fraction(0)) for a, b in windows for i in range(n))
    near(regret(record, Windows(length)).value, worst, sizes, 64, f"regret of the worst window, length {length}")


def hidden(rng: Generator) -> None:
    """A window of a given length is found, though a round before it is out of all proportion."""
    rounds, n = int(rng.integers(3, 30)), int(rng.integers(2, 4))
    costs, length = shares(rng, rounds, n), int(rng.integers(1, rounds - 1))
    costs[0] = 10.0 ** rng.integers(10, 300)  # the same for all experts: no window with it is worse
    c, weights = [exact(row) for row in costs], np.eye(n)[rng.integers(n, size=rounds)]
    mine = [row[int(np.argmax(w))] for row, w in zip(c, weights, strict=True)]
    windows = range(1, rounds - length + 1)
    worst = max(sum((mine[t] - c[t][i] for t in range(a, a + length)), Fraction(0)) for a in windows for i in range(n))
    found = regret(ExpertRecord(costs, weights), Windows(length))
    claim(
        found.value >= float(worst) - 1e-12 * (1 + abs(float(worst))),
        f"a window of {length} is worse: {float(worst)}, {found}",
    )


def alike(rng: Generator) -> None:
    """What all experts pay alike changes no regret, however large: of numbers that are not rounded, not by a bit."""
    rounds, n = int(rng.integers(1, 400)), int(rng.integers(1, 5))
    costs = rng.integers(0, 2, (rounds, n)) * 2.0 ** rng.integers(-4, 1, (rounds, 1))
    large = 2.0 ** rng.integers(40, 46, (rounds, 1)) * pick(rng, (-1.0, 1.0))
    weights = rng.multinomial(4, np.full(n, 1 / n), rounds) / 4
    plain, shifted = ExpertRecord(costs, weights), ExpertRecord(costs + large, weights)
    drawn = rng.integers(n, size=rounds)
    for kind in (Best(), Swap(), Switching(int(rng.integers(5))), Windows(), Windows(rounds), Realised(drawn)):
        a, b = (regret(record, kind) for record in (plain, shifted))
        claim(a.value == b.value, f"{kind}: {a.value}, and {b.value} where all pay more")
        for name in ("internal", "expected"):
            claim(
                a.details.get(name) == b.details.get(name), f"{kind}: {a.details}, and {b.details} where all pay more"
            )
    games = [play(Fickle(weights), rows, comparator=Simplex(1.0)).regret for rows in (costs, costs + large)]
    claim(games[0] == games[1], f"a game: {games[0]}, and {games[1]} where all pay more")
