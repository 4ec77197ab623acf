"""How plain Python becomes compiled loops: parts, kernels, their cache, vector registers, memory, numbers and coins."""

from __future__ import annotations

import os
import sys
from threading import active_count

from lowregret.errors import LowRegretError


def _import_numba() -> None:
    """Import Numba without SciPy, whose version it asks for and nothing else; not if other threads may import that."""
    alone = active_count() == 1 and not {"numba", "scipy"} & sys.modules.keys()
    if alone:
        sys.modules["scipy"] = None  # type: ignore[assignment]
    try:
        import numba  # noqa: F401
    except ValueError as error:  # of a setting that Numba cannot begin with
        told = ", ".join(name for name in sorted(os.environ) if name.startswith("NUMBA_")) or "its settings"
        raise LowRegretError(f"Numba cannot begin: {str(error).rstrip('.')}; mend or unset {told}") from None
    finally:
        if alone:
            del sys.modules["scipy"]


_import_numba()
