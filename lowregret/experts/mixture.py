"""Forecasts of many, one forecast out of them: rounds as they come or all at once, outcomes in time or late."""

from __future__ import annotations

import math
import os
from collections import OrderedDict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate, Premise
from lowregret.certificate.evidence import convexity
from lowregret.compile.call import call, compilable
from lowregret.compile.signals import let_in
from lowregret.compile.spec import to_json
from lowregret.compile.turns import in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import forecast_rows, learn_late, learn_rows, require_awake, require_fitting, why_refused
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.best import BestExpert
from lowregret.experts.certify import certificates, path_bound
from lowregret.experts.given import as_classes, given_forecasts, given_names, given_outcomes, given_round, stacked
from lowregret.experts.risk import among_experts, mixture_risks
from lowregret.experts.schema import MixtureSchema
from lowregret.experts.shown import most_shown
from lowregret.experts.state import NAPS, OWN, ROUNDS, Book, as_prior, behind_each
from lowregret.experts.substitute import BrierSimplex, Mean, SquareOn, Substitution
from lowregret.loss import Loss, Square
from lowregret.loss.verify import MetScores, first_met
from lowregret.risk.bounds import IN_ORDER
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.run.round_by_round import Contents, Recorded, elsewhere
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Matrix = NDArray[np.float64]
PROPER = 1e-9  # by how much probabilities may miss a sum of 1


