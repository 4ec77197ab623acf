"""The schemas of files of portfolios."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from lowregret.experts.schema import SLACK, MixtureSchema
from lowregret.experts.wealth import WEALTH_SUM_NAMES
from lowregret.run.schema_rounds import SMALL, Demands, RecordedSchema
from lowregret.store.schema import FLAG, Array, Arrays, Field, Told, anything, floats, number, whole

BELOW_ONE = 1 - 2.0**-53

MOST_PULL = 1e100  # of `OnlineNewton`: more cannot be squared


class PortfolioSchema(MixtureSchema):
    """A `Portfolio`, with what it holds and has become."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"cost": number(0, BELOW_ONE)}

    def own_slots(self) -> dict[str, tuple[str, ...]]:
        return super().own_slots() | {"ledger": WEALTH_SUM_NAMES}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        holdings = floats(len(told["names"]), low=0)
        ledger = {"holdings": holdings, "ledger": anything(len(WEALTH_SUM_NAMES)), "wealth": anything("shown")}
        return super().own_arrays(told) | ledger

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        held = float(arrays["holdings"].sum())
        yield held == 0 or math.isclose(held, 1.0, rel_tol=1e-6), "holdings that sum to 1, or none yet"


class MixedPortfolioSchema(PortfolioSchema):
    """A `MixedPortfolio`."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"distance": number(0, 1)}


class OnlineNewtonSchema(PortfolioSchema):
    """An `OnlineNewton` portfolio."""

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"pull": number(SMALL, MOST_PULL), "curved": number(0), "ahead": number(0)}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        n = len(told["names"])
        newton = {"w": floats(n, low=0), "a": floats(n, n), "b": floats(n), "inverse": floats(n, n)}
        return super().own_arrays(told) | newton

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        yield math.isclose(float(arrays["w"].sum()), 1.0, rel_tol=1e-6), "w: weights that sum to 1"
        yield _is_curved(arrays["a"]), "a: the identity and squares"
        yield np.all(arrays["b"] >= 0), "b: sums of what is above 0"


def _is_curved(a: Any) -> bool:
    """Whether a matrix may be I + Σggᵀ, g ≥ 0, but for rounding."""
    least = np.eye(len(a)) * (1 - SLACK)
    return bool(np.all(a >= least) and np.array_equal(a, a.T) and np.linalg.eigvalsh(a)[0] >= -SLACK * a.trace())


class UniversalSchema(PortfolioSchema):
    """A `Universal` portfolio: the mixture of its nodes."""

    def inner(self, told: Told | None = None) -> Mapping[str, RecordedSchema]:
        return {"mixture": MixtureSchema()}

    def own_fields(self) -> dict[str, Field]:
        return super().own_fields() | {"horizon": whole(), "exact": FLAG}

    def own_arrays(self, told: Told) -> dict[str, Array]:
        return super().own_arrays(told) | {"nodes": floats(len(told["mixture"]["names"]), len(told["names"]), low=0)}

    def own_demands(self, told: Told, arrays: Arrays) -> Demands:
        yield from super().own_demands(told, arrays)
        yield told["mixture"]["parts"] == 1, "a mixture of numbers"
