"""Summaries of mixtures of long tables, and of those that go on from a file."""

from __future__ import annotations

import math
import os
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from lowregret.cli.forecast_losses import loss_json
from lowregret.cli.forecasts import Forecasts
from lowregret.cli.html_report import page, picture, proof
from lowregret.compile.call import call
from lowregret.compile.numerics import summed
from lowregret.experts.advice import loss_rows
from lowregret.experts.late_cover import OriginIntervals
from lowregret.experts.long import Roles, time_text
from lowregret.experts.series import SeriesMixture
from lowregret.loss import Loss
from lowregret.types import Vector
from lowregret.words import counted, listed, rounded_up

LISTED = 8  # experts that a summary names


@dataclass
class TableReview:
    """Losses over the rows of a table that have an outcome and were forecast: of the mixture, of others beside it."""

    rows: int
    own: float
    mean: float  # of the mean of those awake
    losses: Any  # of each expert, over the rows in which it was awake
    awake: Any
    each: float  # of the best expert of each series, of those awake throughout
    root: bool = False  # whether the root of a mean is shown

    @classmethod
    def of(cls, loss: Loss, compiled: bool, x: Any, y: Vector, p: Vector, series: Any) -> TableReview:
        """Look back on forecasts x[t, i], outcomes y[t] and mixed forecasts p[t] of a series each: O(rows · N)."""
        at = ~np.isnan(p) & ~np.isnan(y)
        x, y, p = x[at], y[at], p[at]
        awake = ~np.isnan(x)
        mean = np.where(awake, x, 0.0).sum(1) / np.maximum(awake.sum(1), 1)
        said, losses = np.ascontiguousarray(np.column_stack([x, p, mean])), np.empty((len(x), x.shape[1] + 2))
        call(loss_rows, compiled, loss, said[:, None], y[:, None], losses)
        known = np.where(awake, losses[:, :-2], 0.0)
        _, which = np.unique(series[at], return_inverse=True)
        sums, slept = np.zeros((2, which.max(initial=-1) + 1, x.shape[1]))
        np.add.at(sums, which, known)
        np.add.at(slept, which, ~awake)
        each = np.where(slept > 0, math.inf, sums).min(1, initial=math.inf)
        totals = np.array([summed(column) for column in known.T])  # rounded once, whatever the order of rows
        own, even = (summed(column) for column in losses[:, -2:].T)
        return cls(len(x), own, even, totals, awake.sum(0), float(each.sum()))

    def a_row(self, loss: float, rows: int) -> float:
        """The loss a row, or its root."""
        return math.sqrt(loss / rows) if self.root else loss / rows

    def told(self, loss: float) -> str:
        """The loss over all rows as it is shown, and what that is."""
        return f"{self.a_row(loss, self.rows):.6g} {'root mean square' if self.root else 'a row'}"

    def lines(self, names: list[str], weights: Vector) -> Iterator[str]:
        """The figures in words, the first few experts among them."""
        if not self.rows:
            return
        yield f"the mixture      {self.told(self.own)}, over {counted(self.rows, 'row')}"
        yield f"the plain mean   {self.told(self.mean)}"
        means = self.losses / np.maximum(self.awake, 1)
        order = [i for i in np.argsort(means, kind="stable").tolist() if self.awake[i]]
        for place, i in enumerate(order[:LISTED]):
            slept = f", in {counted(self.awake[i], 'row')}" if self.awake[i] < self.rows else ""
            head = "the experts" if place == 0 else ""
            yield f"{head:<16} {self.a_row(means[i], 1):.6g} {names[i]}, weight now {weights[i]:.3g}{slept}"
        if len(order) > LISTED:
            yield f"                 and {len(order) - LISTED} more"


