"""Files that survive: arrays and a JSON description, compressed, versioned, checksummed, written atomically.

    MAGIC, chunks of the arrays, header (JSON), its length (8 bytes), SHA-256 of all that (32 bytes)

Numbers of an array are compressed in chunks, first bytes first, then second bytes, …: signs and exponents are alike.
No pickle: reading a file never runs code. A crash, a full disk or kill -9 while writing leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, ClassVar, Self

import numpy as np

from lowregret.compile.memory import room, roomy
from lowregret.compile.turns import Shared, turns_of
from lowregret.errors import CheckError, DataError, LowRegretError, PartError, StoreError
from lowregret.store.migrate import FORMAT as FORMAT
from lowregret.store.migrate import OLDEST, migrated
from lowregret.store.replacing import real_file, replaced, what_else
from lowregret.store.schema import SHOWN, Schema, is_shallow
from lowregret.store.schema import Arrays as Arrays
from lowregret.store.watched import Watched
from lowregret.words import Brief

MAGIC = b"lowregret\n"
CHUNK = 1 << 16  # numbers compressed at a time
LEVEL = 1  # of zstandard: mantissas do not get smaller by more effort
BLOCK = 1 << 20  # bytes read at a time for the checksum
AXES = 32  # of an array at most
DIGITS = 300  # of a whole number at most

_KINDS = {np.dtype(kind).str for kind in ("f8", "f4", "i8", "i4", "u8", "u4", "u1", "?")}  # of arrays
_LENGTH, _DIGEST = 8, 32  # bytes at the end of a file
_FIRST_FORMAT = b'{"__metadata__":{"lowregret":'  # how files of format 1 went on after eight bytes


def write(path: str | os.PathLike[str], kind: str, description: dict[str, Any], arrays: Arrays) -> None:
    """Write one file: to a temporary name beside it, flushed to disk, then renamed over the old one.

    At a `Watched` path, the file of another process stays.
    """
    target = real_file(path)
    header = {"kind": kind, "format": FORMAT, "description": _json(description)}
    try:
        with replaced(target, path.renaming() if isinstance(path, Watched) else None) as file:
            _write(file, header, arrays)
    except StoreError as error:  # another process has put its own there
        raise StoreError(f"cannot write {path}: {error}") from error
    except (OSError, ValueError) as error:  # a path without a name is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"cannot write {path}: {reason}; what was there before is unharmed") from error


def write_checked(
    path: str | os.PathLike[str], kind: str, schema: Schema, description: dict[str, Any], arrays: Arrays
) -> None:
    """Write one file, unless its schema would refuse it: no good file makes way for what could not be read again."""
    try:
        schema.checked(path, json.loads(_json(description)), arrays)
    except StoreError as error:
        raise CheckError(f"not written, as it could not be read again: {error}") from error
    write(path, kind, description, arrays)


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    """The description and arrays of a file written by `write` for the same `kind`."""
    with _opened(path) as file:
        header, arrays = _header(file, path), {}
        if header["kind"] != kind:
            raise StoreError(f"{path} holds a {header['kind']}, not a {kind}")
        if not _is_whole(file):
            raise StoreError(f"{path} is damaged: its checksum does not fit; restore it from a backup or train again")
        file.seek(len(MAGIC))
        try:
            told = {name: _listed(listed) for name, listed in header["arrays"].items()}
            _require_memory(sum(_room(code, shape) for code, shape, _ in told.values()))
            for name, listed in told.items():
                arrays[name] = _unpacked(file, *listed)
            description = json.loads(header["description"], parse_int=_whole)
        except (ValueError, RecursionError, MemoryError) as error:
            raise StoreError(f"{path} is damaged: {error or 'it does not fit into memory'}") from error
    if not isinstance(description, dict) or not is_shallow(description):
        raise StoreError(f"{path} is damaged: it holds no description")
    try:
        return migrated(header["format"], kind, description, arrays)
    except (LookupError, TypeError, ValueError, ArithmeticError, MemoryError) as error:  # of other shapes and types
        raise StoreError(f"{path} is damaged: it is not what format {header['format']} holds") from error


def kind_of(path: str | os.PathLike[str]) -> str:
    """The kind of thing that a file holds, such as "run" or "bandit": a key of `kinds.KINDS`."""
    with _opened(path) as file:
        return str(_header(file, path)["kind"])


class Saved(Brief, Shared, ABC):
    """The base of everything that can be written to a file and read again; each subclass has its own kind of file."""

    kind: ClassVar[str]
    schema: ClassVar[Schema]  # of its `contents`

    @abstractmethod
    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """Everything that a file keeps of it: a description that JSON can hold, and arrays by name."""

    @classmethod
    @abstractmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The object that has these `contents`, which were found at `path` and are checked already."""

    def to_file(self) -> tuple[dict[str, Any], Arrays]:
        """The description and arrays that `save` writes: `contents`, with the names of slots in the description."""
        return self.schema.named(*self.contents())

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The object that `to_file` described; its description and arrays are checked before it is made."""
        return cls.from_checked(path, *cls.schema.checked(path, description, arrays))

    @classmethod
    def from_checked(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """The object that has these checked `contents`; if they do not fit together, raises a `StoreError`."""
        try:
            return cls.of(path, description, arrays)
        except (PartError, DataError, MemoryError) as error:
            reason = error if isinstance(error, LowRegretError) else "it does not fit into memory"
            raise StoreError(f"{path} cannot be made use of: {reason}") from error

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything, so that what `load` reads goes on equal to the last bit. Saving changes nothing.

        What `load` would refuse is not written, so that no good file makes way for it. While another thread learns, it
        waits.
        """
        with turns_of(self):
            write_checked(path, self.kind, self.schema, *self.to_file())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote."""
        return cls.from_file(path, *read(path, cls.kind))


# ---- inside a file --------------------------------------------------------------------------------------------------


def _json(description: dict[str, Any]) -> str:
    """A description as text; numbers of NumPy become plain ones."""
    return json.dumps(description, allow_nan=True, sort_keys=True, default=_plain)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is nothing that a file can hold")


def _write(file: IO[bytes], header: dict[str, Any], arrays: Arrays) -> None:
    digest, listed = hashlib.sha256(), {}

    def put(data: bytes) -> int:
        digest.update(data)
        return file.write(data)

    put(MAGIC)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        listed[name] = array.dtype.str, arrays[name].shape, [put(chunk) for chunk in _packed(array)]
    length = put(json.dumps(header | {"arrays": listed}).encode())
    put(length.to_bytes(_LENGTH, "little"))
    file.write(digest.digest())


def _packed(array: Any) -> Iterator[bytes]:
    """The numbers of an array, compressed chunk by chunk."""
    import zstandard

    numbers, press = array.reshape(-1), zstandard.ZstdCompressor(level=LEVEL)
    for begin in range(0, numbers.size, CHUNK):
        chunk = numbers[begin : begin + CHUNK]
        yield press.compress(chunk.view(np.uint8).reshape(chunk.size, -1).T.tobytes())


def _listed(listed: Any) -> tuple[str, list[int], list[int]]:
    """The type, shape and sizes of chunks of an array, as the header lists them, if they fit together."""
    if not isinstance(listed, list) or len(listed) != 3:
        raise ValueError(f"{str(listed)[:80]} is no array")
    code, shape, sizes = listed
    sound = isinstance(code, str) and code in _KINDS and _are_sizes(shape) and _are_sizes(sizes)
    if not sound or len(shape) > AXES:  # of very many, the product alone takes hours
        raise ValueError(f"{str(listed)[:80]} is no array")
    if len(sizes) != -(-math.prod(shape) // CHUNK):
        raise ValueError(f"an array of shape {shape} has {len(sizes)} chunks")
    return code, shape, sizes


def _whole(text: str) -> int:
    """A whole number of JSON, if it is not larger than numbers with a fraction can be."""
    if len(text) > DIGITS:
        raise ValueError(f"{text[:20]}… is too large a number")
    return int(text)


def _room(code: str, shape: list[int]) -> int:
    """The bytes of an array, as if no axis were empty: others have its sizes, and something in them."""
    return math.prod(max(size, 1) for size in shape) * np.dtype(code).itemsize


def _require_memory(size: int) -> None:
    """Raise a `MemoryError` for arrays that do not fit into memory: a few bytes may stand for a million."""
    if size > room():
        raise MemoryError(f"its arrays take {size:,} bytes, more than there is memory")


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and 0 <= value < 1 << 48 for value in values)


def _unpacked(file: IO[bytes], code: str, shape: list[int], sizes: list[int]) -> Any:
    """The next array of a file, its chunks decompressed."""
    import zstandard

    kind, press = np.dtype(code), zstandard.ZstdDecompressor()
    numbers = roomy(math.prod(shape), kind)
    for k, size in enumerate(sizes):
        chunk = numbers[k * CHUNK : (k + 1) * CHUNK]
        packed = file.read(size)
        try:
            if zstandard.frame_content_size(packed) != chunk.nbytes:
                raise ValueError(f"a chunk is not one of {chunk.nbytes} bytes")
            planes = np.frombuffer(press.decompress(packed), np.uint8)
        except zstandard.ZstdError as error:
            raise ValueError(str(error)) from error
        if kind == np.bool_ and np.any(planes > 1):  # compiled code looks at one bit, NumPy at all
            raise ValueError("a truth value is neither 0 nor 1")
        chunk.view(np.uint8).reshape(chunk.size, -1)[...] = planes.reshape(-1, chunk.size).T
    return numbers.reshape(shape)


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    try:
        file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}") from None
    except TypeError:
        raise StoreError(f"expected the path of a file, got {path!r}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} is not a lowregret file, or it is damaged: {error}") from error
    found = os.fstat(file.fileno()).st_mode
    if not stat.S_ISREG(found):
        file.close()
        raise StoreError(f"{path} is a {what_else(found)}, of which a model cannot be read: put it into a file")
    return file


def _without_waiting(path: str, flags: int) -> int:
    """Open a file; a pipe that nobody writes to is not waited for."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _header(file: IO[bytes], path: str | os.PathLike[str]) -> dict[str, Any]:
    """The header of a file; raises a `StoreError` if there is none, or its format is too old or too new."""
    begin = file.read(_LENGTH + len(_FIRST_FORMAT))
    if begin[_LENGTH:] == _FIRST_FORMAT:
        raise _outdated(path, 1)
    end = file.seek(0, os.SEEK_END) - _LENGTH - _DIGEST
    if not begin.startswith(MAGIC) or end < len(MAGIC):
        raise StoreError(f"{path} is not a lowregret file, or it is damaged")
    file.seek(end)
    length = int.from_bytes(file.read(_LENGTH), "little")
    try:
        _require_memory(min(length, end))  # a file may be longer than what the disk holds of it
        file.seek(max(end - length, 0))
        header = json.loads(file.read(min(length, end)))
    except (ValueError, RecursionError, MemoryError):
        header = None
    types = {"kind": str, "format": int, "description": str, "arrays": dict}
    known = isinstance(header, dict) and all(isinstance(header.get(key), kind) for key, kind in types.items())
    if not known or not header["kind"].isprintable() or len(header["kind"]) > SHOWN:
        raise StoreError(f"{path} is not a lowregret file, or it is damaged")
    if header["format"] > FORMAT:
        raise StoreError(f"{path} was written by a newer lowregret (format {header['format']}): upgrade to read it")
    if header["format"] < OLDEST:
        raise _outdated(path, header["format"])
    return header


def _outdated(path: str | os.PathLike[str], format: int) -> StoreError:
    return StoreError(
        f"{path} was written by an older lowregret (format {format}), which is not read any more: train again"
    )


def _is_whole(file: IO[bytes]) -> bool:
    """Whether the checksum at the end of a file fits the bytes before it."""
    left, digest = file.seek(0, os.SEEK_END) - _DIGEST, hashlib.sha256()
    file.seek(0)
    while left:
        block = file.read(min(BLOCK, left))
        if not block:  # somebody cuts it off meanwhile
            return False
        digest.update(block)
        left -= len(block)
    return file.read() == digest.digest()
