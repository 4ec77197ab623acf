"""Parts from words: the loss, the learner and the comparators that a command line names."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lowregret import zoo
from lowregret.auto import Auto, AutoMulticlass
from lowregret.certificate import natural_comparator
from lowregret.cli.arguments import CLASS_LOSSES
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import (
    Absolute,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    Loss,
    Margin,
    MultiHinge,
    MultiLoss,
    OneAgainstAll,
    Poisson,
    Quantile,
    Softmax,
    Square,
    SquaredHinge,
)
from lowregret.output import Average, Last, Output, Random, WeightedAverage

_LOSSES: dict[str, tuple[type[Loss], float | None]] = {
    "hinge": (Hinge, 1.0),
    "squared-hinge": (SquaredHinge, None),
    "logistic": (Logistic, None),
    "square": (Square, None),
    "absolute": (Absolute, None),
    "quantile": (Quantile, 0.5),
    "huber": (Huber, 1.0),
    "epsilon-insensitive": (EpsilonInsensitive, 0.1),
    "poisson": (Poisson, None),
}
_OUTPUTS: dict[str, Output] = {"last": Last(), "average": Average(), "weighted": WeightedAverage()}


def make_loss(words: str) -> Loss:
    """`quantile:0.9` is Quantile(0.9)."""
    name, colon, parameter = words.partition(":")
    if name not in _LOSSES:
        raise PartError(f"--loss: there is no loss {name!r}; there are {', '.join((*_LOSSES, *CLASS_LOSSES))}")
    kind, default = _LOSSES[name]
    if default is None:
        if colon:
            raise PartError(f"--loss: {name} takes no parameter, got {parameter!r}")
        return kind()
    try:
        return kind(float(parameter) if colon else default)  # type: ignore[call-arg]
    except ValueError as error:
        raise PartError(f"--loss {words}: {error}") from None


def make_class_loss(words: str) -> MultiLoss | None:
    """`oaa:hinge` is OneAgainstAll(Hinge()); None if it is no loss of many classes."""
    name, _, inner = words.partition(":")
    if name not in CLASS_LOSSES:
        return None
    if name == "oaa":
        loss = make_loss(inner or "logistic")
        if not isinstance(loss, Margin):
            raise PartError(f"--loss {words}: each class needs a loss of the margin: hinge, squared-hinge or logistic")
        return OneAgainstAll(loss)
    if inner:
        raise PartError(f"--loss: {name} takes no parameter, got {inner!r}")
    return Softmax() if name == "softmax" else MultiHinge()


def _ftrl_proximal(loss: Loss, args: Namespace) -> Linear:
    """0 is a value of its own for all but the rate."""
    beta, l1, l2 = (1.0 if value is None else value for value in (args.beta, args.l1, args.l2))
    return zoo.ftrl_proximal(loss, args.eta or 0.1, beta, l1, l2)


Maker = Callable[[Loss, Namespace], Linear | Multiclass | Auto | AutoMulticlass]

# The maker of each algorithm, and the options it takes: needed ones, and those it can do without.
MAKERS: dict[str, tuple[Maker, str, str]] = {
    "auto": (lambda loss, a: zoo.auto(loss), "", "radius"),
    "ogd": (lambda loss, a: zoo.ogd(loss, a.eta), "", "eta radius"),
    "ogd-lazy": (lambda loss, a: zoo.ogd_lazy(loss, a.eta, a.radius or 1.0), "eta", "radius"),
    "ogd-eager": (lambda loss, a: zoo.ogd_eager(loss, a.eta, a.radius or 1.0), "eta", "radius"),
    "ogd-sqrt": (lambda loss, a: zoo.ogd_sqrt(loss, a.eta, a.radius or 1.0), "eta", "radius"),
    "ogd-sc": (lambda loss, a: zoo.ogd_sc(loss, a.lam), "lam", "radius"),
    "ogd-scw": (lambda loss, a: zoo.ogd_scw(loss, a.lam), "lam", "radius"),
    "svm-online": (lambda loss, a: zoo.svm_online(a.radius or 1.0), "", "radius"),
    "eg": (lambda loss, a: zoo.eg(loss, a.eta, a.radius or 1.0), "eta dimension", "radius"),
    "ueg": (lambda loss, a: zoo.ueg(loss, a.eta, a.dimension * max(len(a.classes), 1)), "eta dimension", "radius"),
    "pnorm": (lambda loss, a: zoo.pnorm(loss, a.eta, a.p), "eta p", "radius"),
    "mc-perceptron": (lambda loss, a: zoo.mc_perceptron(), "", "radius"),
    "perceptron": (lambda loss, a: zoo.perceptron(), "", "radius"),
    "winnow": (lambda loss, a: zoo.winnow(a.dimension, a.eta or 0.25), "dimension", "eta radius"),
    "adagrad": (lambda loss, a: zoo.adagrad(loss, a.eta or 0.5), "", "eta radius"),
    "ftrl-proximal": (_ftrl_proximal, "", "eta beta l1 l2 radius"),
    "kt": (lambda loss, a: zoo.kt(loss, a.clip or 1.0), "", "clip radius"),
    "freegrad": (lambda loss, a: zoo.freegrad(loss), "", "radius"),
    "cocob": (lambda loss, a: zoo.cocob(loss), "", "radius"),
    "nag": (lambda loss, a: zoo.nag(loss, a.eta or 0.5), "", "eta radius"),
    "newton": (lambda loss, a: zoo.newton(loss, a.eta or 1.0), "dimension", "eta radius"),
    "newton-diagonal": (lambda loss, a: zoo.newton_diagonal(loss, a.eta or 1.0), "", "eta radius"),
    "pa": (lambda loss, a: zoo.pa(loss, a.C or math.inf), "", "C radius"),
    "pa-ii": (lambda loss, a: zoo.pa_ii(loss, a.C or 1.0), "", "C radius"),
    "arow": (lambda loss, a: zoo.arow(loss), "", "radius"),
}
_OWN_LOSS = ("svm-online", "perceptron", "mc-perceptron", "winnow")


def algorithm(args: Namespace) -> str:
    """The algorithm that was named, or the one that needs no tuning, unless an option calls for another."""
    if args.algorithm:
        return str(args.algorithm)
    if unlike_auto(args) is None:
        return "auto"
    return "ogd" if make_class_loss(args.loss or "") is None else "adagrad"


def wants_signs(args: Namespace) -> bool:
    """Whether the loss is one of the margin, whose labels are ±1."""
    if args.loss is None:
        return algorithm(args) not in ("auto", "mc-perceptron")
    return make_class_loss(args.loss) is None and isinstance(make_loss(args.loss), Margin)


def unlike_auto(args: Namespace) -> str | None:
    """The first option that `auto` does not take."""
    for name in ("eta", "p", "lam", "output"):
        if getattr(args, name) is not None:
            return f"--{name}"
    if args.unit:
        return "--unit"
    return None if args.loss in (None, "logistic", "square", "softmax") else f"--loss {args.loss}"


def make_learner(
    args: Namespace, guess: Callable[[], Auto | AutoMulticlass]
) -> Linear | Multiclass | Auto | AutoMulticlass:
    """The learner that the options describe; an option that the algorithm does not take is refused.

    Without a loss, `auto` is what the labels make it: `guess`.
    """
    name = algorithm(args)
    make, needed, welcome = MAKERS[name]
    for option in ("eta", "radius", "p", "lam", "l1", "l2", "beta", "clip", "C"):
        given = getattr(args, option) is not None
        if given and option not in (needed + " " + welcome).split():
            raise PartError(f"{name} takes no --{option}: leave it out, or see `lowregret zoo {name}`")
    missing = [f"--{option}" for option in needed.split() if getattr(args, option) is None]
    if missing:
        raise PartError(f"{name} needs {' and '.join(missing)}")
    if name in _OWN_LOSS and args.loss not in (None, "hinge"):
        raise PartError(f"{name} has a loss of its own: leave --loss {args.loss} out")
    if name == "auto":
        return make_auto(args, guess)
    many = make_class_loss(args.loss or "")
    learner = make(Hinge() if many else make_loss(args.loss or "hinge"), args)
    if many is not None and isinstance(learner, Linear):
        learner = Multiclass.like(learner, many)
    if not isinstance(learner, Multiclass) and (args.classes or args.unit):
        raise PartError(
            f"--{'classes' if args.classes else 'unit'} needs a loss of many classes, such as --loss softmax"
        )
    changes: dict[str, Any] = {"unit": True} if args.unit else {}
    if args.output:
        changes["output"] = Random(args.seed or 0) if args.output == "random" else _OUTPUTS[args.output]
    if args.bias:
        changes["bias"] = 1.0
    return replace(learner, **changes)


def make_auto(args: Namespace, guess: Callable[[], Auto | AutoMulticlass]) -> Auto | AutoMulticlass:
    """`auto` for the loss that was named, or for the labels."""
    many = make_class_loss(args.loss or "")
    if args.output or args.unit:
        raise PartError("auto keeps a mixture and scales rows itself: leave --output and --unit out")
    if args.classes and many is None:
        raise PartError("--classes needs a loss of many classes, such as --loss softmax")
    if many is not None:
        return zoo.auto(many)
    return guess() if args.loss is None else zoo.auto(make_loss(args.loss))


def make_comparator(learner: Linear | Multiclass | Auto | AutoMulticlass, args: Namespace) -> Domain:
    """The set of comparators that the regret is measured against."""
    places = (args.dimension or 1) * max(len(args.classes), 1)
    return natural_comparator(learner, places, args.radius or 1.0)
