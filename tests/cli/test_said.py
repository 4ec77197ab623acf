"""Sentences of summaries, taken at their word."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from lowregret.certificate.certificate import Certificate
from lowregret.cli.html_report import proof
from lowregret.show.plot import plot_run
from lowregret.show.text import describe
from tests.cli.running import run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def weighted(path: Path, weights: list[float]) -> Path:
    """A table of two classes, the easy rows first, with these weights in turn."""
    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=60))
    y = np.where(x + rng.normal(size=60) > 0, 1, -1)
    lines = [f"{label},{weights[i % len(weights)]},{a:.3f}" for i, (label, a) in enumerate(zip(y, x, strict=True))]
    return written(path, ["y,c,a", *lines])


@pytest.mark.parametrize("loss", ["hinge", "softmax", "absolute"])
def test_weights_that_sum_to_the_number_of_rows_are_weights(capsys: Capsys, tmp_path: Path, loss: str) -> None:
    path, model = weighted(tmp_path / "a.csv", [0.5, 1.5]), tmp_path / "m.lr"
    said = "train", path, "--target", "y", "--weight", "c", "--loss", loss, "--algorithm", "adagrad"
    first, last = run(capsys, *said, "-o", model).out, run(capsys, *said, "--holdout", "last:10").out
    for told in (first, last, run(capsys, "predict", model, path).err):
        assert "per unit of weight" in told
        assert " a row" not in told
        assert "of the rows predicted" not in told
        assert loss == "absolute" or "of the weight predicted wrongly" in told
    more = weighted(tmp_path / "b.csv", [1.0])
    assert "per unit of weight" in run(capsys, "train", more, "--resume", model).out


def test_rows_of_weight_1_are_rows(capsys: Capsys, tmp_path: Path) -> None:
    told = run(
        capsys, "train", weighted(tmp_path / "a.csv", [1, 0]), "--target", "y", "--weight", "c", "--loss", "hinge"
    )
    assert re.search("loss .* a row.*\n.*% of the rows predicted", told.out)


def test_the_least_loss_of_fixed_choices_has_the_regulariser(capsys: Capsys, tmp_path: Path) -> None:
    """w = 2 loses nothing on these rows; with its regulariser it loses 2."""
    path = written(tmp_path / "a.svm", ["+1 1:1", "-1 1:-0.5"] * 40)
    said = "train", path, "--loss", "hinge", "--algorithm", "ogd-sc", "--lam", "1", "--radius", "10"
    told = run(capsys, *said).out
    found = re.search(r"so no fixed choice there had a loss, regulariser included, below (\S+) a row", told)
    w = np.linspace(0, 3, 3001)
    best = float(np.min((np.maximum(1 - w, 0) + np.maximum(1 - 0.5 * w, 0)) / 2 + w**2 / 2))
    assert found is not None
    assert "of losses with the regulariser, λ = 1\n" in told
    assert 0.9 * best < float(found[1]) <= best


def test_rows_and_their_speed_are_those_of_this_command(capsys: Capsys, tmp_path: Path) -> None:
    first, more, model = tmp_path / "a.svm", tmp_path / "b.svm", tmp_path / "m.lr"
    written(first, svm_lines(200)), written(more, svm_lines(10, seed=1))
    run(capsys, "train", first, "--algorithm", "ogd", "-o", model)
    told = run(capsys, "train", more, "--resume", model, "--passes", 3).out
    assert "learnt     3 passes over 10 more rows, 210 in all, with ogd" in told
    seconds, rate = (float(n.replace(",", "")) for n in re.findall(r"in (\S+) s \((\S+) rows/s\)", told)[0])
    assert rate * seconds < 100  # of 30 rows, not of 630; seconds have two digits or none


def test_rows_held_out_that_count_are_told_from_all(capsys: Capsys, tmp_path: Path) -> None:
    path = weighted(tmp_path / "a.csv", [1, 0, 0])
    told = run(capsys, "train", path, "--target", "y", "--weight", "c", "--algorithm", "ogd", "--holdout", "last:9")
    assert "held out   3 of the last 9 rows" in told.out


def test_shares_are_none_or_all_only_if_they_are(capsys: Capsys, tmp_path: Path) -> None:
    rows = ["0 1:1", *["1 2:1"] * 1000, "1 1:1", "0 1:1"]
    told = run(capsys, "train", written(tmp_path / "a.svm", rows), "--loss", "softmax", "--algorithm", "adagrad").out
    assert re.search(r"found .*1 99\.\d+% of 1,001", told)


def test_the_area_is_as_near_as_it_says(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(120, seed=3))
    said = "train", path, "--algorithm", "ogd", "--loss", "logistic", "--predictions", tmp_path / "p.txt"
    area, near = (float(n) for n in re.findall(r"ranking +(\S+) \(AUC, ± (\S+)\)", run(capsys, *said).out)[0])
    p = np.loadtxt(tmp_path / "p.txt")
    y = np.array([line.startswith("+1") for line in path.read_text().splitlines()])
    apart = p[y][:, None] - p[~y][None, :]
    assert abs(area - np.mean((apart > 0) + (apart == 0) / 2)) <= near


def test_pictures_call_losses_of_weighted_rows_what_they_are() -> None:
    from lowregret import Hinge, train, zoo

    x, y = np.ones((4, 1)), np.array([1.0, -1.0, 1.0, 1.0])
    for weights, name in ((None, "mean loss so far"), (np.full(4, 9.0), "loss per round so far")):
        figure = plot_run(train(zoo.ogd(Hinge()), x, y, weights=weights, compiled=False), None)
        assert figure.axes[0].get_ylabel() == name


@pytest.mark.parametrize("algorithm", ["auto", "ml-poly"])
def test_regret_to_any_weights_says_whose(capsys: Capsys, tmp_path: Path, algorithm: str) -> None:
    """An expert that slept is told apart where the certificate does not speak of it."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=60)
    x = y[:, None] + rng.normal(size=(60, 2)) * [0.1, 3.0]
    rows = [[f"{y[t]:.3f}", f"{x[t, 0]:.3f}" if t % 5 else "", f"{x[t, 1]:.3f}"] for t in range(60)]
    path = written(tmp_path / "a.csv", ["y,good,poor", *map(",".join, rows)])
    said = "experts", path, "--target", "y", "--loss", "mae", "--delay", 3, "--algorithm", algorithm
    told, found = run(capsys, *said).out, run(capsys, *said, "--json").json
    speaks = found["certificate"]["comparator"].get("slept") != "never"
    assert speaks == (algorithm == "ml-poly")
    assert ("to any fixed weights of experts that never slept" in told) != speaks
    assert found["certificate"]["linear_regret"] >= found["best"]["regret"] or not speaks


def test_roots_of_mean_squares_of_late_outcomes_are_called_so(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ["y,a,b", *(f"{t % 7},{t % 5},{t % 3}" for t in range(40))])
    told = run(capsys, "experts", path, "--target", "y", "--loss", "rmse", "--delay", 2).out
    assert re.search("the mixture .* root mean square, over 40 rows\nthe plain mean .* root mean square\n", told)


def test_a_bound_of_infinity_is_told_in_words() -> None:
    found = Certificate("LEM-2.5", "linearised", {"set": "l2-ball", "radius": 1.0}, np.inf, np.inf)
    assert describe(found, 2) == [
        "regret     no finite bound is known against every fixed choice in the l2-ball of radius 1"
    ]
    page = proof(found)
    assert "inf" not in page
    assert "<td>nothing</td>" in page
