"""Where bytes come from: files, patterns, standard input, compressed or not, cut into blocks of whole lines."""

from __future__ import annotations

import glob
import io
import os
import select
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from lowregret.errors import DataError
from lowregret.stream.follow import Follow, Growing, between
from lowregret.stream.inflate import Inflated, is_open, kind_of
from lowregret.stream.signature import LENGTH, no_rows

SLACK = 64  # bytes after the text that parsers may look at
STEPS = 8  # a block is at most this part of the text before it, and at least this part of the largest
LONGEST_LINE = 1 << 30  # of a line
STDIN = "-"
CACHE = "lrc"  # the format of caches, and how their names end
TRIES = 5  # at finding files that a path led to
PATIENCE = 0.1  # seconds between looks whether anybody still waits for a pipe


def expand(paths: Any) -> list[str]:
    """The files that these names and patterns stand for, in order; `-` is standard input."""
    try:
        names = [os.fspath(p) for p in ([paths] if isinstance(paths, (str, os.PathLike)) else paths)]
    except TypeError:
        raise DataError(
            f"rows cannot be read from a {type(paths).__name__}: give names of files, or a table that hands over Arrow "
            "data, such as one of pandas or polars (a lazy one: collect it)"
        ) from None
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


def beside(path: str) -> str:
    """The name of the cache that `--cache` keeps of a file."""
    return f"{path}.{CACHE}"


def is_pipe(path: str) -> bool:
    """Whether bytes come only once: standard input, or what is neither a file nor a folder."""
    return path == STDIN or (os.path.exists(path) and not (os.path.isfile(path) or os.path.isdir(path)))


class Source:
    """One file, opened: its bytes decompressed, and how far its own bytes have been read.

    `stop`, once set, ends a pipe that has nothing to give, and so does `follow`, with which a file ends only then. A
    `failure` is kept until all bytes before it are read.
    """

    def __init__(self, name: str, stop: threading.Event | None = None, follow: Follow | None = None) -> None:
        self.name = "standard input" if name == STDIN else name
        self.failure: DataError | None = None
        self._begun = False
        try:
            raw: BinaryIO = os.fdopen(os.dup(sys.stdin.fileno()), "rb", 0) if name == STDIN else open(name, "rb", 0)  # noqa: SIM115
        except IsADirectoryError:
            raise DataError(f"{name} is a folder: name the files in it, such as '{Path(name, '*')}'") from None
        except OSError as error:
            raise DataError(f"cannot read {self.name}: {error.strerror or error}") from None
        self._raw = raw
        self.found = os.fstat(raw.fileno())
        self.size = self.found.st_size if raw.seekable() else 0
        path = None if name == STDIN else name
        growing = None if follow is None else Growing(path, raw.fileno(), self.name, follow)
        self._counted = _Counted(raw, stop or threading.Event(), growing)
        try:
            kind = kind_of(self._counted.look())
        except OSError as error:
            self.close()
            raise DataError(f"cannot read {self.name}: {error.strerror or error}") from None
        if kind is not None and growing and raw.seekable():
            self.close()
            raise DataError(f"{name} is compressed: only text as it stands can be followed while it is written")
        plain = io.BufferedReader(self._counted, 1 << 20)
        self._read = plain.readinto1 if kind is None else Inflated(cast(BinaryIO, plain), kind).readinto

    @property
    def position(self) -> int:
        """Bytes of the file itself that have been read."""
        return self._counted.count

    @property
    def broken_off(self) -> bool:
        """Whether it ended, or is to end, before whoever writes it said so: its last line may be half a line."""
        return self._counted.broken_off

    @property
    def over(self) -> bool:
        """Whether another file is to be read in its place, or the same from its beginning."""
        return self._counted.growing is not None and self._counted.growing.over

    def leave_out(self, rest: bytes) -> None:
        """Say that what is left of a file that is followed is no whole line, and is left out."""
        if self._counted.growing is not None and self.broken_off:
            self._counted.growing.leave_out(rest)

    def readinto(self, view: memoryview) -> int:
        """Fill `view` with decompressed bytes as far as they are at hand; 0 at the end, or at a failure."""
        filled, begins = 0, not self._begun
        try:
            while filled < len(view) and self.failure is None:
                count = self._read(view[filled:])
                if not count:
                    self._require_whole()
                    break
                filled += count
                if not (self.size and self._counted.growing is None) and not self._counted.ready(0.0):
                    break
        except MemoryError:
            raise
        except Exception as error:  # each decompressor has its own
            self.failure = DataError(f"{self.name} is damaged or cut short: {error or type(error).__name__}")
        if begins and filled:
            self._begun = True
            self._require_rows(bytes(view[:filled][:LENGTH]))
        return filled

    def _require_whole(self) -> None:
        """Raise an error at the end of a file that was longer: somebody cut it meanwhile, amid a line perhaps."""
        if not self.size or self._counted.growing is not None:
            return
        now, before = os.fstat(self._raw.fileno()).st_size, max(self.size, self._raw.tell())
        if now < before:
            raise EOFError(f"it had {before:,} bytes, and {now:,} once they were read")

    def _require_rows(self, head: bytes) -> None:
        """Refuse what is no text, compressed or not."""
        what = no_rows(head)
        if what is not None:
            raise DataError(f"{self.name} holds no rows: it is {what}")

    @contextmanager
    def known(self) -> Iterator[None]:
        """Keep the file from being taken for another: its number is not given to one while it is open somewhere."""
        held = os.dup(self._raw.fileno())
        try:
            yield
        finally:
            os.close(held)

    def close(self) -> None:
        self._raw.close()


