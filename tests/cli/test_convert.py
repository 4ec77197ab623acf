"""`lowregret convert`: training and predicting from a cache is what it is from the files, to the last bit."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from lowregret.run.session import Session
from lowregret.stream import again
from lowregret.stream.cache_file import Writer
from tests.cli.running import run, svm_lines, written
from tests.cli.test_broken_off import bits

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

TABLE = ["y,w,a,b,t", *(f"{('UP', 'DOWN', '')[k % 7 % 3]},{1 + k % 2},{k % 11 / 7},c{k % 5},some words {k % 4}"
                        for k in range(150))]  # fmt: skip
BITS = [f"{k % 2} {1 + k % 3}:1 {5 + k % 4}:0.5" for k in range(60)]
VW = [f"{k % 2 * 2 - 1} 1 |s a{k % 5} b:0.5 |z q{k % 9}" for k in range(60)]


def told(capsys: Capsys, folder: Path, name: str, *words: object) -> tuple[Any, ...]:
    """All that a training tells and writes, without times."""
    model, scores, weights = (folder / f"{name}.{what}" for what in ("lr", "txt", "weights"))
    outputs = ("-o", model, "--predictions", scores, "--weights", weights)
    said = run(capsys, "train", *words, *outputs, "--quiet", "--json")
    assert said.code == 0, said.err
    found = {name: value for name, value in said.json.items() if name not in ("seconds", "model")}
    form = json.dumps(Session.load(model).contents()[0]["session"] | {"seconds": 0})
    return found, said.err, form, bits(model), scores.read_text(), weights.read_text()


CASES: list[tuple[str, list[str], list[str], list[list[str]]]] = [
    ("svm", svm_lines(80), [], [["--loss", "hinge", "--algorithm", "ogd"], ["--holdout", "7", "--skip", "9"],
                                ["--loss", "softmax", "--algorithm", "adagrad"]]),
    ("svm", svm_lines(80), ["--one-based"], [["--algorithm", "eg", "--eta", "0.1", "--dimension", "30"]]),
    ("svm", BITS, [], [["--algorithm", "ogd", "--loss", "logistic"], ["--positive", "0", "--algorithm", "ogd"]]),
    ("vw", VW, ["--interactions", "s:z", "--bits", "12"], [["--algorithm", "ogd", "--loss", "hinge"]]),
    ("csv", TABLE, ["--target", "y", "--weight", "w", "--text", "t"],
     [["--positive", "UP", "--algorithm", "ogd"], ["--loss", "softmax", "--algorithm", "ogd"],
      ["--positive", "UP", "--algorithm", "ogd", "--holdout", "last:20", "--passes", "3"]]),
]  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("kind", "lines", "how", "trainings"), CASES)
def test_training_is_the_same(
    capsys: Capsys, tmp_path: Path, kind: str, lines: list[str], how: list[str], trainings: list[list[str]]
) -> None:
    source, cache = written(tmp_path / f"a.{kind}", lines), tmp_path / "a.lrc"
    made = run(capsys, "convert", source, "-o", cache, *how, "--json")
    assert made.code == 0, made.err
    assert made.json["rows"] == len(lines) - (kind == "csv")
    assert made.json["bytes"] == cache.stat().st_size
    plain = [word for word in how if word != "--one-based"]
    for said in trainings:
        assert told(capsys, tmp_path, "one", cache, *said) == told(capsys, tmp_path, "two", source, *plain, *said)


def test_a_cache_beside_the_data_is_made_once_and_again_if_it_must(capsys: Capsys, tmp_path: Path) -> None:
    source, how = written(tmp_path / "a.csv", TABLE), ["--target", "y", "--positive", "UP", "--algorithm", "ogd"]
    kept, wanted = tmp_path / "a.csv.lrc", told(capsys, tmp_path, "text", source, *how)
    others = ["--drop", "t"]
    for more, said in (([], "is not there yet"), ([], "reading"), (others, "other options"), ([], "other options")):
        done = run(capsys, "train", source, *how, "--cache", *more, "--json")
        assert done.code == 0, done.err
        assert f"{kept} " in done.err if said != "reading" else f"reading {kept}" in done.err
        assert said in done.err
    assert told(capsys, tmp_path, "cache", source, *how, "--cache") == wanted
    os.utime(source, ns=(1, 1))
    assert "is stale" in run(capsys, "train", source, *how, "--cache").err
    kept.write_bytes(b"")
    assert "is empty: making it" in run(capsys, "train", source, *how, "--cache").err


@pytest.mark.parametrize("linked", [False, True])
def test_a_cache_beside_the_data_takes_the_place_of_no_other_file(capsys: Capsys, tmp_path: Path, linked: bool) -> None:
    """Nobody said its name: notes that happened to have it were lost, and what a link of that name led to."""
    source, notes = written(tmp_path / "a.svm", svm_lines(9)), tmp_path / ("notes.txt" if linked else "a.svm.lrc")
    notes.write_text("precious")
    if linked:
        (tmp_path / "a.svm.lrc").symlink_to(notes)
    refused = run(capsys, "train", source, "--algorithm", "ogd", "--cache")
    assert refused.code == 2
    assert "is a file of another kind" in refused.err
    assert notes.read_text() == "precious"


def test_names_of_files_are_no_lines_of_messages(capsys: Capsys, tmp_path: Path) -> None:
    rows = written(tmp_path / "a\nlowregret: all is well.svm", svm_lines(9))
    for _ in range(2):
        told = run(capsys, "train", rows, "--algorithm", "ogd", "--cache")
        assert told.code == 0
        assert r"a\nlowregret: all is well.svm.lrc" in told.err
        assert "\nlowregret: all is well" not in told.err


def test_where_there_can_be_no_cache(capsys: Capsys, tmp_path: Path) -> None:
    one, two = (written(tmp_path / name, svm_lines(9)) for name in ("a.svm", "b.svm"))
    run(capsys, "train", one, "--loss", "hinge", "--algorithm", "ogd", "-o", tmp_path / "m.lr", "--cache", "--quiet")
    for words, what in (
        (["train", one, two, "--cache"], "rows of one file"),
        (["train", "-", "--cache", "--format", "svm"], "rows of one file"),
        (["train", one, "--cache", "--follow", "--loss", "hinge"], "leave --cache out"),
        (["train", one, "--cache", "--resume", tmp_path / "m.lr"], "name the cache instead"),
        (["train", tmp_path / "a.svm.lrc", "--cache"], "is a cache already"),
        (["experts", tmp_path / "a.svm.lrc", "--target", "y"], "experts mix the columns of a table"),
    ):
        refused = run(capsys, *words)
        assert refused.code == 2
        assert what in refused.err


def test_texts_are_classes_without_being_told(capsys: Capsys, tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", TABLE)
    run(capsys, "convert", source, "--target", "y", "-o", tmp_path / "a.lrc")
    one = run(capsys, "train", tmp_path / "a.lrc", "--quiet", "--json").json
    other = run(capsys, "train", source, "--target", "y", "--quiet", "--json").json
    assert one["loss"] == other["loss"]
    assert one["loss"]["name"] == "softmax"


def test_going_on_and_predicting(capsys: Capsys, tmp_path: Path) -> None:
    source = written(tmp_path / "a.csv", TABLE)
    cache, how = tmp_path / "a.lrc", ("--target", "y", "--text", "t")
    assert run(capsys, "convert", source, *how, "-o", cache).code == 0
    start = written(tmp_path / "b.csv", TABLE[:60])
    run(capsys, "train", start, *how, "--positive", "UP", "--algorithm", "ogd", "-o", tmp_path / "m.lr", "--quiet")
    models = []
    for data in (source, cache):
        model = tmp_path / f"{data.suffix[1:]}.lr"
        resumed = run(capsys, "train", data, "--resume", tmp_path / "m.lr", "--skip", 59, "-o", model, "--quiet")
        assert resumed.code == 0, resumed.err
        models.append(bits(model))
        scored = [run(capsys, "predict", model, rows, "--json").json for rows in (source, cache)]
        assert {**scored[0], "model": ""} == {**scored[1], "model": ""}
        lines = [run(capsys, "predict", model, rows, "--quiet").out for rows in (source, cache)]
        assert lines[0] == lines[1]
    assert models[0] == models[1]
    other = run(capsys, "train", source, "--target", "y", "--positive", "UP", "--algorithm", "ogd", "-o",
                tmp_path / "o.lr", "--quiet")  # fmt: skip
    assert other.code == 0
    unlike = run(capsys, "predict", tmp_path / "o.lr", cache)
    assert unlike.code == 2
    assert "was made with text = ['t'], but [] is wanted" in unlike.err


def test_the_summary(capsys: Capsys, tmp_path: Path) -> None:
    source = written(tmp_path / "a.svm", [*svm_lines(20), "nonsense"])
    failed = run(capsys, "convert", source, "-o", tmp_path / "a.lrc")
    assert failed.code == 2
    assert "a.svm:21" in failed.err
    assert "--on-error skip leaves such lines out" in failed.err
    assert os.listdir(tmp_path) == ["a.svm"]
    made = run(capsys, "convert", source, "-o", tmp_path / "a.lrc", "--on-error", "skip")
    assert "20 rows, 100 non-zeros, 1 line left out" in made.out
    assert run(capsys, "train", tmp_path / "a.lrc", "--algorithm", "ogd", "--quiet").code == 2
    skipping = run(capsys, "train", tmp_path / "a.lrc", "--algorithm", "ogd", "--json", "--on-error", "skip").json
    assert skipping["metrics"]["skipped"] == 1


# ---- refused --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("convert a.svm -o b.arrow", "caches are known by their names"),
        ("convert a.lrc -o b.lrc", "is a cache already"),
        ("convert a.lrc -o a.lrc", "is read by this command and would be lost"),
        ("convert empty.svm -o b.lrc", "there are no rows in empty.svm"),
        ("convert t.csv -o b.lrc", "name the label's column with --target"),
        ("convert a.svm --target y -o b.lrc", "target does not fit svm data"),
        ("convert a.svm -o nowhere/b.lrc", "there is no folder"),
        ("train a.lrc --target y", "target does not fit lrc data"),
        ("train a.lrc --bits 3", "bits does not fit lrc data"),
        ("train a.lrc --algorithm eg --eta 0.1 --dimension 30", "make that with --one-based"),
        ("train a.lrc a.svm", "seem to be of different formats"),
        ("train a.lrc --follow --loss hinge", "is no text, which alone can be followed"),
    ],
)
def test_refused(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str, why: str) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "a.svm", svm_lines(20))
    written(tmp_path / "t.csv", TABLE)
    (tmp_path / "empty.svm").write_text("# nothing\n")
    assert run(capsys, "convert", "a.svm", "-o", "a.lrc").code == 0
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    said = run(capsys, *words.split())
    assert (said.code, said.out) == (2, "")
    assert why in said.err
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_stale_cache_is_never_used(capsys: Capsys, tmp_path: Path) -> None:
    source = written(tmp_path / "a.svm", svm_lines(20))
    run(capsys, "convert", source, "-o", tmp_path / "a.lrc")
    written(source, svm_lines(21))
    said = run(capsys, "train", tmp_path / "a.lrc", "--algorithm", "ogd")
    assert said.code == 2
    assert "is stale" in said.err


def test_a_full_disk_leaves_the_old_cache(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = written(tmp_path / "a.svm", svm_lines(20))
    run(capsys, "convert", source, "-o", tmp_path / "a.lrc")
    before = (tmp_path / "a.lrc").read_bytes()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Writer, "write", full)
    said = run(capsys, "convert", source, "-o", tmp_path / "a.lrc")
    assert said.code == 2
    assert said.err == f"lowregret: cannot write {tmp_path / 'a.lrc'}: No space left on device\n"
    assert (tmp_path / "a.lrc").read_bytes() == before
    assert sorted(os.listdir(tmp_path)) == ["a.lrc", "a.svm"]


def test_killed_while_writing(tmp_path: Path) -> None:
    """Rows come from a pipe that does not end, so that the file is half written for certain."""
    command = [sys.executable, "-m", "lowregret", "convert", "-", "--format", "svm", "-o", str(tmp_path / "a.lrc")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write("\n".join([*svm_lines(2000), ""]).encode())
        process.stdin.flush()
        begin = time.perf_counter()
        while not any(path.stat().st_size for path in tmp_path.iterdir()):
            assert time.perf_counter() - begin < 120
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    assert not (tmp_path / "a.lrc").exists()


def test_passes_parse_once(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With rows kept meanwhile, several passes tell and write the same as without."""
    source = written(tmp_path / "a.svm", svm_lines(200))
    kept: list[object] = []
    replayed = again.Again._replayed

    def counted(*args: Any) -> Any:
        kept.append(args)
        return replayed(*args)

    monkeypatch.setattr(again.Again, "_replayed", counted)
    for said in (["--passes", "4"], ["--holdout", "last:10%"], ["--certify", "exact"]):
        found = []
        for least in (1, 1 << 40):
            monkeypatch.setattr(again, "LEAST", least)
            found.append(told(capsys, tmp_path, "m", source, "--algorithm", "ogd", "--loss", "hinge", *said))
            if least == 1:
                assert kept
                kept.clear()
        assert found[0] == found[1]
        assert not kept
