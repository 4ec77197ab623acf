"""What a stream has met: names of labels, columns, and what was named and never occurs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowregret.errors import DataError
from lowregret.stream.names import KEPT_LABELS, Met, number_name
from lowregret.stream.read import read


def test_labels_become_signs_and_keep_a_few_names() -> None:
    met, nan = Met(), np.nan
    for labels, signs in (([3.0, 2.0, nan, 3.0], [1, -1, nan, 1]), ([5.0, 2.0], [-1, -1]), ([], [])):
        found = np.array(labels)
        met.sign(found, 3.0, lambda row, found=found: number_name(float(found[row])))  # type: ignore[misc]
        assert repr(found.tolist()) == repr(np.array(signs, float).tolist())
    assert met.labels == ["2", "5"]
    many = np.arange(100.0)
    met.sign(many, 3.0, lambda row: f"row {row}")
    assert (many == 1).sum() == 1
    assert met.labels == ["2", "5", "row 0", "row 1", "row 4"]
    assert len(met.labels) == KEPT_LABELS


def test_numbers_are_written_as_people_do() -> None:
    assert [number_name(value) for value in (1.0, -2.0, 0.0, 2.5, 1e20)] == ["1", "-2", "0", "2.5", str(10**20)]


@pytest.mark.parametrize(
    ("name", "text", "labels"),
    [
        ("a.csv", 'y,a\nUP,1\n"big ""one""",1\r\nso\rso,2\n7,1\n,1\n', ['big "one"', "so\rso", "7"]),
        ("a.tsv", "y\ta\nUP\t1\nDOWN,SIDE\t1\n", ["DOWN,SIDE"]),
        ("a.jsonl", '{"y": "UP"}\n{"y": "\\u00e9"}\n{"y": "é"}\n{"y": 7}\n', ["é", "7"]),
    ],
)
def test_names_are_those_of_the_file(tmp_path: Path, name: str, text: str, labels: list[str]) -> None:
    path = tmp_path / name
    path.write_bytes(text.encode())
    (batch,) = read(path, target="y", positive="UP").batches()
    assert batch.labels[0] == 1
    assert set(batch.labels[1:][~np.isnan(batch.labels[1:])]) == {-1}
    assert batch.met.labels == labels


def test_columns_are_those_of_features(tmp_path: Path) -> None:
    for name, text in (("a.csv", "y,w,a,b,c\n1,1,2,3,4\n"), ("b.csv", "y,w,c,d,b\n1,1,2,3,4\n")):
        (tmp_path / name).write_text(text)
    options = {"target": "y", "weight": "w", "drop": ["c"], "categorical": ["b"]}
    *_, batch = read(f"{tmp_path}/*.csv", **options).batches()  # type: ignore[arg-type]
    assert [*batch.met.tables.values()] == [("a", "b"), ("d", "b")]
    assert [*batch.met.columns] == ["a", "b", "d"]


@pytest.mark.parametrize(
    ("name", "text", "options", "idle"),
    [
        ("a.vw", "1 |user a |item b\n-1 |user c\n", {"interactions": ["ui"]}, ()),
        ("a.vw", "1 |user a |item b\n-1 |user c\n", {"interactions": ["uz", "ui"]}, ("namespace z",)),
        ("a.vw", "1 |user a\n-1 | c\n", {"interactions": ["u "]}, ()),
        ("a.vw", "1 |user a\n-1 |\n", {"interactions": [["u", ""]]}, ()),
        ("a.vw", "1 |user a\n-1 |x b\n", {"interactions": [["u", ""]]}, ("namespace  ",)),
        ("a.jsonl", '{"a": {"b": [1]}}\n{"c": 1}\n', {"drop": ["a.b.0"], "categorical": ["c"]}, ()),
        ("a.jsonl", '{"a": {"b": [1]}}\n', {"drop": ["x"], "interactions": [["a.b.0", "q"]]}, ("column x", "column q")),
        ("a.jsonl", '{"\\u00e9": 1}\n', {"drop": ["é"]}, ()),
    ],
)
def test_what_never_occurs(
    tmp_path: Path, name: str, text: str, options: dict[str, list[str]], idle: tuple[str, ...]
) -> None:
    (tmp_path / name).write_text(text)
    (batch,) = read(tmp_path / name, **options).batches()  # type: ignore[arg-type]
    assert batch.met.idle == idle


def test_namespaces_are_letters(tmp_path: Path) -> None:
    (tmp_path / "a.vw").write_text("1 |user a |item b\n")
    with pytest.raises(DataError, match=r"know a namespace by its first letter.* say u, not user"):
        read(tmp_path / "a.vw", interactions=[["user", "item"]])
