"""Broken text of every format: python -m benchmarks.fuzz --inputs 1000000

Lines are made by breaking good ones, byte by byte and piece by piece, and read with `skip`. Every line must come out as
a row or a fault, or be one that is no row; nothing else may happen. Of the rows, one in sixteen is read again in plain
Python and must be the same. Compiled code checks every index.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.naive_text import naive_date, phrases
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.formats.jsonl import JsonLines
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.formats.vw import VwText
from lowregret.stream.hashing import hash_text
from lowregret.stream.text import text_stream
from lowregret.stream.text_format import TextFormat

LINES = 50_000  # of a file
CHECKED = 16  # one row in so many is compared
BITS = 18

Entries = dict[int, float]
Naive = Callable[[bytes], tuple[float, Entries] | None]  # None: plain Python cannot read it, or no row is expected

_NUMBER = re.compile(rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_PIECES = [
    b"1e999", b"-1e-310", b"9007199254740993.00000000000000000001", b"12345678", b"0" * 30, b"4294967296", b"1e", b".",
    b"-", b"+", b":", b"::", b"|", b"||", b"'", b'"', b'""', b",", b"\t", b" ", b"\r", b"#", b"qid:1", b"\\",
    b"\\u0000", b"\\ud83d\\ude00", b"\\ud800", b"{", b"}", b"[", b"]", b"[[[[[[[[", b"null", b"NaN", b"NA", b"true",
    b"\xef\xbb\xbf", b"\xff", b"\xc3\xa9", b"\x00", b"x" * 100, b"Infinity", b"inf", b"0x1p3", b"1_000",
    b";", b"2024-03-31", b" 14:05", b"\xe2\x80\x99", b"\xc3",
]  # fmt: skip


class Target(NamedTuple):
    """A format, lines of it to break, what must come before them, and how plain Python reads them."""

    form: TextFormat
    seeds: list[bytes]
    header: bytes = b""
    naive: Naive | None = None


# ---- plain reading --------------------------------------------------------------------------------------------------


def slot(name: bytes) -> int:
    return hash_text(np.frombuffer(name, np.uint8), 0) % 2**BITS


def number(text: bytes) -> float | None:
    stripped = text.strip(b" \t")
    return float(stripped) if _NUMBER.fullmatch(stripped) else None


def naive_svm(line: bytes) -> tuple[float, Entries] | None:
    tokens = line.split(b"#")[0].replace(b"\r", b" ").replace(b"\t", b" ").split(b" ")
    words = [token for token in tokens if token]
    if not words:
        return None
    entries: Entries = {}
    for token in words[1:]:
        if not token.startswith(b"qid:"):
            index, _, value = token.partition(b":")
            entries[int(index)] = entries.get(int(index), 0.0) + float(value)
    return float(words[0]), entries


def naive_csv(line: bytes) -> tuple[float, Entries] | None:
    label, entries = math.nan, Entries()
    fields = re.findall(rb'(?:^|,)("(?:[^"]|"")*"|[^,]*)', line.removesuffix(b"\r"))
    for name, field in zip((b"y", b"a", b"b", b"c"), fields, strict=True):
        quoted = field.startswith(b'"')
        text = field[1:-1].replace(b'""', b'"') if quoted else field
        value = number(text)
        missing = not text if quoted else text.strip(b" \t") in (b"", b"NA", b"NaN", b"nan", b"null", b"None")
        if name == b"y":
            label = math.nan if value is None else value
        elif name != b"c" and value is not None:
            _count(entries, slot(name), value)
        elif not missing:
            _count(entries, slot(name + b"=" + text), 1.0)
    return label, entries


def naive_table(line: bytes) -> tuple[float, Entries] | None:
    """Semicolons, decimal commas, a column of text and one of dates."""
    label, entries = math.nan, Entries()
    fields = re.findall(rb'(?:^|;)("(?:[^"]|"")*"|[^;]*)', line.removesuffix(b"\r"))
    for name, field in zip((b"y", b"x", b"t", b"when"), fields, strict=True):
        quoted = field.startswith(b'"')
        text = field[1:-1].replace(b'""', b'"') if quoted else field
        value = number(text.translate(bytes.maketrans(b",.", b".,")))
        if not text if quoted else text.strip(b" \t") in (b"", b"NA", b"NaN", b"null", b"None"):
            continue
        if name == b"y":
            label = math.nan if value is None else value
        elif name == b"x":
            _count(entries, slot(name if value is not None else b"x=" + text), 1.0 if value is None else value)
        else:
            _count_more(entries, name, text.decode(errors="surrogateescape"), "surrogateescape")
    return label, entries


def naive_records(line: bytes) -> tuple[float, Entries] | None:
    """A column of text and one of dates in JSON; what is no text is written as it was."""
    found = json.loads(line.decode(), object_pairs_hook=_Pairs, parse_int=_Written, parse_float=_Written)
    entries = Entries()
    for path, value in (leaf for name, inner in found for leaf in _leaves(name, inner)):
        name = path.encode(errors="surrogatepass")
        if value is None or value == "" or value != value:
            continue
        if name in (b"t", b"when"):
            text = value.text if isinstance(value, _Written) else json.dumps(value) if value in (True, False) else value
            _count_more(entries, name, text, "surrogatepass")
        elif isinstance(value, str):
            _count(entries, slot(name + b"=" + value.encode(errors="surrogatepass")), 1.0)
        else:
            _count(entries, slot(name), float(value))
    return math.nan, entries


class _Written(float):
    """A number of JSON that remembers how it was written."""

    def __init__(self, text: str) -> None:
        self.text = text


def _count_more(entries: Entries, column: bytes, text: str, errors: str) -> None:
    """Count the words of a text, or the parts of a date."""
    for phrase in phrases(text, 2) if column == b"t" else ():
        _count(entries, slot(b"t=" + phrase.encode(errors=errors)), 1.0)
    for name, value in naive_date(text).items() if column == b"when" else ():
        _count(entries, slot(b"when." + name.encode()), value)


def naive_jsonl(line: bytes) -> tuple[float, Entries] | None:
    found = json.loads(line.decode(), object_pairs_hook=_Pairs, parse_int=float, parse_float=float)
    label, entries = math.nan, Entries()
    for path, value in (leaf for name, inner in found for leaf in _leaves(name, inner)):
        name = path.encode(errors="surrogatepass")
        if name == b"y":
            label = math.nan if value in (None, "") else float(value)
        elif isinstance(value, str) and value:
            _count(entries, slot(name + b"=" + value.encode(errors="surrogatepass")), 1.0)
        elif isinstance(value, (float, bool)) and value == value:
            _count(entries, slot(name), float(value))
    return label, entries


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON, names that occur twice included."""


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        pairs = value if isinstance(value, _Pairs) else [(str(k), inner) for k, inner in enumerate(value)]
        for name, inner in pairs:
            yield from _leaves(f"{path}.{name}", inner)
    else:
        yield path, value


