"""Files replaced as a whole: written beside the old one, flushed to disk, then renamed over it."""

from __future__ import annotations

import hashlib
import os
import re
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
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


LONGEST = 160  # bytes of a name that has room for more
LINKS = 40  # that the system follows, one to the other


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
        raise StoreError(
            f"cannot write {path}: it is a {what_else(found)}, which no file may replace; name another file"
        )
    return Path(os.path.realpath(path))


def open_number(path: str) -> str | None:
    """The number of the open file of this process that a path, such as /dev/stdout, is a name of."""
    for _ in range(LINKS):
        folder, name = os.path.split(path)
        folder = os.path.realpath(folder)
        if folder == f"/proc/{os.getpid()}/fd":
            return name
        if not os.path.islink(path):
            return None
        path = os.path.join(folder, os.readlink(path))
    return None


def with_ending(path: str | os.PathLike[str], ending: str) -> str:
    """A name with this ending if it has none; what is a folder, a pipe, a device or open is called as it is."""
    name = os.fspath(path)
    there = os.path.exists(name) and (not os.path.isfile(name) or open_number(name) is not None)
    return name if not name or there or os.path.splitext(name)[1][1:] else name.rstrip(".") + ending


def what_else(mode: int) -> str:
    """A word for what is no regular file, by its mode."""
    return _OTHER.get(stat.S_IFMT(mode), "special file")


@contextmanager
def replaced(target: Path, renaming: AbstractContextManager[None] | None = None) -> Iterator[IO[bytes]]:
    """A new file that replaces `target`, a `real_file`, and takes its permissions; after an error the old one stays.

    `renaming` is entered while it takes its place, and may refuse that.
    """
    _remove_leftovers(target)
    temporary = target.with_name(f".{_stem(target)}.{os.getpid()}.{threading.get_ident()}.tmp")
    temporary.unlink(missing_ok=True)  # of a process before this one that had the same number
    try:
        with open(temporary, "xb") as file:  # never what somebody else put there, a link perhaps
            lock(file.fileno())
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        with renaming or nullcontext():
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
    except BrokenPipeError:  # whoever read it has had enough
        raise
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}") from None


def open_alone(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a file, to be written from its beginning, that no other process writes in this way; others wait for none.

    What it held is gone only once it is ours.
    """
    file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666), "wb", 0)
    try:
        if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            if not lock(file.fileno()):
                raise StoreError(f"cannot write {path}: another process is writing to it; wait, or name another file")
            os.ftruncate(file.fileno(), 0)
    except BaseException:
        file.close()
        raise
    return file


def lock(file: int) -> bool:
    """Lock an open file as long as it is open; returns whether nobody else has it. True where there are no locks."""
    try:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except (ImportError, OSError):
        return True
    return True


def _stem(target: Path) -> str:
    """A name for what is to replace a file: its own, or a digest of it if that and more would be too long."""
    name = os.fsencode(target.name)
    return target.name if len(name) <= LONGEST else hashlib.sha256(name).hexdigest()


def _remove_leftovers(target: Path) -> None:
    """Remove temporary files of processes that were killed while they replaced the same file."""
    ours = re.compile(re.escape(f".{_stem(target)}.") + r"(\d+)\.(\d+)\.tmp")
    with suppress(OSError):
        for name in os.listdir(target.parent):
            found = ours.fullmatch(name)
            if found and not _lives(int(found[1]), int(found[2])) and _is_idle(target.with_name(name)):
                target.with_name(name).unlink(missing_ok=True)


def _is_idle(path: Path) -> bool:
    """Whether nobody writes to a file: a process of another container may live though its number is unknown here."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link, or somebody else's
        return False
    try:
        return lock(file)
    finally:
        os.close(file)


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
