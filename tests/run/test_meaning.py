"""What a kept model goes by: on data of which one knows the answer, by any way that rows can come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import lowregret
from lowregret import zoo
from lowregret.errors import DataError, StoreError
from lowregret.features import Products
from lowregret.loss import Hinge, Logistic, Softmax, Square
from lowregret.rows import WEIGHTIEST, Dense, Sparse
from lowregret.run import importance as shared
from lowregret.run.begin import begin
from lowregret.run.importance import Importance, importance_of
from lowregret.run.reserve import ROOM, Reserve, chosen, compressed, level_of
from lowregret.show.meaning import plot_dependence
from lowregret.show.text import tell_importance
from lowregret.train import train

RNG = np.random.default_rng(5)
X = RNG.uniform(-1, 1, (1500, 5))
X[:, 4] = 3.0  # says nothing, for it never changes
WAVE = X[:, 0] + np.sin(3 * X[:, 1])
XOR = np.where((X[:, 0] > 0) ^ (X[:, 1] > 0), 1.0, -1.0)
CLASSES = np.where(X[:, 0] > 0.4, "up", np.where(X[:, 1] > 0, "left", "right"))
LABELS: dict[str, tuple[Any, Any]] = {
    "two classes": (Logistic(), XOR),
    "numbers": (Square(), WAVE),
    "many classes": (Softmax(), CLASSES),
}
every_kind = pytest.mark.parametrize("kind", LABELS)


@pytest.fixture(scope="module")
def runs() -> dict[str, Any]:
    return {kind: train(zoo.auto(loss), X, y) for kind, (loss, y) in LABELS.items()}


def by_column(found: Importance) -> Any:
    """The shares in the order of columns."""
    return found.shares[np.argsort(found.features)]


def same(one: Importance, other: Importance) -> bool:
    """Whether they agree to the last bit."""
    arrays = ("features", "gains", "errors")
    rest = ("names", "loss", "without", "error", "rows")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in arrays) and all(
        getattr(one, name) == getattr(other, name) for name in rest
    )


# ---- what is important -----------------------------------------------------------------------------------------------


@every_kind
def test_two_columns_share_it_and_the_others_have_next_to_nothing(kind: str, runs: dict[str, Any]) -> None:
    found = runs[kind].importance()
    shares = by_column(found)
    assert found.tells
    assert set(found.features[:2].tolist()) == {0, 1}
    assert np.all(shares[:2] > 0.25)
    assert np.all(np.abs(shares[2:4]) < 0.06)  # noise: of rows that were learnt before, it would be 0.05 each
    assert shares[4] == 0  # exactly: no row differs there
    assert shares.sum() == pytest.approx(1)


def test_columns_that_tell_only_together_share_alike(runs: dict[str, Any]) -> None:
    first, second = by_column(runs["two classes"].importance())[:2]
    assert first == pytest.approx(second, abs=0.1)


def test_gains_sum_to_the_fall_of_the_loss_of_the_frozen_model(runs: dict[str, Any]) -> None:
    found = runs["numbers"].importance()
    assert found.gains.sum() == pytest.approx(found.without - found.loss)
    assert found.frozen == 1024
    assert found.rows == 476
    fresh = train("auto", X[:1024], WAVE[:1024])
    tried = 1024 + chosen(0, 476, level_of(476))
    scores = fresh.decision_function(X[tried])
    assert found.loss == pytest.approx(np.mean((scores - WAVE[tried]) ** 2))


def test_a_model_that_learnt_nothing_has_no_shares() -> None:
    y = RNG.choice([-1.0, 1.0], 200)
    found = train("auto", X[:200], y).importance()
    assert not found.tells
    assert not found.shares.any()
    assert "more than chance explains" in tell_importance(found, 3)


def test_rows_may_be_given_to_whatever_scores_them(runs: dict[str, Any]) -> None:
    new = RNG.uniform(-1, 1, (400, 5))
    y = np.where((new[:, 0] > 0) ^ (new[:, 1] > 0), 1.0, -1.0)
    run = runs["two classes"]
    found = run.importance(new, y)
    assert found.frozen is None
    assert np.all(by_column(found)[:2] > 0.3)
    assert run.predictor().importance(new, y).gains == pytest.approx(found.gains, abs=1e-3)  # weights are rounded


def test_a_linear_learner_has_what_its_weights_say() -> None:
    x = np.random.default_rng(2).choice([-1.0, 1.0], (600, 3))
    y = np.where(x[:, 0] > 0, 1.0, -1.0)
    run = train(zoo.ogd(Hinge()), x[:300], y[:300], compiled=False)
    assert by_column(run.importance(x[300:], y[300:]))[0] == pytest.approx(1.0, abs=0.05)
    with pytest.raises(DataError, match=r"by runs of auto only.*run.importance"):
        run.importance()


def test_weights_count_as_rows_do(runs: dict[str, Any]) -> None:
    new, y = X[:300], WAVE[:300]
    weights = np.where(np.arange(300) < 150, 1.0, 0.0)
    half, found = (runs["numbers"].importance(*given) for given in ((new[:150], y[:150]), (new, y, weights)))
    assert found.loss == pytest.approx(half.loss)
    assert by_column(found) == pytest.approx(by_column(half), abs=0.1)


@pytest.mark.parametrize("weight", [WEIGHTIEST, 5e-324])
def test_weights_of_any_size_count_alike(weight: float, runs: dict[str, Any]) -> None:
    one, other = (runs["numbers"].importance(X[:9], WAVE[:9], np.full(9, w)) for w in (1.0, weight))
    assert same(one, other)


@pytest.mark.parametrize("unit", [2.0**300, 2.0**-300])
def test_labels_of_any_size_count_alike(unit: float) -> None:
    """Squares of losses, by which errors are told, may overflow or vanish where losses do not."""
    x = np.random.default_rng(2).choice([-1.0, 1.0], (60, 3))
    y = x @ [1.0, 0.1, 0.0]
    one, found = (
        train(zoo.ogd(Square(), 0.05), x, y * size, compiled=False).importance(x, y * size) for size in (1.0, unit)
    )
    assert one.tells
    assert found.errors / found.total == pytest.approx(one.errors / one.total)


def test_rows_without_a_feature_have_nothing_to_share(runs: dict[str, Any]) -> None:
    found = runs["two classes"].importance(np.zeros((4, 5)), XOR[:4])
    assert found.names == ()
    assert found.total == found.gains.size == 0
    assert found.to_json() == {}


def test_added_columns_are_no_features_that_one_asks_for() -> None:
    run = train(zoo.ogd(Hinge()), X, XOR, expand=Products())
    assert set(run.importance(X, XOR, names="abcde").names) == set("abcde")
    assert run.partial_dependence(4, X).grid.tolist() == [3.0]
    with pytest.raises(DataError, match="from 0 to 4"):
        run.partial_dependence(5, X)


def test_columns_of_one_name_count_as_one(runs: dict[str, Any]) -> None:
    run = runs["two classes"]
    found = run.importance(names=["pair", "pair", "c", "d", "e"])
    assert found.names[0] == "pair"
    assert found.to_json()["pair"] == pytest.approx(1.0, abs=0.1)
    assert len(found.names) == 4
    assert run.importance(names={0: "first"}).to_json().keys() == {"first", "1", "2", "3", "4"}


@pytest.mark.parametrize(
    ("weights", "most"), [([1.0] * 2, 0), ([1.0] * 4, 4), ([1.0, 1.0, 1e-9], 0), ([1.0, 1.0, 1.0, 1e6], 0)]
)
def test_few_rows_tell_no_more_than_chance_does(weights: list[float], most: int) -> None:
    """Of 60 models without meaning up to 30 had shares: two rows have one pair, and the heaviest lends to others."""
    rng, told = np.random.default_rng(8), 0
    for seed in range(60):
        x, y = rng.normal(size=(len(weights), 1)), rng.choice([-1.0, 1.0], len(weights))

        def losses(rows: Sparse, owners: Any, y: Any = y) -> Any:
            return np.logaddexp(0, -y[owners] * rows.data)

        rows = compressed(Dense(x), np.arange(len(x)))
        told += importance_of(rows, np.array(weights), losses, None, seed, None).tells
    assert told <= most  # 2.3 % of 60, and what is likely beside that


def test_standard_errors_are_as_large_as_totals_vary() -> None:
    """Rows also count by the features they lend: where labels have the mean 5, whose these are matters most."""
    rng, totals, squares = np.random.default_rng(9), [], []
    for seed in range(40):
        x, y, w = rng.normal(size=(12, 1)), 5 + rng.normal(size=12), np.where(np.arange(12) < 2, 2.0, 1.0)

        def losses(rows: Sparse, owners: Any, y: Any = y) -> Any:
            return np.square(y[owners] - rows.data)

        found = importance_of(compressed(Dense(x), np.arange(12)), w, losses, None, seed, None)
        totals.append(found.total)
        squares.append(found.error**2)
    assert 0.6 < np.std(totals) / np.sqrt(np.mean(squares)) < 1.3


# ---- by any way ------------------------------------------------------------------------------------------------------


@every_kind
def test_split_is_whole_and_saved_is_unbroken(kind: str, runs: dict[str, Any], tmp_path: Path) -> None:
    loss, y = LABELS[kind]
    run = begin(zoo.auto(loss), 5)
    for begin_, end in ((0, 17), (17, 1023), (1023, 1025), (1025, 1300), (1300, 1301)):
        run.learn(X[begin_:end], y[begin_:end])
    run.save(tmp_path / "run.lr")
    run = lowregret.load(tmp_path / "run.lr").learn(X[1301:], y[1301:])
    assert same(run.importance(), runs[kind].importance())
    assert np.array_equal(run.partial_dependence(1).means, runs[kind].partial_dependence(1).means)


@every_kind
def test_sparse_is_dense(kind: str) -> None:
    loss, y = LABELS[kind]
    x = np.where(RNG.random(X.shape) < 0.5, X, 0.0)[:300]
    dense, sparse = (train(zoo.auto(loss), rows, y[:300]) for rows in (x, csr_array(x)))
    assert same(dense.importance(), sparse.importance())
    assert np.array_equal(dense.partial_dependence(0).means, sparse.partial_dependence(0).means)
    assert same(dense.importance(x, y[:300]), dense.importance(csr_array(x), y[:300]))


def test_rows_are_kept_by_column_wherever_features_lie() -> None:
    x = np.where(RNG.random((100, 3)) < 0.5, RNG.normal(size=(100, 3)), 0.0)
    y = np.where(x[:, 2] > 0, 1.0, -1.0)
    fixed = train("auto", x, y)
    grown = begin(zoo.auto(), None).learn(csr_array(x[:, [2, 0, 1]]), y)
    for name in ("indptr", "labels", "numbers"):
        assert np.array_equal(fixed.reserve.arrays()[name], grown.reserve.arrays()[name])
    assert fixed.importance().features[0] == 2
    assert grown.importance().features[0] == 0


def test_compiled_is_interpreted() -> None:
    x, y = X[:100], XOR[:100]
    assert same(*(train("auto", x, y, compiled=how).importance() for how in (True, False)))


def test_seeds_differ_and_repeat(runs: dict[str, Any]) -> None:
    run = runs["two classes"]
    assert same(run.importance(seed=3), run.importance(seed=3))
    assert not same(run.importance(seed=3), run.importance(seed=4))


def test_many_rows_are_looked_at_in_part(runs: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared, "SCORED", 500)
    monkeypatch.setattr(shared, "ENTRIES", 200)
    found = runs["numbers"].importance(X, WAVE)
    assert 64 <= found.rows < 200
    assert set(found.features[:2].tolist()) == {0, 1}


# ---- rows that are kept ----------------------------------------------------------------------------------------------


def test_what_is_kept_depends_on_the_number_of_rows_alone() -> None:
    x, y = RNG.normal(size=(6000, 2)), RNG.normal(size=6000)
    w = RNG.integers(0, 3, 6000).astype(float)
    for n in (1, 511, 513, 3000, 6000):
        kept = []
        for cuts in ([], sorted(RNG.integers(0, n, 30).tolist()), list(range(1, min(n, 1500)))):
            reserve, before = Reserve(True), 0
            for begin_, end in zip([0, *cuts], [*cuts, n], strict=True):
                reserve.see(Dense(x), None, y, w, begin_, end, before)
                before += int(np.count_nonzero(w[begin_:end]))
            kept.append(reserve.arrays())
        assert all(np.array_equal(kept[0][name], other[name]) for other in kept[1:] for name in kept[0])
        assert before == 0 or min(before, ROOM // 2) * 0.8 < kept[0]["numbers"].size <= ROOM


def test_wide_rows_are_not_kept() -> None:
    x = csr_array(np.random.default_rng(0).normal(size=(40, 300)))
    run = train("auto", x, XOR[:40])
    assert not run.reserve.size
    with pytest.raises(DataError, match="more than 256 features: give rows"):
        run.importance()


def test_rows_that_the_model_on_trial_may_have_learnt_are_not_tried() -> None:
    """Tiled in one call, rows of pure noise were known by heart, and features had shares "on rows never learnt"."""
    x = np.random.default_rng(3).normal(size=(100, 6))
    signs = np.random.default_rng(4).choice([-1.0, 1.0], 100)
    tiled = train(zoo.auto(features="raw"), np.tile(x, (6, 1)), np.tile(signs, 6))
    assert tiled.kept is None
    for ask in (tiled.importance, lambda: tiled.partial_dependence(0)):
        with pytest.raises(DataError, match="never learnt, for rows came again: give rows"):
            ask()


def test_rows_answered_out_of_order_are_not_tried() -> None:
    y = np.where(np.random.default_rng(3).random(X.shape[0]) < 0.5, 1.0, -1.0)
    run = begin(zoo.auto(features="raw"), 5, delay=0).learn(X, y, delay=np.where(y > 0, 0, 10**6))
    with pytest.raises(DataError, match="late answers came in another order"):
        run.importance()


def test_rows_that_come_again_are_not_kept() -> None:
    run = train("auto", X[:40], XOR[:40])
    kept = run.reserve.size
    run.end_trial()
    run.learn(X[40:50], XOR[40:50])
    assert kept == run.reserve.size == 8


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("numbers", lambda a: a + 100, "rows to be kept"),
        ("numbers", lambda a: a[::-1].copy(), "numbers that rise"),
        ("indices", lambda a: a + np.uint32(99), "features met"),
        ("indptr", lambda a: a + 1, "ends of rows"),
        ("data", lambda a: 0 * a, "without zeros"),
        ("labels", lambda a: 2 * a, "labels that the loss takes"),
        ("weights", lambda a: 0 * a, "rows that were learnt"),
    ],
)
def test_damaged_rows_in_files_are_refused(name: str, change: Any, why: str) -> None:
    run = train("auto", X[:50], XOR[:50])
    told, arrays = run.schema.named(*run.contents())
    run.schema.checked("the file", told, arrays)
    with pytest.raises(StoreError, match=why):
        run.schema.checked("the file", told, arrays | {f"reserve.{name}": change(arrays[f"reserve.{name}"])})


# ---- partial dependence ----------------------------------------------------------------------------------------------


def test_an_additive_function_is_found_up_to_a_constant(runs: dict[str, Any]) -> None:
    parts: list[tuple[int, Any]] = [(0, np.positive), (1, lambda v: np.sin(3 * v))]
    for feature, part in parts:
        found = runs["numbers"].partial_dependence(feature, X)
        off = found.means - part(found.grid)
        assert np.ptp(found.grid) > 1.9
        assert np.sqrt(np.mean((off - off.mean()) ** 2)) < 0.1


def test_of_classes_chances_sum_to_one(runs: dict[str, Any]) -> None:
    found = runs["many classes"].partial_dependence(0)
    assert found.classes == tuple(runs["many classes"].classes.names)
    assert found.means.sum(axis=1) == pytest.approx(1)
    up = found.means[:, found.classes.index("up")]
    assert up[0] < 0.1 < 0.9 < up[-1]


def test_it_is_the_mean_of_predictions(runs: dict[str, Any]) -> None:
    run, x = runs["two classes"], X[:50].copy()
    found = run.partial_dependence(2, x, grid=[0.0, 0.5])
    for value, mean in zip(found.grid, found.means, strict=True):
        x[:, 2] = value
        assert mean == pytest.approx(run.predict_proba(x)[:, 1].mean())
    assert found.what == "chance of +1"


def test_a_loss_without_chances_has_scores() -> None:
    run = train(zoo.ogd(Hinge()), X[:100], XOR[:100], compiled=False)
    found = run.partial_dependence(0, X[:100])
    assert found.what == "score"
    assert np.diff(found.means) / np.diff(found.grid) == pytest.approx(run.weights[0])


# ---- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (lambda run: run.partial_dependence(5), "no feature 5: name a column from 0 to 4"),
        (lambda run: run.partial_dependence(-1), "no feature -1: name a column"),
        (lambda run: run.partial_dependence("x"), "no feature 'x': name a column"),
        (lambda run: run.partial_dependence(0, grid=[]), "grid is empty: give values"),
        (lambda run: run.partial_dependence(0, grid=[np.nan]), "must be finite"),
        (lambda run: run.partial_dependence(0, X[:, :2]), "the rows have 2 features, the learner 5"),
        (lambda run: run.importance(X[:0], XOR[:0]), "there are no rows"),
        (lambda run: run.importance(X[:, :2], XOR), "the rows have 2 features, the learner 5"),
        (lambda run: run.importance(X), "needs labels: give rows and labels"),
        (lambda run: run.importance(labels=XOR), "without rows: give rows and labels"),
        (lambda run: run.importance(X[:1], XOR[:1]), "two rows or more.*give more"),
        (lambda run: run.importance(X, np.zeros(len(X))), "row 0: label 0 does not fit"),
        (lambda run: run.importance(X[:3], XOR[:3], [1, -1, 1]), "row 1: weight"),
        (lambda run: run.importance(names=["a"]), "1 names for 5 features: name each"),
    ],
)
def test_bad_input_is_refused_with_cause_and_remedy(how: Any, why: str, runs: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=why):
        how(runs["two classes"])


def test_classes_that_were_never_learnt_are_refused(runs: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=r"row 1: class 'down' was never learnt.*leave it out"):
        runs["many classes"].importance(X[:2], ["up", "down"])


def test_a_model_that_was_just_frozen_has_no_rows() -> None:
    with pytest.raises(DataError, match="none has come since it was frozen after 32 rounds: give rows"):
        train("auto", X[:32], XOR[:32]).importance()
    with pytest.raises(DataError, match="there is none yet: give rows"):
        train("auto", X[:5], XOR[:5]).importance()


# ---- pictures --------------------------------------------------------------------------------------------------------


@every_kind
def test_pictures_show_names_and_values(kind: str, runs: dict[str, Any], tmp_path: Path) -> None:
    run, names = runs[kind], ["price in $ or $US", "day", "c", "d", "e"]
    found = run.importance(names=names)
    figure = found.plot(tmp_path / "bars.png")
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_yticklabels()] == list(found.names)
    assert [bar.get_width() for bar in axes.patches] == pytest.approx(found.shares)
    assert f"kept after {found.frozen:,} rows" in axes.get_title()
    curves = [run.partial_dependence(j, names=names) for j in (0, 1)]
    panels = plot_dependence(curves, tmp_path / "curves.png").axes
    for axes, curve in zip(panels, curves, strict=True):
        assert axes.get_xlabel() == curve.name
        assert axes.lines[0].get_ydata() == pytest.approx(curve.means if curve.means.ndim == 1 else curve.means[:, 0])
    assert (tmp_path / "bars.png").stat().st_size > 5000
    assert (tmp_path / "curves.png").stat().st_size > 5000


def test_many_features_share_a_bar() -> None:
    x = RNG.normal(size=(40, 30))
    found = train("auto", x, XOR[:40]).importance()
    (axes,) = found.plot().axes
    assert len(axes.patches) == 16
    assert axes.get_yticklabels()[-1].get_text() == "15 others"
    assert axes.get_xlabel() == "fall of the loss" or found.tells
