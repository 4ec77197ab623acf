"""Checks of rows, labels and weights, whichever way they are learnt; errors name row, feature and value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from lowregret.compile.memory import room
from lowregret.compile.part import Part
from lowregret.errors import DataError, DivergedError, LowRegretError, PartError
from lowregret.loss import Loss
from lowregret.rows import OUTSIDE, WEIGHTIEST, Rows, Sparse, describe_entry, largest_entry
from lowregret.rule import Rule
from lowregret.rule.adagrad import GROWN
from lowregret.rule.betting import LARGEST_BET
from lowregret.rule.nag import CONTENT
from lowregret.rule.newton import FARTHEST
from lowregret.state import MASS, State
from lowregret.types import Vector

_MANY = "; name one class with --positive, or learn them all with a loss of many classes such as --loss softmax"
Place = Callable[[int], str]  # where row i is, for errors
SIZES = [MASS, GROWN, CONTENT, FARTHEST, LARGEST_BET]  # sums that are finite as long as the weights are
LARGE = 1e40  # numbers of a row up to which their squares can be summed over all rows of a run
FAINTEST = 1e-70  # numbers of a row from which on their squares have all digits, whatever they are multiplied by
FEW = 64  # bytes that a name, or the numbers that are kept of an arm, take at least
MANY = 1 << 40  # features of which NumPy cannot even say how much memory they need
_PLAIN = frozenset((bool, int, float, str, bytes, type(None)))  # types whose values do nothing by themselves
WHOLE_LIMIT = 10_000  # coordinates up to which O(d) work per sparse row is accepted


def is_whole(value: Any, least: int = 0) -> bool:
    """Whether this is a whole number, not below another; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, Integral) and int(value) >= least


def is_positive(value: Any) -> bool:
    """Whether this is a number above 0, and finite; True and False are none."""
    return not isinstance(value, bool) and isinstance(value, Real) and 0 < float(value) < math.inf


def real_numbers(values: Any, what: str) -> Vector:
    """A C-ordered float64 array, not read-only: for such, loops would be compiled once more."""
    require_unmasked(values, what)
    try:
        given = np.asarray(values)
        if given.dtype.kind in "cmMV":  # NumPy would drop what is imaginary, and count days
            raise TypeError(f"{given.dtype} is not a real number")
        return np.require(np.ascontiguousarray(given, np.float64), requirements=["W", "A"])
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{what} must be numbers: {error}") from None


def settled(values: Any, what: str, kind: str = "numbers or names") -> Any:
    """Labels, weights or delays as an array of numbers and texts, of which nobody else is asked any more.

    Objects may do anything while they are asked for their numbers, even change the rows. So that comes first, then all
    is looked at that compiled loops rely on, `as_rows`, and then they run. In arrays of objects, what is neither a
    number nor a text becomes None. O(1) for arrays of numbers.
    """
    if values is None or type(values) in _PLAIN:
        return values
    require_unmasked(values, what)
    try:
        found = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"{what} must be {kind}, one for each row: {error}") from None
    if found.dtype != object:
        return found
    if found.ndim == 0:
        raise DataError(f"{what} must be {kind}, one for each row, not a {type(values).__name__}")
    exact = np.empty(found.size, object)
    exact[:] = [value if type(value) in _PLAIN else _exact(value) for value in found.ravel().tolist()]
    return exact.reshape(found.shape)


def _exact(value: Any) -> Any:
    """A number or a text as Python has them; None if a value is neither."""
    if isinstance(value, str):
        return str.__str__(str(value))
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, np.timedelta64):  # to NumPy a whole number, of nobody knows what
        return None
    try:
        return int(value) if isinstance(value, int | np.integer) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def require_unmasked(values: Any, what: str) -> None:
    """Refuse values of which some are masked: what is behind a mask would be taken for a value."""
    if np.ma.is_masked(values):
        raise DataError(f"some {what} are masked: fill them in or leave the rows out")


def require_numeric(values: Any, what: str) -> None:
    """Refuse masked arrays and arrays of dates and times, which scikit-learn takes for numbers."""
    require_unmasked(values, what)
    kind = getattr(values, "dtype", None)
    if getattr(kind, "kind", "") in ("m", "M"):
        raise DataError(f"{what} must be numbers, got {kind}: give dates as columns of a table")


def numbers(values: Any, what: str, size: int) -> Vector:
    """A float64 vector of the right length."""
    vector = real_numbers(values, what)
    if vector.shape != (size,):
        raise DataError(f"{what} must be a vector of {size} numbers, got shape {vector.shape}")
    return vector


def finite_numbers(values: Any, what: str, size: int) -> Vector:
    """A float64 vector of the right length whose entries are all finite."""
    vector = numbers(values, what, size)
    bad = np.flatnonzero(~np.isfinite(vector))
    if bad.size:
        raise DataError(f"{what}[{bad[0]}] is {vector[bad[0]]}: all entries must be finite")
    return vector


def finite_rows(values: Any, what: str, size: int) -> Iterator[Vector]:
    """One row of finite numbers after the other, from a table or a single row."""
    for row in values if np.ndim(values) == 2 else [values]:
        yield finite_numbers(row, what, size)


