"""Every kind of run is a `Run`: the same verbs, the same proof, the same file, and no bit depends on how data came."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import lowregret
from lowregret.certificate import Certificate
from lowregret.run.base import RowRun
from lowregret.run.contract import Run
from tests.run.kinds import KINDS, Kind

every_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)


def learnt(kind: Kind, *cuts: int) -> Any:
    """A run that has learnt all data, cut there."""
    run = kind.begin()
    for first, last in itertools.pairwise([0, *cuts, kind.rounds]):
        kind.learn(run, first, last)
    return run


def bits(run: Any) -> dict[str, Any]:
    """All that a run would save, and what it says."""
    description, arrays = run.contents()
    found = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in arrays.items()}
    told = str(run), repr(run), repr(run.certificates)
    curves = [np.asarray(curve).tobytes() for curve in (run.trace.rounds, run.trace.loss, run.trace.linear_regret)]
    return found | {"description": json.dumps(description, sort_keys=True), "told": told, "curves": curves}


@pytest.mark.sampled(2)
@every_kind
def test_it_has_the_verbs_of_a_run(kind: Kind, tmp_path: Path) -> None:
    run = kind.begin()
    assert isinstance(run, Run)
    assert (run.rounds, run.loss) == (0, 0.0)
    for share in (kind.rounds // 3, kind.rounds):
        assert kind.learn(run, run.rounds if share < kind.rounds else kind.rounds // 3, share) is run
        assert isinstance(run, Run)
    assert 0 < run.rounds <= kind.rounds
    assert 0 < run.loss < math.inf
    picture = run.plot(tmp_path / "run.png")
    assert isinstance(picture, Figure)
    assert (tmp_path / "run.png").stat().st_size > 1000


@every_kind
def test_it_shows_itself(kind: Kind) -> None:
    for run in (kind.begin(), learnt(kind)):
        line = repr(run)
        assert line.startswith(f"<{type(run).__name__}")
        assert line.endswith(">")
        assert "\n" not in line
        assert len(line) < 140
        assert str(run) != line
        assert f"{run.rounds:,} round" in line


@every_kind
def test_its_certificates_hold(kind: Kind) -> None:
    run = learnt(kind)
    found = run.certificates
    assert found
    assert all(isinstance(c, Certificate) for c in found)
    assert run.certificate == found[0]
    assert run.certificate.premises_hold
    for c in found:
        assert c.linear_regret is None or not c.premises_hold or c.linear_regret <= c.bound + 1e-9 * (1 + abs(c.bound))


@every_kind
def test_its_trace_ends_where_it_stands(kind: Kind) -> None:
    run = learnt(kind)
    trace = run.trace
    assert len({trace.rounds.size, trace.loss.size, trace.linear_regret.size, trace.bound.size}) == 1
    assert trace.rounds.size > 3 or run.state.dimension > 1000  # of many weights, the history begins late
    assert np.all(np.diff(trace.rounds) > 0)
    assert trace.rounds[-1] == run.rounds
    assert trace.loss[-1] == run.loss
    assert trace.linear_regret[-1] == pytest.approx(run.certificate.linear_regret)
    assert any(trace.theorem.startswith(c.id) for c in run.certificates)


@every_kind
def test_splitting_the_data_changes_no_bit(kind: Kind) -> None:
    whole = bits(learnt(kind))
    assert bits(learnt(kind, 1, 2, 33)) == whole
    assert bits(learnt(kind, kind.rounds // 2)) == whole


@pytest.mark.sampled(2)
@every_kind
def test_a_saved_run_goes_on_as_if_it_had_never_stopped(kind: Kind, tmp_path: Path) -> None:
    whole = bits(learnt(kind))
    for cut in (0, 1, 17, kind.rounds):
        run = kind.begin()
        if cut:
            kind.learn(run, 0, cut)
        before = bits(run)
        loaded = lowregret.load(run.save(tmp_path / "run.lr"))
        assert type(loaded) is type(run)
        assert isinstance(loaded, Run)
        assert bits(loaded) == bits(run) == before
        if cut < kind.rounds:
            kind.learn(loaded, cut, kind.rounds)
        assert bits(loaded) == whole


def test_every_kind_on_rows_is_near_one_base() -> None:
    """At most three steps from the base to what is used, and no other bases on the way."""
    kinds = {type(kind.begin()) for kind in KINDS}
    on_rows = {kind for kind in kinds if issubclass(kind, RowRun)}
    assert len(on_rows) == 7
    for kind in on_rows:
        line = kind.__mro__[: kind.__mro__.index(RowRun)]
        assert len(line) <= 3
        assert all(len(one.__bases__) == 1 for one in line)
