"""One table with awkward fields, written in every format that has columns, for fuzzers."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.nasty import Draw

NAMES = ["a", "b", "c d", "é", 'q"q', "x=y", "a.b", "0", "γ^2", "n,m", "|", "long" * 20]
WORDS = [
    "x",
    "y",
    "NA",
    "nan",
    "null",
    "é ü",
    "日本",
    'say "x"',
    "a,b",
    " lead",
    "trail ",
    "-",
    "+",
    "e5",
    "0x1",
    "1_0",
]
WORDS += ["1,5", "%", "a=b", "#", "'", "\\n", "\\", "TRUE", "None", "3:4", "|", "ſ", "😀", "a\u0301", "x" * 300]
NUMBERS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    1e5,
    1e-5,
    0.1,
    1 / 3,
    2.0**53,
    2.0**53 + 2,
    1e22,
    1e23,
    5e-324,
    2.2250738585072014e-308,
]
NUMBERS += [1.7976931348623157e3, 123456789012345680.0, 9007199254740993.0, 1e15, 0.30000000000000004, 4.35]
PACKED: dict[str, Callable[[bytes], bytes]] = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
TEXT_FORMATS = ("csv", "tsv", "jsonl")
FORMATS = (*TEXT_FORMATS, "parquet", "arrow")


class Table(NamedTuple):
    """Columns by name, and what each holds: "number", "name", "code" (whole numbers), "date" or "words"."""

    kinds: dict[str, str]
    rows: list[dict[str, Any]]

    def part(self, begin: int, end: int | None = None) -> Table:
        return Table(self.kinds, self.rows[begin:end])

    def of_kind(self, kind: str) -> list[str]:
        return [name for name, own in self.kinds.items() if own == kind]


# ---- drawing --------------------------------------------------------------------------------------------------------


def some_table(r: Draw, count: int, label: Callable[[dict[str, Any]], Any], awkward: bool = True) -> Table:
    """Rows whose label, in column `y`, this function tells; column `w` has weights, `late` lags in rows."""
    chosen = r.sample(NAMES, r.randint(1, 6))
    kinds = {name: r.choice(["number", "number", "number", "name", "code", "date", "words"]) for name in chosen}
    begins = {name: r.choice([0, 0, 0, r.randrange(count + 1)]) for name in kinds}  # columns that are met later
    rows = []
    for at in range(count):
        row = {n: _field(r, k, awkward) if at >= begins[n] and r.random() < 0.9 else None for n, k in kinds.items()}
        row["y"] = label(row) if r.random() < 0.97 else None
        row["w"] = r.choice([1.0, 1.0, 1.0, 0.0, 0.0, 0.5, 3.0])
        row["late"] = r.choice([0, 0, 1, 2, 7, 40])
        rows.append(row)
    order = [*kinds, "y", "w", "late"]
    r.shuffle(order)
    known = kinds | {"y": "label", "w": "number", "late": "code"}
    return Table({name: known[name] for name in order}, rows)


def _field(r: Draw, kind: str, awkward: bool) -> Any:
    if kind == "number":
        return r.choice(NUMBERS) if awkward and r.random() < 0.2 else round(r.gauss(0, 1), r.choice([0, 1, 3, 17]))
    if kind == "code":
        return r.choice([0, 1, 7, -3, 10**6, 2**53 + 1, 2**63 - 1, -(2**63)]) if awkward else r.randrange(4)
    if kind == "date":
        day = f"{r.choice([1969, 2000, 2024])}-{r.randint(1, 12):02d}-{r.randint(1, 28):02d}"
        return day + r.choice(["", f" {r.randint(0, 23):02d}:05", "T14:05:59.5+02:00", "T00:00:00Z"])
    if kind == "words":
        return " ".join(r.choice(WORDS) for _ in range(r.randint(1, 5)))
    return r.choice(WORDS if awkward else WORDS[:2])


# ---- writing --------------------------------------------------------------------------------------------------------


def write(r: Draw, table: Table, folder: Path, name: str, form: str, packed: bool = False) -> str:
    """Write a table in a format; numbers are written in one of the ways that mean the same. Returns the path."""
    path = folder / f"{name}.{form}"
    if form in TEXT_FORMATS:
        text = _json_lines(r, table) if form == "jsonl" else _delimited(r, table, "\t" if form == "tsv" else ",")
        data = text.encode()
        if packed:
            ending = r.choice(list(PACKED))
            path, data = folder / f"{name}.{form}.{ending}", PACKED[ending](data)
        path.write_bytes(data)
        return str(path)
    import pyarrow as pa
    from pyarrow import feather, parquet

    arrow = pa.table({column: _array(r, table, column, kind) for column, kind in table.kinds.items()})
    if form == "parquet":
        parquet.write_table(arrow, path, row_group_size=r.choice([1, 7, 1000]))
    else:
        feather.write_feather(arrow, path, compression="uncompressed")
    return str(path)


def _array(r: Draw, table: Table, column: str, kind: str) -> Any:
    import pyarrow as pa

    values = [row[column] for row in table.rows]
    if kind in ("number", "code"):
        return pa.array(values, pa.float64() if kind == "number" else pa.int64())
    if kind == "label" and all(v is None or isinstance(v, int) for v in values):
        return pa.array(values, pa.int64())
    if kind == "label" and not any(isinstance(v, str) for v in values):
        return pa.array(values, pa.float64())
    texts = pa.array(values, r.choice([pa.string(), pa.large_string()]))
    return texts.dictionary_encode() if r.random() < 0.3 else texts


def _json_lines(r: Draw, table: Table) -> str:
    def shown(value: Any) -> str:
        if isinstance(value, float):
            return _number(r, value).removeprefix("+")
        return json.dumps(value, ensure_ascii=r.random() < 0.5)

    lines = []
    for row in table.rows:
        fields = [(name, row[name]) for name in table.kinds if row[name] is not None or r.random() < 0.5]
        lines.append("{" + r.choice([",", " , "]).join(f"{json.dumps(n)}:{shown(v)}" for n, v in fields) + "}\n")
    return "".join(lines)


def _delimited(r: Draw, table: Table, delimiter: str) -> str:
    def field(value: Any) -> str:
        if value is None:
            return r.choice(["", "", "NA", "NaN", "null"])
        text = _number(r, value) if isinstance(value, float) else str(value)
        special = text in ("NA", "NaN", "nan", "null", "None") or text != text.strip() or '"' in text
        quoted = special or delimiter in text or r.random() < 0.1
        return '"' + text.replace('"', '""') + '"' if quoted else text

    end = r.choice(["\n", "\r\n"])
    lines = [delimiter.join('"' + name.replace('"', '""') + '"' for name in table.kinds)]
    lines += [delimiter.join(field(row[name]) for name in table.kinds) for row in table.rows]
    return end.join(lines) + r.choice([end, end, ""])


def _number(r: Draw, value: float) -> str:
    """A way to write a number, of which there are many."""
    ways = [repr(value), f"{value:.17g}", f"{value:.20e}"]
    if value == math.floor(value) and abs(value) < 1e16:
        ways += [f"{value:.0f}", f"{value:.1f}"]
    if 1e-5 < abs(value) < 1e15:
        ways += [f"{value:.25f}"]
    text = r.choice(ways)
    return f"+{text}" if r.random() < 0.1 and not text.startswith("-") else text
