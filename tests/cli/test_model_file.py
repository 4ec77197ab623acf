"""The file of a model: what `train -o` may replace, and what `predict` and `--resume` cannot read."""

from __future__ import annotations

import errno
import os
import resource
import socket
import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.errors import StoreError
from lowregret.run.session import Session
from lowregret.show.plot import require_picture
from lowregret.state import TOTAL
from lowregret.store import file as store
from lowregret.store.kinds import load
from lowregret.store.replacing import open_alone
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
TRAIN = ("train", "rows.svm", "--algorithm", "ogd", "--quiet")


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "rows.svm", svm_lines(20))
    return tmp_path


def test_a_link_stays_a_link(capsys: Capsys, here: Path) -> None:
    (here / "link.lr").symlink_to("real.lr")
    assert run(capsys, *TRAIN, "-o", "link.lr").code == 0
    (here / "real.lr").chmod(0o600)
    assert run(capsys, "train", "rows.svm", "--quiet", "--resume", "link.lr", "-o", "link.lr").code == 0
    assert (here / "link.lr").is_symlink()
    assert (here / "real.lr").stat().st_mode & 0o777 == 0o600
    assert run(capsys, "predict", "real.lr", "rows.svm", "--quiet").code == 0


def test_what_no_model_may_replace_is_found_before_learning(capsys: Capsys, here: Path) -> None:
    os.mkfifo("pipe")
    (here / "loop").symlink_to("loop")
    (here / "dangling").symlink_to("nothere/m.lr")
    before = sorted(os.listdir())
    said = {
        "pipe": "cannot write pipe: it is a pipe, which no file may replace; name another file",
        "loop": "cannot write loop: Too many levels of symbolic links; name another file",
        "dangling": f"cannot write dangling: there is no folder {here / 'nothere'}",
        "-": "a model cannot be written to standard output: name a file after -o",
    }
    for name, expected in said.items():
        told = run(capsys, *TRAIN, "--json", "-o", name)
        assert (told.code, told.out, told.err) == (2, "", f"lowregret: {expected}\n")
    assert sorted(os.listdir()) == before


def test_a_refused_run_leaves_the_model(capsys: Capsys, here: Path) -> None:
    """A positive label that never occurs is noticed in the end; no checkpoint is written until it occurs."""
    written(here / "f.csv", ["y,x", *["a,1", "c,2"] * 10])
    (here / "m.lr").write_bytes(b"good")
    said = ("train", "f.csv", "--target", "y", "--algorithm", "ogd", "--checkpoint", "1e-9", "-o", "m.lr")
    told = run(capsys, *said, "--positive", "b")
    assert told.code == 2
    assert "no label in f.csv is --positive b" in told.err
    assert (here / "m.lr").read_bytes() == b"good"
    written(here / "none.csv", ["y,x", *[",1", ",2"] * 10])
    told = run(capsys, "train", "none.csv", *said[2:], "--positive", "b")
    assert told.code == 2
    assert "rows without a label: 20" in told.err
    assert (here / "m.lr").read_bytes() == b"good"
    assert run(capsys, *said, "--positive", "a").code == 0
    assert store.kind_of("m.lr") == "run"


@pytest.mark.parametrize("words", ["predict m.lr rows.svm", "train rows.svm --resume m.lr"])
def test_files_that_lack_something(capsys: Capsys, here: Path, words: str) -> None:
    assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    description, arrays = store.read("m.lr", "run")
    for name in ("counts", "metrics.bins"):
        store.write("m.lr", "run", description, {key: arrays[key] for key in arrays if key != name})
        told = run(capsys, *words.split())
        expected = f"lowregret: m.lr lacks '{name}', which this version of lowregret needs: train again\n"
        assert (told.code, told.err) == (2, expected)
    told_of = {key: value for key, value in description["session"].items() if key != "labels"}
    store.write("m.lr", "run", description | {"session": told_of}, arrays)
    assert "m.lr cannot be read: 'session' lacks 'labels'" in run(capsys, *words.split()).err


