"""Columns as the documentation has them, in plain Python and without regard to speed; and files read into lists."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from lowregret.stream.batch import Batch
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.text import text_stream
from lowregret.stream.text_format import TextFormat

NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
MISSING = ("", "NA", "NaN", "nan", "null", "None")


class Row(NamedTuple):
    line: int
    label: float
    weight: float
    features: dict[int, float]


def murmur(data: bytes, seed: int = 0) -> int:
    """MurmurHash3_x86_32."""

    def scrambled(word: int) -> int:
        word = word * 0xCC9E2D51 % 2**32
        return (word << 15 | word >> 17) % 2**32 * 0x1B873593 % 2**32

    h, whole = seed, len(data) // 4 * 4
    for at in range(0, whole, 4):
        h ^= scrambled(int.from_bytes(data[at : at + 4], "little"))
        h = ((h << 13 | h >> 19) % 2**32 * 5 + 0xE6546B64) % 2**32
    h ^= scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B % 2**32
    h = (h ^ h >> 13) * 0xC2B2AE35 % 2**32
    return h ^ h >> 16


def slot(name: bytes, bits: int = 18) -> int:
    """Where a feature goes."""
    return (int(name) if name and all(48 <= byte < 58 for byte in name) else murmur(name)) % 2**bits if name else 0


def number(text: str) -> float | None:
    stripped = text.strip(" \t")
    return float(stripped) if NUMBER.fullmatch(stripped) else None


@dataclass
class Field:
    """A field: the text of it, the number it is (if it is one), and whether it is absent."""

    column: str
    text: str
    value: float | None = None
    missing: bool = False

    @property
    def is_infinite(self) -> bool:
        return self.value is not None and math.isinf(self.value)


@dataclass
class Meaning:
    """What columns are for."""

    target: str = ""
    weight: str = ""
    positive: str = ""
    drop: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()
    bits: int = 18
    labelled: bool = True

    def row(self, line: int, fields: Iterable[Field]) -> Row:
        label, weight, features = math.nan, 1.0, dict[int, float]()
        for field in fields:
            if self.target and field.column == self.target:
                label = self.label(field)
            elif self.weight and field.column == self.weight:
                assert field.value is not None or not self.labelled
                weight = 1.0 if field.value is None else field.value
            elif field.column not in self.drop and not field.missing:
                name, value = encoded(field.column), field.value
                if value is None or field.column in self.categorical:
                    name, value = name + b"=" + encoded(field.text), 1.0
                if value != 0.0:
                    at = slot(name, self.bits)
                    features[at] = features.get(at, 0.0) + value
        return Row(line, label, 0.0 if math.isnan(label) else weight, features)

    def is_fault(self, field: Field) -> bool:
        """Whether a field is no label, of the target column, or else too large a number."""
        if self.target and field.column == self.target:
            text = field.value is None and not field.missing and not self.positive
            return self.labelled and (text or field.is_infinite)
        return field.is_infinite

    def label(self, field: Field) -> float:
        assert not self.is_fault(field)
        if field.is_infinite:
            return math.nan
        if not self.positive:
            return math.nan if field.value is None else field.value
        if field.text == self.positive or (field.value is not None and field.value == number(self.positive)):
            return 1.0
        return math.nan if field.missing else -1.0


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def read(
    form: TextFormat, *files: bytes, skip: bool = False, dictionary: Dictionary | None = None
) -> tuple[list[Row], list[str]]:
    """All rows of files with these contents, in small blocks, and all faults, without the folder."""
    with tempfile.TemporaryDirectory() as folder, patch("lowregret.stream.text.BLOCK", 64):
        paths = [Path(folder) / f"{at}.txt" for at in range(len(files))]
        for path, content in zip(paths, files, strict=True):
            path.write_bytes(content)
        batches = text_stream(paths, form, threads=2, skip=skip, dictionary=dictionary).batches()
        return collected(batches)


def collected(batches: Iterable[Batch]) -> tuple[list[Row], list[str]]:
    rows: list[Row] = []
    faults: list[str] = []
    for batch in batches:
        starts, slots, values = batch.rows.indptr, batch.rows.indices, batch.rows.data
        for i in range(len(batch)):
            here = slice(starts[i], starts[i + 1])
            assert list(slots[here]) == sorted(set(slots[here]))
            weight = float(batch.weights[i]) if batch.weights.size else 1.0
            features = dict(zip(slots[here].tolist(), values[here].tolist(), strict=True))
            rows.append(Row(int(batch.lines[i]), float(batch.labels[i]), weight, features))
        faults += [*batch.faults, *([batch.fault] if batch.fault else [])]
    return rows, [re.sub(r"^[^:]*/", "", fault) for fault in faults]


def assert_same(found: list[Row], expected: list[Row]) -> None:
    assert [row.line for row in found] == [row.line for row in expected]
    for one, other in zip(found, expected, strict=True):
        assert one.label == other.label or (math.isnan(one.label) and math.isnan(other.label))
        assert one.weight == other.weight
        assert one.features == pytest.approx(other.features, rel=1e-12, abs=1e-12)


def options(meaning: Meaning) -> dict[str, Any]:
    """What a format needs to be told."""
    return vars(meaning)
