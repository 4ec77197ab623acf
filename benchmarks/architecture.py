"""The picture of the floors and the path of one row, drawn from the code: python -m benchmarks.architecture

Writes docs/architecture.svg and the marked parts of docs/architecture.md. Floors and imports are those that
`tests/test_layers.py` enforces. The path is that of a row through one `lowregret train`, interpreted, so that every
function on its way is seen; its words are the functions' docstrings.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import redirect_stdout
from functools import cache
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from tests.test_layers import FLOORS, MODULES, ROOMS, ROOT

DOCS = ROOT.parent / "docs"
PAGE, PICTURE = DOCS / "architecture.md", DOCS / "architecture.svg"
NAMES = ("ground", "parts", "learners", "proofs", "showing", "runs", "surfaces")  # of the floors

Stack = list[str]  # functions of the package, the innermost last, such as run.session.Session.learn

# Where a row can be met: functions that are called with it, or with what came of it.
CUT, READ, PARSED = "stream.source.blocks", "stream.source.Source.readinto", "stream.formats.svm.SvmText.parse"
HANDED, LOOP = "stream.text._batch", "learner.linear.learn_rows"
ROUND = ("learner.linear.Linear.learn", "learner.linear.Linear.absorb")  # its two halves
GATHERED, PROVED, SAID = "certificate.evidence.evidence", "certificate.theorems.Theorem.evaluate", "show.text.describe"


# ---- the floors -----------------------------------------------------------------------------------------------------


def reduced() -> dict[str, set[str]]:
    """The imports between rooms that no chain of others implies."""
    below: dict[str, set[str]] = {}

    def reach(room: str) -> set[str]:
        if room not in below:
            below[room] = ROOMS[room].union(*(reach(other) for other in ROOMS[room]))
        return below[room]

    return {room: {one for one in ROOMS[room] if not any(one in reach(o) for o in ROOMS[room])} for room in ROOMS}


WIDE, TALL, BOX, MARGIN = 1120, 96, 30, 110  # of the picture, a floor, a room, and the names of the floors


def picture() -> str:
    """The floors as SVG: a band each, a box for each room, and a line, with a dot at its end, to what it stands on."""
    places = {}
    for height, rooms in enumerate(map(sorted, FLOORS)):
        step = (WIDE - MARGIN - 20) / len(rooms)
        for k, room in enumerate(rooms):
            places[room] = MARGIN + step * (k + 0.5), (len(FLOORS) - height - 0.4) * TALL, min(step - 8, 130)
    style = "font-family:sans-serif;font-size:13px"
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDE}" height="{TALL * len(FLOORS)}" style="{style}">']
    for height, name in enumerate(NAMES):
        top = (len(FLOORS) - 1 - height) * TALL
        lines.append(f'<rect x="0" y="{top + 3}" width="{WIDE}" height="{TALL - 6}" rx="8" fill="#f2f4f7"/>')
        lines.append(f'<text x="12" y="{top + 0.6 * TALL + 5:.0f}" fill="#667">{name}</text>')
    lines += [
        line(places[room], places[other]) for room, others in sorted(reduced().items()) for other in sorted(others)
    ]
    for room, (x, y, size) in sorted(places.items()):
        at = f'x="{x - size / 2:.0f}" y="{y - BOX / 2:.0f}" width="{size:.0f}" height="{BOX}"'
        lines.append(f'<rect {at} rx="5" fill="#fff" stroke="#456"/>')
        lines.append(f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle">{room}</text>')
    return "\n".join([*lines, "</svg>", ""])


def line(one: tuple[float, float, float], other: tuple[float, float, float]) -> str:
    """A line down to a room of another floor, or over the rooms between to one of the same floor."""
    (x, y, _), (u, v, _) = one, other
    top = v - BOX / 2
    way = f"L{u:.0f},{top:.0f}" if v > y else f"Q{(x + u) / 2:.0f},{top - 38:.0f} {u:.0f},{top:.0f}"
    begin = y + BOX / 2 if v > y else y - BOX / 2
    drawn = f'<path d="M{x:.0f},{begin:.0f}{way}" fill="none" stroke="#9ab" stroke-width="0.8"/>'
    return f'{drawn}<circle cx="{u:.0f}" cy="{top:.0f}" r="2.5" fill="#456"/>'


def floors() -> str:
    """A table of the rooms, the highest floor first, with the first sentence of each."""
    lines = ["| floor | room | what it holds |", "|---|---|---|"]
    for name, rooms in reversed(list(zip(NAMES, FLOORS, strict=True))):
        for k, room in enumerate(sorted(rooms)):
            lines.append(f"| {name if k == 0 else ''} | `{room}` | {sentence(room)} |")
    return "\n".join(lines)


def module_of(name: str) -> str:
    """The module that a function is in."""
    cuts = [len(name), *(k for k, letter in reversed(list(enumerate(name))) if letter == ".")]
    return next(name[:k] for k in cuts if name[:k] in MODULES)


def node_of(name: str) -> Any:
    """The code of a module, class or function."""
    module = module_of(name)
    node: Any = MODULES[module]
    for word in filter(None, name[len(module) + 1 :].split(".")):
        node = next(one for one in ast.iter_child_nodes(node) if getattr(one, "name", None) == word)
    return node


def sentence(name: str) -> str:
    """The first paragraph of a docstring, which a method may inherit."""
    module = module_of(name)
    said = ast.get_docstring(MODULES[module]) if name == module else inspect.getdoc(object_of(name))
    return (said or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


def object_of(name: str) -> Any:
    """A function or method of the package, uncompiled."""
    module = module_of(name)
    found = attrgetter(name[len(module) + 1 :])(import_module(f"lowregret.{module}"))
    return getattr(found, "py_func", found)


# ---- the path of a row ----------------------------------------------------------------------------------------------


def record() -> dict[str, Stack]:
    """The stack of each of the package's functions when it is first called in a run of `lowregret train`."""
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.architecture", "--record"]
    done = subprocess.run(command, cwd=ROOT.parent, env=environment, capture_output=True, text=True, check=True)
    found: dict[str, Stack] = json.loads(done.stdout)
    return found


