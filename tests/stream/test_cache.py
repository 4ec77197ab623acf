"""A cache gives the batches that the files it was made of give, to the last bit, and is refused where it cannot."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from benchmarks.fuzz_models import watched
from lowregret.compile.part import Part
from lowregret.errors import DataError
from lowregret.stream.batch import Batch
from lowregret.stream.cache import CacheStream, Recorder
from lowregret.stream.cache_file import KEY
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.notice import Notices
from lowregret.stream.read import format_part, read, stream_of
from tests.stream.reading import collect

TABLE = ["y,w,a,b,when", *(f"{('UP', 'DOWN', '3', '')[k % 4]},{k % 3},{k / 7},c{k % 5},2024-03-{1 + k % 30:02d}"
                           for k in range(120))]  # fmt: skip
SVM = [f"{k % 3} {k % 7 + 1}:{k / 3} 50:{k}" for k in range(40)]
VW = [f"{k % 2 * 2 - 1} {1 + k % 3} 't{k}|s a{k % 5} b:0.5 |z q{k}" for k in range(60)]
OBJECTS = [json.dumps({"y": ["u", 1, None][k % 3], "a": {"b": k}, "t": "some words here"}) for k in range(30)]


def made(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n")
    return path


def cached(source: Path, form: Part, skip: bool = False) -> str:
    """A cache of a file, as `convert` makes it."""
    path = source.with_suffix(".lrc")
    notices, dictionary = Notices(), Dictionary()
    stream = stream_of(str(source), form, on_error="skip" if skip else "stop", dictionary=dictionary, notices=notices)
    with open(path, "wb") as file:
        recorder = Recorder(file, form, [str(source)], dictionary, notices)
        for batch in stream.batches():
            recorder.see(batch)
        recorder.finish()
    return str(path)


def facts(batch: Batch) -> dict[str, Any]:
    """All that a batch holds, but for how many bytes of which file were read."""
    found = {name: getattr(batch, name) for name in ("name", "unlabelled", "faults", "fault")}
    arrays = {"labels": batch.labels, "weights": batch.weights, "lines": batch.lines}
    arrays |= {name: getattr(batch.rows, name) for name in ("indptr", "indices", "data")}
    found |= {name: (str(array.dtype), array.tobytes()) for name, array in arrays.items()}
    met = {name: value for name, value in asdict(batch.met).items() if name != "_values"}
    names = dict(sorted((batch.names or {}).items()))
    return found | {"columns": batch.rows.columns, "met": met, "names": names}


def dictionary_of(data: str, form: Part, skip: bool = False) -> tuple[list[Any], list[Any], Any]:
    dictionary, notices = Dictionary(), Notices()
    stream = stream_of(data, form, on_error="skip" if skip else "stop", dictionary=dictionary, notices=notices)
    batches = [facts(batch) for batch in stream.batches()]
    return batches, notices.notes, {name: array.tobytes() for name, array in dictionary.save().items()}


CASES: list[tuple[str, list[str], dict[str, Any], list[dict[str, Any]]]] = [
    ("a.svm", SVM, {}, [{}, {"positive": "2"}]),
    ("a.svm", SVM, {"bits": 3, "one_based": True}, [{}]),
    ("a.vw", VW, {"interactions": [["s", "z"]]}, [{}, {"positive": "-1"}]),
    ("a.csv", TABLE, {"target": "y", "weight": "w", "date": ["when"]},
     [{"positive": "UP"}, {"positive": "3"}, {"positive": "nobody"}, {"classes": True}]),
    ("a.csv", TABLE, {"target": "a", "interactions": [["b", "when"]]}, [{}]),
    ("a.jsonl", OBJECTS, {"target": "y", "text": ["t"], "drop": ["nowhere"]}, [{"positive": "u"}, {"classes": True}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "lines", "how", "labels"), CASES)
def test_batches_are_those_of_the_text(
    name: str, lines: list[str], how: dict[str, Any], labels: list[dict[str, Any]], tmp_path: Path
) -> None:
    source = made(tmp_path, name, lines)
    kind = name.partition(".")[2]
    kept = format_part(kind, **how, classes="target" in how)
    path = cached(source, kept)
    for meant in labels:
        form = format_part(kind, **how, **meant)
        assert dictionary_of(path, form) == dictionary_of(str(source), form)


def test_several_blocks_and_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Classes, names and facts come batch by batch, as rows show them."""
    monkeypatch.setattr("lowregret.stream.text.BLOCK", 400)
    source = made(tmp_path, "a.csv", TABLE)
    form = format_part("csv", target="y", classes=True)
    text, _, names = dictionary_of(str(source), form)
    path = cached(source, form)
    assert len(text) > 5
    assert dictionary_of(path, form) == (text, [], names)
    other = made(tmp_path, "b.csv", TABLE[:30])
    two = [path, cached(other, form)]
    for wanted in (form, format_part("csv", target="y", positive="UP")):
        one, second = ([facts(b) for b in stream_of(d, wanted).batches()] for d in (two, [str(source), str(other)]))
        assert one == second


