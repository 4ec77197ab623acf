"""The textbook's classes by name."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lowregret import PartError
from lowregret.cli.parser import parser
from lowregret.finite import make_hypotheses
from lowregret.finite.generate import GENERATORS


def functions(spec: str) -> set[tuple[bool, ...]]:
    return {tuple(row) for row in make_hypotheses(spec).matrix.tolist()}


def values(points: list[tuple[int, ...]], rules: list[object]) -> set[tuple[bool, ...]]:
    return {tuple(bool(rule(point)) for point in points) for rule in rules}  # type: ignore[operator]


CORNERS = list(itertools.product((0, 1), repeat=3))
SUBSETS = [s for size in range(4) for s in itertools.combinations(range(3), size)]


def test_each_is_what_it_says() -> None:
    assert functions("thresholds:4") == {(False,) * 3, (True, False, False), (True, True, False), (True,) * 3}
    assert functions("singletons:2") == {(True, False), (False, True)}
    assert len(functions("intervals:5")) == 5 * 6 // 2 + 1
    assert (True, False, True) not in functions("intervals:3")
    assert functions("cube:3") == set(itertools.product((False, True), repeat=3))
    assert functions("disjunctions:3") == values(CORNERS, [lambda p, s=s: any(p[i] for i in s) for s in SUBSETS])
    assert functions("conjunctions:3") == values(CORNERS, [lambda p, s=s: all(p[i] for i in s) for s in SUBSETS])
    assert functions("parities:3") == values(CORNERS, [lambda p, s=s: sum(p[i] for i in s) % 2 for s in SUBSETS])
    assert functions("disjunctions:3:k=1") < functions("disjunctions:3")
    assert len(functions("conjunctions:5:k=2")) == 1 + 5 + 10
    assert functions("lists:3:k=0") == {(False,) * 8, (True,) * 8}
    assert functions("lists:3:k=1") == values(
        CORNERS, [lambda p, i=i, a=a, b=b: a if p[i] else b for i in range(3) for a in (0, 1) for b in (0, 1)]
    )
    assert functions("disjunctions:3") | functions("conjunctions:3") < functions("lists:3")


def test_half_planes_are_all_that_lines_can_cut() -> None:
    """Counts as known (OEIS A114043), and against lines drawn at random."""
    assert [len(functions(f"halfspaces:{n}")) for n in (1, 2, 3, 4, 5)] == [2, 14, 58, 174, 402]
    rng = np.random.default_rng(0)
    grid = np.array(list(itertools.product(range(3), repeat=2)))
    drawn = {
        tuple((grid @ w > b).tolist())
        for w, b in zip(rng.normal(size=(20_000, 2)), rng.normal(0, 3, 20_000), strict=True)
    }
    assert drawn == functions("halfspaces:3")


def test_random_classes_depend_on_the_seed_alone() -> None:
    a, b, c = (make_hypotheses(f"random:40x9:seed={seed}").matrix for seed in (1, 1, 2))
    assert (a == b).all()
    assert a.shape != c.shape or (a != c).any()
    assert make_hypotheses("random:200x50:density=0.1").matrix.mean() == pytest.approx(0.1, abs=0.02)


@pytest.mark.parametrize(
    "spec",
    [
        "foo:3", "thresholds", "thresholds:", "cube:0", "cube:x", "cube:2x2", "cube:-1", "cube:2:k=1", "random:3",
        "random:3x4:seed=-1", "random:3x4:seed=a", "random:3x4:density=2", "lists:3:k", "cube:99", "parities:40",
        "thresholds:1000000", "cube:²",
    ],
)  # fmt: skip
def test_what_is_no_class_is_refused_with_an_example(spec: str) -> None:
    with pytest.raises(PartError, match=r"expected|there is no class|too many"):
        make_hypotheses(spec)


def test_help_lists_them_all(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["dimension", "--help"])
    text = capsys.readouterr().out
    for name, generator in GENERATORS.items():
        assert generator.usage in text
        assert generator.meaning in text
        assert generator.example.startswith(name)
        make_hypotheses(generator.example)
