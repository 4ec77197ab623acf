"""Weights that are kept for pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lowregret
from lowregret.experts import AdaHedge, ExpertMixture, Layered, shown
from lowregret.experts.join import join_mixture


def test_weights_of_many_experts_take_no_more_memory_than_those_of_few() -> None:
    """2,000 rows of 100,000 weights took 1.6 GB."""
    assert shown.most_shown(2) == shown.most_shown(1000) == 2000
    assert 8 * 10**5 * shown.most_shown(10**5) <= shown.KEPT
    assert shown.most_shown(10**9) == 2


@pytest.mark.parametrize("kind", [ExpertMixture, Layered])
def test_mixtures_keep_so_many_weights_however_they_are_told(
    kind: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shown, "KEPT", 400)  # bytes: eight rounds of six weights
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=(45, 6)), rng.normal(size=45)
    x[20, 1] = np.nan
    options = {} if kind is Layered else {"aggregator": AdaHedge()}
    whole, parts = (kind(6, **options, compiled=False) for _ in range(2))
    whole.learn(x, y)
    parts.learn(x[:17], y[:17]).save(tmp_path / "parts.lr")
    parts = lowregret.load(tmp_path / "parts.lr")
    for row, outcome in zip(x[17:], y[17:], strict=True):
        number, _ = parts.ask(row)
        parts.tell(number, outcome)
    for found in (whole, parts):
        rounds, weights = found.weights_over_time
        assert rounds.tolist() == list(range(0, 45, 8))
        assert weights.shape == (6, 6)
        assert found.regrets.size == 6
    assert np.allclose(whole.weights_over_time[1], parts.weights_over_time[1], rtol=1e-9)
    join_mixture(parts, [f"new {k}" for k in range(6)])
    parts.learn(np.hstack([x, x]), y).save(tmp_path / "more.lr")
    rounds, weights = lowregret.load(tmp_path / "more.lr").weights_over_time
    assert weights.shape == (len(rounds), 12)
    assert len(rounds) <= shown.most_shown(12) == 4


@pytest.mark.parametrize("kind", [ExpertMixture, Layered])
def test_pictures_end_with_the_regret_that_is_told(kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """They ended before the last round that weights are kept of."""
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(shown, "KEPT", 400)
    rng = np.random.default_rng(3)
    made = (6, AdaHedge()) if kind is ExpertMixture else (6,)
    mixture = kind(*made, compiled=False).learn(rng.normal(size=(45, 6)), rng.normal(size=45))
    curve = mixture.plot().axes[-1].get_lines()[0]
    assert (curve.get_xdata()[-1], curve.get_ydata()[-1]) == (45, mixture.regret)
