"""Reports of mixtures that go on: names of columns are shown, never run."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from lowregret import Absolute
from lowregret.cli.clock import Clock
from lowregret.cli.work.going_on import _lines, _tell
from lowregret.experts import ExpertMixture, Hedge


def test_names_of_columns_are_escaped_in_a_report(tmp_path: Path) -> None:
    name = "<script>alert(1)</script>"
    mixture = ExpertMixture([name, "b"], Hedge(0.1), Absolute(), compiled=False).learn([[1.0, 2.0]], [1.0])
    report = tmp_path / "report.html"
    args = Namespace(plot=None, report=str(report), json=False, quiet=True, table="t.csv", loss="mae")
    found = Namespace(left_out={}, unknown=0)
    lines = list(_lines(args, found, mixture, [name], [], 0))  # type: ignore[arg-type]
    with Clock() as clock:
        _tell(args, mixture, "\n".join(lines), clock, ([name], [], 0))
    text = report.read_text()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert" in text


def test_lists_of_names_are_bounded() -> None:
    many = [f"column{k}" for k in range(10_000)]
    mixture = ExpertMixture(["a", "b"], Hedge(0.1), Absolute(), compiled=False)
    found = Namespace(left_out=dict.fromkeys(many, "not numbers"), unknown=0)
    lines = list(_lines(Namespace(loss="mae"), found, mixture, many, many, 0))  # type: ignore[arg-type]
    assert sum("column19 and 9980 more" in line for line in lines) == 3
    assert max(map(len, lines)) < 400
