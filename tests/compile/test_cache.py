"""The on-disk cache, in fresh processes: hits where nothing changed, never stale where something did.

The processes run a copy of the package, so that neither a developer's cache nor his edits meanwhile play a part.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import lowregret

SETTINGS = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "PYTHONPATH", "XDG_CACHE_HOME")

REPORT = """
def report(loop, **results):
    import json
    stats = loop.stats
    hits, misses = sum(stats.cache_hits.values()), sum(stats.cache_misses.values())
    print(json.dumps(results | {"hits": hits, "misses": misses, "path": stats.cache_path}))
"""

LEARN = (
    """
import sys
import numpy as np
from lowregret.domain import L2Ball
from lowregret.learner.linear import Linear, learn_rows
from lowregret.loss import Hinge
from lowregret.mirror import Euclidean
from lowregret.rows import as_rows
from lowregret.rule import MirrorDescent
from lowregret.step import Constant

def losses(loss, eta, radius):
    learner = Linear(loss, MirrorDescent(Euclidean(L2Ball(radius)), Constant(eta)))
    state = learner.start(2)
    rows = as_rows(np.array([[1.0, 0.0], [0.5, -1.0], [2.0, 1.0]]))
    learn_rows(learner, state, rows, np.array([1.0, -1.0, 1.0]), np.empty(0), np.empty(3), 0, 100, np.inf)
    return state.sums[0]
"""
    + REPORT
)

COMPOSE = (
    LEARN
    + """
eta, radius, margin = map(float, sys.argv[1:])
first = losses(Hinge(margin), eta, radius)
again = losses(Hinge(margin / 2), eta / 2, radius / 2)
report(learn_rows, first=first, again=again, signatures=len(learn_rows.signatures))
"""
)

MINE = (
    LEARN
    + """
from lowregret.loss import Loss

class Mine(Loss):
    def at(self, p, y):
        r = p - y
        return 1.0 * r * r, 2.0 * r

report(learn_rows, first=losses(Mine(), 0.1, 5.0))
"""
)

# A loop of the user's own is quick to compile.
LOOP = """
from lowregret.compile.kernel import kernel

@kernel
def loop(loss, p):
    return loss.at(p, 1.0)[0]
"""

CALLED = (
    """
from numba import njit
from lowregret.compile.kernel import kernel

@kernel
def twice(x):
    return 2.0 * x

@njit
def caller(x):
    return twice(x) + 1.0
"""
    + REPORT
    + """
report(twice, value=caller(3.0))
"""
)

EDITED = (
    """
from lowregret.loss import Loss
from loop import loop
from helpers import half, quick, LIMIT
K = 2.0

def plain(x):
    return x + 1.0

class Mine(Loss):
    width: float = 1.0

    def at(self, p, y):
        return self.width * plain(half(quick(p))) * K + LIMIT, 0.0
"""
    + REPORT
    + """
report(loop, value=loop(Mine(), 3.0), interpreted=loop.py_func(Mine(), 3.0))
"""
)

HELPERS = """
from numba import njit
LIMIT = 10.0

def half(x):
    return x / 2

@njit
def quick(x):
    return x * 8
"""


def run(folder: Path, script: str, *args: object, package: Path, **settings: str) -> dict[str, Any]:
    """Run a script in a fresh process; it must print one JSON object and nothing else."""
    environment = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    environment |= {"PYTHONPATH": str(package), **settings}
    command = [sys.executable, "-W", "error", script, *map(str, args)]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def copy_package(to: Path, *, compiled: bool = False, source: Path = Path(lowregret.__file__).parent) -> Path:
    """A copy of the package, with or without what it has compiled; returns the folder to import it from."""
    ignore = None if compiled else shutil.ignore_patterns("__pycache__")
    shutil.copytree(source, to / "lowregret", ignore=ignore)
    return to


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_package(tmp_path_factory.mktemp("package"))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    path.write_text(text.replace(old, new), encoding="utf-8")


def expect(result: dict[str, Any], *, hit: bool) -> None:
    assert (result["hits"], result["misses"]) == ((1, 0) if hit else (0, 1))


# ---- compositions of our own parts -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def composed(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a script whose composition has been compiled once, with its parameters 1, 1, 1."""
    folder = tmp_path_factory.mktemp("composed")
    (folder / "compose.py").write_text(COMPOSE)
    result = run(folder, "compose.py", 1, 1, 1, package=package)
    expect(result, hit=False)
    assert result["signatures"] == 1, "other parameters must not compile again"
    assert result["path"].startswith(str(package))
    return folder


