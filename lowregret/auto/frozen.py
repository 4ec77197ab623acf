"""The model that `auto` keeps: the means of its lanes over the run and its three stacks, mixed by how they did frozen.

Live, a lane that follows every turn is best; kept, it is a lane of the last turn only. So what is kept are eleven other
experts: the mean of each lane's weights over the run (Polyak & Juditsky, 1992), taken at the ends of eras; the two
steadier stacks, which look at the lanes as they are but not at labels before the row, which `predict` does not have;
and a stack of the means, which learns from the rows that a frozen model is judged by; and if an expert joined (see
`learner.py`), what it keeps itself. Until features were seen often
enough for means to cost little, the lanes as they are stand in for them.

They are weighed by AdaHedge over what each lost *while frozen* (see `risk/kept_trial.py`): a round of it is all that is
judged between two freezes, and the weights of a frozen model stay what they were when it was frozen. So

    Σ⟨v, ℓ⟩ ≤ min_k L_k + 2Δ        (MIX-ADAHEDGE, de Rooij, van Erven, Grünwald & Koolen, JMLR 2014)

and the loss of the mixture, convex in its experts, is at most Σ⟨v, ℓ⟩. Numbers are judged by the square loss, classes
by (1 − chance of the label)², which is convex and bounded: one row on which a frozen expert was much too sure of
itself, as any is where the world turns, does not decide.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from lowregret.auto.bank import LANE_NAMES, lane_scores
from lowregret.auto.learner import EXPERTS, NAMES, PARTITIONS, TRUST, WEIGHTS, Auto, Workspace
from lowregret.auto.stack import INPUTS, SIZE, STACK_NAMES
from lowregret.auto.view import COLUMNS, COUNT, look
from lowregret.compile.kernel import kernel
from lowregret.compile.memory import prefetch, zeros
from lowregret.compile.simd import LANES, load, store
from lowregret.rows import Rows
from lowregret.types import Cells, Vector

KEPT_NAMES = (*(f"mean-of-{name}" for name in LANE_NAMES), *STACK_NAMES[:-1], "stack-of-means", NAMES[PARTITIONS])
OFTEN = 32  # entries a feature that means are taken after, so that they cost a few per cent

# ---- votes[…]: of the kept experts -----------------------------------------------------------------------------------
DONE, NOW = 0, EXPERTS  # losses up to the last freeze, ∞ of one that has not joined, and since
GAP, MIXED, OWN = (
    2 * EXPERTS,
    2 * EXPERTS + 1,
    2 * EXPERTS + 2,
)  # Δ and Σ⟨v, ℓ⟩ up to the last freeze; the mixture's loss
VOTES = OWN + 1


def fresh_votes() -> Vector:
    """The votes before anything was judged."""
    votes = np.zeros(VOTES)
    votes[DONE + PARTITIONS] = math.inf
    return votes


class Frozen(NamedTuple):
    """A model as `predict` uses it. The mind's bank may hold weights alone, eight a place; its trust is in the kept."""

    measures: Cells  # of features, see `view.py`
    average: Cells  # of the lanes' weights, eight a place; empty before the first mean is taken
    mind: Any

    @classmethod
    def fresh(cls, measures: Any, mind: Any, lots: int = 1) -> Frozen:
        """A kept model with the room of a live one; zeros take no memory before they are written to."""
        places, known = measures.size // COLUMNS, zeros(measures.size, np.float64)
        copies = {name: np.zeros_like(array) for name, array in mind._asdict().items() if array is not measures}
        copies["bank"] = zeros(places * lots * LANES, np.float32)
        if "measures" not in copies and "measures" in mind._fields:
            copies["measures"] = known
        return cls(known, np.empty(0, np.float32), mind._replace(**copies))


