"""Parts from words: the loss, the learner and the comparators that a command line names."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from lowregret import zoo
from lowregret.auto import Auto, AutoMulticlass
from lowregret.certificate import natural_comparator
from lowregret.cli.arguments import THEORY
from lowregret.cli.losses import make_class_loss, make_loss, wants_classes
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.features import Partitions
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Margin
from lowregret.output import Average, Last, Output, Random, WeightedAverage
from lowregret.run.expansion import SETTLED

_OUTPUTS: dict[str, Output] = {"last": Last(), "average": Average(), "weighted": WeightedAverage()}


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
        return algorithm(args) != "auto" and not wants_classes(args)
    return make_class_loss(args.loss) is None and isinstance(make_loss(args.loss), Margin)


def unlike_auto(args: Namespace) -> str | None:
    """The first option that `auto` does not take."""
    for name in ("eta", "p", "lam", "output"):
        if getattr(args, name) is not None:
            return f"--{name}"
    if args.unit:
        return "--unit"
    return None if args.loss in (None, *(loss.name for loss in zoo.AUTO)) else f"--loss {args.loss}"


def make_learner(
    args: Namespace, guess: Callable[[], Auto | AutoMulticlass]
) -> Linear | Multiclass | Auto | AutoMulticlass:
    """The learner that the options describe; an option that the algorithm does not take is refused.

    Without a loss, `auto` is what the labels make it: `guess`.
    """
    name = algorithm(args)
    entry = zoo.ALGORITHMS[name]
    options = _options(entry, args)
    if entry.own_loss and args.loss not in (None, Hinge.name):
        raise PartError(f"{name} has a loss of its own: leave --loss {args.loss} out")
    if name == "auto":
        return make_auto(args, guess)
    many = make_class_loss(args.loss or "")
    learner: Any = entry.made(Hinge() if many else make_loss(args.loss or Hinge.name), options)
    if many is not None and isinstance(learner, Linear):
        learner = Multiclass.like(learner, many)
    if args.seed is not None and args.output != "random" and not args.partitions:
        raise PartError("--seed settles what --output random or --partitions draw: say one of them, or leave it out")
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


def _options(entry: zoo.Entry, args: Namespace) -> dict[str, Any]:
    """The options given for the algorithm; refuses others, and the lack of one that it needs."""
    said = {option: getattr(args, option) for option in zoo.OPTIONS if getattr(args, option) is not None}
    for option in said:
        if option not in (*entry.needs, *entry.takes, "dimension"):
            raise PartError(f"{entry.name} takes no --{option}: leave it out, or see `lowregret zoo {entry.name}`")
    if args.eta != THEORY and (args.rounds or args.lipschitz):
        raise PartError(
            "--rounds and --lipschitz say what --eta theory is to be tuned for: say that, or leave them out"
        )
    if args.eta == THEORY:
        said["eta"] = 0.25  # until it is tuned
    missing = [f"--{option}" for option in entry.needs if option not in said]
    if missing:
        raise PartError(f"{entry.name} needs {' and '.join(missing)}")
    return said | {"dimension": _places(args)}


def _places(args: Namespace) -> int:
    """How many weights there are, if the features were counted."""
    expand = make_expansion(args)
    cells = 0 if expand is None or args.dimension is None else expand.most_cells(SETTLED)
    return ((args.dimension or 1) + cells) * max(len(args.classes), 1)


def make_expansion(args: Namespace) -> Partitions | None:
    """The part that gives rows further columns, if one was asked for."""
    return Partitions(seed=args.seed or 0) if args.partitions else None


def make_auto(args: Namespace, guess: Callable[[], Auto | AutoMulticlass]) -> Auto | AutoMulticlass:
    """`auto` for the loss that was named, or for the labels."""
    many = make_class_loss(args.loss or "")
    if args.output or args.unit:
        raise PartError("auto keeps a mixture and scales rows itself: leave --output and --unit out")
    if args.seed is not None:
        raise PartError("auto draws nothing that --seed settles: leave it out")
    if args.classes and many is None:
        raise PartError("--classes needs a loss of many classes, such as --loss softmax")
    features = args.features or "both"
    if many is not None:
        return zoo.auto(many, features)
    if args.loss is not None:
        return zoo.auto(make_loss(args.loss), features)
    return replace(guess(), partitions=zoo.FEATURES[features])


def make_comparator(learner: Linear | Multiclass | Auto | AutoMulticlass, args: Namespace) -> Domain:
    """The set of comparators that the regret is measured against."""
    return natural_comparator(learner, _places(args), args.radius or 1.0)
