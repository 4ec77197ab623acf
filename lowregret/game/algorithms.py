"""Algorithms by name, tuned for a game as the textbook tunes them: which games each fits, and who proves what of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret import zoo
from lowregret.bandit import BanditDescent
from lowregret.bandit.rejection import make_algorithm
from lowregret.compile.part import Part
from lowregret.convex.leader import FollowTheLeader, FollowTheRegularisedLeader
from lowregret.domain import L2Ball, Reals
from lowregret.experts import BOA, AdaHedge, Aggregator, FixedShare, Hedge, MLPoly, Squint
from lowregret.finite import (
    Agnostic,
    Consistent,
    FiniteLearner,
    Halving,
    StandardOptimal,
    SurrogateHalving,
    WeightedMajority,
)
from lowregret.game.environment import BanditFeedback, CostGame, Environment
from lowregret.game.finite_games import FiniteGame
from lowregret.game.row_games import RowGame
from lowregret.game.tables import (
    BanditTable,
    CostGameTable,
    DescentTable,
    FiniteTable,
    GameTable,
    MistakeTable,
    PanelTable,
    RowTable,
)
from lowregret.learner.doubling import Doubling
from lowregret.learner.linear import Linear
from lowregret.loss import Loss
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.step import Constant, InverseSqrt, InverseTime


@dataclass(frozen=True)
class Setting:
    """The game and what was asked for: `eta` None means the textbook's rate for its number of rounds."""

    e: Any
    rounds: int
    seed: int
    eta: float | None = None

    @property
    def d(self) -> int:
        return int(self.e.dimension)

    def lipschitz(self, p: float = 2.0) -> float:
        """L, such that ‖z_t‖_p ≤ L; at least something positive."""
        return self.e.lipschitz(p, self.rounds, self.seed) or 1.0

    @property
    def reach(self) -> float:
        """B = max ‖u‖₂"""
        return self.e.domain.reach(2, self.d)

    @property
    def away(self) -> float:
        """D₁ = max ‖w₁ − u‖₂, w₁ = Π(0); any positive number where there is nowhere to go"""
        w = self.e.domain.projection(np.zeros(self.d))
        return math.sqrt(max(self.reach**2 - float(w @ w), 0.0)) or 1.0

    def rate(self, tuned: float) -> float:
        """η as given, or as tuned; late answers make it smaller by √(1 + 2τ)."""
        late = math.sqrt(1 + 2 * getattr(self.e, "delay", 0))
        return self.eta if self.eta is not None else tuned / late


@dataclass(frozen=True)
class Algorithm:
    """A name of the textbook, the games it fits, how it sits down to one, and how it is tuned without --eta."""

    name: str
    fits: Callable[[Environment], bool]
    sit: Callable[[Setting], GameTable]
    tuning: str = ""  # empty: there is nothing to tune


# ---- which games -----------------------------------------------------------------------------------------------------


def shown_costs(e: Environment) -> bool:
    """Costs that are shown whole, late or not."""
    return isinstance(e, CostGame) and not e.hidden


def prompt_costs(e: Environment) -> bool:
    """Costs that are shown whole and at once."""
    return isinstance(e, CostGame) and not e.hidden and not e.delay


def on_ball(e: Environment) -> bool:
    """Costs shown whole, on a ball."""
    return shown_costs(e) and isinstance(e.domain, L2Ball)


def on_simplex(e: Environment) -> bool:
    """Costs of experts, shown whole, late or not."""
    return shown_costs(e) and not on_ball(e)


def prompt_experts(e: Environment) -> bool:
    """Costs of experts in [0, 1], shown whole and at once."""
    return isinstance(e, CostGame) and prompt_costs(e) and e.unit


def hidden_arms(e: Environment) -> bool:
    """Arms of which only the chosen one's cost is shown."""
    return isinstance(e, BanditFeedback) and e.unit


def hidden_points(e: Environment) -> bool:
    """Points of a ball of which only the played one's cost is shown."""
    return isinstance(e, BanditFeedback) and not e.unit


