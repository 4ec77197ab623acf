"""`lowregret zoo`: every name of the textbook, and the commands that it gives work."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from lowregret.game import ALGORITHMS as PLAYERS
from lowregret.game.textbook import BESIDE, Item, whole
from lowregret.loss import LOSSES
from lowregret.stream.formats import FORMATS
from lowregret.zoo import ALGORITHMS, ZOO
from tests.cli.running import Told, run
from tests.known import IDS, imported

Capsys = pytest.CaptureFixture[str]
COMMANDS = [(item, command) for item in whole().values() for command in item.commands]


def test_the_zoo_tells_all(capsys: Capsys) -> None:
    told = run(capsys, "zoo")
    assert all(f"\n{name} " in told.out for name in whole())
    one = run(capsys, "zoo", "pnorm")
    assert "--eta --p" in one.out
    assert "COR-2.18" in one.out
    assert list(run(capsys, "zoo", "--json").json) == list(whole())
    for word, records in (("losses", LOSSES), ("formats", FORMATS)):
        listed = run(capsys, "zoo", word).out
        assert all(f"\n{name}" in f"\n{listed}" for name in records)
        assert list(run(capsys, "zoo", word, "--json").json) == list(records)
    assert "there is no algorithm 'ogg'" in run(capsys, "zoo", "ogg").err


def test_one_name_with_all_that_is_known_of_it(capsys: Capsys) -> None:
    told = run(capsys, "zoo", "halving").out
    for part in (
        "majority",
        "⌊log2(|H|/|V|)⌋",
        "THM-1.2",
        "lowregret.finite.Halving",
        "lowregret play bisection halving",
    ):
        assert part in told
    assert "options" not in told
    assert run(capsys, "zoo", "halving", "--json").json["halving"]["try"] == ["lowregret play bisection halving"]


def test_nothing_is_missing_and_no_name_stands_for_two_things() -> None:
    names = [item.name for item in BESIDE]
    assert len(set(names)) == len(names)
    assert not {entry.name for entry in ZOO} & set(names)
    assert {player.name for player in PLAYERS} <= whole().keys()
    assert ALGORITHMS.keys() <= whole().keys()


@pytest.mark.parametrize("item", whole().values(), ids=whole())
def test_places_and_certificates_exist(item: Item) -> None:
    assert [imported(place) for place in item.places] == list(item.things)
    assert {name.removeprefix("Σ ").removesuffix("+DRIFT") for name in item.certificates} <= IDS
    assert item.purpose
    assert item.formula


def _run_python(words: str) -> set[str]:
    names: dict[str, Any] = {}
    exec(words, names)
    made = names["run"]
    return {c.id for c in made.certificates} | {c.id for c in (made.risks() if hasattr(made, "risks") else ())}


def _run_command(capsys: Capsys, command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Told:
    """A command as a shell would run it, but in this process, and told to answer in JSON."""
    piped, _, words = command.rpartition(" | ")
    if piped:
        _, text = shlex.split(piped)
        (folder / "piped").write_text(text.replace("\\n", "\n"))
        with open(folder / "piped") as given:
            monkeypatch.setattr(sys, "stdin", given)
            return run(capsys, *shlex.split(words)[1:], "--json")
    return run(capsys, *shlex.split(words)[1:], "--json")


@pytest.mark.sampled(4)
@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(("item", "command"), COMMANDS, ids=[f"{item.name}: {c.split()[0]}" for item, c in COMMANDS])
def test_every_command_works_and_reports_what_the_zoo_says(
    item: Item, command: str, capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command.startswith("python"):
        found = _run_python(shlex.split(command)[2])
        assert item.entry or found & {*item.certificates}  # of entries tests/test_zoo.py asks for all
        return
    told = _run_command(capsys, command, tmp_path, monkeypatch)
    assert told.code == 0, told.err
    if "play" in command:
        assert told.json["certificate"]["id"] in item.certificates
