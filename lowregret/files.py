"""Opening whatever lowregret wrote."""

from __future__ import annotations

import os
from collections.abc import Callable

from lowregret import store
from lowregret.auto_class_run import AutoClassRun
from lowregret.auto_run import AutoRun
from lowregret.bandit import Bandit, Exp4
from lowregret.class_run import ClassRun
from lowregret.delayed_run import DelayedRun
from lowregret.doubling_run import DoublingRun
from lowregret.error import StoreError
from lowregret.experts.layered import Layered
from lowregret.experts.panel import Panel
from lowregret.kernel_run import KernelRun
from lowregret.play import Game
from lowregret.run import Run
from lowregret.structured import OwnRun, RankingRun, StructuredRun, TaskRun

Kept = Run | AutoRun | ClassRun | KernelRun | Game | Bandit | Exp4 | Panel | TaskRun

_READERS: dict[str, Callable[[str | os.PathLike[str]], Kept]] = {
    "run": Run.load,
    "delayed-run": DelayedRun.load,
    "doubling-run": DoublingRun.load,
    "class-run": ClassRun.load,
    "auto-run": AutoRun.load,
    "auto-class-run": AutoClassRun.load,
    "kernel-run": KernelRun.load,
    "game": Game.load,
    "bandit": Bandit.load,
    "exp4": Exp4.load,
    "experts": Panel.load,
    "layered-experts": Layered.load,
    "structured-run": StructuredRun.load,
    "own-structured-run": OwnRun.load,
    "ranking-run": RankingRun.load,
}


def load(path: str | os.PathLike[str]) -> Kept:
    """The run, game, bandit or panel of experts in a file, ready to go on where it stopped."""
    kind = store.kind_of(path)
    if kind not in _READERS:
        raise StoreError(f"{path} holds a {kind}, which this version of lowregret cannot read: upgrade to read it")
    return _READERS[kind](path)