def _count(entries: Entries, at: int, value: float) -> None:
    if value != 0.0:
        entries[at] = entries.get(at, 0.0) + value


# ---- formats --------------------------------------------------------------------------------------------------------

TARGETS = {
    "svm": Target(
        SvmText(),
        [
            b"1 1:0.5 7:1 12345:-3.25e-2",
            b"-1 qid:3 2:1 9:.5 # a comment",
            b"3.5",
            b"+1 5:1 3:1 5:2",
            b"0 1:9007199254740993 2147483647:1e22",
            b"1 " + b" ".join(b"%d:1" % k for k in range(1, 40)),
            b"",
        ],
        naive=naive_svm,
    ),
    "vw": Target(
        VwText(),
        [
            b"1 2.5 'tag|user age:3 name_x |item:0.5 price:1e-3 red",
            b"-1 | a b:2 c:3.5e2 12:1 12",
            b"|a x:1 y |b z",
            b"1 1.0 |f 1:2 2:.5 3:-7 long_feature_name:0.25",
            b"0|a b",
            b"",
        ],
    ),
    "csv": Target(
        DelimitedText(target="y", categorical=("c",)),
        [
            b"1,2.5,text,3",
            b'-1,"quoted, with comma",,NA',
            b'0.5,1e-3,"a ""doubled"" quote","x"',
            b" 7 ,\t8,nan,9\r",
            b",NaN,null,None",
            b"1,12345678901234567890,\xc3\xa9,z",
            b"",
        ],
        b"y,a,b,c\n",
        naive_csv,
    ),
    "jsonl": Target(
        JsonLines(target="y"),
        [
            b'{"y": 1, "a": 2.5, "b": "text"}',
            b'{"y":-1,"deep":{"er":{"est":[1,2,{"x":null}]}},"t":true,"f":false}',
            b'{"a":"\\u00e9\\n\\"quoted\\"","b":"\\ud83d\\ude00","c":""}',
            b'{"y": 1e-3, "a": 1, "a": 2, "12": 5}',
            b" {} ",
            b'{"y":null,"list":[],"obj":{},"n":-0.0,"e":1E+5}',
            b"",
        ],
        naive=naive_jsonl,
    ),
    "table": Target(
        DelimitedText(target="y", text=("t",), ngrams=2, date=("when",), decimal=",", delimiter=";"),
        [
            b"1;2,5;Some words, and SOME more;2024-03-31 14:05",
            b'-1;"3,25";"a ""doubled"" quote; don\'t - well-known";2024-02-29T23:59:59.123+05:30',
            b"0,5;1e-3;caf\xc3\xa9 \xc3\x84\xe2\x80\x99s \xe2\x80\x9cso\xe2\x80\x9d \xe4\xbd\xa0;1999-12-31\r",
            b" 7 ;12345678901234567890,5;x;",
            b";NA;;2000-01-01 00:00Z",
            b"",
        ],
        b"y;x;t;when\n",
        naive_table,
    ),
    "records": Target(
        JsonLines(text=("t",), ngrams=2, date=("when",)),
        [
            b'{"t": "Some words, and SOME more", "when": "2024-03-31 14:05"}',
            b'{"t":"it\\u2019s \\u00c4\\n\\ud83d\\ude00 caf\xc3\xa9","when":"2024-02-29T23:59:59.123+05:30","x":1}',
            b'{"t":1.5,"when":null,"x":"a"}',
            b'{"t":true,"when":"","t":"twice"}',
            b" {} ",
        ],
        naive=naive_records,
    ),
    "late": Target(
        DelimitedText(target="y", delay_column="known", time_column="at"),
        [
            b"1,2.5,2024-03-31 14:05,2024-03-31 14:04",
            b'-1,"x",3600,2024-02-29T23:59:59.123+05:30',
            b",3,,1e9",
            b"1,1,0.5,12345678901234567890",
        ],
        b"y,a,known,at\n",
    ),
    "late-records": Target(
        JsonLines(target="y", delay_column="rows"),
        [b'{"rows": 12, "y": 1, "a": 2.5}', b'{"y":-1,"rows":0,"deep":{"rows":3}}', b'{"rows":null}', b" {} "],
    ),
}


