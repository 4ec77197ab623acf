"""Runs on cost vectors, and their certificates by name."""

from __future__ import annotations

from lowregret.certificate import Certificate, certificates
from lowregret.domain import Domain
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.rule import Rule
from lowregret.run.linear import LinearRun
from lowregret.train import train
from tests.laws import sequences


def on_costs(rule: Rule, stream: sequences.Stream) -> LinearRun:
    """The rule against linear costs ⟨w, z_t⟩."""
    return train(Linear(Cost(), rule), stream.x, stream.y, compiled=False)


def named(run: LinearRun, comparators: Domain) -> dict[str, Certificate]:
    """Every certificate of a run against these comparators."""
    return {c.id: c for c in certificates(run.learner, run.state, comparators)}
