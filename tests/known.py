"""What the docs may speak of: the IDs that some certificate can have, and names that can be imported."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import lowregret

ROOT = Path(lowregret.__file__).parent
ID = re.compile(r"[A-Z][A-Z0-9]+(?:-[A-Z0-9.]+[ab]?)*\+?(?:\(\d\)| \([a-z]+\))?")
PROVING = re.compile(r"\b(Certificate|RiskCertificate|Theorem|SmallLoss|no_theorem|certify)\b")
TELLING = {"cli", "show", "game"}  # rooms that repeat IDs, and make none
NO_IDS = {"USO"}  # kinds of NumPy arrays


def _made(path: Path) -> Iterator[str]:
    """The IDs of a module: texts of their form, but for what it exports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    exported = {
        text.value
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for text in ast.walk(node.value)
        if isinstance(text, ast.Constant)
    }
    for node in ast.walk(tree):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and ID.fullmatch(text) and text not in exported | NO_IDS:
            yield text


# Every module that makes certificates has the IDs of its own as texts.
IDS = {
    name
    for path in ROOT.rglob("*.py")
    if path.relative_to(ROOT).parts[0] not in TELLING and PROVING.search(path.read_text(encoding="utf-8"))
    for name in _made(path)
}


def imported(place: str) -> Any:
    """The thing at a dotted name: the longest module it begins with, then attributes."""
    parts = place.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            thing: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            thing = getattr(thing, part)
        return thing
    raise ModuleNotFoundError(place)
