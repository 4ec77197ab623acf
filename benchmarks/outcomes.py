"""What a command made of rows, and where two outcomes differ, for fuzzers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from benchmarks.command_runs import run as run_command
from benchmarks.fuzzing import Falsehood, require
from lowregret.cli.work import train as training
from lowregret.run.begin import begin
from lowregret.store import file as store

READING = ("seconds", "notes", "form", "spelt")  # what may hang on how rows were read


class Outcome(NamedTuple):
    """What became of rows: figures, the model's description and arrays, and the scores that were written."""

    figures: dict[str, Any]
    description: dict[str, Any]
    arrays: dict[str, Any]
    scores: str


def learn(folder: Path, words: list[str], compiled: bool = False) -> Outcome | str:
    """Train by the command line; what it says if it refuses."""
    model, scores = folder / "m.lr", folder / "scores.txt"
    with ExitStack() as stack:
        if not compiled:
            stack.enter_context(mock.patch.object(training, "begin", partial(begin, compiled=False)))
        told = run_command(["train", *words, "-o", str(model), "--predictions", str(scores), "--json"])
    if told.code != 0:
        require(told.code == 2, f"exit code {told.code}: {words}")
        return told.err
    description, arrays = store.read(model, store.kind_of(model))
    description["session"].pop("columns")  # of a table, which JSON lines do not have
    figures = json.loads(told.out)
    figures.pop("model")
    return Outcome(figures, description, arrays, scores.read_text())


def seen(outcome: Outcome) -> dict[str, Any]:
    """All that is to be the same: figures but for times and notes, the model but for how its rows were read."""
    arrays = {name: (str(a.dtype), a.shape, a.tobytes()) for name, a in outcome.arrays.items()}
    return {"figures": outcome.figures, "model": outcome.description, "arrays": arrays, "scores": outcome.scores}


def differences(one: Any, other: Any, but: Sequence[str] = (), at: str = "") -> list[str]:
    """Where two outcomes differ, beside what stands under these keys."""
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return [] if repr(one) == repr(other) else [f"{at}: {repr(one)[:150]} and {repr(other)[:150]}"]
    keys = sorted({*one, *other}.difference(but))
    return [line for key in keys for line in differences(one.get(key), other.get(key), but, f"{at}/{key}")]


def require_same(one: Outcome, other: Outcome | str, what: str, *but: str) -> None:
    """Raise a `Falsehood` unless outcomes are the same but for times, notes, how rows were read, and these keys."""
    if isinstance(other, str):
        raise Falsehood(f"{what} is refused: {other}")
    found = differences(seen(one), seen(other), (*READING, *but))
    require(not found, f"{what}: " + "\n".join(found[:8]))