@kernel
def blend(measures: Cells, source: Cells, into: Cells, lots: int, share: float) -> None:
    """into += share·(weights − into) for the lanes of every feature that occurred, and the bias: O(d)."""
    places = np.uint64(measures.size) // np.uint64(COLUMNS)
    cells = places * np.uint64(lots)
    width, narrow = np.uint64(source.size) // cells, np.uint64(into.size) // cells
    for j in range(places):
        if measures[j * np.uint64(COLUMNS) + COUNT] > 0.0 or j + np.uint64(1) == places:
            for lot in range(np.uint64(lots)):
                at = j * np.uint64(lots) + lot
                w = load(source, at * width)
                if share < 1.0:
                    before = load(into, at * narrow)
                    w = before + (w - before) * np.float32(share)
                store(into, at * narrow, w)


@kernel
def copy_measures(measures: Cells, into: Cells) -> None:
    """Copy what is known of every feature that occurred: O(d)."""
    for first in range(np.uint64(0), np.uint64(measures.size), np.uint64(COLUMNS)):
        if measures[first + COUNT] > 0.0:
            for k in range(first, first + np.uint64(COLUMNS)):
                into[k] = measures[k]


def foretell(learner: Auto, model: Frozen, work: Workspace, x: Rows, i: int, beside: Vector, n: int) -> float:
    """The score of row i, which was looked at: O(nnz). If an expert joined, it gave the row the n-th score beside."""
    places, bank = np.uint64(model.measures.size) // np.uint64(COLUMNS), model.mind.bank
    at = (1, 0, places - np.uint64(1))
    still = slow = 0.0
    for turn in range(2 if model.average.size > 0 else 1):  # by the lanes as they are, then by their means
        if turn == 1:
            bank, still, slow = model.average, work.experts[LANES], work.experts[LANES + 1]
        width = np.uint64(bank.size) // places
        store(work.lanes, np.uint64(0), lane_scores(bank, x, i, work.sheet, at, width))
        learner.listen(model.mind, work, False)
        if turn == 1:
            work.experts[LANES], work.experts[LANES + 1] = still, slow
    if beside.size > 0:
        learner.heed(model.mind, work, beside[n])
    return learner.mix(model.mind, work)


def ask_ahead(model: Frozen, x: Rows, i: int) -> None:
    """Ask for what will be needed of row i: frozen models are read now and then only, so nothing of them is near."""
    places = np.uint64(model.measures.size) // np.uint64(COLUMNS)
    width = np.uint64(model.mind.bank.size) // places
    for k in range(x.begin(i), x.end(i)):
        j = np.uint64(x.column(i, k))
        prefetch(model.measures, j * np.uint64(COLUMNS))
        prefetch(model.mind.bank, j * width)
        if model.average.size > 0:
            prefetch(model.average, j * np.uint64(LANES))


@kernel
def foretell_rows(
    learner: Auto,
    model: Frozen,
    work: Workspace,
    x: Rows,
    picked: Any,
    y: Vector,
    weights: Vector,
    beside: Vector,
    scores: Vector,
    votes: Vector,
    stack: Cells,
    priors: Any,
) -> None:
    """Score the picked rows by a model that learns nothing; if they have labels, count what its experts lost.

    The stack that learns is not the frozen model's: it will be the next one's.
    """
    for n in range(picked.size):
        i = picked[n]
        ask_ahead(model, x, picked[min(n + 1, picked.size - 1)])
        scores[n] = math.nan
        if look(model.measures, model.mind.pace, x, i, work.sheet):
            scores[n] = foretell(learner, model, work, x, i, beside, n)
            if y.size > 0:
                votes[OWN] += weights[n] * learner.weighed(scores[n], y[n])
                for k in range(EXPERTS):
                    if votes[DONE + k] < math.inf:
                        votes[NOW + k] += weights[n] * learner.lost(model.mind, work, k, y[n])
                learner.teach(stack, model.mind, work, y[n], min(weights[n], 1.0), priors)


