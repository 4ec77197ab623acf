"""Arrow and Parquet files and caches under attack: bits and numbers of valid ones are changed, ends cut off.

    python -m benchmarks.fuzz_tables --changes 20000

Whatever is changed, a file is read or refused with a `DataError`, as rows of a stream, as a table and as a log of
choices. A crash, an endless loop or any other error ends the worker that met it, and is reported with the seed that
leads to it again.
"""

from __future__ import annotations

import argparse
import datetime
import decimal
import io
import random
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from benchmarks.fuzz_models import Counts, watched
from lowregret.bandit.log import read_log
from lowregret.errors import DataError
from lowregret.stream.arrow_rows import TableStream
from lowregret.stream.cache import Recorder
from lowregret.stream.dictionary import Dictionary, Names
from lowregret.stream.formats.lrc import Cached
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.read import read, stream_of
from lowregret.stream.table import read_table

ROWS = 40
KINDS = ("file", "stream", "parquet", "lrc")
FORMS = (
    TableFormat(target="y", text=("s",)),
    TableFormat(target="x", classes=True),
    TableFormat(target="y", date=("t",), bits=10),
)
PACKED: dict[str, tuple[str | None, ...]] = {
    "file": (None, "lz4", "zstd"),
    "stream": (None, "lz4", "zstd"),
    "parquet": ("none", "snappy", "zstd", "gzip"),
    "lrc": (None,),
}


# ---- changing -------------------------------------------------------------------------------------------------------


def inside(r: random.Random) -> Any:
    """A column of some kind, of those that have an inside among them."""
    texts = [r.choice(["u" * 30, "vv", "", None]) for _ in range(ROWS)]
    numbers = [r.choice([None, -1, 0, 3, 100]) for _ in range(ROWS)]
    makers: tuple[Callable[[], Any], ...] = (
        lambda: pa.array(texts).dictionary_encode(),
        lambda: pa.array([["a", "b"][: r.randrange(3)] for _ in range(ROWS)]),
        lambda: pa.array([[r.random()] * r.randrange(3) for _ in range(ROWS)], pa.large_list(pa.float32())),
        lambda: pa.array([[1.0, r.random()] for _ in range(ROWS)], pa.list_(pa.float64(), 2)),
        lambda: pa.array(texts, pa.string_view()),
        lambda: pa.array(texts, pa.large_string()),
        lambda: pa.array([text and text.encode() for text in texts], pa.binary()),
        lambda: pa.array([{"q": "z", "p": [1]}] * ROWS),
        lambda: pa.array([[("k", 1.0)][: r.randrange(2)] for _ in range(ROWS)], pa.map_(pa.string(), pa.float64())),
        lambda: pa.array([r.randrange(86400) * 10**6 for _ in range(ROWS)], pa.time64("us")),
        lambda: pa.array([None if n is None else n > 0 for n in numbers]),
        lambda: pa.array(numbers, r.choice([pa.int8(), pa.int64(), pa.float32(), pa.float64()])),
        lambda: pa.array([decimal.Decimal(n or 0) for n in numbers], pa.decimal128(20, 3)),
        lambda: pa.array([datetime.date(2024, 1, 1 + i % 30) for i in range(ROWS)]).dictionary_encode(),
        lambda: pa.nulls(ROWS),
    )
    return r.choice(makers)()


def write_cache(buffer: io.BytesIO, found: Any, form: TableFormat) -> None:
    """A cache of a table, with a few names of features."""
    form, dictionary = replace(form, classes=True, drop=("x",)), Dictionary()
    recorder = Recorder(buffer, form, dictionary=dictionary)
    dictionary.add(Names(np.frombuffer(b"abcd", np.uint8).copy(), np.array([0, 1, 4]), np.array([3, 5])))
    for rows in found.to_batches(max_chunksize=15):
        for batch in TableStream((pa.table([*rows.columns], names=rows.schema.names),), form, skip=True).batches():
            recorder.see(batch)
    recorder.finish()