class ExpertMixture(Recorded):
    """Experts, and how their forecasts become one.

    `forecasts` are the mixed ones of the latest `learn`, one a round, NaN where nobody was awake.
    `parts`: numbers per forecast: 1, or one for each class. `linearised`: learn from ⟨ℓ'(p), p − x[i]⟩, to compete with
    every convex combination of experts instead of every expert. `prior`: trust at the beginning (the same for all).
    """

    kind = "experts"
    schema = MixtureSchema()

    def __init__(
        self,
        experts: int | list[str],
        aggregator: Aggregator,
        loss: Loss = Square(),
        *,
        parts: int = 1,
        linearised: bool = True,
        substitution: Substitution = Mean(),
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        super().__init__()
        self.names = given_names(experts)
        if not (isinstance(loss, Loss) and isinstance(parts, (int, np.integer)) and parts >= 1):
            raise PartError(f"a mixture needs a loss such as Square() and parts from 1 on, got {loss!r} and {parts!r}")
        if not isinstance(aggregator, Aggregator):
            raise PartError(f"the aggregator must be one such as AdaHedge() or Hedge(0.1), got {aggregator!r}")
        if linearised and not isinstance(substitution, Mean):
            raise PartError(f"{type(substitution).__name__} needs the losses as they are: say linearised=False")
        if isinstance(substitution, SquareOn) and parts != 1:
            raise PartError("SquareOn mixes single numbers: for probabilities of classes use BrierSimplex()")
        if isinstance(substitution, BrierSimplex) and parts == 1:
            raise PartError("BrierSimplex mixes probabilities of classes: say parts=, or for numbers use SquareOn()")
        self.aggregator, self.loss_function, self.substitution = aggregator, loss, substitution
        self.parts, self.linearised = int(parts), bool(linearised)
        self.compiled = compiled and all(map(compilable, (aggregator, loss, substitution)))
        self.book = Book.fresh(as_prior(prior, len(self.names)))
        self.drift = np.zeros(len(self.names) + 1)  # see `tell`: while each expert was awake, and over all rounds
        self.late = 0  # outcomes that came late in earlier versions, which did not know their drift
        self.inside = self.orderly = True  # forecasts are where the substitution wants them; outcomes came in order
        self.met = first_met(loss)  # forecasts and outcomes, if the loss is put to the test
        self.called: str | None = None  # the name that its loss was given, of which it may have several
        self.pending: dict[int, tuple[Matrix, Matrix]] = OrderedDict()  # forecasts and mixture, whose first is known
        self.asked = self.ahead = self.first = 0  # rounds; numbers less rounds, and the first so numbered: see `ask`
        self._round_of: dict[int, int] = {}  # of numbers that wait
        self.forecasts: Matrix = np.empty(0)
        self._weights: list[Vector] = []
        self._regrets: list[float] = []
        self._every, self.beside = 1, 0  # experts of a mixture of which as many rounds are kept

    # ---- rounds ------------------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, forecasts: Any, outcomes: Any) -> Self:
        """Rounds in order: each is forecast before its outcome is seen: O(TN).

        `forecasts[t, i]` is expert i's in round t (with classes, `forecasts[t, i, k]`), NaN if it has none. Columns of
        a dict or of a table of pandas, polars or Arrow are found by the experts' names, in any order.
        `outcomes[t]` is a number, or the number of the class that came; NaN if it is not known, and then not learnt.
        """
        x = self.as_forecasts(forecasts)
        y, p = self.as_outcomes(outcomes, x.shape[0]), np.full((x.shape[0], self.parts), math.nan)
        self._learn_rows(x, y, p)
        self.forecasts = p[:, 0] if self.parts == 1 else p
        return self

    def _learn_rows(self, x: Matrix, y: Matrix, p: Matrix) -> None:
        """Learn all rows, with a stop wherever a point of the curves is due."""
        rows, marks = len(x), self._marks(len(x))
        self.orderly &= not self.pending
        weights, regrets = np.empty((marks, len(self.names))), np.empty(marks)
        parts, done, failed = (self.aggregator, self.substitution, self.loss_function), 0, False
        try:
            while done < rows and not failed:
                let_in()
                k = self._marks(done)
                arrays = x[done:], y[done:], p[done:], weights[k:], regrets[k:]
                how = self.asked + done, self._every, self.linearised, self.history.due
                done += call(learn_rows, self.compiled, *parts, self.book, *arrays, *how)
                failed = done < rows and self.rounds < self.history.due
                self._mark()
        finally:
            self._keep(weights, regrets, self._marks(done))
            self.asked += done
        if failed:
            raise DataError(self.refusal(y, p, done, self.asked))

    @in_turn
    def ask(self, forecasts: Any) -> tuple[int, Any]:
        """One round: its number, and the mixed forecast, made now. Tell the outcome whenever it is known: O(N).

        Rounds are numbered 0, 1, 2, …, in a run from a file from a random place on, so that no number is given twice
        though an older save be restored. Rounds that wait keep their numbers.
        """
        x = self.as_forecasts(given_round(forecasts, self.names))
        p, weights = np.empty((1, self.parts)), np.empty((1, len(self.names)))
        parts = self.aggregator, self.substitution, self.book
        require_awake(call(forecast_rows, self.compiled, *parts, x, p, weights, 0), parts[0], self.book, self.asked)
        self._keep(weights, np.array([self.regret]), self._marks(1))
        return self._wait(x, p), float(p[0, 0]) if self.parts == 1 else p[0].copy()

    def _wait(self, x: Matrix, p: Matrix) -> int:
        """Remember a round until its outcome is told; returns its number."""
        number = self.asked + self.ahead
        self.pending[number], self._round_of[number] = (x, p), self.asked
        self.asked += 1
        return number

    @in_turn
    def tell(self, number: int, outcome: Any) -> float:
        """The outcome of a round that was asked; returns the loss: O(N).

        It is learnt as if it were asked now: in order of `tell` an undelayed run, which plays q_t. The forecasts p_t
        that were given lost more by the drift Σ ℓ(p_t) − ℓ(q_t), which certificates add to their bounds.
        """
        if number not in self.pending:
            raise DataError(f"round {number} waits for no outcome: {self._unknown(number)}")
        x, p = self.pending[number]
        y = self.as_outcomes([outcome], 1)
        if np.isnan(y[0, 0]):
            raise DataError(f"round {number}: the outcome is not a number: tell it when it is known")
        parts, q = (self.aggregator, self.substitution, self.loss_function), np.empty_like(p)
        own = sum(self.loss_function.at(float(a), float(b))[0] for a, b in zip(p[0], y[0], strict=True))
        learnt = self.book, x, y, q, self.linearised, float(own)
        found = call(learn_late, self.compiled, *parts, *learnt) if own < math.inf else own
        if not (math.isfinite(own) and math.isfinite(found)):
            raise DataError(self.refusal(y, p if found == own else q, 0, number))
        self.drift = self.drift + (own - found) * np.append(~np.isnan(x[0]).any(0), True)
        self._forget(number)
        self._mark()
        return float(own)

    def _forget(self, number: int) -> int:
        """Let go of a round whose outcome was told; returns which it was."""
        self.orderly &= number == next(iter(self.pending))
        del self.pending[number]
        return self._round_of.pop(number)

    def _unknown(self, number: int) -> str:
        """Why there is no round of this number that waits."""
        if self.first <= number - self.ahead < self.asked:
            return "its outcome was told before"
        if self.ahead > 0:
            return "its outcome was told before, or it was asked after the save that this run goes on from, and is lost"
        return f"rounds so far: {self.asked}"

    # ---- results -----------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        """Rounds whose outcome was learnt."""
        return int(self.book.counts[ROUNDS])

    @property
    def weights(self) -> Vector:
        """Trust in each expert in the coming round, if all are awake: O(N)."""
        x, w = np.zeros((1, self.parts, len(self.names))), np.empty((1, len(self.names)))
        parts = self.aggregator, Mean(), self.book, x, np.empty((1, self.parts)), w
        require_awake(call(forecast_rows, self.compiled, *parts, 0), self.aggregator, self.book, self.asked)
        return w[0]

    @property
    def named_weights(self) -> dict[str, float]:
        """Trust in each expert in the coming round by its name, the most trusted first."""
        w = self.weights
        return {self.names[i]: float(w[i]) for i in np.argsort(-w, kind="stable").tolist()}

    @property
    def loss(self) -> float:
        """Σ ℓ(p_t, y_t)"""
        return float(self.book.sums[OWN])

    @property
    def best(self) -> BestExpert:
        """The expert with the smallest regret-making loss: of those awake throughout, the smallest loss."""
        k = int(np.argmax(behind_each(self.book)))
        return BestExpert(k, self.names[k], float(self.book.losses[k]))

    @property
    def regret(self) -> float:
        """Σ(ℓ(p_t) − ℓ(x_t[k])) against the best expert k, though losses be large: each is rounded, no sum of them."""
        return float(np.max(behind_each(self.book)))

    @property
    def certificates(self) -> list[Certificate]:
        """The regret, and what the aggregator's theorems say it could have been at most, the tightest first."""
        parts = self.aggregator, self.substitution, self.loss_function
        return certificates(*parts, self.book, self.linearised, self._premises(), self.drift)

    @property
    def average_weights(self) -> Vector | None:
        """(1/T)Σ w_t, what `risks` speaks of; None where forecasts are no means, or some slept or were not counted."""
        counted_all = math.isclose(float(self.book.trust.sum()), max(self.rounds, 1), rel_tol=1e-6)
        plain = isinstance(self.substitution, Mean) and not self.book.counts[NAPS]
        return self.book.trust / self.rounds if plain and counted_all else None

    def risks(self, delta: float = 0.05, *, independent: bool = False) -> list[RiskCertificate]:
        """Bounds for rounds yet to come, each with probability 1 − δ, whose premise `independent` is your word."""
        averaged = self.average_weights is not None
        premises = [Premise(IN_ORDER, self.orderly), *among_experts(self.substitution), *self._premises()]
        return mixture_risks(self.book, self.drift, delta, independent, averaged, premises)

    def _of(self) -> str:
        return counted(len(self.names), "expert")

    def _facts(self) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"{type(self.loss_function).__name__} loss {self.loss / max(self.rounds, 1):.4g} a round"
        yield f"regret {self.regret:.4g} to the best expert"

    def _premises(self) -> list[Premise]:
        late = f"{self.late} late outcomes without their drift"
        found = [Premise("each outcome was known before the next forecast, or its drift is", self.late == 0, late)]
        match self.substitution:
            case SquareOn(low, high):
                found.append(Premise(f"forecasts and outcomes lie in [{low:g}, {high:g}]", self.inside))
            case BrierSimplex():
                found.append(Premise("forecasts are probabilities", self.inside))
        return [*found, *convexity(self.loss_function, self.met, 0.0)]

    def bound(self, switches: int) -> float:
        """The bound on the regret to every sequence of experts with this number of switches, in order of outcomes."""
        if switches == 0:
            found = self.certificate
            return found.promised if found.premises_hold else math.inf
        if not self.certificate.premises_hold:
            return math.inf
        parts = self.aggregator, self.substitution, self.loss_function
        return path_bound(*parts, self.book, self.linearised, switches, float(self.drift[-1]))

    @property
    def weights_over_time(self) -> tuple[NDArray[np.int64], Matrix]:
        """Rounds, and the weights that were used in them: at most 2,000 of them and 32 MB, evenly spaced."""
        weights = np.array(self._weights).reshape(-1, len(self.names))
        return np.arange(len(weights)) * self._every, weights

    @property
    def regrets(self) -> Vector:
        """The regret against the best expert so far, before each of the rounds of `weights_over_time`."""
        return np.array(self._regrets)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Weights, and the regret to the best expert so far, over the rounds; written to `path` if given."""
        from lowregret.experts.plot import plot_mixture

        return plot_mixture(self, path)

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes, with rounds that still wait for their outcome."""
        description = {
            "names": self.names,
            "aggregator": to_json(self.aggregator),
            "loss": to_json(self.loss_function),
            "substitution": to_json(self.substitution),
        } | {name: getattr(self, name) for name in _PLAIN}
        waiting = list(self.pending.values())
        pending = {
            "pending.number": np.array(list(self.pending), np.int64),
            "pending.round": np.array([self._round_of[number] for number in self.pending], np.int64),
            "pending.forecasts": stacked([x for x, _ in waiting], self.parts, len(self.names)),
            "pending.mixture": stacked([p for _, p in waiting], self.parts),
            "drift": self.drift,
        }
        weights = np.array(self._weights).reshape(len(self._weights), self._kept_weights)
        shown = {"weights": weights, "regrets": self.regrets}
        description |= {} if self.met is None else {"met": self.met.to_json()}
        return description | {"every": self._every}, self.book._asdict() | pending | shown

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = cls._blank(found)
        for name in _PLAIN:
            setattr(made, name, found.description[name])
        made._every, made.book = found.description["every"], found.record(Book)
        made.met = MetScores.of(found.description["met"]) if "met" in found.description else made.met
        made._weights, made._regrets = list(found.arrays["weights"]), found.arrays["regrets"].tolist()
        made.drift = found.arrays["drift"]
        waiting = [found.arrays[f"pending.{name}"] for name in ("forecasts", "mixture")]
        numbers, rounds = (found.arrays[f"pending.{name}"].tolist() for name in ("number", "round"))
        for row, number in enumerate(numbers):
            x, p = (array[row : row + 1].copy() for array in waiting)
            made.pending[number], made._round_of[number] = (x, p), rounds[row]
        made.first, made.ahead = made.asked, elsewhere()
        return made

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        """Of the parts in a file, nothing learnt yet; whether it linearises is said later."""
        names, parts = found.tell("names", "parts")
        aggregator, loss, substitution = map(found.part, ("aggregator", "loss", "substitution"))
        return cls(names, aggregator, loss, substitution=substitution, parts=parts, linearised=False)

    @property
    def _kept_weights(self) -> int:
        """Weights kept of a round."""
        return len(self.names)

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _marks(self, rounds: int) -> int:
        """How many of the coming rounds are kept for the picture; before there are too many, every other one is."""
        while -(-(self.asked + rounds) // self._every) > most_shown(max(len(self.names), self.beside)):
            self._weights, self._regrets = self._weights[::2], self._regrets[::2]
            self._every *= 2
        return -(-(self.asked + rounds) // self._every) - -(-self.asked // self._every)

    def _keep(self, weights: Matrix, regrets: Vector, marks: int) -> None:
        """Keep weights and regrets for the picture."""
        self._weights += list(weights[:marks])
        self._regrets += regrets[:marks].tolist()

    def as_forecasts(self, forecasts: Any) -> Matrix:
        """Forecasts as x[t, k, i], experts side by side in memory, or an error that says what is wrong with them."""
        x = given_forecasts(forecasts, self.names, self.parts, self.asked)
        self._note(x)
        self._meet(scores=x[~np.isnan(x)])
        return x[:, None] if self.parts == 1 else np.ascontiguousarray(x.transpose(0, 2, 1))

    def as_outcomes(self, outcomes: Any, rounds: int) -> Matrix:
        """Outcomes as y[t, k], with classes 0s and a 1, or an error that says what is wrong with them."""
        y = given_outcomes(outcomes, rounds)
        if self.parts > 1:
            came = as_classes(y, self.parts, self.asked)
            self._meet(labels=came[~np.isnan(came)])
            return came
        require_fitting(self.loss_function, y, lambda t: f"round {self.asked + t}", self.compiled)
        if isinstance(self.substitution, SquareOn):
            self._note(y)
        self._meet(labels=y[~np.isnan(y)])
        return y[:, None]

    def _meet(self, **brought: Any) -> None:
        """Note where a loss of the user's own is put to the test."""
        if self.met is not None:
            self.met = self.met.wider(**brought)

    def _note(self, values: Matrix) -> None:
        """Whether the values are where the substitution wants them."""
        match self.substitution:
            case SquareOn(low, high):
                self.inside &= not bool(np.any((values < low) | (values > high)))
            case BrierSimplex():
                self.inside &= not bool(np.any(values < 0) or np.any(np.abs(values.sum(-1) - 1) > PROPER))

    def refusal(self, y: Matrix, p: Matrix, t: int, number: int) -> str:
        """Why the round of row t, whose number is given, could not be learnt."""
        return why_refused(self.loss_function, type(self.aggregator).__name__, p[t], y[t], number, self.book)


_PLAIN = ("parts", "linearised", "compiled", "late", "inside", "orderly", "asked", "called")
