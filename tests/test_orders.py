"""A few runs of `benchmarks.fuzz_orders`, and that it can fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzz_orders import fuzz_tables
from benchmarks.fuzzing import Attack, Falsehood, fuzzed
from benchmarks.orders_of_experts import fuzz_forecasts
from benchmarks.orders_of_text import fuzz_sparse
from benchmarks.outcomes import Outcome, learn, require_same


@pytest.mark.parametrize(("attack", "runs"), [(fuzz_tables, 2), (fuzz_sparse, 2), (fuzz_forecasts, 3)])
def test_one_outcome_in_all_ways(attack: Attack, runs: int) -> None:
    assert sum(claims for _, claims in fuzzed([attack], runs, 20, refuses=False)) >= runs


def test_outcomes_that_differ_are_found_out(tmp_path: Path) -> None:
    (tmp_path / "a.svm").write_text("+1 1:1 2:0.5\n-1 1:2\n")
    (tmp_path / "b.svm").write_text("+1 1:1 2:0.5000000000000001\n-1 1:2\n")
    words = ["--algorithm", "ogd", "--loss", "hinge"]
    one, other = (learn(tmp_path, [str(tmp_path / name), *words]) for name in ("a.svm", "b.svm"))
    assert isinstance(one, Outcome)
    require_same(one, one, "the same file")
    with pytest.raises(Falsehood, match="another file: /arrays"):
        require_same(one, other, "another file")
    with pytest.raises(Falsehood, match="is refused"):
        require_same(one, learn(tmp_path, ["nowhere.svm"]), "no file")