def require_rows(x: Rows, features: int) -> None:
    """Refuse no rows, and rows of another length."""
    if x.shape[0] == 0:
        raise DataError("there are no rows")
    if x.shape[1] != features:
        raise DataError(f"the rows have {x.shape[1]} features, the learner {features}")


def require_room(count: int, what: str) -> None:
    """Raise a `DataError` if there is no room in memory for this many things, each of which takes a few numbers."""
    if FEW * count > room():
        raise DataError(f"there is no room in memory for {count:,} {what}: take fewer")


@contextmanager
def room_for(features: int | None) -> Iterator[None]:
    """Raise a `DataError` if what is begun with this many features does not fit into memory."""
    try:
        yield
    except (MemoryError, ValueError, OverflowError) as error:
        if features is None or isinstance(error, LowRegretError):
            raise
        if features < MANY and not isinstance(error, MemoryError):
            raise
        raise DataError(
            f"there is no room in memory for {features:,} features: hash them into fewer (column % 2**20; --bits 20), "
            "or train from a file, which takes room for those only that occur"
        ) from None


def require_narrow(x: Rows, part: Part, remedy: str) -> None:
    """Refuse O(d) work per row where sparse rows have very many features."""
    if isinstance(x, Sparse) and x.columns > WHOLE_LIMIT:
        raise PartError(f"{part} costs O(d) per row, too slow for {x.columns} sparse features: {remedy}")


def require_cheap(x: Rows, rule: Rule) -> None:
    """Raise `PartError` if an O(d)-per-round rule meets wide sparse rows."""
    if rule.costs_dimension():
        require_narrow(x, rule, "use L2Ball, Box or Reals, or Entropy with a Constant step")


def require_bounded(s: State, last: str = "row") -> None:
    """Refuse weights that overflowed in the last row or round."""
    if not np.isfinite(s.sums[SIZES]).all():
        raise DivergedError(f"the weights overflowed in the last {last}: use a smaller step or scale the features")


def require_label(y: float, place: str, accepted: bool, who: str, labels: str, remedy: str = "") -> None:
    """Refuse the label of a row, saying what `who` takes."""
    if not accepted:
        raise DataError(f"{place}: label {y:g} does not fit {who}, which takes {labels}{remedy}")


def require_weight(weights: Vector, i: int, place: str) -> None:
    """Refuse the importance of row i if it is none."""
    if weights.size and not 0 <= weights[i] < np.inf:
        raise DataError(f"{place}: weight {weights[i]} is not a finite number ≥ 0")
    if weights.size and weights[i] > WEIGHTIEST:
        raise DataError(
            f"{place}: weight {weights[i]:g}: sums of weights would leave the range of numbers; scale them all"
        )


def require_finite(x: Rows, i: int, place: str) -> None:
    """Refuse row i if one of its entries is not a finite number."""
    entry = describe_entry(x, i)
    if entry is not None:
        raise DataError(f"{place}: {entry}; remove or repair the row")


def require_moderate(x: Rows, i: int, label: Any, weights: Vector, place: str) -> None:
    """Refuse row i, which could not be learnt, for its largest number if that is beyond LARGE."""
    entry = largest_entry(x, i)
    given = [(abs(entry[1]), f"feature {entry[0]} is {entry[1]:g}")] if entry else []
    given += [(abs(label), f"label {label:g}")] if isinstance(label, float | int) else []
    given += [(float(weights[i]), f"weight {weights[i]:g}")] if weights.size else []
    size, what = max(given, default=(0.0, ""))
    if size > LARGE:
        raise DataError(
            f"{place}: {what}: weights or sums would leave the range of numbers, so nothing of the row is learnt; "
            "remove or scale it"
        )


def require_visible(x: Rows, i: int, place: str) -> None:
    """Refuse row i, which could not be learnt, for its largest number if that is below FAINTEST."""
    entry = largest_entry(x, i)
    if entry and 0.0 < abs(entry[1]) < FAINTEST:
        raise DataError(
            f"{place}: its largest number is {entry[1]:g}, too small to be squared, which a set that weights are kept "
            "in by their length asks for at this step: choose other units, a smaller step or a larger radius"
        )


def require_scores(x: Rows, scores: Vector) -> None:
    """Refuse the first row that has a score that is not a finite number, saying why."""
    for i in np.flatnonzero(~np.isfinite(scores).all(axis=tuple(range(1, scores.ndim)))).tolist():
        require_finite(x, i, f"row {i}")
        raise DivergedError(f"row {i}: a score left the range of numbers although the row is finite")


def refuse(loss: Loss, x: Rows, label: float, weights: Vector, i: int, place: str) -> NoReturn:
    """Say why row i could not be learnt; nothing of it was."""
    require_weight(weights, i, place)
    if not (weights.size and weights[i] == 0):
        remedy = _MANY if loss.classifies else ""
        require_label(label, place, loss.accepts(label), type(loss).__name__, loss.labels, remedy)
    if not x.inside(i):
        raise DataError(f"{place}: {OUTSIDE.format(x.shape[1])}")
    require_finite(x, i, place)
    require_moderate(x, i, label, weights, place)
    require_visible(x, i, place)
    raise DivergedError(
        f"{place}: the score or loss left the range of numbers although the row is finite: the weights diverged "
        "(use a smaller step, a bounded domain or scaled features) or the loss is not defined there"
    )
