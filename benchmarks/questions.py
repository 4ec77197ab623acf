"""All that can be asked of what a model file holds, and told, beside what the examples go on with."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from lowregret.run.scoring import Scoring

X = np.round(np.cos(np.arange(180.0) ** 2).reshape(60, 3), 6)
WIDE = sp.csr_array((np.ones(1200), (np.arange(1200) % 2, 7 * np.arange(1200))), shape=(2, 8400))
LATER = ("contents", "to_file", "end_trial", "plot", "deliver")  # of the methods without arguments

Question = tuple[str, Callable[[], Any]]


def questions(thing: Any) -> Iterator[Question]:
    """Every property, every method that needs no argument, and rows to be judged and learnt where there are such."""
    kind = type(thing)
    for name in dir(kind):
        found = inspect.getattr_static(kind, name)
        if name.startswith("_") or name in LATER:
            continue
        if isinstance(found, property):
            yield name, partial(getattr, thing, name)
        elif inspect.isfunction(found) and not _needed(found):
            yield name, getattr(thing, name)
    if hasattr(kind, "certificates"):
        yield "certificates", lambda: [found.to_json() for found in thing.certificates]
    if isinstance(thing, Scoring):
        yield from _judged(thing)
        if hasattr(thing, "learn"):
            yield from _learnt(thing)
    if hasattr(thing, "plot"):
        yield "plot", lambda: _plotted(thing)
    if hasattr(thing, "deliver"):
        yield "deliver", thing.deliver


def _needed(method: Any) -> list[str]:
    """The arguments that a method must be given."""
    given = list(inspect.signature(method).parameters.values())[1:]
    return [
        one.name for one in given if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


def _judged(thing: Any) -> Iterator[Question]:
    """Rows that a model is asked about."""
    rows = np.resize(X, (12, _features(thing)))
    for name in ("decision_function", "predict", "predict_proba", "expanded"):
        yield name, partial(getattr(thing, name), rows)
    yield "sparse rows", lambda: thing.decision_function(sp.csr_array(rows))
    yield "wide rows", lambda: thing.decision_function(WIDE)
    yield "importance", lambda: thing.importance(rows, _labels(thing, 12))
    yield "dependence", lambda: thing.partial_dependence(rows.shape[1] - 1, rows)
    if hasattr(thing, "predictor"):
        yield "predictor", lambda: thing.predictor().decision_function(rows)


def _learnt(thing: Any) -> Iterator[Question]:
    """Rows that a run goes on with: of some weight, of features not met before, and many."""
    features = _features(thing)
    rows, many = np.resize(X, (12, features)), np.resize(X, (150, features))
    yield "weighted rows", lambda: thing.learn(sp.csr_array(rows), _labels(thing, 12), np.linspace(0, 2, 12))
    yield "new features", lambda: thing.learn(WIDE, _labels(thing, 2))
    yield "many rows", lambda: thing.learn(many, _labels(thing, 150))


def _features(thing: Any) -> int:
    """How many columns rows are given."""
    found = int(thing.given_features)
    return found if 0 < found <= 16 else 3


def _labels(thing: Any, count: int) -> Any:
    """Labels that the loss takes, as far as one can tell."""
    if thing.classes is not None:
        return np.resize(np.array([*thing.classes.names, "another"], object), count)
    return np.resize([1.0, -1.0, 1.0] if thing.learner.loss.classifies else X[:, 0], count)


def _plotted(thing: Any) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    try:
        thing.plot()
    finally:
        matplotlib.pyplot.close("all")
