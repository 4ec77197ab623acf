"""Random partitions beside `auto`: the same laws, what they are good for, and what is proved of them."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from lowregret import zoo
from lowregret.auto.learner import EXPERTS, PARTITIONS, join, leave
from lowregret.errors import DataError, PartError
from lowregret.features import Partitions
from lowregret.hindsight import best_in_hindsight
from lowregret.loss import Logistic, Softmax, Square
from lowregret.rows import Dense, Sparse, as_sparse
from lowregret.run.begin import begin
from lowregret.run.curve import LOOKS
from lowregret.store.kinds import load
from lowregret.train import train
from tests.auto.test_laws import every_loss, nested, rows_for, same

FEW = Partitions(trees=3, cells=120)
N = 1100  # beyond the second look


def small(loss: Any, partitions: Partitions = FEW) -> Any:
    return replace(zoo.auto(loss), partitions=partitions)


def curved(loss: Any, n: int = N) -> tuple[Any, Any]:
    """Rows whose labels hang on a product of two features."""
    X = np.round(np.random.default_rng(1).uniform(-1, 1, (n, 4)), 3)
    score = X[:, 0] * X[:, 1] + 0.1 * X[:, 2]
    if isinstance(loss, Logistic):
        return X, np.where(score > 0, 1.0, -1.0)
    return (X, score) if isinstance(loss, Square) else (X, np.digitize(score, [-0.2, 0.2]))


# ---- laws -----------------------------------------------------------------------------------------------------------


@every_loss
def test_compiled_is_interpreted(loss: Any) -> None:
    X, y = curved(loss, 270)
    one, other = (train(small(loss), X, y, compiled=compiled) for compiled in (True, False))
    assert one.curve.run is not None
    assert same(one, other)


@every_loss
def test_sparse_is_dense_and_unknown_features_have_places(loss: Any) -> None:
    X, y = curved(loss)
    X[X < -0.7] = 0.0
    whole = train(small(loss), X, y)
    assert same(whole, train(small(loss), csr_array(X), y))
    grown = begin(small(loss), None).learn(csr_array(X), y)  # with features in another order, so other trees
    assert max(grown.loss, whole.loss) < train(zoo.auto(loss, "raw"), X, y).loss


@pytest.mark.sampled(2)
@every_loss
@pytest.mark.parametrize("cuts", [[100], [255, 256, 257], [300, 1000], [1023, 1024]], ids=str)
def test_batches_and_resuming_change_no_bit(loss: Any, cuts: list[int], tmp_path: Path) -> None:
    X, y = curved(loss)
    whole, run = train(small(loss), X, y), begin(small(loss), X.shape[1])
    for a, b in zip([0, *cuts], [*cuts, N], strict=True):
        run.learn(X[a:b], y[a:b]).save(tmp_path / "run")
        run = load(tmp_path / "run")
    assert same(whole, run)
    assert np.array_equal(whole.decision_function(X[:50]), run.decision_function(X[:50]))


@every_loss
@pytest.mark.parametrize("first", [100, 256, 900], ids=str)
def test_rows_that_come_again_before_a_look_are_learnt_and_saved(loss: Any, first: int, tmp_path: Path) -> None:
    """Frozen models are judged no more; a companion that then begins anew has frozen none that the run has not."""
    X, y = curved(loss, first)
    run = train(small(loss), X, y)
    run.end_trial()
    run.learn(np.tile(X, (N // first, 1)), np.tile(y, N // first)).save(tmp_path / "run")
    again = load(tmp_path / "run")
    assert run.rounds > max(look for look in LOOKS if look < N)
    assert len(run.curve.run.trial.records) == len(run.trial.records) > 0
    assert same(run.learn(X, y), again.learn(X, y))


@every_loss
@pytest.mark.parametrize("batches", [[50, 100], [150], [50, 250, 900]], ids=str)
def test_rows_of_which_some_had_come_twice_are_learnt_again_and_saved(
    loss: Any, batches: list[int], tmp_path: Path
) -> None:
    """What was on trial is worth nothing then, and dropped with the rows that were kept to try it on."""
    X, y = curved(loss, 25)
    run = train(small(loss), np.tile(X, (2, 1)), np.tile(y, 2))
    for size in batches:
        run.end_trial()
        run.learn(np.resize(X, (size, X.shape[1])), np.resize(y, size)).save(tmp_path / "run")
        assert same(copy.deepcopy(run).learn(X, y), load(tmp_path / "run").learn(X, y))
    assert run.trial.ended == 0
    assert not len(run.trial.records)


@every_loss
@pytest.mark.parametrize("kind", [Dense, Sparse])
def test_batches_may_come_in_the_memory_of_those_before(loss: Any, kind: Any) -> None:
    X, y = curved(loss)
    memory = np.empty((100, 4))
    rows = Dense(memory) if kind is Dense else replace(as_sparse(Dense(memory)), data=memory.reshape(-1))
    whole, run = train(small(loss), X, y), begin(small(loss), 4)
    for a in range(0, N, 100):
        memory[:] = X[a : a + 100]
        run.learn(rows, y[a : a + 100])
    assert same(whole, run)


@every_loss
def test_rows_of_weight_0_change_nothing(loss: Any) -> None:
    X, y = curved(loss)
    w = np.ones(N)
    w[::7] = 0.0
    assert same(train(small(loss), X, y, w), train(small(loss), X[w > 0], y[w > 0]))


@every_loss
def test_growing_functions_of_features_leave_the_cells(loss: Any) -> None:
    X, y = curved(loss, 300)
    one, other = train(small(loss), X, y).curve, train(small(loss), np.exp(X), y).curve
    assert np.array_equal(one.forest.nodes, other.forest.nodes)


@every_loss
def test_a_predictor_predicts_as_the_run_does(loss: Any, tmp_path: Path) -> None:
    X, y = curved(loss)
    run = train(small(loss), X, y)
    kept = load(run.predictor().save(tmp_path / "kept.lr"))
    assert np.array_equal(kept.decision_function(X), run.decision_function(X))


@every_loss
def test_the_live_mixture_has_the_scores_of_its_experts(loss: Any) -> None:
    """The twelfth expert's loss is that of another `auto` on rows with cells, which learnt the same rows."""
    X, y = curved(loss)
    run = train(small(loss), X[:1024], y[:1024])
    forest, before = run.curve.forest, run.contest.losses[-1]
    alone = begin(small(loss).plain(), forest.columns)
    rows = forest.rows(run.located(run._rows(X)), np.arange(N), True)
    celled = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr), shape=rows.shape)
    codes = run.classes.encode(y, None, None) if isinstance(loss, Softmax) else y
    lost = alone.learn(celled[:1024], codes[:1024]).loss
    run.learn(X[1024:], y[1024:])
    learnt = alone.learn(celled[1024:], codes[1024:]).loss - lost
    assert run.contest.losses[-1] - before == pytest.approx(learnt, rel=1e-5)


