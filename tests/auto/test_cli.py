"""`auto` on the command line: the default, told in JSON, resumed to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowregret import zoo
from lowregret.errors import DataError, PartError
from lowregret.loss import Hinge
from lowregret.run.auto import AutoRun
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.session import Session
from lowregret.store.kinds import load
from lowregret.train import train
from tests.cli.running import run, svm_lines

Capsys = pytest.CaptureFixture[str]


def written(path: Path, lines: list[str]) -> Path:
    path.write_text("\n".join(lines) + "\n")
    return path


def test_it_is_the_default_and_tells_all(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", svm_lines(300))
    told = run(capsys, "train", file, "--json", "--quiet", "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    assert told.code == 0, told.err
    found = told.json
    assert found["algorithm"] == "auto"
    assert found["loss"]["name"] == "logistic"
    certificate, mixture = found["certificate"], found["mixture"]
    assert certificate["id"] == "LINEARISED"
    assert certificate["comparator"] == {"set": "l2-ball", "radius": 1.0}
    assert certificate["linear_regret"] > 0
    assert certificate["bound"] is None
    assert mixture["id"] == "MIX-SHARE"
    assert mixture["holds"] is True
    assert mixture["regret"] <= mixture["bound"]
    losses = found["experts"]["losses"]
    assert found["best"] == {"name": found["experts"]["names"][int(np.argmin(losses))], "loss": min(losses)}
    assert mixture["regret"] == pytest.approx(found["loss"]["total"] - min(losses))
    assert sum(found["experts"]["weights"]) == pytest.approx(1.0)
    again = load(tmp_path / "m.lr")
    assert isinstance(again, AutoRun)
    assert again.loss == found["loss"]["total"]
    kept = found["kept"]
    assert again.kept is not None
    assert (kept["error"], kept["loss"], kept["horizon"]) == (again.kept.error, again.kept.loss, again.kept.horizon)
    assert kept["certificate"]["id"] == "KEPT-ADAHEDGE"
    assert kept["certificate"]["holds"] is True
    assert kept["experts"]["names"][int(np.argmin(kept["experts"]["losses"]))] == kept["experts"]["best"]
    assert np.loadtxt(tmp_path / "p.txt").shape == (300,)
    shown = run(capsys, "train", file).out
    assert f"the best of its {len(losses)} experts, {found['best']['name']}" in shown
    assert "against every fixed choice in the l2-ball of radius 1" in shown


def test_files_and_resuming_change_no_bit(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(240)
    whole = written(tmp_path / "whole.svm", lines)
    first, second = written(tmp_path / "1.svm", lines[:100]), written(tmp_path / "2.svm", lines[100:])
    run(capsys, "train", whole, "-o", tmp_path / "whole.lr", "--quiet")
    run(capsys, "train", first, "-o", tmp_path / "half.lr", "--quiet")
    told = run(capsys, "train", second, "--resume", tmp_path / "half.lr", "-o", tmp_path / "half.lr", "--quiet")
    assert told.code == 0, told.err
    one, other = (Session.load(tmp_path / f"{name}.lr").run for name in ("whole", "half"))
    assert isinstance(one, AutoRun)
    assert isinstance(other, AutoRun)
    assert all(np.array_equal(a, b) for a, b in zip(one.record.mind, other.record.mind, strict=True))
    assert one.loss == other.loss
    mine, theirs = one.contents()[1], other.contents()[1]
    assert all(np.array_equal(mine[name], theirs[name], equal_nan=True) for name in mine)


def test_numbers_are_learnt_with_the_square_loss(capsys: Capsys, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 3))
    y = x @ [1.0, -2.0, 0.5] + 10 + 0.1 * rng.normal(size=200)
    rows = ["a,b,c,y", *(",".join(f"{v:.6f}" for v in (*row, label)) for row, label in zip(x, y, strict=True))]
    file = written(tmp_path / "t.csv", rows)
    found = run(capsys, "train", file, "--target", "y", "--json", "--quiet").json
    assert found["loss"]["name"] == "square"
    assert found["mixture"]["id"] == "MIX-ADAHEDGE"
    assert found["mixture"]["holds"] is True
    assert found["error"] is None


def test_classes(capsys: Capsys, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = rng.choice(["red", "green", "blue"], 300)
    rows = ["u,v,colour"]
    for name in names:
        u, v = {"red": (2, 0), "green": (-2, 0), "blue": (0, 3)}[name] + rng.normal(size=2)
        rows.append(f"{u:.4f},{v:.4f},{name}")
    file, model = written(tmp_path / "t.csv", rows), tmp_path / "m.lr"
    said = ("--target", "colour", "--loss", "softmax", "--json", "--quiet", "-o", model)
    found = run(capsys, "train", file, *said).json
    assert found["algorithm"] == "auto"
    assert found["mixture"]["id"] == "MIX-SHARE"
    assert found["mixture"]["holds"] is True
    assert found["error"] < 0.25
    told = run(capsys, "predict", model, file, "-o", tmp_path / "p.txt")
    assert told.code == 0, told.err
    assert np.mean(np.array((tmp_path / "p.txt").read_text().split()) == names) > 0.8
    chances = run(capsys, "predict", model, file, "--link", "prob", "-o", tmp_path / "q.txt")
    assert chances.code == 0, chances.err
    assert np.loadtxt(tmp_path / "q.txt", delimiter=",", skiprows=1).sum(axis=1) == pytest.approx(1.0)


@pytest.mark.parametrize("option", [("--eta", "1"), ("--output", "average"), ("--lam", "1")])
def test_what_needs_tuning_is_refused(capsys: Capsys, tmp_path: Path, option: tuple[str, str]) -> None:
    file = written(tmp_path / "a.svm", svm_lines(20))
    told = run(capsys, "train", file, "--algorithm", "auto", *option)
    assert told.code == 2
    assert option[0] in told.err


def test_exact_regret(capsys: Capsys, tmp_path: Path) -> None:
    file = written(tmp_path / "a.svm", svm_lines(200))
    found = run(capsys, "train", file, "--certify", "exact", "--radius", 2, "--json", "--quiet").json
    certificate = found["certificate"]
    assert certificate["id"] == "LINEARISED"
    assert certificate["regret"] <= certificate["linear_regret"]
    assert certificate["regret"] == pytest.approx(found["loss"]["total"] - certificate["hindsight"]["loss"])


def test_other_losses_are_left_to_others() -> None:
    with pytest.raises(PartError, match="logistic, square or softmax"):
        zoo.auto(Hinge())
    with pytest.raises(PartError, match="one score"):
        train("auto", np.eye(2), [1.0, -1.0], classes=[1, 2])  # type: ignore[call-overload]


def test_labels_say_what_they_are(capsys: Capsys, tmp_path: Path) -> None:
    bits = written(tmp_path / "bits.svm", [line.replace("-1 ", "0 ", 1) for line in svm_lines(100)])
    told = run(capsys, "train", bits, "-o", tmp_path / "m.lr", "--json")
    assert "two classes (--positive 1)" in told.err
    assert told.json["loss"]["name"] == "logistic"
    assert sum(sum(row.values()) for row in told.json["metrics"]["confusion"].values()) == 100
    more = run(capsys, "train", bits, "--resume", tmp_path / "m.lr", "--json", "--quiet")
    assert more.json["rounds"] == 200
    numbers = run(capsys, "train", bits, "--loss", "square", "--json", "--quiet")
    assert numbers.json["loss"]["name"] == "square"
    texts = written(tmp_path / "t.csv", ["u,colour", *["1,red", "-1,blue"] * 20])
    told = run(capsys, "train", texts, "--target", "colour", "--json")
    assert "classes (--loss softmax)" in told.err
    assert told.json["loss"]["name"] == "softmax"
    stars = written(tmp_path / "s.csv", ["u,stars", *["1,5", "-1,1", "0,3"] * 20])
    told = run(capsys, "train", stars, "--target", "stars", "--json")
    assert "for classes say --loss softmax" in told.err
    assert told.json["loss"]["name"] == "square"


def test_a_target_that_cannot_be_read_is_told_as_it_is(capsys: Capsys, tmp_path: Path) -> None:
    broken = written(tmp_path / "b.csv", ["u,y", '"1,2'])
    told = run(capsys, "train", broken, "--target", "y")
    assert told.code == 2
    assert "b.csv:2" in told.err


def test_labels_in_memory() -> None:
    with pytest.raises(DataError, match="the labels are 0 and 1"):
        train("auto", np.eye(2), [0, 1])
    run_of_texts: object = train("auto", np.eye(4), ["a", "b", "a", "b"], compiled=False)
    assert isinstance(run_of_texts, AutoMulticlassRun)
