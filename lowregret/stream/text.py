"""Text into batches: blocks are read by one thread, parsed by several in compiled code, and handed over in order.

The batches do not depend on the number of threads. Memory is that of a few blocks, however long the text.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from queue import Queue
from typing import Any

import numpy as np

from lowregret.rows import Sparse
from lowregret.stream.batch import Batch
from lowregret.stream.buffers import (
    AT,
    DONE,
    ENTRY,
    FULL,
    HARD,
    HIGHEST,
    LINE,
    ROW,
    SPOT,
    UNLABELLED,
    WEIGHTED,
    Buffers,
)
from lowregret.stream.columns import stands_for_text
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.follow import Follow
from lowregret.stream.lags import lags_in
from lowregret.stream.names import POSITIVE, Met, number_name
from lowregret.stream.notice import LEAST_ROWS, LOOKED, Notices
from lowregret.stream.source import Block, Source, blocks, expand, sources
from lowregret.stream.text_format import TextFormat, parse_text

MOST_ENTRIES = 1 << 23  # that room is made for at a time, where products make more of them than the text has
BLOCK, LOOKED_AT = 8 << 20, 1 << 20  # bytes to parse at a time, and to look at for notices
SHOWN = 60  # characters of an offending text
TOO_WIDE = f"expected fewer features, products (--interactions) among them: found more than {2 * MOST_ENTRIES:,}"


@dataclass(frozen=True)
class TextStream:
    """The rows of text files. `skip` leaves out lines that cannot be read instead of stopping there.

    With a `positive` label, labels equal to it become +1, all others −1.
    """

    paths: tuple[str, ...]
    form: TextFormat
    threads: int = 0  # 0: as many as there are processors
    skip: bool = False
    dictionary: Dictionary | None = None
    positive: float | None = None
    notices: Notices | None = None  # which are told of the first rows
    follow: Follow | None = None  # the last file, until it is ended

    @property
    def size(self) -> int:
        return sum(os.path.getsize(path) for path in self.paths if os.path.isfile(path))

    def batches(self) -> Iterator[Batch]:
        """All rows in order, a block a batch; a fault ends it with a batch that says so."""
        threads = self.threads or os.cpu_count() or 1
        before, line, names, met = 0, 1, dict[float, str](), Met()
        source: Source | None = None
        rest = False  # whether a block goes on
        awaited = self.form.lookouts()
        for parsed in _in_order(self.paths, self.form, threads, self.skip, self.dictionary is not None, self.follow):
            block = parsed.block
            if self.dictionary is not None:
                self.dictionary.see(block.text, parsed.out, parsed.form.header, parsed.form.joint)
            if self.notices is not None and self.notices.wanted:
                self.notices.see(parsed.form.texts(_first_lines(parsed, LOOKED)))
            if block.first and not rest:
                before += source.size if source else 0
                line, source = 1, block.source
                met.tables |= {source.name: parsed.form.feature_columns} if parsed.form.feature_columns else {}
                met.spelt[source.name] = parsed.form.spelt(_first_lines(parsed, LEAST_ROWS))
                met.weighted |= {source.name} if parsed.form.has_weights else set()
            batch = replace(_batch(parsed, line, before), met=met)
            awaited = {name: mark for name, mark in awaited.items() if not mark.search(block.text, 0, block.end)}
            met.idle = tuple(awaited)
            positive = POSITIVE if parsed.form.signed else self.positive
            if positive is not None:
                met.sign(batch.labels, positive, partial(_label, parsed, batch.labels))
            if parsed.form.classed:
                _name_classes(parsed, batch, names)
            yield batch
            rest = parsed.rest is not None
            line += parsed.lines
            if parsed.stopped:
                return


def text_stream(
    paths: Any, form: TextFormat, threads: int = 0, skip: bool = False, dictionary: Dictionary | None = None
) -> TextStream:
    """The rows of these files (names, patterns, `-`)."""
    return TextStream(tuple(expand(paths)), form, threads, skip, dictionary)


# ---- one block ------------------------------------------------------------------------------------------------------


@dataclass
class _Slot:
    """Memory for one block, used again and again; `named`: with room for names."""

    named: bool = False
    text: bytearray = field(default_factory=bytearray)
    out: Buffers | None = None


@dataclass
class _Parsed:
    """One block, parsed; lines are counted from 0 at its beginning."""

    block: Block
    begin: int  # the byte where rows begin
    form: TextFormat
    out: Buffers
    lines: int
    faults: list[tuple[int, str]]
    stopped: bool
    rest: int | None = None  # the byte where rows begin that found no room


def _parse(slot: _Slot, block: Block, form: TextFormat, skip: bool, begin: int) -> _Parsed:
    """Parse the lines of a block from `begin` on; after a fault, `skip` goes on with the next line."""
    rows, entries = block.end // 2 + 1, form.entries(block.end)
    if slot.out is None or slot.out.labels.size < rows or slot.out.values.size < entries:
        slot.out = Buffers.sized(max(rows, BLOCK // 2), max(entries, form.entries(BLOCK)), slot.named)
    out = slot.out._replace(known=np.empty(0))
    out.cursor[:] = 0
    out.cursor[AT], out.cursor[LINE] = begin, block.text.count(b"\n", 0, begin)
    text = np.frombuffer(block.text, np.uint8)
    faults: list[tuple[int, str]] = []
    while (status := parse_text(form, text, block.end, out)) != DONE:
        at, spot = int(out.cursor[AT]), int(out.cursor[SPOT])
        if status == FULL and out.values.size >= MOST_ENTRIES and out.cursor[ROW]:
            return _Parsed(block, begin, form, out, 0, faults, False, at)
        if status == FULL and out.values.size <= 2 * MOST_ENTRIES:
            out = slot.out = out.with_more_room()
            continue
        if status == HARD:
            out = out._replace(known=_with_hard_numbers(out.known, block.text, at, spot, form.mark))
            continue
        fault = TOO_WIDE if status == FULL else _describe_fault(form, status, block.text, at, spot)
        faults.append((int(out.cursor[LINE]), fault))
        if not skip:
            return _Parsed(block, begin, form, out, int(out.cursor[LINE]), faults, True)
        out.cursor[AT] = block.text.index(b"\n", max(at, spot)) + 1
        out.cursor[LINE] += 1
    return _Parsed(block, begin, form, out, int(out.cursor[LINE]), faults, False)


_NUMBER = re.compile(rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_DIGITS = 19  # as many as compiled code can always read


def _with_hard_numbers(known: Any, text: bytearray, line: int, begin: int, mark: bytes) -> Any:
    """The known values of this line, with the number at `begin` and all behind it that might be hard, in order.

    All at once, for the line is parsed again.
    """
    found = {int(at): value for at, value in known.reshape(-1, 2) if at >= line}
    rest = text[begin : text.index(b"\n", begin)].translate(bytes.maketrans(mark + b".", b"." + mark))
    for match in _NUMBER.finditer(rest):
        if match.start() == 0 or match.end() - match.start() > _DIGITS:
            found[begin + match.start()] = float(match[0])
    return np.array(sorted(found.items()), float).ravel()


def _describe_fault(form: TextFormat, status: int, text: bytearray, line: int, spot: int) -> str:
    """A message: what was expected at `spot` of the line that begins at `line`, and what is there, cut to be read."""
    before, rest = bytes(text[line:spot]), bytes(text[spot : text.index(b"\n", spot)]).rstrip(b"\r")
    shown = form.offending(status, before, rest)[: 4 * SHOWN].decode(errors="replace")
    found = repr(shown[:SHOWN] + ("…" if len(shown) > SHOWN else "")) if shown else "nothing"
    return f"{form.fault(status, before)}, but found {found if rest else 'the end of the line'}"


def _first_lines(parsed: _Parsed, most: int) -> list[str]:
    """The first lines of a block, whole ones, without the header."""
    text = bytes(memoryview(parsed.block.text)[parsed.begin : min(parsed.block.end, parsed.begin + LOOKED_AT)])
    lines = text[: text.rfind(b"\n") + 1].split(b"\n", most)[:most]
    return [line.decode(errors="replace") for line in lines]


def _name_classes(parsed: _Parsed, batch: Batch, names: dict[float, str]) -> None:
    """Look up the texts that new labels stand for, in the lines where they first are; `names` are those known."""
    texts = np.flatnonzero(stands_for_text(batch.labels))
    values, first = np.unique(batch.labels[texts], return_index=True)
    new = [k for k, value in enumerate(values.tolist()) if value not in names]
    if new:
        lines = bytes(memoryview(parsed.block.text)[: parsed.block.end]).split(b"\n")
        for k in new:
            names[float(values[k])] = _class_of(parsed, lines, texts[first[k]])
    batch.names = names


def _label(parsed: _Parsed, labels: Any, row: int) -> str:
    """The label of a row, as people write it."""
    if not stands_for_text(labels[row]):
        return number_name(float(labels[row]))
    return _class_of(parsed, bytes(memoryview(parsed.block.text)[: parsed.block.end]).split(b"\n"), row)


def _class_of(parsed: _Parsed, lines: list[bytes], row: int) -> str:
    """The text that is the label of a row, whose line is among those of its block."""
    return parsed.form.class_in(lines[int(parsed.out.lines[row])].decode(errors="replace").rstrip("\r"))


def _batch(parsed: _Parsed, line: int, before: int) -> Batch:
    """The rows of a parsed block as a batch, in the block's memory; `line` lines of the file came before."""
    out, block = parsed.out, parsed.block
    rows, entries = int(out.cursor[ROW]), int(out.cursor[ENTRY])
    labels, weights = out.labels[:rows], out.weights[:rows]
    unlabelled = int(out.cursor[UNLABELLED])
    if unlabelled:
        weights[np.isnan(labels)] = 0.0
    name = block.source.name
    faults = [f"{name}:{line + at}: {what}" for at, what in parsed.faults]
    lags, times = lags_in(out, rows, *parsed.form.lateness)
    return Batch(
        Sparse(out.starts[: rows + 1], out.columns[:entries], out.values[:entries], int(out.cursor[HIGHEST])),
        labels,
        weights if unlabelled or out.cursor[WEIGHTED] else np.empty(0),
        out.lines[:rows] + line,
        name,
        unlabelled,
        before + block.position,
        faults[:-1] if parsed.stopped else faults,
        faults[-1] if parsed.stopped else None,
        lags=lags,
        times=times,
    )


