"""Ctrl-C at any moment: whatever was learnt is counted, and going on gives what would have been without it."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np
import pytest

import lowregret
from lowregret import zoo
from lowregret.compile import signals
from lowregret.compile.signals import Unbroken, let_in
from lowregret.experts import AdaHedge, ExpertMixture, Layered
from lowregret.features import Partitions
from lowregret.learner.kernel_perceptron import Gaussian, KernelPerceptron
from lowregret.loss import Hinge, Logistic
from lowregret.run import careful, multiclass
from lowregret.run.begin import begin
from lowregret.run.curve import LOOKS
from lowregret.run.delayed import delayed
from lowregret.run.expansion import SETTLED
from lowregret.train import train

ROWS = SETTLED + 30
X = np.round(np.random.default_rng(1).uniform(-1, 1, (ROWS, 4)), 3)
PRODUCT = X[:, 0] * X[:, 1]
Y = np.where(PRODUCT > 0, 1.0, -1.0)
FEW = Partitions(trees=2, cells=40)
PLACES = 24  # where a run is interrupted


@pytest.fixture(autouse=True)
def interruptible() -> Iterator[None]:
    """Ctrl-C interrupts, though the tests themselves may run where it is ignored, as what runs behind a shell does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Kind(NamedTuple):
    """How a run begins, how it learns rows, how many it has learnt, and around which row it is interrupted."""

    begin: Callable[[], Any]
    labels: Any
    row: int = 64
    rounds: str = "rounds"
    options: tuple[tuple[str, Any], ...] = ()

    def learn(self, run: Any, first: int, last: int) -> Any:
        return run.learn(X[first:last], self.labels[first:last], **dict(self.options))


KINDS = {
    "linear": Kind(lambda: begin(zoo.adagrad(Logistic()), None), Y),
    "partitions": Kind(lambda: begin(zoo.adagrad(Logistic()), 4, expand=FEW), Y, SETTLED),
    "auto": Kind(lambda: begin(replace(zoo.auto(), partitions=FEW), 4), Y, LOOKS[0]),
    "delayed": Kind(lambda: delayed(zoo.ogd_eager(Hinge(), 0.1), 4), Y, 64, "asked", (("delay", 3),)),
    "kernel": Kind(lambda: train(KernelPerceptron(Gaussian(0.5)), X[:1], Y[:1]), Y),
    "experts": Kind(lambda: ExpertMixture(4, AdaHedge()), PRODUCT),
    "layered": Kind(lambda: Layered(4), PRODUCT),
}


class Interrupter:
    """Sends a signal when the n-th line of the package is run."""

    def __init__(self, at: int) -> None:
        self.at, self.lines = at, 0

    def enter(self, frame: FrameType, event: str, arg: Any) -> Any:
        ours = f"lowregret{Path('/')}" in frame.f_code.co_filename and frame.f_code.co_filename != signals.__file__
        return self.see if ours and "tests" not in Path(frame.f_code.co_filename).parts else None

    def see(self, frame: FrameType, event: str, arg: Any) -> Any:
        if event == "line":
            self.lines += 1
            if self.lines == self.at:
                signal.raise_signal(signal.SIGINT)
        return self.see

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = sys.gettrace()
        sys.settrace(self.enter)
        try:
            yield
        finally:
            sys.settrace(before)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS.keys())
def test_an_interruption_anywhere_leaves_no_trace(kind: Kind, tmp_path: Path) -> None:
    first, last, end = kind.row - 6, kind.row + 6, kind.row + 20
    whole, run = kind.begin(), kind.begin()
    kind.learn(whole, getattr(whole, kind.rounds), end)
    kind.learn(run, getattr(run, kind.rounds), first).save(tmp_path / "before")
    counter, run = Interrupter(0), lowregret.load(tmp_path / "before")
    with counter.watching():
        kind.learn(run, first, last)
    for at in np.unique(np.linspace(1, counter.lines, PLACES).astype(int)).tolist():
        run, interrupter = lowregret.load(tmp_path / "before"), Interrupter(at)
        with pytest.raises(KeyboardInterrupt), interrupter.watching():
            kind.learn(run, first, last)
        run.save(tmp_path / "interrupted")
        for going in (run, lowregret.load(tmp_path / "interrupted")):
            kind.learn(going, getattr(going, kind.rounds), end)
            going.save(tmp_path / "end")
            (_, arrays), (_, others) = lowregret.load(tmp_path / "end").contents(), whole.contents()
            assert arrays.keys() == others.keys()
            for name, array in arrays.items():
                assert np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f"), (at, name)


