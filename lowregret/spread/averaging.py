"""Rounds of averaging, for `auto` with the logistic loss, whose state is more than a sum.

All workers begin a round with one run, each learns rows of its own, and their runs become one again:

    θ, losses, counts           base + Σ(each − base): sums of what each has seen
    measures of features        counts, Σx and Σx² likewise
    Kalman lanes                H = 1/prior + Σ and H·w likewise: w by their precisions, as evidence adds up
    AdaGrad lanes               Σ likewise; w = base + the mean of the moves, weighed by how far each precision grew
    lanes that fade, stacks     the mean of those who moved
    trust in experts            by summed losses: ln w = base + Σ(each − base)

Σ g_t p_t + max_u⟨u, θ⟩ bounds the regret of the predictions made, whoever made them (LINEARISED). What the mixture
lost to each expert is known exactly; no theorem bounds it beforehand, for experts go back to a common state.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lowregret.auto import AutoClassifier
from lowregret.auto.bank import ADAGRAD, MEMORY, PRIORS, WIDTH
from lowregret.auto.frozen import DONE, GAP, fresh_votes
from lowregret.auto.learner import EXPERTS, LOSSES, PARTITIONS, Mind, expert_losses, settle
from lowregret.auto.learner import GAP as TRUST_GAP
from lowregret.auto.stack import STACKS
from lowregret.auto.view import COLUMNS
from lowregret.compile.memory import zeros
from lowregret.compile.simd import LANES
from lowregret.errors import PartError
from lowregret.learner.growth import FIRST, double_room
from lowregret.risk.kept_trial import Trial
from lowregret.run.averaged import Averaged, AveragedRun
from lowregret.state import DIMENSION, ENERGY, LINEAR, LONGEST, MISTAKES, ROUNDS, TOTAL, State
from lowregret.stream.places import Places
from lowregret.types import Vector

LEAST = 1e-300  # trust below which an expert is as good as lost


def require_averageable(learner: Any) -> None:
    """Refuse a learner whose state cannot be averaged."""
    if not isinstance(learner, AutoClassifier):
        raise PartError(f"{type(learner).__name__} cannot be averaged: use staleness 0, which takes any learner")
    if learner.partitions.trees:
        raise PartError(
            "random partitions are grown on the rows that one has seen, and cannot be averaged: "
            'use zoo.auto(features="raw") (--features raw), or staleness 0'
        )


def merge(base: AveragedRun, runs: Sequence[AveragedRun]) -> AveragedRun:
    """The run that has learnt what each of these runs did since they were `base`: O(d·runs)."""
    columns = base.places.columns  # type: ignore[union-attr]
    for run in runs:
        columns = np.union1d(columns, run.places.columns)  # type: ignore[union-attr]
    room = double_room(FIRST, columns.size + 1)
    before, laid = _laid(base, columns, room), [_laid(run, columns, room) for run in runs]
    state = State(
        _tables(before[0], [table for table, _ in laid]).reshape(-1), np.empty(0), base.state.sums.copy(),
        base.state.counts.copy(),
    )  # fmt: skip
    for run in runs:
        for k in (TOTAL, LINEAR, ENERGY):
            state.sums[k] += run.state.sums[k] - base.state.sums[k]
        state.sums[LONGEST] = max(state.sums[LONGEST], run.state.sums[LONGEST])
        for k in (ROUNDS, MISTAKES):
            state.counts[k] += run.state.counts[k] - base.state.counts[k]
    state.counts[DIMENSION] = room + 1
    mind = _minds(base, runs, _banks(before[1], [bank for _, bank in laid]))
    history, contests = base.record.history, base.record.contests_kept
    record = Averaged(mind, base.learner.spread, history=history, contests=contests, votes=_votes(mind))
    seen = max(run.seen or 0 for run in runs)
    how: dict[str, Any] = {"uniform": all(run.uniform for run in runs), "trial": Trial(ended=0)}
    how |= {"certify": False, "compiled": base.compiled}
    return AveragedRun(base.learner, state, base.comparator, record=record, seen=seen, places=Places(columns), **how)


def _laid(run: AveragedRun, columns: Any, room: int) -> tuple[Vector, Any]:
    """The table and the bank of a run, laid out for these columns, the bias last."""
    assert run.places is not None
    at, met = np.searchsorted(columns, run.places.columns), len(run.places)
    table, bank = np.zeros((room + 1, COLUMNS)), zeros((room + 1) * WIDTH, np.float32).reshape(room + 1, WIDTH)
    for into, cells in ((table, run.state.table), (bank, run.record.mind.bank)):
        rows = cells.reshape(-1, into.shape[1])
        into[at], into[-1] = rows[:met], rows[-1]
    return table, bank


def _tables(base: Vector, tables: list[Vector]) -> Vector:
    """θ and the counts of features as sums, their means and deviations as of all rows together."""
    found = base + sum(table - base for table in tables)
    count = found[:, 1]
    sums = [_moments(table) for table in (base, *tables)]
    first, second = (sums[0][k] + sum(each[k] - sums[0][k] for each in sums[1:]) for k in range(2))
    mean = np.divide(first, count, out=np.zeros_like(first), where=count > 0)
    deviation = np.maximum(second - count * mean * mean, 0.0)
    still = np.all([table[:, 3] == 0 for table in tables], axis=0)  # one value alone, wherever it was met
    met = [np.where(table[:, 1] > 0, table[:, 2], np.nan) for table in tables]
    low, high = np.fmin.reduce(met), np.fmax.reduce(met)
    same = still & ~(low < high)
    found[:, 2] = np.where(same & (count > 0), low, mean)
    found[:, 3] = np.where(same, 0.0, deviation)
    return found


def _moments(table: Vector) -> tuple[Vector, Vector]:
    """Σx and Σx²"""
    count, mean, deviation = table[:, 1], table[:, 2], table[:, 3]
    return count * mean, deviation + count * mean * mean


def _banks(base: Any, banks: list[Any]) -> Any:
    """The lanes' weights and sums, by their precisions."""
    found = base.copy()
    w0, s0 = base[:, :LANES].astype(float), base[:, LANES:].astype(float)
    w, s = (np.array([bank[:, k : k + LANES] for bank in banks], float) for k in (0, LANES))
    moved = (w != w0) | (s != s0)
    sums = s0 + (s - s0).sum(axis=0)
    growth = np.where(moved, np.maximum(np.sqrt(s) - np.sqrt(s0), 0.0), 0.0)
    weighed = _mean(w0, w, growth)
    evenly = _mean(w0, w, moved.astype(float)), _mean(s0, s, moved.astype(float))
    start = np.array([1e-30] * ADAGRAD + [1 / prior for prior in PRIORS])
    precise = ((s0 + start) * w0 + ((s + start) * w - (s0 + start) * w0).sum(axis=0)) / (sums + start)
    for lane in range(LANES):
        fades = MEMORY[lane] < 1.0
        found[:, lane] = (weighed if lane < ADAGRAD else evenly[0] if fades else precise)[:, lane]
        found[:, LANES + lane] = np.maximum(evenly[1] if fades else sums, 0.0)[:, lane]  # but for rounding
    return found


