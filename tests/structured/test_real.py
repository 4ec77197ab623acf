"""Handwritten words and a shop's clicks: chains beat letters by far, and the certificates hold."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmarks.structured import letters, one_by_one, shop, split
from lowregret.domain import L2Ball
from lowregret.mirror import Euclidean
from lowregret.output import Average
from lowregret.rule import MirrorDescent
from lowregret.step import Constant
from lowregret.structured import (
    Chain,
    RankingRun,
    Sequences,
    Structured,
    StructuredRun,
    click_ranking,
    structured_perceptron,
)
from lowregret.train import train

Words = tuple[Sequences, Sequences]


@pytest.fixture(scope="module")
def words(data_file: Callable[[str], Path]) -> Words:
    found, folds = letters(data_file("ocr_letters.csv.gz"))
    train_words, test_words = split(found, folds, by_fold=True)
    return _dense(train_words), _dense(test_words)


def _dense(words: Sequences) -> Sequences:
    return Sequences(words.features.toarray(), words.offsets, words.labels)


def test_chains_beat_single_letters(words: Words) -> None:
    """Chains of one letter without ends are plain classes, and need no other machine code."""
    errors = []
    for space, change in ((Chain(26), lambda data: data), (Chain(26, ends=False), one_by_one)):
        data, test = map(change, words)
        run = train(structured_perceptron(space, Average()), data)
        assert isinstance(run, StructuredRun)
        errors.append(np.mean(run.predict(test) != test.labels))
        assert run.certificate.holds
    chain, single = errors
    assert chain < 0.20
    assert chain <= single - 0.05


def test_mistakes_on_words_are_within_their_bounds(words: Words) -> None:
    data = words[0][:1000]
    run = train(structured_perceptron(Chain(26), Average()), data)
    assert isinstance(run, StructuredRun)
    for scale in (1e-3, 1e-2):
        found = {c.id: c for c in run.mistake_certificates(scale * run.weights, data)}
        assert run.mistakes <= found["MC-OBS"].bound <= found["PERC-ROOT"].bound
        assert run.mistakes <= found["THM-14.2"].bound


def test_nested_against_a_solver_on_words(words: Words) -> None:
    data = words[0][:120]
    learner = Structured(Chain(26), MirrorDescent(Euclidean(), Constant(0.05)), 1.0, Average())
    run = train(learner, data, comparator=L2Ball(1.0))
    best = run.hindsight(data, tolerance=0.03)
    assert best.gap <= 0.1 * best.value
    regret = run.regret(best.w, data) + best.gap
    linear = run.certificate.linear_regret
    assert linear is not None
    assert regret <= linear <= run.certificate.bound


def test_clicks_of_a_shop(data_file: Callable[[str], Path]) -> None:
    data = shop(data_file("obd_random_all.csv.gz"), data_file("obd_random_all_item_context.csv.gz"))
    run = train(click_ranking(), data, compiled=False)
    assert isinstance(run, RankingRun)
    assert run.rounds == 38
    assert 1 <= run.mean_position <= 80
    assert run.figures[0] - run.rounds <= run.loss
    assert run.certificate.holds
