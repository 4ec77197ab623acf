"""A mixture of mixtures: several aggregators mix the experts, and one more mixes the aggregators. Nothing to tune.

    ℓ(p) − ℓ(u) = [ℓ(p) − ℓ(p_l)] + [ℓ(p_l) − ℓ(u)]

for every lane l, so the regret is at most what the mixture of lanes owes to a lane plus what that lane owes to u: the
smallest such sum is the bound. Lanes that forget follow changes; those that do not carry the proof. While an expert
sleeps it says what the mixture says (`asleep.py`), so its regret is that of the rounds in which it was awake.
"""

from __future__ import annotations

import math
from contextlib import ExitStack
from typing import Any, ClassVar, Self

import numpy as np

from lowregret.certificate import Certificate, Premise
from lowregret.compile.call import call
from lowregret.compile.signals import let_in
from lowregret.compile.turns import Changing, in_turn
from lowregret.errors import DataError, PartError
from lowregret.experts.advice import UNWEIGHED, book_rows, is_unweighed, require_awake
from lowregret.experts.aggregator import AdaHedge, Aggregator, MLPoly, Squint
from lowregret.experts.asleep import Books, Marks, Said, fill_round, in_a_row, learn_layers
from lowregret.experts.before import Before, all_or_none
from lowregret.experts.certify import COMBINATIONS, bound_against, rounding
from lowregret.experts.given import given_round
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.experts.schema import LayeredSchema
from lowregret.experts.state import NAPS, Book
from lowregret.experts.substitute import Mean
from lowregret.loss import Loss, Square
from lowregret.loss.verify import PREMISE
from lowregret.run.round_by_round import Contents, prefixed
from lowregret.store.file import Arrays
from lowregret.types import Vector
from lowregret.words import counted

LANES: tuple[Aggregator, ...] = (MLPoly(), MLPoly(0.99), MLPoly(0.9), AdaHedge(), Squint())


