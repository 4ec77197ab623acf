"""Files that survive: arrays in safetensors form plus a JSON description, versioned, checksummed, written atomically.

No pickle: reading a file never runs code. A crash, a full disk or kill -9 while writing leaves the old file as it was.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from lowregret.error import StoreError

FORMAT = 1  # raised when older readers could not make sense of the file

Arrays = dict[str, "np.ndarray[Any, Any]"]


def write(path: str | os.PathLike[str], kind: str, description: dict[str, Any], arrays: Arrays) -> None:
    """Write one file: to a temporary name beside it, flushed to disk, then renamed over the old one."""
    from safetensors.numpy import save

    path = Path(path)
    text = json.dumps(description, allow_nan=True, sort_keys=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    header = {"kind": kind, "format": str(FORMAT), "description": text, "sha256": ""}
    header["sha256"] = _checksum(header, arrays)
    try:
        temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.tmp")
        try:
            with open(temporary, "wb") as file:
                file.write(save(arrays, header))
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


def _open(path: str | os.PathLike[str], with_arrays: bool = True) -> tuple[dict[str, str], Arrays]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            header = file.metadata() or {}
            arrays: Arrays = {name: file.get_tensor(name) for name in file.keys() if with_arrays}  # noqa: SIM118
    except FileNotFoundError:
        raise StoreError(f"there is no file {path}") from None
    except (OSError, SafetensorError) as error:
        raise StoreError(f"{path} is not a lowregret file, or it is damaged: {error}") from error
    if not {"kind", "format", "description", "sha256"} <= header.keys():
        raise StoreError(f"{path} was not written by lowregret")
    if not header["format"].isdecimal():
        raise StoreError(f"{path} is damaged: {header['format']!r} is not a format number")
    if int(header["format"]) > FORMAT:
        raise StoreError(f"{path} was written by a newer lowregret (format {header['format']}): upgrade to read it")
    return header, arrays


def _checksum(header: dict[str, str], arrays: Arrays) -> str:
    digest = hashlib.sha256("\0".join(header[key] for key in ("kind", "format", "description")).encode())
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