# ---- when they join -------------------------------------------------------------------------------------------------


@every_loss
def test_they_join_after_the_first_look_if_rows_are_narrow(loss: Any) -> None:
    """Live at once; kept when their model is frozen the next time, after it has played along for a while."""
    X, y = curved(loss, 520)
    run = train(small(loss), X[:255], y[:255])
    assert len(run.contest.names) == PARTITIONS
    run.learn(X[255:300], y[255:300])
    assert run.contest.names[-1] == "partitions"
    assert len(run.contest.names) == EXPERTS
    assert len(run.keeper.names) == PARTITIONS
    run.learn(X[300:], y[300:])
    assert run.keeper.names[-1] == "partitions"
    assert len(run.contest.names) == len(run.keeper.names) == EXPERTS


@every_loss
def test_nothing_changes_where_rows_are_wide_or_sparse(loss: Any) -> None:
    X, y = curved(loss, 300)
    far = np.arange(300)[:, None] * np.ones(4)
    wide = csr_array((X.ravel(), (np.repeat(np.arange(300), 4), (4 * far + np.arange(4)).ravel().astype(int))))
    one, raw = train(zoo.auto(loss), wide, y), train(zoo.auto(loss, "raw"), wide, y)
    assert len(one.contest.names) == PARTITIONS
    assert same(one, raw)


