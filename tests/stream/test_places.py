"""Where features lie: by the order of learning, whatever their columns are, and files and memory follow from that."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from lowregret import Logistic, Softmax, load, read, train, zoo
from lowregret.compile.random import SECRET
from lowregret.errors import DataError
from lowregret.learner.multiclass import Multiclass
from lowregret.rows import Rows, Sparse, as_rows, canonical
from lowregret.rule import AdaGrad
from lowregret.run.begin import begin
from lowregret.run.named_weights import met_weights, weights_by_name
from lowregret.run.session import Session
from lowregret.stream.formats.svm import SvmText
from lowregret.stream.places import NEAR, NOTHING, Places, Ranks

FAR = 2 * 10**9  # a column


def spread_out(columns: Any, rows: int = 24, seed: int = 0) -> tuple[Any, Any, Any]:
    """Rows of some features, as columns 0, 1, … and as these columns; and labels."""
    rng = np.random.default_rng(seed)
    dense = np.where(rng.random((rows, len(columns))) < 0.4, rng.normal(size=(rows, len(columns))), 0.0)
    near = sp.csr_matrix(dense)
    wide = sp.csr_matrix((near.data, np.asarray(columns)[near.indices], near.indptr), (rows, max(columns) + 1))
    return near, wide, np.where(rng.random(rows) < 0.5, 1.0, -1.0)


@given(st.lists(st.integers(0, 2**62), max_size=40), st.sets(st.integers(0, 40)))
def test_places_are_numbered_in_the_order_of_learning(columns: list[int], cuts: set[int]) -> None:
    numbers = {column: place for place, column in enumerate(dict.fromkeys(columns))}
    places = Places()
    edges = [0, *sorted(cut for cut in cuts if cut < len(columns)), len(columns)]
    found: list[int] = []
    for first, end in itertools.pairwise(edges):
        rows = [[column] for column in columns[first:end]]
        found += _placed(places, rows)
    assert found == [numbers[column] for column in columns]
    assert places.columns.tolist() == list(numbers)
    assert Places(places.columns).columns.tolist() == list(numbers)


def _rows(rows: list[list[int]]) -> Rows:
    indices = np.array([column for row in rows for column in row], np.int64)
    indptr = np.cumsum([0, *map(len, rows)])
    return as_rows(sp.csr_matrix((np.ones(indices.size), indices, indptr), (len(rows), 2**62 + 1)))


def _placed(places: Places, rows: list[list[int]], weights: Any = NOTHING) -> list[int]:
    return [int(place) for place in places.place(_rows(rows), weights, False).indices]


@given(
    st.lists(st.sets(st.integers(0, 30), max_size=6), max_size=30),
    st.lists(st.integers(0, 30), max_size=2, unique=True),
    st.data(),
)
def test_ranks_are_places_where_nothing_else_was_learnt(rows: list[set[int]], earlier: list[int], data: Any) -> None:
    """And are not taken for places where rows of weight 0, or other rows before, made these others."""
    spread = [sorted(column * (NEAR // 8) for column in row) for row in rows]
    weights = np.array(
        data.draw(st.lists(st.sampled_from([1.0, 1.0, 1.0, 0.0]), min_size=len(rows), max_size=len(rows)))
    )
    cut, numbering, source, batches = data.draw(st.integers(0, len(rows))), Places(), object(), []
    for part in (slice(0, cut), slice(cut, None)):
        before, x = len(numbering), _rows(spread[part])
        placed = numbering.place(x, NOTHING, False)
        batches.append(
            (x, weights[part], Ranks(placed.indices.copy(), placed.needs, numbering.columns.copy(), before, source))
        )
    plain, ranked = Places(np.array(earlier, np.uint64)), Places(np.array(earlier, np.uint64))
    for again in (False, True, True):
        for x, w, ranks in batches:
            told = ranks._replace(needs=None) if again else ranks
            one, other = plain.place(x, w, False), ranked.place(x, w, False, told)
            assert one.indices.tolist() == other.indices.tolist()
            assert plain.columns.tolist() == ranked.columns.tolist()
            room = len(plain) + 1
            assert one.fitting(room) == other.fitting(room) == len(w)
            if not again:
                assert one.needs.tolist() == other.needs.tolist()
    assert [ranked._index.near[c] for c in range(40)] == [plain._index.near[c] for c in range(40)]
    assert _placed(ranked, spread) == _placed(plain, spread)


def test_what_was_forgotten_does_not_agree_any_more() -> None:
    x, source = _rows([[5], [7], [9]]), object()
    ranks = Ranks(np.arange(3), np.array([2, 3, 4]), np.array([5, 7, 9], np.uint64), 0, source)
    places = Places()
    assert places.place(x, NOTHING, False, ranks).new
    assert not places.place(x, NOTHING, False, ranks._replace(needs=None)).new
    places.forget_after(1)
    assert _placed(places, [[9]]) == [1]
    assert places.place(x, NOTHING, False, ranks).indices.tolist() == [0, 2, 1]


def test_rows_of_weight_0_take_no_place_and_what_was_refused_is_forgotten() -> None:
    places = Places()
    assert _placed(places, [[5], [7], [7, FAR]], np.array([1.0, 0.0, 1.0])) == [0, 1, 1, 2]
    assert places.columns.tolist() == [5, 7, FAR]
    places.forget_after(1)
    assert places.columns.tolist() == [5]
    assert _placed(places, [[FAR], [7]]) == [1, 2]


@pytest.mark.parametrize("columns", [range(0, 300, 10), range(FAR, FAR + 30), [0, NEAR - 1, NEAR, FAR]])
def test_where_columns_are_changes_nothing(columns: Any, tmp_path: Path) -> None:
    """Not the scores, the figures, the size of the state or the file, and unknown features weigh nothing."""
    near, wide, y = spread_out(columns)
    learners: list[Any] = [zoo.ogd(Logistic()), zoo.auto()]
    for learner in learners:
        runs = [begin(learner, None, compiled=False).learn(x, y) for x in (near, wide)]
        assert runs[0].scores.tobytes() == runs[1].scores.tobytes()
        assert runs[0].state.table.size == runs[1].state.table.size
        assert runs[0].decision_function(near).tobytes() == runs[1].decision_function(wide).tobytes()
        assert runs[1].features == int(wide.indices.max()) + 1
        again = load(runs[1].save(tmp_path / "m"))
        assert again.decision_function(wide).tobytes() == runs[1].decision_function(wide).tobytes()
        assert (tmp_path / "m").stat().st_size < 60_000
    unknown = sp.csr_matrix(([3.0, 1.0], ([0, 1], [FAR + 99, 2])), (2, FAR + 100))
    assert begin(zoo.ogd(Logistic()), None, compiled=False).learn(near, y).decision_function(unknown)[0] == 0.0


def test_classes_wherever_columns_are(tmp_path: Path) -> None:
    near, wide, _ = spread_out(range(FAR, FAR + 12))
    y = [("a", "b", "c", "d", "e")[k % 5] for k in range(24)]
    adagrad = Multiclass(Softmax(), AdaGrad(0.5), bias=1.0)
    learners: list[Any] = [adagrad, zoo.auto(Softmax())]
    for learner in learners:
        a, b = (begin(learner, None, compiled=False).learn(x, y) for x in (near, wide))
        assert a.guesses.tobytes() == b.guesses.tobytes()
        again = load(b.save(tmp_path / "m"))
        assert (
            a.decision_function(near).tobytes()
            == b.decision_function(wide).tobytes()
            == again.decision_function(wide).tobytes()
        )
        assert b.linear_regret() == pytest.approx(a.linear_regret())


def test_u_and_weights_are_by_column() -> None:
    _, wide, y = spread_out([4, 7, 9])
    known = train(zoo.ogd(Logistic()), wide, y, compiled=False)
    run = begin(zoo.ogd(Logistic()), None, compiled=False).learn(wide, y)
    assert run.weights.tobytes() == known.weights.tobytes()
    u = np.arange(10.0)
    assert run.regret(u, wide, y) == known.regret(u, wide, y)
    columns, weights = met_weights(run)
    assert columns.tolist() == [4, 7, 9]
    assert weights.tolist() == known.weights[[4, 7, 9]].tolist()


def test_a_row_that_is_refused_brings_no_feature() -> None:
    near, _, y = spread_out(range(8))
    run = begin(zoo.ogd(Logistic()), None, compiled=False)
    bad = y.copy()
    bad[3] = 7.0
    with pytest.raises(DataError, match="row 3: label 7"):
        run.learn(near, bad)
    assert run.places is not None
    assert set(run.places.columns.tolist()) == set(near[:3].indices.tolist())
    whole = begin(zoo.ogd(Logistic()), None, compiled=False).learn(near, y)
    run.learn(near[3:], y[3:])
    assert [a.tobytes() for a in run.state] == [a.tobytes() for a in whole.state]


def test_hashed_names_take_the_room_of_those_that_occur(tmp_path: Path) -> None:
    """Not that of 2¹⁸ slots; nor does a LIBSVM index of a thousand million."""
    (tmp_path / "f.vw").write_text("1 | red sweet\n-1 | green sour\n" * 9)
    (tmp_path / "f.svm").write_text("+1 1000000000:1 3:1\n-1 1999999999:1 3:0.5\n" * 9)
    for name in ("f.vw", "f.svm"):
        run = train(zoo.auto(), read(str(tmp_path / name)), compiled=False)
        assert run.state.table.size < 10_000
        assert run.save(tmp_path / "m").stat().st_size < 30_000


def test_weights_by_name_do_not_need_all_columns(tmp_path: Path) -> None:
    (tmp_path / "f.svm").write_text("+1 1000000000:1\n-1 1999999999:1\n" * 20)
    run = train(zoo.ogd(Logistic()), read(str(tmp_path / "f.svm")), compiled=False)
    names = [name for name, _ in weights_by_name(Session(run, SvmText(), "ogd"))]
    assert sorted(names) == ["1000000000", "1999999999"]


def test_contents_are_views_that_a_copy_of_the_run_does_not_share() -> None:
    near, _, y = spread_out(range(20))
    run = begin(zoo.auto(), None, compiled=False).learn(near, y)
    twin = type(run).of("memory", *run.contents())
    before = run.state.table.tobytes(), run.record.mind.bank.tobytes()
    twin.learn(near, -y)
    assert (run.state.table.tobytes(), run.record.mind.bank.tobytes()) == before


def test_columns_beyond_what_floats_count() -> None:
    """Compiled, a column and the number of columns must not be compared as floats, which are the same here."""
    far = 2**62
    x = sp.csr_matrix((np.ones(4), np.array([1, far, 0, far + 5]), np.array([0, 2, 4])), shape=(2, far + 6))
    rows, places = as_rows(x), Places()
    assert isinstance(rows, Sparse)
    assert canonical(rows)
    placed = places.place(rows, NOTHING, compiled=True)
    assert places.columns.tolist() == [1, far, 0, far + 5]
    assert isinstance(placed.rows, Sparse)
    assert placed.rows.indices.tolist() == [0, 1, 2, 3]
    assert not canonical(replace(rows, columns=far + 5))


def test_columns_that_are_made_to_collide_lie_apart() -> None:
    """By a hash that is known to all, rows of 2.5 MB took minutes: each column passed by all that came before."""
    columns = [_made(high, low) for high in range(1 << 10) for low in range(4)]
    assert len(set(columns)) == 1 << 12
    tables = []
    for secret in (np.uint64(3), np.uint64(2**63 + 5)):
        places = Places()
        places._index = places._index._replace(secret=secret)
        places.place(_rows([sorted(columns)]), NOTHING, True)
        used = np.flatnonzero(places._index.far[1::2])
        assert len(used) == len(columns)
        assert np.max(np.diff(np.flatnonzero(np.diff(used) > 1)), initial=0) < 64, "no long run of neighbours"
        tables.append(places._index.far)
    assert not np.array_equal(*tables), "the secret is not compiled in"
    assert Places()._index.secret == SECRET


def _made(high: int, low: int) -> int:
    """A column whose product with 2³² over the golden ratio, shifted by 15 and added, ends with 20 given bits."""
    mixed = high << 22 | low
    mixed ^= mixed >> 15 ^ mixed >> 30
    return mixed * pow(0x9E3779B1, -1, 1 << 32) % (1 << 32) | 1 << 33
