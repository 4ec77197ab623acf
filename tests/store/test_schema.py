"""What files must hold: every deviation is refused, by name, with what was found and what was expected."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret.bandit import Bandit, Ucb1
from lowregret.errors import StoreError
from lowregret.loss import Hinge, Loss
from lowregret.store import file as store
from lowregret.store import migrate
from lowregret.store.kinds import KINDS, class_of, load
from lowregret.store.schema import (
    FLAG,
    NUMBER,
    TEXT,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    anything,
    extended,
    flags,
    floats,
    items,
    maybe,
    number,
    part,
    record,
    table,
    whole,
    wholes,
)
from tests.models.examples import EXAMPLES


class Dots(Schema):
    def fields(self) -> dict[str, Field]:
        return {"colours": whole(1, 10), "loss": part(Loss), "note": TEXT._replace(needed=False)}

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        return {"sums": ("total", "largest")}

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        dots = {"dots": floats("dots", 2), "colour": wholes("dots", high=told["colours"] - 1)}
        return dots | {"sums": extended(2), "bare": anything("bare"), "marked": flags("dots")}

    def demands(self, told: Told, arrays: Arrays) -> Iterator[tuple[Any, str]]:
        yield arrays["sums"][1] <= arrays["sums"][0], "largest ≤ total"


DESCRIPTION: Told = {"colours": 3, "loss": {"part": "Hinge", "margin": 1.0}}


def contents() -> tuple[Told, Arrays]:
    arrays = {
        "dots": np.arange(8.0).reshape(4, 2),
        "colour": np.array([0, 2, 1, 0]),
        "sums": np.array([3.0, 2.0]),
        "bare": np.array([math.nan, math.inf]),
        "marked": np.array([True, False, True, False]),
    }
    return Dots().named(dict(DESCRIPTION), arrays)


def refusal(description: Told, arrays: Arrays) -> str:
    with pytest.raises(StoreError) as caught:
        Dots().checked("some.lr", description, arrays)
    assert str(caught.value).startswith("some.lr ")
    return str(caught.value)


def test_what_is_as_it_must_be_comes_back() -> None:
    description, arrays = contents()
    told, found = Dots().checked("some.lr", description, arrays)
    assert told == DESCRIPTION
    assert all(found[name] is arrays[name] for name in arrays)


def test_slots_are_found_by_name() -> None:
    description, arrays = contents()
    description["slots"]["sums"] = ["largest", "total"]
    arrays["sums"] = np.array([2.0, 3.0])
    assert Dots().checked("some.lr", description, arrays)[1]["sums"].tolist() == [3.0, 2.0]


ARRAYS: list[tuple[str, Callable[[Any], Any], str]] = [
    ("dots", lambda a: a[:3], "array 'colour' has shape (4,), expected (3,)"),
    ("colour", lambda a: a[:3], "array 'colour' has shape (3,), expected (4,)"),
    ("dots", lambda a: a.ravel(), "array 'dots' has shape (8,), expected (0, 2)"),
    ("dots", lambda a: a.astype(np.float32), "array 'dots' holds float32, expected float64"),
    ("dots", lambda a: a * math.nan, "array 'dots' has numbers from nan to nan"),
    ("dots", lambda a: np.where(a == 3, -math.inf, a), "array 'dots' has numbers from -inf to 7.0"),
    ("colour", lambda a: a + 1, "array 'colour' has numbers from 1 to 3, expected from 0 to 2"),
    ("colour", lambda a: a - 1, "array 'colour' has numbers from -1 to 1, expected from 0 to 2"),
    ("colour", lambda a: a << 45, "array 'colour' has numbers from 0 to 70368744177664"),
    ("sums", lambda a: a[::-1].copy(), "largest ≤ total does not hold"),
    ("sums", lambda a: a * math.nan, "array 'sums' has numbers from nan to nan"),
    ("sums", lambda a: a[:1], "has shape (1,) of array 'sums', expected 2 slots"),
]


@pytest.mark.parametrize(("name", "change", "said"), ARRAYS, ids=range(len(ARRAYS)))
def test_arrays_that_are_not_as_declared(name: str, change: Callable[[Any], Any], said: str) -> None:
    description, arrays = contents()
    assert said in refusal(description, arrays | {name: change(arrays[name])})


DESCRIPTIONS: list[tuple[Told, str]] = [
    ({"colours": 0}, "'colours' is 0, expected a whole number from 1 to 10"),
    ({"colours": True}, "'colours' is True, expected a whole number from 1 to 10"),
    ({"colours": 3.0}, "'colours' is 3.0, expected a whole number from 1 to 10"),
    ({"loss": {"part": "L2Ball", "radius": 1.0}}, "'loss' is a L2Ball, expected a Loss"),
    ({"loss": {"part": "Hinge", "margin": 10**400}}, "the stored Hinge does not fit this version of it"),
    ({"loss": "Hinge"}, "'loss' is Hinge, expected the description of a Loss"),
    ({"note": 1}, "'note' is 1, expected a text"),
    ({"size": 1}, "holds 'size', which this version of lowregret does not know: upgrade"),
    ({"slots": {}}, "does not name the slots of array 'sums'"),
    ({"slots": {"sums": ["total", "total"]}}, "names a slot of array 'sums' twice"),
    ({"slots": {"sums": ["total", "widest"]}}, "lacks 'sums: largest', which this version of lowregret needs"),
    ({"slots": {"sums": ["total", "largest", "bent"]}}, "holds 'sums: bent', which this version of lowregret does not"),
]


@pytest.mark.parametrize(("change", "said"), DESCRIPTIONS, ids=range(len(DESCRIPTIONS)))
def test_descriptions_that_are_not_as_declared(change: Told, said: str) -> None:
    description, arrays = contents()
    assert said in refusal(description | change, arrays)


def test_whatever_is_missing_or_unknown() -> None:
    description, arrays = contents()
    for name in description:
        less = {key: value for key, value in description.items() if key != name}
        assert f"lacks '{name}', which this version of lowregret needs: train again" in refusal(less, arrays)
    for name in arrays:
        fewer = {key: value for key, value in arrays.items() if key != name}
        assert f"lacks '{name}', which this version of lowregret needs: train again" in refusal(description, fewer)
    assert "holds 'more', which this version" in refusal(description, arrays | {"more": np.zeros(1)})


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        (FLAG, [True, False], [0, None, "true"]),
        (NUMBER, [1, 0.5, math.nan, math.inf], [True, None, "1", 10**400]),
        (whole(), [0, 1 << 48], [-1, (1 << 48) + 1, 0.0, True, None]),
        (number(0, 1), [0, 1, 0.5], [-0.1, math.nan, math.inf, True, "0"]),
        (maybe(whole()), [None, 0], [-1, "", False]),
        (items(whole(), 1), [[1], [1, 2]], [[], [-1], None, {}]),
        (table(TEXT, whole()), [{}, {"a": 1}], [[], {"a": -1}, None]),
        (TEXT, ["", "größe 😀"], [1, None, "\ud800"]),  # no file and no terminal could take it
        (record({"a": whole()}), [{"a": 1}], [[], None, 1]),
        (part(Hinge), [{"part": "Hinge", "margin": 1.0}], [None, "Hinge", []]),
    ],
)
def test_fields(field: Field, good: list[Any], bad: list[Any]) -> None:
    assert all(field.accepts(value) for value in good)
    assert not any(field.accepts(value) for value in bad)


def test_every_kind_has_a_schema() -> None:
    for kind in KINDS:
        assert isinstance(class_of(kind).schema, Schema), kind


@pytest.mark.parametrize("name", EXAMPLES)
def test_slots_of_stored_files_may_come_in_any_order(name: str, tmp_path: Path) -> None:
    path = Path(__file__).parent.parent / "models" / f"{name}.lr"
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    before = load(path).contents()[1]
    for array, names in description["slots"].items():
        description["slots"][array] = names[::-1]
        arrays[array] = np.ascontiguousarray(arrays[array][..., ::-1])
    store.write(tmp_path / "file", kind, description, arrays)
    after = load(tmp_path / "file").contents()[1]
    assert all(np.array_equal(before[key], after[key], equal_nan=True) for key in before)


# ---- formats --------------------------------------------------------------------------------------------------------


def test_a_step_from_an_earlier_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that is new, or a field: 0 in files from before because the step says so, and missed in those of today."""
    path = Bandit(3, compiled=False).save(tmp_path / "file")
    description, arrays = store.read(path, "bandit")
    slots = description["slots"]["counts"]
    at = slots.index("logged")
    description["slots"]["counts"] = [name for name in slots if name != "logged"]
    store.write(path, "bandit", description, arrays | {"counts": np.delete(arrays["counts"], at)})
    with pytest.raises(StoreError, match="lacks 'counts: logged', which this version of lowregret needs"):
        load(path)

    def step(kind: str, told: dict[str, Any], found: dict[str, Any]) -> migrate.Contents:
        assert kind == "bandit"
        told["slots"]["counts"].append("logged")
        return told, found | {"counts": np.append(found["counts"], 0)}

    coming = migrate.FORMAT + 1
    for module in (store, migrate):
        monkeypatch.setattr(module, "FORMAT", coming)
    monkeypatch.setitem(migrate.STEPS, coming - 1, step)
    assert load(path).state.counts.tolist() == [0] * 5