@every_loss
def test_the_sample_is_forgotten_after_the_last_look(loss: Any) -> None:
    X, y = curved(loss, LOOKS[-1] + 4)
    run = train(small(loss), X[: LOOKS[-1] - 1], y[: LOOKS[-1] - 1])
    assert run.curve.sample is not None
    nodes = run.curve.forest.nodes
    run.learn(X[LOOKS[-1] - 1 :], y[LOOKS[-1] - 1 :])
    assert run.curve.sample is None
    assert not np.array_equal(run.curve.forest.nodes, nodes)
    assert not [name for name in run.contents()[1] if name.startswith("sample.")]


def test_partitions_may_play_alone() -> None:
    X, y = curved(Logistic())
    run = train(zoo.auto(features="partitions"), X, y)
    assert run.contest.names == run.keeper.names == ("partitions",)
    nested(run)


def test_words_for_features_are_checked() -> None:
    with pytest.raises(PartError, match="both, raw, partitions"):
        zoo.auto(features="trees")


# ---- what they are good for -----------------------------------------------------------------------------------------


def test_they_see_products_that_no_linear_learner_does() -> None:
    X, y = curved(Logistic(), 3000)
    raw, both = train(zoo.auto(features="raw"), X, y), train(zoo.auto(), X, y)
    assert raw.error is not None
    assert both.error is not None
    assert both.kept is not None
    assert raw.error > 0.35
    assert both.error < 0.2
    assert both.kept.error == pytest.approx(float(np.mean(both.predict(X[:0:-1]) != y[:0:-1])), abs=0.15)


# ---- what is proved -------------------------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("seed", range(2))
def test_certificates_hold(loss: Any, seed: int) -> None:
    X, y = rows_for(loss, seed, N)
    nested(train(small(loss), X, y))
    w = np.random.default_rng(seed).exponential(2.0, N)
    run = train(small(loss), X, y, w)
    nested(run)
    assert run.keeper.certificate.holds
    noise = np.random.default_rng(seed).permutation(y)
    nested(train(small(loss), X, noise))


@pytest.mark.parametrize("loss", [Logistic(), Square()], ids=repr)
def test_no_forest_is_better_than_its_certificate_says(loss: Any) -> None:
    """Against the best weighting of all cells and features in the ball, found exactly, over all rounds."""
    X, y = curved(loss, 700)
    run = train(small(loss), X, y)
    rows = run.curve.forest.rows(run.located(run._rows(X)), np.arange(700), True)
    celled = csr_array((rows.data, rows.indices.astype(np.int64), rows.indptr), shape=rows.shape)
    with_bias = csr_array(np.hstack([celled.toarray(), np.ones((700, 1))]))
    told = run.forest_certificate
    assert told is not None
    best = best_in_hindsight(loss, with_bias, y, run.comparator)
    assert told.id == "FOREST"
    assert told.linear_regret is not None
    assert run.loss - best.value <= told.linear_regret + told.rounding


def test_joining_and_leaving_keep_trust_in_order() -> None:
    X, y = curved(Logistic(), 300)
    trust = train(zoo.auto(features="raw"), X, y).record.mind.trust
    more = join(trust, 10.0, True, False)
    assert more[:EXPERTS].sum() == pytest.approx(1.0)
    assert more[PARTITIONS] == pytest.approx(1 / EXPERTS)
    assert leave(more, 10.0)[:PARTITIONS] == pytest.approx(trust[:PARTITIONS])


# ---- what goes wrong ------------------------------------------------------------------------------------------------


@every_loss
def test_a_row_that_cannot_be_learnt_leaves_all_as_it_was(loss: Any) -> None:
    X, y = curved(loss, 300)
    good, bad = train(small(loss), X, y), train(small(loss), X, y)
    for row in ([1.0, np.nan, 0.0, 0.0], [1e200, 0.0, 0.0, 0.0]):
        with pytest.raises(DataError, match="row 1"):
            bad.learn(np.array([X[0], row]), y[:2])
        good.learn(X[:1], y[:1])
        assert same(good, bad)
    assert bad.curve.run is not None


@every_loss
def test_an_interruption_leaves_companion_and_run_in_step(loss: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = curved(loss, 600)
    run, whole = train(small(loss), X[:400], y[:400]), train(small(loss), X, y)
    told = run.curve.run._told

    def interrupted(*given: Any) -> Any:
        told(*given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run.curve.run, "_told", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.learn(X[400:], y[400:])
    done = run.rounds
    assert run.curve.run.rounds == done > 400
    assert same(run.learn(X[done:], y[done:]), whole)
