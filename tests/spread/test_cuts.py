"""Shards have every row once, and cuts are whole whoever dies while they are written."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import DataError, Logistic, StoreError, zoo
from lowregret.run.begin import begin
from lowregret.run.session import Session
from lowregret.spread.cut import Cut, CutFolder
from lowregret.spread.shard import deal, read_shard
from lowregret.stream import text
from lowregret.stream.read import format_part

FORM = format_part("svm")
ROWS = 97


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    folder = tmp_path_factory.mktemp("rows")
    for k in range(2):
        lines = (f"{1 if i % 3 else -1} {1000 * k + i + 1}:1\n" for i in range(ROWS))
        (folder / f"{k}.svm").write_text("".join(lines))
    return [str(folder / f"{k}.svm") for k in range(2)]


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 40), st.integers(0, 120), st.sampled_from([1, 2]), st.booleans())
def test_shards_have_every_row_once(
    files: list[str], workers: int, size: int, cursor: int, sources: int, small: bool
) -> None:
    """Also if a block of rows lies in several batches of the file, and if some rows were learnt before."""
    shards = deal(list(files[:sources]), workers)
    assert len(shards) >= workers
    found: list[int] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "BLOCK", 300 if small else 1 << 20)
        for shard in shards:
            whole = [int(j) for batch in read_shard(shard, FORM, size) for j in batch.rows.indices]
            rest = [int(j) for batch in read_shard(shard, FORM, size, cursor) for j in batch.rows.indices]
            assert rest == whole[cursor:]
            found += whole
    expected = [1000 * k + i + 1 for k in range(sources) for i in range(ROWS)]
    assert sorted(found) == sorted(j - 1 if FORM.parameters.get("one_based") else j for j in expected)


def test_a_line_that_cannot_be_read_stops_its_shard(tmp_path: Path) -> None:
    (tmp_path / "bad.svm").write_text("1 1:1\n1 2:1\nwhat\n")
    rows = read_shard(deal([str(tmp_path / "bad.svm")], 1)[0], FORM, 2)
    assert len(next(rows)) == 2
    with pytest.raises(DataError, match=r"bad\.svm:3"):
        next(rows)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("size", [10, 50, 1000])
@pytest.mark.parametrize("block", [300, 1 << 20])
def test_lines_that_cannot_be_read_are_counted_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int, size: int, workers: int
) -> None:
    """Wherever they lie, and if a shard is gone on with; then those after the last row, if that was learnt, are not."""
    monkeypatch.setattr(text, "BLOCK", block)
    bad = {i for i in range(700) if i % 7 == 0 or 200 <= i < 300 or i >= 600}
    (tmp_path / "bad.svm").write_text("".join("what\n" if i in bad else f"1 {i + 1}:1\n" for i in range(700)))
    whole, resumed = list[str](), list[str]()
    for shard in deal([str(tmp_path / "bad.svm")], workers):
        rows = 0
        for batch in read_shard(shard, FORM, size, 0, 1, "skip"):
            whole += batch.faults
            if rows < 150:
                rows, resumed = rows + len(batch), resumed + batch.faults
        resumed += [fault for batch in read_shard(shard, FORM, size, rows, 1, "skip") for fault in batch.faults]
    assert len(set(whole)) == len(whole) == len(bad)
    assert len(set(resumed)) == len(resumed)
    assert all(int(fault.split(":")[1]) > 600 for fault in set(whole) - set(resumed))


def session() -> Session:
    run = begin(zoo.adagrad(Logistic(), 0.5), None)
    rng = np.random.default_rng(0)
    run.learn(rng.normal(size=(20, 3)), np.where(rng.random(20) < 0.5, 1.0, -1.0))
    return Session(run, FORM, "adagrad", rows=20)


OF = {"shards": [["a.svm", 0, 1]], "learner": "adagrad"}


def test_a_cut_is_what_it_was(tmp_path: Path) -> None:
    folder = CutFolder(tmp_path / "cuts", OF)
    assert folder.load() is None
    for number in (1, 2):
        folder.save(Cut(session(), [number, 7], number))
    found = CutFolder(str(tmp_path / "cuts"), OF).load()
    assert found is not None
    assert (found.cursors, found.number, found.session.rows) == ([2, 7], 2, 20)
    np.testing.assert_array_equal(found.session.run.weights, session().run.weights)
    assert len(list((tmp_path / "cuts").glob("*.lr"))) == 1


@pytest.mark.parametrize("step", [0, 1, 2])
def test_whoever_dies_while_writing_leaves_a_whole_cut(tmp_path: Path, step: int) -> None:
    """Before the model is written, before `cut.json` is, and before it replaces the one before."""
    folder = CutFolder(tmp_path, OF)
    folder.save(Cut(session(), [1], 1))
    done: list[str] = []

    def dies(work: Any) -> Any:
        def at(*args: Any) -> Any:
            done.append(work.__name__)
            if len(done) > step:
                raise KeyboardInterrupt
            return work(*args)

        return at

    dying: Any = CutFolder(tmp_path, OF)
    files = dying._files
    dying._write = dies(dying._write)

    class Moving:
        def __getattr__(self, name: str) -> Any:
            return dies(files.move) if name == "move" else getattr(files, name)

    dying._files = Moving()
    with pytest.raises(KeyboardInterrupt):
        dying.save(Cut(session(), [2], 2))
    found = folder.load()
    assert found is not None
    assert (found.cursors, found.number) == ([1], 1)
    folder.save(Cut(session(), [3], 3))
    assert [path.name for path in sorted(tmp_path.glob("*.lr"))] == ["cut-00000003.lr"]


def test_the_cut_of_another_training_is_refused(tmp_path: Path) -> None:
    CutFolder(tmp_path, OF).save(Cut(session(), [1], 1))
    with pytest.raises(StoreError, match="another training: its learner is adagrad, not ogd"):
        CutFolder(tmp_path, OF | {"learner": "ogd"}).load()
    (tmp_path / "cut.json").write_text("{")
    with pytest.raises(StoreError, match="damaged"):
        CutFolder(tmp_path, OF).load()


def test_places_that_nobody_reaches_are_told() -> None:
    with pytest.raises(StoreError, match="cannot reach nowhere://bucket"):
        CutFolder("nowhere://bucket/cuts", OF)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "../home/precious.txt"},
        {"model": "/precious.txt"},
        {"model": 5},
        {"model": "cut-00000009.lr"},
        {"number": "1"},
        {"cursors": [-1]},
        {"cursors": 1},
        {"of": []},
        {"of": OF | {"more": 1}},
    ],
)
def test_a_cut_from_elsewhere_writes_nothing_outside(change: Any, tmp_path: Path, monkeypatch: Any) -> None:
    """A name that leads out of its folder would lead out of that of temporary files, too."""
    temporary, home, cuts = tmp_path / "temporary", tmp_path / "home", tmp_path / "sent" / "cuts"
    for path in (temporary, home, cuts, tmp_path / "sent" / "home"):
        path.mkdir(parents=True)
    (home / "precious.txt").write_text("precious")
    (tmp_path / "sent" / "home" / "precious.txt").write_text("worthless")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    told = {"model": "cut-00000001.lr", "number": 1, "cursors": [0], "of": OF}
    (cuts / "cut.json").write_text(json.dumps(told | change))
    with pytest.raises(StoreError, match="cuts"):
        CutFolder(cuts, OF).load()
    assert (home / "precious.txt").read_text() == "precious"


def test_a_folder_of_cuts_may_hold_other_things(tmp_path: Path) -> None:
    """Links in a folder from elsewhere are not followed, and only earlier cuts are deleted."""
    cuts, precious = tmp_path / "cuts", tmp_path / "precious.txt"
    (cuts / "cut-00000000.lr").mkdir(parents=True)
    precious.write_text("precious")
    (cuts / "cut-0-notes.txt").write_text("notes")
    (cuts / "cut-00000001.lr").symlink_to(precious)
    (cuts / "cut.json.next").symlink_to(tmp_path / "not yet there")
    CutFolder(cuts, OF).save(Cut(session(), [1], 1))
    assert precious.read_text() == "precious"
    assert not (tmp_path / "not yet there").exists()
    CutFolder(cuts, OF).save(Cut(session(), [2], 100_000_000))
    assert sorted(os.listdir(cuts)) == ["cut-0-notes.txt", "cut-00000000.lr", "cut-100000000.lr", "cut.json"]
