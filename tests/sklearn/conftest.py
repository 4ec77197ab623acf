"""Problems that all tests of the estimators are about."""

from __future__ import annotations

import numpy as np
import pytest

from tests.sklearn.problems import Problem, spell


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Estimators do without the compiler, too."""
    monkeypatch.setattr("lowregret.sklearn.train", spell)


@pytest.fixture(scope="session")
def two() -> Problem:
    """Two classes, named."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(400, 4)) * [1, 10, 0.1, 1] + [0, 5, 0, 0]
    return X, np.where(X[:, 0] + X[:, 1] / 10 + 0.3 * rng.normal(size=400) > 0.5, "yes", "no")


@pytest.fixture(scope="session")
def three() -> Problem:
    """Three classes, numbered."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 4))
    return X, np.array([7, 3, 5])[np.argmax(X @ rng.normal(size=(4, 3)), axis=1)]


@pytest.fixture(scope="session")
def numbers() -> Problem:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 4))
    return X, X @ [1.0, -2.0, 0.0, 3.0] + 5 + 0.1 * rng.normal(size=400)
