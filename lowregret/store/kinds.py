"""Opening any file that lowregret wrote: the kinds of files, and the class that reads each."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from lowregret.errors import StoreError
from lowregret.store.file import Saved, kind_of

# What a file can hold, and the class that reads it; named, not imported: rooms above this one are read when needed.
KINDS = {
    "run": "run.linear:LinearRun",
    "block-run": "run.blocks:BlockRun",
    "spread-run": "run.spread:SpreadRun",
    "delayed-run": "run.delayed:DelayedRun",
    "doubling-run": "run.doubling:DoublingRun",
    "class-run": "run.multiclass:MulticlassRun",
    "auto-run": "run.auto:AutoRun",
    "averaged-run": "run.averaged:AveragedRun",
    "auto-class-run": "run.auto_multiclass:AutoMulticlassRun",
    "predictor": "run.predictor:Predictor",
    "kernel-run": "run.kernel:KernelRun",
    "game": "play.game:Game",
    "bandit": "bandit.bandit:Bandit",
    "exp4": "bandit.exp4:Exp4",
    "bandit-descent": "bandit.descent:BanditDescent",
    "estimated-descent": "bandit.estimated:EstimatedDescent",
    "expert-ranking": "bandit.ranking:ExpertRanking",
    "score-ranking": "bandit.ranking:ScoreRanking",
    "experts": "experts.mixture:ExpertMixture",
    "layered-experts": "experts.layered:Layered",
    "drawing": "experts.draw:Drawing",
    "box-hedge": "experts.continuous:BoxHedge",
    "sampled-hedge": "experts.continuous:SampledHedge",
    "specialists": "experts.specialists:Specialists",
    "online-newton": "experts.portfolio:OnlineNewton",
    "universal-portfolio": "experts.portfolio:Universal",
    "consistent": "finite.learner:Consistent",
    "halving": "finite.learner:Halving",
    "standard-optimal": "finite.learner:StandardOptimal",
    "weighted-majority": "finite.weighted_majority:WeightedMajority",
    "surrogate-halving": "finite.surrogate_halving:SurrogateHalving",
    "agnostic": "finite.agnostic:Agnostic",
    "restarting": "finite.surrogate_halving:Restarting",
    "structured-run": "structured.compiled_run:StructuredRun",
    "own-structured-run": "structured.own:OwnRun",
    "ranking-run": "structured.compiled_run:RankingRun",
}


def load(path: str | os.PathLike[str]) -> Any:
    """The run, game, bandit or panel of experts in a file, ready to go on where it stopped, or a predictor."""
    kind = kind_of(path)
    if kind not in KINDS:
        raise StoreError(f"{path} holds a {kind}, which this version of lowregret cannot read: upgrade to read it")
    return class_of(kind).load(path)


def class_of(kind: str) -> type[Saved]:
    """The class whose files are of this kind."""
    module, _, name = KINDS[kind].partition(":")
    return getattr(import_module(f"lowregret.{module}"), name)
