"""Rows from a cache: batch by batch those of the files that it was made of, to the last bit, without parsing.

A cache keeps labels as they stand in its files, so that one serves every loss: which label is +1, and whether labels
are classes, is said when it is read. It knows its files' sizes and times, and is refused once one of them has changed.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import IO, Any, get_args, get_origin

import numpy as np

from lowregret.compile.part import Part
from lowregret.compile.spec import to_json
from lowregret.errors import DataError, LowRegretError
from lowregret.stream.arrow import arrow_errors
from lowregret.stream.batch import Batch
from lowregret.stream.cache_file import KEY, NO_NAMES, CacheFile, Identified, Stored, Writer, opened
from lowregret.stream.columns import Tabular, number_of, stands_for_text
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.formats.lrc import Cached
from lowregret.stream.names import POSITIVE, Met, number_name
from lowregret.stream.notice import Note, Notices
from lowregret.stream.read import OneLabel, form_from_json
from lowregret.stream.source import STDIN
from lowregret.types import Vector

VERSION = 2
DEPTH = 2  # batches read ahead
_HEAD = 1 << 20  # bytes among which a cache says that it is one
_LABELS = ("positive", "classes", "labelled", "whole")  # what a reader may say otherwise than the writer


# ---- writing --------------------------------------------------------------------------------------------------------


class Recorder:
    """Writes batches to the file of a cache as they come by; `finish` makes it whole.

    The rows were read as `form` says, from `sources`; `dictionary` and `notices` are those that the stream fills.
    """

    def __init__(
        self,
        file: IO[bytes],
        form: Part,
        sources: Sequence[str] = (),
        dictionary: Dictionary | None = None,
        notices: Notices | None = None,
    ) -> None:
        self._file, self._form, self._sources = file, form, sources
        self._dictionary, self._notices = dictionary, notices
        self._before = [_stamp(path) for path in sources]
        self._named = len(dictionary) if dictionary is not None else 0
        self._met: dict[str, Any] = {}
        self._classes: set[float] = set()
        self._writer: Writer | None = None

    def see(self, batch: Batch) -> None:
        """Write a batch: O(rows + entries)."""
        names = self._dictionary.since(self._named) if self._dictionary is not None else NO_NAMES
        self._named += names.slots.size
        self._opened().write(batch, self._about(batch), names)

    def finish(self) -> None:
        """Write the end, without which the file is no cache; refuses files that have changed since the beginning."""
        self._opened().close()
        self._file.flush()
        for old, path in zip(self._before, self._sources, strict=True):
            if old != _stamp(path):
                raise DataError(f"{path} has changed while it was read: begin again once it stays as it is")

    def _opened(self) -> Writer:
        """The writer, which begins when the first rows have been read, for then notices are complete."""
        if self._writer is None:
            notes = [list(note) for note in self._notices.notes] if self._notices else []
            about = {"version": VERSION, "form": to_json(self._form), "sources": self._before, "notes": notes}
            self._writer = Writer(self._file, about, _late_columns(self._form))
        return self._writer

    def _about(self, batch: Batch) -> dict[str, Any]:
        """Where a batch comes from and what it is the first to show, for JSON."""
        met = {name: getattr(batch.met, name) for name in ("labels", "tables", "spelt", "idle")}
        met = json.loads(json.dumps(met | {"weighted": sorted(batch.met.weighted)}))
        new = {name: value for name, value in met.items() if self._met.get(name) != value}
        self._met = met
        classes = {value: text for value, text in (batch.names or {}).items() if value not in self._classes}
        self._classes |= classes.keys()
        told = {"name": batch.name, "position": batch.position, "met": new, "faults": batch.faults}
        return told | {"classed": batch.names is not None, "classes": list(classes.items())}


def _stamp(path: str) -> dict[str, Any]:
    """The identity of a file's contents, as far as the system tells it."""
    if path == STDIN or not os.path.isfile(path):
        return {"path": path, "size": -1, "time": -1}
    found = os.stat(path)
    return {"path": os.path.abspath(path), "size": found.st_size, "time": found.st_mtime_ns}


