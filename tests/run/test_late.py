"""Late answers in every run on rows: no delay is no run of its own, any order is certified, and what waits is saved."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from lowregret import (
    DataError,
    Hinge,
    L2Ball,
    Logistic,
    PartError,
    Softmax,
    Square,
    StoreError,
    delayed,
    load,
    train,
    zoo,
)
from lowregret.certificate.delay import dual_exponent
from lowregret.cli import main
from lowregret.domain import Point
from lowregret.learner.late import DRIFT, LAGGED
from lowregret.output import Average, Output, Random
from lowregret.risk.online_to_batch import DRAWN
from lowregret.run.begin import begin
from lowregret.types import Vector
from tests.running import bits

N, D = 420, 5
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, D))
SLOW = 0.3 * np.cumsum(RNG.normal(size=N))
SIGNS = np.where(X[:, 0] + SLOW + RNG.normal(size=N) > 0, 1.0, -1.0)
NUMBERS = X @ RNG.normal(size=D) + 2 * SLOW
CLASSES = np.array(list("abcdefghijk"))[np.minimum(np.digitize(X[:, 0] + SLOW, np.arange(-4, 5)), np.arange(N) // 20)]
WEIGHTS = RNG.choice([0.0, 0.5, 1.0, 2.0], N)

LEARNERS: dict[str, tuple[Any, Any]] = {
    "auto": (zoo.auto(), SIGNS),
    "auto of numbers": (zoo.auto(Square()), NUMBERS),
    "auto of classes": (zoo.auto(Softmax()), CLASSES),
    "ridge": (zoo.ogd_sc(Hinge(), 0.1), SIGNS),
    "svm": (zoo.svm_online(), SIGNS),
    "adagrad": (zoo.adagrad(Logistic()), SIGNS),
    "ftrl": (zoo.ftrl_proximal(Logistic()), SIGNS),
    "kt": (zoo.kt(Hinge()), SIGNS),
    "classes": (zoo.mc_perceptron(), CLASSES),
}
every_learner = pytest.mark.parametrize("name", LEARNERS)
COMPILED = ("auto", "auto of numbers", "auto of classes")
SCHEDULES = {
    "fixed": np.full(N, 17),
    "random": RNG.integers(0, 90, N),
    "bursts": 60 - np.arange(N) % 60,
    "last in, first out": 2 * (39 - np.arange(N) % 40),
    "some at once": np.where(np.arange(N) % 3 == 0, 200, 0),
}
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES)


def run_of(name: str, delay: int = 0) -> Any:
    return begin(LEARNERS[name][0], D, delay=delay, compiled=name in COMPILED)


def parts(run: Any) -> tuple[Any, ...]:
    """All numbers that a run carries."""
    arrays = run.contents()[1]
    return tuple(sorted((name, np.asarray(array).tobytes()) for name, array in arrays.items()))


@every_learner
def test_without_delay_it_is_the_usual_run_bit_for_bit(name: str) -> None:
    learner, y = LEARNERS[name]
    rows = sp.csr_matrix(X)  # rows that wait are sparse, and the sample of rows notes what they are
    usual = begin(learner, D, compiled=name in COMPILED).learn(rows, y, WEIGHTS)
    run = run_of(name).learn(rows, y, WEIGHTS)
    assert bits(usual.state) == bits(run.state)
    kept = dict(parts(run))
    assert all(kept[key] == array for key, array in parts(usual))
    assert not run.late.ledger[[LAGGED, DRIFT]].any()
    assert run.pending == 0
    assert usual.scores.tobytes() == run.scores.tobytes()
    assert [c.bound for c in usual.certificates] == [c.bound for c in run.certificates]
    assert (usual.loss, usual.error, usual.weight) == (run.loss, run.error, run.weight)


@pytest.mark.sampled(3)
@every_learner
@every_schedule
def test_splitting_and_saving_change_nothing(name: str, schedule: str, tmp_path: Path) -> None:
    y, delays = LEARNERS[name][1], SCHEDULES[schedule]
    whole, run = run_of(name, 3).learn(X, y, WEIGHTS, delay=delays), run_of(name, 3)
    for begin_, end in ((0, 1), (1, 130), (130, 131), (131, 300), (300, N)):
        rows = slice(begin_, end)
        run.learn(X[rows], y[rows], WEIGHTS[rows], delay=delays[rows])
        if end == 300:
            run.save(tmp_path / "run.lr")
            run = load(tmp_path / "run.lr")
    assert parts(whole) == parts(run)
    assert whole.pending == run.pending
    assert parts(whole.deliver()) == parts(run.deliver())
    assert run.pending == 0
    assert run.rounds == np.count_nonzero(WEIGHTS)
    assert [c.bound for c in whole.certificates] == [c.bound for c in run.certificates]


@pytest.mark.sampled(3)
@every_schedule
@pytest.mark.parametrize("name", [name for name in LEARNERS if "classes" not in name])
def test_exact_regret_is_below_the_linearised_and_that_below_the_theorem(name: str, schedule: str) -> None:
    learner, y = LEARNERS[name]
    run, scores = run_of(name), np.empty(N)
    run.learn(X, y, delay=SCHEDULES[schedule])
    scores[:] = run.scores
    run.deliver()
    loss = learner.loss
    made = sum(loss.at(float(p), float(label))[0] for p, label in zip(scores, y, strict=True))
    assert run.loss == pytest.approx(made)  # of the predictions that were made
    certificate = run.fixed_certificate
    assert certificate.linear_regret <= certificate.bound + 1e-9 * abs(certificate.bound)
    bias = np.full((N, 1), learner.bias)
    rows = np.hstack([X, bias]) if learner.bias else X
    for _ in range(20):
        u = RNG.normal(size=rows.shape[1])
        u /= np.linalg.norm(u)
        theirs = sum(loss.at(float(p), float(label))[0] for p, label in zip(rows @ u, y, strict=True))
        regret = made - theirs
        if learner.ridge:
            regret = run.regret(u, X, y)
        assert regret <= run.linear_regret(Point(u)) + 1e-6 * abs(made)


@pytest.mark.parametrize("name", ["auto", "auto of numbers", "auto of classes"])
@every_schedule
def test_the_mixture_is_certified_against_its_experts(name: str, schedule: str) -> None:
    run = run_of(name, 20).learn(X, LEARNERS[name][1], delay=SCHEDULES[schedule])
    certificate = run.certificate
    assert certificate.id.endswith("+DRIFT")
    assert certificate.regret <= certificate.linear_regret <= certificate.bound
    assert run.trace.bound[-1] == certificate.promised
    assert run.trace.loss[-1] == run.loss


@every_schedule
def test_it_is_what_asking_and_telling_does(schedule: str) -> None:
    for learner in (zoo.ogd_eager(Logistic(), 0.3), zoo.ogd_sc(Hinge(), 0.1), zoo.adagrad(Logistic())):
        here = begin(learner, D, delay=0, compiled=False).learn(X, SIGNS, delay=SCHEDULES[schedule])
        there = delayed(learner, D, compiled=False).learn(X, SIGNS, delay=SCHEDULES[schedule])
        assert bits(here.state) == bits(there.state)
        assert here.pending == there.pending
        assert here.late.ledger.tobytes() == there.ledger[:3].tobytes()
        assert here.scores.tobytes() == there.scores.tobytes()
        assert {c.id: c.bound for c in here.certificates} == {c.id: c.bound for c in there.certificates}
        assert bits(here.deliver().state) == bits(there.deliver().state)


def naive_ridge(delays: Any, lam: float) -> tuple[Vector, float, float]:
    """OGD with a ridge and late answers, spelt out: scores, the drift, and the linearised regret against R^D."""
    w, scores, total, t = np.zeros(D), np.zeros(N), np.zeros(D), 0
    drift: Any = 0.0
    linear: Any = 0.0
    squares: Any = 0.0
    due = sorted((s + int(delay), s) for s, delay in enumerate(delays))
    for now in range(N):
        scores[now] = w @ X[now]
        for _, s in [item for item in due if item[0] == now]:
            t += 1
            slope = -SIGNS[s] if SIGNS[s] * scores[s] < 1 else 0.0
            z = slope * X[s]
            drift, linear = drift + slope * (scores[s] - w @ X[s]), linear + slope * scores[s]
            total, squares = total + z, squares + float(w @ w)
            w = w - (z + lam * w) / (lam * t)
    return scores, float(drift), float(linear + lam / 2 * squares + total @ total / (2 * lam * t))


@every_schedule
def test_a_ridge_is_that_of_the_iterate_that_the_answer_finds(schedule: str) -> None:
    scores, drift, linear = naive_ridge(SCHEDULES[schedule], 0.1)
    run = run_of("ridge").learn(X, SIGNS, delay=SCHEDULES[schedule])
    assert run.scores == pytest.approx(scores)
    assert run.late.drift == pytest.approx(drift)
    assert run.linear_regret() == pytest.approx(linear)
    assert not any(c.id == "DELAY" for c in run.certificates)  # it knows steps of the slope alone


def test_where_no_theorem_speaks_none_is_said_to_have_promised_anything() -> None:
    run = begin(zoo.cocob(Logistic()), D, delay=0, compiled=False).learn(X[:60], SIGNS[:60], delay=5)
    assert run.late.drift != 0
    assert [c.id for c in run.certificates] == [run.trace.theorem] == ["LEM-2.5"]
    assert run.certificate.bound == run.certificate.linear_regret == run.linear_regret()
    assert "promised" not in str(run)


def test_theorems_on_curved_losses_are_not_claimed() -> None:
    delays = SCHEDULES["fixed"]
    for learner, claimed in ((zoo.newton(Logistic()), "NEWTON"), (zoo.pa(C=1.0), "DUAL")):
        usual = train(learner, X, SIGNS, compiled=False)
        run = begin(learner, D, delay=0, compiled=False).learn(X, SIGNS, delay=delays)
        assert claimed in [c.id for c in usual.certificates]
        assert claimed not in [c.id.removesuffix("+DRIFT") for c in run.certificates]
        assert run.certificates
        assert dual_exponent(learner) == 2


def test_the_label_before_is_the_last_that_came() -> None:
    """Labels that follow each other: at once they are foreseen; one row late they tell nothing of the next."""
    signs = np.where(np.arange(N) % 2 == 0, 1.0, -1.0)[RNG.permutation(N)]
    twice = np.repeat(signs, 2)  # every second label is the one before
    rows = RNG.normal(size=(2 * N, 2))
    at_once, late = (begin(zoo.auto(), 2, delay=delay).learn(rows, twice) for delay in (0, 1))
    assert at_once.error is not None
    assert late.error is not None
    assert at_once.error < 0.4 < 0.45 < late.error


def test_rows_of_weight_0_are_scored_and_forgotten() -> None:
    run = begin(zoo.ogd_eager(Logistic(), 0.3), D, delay=7, compiled=False).learn(X, SIGNS, np.zeros(N))
    assert (run.rounds, run.pending, run.late.asked, run.scores.size) == (0, 0, N, N)


REAL: dict[str, Any] = {
    "1": np.full(3000, 1),
    "48": np.full(3000, 48),
    "1000": np.full(3000, 1000),
    "random": RNG.integers(0, 300, 3000),
    "bursts": 200 - np.arange(3000) % 200,
    "permuted": 3000 + RNG.permutation(3000) - np.arange(3000),
}


@pytest.mark.parametrize("delay", [*REAL, "adversarial"])
def test_real_rows(delay: str, data_file: Callable[[str], Path]) -> None:
    """Exact regret ≤ linearised regret ≤ bound + drift ≤ DELAY, on the rows of a9a; the adversary keeps one label."""
    x, y = load_svmlight_file(str(data_file("a9a.svm.gz")), n_features=123)
    x, y = x[:3000], y[:3000]
    delays = np.where(y > 0, 900, 0) if delay == "adversarial" else REAL[delay]
    run = begin(zoo.ogd_eager(Logistic(), 0.05), 123, delay=0).learn(x, y, delay=delays).deliver()
    u = train(zoo.ogd_eager(Logistic(), 0.05), x, y).weights
    bounds = {c.id: c.bound for c in run.certificates}
    nested = [run.regret(u, x, y), run.linear_regret(), bounds["THM-14.5+DRIFT"], bounds["DELAY"]]
    assert nested == sorted(nested)


# ---- what is refused -------------------------------------------------------------------------------------------------


def test_what_cannot_wait_is_refused() -> None:
    with pytest.raises(PartError, match="delay must be a whole number"):
        train(zoo.auto(), X, SIGNS, delay=-1)
    with pytest.raises(PartError, match="weighs the rounds"):
        train(zoo.ogd_scw(Hinge(), 0.1), X, SIGNS, delay=1)
    with pytest.raises(PartError, match="begun so"):
        train(zoo.auto(), X, SIGNS).learn(X, SIGNS, delay=3)
    run = begin(zoo.ogd_eager(Logistic(), 0.3), D, delay=2, compiled=False)
    with pytest.raises(DataError, match="whole numbers ≥ 0"):
        run.learn(X, SIGNS, delay=np.full(N, -1))
    with pytest.raises(DataError, match="more rows than delays"):
        run.learn(X, SIGNS, delay=np.zeros(3, int))
    y = SIGNS.copy()
    y[50] = 3
    with pytest.raises(DataError, match="row 50"):
        run.learn(X, y)
    assert run.late.asked == 50
    assert run.pending == 2
    assert run.rounds == 48


def test_bounds_for_answers_at_once_are_refused() -> None:
    run: Any = begin(zoo.perceptron(), D, delay=1, compiled=False).learn(X, SIGNS)
    for ask in (run.mistake_certificates, run.promised_risks):
        with pytest.raises(PartError, match="at once"):
            ask(np.ones(D), X, SIGNS)
    many = begin(zoo.mc_perceptron(), D, delay=1, compiled=False).learn(X, CLASSES)
    with pytest.raises(PartError, match="at once"):
        many.mistake_certificates(np.ones((D, 3)), X, CLASSES)
    with pytest.raises(PartError, match="at once"):
        many.drawn_error(np.ones((D, 3)), X, CLASSES)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    run = run_of("auto of classes", 20).learn(X, CLASSES)
    description, arrays = run.to_file()
    arrays = arrays | {"late.labels": arrays["late.labels"] + 50}
    with pytest.raises(StoreError, match="late labels"):
        type(run).from_file(tmp_path, description, arrays)


# ---- the command line ------------------------------------------------------------------------------------------------


def write(path: Path) -> str:
    lines = [",".join([*(f"{v:.6g}" for v in x), "yes" if y > 0 else "no"]) for x, y in zip(X, SIGNS, strict=True)]
    path.write_text("\n".join(["a,b,c,d,e,label", *lines]))
    return str(path)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = write(tmp_path / "rows.csv"), str(tmp_path / "model.lr")
    told = ["train", data, "--target", "label", "--positive", "yes"]
    assert main([*told, "--delay", "30", "-o", model, "--quiet", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    lag = {"mean": 30, "largest": 30}
    assert found["delay"] | {"drift": 0} == {"rows": 30, "asked": N, "pending": 30, "drift": 0, "lag": lag}
    assert found["rounds"] == N - 30
    assert found["metrics"]["rows"] == N
    assert main(["train", data, "--resume", model, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delay"]["asked"] == 2 * N
    assert main([*told, "--delay", "30"]) == 0
    said = capsys.readouterr().out
    assert "each label came after 30 more rows; those of the last 30 rows have not come yet" in said
    assert main([*told, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["delay"] is None


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--delay", "-1"], "whole number"),
        (["--delay", "x"], "whole number"),
        (["--delay", "3", "--passes", "2"], "--passes 1"),
        (["--delay", "3", "--certify", "exact"], "--certify stream"),
        (["--delay", "3", "--algorithm", "ogd-lazy", "--eta", "theory"], "--eta theory"),
        (["--delay", "3", "--algorithm", "ogd-scw", "--lam", "1"], "weighs the rounds"),
        (["--delay", "1000"], "more rows than --delay 1000"),
    ],
)
def test_the_command_line_refuses(
    options: list[str], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["train", write(tmp_path / "rows.csv"), "--target", "label", "--positive", "yes", "--quiet", *options]
    try:
        code = main(told)
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    assert code != 0
    assert why in capsys.readouterr().err


def test_certificates_speak_of_any_set() -> None:
    run = run_of("svm").learn(X, SIGNS, delay=SCHEDULES["random"])
    assert run.linear_regret(L2Ball(0.5)) <= run.linear_regret(L2Ball(1.0)) + 1e-9


def test_blocks_do_not_wait_twice() -> None:
    with pytest.raises(PartError, match="leave delay"):
        begin(zoo.ogd(Logistic()), D, delay=1, learners=2)


def test_an_answer_that_cannot_be_learnt_is_refused_once(tmp_path: Path) -> None:
    """The row had been asked; were it kept, it would be refused again by every further call, and after every save."""
    rows, run = X[:40].copy(), begin(zoo.ogd_eager(Square(), 0.1), D, delay=5, compiled=False)
    rows[10, 1] = 1e200
    with pytest.raises(DataError, match="row 10: feature 1"):
        run.learn(rows[:20], NUMBERS[:20])
    assert (run.rounds, run.pending, run.late.asked) == (10, 5, 16)
    run.save(tmp_path / "run.lr")
    run = load(tmp_path / "run.lr").learn(X[20:40], NUMBERS[20:40]).deliver()
    assert (run.rounds, run.pending, run.late.asked) == (35, 0, 36)
    assert np.isfinite(run.weights).all()


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("output", [Average(), Random(0)], ids=repr)
def test_outputs_of_other_iterates_than_those_that_scored_have_no_bound(output: Output) -> None:
    """All rows were scored by 0, and cost 1 each; answers then find iterates that are far out, as their average is."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2000, 3)), rng.choice([-1.0, 1.0], 2000)
    learner = replace(zoo.ogd_lazy(Hinge(), eta=50.0, radius=300.0), output=output)
    run = train(learner, x, y, delay=1000)
    true = float(np.mean(np.maximum(1 - y * (x @ run.weights), 0.0)))
    assert run.loss == run.rounds  # as scored
    assert true > 50
    assert not [c for c in run.risks() if c.of != "error" and c.bound < true]
    assert all(c.output == DRAWN for c in run.risks())
    assert not run.risks() or isinstance(output, Average)  # the model that is kept is not drawn from those that scored
    assert any(c.of == "loss" for c in train(learner, x, y).risks())


