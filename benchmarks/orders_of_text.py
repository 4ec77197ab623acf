"""Sparse rows in two ways, for `fuzz_orders`: LIBSVM and VW text, memory, Python, estimators, other names."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from benchmarks.fuzzing import require
from benchmarks.nasty import Draw
from benchmarks.outcomes import Outcome, differences, learn, require_same
from lowregret import load, read, zoo
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Absolute, Hinge, Logistic, MultiHinge, Softmax, Square
from lowregret.run.begin import begin
from lowregret.run.multiclass import MulticlassRun

WIDTH = 40
LEARNERS: dict[str, list[tuple[list[str], Any]]] = {
    "signs": [
        (["--algorithm", "ogd", "--loss", "hinge"], zoo.ogd(Hinge())),
        (["--algorithm", "adagrad", "--loss", "logistic"], zoo.adagrad(Logistic())),
        (["--algorithm", "perceptron"], zoo.perceptron()),
        (["--algorithm", "freegrad", "--loss", "logistic"], zoo.freegrad(Logistic())),
        (["--algorithm", "ftrl-proximal", "--loss", "logistic"], zoo.ftrl_proximal(Logistic())),
        (["--algorithm", "auto", "--loss", "logistic"], zoo.auto()),
    ],
    "numbers": [
        (["--algorithm", "nag", "--loss", "square"], zoo.nag(Square())),
        (["--algorithm", "ogd-lazy", "--eta", "0.1", "--loss", "absolute"], zoo.ogd_lazy(Absolute(), 0.1)),
        (["--algorithm", "auto", "--loss", "square"], zoo.auto(Square())),
    ],
    "classes": [
        (["--algorithm", "adagrad", "--loss", "softmax"], Multiclass.like(zoo.adagrad(Hinge()), Softmax())),
        (["--algorithm", "ogd", "--loss", "multi-hinge"], Multiclass.like(zoo.ogd(Hinge()), MultiHinge())),
        (["--algorithm", "auto", "--loss", "softmax"], zoo.auto(Softmax())),
    ],
}


class Sparse(NamedTuple):
    """Rows as (index, value) pairs, labels and weights."""

    rows: list[list[tuple[int, float]]]
    labels: list[float]
    weights: list[float]

    def part(self, begin: int, end: int | None = None) -> Sparse:
        return Sparse(self.rows[begin:end], self.labels[begin:end], self.weights[begin:end])


def some_sparse(r: Draw, kind: str, count: int) -> Sparse:
    labels = {"signs": [1.0, -1.0], "numbers": [0.5, 2.0, -3.0, 1e3], "classes": [1.0, 5.0, 3.0, -7.0]}[kind]
    known = r.randint(1, WIDTH)
    rows = []
    for at in range(count):
        few = r.sample(range(1, min(WIDTH, known + at // 5) + 1), min(known, r.choice([0, 1, 3, 5, 9])))
        rows.append([(j, round(r.gauss(0, 1), r.choice([0, 2, 17])) or 1.0) for j in sorted(few)])
    chosen = labels[: r.randint(2, len(labels))]
    later = r.randrange(count + 1)  # the last label is met from here on
    met = [r.choice(chosen if at >= later else chosen[:-1]) for at in range(count)]
    weights = [r.choice([1.0, 1.0, 0.0, 2.5]) if r.random() < 0.5 else 1.0 for _ in range(count)]
    return Sparse(rows, met, weights)


def vw_text(given: Sparse, name: Any = str) -> str:
    return "".join(
        f"{label:g} {weight:g} | {' '.join(f'{name(j)}:{v!r}' for j, v in row)}\n"
        for row, label, weight in zip(*given, strict=True)
    )


def svm_text(r: Draw, given: Sparse, bad: bool = False) -> str:
    lines = []
    for row, label in zip(given.rows, given.labels, strict=True):
        sign = r.choice(["", "+"]) if label >= 0 else ""
        pairs = (f"{j}:{r.choice([repr(v), f'{v:.17e}'])}" for j, v in row)
        lines.append(" ".join([f"{sign}{label:g}", *r.choice([[], ["qid:3"]]), *pairs, *r.choice([[], ["# x:y"]])]))
        if bad and r.random() < 0.2:
            lines.append(r.choice(["1 x:1", "1 2:", "abc", "1 1:1e999", "1 -1:3"]))
    end = r.choice(["\n", "\r\n", "\n\n"])
    return end.join(lines) + r.choice([end, ""])


def fuzz_sparse(r: Draw, folder: Path, told: list[Any]) -> int:
    """Sparse rows as text of two formats, in memory, by the command line, by Python and by other names."""
    kind, count = r.choice(list(LEARNERS)), r.choice([2, 9, 40])
    words, learner = r.choice(LEARNERS[kind])
    given = some_sparse(r, kind, count)
    late = r.choice([None, None, None, 0, 3]) if "--eta" not in words else None
    words = words + ([] if late is None else ["--delay", str(late)])
    told += [words, given]
    weighed = r.random() < 0.5
    given = given if weighed else given._replace(weights=[1.0] * count)
    (folder / "a.vw").write_text(vw_text(given))
    base = learn(folder, [str(folder / "a.vw"), *words])
    if isinstance(base, str):
        told.append(base)
        return 0
    claims = _by_python(r, given, learner, late, folder, base) + _other_names(given, words, folder, base)
    if weighed:
        return claims
    (folder / "a.svm").write_text(svm_text(r, given))
    (folder / "b.svm").write_text(svm_text(r, given, bad=True))
    svm = learn(folder, [str(folder / "a.svm"), *words, "--bits", "18"])
    require_same(base, svm, "vw and svm")
    require_same(
        base,
        learn(folder, [str(folder / "b.svm"), *words, "--bits", "18", "--on-error", "skip"]),
        "bad lines",
        "skipped",
    )
    plain = learn(folder, [str(folder / "a.svm"), *words])
    require_same(base, plain, "indices hashed or not")
    return claims + 3


def _other_names(given: Sparse, words: list[str], folder: Path, base: Outcome) -> int:
    """Features have other numbers in the same order: nothing but these changes."""
    (folder / "n.vw").write_text(vw_text(given, lambda j: 3 * j + 7))
    other = learn(folder, [str(folder / "n.vw"), *words])
    numbers = "columns", "dimension", "seen", "tally.counts", "tally.prints", "late.indices", "reserve.indices"
    require_same(base, other, "other numbers of features", *numbers)
    return 1


def _by_python(r: Draw, given: Sparse, learner: Any, late: int | None, folder: Path, base: Outcome) -> int:
    """The same rows by Python: from the file, and from memory in parts that are saved, copied and pickled."""
    run = begin(learner, None, compiled=False, delay=late or None).learn(read(folder / "a.vw"))
    _, arrays = run.to_file()
    for name, array in arrays.items():
        require(array.tobytes() == base.arrays[name].tobytes(), f"{name} by Python: {array} and {base.arrays[name]}")
    x = sparse.csr_array(_matrix(given.rows))
    again = begin(learner, None, compiled=False, delay=late or None)
    labels = [int(y) for y in given.labels] if isinstance(run, MulticlassRun) else given.labels
    at = 0
    while at < len(labels):
        end = at + r.choice([1, 1, 2, 10])
        again.learn(x[at:end], labels[at:end], given.weights[at:end])
        way = r.choice(["", "", "save", "copy", "pickle"])
        if way == "save":
            again.save(folder / "r.lr")
            again = load(folder / "r.lr")
        elif way:
            again = copy.deepcopy(again) if way == "copy" else pickle.loads(pickle.dumps(again))
        at = end
    found = differences(_figures(run), _figures(again))
    require(not found, "memory: " + "\n".join(found[:6]))
    return 2


def _matrix(rows: list[list[tuple[int, float]]]) -> Any:
    ends = np.cumsum([0, *map(len, rows)])
    j, v = [j for row in rows for j, _ in row], [v for row in rows for _, v in row]
    return sparse.csr_array((v, j, ends), shape=(len(rows), WIDTH + 1))


def _figures(run: Any) -> dict[str, Any]:
    told = {"loss": run.loss, "mistakes": run.mistakes, "rounds": run.rounds, "certificates": repr(run.certificates)}
    kept = None if run.kept is None else run.kept.to_json()
    return told | {"kept": kept, "sums": run.state.sums.tobytes(), "risks": repr(run.risks())}