# ---- reading --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CacheStream:
    """The rows of caches that were made of rows read as `form` says, labels aside; `skip` goes without faulty lines.

    With a `positive` label, labels equal to it become +1, all others −1.
    """

    paths: tuple[str, ...]
    form: Part
    skip: bool = False
    dictionary: Dictionary | None = None
    positive: float | None = None
    notices: Notices | None = None
    _open: dict[str, Identified] = field(default_factory=dict, compare=False)

    @property
    def size(self) -> int:
        return sum(os.path.getsize(path) for path in self.paths if os.path.isfile(path))

    def batches(self) -> Iterator[Batch]:
        """All rows in order; a fault ends it with a batch that says so."""
        before, met, classes = 0, Met(), dict[float, str]()
        for number, path in enumerate(self.paths):
            size, idle = os.path.getsize(path) if os.path.isfile(path) else 0, met.idle
            file = self._opened(path)
            self._look_at(file)
            with closing(in_background(file.records(self.dictionary is not None))) as records:
                for record in records:
                    if self.dictionary is not None and record.names is not None:
                        self.dictionary.add(record.names)
                    batch = self._labelled(replayed(record, path, classes, met), classes)
                    met.idle = tuple(name for name in met.idle if not number or name in idle)  # in none of the files
                    batch.position = before + round(record.share * size)
                    yield batch
                    if batch.fault:
                        return
                before += size

    def _opened(self, path: str) -> CacheFile:
        """A cache, open as long as the stream is, unless another file has taken its place."""
        self._open[path] = opened(path, self._open.get(path))
        return self._open[path][1]

    def _look_at(self, file: CacheFile) -> None:
        """Refuse a file that does not fit or is stale; notice what its first rows showed."""
        _require_same(form_in(file), self.form, file.name)
        _require_fresh(file)
        if self.notices is not None and self.notices.wanted:
            self.notices.wanted, self.notices.notes = False, _notes_in(file)

    def _labelled(self, batch: Batch, classes: dict[float, str]) -> Batch:
        """A batch with labels as the form says; one that does not fit is a fault."""
        told = self.form.parameters
        if batch.faults and not self.skip:
            return replace(batch.part(0, 0), faults=[], fault=f"{batch.faults[0]} (left out in the cache)")
        texts = stands_for_text(batch.labels)
        if self.positive is not None or told.get("positive"):
            positive = self.positive
            if positive is None:
                batch.labels[_equals(str(told["positive"]), batch.labels, classes)] = positive = POSITIVE
            batch.met.sign(batch.labels, positive, partial(_label, batch.labels, classes))
        elif texts.any() and not told.get("classes"):
            return _without_texts(batch, texts, classes, bool(told.get("labelled", True)))
        return replace(batch, names=classes if told.get("classes") else None)


def _equals(positive: str, labels: Vector, classes: dict[float, str]) -> Any:
    """A mask of the labels that are the positive one: its number, or the hash of its text."""
    found = labels == number_of(positive)
    for value, text in classes.items():
        if text == positive:
            found |= labels == value
    return found


def _label(labels: Vector, classes: dict[float, str], row: int) -> str:
    """The label of a row, as people write it."""
    value = float(labels[row])
    return classes.get(value, "") if stands_for_text(value) else number_name(value)


def _without_texts(batch: Batch, texts: Any, classes: dict[float, str], labelled: bool) -> Batch:
    """Labels that are texts where numbers are wanted: a fault, or none if rows need not be `labelled`."""
    if labelled:
        row = int(np.argmax(texts))
        what = "expected a number (if it has classes, say with --positive which counts as +1)"
        fault = f"{batch.place(row)}: {what}, but found {_label(batch.labels, classes, row)!r}"
        return replace(batch.part(0, row), fault=fault)
    batch.labels[texts] = np.nan
    weights = batch.weights if batch.weights.size else np.ones(len(batch))
    weights[texts] = 0.0
    return replace(batch, weights=weights, unlabelled=int(np.count_nonzero(np.isnan(batch.labels))))


def cached_form(paths: Sequence[str], wanted: Cached) -> Part:
    """How the rows of caches were read, with labels as is wanted: a positive number is not part of it."""
    form = form_in(opened(paths[0])[1])
    for path in paths[1:]:
        _require_same(form_in(opened(path)[1]), form, path)
    if isinstance(form, Tabular):
        return replace(form, positive=wanted.positive, classes=wanted.classes)
    return form


# ---- what a file says -----------------------------------------------------------------------------------------------


def form_in(file: CacheFile) -> Part:
    """How the rows of a cache were read."""
    try:
        form = form_from_json(file.about.get("form", {}))
    except LowRegretError as error:
        raise _unfit(file.name) from error
    if file.about.get("version") != VERSION or isinstance(form, OneLabel) or file.late != _late_columns(form):
        raise _unfit(file.name)
    return form


def _late_columns(form: Part) -> int:
    """How many columns say how late labels come: none, the lag, or the lag and the time."""
    return sum(bool(form.parameters.get(name)) for name in ("delay_column", "time_column"))


def _unfit(name: str) -> DataError:
    return DataError(f"{name} is damaged, or of another version: make it again with `lowregret convert`")


def _require_fresh(file: CacheFile) -> None:
    """Refuse a cache whose files have changed; what is not there any more cannot be asked."""
    for old in _list_of(file, "sources", dict):
        path = old.get("path")
        if not isinstance(path, str):
            raise _unfit(file.name)
        if old.get("size") != -1 and os.path.isfile(path) and _stamp(path) != old:
            raise DataError(f"{file.name} is stale, for {path} has changed since: make it again, `lowregret convert`")


