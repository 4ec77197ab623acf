"""Learners of finite classes that keep a version space: Consistent, Halving, StandardOptimal.

Each round: `predict(x)` is the probability of label 1 (0.0 or 1.0 if nothing is drawn), `learn(x, y)` shows the label;
x is the number of a point. The version space V_t holds the hypotheses that agree with all labels so far. Should none be
left, the labels are not realisable: then V stays what it was, and the certificate says that its premise does not hold.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.digest import is_ours
from lowregret.compile.turns import in_turn
from lowregret.errors import PartError
from lowregret.finite.hypotheses import Hypotheses, Mask, require_hypotheses, size_of
from lowregret.finite.schema import VersionSchema
from lowregret.finite.search import Littlestone
from lowregret.run.round_by_round import Contents, Recorded
from lowregret.store.file import Arrays
from lowregret.words import counted

_LEARNING = {"predict", "absorb", "learn"}


class FiniteLearner(Recorded):
    """A learner of a finite class. `loss` is the number of its mistakes, the expected one if it draws."""

    rounds: int = 0
    loss: float = 0.0

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__()
        require_hypotheses(hypotheses)
        self.hypotheses = hypotheses
        self.errors = np.zeros(len(hypotheses), np.int64)  # of each hypothesis

    @abstractmethod
    def predict(self, x: int) -> float:
        """The probability of label 1 at point x."""

    @abstractmethod
    def absorb(self, x: int, y: int, p: float) -> None:
        """Learn that point x has label y, after the prediction p."""

    @property
    @abstractmethod
    def proof(self) -> Certificate:
        """The theorem's bound on the mistakes of the rounds so far."""

    @property
    def certificates(self) -> list[Certificate]:
        """The one theorem that most of these learners have."""
        return [self.proof]

    @in_turn
    def learn(self, x: int, y: int) -> Self:
        """See the label y of point x."""
        self.hypotheses.check_round(x, y)
        p = self.predict(x)
        if not 0 <= p <= 1:
            raise PartError(f"{type(self).__name__} predicts {p!r} at point {x}: it must be a probability of label 1")
        self.absorb(x, y, p)
        self.loss += abs(p - y)
        self.errors += self.hypotheses.by_point[x] != bool(y)
        self.rounds += 1
        self._mark()
        return self

    @property
    def regret(self) -> float:
        """Mistakes, less those of the best hypothesis."""
        return self.loss - float(self.errors.min())

    def _of(self) -> str:
        return counted(len(self.hypotheses), "hypothesis", "hypotheses")

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = self.hypotheses.written()
        return description | {"rounds": self.rounds, "loss": self.loss}, arrays | {"errors": self.errors}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = cls._begun(found)
        made.rounds, made.loss = found.tell("rounds", "loss")
        made.errors = found.arrays["errors"]
        return made

    @classmethod
    @abstractmethod
    def _begun(cls, found: Contents) -> Self:
        """The learner of a file, but for what all learners count."""

    def certify(self, name: str, formula: str, bound: float, *premises: Premise) -> Certificate:
        """A bound on the mistakes."""
        return Certificate(
            id=name,
            statement=f"mistakes ≤ {formula}",
            comparator={"set": "hypotheses"},
            linear_regret=None,
            bound=bound,
            premises=(*premises, *self._unaltered()),
            measure="mistakes",
            regret=self.loss,
        )

    def certify_regret(self, name: str, formula: str, bound: float, *premises: Premise) -> Certificate:
        """A bound on the expected regret."""
        return Certificate(
            id=name,
            statement=f"expected mistakes − those of any hypothesis ≤ {formula}",
            comparator={"set": "hypotheses"},
            linear_regret=None,
            bound=bound,
            premises=(*premises, *self._unaltered()),
            regret=self.regret,
        )

    def _unaltered(self) -> list[Premise]:
        """The premise that fails if a class of somebody else's changes what the theorem speaks of, and not `proof`."""
        line = type(self).__mro__
        proved = next(k for k, c in enumerate(line) if "proof" in vars(c))
        altered = [c.__name__ for c in line[:proved] if not is_ours(c.__module__) and _LEARNING & vars(c).keys()]
        name = f"{line[proved].__name__} learns as the theorem has it"
        return [Premise(name, False, f"{altered[0]} changes it")] if altered else []