def sources(paths: tuple[str, ...], stop: threading.Event, follow: Follow | None = None) -> Iterator[Source]:
    """Files in order, opened one by one; with `follow` the last one is read as it grows, and whatever replaces it."""
    for path in paths[:-1]:
        yield Source(path, stop)
    source = Source(paths[-1], stop, follow)
    while follow is not None:
        with source.known():
            yield source
            successor = _successor(paths[-1], stop, follow) if source.over else None
            if successor is None:
                return
            missed = _missed(paths[-1], source.found, successor, stop, follow)
            source = successor
        yield from missed
    yield source


def _successor(path: str, stop: threading.Event, follow: Follow) -> Source | None:
    """The file that a path leads to, as soon as it leads to one; None if nothing more is wanted."""
    while not (follow.ended or stop.is_set()):
        try:
            return Source(path, stop, follow)
        except DataError as error:
            if not isinstance(error.__context__, FileNotFoundError):
                raise
        follow.wait()
    return None


def _missed(path: str, before: os.stat_result, source: Source, stop: threading.Event, follow: Follow) -> list[Source]:
    """The files that a path led to since it led to the one before, if they are still there; else says what may lack."""
    if os.path.samestat(before, source.found):  # which was cut
        return []
    found: list[Source] | None = None
    for _ in range(TRIES):
        names = between(path, before, source.found)
        found = None if names is None else _opened(names, stop)
        if found is not None:
            break
        follow.wait()  # somebody may be renaming them
    else:
        why = "the file before is no longer beside it, or names do not tell which came after it"
        follow.say(f"what {path} was in between, if anything, is not read: {why}")
    for other in found or ():
        follow.say(f"{path} was replaced more than once: reading {other.name} first")
    return found or []


def _opened(names: list[tuple[str, os.stat_result]], stop: threading.Event) -> list[Source] | None:
    """Files that were found under these names; None if one of them has another name by now."""
    found: list[Source] = []
    for name, known in names:
        if not os.path.exists(name) or not os.path.samestat((last := Source(name, stop)).found, known):
            for source in found:
                source.close()
            return None
        found.append(last)
    return found