def test_a_second_process_only_hits_whatever_the_parameters(composed: Path, package: Path) -> None:
    same = run(composed, "compose.py", 1, 1, 1, package=package)
    other = run(composed, "compose.py", 0.25, 7, 3, package=package)
    expect(same, hit=True)
    expect(other, hit=True)
    assert same["first"] == pytest.approx(1.0 + 1.5 + 0.0)  # w = 0, then (1, 0), then (1/2, 1)/√(5/4)
    assert other["first"] != same["first"]


def test_functions_of_numba_may_call_a_loop_from_the_cache(package: Path, tmp_path: Path) -> None:
    """An entry holds machine code alone: it cannot be inlined, but called."""
    (tmp_path / "called.py").write_text(CALLED)
    for hit in (False, True):
        result = run(tmp_path, "called.py", package=package)
        expect(result, hit=hit)
        assert result["value"] == 7.0


def test_an_upgrade_is_not_stale(composed: Path, package: Path, tmp_path: Path) -> None:
    """The loop's own file stays as it is; a method that it inlines changes in another."""
    moved = copy_package(tmp_path, compiled=True, source=package / "lowregret")
    before = run(composed, "compose.py", 1, 1, 1, package=moved)
    expect(before, hit=True)
    hinge = moved / "lowregret" / "loss" / "margin.py"
    old, new = "return (gap, -y) if gap > 0.0 else (0.0, 0.0)", "return 10.0 + gap, -y"
    edit(hinge, old, new)
    after = run(composed, "compose.py", 1, 1, 1, package=moved)
    expect(after, hit=False)
    assert after["first"] > 30.0 > before["first"]
    edit(hinge, new, old)
    back = run(composed, "compose.py", 1, 1, 1, package=moved)
    expect(back, hit=True)
    assert back["first"] == before["first"]


# ---- parts in the user's own script ----------------------------------------------------------------------------------


def test_a_loss_in_the_script_is_compiled_cached_and_followed(package: Path, tmp_path: Path) -> None:
    script = tmp_path / "mine.py"
    script.write_text(MINE)
    first, second = (run(tmp_path, "mine.py", package=package) for _ in range(2))
    expect(first, hit=False)
    expect(second, hit=True)
    edit(script, "1.0 * r * r", "3.0 * r * r")
    third = run(tmp_path, "mine.py", package=package)
    expect(third, hit=False)
    assert third["first"] == pytest.approx(3 * first["first"]) == pytest.approx(3 * second["first"])


@pytest.mark.thorough
def test_what_the_script_uses_is_followed_too(package: Path, tmp_path: Path) -> None:
    """plain(half(quick(3))) K + LIMIT = (3·8/2 + 1)·2 + 10 = 36."""
    script, helpers = tmp_path / "script.py", tmp_path / "helpers.py"
    script.write_text(EDITED)
    helpers.write_text(HELPERS)
    (tmp_path / "loop.py").write_text(LOOP)
    remark = "# a remark\nK = 2.0\nother = lambda x: x\n"
    edits: list[tuple[Path, str, str, float, bool]] = [
        (script, "K = 2.0", "K = 2.0", 36.0, False),
        (script, "K = 2.0\n", remark, 36.0, True),
        (script, "width: float = 1.0", "width: float = 2.0", 62.0, True),
        (script, "return x + 1.0", "return x + 2.0", 66.0, False),
        (helpers, "return x / 2", "return x / 4", 42.0, False),
        (helpers, "return x * 8", "return x * 4", 30.0, False),
        (helpers, "LIMIT = 10.0", "LIMIT = 20.0", 40.0, False),
    ]
    for path, old, new, value, hit in edits:
        edit(path, old, new)
        result = run(tmp_path, "script.py", package=package)
        assert (new, result["value"]) == (new, result["interpreted"]) == (new, value)
        assert (new, result["hits"]) == (new, int(hit))


