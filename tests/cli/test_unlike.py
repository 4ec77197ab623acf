"""`lowregret predict` on data that are unlike those of the training: fewer features, other columns, formats, labels."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from lowregret import load, read
from lowregret.errors import DataError
from lowregret.run.linear import LinearRun
from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")
ROWS = [("UP", 1, "x", 0.5), ("DOWN", -1, "y", 2), ("UP", 2, "x", 1), ("DOWN", -2, "y", 0.25)] * 5


def table(path: Path, columns: str = "y,a,b,c", rows: Sequence[tuple[object, ...]] = ROWS, mark: str = ",") -> Path:
    wanted = ["yabc".index(name.lower()) for name in columns.split(",")]
    lines = [mark.join(str(row[k]) for k in wanted) for row in rows]
    return written(path, [columns.replace(",", mark), *lines])


def trained(capsys: Capsys, data: Path, *words: object) -> Path:
    model = data.parent / "m.lr"
    told = run(capsys, "train", data, "--algorithm", "ogd", *words, "-o", model, "--quiet")
    assert told.code == 0, told.err
    return model


# ---- features -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [("winnow",), ("eg", "--eta", 0.1), ("ogd",), ("auto",)])
def test_fewer_features_than_the_dimension(capsys: Capsys, tmp_path: Path, words: tuple[object, ...]) -> None:
    model = tmp_path / "m.lr"
    file = written(tmp_path / "a.svm", svm_lines(60))
    said = ("--dimension", 40, "--algorithm", *words, "-o", model, "--quiet")
    assert run(capsys, "train", file, *said).code == 0
    short = written(tmp_path / "b.svm", ["+1 1:1 3:0.5", "-1 2:1"])
    told = run(capsys, "predict", model, short)
    assert told.code == 0, told.err
    assert len(told.out.split()) == 2
    wide = written(tmp_path / "c.svm", ["+1 41:1"])
    assert run(capsys, "predict", model, wide).code == 2


def test_rows_of_files_are_as_wide_as_the_learner_in_python(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", svm_lines(60))
    model = load(trained(capsys, file, "--dimension", 40))
    assert isinstance(model, LinearRun)
    written(tmp_path / "b.svm", ["+1 1:1 3:0.5"])
    (batch,) = read(tmp_path / "b.svm", one_based=True).batches()
    assert model.decision_function(batch.rows) == pytest.approx([model.weights[0] + 0.5 * model.weights[2]])
    with pytest.raises(DataError, match="the rows have 3 features, the learner 40"):
        model.decision_function(np.ones((1, 3)))


def test_census(capsys: Capsys, data_file: Callable[[str], Path], tmp_path: Path) -> None:
    """The test part of a9a lacks the last of its features."""
    model, lines = tmp_path / "m.lr", tmp_path / "p.txt"
    said = ("--dimension", 123, "--algorithm", "winnow", "-o", model, "--quiet")
    assert process("train", data_file("a9a.svm.gz"), *said).code == 0
    told = process("predict", model, data_file("a9a.t.svm.gz"), "-o", lines)
    assert told.code == 0, told.err
    assert "16,281 rows scored" in told.err


# ---- columns --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ("y,a,b,c", ""),
        ("c,b,a", ""),
        ("y,a,c", "column b, which {model} knows, is not in {file}: its rows are scored without"),
        ("c", "columns a, b, which {model} knows, are not in {file}: its rows are scored without"),
        ("y,a,B,c", "column b, which {model} knows, is not in {file}; it has column B, which {model} does not know"),
        ("y,a,b,c,C", "{file} has column C, which {model} does not know: no weight was learnt for it"),
    ],
)
def test_columns_that_are_not_the_same_are_told(capsys: Capsys, tmp_path: Path, columns: str, said: str) -> None:
    model = trained(capsys, table(tmp_path / "a.csv"), "--target", "y", "--positive", "UP")
    new = table(tmp_path / "b.csv", columns)
    said = said.format(model=model, file=new)
    told = run(capsys, "predict", model, new, "--json", "--quiet")
    assert told.code == 0
    assert told.err == (f"lowregret: {said}\n" if said else "")
    assert told.json["notes"] == ([said] if said else [])
    if "y" in columns:
        again = run(capsys, "train", new, "--resume", model, "--json", "--quiet")
        said = said.replace("scored without", "learnt without")
        assert again.json["notes"] == ([said] if said else [])


def rewritten(path: Path, source: Path) -> Path:
    """The same table in the format that the name tells."""
    from pyarrow import csv, parquet

    rows = csv.read_csv(source)
    if path.suffix == ".csv":
        csv.write_csv(rows, path)
    elif path.suffix == ".jsonl":
        written(path, [json.dumps(row, default=str) for row in rows.to_pylist()])
    else:
        parquet.write_table(rows, path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_that_options_named_may_be_lacking_later(capsys: Capsys, tmp_path: Path, ending: str) -> None:
    pytest.importorskip("pyarrow")
    lines = [f"{sign},{k},{k % 3},a b,2024-03-{10 + k},{k % 2},{1 + k}" for k in range(9) for sign in ("UP", "DOWN")]
    full = written(tmp_path / "full.csv", ["y,gone,kind,words,day,a,w", *lines])
    few = written(tmp_path / "few.csv", ["y,a,w", *(line.split(",")[0] + ",1,2" for line in lines)])
    bare = written(tmp_path / "bare.csv", ["y,a", "UP,1", "DOWN,0"])
    named = ("--drop", "gone", "--categorical", "kind", "--text", "words", "--date", "day", "--interactions", "kind:a")
    data = rewritten(tmp_path / f"a.{ending}", full)
    model = trained(capsys, data, "--target", "y", "--positive", "UP", "--weight", "w", *named)
    lacking = "" if ending == "jsonl" else "columns kind, words, day, which"
    new = rewritten(tmp_path / f"b.{ending}", few)
    told = run(capsys, "predict", model, new, "-o", tmp_path / "p.txt")
    assert told.code == 0, told.err
    assert lacking in told.err
    assert "gone" not in told.err
    again = run(capsys, "train", new, "--resume", model, "--quiet")
    assert again.code == 0, again.err
    assert lacking in again.err
    assert "gone" not in again.err
    told = run(capsys, "predict", model, rewritten(tmp_path / f"c.{ending}", bare), "-o", tmp_path / "p.txt")
    assert told.code == 0, told.err
    assert ("c.parquet: its figures are not weighted" in told.err) == (ending == "parquet")
    assert ("c.csv: its figures are not weighted" in told.err) == (ending == "csv")


def test_a_column_to_drop_must_be_there_at_first(capsys: Capsys, tmp_path: Path) -> None:
    words = ("--target", "y", "--positive", "UP", "--algorithm", "ogd", "--drop", "z")
    told = run(capsys, "train", table(tmp_path / "a.csv"), *words)
    assert told.code == 2
    assert "has no column 'z'" in told.err


@pytest.mark.parametrize(
    ("ending", "lines"),
    [
        ("csv", ['UP,"1,5",12.5%,x', 'DOWN,"2,5",1%,y', "UP,NA,,x"]),
        ("jsonl", ['{"y": "UP", "a": "1.5", "c": "12%", "b": "x"}']),
    ],
)
def test_numbers_written_otherwise_are_told(capsys: Capsys, tmp_path: Path, ending: str, lines: list[str]) -> None:
    model = trained(capsys, table(tmp_path / "a.csv"), "--target", "y", "--positive", "UP")
    new = written(tmp_path / f"b.{ending}", ["y,a,c,b", *lines] if ending == "csv" else lines)
    said = f"columns a, c were numbers in training and are names in {new}: write them as there"
    assert run(capsys, "predict", model, new, "--json", "--quiet").json["notes"] == [said]
    assert said in run(capsys, "train", new, "--resume", model, "--json", "--quiet").json["notes"]
    some = table(tmp_path / "c.csv", rows=[("UP", 1, "x", 2), ("DOWN", 2, "y", ""), ("UP", "?", "x", 2)])
    assert run(capsys, "predict", model, some, "--json", "--quiet").json["notes"] == []


def test_columns_of_arrow_tables_are_known_too(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    whole = pa.table({"y": [1.0, -1.0] * 5, "a": [1.0, 2.0] * 5, "s": [{"t": [1.0]}, {"t": [1.0, 2.0]}] * 5})
    parquet.write_table(whole, tmp_path / "a.parquet")
    model = trained(capsys, tmp_path / "a.parquet", "--target", "y")
    for gone, lacking in (("a", "column a"), ("s", "columns s.t.0, s.t.1")):
        parquet.write_table(whole.drop_columns([gone]), tmp_path / "b.parquet")
        assert f"{lacking}, which" in run(capsys, "predict", model, tmp_path / "b.parquet").err


# ---- formats --------------------------------------------------------------------------------------------------------


def test_tables_are_alike_in_every_format(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    path = table(tmp_path / "a.csv")
    rows = csv.read_csv(path)
    table(tmp_path / "a.tsv", mark="\t")
    written(tmp_path / "a.jsonl", [json.dumps(row) for row in rows.to_pylist()])
    written(tmp_path / "plain", [json.dumps(row) for row in rows.to_pylist()])
    parquet.write_table(rows, tmp_path / "a.parquet")
    feather.write_feather(rows, tmp_path / "a.arrow", compression="uncompressed")
    assert isinstance(rows, pa.Table)
    endings = ("a.csv", "a.tsv", "a.jsonl", "a.parquet", "a.arrow", "plain")
    for ending in endings[:-1]:
        model = trained(capsys, tmp_path / ending, "--target", "y", "--positive", "UP")
        told = [run(capsys, "predict", model, tmp_path / other, "--quiet") for other in endings]
        assert {found.code for found in told} == {0}
        assert len({found.out for found in told}) == 1
        assert {found.err for found in told} == {""}


def test_types_that_formats_do_not_share_are_told(capsys: Capsys, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    lines = [f"{'+-'[k % 2]}1,{k},{('true', 'false')[k % 2]},2024-03-{10 + k}" for k in range(9)]
    text = written(tmp_path / "a.csv", ["y,a,b,d", *lines])
    typed = tmp_path / "a.parquet"
    types = {"y": pa.float64(), "a": pa.float64(), "b": pa.bool_(), "d": pa.date32()}
    options = pa.csv.ConvertOptions(column_types=types)
    parquet.write_table(pa.csv.read_csv(text, convert_options=options), typed)
    model = trained(capsys, text, "--target", "y")
    told = run(capsys, "predict", model, typed, "--json").json["notes"]
    assert told == [
        f"column b was names in training and is numbers in {typed}: write it as there",
        f"column d was names in training and is dates in {typed}: write it as there",
    ]
    model = trained(capsys, typed, "--target", "y")
    told = run(capsys, "predict", model, text, "--json").json["notes"]
    assert told == [
        f"column b was numbers in training and is names in {text}: write it as there",
        f"column d was dates in training and is names in {text}: write it as there",
    ]
    assert run(capsys, "predict", model, typed, "--json").json["notes"] == []


def test_other_formats_are_refused_with_a_remedy(capsys: Capsys, tmp_path: Path) -> None:
    model = trained(capsys, written(tmp_path / "a.svm", svm_lines(20)))
    told = run(capsys, "predict", model, table(tmp_path / "b.csv"), "-o", tmp_path / "p.txt")
    assert told.code == 2
    assert "b.csv is csv, but the model was trained on svm" in told.err
    assert "say --format svm if it is that after all" in told.err
    assert not (tmp_path / "p.txt").exists()
    misnamed = written(tmp_path / "c.csv", svm_lines(20))
    assert run(capsys, "predict", model, misnamed).code == 2
    assert run(capsys, "predict", model, misnamed, "--format", "svm").code == 0
    assert "trained on svm" in run(capsys, "train", misnamed, "--resume", model).err


# ---- labels ---------------------------------------------------------------------------------------------------------


def test_labels_coded_otherwise_are_told(capsys: Capsys, tmp_path: Path) -> None:
    signs = trained(capsys, written(tmp_path / "a.svm", svm_lines(20)))
    for label in (0, 2):
        file = written(tmp_path / "b.svm", [f"{label} 1:1", "1 1:1", f"{label} 2:1", "-1 2:1"])
        told = run(capsys, "predict", signs, file, "--json", "--quiet")
        said = f"2 rows have labels such as {label}, but the model was trained on -1 or +1: predictions are not judged"
        assert (told.err, told.json["notes"]) == (f"lowregret: {said}\n", [said])
        assert told.json["error"] is told.json["loss"]["mean"] is None
        assert told.json["metrics"]["weight"] == 0

    named = trained(capsys, table(tmp_path / "a.csv"), "--target", "y", "--positive", "UP")
    other = table(tmp_path / "b.csv", rows=[("up", 1, "x", 1), ("down", 1, "y", 1), ("DOWN", 1, "y", 1)])
    told = run(capsys, "predict", named, other, "-o", tmp_path / "p.txt", "--quiet")
    assert told.err == f"lowregret: {named} knows the labels UP and DOWN, not up, down: predictions are not judged\n"
    told = run(capsys, "predict", named, other, "-o", tmp_path / "p.txt")
    assert told.err.endswith("3 rows scored\n")

    classes = tmp_path / "c.lr"
    words = ("--target", "y", "--loss", "softmax", "--algorithm", "adagrad", "-o", classes, "--quiet")
    assert run(capsys, "train", table(tmp_path / "c.csv"), *words).code == 0
    told = run(capsys, "predict", classes, other, "-o", tmp_path / "p.txt", "--quiet")
    assert told.err == "lowregret: 2 rows of classes that the model does not know, such as up, counted as wrong\n"
    new = table(tmp_path / "d.csv", rows=[("1", 1, "x", 1), ("0", 1, "y", 1)])
    told = run(capsys, "predict", classes, new, "-o", tmp_path / "p.txt")
    said = "lowregret: no label is of a class that the model knows (there is 1): predictions are not judged\n"
    assert told.err == said + "2 rows scored\n"


def test_bits_are_signs_for_a_model_of_signs(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(20)
    model = trained(capsys, written(tmp_path / "a.svm", lines))
    bits = written(tmp_path / "b.svm", [line.replace("-1 ", "0 ", 1) if line[0] == "-" else line for line in lines])
    zeros = written(tmp_path / "c.svm", ["0" + line[2:] for line in lines])
    told, known, unsure = (run(capsys, "predict", model, file, "--json") for file in (bits, tmp_path / "a.svm", zeros))
    (said,) = told.json["notes"]
    assert said.startswith("the labels are 0 and 1, the model was trained on -1 and +1: 0, in ")
    assert told.json | {"notes": []} == known.json
    assert unsure.json["error"] is None


def test_labels_coded_otherwise_are_not_learnt(capsys: Capsys, tmp_path: Path) -> None:
    model = trained(capsys, table(tmp_path / "a.csv"), "--target", "y", "--positive", "UP")
    before = model.read_bytes()
    new = table(tmp_path / "b.csv", rows=[("1", 1, "x", 1), ("0", 1, "y", 1)])
    told = run(capsys, "train", new, "--resume", model, "-o", tmp_path / "n.lr", "--quiet")
    assert told.code == 2
    assert f"{new} has the labels 1, 0, but {model} knows the labels UP and DOWN: write them as" in told.err
    assert model.read_bytes() == before
    assert load(tmp_path / "n.lr").rounds == len(ROWS)
