"""A row of docs/book.md, and the table of a text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lowregret.game.textbook import whole

ITEMS = whole()
HEADER = ("what is there", "in Python", "to try", "certificates", "tests", "papers and errata")


@dataclass(frozen=True)
class Row:
    """A section of a text, and what of it is where; several things are separated by spaces.

    `zoo` names items of `lowregret zoo`, whose classes and commands come with them; `python`, `commands` and `ids` are
    further ones. `python` leaves out the package, `tests` their folder and the word test_.
    """

    section: str
    what: str
    zoo: str = ""
    python: str = ""
    commands: str = ""  # separated by ;
    ids: str = ""
    tests: str = ""
    papers: str = ""
    errata: str = ""

    def cells(self) -> tuple[str, ...]:
        """The row as its table shows it."""
        items = [ITEMS[name] for name in self.zoo.split()]
        places = [place.removeprefix("lowregret.") for item in items for place in item.places] + self.python.split()
        commands = [command for item in items for command in item.commands[:1] if command.startswith("lowregret")]
        commands += [f"lowregret zoo {item.name}" for item in items if not item.commands[0].startswith("lowregret")]
        commands += [command.strip() for command in self.commands.split(";") if command]
        errata = [f"[{number}](errata.md)" for number in self.errata.split()]
        return (
            self.section,
            self.what,
            _code(places),
            _code(commands),
            ", ".join(self.ids.split()) or "–",
            ", ".join(self._tests()) or "–",
            "; ".join([*([self.papers] if self.papers else []), *([", ".join(errata)] if errata else [])]) or "–",
        )

    def _tests(self) -> Iterator[str]:
        for test in self.tests.split():
            path, _, name = test.partition("::")
            yield f"[`test_{name}`](../tests/{path})" if name else f"[`{path.split('/')[-1]}`](../tests/{path})"


def _code(words: list[str]) -> str:
    return ", ".join(f"`{word}`" for word in dict.fromkeys(words)) or "–"


def rows_of(text: str, rows: tuple[Row, ...]) -> list[tuple[str, ...]]:
    """The table of a text, its header first."""
    return [(text, *HEADER), *(row.cells() for row in rows)]
