"""Very many experts of which few are awake: O(awake) a round, whatever N is.

Exponential weights among those awake need only their own R, and those asleep stay as they are: the same weights and the
same certificate as `ExpertMixture(N, Hedge(η), loss)` with NaN for all others, without ever looking at these.
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.evidence import convexity
from lowregret.compile.call import call, compilable
from lowregret.compile.kernel import kernel
from lowregret.compile.signals import let_in
from lowregret.compile.spec import to_json
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import book_own, require_fitting
from lowregret.experts.aggregator import Hedge
from lowregret.experts.certify import certificates
from lowregret.experts.schema import SpecialistsSchema
from lowregret.experts.state import BLUR, NAPS, OWN, ROUNDS, SECOND, SPREAD, TALLEST, UNDER, Book, behind_each, owe
from lowregret.experts.substitute import Mean
from lowregret.loss import Loss, Square
from lowregret.loss.verify import MetScores, first_met
from lowregret.run.round_by_round import Contents, Recorded
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted


class Specialists(Recorded):
    """N experts, sparse rounds, exponential weights.

    `forecasts` are the mixed ones of the latest `learn`, one a round, NaN where nobody was awake.
    """

    kind = "specialists"
    schema = SpecialistsSchema()

    def __init__(
        self, experts: int, eta: float, loss: Loss = Square(), *, linearised: bool = True, compiled: bool = True
    ) -> None:
        if not (isinstance(experts, (int, np.integer)) and experts >= 1):
            raise DataError(f"there must be a whole number of experts, at least 1, got {experts!r}")
        if not isinstance(loss, Loss):
            raise PartError(f"specialists need a loss such as Square(), got {loss!r}")
        super().__init__()
        self.aggregator, self.loss_function, self.linearised = Hedge(eta), loss, linearised
        self.compiled = compiled and compilable(loss)
        self.book = Book.fresh(np.full(experts, 1 / experts))
        self.met = first_met(loss)  # forecasts and outcomes, if the loss is put to the test
        self.forecasts: Vector = np.empty(0)

    @in_turn
    def learn(self, starts: Any, ids: Any, forecasts: Any, outcomes: Any) -> Self:
        """Rounds in order: in round t the experts ids[starts[t]:starts[t+1]], ascending, say forecasts[…].

        An outcome of NaN is not known, and not learnt.
        """
        starts, ids = np.ascontiguousarray(starts, np.int64), np.ascontiguousarray(ids, np.int64)
        x, y = np.ascontiguousarray(forecasts, np.float64), np.ascontiguousarray(outcomes, np.float64)
        self._require(starts, ids, x, y)
        if self.met is not None:
            self.met = self.met.wider(x, y[~np.isnan(y)])
        p, weights, done = np.full(y.size, math.nan), np.empty(ids.size), 0
        parts = self.aggregator, self.loss_function, self.book
        while done < y.size:
            rows = ids, x, y[done:], p[done:], weights
            due = self.history.due
            done += call(learn_sparse, self.compiled, *parts, starts[done:], *rows, self.linearised, due)
            if done < y.size and self.rounds < due:
                raise DataError(f"round {done}: the loss of the forecast {p[done]:g} is not finite for {y[done]:g}")
            self._mark()
            let_in()
        self.forecasts = p
        return self

    def _require(self, starts: Any, ids: Any, x: Vector, y: Vector) -> None:
        """Refuse rounds that do not fit together."""
        n = self.book.prior.size
        if starts.size != y.size + 1 or np.any(np.diff(starts) < 0) or starts[0] != 0 or starts[-1] != ids.size:
            raise DataError(f"starts must ascend from 0 to {ids.size}, one more than the {y.size} outcomes")
        if ids.size != x.size or not np.all(np.isfinite(x)):
            raise DataError("there must be a finite forecast for each id: leave out experts that have none")
        if ids.size and not 0 <= ids.min() <= ids.max() < n:
            raise DataError(f"ids must lie between 0 and {n - 1}, got {ids.min()} to {ids.max()}")
        ascending = np.append(True, np.diff(ids) > 0)
        ascending[starts[:-1][starts[:-1] < ids.size]] = True
        if not ascending.all():
            t = int(np.searchsorted(starts, np.argmin(ascending), "right")) - 1
            raise DataError(f"round {t}: ids must ascend, each at most once")
        require_fitting(self.loss_function, y, "round {}".format, self.compiled)

    @property
    def rounds(self) -> int:
        """Rounds whose outcome was learnt."""
        return int(self.book.counts[ROUNDS])

    @property
    def loss(self) -> float:
        """Σ ℓ(p_t, y_t)"""
        return float(self.book.sums[OWN])

    @property
    def regret(self) -> float:
        """Σ(ℓ(p_t) − ℓ(x_t[k])) over the rounds in which the best expert k was awake: O(N)."""
        return float(np.max(behind_each(self.book)))

    @property
    def certificates(self) -> list[Certificate]:
        """Against every expert over the rounds in which it was awake."""
        known = [Premise("each outcome was known before the next forecast", True)]
        known += convexity(self.loss_function, self.met, 0.0)
        return certificates(self.aggregator, Mean(), self.loss_function, self.book, self.linearised, known)

    def _of(self) -> str:
        return counted(self.book.prior.size, "expert")

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        description = {"eta": self.aggregator.eta, "loss": to_json(self.loss_function), "experts": self.book.prior.size}
        description |= {} if self.met is None else {"met": self.met.to_json()}
        return description | {name: getattr(self, name) for name in ("linearised", "compiled")}, self.book._asdict()

    @classmethod
    def _made(cls, found: Contents) -> Self:
        experts, eta, linearised, compiled = found.tell("experts", "eta", "linearised", "compiled")
        made = cls(experts, eta, found.part("loss"), linearised=linearised, compiled=compiled)
        made.book = found.record(Book)
        made.met = MetScores.of(found.description["met"]) if "met" in found.description else made.met
        return made


@kernel
def learn_sparse(
    aggregator: Hedge,
    loss: Loss,
    s: Book,
    starts: Any,
    ids: Any,
    x: Any,
    y: Any,
    p: Any,
    weights: Any,
    linearised: bool,
    until: int,
) -> int:
    """Forecast and learn rounds, O(awake) each; returns how many.

    Stops once `until` rounds are learnt, and before one that cannot be learnt.
    """
    for t in range(y.size):
        begin, end = starts[t], starts[t + 1]
        if begin == end:
            continue
        p[t] = mix_sparse(aggregator, s, ids, x, begin, end, weights)
        if math.isnan(y[t]):
            continue
        if not math.isfinite(loss.at(p[t], y[t])[0]):
            return t
        judge_sparse(loss, s, ids, x, begin, end, weights, p[t], y[t], linearised)
        if s.counts[ROUNDS] == until:
            return t + 1
    return int(y.size)


def judge_sparse(
    loss: Loss, s: Book, ids: Any, x: Any, begin: int, end: int, weights: Any, p: float, y: float, linearised: bool
) -> None:
    """Book one round; an expert asleep has r = 0, which belongs to the range of r too."""
    own, slope = loss.at(p, y)
    asleep, size = end - begin < s.regret.size, 0.0
    highest, lowest = (0.0, 0.0) if asleep else (-math.inf, math.inf)
    for k in range(begin, end):
        i = ids[k]
        value, linear = loss.at(x[k], y)[0], slope * (p - x[k])
        r = linear if linearised else own - value
        if s.regret[i] > -math.inf:
            highest, lowest = max(highest, r), min(lowest, r)
        s.regret[i] += r
        owe(s, i, own, value)
        s.linear[i] += linear
        s.added[i] += abs(value) + abs(own) + abs(linear)
        s.awake[i] += 1.0
        s.trust[i] += weights[k]
        s.sums[UNDER] = max(s.sums[UNDER], -value)
        s.sums[TALLEST] = max(s.sums[TALLEST], value)
        s.sums[SECOND] += weights[k] * value * value if weights[k] > 0.0 else 0.0
        size += weights[k] * abs(x[k])
    s.sums[SPREAD] += (highest - lowest) * (highest - lowest) if highest > lowest else 0.0
    book_own(s, own, own)
    s.sums[BLUR] += abs(slope) * size
    s.counts[NAPS] += 1 if asleep else 0
    s.counts[ROUNDS] += 1


def mix_sparse(aggregator: Hedge, s: Book, ids: Any, x: Any, begin: int, end: int, weights: Any) -> float:
    """Weights of a round, and the mixed forecast."""
    highest, total, mixed = -math.inf, 0.0, 0.0
    for k in range(begin, end):
        highest = max(highest, s.regret[ids[k]])
    for k in range(begin, end):
        behind = s.regret[ids[k]] - highest if s.regret[ids[k]] < highest else 0.0
        weights[k] = math.exp(aggregator.eta * behind)
        total += weights[k]
    for k in range(begin, end):
        weights[k] /= total
        mixed += weights[k] * x[k]
    return mixed
