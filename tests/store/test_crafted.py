"""Files made by hand: sizes, names and parts that fit each other, but not what compiled loops do with them."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import (
    AdaGrad,
    Box,
    Constant,
    Euclidean,
    Hinge,
    Intersection,
    L2Ball,
    Linear,
    Logistic,
    MirrorDescent,
    Multiclass,
    ProjectedGradient,
    Reals,
    Softmax,
    StoreError,
)
from lowregret.cli import main
from lowregret.compile.spec import to_json
from lowregret.run.begin import begin
from lowregret.store import file as store
from lowregret.store.kinds import class_of, load
from lowregret.stream.formats.csv import DelimitedText
from lowregret.stream.read import know_formats

FOLDER = Path(__file__).parent.parent / "models"
WALLS = np.ones(1024)
BOX = Box(-WALLS, WALLS)
FIXED: dict[str, tuple[Any, Any]] = {  # a learner that grows, and the same one made for 1,024 features
    "domain": (Linear(Hinge(), AdaGrad(0.5)), Linear(Hinge(), AdaGrad(0.5, BOX))),
    "mirror": (
        Linear(Hinge(), MirrorDescent(Euclidean(), Constant(0.1))),
        Linear(Hinge(), MirrorDescent(Euclidean(BOX), Constant(0.1))),
    ),
    "start": (
        Linear(Hinge(), ProjectedGradient(L2Ball(), Constant(0.1))),
        Linear(Hinge(), ProjectedGradient(L2Ball(), Constant(0.1), start=WALLS / 1024)),
    ),
    "centre": (
        Linear(Hinge(), ProjectedGradient(Reals(), Constant(0.1))),
        Linear(Hinge(), ProjectedGradient(Reals(), Constant(0.1)), ridge=0.5, centre=WALLS),
    ),
}


@pytest.mark.parametrize("name", FIXED)
def test_a_learner_made_for_some_features_does_not_grow(name: str, tmp_path: Path) -> None:
    """It would look for the bounds, or the start, of features beyond them."""
    grows, fixed = FIXED[name]
    path = begin(grows, None, compiled=False).learn(np.eye(3), [1.0, -1.0, 1.0]).save(tmp_path / "m.lr")
    description, arrays = store.read(path, "run")
    class_of("run").from_file(path, dict(description), dict(arrays))
    with pytest.raises(StoreError, match="does not fit together"):
        class_of("run").from_file(path, description | {"learner": to_json(fixed)}, arrays)


def test_a_learner_made_for_some_classes_gets_no_more(tmp_path: Path) -> None:
    learner = Multiclass(Softmax(), AdaGrad(0.5))
    path = begin(learner, 3, compiled=False).learn(np.eye(3), ["a", "b", "a"]).save(tmp_path / "m.lr")
    description, arrays = store.read(path, "class-run")
    bounds = np.ones(int(arrays["counts"][-1]))
    fixed = replace(learner, rule=AdaGrad(0.5, Box(-bounds, bounds)))
    with pytest.raises(StoreError, match="does not fit together"):
        class_of("class-run").from_file(path, description | {"learner": to_json(fixed)}, arrays)


@pytest.mark.parametrize("name", ["class-run-waiting", "auto-class-run-waiting"])
def test_late_rows_of_classes_have_names(name: str) -> None:
    """Without, nobody would look how many classes there were when they were asked."""
    path = FOLDER / f"{name}.lr"
    description, arrays = store.read(path, store.kind_of(path))
    del description["late"]["names"]
    arrays["late.past"][:, 0] = 1e6
    with pytest.raises(StoreError, match="names of late labels if there are classes"):
        class_of(store.kind_of(path)).from_file(path, description, arrays)


def test_late_rows_of_numbers_have_no_names() -> None:
    path = FOLDER / "run-waiting.lr"
    description, arrays = store.read(path, "run")
    description["late"]["names"] = ["a", "b"]
    with pytest.raises(StoreError, match="names of late labels if there are classes"):
        class_of("run").from_file(path, description, arrays)


def parser() -> dict[str, Any]:
    """What reads the rows of one file, its arrays changed: they tell compiled code where to write."""
    know_formats()
    rows, _ = DelimitedText(target="y").opened(b"y,a,b,c\n", "rows.csv")
    told = to_json(rows)
    told["places"]["array"] = [10**12] * 4
    return told


TABLE = to_json(DelimitedText(target="y"))
FORMS: dict[str, Any] = {
    "a loss": {"part": "Hinge"},
    "a parser": parser(),
    "a parser within": {"part": "OneLabel", "form": parser(), "positive": 1.0},
    "a cache": {"part": "Cached", "positive": "", "classes": False},
    "bits": TABLE | {"bits": 5.5},
    "bits in an array": TABLE | {"bits": {"array": [5], "dtype": "int64"}},
    "a column": TABLE | {"target": 5},
    "columns": TABLE | {"drop": ["a", 5]},
    "products": TABLE | {"interactions": [["a", 5]]},
    "a switch": TABLE | {"header": "no"},
    "keys": {"part": "VwText", "bits": 18, "crossing": {"part": "Crossing", "keys": {"array": [[1], [2], [3]]}}},
}


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("file", ["run-session", "predictor-session"])
def test_rows_are_read_by_formats_alone(
    name: str, file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = FOLDER / f"{file}.lr", tmp_path / "rows.csv"
    rows.write_text("y,a,b,c\n1,2,3,4\n-1,4,3,2\n")
    description, arrays = store.read(path, store.kind_of(path))
    description["session"]["form"] = json.loads(json.dumps(FORMS[name]))
    store.write(tmp_path / "m.lr", store.kind_of(path), description, arrays)
    with pytest.raises(StoreError):
        load(tmp_path / "m.lr")
    assert main(["predict", str(tmp_path / "m.lr"), str(rows)]) == 2
    assert "m.lr" in capsys.readouterr().err


def test_weights_that_do_not_fit_into_memory_are_refused_in_words(tmp_path: Path) -> None:
    """Columns may be any numbers; a run takes room for those that occur."""
    run = begin(Linear(Logistic(), AdaGrad(0.5)), None, compiled=False).learn(np.eye(3), [1.0, -1.0, 1.0])
    path = run.save(tmp_path / "m.lr")
    description, arrays = store.read(path, "run")
    for seen in (1 << 40, 1 << 62):
        found: Any = class_of("run").from_file(path, description | {"seen": seen}, dict(arrays))
        with pytest.raises(ValueError, match="no room in memory"):
            _ = found.weights


def test_bits_of_labels_are_counted_once_there_is_a_threshold() -> None:
    """Else there would be more ones than bits, of which no coin can be guessed."""
    path = FOLDER / "class-run-eights.lr"
    description, arrays = store.read(path, "class-run")
    arrays["tally.sums"][description["slots"]["tally.sums"].index("threshold")] = 0.0
    with pytest.raises(StoreError, match="no threshold before the first block is full"):
        class_of("class-run").from_file(path, description, arrays)


def test_a_portfolio_holds_all_that_it_has() -> None:
    path = FOLDER / "mixed-portfolio.lr"
    description, arrays = store.read(path, "mixed-portfolio")
    arrays["holdings"][0] = 2.0**31
    with pytest.raises(StoreError, match="holdings that sum to 1"):
        class_of("mixed-portfolio").from_file(path, description, arrays)


@pytest.mark.parametrize(
    ("name", "array", "columns"),
    [
        ("auto-run", "table", [3]),
        ("auto-run", "mind.bank", range(8, 16)),
        ("auto-run-regression", "frozen.measures", [1]),
        ("auto-class-run", "mind.measures", [3]),
        ("auto-class-run", "mind.bank", range(8, 16)),
        ("predictor-auto", "measures", [2]),
        ("run-freegrad", "table", [2]),
        ("run-freegrad", "table.bias", [3]),
        ("run-newton", "table", [4]),
        ("block-run-growing", "decided", [2]),
        ("class-run-eights", "table", [2]),
    ],
)
def test_no_roots_of_what_is_negative(name: str, array: str, columns: Any) -> None:
    """Scores were no numbers from then on, and the run could not be saved any more."""
    path = FOLDER / f"{name}.lr"
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    assert arrays[array].size
    arrays[array][:, list(columns)] = -1.0
    with pytest.raises(StoreError, match="≥ 0 does not hold"):
        class_of(kind).from_file(path, description, arrays)


def test_rows_of_auto_have_a_length() -> None:
    path = FOLDER / "auto-run.lr"
    description, arrays = store.read(path, "auto-run")
    arrays["mind.pace"][2] = 0.0
    with pytest.raises(StoreError, match="lengths of rows"):
        class_of("auto-run").from_file(path, description, arrays)


@pytest.mark.parametrize("again", [[], [0.0], [0.0] * 4])
def test_sums_of_later_passes_are_three(again: list[float]) -> None:
    path = FOLDER / "run-session.lr"
    description, arrays = store.read(path, "run")
    description["session"]["again"] = again
    with pytest.raises(StoreError, match="3 to 3"):
        class_of("run").from_file(path, description, arrays)


@pytest.mark.parametrize("place", [0, 4, 7, 10])
def test_rows_that_were_judged_can_be_counted(place: int) -> None:
    path = FOLDER / "run-session.lr"
    description, arrays = store.read(path, "run")
    arrays["held.sums"][place] = np.inf
    with pytest.raises(StoreError, match=r"held\.sums: rows and weights"):
        class_of("run").from_file(path, description, arrays)


@pytest.mark.parametrize("depth", [70, 200, 900])
@pytest.mark.parametrize("form", ["[{}]", '{{"a": {}}}', '{{"part": "Hinge", "margin": {}}}'])
def test_descriptions_in_each_other_without_end(form: str, depth: int, tmp_path: Path) -> None:
    """Whatever shows or migrates what it finds calls itself on every level."""
    description, arrays = store.read(FOLDER / "experts.lr", "experts")
    begin, end = form.format("*").split("*")
    told = json.dumps(description | {"aggregator": "*"}).replace('"*"', begin * depth + "1" + end * depth)
    path = tmp_path / "m.lr"
    with path.open("wb") as file:
        store._write(file, {"kind": "experts", "format": 6, "description": told}, arrays)
    with pytest.raises(StoreError, match="holds no description"):
        load(path)


@pytest.mark.parametrize(("name", "array"), [("auto-run", "eras"), ("experts", "drift"), ("auto-run", "contests")])
@pytest.mark.parametrize("wrong", [np.array(1.0), np.ones((2, 60), np.int64)])
def test_earlier_formats_that_hold_something_else(name: str, array: str, wrong: Any, tmp_path: Path) -> None:
    description, arrays = store.read(FOLDER / f"{name}.lr", name)
    path = tmp_path / "m.lr"
    with path.open("wb") as file:
        told = json.dumps(description)
        store._write(file, {"kind": name, "format": 5, "description": told}, arrays | {array: wrong})
    with pytest.raises(StoreError):
        load(path)


def test_parts_that_never_end_are_refused() -> None:
    """A few bytes in a file: a power of 2⁶² factors, and losses each of which asks the one inside it three times."""
    description, arrays = store.read(FOLDER / "kernel-run.lr", "kernel-run")
    endless = {"part": "KernelPerceptron", "kernel": {"part": "Polynomial", "degree": 2**62}}
    with pytest.raises(StoreError, match="degree must be 1, 2, 3, …, at most 1,024"):
        class_of("kernel-run").from_file("a file", description | {"learner": endless}, arrays)
    description, arrays = store.read(FOLDER / "run.lr", "run")
    loss = description["learner"]["loss"]
    for level in range(50):
        loss = {"part": ("Affine", "OnMistakes")[level % 2], "loss": loss}
    learner = description["learner"] | {"loss": loss}
    with pytest.raises(StoreError, match="at most 4 times, one inside the other"):
        class_of("run").from_file("a file", description | {"learner": learner}, arrays)


def test_sets_of_an_intersection_are_those_of_intersections_in_it() -> None:
    """Each sweep over sets that need sweeps themselves would cost as many."""
    nested: Any = Intersection((L2Ball(), Box()))
    for radius in range(2, 40):
        nested = Intersection((nested, L2Ball(float(radius))))
    assert len(nested.sets) == 40
    assert nested.contains(nested.projection(np.array([3.0, -4.0])))


def change(name: str, array: str, slot: str, value: float) -> None:
    """Load a stored file in which one number is another one."""
    path = FOLDER / f"{name}.lr"
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    arrays[array][description["slots"][array].index(slot)] = value
    class_of(kind).from_file(path, description, arrays)


@pytest.mark.parametrize("name", ["bandit", "bandit-tsallis", "exp4"])
@pytest.mark.parametrize(
    ("slot", "value"),
    [("cost", -1.0), ("cost", 41.0), ("local", -1e308), ("blur", -1.0), ("shift", -1.0), ("level", 1.5)],
)
def test_a_bandit_pays_from_0_to_1_a_round(name: str, slot: str, value: float) -> None:
    """Bounds on its regret fell below any number."""
    with pytest.raises(StoreError, match="sums"):
        change(name, "sums", slot, value)


@pytest.mark.parametrize(
    ("name", "wanted"), [("bandit", "follow from the estimates"), ("bandit-tsallis", "sum to 1"), ("exp4", "sum to 1")]
)
def test_arms_are_drawn_by_what_is_known_of_them(name: str, wanted: str) -> None:
    """Chances were no numbers, or theorems spoke of others."""
    path = FOLDER / f"{name}.lr"
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    arrays["weights"] *= 0.5
    with pytest.raises(StoreError, match=wanted):
        class_of(kind).from_file(path, description, arrays)


@pytest.mark.parametrize("name", ["bandit", "bandit-tsallis-centred"])
def test_no_weight_of_a_bandit_is_below_the_least(name: str) -> None:
    """The baseline that is taken off costs would be larger than promises allow."""
    with pytest.raises(StoreError, match=r"least|sum to 1"):
        change(name, "sums", "least", 0.9)


@pytest.mark.parametrize("slot", ["price", "pull", "loss", "width", "largest"])
def test_intervals_have_lost_what_scores_allow(slot: str) -> None:
    with pytest.raises(StoreError, match="sums"):
        change("conformal", "sums", slot, -1e300)


def test_features_that_no_row_has_cost_no_time() -> None:
    """A run without support has any number of them in a few bytes: each certificate made vectors as long."""
    description, arrays = store.read(FOLDER / "kernel-run.lr", "kernel-run")
    width, counts = 1 << 26, np.array([0, 0, 0, 1 << 26])
    blank = {"sums": np.zeros_like(arrays["sums"]), "counts": counts}
    blank |= {"rows": np.zeros((0, width)), "coefficients": np.zeros(0)}
    description["slots"].pop("history", None)
    run: Any = class_of("kernel-run").from_file("a file", description, blank)
    begin = time.process_time()
    assert "EQ-2.15" in str(run)
    assert run.trace.rounds.size
    assert time.process_time() - begin < 3


def load_changed(name: str, array: str, place: Any, value: Any) -> None:
    """Load a stored file in which one array has another value at a place."""
    path = FOLDER / f"{name}.lr"
    kind = store.kind_of(path)
    description, arrays = store.read(path, kind)
    class_of(kind).from_file(path, json.loads(json.dumps(description)), {k: a.copy() for k, a in arrays.items()})
    arrays[array][place] = value
    class_of(kind).from_file(path, description, arrays)


@pytest.mark.parametrize(
    ("name", "array", "place"),
    [
        ("experts", "drift", 0),
        ("experts", "drift", -1),
        ("experts", "linear", 0),
        ("experts", "losses", 0),
        ("layered-experts", "chief.drift", 0),
        ("layered-experts", "lane 0.drift", 0),
        ("series-experts", "accounts.drift", (0, 0)),
        ("series-experts", "accounts.late", 0),
        ("series-experts", "own.0.regret", (0, 0)),
        ("specialists", "regret", 0),
        ("specialists", "owed", 0),
    ],
)
@pytest.mark.parametrize("value", [-1e300, 1e300])
def test_experts_are_owed_what_rounds_can_have_brought(name: str, array: str, place: Any, value: float) -> None:
    """Bounds on the regret fell below any number."""
    with pytest.raises(StoreError, match=r"no more than was added|what the sums say"):
        load_changed(name, array, place, value)


@pytest.mark.parametrize("name", ["bandit", "bandit-ix", "bandit-tsallis", "exp4"])
def test_a_bandit_has_no_more_regret_on_estimates_than_there_can_be(name: str) -> None:
    with pytest.raises(StoreError, match="regret on estimates"):
        change(name, "sums", "linear", 1e9)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("estimated-descent", "sums"),
        ("expert-ranking", "descent.sums"),
        ("score-ranking", "descent.sums"),
        ("game", "seat.sums"),
        ("game-delayed", "seat.sums"),
        ("game-doubling", "seat.sums"),
    ],
)
def test_costs_are_their_own_linearisation(name: str, array: str) -> None:
    with pytest.raises(StoreError, match="costs that are linear"):
        change(name, array, "linear", -1e300)


@pytest.mark.parametrize(
    ("name", "array", "place", "wanted"),
    [
        ("game-leader", "seat.drops", 0, "drops and steps"),
        ("game-leader", "seat.steps", -1, "drops and steps"),
        ("online-newton", "a", (0, 0), "the identity and squares"),
        ("online-newton", "b", 0, "above 0"),
    ],
)
def test_games_and_portfolios_hold_what_was_played(name: str, array: str, place: Any, wanted: str) -> None:
    with pytest.raises(StoreError, match=wanted):
        load_changed(name, array, place, -1e300)


@pytest.mark.parametrize(
    ("name", "array", "slot"),
    [
        ("game-delayed", "seat.late", "drift"),
        ("game-delayed", "ledger", "late_drift"),
        ("game-delayed", "ledger", "total"),
    ],
)
def test_ledgers_of_games_follow_from_their_record(name: str, array: str, slot: str) -> None:
    description, _ = store.read(FOLDER / f"{name}.lr", "game")
    with pytest.raises(StoreError, match=r"points and sub-gradients|costs that are linear"):
        load_changed(name, array, (..., description["slots"][array].index(slot)), -1e300)


def test_squares_of_a_portfolio_are_definite() -> None:
    """Its programmes have no minimum else."""
    path = FOLDER / "online-newton.lr"
    _, arrays = store.read(path, "online-newton")
    with pytest.raises(StoreError, match="the identity and squares"):
        load_changed("online-newton", "a", ([0, 1], [1, 0]), float(2 * arrays["a"].max() + 1))


@pytest.mark.parametrize(("field", "value"), [("loss", 0.0), ("loss", 1e9), ("reciprocals", 1e9)])
def test_rankings_have_positions_among_their_items(field: str, value: float) -> None:
    path = FOLDER / "expert-ranking.lr"
    description, arrays = store.read(path, "expert-ranking")
    with pytest.raises(StoreError, match="positions"):
        class_of("expert-ranking").from_file(path, description | {field: value}, arrays)


@pytest.mark.parametrize(("name", "row", "number"), [("confusion", 0, 0.0), ("held", 0, np.inf), ("metrics", 1, 1e9)])
def test_rows_of_classes_have_a_weight(name: str, row: int, number: float) -> None:
    """Shares of no weight, or of an infinite one, are no numbers."""
    path = FOLDER / "class-run-session.lr"
    description, arrays = store.read(path, "class-run")
    counts = name if name == "confusion" else f"{name}.confusion"
    arrays[counts][0, 0], arrays[f"{name}.sums"][:2, 0] = 5, (5.0, 0.0)
    arrays[f"{name}.sums"][row, 0] = number
    with pytest.raises(StoreError, match=f"{name}.*weight"):
        class_of("class-run").from_file(path, description, arrays)