@dataclass
class Telling:
    """The summary of a mixture of long tables; all outcomes that are known have been learnt by now."""

    args: Namespace
    found: Forecasts
    roles: Roles
    mixture: SeriesMixture
    review: TableReview
    waiting: int
    before: int
    inside: OriginIntervals | None = None

    def __str__(self) -> str:
        return "\n".join([*self._tables(), *self._losses(), *self._proof(), *self._inside()])

    @property
    def future(self) -> int:
        """Rows that were forecast and have no outcome yet."""
        return int(np.count_nonzero(np.isnan(self.found.y) & ~np.isnan(self.mixture.forecasts)))

    def _inside(self) -> list[str]:
        return [] if self.inside is None else self.inside.lines()

    def _tables(self) -> Iterator[str]:
        mixture, keys = self.mixture, self.mixture.keys
        if self.roles.is_long:
            yield f"long table       {self.roles}"
            whose = f"{counted(len(keys.series), 'series', 'series')} so far, latest origin "
            yield f"                 {whose}{time_text(keys.clock, bool(keys.dated))}"
        else:
            yield f"late             outcomes are known {counted(keys.latest - keys.clock - 1, 'row')} later"
        how = f"weights {keys.weighing}; loss: {self.args.loss}"
        yield f"experts          {len(mixture.names)}, mixed by {self._algorithm()}, {how}"
        if self.found.left_out:
            yield f"left out         {listed(list(self.found.left_out))}: not forecasts"
        yield from (f"careful          {warning}" for warning in self.found.warnings)
        if self.before:
            yield f"resumed          {counted(self.before, 'forecast')} were learnt before"
        if mixture.joined and self.before:
            yield f"joined           {listed(mixture.joined)}: as if asleep before"
        if mixture.retired:
            yield f"retired          {listed(mixture.retired)}: not in this table, asleep from now on"
        if mixture.skipped:
            rows = counted(mixture.skipped, "row")
            yield f"skipped          {rows} of origins from before: learnt then, or too late to be forecast"
        if self.future:
            yield f"future           {counted(self.future, 'row')} without an outcome: forecast, and waiting for it"
        if self.waiting:
            yield (
                f"waiting          {counted(self.waiting, 'outcome')} after the last origin: counted here, and learnt "
                "in the model file once a later origin knows them"
            )

    def _losses(self) -> Iterator[str]:
        review, mixture = self.review, self.mixture
        yield from review.lines(mixture.names, mixture.mean_weights if review.rows else np.empty(0))
        if math.isfinite(review.each) and len(mixture.keys.series) > 1 and review.rows:
            yield f"the best of each {review.told(review.each)} (an expert for each series, seen afterwards)"

    def _proof(self) -> Iterator[str]:
        mixture = self.mixture
        if not mixture.rounds:
            return
        squares = ", in squares" if self.review.root else ""
        yield f"regret           {mixture.regret:.6g} to the best expert for all, {mixture.best.name}{squares}"
        for found in mixture.certificates:
            whom = f"fixed {found.comparator['of']}" if found.comparator["set"] == "simplex" else "expert"
            whom += found.awake
            if found.measured is not None:
                most = rounded_up(found.measured)
                yield f"                 at most {most} to any {whom}, known at every moment"
            if found.premises_hold and math.isfinite(found.promised):
                most = rounded_up(found.promised)
                yield f"                 theory promised at most {most} ({found.id}: {found.statement})"
            else:
                yield f"                 nothing was promised against any {whom}"
            yield from (f"                 because not: {p.name} ({p.observed})" for p in found.premises if not p.holds)
        if mixture.drift:
            yield f"                 of it {mixture.drift:.6g} because outcomes come late (drift, known exactly)"
        if self.args.model:
            yield f"model            {self.args.model}, {os.path.getsize(self.args.model):,} bytes"

    def _algorithm(self) -> str:
        return "auto" if self.mixture.own.chief is not None else type(self.mixture.own.lanes[0].aggregator).__name__

    def page(self) -> str:
        """The summary as a page of HTML."""
        mixture = self.mixture
        sections = [
            ("What came out", f"<pre>{escape(str(self))}</pre>"),
            ("Loss and regret over the rows", picture(mixture.plot())),
            ("The proof", proof(mixture.certificate)),
        ]
        return page(f"{self._algorithm()} on {self.args.table}", sections)

    def to_json(self) -> dict[str, Any]:
        """For `lowregret experts --json`."""
        mixture, review, keys = self.mixture, self.review, self.mixture.keys
        return {
            "algorithm": self._algorithm(),
            "layout": {role: name for role, name in zip(self.roles._fields, self.roles, strict=True) if name},
            "weights": keys.weighing,
            "series": len(keys.series),
            "rounds": mixture.rounds,
            "rows": review.rows,
            "future": self.future,
            "waiting": self.waiting,
            "skipped": mixture.skipped,
            "joined": mixture.joined if self.before else [],
            "retired": mixture.retired,
            "loss": loss_json(self.args.loss, review.own, review.rows),
            "uniform": {"loss": review.mean},
            "experts": {
                "names": mixture.names,
                "losses": review.losses.tolist(),
                "rows": review.awake.tolist(),
                "weights": mixture.mean_weights.tolist(),
            },
            "best": {"name": mixture.best.name, "loss": mixture.best.loss, "regret": mixture.regret},
            "drift": mixture.drift,
            "certificate": mixture.certificate.to_json(),
            "certificates": [c.to_json() for c in mixture.certificates],
            **({} if self.inside is None else {"coverage": self.inside.to_json()}),
            "left_out": self.found.left_out,
            "warnings": self.found.warnings,
        }
