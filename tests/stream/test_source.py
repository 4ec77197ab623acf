"""Bytes from files of every kind, whole, compressed, damaged or missing."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import random
import subprocess
import sys
import tracemalloc
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
import zstandard

from lowregret.errors import DataError
from lowregret.stream import text as text_module
from lowregret.stream.batch import raise_faults
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.source import Source, expand
from lowregret.stream.text import text_stream
from tests.stream.reading import collect

COMPRESSED: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "xz": lzma.compress,
    "bzip2": bz2.compress,
    "zstandard": lambda text: zstandard.ZstdCompressor(write_checksum=True).compress(text),
}
kinds = pytest.mark.parametrize("kind", COMPRESSED)


@cache
def text_of(rows: int, seed: int = 0) -> bytes:
    rng = random.Random(seed)
    return b"".join(b"%d %d:%d\n" % (k, rng.randrange(1000), rng.randrange(10**9)) for k in range(rows))


@cache
def packed(kind: str, rows: int) -> bytes:
    """These many rows, compressed, which takes longer than reading them."""
    return COMPRESSED[kind](text_of(rows))


def read_all(path: Path) -> bytes:
    source = Source(str(path))
    buffer = bytearray(1 << 24)
    end = 0
    with memoryview(buffer) as view:
        while count := source.readinto(view[end:]):
            end += count
    source.close()
    if source.failure:
        raise source.failure
    return bytes(buffer[:end])


# ---- compression -----------------------------------------------------------------------------------------------------


@kinds
def test_compression_is_known_by_content_not_by_name(tmp_path: Path, kind: str) -> None:
    text = text_of(50_000)
    path = tmp_path / "plain.svm"
    path.write_bytes(packed(kind, 50_000))
    assert read_all(path) == text


def test_a_name_alone_does_not_make_a_file_compressed(tmp_path: Path) -> None:
    path = tmp_path / "plain.svm.gz"
    path.write_bytes(text_of(10))
    assert read_all(path) == text_of(10)


@kinds
def test_members_one_after_the_other(tmp_path: Path, kind: str) -> None:
    parts = [text_of(rows, rows) for rows in (1000, 1, 0, 20_000)]
    path = tmp_path / "data"
    path.write_bytes(b"".join(map(COMPRESSED[kind], parts)))
    assert read_all(path) == b"".join(parts)


@kinds
def test_noughts_behind_the_end_do_not_matter_but_other_bytes_do(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(COMPRESSED[kind](b"1 1:1\n") + bytes(70_000))
    assert read_all(path) == b"1 1:1\n"
    path.write_bytes(COMPRESSED[kind](b"1 1:1\n") + b"rubbish")
    with pytest.raises(DataError, match="damaged or cut short: something else follows"):
        read_all(path)


@kinds
def test_nothing_is_an_empty_text(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data"
    path.write_bytes(COMPRESSED[kind](b""))
    assert read_all(path) == b""


@kinds
def test_what_is_much_larger_than_its_compressed_form(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "data"
    text = b"1 1:1\n" * 1_500_000  # more than a block
    path.write_bytes(COMPRESSED[kind](text))
    assert len(text) > text_module.BLOCK
    assert read_all(path) == text


def test_memory_is_bounded_whatever_a_small_file_unpacks_to(tmp_path: Path) -> None:
    path, block = tmp_path / "data.zst", (1 << 17 << 3 | 0b010).to_bytes(3, "little") + b"\n"  # 128 KiB of line feeds
    path.write_bytes(b"\x28\xb5\x2f\xfd\x00\x38" + 5_000 * block)
    source, view, size = Source(str(path)), memoryview(bytearray(1 << 20)), 0
    tracemalloc.start()
    while count := source.readinto(view):
        size += count
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size == 5_000 << 17
    assert most < 256 << 20
    assert "ends before its compressed data do" in str(source.failure)


def test_a_stream_of_xz_that_asks_for_too_much_memory_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "data.xz"
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 0, "dict_size": 1 << 16}]
    packed = bytearray(lzma.compress(b"1 1:1\n" * 1000, lzma.FORMAT_XZ, filters=filters))
    assert packed[14:17] == b"\x21\x01\x08"  # the filter, and 64 KiB
    packed[16] = 39  # 3 GiB
    packed[20:24] = zlib.crc32(packed[12:20]).to_bytes(4, "little")
    path.write_bytes(packed)
    with pytest.raises(DataError, match="unpacking it takes more than 1024 MiB of memory"):
        read_all(path)


def decodable(kind: str, start: bytes) -> bytes:
    """All bytes that the beginning of a compressed file gives, by other means than ours."""
    if kind == "gzip":
        return zlib.decompressobj(31).decompress(start)
    if kind == "zstandard":
        return zstandard.ZstdDecompressor().decompressobj().decompress(start)
    made = lzma.LZMADecompressor() if kind == "xz" else bz2.BZ2Decompressor()
    return made.decompress(start)


@pytest.mark.sampled(6)
@kinds
@pytest.mark.parametrize(
    ("block", "left_off"), [(3000, 5), (1 << 16, 5), (1 << 16, 100_000), (4 << 20, 5), (4 << 20, 99_999)]
)
def test_all_whole_rows_come_before_the_error_of_a_file_cut_short(
    tmp_path: Path, kind: str, block: int, left_off: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_module, "BLOCK", block)
    whole = packed(kind, 70_000)
    path = tmp_path / "data.svm.gz"
    path.write_bytes(whole[: len(whole) - left_off])
    seen: list[float] = []
    with pytest.raises(DataError, match=r"data\.svm\.gz is damaged or cut short: it ends before its"):
        seen.extend(label for batch in text_stream(path, SvmText(), 2).batches() for label in batch.labels.tolist())
    wanted = decodable(kind, whole[: len(whole) - left_off]).count(b"\n")
    assert wanted > 10_000
    assert seen == list(range(wanted))


@kinds
@pytest.mark.parametrize("length", [7, 9, 12])
def test_a_file_of_which_hardly_anything_is_left(tmp_path: Path, kind: str, length: int) -> None:
    path = tmp_path / "data"
    path.write_bytes(packed(kind, 1000)[:length])
    with pytest.raises(DataError, match="is damaged or cut short"):
        read_all(path)


@kinds
def test_damage_is_an_error(tmp_path: Path, kind: str) -> None:
    damaged = bytearray(packed(kind, 50_000))
    for at in range(len(damaged) // 2, len(damaged) // 2 + 50):
        damaged[at] ^= 0x55
    path = tmp_path / "data"
    path.write_bytes(damaged)
    with pytest.raises(DataError, match="is damaged or cut short"):
        read_all(path)


# ---- names -----------------------------------------------------------------------------------------------------------


def test_patterns_are_sorted_and_names_keep_their_order(tmp_path: Path) -> None:
    for name in ("b.svm", "a.svm", "c.txt", "10.svm"):
        (tmp_path / name).write_bytes(b"1\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "d.svm").write_bytes(b"1\n")
    found = expand(f"{tmp_path}/*.svm")
    assert [Path(name).name for name in found] == ["10.svm", "a.svm", "b.svm"]
    assert [Path(name).name for name in expand(f"{tmp_path}/**/*.svm")] == ["10.svm", "a.svm", "b.svm", "d.svm"]
    listed = expand([tmp_path / "c.txt", f"{tmp_path}/a*", "-", str(tmp_path / "b.svm")])
    assert listed == [f"{tmp_path}/c.txt", f"{tmp_path}/a.svm", "-", f"{tmp_path}/b.svm"]


def test_a_file_whose_name_looks_like_a_pattern(tmp_path: Path) -> None:
    (tmp_path / "a[1].svm").write_bytes(b"1\n")
    assert expand(tmp_path / "a[1].svm") == [f"{tmp_path}/a[1].svm"]


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no file matches"):
        expand(f"{tmp_path}/*.svm")
    with pytest.raises(DataError, match="there is no data"):
        expand([])
    with pytest.raises(DataError, match=r"cannot read .*missing\.svm: No such file"):
        collect(text_stream(tmp_path / "missing.svm", SvmText(), 1))
    with pytest.raises(DataError, match="is a folder: name the files in it, such as "):
        collect(text_stream(tmp_path, SvmText(), 1))


def test_rows_of_files_before_a_missing_one_come_first(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(text_of(5))
    seen: list[int] = []
    with pytest.raises(DataError, match="cannot read"):
        collect(text_stream([tmp_path / "a", tmp_path / "b"], SvmText(), 1), lambda r: seen.append(len(r.rows)))
    assert seen[-1] == 5


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty").write_bytes(b"")
    stream = text_stream(tmp_path / "empty", SvmText(), 1)
    assert collect(stream).rows == []
    assert stream.size == 0


def test_a_line_longer_than_a_block(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "BLOCK", 64)
    long = b"7 " + b" ".join(b"%d:1" % k for k in range(1, 5000))
    (tmp_path / "data").write_bytes(b"\n".join([b"1 1:1", long, b"2 2:2", long]))
    rows = collect(text_stream(tmp_path / "data", SvmText(), 2)).rows
    assert [(row.label, len(row.entries)) for row in rows] == [(1, 1), (7, 4999), (2, 1), (7, 4999)]


def test_position_and_size_count_bytes_on_disk(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(gzip.compress(text_of(20_000)))
    stream = text_stream([tmp_path / "a", tmp_path / "b"], SvmText(), 2)
    positions = [batch.position for batch in stream.batches()]
    assert positions == sorted(positions)
    assert positions[-1] == stream.size == sum(os.path.getsize(tmp_path / name) for name in "ab")


# ---- pipes -----------------------------------------------------------------------------------------------------------

SUM = """
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.text import text_stream
for batch in text_stream("-", SvmText(), 2).batches():
    print(len(batch), float(batch.labels.sum()), batch.name, batch.fault, flush=True)
