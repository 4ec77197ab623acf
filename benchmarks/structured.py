"""Handwritten words, letter by letter and as chains, and rankings from clicks: python -m benchmarks.structured

Letters: fold 0 is the test set, the others are learnt once, in order of folds and as they stand in the file. Speed is
compared with CRFsuite's averaged Perceptron in the same run, where python-crfsuite is installed. Writes
out/structured.json.
"""

from __future__ import annotations

import csv
import gzip
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from benchmarks.speed import OUT
from lowregret import Average, train
from lowregret.structured import (
    Chain,
    Choices,
    Classes,
    RankingRun,
    Sequences,
    StructuredRun,
    choices,
    click_ranking,
    sequences,
    structured_perceptron,
    structured_svm,
)

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
LETTERS = 26
ETA = 0.01  # of the hinge: pixels are 0/1, some 30 of 128 are 1


def letters(path: Path) -> tuple[Sequences, Any]:
    """Words as sparse sequences of pixels with letters as labels, and the fold of each word."""
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    pixels = np.frombuffer("".join(row["pixels"] for row in rows).encode(), np.uint8).reshape(len(rows), -1) - ord("0")
    words = sequences(
        csr_matrix(pixels.astype(float)), [row["letter"] for row in rows], by=[row["word"] for row in rows]
    )
    return words, np.array([int(row["fold"]) for row in rows])[words.offsets[:-1]]


def split(words: Sequences, folds: Any, by_fold: bool) -> tuple[Sequences, Sequences]:
    """The words of folds 1 … 9, in the order of folds or of the file, and those of fold 0."""
    order = np.argsort(folds, kind="stable") if by_fold else np.arange(folds.size)
    return words[order[folds[order] != 0]], words[folds == 0]


def one_by_one(words: Sequences) -> Sequences:
    """Each letter as a sequence of its own."""
    return sequences(words.features, words.labels, lengths=np.ones(words.offsets[-1], int))


def learnt(learner: Any, data: Sequences, turns: int = 3) -> tuple[StructuredRun, float]:
    """A run over the data, and the seconds of the quickest of several, compiling apart."""
    train(learner, data[:2])
    best = np.inf
    for _ in range(turns):
        begin = time.perf_counter()
        run = train(learner, data)
        best = min(best, time.perf_counter() - begin)
    assert isinstance(run, StructuredRun)
    return run, best


def words_table(words: Sequences, folds: Any) -> dict[str, dict[str, float]]:
    """Error on fold 0, progressive error and speed, by order, learner and structure."""
    found = {}
    makers: dict[str, Callable[[Any], Any]] = {
        "Perceptron": lambda space: structured_perceptron(space, Average()),
        "SVM": lambda space: structured_svm(space, ETA),
    }
    for order in ("folds", "file"):
        for name, make in makers.items():
            for kind, space in (("letters", Classes(LETTERS)), ("chain", Chain(LETTERS))):
                given = split(words, folds, order == "folds")
                data, test = given if kind == "chain" else tuple(map(one_by_one, given))
                run, seconds = learnt(make(space), data)
                found[f"{order}, {name}, {kind}"] = {
                    "test error": float(np.mean(run.predict(test) != test.labels)),
                    "progressive error": run.error,
                    "seconds": seconds,
                    "letters per second": data.offsets[-1] / seconds,
                    "sequences per second": len(data) / seconds,
                    "linear regret": float(run.certificate.linear_regret or 0.0),
                    "bound": run.certificate.bound,
                }
    return found


def crfsuite(words: Sequences, folds: Any) -> dict[str, float] | None:
    """CRFsuite's averaged Perceptron on the same words, with its own settings; None if it is not installed.

    It makes its features before the first pass, so a further pass is timed apart. It shuffles the words.
    """
    try:
        import pycrfsuite  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        return None
    data, test = split(words, folds, by_fold=True)
    seconds = {}
    with tempfile.TemporaryDirectory() as folder:
        for passes in (6, 1):
            trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
            trainer.set_params({"max_iterations": passes, "epsilon": 0.0})
            for x, y in zip(_items(data), data.split(data.labels), strict=True):
                trainer.append(x, y.tolist())
            begin = time.perf_counter()
            trainer.train(f"{folder}/model")
            seconds[passes] = time.perf_counter() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        made = [label for x in _items(test) for label in tagger.tag(x)]
    return {
        "test error": float(np.mean(np.array(made) != test.labels)),
        "seconds": seconds[1],
        "seconds of a further pass": (seconds[6] - seconds[1]) / 5,
    }


def _items(words: Sequences) -> list[list[list[str]]]:
    """Names of the pixels that are on, for each letter of each word."""
    on = [list(map(str, row)) for row in np.split(words.features.indices, words.features.indptr[1:-1])]
    return [on[a:b] for a, b in zip(words.offsets[:-1].tolist(), words.offsets[1:].tolist(), strict=True)]


# ---- rankings --------------------------------------------------------------------------------------------------------


def shop(path: Path, items: Path) -> Choices:
    """Each click of the Open Bandit log as a choice among all 80 items, by their features and the user's affinities."""
    with gzip.open(items, "rt") as file:
        described = list(csv.DictReader(file))
    kinds = sorted({(k, row[k]) for row in described for k in row if k.startswith("item_feature_") and k[-1] != "0"})
    table = np.array([[float(row["item_feature_0"]), *(float(row[k] == v) for k, v in kinds)] for row in described])
    lists = []
    with gzip.open(path, "rt") as file:
        for row in csv.DictReader(file):
            if row["click"] == "1":
                affinity = [float(row[f"user-item_affinity_{j}"]) for j in range(len(table))]
                lists.append((np.column_stack([table, affinity]), int(row["item_id"])))
    return choices(lists)


def click_log(rounds: int, items: int = 20, features: int = 30, seed: int = 0) -> Choices:
    """A log in which the item with the highest noisy utility is clicked."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rounds, items, features))
    utility = x @ rng.normal(size=features) / np.sqrt(features) + rng.gumbel(size=(rounds, items)) / 2
    return choices(x.reshape(-1, features), utility.argmax(axis=1), lengths=np.full(rounds, items))


def ranked(data: Choices) -> dict[str, float]:
    """Figures of one pass."""
    train(click_ranking(), data[:2])
    begin = time.perf_counter()
    run = train(click_ranking(), data)
    seconds = time.perf_counter() - begin
    assert isinstance(run, RankingRun)
    return {
        "lists": len(data),
        "mean position": run.mean_position,
        "by chance": float(np.mean((data.lengths + 1) / 2)),
        "mean reciprocal rank": run.mean_reciprocal_rank,
        "lists per second": len(data) / seconds,
        "items per second": data.offsets[-1] / seconds,
        "linear regret": float(run.certificate.linear_regret or 0.0),
        "bound": run.certificate.bound,
    }


def main() -> None:
    """Print all tables and write them down."""
    words, folds = letters(DATA / "ocr_letters.csv.gz")
    found: dict[str, Any] = words_table(words, folds)
    peer = crfsuite(words, folds)
    if peer:
        found["folds, CRFsuite averaged Perceptron, chain"] = peer
    found["Open Bandit clicks"] = ranked(
        shop(DATA / "obd_random_all.csv.gz", DATA / "obd_random_all_item_context.csv.gz")
    )
    found["generated clicks"] = ranked(click_log(100_000))
    for name, figures in found.items():
        print(f"{name:<45}" + "  ".join(f"{key} {value:,.4g}" for key, value in figures.items()))
    OUT.mkdir(exist_ok=True)
    (OUT / "structured.json").write_text(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