@pytest.mark.parametrize("name", ["svm", "auto"])
def test_answers_that_come_for_what_they_say_are_no_sample(name: str, tmp_path: Path) -> None:
    """Whoever clicks does so soon: of rows drawn independently, those answered so far are all of one kind."""
    clicks = np.where(SIGNS > 0, 0, 10_000)
    run = run_of(name, 1).learn(X, SIGNS, delay=1)
    assert all(premise.holds for premise in run.risks()[0].premises if "order" in premise.name)
    assert run.kept is not None
    run.learn(X[:40], SIGNS[:40], delay=clicks[:40])
    for found in (run, load(run.save(tmp_path / "run.lr"))):
        assert found.kept is None
        assert found.risk() is None
        assert not any(certificate.premises_hold for certificate in found.risks())
    whole, split = (run_of(name, 1) for _ in range(2))
    whole.learn(X, SIGNS, delay=SCHEDULES["random"])
    for k in range(0, N, 60):
        split.learn(X[k : k + 60], SIGNS[k : k + 60], delay=SCHEDULES["random"][k : k + 60])
    assert not whole.orderly
    assert not split.orderly
    assert run_of(name, 3).learn(X, SIGNS).deliver().orderly
    assert not run_of(name, 3).learn(X[:9], SIGNS[:9], delay=np.arange(9, 0, -1) * 2).deliver().orderly