def rows(e: Environment) -> bool:
    """Labelled rows."""
    return isinstance(e, RowGame)


def ball_or_rows(e: Environment) -> bool:
    """Costs on a ball, or labelled rows, whose weights lie in one."""
    return on_ball(e) or rows(e)


def costs_or_rows(e: Environment) -> bool:
    """Any costs shown whole, or labelled rows."""
    return shown_costs(e) or rows(e)


def finite(e: Environment) -> bool:
    """Points labelled by a finite class."""
    return isinstance(e, FiniteGame)


def binary_rows(e: Environment) -> bool:
    """Labelled rows of features in [0, 1]."""
    return isinstance(e, RowGame) and e.binary


def fixed_binary_rows(e: Environment) -> bool:
    """Labelled rows of features in [0, 1], whose labels were fixed before the game."""
    return isinstance(e, RowGame) and e.binary and e.oblivious


# ---- how they sit down -----------------------------------------------------------------------------------------------


def _at_costs(make: Callable[[Setting], Part], *theorems: str) -> Callable[[Setting], GameTable]:
    return lambda s: CostGameTable(s.e, make(s), s.rounds, s.seed, theorems)


def _mirror(mirror: Mirror, s: Setting, radius: float, p: float) -> MirrorDescent:
    return MirrorDescent(mirror, Constant(s.rate(mirror.tuned_rate(radius, s.lipschitz(p), s.rounds, s.d))))


def _euclid(s: Setting, on: Any) -> MirrorDescent:
    return _mirror(Euclidean(on), s, s.away if not isinstance(on, Reals) else s.reach, 2.0)


def _eager(s: Setting) -> ProjectedGradient:
    return ProjectedGradient(s.e.domain, Constant(s.rate(s.away / (s.lipschitz() * math.sqrt(s.rounds)))))


def _sqrt(s: Setting) -> ProjectedGradient:
    return ProjectedGradient(s.e.domain, InverseSqrt(s.rate(math.sqrt(2) * s.reach / s.lipschitz())))


def _inverse_time(s: Setting) -> ProjectedGradient:
    """η_t = 1/(σt); where nothing is curved, 1/t, of which THM-14.11 says nothing (E40)."""
    return ProjectedGradient(Reals() if s.e.curvature else s.e.domain, InverseTime(s.e.curvature or 1.0))


def _doubling(s: Setting) -> Doubling:
    return Doubling(ProjectedGradient(s.e.domain, Constant(s.rate(s.away / s.lipschitz()))))


def _pnorm(s: Setting) -> MirrorDescent:
    p = max(2.0, 2 * math.log(s.d))
    mirror = PNorm(p)
    return _mirror(mirror, s, s.e.domain.reach(mirror.q, s.d), p)


def _ftl(s: Setting) -> Part:
    return FollowTheLeader(Reals() if s.e.curvature else s.e.domain)


def _ftrl(s: Setting) -> Part:
    mirror = Euclidean(s.e.domain)
    return FollowTheRegularisedLeader(mirror, s.rate(mirror.tuned_rate(s.away, s.lipschitz(), s.rounds, s.d)))


def _at_panel(make: Callable[[Setting], Aggregator]) -> Callable[[Setting], GameTable]:
    return lambda s: PanelTable(s.e, make(s), s.rounds, s.seed)


def hedge_rate(d: int, rounds: int) -> float:
    """√(8 ln d/T) (THM-1.3)"""
    return math.sqrt(8 * math.log(max(d, 2)) / rounds)


def _hedge(s: Setting) -> Hedge:
    return Hedge(s.rate(hedge_rate(s.d, s.rounds)))


def _fixed_share(s: Setting) -> FixedShare:
    return FixedShare(s.rate(hedge_rate(s.d, s.rounds)), min(3 / s.rounds, 0.5))


def _at_arms(name: str, *theorems: str) -> Callable[[Setting], GameTable]:
    def sit(s: Setting) -> GameTable:
        return BanditTable(s.e, make_algorithm(name, s.d, s.rounds, s.eta), s.rounds, s.seed, theorems)

    return sit


