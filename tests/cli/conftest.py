"""What tests of commands share."""

from __future__ import annotations

import pytest

from lowregret import zoo
from tests.running import FEW_TREES


@pytest.fixture
def interpreted(interpreted: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process learn without compiling, and with few trees: other tests are about what they learn."""
    monkeypatch.setitem(zoo.FEATURES, "both", FEW_TREES)
