"""Streams whose best expert changes: the mixture is close to the best of each era, which is checked exactly."""

from __future__ import annotations

import math
from copy import deepcopy
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.errors import PartError
from lowregret.loss import Logistic, Square
from lowregret.run.begin import begin
from lowregret.run.eras import MOST, SHORTEST, next_end
from lowregret.store.kinds import load
from lowregret.train import train
from tests.auto.real import PROBLEMS, Find
from tests.auto.test_laws import every_loss, rows_for
from tests.naive import Matrix, Vector

ERA, COUNT = 500, 4  # of the switching stream


class Rowwise(NamedTuple):
    """What each row cost the experts and the mixture."""

    experts: Matrix
    mixture: Vector
    gaps: Vector  # what weights above 1 cost


def switching() -> tuple[Matrix, Vector]:
    """In turns, a label that the features tell, and one like the last that they do not tell."""
    rng = np.random.default_rng(0)
    x, w, y = rng.normal(size=(ERA * COUNT, 6)), rng.normal(size=6) * 1.5, np.ones(ERA * COUNT)
    for t in range(1, y.size):
        told = x[t] @ w + rng.logistic() > 0
        kept = y[t - 1] * (1.0 if rng.random() < 0.97 else -1.0)
        y[t] = kept if t // ERA % 2 else (1.0 if told else -1.0)
    return x, y


def row_by_row(x: Matrix, y: Any, weights: Vector | None = None) -> tuple[Any, Rowwise]:
    """Learn one row at a time, and look at all losses after each."""
    run, sums = begin(zoo.auto(features="raw"), x.shape[1]), [np.zeros(13)]
    for t in range(len(y)):
        run.learn(x[t : t + 1], y[t : t + 1], None if weights is None else weights[t : t + 1])
        c = run.contest
        sums.append(np.array([*c.losses, c.total, c.bound - math.log(11) - math.log(t + 1)]))
    rows = np.diff(sums, axis=0)
    return run, Rowwise(rows[:, :11], rows[:, 11], rows[:, 12])


@pytest.fixture(scope="module")
def switched() -> tuple[Any, Rowwise]:
    return row_by_row(*switching())


def adversarial() -> tuple[Any, Rowwise]:
    """Labels against every score, which a copy of the run tells beforehand."""
    run, rng, y, x = begin(zoo.auto(), 3), np.random.default_rng(1), [], []
    for _ in range(300):
        row = rng.normal(size=(1, 3))
        x.append(row)
        y.append(1.0 if deepcopy(run).learn(row, [1.0]).scores[0] < 0 else -1.0)
        run.learn(row, y[-1:])
    assert run.error == 1.0
    return row_by_row(np.vstack(x), np.array(y))


def worst_interval(made: Rowwise, mixture: Vector) -> float:
    """The largest of (loss of the mixture − best expert's − ln 11 − ln(end) − gap) over all intervals of rounds."""
    rounds = len(mixture)
    behind = np.vstack([np.zeros(11), np.cumsum((mixture - made.gaps)[:, None] - made.experts, axis=0)])
    worst = -math.inf
    for end in range(1, rounds + 1):
        worst = max(worst, float((behind[end] - behind[:end]).max()) - math.log(11) - math.log(end))
    return worst


def best_sequence(made: Rowwise) -> float:
    """min over all sequences of experts of their losses + ln N + ln T + Σ(ln N + ln t) over switches after rounds t."""
    least = np.zeros(11)
    for t, losses in enumerate(made.experts, 1):
        if t > 1:
            least = np.minimum(least, least.min() + math.log(11) + math.log(t - 1))
        least = least + losses
    return float(least.min()) + math.log(11) + math.log(len(made.experts))


# ---- the theorem ----------------------------------------------------------------------------------------------------


def test_no_interval_of_a_switching_stream_costs_more_than_it_may(switched: tuple[Any, Rowwise]) -> None:
    made = switched[1]
    assert worst_interval(made, made.mixture) <= 1e-9
    assert made.mixture.sum() <= best_sequence(made) + 1e-9


def test_nor_does_one_against_an_adversary_or_with_weights() -> None:
    rng = np.random.default_rng(3)
    x, y = switching()
    for _, made in (adversarial(), row_by_row(x[300:900], y[300:900], rng.choice([0.3, 1.0, 4.0], 600))):
        assert worst_interval(made, made.mixture) <= 1e-9
        assert made.mixture.sum() - made.gaps.sum() <= best_sequence(made) + 1e-9


@pytest.mark.parametrize("delay", [1, 60])
def test_late_answers_cost_what_they_cost_in_eras_too(delay: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(1500, 3)), np.repeat(rng.choice([-1.0, 1.0], 75), 20)
    eras = train(zoo.auto(Logistic(), "raw"), x, y, delay=delay).eras()
    assert eras.certificate.id == "MIX-SHARE-ERAS+DRIFT"
    assert eras.certificate.holds
    assert eras.certificate.bound < math.inf
    assert np.all(np.isinf(eras.bounds))  # what lateness cost is known of the whole run alone


def test_without_sharing_a_mixture_comes_too_late(switched: tuple[Any, Rowwise]) -> None:
    """Bayes' mixture of the same experts, which trusts only sums since the beginning."""
    made = switched[1]
    sums = np.cumsum(made.experts, axis=0)
    logs = np.log(np.mean(np.exp(-(sums - sums.min(axis=1, keepdims=True))), axis=1)) - sums.min(axis=1)
    assert worst_interval(made, np.diff(-logs, prepend=0.0)) > 10


