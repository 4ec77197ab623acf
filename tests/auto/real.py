"""Beginnings of real sets: sparse rows, labels, and the loss that fits them."""

from __future__ import annotations

import csv
import gzip
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_svmlight_file

from lowregret.loss import Logistic, Softmax, Square

Find = Callable[[str], Path]


class Problem(NamedTuple):
    """Rows in their order."""

    x: csr_array
    y: Any
    loss: Logistic | Square | Softmax


def svm(path: Path, rows: int, loss: Logistic | Softmax) -> Problem:
    x, y = load_svmlight_file(str(path))
    x = x[:rows]
    small = csr_array((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)  # as tables have
    return Problem(small, y[:rows] if isinstance(loss, Logistic) else y[:rows].astype(int), loss)


def table(path: Path, rows: int, label: int, loss: Logistic | Square | Softmax, positive: str = "") -> Problem:
    """A CSV file; `label` is the place of the label's column."""
    with gzip.open(path, "rt", newline="") as lines:
        cells = [list(row.values()) for row in itertools.islice(csv.DictReader(lines), rows)]
    labels = np.array([row.pop(label) for row in cells])
    x = csr_array(np.array(cells, float))
    if isinstance(loss, Logistic):
        return Problem(x, np.where(labels == positive, 1.0, -1.0), loss)
    return Problem(x, labels.astype(float) if isinstance(loss, Square) else labels, loss)


def pixels(path: Path, rows: int) -> Problem:
    """Handwritten letters, an image of 128 pixels each."""
    with gzip.open(path, "rt") as lines:
        found = list(itertools.islice(csv.DictReader(lines), rows))
    x = csr_array(np.array([[float(pixel) for pixel in row["pixels"]] for row in found]))
    return Problem(x, np.array([row["letter"] for row in found]), Softmax())


PROBLEMS: dict[str, Callable[[Find], Problem]] = {
    "a9a": lambda find: svm(find("a9a.svm.gz"), 16_000, Logistic()),
    "farm_ads": lambda find: svm(find("farm_ads.svm.gz"), 4_143, Logistic()),
    "elec2": lambda find: table(find("elec2.csv.gz"), 45_312, -1, Logistic(), "UP"),
    "covtype": lambda find: table(find("covtype.csv.gz"), 12_000, -1, Logistic(), "2"),
    "cal_housing": lambda find: table(find("cal_housing.csv.gz"), 20_640, -1, Square()),
    "letter": lambda find: table(find("letter.csv.gz"), 4_000, 0, Softmax()),
    "news20": lambda find: svm(find("news20_train.svm.gz"), 1_200, Softmax()),
    "ocr_letters": lambda find: pixels(find("ocr_letters.csv.gz"), 4_000),
}
