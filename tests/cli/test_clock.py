"""Compiling is told apart from work: on the first command of a machine, and never again."""

from __future__ import annotations

from pathlib import Path

import numba
import pytest

from lowregret.cli.clock import Clock, Seconds
from lowregret.cli.summary import show
from lowregret.run.passes import Earlier
from lowregret.run.session import Session
from tests.cli.running import process, run, svm_lines


def test_only_the_first_command_compiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log.csv"
    log.write_text("banner,click\n" + "a,1\nb,0\n" * 5)
    words = "bandit", log, "--action", "banner", "--reward", "click", "--json"
    cold, warm = (process(*words).json["seconds"] for _ in range(2))
    assert 0 < cold["compile"] < cold["total"]
    assert warm["compile"] == 0 < warm["total"]


def test_a_clock_notices_compiling_while_it_is_wanted() -> None:
    def one_more(x: float) -> float:
        return x + 1

    with Clock() as clock:
        assert clock.read().compile == 0
        numba.njit(one_more)(1.0)
        found = clock.read()
    assert 0 < found.compile < found.total
    numba.njit(one_more)(2)
    assert clock.read().compile == found.compile


def test_the_summary_tells_them_apart(capsys: pytest.CaptureFixture[str], tmp_path: Path, interpreted: None) -> None:
    path, model = tmp_path / "a.svm", tmp_path / "m.lr"
    path.write_text("\n".join(svm_lines(50)) + "\n")
    assert run(capsys, "train", path, "--loss", "hinge", "-o", model, "--quiet").code == 0
    session = Session.load(model)
    session.earlier = Earlier()  # as if its rows had been learnt just now
    cold, warm = (show(session, seconds, None).splitlines() for seconds in (Seconds(10.5, 10.0), Seconds(0.5)))
    assert cold[0] == warm[0]
    assert cold[0].endswith("in 0.50 s (100 rows/s)")
    assert cold[1] == "           and 10.00 s of compiling, once on this machine"
    assert cold[2:] == warm[1:]
