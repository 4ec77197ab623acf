"""The gallery: every row of the certificate table has its page, and the pages say what is measured."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from benchmarks.gallery.entries import EXHIBITS, FAILING, TABLE, missing
from benchmarks.gallery.exhibit import BOUND, FALSE, MEASURED, Exhibit, curves
from benchmarks.gallery.pages import index, write

FOLDER = Path(__file__).parents[1] / "docs" / "gallery"
BY_NAME = {e.name: e for e in EXHIBITS}
AGAIN = (
    "ogd",
    "hedge",
    "consistent",
    "surrogate",
    "ftl-fails",
    "cover",
    "e02",
    "e13",
    "e14",
    "e23",
    "e30",
    "e38",
    "e40",
)
LARGEST = 40_000  # bytes of a picture


def rows(text: str) -> list[list[str]]:
    """The cells of a page's table."""
    lines = [line for line in text.splitlines() if line.startswith("| ")][1:]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]


def test_every_row_of_the_table_has_a_page() -> None:
    assert missing() == []
    assert len(BY_NAME) == len(EXHIBITS)
    known = set(TABLE + FAILING)
    assert {name for e in EXHIBITS for name in e.ids} <= known


@pytest.mark.parametrize("e", EXHIBITS, ids=lambda e: e.name)
def test_the_pages_are_there_and_hold(e: Exhibit) -> None:
    """As written: bounds are not exceeded, false statements are."""
    text = (FOLDER / f"{e.name}.md").read_text()
    for said in (e.title, e.statement, e.premises, e.played, f"{e.name}.svg"):
        assert said in text
    found = rows(text)
    assert found[0][1] == MEASURED
    for _, kind, _, ratio in found:
        if kind == BOUND:
            assert float(ratio) <= 1.0
        elif kind == FALSE:
            assert float(ratio) > 1.0
    picture = (FOLDER / f"{e.name}.svg").read_text()
    assert len(picture.encode()) < LARGEST
    assert "<dc:date>" not in picture


def test_the_index_names_all_pages() -> None:
    text = (FOLDER / "README.md").read_text()
    for e in EXHIBITS:
        assert f"]({e.name}.md)" in text


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", AGAIN)
def test_measured_again(name: str, tmp_path: Path) -> None:
    """Nothing depends on anything but the code: the same page, and twice the same picture."""
    e = BY_NAME[name]
    found = e.measure()
    assert found.broken == []
    write(tmp_path, e, found)
    assert (tmp_path / f"{name}.md").read_text() == (FOLDER / f"{name}.md").read_text()
    first = (tmp_path / f"{name}.svg").read_bytes()
    write(tmp_path, e, found)
    assert (tmp_path / f"{name}.svg").read_bytes() == first


def test_what_is_wrong_is_noticed() -> None:
    found = curves((1, 2), {"m": (1.0, 3.0)}, {"b": (2.0, 2.0)}, {"f": (4.0, 4.0)}, failures=(3, 10, 0.1))
    assert found.ratios == {"b": 1.5, "f": 0.75}
    assert found.broken == ["b is exceeded", "f is not refuted", "fails in 3 of 10 runs, δ = 0.1"]
    assert "What must fail" in index([(EXHIBITS[0], found)])
