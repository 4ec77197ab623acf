"""How plain Python becomes compiled loops: parts, kernels, their cache, vector registers, memory, numbers and coins."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from threading import active_count
from types import CodeType, ModuleType
from typing import Any

from lowregret.errors import LowRegretError

_SETTINGS = ".numba_config.yaml"  # which Numba takes in the folder where one is


class _WithoutSettings:
    """Find the module in which Numba reads its settings, so that it knows of no file of these."""

    @classmethod
    def find_spec(
        cls, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Where a module is, or None for Python to look further."""
        found = PathFinder.find_spec(name, path, target) if name == "numba.core.config" else None
        loader: Any = found.loader if found else None
        if loader is not None and hasattr(loader, "get_code"):
            read = loader.get_code
            loader.get_code = lambda module: _nameless(read(module))
        return found


def _nameless(code: CodeType) -> CodeType:
    """Code for which the file of settings is called nothing."""
    return code.replace(co_consts=tuple("" if each == _SETTINGS else each for each in code.co_consts))


def _import_numba() -> None:
    """Import Numba without SciPy, whose version it asks for and nothing else, and without settings of this folder.

    Nothing is hidden from it if other threads may import that.
    """
    alone = active_count() == 1 and "numba" not in sys.modules
    hidden = {name for name in ("scipy", "yaml") if name not in sys.modules} if alone else set()
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
    sys.meta_path.insert(0, _WithoutSettings)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A Numba config file is found")
            from numba.core import config
    except ValueError as error:  # of a setting that Numba cannot begin with
        told = ", ".join(name for name in sorted(os.environ) if name.startswith("NUMBA_")) or "its settings"
        raise LowRegretError(f"Numba cannot begin: {str(error).rstrip('.')}; mend or unset {told}") from None
    finally:
        sys.meta_path.remove(_WithoutSettings)
        for name in hidden:
            del sys.modules[name]
    # Where it was imported before, it takes settings of the folder whenever it compiles. Whoever made that folder could
    # name one for compiled code, which is run, and switch off the check of indices.
    config._config_fname = ""
    config.reload_config()


_import_numba()