class VersionSpace(FiniteLearner):
    """Keeps V as a mask: O(n/64) a round beside what predicting costs."""

    def __init__(self, hypotheses: Hypotheses) -> None:
        super().__init__(hypotheses)
        self.version = hypotheses.everything

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super()._written()
        return description, arrays | {"version": self.version}

    @classmethod
    def _begun(cls, found: Contents) -> Self:
        made = cls(Hypotheses.made(found))
        made.version = found.arrays["version"]
        return made

    def absorb(self, x: int, y: int, p: float) -> None:
        agreeing = self.hypotheses.agreeing(self.version, x, y)
        if self.realisable and agreeing.any():
            self.version = agreeing

    @property
    def size(self) -> int:
        """|V|"""
        return size_of(self.version)

    @property
    def realisable(self) -> bool:
        """Whether some hypothesis agrees with all labels so far."""
        return int(self.errors.min()) == 0

    def realised(self) -> Premise:
        """The premise of all mistake bounds."""
        return Premise("realisable: some hypothesis agrees with all labels", self.realisable, int(self.errors.min()))


class Consistent(VersionSpace):
    """ALG-CONSISTENT: predict as the first hypothesis of V does. M ≤ |H| − |V| (COR-1.1).

    Each mistake removes at least that hypothesis.
    """

    kind = "consistent"
    schema = VersionSchema()

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        word = int(np.flatnonzero(self.version)[0])
        lowest = self.version[word] & (~self.version[word] + np.uint64(1))
        return float(self.hypotheses.columns[x, word] & lowest != 0)

    @property
    def proof(self) -> Certificate:
        return self.certify("COR-1.1", "|H| − |V|", float(len(self.hypotheses) - self.size), self.realised())


class Halving(VersionSpace):
    """ALG-HALVING: predict as the majority of V does, 1 if they are even. M ≤ ⌊log2(|H|/|V|)⌋ (THM-1.2).

    Each mistake leaves at most half of V.
    """

    kind = "halving"
    schema = VersionSchema()

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        return float(2 * size_of(self.hypotheses.agreeing(self.version, x, 1)) >= self.size)

    @property
    def proof(self) -> Certificate:
        halvings = (len(self.hypotheses) // self.size).bit_length() - 1
        return self.certify("THM-1.2", "⌊log2(|H|/|V|)⌋", float(halvings), self.realised())


class StandardOptimal(VersionSpace):
    """ALG-SOA: predict the label r with the larger Ldim(V^r_x), 1 if they are equal; Ldim(∅) = −1.

    M ≤ Ldim(H) − Ldim(V) (LEM-3.3), and no learner without randomness can promise less than Ldim(H) (LEM-3.2). Two
    questions for a Littlestone dimension a round; `littlestone` may be shared by learners of the same class.
    """

    kind = "standard-optimal"
    schema = VersionSchema()

    def __init__(self, hypotheses: Hypotheses, littlestone: Littlestone | None = None) -> None:
        super().__init__(hypotheses)
        self.littlestone = littlestone or Littlestone(hypotheses)

    def predict(self, x: int) -> float:
        self.hypotheses.check_point(x)
        return float(optimal_label(self.littlestone, self.version, x))

    @property
    def proof(self) -> Certificate:
        bound = self.littlestone.of(self.hypotheses.everything) - self.littlestone.of(self.version)
        return self.certify("LEM-3.3", "Ldim(H) − Ldim(V)", float(bound), self.realised())


def optimal_label(littlestone: Littlestone, version: Mask, x: int) -> int:
    """argmax_r Ldim(V^r_x), 1 if they are equal, as for the empty V."""
    h = littlestone.hypotheses
    zeros, ones = h.agreeing(version, x, 0), h.agreeing(version, x, 1)
    if not zeros.any() or not ones.any():
        return int(ones.any() or not zeros.any())
    return int(littlestone.of(ones) >= littlestone.of(zeros))
