"""A mixture in each of many groups: one aggregator, or several lanes that one more mixes, as in `Layered`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lowregret.compile.call import call
from lowregret.errors import DataError
from lowregret.experts.advice import is_unweighed, why_unweighed
from lowregret.experts.aggregator import Aggregator
from lowregret.experts.groups import GroupStandings, more_groups, play_events, standing
from lowregret.experts.join import join_experts
from lowregret.experts.origins import OriginEvents
from lowregret.experts.state import Book
from lowregret.experts.substitute import Substitution
from lowregret.loss import Loss
from lowregret.types import Vector

Matrix = NDArray[np.float64]


class Way(NamedTuple):
    """How forecasts become one: the parts that all groups share."""

    loss: Loss
    substitution: Substitution
    linearised: bool
    compiled: bool


class MixedForecasts(NamedTuple):
    """Mixed forecasts of rows: when they were asked for, when their outcomes came, and the weights of the former."""

    asked: Matrix
    found: Matrix
    weights: Matrix  # of no rows unless they are wanted


class Refusal(DataError):
    """Row `row` could not be learnt: the mixed forecast is `forecast`, or the aggregator gave no weights: `why`."""

    def __init__(self, row: int, forecast: float, aggregator: str, why: str = "") -> None:
        super().__init__(why or f"row {row}")
        self.row, self.forecast, self.aggregator, self.why = row, forecast, aggregator, why


class Stage:
    """One aggregator in every group."""

    def __init__(self, aggregator: Aggregator, prior: Vector, groups: int = 0) -> None:
        self.aggregator = aggregator
        self.standings = GroupStandings.fresh(groups, prior.size)
        self._work = Book.fresh(prior)

    @property
    def prior(self) -> Vector:
        """Trust in the experts at the beginning."""
        return self._work.prior

    def play(
        self, way: Way, events: OriginEvents, group: Any, x: Matrix, found: Matrix, y: Matrix, wanted: bool
    ) -> MixedForecasts:
        """Let events happen; x[t] are the experts' forecasts when row t is asked, found[t] when its outcome comes."""
        p, q = np.full((2, len(x), 1), np.nan)
        weights = np.zeros((len(x) if wanted else 0, self.prior.size))
        parts = self.aggregator, way.substitution, way.loss
        arrays = events.rows, events.asks, group, x[:, None], found[:, None], y, p, q, weights
        done = call(play_events, way.compiled, *parts, self.standings, self._work, *arrays, way.linearised)
        if done < events.rows.size:
            row = int(events.rows[done])
            name, b = type(self.aggregator).__name__, self._work
            raise Refusal(row, float(q[row, 0]), name, why_unweighed(name, b) if is_unweighed(b) else "")
        return MixedForecasts(p, q, weights)

    def book(self, g: int) -> Book:
        """Group g as the theorems read it."""
        return standing(self.standings, self._work, g)

    def join(self, experts: int) -> None:
        """Let experts join in every group."""
        self.be(*join_experts(self.aggregator, self.standings, self.prior, experts))

    def be(self, standings: GroupStandings, prior: Vector) -> None:
        """Go on from what is known elsewhere."""
        self.standings, self._work = standings, Book.fresh(prior)


class GroupMixture:
    """Lanes, and the chief that mixes them if there is more than one, in every group."""

    def __init__(self, lanes: Sequence[Aggregator], chief: Aggregator | None, prior: Vector, groups: int = 0) -> None:
        self.lanes = [Stage(lane, prior, groups) for lane in lanes]
        even = np.full(len(self.lanes), 1 / len(self.lanes))
        self.chief = None if chief is None else Stage(chief, even, groups)

    @property
    def stages(self) -> list[Stage]:
        """All lanes, and the chief."""
        return [*self.lanes, *([] if self.chief is None else [self.chief])]

    @property
    def prior(self) -> Vector:
        """Trust in the experts at the beginning."""
        return self.lanes[0].prior

    def play(
        self, way: Way, events: OriginEvents, group: Any, x: Matrix, found: Matrix, y: Matrix, wanted: bool
    ) -> MixedForecasts:
        """Let events happen in all lanes, then in the chief: O(lanes · events · N)."""
        played = [lane.play(way, events, group, x, found, y, wanted) for lane in self.lanes]
        if self.chief is None:
            return played[0]
        asked, came = (np.hstack([getattr(p, name) for p in played]) for name in ("asked", "found"))
        last = self.chief.play(way, events, group, asked, came, y, wanted)
        mixed = np.sum([trust[:, None] * p.weights for trust, p in zip(last.weights.T, played, strict=True)], axis=0)
        return last._replace(weights=mixed)

    def widen(self, groups: int) -> None:
        """Make room for further groups."""
        for stage in self.stages:
            stage.standings = more_groups(stage.standings, groups)

    def join(self, experts: int) -> None:
        """Let experts join in every group, as if they had been asleep before."""
        for lane in self.lanes:
            lane.join(experts)

    def copies(self) -> list[tuple[GroupStandings, Vector]]:
        """All that is known, to come `back` to."""
        return [(GroupStandings(*(a.copy() for a in stage.standings)), stage.prior) for stage in self.stages]

    def back(self, copies: list[tuple[GroupStandings, Vector]]) -> None:
        """Be as when these copies were made."""
        for stage, (kept, prior) in zip(self.stages, copies, strict=True):
            stage.be(kept, prior)
