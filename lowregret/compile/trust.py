"""Which files on disk may be run as code: those that nobody but this user and the administrator can have written.

A file of either that others may not write to holds what its owner put there, whoever owns the folder.
"""

from __future__ import annotations

import os
import stat
import warnings
from functools import cache
from pathlib import Path

ROOT = 0


def read_trusted(path: Path) -> bytes | None:
    """The content of a file that may be run, or None; raises `OSError` if there is none that can be read."""
    if not is_safe(path.parent):
        return None
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)  # a pipe would let us wait
    with open(handle, "rb") as file:
        found = os.fstat(handle)
        owned = stat.S_ISREG(found.st_mode) and found.st_uid in (ROOT, os.geteuid())
        return file.read() if owned and not open_to_others(found) else None


@cache
def is_safe(folder: Path) -> bool:
    """Whether others cannot put files into a folder in place of those there; if they can, that is said once."""
    found = folder.stat()
    if open_to_others(found) and not found.st_mode & stat.S_ISVTX:
        warnings.warn(
            f"compiled code in {folder} is not used, for others may write there: chmod go-w {folder}", stacklevel=2
        )
        return False
    return True


def open_to_others(found: os.stat_result) -> bool:
    """Whether a user other than the owner and the administrator may write to it."""
    if found.st_mode & stat.S_IWOTH:
        return True
    return bool(found.st_mode & stat.S_IWGRP) and not (found.st_gid == ROOT or is_own_group(found.st_gid))


@cache
def is_own_group(group: int) -> bool:
    """Whether a group is this user's alone: it has the user's name, and no other members."""
    import grp
    import pwd

    try:
        name, _, _, members = grp.getgrgid(group)
        return name == pwd.getpwuid(os.geteuid()).pw_name and set(members) <= {name}
    except KeyError:
        return False


def write_private(path: Path, content: bytes) -> None:
    """Write a new file that others may at most read, whatever the user's habit."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    with open(handle, "wb") as file:
        file.write(content)