def kept_priors(variance: float) -> Any:
    """Variances of the stack of means, which knows no label before the row."""
    return np.array([[variance] * (LANES + 1) + [0.0] * (INPUTS - LANES - 1)])


def kept_stacks(stacks: Vector, means: Vector) -> Vector:
    """The stacks of a kept model: the two steadier ones of the live model, and that of the means."""
    return np.concatenate([stacks[: 2 * SIZE], means])


def trust_in(weights: Vector) -> Vector:
    """Trust in these experts, with nothing else in it."""
    trust = np.zeros(TRUST)
    trust[WEIGHTS : WEIGHTS + EXPERTS] = weights
    return trust


def met(measures: Vector) -> tuple[int, int]:
    """How many features occurred, and how often all of them together: O(d)."""
    counts = measures[int(COUNT) :: COLUMNS]
    return int(np.count_nonzero(counts)), int(counts.sum())


def joined_votes(votes: Vector, alone: bool) -> Vector:
    """The votes with one more expert, which lost what the mixture did up to the last freeze: see docs/auto.md."""
    votes = votes.copy()
    votes[DONE + PARTITIONS], votes[NOW + PARTITIONS] = votes[MIXED], 0.0
    votes[GAP] *= math.log(EXPERTS) / math.log(PARTITIONS)
    if alone:
        votes[DONE : DONE + PARTITIONS], votes[NOW : NOW + PARTITIONS], votes[GAP] = math.inf, 0.0, 0.0
    return votes


def left_votes(votes: Vector) -> Vector:
    """The votes without the expert that joined; if it was the only one, the others come back."""
    votes = close_round(votes)
    votes[DONE + PARTITIONS] = math.inf
    if not np.isfinite(votes[DONE:NOW]).any():
        votes[DONE : DONE + PARTITIONS] = votes[MIXED]
    return votes


def hedge_weights(votes: Vector) -> Vector:
    """The weights by all losses so far, e^{−ηL} with η = ln N/Δ; with η = ∞, the best share all."""
    losses, gap = votes[DONE:NOW] + votes[NOW:GAP], close_round(votes)[GAP]
    return _weights(losses, gap)


def _weights(losses: Vector, gap: float) -> Vector:
    behind = losses - losses.min()
    w = np.where(behind == 0, 1.0, 0.0) if gap <= 0 else _faded(behind, _rate(losses, gap))
    return w / w.sum()


def _rate(losses: Vector, gap: float) -> float:
    """η = ln N/Δ"""
    return math.log(max(int(np.isfinite(losses).sum()), 2)) / float(gap)


def _surplus(losses: Vector, eta: float) -> float:
    """ln Σ e^{−η(L − min L)}/η, which is at least 0."""
    return math.log(float(_faded(losses - losses.min(), eta).sum())) / eta


def _faded(behind: Vector, eta: float) -> Vector:
    """e^{−η·behind}; if η exceeds all numbers, nothing is left of whoever is behind."""
    with np.errstate(over="ignore"):
        return np.exp(-eta * behind) if eta < math.inf else np.where(behind == 0, 1.0, 0.0)


def close_round(votes: Vector) -> Vector:
    """The votes after a round of AdaHedge, on what was lost since the last freeze."""
    votes = votes.copy()
    done, now, gap = votes[DONE:NOW].copy(), votes[NOW:GAP], float(votes[GAP])
    w = _weights(done, gap)
    mixed, least = float(w @ now), float((done + now).min() - done.min())
    mix = least
    if gap > 0:
        eta, here = _rate(done, gap), done < math.inf
        lowest = now[here].min()
        left = float(w[here] @ _faded(now[here] - lowest, eta))
        mix = (
            float(lowest - math.log(left) / eta)
            if left > 0
            else least - _surplus(done + now, eta) + _surplus(done, eta)
        )
    votes[GAP] += max(mixed - mix, 0.0)
    votes[MIXED] += mixed
    votes[DONE:NOW] += now
    votes[NOW:GAP] = 0.0
    return votes
