"""The classes of a run, by name, in the order in which they were given or met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from lowregret.errors import DataError
from lowregret.learner.validate import require_unmasked
from lowregret.words import quoted, writable

Name: TypeAlias = int | str

UNKNOWN, UNFIT = -1, -2  # codes of a class that is not known, and of what is no class


class ClassNames:
    """Names and their codes 0, 1, …: fixed if they were given, else growing with the rows that are learnt."""

    def __init__(self, names: Sequence[Any] | None = None, fixed: bool | None = None) -> None:
        self.names: list[Name] = [] if names is None else [_require_name(name) for name in names]
        self.fixed = names is not None if fixed is None else fixed
        self._codes = {name: code for code, name in enumerate(self.names)}
        if len(self._codes) < len(self.names):
            count = Counter(self.names)
            twice = next(name for name in self.names if count[name] > 1)
            raise DataError(f"class {twice!r} is named twice: name each class once")
        if self.fixed and not self.names:
            raise DataError("no class is named: name at least one, or leave them to be met")

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, labels: Any, learnt: Any = None, names: Mapping[float, str] | None = None) -> Any:
        """The code of each label; new names are taken up, in their order, from rows that are `learnt` (a mask).

        A row before the first that is learnt with a new name has no known class, as if it came in a batch of its own.
        `names` are those that numbers among the labels stand for, as formats with texts hand them over.
        O(n log n), and a look at each distinct label.
        """
        values, first, inverse = _distinct(np.asarray(labels))
        codes = np.full(values.size, UNKNOWN, np.int64)
        if learnt is not None and values.size:
            first = np.full(values.size, inverse.size)
            np.minimum.at(first, inverse[learnt], np.flatnonzero(learnt))
        before = len(self.names)
        for k in np.argsort(first, kind="stable").tolist():
            codes[k] = self._code(name_label(values[k], names), first[k] < inverse.size)
        met = np.full(len(self.names) + 2, inverse.size)  # the row of each name that makes it known; 0 if it was
        met[:before] = 0
        np.minimum.at(met, codes, first)
        found = codes[inverse.reshape(-1)]
        found[(found >= before) & (np.arange(found.size) < met[found])] = UNKNOWN
        return found

    def _code(self, value: Any, taken: bool) -> int:
        name = name_of(value)
        if name is None:
            return UNFIT
        if name not in self._codes and taken and not self.fixed:
            self._codes[name] = len(self.names)
            self.names.append(name)
        return self._codes.get(name, UNKNOWN)

    def forget_after(self, count: int) -> None:
        """Keep the first names only: rows with the others were not learnt after all."""
        for name in self.names[count:]:
            del self._codes[name]
        del self.names[count:]

    def decode(self, codes: Any) -> Any:
        """Names by code: an array of whole numbers if all names are, else of texts; None where there is no class."""
        whole = all(isinstance(name, int) and abs(name) < 1 << 63 for name in self.names) and bool(np.all(codes >= 0))
        names = np.array([*self.names, None], object)[codes]
        return names.astype(np.int64) if whole else names

    def sorted(self) -> tuple[list[int], Any]:
        """Codes by name, numbers before texts, and these names: objects if NumPy would change some, as NULs at ends."""
        keys = [(isinstance(name, str), name) for name in self.names]
        order = sorted(range(len(keys)), key=keys.__getitem__)
        names = [self.names[code] for code in order]
        found = np.array(names)
        return order, found if found.tolist() == names else np.array(names, object)

    def refusal(self, label: Any) -> str:
        """Why a label could not be learnt."""
        if name_of(label) is None:
            return f"label {_plain(label)!r} is no class: expected a whole number or a name"
        shown = quoted(self.names)
        return f"class {name_of(label)!r} is not among those named: {shown}; name it too, or leave classes to be met"


def _distinct(labels: Any) -> tuple[Any, Any, Any]:
    """The distinct labels, the first row of each, and which of them each row has."""
    try:
        return np.unique(labels, return_index=True, return_inverse=True)
    except TypeError:  # labels of several types have no order
        names = [name_of(label) for label in labels.tolist()]
    numbers: dict[Name | None, int] = {}
    inverse = np.array([numbers.setdefault(name, len(numbers)) for name in names], np.int64)
    first = np.unique(inverse, return_index=True)[1]
    return labels[first], first, inverse


def name_of(value: Any) -> Name | None:
    """A label as a whole number or a text; None if it is neither."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    if isinstance(value, str):
        return writable(str(value)) or None
    if isinstance(value, np.timedelta64):  # to NumPy a whole number, of nobody knows what
        return None
    if isinstance(value, (bool, np.bool_, int, np.integer)):
        return int(value)
    number = float(value) if isinstance(value, (float, np.floating)) else 0.5
    return int(number) if number.is_integer() else None


def class_name(text: str) -> Name:
    """The class that a text on the command line names: a whole number if it is one."""
    try:
        return int(text)
    except ValueError:
        return text


def name_label(value: Any, names: Mapping[float, str] | None) -> Any:
    """The text that a number stands for, if it does."""
    return names.get(float(value), value) if names else value


def _require_name(value: Any) -> Name:
    name = name_of(value)
    if name is None:
        raise DataError(f"{_plain(value)!r} cannot name a class: use a whole number or a text")
    return name


def _plain(value: Any) -> Any:
    """A label as Python shows it, without NumPy's name."""
    return value.item() if isinstance(value, np.generic) else value


def as_labels(labels: Any) -> Any:
    """An array of labels; refuses lists of different lengths."""
    try:
        return np.asarray(labels)
    except ValueError as error:
        raise DataError(f"labels must be numbers or names, one for each row: {error}") from None


def one_label_each(labels: Any, rows: int) -> Any:
    """A label for each row."""
    require_unmasked(labels, "labels")
    found = as_labels(labels)
    if found.shape != (rows,):
        raise DataError(f"labels must be {rows} classes, one for each row, got shape {found.shape}")
    return found


def require_labels(labels: Any) -> None:
    """Refuse labels of which some are masked, or neither numbers nor names; scikit-learn looks at floats itself."""
    require_unmasked(labels, "labels")
    found = as_labels(labels)
    if found.ndim == 1 and found.dtype.kind in "OM":
        require_known(found, "label")


def require_known(values: Any, what: str) -> None:
    """Refuse None, NaN and what else stands for something that is not known."""
    missing = [is_missing(value) for value in values] if values.dtype == object else values != values
    if np.any(missing):
        raise DataError(f"row {np.argmax(missing)}: the {what} is missing: remove or repair the row")


def is_missing(value: Any) -> bool:
    """Whether a value is None, or not equal to itself."""
    try:
        return value is None or not bool(value == value)
    except (TypeError, ValueError):  # of pandas' NA nobody knows
        return True