# ---- many blocks at once ---------------------------------------------------------------------------------------------

_OURS = "lowregret-"  # so begin the names of threads


def _in_order(
    paths: tuple[str, ...], form: TextFormat, threads: int, skip: bool, named: bool, follow: Follow | None
) -> Iterator[_Parsed]:
    """Parsed blocks in the order of the text; each is valid until the next is asked for."""
    free: Queue[_Slot | None] = Queue()
    for _ in range(threads + 2):
        free.put(_Slot(named))
    ready: Queue[Future[_Parsed] | BaseException | None] = Queue()
    stop = threading.Event()
    busy: dict[int, _Slot] = {}
    pool = ThreadPoolExecutor(threads, f"{_OURS}parse")
    feeder = threading.Thread(
        target=_feed,
        args=(paths, form, skip, free, ready, busy, pool, stop, follow),
        name=f"{_OURS}read",
        daemon=True,
    )
    feeder.start()
    try:
        while (item := ready.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            parsed = item.result()
            slot = busy.pop(id(parsed.block.text))
            yield parsed
            while parsed.rest is not None:
                parsed = _parse(slot, parsed.block, parsed.form, skip, parsed.rest)
                yield parsed
            if slot.out is not None and slot.out.values.size >= 2 * MOST_ENTRIES:
                slot.out = None  # of a line that was long, or had many products
            del parsed, item
            free.put(slot)
    finally:
        stop.set()
        free.put(None)  # in case the feeder waits for a buffer
        outside = not threading.current_thread().name.startswith(_OURS)  # garbage is collected in any thread
        if outside:
            feeder.join()
        pool.shutdown(wait=outside)


class _Stopped(Exception):
    """Nobody wants more blocks."""


def _feed(
    paths: tuple[str, ...],
    form: TextFormat,
    skip: bool,
    free: Queue[_Slot | None],
    ready: Queue[Any],
    busy: dict[int, _Slot],
    pool: ThreadPoolExecutor,
    stop: threading.Event,
    follow: Follow | None,
) -> None:
    """Read blocks into free memory and have them parsed; a problem goes the same way as the blocks."""
    slot: _Slot | None = None  # taken, but not yet filled and handed on

    def buffer() -> bytearray:
        nonlocal slot
        slot = slot or free.get()
        if slot is None or stop.is_set():
            raise _Stopped
        return slot.text

    try:
        for source in sources(paths, stop, follow):
            try:
                for block in blocks(source, BLOCK, buffer):
                    begin = 0
                    if block.first:
                        form_here, begin = form.opened(bytes(memoryview(block.text)[: block.end]), source.name)
                    assert slot is not None
                    busy[id(block.text)] = slot
                    ready.put(pool.submit(_parse, slot, block, form_here, skip, begin))
                    slot = None
            finally:
                source.close()
        ready.put(None)
    except _Stopped:
        pass
    except BaseException as error:  # raised again where batches are asked for
        ready.put(error)
