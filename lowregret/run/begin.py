"""Beginning a run: `begin` makes the kind of run that fits a learner of rows, before its first row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack, overload

from lowregret.auto import Auto, AutoMulticlass
from lowregret.domain import Domain
from lowregret.errors import PartError
from lowregret.features import FeatureMap, Partitions
from lowregret.learner.growth import FIRST, require_growth, require_more_classes
from lowregret.learner.labels import ClassNames
from lowregret.learner.layout import begun
from lowregret.learner.linear import Learner, Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.multiclass_simd import at_work
from lowregret.learner.validate import WHOLE_LIMIT, room_for
from lowregret.rule import Forgotten, ProjectedGradient
from lowregret.run.auto import AutoRun
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.block_learners import FREE, require_learners
from lowregret.run.blocks import BlockRun
from lowregret.run.expansion import Expansion, begin_expansion
from lowregret.run.free import FreeRun
from lowregret.run.late import Late
from lowregret.run.linear import LinearRun
from lowregret.run.multiclass import LANES, MulticlassRun

Classed = Sequence[Any] | None


class RunOptions(TypedDict, total=False):
    """How a run of rows is kept, whatever its learner."""

    comparator: Domain | None  # what the certificate compares with
    certify: bool  # False: no history, and for eager rules no sum of sub-gradients
    compiled: bool  # False: the same code, interpreted
    expand: FeatureMap | Partitions | None  # what gives rows further columns
    learners: int | None  # threads that learn, a block of rows at a time; None: row by row
    block: int | Literal["free"] | None  # rounds of a block, as many as cost little if None; "free": nobody waits
    delay: int | None  # rows after which answers come, if they come late


@overload
def begin(learner: Linear, features: int | None, classes: None = None, **how: Unpack[RunOptions]) -> LinearRun: ...
@overload
def begin(learner: Auto, features: int | None, classes: None = None, **how: Unpack[RunOptions]) -> AutoRun: ...
@overload
def begin(
    learner: AutoMulticlass, features: int | None, classes: Classed = None, **how: Unpack[RunOptions]
) -> AutoMulticlassRun: ...
@overload
def begin(
    learner: Multiclass, features: int | None, classes: Classed = None, **how: Unpack[RunOptions]
) -> MulticlassRun: ...
@overload
def begin(
    learner: Linear | Auto | Multiclass | AutoMulticlass,
    features: int | None,
    classes: Classed = None,
    **how: Unpack[RunOptions],
) -> LinearRun | AutoRun | MulticlassRun: ...


def begin(
    learner: Any,
    features: int | None,
    classes: Classed = None,
    *,
    comparator: Domain | None = None,
    certify: bool = True,
    compiled: bool = True,
    expand: FeatureMap | Partitions | None = None,
    learners: int | None = None,
    block: int | Literal["free"] | None = None,
    delay: int | None = None,
) -> LinearRun | AutoRun | MulticlassRun:
    """A run before its first row, for the features and classes given; None: as many as there turn out to be.

    `certify=False` keeps no history, and for eager rules no sum of sub-gradients. `expand` gives rows further columns.
    `learners` threads learn blocks of rows: see `train`.
    With a `delay`, row s is scored by the model of the moment, and learnt after row s + delay was scored.
    """
    how: dict[str, Any] = {"comparator": comparator, "certify": certify, "compiled": compiled}
    if not (comparator is None or isinstance(comparator, Domain)):
        raise PartError(f"comparator must be a set such as L2Ball(1.0), got {comparator!r}")
    how["seen"] = 0 if features is None else None
    if learners is not None:
        if expand is not None:
            raise PartError("learners (--learners) learn rows as they are: leave expand (--partitions) out")
        require_learners(learner, learners, block)
        how |= {"learners": learners} if isinstance(learner, Auto) else {"learners": learners, "block": block}
    elif block is not None:
        raise PartError("block (--block) is the size of the blocks of several learners: say how many (--learners)")
    if expand is not None:
        features, how["expansion"] = _expanded(learner, expand, features)
    with room_for(features):
        run = _begun(learner, features, classes, how)
    if delay is not None:
        _require_patience(learner, learners)
        run.late = Late(delay, isinstance(run, MulticlassRun), *run.slot_sizes)
        run.knows_outputs = False
    return run


def _require_patience(learner: Any, learners: int | None) -> None:
    """Refuse what cannot wait for answers."""
    if learners is not None:
        raise PartError("rows of a block (--learners) already wait for each other's answers: leave delay (--delay) out")
    if learner.rule.schedule().weighted():
        raise PartError(
            "a schedule that weighs the rounds cannot wait for answers: leave delay out, or use a step such as "
            "Constant or InverseSqrt"
        )


def _begun(
    learner: Any, features: int | None, classes: Classed, how: dict[str, Any]
) -> LinearRun | AutoRun | MulticlassRun:
    """The run that fits the learner; `how` are arguments of every run."""
    if isinstance(learner, AutoMulticlass | Multiclass):
        names = ClassNames(classes)
        lanes = len(names) if names.fixed else LANES
        if isinstance(learner, AutoMulticlass):
            return AutoMulticlassRun.begun(learner, FIRST if features is None else features, names, **how)
        return _classes(learner, features, names, lanes, how)
    if not isinstance(learner, Linear | Auto):
        raise PartError(
            f"the learner must be a Linear, Multiclass or KernelPerceptron such as zoo.perceptron(), got {learner!r}"
        )
    if classes is not None:
        raise PartError(f"{learner.loss} is a loss of one score: use Multiclass(Softmax(), …) for classes")
    if isinstance(learner, Auto):
        return AutoRun.begun(learner, FIRST if features is None else features, **how)
    learner = _lean(learner, how["certify"])
    if features is None:
        require_growth(learner)
    run = LinearRun if "learners" not in how else FreeRun if how["block"] == FREE else BlockRun
    return run(learner, learner.start(FIRST if features is None else features), **how)


def _classes(
    learner: Multiclass, features: int | None, names: ClassNames, lanes: int, how: dict[str, Any]
) -> MulticlassRun:
    learner.loss.fits(len(names) if names.fixed else None)
    learner = _lean(learner, how["certify"])
    if not names.fixed:
        require_more_classes(learner)
    if features is None:
        require_growth(learner)
    state = begun(at_work(learner), FIRST if features is None else features, lanes)
    return MulticlassRun(learner, state, names, **how)


def _expanded(learner: Any, expand: FeatureMap | Partitions, features: int | None) -> tuple[int | None, Expansion]:
    """How many features expanded rows have, if that is known, and what expands them."""
    if isinstance(learner, Auto | AutoMulticlass):
        raise PartError(
            "auto sees to partitions itself: leave expand (--partitions) out, zoo.auto(loss, features=…) says how "
            "(--features); or name another learner (--algorithm)"
        )
    expansion = begin_expansion(expand, features)
    if features is not None and isinstance(learner, Learner) and learner.rule.costs_dimension():
        learner.require(
            expansion.columns <= WHOLE_LIMIT,
            f"{learner.rule} costs O(d) per row, too slow for {expansion.columns} features with those of {expand}: "
            "use L2Ball, Box or Reals, or Entropy with a Constant step",
        )
    return None if features is None else expansion.columns, expansion


def _lean(learner: Any, certify: bool) -> Any:
    """The learner, which keeps no sum of sub-gradients if nothing is certified and its rule works without it."""
    if certify or not isinstance(learner.rule, ProjectedGradient):
        return learner
    return replace(learner, rule=replace(learner.rule, gradients=Forgotten()))
