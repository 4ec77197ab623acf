"""Compressed bytes made plain: gzip, xz, bzip2 and zstandard, told apart by how they begin.

Whatever can be decompressed before a file is cut short is handed over, and only then comes the error.
"""

from __future__ import annotations

import bz2
import lzma
from collections.abc import Callable
from typing import Any, BinaryIO, cast

CHUNK = 1 << 16  # compressed bytes at a time
MOST = 1 << 18  # plain bytes at a time
PIECE = 1 << 11  # compressed bytes of a frame of Zstandard at a time: each four may hold a block of 128 KiB
ROOM = 1 << 30  # bytes of memory that an xz stream may ask for; Zstandard has a limit of its own, 128 MiB


def kind_of(head: bytes) -> str | None:
    """How a file that begins like this is compressed, if it is."""
    return next((kind for kind, (start, _) in _KINDS.items() if head.startswith(start)), None)


def is_open(head: bytes) -> bool:
    """Whether more bytes are needed to tell."""
    return any(len(head) < len(start) and start.startswith(head) for start, _ in _KINDS.values())


class Inflated:
    """The plain bytes of a compressed file, of one member (gzip), stream (xz, bzip2) or frame after the other."""

    def __init__(self, file: BinaryIO, kind: str) -> None:
        self._file = file
        self._start, self._make = _KINDS[kind]
        self._member: Any = self._make()
        self._input = b""
        self._held = memoryview(b"")

    def readinto(self, view: memoryview) -> int:
        """Fill some of `view`; 0 at the end. EOFError if the file is cut short, others if it is damaged."""
        while not self._held:
            if self._member.eof and not self._next_member():
                return 0
            cut = not self._input and self._member.needs_input and not self._read()
            given, self._input = self._input, b""
            self._held = memoryview(self._member.decompress(given, min(len(view), MOST)))
            if cut and not self._held:  # nothing more is to be had of it either
                raise EOFError("it ends before its compressed data do")
        count = min(len(view), len(self._held))
        view[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def _read(self) -> bool:
        self._input = cast(Any, self._file).read1(CHUNK)
        return bool(self._input)

    def _next_member(self) -> bool:
        """Whether another member follows; noughts between them only fill up a block of a tape."""
        self._input = self._member.unused_data.lstrip(b"\0")
        while not self._input or (len(self._input) < len(self._start) and self._start.startswith(self._input)):
            before = self._input
            if not self._read():
                if before:
                    raise EOFError("it ends before its compressed data do")
                return False
            self._input = (before + self._input).lstrip(b"\0")
        if not self._input.startswith(self._start):
            raise ValueError("something else follows its compressed data")
        self._member = self._make()
        return True


def _gzip() -> Any:
    from isal import igzip_lib

    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)


class _Xz:
    """A stream whose memory is bounded, whatever its header asks for."""

    def __init__(self) -> None:
        self._stream = lzma.LZMADecompressor(memlimit=ROOM)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def decompress(self, data: bytes, most: int) -> bytes:
        try:
            return self._stream.decompress(data, most)
        except lzma.LZMAError as error:
            if "limit" not in str(error):
                raise
            raise ValueError(f"unpacking it takes more than {ROOM >> 20} MiB of memory: pack it with xz -9") from None


class _Zstandard:
    """A frame with the interface of the other decompressors, but for `most`: it gives at most 64 MiB at a time."""

    def __init__(self) -> None:
        import zstandard

        self._frame = zstandard.ZstdDecompressor().decompressobj()
        self._input = memoryview(b"")

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def needs_input(self) -> bool:
        return not self._input

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data + bytes(self._input)

    def decompress(self, data: bytes, most: int) -> bytes:
        """Plain bytes of some of the data; the rest is kept for the next calls, which are given nothing."""
        self._input = memoryview(data) if data else self._input
        parts, size = [], 0
        while self._input and size < most and not self._frame.eof:
            parts.append(self._frame.decompress(self._input[:PIECE]))
            self._input = self._input[PIECE:]
            size += len(parts[-1])
        return b"".join(parts)


_KINDS: dict[str, tuple[bytes, Callable[[], Any]]] = {
    "gzip": (b"\x1f\x8b", _gzip),
    "xz": (b"\xfd7zXZ\x00", _Xz),
    "bzip2": (b"BZh", bz2.BZ2Decompressor),
    "zstandard": (b"\x28\xb5\x2f\xfd", _Zstandard),
}
