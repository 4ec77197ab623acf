"""Threads that take turns at one object: nothing of it is half done when another thread looks."""

from __future__ import annotations

import copy
import pickle
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self, cast

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowregret
from lowregret import zoo
from lowregret.bandit import BanditDescent
from lowregret.compile.signals import Unbroken
from lowregret.compile.turns import Turns, in_turn, turns_of
from lowregret.domain import L2Ball
from lowregret.experts import AdaHedge, BoxHedge, Drawing, ExpertMixture, Layered, SampledHedge, SeriesMixture
from lowregret.loss import Cost
from lowregret.run.begin import begin
from lowregret.run.linear import LinearRun
from lowregret.run.pickling import packed, unpacked
from lowregret.store.kinds import load
from lowregret.train import train
from tests.models.examples import EXAMPLES

ROUNDS, THREADS = 30, 4


@pytest.fixture(autouse=True)
def hurried() -> Iterator[None]:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def together(*works: Callable[[], None]) -> None:
    """Let threads work at once; what goes wrong in one of them is raised."""
    problems: list[BaseException] = []

    def work(one: Callable[[], None]) -> None:
        try:
            one()
        except BaseException as problem:
            problems.append(problem)

    threads = [threading.Thread(target=work, args=(one,)) for one in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if problems:
        raise problems[0]


@pytest.mark.parametrize("fresh", [lambda: Layered(3), lambda: ExpertMixture(3, AdaHedge())], ids=["layered", "plain"])
def test_threads_that_ask_tell_learn_and_save_one_mixture_leave_it_whole(
    fresh: Callable[[], ExpertMixture], tmp_path: Path
) -> None:
    mixture = fresh()

    def learn(seed: int) -> None:
        rng = np.random.default_rng(seed)
        for k in range(ROUNDS):
            if seed % 2:
                mixture.learn(rng.normal(size=(5, 3)), rng.normal(size=5))
            else:
                mixture.tell(mixture.ask(rng.normal(size=3))[0], rng.normal())
            if k % 10 == 0:
                lowregret.load(mixture.save(tmp_path / str(seed)))

    together(*(lambda seed=seed: learn(seed) for seed in range(THREADS)))
    assert mixture.rounds == ROUNDS * (5 + 1) * THREADS // 2
    assert lowregret.load(mixture.save(tmp_path / "end")).rounds == mixture.rounds


WAYS: dict[str, Callable[[LinearRun, Path], LinearRun]] = {
    "saved": lambda run, path: LinearRun.load(run.save(path)),
    "copied": lambda run, _: copy.deepcopy(run),
    "pickled": lambda run, _: cast(LinearRun, pickle.loads(pickle.dumps(run))),
    "packed": lambda run, _: cast(LinearRun, unpacked(pickle.loads(pickle.dumps(packed(run))), "it")),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_run_is_saved_copied_and_pickled_between_batches(way: str, tmp_path: Path) -> None:
    x, y = np.ones((400, 3000)), np.ones(400)
    run, done = train(zoo.ogd(Cost(), 1e-9), x[:1], y[:1]), threading.Event()

    def learn() -> None:
        try:
            for _ in range(40):
                run.learn(x, y)
        finally:
            done.set()

    def keep() -> None:
        while not done.is_set():
            kept = WAYS[way](run, tmp_path / "now")
            assert kept.rounds % len(x) == 1
            assert np.array_equal(np.unique(kept.state.theta), [-kept.rounds])
            assert kept.learn(x[:1], y[:1]).rounds % len(x) == 2

    together(learn, keep)


def test_questions_wait_for_the_rows_at_hand() -> None:
    x = np.random.default_rng(0).normal(size=(400, 40))
    run, done = begin(zoo.ogd(Cost(), 1e-9), None), threading.Event()
    run.learn(x[:1, :1], np.ones(1))

    def learn() -> None:
        try:
            for k in range(300):  # ever more features: arrays grow where they lie
                columns = np.arange(40 * k, 40 * (k + 1), dtype=np.int32)
                rows = csr_array((np.ones(40), columns, [0, 40]), shape=(1, 40 * 300))
                run.learn(rows, np.ones(1))
        finally:
            done.set()

    def ask() -> None:
        while not done.is_set():
            assert np.isfinite(run.weights).all()
            assert run.certificate.bound >= 0
            assert np.isfinite(run.decision_function(x[:, :1])).all()
            assert str(run)

    together(learn, ask, ask)
    assert run.rounds == 301


def test_a_question_in_a_thread_waits_for_the_turn_of_another() -> None:
    run, told = train(zoo.ogd(Cost(), 1e-9), np.ones((3, 2)), np.ones(3)), threading.Event()

    def ask() -> None:
        assert run.weights.size == 2
        told.set()

    thread = threading.Thread(target=ask)
    with turns_of(run):
        assert run.weights.size == 2  # its own thread need not
        thread.start()
        assert not told.wait(0.2)
    thread.join()
    assert told.is_set()


def test_a_copy_says_what_it_said_whatever_the_other_learns() -> None:
    """Copies that shared a leader's functions, but not its certificates, promised less than their regret."""
    game = load(Path(__file__).parent.parent / "models" / "game-leader.lr")
    for twin in (copy.copy(game), copy.deepcopy(game)):
        before = str(twin)
        EXAMPLES["game-leader"].more(game)
        assert str(twin) == before != str(game)
        assert twin.rounds < game.rounds


class Counter:
    """Something that is changed in turn."""

    entered = 0

    @in_turn
    def enter(self, depth: int) -> None:
        before = self.entered
        if depth:
            self.enter(depth - 1)
        self.entered = max(before, self.entered) + 1


def test_a_thread_may_call_from_within() -> None:
    counter = Counter()

    def enter() -> None:
        for _ in range(200):
            counter.enter(2)

    together(*[enter] * THREADS)
    assert counter.entered == 200 * 3 * THREADS


def test_copies_have_turns_of_their_own() -> None:
    counter = Counter()
    counter.enter(0)
    for other in (copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))):
        assert other.entered == 1
        assert turns_of(other) is not turns_of(counter)


