"""What labels are taken for, what they are called, and what is said of those from which little can be learnt."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lowregret.cli.labels import MANY_TEXTS
from lowregret.run.session import Session
from tests.cli.running import Told, process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
OGD = ("--algorithm", "ogd")


def svm(path: Path, *labels: object) -> Path:
    """Rows whose feature tells the label, forty of each in turn."""
    lines = [f"{label} {k + 1}:1 9:{turn % 3}" for turn in range(40) for k, label in enumerate(labels)]
    return written(path, lines)


def csv(path: Path, *labels: object) -> Path:
    lines = [f"{label},{k},{turn % 3}" for turn in range(40) for k, label in enumerate(labels)]
    return written(path, ["y,a,b", *lines])


def jsonl(path: Path, *labels: object) -> Path:
    lines = [json.dumps({"y": label, "a": k, "b": turn % 3}) for turn in range(40) for k, label in enumerate(labels)]
    return written(path, lines)


# ---- labels that do not occur ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "words", "positive"),
    [
        (("a.csv", csv, ("UP", "DOWN")), ("--target", "y"), "up"),
        (("a.jsonl", jsonl, ("UP", "DOWN")), ("--target", "y"), "up"),
        (("a.svm", svm, ("UP", "DOWN")), (), "3"),
    ],
    ids=["csv", "jsonl", "svm"],
)
def test_a_positive_label_that_never_occurs(
    capsys: Capsys, tmp_path: Path, file: tuple[str, object, tuple[str, ...]], words: tuple[str, ...], positive: str
) -> None:
    name, make, labels = file
    labels = labels if words else ("1", "2")
    path = make(tmp_path / name, *labels)  # type: ignore[operator]
    model = tmp_path / "m.lr"
    told = run(capsys, "train", path, *words, *OGD, "--positive", positive, "-o", model, "--quiet")
    assert told.code == 2
    assert told.err == (
        f"lowregret: no label in {path} is --positive {positive}; there are {', '.join(labels)}: name one of them\n"
    )
    assert told.out == ""
    assert not model.exists()


def test_some_of_many_labels_are_told(capsys: Capsys, tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", *"ABCDEFGH")
    told = run(capsys, "train", path, "--target", "y", *OGD, "--positive", "Z", "--quiet")
    assert "there are A, B, C, D, E, …: name one of them" in told.err


@pytest.mark.parametrize("holdout", ["last:40", "2"])
def test_a_positive_label_that_is_held_out(capsys: Capsys, tmp_path: Path, holdout: str) -> None:
    labels = ["a"] * 80 + ["b"] * 40 if holdout != "2" else ["a", "b"] * 40
    path = written(tmp_path / "a.csv", ["y,x", *(f"{label},1" for label in labels)])
    words = ("--target", "y", *OGD, "--positive", "b", "--holdout", holdout, "--quiet")
    told = run(capsys, "train", path, *words)
    assert told.code == 2
    assert "all rows labelled --positive b are among those held out" in told.err


@pytest.mark.parametrize("words", [("--weight", "w"), ("--drop", "w", "--delay", "2")], ids=["weightless", "late"])
def test_a_positive_label_of_rows_that_are_not_learnt(capsys: Capsys, tmp_path: Path, words: tuple[str, ...]) -> None:
    path = written(tmp_path / "a.csv", ["y,x,w", *["d,1,1"] * 3, "up,4,0", "up,4,0"])
    told = run(capsys, "train", path, "--target", "y", *OGD, "--positive", "up", "--quiet", *words)
    assert told.code == 2
    assert "is --positive up, unless of 2 rows without weight or with late labels; there are d" in told.err


def test_a_game_needs_both_labels(capsys: Capsys, tmp_path: Path) -> None:
    path = csv(tmp_path / "a.csv", "UP", "DOWN")
    told = run(capsys, "play", "replay", "ogd", "--data", path, "--target", "y", "--positive", "up")
    assert told.code == 2
    assert "no label is --positive up; there are UP, DOWN: name one of them" in told.err


def test_rows_may_come_later(capsys: Capsys, tmp_path: Path) -> None:
    """A resumed run has met the positive label before."""
    model = tmp_path / "m.lr"
    both, one = csv(tmp_path / "a.csv", "UP", "DOWN"), csv(tmp_path / "b.csv", "DOWN")
    assert run(capsys, "train", both, "--target", "y", "--positive", "UP", *OGD, "-o", model, "--quiet").code == 0
    told = run(capsys, "train", one, "--resume", model, "--quiet")
    assert (told.code, told.err) == (0, "")


# ---- one label only -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("label", "words", "said"),
    [
        ("+1", ("--loss", "hinge"), "all 40 labels were +1: nothing could be learnt about -1"),
        ("-1", ("--loss", "hinge"), "all 40 labels were -1: nothing could be learnt about +1"),
        ("3", ("--positive", "3"), "all 40 labels were 3: nothing could be learnt about not 3"),
        ("2.5", ("--loss", "square", *OGD), "all 40 labels were 2.5: nothing but this number could be learnt"),
        ("7", ("--loss", "softmax", "--algorithm", "adagrad"), "all 40 labels were 7: nothing could be learnt about"),
    ],
)
def test_one_label_only_is_said_loudly(
    capsys: Capsys, tmp_path: Path, label: str, words: tuple[str, ...], said: str
) -> None:
    path = svm(tmp_path / "a.svm", label)
    told = run(capsys, "train", path, *words)
    assert told.code == 0, told.err
    assert f"lowregret: {said}" in told.err
    assert f"note       {said}" in told.out
    assert "risk       nothing can be said of rows yet to come: all labels were the same\n" in told.out
    assert "with probability" not in told.out
    silent = run(capsys, "train", path, *words, "--json", "--quiet")
    assert f"lowregret: {said}" in silent.err
    assert silent.json["notes"][0].startswith(said)
    assert silent.json["certificate"]["risk"] is None


@pytest.mark.parametrize(
    ("label", "words", "other"),
    [("+1", ("--loss", "hinge", *OGD), "-1"), ("7", ("--loss", "softmax", "--algorithm", "adagrad"), "other classes")],
)
def test_the_only_label_is_one_label_too(
    capsys: Capsys, tmp_path: Path, label: str, words: tuple[str, ...], other: str
) -> None:
    path = written(tmp_path / "a.svm", [f"{label} 1:1"])
    told = run(capsys, "train", path, *words)
    assert told.err == f"lowregret: the only label was {label}: nothing could be learnt about {other}\n"
    assert "risk       nothing can be said" in told.out


def test_as_many_classes_as_rows_are_no_classes(capsys: Capsys, tmp_path: Path) -> None:
    said = ("--loss", "softmax", "--algorithm", "adagrad", "--json", "--quiet")
    ids, some = (written(tmp_path / f"{n}.svm", [f"{k % n} {k % 9}:1" for k in range(60)]) for n in (54, 53))
    told = run(capsys, "train", ids, *said)
    note = "the target has 54 classes in 60 rows: it is probably a number (say --loss square) or an id"
    assert note in told.err
    assert told.json["notes"][0].startswith(note)
    assert run(capsys, "train", some, *said).json["notes"] == []


def test_two_labels_are_nothing_to_speak_of(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(50))
    told = run(capsys, "train", path, "--loss", "hinge", "--json", "--quiet")
    assert (told.err, told.json["notes"]) == ("", [])


# ---- 0 and 1, 1 and 2 -----------------------------------------------------------------------------------------------


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "words", [("--loss", "logistic", *OGD), ("--loss", "hinge"), ("--loss", "squared-hinge"), OGD, ("--output", "last")]
)
def test_margins_take_0_and_1(capsys: Capsys, tmp_path: Path, words: tuple[str, ...]) -> None:
    bits, signs = svm(tmp_path / "bits.svm", 0, 1), svm(tmp_path / "signs.svm", -1, 1)
    told = run(capsys, "train", bits, *words)
    assert told.code == 0, told.err
    assert "lowregret: the labels are 0 and 1: two classes (--positive 1)\n" in told.err
    assert "labelled 1, " in told.out
    found, wanted = (run(capsys, "train", path, *words, "--json", "--quiet").json for path in (bits, signs))
    assert found["loss"] == wanted["loss"]
    refused = process("train", "-", "--format", "svm", *words, "--quiet", stdin=b"1 1:1\n0 2:1\n")
    assert refused.code == 2
    assert "--positive" in refused.err


def test_two_whole_numbers_are_perhaps_classes(capsys: Capsys, tmp_path: Path) -> None:
    said = "the labels are 1 and 2, learnt as numbers: for two classes say --positive 2"
    assert said in run(capsys, "train", svm(tmp_path / "a.svm", 1, 2)).err
    assert "learnt as numbers" not in run(capsys, "train", svm(tmp_path / "b.svm", -1, 1)).err
    assert "learnt as numbers" not in run(capsys, "train", svm(tmp_path / "c.svm", 1.5, 2)).err
    assert "few whole numbers" in run(capsys, "train", svm(tmp_path / "d.svm", 1, 2, 3)).err


# ---- names ----------------------------------------------------------------------------------------------------------


def labelled(capsys: Capsys, data: Path, *words: object) -> tuple[Told, set[str], set[str]]:
    """A training with labels as predictions, what they are there, and in `predict`."""
    model, scores = data.with_name("m.lr"), data.with_name("p.txt")
    said = ("--predictions", scores, "--link", "label", "-o", model, "--quiet")
    told = run(capsys, "train", data, *OGD, *words, *said)
    assert told.code == 0, told.err
    again = run(capsys, "predict", model, data, "--link", "label", "--quiet")
    assert again.err == ""
    return told, set(scores.read_text().split("\n")[:-1]), set(again.out.split("\n")[:-1])


@pytest.mark.parametrize(("make", "ending"), [(csv, "csv"), (jsonl, "jsonl")])
def test_labels_keep_their_names(capsys: Capsys, tmp_path: Path, make: object, ending: str) -> None:
    two = make(tmp_path / f"two.{ending}", "UP", "DOWN")  # type: ignore[operator]
    assert labelled(capsys, two, "--target", "y", "--positive", "UP")[1:] == ({"UP", "DOWN"}, {"UP", "DOWN"})
    three = make(tmp_path / f"three.{ending}", "UP", "DOWN", "SAME")  # type: ignore[operator]
    assert labelled(capsys, three, "--target", "y", "--positive", "UP")[1:] == ({"UP", "not UP"}, {"UP", "not UP"})
    assert Session.load(tmp_path / "m.lr").met.labels == ["DOWN", "SAME"]


def test_labels_of_arrow_tables_keep_their_names(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    for labels, positive in ((["UP", "DOWN"], "UP"), ([True, False], "true"), ([5, 4], "5")):
        path = tmp_path / "a.parquet"
        parquet.write_table(pa.table({"y": labels * 20, "a": [1.0, -1.0] * 20}), path)
        names = {"UP", "DOWN"} if positive == "UP" else {str(label).lower() for label in labels}
        assert labelled(capsys, path, "--target", "y", "--positive", positive)[1:] == (names, names)


def test_numbers_are_names_too(capsys: Capsys, tmp_path: Path) -> None:
    assert labelled(capsys, svm(tmp_path / "bits.svm", 0, 1))[1:] == ({"1", "0"}, {"1", "0"})
    assert labelled(capsys, svm(tmp_path / "some.svm", 7, 2.5), "--positive", 7)[2] == {"7", "2.5"}
    assert labelled(capsys, svm(tmp_path / "signs.svm", -1, 1))[1:] == ({"1.0", "-1.0"}, {"1.0", "-1.0"})


@pytest.mark.parametrize(("labels", "down"), [(("UP", "DOWN"), "DOWN"), (("UP", "DOWN", "SAME"), "not UP")])
def test_figures_call_labels_by_their_names(capsys: Capsys, tmp_path: Path, labels: tuple[str, ...], down: str) -> None:
    data, model = csv(tmp_path / "a.csv", *labels), tmp_path / "m.lr"
    told = run(capsys, "train", data, "--target", "y", "--positive", "UP", *OGD, "-o", model, "--json", "--quiet").json
    again = run(capsys, "predict", model, data, "--json").json
    for metrics in (told["metrics"], again["metrics"]):
        assert {name: list(row) for name, row in metrics["confusion"].items()} == {
            "UP": ["UP", down],
            down: ["UP", down],
        }


def test_labels_are_shown_as_people_write_them(capsys: Capsys, tmp_path: Path) -> None:
    """No name of a type of NumPy is in messages."""
    model, other = tmp_path / "m.lr", written(tmp_path / "b.svm", ["-0.963 1:1"])
    assert (
        run(capsys, "train", svm(tmp_path / "a.svm", -1, 1), *OGD, "--loss", "hinge", "-o", model, "--quiet").code == 0
    )
    assert "1 row has a label such as -0.963, but" in run(capsys, "predict", model, other).err
    told = run(capsys, "train", other, "--loss", "softmax", "--algorithm", "adagrad")
    assert "label -0.963 is no class" in told.err


def test_texts_of_which_each_row_has_its_own_are_no_classes_unasked(capsys: Capsys, tmp_path: Path) -> None:
    rows = written(tmp_path / "r.csv", ["y,a", *[f"id{k},1" for k in range(MANY_TEXTS + 1)]])
    told = run(capsys, "train", rows, "--target", "y", "--quiet", "-o", tmp_path / "m.lr")
    assert told.code == 2
    assert "y holds 2,001 texts in the first 2,001 rows, probably ids" in told.err
    assert "with --loss softmax" in told.err
    assert not (tmp_path / "m.lr").exists()


@pytest.mark.parametrize(
    ("rows", "skipped"), [(["u,1", "v,2"], 0), ([",1", "u,1", "v,2"], 0), (["u,1,9", "v,2", "u,1"], 1)]
)
def test_texts_are_classes_though_lines_be_skipped_or_the_first_have_no_label(
    capsys: Capsys, tmp_path: Path, rows: list[str], skipped: int
) -> None:
    """All lines were skipped, as labels must be numbers, or the first text was an error behind rows without one."""
    path = written(tmp_path / "r.csv", ["y,a", *rows])
    told = run(capsys, "train", path, "--target", "y", "--on-error", "skip", "--json")
    assert told.code == 0
    assert json.loads(told.out)["rounds"] == 2
    assert told.err.count("skipped") == skipped
    assert ("y holds texts" in run(capsys, "train", path, "--target", "y").err) == (not skipped)
