"""Judging rows with a model as it is: they are scored before their labels are used, counted, and not learnt."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from lowregret.compile.call import call
from lowregret.errors import DataError
from lowregret.learner.labels import ClassNames
from lowregret.learner.multiclass import judge_classes
from lowregret.learner.validate import require_weight
from lowregret.loss.name import loss_name
from lowregret.rows import WEIGHTIEST, Rows
from lowregret.run.confusion import Confusion
from lowregret.run.metrics import Metrics
from lowregret.run.scoring import Scoring
from lowregret.stream.batch import Batch
from lowregret.types import Vector

Judged: TypeAlias = Metrics | Confusion  # figures on rows: of one score, or of many classes


def no_rows(run: Scoring) -> Judged:
    """Figures of the kind that fits a run or predictor, before the first row is counted."""
    return Confusion() if run.classes is not None else Metrics(run.learner.loss)


def judge(run: Scoring, batch: Batch, weights: Vector, found: Judged) -> Vector:
    """The scores of a batch; for many classes the codes predicted, or with `keep_scores` a row of scores for each.

    Rows with a label count in `found` by their importance; no weights: all 1.
    """
    weights = weights.copy() if weights.size else np.ones(len(batch))
    for i in np.flatnonzero(~((weights >= 0) & (weights <= WEIGHTIEST))).tolist():
        require_weight(weights, i, batch.place(i))
    if run.classes is not None:
        assert isinstance(found, Confusion)
        return _judge_classes(run, run.classes, batch, weights, found)
    assert isinstance(found, Metrics)
    scores = run.decision_function(_fitted(run, batch))
    weights[[not run.learner.loss.accepts(y) for y in batch.labels.tolist()]] = 0.0
    found.see(batch.labels, weights, scores)
    return scores


def _judge_classes(run: Scoring, classes: ClassNames, batch: Batch, weights: Vector, found: Confusion) -> Any:
    scores = np.ascontiguousarray(run.decision_function(_fitted(run, batch)))
    codes = classes.encode(batch.labels, np.zeros(len(batch), bool), batch.names)
    losses, guesses, slopes = np.empty(codes.size), np.empty(codes.size, np.int64), np.empty(scores.shape[1])
    judged = run.learner.loss, slopes.size, np.maximum(codes, 0), scores, slopes, losses, guesses
    call(judge_classes, run.compiled, *judged)
    weights[np.isnan(batch.labels)] = 0.0
    found.see(len(classes), codes, guesses, weights, losses)
    return scores if run.keep_scores else guesses


def _fitted(run: Scoring, batch: Batch) -> Rows:
    """The rows, as wide as a model whose number of features was settled beforehand; refuses one that is wider."""
    rows = batch.rows
    if run.seen is not None or rows.columns == run.given_features:
        return rows
    beyond = np.flatnonzero(rows.indices >= run.given_features)
    if beyond.size:
        row = int(np.searchsorted(rows.indptr, beyond[0], "right")) - 1
        raise DataError(
            f"{batch.place(row)}: feature {int(rows.indices[beyond[0]]) + 1}, counted from 1, is beyond the model's "
            f"{run.given_features:,}: leave it out, or train with a larger --dimension"
        )
    return replace(rows, columns=run.given_features)


def loss_json(run: Scoring, total: float, mean: float | None) -> dict[str, Any]:
    """The public form of a loss: in all, and per unit of weight."""
    plain = None if mean is None else _plain(mean)
    return {"name": loss_name(run.learner.loss), "total": _plain(total), "mean": plain}


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None
