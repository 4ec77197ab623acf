"""A record is all it takes: what is added by one alone is on the command line with all that belongs to it."""

from __future__ import annotations

import math
import sys
from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest

from lowregret import zoo
from lowregret.cli import parser
from lowregret.cli.commands import NAMES, Command
from lowregret.learner.linear import Linear
from lowregret.loss import LOSSES, Loss
from lowregret.stream.formats import FORMATS
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


def test_a_format(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bars = replace(
        FORMATS["csv"], name="psv", endings=("psv",), settled={"delimiter": "|"}, sample="y|a|b\n1|2,5|x\n-1|x|z\n"
    )
    monkeypatch.setitem(FORMATS, "psv", bars)
    path = written(tmp_path / "a.psv", ["y|a", *["1|2", "-1|3"] * 10])
    told = run(capsys, "train", path, "--target", "y", "--quiet", "--json", "-o", tmp_path / "m.lr")
    assert told.json["rounds"] == 20
    assert run(capsys, "predict", tmp_path / "m.lr", path, "--format", "psv", "--quiet").code == 0
    assert "psv" in run(capsys, "train", "--help").out
    assert ".psv: " in run(capsys, "zoo", "formats").out
    assert run(capsys, "warm", "psv", "--quiet").code == 0


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