def damaged(r: random.Random, kind: str) -> bytes:
    """A file of this kind, changed in some places."""
    words = [r.choice(["abc", "defgh i", "x"]) for _ in range(ROWS)]
    times = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=h) for h in range(ROWS)]
    labels = [r.choice([-1.0, 1.0]) for _ in range(ROWS)]
    found, buffer = pa.table({"y": labels, "s": words, "t": times, "x": inside(r)}), io.BytesIO()
    packed = r.choice((PACKED[kind][0], *PACKED[kind]))
    if kind == "lrc":
        write_cache(buffer, found, r.choice(FORMS[::2]))
    elif kind == "parquet":
        pyarrow.parquet.write_table(found, buffer, compression=packed, row_group_size=r.choice([15, ROWS]))
    else:
        new, options = getattr(pa.ipc, f"new_{kind}"), pa.ipc.IpcWriteOptions(compression=packed)
        with new(buffer, found.schema, options=options) as writer:
            writer.write_table(found, max_chunksize=r.choice([15, ROWS]))
    data = bytearray(buffer.getvalue())
    for _ in range(r.choice([1, 2, 5])):
        match r.randrange(8):
            case 0:
                del data[r.randrange(len(data)) :]
                data += bytes(r.choice([0, 1, 8]))
            case 1 | 2 | 3:
                data[r.randrange(len(data))] ^= 1 << r.randrange(8)
            case _:
                at, size = r.randrange(len(data) // 8 + 1) * 8, r.choice([1, 4, 8])
                value = r.choice([-1, -5, 77, 2 ** (8 * size - 2), 2 ** (4 * size)]) % 2 ** (8 * size)
                data[at : at + size] = value.to_bytes(size, "little")
        data = data or bytearray(8)
    return bytes(data)


# ---- reading --------------------------------------------------------------------------------------------------------


def cache_ways(path: Path) -> list[Callable[[], Any]]:
    """Ways to read a cache."""
    return [
        lambda: list(read(path, classes=True, on_error="skip").batches()),
        lambda: list(read(path, positive="abc", on_error="skip").batches()),
        lambda: list(stream_of(path, Cached(classes=True), on_error="skip", dictionary=Dictionary()).batches()),
    ]


def tried(path: Path) -> Counts:
    """Read a file in all ways; whatever is raised but `DataError` is a fault."""
    ways: list[Callable[[], Any]] = (
        cache_ways(path)
        if path.suffix == ".lrc"
        else [
            *(lambda form=form: list(TableStream((str(path),), form).batches()) for form in FORMS),
            lambda: list(TableStream((str(path),), FORMS[0], skip=True).batches()),
            lambda: read_table(str(path)),
            lambda: read_log(path, action="s", reward="y", low=-1.0),
        ]
    )
    refused = 0
    for way in ways:
        try:
            way()
        except DataError:
            refused += 1
    return Counts(1, refused=int(refused == len(ways)), used=int(refused == 0), failed=int(0 < refused < len(ways)))


def fuzzed(kind: str, changes: int, seed: int, at: int = 0) -> Counts:
    """Read so many damaged files, from number `at` on; tells on standard output how far it has come."""
    counts = Counts()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"f.{kind if kind in ('parquet', 'lrc') else 'arrow'}"
        for number in range(at, changes):
            print(number, *counts, flush=True)
            path.write_bytes(damaged(random.Random(f"{kind} {seed} {number}"), kind))
            counts = Counts(*(a + b for a, b in zip(counts, tried(path), strict=True)))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--changes", type=int, default=20_000, help="files in all, shared by the kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--worker", choices=KINDS, help=argparse.SUPPRESS)
    parser.add_argument("--at", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(options.changes, *fuzzed(options.worker, options.changes, options.seed, options.at))
        return
    faults: list[str] = []
    for kind in KINDS:
        begin = time.perf_counter()
        counts, more = watched(kind, -(-options.changes // len(KINDS)), options.seed, "benchmarks.fuzz_tables")
        print(f"{kind}: {counts._asdict()} in {time.perf_counter() - begin:.1f} s", flush=True)
        print(*more, sep="\n", end="\n" * bool(more), flush=True)
        faults += more
    if faults:
        sys.exit(f"{len(faults)} files were neither read nor refused")


if __name__ == "__main__":
    main()
