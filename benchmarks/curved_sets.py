"""The tables of numbers of `benchmarks.curved`: real ones from files, and generated ones, as dense arrays."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.auto import BINARY, CLASSES, NUMBER, svm

SHUFFLED, FILE = "shuffled", "file"
GENERATED, NOISE = 20_000, 0.05
Arrays: TypeAlias = tuple[Any, Any]  # rows, labels


@dataclass(frozen=True)
class Table:
    """Rows in an order, with labels ±1, names of classes, or numbers."""

    name: str
    order: str
    kind: str
    X: Any
    y: Any

    def first(self, rows: int) -> Table:
        """The same with its first rows only."""
        return Table(self.name, self.order, self.kind, self.X[:rows], self.y[:rows])

    @cached_property
    def digest(self) -> str:
        """A short hash of all rows and labels."""
        labels = self.y.astype("S") if self.kind == CLASSES else self.y
        return hashlib.sha256(self.X.tobytes() + labels.tobytes()).hexdigest()[:12]

    def loss(self, made: Any, labels: Any) -> float:
        """Mean square error, or the share of errors."""
        return float(np.mean((made - labels) ** 2) if self.kind == NUMBER else np.mean(made != labels))


def frame(path: Path) -> Any:
    """A CSV file as a pandas table."""
    import pandas

    with gzip.open(path) as file:
        return pandas.read_csv(file)


def elec2(path: Path) -> Arrays:
    """New South Wales electricity: price up or down."""
    table = frame(path)
    return table.iloc[:, :-1].to_numpy(float), np.where(table["class"] == "UP", 1.0, -1.0)


def covtype_2(path: Path) -> Arrays:
    """Forest cover: class 2 against the rest."""
    table = frame(path)
    return table.iloc[:, :-1].to_numpy(float), np.where(table["Cover_Type"] == 2, 1.0, -1.0)


def covtype_7(path: Path) -> Arrays:
    """Forest cover: seven classes."""
    table = frame(path)
    return table.iloc[:, :-1].to_numpy(float), table["Cover_Type"].to_numpy(int).astype(str)


def letter(path: Path) -> Arrays:
    """Letters by 16 measures of their image."""
    table = frame(path)
    return table.iloc[:, 1:].to_numpy(float), table["letter"].to_numpy(str)


def ocr_letters(path: Path) -> Arrays:
    """Handwritten letters by 128 pixels."""
    import pandas

    with gzip.open(path) as file:
        table = pandas.read_csv(file, dtype=str, keep_default_na=False)
    pixels = np.array([list(image) for image in table["pixels"]], dtype=float)
    return pixels, table["letter"].to_numpy(str)


def cal_housing(path: Path) -> Arrays:
    """House values of California's census blocks."""
    table = frame(path)
    return table.iloc[:, :-1].to_numpy(float), table.iloc[:, -1].to_numpy(float)


def nycflights13(path: Path) -> Arrays:
    """Delays at arrival by what is known before departure, without categories of many values."""
    import pandas

    table = frame(path)
    table = table[table["arr_delay"].notna()]
    numbers = table[["month", "day", "sched_dep_time", "sched_arr_time", "distance"]].to_numpy(float)
    names = pandas.get_dummies(table[["carrier", "origin"]]).to_numpy(float)
    return np.hstack((numbers, names)), table["arr_delay"].to_numpy(float)


def a9a(path: Path) -> Arrays:
    """Census income by 123 indicators, dense."""
    rows = list(svm(path))
    X = np.zeros((len(rows), 123))
    for i, (_, features) in enumerate(rows):
        X[i, [j - 1 for j in features]] = list(features.values())
    return X, np.array([label for label, _ in rows])


def flipped(rng: np.random.Generator, positive: Any) -> Any:
    """Labels ±1 of which one in twenty is wrong."""
    return np.where(positive ^ (rng.random(len(positive)) < NOISE), 1.0, -1.0)


def xor() -> Arrays:
    """Whether exactly one of two columns of eight is above a half."""
    rng = np.random.default_rng(1)
    X = rng.random((GENERATED, 8))
    return X, flipped(rng, (X[:, 2] > 0.5) ^ (X[:, 5] > 0.5))


def checkerboard() -> Arrays:
    """The colour of a field of a 4 × 4 board in two columns of six."""
    X = np.random.default_rng(2).random((GENERATED, 6))
    fields = (4 * X[:, [1, 4]]).astype(int).sum(axis=1)
    return X, np.where(fields % 2, 1.0, -1.0)


def friedman() -> Arrays:
    """Friedman's first function of five columns of ten, with noise of variance 1."""
    rng = np.random.default_rng(3)
    X = rng.random((GENERATED, 10))
    curve = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return X, curve + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=GENERATED)


def hyperplane() -> Arrays:
    """The side of a hyperplane in ten columns that makes half a turn from the first row to the last."""
    rng = np.random.default_rng(4)
    X = rng.random((GENERATED, 10))
    plane = np.linalg.qr(rng.normal(size=(10, 2)))[0]
    across = (X - 0.5) @ plane
    angle = np.linspace(0, np.pi, GENERATED)
    return X, flipped(rng, across[:, 0] * np.cos(angle) + across[:, 1] * np.sin(angle) > 0)


FILES: dict[str, tuple[str, str, Callable[[Path], Arrays]]] = {
    "elec2": ("elec2.csv.gz", BINARY, elec2),
    "covtype-2": ("covtype.csv.gz", BINARY, covtype_2),
    "covtype-7": ("covtype.csv.gz", CLASSES, covtype_7),
    "letter": ("letter.csv.gz", CLASSES, letter),
    "cal_housing": ("cal_housing.csv.gz", NUMBER, cal_housing),
    "nycflights13": ("nycflights13.csv.gz", NUMBER, nycflights13),
    "a9a": ("a9a.svm.gz", BINARY, a9a),
    "ocr_letters": ("ocr_letters.csv.gz", CLASSES, ocr_letters),
}
MADE: dict[str, tuple[str, Callable[[], Arrays]]] = {
    "xor": (BINARY, xor),
    "checkerboard": (BINARY, checkerboard),
    "friedman": (NUMBER, friedman),
    "hyperplane": (BINARY, hyperplane),
}
NAMES = (*FILES, *MADE)


def orders(name: str) -> tuple[str, ...]:
    """The orders in which a set is learnt: generated rows that do not drift have one."""
    return (SHUFFLED,) if name in MADE and name != "hyperplane" else (SHUFFLED, FILE)


def read(name: str, order: str, rows: int, data: Path) -> Table:
    """At most so many rows of a set: its first, or random ones."""
    if name in MADE:
        kind, make = MADE[name]
        X, y = make()
    else:
        file, kind, reader = FILES[name]
        X, y = reader(data / file)
    chosen = np.random.RandomState(0).permutation(len(y)) if order == SHUFFLED else np.arange(len(y))
    return Table(name, order, kind, np.ascontiguousarray(X[chosen[:rows]]), y[chosen[:rows]])
