"""Players and games of the user's own on the command line: FILE.py:NAME, whose file is run as Python runs it."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

from lowregret.errors import PartError


def is_own(text: str) -> bool:
    """Whether a word names something in a Python file, rather than something of the package."""
    return text.endswith(".py") or text.rpartition(":")[0].endswith(".py")


def load_own(text: str) -> Any:
    """The object that FILE.py:NAME names."""
    file, _, name = (text, "", "") if text.endswith(".py") else text.rpartition(":")
    module = _module(Path(file))
    if not hasattr(module, name):
        known = [n for n, v in vars(module).items() if callable(v) and getattr(v, "__module__", "") == module.__name__]
        why = f"{file} has no {name!r}" if name else f"say which of {file}: {file}:NAME"
        raise PartError(f"{why}; it has {', '.join(known) or 'neither classes nor functions'}")
    return getattr(module, name)


def _module(path: Path) -> Any:
    """The module that a file holds, run once however often it is named."""
    name = f"own_{path.stem}"
    known = sys.modules.get(name)
    if known is not None and Path(str(known.__file__)) == path.resolve():
        return known
    if not path.is_file():
        raise PartError(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        del sys.modules[name]
        raise PartError(f"{path} cannot be run: {type(error).__name__}: {error}") from error
    return module