def test_columns_that_never_occur_in_any_file(tmp_path: Path) -> None:
    form = format_part("jsonl", target="y", classes=True, drop=["p", "q"])
    files = [made(tmp_path, f"{k}.jsonl", lines) for k, lines in enumerate((['{"y": 1, "p": 1}'], ['{"y": 2}']))]
    for turn in (files, files[::-1]):
        given, wanted = (
            [batch.met.idle for batch in stream_of(paths, form).batches()][-1]
            for paths in ([cached(file, form) for file in turn], [str(file) for file in turn])
        )
        assert given == wanted == ("column q",)


def test_tables_of_arrow(tmp_path: Path) -> None:
    found = pa.table({"y": ["u", "v", None] * 20, "x": np.arange(60.0), "s": ["a b", "c", "d"] * 20})
    pyarrow.parquet.write_table(found, tmp_path / "a.parquet")
    form = format_part("parquet", target="y", text=["s"], classes=True)
    path = cached(tmp_path / "a.parquet", form)
    for meant in ({"classes": True}, {"positive": "v"}):
        wanted = format_part("parquet", target="y", text=["s"], **meant)
        given, wanted_rows = (list(stream_of(d, wanted).batches()) for d in (path, str(tmp_path / "a.parquet")))
        assert [facts(b)["labels"] for b in given] == [facts(b)["labels"] for b in wanted_rows]
        assert [facts(b)["data"] for b in given] == [facts(b)["data"] for b in wanted_rows]
        assert given[-1].met.labels == wanted_rows[-1].met.labels
    csv = format_part("csv", target="y", text=["s"], positive="v")  # a table means the same in every format
    assert len(collect(stream_of(path, csv)).rows) == 60


def test_lines_left_out(tmp_path: Path) -> None:
    source = made(tmp_path, "a.svm", ["1 1:1", "nonsense", "-1 2:1"])
    form = format_part("svm")
    path = cached(source, form, skip=True)
    wanted = collect(stream_of(str(source), form, on_error="skip"))
    assert len(wanted.skipped) == 1
    assert collect(stream_of(path, form, on_error="skip")) == wanted
    fault = collect(stream_of(path, form)).fault
    assert fault is not None
    assert fault.endswith("(left out in the cache)")
    assert fault.startswith(wanted.skipped[0])


def test_texts_where_numbers_are_wanted(tmp_path: Path) -> None:
    source = made(tmp_path, "a.csv", ["y,a", "1,2", "x,3", "2,4"])
    path = cached(source, format_part("csv", target="y", classes=True))
    form = format_part("csv", target="y")
    given, wanted = (collect(stream_of(d, form)) for d in (path, str(source)))
    assert given.rows == wanted.rows
    assert given.fault is not None
    assert f"{source}:3" in given.fault
    assert "--positive" in given.fault
    given, wanted = (collect(stream_of(d, form, labelled=False)) for d in (path, str(source)))
    assert [repr(row) for row in given.rows] == [repr(row) for row in wanted.rows]


