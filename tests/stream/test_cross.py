"""Products of groups against all combinations counted one by one."""

from __future__ import annotations

import random
import time
from itertools import combinations_with_replacement, groupby, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import read
from lowregret.compile.kernel import kernel
from lowregret.errors import PartError
from lowregret.stream import text
from lowregret.stream.buffers import GROUP, Buffers
from lowregret.stream.cross import NO_ROOM, NOTHING, Crossing, append_products, begin_group, begin_row

BITS = 20
PRIME = 16777619
Groups = list[tuple[int, list[tuple[int, float]]]]

_entries = st.tuples(st.integers(0, 2**BITS - 1), st.sampled_from([1.0, -2.0, 0.5, 3.0]))
_groups = st.lists(st.tuples(st.integers(0, 3), st.lists(_entries, max_size=4)), max_size=5)
_products = st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=3), max_size=3)


@kernel
def cross(crossing: Crossing, out: Buffers, keys: np.ndarray, begins: np.ndarray, end: int, mask: int) -> int:
    begin_row(out)
    for key, begin in zip(keys, begins):  # noqa: B905 compiled code knows no `strict`
        begin_group(out, key, begin)
    return append_products(crossing, out, end, mask)


def run(crossing: Crossing, groups: Groups, room: int, most: int = 1 << 16) -> list[tuple[int, float]] | None:
    """The entries with their products; None if there is no room."""
    out = Buffers.sized(1, room)._replace(groups=np.empty(GROUP * most, np.int64))
    entries = [entry for _, group in groups for entry in group]
    for k, (column, value) in enumerate(entries):
        out.columns[k], out.values[k] = column, value
    begins = np.cumsum([0] + [len(group) for _, group in groups])[:-1]
    keys = np.array([key for key, _ in groups], np.int64)
    end = cross(crossing, out, keys, begins, len(entries), 2**BITS - 1)
    return None if end == NO_ROOM else list(zip(out.columns[:end].tolist(), out.values[:end].tolist(), strict=True))


def naive(keys: tuple[int, ...], groups: Groups) -> list[tuple[int, float]]:
    choices = []
    for key, repeated in groupby(keys):
        pool = [entry for name, group in groups if name == key for entry in group]
        choices.append(combinations_with_replacement(pool, len(list(repeated))))
    found = []
    for combination in product(*choices):
        (number, value), *others = (entry for part in combination for entry in part)
        for other, factor in others:
            number, value = number * PRIME ^ other, value * factor
        found.append((number % 2**BITS, value))
    return found


@given(groups=_groups, products=_products)
def test_all_combinations(groups: Groups, products: list[list[int]]) -> None:
    crossing = Crossing.of(products)
    chosen: dict[tuple[int, ...], tuple[int, ...]] = {}
    for keys in map(tuple, products):
        same = tuple(sorted(keys))
        chosen[same] = min(chosen.get(same, keys), same if len(set(keys)) < len(keys) else keys)
    expected = [entry for _, group in groups for entry in group]
    for same, keys in chosen.items():
        expected += naive(same if len(set(keys)) < len(keys) else keys, groups)
    found = run(crossing, groups, 5000)
    assert found is not None
    assert sorted(found) == sorted(expected)
    assert run(crossing, groups, max(1, len(expected))) == found
    if len(expected) > sum(len(group) for _, group in groups):
        assert run(crossing, groups, len(expected) - 1) is None


def test_values_of_vowpal_wabbit() -> None:
    """As its `--audit -b 20` shows them for `|a x:2 y:3 |b z:5`, with -q ba -q aa --cubic aab and 18 bits."""
    groups: Groups = [(97, [(55432, 2.0), (42847, 3.0)]), (98, [(124687, 5.0)])]
    found = run(Crossing.of([(98, 97), (97, 97), (97, 98, 97)]), groups, 100)
    assert found is not None
    assert [(slot % 2**18, value) for slot, value in found[3:]] == [
        (156693, 10.0),
        (138178, 15.0),
        (1680, 4.0),
        (31047, 6.0),
        (253394, 9.0),
        (242623, 20.0),
        (200138, 30.0),
        (251545, 45.0),
    ]


def test_too_many_groups_ask_for_room() -> None:
    groups: Groups = [(1, [(k, 1.0)]) for k in range(1 << 16)]
    assert run(NOTHING, [*groups, (2, [(7, 1.0)])], 1 << 17) is not None
    assert run(Crossing.of([(2, 1)]), [*groups, (2, [(7, 1.0)])], 1 << 18) is None


def test_products_take_two_or_three_groups() -> None:
    for keys in ((1,), (1, 2, 3, 4), ()):
        with pytest.raises(PartError, match="two or three"):
            Crossing.of([keys])


def test_products_that_are_many_come_in_parts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    draw = random.Random(3)
    lines = [f"{draw.choice((1, -1))} |a {' '.join(f'f{k}' for k in range(draw.randrange(1, 12)))}" for _ in range(300)]
    lines[70], lines[150] = "q |a b", "1 |a " + " ".join(f"f{k}" for k in range(60))
    (tmp_path / "rows.vw").write_text("\n".join(lines) + "\n")

    def read_all(threads: int) -> tuple[list[Any], list[str], int]:
        rows, faults, batches = [], [], 0
        stream = read(tmp_path / "rows.vw", interactions=[["a", "a"]], on_error="skip", threads=threads)
        for batch in stream.batches():
            at, x = batch.rows.indptr, batch.rows
            rows += [
                (line, batch.labels[k], x.indices[at[k] : at[k + 1]].tolist(), x.data[at[k] : at[k + 1]].tolist())
                for k, line in enumerate(batch.lines.tolist())
            ]
            faults += batch.faults
            batches += 1
        return rows, faults, batches

    whole, faults, _ = read_all(1)
    assert (len(whole), len(faults)) == (299, 1)
    monkeypatch.setattr(text, "BLOCK", 1 << 10)
    _, _, blocks = read_all(1)
    monkeypatch.setattr(text, "MOST_ENTRIES", 1 << 9)
    for threads in (1, 3):
        rows, faults, batches = read_all(threads)
        assert rows == [row for row in whole if row[0] != 151]  # 1,830 products
        assert [fault.split(":")[-3 if "products" in fault else -2] for fault in faults]
        assert "rows.vw:151: expected fewer features" in faults[1]
        assert batches > blocks


@pytest.mark.sampled(2)
@pytest.mark.parametrize("products", [[(0, 1)], [(0, 0, 1)], [(0, 2, 1)], [(1, 2)]])
def test_time_is_that_of_groups_and_products(products: list[tuple[int, ...]]) -> None:
    """A line of a megabyte may have as many groups: whoever looked at all of them for each took minutes."""
    groups: Groups = [(k % 4 // 2 * 2, [(k, 1.0)] if k % 2 else []) for k in range(200_000)]
    begun = time.monotonic()
    assert run(Crossing.of(products), groups, 250_000, len(groups)) == [entry for _, group in groups for entry in group]
    assert time.monotonic() - begun < 10.0
