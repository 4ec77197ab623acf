"""How plain Python becomes compiled loops: parts, kernels, their cache, vector registers, memory, numbers and coins."""

from __future__ import annotations

import os
import sys
import warnings
from threading import active_count

from lowregret.errors import LowRegretError


def _import_numba() -> None:
    """Import Numba without SciPy, whose version it asks for and nothing else, and without settings of this folder.

    Nothing is hidden from it if other threads may import that.
    """
    alone = active_count() == 1 and "numba" not in sys.modules
    hidden = {name for name in ("scipy", "yaml") if name not in sys.modules} if alone else set()
    sys.modules |= dict.fromkeys(hidden)  # type: ignore[arg-type]
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "A Numba config file is found")
            from numba.core import config
    except ValueError as error:  # of a setting that Numba cannot begin with
        told = ", ".join(name for name in sorted(os.environ) if name.startswith("NUMBA_")) or "its settings"
        raise LowRegretError(f"Numba cannot begin: {str(error).rstrip('.')}; mend or unset {told}") from None
    finally:
        for name in hidden:
            del sys.modules[name]
    # Numba takes `.numba_config.yaml` for settings, in the folder where one is, whenever it compiles. Whoever made that
    # folder could name one for compiled code, which is run, and switch off the check of indices.
    config._config_fname = ""
    config.reload_config()


_import_numba()
