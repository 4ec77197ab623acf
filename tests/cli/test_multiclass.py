"""Many classes on the command line: labels that are numbers or names, in every format, and what people see of them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from lowregret import load, read
from lowregret.run import MulticlassRun
from lowregret.train import train
from lowregret.zoo import mc_perceptron
from tests.cli.running import run, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
NAMES = ["cat", "dog", 'big "bear", brown', "eel"]


def rows(count: int, seed: int = 0) -> list[tuple[str, list[float]]]:
    rng = np.random.default_rng(seed)
    w = np.random.default_rng(99).normal(size=(3, len(NAMES)))
    x = rng.normal(size=(count, 3)).round(3)
    return [(NAMES[k], row.tolist()) for k, row in zip(np.argmax(x @ w, axis=1), x, strict=True)]


def svm(count: int, seed: int = 0) -> list[str]:
    found = rows(count, seed)
    return [f"{NAMES.index(y) + 1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x)) for y, x in found]


def csv(count: int, seed: int = 0) -> list[str]:
    quoted = ['"' + y.replace('"', '""') + '"' if '"' in y else y for y, _ in rows(count, seed)]
    return ["a,b,animal,c", *(f"{x[0]},{x[1]},{y},{x[2]}" for y, (_, x) in zip(quoted, rows(count, seed), strict=True))]


def jsonl(count: int, seed: int = 0) -> list[str]:
    return [json.dumps({"a": x[0], "b": x[1], "is": {"animal": y}, "c": x[2]}) for y, x in rows(count, seed)]


def test_train_resume_and_predict(capsys: Capsys, tmp_path: Path) -> None:
    first, more = written(tmp_path / "a.svm", svm(150)), written(tmp_path / "b.svm", svm(150, 1))
    both = written(tmp_path / "c.svm", svm(150) + svm(150, 1))
    model, whole = tmp_path / "m.lr", tmp_path / "w.lr"
    said = ("--loss", "softmax", "--algorithm", "adagrad")
    told = run(capsys, "train", first, *said, "-o", model, "--predictions", tmp_path / "p.txt")
    assert told.code == 0, told.err
    assert "of 4 classes" in told.out
    assert "taken for" in told.out
    guesses = (tmp_path / "p.txt").read_text().split("\n")
    assert guesses[0] == ""  # nothing was known before the first row
    assert set(guesses[1:150]) == {"1", "2", "3", "4"}
    told = run(capsys, "train", more, "--resume", model, "-o", model, "--json", "--quiet")
    straight = run(capsys, "train", both, *said, "-o", whole, "--json", "--quiet")
    a, b = told.json, straight.json
    for found in (a, b):
        del found["seconds"], found["model"]
    assert a == b
    assert a["algorithm"] == "adagrad"
    assert a["error"] == pytest.approx(1 - np.trace(a["metrics"]["confusion"]) / 300)
    assert a["certificate"]["holds"]
    left, right = load(model), load(whole)
    assert isinstance(left, MulticlassRun)
    assert isinstance(right, MulticlassRun)
    assert [x.tobytes() for x in left.state] == [x.tobytes() for x in right.state]
    new = written(tmp_path / "d.svm", [*svm(40, 2), "9 1:1"])
    told = run(capsys, "predict", model, new, "-o", tmp_path / "q.txt", "--json")
    assert told.json["rows"] == 41
    assert told.json["metrics"]["unknown_class"] == 1
    wrong = sum(y.split()[0] != p for y, p in zip(svm(40, 2), (tmp_path / "q.txt").read_text().split(), strict=False))
    assert told.json["error"] == pytest.approx((wrong + 1) / 41)
    told = run(capsys, "predict", model, new, "--link", "prob", "--quiet")
    header, *lines = told.out.splitlines()
    assert header.split(",") == [str(name) for name in left.classes.names]
    assert np.array([line.split(",") for line in lines], float).sum(axis=1) == pytest.approx(1.0)


def test_names_in_tables_of_every_format(capsys: Capsys, tmp_path: Path) -> None:
    files = [
        (written(tmp_path / "a.csv", csv(120)), "animal"),
        (written(tmp_path / "a.jsonl", jsonl(120)), "is.animal"),
    ]
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names, features = zip(*rows(120), strict=True)
    columns = dict(zip("abc", np.array(features).T, strict=True)) | {"animal": list(names)}
    parquet.write_table(pa.table(columns), tmp_path / "a.parquet")
    files.append((tmp_path / "a.parquet", "animal"))
    found = []
    for path, target in files:
        told = run(capsys, "train", path, "--target", target, "--algorithm", "mc-perceptron", "--json", "--quiet")
        assert told.code == 0, told.err
        found.append((told.json["error"], told.json["metrics"]["classes"], told.json["loss"]["total"]))
    assert found[0] == found[1] == found[2]
    assert set(found[0][1]) == set(NAMES)
    stream = read(files[0][0], target="animal", classes=True)
    assert train(mc_perceptron(), stream).error == found[0][0]


def test_classes_known_beforehand_and_held_out_rows(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", csv(90))
    words = ["train", path, "--target", "animal", "--loss", "oaa:hinge", "--unit", "--bias", "--quiet", "--bits", "10"]
    few = run(capsys, *words, "--classes", "cat,dog")
    assert few.code == 2
    assert "is not among those named: 'cat', 'dog'" in few.err
    path.write_text(path.read_text().replace('"big ""bear"", brown"', "bear"))
    told = run(capsys, *words, "--classes", "cat,dog,bear,eel,yak", "--json", "--holdout", "3",
               "--predictions", tmp_path / "p.csv", "--link", "raw", "--report", tmp_path / "r.html")  # fmt: skip
    assert told.code == 0, told.err
    assert told.json["metrics"]["classes"] == ["cat", "dog", "bear", "eel", "yak"]
    assert told.json["metrics"]["recall"]["yak"] is None
    assert told.json["metrics"]["holdout"]["rows"] == 30
    assert told.json["rounds"] == 60
    table = (tmp_path / "p.csv").read_text().splitlines()
    assert table[0] == "cat,dog,bear,eel,yak"
    assert len(table) == 91
    assert "predicted yak" in (tmp_path / "r.html").read_text()


def test_errors_say_what_to_use(capsys: Capsys, tmp_path: Path) -> None:
    numbers, names = written(tmp_path / "a.svm", svm(20)), written(tmp_path / "a.csv", csv(20))
    for words, expected in (
        ((numbers, "--loss", "hinge"), "--loss softmax"),
        ((names, "--target", "animal", "--loss", "hinge"), "--loss softmax"),
        ((numbers, "--loss", "softmax", "--certify", "exact"), "use --certify stream"),
        ((numbers, "--loss", "softmax", "--positive", "1"), "leave it out"),
        ((numbers, "--loss", "oaa:square"), "loss of the margin"),
        ((numbers, "--loss", "softmax:2"), "takes no parameter"),
        ((numbers, "--classes", "1,2"), "needs a loss of many classes"),
        ((numbers, "--loss", "softmax", "--predictions", tmp_path / "p", "--link", "prob"), "name them with --classes"),
        ((numbers, "--loss", "multi-hinge", "--predictions", tmp_path / "p", "--link", "prob"), "not probabilities"),
        ((numbers, "--loss", "softmax", "--algorithm", "eg", "--eta", "1", "--dimension", "4"), "--classes"),
    ):
        told = run(capsys, "train", *words, "--quiet")
        assert told.code == 2, words
        assert expected in told.err
    told = run(capsys, "zoo", "mc-perceptron")
    assert "MC-OBS" in told.out


def test_rows_of_unknown_classes_have_no_loss(capsys: Capsys, tmp_path: Path) -> None:
    """They are wrong; a loss of the others is said to be theirs, and none of no rows is not 0."""
    known, unknown = [f"{k % 2} {k % 2 + 1}:1" for k in range(20)], ["7 1:1"] * 2
    said = ("--loss", "softmax", "--algorithm", "adagrad", "--passes", 2, "-o", tmp_path / "m.lr", "--holdout")
    path = written(tmp_path / "a.svm", known + unknown)
    told = run(capsys, "train", path, *said, "last:2", "--json", "--quiet").json
    assert [found["loss"] for found in (told["metrics"]["holdout"], told["passes"][1]["holdout"])] == [None, None]
    assert told["metrics"]["holdout"]["error"] == 1
    assert "\n  loss " not in run(capsys, "train", path, *said, "last:2").out
    out = run(capsys, "train", path, *said, "last:3").out
    assert "(softmax), of 1 row whose class the model knows\n  error" in out
    some = written(tmp_path / "b.svm", known[:3] + unknown)
    err = run(capsys, "predict", tmp_path / "m.lr", some, "-o", tmp_path / "p.txt").err
    assert "(softmax), of 3 rows whose class the model knows, among 5 rows with a label\n" in err
    assert "; held out error " in run(capsys, "train", path, *said, 5).out  # whose losses nobody knows
