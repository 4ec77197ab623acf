"""docs/errata.md and the tests of corrections match one to one."""

from __future__ import annotations

import re
from pathlib import Path

from tests.errata.record import CORRECTIONS, errata

PAGE = Path(__file__).parents[2] / "docs" / "errata.md"
ALL = [f"E{n:02}" for n in range(1, CORRECTIONS + 1)]


def test_every_correction_has_one_test_and_one_line() -> None:
    found = list(errata())
    assert sorted(e.number for e in found) == ALL
    lines = re.findall(r"^\| (E\d+) \|.*\[`(\w+)`\]\(\.\./tests/errata/(\w+\.py)\) \|$", PAGE.read_text(), re.MULTILINE)
    assert [number for number, _, _ in lines] == ALL
    assert set(lines) == {(e.number, e.test, e.file) for e in found}