def watch() -> dict[str, Stack]:
    """`record`, in this process."""
    found: dict[str, Stack] = {}

    def see(frame: FrameType, event: str, _: object) -> None:
        name = function(frame.f_code)
        if event == "call" and name and name not in found:
            found[name] = stack(frame)

    from lowregret.cli import main

    with tempfile.TemporaryDirectory() as folder, redirect_stdout(sys.stderr):
        file = Path(folder) / "rows.svm"
        file.write_text("".join(f"{2 * (k % 2) - 1} 1:{k % 7}.5 3:1\n" for k in range(40)))
        threading.setprofile(see)
        sys.setprofile(see)
        try:
            main(["train", str(file), "--algorithm", "ogd", "--radius", "1"])
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    return found


@cache
def function(code: CodeType) -> str | None:
    """The name of the package's function with this code; None for others, comprehensions among them."""
    path, name = Path(code.co_filename), code.co_qualname
    if ROOT not in path.parents or "<" in name:
        return None
    return ".".join([*path.relative_to(ROOT).with_suffix("").parts, name]).replace(".__init__.", ".")


def stack(frame: FrameType | None) -> Stack:
    """The package's functions that run here, the innermost last."""
    names = []
    while frame is not None:
        name = function(frame.f_code)
        if name:
            names.append(name)
        frame = frame.f_back
    return names[::-1]


def steps_of_a_round(found: dict[str, Stack]) -> Stack:
    """The calls that the halves of a round make, in their order; questions to parts cost nothing when compiled."""
    names = [name for name, at in found.items() if len(at) > 1 and at[-2] in ROUND]
    return [name for name in names if ast.unparse(node_of(name).returns) != "bool"]


def path(found: dict[str, Stack]) -> str:
    """The path of a row, in tables: read, handed down to the loop, learnt, proved and shown."""
    show = next(k for k, name in enumerate(found[PROVED]) if name.startswith("cli.summary"))
    parts = [
        ("From the file to a batch, in threads of their own", [*found[CUT], READ, *found[PARSED], *found[HANDED]]),
        ("From the command to the compiled loop", found[LOOP]),
        ("A round, compiled", [ROUND[0], *steps_of_a_round(found)]),
        ("From the ledger to the certificate", [*found[PROVED][show:-1], GATHERED, PROVED, SAID]),
    ]
    lines = []
    for title, names in parts:
        lines += ["", f"### {title}", "", "| | module | function | what it does |", "|---|---|---|---|"]
        lines += [f"| {k} | {row(name)} |" for k, name in enumerate(dict.fromkeys(names), 1)]
    return "\n".join(lines[1:])


def row(name: str) -> str:
    """Module, function and its first sentence, as cells of a table."""
    module = module_of(name)
    return f"`{module}` | `{name[len(module) + 1 :]}` | {sentence(name)}"


# ---- the page -------------------------------------------------------------------------------------------------------


def filled(text: str, found: dict[str, Stack]) -> str:
    """The page with its marked parts drawn anew."""
    for mark, part in (("floors", floors()), ("path", path(found))):
        before, begin, rest = text.partition(f"<!-- {mark}: python -m benchmarks.architecture -->\n")
        _, end, after = rest.partition(f"\n<!-- end of {mark} -->")
        assert end, f"the marks of {mark} are not in {PAGE}"
        text = before + begin + part + end + after
    return text


def write() -> None:
    """Draw the picture, and the marked parts of the page, anew."""
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), record()), encoding="utf-8")
    print(f"wrote {PICTURE} and {PAGE}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        print(json.dumps(watch()))
    else:
        write()