# ---- breaking -------------------------------------------------------------------------------------------------------


def broken(rng: random.Random, seeds: list[bytes]) -> bytes:
    """A line, damaged up to four times, or not at all."""
    line = bytearray(rng.choice(seeds))
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 4))):
        at = rng.randint(0, len(line))
        end = min(len(line), at + rng.choice((1, 1, 2, 5, 20)))
        match rng.randrange(6):
            case 0:
                line[at:at] = rng.choice(_PIECES)
            case 1:
                line[at:end] = rng.choice(_PIECES)
            case 2:
                del line[at:end]
            case 3:
                line[at:at] = line[at:end]
            case 4:
                line[at:end] = bytes(rng.randrange(256) for _ in range(end - at))
            case _:
                other = rng.choice(seeds)
                line[at:] = other[rng.randint(0, len(other)) :]
    return bytes(line).replace(b"\n", b" ")


# ---- reading --------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """Lines, by what became of them; `compared` rows were read twice."""

    lines: int = 0
    rows: int = 0
    faults: int = 0
    compared: int = 0


def check_lines(target: Target, lines: list[bytes], folder: Path) -> Counts:
    """Read these lines, and make sure of all that must hold."""
    path = folder / "data"
    path.write_bytes(target.header + b"\n".join(lines) + b"\n")
    first = 1 + target.header.count(b"\n")
    rows: list[int] = []
    faults: list[int] = []
    compared = 0
    for batch in text_stream(path, target.form, 2, skip=True).batches():
        assert batch.fault is None
        rows += (batch.lines - first).tolist()
        faults += [int(fault.removeprefix(f"{path}:").split(":")[0]) - first for fault in batch.faults]
        x = batch.rows
        assert np.isfinite(batch.labels[~np.isnan(batch.labels)]).all()
        assert np.isfinite(batch.times).all()
        assert not batch.lags.size or np.all((batch.lags >= 0) | np.isnan(batch.labels))
        for i in range(0, len(batch) if target.naive else 0, CHECKED):
            here = slice(x.indptr[i], x.indptr[i + 1])
            entries = dict(zip(x.indices[here].tolist(), x.data[here].tolist(), strict=True))
            _compare(target, lines[int(batch.lines[i]) - first], float(batch.labels[i]), entries)
            compared += 1
    assert len({*rows, *faults}) == len(rows) + len(faults), "a line is a row or a fault, once"
    for at in set(range(len(lines))) - {*rows, *faults}:
        assert not lines[at].split(b"#")[0].strip(b" \t\r\xef\xbb\xbf"), f"{lines[at]!r} got lost"
    return Counts(len(lines), len(rows), len(faults), compared)


def _compare(target: Target, line: bytes, label: float, entries: Entries) -> None:
    assert target.naive
    try:
        wanted = target.naive(line)
    except (ValueError, RecursionError) as error:
        raise AssertionError(f"{line!r} was read as {label, entries}, but in plain Python: {error}") from error
    assert wanted is not None, f"{line!r} was read as {label, entries}, but is no row"
    same = repr(label) == repr(wanted[0]) and entries.keys() == wanted[1].keys()
    for at, value in entries.items() if same else ():
        other = wanted[1][at]
        same &= value == other or math.isclose(value, other, rel_tol=1e-12) or not math.isfinite(other)
    assert same, f"{line!r} was read as {label, entries}, but is {wanted}"


def run(name: str, inputs: int, seed: int) -> Counts:
    """Read this many broken lines of a format."""
    rng = random.Random(seed)
    target, counts = TARGETS[name], Counts()
    with tempfile.TemporaryDirectory() as folder:
        while counts.lines < inputs:
            lines = [broken(rng, target.seeds) for _ in range(min(LINES, inputs - counts.lines))]
            more = check_lines(target, lines, Path(folder))
            counts = Counts(*(a + b for a, b in zip(counts, more, strict=True)))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1_000_000, help="lines of each format")
    parser.add_argument("--formats", nargs="*", choices=list(TARGETS), default=list(TARGETS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for name in options.formats:
        begin = time.perf_counter()
        counts = run(name, options.inputs, options.seed)
        print(f"{name}: {counts._asdict()} in {time.perf_counter() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    main()
