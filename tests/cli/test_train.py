"""`lowregret train`: what it says, what it keeps, and how it fails."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from lowregret import Reals, load, train, zoo
from lowregret.cli.keeper import Keeper
from lowregret.cli.progress import Progress
from lowregret.cli.scores import ScoreFile
from lowregret.hindsight import best_in_hindsight
from lowregret.loss import LOSSES, Hinge, Poisson
from lowregret.output import Random
from lowregret.run.linear import LinearRun
from lowregret.run.session import Session
from lowregret.store.file import Arrays
from lowregret.store.watched import Watched
from lowregret.zoo import ALGORITHMS
from tests.cli.running import process, run, svm_lines, written

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")


def bits(arrays: Arrays) -> list[bytes]:
    return [array.tobytes() for array in arrays.values()]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return written(tmp_path / "rows.svm", svm_lines(300))


def test_the_json_is_the_contract(capsys: Capsys, file: Path) -> None:
    told = run(capsys, "train", file, "--loss", "hinge", "--json", "--quiet")
    assert told.code == 0
    assert told.err == ""
    found = told.json
    assert found["algorithm"] == "ogd"
    assert found["rounds"] == 300
    assert found["nonzeros"] == 1500
    assert found["dimension"] == 31
    assert found["loss"]["name"] == "hinge"
    assert found["loss"]["mean"] == pytest.approx(found["loss"]["total"] / 300)
    assert 0 < found["error"] < 0.5
    certificate = found["certificate"]
    assert certificate["comparator"] == {"set": "l2-ball", "radius": 1.0}
    assert certificate["holds"] is True
    assert certificate["linear_regret"] <= certificate["bound"]
    assert certificate["hindsight"] is None
    assert certificate["regret"] is None
    assert certificate["risk"]["of"] == "error"
    assert found["error"] < certificate["risk"]["bound"] < 1
    assert certificate["risk"]["delta"] == 0.05
    assert all(p["holds"] for p in certificate["risk_premises"])
    assert all(set(p) == {"name", "holds", "observed"} for p in certificate["premises"])
    assert found["seconds"]["total"] >= found["seconds"]["learn"] > 0
    assert found["seconds"]["total"] > found["seconds"]["compile"] >= 0
    assert found["model"] is None


def test_a_file_is_rows_in_memory(capsys: Capsys, file: Path, tmp_path: Path) -> None:
    x, y = load_svmlight_file(str(file), zero_based=True)
    known = train(zoo.ogd(Hinge()), x, y)
    said = ("--loss", "hinge", "--json", "--quiet", "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt")
    told = run(capsys, "train", file, *said)
    learnt = load(tmp_path / "m.lr")
    assert isinstance(learnt, LinearRun)
    assert learnt.weights.tobytes() == known.weights.tobytes()
    assert np.loadtxt(tmp_path / "p.txt").tobytes() == known.scores.tobytes()
    assert told.json["certificate"]["linear_regret"] == pytest.approx(known.certificate.linear_regret, rel=1e-12)
    assert told.json["model"] == str(tmp_path / "m.lr")


def test_files_and_resuming_change_no_bit(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(240)
    whole = written(tmp_path / "whole.svm", lines)
    for k in range(3):
        written(tmp_path / f"part{k}.svm", lines[80 * k : 80 * (k + 1)])
    (tmp_path / "rest.bin").write_bytes(gzip.compress("\n".join(lines[100:]).encode()))
    said = ("--quiet", "--algorithm", "ogd-sqrt", "--eta", 0.5, "--radius", 3, "--bias", "--output", "average")
    run(capsys, "train", whole, *said, "-o", tmp_path / "whole.lr")
    run(capsys, "train", tmp_path / "part*.svm", *said, "-o", tmp_path / "parts.lr", "--threads", 1)
    run(capsys, "train", written(tmp_path / "first.svm", lines[:100]), *said, "-o", tmp_path / "first.lr")
    told = run(capsys, "train", tmp_path / "rest.bin", "--resume", tmp_path / "first.lr", "-o", tmp_path / "rest.lr")
    assert told.code == 0, told.err
    refused = run(capsys, "train", tmp_path / "rest.bin", "--resume", tmp_path / "first.lr", "--bias")
    assert "settles --bias already" in refused.err
    models = [Session.load(tmp_path / f"{name}.lr") for name in ("whole", "parts", "rest")]
    for model in models[1:]:
        assert [a.tobytes() for a in model.run.state] == [a.tobytes() for a in models[0].run.state]
        assert np.array(model.run.record.history).tobytes() == np.array(models[0].run.record.history).tobytes()
        assert bits(model.metrics.arrays()) == bits(models[0].metrics.arrays())
        assert model.run.risks()[0] == models[0].run.risks()[0]
        assert model.rows == 240


def test_the_model_may_be_drawn(capsys: Capsys, file: Path, tmp_path: Path) -> None:
    def drawn(name: str, *words: object) -> LinearRun:
        told = run(capsys, "train", file, "--quiet", "--output", "random", "-o", tmp_path / name, *words)
        assert told.code == 0, told.err
        found = load(tmp_path / name)
        assert isinstance(found, LinearRun)
        return found

    plain, same, other = drawn("a.lr"), drawn("b.lr", "--seed", 0), drawn("c.lr", "--seed", 1)
    assert plain.weights.tobytes() == same.weights.tobytes() != other.weights.tobytes()
    assert other.learner.output == Random(1)
    refused = run(capsys, "train", file, "--resume", tmp_path / "a.lr", "--seed", 2)
    assert "settles --seed already" in refused.err


@pytest.mark.parametrize("passes", [1, 2])
def test_a_second_pass_ends_what_is_known_of_new_rows(capsys: Capsys, tmp_path: Path, passes: int) -> None:
    file = written(tmp_path / "few.svm", svm_lines(15))
    told = run(capsys, "train", file, "--passes", passes, "--json", "--quiet")
    assert (told.json["certificate"]["risk"] is None) == (passes > 1)
    said = run(capsys, "train", file, "--passes", passes)
    assert ("unknown, for this is not so: no rows were noticed that come again" in said.out) == (passes > 1)


def test_the_summary_is_for_people(capsys: Capsys, file: Path) -> None:
    told = run(capsys, "train", file, "--loss", "logistic", "--holdout", 10)
    assert told.code == 0
    for words in ("270 rows", "predicted wrongly", "always guessing", "held out   30 rows", "AUC", "regret", "theory"):
        assert words in told.out


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "loss",
    [
        *(name for name, kind in LOSSES.items() if kind is not Poisson),
        "quantile:0.9",
        "huber:2",
        "hinge:0.5",
        "oaa:hinge",
    ],
)
def test_every_loss(capsys: Capsys, file: Path, loss: str) -> None:
    told = run(capsys, "train", file, "--loss", loss, "--json", "--quiet", "--eta", 0.01)
    assert told.code == 0, told.err
    assert told.json["loss"]["name"] == {"oaa": "oaa:logistic", "oaa:hinge": loss}.get(loss, loss.partition(":")[0])
    assert told.json["certificate"]["holds"] is True


@pytest.mark.sampled(2)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_algorithm(capsys: Capsys, file: Path, algorithm: str) -> None:
    said = {"eta": 0.01, "lam": 0.1, "p": 3, "dimension": 30}
    needed = ALGORITHMS[algorithm].needs
    options = [word for name in needed for word in (f"--{name}", said[name])]
    told = run(capsys, "train", file, "--algorithm", algorithm, "--json", "--quiet", *options)
    assert told.code == 0, told.err
    found = told.json
    assert found["algorithm"] == algorithm
    assert found["rounds"] == 300
    if "dimension" in needed:
        assert found["dimension"] == 30 + (algorithm == "perceptron-or")  # which has a bias
    missing = run(capsys, "train", file, "--algorithm", algorithm) if needed else None
    assert missing is None or (missing.code == 2 and f"--{needed[0]}" in missing.err)


def test_penalties_make_models_small(capsys: Capsys, file: Path) -> None:
    """Zero is a penalty too, and the weights that are not 0 are counted."""
    said = ("train", file, "--algorithm", "ftrl-proximal", "--json", "--quiet")
    none, some, all_of_them = (run(capsys, *said, "--l1", l1).json for l1 in (0, 3, 1e9))
    counts = [found["metrics"]["nonzero_weights"] for found in (none, some, all_of_them)]
    assert counts[0] > counts[1] > counts[2] == 0
    assert none["spec"]["rule"]["l1"] == 0
    assert "weights are not 0" in run(capsys, "train", file, "--algorithm", "ftrl-proximal").out


def test_what_does_not_fit_is_refused(capsys: Capsys, file: Path) -> None:
    for words, cause in (
        (["--algorithm", "perceptron", "--eta", "1"], "perceptron takes no --eta"),
        (["--loss", "nonsense"], "there is no loss"),
        (["--loss", "square:3"], "takes no parameter"),
        (["--loss", "quantile:7"], "quantile:7"),
        (["--algorithm", "perceptron", "--loss", "square"], "loss of its own"),
        (["--eta", "-1"], "positive number"),
        (["--eta", "nan"], "positive number"),
        (["--algorithm", "nonsense"], "there is no algorithm 'nonsense'; there are auto, ogd, "),
        (["--certfy", "exact"], "lowregret train: there is no place for --certfy; did you mean --certify?"),
        (["--nonsense"], "there is no place for --nonsense; see lowregret train --help"),
        (["--certify", "exact", "--resume", "m.lr"], "reads all rows again"),
        (["-o", "nowhere/model.lr"], "no folder"),
        (["--target", "y"], "target"),
        (["--holdout", "1"], "no rows to learn from in"),
        (["--skip", "300"], "that --skip leaves over"),
        (["--holdout", "1"], "that --holdout leaves over"),
        (["--skip", "300", "--holdout", "2"], "that --skip and --holdout leave over"),
    ):
        told = run(capsys, "train", file, *words)
        assert told.code == 2, words
        assert cause in told.err, (words, told.err)
        assert told.err.count("\n") <= 2, told.err  # the cause, and perhaps which algorithm was meant to learn


def test_a_table_needs_a_target(capsys: Capsys, tmp_path: Path) -> None:
    told = run(capsys, "train", written(tmp_path / "a.csv", ["a,b", "1,1", "2,-1"]))
    assert told.code == 2
    assert "name the label's column with --target" in told.err


def test_an_option_that_auto_does_not_take_is_told(capsys: Capsys, file: Path) -> None:
    told = run(capsys, "train", file, "--output", "average")
    assert "auto takes no --output: learning with ogd" in told.err
    assert "rows with ogd," in told.out
    assert "auto takes no" not in run(capsys, "train", file, "--output", "average", "--quiet").err
    assert "auto takes no" not in run(capsys, "train", file, "--algorithm", "ogd", "--output", "average").err


def test_summary_of_an_exact_regret(capsys: Capsys, file: Path) -> None:
    words = "--algorithm", "ogd-lazy", "--eta", 0.1, "--certify", "exact"
    lines = run(capsys, "train", file, *words).out.splitlines()
    (at,) = [i for i, line in enumerate(lines) if line.startswith("regret")]
    assert "against the best fixed choice in the l2-ball of radius 1" in lines[at]
    assert lines[at + 1].endswith("linearised")
    assert "theory promised at most" in lines[at + 2]
    weighed = run(capsys, "train", file, "--algorithm", "ogd-scw", "--lam", 0.1, "--certify", "exact").out
    assert "regret     weighted, " in weighed
    assert "weighted, regulariser included" in weighed


def test_a_weighted_regret_is_a_mean_already(capsys: Capsys, file: Path) -> None:
    """So the line that shows progress must not divide it by the rounds once more."""
    model = file.with_name("weighed.lr")
    run(capsys, "train", file, "--algorithm", "ogd-scw", "--lam", 0.1, "-o", model, "--quiet")
    session = Session.load(model)
    line = Progress(session, 0, wanted=False).line(time.perf_counter(), 0)
    assert f"regret ≤ {session.run.linear_regret():.4g} a row" in line


def test_exact_regret(capsys: Capsys, file: Path) -> None:
    exact = ("--loss", "hinge", "--certify", "exact", "--radius", 2, "--holdout", 7)
    told = run(capsys, "train", file, *exact, "--json", "--quiet").json
    certificate = told["certificate"]
    gap = certificate["hindsight"]["gap"]
    assert 0 <= gap < 1e-3 * certificate["hindsight"]["loss"]
    assert certificate["regret"] == pytest.approx(told["loss"]["total"] - certificate["hindsight"]["loss"])
    assert certificate["regret"] <= certificate["linear_regret"] <= certificate["bound"]
    eager = ("--algorithm", "ogd-eager", "--eta", 0.1)
    off = run(capsys, "train", file, *eager, "--certify", "off", "--json", "--quiet").json["certificate"]
    assert off["linear_regret"] is None
    assert off["bound"] > 0


def test_exact_regret_where_rounds_weigh(capsys: Capsys, file: Path) -> None:
    """Round t counts t + 1 times in ogd-scw: as if the rows had these weights, over all passes; a mean in the end."""
    said = ("train", file, "--certify", "exact", "--algorithm", "ogd-scw", "--lam", 0.5, "--passes", 2)
    told = run(capsys, *said, "--json", "--quiet")
    assert told.code == 0, told.err
    certificate, rounds = told.json["certificate"], told.json["rounds"]
    x, y = load_svmlight_file(str(file), zero_based=True)
    c = np.arange(rounds) + 2.0
    best = best_in_hindsight(
        Hinge(), x, y, Reals(), c.reshape(2, -1).sum(axis=0), ridge=0.5 * c.sum(), tolerance=1e-7, compiled=False
    )
    gap = certificate["hindsight"]["gap"]
    assert certificate["hindsight"]["loss"] == pytest.approx(best.value / c.sum(), abs=gap + 1e-6)
    assert certificate["regret"] <= certificate["linear_regret"] <= certificate["bound"]
    assert "exact regret lies between" in run(capsys, *said).out


@pytest.mark.parametrize(
    ("algorithm", "reason"),
    [(["perceptron"], "no exact regret"), (["pnorm", "--eta", 0.1, "--p", 4], "with q = 1, 2 or infinity only")],
)
def test_no_exact_regret(capsys: Capsys, file: Path, tmp_path: Path, algorithm: list[object], reason: str) -> None:
    """Where none can be found, that is said before anything is learnt."""
    model = tmp_path / "m.lr"
    told = run(capsys, "train", file, "--certify", "exact", "--algorithm", *algorithm, "-o", model, "--quiet")
    assert told.code == 2
    assert reason in told.err
    assert not model.exists()


def test_names_of_tables_are_counted(capsys: Capsys, tmp_path: Path) -> None:
    table = pytest.importorskip("pyarrow").table({"y": [3.0, -1.0, 1.0], "size": [2.5, 0.5, 3.0]})
    pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / "a.parquet")
    said = ("--target", "y", "--weights", tmp_path / "w.tsv", "--loss", "square", "--json", "--quiet")
    assert run(capsys, "train", tmp_path / "a.parquet", *said).json["metrics"]["names"] == 1


def test_names_are_not_counted_where_there_are_none(capsys: Capsys, file: Path, tmp_path: Path) -> None:
    told = run(capsys, "train", file, "--weights", tmp_path / "w.tsv", "--loss", "hinge", "--json", "--quiet")
    assert "names" not in told.json["metrics"]


def test_weights_by_name(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ["y,size,colour", "3,2.5,red", "-1,0.5,blue", "1,3,red"])
    said = ("--target", "y", "--weights", tmp_path / "w.tsv", "--loss", "square", "--json", "--quiet")
    told = run(capsys, "train", path, *said, "--bias", "-o", tmp_path / "m.lr")
    assert told.code == 0, told.err
    assert told.json["metrics"]["names"] == 3
    assert told.json["metrics"]["collisions"] == 0
    table = dict(line.split("\t") for line in (tmp_path / "w.tsv").read_text().splitlines())
    assert set(table) == {"size", "colour=red", "colour=blue", "(bias)"}
    sizes = [abs(float(weight)) for weight in table.values()]
    assert sizes == sorted(sizes, reverse=True)
    more = written(tmp_path / "b.csv", ["y,size,colour", "-1,1,green"])
    told = run(
        capsys, "train", more, "--resume", tmp_path / "m.lr", "--weights", tmp_path / "w.tsv", "--json", "--quiet"
    )
    assert told.json["metrics"]["names"] == 4
    tiny = run(capsys, "train", path, *said[:6], "--bits", 1)
    assert "share a weight with another" in tiny.out
    assert " + " in (tmp_path / "w.tsv").read_text()


def test_a_table_without_labels_is_scored(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.csv", ["y,w,size,colour", "up,1,2.5,red", "down,2,0.5,blue", "up,1,3,red"])
    said = ("--target", "y", "--positive", "up", "--weight", "w", "--quiet")
    assert run(capsys, "train", path, *said, "-o", tmp_path / "m.lr").code == 0
    bare = written(tmp_path / "b.csv", ["colour,size", "red,2.5", "blue,0.5", "red,3"])
    scores = [run(capsys, "predict", tmp_path / "m.lr", data, "--quiet") for data in (path, bare)]
    assert scores[0].out == scores[1].out, scores[1].err
    assert len(scores[0].out.split()) == 3


def test_passes(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(50)
    one, three = written(tmp_path / "a.svm", lines), written(tmp_path / "b.svm", lines * 3)
    a = run(capsys, "train", one, "--passes", 3, "--json", "--quiet").json
    b = run(capsys, "train", three, "--json", "--quiet").json
    assert a["rounds"] == 150
    assert sum(done["loss"] for done in a["passes"]) / 3 == pytest.approx(b["loss"]["mean"])
    assert a["certificate"]["linear_regret"] == b["certificate"]["linear_regret"]  # which speaks of all rounds


# ---- bad rows -------------------------------------------------------------------------------------------------------


def test_a_bad_row_keeps_what_came_before(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(60)
    path = written(tmp_path / "bad.svm", [*lines[:40], "+1 3:oops", *lines[40:]])
    told = run(capsys, "train", path, "--loss", "hinge", "-o", tmp_path / "m.lr", "--quiet")
    assert told.code == 2
    assert told.err.startswith(f"lowregret: {path}:41: expected")
    assert told.err.endswith("but found 'oops'; --on-error skip leaves such lines out\n")
    good = train(
        zoo.ogd(Hinge()), *load_svmlight_file(str(written(tmp_path / "good.svm", lines[:40])), zero_based=True)
    )
    kept = load(tmp_path / "m.lr")
    assert isinstance(kept, LinearRun)
    assert kept.weights.tobytes() == good.weights.tobytes()
    told = run(capsys, "train", path, "--on-error", "skip", "--json", "--quiet")
    assert told.code == 0
    assert told.json["rounds"] == 60
    assert told.json["metrics"]["skipped"] == 1
    assert f"skipped {path}:41" in told.err


def test_leaving_lines_out_is_advised_only_where_others_can_be_read(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "texts.csv", ["x,y", *["1,up", "2,down"] * 5])
    told = run(capsys, "train", path, "--target", "y", "--loss", "hinge", "--quiet")
    assert told.code == 2
    assert "--positive" in told.err
    assert "--on-error" not in told.err
    good = written(tmp_path / "good.svm", svm_lines(20))
    assert run(capsys, "train", good, "--loss", "hinge", "-o", tmp_path / "m.lr", "--quiet").code == 0
    bad = written(tmp_path / "bad.svm", [*svm_lines(5), "+1 3:nan"])
    told = run(capsys, "predict", tmp_path / "m.lr", bad, "--quiet")
    assert told.code == 2
    assert told.err.endswith(
        "bad.svm:6: expected a finite number as value, but found 'nan'; --on-error skip leaves such lines out\n"
    )
    assert run(capsys, "predict", tmp_path / "m.lr", bad, "--quiet", "--on-error", "skip").code == 0


def test_a_label_outside_the_loss(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "labels.svm", [*svm_lines(10), "", "# remark", "3 1:1"])
    told = run(capsys, "train", path, "--loss", "hinge", "-o", tmp_path / "m.lr", "--quiet")
    assert told.code == 2
    assert f"{path}:13: label 3 does not fit Hinge" in told.err
    assert Session.load(tmp_path / "m.lr").run.rounds == 10
    told = run(capsys, "train", path, "--positive", 3, "--quiet", "--json")
    assert told.code == 0, told.err
    assert sum(told.json["metrics"]["confusion"]["3"].values()) == 1


def test_nothing_to_learn_from(capsys: Capsys, tmp_path: Path) -> None:
    empty = written(tmp_path / "empty.svm", [])
    for data, cause in (
        (empty, "no rows"),
        (tmp_path / "missing.svm", "No such file"),
        (tmp_path / "*.none", "no file"),
    ):
        told = run(capsys, "train", data)
        assert told.code == 2
        assert cause in told.err


@pytest.mark.parametrize("words", [(), ("--target", "y")])
@pytest.mark.parametrize(
    ("head", "said"),
    [
        (None, "cannot read {path}: No such file or directory"),
        (b"\x89PNG\r\n\x1a\n\0\0", "{path} holds no rows: it is a picture (PNG)"),
        (gzip.compress(b"%PDF-1.7 ..."), "{path} holds no rows: it is a PDF document"),
        (b"PK\x03\x04....", "{path} holds no rows: it is a zip archive or an office document: unpack it, or save"),
        ("y,a\n1,2\n".encode("utf-16"), "{path} holds no rows: it is UTF-16 text: save it as UTF-8"),
        (b"\x7fELF\2\1\1\0\0\0", "{path} holds no rows: it is no text, for it has zero bytes"),
    ],
    ids=["missing", "png", "pdf", "zip", "utf-16", "binary"],
)
def test_what_holds_no_rows(
    capsys: Capsys, tmp_path: Path, head: bytes | None, said: str, words: tuple[str, ...]
) -> None:
    """Whatever its name promises."""
    path = tmp_path / "a.csv"
    if head is not None:
        path.write_bytes(head)
    told = run(capsys, "train", path, *words)
    assert told.code == 2
    assert told.err.startswith("lowregret: " + said.format(path=path))


def test_a_folder_is_no_table(capsys: Capsys, tmp_path: Path) -> None:
    for words in (("train", tmp_path), ("dimension", tmp_path), ("experts", tmp_path, "--target", "y")):
        told = run(capsys, *words)
        assert told.code == 2
        assert told.err == f"lowregret: {tmp_path} is a folder: name the files in it, such as '{tmp_path}/*'\n"


def test_a_pipe_gives_its_rows_once(tmp_path: Path) -> None:
    rows = "\n".join(svm_lines(50)).encode()
    told = process("train", "-", "--format", "svm", "--passes", 2, stdin=rows)
    assert told.code == 2
    assert "a pipe gives only once" in told.err
    told = process("train", "/dev/stdin", stdin=rows)
    assert told.code == 2
    assert "say which format /dev/stdin has" in told.err


def test_what_is_named_and_never_occurs_is_told(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.vw", ["1 |user a |item b", "-1 |user b |item a"] * 5)
    told = run(capsys, "train", path, "--algorithm", "ogd", "--interactions", "u:z", "--json", "--quiet")
    said = "namespace z, named in the options, never occurs in the rows: check how it is spelt"
    assert (told.code, told.err, told.json["notes"]) == (0, f"lowregret: {said}\n", [said])
    refused = run(capsys, "train", path, "--interactions", "user:item")
    assert refused.code == 2
    assert "say u, not user" in refused.err


def test_a_truncated_file_keeps_its_whole_rows(capsys: Capsys, tmp_path: Path) -> None:
    packed = gzip.compress("\n".join(svm_lines(3000)).encode())
    path = tmp_path / "cut.svm.gz"
    path.write_bytes(packed[: len(packed) // 2])
    told = run(capsys, "train", path, "--algorithm", "ogd", "-o", tmp_path / "m.lr", "--quiet")
    assert told.code == 2
    assert "cut short" in told.err
    assert Session.load(tmp_path / "m.lr").run.rounds > 500


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk(file: Path) -> None:
    told = process("train", file, "--quiet", "--predictions", "/dev/full")
    assert told.code == 2
    assert "cannot write /dev/full" in told.err
    with open("/dev/full", "wb") as full:
        told = process("train", file, "--loss", "hinge", "-o", file.with_name("m.lr"), stdout=full)
    assert told.code == 2
    assert told.err.endswith("lowregret: cannot write standard output: No space left on device\n")
    assert Session.load(file.with_name("m.lr")).run.rounds == 300


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("option", ["--weights", "--report"])
def test_what_cannot_be_written_is_an_error(capsys: Capsys, file: Path, tmp_path: Path, option: str) -> None:
    """The model, and the summary, are there all the same."""
    told = run(capsys, "train", file, "--algorithm", "ogd", "-o", tmp_path / "m.lr", option, "/dev/full")
    assert told.code == 2
    assert told.err.endswith("lowregret: cannot write /dev/full: No space left on device\n")
    assert "learnt     300 rows" in told.out
    assert Session.load(tmp_path / "m.lr").run.rounds == 300


@pytest.mark.parametrize("option", ["-o", "--predictions", "--weights", "--report", "--plot"])
def test_places_that_are_none_are_found_before_learning(
    capsys: Capsys, file: Path, tmp_path: Path, option: str
) -> None:
    for path, said in ((tmp_path / "no" / "out.png", "there is no folder"), (tmp_path, "it is a folder; name a file")):
        told = run(capsys, "train", file, "--algorithm", "ogd", option, path)
        assert (told.code, told.out) == (2, "")
        assert f"cannot write {path}: {said}" in told.err


def test_a_model_that_cannot_be_written_is_kept_elsewhere(
    capsys: Capsys, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = (tmp_path / "m.lr").write_bytes(b"old")
    real = os.replace

    def refuse(source: str, target: str) -> None:
        if Path(target) == tmp_path / "m.lr":
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", refuse)
    told = run(capsys, "train", file, "--quiet", "-o", tmp_path / "m.lr", "--json")
    assert told.code == 2
    assert "No space left" in told.err
    assert (tmp_path / "m.lr").stat().st_size == old
    assert Session.load(told.json["model"]).run.rounds == 300


def test_a_model_that_can_be_kept_nowhere(
    capsys: Capsys, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", refuse)
    told = run(capsys, "train", file, "--algorithm", "ogd", "-o", tmp_path / "m.lr", "--json", "--quiet")
    assert told.code == 2
    assert "the model is lost" in told.err
    assert told.json["rounds"] == 300
    assert told.json["model"] is None


def test_a_folder_that_is_read_only_is_found_before_learning(
    capsys: Capsys, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # whoever runs the tests may write everywhere
    told = run(capsys, "train", file, "--algorithm", "ogd", "-o", tmp_path / "m.lr")
    assert told.code == 2
    assert told.out == ""
    assert f"the folder {tmp_path} is read-only" in told.err


# ---- interruptions --------------------------------------------------------------------------------------------------


def test_an_interruption_keeps_a_checkpoint(tmp_path: Path) -> None:
    lines = svm_lines(500)
    model = tmp_path / "m.lr"
    command = [sys.executable, "-m", "lowregret", "train", "-", "--format", "svm", "-o", str(model)]
    command += ["--quiet", "--checkpoint", "0.001"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as going:
        assert going.stdin is not None
        assert going.stderr is not None
        going.stdin.write("".join(line + "\n" for line in lines).encode())
        going.stdin.flush()
        while not model.exists():  # the first checkpoint: the rows have been learnt
            assert going.poll() is None
            time.sleep(0.05)
        going.send_signal(signal.SIGINT)
        time.sleep(0.5)
        going.stdin.close()
        err = going.stderr.read().decode()
        assert going.wait() == 130, err
    rows = Session.load(model).rows
    assert rows == 500
    assert f"interrupted after {rows} rows" in err
    assert f"--resume {model} --skip {rows}" in err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interruption_need_not_wait_for_rows(tmp_path: Path, number: int) -> None:
    model = tmp_path / "m.lr"
    command = [sys.executable, "-m", "lowregret", "train", "-", "--format", "svm", "-o", str(model)]
    command += ["--quiet", "--checkpoint", "0.001"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as going:
        assert going.stdin is not None
        going.stdin.write(b"+1 1:1\n-1 2:1\n")
        going.stdin.flush()
        while not model.exists():
            assert going.poll() is None
            time.sleep(0.05)
        time.sleep(0.5)
        going.send_signal(number)
        assert going.wait(30) == 130  # although the pipe is still open


def test_skipping_goes_on_where_it_was_interrupted(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "rows.svm", svm_lines(200))
    run(capsys, "train", path, "--quiet", "-o", tmp_path / "whole.lr", "--holdout", 9)
    run(
        capsys,
        "train",
        written(tmp_path / "head.svm", svm_lines(200)[:77]),
        "--quiet",
        "-o",
        tmp_path / "m.lr",
        "--holdout",
        9,
    )
    run(
        capsys,
        "train",
        path,
        "--quiet",
        "--resume",
        tmp_path / "m.lr",
        "--skip",
        77,
        "-o",
        tmp_path / "m.lr",
        "--holdout",
        9,
    )
    whole, resumed = Session.load(tmp_path / "whole.lr"), Session.load(tmp_path / "m.lr")
    assert [a.tobytes() for a in whole.run.state] == [a.tobytes() for a in resumed.run.state]
    assert bits(whole.held.arrays()) == bits(resumed.held.arrays())


def test_checkpoints_on_the_way(capsys: Capsys, file: Path, tmp_path: Path) -> None:
    run(capsys, "train", file, "--quiet", "-o", tmp_path / "m.lr")
    session = Session.load(tmp_path / "m.lr")
    (tmp_path / "m.lr").unlink()
    scores = ScoreFile(None, "raw", session)
    keeper = Keeper(session, Watched(tmp_path / "m.lr"), 1e-9, scores)
    keeper.checkpoint()
    assert Session.load(tmp_path / "m.lr").rows == 300
    (tmp_path / "m.lr").unlink()
    Keeper(session, Watched(tmp_path / "m.lr"), 1e9, scores).checkpoint()
    assert not (tmp_path / "m.lr").exists()


@pytest.mark.usefixtures("interpreted")
def test_rows_whose_squares_vanish_have_a_length(capsys: Capsys, tmp_path: Path) -> None:
    """And a rate that theory tunes."""
    rows = written(tmp_path / "tiny.svm", ["+1 1:3e-170 2:4e-170", "-1 1:1e-170"])
    said = "--loss", "hinge", "--radius", "1", "--eta", "theory", "--json", "--quiet", "--algorithm"
    assert run(capsys, "train", rows, *said, "ogd").json["promise"]["lipschitz"] == pytest.approx(5e-170)
    assert "too small to be squared" in run(capsys, "train", rows, *said, "ogd-lazy").err  # whose ball asks for squares