def test_waiting_can_be_interrupted() -> None:
    turns, held, let_go = Turns(), threading.Event(), threading.Event()

    def hold() -> None:
        with turns:
            held.set()
            let_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(KeyboardInterrupt), Unbroken(), turns:
            pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        let_go.set()
        thread.join()


class Slow(SeriesMixture):
    """A mixture whose threads are put off once they have learnt."""

    def learn(self, table: Any, **columns: Any) -> Self:
        super().learn(table, **columns)
        time.sleep(1e-4)
        return self


def test_threads_that_ask_one_mixture_of_series_get_their_own_numbers_and_forecasts() -> None:
    """They got those of another thread, and told outcomes to its rounds."""
    mixture = Slow(["a", "b"])
    mixture.learn(_table("first", 0))

    def ask(thread: int) -> None:
        for k in range(ROUNDS):
            table = _table(f"{thread} {k}", thread)
            assert mixture.ask(table)[1].tolist() == table["a"], "both experts say the same"

    together(*(lambda thread=thread: ask(thread) for thread in range(THREADS)))


def _table(series: str, forecast: float) -> dict[str, list[object]]:
    rows = 1 + int(forecast)
    same: list[object] = [float(forecast)] * rows
    when: dict[str, list[object]] = {"ds": [*range(1, rows + 1)], "cutoff": [0] * rows}
    return {"unique_id": [series] * rows, **when, "a": same, "b": same, "y": [0.0] * rows}


CHANGED: dict[str, tuple[Callable[[], Any], Callable[[Any], object]]] = {
    "descent": (
        lambda: BanditDescent(L2Ball(), 3, 0.01, 0.25, lipschitz=4.0, largest=9.0),
        lambda run: run.learn(lambda t, w: 1.0, 5),
    ),
    "box": (lambda: BoxHedge(np.full(2, 1.0), np.full(2, 1.0 + 2**-52), 0.5), lambda run: run.learn([[1.0, 0.0]] * 5)),
    "sampled": (
        lambda: SampledHedge(lambda rng, losses: rng.random()),
        lambda run: run.learn(*[lambda w: 1.0] * 5),
    ),
}


@pytest.mark.parametrize("kind", CHANGED)
def test_threads_that_learn_with_one_run_lose_no_round(kind: str) -> None:
    fresh, learn = CHANGED[kind]
    run = fresh()

    def many() -> None:
        for _ in range(ROUNDS):
            learn(run)
            copy.deepcopy(run)

    together(*[many] * THREADS)
    assert run.rounds == 5 * ROUNDS * THREADS
    assert run.loss == run.rounds, "each costs 1"


def test_whom_to_follow_may_be_asked_while_another_thread_learns() -> None:
    """Weights for the question were written where those of the round at hand were: another expert was drawn."""
    costs = np.random.default_rng(0).random((200_000, 7))
    alone, asked, over = Drawing(7, AdaHedge()).learn(costs), Drawing(7, AdaHedge()), threading.Event()

    def learn() -> None:
        try:
            asked.learn(costs)
        finally:
            over.set()

    def ask() -> None:
        while not over.is_set():
            asked.draw()
            assert np.isfinite(asked.mixture.weights).all()

    together(learn, ask, ask)
    assert asked.realised == alone.realised
    assert asked.loss == alone.loss
