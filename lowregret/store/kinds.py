"""Opening whatever lowregret wrote."""

from __future__ import annotations

import os

from lowregret.bandit import Bandit, Exp4
from lowregret.errors import StoreError
from lowregret.experts.layered import Layered
from lowregret.experts.panel import Panel
from lowregret.play.game import Game
from lowregret.run.auto import AutoRun
from lowregret.run.auto_multiclass import AutoClassRun
from lowregret.run.delayed import DelayedRun
from lowregret.run.doubling import DoublingRun
from lowregret.run.kernel import KernelRun
from lowregret.run.linear import Run
from lowregret.run.multiclass import ClassRun
from lowregret.store import file as store
from lowregret.structured import OwnRun, RankingRun, StructuredRun, TaskRun

Kept = Run | AutoRun | ClassRun | KernelRun | Game | Bandit | Exp4 | Panel | TaskRun

_ALL: tuple[type[Kept], ...] = (
    Run,
    DelayedRun,
    DoublingRun,
    ClassRun,
    AutoRun,
    AutoClassRun,
    KernelRun,
    Game,
    Bandit,
    Exp4,
    Panel,
    Layered,
    StructuredRun,
    OwnRun,
    RankingRun,
)
KINDS = {kept.kind: kept for kept in _ALL}


def load(path: str | os.PathLike[str]) -> Kept:
    """The run, game, bandit or panel of experts in a file, ready to go on where it stopped."""
    kind = store.kind_of(path)
    if kind not in KINDS:
        raise StoreError(f"{path} holds a {kind}, which this version of lowregret cannot read: upgrade to read it")
    return KINDS[kind].load(path)
