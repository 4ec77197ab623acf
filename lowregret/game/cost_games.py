"""Games of linear and quadratic costs: on the unit ball (any geometry), and on the simplex (experts, arms)."""

from __future__ import annotations

import math

import numpy as np

import lowregret.game.hard_sequences as sequences
from lowregret.convex.functions import Convex, QuadraticFunction
from lowregret.domain import Domain, L2Ball, Simplex
from lowregret.game.environment import AdaptiveGame, ExpertGame, ObliviousGame
from lowregret.game.hard_sequences import Matrix
from lowregret.types import Vector

# ---- on the ball -----------------------------------------------------------------------------------------------------


class BallGame(ObliviousGame):
    """Linear costs on the ball of a radius."""

    radius: float = 1.0

    @property
    def domain(self) -> Domain:
        return L2Ball(self.radius)


class RandomCosts(BallGame):
    """independent random unit vectors: nothing to learn, yet the best fixed point gains √T by luck

    EQ-2.15, LAZY+: the regret of every sensible learner is near √T·B, and stays under BL√T.
    """

    d: int = 5

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        z = rng.normal(size=(rounds, self.d))
        return z / np.linalg.norm(z, axis=1, keepdims=True)


class Circling(BallGame):
    """a best point that goes round in circles, under noise: tracking beats standing still

    DYN: an eager learner follows and may have *negative* regret against the best fixed point; sums of the whole past
    (lazy, FTL) turn too late.
    """

    d: int = 2
    period: float = 200.0

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        angle = 2 * np.pi * np.arange(rounds) / self.period
        z = np.zeros((rounds, self.d))
        z[:, 0], z[:, -1] = np.cos(angle), np.sin(angle) if self.d > 1 else np.cos(angle)
        z += 0.3 * rng.normal(size=z.shape)
        return z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1.0)


class FtlBreaker(BallGame):
    """−½, 1, −1, 1, …: whoever follows the leader is wrong in every round (DEMO-FTL-FAIL)

    FTL loses 1 a round and has regret T − ½; tuned gradient descent stays under √T.
    """

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return sequences.ftl_fail(rounds, self.d)


class SameCost(BallGame):
    """the same cost for ever: the price of setting out from 0

    LAZY+, COR-2.18: the regret is what is lost before the border is reached, √T/2 at the tuned rate.
    """

    d: int = 3

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return sequences.constant(rounds, self.d)


class PlusThenMinus(BallGame):
    """plus for T/e² rounds, then minus: rates that fall like 1/t never come back (E40)

    With η_t = 1/t the regret is about .32T; with a constant tuned rate or η/√t it is a multiple of √T (EAGER-DEC).
    """

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return sequences.turn(rounds, self.d)


class Wobble(BallGame):
    """one long step, then small ones across it: where a p-norm curves most (E14)

    COR-2.18: at u = 0 the second term, η(p−1)/2·Σ‖z_t‖_p², is nearly all needed; the source's ηΣ‖z_t‖_p² is not enough.
    """

    d: int = 20

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return sequences.wobble(rounds, self.d, 0.1)


class QuadraticCosts(BallGame):
    """squared distances to ±1: curved losses, regret ln T instead of √T

    FTL-QUAD-ID, THM-14.11: FTL is the running mean, and so is gradient descent with η_t = 1/t;
    the identity is their regret, to the last digit.
    """

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return rng.choice([-1.0, 1.0], (rounds, self.d))

    @property
    def curvature(self) -> float:
        return 1.0

    def function(self, z: Vector) -> Convex:
        return QuadraticFunction(z)

    def lipschitz(self, p: float, rounds: int, seed: int) -> float:
        """‖w − z‖_p on the ball, p ≥ 2"""
        return self.radius + super().lipschitz(p, rounds, seed)


class BallAdversary(AdaptiveGame):
    """An adversary on the ball of a radius."""

    d: int = 5
    radius: float = 1.0

    @property
    def domain(self) -> Domain:
        return L2Ball(self.radius)


class Orthogonal(BallAdversary):
    """unit costs orthogonal to what is played: nothing is lost, yet the best fixed point gains √T

    EQ-2.15: ‖Σz‖ = √T whatever gradient descent does, and its tuned bound BL√T is met exactly.
    """

    def answer(self, done: float, w: Vector) -> Vector:
        return sequences.across(done, w)


class Uphill(BallAdversary):
    """unit costs straight against what is played: every round loses

    LAZY+, THM-14.5: the learner is pushed back and forth through 0, and its rate alone keeps the regret under BL√T.
    """

    def answer(self, done: float, w: Vector) -> Vector:
        return sequences.uphill(done, w)


class LastStand(BallAdversary):
    """against the sign of what is played, and at last always the same way

    EQ-8: the sequence that comes nearest to UG√(8T), a little over half of it.
    """

    d: int = 1

    def answer(self, done: float, w: Vector) -> Vector:
        return sequences.last_stand(done, w)


# ---- on the simplex --------------------------------------------------------------------------------------------------


class CoinFlips(ExpertGame):
    """experts that toss coins: nobody can do better than ½, yet the best of them is lucky by √(T ln d/2)

    THM-1.3: the lower bound's own sequence; the regret of any learner is near the upper bound √(T ln d/2).
    """

    d: int = 10

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return rng.integers(0, 2, (rounds, self.d)).astype(float)


class FreeExpert(ExpertGame):
    """one expert is free, the others pay each round: how fast can it be found? (E13)

    COR-2.14: EG needs ln d/η rounds; at the rate the source prints, η = √(ln d/2T), that is more than its bound.
    """

    d: int = 16

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        return sequences.free_expert(rounds, self.d)


class Takeover(ExpertGame):
    """the best expert changes every quarter of the game

    SHARE: weights that leak (`fixed-share`) follow; exponential weights are as good as the best single expert only.
    """

    d: int = 5

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        best = (4 * np.arange(rounds) // max(rounds, 1)) % self.d
        means = np.where(np.arange(self.d) == best[:, None], 0.2, 0.6)
        return (rng.random((rounds, self.d)) < means).astype(float)


class SmallGap(ExpertGame):
    """one arm is better by ε = √(d/T)/4, too little to see in time: the lower bound for bandits

    COR-4.2: whoever sees only the arm it pulls must pay √(dT) up to a constant, and EXP3 pays at most √(2dT ln d).
    """

    d: int = 10

    def costs(self, rounds: int, rng: np.random.Generator) -> Matrix:
        means = np.full(self.d, 0.5)
        means[int(rng.integers(self.d))] -= min(0.25 * math.sqrt(self.d / rounds), 0.5)
        return (rng.random((rounds, self.d)) < means).astype(float)


class HeaviestPays(AdaptiveGame):
    """the most trusted expert pays 1, the others nothing

    THM-14.15, THM-1.3: whoever puts all trust in the leaders (FTL) loses most rounds, while the best expert loses T/d;
    exponential weights stay under √(T ln d/2).
    """

    d: int = 4

    @property
    def domain(self) -> Domain:
        return Simplex(1.0)

    @property
    def unit(self) -> bool:
        return True

    def answer(self, done: float, w: Vector) -> Vector:
        return sequences.heaviest(done, w)