def test_notices_are_kept(tmp_path: Path) -> None:
    source = made(tmp_path, "a.csv", ["y,id", *(f"1,key{k}" for k in range(100))])
    form = format_part("csv", target="y", classes=True)
    path = cached(source, form)
    _, notes, _ = dictionary_of(str(source), form)
    assert len(notes) == 1
    assert dictionary_of(path, form)[1] == notes


# ---- refused --------------------------------------------------------------------------------------------------------


def test_a_stale_cache_is_refused(tmp_path: Path) -> None:
    source = made(tmp_path, "a.svm", SVM)
    path = cached(source, format_part("svm"))
    rows = collect(read(path)).rows
    assert len(rows) == 40
    os.utime(source, ns=(1, 1))
    with pytest.raises(DataError, match=r"a\.lrc is stale, for .*a\.svm has changed since: make it again"):
        collect(read(path))
    source.unlink()  # which can no more be asked
    assert collect(read(path)).rows == rows


def test_a_file_that_changes_while_it_is_read(tmp_path: Path) -> None:
    source = made(tmp_path, "a.svm", SVM)
    with open(tmp_path / "a.lrc", "wb") as file:
        recorder = Recorder(file, format_part("svm"), [str(source)])
        os.utime(source, ns=(1, 1))
        with pytest.raises(DataError, match="changed while it was read"):
            recorder.finish()


@pytest.mark.parametrize("options", [{"bits": 4}, {"one_based": True}])
def test_other_options_are_refused(options: dict[str, Any], tmp_path: Path) -> None:
    path = cached(made(tmp_path, "a.svm", SVM), format_part("svm"))
    with pytest.raises(DataError, match=f"made with {next(iter(options))} = "):
        collect(stream_of(path, format_part("svm", **options)))
    with pytest.raises(DataError, match="does not fit lrc data"):
        read(path, **options)
    with pytest.raises(DataError, match="made of SvmText rows, not VwText"):
        collect(stream_of(path, format_part("vw")))


def test_half_a_cache_is_none(tmp_path: Path) -> None:
    path = Path(cached(made(tmp_path, "a.svm", SVM), format_part("svm")))
    whole = path.read_bytes()
    for size in (0, 5, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DataError, match=r"cannot read .*a\.lrc"):
            read(path)


def changed(path: str, change: Callable[[dict[str, Any], dict[str, Any]], Any]) -> None:
    """Write a cache anew, with other JSON or other columns of its first batch."""
    with pa.OSFile(path) as file:
        reader = pa.ipc.open_file(file)
        found = reader.get_batch_with_custom_metadata(0)
    about, said = json.loads(reader.schema.metadata[KEY]), json.loads(found.custom_metadata[KEY])
    columns = dict(zip(reader.schema.names, found.batch.columns, strict=True))
    columns |= change(about, said) or {}
    schema = reader.schema.with_metadata({KEY: json.dumps(about)})
    with pa.ipc.new_file(path, schema) as writer:
        batch = pa.RecordBatch.from_arrays(list(columns.values()), schema=schema)
        writer.write_batch(batch, custom_metadata={KEY: json.dumps(said)})


def entries(kind: Any, indices: list[int], ends: list[int], ranks: tuple[int, ...] = (0, 1)) -> Any:
    fields = [pa.array(indices, pa.uint32()), pa.array([1.0] * len(indices)), pa.array(ranks, pa.uint32())]
    items = pa.StructArray.from_arrays(fields, fields=list(kind.value_type))
    return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), items, type=kind)


FIELDS = {"index": pa.uint32(), "value": pa.float64(), "rank": pa.uint32()}
LISTS = pa.large_list(pa.field("item", pa.struct([pa.field(*field, False) for field in FIELDS.items()]), False))


