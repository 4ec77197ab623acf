"""`lowregret train --report`: one page that says what the run says."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
VOID = {"meta", "path", "use"}


class Page(HTMLParser):
    """The words of a page, the tags still open, and what it would load from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.loaded += [
            value or "" for name, value in attrs if name in ("src", "href") and not (value or "").startswith("#")
        ]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_the_page_says_what_the_run_says(capsys: Capsys, tmp_path: Path) -> None:
    file, page = written(tmp_path / "a<b>&.svm", svm_lines(300)), tmp_path / "page.html"
    told = run(capsys, "train", file, "--json", "--quiet", "--report", page)
    assert told.code == 0, told.err
    found = Page(page.read_text())
    text = " ".join(found.words)
    assert found.open == []
    assert found.loaded == []
    assert "a<b>&.svm" in text  # escaped on the page
    certificate = told.json["certificate"]
    for number in (certificate["linear_regret"], told.json["mixture"]["bound"]):
        assert f"{number:.6g}" in text
    counts = told.json["metrics"]["confusion"]
    assert all(f"{count:,}" in text for row in counts.values() for count in row.values())
    kept = told.json["kept"]
    assert f"{kept['error']:.2%} wrong once the model learns no more" in text
    assert all(f"{horizon['loss']:.6g}" in text for horizon in kept["horizons"])
    assert "<svg" in page.read_text()


def test_names_of_features_are_on_the_page(capsys: Capsys, tmp_path: Path) -> None:
    rows = ["y,colour,size", *(f"{1 if i % 3 else -1},{'red' if i % 3 else 'blue'},{i % 7}" for i in range(90))]
    file, page = written(tmp_path / "rows.csv", rows), tmp_path / "page.html"
    assert run(capsys, "train", file, "--target", "y", "--quiet", "--report", page).code == 0
    assert {"colour=red", "colour=blue", "size"} <= set(Page(page.read_text()).words)


def test_a_regression_has_no_confusion(capsys: Capsys, tmp_path: Path) -> None:
    file, page = written(tmp_path / "rows.svm", svm_lines(50)), tmp_path / "page.html"
    assert run(capsys, "train", file, "--loss", "square", "--quiet", "--report", page).code == 0
    assert "Predicted and actual labels" not in page.read_text()


def test_a_page_that_cannot_be_written_is_refused_before_learning(capsys: Capsys, tmp_path: Path) -> None:
    file, model = written(tmp_path / "rows.svm", svm_lines(50)), tmp_path / "m.lr"
    told = run(capsys, "train", file, "--report", tmp_path / "nowhere" / "page.html", "-o", model)
    assert told.code == 2
    assert "there is no folder" in told.err
    assert not model.exists()
