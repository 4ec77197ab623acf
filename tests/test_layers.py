"""The shape of the package: imports go one way, heavy extras stay where they are needed, files stay small."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import lowregret

ROOT = Path(lowregret.__file__).parent

# From what a user calls down to what stands on nothing. A module or folder imports from layers below its own only.
LAYERS = [
    {"__main__"},
    {"cli", "sklearn"},
    {"game"},
    {"files", "session", "regret", "finite"},
    {"passes"},
    {"delayed_run", "doubling_run", "judge"},
    {"run", "play", "bandit", "experts"},
    {"wrapped_seat", "auto_run", "auto_class_run"},
    {"class_run", "row_run", "standing", "structured"},
    {"class_fixed", "class_layout"},
    {"kernel_run", "seat", "fixed", "hindsight", "ledger"},
    {"late", "blocks", "summary", "eras", "growth", "notes"},
    {"trace", "plot", "metrics", "risk", "class_tally"},
    {"figures"},
    {"certificate", "tally", "confusion"},
    {"zoo", "wrapper", "drift", "kept"},
    {"auto"},
    {"eight_classes"},
    {"multiclass"},
    {"learner", "kernelised", "follow", "places"},
    {"stream"},
    {"check", "spec", "store", "pending", "classes"},
    {"rule", "minimise"},
    {"mirror"},
    {"domain", "convex", "step", "output", "rows"},
    {"loss"},
    {"real", "chance", "eight", "memory"},
    {"state"},
    {"part"},
    {"kernel"},
    {"cache", "extremes", "pipeline", "replacing"},
    {"context", "shortcuts"},
    {"error", "stamp", "words", "address"},
]

# Packages that cost much to import or need not be there: which module may import them, inside a function.
HEAVY = {
    "matplotlib": {"plot"},
    "cvxpy": {"domain.compound"},
    "sklearn": {"sklearn"},
    "pandas": set[str](),
    "pyarrow": {"stream.arrow", "stream.leaves", "stream.fields", "cli.warm"},
    "isal": {"stream.inflate"},
    "zstandard": {"store", "stream.inflate"},
    "polars": set[str](),
    "plotly": set[str](),
    "fastapi": set[str](),
    "ray": set[str](),
}

# Surfaces that are made of a heavy package, which nothing but a user imports: they import it at once.
MADE_OF = {"sklearn": "sklearn"}

LONGEST_FILE, LONGEST_FUNCTION = 400, 40

FILES = sorted(ROOT.rglob("*.py"))


def name_of(path: Path) -> str:
    """`lowregret/domain/ball.py` is domain.ball, `lowregret/domain/__init__.py` is domain."""
    return ".".join(part for part in path.relative_to(ROOT).with_suffix("").parts if part != "__init__")


MODULES = {name_of(path): ast.parse(path.read_text()) for path in FILES if path != ROOT / "__init__.py"}


def imports(tree: ast.AST, everywhere: bool) -> Iterator[str]:
    """Full names that are imported when the module is, or `everywhere` also inside functions; not for checkers only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            inside = node.module == "lowregret"
            yield from (f"{node.module}.{alias.name}" if inside else str(node.module) for alias in node.names)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from imports(node, everywhere) if everywhere else ()
        elif not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield from imports(node, everywhere)


def own_imports(name: str, everywhere: bool) -> set[str]:
    found = (
        full.removeprefix("lowregret.") for full in imports(MODULES[name], everywhere) if full.startswith("lowregret")
    )
    return set(found)


def top(name: str) -> str:
    return name.split(".")[0]


def layer(name: str) -> int:
    places = [height for height, names in enumerate(reversed(LAYERS)) if top(name) in names]
    assert len(places) == 1, f"{name} must stand in exactly one layer of LAYERS, it stands in {len(places)}"
    return places[0]


@pytest.mark.parametrize("name", MODULES)
def test_imports_go_down(name: str) -> None:
    wrong = {
        other
        for other in own_imports(name, everywhere=True)
        if top(other) != top(name) and not layer(other) < layer(name)
    }
    assert wrong == set(), f"{name} stands in layer {layer(name)} and may not import from its own or a higher one"


def test_every_layer_exists() -> None:
    assert set().union(*LAYERS) == {top(name) for name in MODULES}


def test_no_module_waits_for_itself() -> None:
    """Also within a folder, where importing the folder means importing its `__init__`."""
    graph = {name: own_imports(name, everywhere=False) for name in MODULES}
    for name, others in graph.items():
        assert others <= MODULES.keys(), f"{name} imports {others - MODULES.keys()}, which is no module of the package"
    order = list(TopologicalSorter(graph).static_order())  # raises CycleError and names the cycle
    assert len(order) == len(MODULES)


@pytest.mark.parametrize("name", MODULES)
def test_heavy_extras_are_imported_late_and_in_one_place(name: str) -> None:
    at_once = {top(full) for full in imports(MODULES[name], everywhere=False)}
    late = {top(full) for full in imports(MODULES[name], everywhere=True)}
    assert at_once & HEAVY.keys() <= {MADE_OF.get(name)}
    assert {extra for extra in late & HEAVY.keys() if name not in HEAVY[extra]} == set()


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


def test_public_names_are_what_the_stub_says_whatever_was_imported_before() -> None:
    """`lowregret.play` is the function, although a module is called so too."""
    everything = "; ".join(f"import lowregret.{name}" for name in MODULES)
    check = "assert callable(lowregret.play) and callable(lowregret.train) and callable(lowregret.load)"
    for before in ("", everything):
        script = f"import lowregret\n{before}\n{check}\nfor name in lowregret.__all__: getattr(lowregret, name)"
        subprocess.run([sys.executable, "-c", script], check=True, timeout=120)


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_files_and_functions_are_small_and_say_what_they_are(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)
    assert text.count("\n") <= LONGEST_FILE
    assert ast.get_docstring(tree)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lengths = {f.name: (f.end_lineno or 0) - f.lineno + 1 for f in functions}
    assert {name for name, length in lengths.items() if length > LONGEST_FUNCTION} == set()
