"""Counted of several workers as one: what each counted of its own rows, added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from lowregret.loss.verify import MetScores
from lowregret.risk import statistics as tallied
from lowregret.risk.statistics import Tally
from lowregret.run import metrics as measured
from lowregret.run.metrics import Metrics
from lowregret.run.session import Session
from lowregret.stream.names import Met
from lowregret.types import Vector


class Counted(NamedTuple):
    """Figures of some rows, as one worker or several counted them."""

    metrics: Metrics
    tally: Tally
    uniform: bool = True  # all weights were 1
    met: MetScores | None = None
    shown: Met | None = None  # names of labels and columns; None before the first row
    rows: int = 0  # read
    nonzeros: int = 0
    unlabelled: int = 0
    skipped: int = 0  # lines that could not be read
    seconds: float = 0.0  # of learning, over all workers

    @classmethod
    def none(cls, loss: Any, met: MetScores | None = None) -> Counted:
        """Those of no rows."""
        return cls(Metrics(loss), Tally(loss.classifies), met=met)


def counted_of(session: Session) -> Counted:
    """The figures of a session."""
    run = session.run
    assert isinstance(session.metrics, Metrics)
    rows = session.rows, session.nonzeros, session.unlabelled, session.skipped, session.seconds
    return Counted(session.metrics, run.tally, run.uniform, run.met, session.met if session.rows else None, *rows)


def session_of(run: Any, before: Session, counted: Counted) -> Session:
    """A session of a run put together, on from the one before, with these figures."""
    session = Session(run, before.form, before.algorithm)
    session.metrics, session.met = counted.metrics, counted.shown or before.met
    session.rows, session.nonzeros, session.unlabelled, session.skipped, session.seconds = counted[5:]
    return session


def joined(first: Counted, *others: Counted) -> Counted:
    """The figures of all rows. Counts are exact, sums are to rounding, in whatever order rows were learnt."""
    found = first
    for other in others:
        sums: list[Any] = [mine + theirs for mine, theirs in zip(found[5:], other[5:], strict=True)]
        met = found.met if other.met is None or found.met is None else _wider(found.met, other.met)
        found = Counted(
            add_metrics(found.metrics, other.metrics),
            add_tallies(found.tally, other.tally),
            found.uniform and other.uniform,
            met,
            joined_names(found.shown, other.shown),
            *sums,
        )
    return found


def joined_names(*each: Met | None) -> Met | None:
    """The names that any of these met; columns are idle that none of them met."""
    met = [one for one in each if one is not None]
    if not met:
        return None
    found = Met()
    for one in met:
        found.join(one)
    found.idle = tuple(name for name in found.idle if all(name in one.idle for one in met))
    return found


def _wider(one: MetScores, other: MetScores) -> MetScores:
    """Where a loss was put to the test by either."""
    return one.wider((other.low, other.high), other.labels, other.longest)


def add_metrics(one: Metrics, other: Metrics) -> Metrics:
    """Metrics of the rows of both; means and spreads of labels as of all rows together."""
    sums = one.sums + other.sums
    a, b = (float(found.sums[measured.WEIGHT]) for found in (one, other))
    if a + b > 0:
        apart = float(other.sums[measured.LABEL] - one.sums[measured.LABEL])
        sums[measured.LABEL] = one.sums[measured.LABEL] + apart * (b / (a + b))
        spread = apart * apart * (a * (b / (a + b)))
        sums[measured.LABEL_SPREAD] += max(spread, measured.LEAST) if a and b and apart else 0.0
    found = Metrics(one.loss, sums)
    found.bins, found.unlike = one.bins + other.bins, one.unlike or other.unlike
    return found


def add_tallies(one: Tally, other: Tally) -> Tally:
    """Rounds, mistakes and weights of both; nothing that hangs on the order of rows, for they had none."""
    found = Tally(one.classifies)
    for k in (tallied.ROUNDS, tallied.MISTAKES):
        found.counts[k] = one.counts[k] + other.counts[k]
    found.counts[tallied.MARKED_MISTAKES] = found.counts[tallied.MISTAKES]
    found.counts[tallied.UNLIKE] = max(one.counts[tallied.UNLIKE], other.counts[tallied.UNLIKE])
    found.counts[tallied.AGAIN] = one.repeated or other.repeated
    for k in (tallied.WEIGHT, tallied.WRONG):
        found.sums[k] = one.sums[k] + other.sums[k]
    return found


def total_norms(norms: Sequence[Vector]) -> Vector:
    """‖θ‖₂, ‖θ‖₁, ‖θ‖_∞ and max θ of all servers together."""
    found = np.array(norms)
    return np.array([np.linalg.norm(found[:, 0]), found[:, 1].sum(), found[:, 2].max(), found[:, 3].max()])
