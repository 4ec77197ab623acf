"""A record is all it takes: what is added by one alone is on the command line with all that belongs to it."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from lowregret import zoo
from lowregret.cli import parser
from lowregret.cli.commands import NAMES, Command
from lowregret.compile.part import Part
from lowregret.learner.linear import Linear
from lowregret.loss import LOSSES, Loss
from lowregret.stream import formats
from lowregret.stream.read import detect
from lowregret.zoo import ALGORITHMS, Entry
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def test_a_loss(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowregret.loss.base.LOSSES", dict(LOSSES))

    class Cosh(Loss):
        """ℓ = ln cosh(s·(p − y))/s"""

        name: ClassVar[str] = "cosh"
        purpose: ClassVar[str] = "numbers, as huber without a kink"
        sharpness: float = 1.0

        def at(self, p: float, y: float) -> tuple[float, float]:
            r = self.sharpness * (p - y)
            return math.log(math.cosh(r)) / self.sharpness, math.tanh(r)

    monkeypatch.setitem(LOSSES, "cosh", Cosh)
    path = written(tmp_path / "a.svm", svm_lines(30))
    told = run(capsys, "train", path, "--loss", "cosh:2", "--quiet", "--json")
    assert told.json["loss"]["name"] == "cosh"
    assert told.json["spec"]["loss"]["sharpness"] == 2
    assert "cosh:1  " in run(capsys, "zoo", "losses").out
    assert run(capsys, "warm", "ogd:cosh", "--quiet").code == 0


def test_an_algorithm(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def lazy(loss: Loss, eta: float, size: float = 1.0) -> Linear:
        """ALG-LAZY: as ogd-lazy."""
        return zoo.ogd_lazy(loss, eta, size)

    monkeypatch.setitem(ALGORITHMS, "lazy", Entry("lazy", lazy, "this test", ("LAZY+",), {"radius": "size"}))
    path = written(tmp_path / "a.svm", svm_lines(30))
    said = ("train", path, "--algorithm", "lazy", "--quiet", "--json")
    assert "lazy needs --eta" in run(capsys, *said).err
    assert "lazy takes no --p" in run(capsys, *said, "--eta", 1, "--p", 3).err
    told = run(capsys, *said, "--eta", 0.5, "--radius", 3).json
    assert told["spec"]["rule"]["mirror"]["domain"]["radius"] == 3
    assert "options       --eta [--radius]" in run(capsys, "zoo", "lazy").out
    assert run(capsys, "warm", "lazy", "--quiet").code == 0


SIGNED = '''"""Signed digits."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from lowregret.stream.buffers import AT, DONE, ENTRY, LINE, Buffers, add, close_row
from lowregret.stream.formats import Format
from lowregret.stream.text_format import TextFormat


class SignedDigits(TextFormat):
    """Lines such as `@+7`: a label, and the one column that is 1."""

    faults: ClassVar[dict[int, str]] = {}

    def entries(self, size: int) -> int:
        return size

    def parse(self, text: Any, end: Any, out: Buffers) -> int:
        while out.cursor[AT] < end:
            k, entry = out.cursor[AT], out.cursor[ENTRY]
            add(out, entry, np.uint64(text[k + 2] - ord("0")), 1.0)
            close_row(out, 1.0 if text[k + 1] == ord("+") else -1.0, 1.0, entry + 1)
            out.cursor[AT] = k + 4
            out.cursor[LINE] += 1
        return DONE


def _begins(line: bytes) -> bool:
    return line.startswith(b"@")


FORMAT = Format(
    "signed",
    ("signed", "digits"),
    SignedDigits,
    (),
    "a sign and a digit",
    "the digit",
    begins=_begins,
    numbered=True,
    sample="@+1\\n@-2\\n",
)
'''


def test_a_format(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One file among those of formats: it is read, known by ending and beginning, listed, stored and compiled ahead."""
    folder = tmp_path / "more"
    folder.mkdir()
    written(folder / "signed.py", SIGNED.splitlines())
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(folder)])
    monkeypatch.setattr(formats, "signed", None, raising=False)
    monkeypatch.setitem(sys.modules, f"{formats.__name__}.signed", None)
    monkeypatch.delitem(sys.modules, f"{formats.__name__}.signed")
    monkeypatch.setattr(Part, "registry", dict(Part.registry))
    paths = [written(tmp_path / name, ["@+1", "@-2"] * 10) for name in ("a.digits", "b.txt", "c.csv")]
    assert [detect(path) for path in paths] == ["signed", "signed", "csv"]
    told = run(capsys, "train", paths[0], "--quiet", "--json", "-o", tmp_path / "m.lr")
    assert told.json["rounds"] == 20
    assert told.json["nonzeros"] == 20
    said = ("predict", tmp_path / "m.lr", paths[2], "--quiet", "--json")
    assert "is csv, but the model was trained on signed" in run(capsys, *said).err
    assert run(capsys, *said, "--format", "signed").json["rows"] == 20
    assert "signed" in run(capsys, "train", "--help").out
    assert ".signed .digits: a sign" in run(capsys, "zoo", "formats").out
    assert run(capsys, "warm", "signed", "--quiet").code == 0


def test_a_command(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def arguments(command: ArgumentParser) -> None:
        command.add_argument("name")
        command.add_argument("--plot")
        command.add_argument("--json", action="store_true")

    def greet(args: Namespace) -> int:
        print(f"hello {args.name}")
        return 3

    module = ModuleType("lowregret.cli.commands.greet")
    module.__dict__["COMMAND"] = Command("say hello", "example:\n  lowregret greet", arguments, greet, reads=("name",))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(parser, "NAMES", (*NAMES, "greet"))
    told = run(capsys, "greet", "you")
    assert (told.code, told.out) == (3, "hello you\n")
    assert "say hello" in run(capsys, "--help").out
    path = written(tmp_path / "rows", ["1"])
    assert "is read by this command and would be lost" in run(capsys, "greet", path, "--plot", path).err
