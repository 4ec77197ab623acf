"""Whatever learns has the same verbs, and goes on after saving to the last bit: all kinds that do not learn rows."""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Certificate, StoreError
from lowregret.bandit import BanditAlgorithm
from lowregret.run import Run
from lowregret.store import file as store
from lowregret.store.kinds import load
from tests.run.other_kinds import KINDS, ROUNDS, Kind

every = pytest.mark.parametrize("kind", KINDS, ids=[f"{i}-{kind.name}" for i, kind in enumerate(KINDS)])


def fed(kind: Kind, *cuts: int) -> Any:
    """A run that has learnt all rounds, in parts that end at the cuts."""
    run = kind.make()
    for begin, end in zip((0, *cuts), (*cuts, ROUNDS), strict=True):
        assert kind.feed(run, slice(begin, end)) is run
    return run


def everything(run: Any, numbered: bool = True) -> tuple[str, dict[str, bytes]]:
    """All that a run remembers; unless `numbered`, without numbers of choices."""
    description, arrays = run.contents()
    told = {name: value for name, value in description.items() if numbered or name != "latest"}
    arrays = {name: array for name, array in arrays.items() if numbered or name != "waiting.number"}
    return json.dumps(told, sort_keys=True), {name: array.tobytes() for name, array in arrays.items()}


def curves(run: Any) -> list[bytes]:
    t = run.trace
    return [np.asarray(curve).tobytes() for curve in (t.rounds, t.loss, t.linear_regret, t.bound)]


@pytest.mark.sampled(2)
@every
def test_it_is_a_run(kind: Kind, tmp_path: Path) -> None:
    for run in (kind.make(), fed(kind)):
        assert run.kind == kind.name
        assert isinstance(run, Run)
        assert isinstance(run.rounds, int)
        assert isinstance(run.loss, float)
        found = run.certificates
        assert found[0] == run.certificate
        assert all(isinstance(c, Certificate) for c in found)
        held = [c.premises_hold for c in found]
        assert held == sorted(held, reverse=True)
        assert repr(run).startswith(f"<{type(run).__name__}")
        assert "\n" not in repr(run)
        assert f"{run.rounds} round" in repr(run)
        assert f"{run.rounds} round" in str(run)
        assert "loss" in str(run)
        path = tmp_path / "picture.png" if run.rounds else None
        assert run.plot(path).axes
        assert path is None or path.stat().st_size > 1000


@pytest.mark.sampled(2)
@every
def test_the_trace_ends_at_the_end_and_shows_what_was(kind: Kind) -> None:
    run = fed(kind)
    t = run.trace
    marks = [n for n in (1, 2, 3, 4, 6, 8, 12, 16, 23, 32, 46) if n < run.rounds]
    assert t.rounds.tolist() == [*marks, run.rounds]
    assert t.rounds.shape == t.loss.shape == t.linear_regret.shape == t.bound.shape
    then, at = kind.make(), 0
    while then.rounds < t.rounds[-1]:
        kind.feed(then, slice(at, at + 1))
        at += 1
    assert then.loss == pytest.approx(t.loss[-1])
    found = next(c for c in then.certificates if c.id == t.theorem)  # a game keeps no θ, which some theorems ask for
    assert kind.name == "game" or found == then.certificate
    bound = found.bound if found.premises_hold and np.isfinite(found.bound) else np.nan
    assert t.bound[-1] == pytest.approx(bound, nan_ok=True)
    known = found.regret if found.linear_regret is None else found.linear_regret
    assert t.linear_regret[-1] == pytest.approx(np.nan if known is None else known, nan_ok=True, abs=1e-6)


@pytest.mark.sampled(2)
@every
def test_splitting_changes_nothing(kind: Kind) -> None:
    whole = fed(kind)
    for cuts in ((1, 2, 3), (17, 40), (46,)):
        split = fed(kind, *cuts)
        assert everything(split) == everything(whole)
        assert curves(split) == curves(whole)


@pytest.mark.sampled(2)
@every
def test_saving_changes_nothing(kind: Kind, tmp_path: Path) -> None:
    """Also in the middle of a round that was begun."""
    for cut in (0, 25):
        unbroken = kind.make()
        kind.feed(unbroken, slice(0, cut)) if cut else None
        first = kind.make()
        kind.feed(first, slice(0, cut)) if cut else None
        asked = [_plain(kind.ask(run)) for run in (unbroken, first)]
        assert asked[0] == asked[1]
        path = first.save(tmp_path / "file")
        assert store.kind_of(path) == kind.name
        again = load(path)
        assert type(again) is type(first)
        assert str(again) == str(first)
        assert repr(again) == repr(first)
        assert everything(again) == everything(first)
        assert again.save(tmp_path / "again").read_bytes() == path.read_bytes()
        for run in (unbroken, again):
            kind.feed(run, slice(cut, ROUNDS))
        assert everything(again, False) == everything(unbroken, False)  # numbers go on elsewhere: none is given twice
        assert curves(again) == curves(unbroken)
        assert _unnumbered(kind.ask(again)) == _unnumbered(kind.ask(unbroken))


def _unnumbered(told: Any) -> Any:
    """What was asked for without its number, which goes on elsewhere in a run from a file."""
    return _plain(told[1:] if isinstance(told, tuple) and isinstance(told[0], int) else told)


def _plain(told: Any) -> Any:
    return [np.asarray(part).tolist() for part in told] if isinstance(told, tuple) else np.asarray(told).tolist()


@pytest.mark.sampled(2)
@every
def test_arrays_of_the_wrong_size_are_refused(kind: Kind) -> None:
    """Too short, too long, of another type: before anything is learnt from them."""
    run = fed(kind)
    kind.ask(run)
    told, arrays = run.to_file()
    description = json.loads(json.dumps(told))
    for i, (name, array) in enumerate(arrays.items()):
        longer = np.concatenate([array, array[:1]]) if len(array) else np.zeros((1, *array.shape[1:]), array.dtype)
        wrong = [array[..., None], array.astype(np.float32), np.append(array.ravel(), [0, 0, 0])]
        wrong += [longer] if name not in FREE else []
        for other in wrong if len(arrays) < MANY else wrong[i % len(wrong) :][:1]:
            with pytest.raises(StoreError, match=r"array|lacks|slots|does not hold"):
                type(run).from_file("file", description, arrays | {name: other})


MANY = 50  # arrays: of more, as in mixtures of mixtures, each is wrong in one way

# Arrays of which a longer one may be right, wherever they are: rows of features that are ranked, marks of curves.
FREE = {"features", "low"}


def test_nothing_that_learns_is_forgotten() -> None:
    """Parts learn too, but carry nothing themselves."""
    made = {type(kind.make()) for kind in KINDS}
    for room in map(importlib.import_module, [f"lowregret.{name}" for name in ("experts", "bandit", "finite", "play")]):
        for info in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
            for _, cls in inspect.getmembers(importlib.import_module(info.name), inspect.isclass):
                if hasattr(cls, "learn") and cls.__module__ == info.name and not inspect.isabstract(cls):
                    assert cls in made or issubclass(cls, BanditAlgorithm), cls
