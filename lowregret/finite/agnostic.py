"""ALG-AGNOSTIC: compete with the best hypothesis at the price of Ldim(H), not of |H|.

Expert I ⊆ {1..T}, |I| ≤ ℓ = Ldim(H), believes its own predictions: it says what SOA says, flipped in the rounds of I,
and shrinks V to what it said. One of these N = Σ_{L≤ℓ} C(T,L) experts agrees with any given hypothesis throughout
(LEM-3.7).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np

from lowregret.certificate import Certificate
from lowregret.finite.hypotheses import Hypotheses
from lowregret.finite.learner import FiniteLearner, optimal_label
from lowregret.finite.schema import AgnosticSchema
from lowregret.finite.search import Littlestone
from lowregret.finite.weighted_majority import require_horizon, require_round_left, tuned_rate
from lowregret.run.round_by_round import Contents
from lowregret.store.file import Arrays

Node = tuple[bytes, int]  # a version space, and how often the experts there have flipped


class Branch(NamedTuple):
    """Experts of one node that say the same in a round."""

    node: Node  # where they go
    label: int
    log_weight: float  # of one of them, before the round
    log_count: float  # how many they are


class Agnostic(FiniteLearner):
    """Weighted Majority over all N experts, T = `rounds` known, η = √(8 ln N/T), grouped by node (V, flips so far).

    Experts at the same node have the same past and differ only in flips to come: with n' rounds left, Σ_{i≤ℓ−j} C(n',i)
    of them have flipped j times. Live nodes are at most min(n, Σ_{i≤VCdim} C(t−1,i)), dead ones (V empty) ℓ + 1; each
    costs two questions for a Littlestone dimension a round. Expected mistakes ≤ those of any hypothesis + ln N/η +
    ηt/8, which is √(T ln N/2) in the end (THM-3.6, explicit). If n < N, `WeightedMajority` has the better bound.
    """

    kind = "agnostic"
    schema = AgnosticSchema()

    def __init__(self, hypotheses: Hypotheses, rounds: int, littlestone: Littlestone | None = None) -> None:
        super().__init__(hypotheses)
        self.horizon = require_horizon(rounds)
        self.littlestone = littlestone or Littlestone(hypotheses)
        self.depth = self.littlestone.of(hypotheses.everything)
        self.log_experts = log_choices(rounds, self.depth)
        self.eta = tuned_rate(self.log_experts, rounds)
        self.nodes: dict[Node, float] = {(hypotheses.everything.tobytes(), 0): 0.0}  # log-weight of one expert
        self._asked: tuple[int, list[Branch]] | None = None

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        branches = self._branches_at(x)
        masses = np.array([b.log_weight + b.log_count for b in branches])
        shares = np.exp(masses - masses.max())
        return float(shares @ [b.label for b in branches] / shares.sum())

    def absorb(self, x: int, y: int, p: float) -> None:
        nodes: dict[Node, float] = {}
        for b in self._branches_at(x):
            weight = b.log_weight - self.eta * (b.label != y)
            nodes[b.node] = float(np.logaddexp(nodes[b.node], weight)) if b.node in nodes else weight
        highest = max(nodes.values())
        self.nodes = {node: weight - highest for node, weight in nodes.items()}
        self._asked = None

    @property
    def proof(self) -> Certificate:
        return self.certify_regret("THM-3.6", "ln N/η + ηt/8", self.log_experts / self.eta + self.eta * self.rounds / 8)

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        nodes = {
            "node.version": np.array([np.frombuffer(code, np.uint64) for code, _ in self.nodes]),
            "node.flips": np.array([flips for _, flips in self.nodes], np.int64),
            "node.weight": np.array(list(self.nodes.values()), float),
        }
        return description | {"horizon": self.horizon}, arrays | nodes

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        made = cls(Hypotheses.made(found), found.description["horizon"])
        flips, weights = (found.arrays[f"node.{name}"].tolist() for name in ("flips", "weight"))
        nodes = zip(found.arrays["node.version"], flips, weights, strict=True)
        made.nodes = {(version.tobytes(), flipped): weight for version, flipped, weight in nodes}
        return made

    def _branches_at(self, x: int) -> list[Branch]:
        if self._asked is None or self._asked[0] != x:
            require_round_left(self.rounds, self.horizon)
            self._asked = x, list(self._branches(x))
        return self._asked[1]

    def _branches(self, x: int) -> Iterator[Branch]:
        left = self.horizon - self.rounds - 1
        counts = [log_choices(left, most) for most in range(self.depth + 1)]
        for (code, flips), weight in self.nodes.items():
            version = np.frombuffer(code, np.uint64)
            label = optimal_label(self.littlestone, version, x)
            for flip in (0, 1):
                if flips + flip <= self.depth:
                    after = self.hypotheses.agreeing(version, x, label ^ flip).tobytes()
                    yield Branch((after, flips + flip), label ^ flip, weight, counts[self.depth - flips - flip])


def log_choices(rounds: int, most: int) -> float:
    """ln Σ_{i≤most} C(rounds, i), whole numbers of any length until the logarithm is taken."""
    return math.log(sum(math.comb(rounds, i) for i in range(most + 1)))
