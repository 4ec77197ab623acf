"""Classes as matrices, files, functions and bits."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from lowregret import DataError
from lowregret.finite import Hypotheses
from lowregret.finite.hypotheses import size_of


@pytest.mark.parametrize("n", [1, 5, 63, 64, 65, 200])
def test_masks_say_what_the_matrix_says(n: int) -> None:
    matrix = np.random.default_rng(n).random((n, 30)) < 0.5
    h = Hypotheses(matrix)
    assert len(h) == n
    assert size_of(h.everything) == n
    for x in range(h.points):
        for y in (0, 1):
            agreeing = h.agreeing(h.everything, x, y)
            assert h.members(agreeing).tolist() == np.flatnonzero(matrix[:, x] == y).tolist()
            assert size_of(agreeing) == np.sum(matrix[:, x] == y)


def test_repeated_rows_are_dropped_and_the_first_ones_numbers_kept() -> None:
    h = Hypotheses([[1, 0], [0, 0], [1, 0], [1, 1], [0, 0]])
    assert h.numbers.tolist() == [0, 1, 3]
    assert h.matrix.tolist() == [[True, False], [False, False], [True, True]]
    assert h.given == 5


def test_a_class_does_not_share_memory_and_takes_any_layout() -> None:
    matrix = np.asfortranarray(np.eye(3, dtype=bool))
    h = Hypotheses(matrix)
    matrix[:] = False
    assert (h.matrix == np.eye(3)).all()


@pytest.mark.parametrize("shape", [(1, 1), (256, 257), (600, 300)])
def test_points_have_the_columns_of_the_matrix(shape: tuple[int, int]) -> None:
    matrix = np.unique(np.random.default_rng(0).random(shape) < 0.5, axis=0)
    h = Hypotheses(matrix)
    assert np.array_equal(h.by_point, matrix.T)
    assert h.by_point.flags.c_contiguous


def test_truth_values_are_not_looked_through(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which took longer than all else."""
    monkeypatch.setattr(np, "argwhere", None)
    assert len(Hypotheses(np.eye(5, dtype=bool))) == 5


def test_functions_on_a_domain() -> None:
    h = Hypotheses.of([lambda x: x > 0, lambda x: x % 2 == 0], [-1, 0, 1, 2])
    assert h.matrix.tolist() == [[False, False, True, True], [False, True, False, True]]
    assert h.names == ["-1", "0", "1", "2"]


@pytest.mark.parametrize(
    ("matrix", "said"),
    [
        ([], "shape"),
        ([[]], "shape"),
        ([0, 1], "shape"),
        ([[0, 1], [1]], "shape"),
        ([[0, 1], [1, 2]], r"hypotheses\[1, 1\] is .*2"),
        ([[0, float("nan")]], r"hypotheses\[0, 1\] is .*nan"),
    ],
)
def test_what_is_no_class_is_refused(matrix: object, said: str) -> None:
    with pytest.raises(DataError, match=said):
        Hypotheses(matrix)


def test_wrong_names_points_and_labels_are_refused() -> None:
    with pytest.raises(DataError, match="3 points, but 2 names"):
        Hypotheses(np.eye(3), ["a", "b"])
    h = Hypotheses(np.eye(3))
    for x, y in ((3, 0), (-1, 0), (0, 2)):
        with pytest.raises(DataError):
            h.check_round(x, y)


def test_files(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).random((20, 7)) < 0.5
    text = "".join(",".join(str(int(v)) for v in row) + "\n" for row in matrix)
    plain, packed, spaced = tmp_path / "a.csv", tmp_path / "a.csv.gz", tmp_path / "b.csv"
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    spaced.write_text("\ufeff" + text.replace(",", " , ").replace("\n", " \r\n") + "\n\n")
    for path in (plain, packed, spaced):
        assert (Hypotheses.read(path).matrix == Hypotheses(matrix).matrix).all()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty: expected rows"),
        ("\n\n", "is empty: expected rows"),
        ("0,1\n1,2\n", r":2:2: expected 0 or 1, got '2'"),
        ("a,b\n0,1\n", r":1:1: expected 0 or 1, got 'a' \(a header\?"),
        ("0,1\n\n1,0\n", r":2:1: expected 0 or 1, got ''"),
        ("0,1\n1,\n", r":2:2: expected 0 or 1, got ''"),
        ("0 1\n1 0\n", r":1:1: expected 0 or 1, got '0 1'"),
        ("0,1\n1,0,1\n", r":2: 3 columns, expected 2"),
        ("0,1\n1,1.0\n", r":2:2: expected 0 or 1, got '1\.0'"),
    ],
)
def test_broken_files_say_where(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "class.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        Hypotheses.read(path)


def test_a_missing_file() -> None:
    with pytest.raises(DataError, match=r"cannot read nowhere\.csv"):
        Hypotheses.read("nowhere.csv")


def test_a_class_cannot_be_changed_once_it_is_made() -> None:
    """A certificate would speak of another class than was played."""
    given = np.array([[0, 1], [1, 1], [0, 1]], bool)
    h = Hypotheses(given)
    given[0, 0] = True
    assert not h.matrix[0, 0]
    for array in (h.matrix, h.by_point, h.columns, h.numbers):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
