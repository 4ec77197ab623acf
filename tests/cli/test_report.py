"""`lowregret train --report`: one page that says what the run says."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from lowregret.cli.html_report import page
from lowregret.show.plot import finish, new_figure
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


def table_rows(rows: int) -> list[str]:
    """A table in which the label goes by a colour and a size, and a third column says nothing."""
    rng = np.random.default_rng(0)
    colours, sizes, noise = rng.choice(["red", "blue", "green"], rows), rng.normal(size=rows), rng.normal(size=rows)
    up = (colours == "red") | (sizes > 1)
    lines = zip(np.where(up, "yes", "no"), colours, sizes.round(3), noise.round(3), strict=True)
    return ["sold,colour,size,noise", *(",".join(map(str, line)) for line in lines)]


def test_what_the_model_goes_by_is_on_the_page_by_column(capsys: Capsys, tmp_path: Path) -> None:
    file, page = written(tmp_path / "rows.csv", table_rows(200)), tmp_path / "page.html"
    given = ("train", file, "--target", "sold", "--positive", "yes", "--report", page)
    told = run(capsys, *given, "--json", "--quiet", "--importance")
    assert told.code == 0, told.err
    shares = told.json["importance"]
    assert list(shares) == ["colour", "size", "noise"]  # one for all colours, the largest share first
    assert sum(shares.values()) == pytest.approx(1)
    assert shares["colour"] > 0.4 > 0.1 > abs(shares["noise"])
    text = page.read_text()
    assert "What the kept model goes by" in Page(text).words
    assert text.count("<svg") == 3
    assert {"colour", "size", "noise", "mean chance of yes"} <= set(drawn(text))


def drawn(text: str) -> list[str]:
    """The texts that pictures say: they are drawn as shapes, and stand beside them as comments."""
    return [part.partition("-->")[0].strip() for part in text.split("<!--")[1:]]


def test_importance_is_told_if_it_is_asked_for(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "rows.csv", table_rows(100))
    given = ("train", file, "--target", "sold", "--positive", "yes")
    assert "importance" not in run(capsys, *given, "--json", "--quiet").json
    assert "\nimportance colour " in run(capsys, *given, "--importance").out
    alone = run(capsys, *given, "--importance", "--predict-only", "-o", tmp_path / "m.lr")
    assert "\nimportance colour " in alone.out
    said = run(capsys, *given, "--algorithm", "ogd", "--importance")
    assert said.out.endswith("importance rows are kept by runs of auto only, while they have few features\n")
    assert run(capsys, *given, "--algorithm", "ogd", "--importance", "--json", "--quiet").json["importance"] is None


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


def test_pictures_of_names_with_control_characters_can_be_read(capsys: Capsys, tmp_path: Path) -> None:
    """No file of SVG holds such characters: names are spelt as on terminals, also where they stand beside an axis."""
    lines = [f"b\x1b[31m{k % 2},{k % 3 % 2},0.5" for k in range(12)]
    log = written(tmp_path / "log.csv", ["a,r,p", *lines])
    drawn = tmp_path / "log.svg"
    told = run(capsys, "bandit", log, "--action", "a", "--reward", "r", "--propensity", "p", "--plot", drawn)
    assert told.code == 0
    figure, (axes,) = new_figure(1, "title \x07")
    axes.plot([0.0, 1.0], label="name \x1b[31m")
    axes.legend()
    finish(figure, tmp_path / "figure.svg")
    for path in (drawn, tmp_path / "figure.svg"):
        ElementTree.parse(path)
        assert r"\x1b[31m" in path.read_text()


def test_a_title_is_called_as_it_is() -> None:
    found = Page(page("{body}", [("Words", "<p>once</p>")]))
    assert found.words.count("once") == 1
    assert "{body}" in found.words