def _bogd(outside: bool) -> Callable[[Setting], GameTable]:
    def sit(s: Setting) -> GameTable:
        lipschitz = s.lipschitz()
        facts: dict[str, Any] = {"lipschitz": lipschitz, "largest": lipschitz * s.reach, "outside": outside}

        def make(coin: int) -> BanditDescent:
            tuned = BanditDescent.tuned(s.e.domain, s.d, s.rounds, seed=coin, **facts)
            return tuned if s.eta is None else BanditDescent(s.e.domain, s.d, s.eta, tuned.delta, seed=coin, **facts)

        return DescentTable(s.e, make, s.rounds, s.seed)

    return sit


def _row_rate(s: Setting, constant: bool) -> float:
    """B/(L√T) for rows of length ≤ L under the hinge loss; √2·B/L where the schedule has its own √t."""
    x, _ = s.e.rows(s.rounds, s.seed)
    longest = math.sqrt(float(np.max(x.power(2).sum(axis=1) if hasattr(x, "power") else np.sum(x**2, axis=1)))) or 1.0
    return s.rate(s.reach / (longest * math.sqrt(s.rounds)) if constant else math.sqrt(2) * s.reach / longest)


def _at_rows(
    make: Callable[[Loss, float, float], Linear], constant: bool, *names: str
) -> Callable[[Setting], GameTable]:
    def sit(s: Setting) -> GameTable:
        return RowTable(s.e, make(s.e.loss, _row_rate(s, constant), s.reach), s.rounds, s.seed, names)

    return sit


def _at_either(
    costs: Callable[[Setting], GameTable], of_rows: Callable[[Setting], GameTable]
) -> Callable[[Setting], GameTable]:
    return lambda s: of_rows(s) if isinstance(s.e, RowGame) else costs(s)


def _perceptron(s: Setting) -> GameTable:
    return MistakeTable(s.e, zoo.perceptron(), s.rounds, s.seed, ("PERC-MARGIN", "PERC-OBS"))


def _perceptron_or(s: Setting) -> GameTable:
    return MistakeTable(s.e, zoo.perceptron_or(s.d), s.rounds, s.seed, ("PERC-OR", "PERC-MARGIN", "PERC-OBS"))


def _winnow(s: Setting) -> GameTable:
    learner = zoo.winnow(s.d, 0.25 if s.eta is None else s.eta)
    return MistakeTable(s.e, learner, s.rounds, s.seed, ("THM-3.10", "WIN-OBS"))


def _at_points(make: Callable[[Setting], FiniteLearner]) -> Callable[[Setting], GameTable]:
    return lambda s: FiniteTable(s.e, make(s), s.rounds, s.seed)


# ---- the list --------------------------------------------------------------------------------------------------------

_TUNED = "η = B/(L√T)"

