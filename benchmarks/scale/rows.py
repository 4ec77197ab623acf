"""Rows that the runs of `benchmarks.scale` learn: real ones as they are or shuffled, and generated ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from benchmarks.speed import FEATURES, NONZEROS, stream
from lowregret.stream.read import detect, format_part, stream_of


class Data(NamedTuple):
    """Rows with ±1 labels."""

    name: str
    x: Any
    y: Any


def matrix(path: Path, **options: Any) -> tuple[Any, Any]:
    """All rows of a file in memory."""
    form = format_part(detect(str(path)), **options)
    found = [batch.copy() for batch in stream_of(str(path), form, 1, "stop").batches()]
    width = 1 + max(int(batch.rows.indices.max(initial=0)) for batch in found)
    parts = [
        sp.csr_matrix((b.rows.data, b.rows.indices.astype(np.int64), b.rows.indptr), (len(b), width)) for b in found
    ]
    return sp.vstack(parts, format="csr"), np.concatenate([batch.labels for batch in found])


def shuffled(data: Data, seed: int = 0) -> Data:
    """The rows in random order."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    return Data(f"{data.name}, shuffled", data.x[order], data.y[order])


def a9a(folder: Path) -> Data:
    """32,561 rows of 14 features among 123."""
    return Data("a9a", *matrix(folder / "a9a.svm.gz"))


def enron(folder: Path) -> Data:
    """33,715 e-mails of 124 words among 157,321, by sender and time, counts as ln(1 + count)."""
    x, y = matrix(folder / "enron_spam.svm.gz")
    x.data = np.log1p(x.data)
    return Data("enron_spam", x, y)


def covtype(folder: Path) -> Data:
    """581,012 rows of 54 columns in order of place, each divided by its largest value; class 2 against the rest."""
    x, y = matrix(folder / "covtype.csv.gz", target="Cover_Type")
    largest = np.maximum(abs(x).max(axis=0).toarray().ravel(), 1e-300)
    return Data("covtype", sp.csr_matrix(x.multiply(1 / largest)), np.where(y == 2, 1.0, -1.0))


def uniform(rows: int) -> Data:
    """Rows of 72 features among 47,236, all as frequent: the generated rows of the other benchmarks."""
    return Data("generated", *stream(rows, NONZEROS, FEATURES))


def zipf(rows: int, nonzeros: int = 30, features: int = 1 << 20, seed: int = 0) -> Data:
    """Rows of words: feature j is met in proportion to 1/j, and labels are drawn by a logistic rule."""
    rng = np.random.default_rng(seed)
    columns = np.minimum(np.exp(rng.random((rows, nonzeros)) * np.log(features)).astype(np.int64), features) - 1
    columns.sort(axis=1)
    x = sp.csr_matrix(
        (np.ones(rows * nonzeros, np.float32), columns.ravel(), np.arange(0, rows * nonzeros + 1, nonzeros)),
        (rows, features),
    )
    x.sum_duplicates()
    x.data[:] = 1 / np.sqrt(nonzeros)
    scores = np.asarray(x @ rng.normal(size=features)) * 3
    return Data("words", x, np.where(rng.random(rows) < 1 / (1 + np.exp(-scores)), 1.0, -1.0))
