"""Streams whose order tells which label comes next are seen, whatever their first labels were, and no others."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import Average, Square, train, zoo
from lowregret.risk.bounds import headline
from lowregret.risk.class_statistics import ClassTally
from lowregret.risk.composition import CELLS, LENGTHS, composition_evidence
from lowregret.risk.extremes import BLOCK, FIRST, beyond, extremes_evidence
from lowregret.risk.independence import evidence
from lowregret.risk.statistics import ALARM, MARKED_ONES, ONES, Tally
from lowregret.rows import as_rows
from lowregret.run.linear import LinearRun
from lowregret.store import file as store
from lowregret.store.migrate import from_11

NONE = np.empty(0)
JUDGE = zoo.ogd(Square())
SUSPECT = math.log(1 / ALARM)
Drawn = Callable[[np.random.Generator, int], Any]


def looks(labels: Any, classes: bool, cuts: tuple[int, ...], compiled: bool = True) -> Iterator[Tally]:
    """What is counted of labels, or of classes by number, after each of several batches."""
    found: Any = ClassTally() if classes else Tally(False)
    y = np.asarray(labels, float)
    for part in np.split(y, cuts):
        x = as_rows(np.arange(part.size * 1.0).reshape(-1, 1))
        if classes:
            found.judge(x, part, NONE, part, part.size, compiled)
        else:
            found.see(JUDGE, x, part, NONE, part, part.size, compiled)
        yield found


def tallied(labels: Any, classes: bool = False, cuts: tuple[int, ...] = (), compiled: bool = True) -> Tally:
    """What is counted of labels, or of classes by number, that come in batches."""
    *_, found = looks(labels, classes, cuts, compiled)
    return found


def bits_alone(tally: Tally) -> float:
    """ln E of the bits that tell whether labels lie above the mean of the first block."""
    ones, both, last, _, marked = tally.counts[ONES : MARKED_ONES + 1].tolist()
    bits = tally.rounds - BLOCK
    return evidence(bits, ones, both, last, tally.levels, ones - marked, bits % BLOCK)


def ordered(n: int) -> dict[str, Any]:
    """Labels in an order of which the bits tell nothing."""
    rng, t = np.random.default_rng(n), np.arange(n)
    return {
        "ascending": np.sort(rng.random(n)),
        "descending": np.sort(rng.random(n))[::-1],
        "a trend": t / n + 0.01 * rng.normal(size=n),
        "growth": np.exp(20 * t / n),
        "decay": np.exp(-20 * t / n),
        "a counter": np.cumsum(rng.integers(1, 4, n)),
        "spells that fall": -np.repeat(np.arange(10), n // 10),
        "one level, then a lower one": np.where(t < n // 2, 1.0, 0.0),
        "odd labels, then ascending": np.where(t < 4, 1e9 * (-1.0) ** t, t),
    }


@pytest.mark.parametrize("n", [500, 2000, 20000])
@pytest.mark.parametrize("name", ordered(500))
def test_labels_in_order_are_seen(name: str, n: int) -> None:
    tally = tallied(ordered(n)[name])
    assert tally.dependence >= SUSPECT
    if name != "a trend":  # seen late by the bits as well
        assert bits_alone(tally) < 0


def in_spells(n: int) -> dict[str, Any]:
    """Classes by number, in an order of which the bits tell nothing, or little."""
    rng, t = np.random.default_rng(n), np.arange(n)
    steady = rng.random(n) < 0.5
    return {
        "descending": 3 - t // (n // 4),
        "ascending": t // (n // 4),
        "faults that follow each other": np.where(steady | (t == 0), 0, 1 + t // (n // 8)),
        "faults that were all met before": np.where(steady, 0, np.where(t < BLOCK, 1 + t % 7, 1 + t // (n // 20) % 7)),
    }


@pytest.mark.parametrize("n", [500, 2000, 20000])
@pytest.mark.parametrize("name", in_spells(500))
def test_classes_in_order_are_seen(name: str, n: int) -> None:
    assert tallied(in_spells(n)[name], classes=True).dependence >= SUSPECT


def met(names: Any) -> list[int]:
    """Classes by number, in the order in which they are met."""
    numbers: dict[int, int] = {}
    return [numbers.setdefault(name, len(numbers)) for name in names.tolist()]


LABELS: dict[str, Drawn] = {
    "normal": lambda rng, n: rng.normal(size=n),
    "heavy tails": lambda rng, n: rng.standard_cauchy(n),
    "two values": lambda rng, n: rng.integers(0, 2, n),
    "rare": lambda rng, n: rng.random(n) < 0.01,
    "rare on both sides": lambda rng, n: rng.choice(3, n, p=[0.01, 0.98, 0.01]),
    "constant": lambda rng, n: np.ones(n),
}
CLASSES: dict[str, Drawn] = {
    "two": lambda rng, n: rng.random(n) < 0.3,
    "five": lambda rng, n: rng.integers(0, 5, n),
    "a thousand": lambda rng, n: rng.integers(0, 1000, n),
    "as they are met": lambda rng, n: met(rng.integers(0, 1000, n)),
    "rare ones as they are met": lambda rng, n: met(rng.zipf(1.3, n)),
    "a few as they are met": lambda rng, n: met(rng.choice(9, n, p=[0.72, *[0.035] * 8])),
}


@pytest.mark.parametrize("name", [*LABELS, *CLASSES])
def test_independent_labels_are_seldom_suspected(name: str) -> None:
    """Looking after each of six batches at α = 0.05, in 100 streams; E E ≤ 1 at the last, as far as they tell."""
    rng, alarms, ends = np.random.default_rng(3), 0, []
    for _ in range(100):
        y = np.asarray((LABELS | CLASSES)[name](rng, 768), float)
        found = [tally.dependence for tally in looks(y, name in CLASSES, (128, 256, 384, 512, 640))]
        alarms += max(found) >= math.log(20)
        ends.append(math.exp(found[-1]))
    assert alarms <= 0.05 * 100
    assert np.mean(ends) <= 1


@pytest.mark.parametrize("tested", [1, 2, 17])
def test_what_a_bet_wins_has_the_mean_1(tested: int) -> None:
    """The chance that s of m labels lie above 64 others is that of Pólya's urn, and what is won never falls with s."""
    won, fair = [beyond(s, tested) for s in range(tested + 1)], 0.0
    for s in range(tested + 1):
        orders = math.comb(tested - s + BLOCK - 1, BLOCK - 1) / math.comb(tested + BLOCK, BLOCK)
        fair += orders * math.exp(won[s])
    assert fair == pytest.approx(1, abs=1e-12)
    assert np.all(np.diff(won) > 0)


