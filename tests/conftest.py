"""Settings and fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import re
import shutil
import signal
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

# The first call of a compiled loop takes seconds, which says nothing about the example it ran on. There are some two
# hundred properties: half as many examples of each as usual.
settings.register_profile("lowregret", deadline=None, max_examples=50)
settings.load_profile("lowregret")

# Read when NumPy is imported, which is later, and by processes that tests start. With as many workers as cores, threads
# of BLAS mostly wait for each other, which costs up to ten times the work.
for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

# What a process ignores those that it starts ignore too, as all do that a script runs with `&` or `nohup`: then nothing
# interrupts the commands that tests interrupt.
for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, usual)

# Models go to disk for good before they count as saved, for which a test waits longer than for all else it does. So
# temporary files are in memory where it has room for them.
MEMORY, ROOM = "/dev/shm", 4 << 30
if "TMPDIR" not in os.environ and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ["TMPDIR"] = MEMORY
    tempfile.tempdir = None  # asked for before, it is not asked for again

gc.disable()  # until all tests are found, which takes twice as long with it and makes no garbage

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


GOLDEN = (5**0.5 - 1) / 2


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run all that is left out without it, and nothing else")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep what is quick, or with `--thorough` the rest: tests that are marked so, and `sampled` cases beyond a sample.

    Case n is of the sample of one in k if the fraction of n times the golden ratio is below 1/k: these spread evenly,
    and in step with no number of values of a parameter, so that each value is met.
    """
    kept: dict[bool, list[pytest.Item]] = {True: [], False: []}
    cases: Counter[str] = Counter()
    for item in items:
        one_in = max((mark.args[0] for mark in item.iter_markers("sampled")), default=1)
        name = item.nodeid.partition("[")[0]
        left_out = cases[name] * GOLDEN % 1 >= 1 / one_in or item.get_closest_marker("thorough") is not None
        cases[name] += 1
        kept[left_out].append(item)
    items[:] = kept[config.getoption("--thorough")]
    config.hook.pytest_deselected(items=kept[not config.getoption("--thorough")])


def pytest_collection_finish() -> None:
    """Look for garbage from now on, but not among the tests themselves."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets beside the repository; the test is skipped where there is none."""
    if not DATA.is_dir():
        pytest.skip(f"no real data: {DATA} does not exist")
    return DATA


@pytest.fixture(scope="session")
def data_file(data_folder: Path) -> Callable[[str], Path]:
    """The path of a real data set by file name; the test is skipped where it is missing."""

    def find(name: str) -> Path:
        path = data_folder / name
        if not path.is_file():
            pytest.skip(f"no such data set: {path}")
        return path

    return find


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts run as plain Python: for tests of what is learnt from a few rows, for which compiling takes far longer."""
    monkeypatch.setattr("lowregret.compile.part.Part.compilable", False)


@pytest.fixture
def as_composed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts run as plain Python if the test is of a composition that does."""
    params = getattr(request.node, "callspec", None) and request.node.callspec.params
    if params and not getattr(params.get("composition"), "compiled", True):
        monkeypatch.setattr("lowregret.compile.part.Part.compilable", False)


def pytest_make_parametrize_id(val: object) -> str | None:
    """Names of tests must not contain addresses, which differ between the processes that run them."""
    text = repr(val)
    return re.sub(r" at 0x[0-9a-f]+", "", text) if " at 0x" in text else None
