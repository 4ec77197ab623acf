"""`lowregret bandit`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret.bandit import BanditLog
from tests.cli.running import process, run, written

pytestmark = pytest.mark.usefixtures("interpreted")


@pytest.fixture
def clicks(tmp_path: Path) -> Path:
    """A uniform log in which banner c is the best by far."""
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 4, 4000)
    rewards = rng.random(4000) < np.array([0.1, 0.1, 0.6, 0.1])[arms]
    lines = [f"{'abcd'[a]},{int(r)},{1 - int(r)},0.25" for a, r in zip(arms, rewards, strict=True)]
    return written(tmp_path / "clicks.csv", ["banner,click,cost,p", *lines])


@pytest.mark.parametrize("algorithm", ["exp3", "exp3-ix", "tsallis-inf", "ucb1", "thompson"])
def test_json(clicks: Path, capsys: pytest.CaptureFixture[str], algorithm: str) -> None:
    words = ("bandit", clicks, "--action", "banner", "--reward", "click", "--propensity", "p", "--json")
    told = run(capsys, *words, "--algorithm", algorithm)
    assert told.code == 0, told.err
    found = told.json
    assert found["algorithm"] == algorithm
    assert (found["rows"], found["arms"], found["measure"]) == (4000, 4, "reward")
    assert 1e-6 < found["propensity"].pop("chance") <= 1.0
    assert found["propensity"] == {"assumed_uniform": False, "low": 0.25, "high": 0.25}
    assert found["best_arms"][0]["arm"] == "c"
    assert found["best_arms"][0]["value"] == pytest.approx(0.6, abs=0.06)
    assert max(found["learned"]["policy"], key=found["learned"]["policy"].get) == "c"
    assert {e["method"] for e in found["learned"]["estimates"]} == {"IPS", "DR", "SNIPS"}
    assert found["learned"]["estimates"][0]["value"] > found["logging"]["value"]
    assert found["replay"]["kept"] == found["rounds"]
    assert 700 < found["rounds"] < 1300
    assert found["replay"]["estimate"]["value"] > found["logging"]["high"]
    assert all(c["holds"] for c in found["certificates"])
    assert (found["certificate"] is None) == (algorithm in ("ucb1", "thompson"))


def test_costs_are_rewards_turned_round(clicks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    common = ("bandit", clicks, "--action", "banner", "--json", "--seed", 3)
    reward = run(capsys, *common, "--reward", "click").json
    cost = run(capsys, *common, "--cost", "cost").json
    assert reward["propensity"]["assumed_uniform"]
    assert cost["best_arms"][0]["arm"] == "c"
    assert cost["replay"]["kept"] == reward["replay"]["kept"]
    assert cost["replay"]["estimate"]["value"] == pytest.approx(1 - reward["replay"]["estimate"]["value"])
    assert cost["certificates"] == reward["certificates"]


def test_for_people_with_page_and_picture(clicks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    page, picture = tmp_path / "out.html", tmp_path / "out.png"
    told = run(capsys, "bandit", clicks, "--action", "banner", "--reward", "click", "--report", page, "--plot", picture)
    assert told.code == 0, told.err
    for said in ("4,000 choices among 4 arms", "no propensities given", "EXP3-PATH", "COR-4.2+", "is not observed"):
        assert said in told.out
    text = page.read_text()
    assert "<svg" in text
    assert "always c" in text
    assert 'src="http' not in text
    assert 'href="http' not in text
    assert picture.stat().st_size > 5000


def test_counts_that_refute_uniform_logging(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of a log with one arm in 96 % of the rows an interval was told without a word of doubt."""
    for often, doubted in ((48, True), (17, False)):
        arms = ["a"] * often + ["b"] * ((50 - often) // 2) + ["c"] * (50 - often - (50 - often) // 2)
        path = written(tmp_path / "log.csv", ["x,r", *(f"{arm},{k % 2}" for k in range(20) for arm in arms)])
        said = ("bandit", path, "--action", "x", "--reward", "r")
        assert ("counts of arms refute" in run(capsys, *said).out) == doubted
        chance = run(capsys, *said, "--json").json["propensity"]["chance"]
        assert chance < 1e-200 if doubted else chance == 1.0


@given(st.integers(2, 6), st.integers(1, 400), st.integers(0, 2**32 - 1))
@settings(max_examples=200, deadline=None)
def test_counts_of_uniform_logging_are_likely(arms: int, rows: int, seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(0, arms, rows)
    log = BanditLog(drawn, np.zeros(rows), np.full(rows, 1 / arms), tuple(map(str, range(arms))))
    assert log.chance > 1e-9


def test_logging_that_was_not_uniform(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = ["a\tr\tp", *(f"{x}\t{k % 2}\t{q}" for k in range(30) for x, q in (("x", 0.8), ("y", 0.2)))]
    path = written(tmp_path / "log.tsv", lines)
    words = ("bandit", path, "--action", "a", "--reward", "r", "--propensity", "p")
    assert "replay     not possible" in run(capsys, *words).out
    assert run(capsys, *words, "--json").json["replay"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--action", "banner", "--reward", "clicks"), "no column 'clicks'; its columns are banner, click, cost, p"),
        (("--action", "banner", "--reward", "click", "--high", "0.5"), "it must be a number between 0 and 0.5"),
        (("--action", "banner", "--reward", "click", "--propensity", "cost"), "propensity is '0'"),
        (("--action", "banner", "--reward", "click", "--algorithm", "ucb1", "--eta", "1"), "no learning rate"),
        (("--action", "banner", "--reward", "click", "--report", "/nowhere/x.html"), "there is no folder"),
        (("--action", "banner"), "one of the arguments --reward --cost is required"),
        (("--action", "banner", "--reward", "click", "--cost", "cost"), "not allowed with"),
    ],
)
def test_refusals(clicks: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    told = run(capsys, "bandit", clicks, *words)
    assert told.code == 2
    assert said in told.err
    assert "Traceback" not in told.err


def test_standard_input(clicks: Path) -> None:
    told = process("bandit", "-", "--action", "banner", "--reward", "click", "--json", stdin=clicks.read_bytes())
    assert told.code == 0, told.err
    assert told.json["rows"] == 4000


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_tiny_logs(tmp_path: Path, capsys: pytest.CaptureFixture[str], rows: int) -> None:
    path = written(tmp_path / "tiny.csv", ["a,r", *["x,1", "y,0", "x,0"][:rows]])
    for algorithm in ("exp3", "ucb1"):
        told = run(capsys, "bandit", path, "--action", "a", "--reward", "r", "--algorithm", algorithm)
        assert told.code == 0, told.err
        assert "nan" not in told.out


@pytest.mark.parametrize(
    ("rewards", "said"), [("1111", "x with probability 0.5, no other arm more often"), ("1011", "x with")]
)
def test_arms_alike_are_told_as_such(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], rewards: str, said: str
) -> None:
    path = written(tmp_path / "alike.csv", ["a,r", *[f"{'xy'[i % 2]},{r}" for i, r in enumerate(rewards)]])
    told = run(capsys, "bandit", path, "--action", "a", "--reward", "r").out
    assert f"it chooses {said}" in told
    assert ("more than any other arm" in told) == (rewards == "1011")


def test_the_real_log(data_file: Callable[[str], Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--action", "item_id", "--reward", "click", "--propensity", "propensity_score", "--json")
    found = run(capsys, "bandit", data_file("obd_random_all.csv.gz"), *words).json
    assert found["logging"]["value"] == pytest.approx(0.0038)
    assert found["learned"]["estimates"][0]["low"] <= 0.0038 <= found["learned"]["estimates"][0]["high"]
    other = run(capsys, "bandit", data_file("obd_bts_all.csv.gz"), *words).json
    assert other["replay"] is None
    assert other["logging"]["value"] == pytest.approx(0.0042)
