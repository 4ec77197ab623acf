"""Ray on three nodes: losses beside those of one process, and whoever is killed whenever, every row counts once."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest

from lowregret import L2Ball, Linear, Logistic, load, read, zoo
from lowregret import train as train_here
from lowregret.hindsight import best_fixed
from lowregret.loss import Cost
from lowregret.ray.actors import Reading
from lowregret.ray.driver import Training
from lowregret.ray.training import begin_session, planned, train
from lowregret.rule import AdaGrad
from lowregret.run.spread import SpreadRun
from lowregret.spread.cut import Cut, CutFolder
from lowregret.stream.read import format_part

ray: Any = pytest.importorskip("ray", reason="the extra `ray` is not installed")

DATA = Path(os.environ.get("LOWREGRET_DATA", "../shared/data"))
BIG = Path(os.environ.get("LOWREGRET_BIG", "out/big.svm"))  # `python -m benchmarks.files` generates such files
SETS: dict[str, tuple[Path, dict[str, Any]]] = {
    "enron_spam": (DATA / "enron_spam.svm.gz", {}),
    "covtype": (DATA / "covtype.csv.gz", {"target": "Cover_Type", "positive": "2"}),
    "big": (BIG, {}),
}
LEARNERS: dict[str, Any] = {"ogd": zoo.ogd(Logistic()), "adagrad": zoo.adagrad(Logistic(), 0.1), "auto": zoo.auto()}
ROWS = 30_000
FORM = format_part("svm")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 2})
    for _ in range(2):
        cluster.add_node(num_cpus=2)
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster
    ray.shutdown()
    cluster.shutdown()  # type: ignore[no-untyped-call]


def given(name: str) -> tuple[str, dict[str, Any]]:
    path, options = SETS[name]
    if not path.exists():
        pytest.skip(f"{path} is not there")
    return str(path), options


# ---- losses ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", LEARNERS)
@pytest.mark.parametrize("name", SETS)
def test_in_turns_the_loss_is_that_of_one_process(nodes: Any, name: str, algorithm: str) -> None:
    path, options = given(name)
    here = train_here(LEARNERS[algorithm], read(path, **options))
    run = train(LEARNERS[algorithm], path, workers=3, **options)
    assert run.rounds == here.rounds
    assert run.loss == here.loss
    np.testing.assert_array_equal(run.weights, here.weights)


@pytest.mark.parametrize("algorithm", ["ogd", "adagrad"])
def test_many_rare_features_bear_staleness(nodes: Any, algorithm: str) -> None:
    path, options = given("big")
    here = train_here(LEARNERS[algorithm], read(path, **options))
    run = train(LEARNERS[algorithm], path, workers=3, servers=2, staleness=4096, **options)
    assert isinstance(run, SpreadRun)
    assert 0 < run.staleness <= 4096
    assert run.mean_loss <= 1.02 * here.mean_loss


@pytest.mark.parametrize("algorithm", ["ogd", "adagrad"])
def test_certificates_bound_the_exact_regret(nodes: Any, algorithm: str) -> None:
    path = DATA / "a9a.svm.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    learner = zoo.ogd(Logistic(), 0.02) if algorithm == "ogd" else LEARNERS[algorithm]
    run = train(learner, str(path), workers=3, servers=2, staleness=600, batch=200)
    assert isinstance(run, SpreadRun)
    batches = [batch.copy() for batch in read(str(path)).batches()]

    def rows() -> Iterator[Any]:
        return ((run.located(batch.rows), batch.labels, np.ones(len(batch))) for batch in batches)

    best = best_fixed(run.learner, L2Ball(1.0), rows, run.placed_weights)
    for c in run.certificates:
        assert c.premises_hold
        assert c.linear_regret is not None
        assert run.loss - best.value <= c.linear_regret <= c.bound + 1e-6


# ---- faults ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows that have a feature of their own each: θ tells how often each was learnt, as costs are linear."""
    path = tmp_path_factory.mktemp("ledger") / "ledger.svm"
    path.write_text("".join(f"1 {i + 1}:1\n" for i in range(ROWS)))
    return path


