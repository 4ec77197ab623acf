"""`train --holdout` and `--passes`: which rows are learnt, what is said of the others, and which pass is kept."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from lowregret import Hinge, read, train, zoo
from lowregret.cli.keeper import Keeper
from lowregret.run import notes
from lowregret.run.session import Session
from tests.cli.running import run, svm_lines, written
from tests.cli.test_train import bits

Capsys = pytest.CaptureFixture[str]
pytestmark = pytest.mark.usefixtures("interpreted")

ROWS, LAST = 120, 30
MANY = [f"{(7 * k) % 3} {k % 5 + 1}:1 {(7 * k) % 3 + 6}:0.5 9:{k / ROWS:.3f}" for k in range(ROWS)]  # none comes twice
SAID = {
    "ogd": ("--algorithm", "ogd"),
    "auto": (),
    "square": ("--loss", "square", "--algorithm", "adagrad"),
    "classes": ("--loss", "softmax", "--algorithm", "adagrad"),
    "dimension": ("--algorithm", "eg", "--eta", 0.1, "--dimension", 40),
}


def lines_of(kind: str) -> list[str]:
    return MANY if kind == "classes" else svm_lines(ROWS)


def model_bits(path: Path) -> list[bytes]:
    return [array.tobytes() for array in Session.load(path).run.contents()[1].values()]


@pytest.mark.parametrize("kind", SAID)
def test_the_last_rows_are_judged_as_predict_would(capsys: Capsys, tmp_path: Path, kind: str) -> None:
    lines = lines_of(kind)
    whole, head, tail = (
        written(tmp_path / f"{name}.svm", part)
        for name, part in (("whole", lines), ("head", lines[:-LAST]), ("tail", lines[-LAST:]))
    )
    told = run(
        capsys, "train", whole, *SAID[kind], "--holdout", f"last:{LAST}", "--json", "--quiet",
        "-o", tmp_path / "m.lr", "--predictions", tmp_path / "p.txt",
    )  # fmt: skip
    assert told.code == 0, told.err
    run(capsys, "train", head, *SAID[kind], "--quiet", "-o", tmp_path / "h.lr", "--predictions", tmp_path / "h.txt")
    assert model_bits(tmp_path / "m.lr") == model_bits(tmp_path / "h.lr")
    known = run(capsys, "predict", tmp_path / "h.lr", tail, "--json", "-o", tmp_path / "t.txt").json
    held = told.json["metrics"].pop("holdout")
    assert (held.pop("kind"), held.pop("rows"), held.pop("best_of")) == ("last", LAST, 1)
    assert held == {"loss": known["loss"]["mean"], "error": known["error"]} | known["metrics"]
    assert told.json["rounds"] == ROWS - LAST
    assert told.json["metrics"]["rows"] == ROWS
    assert (tmp_path / "p.txt").read_text() == (tmp_path / "h.txt").read_text() + (tmp_path / "t.txt").read_text()


def test_a_share_of_the_rows_or_a_stream(capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = svm_lines(ROWS)
    path = written(tmp_path / "a.svm", lines)

    def learnt(data: object, held: str) -> dict[str, object]:
        told = run(capsys, "train", data, "--format", "svm", "--algorithm", "ogd", "--holdout", held, "--json")
        assert told.code == 0, told.err
        return told.json["metrics"]

    known = learnt(path, f"last:{LAST}")
    assert learnt(path, "last:25%") == known
    with path.open() as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        assert learnt("-", f"last:{LAST}") == known
    refused = run(capsys, "train", "-", "--format", "svm", "--algorithm", "ogd", "--holdout", "last:25%")
    assert refused.code == 2
    assert "use --holdout last:N" in refused.err


def test_what_is_no_holdout(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(20))
    for said in ("0", "-3", "last", "last:", "last:0", "last:x", "last:0%", "last:100%", "last:nan%", "first:3", "5%"):
        told = run(capsys, "train", path, f"--holdout={said}")
        assert told.code == 2
        assert f"expected N (every N-th row), last:N or last:P% (the last rows), got {said!r}" in told.err
    assert "no rows to learn from" in run(capsys, "train", path, "--algorithm", "ogd", "--holdout", "last:20").err


def test_the_summary_says_what_was_held_out(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(ROWS))
    told = run(capsys, "train", path, "--algorithm", "ogd", "--holdout", "last:30")
    assert "held out   the last 30 rows, scored by the model as predict would\n  loss " in told.out
    told = run(capsys, "train", path, "--algorithm", "ogd", "--holdout", 10)
    assert "held out   12 rows, each scored when it came, and not learnt\n  loss " in told.out


def test_rows_held_out_that_were_learnt_before_are_said_to_say_nothing(capsys: Capsys, tmp_path: Path) -> None:
    path, model = written(tmp_path / "a.svm", svm_lines(ROWS)), tmp_path / "m.lr"
    run(capsys, "train", path, "--algorithm", "ogd", "--quiet", "-o", model)
    told = run(capsys, "train", path, "--resume", model, "--holdout", 10, "--json", "--quiet", "-o", tmp_path / "n.lr")
    assert notes.HELD_AGAIN in told.json["notes"]
    told = run(capsys, "train", path, "--resume", model, "--holdout", "last:30", "-o", tmp_path / "n.lr")
    assert f"note       {notes.HELD_AGAIN}" in told.out
    for said in ((), ("--passes", 3)):
        told = run(capsys, "train", path, "--algorithm", "ogd", "--holdout", 10, *said, "--json", "--quiet")
        assert notes.HELD_AGAIN not in told.json["notes"]


def test_resuming_judges_the_new_last_rows(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(ROWS))
    run(capsys, "train", written(tmp_path / "b.svm", svm_lines(ROWS)[:50]), "--quiet", "-o", tmp_path / "m.lr",
        "--algorithm", "ogd", "--holdout", "last:10")  # fmt: skip
    assert Session.load(tmp_path / "m.lr").held.rows == 0  # they were judged by another model
    more = ("--skip", 40, "--holdout", "last:30", "--json", "--quiet", "-o", tmp_path / "m.lr")
    told = run(capsys, "train", path, "--resume", tmp_path / "m.lr", *more).json
    whole = run(capsys, "train", path, "--algorithm", "ogd", *more[2:-1], tmp_path / "w.lr").json
    assert told["metrics"]["holdout"] == whole["metrics"]["holdout"]
    assert model_bits(tmp_path / "m.lr") == model_bits(tmp_path / "w.lr")


def test_rows_before_a_bad_one_may_be_the_last(capsys: Capsys, tmp_path: Path) -> None:
    """Nothing is judged, and the model ends where rows are known to be followed by others."""
    lines = svm_lines(ROWS)
    path = written(tmp_path / "a.svm", [*lines[:80], "+1 3:oops", *lines[80:]])
    said = ("--algorithm", "ogd", "--holdout", "last:30", "--quiet")
    told = run(capsys, "train", path, *said, "-o", tmp_path / "m.lr")
    assert told.code == 2
    assert "a.svm:81" in told.err
    run(capsys, "train", written(tmp_path / "b.svm", lines[:50]), "--algorithm", "ogd", "-o", tmp_path / "b.lr")
    assert model_bits(tmp_path / "m.lr") == model_bits(tmp_path / "b.lr")
    assert Session.load(tmp_path / "m.lr").rows == 50
    told = run(capsys, "train", path, *said, "--on-error", "skip", "--passes", 2, "--json")
    assert told.json["metrics"]["skipped"] == 1
    assert told.err.count("skipped") == 1
    assert told.json["metrics"]["holdout"]["rows"] == 30


def test_an_exact_regret_is_of_the_rows_learnt(capsys: Capsys, tmp_path: Path) -> None:
    lines = [*svm_lines(ROWS - 1), "+1 90000000:1"]
    exact = ("--algorithm", "ogd", "--certify", "exact", "--json", "--quiet")
    whole = run(capsys, "train", written(tmp_path / "a.svm", lines), *exact, "--holdout", "last:30").json
    head = run(capsys, "train", written(tmp_path / "b.svm", lines[:-30]), *exact).json
    assert whole["certificate"]["hindsight"] == pytest.approx(head["certificate"]["hindsight"])
    assert whole["certificate"]["regret"] == pytest.approx(head["certificate"]["regret"])


# ---- passes ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ogd", "classes"])
def test_the_first_pass_is_the_honest_one(capsys: Capsys, tmp_path: Path, kind: str) -> None:
    path = written(tmp_path / "a.svm", lines_of(kind))
    said = ("train", path, *SAID[kind], "--json", "--quiet")
    once = run(capsys, *said, "--predictions", tmp_path / "p.txt").json
    thrice = run(capsys, *said, "--passes", 3, "--predictions", tmp_path / "q.txt").json
    assert once["passes"] == [
        {"pass": 1, "loss": once["loss"]["mean"], "error": once["error"], "training": False, "holdout": None}
    ]
    assert thrice["passes"][0] == once["passes"][0]
    assert [done["training"] for done in thrice["passes"]] == [False, True, True]
    assert thrice["passes"][2]["loss"] < thrice["passes"][1]["loss"]
    assert thrice["best_pass"] == 3
    assert (thrice["rounds"], thrice["metrics"]) == (3 * ROWS, once["metrics"])
    assert thrice["loss"] == pytest.approx(once["loss"])
    assert thrice["error"] == once["error"]
    assert (tmp_path / "p.txt").read_text() == (tmp_path / "q.txt").read_text()  # one line a row
    said_so = run(capsys, "train", path, *SAID[kind], "--passes", 3).out
    assert "learnt     3 passes over 120 rows" in said_so
    assert "before it was learnt, in the first pass" in said_so
    assert f"over all {3 * ROWS} rounds of 3 passes" in said_so
    assert said_so.count("in training") == 2


@pytest.mark.parametrize(("held", "seed"), [("last:30", 1), ("4", 0)])
def test_the_best_pass_is_kept(capsys: Capsys, tmp_path: Path, held: str, seed: int) -> None:
    """Few rows in many features, which later passes learn by heart."""
    path = written(tmp_path / "a.svm", svm_lines(90, seed, features=300))
    said = ("train", path, "--algorithm", "ogd", "--loss", "logistic", "--eta", 1, "--holdout", held, "--quiet")
    told = run(capsys, *said, "--passes", 9, "--json", "-o", tmp_path / "m.lr").json
    losses, best = [done["holdout"]["loss"] for done in told["passes"]], told["best_pass"]
    assert 1 < best < len(losses) < 9
    assert losses[best - 1] == min(losses) == told["metrics"]["holdout"]["loss"]
    assert losses[-1] > min(losses)
    known = run(capsys, *said, "--passes", best, "--json", "-o", tmp_path / "k.lr").json
    for found, judged in ((told, len(losses)), (known, best)):
        assert found["metrics"]["holdout"].pop("best_of") == judged
        del found["seconds"], found["model"], found["passes"][best:]
    assert told == known
    assert model_bits(tmp_path / "m.lr") == model_bits(tmp_path / "k.lr")
    out = run(capsys, *said[:-1], "--passes", 9).out
    assert f"pass {best} of {len(losses)} was best" in out
    chosen = f",\n           which chose the best of {len(losses)} passes: these figures flatter it"
    assert chosen in out[out.index("held out   ") :]
    assert "judged by rows that they had learnt" not in out  # of the first pass there are too few to say anything
    assert "flatter" not in run(capsys, *said[:-1]).out


def test_an_interruption_goes_back_to_the_best_pass(
    capsys: Capsys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "a.svm", svm_lines(60))
    said = ("train", path, "--algorithm", "ogd", "--holdout", "last:20", "--quiet")
    run(capsys, *said, "-o", tmp_path / "k.lr")

    def interrupt(keeper: Keeper, *_: object) -> None:
        if keeper.session.passes:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Keeper, "checkpoint", interrupt)
    told = run(capsys, *said, "--passes", 3, "--json", "-o", tmp_path / "m.lr")
    assert told.code == 130
    assert "interrupted after 40 rounds; passes cannot be gone on with" in told.err
    assert told.json["best_pass"] == len(told.json["passes"]) == 1
    assert told.json["metrics"]["holdout"]["rows"] == 20
    assert model_bits(tmp_path / "m.lr") == model_bits(tmp_path / "k.lr")


def test_where_one_pass_is_best_its_risk_is_known(capsys: Capsys, tmp_path: Path) -> None:
    path = written(tmp_path / "a.svm", svm_lines(90, features=300))
    said = ("--algorithm", "ogd", "--loss", "logistic", "--eta", 3, "--holdout", "last:30", "--passes", 3)
    told = run(capsys, "train", path, *said, "--json", "--quiet").json
    assert told["best_pass"] == 1
    assert told["certificate"]["risk"] is not None


def test_going_on_after_passes(capsys: Capsys, tmp_path: Path) -> None:
    """Rows of a later file are judged before they are learnt, and count with those of the first pass."""
    first, more = written(tmp_path / "a.svm", svm_lines(60)), written(tmp_path / "b.svm", svm_lines(40, seed=1))
    model = ("--json", "--quiet", "-o", tmp_path / "m.lr")
    once = run(capsys, "train", first, "--algorithm", "ogd", *model, "--passes", 2).json
    told = run(capsys, "train", more, "--resume", tmp_path / "m.lr", *model).json
    fresh = Session.load(tmp_path / "m.lr").metrics
    assert fresh.rows == told["metrics"]["weight"] == 100
    assert told["rounds"] == 160
    assert told["error"] == pytest.approx(fresh.error)
    assert told["loss"]["mean"] == pytest.approx(fresh.mean_loss)
    assert told["loss"]["total"] > once["loss"]["total"]


def test_rows_that_come_again_unasked(capsys: Capsys, tmp_path: Path) -> None:
    path, model = written(tmp_path / "a.svm", svm_lines(40)), tmp_path / "m.lr"
    once = run(capsys, "train", path, "--algorithm", "ogd", "-o", model).out
    assert "each row judged before it was learnt" in once
    again = run(capsys, "train", path, "--resume", model).out
    assert "rows that came again having been learnt before" in again
    assert "rows that came again having been learnt before" in str(
        train(zoo.ogd(Hinge()), read(path)).learn(read(path))
    )


def test_rows_that_come_again_unasked_after_passes_that_were_asked_for(capsys: Capsys, tmp_path: Path) -> None:
    path, model = written(tmp_path / "a.svm", svm_lines(40)), tmp_path / "m.lr"
    once = run(capsys, "train", path, "--algorithm", "ogd", "--passes", 2, "-o", model).out
    assert "each row judged before it was learnt, in the first pass" in once
    again = run(capsys, "train", path, "--resume", model, "--holdout", "last:9").out
    assert "rows that came again having been learnt before" in again
    assert f"note       {notes.HELD_AGAIN}" in again
    more = written(tmp_path / "b.svm", svm_lines(40, seed=1))
    fresh = run(capsys, "train", more, "--resume", model, "--holdout", "last:9").out
    assert "each row judged before it was learnt" in fresh
    assert notes.HELD_AGAIN not in fresh


def test_splitting_files_changes_no_figure(capsys: Capsys, tmp_path: Path) -> None:
    lines = svm_lines(ROWS)
    for k, (begin, end) in enumerate(((0, 95), (95, 100), (100, ROWS))):
        written(tmp_path / f"part{k}.svm", lines[begin:end])
    said = ("--algorithm", "ogd", "--holdout", "last:30", "--quiet", "-o")
    run(capsys, "train", written(tmp_path / "a.svm", lines), *said, tmp_path / "m.lr")
    run(capsys, "train", tmp_path / "part*.svm", *said, tmp_path / "p.lr")
    whole, parts = Session.load(tmp_path / "m.lr"), Session.load(tmp_path / "p.lr")
    assert bits(whole.metrics.arrays()) == bits(parts.metrics.arrays())
    assert np.array_equal(whole.run.weights, parts.run.weights)