def test_files_of_an_older_format(capsys: Capsys, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as before:
        before.setattr(store, "FORMAT", 2)
        assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    told = run(capsys, "predict", "m.lr", "rows.svm")
    assert told.code == 2
    assert "m.lr was written by an older lowregret (format 2), which is not read any more: train again" in told.err


def test_nothing_to_score(capsys: Capsys, here: Path) -> None:
    assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    (here / "empty.svm").touch()
    told = run(capsys, "predict", "m.lr", "empty.svm")
    assert (told.code, told.err) == (2, "lowregret: there are no rows to score in empty.svm\n")


@pytest.mark.parametrize("learner", [("--algorithm", "ogd"), ("--algorithm", "adagrad"), ()], ids=repr)
def test_a_row_that_overflows_is_named_and_the_model_before_it_is_kept(
    capsys: Capsys, tmp_path: Path, learner: tuple[str, ...]
) -> None:
    first, model, whole = written(tmp_path / "a.svm", svm_lines(40)), tmp_path / "r.lr", tmp_path / "w.lr"
    good = svm_lines(6, seed=1)
    bad = written(tmp_path / "b.svm", [*good[:3], "-1 1:-1e200", *good[3:]])
    assert run(capsys, "train", first, "--quiet", *learner, "-o", model).code == 0
    told = run(capsys, "train", bad, "--quiet", "--resume", model, "-o", model)
    assert told.code == 2
    assert f"{bad}:4: feature 1 is -1e+200" in told.err
    run(capsys, "train", first, written(tmp_path / "c.svm", good[:3]), "--quiet", *learner, "-o", whole)
    found, wanted = (load(path).contents()[1] for path in (model, whole))
    assert all(found[name].tobytes() == wanted[name].tobytes() for name in wanted)


RESULTS = {
    "-o": "m.lr",
    "--predictions": "p.txt",
    "--weights": "w.tsv",
    "--report": "r.html",
    "--plot": "r.svg",
}


@pytest.mark.parametrize("option", RESULTS)
def test_results_keep_permissions_and_links(capsys: Capsys, here: Path, option: str) -> None:
    (here / "folder").mkdir()
    real, link = here / "folder" / RESULTS[option], here / f"link-{RESULTS[option]}"
    link.symlink_to(real)
    real.write_text("before")
    real.chmod(0o600)
    assert run(capsys, *TRAIN, option, link).code == 0
    assert link.is_symlink()
    assert real.stat().st_mode & 0o777 == 0o600
    assert real.stat().st_size > len("before")
    assert os.listdir(real.parent) == [real.name]


@pytest.mark.parametrize("option", RESULTS)
def test_new_results_have_the_permissions_of_the_time(capsys: Capsys, here: Path, option: str) -> None:
    before = os.umask(0o077)
    try:
        assert run(capsys, *TRAIN, option, RESULTS[option]).code == 0
    finally:
        os.umask(before)
    assert (here / RESULTS[option]).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("option", RESULTS)
def test_folders_and_sockets_are_refused_before_learning(capsys: Capsys, here: Path, option: str) -> None:
    written(here / "rows.svm", ["this is never read"])
    (here / f"d.{RESULTS[option]}").mkdir()
    told = run(capsys, *TRAIN, option, f"d.{RESULTS[option]}")
    assert (told.code, told.out) == (2, "")
    assert told.err.startswith(f"lowregret: cannot write d.{RESULTS[option]}: it is a folder")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(f"s.{RESULTS[option]}")
        told = run(capsys, *TRAIN, option, f"s.{RESULTS[option]}")
    assert told.code == 2
    assert told.err.startswith(f"lowregret: cannot write s.{RESULTS[option]}: it is a socket")


@pytest.mark.parametrize("option", ["-o", "--weights", "--report", "--plot"])
def test_a_full_disk_leaves_the_old_result(capsys: Capsys, here: Path, option: str) -> None:
    place = here / RESULTS[option]
    place.write_text("before")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    require_picture("p.svg")  # imports of which may write
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, limits[1]))
    try:
        told = run(capsys, *TRAIN, option, place)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert told.code == 2
    assert f"cannot write {place}: File too large" in told.err
    assert place.read_text() == "before"
    assert not list(here.glob(".*.tmp"))


@pytest.mark.parametrize("option", RESULTS)
def test_a_result_without_a_name_is_refused_before_learning(capsys: Capsys, here: Path, option: str) -> None:
    """As `-o "$MODEL"` gives it where there is no such variable."""
    written(here / "rows.svm", ["this is never read"])
    told = run(capsys, *TRAIN, option, "")
    assert (told.code, told.out) == (2, "")
    assert told.err == "lowregret: cannot write to a file without a name: name one\n"


@pytest.mark.parametrize("option", ["--predictions", "--weights", "--report", "--plot"])
def test_pipes_are_written_to(capsys: Capsys, here: Path, option: str) -> None:
    name, found = RESULTS[option], []
    os.mkfifo(name)
    reader = threading.Thread(target=lambda: found.append(Path(name).read_bytes()), daemon=True)
    reader.start()
    assert run(capsys, *TRAIN, option, name).code == 0
    reader.join(10)
    assert len(found[0]) > 100
    assert stat.S_ISFIFO(os.stat(name).st_mode)


