"""What tests of commands share."""

from __future__ import annotations

import pytest

from lowregret.compile.part import Part


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands in this process learn without compiling: other tests are about what they learn with."""
    monkeypatch.setattr(Part, "compilable", False)
