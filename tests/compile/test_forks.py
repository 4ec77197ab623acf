"""Processes that fork while threads of the first ask, learn or compile: nothing waits for threads that are no more."""

from __future__ import annotations

import copy
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import pytest
from numba.core.compiler_lock import global_compiler_lock

from lowregret import zoo
from lowregret.compile.forks import compiler_locks
from lowregret.compile.signals import Unbroken
from lowregret.compile.turns import Changing, turns_of
from lowregret.loss import Cost
from lowregret.train import train

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system does not fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning"),
]
X, Y = np.ones((3, 2)), np.ones(3)


def in_child(work: Callable[[], object], within: int = 10) -> str:
    """What some work says in a process forked from this thread; raises if it has not ended in time."""
    end, begin = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(within)
        try:
            said = str(work())
        except BaseException as problem:
            said = f"{type(problem).__name__}: {problem}"
        os.write(begin, said.encode())
        os._exit(0)
    os.close(begin)
    with open(end, encoding="utf-8") as file:
        said = file.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the child waited for ever ({status})"
    return said


@contextmanager
def elsewhere(*holders: AbstractContextManager[object]) -> Iterator[None]:
    """Another thread holds something."""
    held, let_go = threading.Event(), threading.Event()

    def hold() -> None:
        with holders[0], holders[1] if holders[1:] else nullcontext():
            held.set()
            let_go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(60)
    try:
        yield
    finally:
        let_go.set()
        thread.join()


def test_what_a_thread_asked_when_the_process_forked_can_be_asked_copied_and_learnt_in_the_child() -> None:
    run = train(zoo.ogd(Cost(), 1e-9), X, Y)

    def use() -> tuple[int, int]:
        assert np.isfinite(run.weights).all()
        return copy.deepcopy(run).learn(X, Y).rounds, run.learn(X, Y).rounds

    with elsewhere(turns_of(run)):
        assert in_child(use) == "(6, 6)"
    assert run.learn(X, Y).rounds == 6


@pytest.mark.parametrize("use", ["weights", "copy", "learn"])
def test_what_a_thread_was_changing_when_the_process_forked_is_refused_in_the_child(use: str) -> None:
    run = train(zoo.ogd(Cost(), 1e-9), X, Y)
    ways = {"weights": lambda: run.weights, "copy": lambda: copy.deepcopy(run), "learn": lambda: run.learn(X, Y)}
    with elsewhere(turns_of(run).seat, Changing(run)):
        assert "PartError: this process was forked while" in in_child(ways[use])
    assert run.learn(X, Y).rounds == 6


def test_a_thread_that_forks_goes_on_with_what_it_is_changing() -> None:
    run, others = train(zoo.ogd(Cost(), 1e-9), X, Y), []
    with Changing(run):
        waiting = threading.Thread(target=lambda: others.append(run.weights))
        waiting.start()

        def use() -> int:
            rounds = run.learn(X, Y).rounds
            turns_of(run).__exit__(None, None, None)
            thread = threading.Thread(target=lambda: run.weights, daemon=True)
            thread.start()
            thread.join(5)
            assert not thread.is_alive()
            return rounds

        assert in_child(use) == "6"
    waiting.join()
    assert len(others) == 1


def test_a_fork_waits_while_a_thread_compiles() -> None:
    held, turn = threading.Event(), []

    def compile_something() -> None:
        with global_compiler_lock:
            held.set()
            threading.Event().wait(0.2)
            turn.append("compiled")

    thread = threading.Thread(target=compile_something)
    thread.start()
    held.wait(60)

    def use() -> list[str]:
        with global_compiler_lock:
            return turn

    assert in_child(use) == "['compiled']"
    thread.join()


def test_both_locks_of_the_compiler_are_known() -> None:
    assert len(list(compiler_locks())) == 2


def test_without_the_compilers_private_locks_the_package_is_imported_and_forks() -> None:
    """They are no promise of Numba's: a release that has them elsewhere must not stop the import."""
    code = (
        "import os, threading\n"
        "from llvmlite.binding import ffi\n"
        "from numba.core import compiler_lock\n"
        "class Other:\n"
        "    def __enter__(self): pass\n"
        "    def __exit__(self, *_): pass\n"
        "    def __call__(self, function): return function\n"
        "compiler_lock.global_compiler_lock = Other()\n"
        "ffi.lib._lock = threading.RLock()\n"
        "import lowregret.compile.kernel\n"
        "from lowregret.compile.forks import compiler_locks\n"
        "assert list(compiler_locks()) == []\n"
        "child = os.fork()\n"
        "if child == 0: os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_signals_put_off_in_the_first_process_reach_the_child() -> None:
    """A thread forks while the main one puts them off, which is no more in the child."""
    said: list[str] = []

    def interrupted() -> str:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            return "nothing"
        except KeyboardInterrupt:
            return "interrupted"

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with Unbroken():
            thread = threading.Thread(target=lambda: said.append(in_child(interrupted)))
            thread.start()
            thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert said == ["interrupted"]


def test_threads_have_their_turns_in_the_order_in_which_they_came() -> None:
    """Two that ask without a pause do not keep a third one out."""
    run, over, asked = train(zoo.ogd(Cost(), 1e-9), X, Y), threading.Event(), [0, 0]

    def ask(k: int) -> None:
        while not over.is_set():
            run.decision_function(X)
            asked[k] += 1

    threads = [threading.Thread(target=ask, args=(k,)) for k in range(2)]
    for thread in threads:
        thread.start()
    while not all(asked):
        over.wait(1e-3)
    before = sum(asked)
    for _ in range(60):
        run.learn(X, Y)
    between = sum(asked) - before
    over.set()
    for thread in threads:
        thread.join()
    assert between <= 4 * 60
