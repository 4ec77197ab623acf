"""The formats of data, a file each: how its files are named and begin, what reads them, and which options fit.

Importing this is light. The file of a format is imported when something about it is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

HEAD = 1 << 16  # bytes to tell a format by
NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"  # as formats of text write one


def _never(line: bytes) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A format of data, as `--format` and `read(format=…)` name it: the `FORMAT` of its file."""

    name: str  # that of its file
    endings: tuple[str, ...]  # of names of files, its own name among them
    reader: Any  # a class of parts whose `from_options` makes one
    options: tuple[str, ...]  # that fit
    rows: str  # what they look like
    features: str  # what becomes of them
    begins: Callable[[bytes], bool] = _never  # whether a line is of this format and of no other of its rank
    rank: int = 0  # formats of a lower one are asked before whether a line is theirs
    magic: tuple[bytes, ...] = ()  # how files begin that are no text
    certain: bool = False  # whether how a file begins leaves no doubt
    numbered: bool = False  # whether labels are numbers, always, and features have no columns
    brings_form: bool = False  # whether files say themselves how their rows were read
    settled: Mapping[str, Any] = field(default_factory=dict)  # options that have this value if nothing is said
    sample: str = ""  # two rows of text, of a table with the columns y, a and b

    def reads_as(self, part: Any) -> bool:
        """Whether a part is one that reads this format."""
        return type(part) is self.reader and all(getattr(part, name) == value for name, value in self.settled.items())

    @property
    def owns_reader(self) -> bool:
        """Whether the class of its parts is in its own file, not in that of a format that is read alike."""
        return bool(self.reader.__module__ == f"{__name__}.{self.name}")


class Formats(Mapping[str, Format]):
    """The formats by name, one for each file in this folder; a file is imported when its format is looked up."""

    def __iter__(self) -> Iterator[str]:
        return (module.name for module in iter_modules(__path__))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, name: str) -> Format:
        if name not in list(self):
            raise KeyError(name)
        found: Format = import_module(f"{__name__}.{name}").FORMAT
        return found


FORMATS = Formats()


def by_ending(ending: str) -> str | None:
    """The format of files whose names end like this."""
    if ending in list(FORMATS):  # then no other need be imported
        return ending
    return next((form.name for form in FORMATS.values() if ending in form.endings), None)


def by_content(head: bytes) -> str:
    """The format of data that begin like this: csv, if nothing else."""
    forms = sorted(FORMATS.values(), key=lambda form: form.rank)
    for form in forms:
        if head.startswith(form.magic):
            return form.name
    if len(head) >= HEAD:  # perhaps cut within a word
        head = head.rsplit(maxsplit=1)[0]
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        for form in forms:
            if form.begins(line):
                return form.name
    return "csv"


def is_binary(head: bytes) -> bool:
    """Whether data that begin like this are of a format that is no text."""
    return any(head.startswith(form.magic) for form in FORMATS.values())