def require_each_once(run: Any) -> None:
    theta = run.places.by_column(run.state.theta, run.features, False)
    assert run.rounds == ROWS
    assert np.count_nonzero(theta == -1.0) == ROWS
    assert np.count_nonzero(theta) == ROWS


@pytest.mark.parametrize("seed", range(14))
def test_actors_are_killed_at_random_moments(nodes: Any, ledger: Path, seed: int, tmp_path: Path) -> None:
    """The register, a server or a worker, of either kind of training, up to three times."""
    draw = random.Random(seed)
    staleness = 0 if seed % 3 == 2 else 900
    session = begin_session(Linear(Cost(), AdaGrad(0.5)), FORM, staleness, "adagrad")
    plan = planned([str(ledger)], Reading(FORM, 200 if staleness else 1000), 3, 2, staleness, every=0.5)
    training = Training(plan, Cut(session, [0] * 3), CutFolder(tmp_path, {}))

    def kill() -> None:
        actors = list(training._actors)
        if actors:
            ray.kill(draw.choice(actors))

    timers: list[Timer] = []

    def look(line: str) -> None:
        """Now and then, kill somebody a moment later, in the middle of whatever is done then."""
        if len(timers) < 3 and (not timers or draw.random() < 0.4):  # the first at once, or all may be over
            timers.append(Timer(draw.uniform(0, 0.5 if timers else 0.02), kill))
            timers[-1].start()

    training.tell = look
    found = training.finish()
    for timer in timers:
        timer.cancel()
    print(f"seed {seed}: {training.deaths} deaths, {training.cut.number} cuts")
    assert training.deaths
    require_each_once(found.run)
    assert (found.rows, found.metrics.rows) == (ROWS, ROWS)


@pytest.mark.parametrize("staleness", [0, 900])
def test_a_node_is_lost(nodes: Any, ledger: Path, staleness: int) -> None:
    """With all actors on it; the others take over from the cut."""
    session = begin_session(Linear(Cost(), AdaGrad(0.5)), FORM, staleness, "adagrad")
    plan = planned([str(ledger)], Reading(FORM, 200 if staleness else 1000), 3, 2, staleness, every=0.5)
    training = Training(plan, Cut(session, [0] * 3))
    node = nodes.add_node(num_cpus=2)
    lost: list[Any] = []

    def lose(line: str) -> None:
        if training.cut.number and not lost:
            lost.append(nodes.remove_node(node, allow_graceful=False))

    training.tell = lose
    found = training.finish()
    assert lost
    print(f"staleness {staleness}: {training.deaths} times back to the cut")
    require_each_once(found.run)


@pytest.mark.parametrize("seed", range(6))
def test_the_driver_is_killed_and_the_same_command_goes_on(ledger: Path, seed: int, tmp_path: Path) -> None:
    """A process of its own with a cluster of its own, killed at a random moment once a cut is there."""
    script = (
        "from lowregret import Linear\nfrom lowregret.loss import Cost\nfrom lowregret.rule import AdaGrad\n"
        "from lowregret.ray import train\n"
        f"run = train(Linear(Cost(), AdaGrad(0.5)), {str(ledger)!r}, workers=2, staleness={0 if seed % 2 else 600}, "
        f"batch=150, cuts={str(tmp_path / 'cuts')!r}, every=0.3)\nrun.save({str(tmp_path / 'run.lr')!r})\n"
    )
    draw, kills = random.Random(seed), 0
    for attempt in range(4):
        process = subprocess.Popen([sys.executable, "-c", script], start_new_session=True)
        if attempt < 2:
            while not (tmp_path / "cuts" / "cut.json").exists() and process.poll() is None:
                time.sleep(0.05)
            time.sleep(draw.uniform(0, 2))
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                kills += 1
        if process.wait() == 0:
            break
    told = json.loads((tmp_path / "cuts" / "cut.json").read_text())
    print(f"seed {seed}: {kills} kills, {told['number']} cuts")
    assert kills
    assert sum(told["cursors"]) == ROWS
    require_each_once(load(tmp_path / "run.lr"))
