"""`lowregret.load` opens whatever lowregret wrote, and says what is wrong with the rest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import lowregret
from lowregret import store, zoo
from lowregret.domain import L2Ball
from lowregret.error import StoreError
from lowregret.files import load
from lowregret.kernel_run import KernelRun
from lowregret.kernelised import Gaussian, KernelPerceptron
from lowregret.loss import Hinge
from lowregret.mirror import Euclidean
from lowregret.play import Game, play
from lowregret.rule import Lazy
from lowregret.run import Run, train
from lowregret.step import Constant

X = np.random.default_rng(0).normal(size=(30, 3))
Y = np.where(X[:, 0] > 0, 1.0, -1.0)


def linear() -> Run:
    return train(zoo.ogd(Hinge(), 0.1), X, Y)


def kernelised() -> KernelRun:
    return train(KernelPerceptron(Gaussian(0.5)), X, Y)


def game() -> Game:
    return play(Lazy(Euclidean(L2Ball()), Constant(0.1)), X)


@pytest.mark.parametrize("make", [linear, kernelised, game], ids=["run", "kernel run", "game"])
def test_every_kind_comes_back_as_itself(make: Callable[[], Run | KernelRun | Game], tmp_path: Path) -> None:
    made = make()
    path = made.save(tmp_path / "file")
    for name in (path, str(path)):
        again = load(name)
        assert type(again) is type(made)
        assert again.rounds == made.rounds
        assert again.loss == made.loss
        assert str(again) == str(made)
    assert again.save(tmp_path / "again").read_bytes() == path.read_bytes()


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for whole in (linear(), kernelised()):
        learner = whole.learner
        first = train(learner, X[:13], Y[:13])
        second = load(first.save(tmp_path / "file"))
        assert isinstance(second, Run | KernelRun)
        second.learn(X[13:], Y[13:])
        assert second.predict(X).tobytes() == whole.predict(X).tobytes()
    half = load(play(game().player, X[:13]).save(tmp_path / "game"))
    assert isinstance(half, Game)
    assert play(half, X[13:]).points.tobytes() == game().points.tobytes()


def test_it_is_public() -> None:
    assert lowregret.load is load


def test_a_kind_of_the_future_asks_for_an_upgrade(tmp_path: Path) -> None:
    store.write(tmp_path / "file", "forest", {}, {})
    with pytest.raises(StoreError, match="holds a forest, which this version of lowregret cannot read: upgrade"):
        load(tmp_path / "file")


@pytest.mark.parametrize("make", [linear, kernelised, game], ids=["run", "kernel run", "game"])
def test_damage_is_noticed(make: Callable[[], Run | KernelRun | Game], tmp_path: Path) -> None:
    path = make().save(tmp_path / "file")
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


def test_a_well_formed_file_with_the_wrong_thing_inside(tmp_path: Path) -> None:
    """The checksum fits, but the parts are not what the kind promises."""
    path = linear().save(tmp_path / "run")
    description, arrays = store.read(path, "run")
    store.write(path, "run", description | {"learner": description["comparator"]}, arrays)
    with pytest.raises(StoreError, match="holds a L2Ball against a L2Ball"):
        load(path)
    path = kernelised().save(tmp_path / "kernel")
    inside, arrays = store.read(path, "kernel-run")
    store.write(path, "kernel-run", inside | {"learner": description["learner"]}, arrays)
    with pytest.raises(StoreError, match="holds a Linear, not a KernelPerceptron"):
        load(path)