class Layered(ExpertMixture):
    """The default: every lane linearises at its own forecasts, and `MLPoly` mixes the lanes."""

    kind = "layered-experts"
    schema = LayeredSchema(len(LANES))
    aggregators: ClassVar[tuple[Aggregator, ...]] = LANES

    def __init__(
        self,
        experts: int | list[str],
        loss: Loss = Square(),
        *,
        parts: int = 1,
        prior: Any = None,
        compiled: bool = True,
    ) -> None:
        if isinstance(loss, Loss) and not math.isfinite(loss.at(0.0, 1.0)[0]):
            raise PartError(
                f"{type(loss).__name__} can be infinite for a lane that trusts one expert: use "
                "ExpertMixture(experts, Hedge(1.0), loss, linearised=False), the Bayes mixture, which needs no tuning"
            )
        super().__init__(experts, MLPoly(), loss, parts=parts, prior=prior, compiled=compiled)
        self.lanes = [
            ExpertMixture(self.names, lane, loss, parts=parts, prior=prior, compiled=compiled)
            for lane in self.aggregators
        ]
        named = [_name(lane) for lane in self.aggregators]
        self.chief = ExpertMixture(named, MLPoly(), loss, parts=parts, compiled=compiled)
        self.chief.beside = len(self.names)
        self._rounds: dict[int, list[int]] = {}  # pending rounds: their numbers in each lane and the chief

    @in_turn
    def learn(self, forecasts: Any, outcomes: Any) -> Self:
        """Rounds in order, as `ExpertMixture.learn` takes them: O(TN) for each lane."""
        x = self.as_forecasts(forecasts)
        y = self.as_outcomes(outcomes, x.shape[0])
        told, came = self._as_told(x), np.asarray(outcomes, float)
        self.orderly &= not self.pending
        learnable = np.cumsum(~np.isnan(y[:, 0]) & ~np.all(np.any(np.isnan(x), axis=1), axis=1))
        said, done, before = [], 0, self.rounds
        while done < len(x):
            end = int(np.searchsorted(learnable, self.history.due - before)) + 1
            said.append(self._learn_part(told[done:end], came[done:end], x[done:end], y[done:end]))
            self._mark()
            let_in()
            done = end
        p = np.concatenate(said) if said else np.empty((0, self.parts))
        self.forecasts = p[:, 0] if self.parts == 1 else p
        return self

    def _learn_part(self, forecasts: Matrix, outcomes: Vector, x: Matrix, y: Matrix) -> Matrix:
        """Learn rounds between two points of the curves; returns the forecasts.

        If a mixture inside refuses a round, all of them learn the rounds before it, and no more.
        """
        before = [Before(mixture) for mixture in (*self.lanes, self.chief)]
        try:
            with all_or_none(before):
                if np.isnan(x).any():
                    p = self._learn_sleepers(x, y)
                else:
                    said = np.stack([lane.learn(forecasts, outcomes).forecasts for lane in self.lanes], axis=1)
                    p = np.ascontiguousarray(self.chief.learn(said, outcomes).forecasts.reshape(len(x), -1))
        except DataError:
            good = next(old.done for old in before if old.done < len(x))  # of the one that refused
            if good:
                self._learn_part(forecasts[:good], outcomes[:good], x[:good], y[:good])
            raise
        regrets = np.empty(len(x))
        call(book_rows, self.compiled, self.loss_function, self.book, x, y, p, regrets)
        marks = self._marks(len(x))
        self._keep(np.empty((marks, 0)), regrets[-self.asked % self._every :: self._every], marks)
        self.asked += len(x)
        return p

    def _learn_sleepers(self, x: Matrix, y: Matrix) -> Matrix:
        """Let lanes and chief learn rounds in which some sleep, one after the other; returns the forecasts."""
        inside, rows, lanes, n = list(self._inside.values()), len(x), len(self.lanes), len(self.names)
        marks = [mixture._marks(rows) for mixture in inside][-1]
        said = Said(*(np.empty(shape) for shape in ((lanes, rows, self.parts), (rows, self.parts, lanes), x.shape[:2])))
        kept = Marks(np.empty((lanes, marks, n)), np.empty((marks, lanes)), np.empty((lanes + 1, marks)))
        row, books = self._together()
        given = self.loss_function, Mean(), books, x.copy(), y, said, kept, self.chief.asked, self.chief._every
        with ExitStack() as held:
            for mixture in inside:  # whose weights are written where those of a question would be
                held.enter_context(Changing(mixture))
            done = call(learn_layers, self.compiled, row, self.chief.aggregator, *given)
        for mixture, weights, regrets in zip(inside, [*kept.weights, kept.trust], kept.regrets, strict=True):
            mixture._keep(weights, regrets, marks)
            mixture.asked += done
        if done < rows:
            self._require_weights(self.asked + done)
            raise DataError(self.refusal(y, said.mixture, done, self.asked + done))
        for mixture in inside:
            mixture._mark()
        return said.mixture

    def _require_weights(self, number: int) -> None:
        """Raise a `DataError` if what a lane gave last are no weights."""
        for lane in self.lanes:
            require_awake(UNWEIGHED if is_unweighed(lane.book) else 1, lane.aggregator, lane.book, number)

    def _together(self) -> tuple[Any, Books]:
        """The lanes as one part, and all books."""
        books = Books(tuple(lane.book for lane in self.lanes), self.chief.book, Book.fresh(self.book.prior))
        return in_a_row([lane.aggregator for lane in self.lanes]), books

    def _as_told(self, x: Matrix) -> Matrix:
        """Forecasts x[t, k, i] as lanes are given them."""
        return x[:, 0] if self.parts == 1 else np.ascontiguousarray(x.transpose(0, 2, 1))

    @in_turn
    def ask(self, forecasts: Any) -> tuple[int, Any]:
        x = self.as_forecasts(given_round(forecasts, self.names))
        filled, used = x.copy(), None
        if np.isnan(x).any():
            row, books = self._together()
            if not call(fill_round, self.compiled, row, self.chief.aggregator, books, filled):
                self._require_weights(self.asked)
            used = books.now.mass
        asked = [lane.ask(self._as_told(filled)[0]) for lane in self.lanes]
        for lane in self.lanes:
            if used is not None and (lane.asked - 1) % lane._every == 0:  # kept are weights by which experts were mixed
                lane._weights[-1] = used
        chief, p = self.chief.ask([said for _, said in asked])
        self._keep(np.empty((1, 0)), np.array([self.regret]), self._marks(1))
        number = self._wait(x, np.atleast_2d(np.asarray(p, float)))
        self._rounds[number] = [*(own for own, _ in asked), chief]
        return number, p

    @in_turn
    def tell(self, number: int, outcome: Any) -> float:
        if number not in self.pending:
            return super().tell(number, outcome)  # which says why not
        y = self.as_outcomes([outcome], 1)
        waiting = self._numbered_inside(number)
        with all_or_none([Before(mixture, inside) for mixture, inside in waiting]):
            *_, own = (mixture.tell(inside, outcome) for mixture, inside in waiting)
        x, p = self.pending[number]
        self._forget(number)
        del self._rounds[number]
        call(book_rows, self.compiled, self.loss_function, self.book, x, y, p, np.empty(1))
        self.late = self.chief.late
        self._mark()
        return own

    def _numbered_inside(self, number: int) -> list[tuple[ExpertMixture, int]]:
        """Lanes and chief, each with the number that a round which waits has there."""
        return list(zip((*self.lanes, self.chief), self._rounds[number], strict=True))

    @property
    def weights(self) -> Vector:
        return np.asarray(self.chief.weights @ np.array([lane.weights for lane in self.lanes]))

    @property
    def weights_over_time(self) -> tuple[Any, Matrix]:
        rounds, trust = self.chief.weights_over_time
        lanes = np.array([lane.weights_over_time[1] for lane in self.lanes])
        return rounds, np.einsum("tl,ltn->tn", trust, lanes)

    @property
    def certificates(self) -> list[Certificate]:
        """The lane through which least is owed to the best combination."""
        linear = float(np.max(self.book.linear))
        slept = max(int(lane.book.counts[NAPS]) for lane in self.lanes)  # as lanes had it before sleepers had a say
        premises = self._premises()
        bound = min(self._bound(lane) for lane in range(len(self.lanes)))
        off = sum(rounding(mixture.book, mixture.substitution) for mixture in (self, *self._inside.values()))
        found = Certificate(
            "LAYERED",
            "regret ≤ min over lanes of what the mixture owes to the lane + what the lane owes to the best combination",
            COMBINATIONS,
            linear if linear <= bound and all(p.holds for p in premises if p.name == PREMISE) else None,
            bound,
            (
                *premises,
                Premise("sleepers said what the mixture said", slept == 0, f"not in {counted(slept, 'round')}"),
            ),
            regret=self.regret,
            rounding=off,
        )
        return [found]

    def _bound(self, lane: int) -> float:
        inner = self.lanes[lane]
        owed = bound_against(self.chief.aggregator, False, self.chief.book, lane)[2] + float(self.chief.drift[lane])
        k = int(np.argmax(inner.book.linear + inner.drift[:-1]))
        return owed + bound_against(inner.aggregator, False, inner.book, k)[2] + float(inner.drift[k])

    # ---- files -------------------------------------------------------------------------------------------------------

    def _written(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes, with those of all lanes."""
        description, arrays = super()._written()
        for name, mixture in self._inside.items():
            description[name], kept = mixture.contents()
            arrays |= prefixed(name, kept)
        numbers = np.array(list(self._rounds.values()), np.int64).reshape(-1, len(self.lanes) + 1)
        return description, arrays | {"pending.inside": numbers}

    @classmethod
    def _made(cls, found: Contents) -> Self:
        made = super()._made(found)
        *made.lanes, made.chief = (ExpertMixture.from_contents(found.inner(name)) for name in made._inside)
        made.chief.beside = len(made.names)
        made._rounds = dict(zip(made.pending, found.arrays["pending.inside"].tolist(), strict=True))
        return made

    @classmethod
    def _blank(cls, found: Contents) -> Self:
        names, parts = found.tell("names", "parts")
        return cls(names, found.part("loss"), parts=parts)

    @property
    def _kept_weights(self) -> int:
        """None: the lanes keep theirs."""
        return 0

    @property
    def _inside(self) -> dict[str, ExpertMixture]:
        """The mixtures that this one is made of, by the names they have in a file."""
        return {f"lane {i}": lane for i, lane in enumerate(self.lanes)} | {"chief": self.chief}


def _name(lane: Aggregator) -> str:
    """`MLPoly(memory=0.9)` is polynomial 0.9."""
    return " ".join([type(lane).__name__.lower(), *(f"{value:g}" for value in lane.parameters.values())])
