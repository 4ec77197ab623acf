"""The contents of files of runs on structures and rankings."""

from __future__ import annotations

from collections.abc import Collection

from lowregret.errors import StoreError
from lowregret.learner.schema import Demands, state_arrays, table_demands
from lowregret.run.schema import ProofSchema
from lowregret.store.schema import TEXT, Array, Arrays, Field, Told, floats, items, maybe, whole
from lowregret.structured.learner import Ranking, Structured
from lowregret.structured.space import Space


class TaskSchema(ProofSchema):
    """A learner of structures or rankings."""

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        d = self.weights(told)
        return super().arrays(told, present) | state_arrays(told["learner"], d) | {"figures": floats(2, low=0)}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        yield from table_demands(told["learner"], arrays, self.weights(told), "table")


class OwnSchema(TaskSchema):
    """A learner over a space in plain Python."""

    def __init__(self) -> None:
        super().__init__(Structured)

    def weights(self, told: Told) -> int:
        return _dimension(told["learner"].space.dimension)


class RankingSchema(TaskSchema):
    """A learner of rankings."""

    def __init__(self) -> None:
        super().__init__(Ranking)

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"features": whole(1)}

    def weights(self, told: Told) -> int:
        return _dimension(told["learner"].dimension(told["features"]))


class StructuredSchema(RankingSchema):
    """A learner over one of the compiled spaces, and the names of labels."""

    def __init__(self) -> None:
        super(RankingSchema, self).__init__(Structured)

    def fields(self) -> dict[str, Field]:
        return super().fields() | {"names": maybe(items(TEXT, 1))}

    def weights(self, told: Told) -> int:
        if not isinstance(told["learner"].space, Space):
            raise StoreError("holds a space in plain Python, expected a compiled one")
        return super().weights(told)

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().demands(told, arrays)
        names, space = told["names"], told["learner"].space
        yield names is None or len(set(names)) == len(names) <= space.labels(), "at most a name for each label"


def _dimension(d: object) -> int:
    """A number of weights, if it is one."""
    if not isinstance(d, int) or d < 1:
        raise StoreError(f"has {d!r} weights, expected a whole number from 1 on")
    return d