class _Counted(io.RawIOBase):
    """A raw file that counts what is read, and can tell how it begins."""

    def __init__(self, raw: BinaryIO, stop: threading.Event, growing: Growing | None = None) -> None:
        self._raw, self._stop, self.growing, self.count = raw, stop, growing, 0
        self._is_pipe = not raw.seekable()
        self.broken_off = False
        self._head = b""

    def readable(self) -> bool:
        return True

    def look(self) -> bytes:
        """The first bytes, as many as it takes to tell what they are; they will be read all the same."""
        while is_open(self._head) and self._wait() and (more := self._raw.read(8)):
            self._head += more
        self.count = len(self._head)
        return self._head

    def ready(self, seconds: float) -> bool:
        """Whether there is something to read, or the end, within this time; of a file that is followed, at once."""
        if self.growing is not None and not self._is_pipe:
            return os.fstat(self._raw.fileno()).st_size > self._raw.tell()
        return bool(select.select([self._raw], [], [], seconds)[0])

    def readinto(self, buffer: Any) -> int:
        if self._head:
            count = min(len(self._head), len(buffer))
            buffer[:count], self._head = self._head[:count], self._head[count:]
            return count
        count = self._read(buffer) if self._wait() else 0
        self.count += count
        return count

    def _read(self, buffer: Any) -> int:
        """Bytes of the file; of one that is followed, those to come, unless it is over."""
        while not (count := cast(Any, self._raw).readinto(buffer)) and self.growing is not None and not self._is_pipe:
            if self._stop.is_set() or not self.growing.waits(self._raw.tell()):
                self.broken_off = True
                break
        return cast(int, count)

    def _wait(self) -> bool:
        """Wait for a pipe; False if it is no longer wanted, nor a file that is followed."""
        while self._is_pipe and not self.ready(PATIENCE):
            if self._stop.is_set() or self._is_enough():
                return False
        return not self._is_enough()

    def _is_enough(self) -> bool:
        """Whether somebody has ended what is followed."""
        ended = self.growing is not None and self.growing.follow.ended
        self.broken_off = self.broken_off or ended
        return ended


@dataclass
class Block:
    """Whole lines of one file: text[:end], the last byte a line feed, with slack behind."""

    text: bytearray
    end: int
    source: Source
    first: bool  # of its file
    position: int  # bytes of the file itself read so far


def blocks(source: Source, size: int, buffer: Callable[[], bytearray]) -> Iterator[Block]:
    """Cut a source into blocks that grow up to about `size` bytes. `buffer` gives memory for each, of any length.

    A block is at least an eighth of the largest and at most an eighth of the text before it: files that are small take
    little memory, and rows come early.

    At a failure of the source all whole lines before it come first; of one that is broken off, only whole lines come.
    Memory not used in the end goes back unseen.
    """
    rest, first, read = b"", True, 0
    while True:
        text = buffer()
        end, more = _fill(source, text, rest, min(size, max(size // STEPS, read // STEPS, 1)))
        whole = not more and source.failure is None and not source.broken_off
        cut = end if whole else text.rfind(b"\n", 0, end) + 1
        rest = bytes(memoryview(text)[cut:end])
        if whole and end and text[end - 1] != 10:
            text[end] = 10
            cut = end + 1
        read += cut
        if cut or (first and whole):
            text[cut : cut + SLACK] = b"\n" * SLACK
            yield Block(text, cut, source, first, source.position)
            first = False
        if source.failure:
            raise source.failure
        if not more:
            source.leave_out(rest)
            return


def _fill(source: Source, text: bytearray, rest: bytes, size: int) -> tuple[int, bool]:
    """Put `rest` and what comes next into the buffer, until it holds a line feed; (its length, is there more?)."""
    wanted = max(size, 2 * len(rest))
    _make_room(text, wanted)
    text[: len(rest)] = rest
    end = len(rest)
    while True:
        with memoryview(text) as view:
            count = source.readinto(view[end:wanted])
        end += count
        if count == 0 or source.failure:
            return end, False
        if text.rfind(b"\n", end - count, end) >= 0:
            return end, True
        if end == wanted:
            if wanted >= LONGEST_LINE:
                raise DataError(f"{source.name} has a line longer than {LONGEST_LINE} bytes: is it text?")
            wanted *= 2
            _make_room(text, wanted)


def _make_room(text: bytearray, size: int) -> None:
    """Make a buffer hold this many bytes, with slack; one that was used for a long line may be longer."""
    text.extend(bytes(max(size + 2 * SLACK - len(text), 0)))
