"""Where bytes come from: files, many files, globs, standard input, compressed or not, cut into blocks of whole lines."""

from __future__ import annotations

import bz2
import glob
import io
import lzma
import os
import select
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from lowregret.error import DataError

SLACK = 64  # bytes after the text that parsers may look at
LONGEST = 1 << 30  # of a line
STDIN = "-"

_MAGIC = {b"\x1f\x8b": "gzip", b"\xfd7zXZ\x00": "xz", b"BZh": "bzip2", b"\x28\xb5\x2f\xfd": "zstandard"}


def expand(paths: Any) -> list[str]:
    """The files that these names and patterns stand for, in order; `-` is standard input."""
    names = [os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    found: list[str] = []
    for name in names:
        if name == STDIN or not glob.has_magic(name) or Path(name).exists():
            found.append(name)
        else:
            matches = sorted(glob.glob(name, recursive=True))
            if not matches:
                raise DataError(f"no file matches {name}")
            found += matches
    if not found:
        raise DataError("there is no data: name a file, a pattern such as 'data/*.svm.gz', or - for standard input")
    return found


class Source:
    """One file, opened: its bytes decompressed, and how far its own bytes have been read."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == STDIN else name
        try:
            raw: BinaryIO = os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0) if name == STDIN else open(name, "rb", 0)
        except OSError as error:
            raise DataError(f"cannot read {self.name}: {error.strerror}") from None
        self._raw = raw
        self.size = os.fstat(raw.fileno()).st_size if raw.seekable() else 0
        self._counted = _Counted(raw)
        head = io.BufferedReader(self._counted, 1 << 20)
        try:
            magic = head.peek(8)[:8]
        except OSError as error:
            raise DataError(f"cannot read {self.name}: {error.strerror}") from None
        kind = next((kind for start, kind in _MAGIC.items() if magic.startswith(start)), None)
        self.compressed = kind is not None
        self.stream: BinaryIO = cast(BinaryIO, head) if kind is None else _OPENERS[kind](head)

    @property
    def position(self) -> int:
        """Bytes of the file itself that have been read."""
        return self._counted.count

    def readinto(self, view: memoryview) -> int:
        """Fill `view` with decompressed bytes as far as they are at hand; 0 at the end."""
        filled = 0
        try:
            while filled < len(view):
                count = (
                    cast(Any, self.stream).readinto1(view[filled:])
                    if not self.compressed
                    else self._inflate(view[filled:])
                )
                if not count:
                    break
                filled += count
                if not self.size and not self._at_hand():
                    break
        except (EOFError, lzma.LZMAError, OSError, ValueError) as error:
            raise DataError(f"{self.name} is damaged or cut short: {error or type(error).__name__}") from None
        return filled

    def _inflate(self, view: memoryview) -> int:
        return cast(Any, self.stream).readinto(view)

    def _at_hand(self) -> bool:
        """Whether a pipe has more to give at once."""
        return bool(select.select([self._raw], [], [], 0)[0])

    def close(self) -> None:
        self.stream.close()
        self._raw.close()


class _Counted(io.RawIOBase):
    """A raw file that counts what is read."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw, self.count = raw, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = cast(Any, self._raw).readinto(buffer) or 0
        self.count += count
        return count


def _gzip(file: Any) -> BinaryIO:
    from isal import igzip

    return cast(BinaryIO, cast(Any, igzip).IGzipFile(fileobj=file))


def _zstandard(file: Any) -> BinaryIO:
    import zstandard

    return cast(BinaryIO, zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))


_OPENERS: dict[str, Callable[[Any], BinaryIO]] = {
    "gzip": _gzip,
    "xz": lambda file: cast(BinaryIO, lzma.LZMAFile(file)),
    "bzip2": lambda file: cast(BinaryIO, bz2.BZ2File(file)),
    "zstandard": _zstandard,
}


@dataclass
class Block:
    """Whole lines of one file: text[:end], the last byte a line feed, with slack behind."""

    text: bytearray
    end: int
    source: Source
    first: bool  # of its file
    position: int  # bytes of the file itself read so far


def blocks(source: Source, size: int, buffer: Callable[[], bytearray]) -> Iterator[Block]:
    """Cut a source into blocks of about `size` bytes. `buffer` gives memory for each, of any length."""
    rest, first = b"", True
    while True:
        text = buffer()
        end, more = _filled(source, text, rest, size)
        cut = end if not more else text.rfind(b"\n", 0, end) + 1
        rest = bytes(memoryview(text)[cut:end])
        if not more and end and text[end - 1] != 10:
            text[end] = 10
            cut = end + 1
        if cut or first:
            text[cut : cut + SLACK] = b"\n" * min(SLACK, len(text) - cut)
            yield Block(text, cut, source, first, source.position)
            first = False
        if not more:
            return


def _filled(source: Source, text: bytearray, rest: bytes, size: int) -> tuple[int, bool]:
    """Put `rest` and what comes next into the buffer, until it holds a line feed; (its length, is there more?)."""
    wanted = max(size, 2 * len(rest))
    if len(text) < wanted + 2 * SLACK:
        text.extend(bytes(wanted + 2 * SLACK - len(text)))
    text[: len(rest)] = rest
    end = len(rest)
    while True:
        with memoryview(text) as view:
            count = source.readinto(view[end:wanted])
        end += count
        if count == 0:
            return end, False
        if text.rfind(b"\n", 0, end) >= 0:
            return end, True
        if end == wanted:
            if wanted >= LONGEST:
                raise DataError(f"{source.name} has a line longer than {LONGEST} bytes: is it text?")
            wanted *= 2
            text.extend(bytes(wanted + 2 * SLACK - len(text)))