def _notes_in(file: CacheFile) -> list[Note]:
    kinds = (str, str, str, int, int)
    found = _list_of(file, "notes", list)
    if any([type(value) for value in note] != list(kinds) for note in found):
        raise _unfit(file.name)
    return [Note(*note) for note in found]


def _list_of(file: CacheFile, name: str, kind: type) -> list[Any]:
    found = file.about.get(name)
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
        raise _unfit(file.name)
    return found


def why_not_this(path: str, form: Part, sources: Sequence[str]) -> str | None:
    """The reason why a file is no cache of these rows, as they are now; None if it is one."""
    if not os.path.exists(path):
        return f"{path} is not there yet"
    try:
        file = opened(path)[1]
        if to_json(form_in(file)) != to_json(form):
            return f"{path} was made with other options"
        if _list_of(file, "sources", dict) != [_stamp(source) for source in sources]:
            return f"{path} is stale, for the data have changed since"
    except DataError as error:
        return str(error).partition(":")[0]
    return None


def is_cache(path: str) -> bool:
    """Whether a file was made as a cache, of whatever version, stale or damaged: by how it begins."""
    with arrow_errors(path), open(path, "rb") as file:
        head = file.read(_HEAD)
    return head.startswith(b"ARROW1") and KEY in head


def _require_same(cached: Part, wanted: Part, path: str) -> None:
    """Refuse a cache whose rows were read otherwise than is wanted, labels aside."""
    one, other = _meaning(cached), _meaning(wanted)
    if one.keys() != other.keys():
        raise DataError(
            f"{path} was made of {type(cached).__name__} rows, not {type(wanted).__name__}: name other data"
        )
    for name in one:
        if one[name] != other[name]:
            raise DataError(
                f"{path} was made with {name} = {one[name]!r}, but {other[name]!r} is wanted: make it again, "
                "`lowregret convert`, with the options of the model"
            )


def _meaning(form: Part) -> dict[str, Any]:
    """The options that settle which features rows have: tables have the same in all formats."""
    told = to_json(form)
    if isinstance(form, Tabular):
        told = {field.name: told[field.name] for field in fields(Tabular)}
    return {name: value for name, value in told.items() if name not in _LABELS}


_MET_KINDS: dict[str, Any] = {
    "labels": list[str],
    "weighted": list[str],
    "idle": list[str],
    "tables": dict[str, list[str]],
    "spelt": dict[str, dict[str, str]],
}


def replayed(record: Stored, path: str, classes: dict[float, str], met: Met) -> Batch:
    """The batch as it was written; `classes` and `met` take up what it is the first to show."""
    about = record.about
    kinds = {"name": str, "position": int, "faults": list[str], "classed": bool, "met": dict, "classes": list}
    if not all(_is(about.get(name), kind) for name, kind in kinds.items()):
        raise _unfit(path)
    if not all(name in _MET_KINDS and _is(value, _MET_KINDS[name]) for name, value in about["met"].items()):
        raise _unfit(path)
    if not all(_is(pair, list) and [type(one) for one in pair] == [float, str] for pair in about["classes"]):
        raise _unfit(path)
    classes.update((value, text) for value, text in about["classes"])
    _take_up(about["met"], met)
    return Batch(
        record.rows,
        record.labels,
        record.weights,
        record.lines,
        about["name"],
        int(np.count_nonzero(np.isnan(record.labels))),
        about["position"],
        list(about["faults"]),
        names=classes if about["classed"] else None,
        met=met,
        lags=record.lags,
        times=record.times,
        ranks=record.ranks,
    )


def _take_up(said: dict[str, Any], met: Met) -> None:
    for label in said.get("labels", ()):
        met.take(label)
    met.tables |= {name: tuple(columns) for name, columns in said.get("tables", {}).items()}
    met.spelt |= said.get("spelt", {})
    met.weighted |= set(said.get("weighted", ()))
    met.idle = tuple(said.get("idle", met.idle))


def _is(value: Any, kind: Any) -> bool:
    """Whether a value of JSON is of a kind such as dict[str, list[str]]."""
    outer, inner = get_origin(kind) or kind, get_args(kind)
    if type(value) is not outer:
        return False
    if outer is dict and inner:
        return all(_is(one, inner[1]) for one in value.values())
    return all(_is(one, inner[0]) for one in value) if inner else True


def in_background(records: Iterator[Stored]) -> Generator[Stored, None, None]:
    """Records read and checked by a thread of their own, a few ahead of those that are asked for."""
    waiting: deque[Future[Stored | None]] = deque()
    with ThreadPoolExecutor(1, "lowregret-cache") as pool:
        for _ in range(DEPTH):
            waiting.append(pool.submit(next, records, None))
        while (record := waiting.popleft().result()) is not None:
            waiting.append(pool.submit(next, records, None))
            yield record