def _mean(base: Vector, moved: Vector, weights: Vector) -> Vector:
    """base + the mean of the moves by these weights; base where all are 0."""
    total = weights.sum(axis=0)
    far = (weights * (moved - base)).sum(axis=0)
    return base + np.divide(far, total, out=np.zeros_like(far), where=total > 0)


def _minds(base: AveragedRun, runs: Sequence[AveragedRun], bank: Any) -> Mind:
    """The bank, with paces added up, stacks averaged, and trust by summed losses."""
    before, minds = base.record.mind, [run.record.mind for run in runs]
    learnt = [mind for mind, run in zip(minds, runs, strict=True) if run.rounds > base.rounds] or minds
    pace = before.pace + sum(mind.pace - before.pace for mind in minds)
    stacks = zeros(before.stacks.size, np.float64)
    stacks[:] = np.mean([mind.stacks for mind in learnt], axis=0)
    return Mind(bank.reshape(-1), pace, stacks, _trust(before.trust, [m.trust for m in minds]), learnt[-1].past.copy())


def _trust(base: Vector, each: list[Vector]) -> Vector:
    """Trust in the experts by the losses of all."""
    found, settled = settle(base), [settle(trust) for trust in each]
    here = expert_losses(base) < math.inf
    at = np.flatnonzero(here)
    logs = np.log(np.maximum(base[at], LEAST))
    total = logs + sum(np.log(np.maximum(trust[at], LEAST)) - logs for trust in settled)
    weights = np.exp(total - total.max())
    found[at] = np.maximum(weights / weights.sum(), 1e-12)
    found[at] /= found[at].sum()
    found[LOSSES + at] += sum(trust[LOSSES + at] - found[LOSSES + at] for trust in settled)
    found[TRUST_GAP] += sum(trust[TRUST_GAP] - base[TRUST_GAP] for trust in settled)
    return found


def _votes(mind: Mind) -> Vector:
    """Votes on the kept experts by what the lanes, and the stack that looks at them alone, lost live."""
    votes, losses = fresh_votes(), expert_losses(mind.trust)
    votes[DONE : DONE + LANES + 1] = losses[: LANES + 1]
    votes[DONE + LANES + 1 : DONE + LANES + STACKS] = losses[: LANES + 1].max()
    votes[GAP] = 1.0
    assert PARTITIONS == LANES + STACKS == EXPERTS - 1
    return votes
