"""`lowregret play`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lowregret.game import ALGORITHMS, CATALOGUE
from tests.cli.running import process, run, svm_lines, written


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "play", "iid", "ogd-lazy", "--rounds", 20, "--seed", 2, "--json")
    assert told.code == 0, told.err
    found = told.json
    assert (found["game"], found["algorithm"], found["rounds"], found["seed"]) == ("iid", "ogd-lazy", 20, 2)
    assert found["spec"]["part"] == "MirrorDescent"
    assert [set(row) for row in found["rows"]] == [{"round", "loss", "regret", "linear_regret", "bound"}] * 6
    assert [row["round"] for row in found["rows"]] == [1, 2, 4, 8, 16, 20]
    for key in ("id", "statement", "comparator", "linear_regret", "bound", "holds", "premises", "hindsight", "regret"):
        assert key in found["certificate"]
    assert found["certificate"]["id"] == "LAZY+"
    assert found["certificate"]["regret"] == found["rows"][-1]["regret"]
    assert found["holds"] is True
    assert run(capsys, "play", "iid", "ogd-lazy", "--rounds", 20, "--seed", 2, "--json").json == found


@pytest.mark.parametrize("pair", [("turn", "ogd-sc"), ("bandit-gap", "ucb1"), ("free-expert", "ftl")])
def test_json_has_no_infinities(capsys: pytest.CaptureFixture[str], pair: tuple[str, str]) -> None:
    found = run(capsys, "play", *pair, "--rounds", 30, "--json").json
    json.dumps(found, allow_nan=False)
    if pair[0] != "free-expert":
        assert found["holds"] is False
        assert {row["bound"] for row in found["rows"]} == {None}
    else:
        assert {row["linear_regret"] for row in found["rows"]} == {None}


def test_for_people(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    picture = tmp_path / "curve.png"
    told = run(capsys, "play", "ftl-breaker", "ftl", "--rounds", 64, "--plot", picture)
    assert told.code == 0, told.err
    assert "ftl plays ftl-breaker: 64 rounds, seed 0; compared with: l2-ball, radius 1" in told.out
    assert "63.5" in told.out
    assert "bound (LEM-2.1)" in told.out
    assert "promises nothing" in told.out
    assert picture.stat().st_size > 5000
    tuned = run(capsys, "play", "ftl-breaker", "ogd", "--rounds", 64).out
    assert "η = B/(L√T)" in tuned
    assert "η = 0.5, as given" in run(capsys, "play", "ftl-breaker", "ogd", "--rounds", 64, "--eta", "0.5").out
    quiet = run(capsys, "play", "ftl-breaker", "ogd", "--rounds", 64, "--quiet").out
    assert quiet.count("\n") == 1
    assert quiet in tuned


def test_pictures_of_all_kinds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for game, algorithm in (("drift", "ogd-eager"), ("halfspace", "ogd"), ("bandit-gap", "exp3"), ("turn", "ogd-sc")):
        told = run(capsys, "play", game, algorithm, "--rounds", 32, "--plot", tmp_path / f"{game}.svg", "--quiet")
        assert told.code == 0, told.err
        assert "<svg" in (tmp_path / f"{game}.svg").read_text()


def test_the_list_names_everything(capsys: pytest.CaptureFixture[str]) -> None:
    told = run(capsys, "play")
    assert told.code == 0
    for name in (
        *CATALOGUE,
        *(a.name for a in ALGORITHMS if not a.name.startswith("bogd")),
        "late:GAME",
        "bandit:GAME",
    ):
        assert name in told.out
    assert max(map(len, told.out.splitlines())) <= 125
    found = run(capsys, "play", "--json").json["games"]
    assert set(found) == set(CATALOGUE)
    assert "exp3" in found["bandit-gap"]["algorithms"]


@pytest.mark.parametrize("name", [*CATALOGUE, "late:turn", "bandit:iid"])
def test_a_game_tells_about_itself(capsys: pytest.CaptureFixture[str], name: str) -> None:
    told = run(capsys, "play", name)
    assert told.code == 0, told.err
    assert told.out.startswith(f"{name}: ")
    assert "played by" in told.out
    assert run(capsys, "play", name, "--json").json["algorithms"]


def test_replay(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", svm_lines(60))
    found = run(capsys, "play", "replay", "perceptron", "--data", path, "--json").json
    assert found["rounds"] == 60
    assert found["holds"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nope", "ogd"), "there is no game 'nope'"),
        (("iid", "hedge"), "hedge cannot play iid; iid can be played by ftl, ftrl, ogd, ogd-lazy"),
        (("iid", "ftl", "--eta", "1"), "ftl has no learning rate"),
        (("coin-flips", "hedge", "--radius", "2"), "takes no radius"),
        (("iid", "ogd", "--data", "x.svm"), "takes no data"),
        (("replay", "ogd"), "--data FILE"),
        (("replay", "ogd", "--data", "/nowhere/x.svm"), "/nowhere/x.svm"),
        (("iid", "ogd", "--rounds", "0"), "whole number from 1 on"),
        (("iid", "ogd", "--seed", "-1"), "whole number"),
        (("iid", "ogd", "--plot", "/nowhere/x.png"), "there is no folder"),
        (("bandit:uphill",), "fixed beforehand"),
    ],
)
def test_refusals(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    told = run(capsys, "play", *words)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_in_a_process_of_its_own() -> None:
    told = process("play", "orthogonal", "ogd", "--rounds", 16, "--json")
    assert told.code == 0, told.err
    assert told.json["rows"][-1]["bound"] == pytest.approx(4.0)
    assert "play" in process("--help").out