@pytest.mark.parametrize("classes", ["ab", "abc"])
@pytest.mark.parametrize(
    ("name", "array", "demand"),
    [
        ("name_ends", np.array([2**45, 2]), "names one after the other"),
        ("name_ends", np.array([2, 2**45]), "names up to the end of their text"),
        ("unwritten", np.frombuffer(b"0.5\n\xff\n", np.uint8), "unwritten lines of text"),
        ("unwritten", np.frombuffer(b"0.5\n0.", np.uint8), "unwritten lines of text"),
    ],
)
def test_texts_in_the_file_of_a_session(
    capsys: Capsys, here: Path, classes: str, name: str, array: Any, demand: str
) -> None:
    rows = written(here / "rows.csv", ["y,z,x", *[f"{classes[k % len(classes)]},{k % 5},{k}" for k in range(20)]])
    kind = ("--positive", "a") if len(classes) == 2 else ("--loss", "softmax")
    words = "train", rows, "--target", "y", "--algorithm", "ogd", *kind, "--weights", "w.tsv", "-o", "m.lr", "--quiet"
    assert run(capsys, *words).code == 0
    found = store.kind_of("m.lr")
    description, arrays = store.read("m.lr", found)
    assert arrays["name_ends"].size == 2
    store.write("m.lr", found, description, arrays | {name: array})
    told = run(capsys, "train", rows, "--resume", "m.lr", "--weights", "w.tsv")
    assert (told.code, told.err) == (2, f"lowregret: m.lr is damaged or was changed: {demand} does not hold\n")


def test_what_could_not_be_read_again_is_not_written(capsys: Capsys, here: Path) -> None:
    assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    before = (here / "m.lr").read_bytes()
    session = Session.load("m.lr")
    session.run.state.sums[TOTAL] = np.nan
    for kept in (session, session.predictor()):
        kept.rows, kept.algorithm = -1, 7  # type: ignore[attr-defined, assignment]
        with pytest.raises(StoreError, match=r"not written, as it could not be read again: m\.lr "):
            kept.save("m.lr")
    assert (here / "m.lr").read_bytes() == before


def spoilt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every model fail its own check, as if it had been learnt wrongly."""
    contents = Session.contents

    def wrong(session: Session) -> Any:
        description, arrays = contents(session)
        return description, arrays | {"sums": arrays["sums"] * np.nan}

    monkeypatch.setattr(Session, "contents", wrong)


def test_what_fails_its_own_check_is_kept_beside(capsys: Capsys, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was learnt is lost, no good model makes way, and the cause is told."""
    assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    before = (here / "m.lr").read_bytes()
    spoilt(monkeypatch)
    for draft in ("m.lr.draft", "m.lr.draft.2"):
        told = run(capsys, *TRAIN, "-o", "m.lr")
        assert told.code == 2
        assert "lowregret: not written, as it could not be read again: " in told.err
        assert f"a fault of lowregret, please report it; what was learnt is kept in {draft}, for a" in told.err
        description, arrays = store.read(draft, store.kind_of("m.lr"))
        assert description["session"]["rows"] == 20
        assert arrays.keys() == store.read("m.lr", store.kind_of("m.lr"))[1].keys()
        assert run(capsys, "predict", draft, "rows.svm").code == 2
    assert (here / "m.lr").read_bytes() == before


def test_a_model_that_is_lost_is_so_for_the_reason_that_is_told(
    capsys: Capsys, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    spoilt(monkeypatch)
    monkeypatch.setattr(store, "_write", full)
    told = run(capsys, *TRAIN, "-o", "m.lr")
    assert told.code == 2
    assert "the model is lost, as it cannot be written elsewhere either: cannot write " in told.err
    assert ": No space left on device" in told.err
    assert os.listdir(here) == ["rows.svm"]


def test_predictions_that_another_process_writes_are_left_to_it(capsys: Capsys, here: Path) -> None:
    assert run(capsys, *TRAIN, "-o", "m.lr").code == 0
    with open_alone("scores.txt") as file:
        file.write(b"1.0\n")
        for command in (("predict", "m.lr", "rows.svm", "-o"), (*TRAIN, "--predictions")):
            told = run(capsys, *command, "scores.txt")
            assert told.code == 2
            assert "cannot write scores.txt: another process is writing to it; wait, or name another" in told.err
        assert (here / "scores.txt").read_text() == "1.0\n"
    assert run(capsys, "predict", "m.lr", "rows.svm", "-o", "scores.txt", "--quiet").code == 0
    assert len((here / "scores.txt").read_text().splitlines()) == 20
