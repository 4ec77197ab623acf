"""Tables of the docs say what the records say: losses, algorithms, formats, errata, the book.

`python -m tests.test_tables` writes the tables anew.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

import pytest

from lowregret.game.textbook import whole
from lowregret.loss import LOSSES
from lowregret.loss.name import formula, usual_parameter
from lowregret.stream.formats import FORMATS
from lowregret.zoo import ALGORITHMS, ZOO
from tests.book import TEXTS
from tests.book.row import rows_of
from tests.errata.record import errata as corrections

ROOT = Path(__file__).parents[1]


def table(*rows: Iterable[str]) -> str:
    """Rows of Markdown, the first one being the header."""
    lines = [f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows]
    return "\n".join([lines[0], re.sub(r"[^|\n]+", "---", lines[0]), *lines[1:]]) + "\n"


def losses() -> str:
    rows = []
    for name, kind in LOSSES.items():
        parameter = usual_parameter(kind)
        spelt = f"`{name}`, `{name}:{parameter}`" if parameter else f"`{name}`"
        rows.append((spelt, kind.labels, kind.purpose, f"`{kind.__name__}`: {formula(kind)}"))
    return table(("loss", "labels", "for", "in Python"), *rows)


def algorithms() -> str:
    rows = []
    for name, entry in ALGORITHMS.items():
        options = [*(f"`--{option}`" for option in entry.needs), *(f"[`--{option}`]" for option in entry.takes)]
        rows.append((f"`{name}`", entry.purpose, " ".join(options), ", ".join(entry.certificates)))
    return table(("algorithm", "for", "options", "certificates"), *rows)


def formats() -> str:
    rows = (
        (f"`{form.name}`", " ".join(f"`.{ending}`" for ending in form.endings), form.rows, form.features)
        for form in FORMATS.values()
    )
    return table(("format", "files", "rows", "features"), *rows)


def errata() -> str:
    rows = (
        (e.number, e.where, e.printed, e.true, f"{e.run}: [`{e.test}`](../tests/errata/{e.file})")
        for e in sorted(corrections(), key=lambda e: e.number)
    )
    return table(("", "where", "printed", "true", "the run that shows it"), *rows)


SLOWLY = ("tests.naive", "tests.naive_adaptive", "tests.finite.naive", "tests.experts.naive")
CALLED = {
    "pa": "passive_aggressive", "pa-ii": "passive_aggressive", "ftl": "ftl_quadratic", "ftrl": "ftrl_linear",
    "wm": "weighted_majority", "surr-halving": "surrogate_halving", "agnostic": "all_experts", "dimension": "ldim",
    "bayes": "hedge", "online-to-batch": "average",
}  # fmt: skip


def in_numpy(name: str) -> str:
    """A link to the slow and readable form of an algorithm, if there is one."""
    called = CALLED.get(name, name.replace("-", "_"))
    for module in SLOWLY:
        if hasattr(import_module(module), called):
            return f"[`{called}`](../{module.replace('.', '/')}.py)"
    assert name not in CALLED, name
    return "–"


def by_name() -> str:
    rows = (
        (
            f"`{item.name}`", item.purpose, ", ".join(f"`{place}`" for place in item.places),
            ", ".join(item.certificates) or "–", in_numpy(item.name),
        )
        for item in whole().values()
    )  # fmt: skip
    return table(("name", "what it is for", "in Python", "certificates", "in NumPy"), *rows)


def _of_text(name: str) -> Callable[[], str]:
    return lambda: table(*rows_of(name, TEXTS[name]))


# The pages with tables that are made of records.
PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "book.md": (*map(_of_text, TEXTS), by_name),
    "command-line.md": (losses, algorithms, formats),
    "errata.md": (errata,),
}


def in_page(page: str, made: str) -> str:
    """The table of a page that has the same header as this one."""
    header = re.escape(made.split("\n", 1)[0])
    found = re.search(rf"^{header}\n(?:\|.*\n)*", page, re.MULTILINE)
    assert found, f"there is no table with the header {made.splitlines()[0]}"
    return found[0]


@pytest.mark.parametrize(("name", "make"), [(name, make) for name, makes in PAGES.items() for make in makes])
def test_the_docs_say_what_the_records_say(name: str, make: Callable[[], str]) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert in_page(page, make()) == make(), "python -m tests.test_tables"


def test_the_readme_knows_every_algorithm_and_loss_and_claims_no_other_certificate() -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [entry.name for entry in ZOO if f"`{entry.make.__name__}`" not in page]
    missing += [kind.__name__ for kind in LOSSES.values() if f"`{kind.__name__}`" not in page]
    assert missing == []
    entries = {entry.make.__name__: entry for entry in ZOO}
    for name, claimed in re.findall(r"^\| `(\w+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE):
        assert claimed == "the same" or set(claimed.split(", ")) <= set(entries[name].certificates), name


if __name__ == "__main__":
    for name, makes in PAGES.items():
        page = ROOT / "docs" / name
        text = page.read_text(encoding="utf-8")
        for make in makes:
            text = text.replace(in_page(text, make()), make())
        page.write_text(text, encoding="utf-8")