"""


@pytest.mark.parametrize("kind", ["plain", *COMPRESSED])
def test_standard_input(kind: str) -> None:
    text = text_of(30_000)
    given = COMPRESSED[kind](text) if kind != "plain" else text
    done = subprocess.run([sys.executable, "-c", SUM], input=given, capture_output=True, check=True)
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    assert sum(int(line[0]) for line in lines) == 30_000
    assert sum(float(line[1]) for line in lines) == sum(range(30_000))
    assert lines[0][2:] == ["standard", "input", "None"]


@pytest.mark.parametrize("first", [b"1 1:1\n", gzip.compress(b"1 1:1\n")[:1]])
def test_a_pipe_is_not_waited_for_until_it_ends(first: bytes) -> None:
    """A row is handed over while the writer is still there; a compressed beginning may come byte by byte."""
    process = subprocess.Popen([sys.executable, "-c", SUM], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin
    assert process.stdout
    process.stdin.write(first)
    process.stdin.flush()
    if first[0] == 0x1F:
        process.stdin.write(gzip.compress(b"1 1:1\n")[1:])
        process.stdin.flush()
    assert process.stdout.readline() == b"1 1.0 standard input None\n"
    process.stdin.write(b"x\n" if first[0] != 0x1F else b"")
    process.stdin.flush()
    if first[0] != 0x1F:  # a fault ends it, although the pipe stays open
        assert process.stdout.readline().startswith(b"0 0.0 standard input standard input:2: expected a finite number")
        assert process.wait(20) == 0
    process.stdin.close()
    assert process.wait(20) == 0
    process.stdout.close()


@pytest.mark.parametrize("left", [0, 40, 1 << 20], ids=str)
def test_a_file_that_is_cut_while_it_is_read_ends_with_an_error(tmp_path: Path, left: int) -> None:
    """Its rows were taken for all there are, and half of the last line for a row."""
    (tmp_path / "data.svm").write_bytes(text_of(200_000))
    batches, labels = text_stream(tmp_path / "data.svm", SvmText(), threads=1).batches(), list[float]()

    def read_on() -> None:
        for batch in raise_faults(batches):
            labels.extend(batch.labels.tolist())

    labels.extend(next(batches).labels.tolist())
    os.truncate(tmp_path / "data.svm", left)
    with pytest.raises(DataError, match=r"data\.svm is damaged or cut short: it had [\d,]+ bytes, and [\d,]+ once"):
        read_on()
    assert labels == list(range(len(labels)))
    assert len(labels) < 200_000
