"""Files that survive: arrays in safetensors form plus a JSON description, versioned, checksummed, written atomically.

No pickle: reading a file never runs code. A crash, a full disk or kill -9 while writing leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from abc import ABC, abstractmethod
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from lowregret.error import StoreError
from lowregret.words import Brief

ENTRY = "lowregret"  # where the header is among the file's metadata
FORMAT = 1  # raised when older readers could not make sense of the file

Arrays = dict[str, "np.ndarray[Any, Any]"]


def write(path: str | os.PathLike[str], kind: str, description: dict[str, Any], arrays: Arrays) -> None:
    """Write one file: to a temporary name beside it, flushed to disk, then renamed over the old one."""
    from safetensors.numpy import save

    path = Path(path)
    text = json.dumps(description, allow_nan=True, sort_keys=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {"kind": kind, "format": FORMAT, "description": text}
    header["sha256"] = _checksum(header, arrays)
    metadata = {ENTRY: json.dumps(header)}  # one entry, because safetensors writes several in any order
    try:
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        try:
            with open(temporary, "wb") as file:
                file.write(save(arrays, metadata))
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(path.parent)
    except (OSError, ValueError) as error:  # a path with a zero byte or without a name is a ValueError
        reason = getattr(error, "strerror", None) or error
        raise StoreError(f"cannot write {path}: {reason}; what was there before is unharmed") from error


def read(path: str | os.PathLike[str], kind: str) -> tuple[dict[str, Any], Arrays]:
    """The description and arrays of a file written by `write` for the same `kind`."""
    header, arrays = _open(path)
    if header["kind"] != kind:
        raise StoreError(f"{path} holds a {header['kind']}, not a {kind}")
    if header["sha256"] != _checksum(header, arrays):
        raise StoreError(f"{path} is damaged: its checksum does not fit; restore it from a backup or train again")
    return json.loads(header["description"]), arrays


def kind_of(path: str | os.PathLike[str]) -> str:
    """What a file holds."""
    return _open(path, with_arrays=False)[0]["kind"]


class Saved(Brief, ABC):
    """What is kept in files of a kind of its own."""

    kind: ClassVar[str]

    @abstractmethod
    def contents(self) -> tuple[dict[str, Any], Arrays]:
        """What `save` writes: a description, and arrays."""

    @classmethod
    @abstractmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        """What has these `contents`, found at `path`."""

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write everything, so that `load` goes on to the last bit. Saving changes nothing."""
        write(path, self.kind, *self.contents())
        return Path(path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote."""
        return cls.of(path, *read(path, cls.kind))


def _open(path: str | os.PathLike[str], with_arrays: bool = True) -> tuple[dict[str, Any], Arrays]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            header = _header((file.metadata() or {}).get(ENTRY, ""))
            arrays: Arrays = {name: file.get_tensor(name) for name in file.keys() if with_arrays}  # noqa: SIM118
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}") from None
    except (OSError, SafetensorError) as error:
        raise StoreError(f"{path} is not a lowregret file, or it is damaged: {error}") from error
    if header is None:
        raise StoreError(f"{path} was not written by lowregret, or it is damaged")
    if header["format"] > FORMAT:
        raise StoreError(f"{path} was written by a newer lowregret (format {header['format']}): upgrade to read it")
    return header, arrays


def _header(text: str) -> dict[str, Any] | None:
    """The header, if it is one."""
    try:
        header = json.loads(text)
    except ValueError:
        return None
    types = {"kind": str, "format": int, "description": str, "sha256": str}
    fits = isinstance(header, dict) and all(isinstance(header.get(key), kind) for key, kind in types.items())
    return header if fits else None


def _checksum(header: dict[str, Any], arrays: Arrays) -> str:
    digest = hashlib.sha256("{kind}\0{format}\0{description}".format_map(header).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"\0{name}\0{array.dtype.str}\0{array.shape}\0".encode())
        digest.update(array.data)
    return digest.hexdigest()


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself durable, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
