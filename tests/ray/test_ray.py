"""Training on a local Ray: in turns it is `train` to the last bit; against servers every row counts once, proved."""

from __future__ import annotations

import json
import pickle
import socket
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any

import numpy as np
import pytest

from lowregret import Linear, Logistic, LowRegretError, load, read, zoo
from lowregret import train as train_here
from lowregret.cli import main
from lowregret.cli.work import ray as command
from lowregret.errors import PartError, StoreError
from lowregret.loss import Cost
from lowregret.ray import driver
from lowregret.ray.actors import AveragingWorker, Reading, RelayWorker
from lowregret.ray.cluster import ImportFolders, _job, _require_ours, cluster
from lowregret.ray.driver import Training, round_rows
from lowregret.ray.training import begin_session, planned, train
from lowregret.rule import AdaGrad
from lowregret.run.session import Session
from lowregret.run.spread import SpreadRun
from lowregret.spread.cut import Cut
from lowregret.spread.shard import Shard
from lowregret.stream.read import format_part

ray: Any = pytest.importorskip("ray", reason="the extra `ray` is not installed")

ROWS = 3000
FORM = format_part("svm")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng, folder = np.random.default_rng(3), tmp_path_factory.mktemp("ray")
    x = rng.normal(size=(ROWS, 5)).round(3)
    y = np.where(x @ rng.normal(size=5) + rng.normal(size=ROWS) > 0, 1, -1)
    lines = [
        f"{label} {' '.join(f'{j + 1}:{v:g}' for j, v in enumerate(row))}\n" for label, row in zip(y, x, strict=True)
    ]
    (folder / "rows.svm").write_text("".join(lines))
    (folder / "ledger.svm").write_text("".join(f"1 {i + 1}:1\n" for i in range(ROWS)))
    return folder


@pytest.fixture(scope="module")
def local() -> Iterator[None]:
    with cluster("local", 3):
        yield
    assert isinstance(print, BuiltinFunctionType)  # Ray left Python's, which parts may call in compiled code