INTERPRETED = {
    "linear": lambda: begin(zoo.adagrad(Logistic()), None, compiled=False),
    "auto": lambda: begin(zoo.auto(features="raw"), 4, compiled=False),
    "late": lambda: begin(zoo.adagrad(Logistic()), 4, compiled=False, delay=2),
    "blocks": lambda: begin(zoo.adagrad(Logistic()), 4, compiled=False, learners=2, block=4),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize("fresh", INTERPRETED.values(), ids=INTERPRETED.keys())
def test_an_interpreted_row_is_learnt_as_a_whole_or_not_at_all(fresh: Callable[[], Any]) -> None:
    fresh().learn(X[:12], Y[:12])  # what is done once in a process is not counted
    counter, whole = Interrupter(0), fresh()
    with counter.watching():
        whole.learn(X[:12], Y[:12])
    whole.learn(X[12:20], Y[12:20])
    for at in np.unique(np.linspace(1, counter.lines, PLACES).astype(int)).tolist():
        run, interrupter = fresh(), Interrupter(at)
        with pytest.raises(KeyboardInterrupt), interrupter.watching():
            run.learn(X[:12], Y[:12])
        begun = run.rounds + (run.pending if run.late is not None else 0)
        run.learn(X[begun:20], Y[begun:20])
        (_, arrays), (_, others) = run.contents(), whole.contents()
        for name, array in arrays.items():
            assert np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f"), (at, name)


# ---- signals ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def handled() -> Iterator[list[int]]:
    """Numbers of signals whose handlers ran."""
    found: list[int] = []
    before = {number: signal.signal(number, lambda n, _: found.append(n)) for number in (signal.SIGINT, signal.SIGTERM)}
    yield found
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_wait_for_the_end_or_until_they_are_let_in(handled: list[int]) -> None:
    with Unbroken():
        signal.raise_signal(signal.SIGINT)
        assert handled == []
        let_in()
        assert handled == [signal.SIGINT]
        with Unbroken():
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
        assert handled == [signal.SIGINT]
    assert handled == [signal.SIGINT, signal.SIGTERM, signal.SIGINT]


def test_handlers_are_as_they_were() -> None:
    before = signal.getsignal(signal.SIGINT)

    def broken_off() -> None:
        with Unbroken():
            signal.raise_signal(signal.SIGINT)
            raise ValueError("of its own")

    with pytest.raises(KeyboardInterrupt) as raised:
        broken_off()
    assert isinstance(raised.value.__context__, ValueError)
    assert signal.getsignal(signal.SIGINT) is before
    with Unbroken():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    signal.signal(signal.SIGINT, before)


# ---- many classes ----------------------------------------------------------------------------------------------------


def test_signals_come_in_among_rows_of_many_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    classes = np.arange(60) % 20
    learner = zoo.mc_perceptron()
    whole = begin(learner, 4, certify=False).learn(X[:60], classes)
    monkeypatch.setattr(multiclass, "AT_ONCE", multiclass.BASE_CELLS * 200)  # some eight rows of twenty classes
    run, looks = begin(learner, 4, certify=False), iter(range(100))

    def interrupt_once() -> None:
        if next(looks) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(careful, "let_in", interrupt_once)
    with pytest.raises(KeyboardInterrupt):
        run.learn(X[:60], classes)
    assert 0 < run.rounds < 60
    run.learn(X[run.rounds : 60], classes[run.rounds :])
    assert all(a.tobytes() == b.tobytes() for a, b in zip(run.state, whole.state, strict=True))