def test_the_best_of_each_era_is_found_and_followed(switched: tuple[Any, Rowwise]) -> None:
    run, made = switched
    eras = run.eras(COUNT)
    assert np.all(np.abs(eras.ends - ERA * np.arange(1, COUNT + 1)) <= MOST)
    assert [eras.names[k] for k in eras.best[1::2]] == ["stack-quick"] * 2  # the label before tells this one
    assert all(eras.names[k] != "stack-quick" for k in eras.best[::2])
    assert eras.switches.size == COUNT - 1
    assert np.all(eras.mixture - eras.least <= eras.bounds)
    told = eras.certificate
    assert told.holds
    assert told.regret == pytest.approx(made.mixture.sum() - eras.least.sum())
    assert told.bound == pytest.approx(COUNT * math.log(11) + np.log([*eras.switches, ERA * COUNT]).sum())


# ---- what is kept ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 10**9))
def test_there_are_enough_ends_and_not_too_many(rounds: int) -> None:
    end = next_end(rounds)
    assert rounds < end <= rounds + max(SHORTEST, (rounds + 1) * 2 / MOST)
    assert end % SHORTEST == 0
    assert next_end(end - 1) == end


def test_eras_are_sums_of_rows(switched: tuple[Any, Rowwise]) -> None:
    run, made = switched
    for eras in (run.eras(), run.eras(7), run.eras(1)):
        cuts = np.append(0, eras.ends)
        for k, (a, b) in enumerate(pairwise(cuts)):
            np.testing.assert_allclose(eras.experts[k], made.experts[a:b].sum(axis=0), rtol=1e-9)
            assert eras.mixture[k] == pytest.approx(made.mixture[a:b].sum())
        assert eras.ends[-1] == ERA * COUNT
        assert np.array_equal(eras.weights[-1], run.contest.weights)
    kept = run.eras()
    assert MOST / 2 < kept.ends.size <= MOST + 1
    assert np.unique(kept.lengths[:-1]).size == 1


@every_loss
def test_pieces_and_files_change_no_era(loss: Any, tmp_path: Path) -> None:
    x, y = rows_for(loss, 0, 1500)
    whole, part = train(zoo.auto(loss), x, y), train(zoo.auto(loss), x[:701], y[:701])
    part.save(tmp_path / "run")
    resumed: Any = load(tmp_path / "run")
    resumed.learn(x[701:1040], y[701:1040]).learn(x[1040:], y[1040:])
    one, other = whole.eras(), resumed.eras()
    assert np.array_equal(one.ends, other.ends)
    assert np.array_equal(one.experts, other.experts)
    assert np.array_equal(one.mixture, other.mixture)
    assert np.array_equal(one.weights, other.weights)


def test_few_rounds_and_none() -> None:
    x, y = switching()
    assert train(zoo.auto(), x[:5], y[:5]).eras(12).ends.tolist() == [5]
    none = begin(zoo.auto(), 3).eras()
    assert none.ends.size == none.best.size == none.switches.size == 0
    assert none.certificate.regret == 0.0
    with pytest.raises(PartError, match="at least one era"):
        train(zoo.auto(), x[:5], y[:5]).eras(0)


def test_of_numbers_nothing_is_promised() -> None:
    x, y = rows_for(Square(), 0, 300)
    eras = train(zoo.auto(Square()), x, y).eras(3)
    assert np.all(np.isinf(eras.bounds))
    assert math.isinf(eras.certificate.bound)
    assert np.all(np.isfinite(eras.experts))


@pytest.mark.filterwarnings("error")
def test_partitions_alone_have_eras_without_a_warning() -> None:
    """All other experts have lost ∞, of which no difference is taken."""
    x, y = rows_for(Square(), 0, 300)
    run = train(zoo.auto(Square(), "partitions"), x, y)
    eras = run.eras()
    assert eras.names == ("partitions",)
    assert eras.experts.sum() == pytest.approx(run.contest.losses[0])


# ---- a real stream that drifts --------------------------------------------------------------------------------------


def test_elec2(data_file: Find, tmp_path: Path) -> None:
    p = PROBLEMS["elec2"](data_file)
    run = train(zoo.auto(), p.x, p.y)
    eras = run.eras(12)
    assert eras.ends.size == 12
    assert np.all(eras.mixture - eras.least <= eras.bounds)
    assert np.all(eras.mixture <= 1.02 * eras.least)
    assert np.all(eras.mixture < eras.experts[:, :8].min(axis=1))  # better than the best lane of each era
    assert eras.certificate.holds
    picture = run.plot(tmp_path / "elec2.png")
    assert len(picture.axes) == 4
    assert picture.axes[2].get_legend_handles_labels()[1][1:] == ["best expert of each era", "mixture"]
    assert (tmp_path / "elec2.png").stat().st_size > 10_000
    assert len(eras.plot().axes) == 2


def test_a_picture_that_cannot_be_written_is_an_error_of_ours(tmp_path: Path) -> None:
    x, y = switching()
    run = train(zoo.auto(), x[:50], y[:50])
    with pytest.raises(OSError, match="cannot write"):
        run.plot(tmp_path / "missing" / "a.png")
    with pytest.raises(OSError, match="cannot write"):
        run.plot(tmp_path / "a.nonsense")
