"""Files replaced as a whole: written beside the old one, flushed to disk, then renamed over it."""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from lowregret.errors import StoreError

_OTHER = {
    stat.S_IFCHR: "device",
    stat.S_IFBLK: "device",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
    stat.S_IFDIR: "folder",
}


def require_place(path: str | os.PathLike[str]) -> None:
    """Say before the work that its result could not be written: only files, pipes and terminals are written to."""
    if not os.fspath(path):
        raise StoreError("cannot write to a file without a name: name one")
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise StoreError(f"cannot write {path}: there is no folder {folder}")
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        what, allowed = f"the folder {folder}", os.access(folder, os.W_OK)
    except (OSError, ValueError) as error:
        raise _refusal(path, error) from error
    else:
        if stat.S_ISDIR(found):
            raise StoreError(f"cannot write {path}: it is a folder; name a file in it")
        if stat.S_ISBLK(found) or stat.S_ISSOCK(found):
            raise StoreError(f"cannot write {path}: it is a {_OTHER[stat.S_IFMT(found)]}; name another file")
        what, allowed = "it", os.access(path, os.W_OK)
    if not allowed:
        raise StoreError(f"cannot write {path}: {what} is read-only")


def _refusal(path: str | os.PathLike[str], error: Exception) -> StoreError:
    return StoreError(f"cannot write {path}: {getattr(error, 'strerror', None) or error}; name another file")


def real_file(path: str | os.PathLike[str]) -> Path:
    """The file that a path leads to, links followed, which need not exist yet; refuses all but regular files."""
    try:
        found = os.stat(path).st_mode
    except FileNotFoundError:
        found = stat.S_IFREG
    except (OSError, ValueError) as error:  # links in a circle; a zero byte
        raise _refusal(path, error) from error
    if not stat.S_ISREG(found):
        what = _OTHER.get(stat.S_IFMT(found), "special file")
        raise StoreError(f"cannot write {path}: it is a {what}, which no file may replace; name another file")
    return Path(os.path.realpath(path))


@contextmanager
def replaced(target: Path) -> Iterator[IO[bytes]]:
    """A new file that replaces `target`, a `real_file`, and takes its permissions; after an error the old one stays."""
    _remove_leftovers(target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.{threading.get_ident()}.tmp")
    try:
        with open(temporary, "wb") as file:
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


def write_result(path: str | os.PathLike[str], data: bytes) -> None:
    """Write what was asked for: a file is replaced as a whole, and a pipe, a terminal or a device is written to.

    A file in a folder that may not be written to is written over.
    """
    try:
        if os.path.exists(path) and not (os.path.isfile(path) and os.access(real_file(path).parent, os.W_OK)):
            Path(path).write_bytes(data)
        else:
            with replaced(real_file(path)) as file:
                file.write(data)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of processes that were killed while they replaced the same file."""
    ours = re.compile(re.escape(f".{target.name}.") + r"(\d+)\.(\d+)\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            found = ours.fullmatch(name)
            if found and not _lives(int(found[1]), int(found[2])):
                target.with_name(name).unlink(missing_ok=True)


def _lives(process: int, thread: int) -> bool:
    """Whether a thread of this process is still there; for any other process, whether the process is."""
    if process == os.getpid():  # or one before it with the same number, as in containers
        return thread in sys._current_frames()
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # somebody else's
        return True
    return True


def _sync_folder(folder: Path) -> None:
    """Make the renaming itself durable, where the system allows it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