ALGORITHMS = (
    Algorithm("ftl", prompt_costs, _at_costs(_ftl, "FTL-QUAD-ID", "LEM-2.1")),
    Algorithm("ftrl", prompt_costs, _at_costs(_ftrl, "THM-2.11+"), _TUNED),
    Algorithm(
        "ogd", ball_or_rows,
        _at_either(
            _at_costs(lambda s: _euclid(s, Reals()), "EQ-2.15"),
            _at_rows(lambda loss, eta, _: zoo.ogd(loss, eta), True, "EQ-2.15"),
        ), _TUNED,
    ),
    Algorithm(
        "ogd-lazy", costs_or_rows,
        _at_either(
            _at_costs(lambda s: _euclid(s, s.e.domain), "LAZY+"), _at_rows(zoo.ogd_lazy, True, "LAZY+"),
        ), _TUNED,
    ),
    Algorithm(
        "ogd-eager", costs_or_rows,
        _at_either(_at_costs(_eager, "THM-14.5"), _at_rows(zoo.ogd_eager, True, "THM-14.5")), "η = D₁/(L√T)",
    ),
    Algorithm(
        "ogd-sqrt", ball_or_rows,
        _at_either(_at_costs(_sqrt, "EQ-8"), _at_rows(zoo.ogd_sqrt, False, "EQ-8")), "η_t = √2·B/(L√t)",
    ),
    Algorithm("ogd-sc", lambda e: on_ball(e) and prompt_costs(e), _at_costs(_inverse_time, "THM-14.11")),
    Algorithm("doubling", prompt_costs, _at_costs(_doubling, "Σ THM-14.5"), "η = D₁/(L√n) in a block of n rounds"),
    Algorithm("pnorm", on_ball, _at_costs(_pnorm, "COR-2.18"), "p = 2 ln d ≥ 2, η = (B/L)√((q − 1)/T)"),
    Algorithm(
        "eg", on_simplex, _at_costs(lambda s: _mirror(Entropy(), s, 1.0, math.inf), "COR-2.14"), "η = √(2 ln d/T)/L",
    ),
    Algorithm(
        "ueg", prompt_experts,
        _at_costs(lambda s: _mirror(UnnormalisedEntropy(1 / s.d), s, 1.0, math.inf), "THM-2.23+"), "η = √(2 ln d/T)/L",
    ),
    Algorithm(
        "wm", prompt_experts, _at_panel(lambda s: Hedge(s.rate(math.sqrt(math.log(max(s.d, 2)) / s.rounds)))),
        "η = √(ln d/T), as THM-3.1 has it",
    ),
    Algorithm("hedge", prompt_experts, _at_panel(_hedge), "η = √(8 ln d/T)"),
    Algorithm("adahedge", prompt_experts, _at_panel(lambda s: AdaHedge())),
    Algorithm("ml-poly", prompt_experts, _at_panel(lambda s: MLPoly())),
    Algorithm("squint", prompt_experts, _at_panel(lambda s: Squint())),
    Algorithm("boa", prompt_experts, _at_panel(lambda s: BOA())),
    Algorithm("fixed-share", prompt_experts, _at_panel(_fixed_share), "η = √(8 ln d/T), three changes expected"),
    Algorithm("exp3", hidden_arms, _at_arms("exp3", "COR-4.2+"), "η = √(2 ln d/(dT))"),
    Algorithm("exp3-ix", hidden_arms, _at_arms("exp3-ix", "EXP3-IX-T"), "η = 2γ = √(2 ln d/(dT))"),
    Algorithm("tsallis-inf", hidden_arms, _at_arms("tsallis-inf", "TSALLIS")),
    Algorithm("ucb1", hidden_arms, _at_arms("ucb1")),
    Algorithm("thompson", hidden_arms, _at_arms("thompson")),
    Algorithm("bogd", hidden_points, _bogd(outside=False), "η and δ that minimise COR-4.5"),
    Algorithm("bogd-outside", hidden_points, _bogd(outside=True), "η and δ of COR-4.5, played outside too"),
    Algorithm("perceptron", rows, _perceptron),
    Algorithm("perceptron-or", fixed_binary_rows, _perceptron_or),
    Algorithm("winnow", binary_rows, _winnow, "η = ¼"),
    Algorithm("consistent", finite, _at_points(lambda s: Consistent(s.e.hypotheses))),
    Algorithm("halving", finite, _at_points(lambda s: Halving(s.e.hypotheses))),
    Algorithm("surr-halving", finite, _at_points(lambda s: SurrogateHalving(s.e.hypotheses))),
    Algorithm("soa", finite, _at_points(lambda s: StandardOptimal(s.e.hypotheses))),
    Algorithm("agnostic", finite, _at_points(lambda s: Agnostic(s.e.hypotheses, s.rounds))),
    Algorithm("wm", finite, _at_points(lambda s: WeightedMajority(s.e.hypotheses, s.rounds))),
)  # fmt: skip


def fitting(e: Environment) -> tuple[Algorithm, ...]:
    """The algorithms that can play this game."""
    return tuple(algorithm for algorithm in ALGORITHMS if algorithm.fits(e))
