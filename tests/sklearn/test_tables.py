"""The scikit-learn estimators on tables: names of columns, texts, and what is refused."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.base import clone

from lowregret import Logistic, Square, read, train, zoo
from lowregret.errors import DataError, PartError
from lowregret.sklearn import OnlineClassifier, OnlineRegressor

ADAGRAD = zoo.adagrad(Logistic())
SIZE = 300

rng = np.random.default_rng(0)
NUMBERS = {"x": rng.normal(size=SIZE), "n": rng.integers(5, size=SIZE), "big": rng.random(SIZE) < 0.5}
CELLS = NUMBERS | {"hue": np.array(["red", "green", "blue"])[rng.integers(3, size=SIZE)]}
LABELS = np.where(NUMBERS["x"] + 2 * (CELLS["hue"] == "red") + 0.2 * rng.normal(size=SIZE) > 0.7, "yes", "no")


def frame_of(package: str) -> Callable[[dict[str, Any]], Any]:
    """How a package makes a table of columns."""
    if package == "pyarrow":
        return pa.table
    return pytest.importorskip(package).DataFrame


each_package = pytest.mark.parametrize("package", ["pyarrow", "pandas", "polars"])


@each_package
def test_columns_of_numbers_are_a_matrix_with_names(package: str) -> None:
    matrix = np.column_stack([NUMBERS[name].astype(float) for name in NUMBERS])
    table, plain = frame_of(package)(NUMBERS), OnlineClassifier(ADAGRAD).fit(matrix, LABELS)
    model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    assert model.feature_names_in_.tolist() == list(NUMBERS)
    assert model.n_features_in_ == 3
    assert np.array_equal(model.coef_, plain.coef_)
    assert np.array_equal(model.decision_function(table), plain.decision_function(matrix))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame_of(package)({name: NUMBERS[name] for name in ("n", "x", "big")}))
    with pytest.raises(DataError, match="the column 'n' is not of numbers, as all were in the first rows"):
        model.predict(frame_of(package)(NUMBERS | {"n": CELLS["hue"]}))


@each_package
def test_texts_are_hashed_as_from_a_file(package: str, tmp_path: Path) -> None:
    cells = {name: CELLS[name] for name in ("x", "n", "hue")}
    pa.csv.write_csv(pa.table(cells | {"y": LABELS}), tmp_path / "t.csv")
    run = train(ADAGRAD, read(tmp_path / "t.csv", target="y", positive="yes"))
    table = frame_of(package)(cells)
    model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    assert model.n_features_in_ == 3
    assert model.run_.loss == run.loss
    assert model.progressive_error_ == run.error
    assert model.progressive_error_ < 0.2
    assert np.array_equal(model.run_.weights[: run.features], run.weights)
    assert model.score(table, LABELS) > 0.8
    assert len(pickle.dumps(model)) < 1_000_000  # by the features that occurred, not by all slots
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(table), model.decision_function(table))


def test_parts_of_tables_with_weights_are_the_whole() -> None:
    table, weights = pa.table(CELLS), np.random.default_rng(1).integers(0, 3, SIZE).astype(float)
    whole = OnlineClassifier(ADAGRAD).fit(table, LABELS, weights)
    parts = OnlineClassifier(ADAGRAD)
    for rows in (slice(0, 100), slice(100, 101), slice(101, SIZE)):
        part = table.slice(rows.start, rows.stop - rows.start)
        parts.partial_fit(part, LABELS[rows], classes=["no", "yes"], sample_weight=weights[rows])
    assert np.array_equal(parts.run_.weights, whole.run_.weights)
    assert parts.run_.loss == whole.run_.loss
    assert whole.run_.rounds == np.count_nonzero(weights)


def test_many_classes_and_numbers_from_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lowregret.sklearn.train", partial(train, compiled=False))
    table, hues = pa.table({name: CELLS[name] for name in ("x", "hue")}), CELLS["hue"]
    many = OnlineClassifier(zoo.mc_perceptron()).fit(table, hues)
    assert many.classes_.tolist() == many.run_.classes.names == ["blue", "green", "red"]
    assert many.progressive_error_ < 0.2
    y = NUMBERS["x"] + (hues == "red")
    assert OnlineRegressor(zoo.adagrad(Square())).fit(table, y).progressive_loss_ < 0.3 * y.var()


def test_what_does_not_fit_a_table_with_texts() -> None:
    table = pa.table(CELLS)
    model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    with pytest.raises(AttributeError, match="columns are hashed"):
        _ = model.coef_
    with pytest.raises(DataError, match="the first rows were a table with columns that are not numbers"):
        model.predict(np.ones((2, 4)))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table.drop_columns(["x"]))
    with pytest.raises(DataError, match="the table has no rows"):
        model.predict(table.slice(0, 0))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(table, LABELS[:-1])
    with pytest.raises(DataError, match=r"Table:2: expected a finite number in the column 'x', but found inf$"):
        model.fit(pa.table({"x": [1.0, np.inf], "hue": ["a", "b"]}), ["yes", "no"])


# ---- text, dates and numbers that are names --------------------------------------------------------------------------

DAYS = [datetime(2024, 1, 1) + timedelta(hours=5 * k) for k in range(SIZE)]
SAID = [" ".join(rng.choice(["Free", "entry", "call", "home"], 4)) for _ in range(SIZE)]
SPOKEN: dict[str, Any] = {"said": SAID, "when": DAYS, "n": NUMBERS["n"]}


@each_package
def test_text_dates_and_categories_are_read_as_from_a_file(package: str, tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table(SPOKEN | {"y": LABELS}), tmp_path / "t.parquet")
    how: dict[str, Any] = {"text": ["said"], "ngrams": 2, "categorical": ["n"]}
    run = train(ADAGRAD, read(tmp_path / "t.parquet", target="y", positive="yes", **how))
    table = frame_of(package)(SPOKEN)
    model = clone(OnlineClassifier(ADAGRAD, **how)).fit(table, LABELS)
    assert model.run_.loss == run.loss
    assert np.array_equal(model.run_.weights[: run.features], run.weights)
    assert np.count_nonzero(run.weights) > 40
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict(table), model.predict(table))


@pytest.mark.parametrize("given", [3, [3]])
def test_columns_have_names(given: Any) -> None:
    with pytest.raises(PartError, match=r"^text must be the name of a column or a list of such, got .*3"):
        OnlineClassifier(ADAGRAD, text=given).fit(pa.table(CELLS), LABELS)


def test_dates_as_text_are_named() -> None:
    table = pa.table({"when": [str(day) for day in DAYS]})
    told = OnlineClassifier(ADAGRAD, date="when").fit(table, LABELS)
    typed = OnlineClassifier(ADAGRAD).fit(pa.table({"when": DAYS}), LABELS)
    assert told.run_.loss == typed.run_.loss
    with pytest.raises(DataError, match=r"Table:1: expected a date such as .* in the column 'when', but found 'soon'"):
        told.predict(pa.table({"when": ["soon"]}))


def test_numbers_that_are_names_make_a_table_of_a_frame_of_numbers() -> None:
    table = pa.table({"n": NUMBERS["n"]})
    labels = np.where(NUMBERS["n"] == 2, "yes", "no")
    model = OnlineClassifier(ADAGRAD, categorical=["n"]).fit(table, labels)
    assert np.array_equal(model.predict(table), labels)
    with pytest.raises(DataError, match="there is no column 'n' in a matrix: give a pandas, polars or Arrow table"):
        model.predict(np.ones((2, 1)))
    with pytest.raises(DataError, match="Table has no column 'm'; it has 'n'"):
        OnlineClassifier(ADAGRAD, text="m").fit(table, labels)


def test_columns_of_which_little_is_learnt_are_warned_of() -> None:
    table = pa.table({"id": [f"no{k}" for k in range(SIZE)], "said": [f"{k} {text}" for k, text in enumerate(SAID)]})
    with pytest.warns(UserWarning, match="column") as warned:
        model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    said = [str(warning.message) for warning in warned]
    many = f"nearly as many values as rows ({SIZE} of the first {SIZE})"
    assert said == [
        f"column id: {many}; if it is an id, leave it out",
        f"column said: {many}; words are learnt with text=['said'], or leave it out",
    ]
    assert warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(table, LABELS)
        OnlineClassifier(ADAGRAD, text="said", categorical="id").fit(table, LABELS)


def test_categories_that_are_numbers_are_warned_of() -> None:
    """They were learnt as numbers without a word."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"n": pandas.Categorical(NUMBERS["n"]), "x": NUMBERS["x"]})
    with pytest.warns(
        UserWarning, match="the categories of the column 'n' are numbers, and learnt as numbers"
    ) as warned:
        model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    assert (len(warned), warned[0].filename, model.coef_.shape) == (1, __file__, (1, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(table, LABELS).predict(table)
        OnlineClassifier(ADAGRAD, categorical="n").fit(table, LABELS)
        OnlineClassifier(ADAGRAD).fit(table.assign(n=table["n"].astype(int)), LABELS)


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_one_column_is_no_table(package: str) -> None:
    column = pytest.importorskip(package).Series(NUMBERS["x"])
    with pytest.raises(ValueError, match=r"Expected 2D array|Expected a 2-dimensional container"):
        OnlineClassifier(ADAGRAD).fit(column, LABELS)


def test_parameters_for_the_next_fit_do_not_change_how_tables_are_read() -> None:
    table = pa.table({name: CELLS[name] for name in ("n", "hue")})
    model = OnlineClassifier(ADAGRAD).fit(table, LABELS)
    scores = model.decision_function(table)
    model.set_params(categorical="n")
    assert np.array_equal(pickle.loads(pickle.dumps(model)).decision_function(table), scores)
    assert not np.array_equal(model.fit(table, LABELS).decision_function(table), scores)
