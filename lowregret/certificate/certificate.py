"""A certificate: what a theorem says about a run, with the premises it rests on checked against the data."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from lowregret.compile.numerics import at_most, raised

SINGULAR = {
    "experts": "expert",
    "assets": "asset",
    "arms": "arm",
    "hypotheses": "hypothesis",
    "points": "point",
    "radii": "radius",
}  # of few, one


@dataclass(frozen=True)
class Premise:
    """One condition of a theorem, and what was observed."""

    name: str
    holds: bool
    observed: Any = None


@dataclass(frozen=True)
class Certificate:
    """regret ≤ linear_regret ≤ bound, against every comparator in a set, if all premises hold.

    `linear_regret` is Σ c_t⟨w_t − u, z_t⟩ at the worst comparator u (None if the sum of sub-gradients was not kept);
    `bound` is the theorem's right-hand side on observed quantities. `measure` says what is bounded where it is not the
    regret (mistakes, weighted regret). `slack` is the exact distance between the two where the theorem gives it.
    `rounding` is how far sums of rounded numbers may fall short of what they stand for: the exact regret is at most
    `proved`, which has it added.
    `comparator["exact"]`, if there is one, says that `regret` is that to the best of some comparators alone.
    `hindsight` is the best comparator's loss with its solver's gap and the rounding of `regret`, the difference between
    the run's loss and that one; `risk` is a bound for data yet to come, if wanted.
    """

    id: str
    statement: str
    comparator: dict[str, Any]
    linear_regret: float | None
    bound: float
    premises: tuple[Premise, ...] = ()
    measure: str = "regret"
    regret: float | None = None
    slack: float | None = None
    hindsight: dict[str, float] | None = None
    risk: dict[str, Any] | None = None
    details: dict[str, float] = field(default_factory=dict)
    rounding: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "comparator", dict(self.comparator))  # of its own: others may share what was given

    @property
    def regret_interval(self) -> tuple[float, float] | None:
        """Two numbers with the exact regret between them.

        The best comparator may be better than found, by the gap; and both sums are rounded.
        """
        if self.regret is None or self.hindsight is None:
            return None
        off = self.hindsight["rounding"]
        return self.regret - off, self.regret + self.hindsight["gap"] + off

    def rivals(self, best: bool = False) -> str:
        """The comparators, or the best of them, in words."""
        told = self.comparator
        if best and "exact" in told:
            return f"the best {SINGULAR[told['exact']]}"
        if "best" in told:
            return f"the best of its {told['count']} experts, {told['best']}"
        if told["set"] in SINGULAR:
            return f"{'the best' if best else 'every'} {SINGULAR[told['set']]}{self.awake}"
        size = "total" if told["set"] == "simplex" else "radius"
        where = f"in the {told['set']}" + (f" of {size} {told['radius']:g}" if "radius" in told else "")
        where += f" around {told['around']}" if "around" in told else ""
        what = f"fixed {told['of']}{self.awake}" if "of" in told else "fixed choice"
        return f"{'the best' if best else 'every'} {what} {'anywhere' if told['set'] == 'reals' else where}"

    @property
    def awake(self) -> str:
        """The experts that the certificate speaks of, in words after their name; nothing if it speaks of all."""
        if "slept" not in self.comparator:
            return ""
        return " that never slept" if self.comparator["set"] == "experts" else " of experts that never slept"

    @property
    def proved(self) -> float:
        """The number that the exact regret does not exceed if the premises hold, rounding included.

        A bound that the linearised regret exceeds is refuted by it, whatever premises say that could not be tried out.
        """
        if self.linear_regret is None:
            return self.promised
        refuted = self.linear_regret > self.promised  # also by as little as premises let pass
        return raised(self.linear_regret if refuted else min(self.linear_regret, self.bound), self.rounding)

    @property
    def promised(self) -> float:
        """The bound with its rounding, which is what people are told of it."""
        return raised(self.bound, self.rounding)

    @property
    def measured(self) -> float | None:
        """The linearised regret with its rounding, which is what people are told of it; None if it is not known."""
        return None if self.linear_regret is None else raised(self.linear_regret, self.rounding)

    @property
    def premises_hold(self) -> bool:
        return all(premise.holds for premise in self.premises)

    @property
    def holds(self) -> bool:
        """Whether the premises hold and the measured numbers obey regret ≤ linear regret ≤ bound."""
        regret = self.regret
        if regret is not None and self.hindsight is not None:
            regret -= self.hindsight["rounding"]
        chain = [x for x in (regret, self.linear_regret, self.bound) if x is not None]
        ordered = all(at_most(a, b + self.rounding) for a, b in pairwise(chain))
        return self.premises_hold and ordered and not math.isnan(self.bound)

    def to_json(self) -> dict[str, Any]:
        """The public form: see the command line's `--json`. Numbers that are not finite are null."""
        return {
            "id": self.id,
            "statement": self.statement,
            "comparator": self.comparator,
            "measure": self.measure,
            "linear_regret": _plain(self.linear_regret),
            "bound": _plain(self.bound),
            "rounding": _plain(self.rounding),
            "holds": self.holds,
            "premises": [{"name": p.name, "holds": p.holds, "observed": _plain(p.observed)} for p in self.premises],
            "hindsight": self.hindsight,
            "regret": _plain(self.regret),
            "slack": _plain(self.slack),
            "risk": self.risk,
        }


def no_theorem(comparator: dict[str, Any], reason: str) -> Certificate:
    """Of a learner about which nothing is proved, since `reason` is not so."""
    return Certificate("NONE", "no theorem bounds the regret", comparator, None, math.inf, (Premise(reason, False),))


def _plain(value: Any) -> Any:
    """A value as JSON can hold it: null instead of NaN and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
