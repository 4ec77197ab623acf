"""One page of the gallery: a statement, the game that was played, and the curves that were measured."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

MEASURED, BOUND, FALSE = "measured", "bound", "exceeded"
TOLERANCE = 1e-9


@dataclass(frozen=True)
class Line:
    """A curve: measured; a bound, never below the first measured curve; or a false statement, which is."""

    label: str
    values: tuple[float, ...]
    kind: str


@dataclass(frozen=True)
class Curves:
    """Curves over the same rounds; `failures` of so many runs, where a bound holds with probability 1 − δ only."""

    rounds: tuple[int, ...]
    lines: tuple[Line, ...]
    x: str = "rounds T"
    y: str = "regret"
    failures: tuple[int, int, float] | None = None

    def of(self, kind: str) -> list[Line]:
        """The lines of a kind."""
        return [line for line in self.lines if line.kind == kind]

    @property
    def ratios(self) -> dict[str, float]:
        """The largest measured ÷ bound of every bound, and of false statements."""
        main = self.of(MEASURED)[0].values
        found = {}
        for line in self.of(BOUND) + self.of(FALSE):
            pairs = [(m, b) for m, b in zip(main, line.values, strict=True) if math.isfinite(b)]
            found[line.label] = max((_ratio(m, b) for m, b in pairs), default=math.nan)
        return found

    @property
    def broken(self) -> list[str]:
        """What is wrong with the curves: bounds that were exceeded, false statements that were not."""
        ratios = self.ratios
        wrong = [f"{line.label} is exceeded" for line in self.of(BOUND) if not ratios[line.label] <= 1 + TOLERANCE]
        wrong += [f"{line.label} is not refuted" for line in self.of(FALSE) if not ratios[line.label] > 1 + TOLERANCE]
        if self.failures is not None and self.failures[0] > self.failures[2] * self.failures[1]:
            wrong.append(f"fails in {self.failures[0]} of {self.failures[1]} runs, δ = {self.failures[2]}")
        return wrong


def _ratio(measured: float, bound: float) -> float:
    if bound > 0:
        return measured / bound
    return 1.0 if measured <= bound + TOLERANCE else math.inf


@dataclass(frozen=True)
class Exhibit:
    """What a page says. `ids` are those of the theory; `measure` plays the game."""

    name: str
    ids: tuple[str, ...]
    title: str
    statement: str
    premises: str
    played: str
    measure: Callable[[], Curves] = field(repr=False)
    command: str = ""
    remark: str = ""


def curves(
    rounds: Sequence[int],
    measured: Mapping[str, Sequence[float]],
    bounds: Mapping[str, Sequence[float]],
    false: Mapping[str, Sequence[float]] | None = None,
    *,
    x: str = "rounds T",
    y: str = "regret",
    failures: tuple[int, int, float] | None = None,
) -> Curves:
    """Curves from named sequences; the first measured one is what bounds are compared with."""
    kinds = ((MEASURED, measured), (BOUND, bounds), (FALSE, false or {}))
    lines = [Line(label, tuple(map(float, values)), kind) for kind, named in kinds for label, values in named.items()]
    return Curves(tuple(rounds), tuple(lines), x, y, failures)
