"""docs/book.md has every section of the five texts, and all that it names exists."""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from lowregret.cli.parser import parser
from lowregret.game import find, game
from lowregret.game.textbook import whole
from tests.book import TEXTS
from tests.book.row import HEADER
from tests.errata.record import errata
from tests.known import IDS, imported

PAGE = Path(__file__).parents[2] / "docs" / "book.md"
TEXT = PAGE.read_text(encoding="utf-8")

# The table of contents of the monograph, and of the SVM lecture.
CONTENTS = {
    "Monograph": "1 1.1 1.2 1.2.1 1.2.2 1.3 1.4 2 2.1 2.1.1 2.1.2 2.2 2.3 2.3.1 2.4 2.5 2.5.1 2.5.2 2.5.3 2.6 2.6.1 "
    "2.7 2.7.1 2.7.2 2.7.3 2.7.4 2.8 2.9 3 3.1 3.2 3.2.1 3.3 3.3.1 3.3.2 3.4 4 4.1 4.2 4.3 4.3.1 4.3.2 4.4 5 5.1",
    "SVM lecture": "4.1 4.1, 4.2 4.2.1 4.2.2 4.2.3 4.2.3.1 4.2.3.2 4.3",
}
# What the texts without numbered sections number.
NUMBERED = {
    "Lecture": ["theorem 1", "algorithm 1", "theorem 2", "corollary 3", "algorithm 2", "theorem 4", "claim 5"],
    "Chapter": [
        *(f"algorithm {n}" for n in (1, 2, 3, 4)), *(f"theorem {n}" for n in (1, 2, 5, 6, 8, 11, 12, 14)),
        *(f"proposition {n}" for n in (3, 4, 15)), "example 7", "example 9", "definition 10", "corollary 13",
    ],
    "Notes": ["online learning", "mistake bound", "sequential risk", "projected ogd", "strongly convex"],
}  # fmt: skip


# What a reader of the monograph will look for, in its words.
NAMED = (
    "online regression", "expert advice", "online ranking", "Cover", "Consistent", "Halving", "randomization",
    "surrogate losses", "Follow-the-leader", "FoReL", "doubling trick", "Online gradient descent", "entropic",
    "Online mirror descent", "normalized EG", "lazy projections", "p-norm", "Fenchel", "Bregman", "local norms",
    "unnormalized EG", "Weighted Majority", "Littlestone's dimension", "shattered trees", "standard optimal",
    "VC dimension", "agnostic", "Perceptron", "Winnow", "Estimated gradients", "multi-armed bandit",
    "bandit online gradient descent", "Online-to-batch", "stochastic mirror descent",
)  # fmt: skip


def rows(text: str) -> list[list[str]]:
    """The cells of the table of a text, as the page has them."""
    header = re.escape(f"| {text} | {' | '.join(HEADER)} |")
    found = re.search(rf"^{header}\n\|[-|]+\n((?:\|.*\n)+)", TEXT, re.MULTILINE)
    assert found, text
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in found[1].splitlines()]


def column(name: str) -> list[str]:
    """All cells of a column, of all texts."""
    return [row[1 + HEADER.index(name)] for text in TEXTS for row in rows(text)]


def code(cells: list[str]) -> list[str]:
    """What is in backticks."""
    return sorted({word for cell in cells for word in re.findall(r"(?<!\[)`([^`]+)`", cell)})


@pytest.mark.parametrize("text", CONTENTS)
def test_every_section_has_its_row(text: str) -> None:
    assert [row[0].split()[0] for row in rows(text)] == CONTENTS[text].split()


@pytest.mark.parametrize("name", NAMED)
def test_what_the_monograph_names_is_found_with_something_to_try(name: str) -> None:
    found = [row for row in rows("Monograph") if re.search(re.escape(name), f"{row[0]} {row[1]}", re.IGNORECASE)]
    assert any("`" in row[2] and "`" in row[3] and "[`" in row[5] for row in found), "a class, a command, a test"


@pytest.mark.parametrize("text", NUMBERED)
def test_every_numbered_statement_has_its_row(text: str) -> None:
    sections = "; ".join(row[0].lower() for row in rows(text))
    assert [what for what in NUMBERED[text] if not re.search(rf"\b{what}\b", sections)] == []


@pytest.mark.parametrize("place", code(column("in Python")))
def test_names_can_be_imported(place: str) -> None:
    assert imported(f"lowregret.{place}") is not None


@pytest.mark.parametrize("command", code(column("to try")))
def test_commands_can_be_parsed_and_players_fit_their_games(command: str) -> None:
    args = parser().parse_args(shlex.split(command)[1:])
    if args.command == "play" and args.algorithm:
        assert find(game(args.game), args.game, args.algorithm).name == args.algorithm


def test_ids_are_known() -> None:
    told = {name for cell in column("certificates") if cell != "–" for name in cell.split(", ")}
    assert told <= IDS
    assert len(told) > 60


def test_tests_are_collected() -> None:
    links = re.findall(r"\[`(\w+(?:\.py)?)`\]\(\.\./(tests/[\w/]+\.py)\)", "\n".join(column("tests")))
    assert len(links) > 70
    for name, path in links:
        tree = ast.parse((PAGE.parents[1] / path).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert name in defined or (name == Path(path).name and any(d.startswith("test_") for d in defined)), name


def test_every_erratum_is_beside_what_it_corrects() -> None:
    said = re.findall(r"\[(E\d+)\]\(errata\.md\)", "\n".join(column("papers and errata")))
    assert set(said) == {e.number for e in errata()}


def test_papers_are_in_the_list_and_the_list_is_cited() -> None:
    listed = re.findall(r"^- (.+? \d{4}): ", TEXT, re.MULTILINE)
    cells = [re.sub(r"\[E\d+\]\(errata\.md\)|–", "", cell) for cell in column("papers and errata")]
    cited = {paper for cell in cells for paper in re.findall(r"(?:^|, )([^;]+? \d{4})(?=,|;|$)", cell.strip(" ;,"))}
    assert cited == set(listed)
    assert {"Zinkevich 2003", "Zinkevich, Langford & Smola 2009"} <= cited


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#]+)", TEXT):
        assert (PAGE.parent / link).exists(), link


def test_no_file_refers_to_what_is_not_in_the_repository() -> None:
    """Statements are those of docs/certificates.md and docs/errata.md, and of no notes that readers do not have."""
    root, absent = PAGE.parents[1], "theory" + ".md"
    folders = ("lowregret", "tests", "docs", "benchmarks", "examples")
    files = [path for folder in folders for path in (root / folder).rglob("*") if path.suffix in (".py", ".pyi", ".md")]
    files += list(root.glob("*.md"))
    assert [path for path in files if absent in path.read_text(encoding="utf-8")] == []


def test_other_ids_of_docstrings_are_explained() -> None:
    """ALG-NAME is the name of an algorithm, or stands in the page's introduction, as do LOSS-, DEMO- and PROTO-."""
    introduction = TEXT[: TEXT.index("\n## ")]
    names = {f"ALG-{name.upper()}" for name in whole()}
    said = {
        word
        for path in (PAGE.parents[1] / "lowregret").rglob("*.py")
        for word in re.findall(r"\b(?:ALG|LOSS|DEMO|PROTO)-[A-Z0-9-]+", path.read_text(encoding="utf-8"))
    }
    assert len(said) > 40
    assert sorted(word for word in said - names if word not in introduction) == []
