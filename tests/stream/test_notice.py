"""What is said of columns of which little is learnt: by what their first texts look like."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from lowregret.stream.notice import (
    DATE,
    DRESSED,
    ID,
    LEAST_ROWS,
    LOOKED,
    NUMBER,
    OTHER_DATE,
    TEXT,
    Notices,
    judge_column,
)
from lowregret.stream.read import detect, format_part, stream_of

CELLS: dict[str, Callable[[int], str]] = {
    "said": lambda k: f"the {k}th of many words",
    "when": lambda k: f"2024-01-{1 + k % 28:02} 10:00",
    "cost": lambda k: f"{k % 30},5",
    "key": lambda k: f"a{k:x}",
    "kind": lambda k: ("red wine", "beer", "tea")[k % 3],
    "size": lambda k: f"{k / 8}",
    "gap": lambda k: "" if k % 2 else "NA",
}
ADVICE = {
    "said": "nearly as many values as rows (1,000 of the first 1,000); words are learnt with --text said, or leave it "
    "out with --drop said",
    "when": "dates such as '2024-01-01 10:00', learnt as names; their parts are learnt with --date when",
    "cost": "numbers such as '0,5', learnt as names; --decimal , reads them in csv, or make them numbers",
    "key": "nearly as many values as rows (1,000 of the first 1,000); if it is an id, leave it out with --drop key",
}


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ([f"{k} green bottles" for k in range(100)], TEXT),
        ([f"{k % 70} green bottles" for k in range(100)], None),
        (["2024-03-31"] * 100, DATE),
        (["2024-03-31T10:00:00Z"] * 95 + ["?"] * 5, DATE),
        (["2024-03-31"] * 80 + ["?"] * 20, None),
        (["31.3.2024 10:00"] * 100, OTHER_DATE),
        (["3/31/2024"] * 100, OTHER_DATE),
        (["2024/3/31"] * 100, OTHER_DATE),
        (["1.2.3"] * 100, None),
        (["3,14"] * 100, NUMBER),
        (["-,5", "+12,25"] * 50, NUMBER),
        ([f"{k}.5" for k in range(100)], NUMBER),
        (["1.5", "2.5"] * 50, None),
        ([f"u{k}" for k in range(100)], ID),
        ([f"u{k % 90}" for k in range(100)], ID),
        ([f"u{k % 89}" for k in range(100)], None),
        ([f"{k}" for k in range(100)], ID),
        ([f"{k}.87%" for k in range(100)], DRESSED),
        ([f"{k},723.35" for k in range(100)], DRESSED),
        ([f"{k}.723,35" for k in range(100)], DRESSED),
        ([f"$ {k}7.23" for k in range(100)], DRESSED),
        ([f"{k} €" for k in range(100)], DRESSED),
        ([f"{k} 723" for k in range(100)], DRESSED),
        ([f"{k}%" for k in (5, 7)] * 50, DRESSED),
        ([f"{k} 7x" for k in range(100)], TEXT),
        ([f"{k} green bottles" for k in range(LEAST_ROWS - 1)], None),
    ],
)
def test_what_texts_look_like(texts: list[str], what: str | None) -> None:
    note = judge_column("c", texts)
    assert (note and note.what) == what


def written(folder: Path, ending: str, rows: int) -> Path:
    """A table in this format; in JSON and Parquet all but one column are texts."""
    path = folder / f"table.{ending}"
    table = [{name: cell(k) for name, cell in CELLS.items() if name != "size"} | {"size": k / 8} for k in range(rows)]
    if ending == "csv":
        lines = [";".join(map(str, row.values())) for row in table]
        path.write_text("\n".join([";".join(table[0]), *lines]))
    elif ending == "jsonl":
        path.write_text("\n".join(map(json.dumps, table)))
    else:
        pa.parquet.write_table(pa.Table.from_pylist(table), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_first_rows_of_every_format_are_looked_at(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending, 3 * LOOKED)
    notices = Notices()
    list(stream_of(path, format_part(detect(path)), notices=notices).batches())
    assert {note.column: note.sentence(shell=True) for note in notices.notes} == {
        name: f"column {name}: {said}" for name, said in ADVICE.items()
    }


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_nothing_is_said_of_columns_that_were_spoken_of(tmp_path: Path, ending: str) -> None:
    path = written(tmp_path, ending, 100)
    part = format_part(detect(path), text="said", date="when", categorical="cost", drop="key")
    notices = Notices()
    list(stream_of(path, part, notices=notices).batches())
    assert notices.notes == []
    assert not notices.wanted


def test_in_python_the_advice_is_other() -> None:
    for texts, said in (
        ([f"{k} green bottles" for k in range(100)], "words are learnt with text=['c'], or leave it out"),
        (["2024-03-31"] * 100, "their parts are learnt with date=['c']"),
        (["31.3.2024"] * 100, "learnt with date=['c'], if they are written as 2024-03-31"),
        (["3,14"] * 100, "make them numbers"),
        ([f"{k}.5%" for k in range(100)], "learnt as names; write them plainly, such as 1234.5"),
        ([f"u{k}" for k in range(100)], "if it is an id, leave it out"),
    ):
        note = judge_column("c", texts)
        assert note
        assert note.sentence().endswith(said)


def test_real_tables(data_file: Callable[[str], Path]) -> None:
    """Text messages are text; of flights, with names of planes, there is nothing to be said."""
    forms = {
        "sms_spam.tsv.gz": format_part("tsv", header=False, target="1", positive="spam"),
        "nycflights13.csv.gz": format_part("csv", target="arr_delay"),
    }
    found = {}
    for name, form in forms.items():
        notices = Notices()
        next(iter(stream_of(data_file(name), form, notices=notices).batches()))
        found[name] = [(note.column, note.what, note.rows) for note in notices.notes]
    assert found == {"sms_spam.tsv.gz": [("2", TEXT, 1000)], "nycflights13.csv.gz": []}