@pytest.mark.parametrize("scheme", ["", "ray://"])
def test_a_place_where_nobody_listens_is_told_at_once(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    """Ray asks there for minutes."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", lambda **how: pytest.fail("Ray was asked"))
    with socket.socket() as taken:  # and not listened to
        taken.bind(("127.0.0.1", 0))
        address = f"{scheme}127.0.0.1:{taken.getsockname()[1]}"
        why = rf"no Ray cluster at {address}: .*refused; start one with"
        with pytest.raises(LowRegretError, match=why), cluster(address, 2):
            pass


def test_a_port_that_is_not_rays_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray asks there for ever: somebody listens, and says nothing."""
    monkeypatch.setattr("ray.is_initialized", lambda: False)
    monkeypatch.setattr("ray.init", lambda **how: pytest.fail("Ray was asked"))
    monkeypatch.setattr("lowregret.ray.cluster.PATIENCE", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(LowRegretError, match=f"no Ray cluster at {address}: timed out"), cluster(address, 2):
            pass
    mine, other = socket.socketpair()
    other.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    monkeypatch.setattr("socket.create_connection", lambda *place: mine)
    with other, pytest.raises(LowRegretError, match="does not answer as Ray does"), cluster(address, 2):
        pass


def test_workers_import_from_where_this_process_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Ray adds the folder where it is, whosever that be; those of scripts and notebooks are Python's own."""
    mine = tmp_path / "mine"
    mine.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [str(mine)])
    folders = ImportFolders()
    folders.extend([str(mine), str(tmp_path)])
    assert (folders, type(pickle.loads(pickle.dumps(folders)))) == ([str(mine)], list)
    job = _job()
    _require_ours(job)
    job._py_driver_sys_path = [str(tmp_path)]
    with pytest.raises(LowRegretError, match=f"would run modules that lie in {tmp_path}"):
        _require_ours(job)
    monkeypatch.setattr(sys, "path", [""])
    _require_ours(job)


@pytest.mark.parametrize(
    "given", [{"workers": "2"}, {"workers": 0}, {"servers": 1.0}, {"staleness": -1}, {"batch": "9"}], ids=repr
)
def test_counts_are_looked_at_before_a_cluster_is(given: dict[str, Any], files: Path) -> None:
    with pytest.raises(PartError, match=f"{next(iter(given))} must be a whole number"):
        train("auto", str(files / "rows.svm"), address="nobody:1", **given)


@pytest.mark.parametrize("address", ["0", "nan", "-1", "here:99999"])
def test_what_is_no_address_is_refused(address: str, capsys: pytest.CaptureFixture[str], files: Path) -> None:
    """First, while this process is connected to nobody."""
    assert main(["train", str(files / "rows.svm"), "--ray", address]) == 2
    assert f"no Ray cluster at {address}" in capsys.readouterr().err


def test_in_turns_it_is_row_by_row(files: Path, local: None, tmp_path: Path) -> None:
    learner, path = zoo.adagrad(Logistic(), 0.5), str(files / "rows.svm")
    run = train(learner, path, workers=2, batch=256, cuts=tmp_path)
    here = train_here(learner, read(path))
    np.testing.assert_array_equal(run.weights, here.weights)
    assert run.loss == here.loss
    assert run.certificate == here.certificate
    again = train(learner, path, workers=2, batch=256, cuts=tmp_path)  # all was learnt
    assert again.rounds == ROWS


def test_nobody_else_reaches_a_ray_of_ours(local: None) -> None:
    """It listened on all addresses of this machine, and runs what it is sent."""
    host, port = ray.get_runtime_context().gcs_address.rsplit(":", 1)
    assert host == "127.0.0.1"
    socket.create_connection((host, int(port))).close()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.connect(("192.0.2.1", 9))  # sends nothing, and finds the address by which others know us
        ours = line.getsockname()[0]
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((ours, int(port)))


def test_why_actors_die_is_told_in_words(files: Path, local: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was a screen of Ray's tracebacks, addresses and numbers."""

    class Poor(RelayWorker):
        def __init__(self, source: Any) -> None:
            raise ImportError("no room")

    class Lost(RelayWorker):
        def turn(self, packed: bytes, at: int) -> Any:
            sys.exit(1)

    monkeypatch.setattr(driver, "TIRES", 1)
    for kind, why in ((Poor, "ImportError: no room"), (Lost, r"The actor is dead because [^\n]{,200}")):
        monkeypatch.setattr(driver, "RelayWorker", kind)
        with pytest.raises(LowRegretError, match=rf"^actors died 1 times before another cut: {why}$"):
            train(zoo.ogd(Logistic(), 0.1), str(files / "rows.svm"))


def test_a_worker_dies_and_every_row_counts_once(files: Path, local: None, tmp_path: Path) -> None:
    """Costs are linear: θ of a feature that one row has tells how often that row was learnt. Soak kills all others."""
    session = begin_session(Linear(Cost(), AdaGrad(0.5)), FORM, 400, "adagrad")
    plan = planned([str(files / "ledger.svm")], Reading(FORM, 50), 2, 2, 400, every=0.2)
    training, left = Training(plan, Cut(session, [0] * 2)), [1]

    def kill(line: str) -> None:
        if left and training.cut.number:
            left.clear()
            ray.kill(training._actors[-1])

    training.tell = kill
    found = training.finish()
    run = found.run
    assert isinstance(run, SpreadRun)
    assert training.deaths == 1
    assert (run.rounds, found.rows, found.metrics.rows) == (ROWS, ROWS, ROWS)
    theta = run.places.by_column(run.state.theta, run.features, False)  # type: ignore[union-attr]
    assert np.count_nonzero(theta) == ROWS
    assert set(theta.tolist()) <= {0.0, -1.0}
    assert run.staleness <= 400
    run.save(tmp_path / "run.lr")
    assert load(tmp_path / "run.lr").staleness == run.staleness


def test_workers_beyond_the_processors_share_them(files: Path, local: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As after the loss of a node: who asked for a processor of his own waited for ever."""
    monkeypatch.setattr(driver, "PATIENCE", 4.0)
    processors = int(ray.cluster_resources()["CPU"])
    run = train(zoo.adagrad(Logistic(), 0.5), str(files / "rows.svm"), workers=processors + 1, staleness=500)
    assert run.rounds == ROWS


def test_rounds_of_averaging_keep_to_the_staleness(files: Path, tmp_path: Path) -> None:
    """Where blocks lie in pieces, of small files, and if batches are said to be longer."""
    lines = (files / "rows.svm").read_text().splitlines(keepends=True)
    shards = {}
    for k in range(3):
        (tmp_path / f"{k}.svm").write_text("".join(lines[70 * k : 70 * k + 70]))
        shards[k] = Shard(str(tmp_path / f"{k}.svm"))
    worker = AveragingWorker((shards, dict.fromkeys(shards, 0), Reading(FORM, 1000)), 100)
    session = begin_session(zoo.auto(features="raw"), FORM, 100, "auto")
    reports = [worker.round(pickle.dumps(session))[1] for _ in range(3)]
    assert [report.counted.rows for report in reports] == [100, 100, 10]
    assert reports[-1].cursors == dict.fromkeys(shards, 70)
    assert round_rows(100, 3) == 50
    with pytest.raises(PartError, match="3 workers that average lack 2 rows"):
        round_rows(1, 3)


def test_a_cut_is_of_its_table_and_its_model(files: Path, local: None, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    learner, rng = zoo.adagrad(Logistic(), 0.5), np.random.default_rng(0)

    def trained(rows: Any) -> Any:
        return train(learner, [pa.table(rows)], workers=1, staleness=10, cuts=tmp_path, target="y")

    rows = {"x": rng.normal(size=50), "y": np.where(rng.random(50) < 0.5, 1, -1)}
    assert trained(rows).loss == trained(rows).loss
    with pytest.raises(StoreError, match="another training"):
        trained(rows | {"x": rng.normal(size=50)})
    other = begin_session(learner, FORM, 0, "adagrad")
    other.rows = 50
    other.save(next(tmp_path.glob("cut-*.lr")))
    with pytest.raises(StoreError, match=r"the model in .* is not of the training"):
        trained(rows)


def test_the_command_line(files: Path, local: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, model = str(files / "rows.svm"), str(tmp_path / "model.lr")
    common = ["--algorithm", "adagrad", "--eta", "0.5", "--loss", "logistic", "-o", model]
    assert main(["train", data, *common, "--ray", "local", "--workers", "2", "--staleness", "500"]) == 0
    assert "rows of others missing" in capsys.readouterr().out
    assert main(["train", data, "--resume", model, "-o", model]) == 0
    assert load(model).rounds == 2 * ROWS


@pytest.mark.parametrize("algorithm", [["--algorithm", "adagrad"], ["--features", "raw"]])
def test_names_are_known_that_workers_met(local: None, tmp_path: Path, algorithm: list[str]) -> None:
    """Predictions on other columns are then told of, and labels have their names."""
    lines = (f"{i % 5},{'uv'[i % 2]},{'yes' if i % 3 else 'no'}\n" for i in range(60))
    (tmp_path / "rows.csv").write_text("a,b,y\n" + "".join(lines))
    common = ["--target", "y", "--positive", "yes", "--loss", "logistic", "-o", str(tmp_path / "model.lr"), *algorithm]
    assert main(["train", str(tmp_path / "rows.csv"), *common, "--ray", "local", "--staleness", "20"]) == 0
    session = Session.load(tmp_path / "model.lr")
    assert session.run.rounds == 60
    assert session.signs == ("yes", "no")
    assert list(session.met.columns) == ["a", "b"]


def test_options_that_do_not_go_together_are_refused(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = str(files / "rows.svm")
    assert main(["train", data, "--workers", "2"]) == 2
    assert "say --ray local" in capsys.readouterr().err
    said = (["--passes", "2"], "--passes"), (["--block", "free"], "--block free"), (["--cache"], "--cache")
    for words, told in said:
        assert main(["train", data, "--ray", "local", *words]) == 2
        assert f"{told} is of learning in this process" in capsys.readouterr().err


def test_a_block_is_the_size_of_a_turn(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was refused as that of several learners."""
    seen = []

    def finish(session: Session, plan: Any, *others: Any) -> Any:
        seen.append(plan.reading.size)
        raise LowRegretError("no cluster")

    monkeypatch.setattr(command, "cluster", lambda *_: nullcontext())
    monkeypatch.setattr(command, "finish", finish)
    words = ["--algorithm", "adagrad", "--loss", "logistic", "--ray", "local", "--block", "512"]
    assert main(["train", str(files / "rows.svm"), *words]) == 2
    assert seen == [512]


def test_what_ray_says_is_no_part_of_the_result(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ray says on standard output that a worker died, where JSON is expected."""

    def finish(session: Session, *others: Any) -> Session:
        print("(raylet) A worker died or was killed")
        for batch in read(files / "rows.svm", format="svm").batches():
            session.learn(batch)
        return session

    monkeypatch.setattr(command, "cluster", lambda *_: nullcontext())
    monkeypatch.setattr(command, "finish", finish)
    words = ["--algorithm", "adagrad", "--loss", "logistic", "--ray", "local", "--json", "--quiet"]
    assert main(["train", str(files / "rows.svm"), *words]) == 0
    told = capsys.readouterr()
    assert json.loads(told.out)["rounds"] == ROWS
    assert "A worker died" in told.err


def test_without_ray_the_extra_is_named(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(LowRegretError, match=r"pip install 'lowregret\[ray\]'"):
        train(zoo.ogd(Logistic()), str(files / "rows.svm"))