def test_there_is_a_step_from_every_format_that_is_read() -> None:
    assert sorted(migrate.STEPS) == list(range(migrate.OLDEST, migrate.FORMAT))


# ---- what used to read and write elsewhere --------------------------------------------------------------------------


def test_an_arm_that_is_not_there(tmp_path: Path) -> None:
    bandit = Bandit(1000, Ucb1())
    bandit.choose()
    path = bandit.save(tmp_path / "file")
    description, arrays = store.read(path, "bandit")
    store.write(path, "bandit", description, arrays | {"pending.arm": np.array([2**45])})
    with pytest.raises(StoreError, match=r"array 'pending.arm' has numbers .*, expected from 0 to 999"):
        load(path)


def test_a_table_of_two_cells(tmp_path: Path) -> None:
    path = Path(__file__).parent.parent / "models" / "run.lr"
    description, arrays = store.read(path, "run")
    store.write(tmp_path / "file", "run", description, arrays | {"table": np.zeros((1, 2))})
    with pytest.raises(StoreError, match=r"array 'table' has shape \(1, 2\), expected \(3, 2\)"):
        load(tmp_path / "file")


def test_headers_that_lie(tmp_path: Path) -> None:
    """Types, shapes and chunks that do not fit together, with a checksum that fits."""
    path = tmp_path / "file"
    for wrong in (["<f8", [1 << 45], [10]], ["|O", [1], [10]], ["<f8", [-1], [10]], ["<f8", [3], []], [], 7, None):
        store.write(path, "thing", {}, {"a": np.zeros(3)})
        body = path.read_bytes()
        end = len(body) - 40
        header = {"kind": "thing", "format": store.FORMAT, "description": "{}", "arrays": {"a": wrong}}
        told = json.dumps(header).encode()
        begin = end - int.from_bytes(body[end : end + 8], "little")
        whole_file = body[:begin] + told + len(told).to_bytes(8, "little")
        path.write_bytes(whole_file + hashlib.sha256(whole_file).digest())
        with pytest.raises(StoreError, match="is damaged"):
            store.read(path, "thing")


def test_checks_that_take_more_memory_than_there_is_are_refused_in_words() -> None:
    """Arrays may fit into memory, and what is computed from them not."""

    class Large(Dots):
        def demands(self, told: Told, arrays: Arrays) -> Iterator[tuple[Any, str]]:
            yield from super().demands(told, arrays)
            raise MemoryError

    with pytest.raises(StoreError, match="does not fit into memory"):
        Large().checked("a file", *contents())
