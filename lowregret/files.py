"""Opening whatever lowregret wrote."""

from __future__ import annotations

import os
from collections.abc import Callable

from lowregret import store
from lowregret.error import StoreError
from lowregret.experts.layered import Layered
from lowregret.experts.panel import Panel
from lowregret.kernel_run import KernelRun
from lowregret.play import Game
from lowregret.run import Run

_READERS: dict[str, Callable[[str | os.PathLike[str]], Run | KernelRun | Game | Panel]] = {
    "run": Run.load,
    "kernel-run": KernelRun.load,
    "game": Game.load,
    "experts": Panel.load,
    "layered-experts": Layered.load,
}


def load(path: str | os.PathLike[str]) -> Run | KernelRun | Game | Panel:
    """The run, game or panel of experts in a file, ready to go on where it stopped."""
    kind = store.kind_of(path)
    if kind not in _READERS:
        raise StoreError(f"{path} holds a {kind}, which this version of lowregret cannot read: upgrade to read it")
    return _READERS[kind](path)
