"""What follows from a learner, its state and its history: certificates, trace, plot, and the file of them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from lowregret.certificate import Certificate, certificates, evidence, tightest
from lowregret.certificate.trace import WIDTH, Trace, next_mark, snapshot, trace
from lowregret.compile.call import call, compilable
from lowregret.compile.spec import from_json, to_json
from lowregret.domain import Domain
from lowregret.errors import PartError, StoreError
from lowregret.learner.linear import Learner
from lowregret.state import State
from lowregret.store.file import Arrays, Saved
from lowregret.types import Vector
from lowregret.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EARLY = 8  # the history begins when a look at all coordinates costs no more than this many per round so far
NEVER = 2**62  # more rounds than there will be


class Proof(Saved):
    """What follows from a learner, its state and its history."""

    learns: ClassVar[type]  # what its learner must be
    certify: bool  # whether a history is kept

    def __init__(
        self, learner: Any, state: State, comparator: Domain, *, history: Vector | None = None, compiled: bool = True
    ) -> None:
        self.learner: Learner = learner
        self.state = state
        self.comparator = comparator
        self.comparator.fits(self._coordinates)
        self.compiled = compiled
        self._history: list[Any] = [] if history is None else list(history)

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def rounds(self) -> int:
        return self.state.rounds

    @property
    def books(self) -> State:
        """The state as proofs read it: a row of the table for each weight that comparators have."""
        return self.state

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner, tightest first."""
        return certificates(self.learner, self.books, self.comparator)

    @property
    def certificate(self) -> Certificate:
        """The tightest certificate whose premises hold."""
        return tightest(self.certificates)

    @property
    def fixed_certificate(self) -> Certificate:
        """The certificate against fixed predictors."""
        return self.certificate

    def linear_regret(self, comparator: Domain | None = None) -> float:
        """Σ⟨w_t,z_t⟩ + max_u⟨u,−Σz_t⟩ against any set of comparators, at any time, without a second pass: O(d)."""
        found = evidence(self.learner, self.books, comparator or self.comparator).linear_regret
        if found is None:
            raise PartError("Forgotten: the sum of sub-gradients was not kept; use ProjectedGradient(..., Summed())")
        return found

    @property
    def trace(self) -> Trace:
        """Loss, linearised regret and bound over the rounds."""
        history = np.array([*self._history, self._snapshot()])
        if len(self._history) and self._history[-1][: WIDTH - 4].tobytes() == history[-1][: WIDTH - 4].tobytes():
            history = history[:-1]
        return trace(self.learner, history, self.comparator)

    def plot(self, path: str | os.PathLike[str] | None = None, theirs: Vector | None = None) -> Figure:
        """Mean loss, and linearised regret under its bound, over the rounds; written to `path` if given.

        With `theirs`, the losses of a fixed choice that `against` tells, also the regret itself.
        """
        from lowregret.show.plot import plot_run

        return plot_run(self, path, theirs)

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description = {
            "learner": to_json(self.learner),
            "comparator": to_json(self.comparator),
            "compiled": self.compiled,
        }
        return description, self.state._asdict() | {"history": np.array(self._history).reshape(-1, WIDTH)}

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        learner, comparator = from_json(description["learner"]), from_json(description["comparator"])
        if not (isinstance(learner, cls.learns) and isinstance(comparator, Domain)):
            raise StoreError(f"{path} holds a {type(learner).__name__} against a {type(comparator).__name__}")
        return cls(learner, comparator=comparator, **cls._given(learner, description, arrays))

    @classmethod
    def _given(cls, learner: Any, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        """What else the constructor is given, by `contents`."""
        return {
            "state": State(*(arrays[name] for name in State._fields)),
            "history": arrays["history"],
            "compiled": description["compiled"],
        }

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _of(self) -> str:
        return type(self.learner.rule).__name__

    def _facts(self: Any) -> Iterator[str]:
        yield counted(self.rounds, "round")
        yield f"{type(self.learner.loss).__name__} loss {self._mean_loss()}"
        yield from self._proved()

    def _mean_loss(self: Any) -> str:
        return f"{self.loss / max(self.rounds, 1):.4g} a round"

    def _proved(self) -> Iterator[str]:
        """The regret, where O(d) is enough."""
        rule = self.learner.rule
        if rule.keeps_sum() and compilable(self.comparator):
            yield f"{'weighted ' * rule.schedule().weighted()}regret ≤ {self.linear_regret():.4g}"

    @property
    def _coordinates(self) -> int:
        """How many weights comparators have."""
        return self.state.dimension

    def _next_mark(self) -> int:
        """The round whose ledger the history keeps next."""
        early = -(-self.state.dimension // EARLY)
        return next_mark(max(self.state.rounds, early - 1)) if self.certify else NEVER

    def _at_mark(self) -> None:
        self._history.append(self._snapshot())

    def _snapshot(self) -> Vector:
        return snapshot(self.state, self.learner.rule)

    def _call(self, loop: Any, *args: Any) -> Any:
        return call(loop, self.compiled, *args)
