"""`lowregret.load` opens whatever lowregret wrote, and says what is wrong with the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret import zoo
from lowregret.auto import AutoClassifier, AutoMulticlass
from lowregret.domain import L2Ball
from lowregret.errors import StoreError
from lowregret.learner.kernel_perceptron import Gaussian, KernelPerceptron
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Softmax
from lowregret.mirror import Euclidean
from lowregret.play import Game, play
from lowregret.rule import MirrorDescent
from lowregret.run.delayed import DelayedRun, delayed
from lowregret.run.doubling import doubling
from lowregret.run.kernel import KernelRun
from lowregret.run.linear import LinearRun
from lowregret.step import Constant
from lowregret.store import file as store
from lowregret.store import kinds as files
from lowregret.store.kinds import load
from lowregret.structured import Chain, click_ranking, structured_svm
from lowregret.train import train
from tests.models.examples import averaged_run, spread_run
from tests.run.other_kinds import KINDS as OTHER_KINDS
from tests.run.other_kinds import Kind
from tests.structured.problems import click_problem, sequence_problem
from tests.structured.test_own import Matchings, matchings

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)
NAMES = np.where(X[:, 1] > 0.5, "cat", np.where(Y > 0, "dog", "mouse"))
PLAIN: dict[str, Any] = {"compiled": False}


def linear() -> LinearRun:
    return train(zoo.ogd(Hinge(), 0.1), X, Y, **PLAIN)


def kernelised() -> KernelRun:
    return train(KernelPerceptron(Gaussian(0.5)), X, Y, **PLAIN)


def game() -> Game:
    return play(MirrorDescent(Euclidean(L2Ball()), Constant(0.1)), X, **PLAIN)


def late() -> DelayedRun:
    run = delayed(zoo.ogd_eager(Hinge(), 0.1), 3, **PLAIN).learn(X, Y, delay=4)
    run.ask(X[:2])
    return run


def other(kind: Kind) -> Any:
    """After some rounds, in the middle of one."""
    made = kind.make()
    kind.feed(made, slice(0, 30))
    kind.ask(made)
    return made


KINDS: dict[str, Callable[[], Any]] = {
    "run": linear,
    "class-run": lambda: train(Multiclass(Softmax(), MirrorDescent(Euclidean(), Constant(0.1))), X, NAMES, **PLAIN),
    "auto-run": lambda: train(AutoClassifier(), X, Y, **PLAIN),
    "auto-class-run": lambda: train(AutoMulticlass(), X, NAMES, **PLAIN),
    "predictor": lambda: train(AutoClassifier(), X, Y, **PLAIN).predictor(),
    "block-run": lambda: train(zoo.ogd(Hinge(), 0.1), X, Y, learners=2, block=7, **PLAIN),
    "spread-run": spread_run,
    "averaged-run": averaged_run,
    "free-run": lambda: train(zoo.ogd(Hinge(), 0.1), X, Y, learners=2, block="free", **PLAIN),
    "delayed-run": late,
    "doubling-run": lambda: doubling(zoo.ogd_eager(Hinge(), eta=1.0), **PLAIN).learn(X, Y),
    "kernel-run": kernelised,
    "structured-run": lambda: train(structured_svm(Chain(2)), sequence_problem(Chain(2), 9), **PLAIN),
    "own-structured-run": lambda: train(structured_svm(Matchings(3, 2)), matchings(9), **PLAIN),
    "ranking-run": lambda: train(click_ranking(), click_problem(9), **PLAIN),
    **{kind.name: partial(other, kind) for kind in OTHER_KINDS},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_comes_back_as_itself(kind: str, tmp_path: Path) -> None:
    made = KINDS[kind]()
    path = made.save(tmp_path / "file")
    assert store.kind_of(path) == kind
    for name in (path, str(path)):
        again = load(name)
        assert type(again) is type(made)
        assert again.rounds == made.rounds
        assert getattr(again, "loss", None) == getattr(made, "loss", None)
        assert str(again) == str(made)
    assert again.save(tmp_path / "again").read_bytes() == path.read_bytes()


def test_every_kind_is_tested() -> None:
    assert set(KINDS) == set(files.KINDS)


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for whole in (linear(), kernelised()):
        learner = whole.learner
        first = train(learner, X[:13], Y[:13], **PLAIN)
        second = load(first.save(tmp_path / "file"))
        assert isinstance(second, LinearRun | KernelRun)
        second.learn(X[13:], Y[13:])
        assert second.predict(X).tobytes() == whole.predict(X).tobytes()
    half = load(play(game().player, X[:13], **PLAIN).save(tmp_path / "game"))
    assert isinstance(half, Game)
    assert play(half, X[13:]).points.tobytes() == game().points.tobytes()


def test_it_is_public() -> None:
    assert lowregret.load is load


def test_a_kind_of_the_future_asks_for_an_upgrade(tmp_path: Path) -> None:
    store.write(tmp_path / "file", "forest", {}, {})
    with pytest.raises(StoreError, match="holds a forest, which this version of lowregret cannot read: upgrade"):
        load(tmp_path / "file")


@pytest.mark.parametrize("kind", KINDS)
def test_damage_is_noticed(kind: str, tmp_path: Path) -> None:
    path = KINDS[kind]().save(tmp_path / "file")
    whole = path.read_bytes()
    for at in (9, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(StoreError):
            load(path)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(StoreError, match="not a lowregret file, or it is damaged"):
        load(path)


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"there is no file .*nothing"):
        load(tmp_path / "nothing")
    with pytest.raises(StoreError):
        load(tmp_path)
    (tmp_path / "text").write_text("hello")
    with pytest.raises(StoreError, match="not a lowregret file"):
        load(tmp_path / "text")


@pytest.mark.parametrize("kind", KINDS)
def test_whatever_is_missing_is_named(kind: str, tmp_path: Path) -> None:
    made = KINDS[kind]()
    description, arrays = store.read(made.save(tmp_path / "file"), kind)
    told = set()
    for name in description | arrays:
        less = [{key: inside[key] for key in inside if key != name} for inside in (description, arrays)]
        told.add(re.sub("^file lacks '.*', which", "which", _refusal(type(made), *less)))
    assert told - {""} == {"which this version of lowregret needs: train again"}


def _refusal(kind: type[store.Saved], *contents: Any) -> str:
    """Why a file of these contents is not read, if so: not everything is in all files."""
    try:
        kind.from_file("file", *contents)
    except StoreError as error:
        return str(error)
    return ""


def test_a_well_formed_file_with_the_wrong_thing_inside(tmp_path: Path) -> None:
    """The checksum fits, but the parts are not what the kind promises."""
    path = linear().save(tmp_path / "run")
    description, arrays = store.read(path, "run")
    store.write(path, "run", description | {"learner": description["comparator"]}, arrays)
    with pytest.raises(StoreError, match="'learner' is a L2Ball, expected a Linear"):
        load(path)
    path = kernelised().save(tmp_path / "kernel")
    inside, arrays = store.read(path, "kernel-run")
    store.write(path, "kernel-run", inside | {"learner": description["learner"]}, arrays)
    with pytest.raises(StoreError, match="'learner' is a Linear, expected a KernelPerceptron"):
        load(path)
