"""Who is compared in `benchmarks.curved`: `auto`, boosted trees retrained at doublings, and River's forests."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import lowregret
from benchmarks.auto import BINARY, CLASSES, NUMBER
from benchmarks.curved_sets import Table
from lowregret import Logistic, Softmax, Square, train, zoo

FIRST = 64  # rows before boosted trees are fitted the first time
TURNS = 3  # the least disturbed of which is the time of `auto`


@dataclass(frozen=True)
class Figures:
    """Losses of a peer on a table, live and kept, and the processor's time for learning it live."""

    live: float
    kept: float
    seconds: float


def cut(table: Table) -> int:
    """How many rows the kept model learns."""
    return len(table.y) * 7 // 10


def learner(kind: str, features: str) -> Any:
    """`auto` for labels of a kind, on raw features ("raw") or on what it chooses by itself ("auto")."""
    loss: Any = {BINARY: Logistic(), NUMBER: Square(), CLASSES: Softmax()}[kind]
    return zoo.auto(loss)


def timed(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a call returns, and the processor's time for it, the shortest of several."""
    times: list[float] = []
    for _ in range(TURNS):
        begin = time.process_time()
        result = call()
        times.append(time.process_time() - begin)
    return result, min(times)


def ours(features: str) -> Callable[[Table], Figures]:
    """What `auto` does on a table."""

    def figures(table: Table) -> Figures:
        n = cut(table)
        kept: Any = train(learner(table.kind, features), table.X[:n], table.y[:n])
        made = kept.predict(table.X[n:])
        run, seconds = timed(lambda: train(learner(table.kind, features), table.X, table.y))
        live = run.mean_loss if table.kind == NUMBER else run.error
        return Figures(float(live), table.loss(made, table.y[n:]), seconds)

    return figures


def lightgbm(kind: str) -> Any:
    """LightGBM by default."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    return (LGBMRegressor if kind == NUMBER else LGBMClassifier)(n_jobs=1, verbose=-1, random_state=0)


def histogram(kind: str) -> Any:
    """Histogram gradient boosting of scikit-learn by default."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    return (HistGradientBoostingRegressor if kind == NUMBER else HistGradientBoostingClassifier)(random_state=0)


def constant(kind: str, labels: Any) -> Any:
    """The mean, or the most frequent label."""
    if kind == NUMBER:
        return labels.mean()
    names, counts = np.unique(labels, return_counts=True)
    return names[counts.argmax()]


@dataclass
class Fits:
    """Models fitted so far and the time each took, so that none is fitted twice to the same rows."""

    make: Callable[[str], Any]
    known: dict[str, tuple[Any, float]] = field(default_factory=dict)

    def predict(self, table: Table, learnt: int, asked: slice) -> tuple[Any, float]:
        """Predictions by the first rows, constant as long as these have one class, and the processor's time."""
        seen = table.first(learnt)
        if table.kind != NUMBER and len(np.unique(seen.y)) == 1:
            return np.repeat(seen.y[:1], len(table.y[asked])), 0.0
        if seen.digest not in self.known:
            begin = time.process_time()
            model = self.make(table.kind).fit(seen.X, seen.y)
            self.known[seen.digest] = model, time.process_time() - begin
        model, took = self.known[seen.digest]
        begin = time.process_time()
        return model.predict(table.X[asked]), took + time.process_time() - begin


def boosted(make: Callable[[str], Any]) -> Callable[[Table], Figures]:
    """What boosted trees do on a table if they are retrained at each doubling of its rows."""
    fits = Fits(make)

    def figures(table: Table) -> Figures:
        from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

        rows, n, made, seconds = len(table.y), cut(table), np.zeros_like(table.y), 0.0
        for i in range(1, min(FIRST, rows)):
            made[i] = constant(table.kind, table.y[:i])
        with threadpool_limits(1):
            learnt = FIRST
            while learnt < rows:
                asked = slice(learnt, 2 * learnt)
                made[asked], took = fits.predict(table, learnt, asked)
                seconds += took
                learnt *= 2
            kept, _ = fits.predict(table, n, slice(n, None))
        return Figures(table.loss(made, table.y), table.loss(kept, table.y[n:]), seconds)

    return figures


def adaptive(kind: str) -> Any:
    """River's adaptive random forest of ten trees, on standardised features."""
    from river import forest, preprocessing

    make = forest.ARFRegressor if kind == NUMBER else forest.ARFClassifier
    return preprocessing.StandardScaler() | make(n_models=10, seed=0)


def mondrian(kind: str) -> Any:
    """River's aggregated Mondrian forest by default, on standardised features."""
    from river import forest, preprocessing

    make = forest.AMFRegressor if kind == NUMBER else forest.AMFClassifier
    return preprocessing.StandardScaler() | make(seed=0)


def streamed(make: Callable[[str], Any]) -> Callable[[Table], Figures]:
    """What a forest of River does on a table; its kept figure is that of the forest as it stands at the cut."""

    def figures(table: Table) -> Figures:
        n, model = cut(table), make(table.kind)
        rows = [dict(enumerate(row)) for row in table.X.tolist()]
        labels, live, kept, seconds = table.y.tolist(), [], [], 0.0
        for i, (row, label) in enumerate(zip(rows, labels, strict=True)):
            if i == n:
                kept = [model.predict_one(later) for later in rows[n:]]
            begin = time.process_time()
            live.append(model.predict_one(row))
            model.learn_one(row, label)
            seconds += time.process_time() - begin
        return Figures(lost(table, live, labels), lost(table, kept, labels[n:]), seconds)

    return figures


def lost(table: Table, made: list[Any], labels: list[Any]) -> float:
    """Mean square error, where no answer is 0, or the share of errors, where it is one."""
    if table.kind == NUMBER:
        return table.loss(np.array([guess or 0.0 for guess in made]), np.array(labels))
    return float(np.mean([guess != label for guess, label in zip(made, labels, strict=True)]))


def source() -> str:
    """A hash of this library's code."""
    files = sorted(Path(lowregret.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]


@dataclass(frozen=True)
class Peer:
    """A column of the tables."""

    name: str
    package: str
    figures: Callable[[Table], Figures]
    forest: bool = False
    setting: str = "default"  # to be changed with what this module gives to the package

    @property
    def version(self) -> str:
        """The version by which a figure was made."""
        code = source() if self.package == "lowregret" else version(self.package)
        return f"{self.package} {code} {self.setting}"


PEERS = {
    "auto": Peer("auto", "lowregret", ours("auto")),
    "auto-raw": Peer("auto raw", "lowregret", ours("raw")),
    "lightgbm": Peer("LightGBM", "lightgbm", boosted(lightgbm)),
    "hgb": Peer("HGB", "scikit-learn", boosted(histogram)),
    "arf": Peer("River ARF", "river", streamed(adaptive), True, "scaled"),
    "amf": Peer("River AMF", "river", streamed(mondrian), True, "scaled"),
}
