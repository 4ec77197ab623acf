"""Room on disk, set aside behind the end of a file before it is written to, so that a full disk is met in time."""

from __future__ import annotations

import ctypes
import errno
import os

_KEEP_SIZE = 1  # FALLOC_FL_KEEP_SIZE: the file does not look longer
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def set_aside(file: int, begin: int, size: int) -> None:
    """Set aside `size` bytes from `begin` on, which `give_back` ends; raises `OSError` if there is no room.

    Does nothing where the system or the kind of file knows no such thing.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    reserve = getattr(libc, "fallocate64", None) or getattr(libc, "fallocate", None)
    if reserve is None or size <= 0:
        return
    reserve.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64)
    if reserve(file, _KEEP_SIZE, begin, size) and ctypes.get_errno() in _FULL:
        problem = ctypes.get_errno()
        give_back(file, begin)
        raise OSError(problem, os.strerror(problem))


def give_back(file: int, end: int) -> None:
    """Give back what was set aside behind the end of a file, which must be where it ends now."""
    os.ftruncate(file, end)
