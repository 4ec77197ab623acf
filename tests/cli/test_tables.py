"""Tables whose columns are text, dates or numbers with decimal commas: learnt, kept in the model, noted if not."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from lowregret.cli.arguments import names
from lowregret.run.session import Session
from tests.cli.running import run, written

Capsys = pytest.CaptureFixture[str]
interpreted = pytest.mark.usefixtures("interpreted")

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"]
LEARNER = ("--loss", "logistic", "--algorithm", "adagrad")


def messages(rows: int, seed: int = 0) -> list[tuple[str, str]]:
    """Labels and texts of many words; those with `alpha` or `beta`, in whatever case, are spam."""
    rng = np.random.default_rng(seed)
    texts = [[*rng.choice(WORDS, 6), f"no{k}"] for k in range(rows)]
    spam = ["spam" if {"alpha", "beta"} & {*words} else "ham" for words in texts]
    return [(label, " ".join(words).title()) for label, words in zip(spam, texts, strict=True)]


@pytest.fixture
def mail(tmp_path: Path) -> Path:
    return written(tmp_path / "mail.tsv", [f"{label}\t{text}" for label, text in messages(400)])


@interpreted
def test_words_are_learnt_and_the_model_knows_of_them(capsys: Capsys, mail: Path, tmp_path: Path) -> None:
    how = ("--no-header", "--target", "1", "--positive", "spam", *LEARNER)
    blind = run(capsys, "train", mail, *how, "--json")
    files = ("-o", tmp_path / "mail.lr", "--weights", tmp_path / "weights.tsv")
    told = run(capsys, "train", mail, *how, "--text", "2", "--json", *files)
    assert told.json["error"] < 0.05 < 0.25 < blind.json["error"]
    assert told.json["notes"] == []
    assert told.json["nonzeros"] == 400 * 7 - sum(7 - len({*text.split()}) for _, text in messages(400))
    heaviest = [line.split("\t")[0] for line in (tmp_path / "weights.tsv").read_text().splitlines()[:2]]
    assert {*heaviest} == {"2=alpha", "2=beta"}
    new = written(tmp_path / "new.tsv", [f"{label}\t{text}" for label, text in messages(200, 1)])
    assert run(capsys, "predict", tmp_path / "mail.lr", new, "--json").json["error"] < 0.05
    again = run(capsys, "train", mail, "--resume", tmp_path / "mail.lr", "--text", "2")
    assert again.code == 2
    assert "settles --text already" in again.err


@interpreted
def test_a_column_of_which_nothing_is_learnt_is_noted(capsys: Capsys, mail: Path) -> None:
    many = "column 2: nearly as many values as rows (400 of the first 400)"
    said = f"{many}; words are learnt with --text 2, or leave it out with --drop 2"
    how = ("--no-header", "--target", "1", "--positive", "spam", *LEARNER)
    told = run(capsys, "train", mail, *how)
    assert f"lowregret: {said}" in told.err
    assert f"note       {said}" in told.out
    quiet = run(capsys, "train", mail, *how, "--quiet", "--json")
    assert quiet.err == ""
    assert quiet.json["notes"] == [said]
    assert run(capsys, "train", mail, *how, "--drop", "2", "--json").json["notes"] == []


def moments(rows: int) -> tuple[list[datetime], list[int]]:
    """Times of rows in order, and whether they are on a working day after noon."""
    rng = np.random.default_rng(0)
    begin, minutes = datetime(2024, 3, 1), np.cumsum(rng.integers(1, 700, rows)).tolist()
    times = [begin + timedelta(minutes=minute) for minute in minutes]
    return times, [1 if when.hour >= 12 and when.weekday() < 5 else -1 for when in times]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_parts_of_dates_help(capsys: Capsys, tmp_path: Path, ending: str) -> None:
    times, labels = moments(1500)
    path = tmp_path / f"table.{ending}"
    if ending == "parquet":
        pa.parquet.write_table(pa.table({"y": labels, "when": times}), path)
    else:
        line = "{},{}" if ending == "csv" else '{{"y":{},"when":"{}"}}'
        lines = [line.format(y, when) for y, when in zip(labels, times, strict=True)]
        written(path, [*(["y,when"] if ending == "csv" else []), *lines])
    how = ("--target", "y", "--json", "--quiet")
    dated = run(capsys, "train", path, *how, *([] if ending == "parquet" else ["--date", "when"]))
    names = run(capsys, "train", path, *how, *(["--categorical", "when"] if ending == "parquet" else []))
    assert dated.json["error"] < 0.05 < 0.3 < names.json["error"]
    assert dated.json["notes"] == []
    said = f"column when: dates such as '{times[0]}', learnt as names; their parts are learnt with --date when"
    assert names.json["notes"] == ([] if ending == "parquet" else [said])


@interpreted
def test_a_bad_date_is_refused_with_its_place(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", ["y,when", "1,2024-03-31", "-1,31.3.2024"])
    told = run(capsys, "train", path, "--target", "y", "--date", "when", *LEARNER, "-o", tmp_path / "m.lr")
    assert told.code == 2
    assert f"{path}:3: expected a date such as 2024-03-31" in told.err
    assert "in the column 'when', but found '31.3.2024'" in told.err
    assert Session.load(tmp_path / "m.lr").rows == 1


@interpreted
def test_decimal_commas_are_read_and_kept_in_the_model(capsys: Capsys, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=300).round(3)
    lines = [f"{-1 if value < 0.2 else 1};{str(value).replace('.', ',')}" for value in x.tolist()]
    path = written(tmp_path / "t.csv", ["y;x", *lines])
    how = ("--target", "y", *LEARNER, "--bias", "--json", "--quiet")
    blind = run(capsys, "train", path, *how)
    assert [note.partition(", learnt")[0] for note in blind.json["notes"]] == ["column x: numbers such as '0,126'"]
    told = run(capsys, "train", path, *how, "--decimal", ",", "-o", tmp_path / "m.lr")
    assert told.json["error"] < 0.1 < 0.3 < blind.json["error"]
    assert run(capsys, "predict", tmp_path / "m.lr", path, "--json").json["error"] < 0.1
    refused = run(capsys, "train", path, *how, "--decimal", ";")
    assert refused.code == 2
    assert "decimal must be a point or a comma" in refused.err


@interpreted
def test_what_has_no_columns_has_no_text(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "t.svm", ["1 1:1"])
    told = run(capsys, "train", path, "--text", "1")
    assert told.code == 2
    assert "text does not fit svm data" in told.err
    lines = written(tmp_path / "t.jsonl", [json.dumps({"y": 1, "a": 1})])
    assert "decimal does not fit jsonl data" in run(capsys, "train", lines, "--target", "y", "--decimal", ",").err


@pytest.mark.parametrize(
    ("said", "meant"),
    [("a, b", ("a", "b")), ('"title, long",body', ("title, long", "body")), ('a,"b ""c"""', ("a", 'b "c"')), (",", ())],
)
def test_names_with_commas_stand_between_quotes(said: str, meant: tuple[str, ...]) -> None:
    assert names(said) == meant
