"""Statements on errors keep their promise where they are nearly tight, however often a run is asked."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.risk_kinds import KINDS, measure


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "auto"])
@pytest.mark.parametrize("q", [3 / 256, 0.5])
def test_statements_on_coins(kind: str, q: float) -> None:
    assert measure(kind, q, 8, np.random.default_rng(1))