@pytest.mark.parametrize(
    "change",
    [
        lambda about, said: about.update(version=1),
        lambda about, said: about.update(form={"part": "Hinge"}),
        lambda about, said: about.update(form={"part": "SvmText", "bits": 99}),
        lambda about, said: about.update(sources=[1]),
        lambda about, said: about.update(sources=[{"path": 3}]),
        lambda about, said: about.update(notes=[["x"]]),
        lambda about, said: said.update(columns=2),
        lambda about, said: said.update(columns=-1),
        lambda about, said: said.update(columns="9"),
        lambda about, said: said.pop("weighted"),
        lambda about, said: said.update(name=1),
        lambda about, said: said.update(faults=[1]),
        lambda about, said: said.update(met={"spelt": {"a": 1}}),
        lambda about, said: said.update(met={"other": []}),
        lambda about, said: said.update(classes=[["a", "b"]]),
        lambda about, said: {"label": pa.array([np.inf, 1.0])},
        lambda about, said: {"label": pa.array([np.nan, 1.0])},
        lambda about, said: {"weight": pa.array([-1.0, 1.0])},
        lambda about, said: {"entries": entries(LISTS, [1, 1], [0, 2, 2])},
        lambda about, said: {"entries": entries(LISTS, [2, 1], [0, 2, 2])},
        lambda about, said: {"entries": entries(LISTS, [1, 9], [0, 2, 2])},
        lambda about, said: {"entries": entries(LISTS, [0, 1], [0, 2, 2], (1, 0))},
        lambda about, said: {"entries": entries(LISTS, [0, 1], [0, 2, 2], (0, 2))},
        lambda about, said: {"entries": entries(LISTS, [0, 1], [0, 2, 2], (0, 1 << 31))},
    ],
)
def test_what_does_not_fit_is_refused(change: Callable[..., Any], tmp_path: Path) -> None:
    path = cached(made(tmp_path, "a.svm", ["1 1:1 2:1", "-1"]), format_part("svm"))
    changed(path, lambda about, said: None)
    assert len(collect(read(path)).rows) == 2
    changed(path, change)
    stream = CacheStream((path,), format_part("svm"), notices=Notices())
    with pytest.raises(DataError, match=r"make it again with `lowregret convert`|make it with"):
        collect(stream)


LATE = ["y,a,lag,when", *(f"{k % 2},{k / 7},{k % 3},{k}" for k in range(20))]


@pytest.mark.parametrize("column", ["lag", "time"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, 2.0**62])
def test_lags_and_times_that_are_none_are_refused(column: str, value: float, tmp_path: Path) -> None:
    """They were learnt, and the model could not be saved any more."""
    form = format_part("csv", target="y", delay_column="lag", time_column="when")
    path = cached(made(tmp_path, "a.csv", LATE), form)
    changed(path, lambda about, said: None)
    assert len(collect(stream_of(path, form)).rows) == 20
    changed(path, lambda about, said: {column: pa.array([0.0] * 19 + [value])})
    with pytest.raises(DataError, match="a lag or a time is none"):
        collect(stream_of(path, form))


def test_lags_are_of_the_unit_that_the_options_say(tmp_path: Path) -> None:
    """Seconds were taken for rows in a cache that says so."""
    path = cached(made(tmp_path, "a.csv", LATE), format_part("csv", target="y", delay_column="lag", time_column="when"))
    changed(path, lambda about, said: about["form"].update(time_column=""))
    with pytest.raises(DataError, match="make it again with"):
        collect(stream_of(path, format_part("csv", target="y", delay_column="lag")))


def test_other_arrow_files_are_no_caches(tmp_path: Path) -> None:
    found = pa.table({"label": [1.0]})
    with pa.ipc.new_file(tmp_path / "a.lrc", found.schema) as writer:
        writer.write_table(found)
    with pytest.raises(DataError, match="no cache of this version"):
        read(tmp_path / "a.lrc")


def test_damaged_caches_are_read_or_refused() -> None:
    """In a process of its own."""
    counts, faults = watched("lrc", 40, 3, "benchmarks.fuzz_tables")
    assert not faults
    assert counts.changes == 40
    assert 0 < counts.refused < 40
