"""A run of `auto` that several workers made in rounds of averaging: it predicts, saves, and tells what is proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

from lowregret.auto import Auto
from lowregret.auto.learner import Mind
from lowregret.certificate import Certificate, Premise
from lowregret.risk.kept_trial import Trial
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.run.auto import AutoRun
from lowregret.run.auto_record import Mixture
from lowregret.run.schema_classes import AutoRowSchema
from lowregret.store.file import Arrays

MERGED = 3  # roundings of each sum by a row that a worker learns: its own, and two when what he learnt is added up


class Averaged(Mixture):
    """The record of experts that went back to common states: what each lost is exact, and no theorem bounds it."""

    @property
    def contests_kept(self) -> list[Any]:
        """The trust in the experts at the marks of the history."""
        return list(self._contests)

    def certificate(self, run: Any) -> Certificate:
        """The regret to the best expert, which is known exactly, but for rounding."""
        found = self.contest(run)
        comparator = {"set": "experts", "count": len(found.names), "best": found.names[found.best]}
        statement = "Σ loss − Σ loss of the expert, each as its workers ran it: exact, no theorem bounds it"
        held = (Premise("all losses are finite", abs(found.regret) < float("inf")),)
        return Certificate(
            "EXPERTS", statement, comparator, found.regret, found.regret, premises=held, regret=found.regret,
            rounding=MERGED * found.rounding,
        )  # fmt: skip

    def fixed_certificate(self, run: Any) -> Certificate:
        found = super().fixed_certificate(run)
        return replace(found, rounding=MERGED * found.rounding)


class AveragedRun(AutoRun):
    """An `AutoRun` whose rows were learnt by several workers, in rounds after which their runs became one."""

    record: Averaged
    kind = "averaged-run"
    schema = AutoRowSchema(Auto)
    knows_outputs = False

    def risks(self, delta: float = 0.05) -> list[RiskCertificate]:
        """No bounds: rows had no order, in which alone independence can be tested."""
        return []

    @classmethod
    def begun(cls, learner: Auto, features: int, **how: Any) -> Self:
        """A run before its first row, with room for this many features."""
        state = learner.start(features)
        record = Averaged(Mind.fresh(state.dimension, learner.stacks()), learner.spread)
        return cls(learner, state, record=record, trial=Trial(ended=0), certify=False, **how)

    @classmethod
    def _given(cls, learner: Auto, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        return super()._given(learner, description, arrays) | {
            "record": Averaged.of(Mind, learner.spread, description, arrays)
        }
