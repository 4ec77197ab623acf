"""The shape of the package: imports go one way, heavy extras stay where they are needed, files stay small."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lowregret

ROOT = Path(lowregret.__file__).parent

# From the ground up. A room imports from its own floor and those below; rooms of one floor never wait for each other.
FLOORS = [
    {"errors", "types", "words", "compile"},
    {"state", "rows", "loss", "domain", "step", "output", "mirror", "rule", "features", "store", "stream"},
    {"learner", "auto", "convex", "zoo"},
    {"certificate", "risk", "hindsight"},
    {"show"},
    {"run", "train", "play", "experts", "bandit", "finite", "structured", "regret", "game", "spread"},
    {"cli", "sklearn", "ray", "__main__"},
]
MOST_FLOORS, MOST_AT_THE_ROOT = 8, 12

# Packages that cost much to import or need not be there: which module may import them, inside a function.
HEAVY = {
    "matplotlib": {"show.drawing"},
    "cvxpy": {"domain.described"},
    "sklearn": {"sklearn"},
    "pandas": set[str](),
    "pyarrow": {
        "stream.arrow",
        "stream.arrow_rows",
        "stream.leaves",
        "stream.record_batches",
        "stream.unpack",
        "stream.fields",
        "cli.work.warm",
        "spread.cut",
    },
    "isal": {"stream.inflate"},
    "zstandard": {"store.file", "stream.inflate"},
    "polars": set[str](),
    "plotly": set[str](),
    "fastapi": set[str](),
    "ray": {"ray.actors", "ray.cluster", "ray.driver", "ray.training"},
}

# Surfaces that are made of a heavy package, which nothing but a user imports: they import it at once.
MADE_OF = {"sklearn": "sklearn"}

LONGEST_FILE, LONGEST_FUNCTION = 400, 40

FILES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    """`lowregret/domain/ball.py` is domain.ball, `lowregret/domain/__init__.py` is domain."""
    return ".".join(part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__")


class Runtime(ast.NodeTransformer):
    """A module without what only checkers import."""

    def visit_If(self, node: ast.If) -> ast.AST | None:
        return None if ast.unparse(node.test) == "TYPE_CHECKING" else self.generic_visit(node)


SOURCES = {name_of(path): path.read_text() for path in FILES if path != ROOT / "__init__.py"}
MODULES = {name: ast.parse(source) for name, source in SOURCES.items()}


def imports(tree: ast.AST, everywhere: bool) -> Iterator[str]:
    """Full names that are imported when the module is; `everywhere`, also inside functions and for checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            inside = f"{node.module}."[10:]
            yield from (
                f"{node.module}.{alias.name}" if node.module == "lowregret" or inside + alias.name in MODULES
                else str(node.module)
                for alias in node.names
            )  # fmt: skip
        elif everywhere or not (
            isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            or (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
        ):
            yield from imports(node, everywhere)


def own_imports(name: str, everywhere: bool) -> set[str]:
    found = imports(MODULES[name], everywhere)
    return {full.removeprefix("lowregret.") for full in found if full.startswith("lowregret")}


def room(name: str) -> str:
    return name.split(".")[0]


def floor(name: str) -> int:
    places = [height for height, names in enumerate(FLOORS) if room(name) in names]
    assert len(places) == 1, f"{name} must stand on exactly one of FLOORS, it stands on {len(places)}"
    return places[0]


ROOMS = {
    at: {room(other) for name in MODULES if room(name) == at for other in own_imports(name, everywhere=True)} - {at}
    for at in sorted({room(name) for name in MODULES})
}


def test_the_house_is_small() -> None:
    assert len(FLOORS) <= MOST_FLOORS
    assert set().union(*FLOORS) == set(ROOMS)
    assert len([path for path in ROOT.glob("*.py") if path.name != "__init__.py"]) <= MOST_AT_THE_ROOT


def test_no_import_goes_up() -> None:
    """Not inside a function, nor for types only."""
    up = {
        (name, other) for name in MODULES for other in own_imports(name, everywhere=True) if floor(other) > floor(name)
    }
    assert up == set()


def test_no_room_waits_for_itself() -> None:
    """Through others, wherever they import it."""
    assert set(TopologicalSorter(ROOMS).static_order()) == set(ROOMS)  # raises CycleError and names the cycle


def test_no_module_waits_for_itself() -> None:
    """Also within a room, where importing the room means importing its `__init__`."""
    graph = {name: own_imports(name, everywhere=False) for name in MODULES}
    for name, others in graph.items():
        assert others <= MODULES.keys(), f"{name} imports {others - MODULES.keys()}, which is no module of the package"
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError and names the cycle
    assert len(order) == len(MODULES)


def test_heavy_extras_are_imported_late_and_in_one_place() -> None:
    for name, tree in MODULES.items():
        at_once = {room(full) for full in imports(tree, everywhere=False)}
        assert at_once & HEAVY.keys() <= {MADE_OF.get(name)}, name
        late = {room(full) for full in imports(Runtime().visit(ast.parse(SOURCES[name])), everywhere=True)}
        assert {extra for extra in late & HEAVY.keys() if name not in HEAVY[extra]} == set(), name


@pytest.mark.parametrize(
    ("statement", "absent"),
    [
        ("import lowregret", {*HEAVY, "numpy", "numba", "scipy"}),
        ("import lowregret; lowregret.train, lowregret.play, lowregret.load, lowregret.zoo", set(HEAVY)),
    ],
)
def test_importing_is_light(statement: str, absent: set[str]) -> None:
    script = f"{statement}\nimport sys\nprint(*(name for name in sys.modules if '.' not in name))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=120)
    assert set(found.stdout.split()) & absent == set()


def test_learning_from_a_file_imports_what_it_needs(tmp_path: Path) -> None:
    """Neither what Numba asks SciPy and `numpy.ma` for, nor what only looking back or drawing needs."""
    (tmp_path / "rows.svm").write_text("1 1:1\n-1 2:1\n" * 20)
    script = "import sys\nfrom lowregret.cli import main\nmain(['train', 'rows.svm', '--quiet'])\nprint(*sys.modules)"
    command = [sys.executable, "-c", f"{script}\nimport scipy.sparse"]
    environment = os.environ | {"PYTHONPATH": str(ROOT.parent)}
    found = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    rooms = {"hindsight", "convex", "show.plot", "cli.html_report"}
    absent = {"scipy", "numpy.ma", *(f"lowregret.{name}" for name in rooms)}
    assert set(found.stdout.split()) & absent == set()


def test_public_names_are_what_the_stub_says_whatever_was_imported_before() -> None:
    """`lowregret.play` is the function, although a module is called so too."""
    everything = "; ".join(f"import lowregret.{name}" for name in MODULES)
    check = "assert callable(lowregret.play) and callable(lowregret.train) and callable(lowregret.load)"
    for before in ("", everything):
        script = f"import lowregret\n{before}\n{check}\nfor name in lowregret.__all__: getattr(lowregret, name)"
        subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


def test_benchmarks_are_small_files() -> None:
    lengths = {path.name: path.read_text().count("\n") for path in (ROOT.parent / "benchmarks").rglob("*.py")}
    assert {name for name, length in lengths.items() if length > LONGEST_FILE} == set()


def test_the_name_of_a_class_means_one_class() -> None:
    """In the whole package, those that begin with an underscore aside."""
    places: dict[str, list[str]] = {}
    for name, tree in MODULES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(name)
    assert {found: where for found, where in places.items() if len(where) > 1} == {}


def test_files_and_functions_are_small_and_say_what_they_are() -> None:
    for path in FILES:
        text = path.read_text()
        tree = ast.parse(text)
        assert text.count("\n") <= LONGEST_FILE, path
        assert ast.get_docstring(tree), path
        functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
        lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
        assert {name for name, length in lengths.items() if length > LONGEST_FUNCTION} == set(), path
