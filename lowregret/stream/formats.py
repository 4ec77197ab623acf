"""The formats of data, one record each: names of files, how they begin, what reads them, and which options fit.

Importing this is light. The part that reads a format is imported when it is needed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

HEAD = 1 << 16  # bytes to tell a format by
_COLUMNS = (
    *("target", "weight", "drop", "categorical", "text", "ngrams", "date"),
    *("positive", "interactions", "bits", "classes"),
)
_NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SVM_LINE = re.compile(rb"\s*%b((?:\s+(?:qid|\d+):\S+)*)\s*(?:#.*)?" % _NUMBER)
_TABLE = "a field that is a number is a value, any other text a category"


def _is_object(line: bytes) -> bool:
    return line.lstrip().startswith(b"{")


def _has_bar(line: bytes) -> bool:
    return b"|" in line and not _is_object(line)


def _has_entries(line: bytes) -> bool:
    found = None if b"|" in line else _SVM_LINE.fullmatch(line)
    return bool(found and found[1])


def _is_delimited(line: bytes) -> bool:
    """Neither of the others, nor a number alone, which may be a label without features."""
    return not (_is_object(line) or b"|" in line or _SVM_LINE.fullmatch(line))


def _never(line: bytes) -> bool:
    return False


@dataclass(frozen=True)
class Format:
    """A format of data, as `--format` and `read(format=…)` name it."""

    name: str
    endings: tuple[str, ...]  # of names of files
    part: str  # module:Class in this room, a part whose `from_options` makes it
    options: tuple[str, ...]  # that fit
    rows: str  # what they look like
    features: str  # what becomes of them
    begins: Callable[[bytes], bool] = _never  # whether a line is of this format and of no other
    magic: tuple[bytes, ...] = ()  # how files begin that are no text
    certain: bool = False  # whether how a file begins leaves no doubt
    numbered: bool = False  # whether labels are numbers, always, and features have no columns
    settled: Mapping[str, Any] = field(default_factory=dict)  # options that have this value if nothing is said
    sample: str = ""  # two rows of text, of a table with the columns y, a and b

    def load(self) -> Any:
        """Import the class of parts that read it."""
        module, _, name = self.part.partition(":")
        return getattr(import_module(f"lowregret.stream.{module}"), name)

    def reads_as(self, part: Any) -> bool:
        """Whether a part is one that reads this format."""
        own = type(part).__name__ == self.part.partition(":")[2]
        return own and all(getattr(part, name) == value for name, value in self.settled.items())


FORMATS = {
    form.name: form
    for form in (
        Format(
            "svm",
            ("svm", "libsvm", "svmlight"),
            "svm:SvmText",
            ("positive", "bits", "one_based", "classes"),
            "LIBSVM text: `label index:value … # comment`; `qid:n` is skipped",
            "the index is the weight's number as it stands; in any order, equal ones added up",
            begins=_has_entries,
            numbered=True,
            sample="+1 1:0.5 2:1\n-1 2:1\n",
        ),
        Format(
            "vw",
            ("vw",),
            "vw:VwText",
            ("positive", "bits", "interactions", "classes"),
            "Vowpal Wabbit text: `label importance 'tag|namespace:scale name:value …`",
            "names hashed as Vowpal Wabbit does",
            begins=_has_bar,
            numbered=True,
            sample="+1 |a b:0.5 c\n-1 |a c\n",
        ),
        Format(
            "csv",
            ("csv",),
            "delimited:DelimitedText",
            (*_COLUMNS, "delimiter", "decimal", "header"),
            "a header, then one row a line; RFC 4180 quotes",
            _TABLE,
            begins=_is_delimited,
            sample="y,a,b\n1,0.5,x\n-1,1,z\n",
        ),
        Format(
            "tsv",
            ("tsv", "tab"),
            "delimited:DelimitedText",
            (*_COLUMNS, "delimiter", "decimal", "header"),
            "as csv, with tabs",
            _TABLE,
            settled={"delimiter": "\t"},
            sample="y\ta\tb\n1\t0.5\tx\n-1\t1\tz\n",
        ),
        Format(
            "jsonl",
            ("jsonl", "ndjson"),
            "jsonl:JsonLines",
            _COLUMNS,
            "one JSON object a line",
            "nested objects are columns `outer.inner`, arrays `name.0`, `name.1`",
            begins=_is_object,
            certain=True,
            sample='{"y": 1, "a": 0.5, "b": "x"}\n{"y": -1, "a": 1, "b": "z"}\n',
        ),
        Format(
            "parquet",
            ("parquet", "pq"),
            "arrow:TableFormat",
            _COLUMNS,
            "a table (`pip install 'lowregret[arrow]'`)",
            _TABLE,
            magic=(b"PAR1",),
            certain=True,
        ),
        Format(
            "arrow",
            ("arrow", "arrows", "feather", "ipc"),
            "arrow:TableFormat",
            _COLUMNS,
            "a table (`pip install 'lowregret[arrow]'`), or one in memory",
            _TABLE,
            magic=(b"ARROW1", b"\xff\xff\xff\xff"),
            certain=True,
        ),
    )
}
BINARY = tuple(mark for form in FORMATS.values() for mark in form.magic)


def by_ending(ending: str) -> str | None:
    """The format of files whose names end like this."""
    return next((form.name for form in FORMATS.values() if ending in form.endings), None)


def by_content(head: bytes) -> str:
    """The format of data that begin like this: csv, if nothing else."""
    for form in FORMATS.values():
        if head.startswith(form.magic):
            return form.name
    if len(head) >= HEAD:  # perhaps cut within a word
        head = head.rsplit(maxsplit=1)[0]
    for line in head.removeprefix(b"\xef\xbb\xbf").splitlines():
        if not line.strip() or line.lstrip().startswith(b"#"):
            continue
        for form in FORMATS.values():
            if form.begins(line):
                return form.name
    return "csv"
