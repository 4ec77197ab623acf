"""The zoo: every entry builds, learns, and is certified by exactly the theorems listed beside it."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from typing import Any, cast

import numpy as np
import pytest

from lowregret import zoo
from lowregret.auto import AutoClassifier, AutoRegressor
from lowregret.certificate.passive_aggressive import speaks_of
from lowregret.compile.part import Part
from lowregret.compile.spec import from_json, to_json
from lowregret.domain import Box, L2Ball, Reals
from lowregret.learner.kernel_perceptron import Gaussian, KernelPerceptron
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Affine, Hinge, Logistic, OnMistakes, PerceptronLoss, Square
from lowregret.mirror import Entropy, Euclidean, PNorm, UnnormalisedEntropy
from lowregret.output import Average, Last, WeightedAverage
from lowregret.rule import (
    AROW,
    COCOB,
    KT,
    NAG,
    AdaGrad,
    DiagonalNewton,
    FreeGrad,
    FTRLProximal,
    MirrorDescent,
    Newton,
    ProjectedGradient,
)
from lowregret.run.auto import AutoRun
from lowregret.run.delayed import delayed
from lowregret.run.kernel import KernelRun
from lowregret.run.linear import LinearRun
from lowregret.run.multiclass import MulticlassRun
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, PassiveAggressive, WeightedInverseTime
from lowregret.train import train
from lowregret.zoo import ALGORITHMS, OPTIONS, ZOO, Entry
from tests.compositions import TEXTBOOK
from tests.naive import Matrix, Vector

D = 4

# What each entry is, written out, and beside it the call that gives it.
COMPOSED: dict[str, list[tuple[Callable[[], Part], Part]]] = {
    "auto": [
        (lambda: zoo.auto(), AutoClassifier()),
        (lambda: zoo.auto(Square()), AutoRegressor()),
    ],
    "ogd": [
        (lambda: zoo.ogd(Hinge(), 0.1), Linear(Hinge(), MirrorDescent(Euclidean(Reals()), Constant(0.1)), Last())),
        (lambda: zoo.ogd(Hinge()), Linear(Hinge(), MirrorDescent(Euclidean(), Adaptive()), Last())),
    ],
    "ogd-lazy": [
        (lambda: zoo.ogd_lazy(Hinge(), 0.1, 2.0), Linear(Hinge(), MirrorDescent(Euclidean(L2Ball(2.0)), Constant(0.1))))
    ],
    "ogd-eager": [
        (lambda: zoo.ogd_eager(Hinge(), 0.1, 2.0), Linear(Hinge(), ProjectedGradient(L2Ball(2.0), Constant(0.1))))
    ],
    "ogd-delay": [
        (
            lambda: zoo.ogd_delay(Hinge(), 4, 9, 2.0, 3.0),
            Linear(Hinge(), ProjectedGradient(L2Ball(3.0), Constant(3 / (2 * 9)))),
        )
    ],
    "ogd-sqrt": [
        (lambda: zoo.ogd_sqrt(Hinge(), 0.1, 2.0), Linear(Hinge(), ProjectedGradient(L2Ball(2.0), InverseSqrt(0.1))))
    ],
    "ogd-sc": [
        (
            lambda: zoo.ogd_sc(Hinge(), 0.1),
            Linear(Hinge(), ProjectedGradient(Reals(), InverseTime(0.1)), Average(), ridge=0.1),
        )
    ],
    "ogd-scw": [
        (
            lambda: zoo.ogd_scw(Hinge(), 0.1, L2Ball(9.0)),
            Linear(Hinge(), ProjectedGradient(L2Ball(9.0), WeightedInverseTime(0.1)), WeightedAverage(), ridge=0.1),
        )
    ],
    "svm-online": [
        (
            lambda: zoo.svm_online(3.0),
            Linear(Hinge(), ProjectedGradient(L2Ball(3.0), InverseSqrt(1.0)), Average(), bias=1.0),
        )
    ],
    "omd": [
        (
            lambda: zoo.omd(Hinge(), Euclidean(L2Ball()), 0.1),
            Linear(Hinge(), MirrorDescent(Euclidean(L2Ball()), Constant(0.1))),
        ),
        (lambda: zoo.omd(Hinge(), PNorm(3.0), 0.1), Linear(Hinge(), MirrorDescent(PNorm(3.0), Constant(0.1)))),
    ],
    "eg": [(lambda: zoo.eg(Hinge(), 0.1, 2.0), Linear(Hinge(), MirrorDescent(Entropy(2.0), Constant(0.1))))],
    "ueg": [
        (lambda: zoo.ueg(Square(), 0.1, D), Linear(Square(), MirrorDescent(UnnormalisedEntropy(0.25), Constant(0.1))))
    ],
    "pnorm": [(lambda: zoo.pnorm(Hinge(), 0.1, 3.0), Linear(Hinge(), MirrorDescent(PNorm(3.0), Constant(0.1))))],
    "mc-perceptron": [
        (lambda: zoo.mc_perceptron(), Multiclass(PerceptronLoss(), MirrorDescent(Euclidean(Reals()), Constant(1.0))))
    ],
    "perceptron": [
        (lambda: zoo.perceptron(), Linear(OnMistakes(Hinge()), MirrorDescent(Euclidean(Reals()), Constant(1.0))))
    ],
    "perceptron-or": [
        (
            lambda: zoo.perceptron_or(D),
            Linear(OnMistakes(Hinge()), MirrorDescent(Euclidean(Reals()), Constant(1.0)), bias=0.5),
        )
    ],
    "kernel-perceptron": [(lambda: zoo.kernel_perceptron(Gaussian(2.0)), KernelPerceptron(Gaussian(2.0)))],
    "winnow": [
        (
            lambda: zoo.winnow(D, 0.2),
            Linear(OnMistakes(Affine(Hinge(), 2.0, -1.0)), MirrorDescent(UnnormalisedEntropy(1 / D), Constant(0.2))),
        )
    ],
    "adagrad": [
        (lambda: zoo.adagrad(Hinge(), 0.1), Linear(Hinge(), AdaGrad(0.1, Reals()))),
        (lambda: zoo.adagrad(Hinge(), 0.1, Box(-1.0, 1.0)), Linear(Hinge(), AdaGrad(0.1, Box(-1.0, 1.0)))),
    ],
    "ftrl-proximal": [
        (lambda: zoo.ftrl_proximal(Hinge(), 0.2, 2.0, 3.0, 4.0), Linear(Hinge(), FTRLProximal(0.2, 2.0, 3.0, 4.0))),
        (lambda: zoo.ftrl_proximal(Hinge()), Linear(Hinge(), FTRLProximal(0.1, 1.0, 1.0, 1.0))),
    ],
    "kt": [(lambda: zoo.kt(Hinge(), 2.0, 3.0), Linear(Hinge(), KT(2.0, 3.0)))],
    "freegrad": [(lambda: zoo.freegrad(Hinge(), 3.0), Linear(Hinge(), FreeGrad(3.0)))],
    "cocob": [(lambda: zoo.cocob(Hinge()), Linear(Hinge(), COCOB(100.0)))],
    "nag": [(lambda: zoo.nag(Hinge()), Linear(Hinge(), NAG(0.5)))],
    "newton": [(lambda: zoo.newton(Square(), 4.0, 2.0), Linear(Square(), Newton(0.25, 2.0)))],
    "newton-diagonal": [(lambda: zoo.newton_diagonal(Hinge(), 4.0, 2.0), Linear(Hinge(), DiagonalNewton(0.25, 2.0)))],
    "pa": [
        (lambda: zoo.pa(), Linear(Hinge(), ProjectedGradient(Reals(), PassiveAggressive()))),
        (lambda: zoo.pa(Hinge(), 0.5), Linear(Hinge(), ProjectedGradient(Reals(), PassiveAggressive(0.5)))),
    ],
    "pa-ii": [(lambda: zoo.pa_ii(), Linear(Hinge(), ProjectedGradient(Reals(), PassiveAggressive(1.0, squared=True))))],
    "arow": [(lambda: zoo.arow(Hinge(), 2.0), Linear(Hinge(), AROW(2.0)))],
}

every_entry = pytest.mark.parametrize("entry", ZOO, ids=lambda entry: entry.name)


def stream() -> tuple[Matrix, Vector]:
    """0/1 rows and the disjunction of their first two features: every algorithm of the zoo can take them."""
    X = np.random.default_rng(0).integers(0, 2, (40, D)).astype(float)
    return X, np.where(X[:, 0] + X[:, 1] > 0, 1.0, -1.0)


def learn(entry: Entry) -> list[LinearRun | MulticlassRun | KernelRun | AutoRun]:
    if entry.name == "ogd-delay":
        return [delayed(zoo.ogd_delay(Hinge(), 4, 40, 2.0), D, compiled=False).learn(*stream(), delay=4).deliver()]
    return [_learn(make()) for make, _ in COMPOSED[entry.name]]


def _learn(learner: Any) -> LinearRun | MulticlassRun | KernelRun | AutoRun:
    return train(learner, *stream(), compiled=False)


def certified(run: LinearRun | MulticlassRun | KernelRun | AutoRun) -> set[str]:
    """Mistake bounds where there are any, else regret bounds."""
    X, y = stream()
    if isinstance(run, KernelRun):
        return {c.id for c in run.mistake_certificates(0.1 * y, X, y)}
    if isinstance(run, MulticlassRun):
        return {c.id for c in run.mistake_certificates([[1.0, -1.0]] * D, X, y)}
    if isinstance(run, AutoRun):
        return {c.id for c in run.certificates}
    if isinstance(run.learner.loss, OnMistakes) or speaks_of(run.learner):
        u = [1.0, 1.0, 0.0, 0.0] + [-1.0] * (run.learner.bias > 0)
        return {c.id for c in run.mistake_certificates(u, X, y)}
    return {c.id for c in run.certificates}


def test_names_are_those_of_the_functions() -> None:
    assert [entry.name for entry in ZOO] == [entry.make.__name__.replace("_", "-") for entry in ZOO]
    assert len({entry.name for entry in ZOO}) == len(ZOO)
    functions = {name for name, f in vars(zoo).items() if inspect.isfunction(f) and f.__module__ == zoo.__name__}
    assert {entry.make.__name__ for entry in ZOO} == functions


def test_every_entry_is_tested_here_and_beside_its_transcription() -> None:
    names = {entry.name for entry in ZOO}
    assert COMPOSED.keys() == names
    # mirror descent with any map is beside its transcription once per map, the kernel form in test_kernelised.py,
    # many classes in test_multiclass.py, auto in auto/test_naive.py
    assert {c.name for c in TEXTBOOK} == names - {"omd", "kernel-perceptron", "mc-perceptron", "auto"}


@every_entry
def test_it_is_the_composition_it_claims_to_be(entry: Entry) -> None:
    for make, composed in COMPOSED[entry.name]:
        assert make() == composed
        assert from_json(to_json(composed)) == composed


@every_entry
def test_it_says_what_it_is_and_what_it_is_for(entry: Entry) -> None:
    doc = inspect.getdoc(entry.make)
    assert doc is not None
    assert f"ALG-{entry.name.removeprefix('kernel-').upper()}" in doc
    assert entry.purpose
    assert len(f"{entry.name} {entry.purpose}") < 90  # one line of a listing
    assert all(p.annotation is not inspect.Parameter.empty for p in inspect.signature(entry.make).parameters.values())


@every_entry
def test_its_options_are_those_of_its_maker(entry: Entry) -> None:
    """All arguments without a default are the loss or options, or it cannot be named on the command line."""
    arguments = inspect.signature(entry.make).parameters
    assert set(entry.renamed) <= set(OPTIONS)
    assert set(entry.renamed.values()) <= set(arguments)
    assert not set(entry.needs) & set(entry.takes)
    assert "radius" in (*entry.needs, *entry.takes)
    assert (entry.name in ALGORITHMS) == (entry.name not in ("ogd-delay", "omd", "kernel-perceptron"))
    if entry.name in ALGORITHMS:
        given = {"dimension": 7, "eta": 0.25, "features": "raw"}
        values: dict[str, Any] = {option: 3.0 + at for at, option in enumerate(OPTIONS)} | given
        known = {option: values[option] for option in (*entry.needs, *entry.takes)}
        made = entry.made(Logistic(), known)
        spelt = json.dumps(to_json(made))
        for option in entry.arguments.keys() - {"dimension", "eta", "features"}:
            assert f": {values[option]}" in spelt, option
        assert isinstance(made, Multiclass) == entry.classes
        assert entry.own_loss or cast(Any, made).loss == Logistic()


@every_entry
def test_it_learns(entry: Entry) -> None:
    X, _ = stream()
    for run in learn(entry):
        assert run.rounds == 40
        assert np.isfinite(run.scores).all()
        assert np.isfinite(run.decision_function(X)).all()
        assert run.loss > 0
        assert str(run).startswith("40 rounds")


@every_entry
def test_the_certificates_listed_are_those_found(entry: Entry) -> None:
    runs = learn(entry)
    found = [certified(run) for run in runs]
    assert len(set(entry.certificates)) == len(entry.certificates)
    if entry.name == "omd":  # each mirror map has more of its own
        assert all(set(entry.certificates) < ids for ids in found)
    else:
        assert set(entry.certificates) == set.union(*found)
    assert all(run.certificate.holds for run in runs if isinstance(run, LinearRun))
