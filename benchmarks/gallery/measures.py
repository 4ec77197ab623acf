"""Ways to measure: a game played for many horizons, or one game looked at after many rounds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from benchmarks.gallery.exhibit import Curves, curves
from lowregret.certificate import Certificate
from lowregret.domain import Domain
from lowregret.game import Environment, find, game
from lowregret.game.algorithms import Setting
from lowregret.game.tables import CostGameTable, GameTable, marks

HORIZONS = (8, 16, 32, 64, 128, 256, 512, 1024)
Bounds = dict[str, str | Callable[[Any, int], float]]  # label → the ID of a certificate, or a function of (table, T)
Maker = Callable[[int], GameTable]


def sitting(
    against: str | Environment, algorithm: str, *, seed: int = 0, eta: Callable[[int], float] | None = None
) -> Maker:
    """The table of a named game and algorithm, for T rounds."""
    e = game(against) if isinstance(against, str) else against
    name = against if isinstance(against, str) else type(e).__name__
    chosen = find(e, name, algorithm)
    return lambda rounds: chosen.sit(Setting(e, rounds, seed, None if eta is None else eta(rounds)))


def at_costs(against: str | Environment, player: Callable[[int], Any], comparator: Domain | None = None) -> Maker:
    """The table of any player of costs."""
    e = game(against) if isinstance(against, str) else against

    def make(rounds: int) -> GameTable:
        table = CostGameTable(e, player(rounds), rounds, 0, ())
        if comparator is not None:
            table.game.comparator = comparator
        return table

    return make


def horizons(make: Maker, bounds: Bounds, rounds: Sequence[int] = HORIZONS, **options: Any) -> Curves:
    """One game for each T, tuned for it."""
    measured, found = [], []
    for t in rounds:
        table = make(t)
        measured.append(table.until(t).regret)
        found.append(_evaluated(table, t, bounds))
    return _collected(rounds, measured, found, bounds, **options)


def along(make: Maker, bounds: Bounds, rounds: int = 1024, **options: Any) -> Curves:
    """One game of T rounds, looked at on the way."""
    table = make(rounds)
    at = list(marks(rounds))
    rows = [(table.until(t).regret, _evaluated(table, t, bounds)) for t in at]
    return _collected(at, [r for r, _ in rows], [b for _, b in rows], bounds, x="round", **options)


def _evaluated(table: GameTable, t: int, bounds: Bounds) -> list[float]:
    return [_certified(table.certificates, b) if isinstance(b, str) else b(table, t) for b in bounds.values()]


def _certified(found: Iterable[Certificate], name: str) -> float:
    certificate = next(c for c in found if c.id == name)
    assert certificate.premises_hold, f"{name}: {certificate.premises}"
    return certificate.bound


def _collected(
    rounds: Sequence[int],
    measured: list[float],
    found: list[list[float]],
    bounds: Bounds,
    exceeded: tuple[str, ...] = (),
    others: dict[str, Callable[[int], float]] | None = None,
    measure: str = "measured regret",
    per: Callable[[int], float] = lambda t: 1.0,
    **options: Any,
) -> Curves:
    """Curves of what was found, divided by `per`; bounds named in `exceeded` must be."""
    scales = [per(t) for t in rounds]
    found = [[value / scale for value in values] for values, scale in zip(found, scales, strict=True)]
    measured = [value / scale for value, scale in zip(measured, scales, strict=True)]
    named = dict(zip(bounds, zip(*found, strict=True), strict=True))
    more = {label: [of(t) for t in rounds] for label, of in (others or {}).items()}
    kept = {label: values for label, values in named.items() if label not in exceeded}
    false = {label: named[label] for label in exceeded}
    return curves(rounds, {measure: measured, **more}, kept, false, **options)


def energy(table: Any, p: float = 2.0) -> float:
    """Σ‖z_t‖_p²"""
    return float(np.sum(np.linalg.norm(table.game.gradients, p, axis=1) ** 2))


def doubled(name: str, second: Callable[[Any], float]) -> Callable[[Any, int], float]:
    """A seed form, whose second term is twice that of the sharpened certificate."""
    return lambda table, t: _certified(table.certificates, name) + second(table)


def root(factor: float) -> Callable[[Any, int], float]:
    """factor·√T"""
    return lambda table, t: factor * math.sqrt(t)
