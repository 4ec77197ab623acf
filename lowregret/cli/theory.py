"""`--eta theory`: the rate that the learner's theorem tunes, and its promise, said before the first row is learnt."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from lowregret.certificate import Tuned, tuned
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.mirror import Entropy, PNorm, UnnormalisedEntropy
from lowregret.rule import MirrorDescent
from lowregret.stream.batch import Batch
from lowregret.stream.source import expand, is_pipe
from lowregret.types import Vector


@dataclass
class Sizes:
    """Rounds, the longest row in the dual norm, labels and weights of a first look at all rows."""

    rounds: int = 0
    longest: float = 0.0
    low: float = math.inf
    high: float = -math.inf
    heaviest: float = 0.0

    def see(self, batch: Batch, p: float, bias: float) -> None:
        """Look at more rows."""
        weights = batch.weights if batch.weights.size else np.ones(len(batch))
        counted = weights > 0
        self.rounds += int(np.count_nonzero(counted))
        if not counted.any():
            return
        labels, lengths = batch.labels[counted], row_lengths(batch, p, bias)[counted]
        self.longest = max(self.longest, float(lengths.max()))
        self.low, self.high = min(self.low, float(labels.min())), max(self.high, float(labels.max()))
        self.heaviest = max(self.heaviest, float(weights[counted].max()))


def row_lengths(batch: Batch, p: float, bias: float) -> Vector:
    """‖[x, bias]‖_p of every row."""
    data, starts = np.abs(batch.rows.data), batch.rows.indptr
    full = np.diff(starts) > 0
    found = np.zeros(len(batch))
    if data.size:
        first = starts[:-1][full]
        ends = int(starts[-1])
        data = data[:ends]
        found[full] = np.maximum.reduceat(data, first)
    largest = np.maximum(found, bias)
    if p == math.inf or not data.size:
        return largest
    unit = np.where(largest > 0, largest, 1.0)  # in which no power vanishes that matters
    shares = (data / np.repeat(unit, np.diff(starts))) ** p
    total = (bias / unit) ** p
    total[full] += np.add.reduceat(shares, first)
    return np.asarray(unit * total ** (1 / p))


def tuned_learner(args: Namespace, learner: Any, batches: Iterator[Batch], dimension: int | None) -> Tuned:
    """The learner at its theorem's rate; what --rounds and --lipschitz do not say is looked up in the rows."""
    if not isinstance(learner, Linear):
        raise PartError("--eta theory tunes learners of one score: for many classes say a number")
    if args.partitions:
        raise PartError("--eta theory needs to know the rows beforehand, which --partitions change: say a number")
    rule = learner.rule
    if isinstance(rule, MirrorDescent) and isinstance(rule.mirror, UnnormalisedEntropy):
        raise PartError("THM-2.23+ tunes ueg for costs ≥ 0 alone, not for rows with labels: say --eta as a number")
    rounds, lipschitz = args.rounds, args.lipschitz
    if rounds is None or lipschitz is None:
        if any(is_pipe(path) for path in expand(args.data)):
            raise PartError(
                "--eta theory looks through the rows first, a pipe gives them once: say --rounds and --lipschitz"
            )
        seen, norm = Sizes(), _dual_exponent(learner)
        for batch in batches:
            seen.see(batch, norm, learner.bias)
        if not seen.rounds or not seen.longest:
            raise PartError("--eta theory found no row with a label and a feature that is not 0: say a number")
        rounds = rounds or seen.rounds * args.passes
        lipschitz = lipschitz or seen.heaviest * seen.longest * _steepest(learner, seen, dimension or 1)
    return tuned(learner, lipschitz=lipschitz, rounds=rounds, radius=args.radius, dimension=dimension)


def _dual_exponent(learner: Linear) -> float:
    """p of the norm that sub-gradients are measured in."""
    mirror = learner.rule.mirror if isinstance(learner.rule, MirrorDescent) else None
    return float(mirror.p) if isinstance(mirror, PNorm) else math.inf if isinstance(mirror, Entropy) else 2.0


def _steepest(learner: Linear, seen: Sizes, d: int) -> float:
    """sup |ℓ'(p, y)| over the scores that weights of the domain can give these rows, and the labels seen."""
    loss = learner.loss
    if math.isfinite(loss.lipschitz):
        return loss.lipschitz
    p = _dual_exponent(learner)
    reach = learner.rule.domain.reach(p / (p - 1) if 1 < p < math.inf else 1.0, d) * seen.longest
    if not reach < math.inf:
        raise PartError(
            f"the slopes of {type(loss).__name__} have no bound where weights have none: use ogd-lazy, ogd-eager or "
            "ogd-sqrt with --radius, or say --lipschitz"
        )
    return max(abs(loss.at(s, y)[1]) for s in (-reach, reach) for y in (seen.low, seen.high))
