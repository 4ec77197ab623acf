"""docs/certificates.md has a line for every ID that some run can report."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tests.models.examples  # parts that stored models name
import tests.models.other_examples  # noqa: F401
from lowregret import load
from lowregret.certificate import THEOREMS
from tests.known import ID, IDS

pytestmark = pytest.mark.usefixtures("interpreted")

PAGE = Path(__file__).parents[2] / "docs" / "certificates.md"


def documented() -> dict[str, list[str]]:
    """The cells beside each ID of the page's tables; `THM-2.22, +` stands for two."""
    found: dict[str, list[str]] = {}
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        first, *others = cells[0].split(", ") if len(cells) > 1 else ("",)
        if first == "ID" or not ID.fullmatch(first):
            continue
        for name in (first, *(first + other if other == "+" else other for other in others)):
            found.setdefault(name, []).extend(cells[1:])
    return found


def test_every_id_that_can_be_reported_has_its_line() -> None:
    assert {theorem.id for theorem in THEOREMS} <= IDS
    assert len(IDS) > 95
    assert documented().keys() == IDS  # neither missing nor invented


def test_what_runs_of_every_kind_report_is_known() -> None:
    reported = set[str]()
    for path in (PAGE.parents[1] / "tests" / "models").glob("*.lr"):
        reported |= {c.id for c in getattr(load(path), "certificates", ())}
    plain = {name.removeprefix("Σ ").removesuffix("+DRIFT") for name in reported}
    assert len(plain) > 25
    assert plain <= documented().keys()


def test_every_line_has_its_formula_and_premises() -> None:
    assert [name for name, cells in documented().items() if not cells[0]] == []


def test_ids_made_of_others_are_told_too() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "| …+DRIFT |" in text
    assert "| Σ … |" in text


def test_the_pages_behind_it_are_linked() -> None:
    text = PAGE.read_text(encoding="utf-8")
    for page in ("finite", "experts", "bandits", "multiclass", "structured", "risk", "auto", "regret", "games", "book"):
        assert f"]({page}.md)" in text, page
