"""Many classes on real data: the three nested numbers against a choice that is good in hindsight."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.domain import Box
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import MultiHinge, MultiLoss, Softmax
from lowregret.rows import Sparse
from lowregret.rule import AdaGrad
from lowregret.run.begin import begin
from lowregret.run.multiclass import MulticlassRun
from lowregret.stream.read import read

Find = Callable[[str], Path]
ROWS = 3000


def first_rows(path: Path, **options: Any) -> tuple[Sparse, Any]:
    """The beginning of a file: features, and labels by number."""
    lengths, indices, data, labels, columns = [], [], [], [], 0
    for batch in read(str(path), **options).batches():
        rows, names = batch.rows, batch.names or {}
        lengths.append(np.diff(rows.indptr))
        indices.append(rows.indices[: rows.indptr[-1]].copy())
        data.append(rows.data[: rows.indptr[-1]].copy())
        labels += [str(names.get(y, y)) for y in batch.labels.tolist()]
        columns = max(columns, rows.columns)
        if len(labels) >= ROWS:
            break
    indptr = np.append(0, np.cumsum(np.concatenate(lengths)[:ROWS]))
    x = Sparse(indptr, np.concatenate(indices)[: indptr[-1]], np.concatenate(data)[: indptr[-1]], columns)
    return x, np.array(labels[:ROWS])


def pixels(path: Path) -> tuple[Sparse, Any]:
    """Handwritten letters, an image of 128 pixels each."""
    with gzip.open(path, "rt") as file:
        found = list(itertools.islice(csv.DictReader(file), ROWS))
    image = np.array([[float(pixel) for pixel in row["pixels"]] for row in found])
    at = np.nonzero(image)
    starts = np.searchsorted(at[0], np.arange(ROWS + 1))
    return Sparse(starts, at[1].astype(np.uint32), image[at], 128), np.array([row["letter"] for row in found])


def hindsight_regret(loss: MultiLoss, x: Sparse, y: Any, run: MulticlassRun) -> float:
    """The regret against the best of some choices in the unit box, which several passes found."""
    best = begin(Multiclass(loss, AdaGrad(0.5)), x.columns, run.classes.names)
    for _ in range(4):
        best.learn(x, y)
    w = best.weights / max(1.0, float(np.max(np.abs(best.weights))))
    return max(run.regret(scale * w, x, y) for scale in (1.0, 0.3, 0.1, 0.03, 0.01, 0.0))


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("name", "loss", "rows"),
    [
        ("news20_train.svm.gz", Softmax(), first_rows),
        ("letter.csv.gz", Softmax(), partial(first_rows, target="letter", bits=8, classes=True)),
        ("covtype.csv.gz", MultiHinge(), partial(first_rows, target="Cover_Type", bits=10, classes=True)),
        ("ocr_letters.csv.gz", MultiHinge(), pixels),
    ],
    ids=["news20", "letter", "covtype", "ocr"],
)
def test_nested_numbers_on_real_rows(
    name: str, loss: MultiLoss, rows: Callable[[Path], tuple[Sparse, Any]], data_file: Find
) -> None:
    x, y = rows(data_file(name))
    run = begin(Multiclass(loss, AdaGrad(0.5)), x.columns, comparator=Box(-1.0, 1.0)).learn(x, y)
    regret, linear = hindsight_regret(loss, x, y, run), run.linear_regret()
    assert regret <= linear * (1 + 1e-9)
    assert run.certificate.holds
    assert run.error is not None
    assert run.error < run.confusion.commonest[1]
    if name != "covtype.csv.gz":  # whose columns are large and drift: the last weights suit the last rows
        assert run.regret(np.zeros_like(run.weights), x, y) < regret
        assert np.mean(run.predict(x) == y) > 1 - run.confusion.commonest[1]