def naive_bet(y: Any) -> float:
    """What is left of 1 after a frame of these labels."""
    if y.size <= BLOCK:
        return 1.0
    low, high, tested = y[:BLOCK].min(), y[:BLOCK].max(), y.size - BLOCK
    sides = np.sum(y[BLOCK:] < low), np.sum(y[BLOCK:] > high)
    return 0.5 + 0.25 * sum(math.exp(beyond(float(s), float(tested))) for s in sides)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 130, 384, 385, 700])
def test_frames_against_a_plain_loop(n: int) -> None:
    y = np.random.default_rng(n).normal(size=n) + np.arange(n) / 300
    begin, length, product = 0, FIRST, 1.0
    while begin < n:
        product *= naive_bet(y[begin : begin + length])
        begin, length = begin + length, 2 * length
    expected = math.log(0.5 * naive_bet(y) + 0.5 * product)
    assert extremes_evidence(tallied(y, compiled=False).frames) == pytest.approx(expected, abs=1e-9)


def throws(cells: Any, lengths: list[int], before: Any = None) -> float:
    """ln of the chance of throws of a new die for each block, or for each cell before, one by one."""
    total, counts = 0.0, np.zeros((CELLS, CELLS))
    ends = np.cumsum(lengths)
    for t, cell in enumerate(cells):
        if t in ends:
            counts[:] = 0.0
        row = counts[0 if before is None else before[t]]
        total += math.log((row[cell] + 0.5) / (row.sum() + CELLS / 2))
        row[cell] += 1
    return total


def test_composition_against_the_definition() -> None:
    codes = np.random.default_rng(0).integers(0, 11, 764)
    codes[:BLOCK] %= 9
    cells = np.where(codes > 8, CELLS - 1, codes % (CELLS - 1))[BLOCK:]
    tally = tallied(codes, classes=True, compiled=False)
    blocks = [throws(cells, [int(LENGTHS[0])] * 3), throws(cells, [64, 128, 256, 512])]
    markov = throws(cells, [], np.r_[0, cells[:-1]])
    top = max(markov, *blocks)
    mixed = 0.5 * math.exp(markov - top) + 0.25 * sum(math.exp(q - top) for q in blocks)
    counts = np.bincount(cells)
    best = float(np.sum(counts * np.log(counts / counts.sum())))
    assert composition_evidence(tally.chain, tally.spans) == pytest.approx(top + math.log(mixed) - best, abs=1e-8)


@pytest.mark.parametrize("classes", [False, True])
def test_batches_and_compilation_change_no_bit(classes: bool) -> None:
    y = np.random.default_rng(1).integers(0, 20, 900)
    whole = tallied(y, classes)
    for found in (tallied(y, classes, (1, 63, 64, 200, 201, 555)), tallied(y, classes, compiled=False)):
        for name in ("frames", "chain", "spans"):
            assert getattr(found, name).tobytes() == getattr(whole, name).tobytes()
        assert found.dependence == whole.dependence


def test_no_bound_is_claimed_of_labels_that_rise(tmp_path: Path) -> None:
    """A loss of 0.0045 was, of rows that cost 0.08 once they are shuffled; a file remembers what was seen."""
    rng = np.random.default_rng(0)
    X, y = rng.random((3000, 2)), np.sort(rng.random(3000))
    learner = zoo.ogd_eager(Square(), 0.1, 2.0, Average())
    first = train(learner, X[:1000], y[:1000])
    resumed = LinearRun.load(first.save(tmp_path / "run")).learn(X[1000:], y[1000:])
    whole = train(learner, X, y)
    assert headline(whole.risks()) is None
    assert resumed.tally.frames.tobytes() == whole.tally.frames.tobytes()
    order = rng.permutation(3000)
    assert headline(train(learner, X[order], y[order]).risks()) is not None


@pytest.mark.parametrize("n", [40, 128, 200])
def test_files_from_before_begin_their_frames_with_the_next_block(n: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((1500, 2)), np.arange(1500.0)
    path = train(zoo.ogd(Square(), 1e-4), X[:n], y[:n], compiled=False).save(tmp_path / "run")
    description, arrays = store.read(path, "run")
    now = {name: arrays.pop(f"tally.{name}") for name in ("frames", "chain", "spans")}
    description, arrays = from_11("run", description, arrays)
    assert all(arrays[f"tally.{name}"].shape == now[name].shape for name in now)
    store.write(path, "run", description, arrays)
    run = LinearRun.load(path)
    run.compiled = False
    begun = -(-n // BLOCK) * BLOCK
    run.learn(X[n:], y[n:])
    assert np.array_equal(run.tally.frames, tallied(y[begun:], compiled=False).frames)
    assert headline(run.risks()) is None