@pytest.mark.thorough
def test_scripts_do_not_disturb_each_other(package: Path, tmp_path: Path) -> None:
    """Each knows nothing of the class `__main__.Mine` or `__main__.Other` of the other; one is run by two at once."""
    (tmp_path / "loop.py").write_text(LOOP)
    (tmp_path / "helpers.py").write_text(HELPERS)
    (tmp_path / "one.py").write_text(EDITED)
    (tmp_path / "two.py").write_text(EDITED.replace("Mine", "Other").replace("K = 2.0", "K = 3.0"))
    environment = os.environ | {"PYTHONPATH": str(package)}
    scripts = ["one.py", "two.py", "one.py"]
    running = [subprocess.Popen([sys.executable, s], cwd=tmp_path, env=environment, stdout=-1) for s in scripts]
    outputs = [json.loads(process.communicate()[0])["value"] for process in running]
    assert outputs == [36.0, 49.0, 36.0]
    for script, value in zip(scripts[:2], outputs[:2], strict=True):
        result = run(tmp_path, script, package=package)
        expect(result, hit=True)
        assert result["value"] == value


# ---- places ----------------------------------------------------------------------------------------------------------

TINY = (
    REPORT
    + """
from lowregret.compile.numerics import exp
report(exp, value=exp(0.0))
"""
)


@pytest.fixture
def read_only(tmp_path: Path) -> Path:
    """A package beside whose sources nothing can be written, whoever asks."""
    package = copy_package(tmp_path / "read-only")
    for source in (package / "lowregret").rglob("__init__.py"):
        (source.parent / "__pycache__").write_text("in the way")
    return package


def test_a_read_only_package_uses_a_folder_of_the_user(read_only: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(TINY)
    home = tmp_path / "home"
    settings = {"XDG_CACHE_HOME": str(home), "HOME": str(home), "LOCALAPPDATA": str(home)}
    for hit in (False, True):
        result = run(tmp_path, "tiny.py", package=read_only, **settings)
        expect(result, hit=hit)
        assert result["path"].startswith(str(home))
        assert result["value"] == 1.0


def test_without_any_place_to_write_it_compiles_each_time(read_only: Path, tmp_path: Path) -> None:
    (tmp_path / "tiny.py").write_text(TINY)
    (tmp_path / "home").write_text("no folder")
    home = str(tmp_path / "home")
    settings = {"XDG_CACHE_HOME": home, "HOME": home, "LOCALAPPDATA": home}
    result = run(tmp_path, "tiny.py", package=read_only, **settings)
    expect(result, hit=False)
    assert result["path"] is None
    assert result["value"] == 1.0


# ---- importing -------------------------------------------------------------------------------------------------------

IMPORT = """
import json, sys
import lowregret
HEAVY = ["sklearn", "pyarrow", "cvxpy", "plotly", "matplotlib", "fastapi", "ray", "pandas"]
plain = [name for name in HEAVY + ["numba", "scipy"] if name in sys.modules]
from numba.core import event
with event.install_recorder("numba:compile") as recorder:
    for name in lowregret.__all__:
        getattr(lowregret, name)
print(json.dumps({"plain": plain, "all": [n for n in HEAVY if n in sys.modules], "compiled": len(recorder.buffer)}))
"""


def test_importing_compiles_nothing_and_loads_no_extras(tmp_path: Path) -> None:
    package = copy_package(tmp_path / "package")
    (tmp_path / "script.py").write_text(IMPORT)
    result = run(tmp_path, "script.py", package=package)
    assert result == {"plain": [], "all": [], "compiled": 0}
    assert list(package.rglob("*.nb?")) == [], "importing must not touch the cache"


def test_numba_can_be_switched_off(package: Path, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(
        LEARN + "import json\nassert learn_rows.py_func is learn_rows\nprint(json.dumps(losses(Hinge(), 1.0, 1.0)))\n"
    )
    assert run(tmp_path, "script.py", package=package, NUMBA_DISABLE_JIT="1") == pytest.approx(2.5)
