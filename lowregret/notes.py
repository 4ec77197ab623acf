"""What people should know of labels and columns, for figures do not show it: one sentence each, cause and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowregret.metrics import SIGNS, Metrics
from lowregret.stream.met import FEW, Met, number_name
from lowregret.stream.notice import FEW as FEW_ROWS
from lowregret.stream.notice import NEARLY
from lowregret.words import counted

_SHOWN = 5  # names of columns
_UNTYPED = ("csv", "tsv")


def one_label(metrics: Metrics, signs: tuple[str, str] | None) -> str | None:
    """All labels were the same; `signs` are the names of +1 and −1, if they have any."""
    label = metrics.constant
    if label is None:
        return None
    if not metrics.loss.classifies:
        return f"{_all(metrics.rows, number_name(label))}: nothing but this number could be learnt"
    met, other = (signs or SIGNS)[:: 1 if label > 0 else -1]
    return f"{_all(metrics.rows, met)}: nothing could be learnt about {other}"


def one_class(rows: int, name: object) -> str:
    """All rows were of one class."""
    return f"{_all(rows, name)}: nothing could be learnt about other classes"


def many_classes(rows: int, classes: int) -> Iterator[str]:
    """Nearly every row was of a class of its own."""
    if rows >= FEW_ROWS and classes >= NEARLY * rows:
        yield (
            f"the target has {classes:,} classes in {rows:,} rows: it is probably a number (say --loss square) or an "
            "id, of which nothing can be learnt"
        )


def _all(rows: int, label: object) -> str:
    return f"all {rows:,} labels were {label}" if rows > 1 else f"the only label was {label}"


def idle(names: Sequence[str]) -> Iterator[str]:
    """Columns or namespaces that were named, and never occurred."""
    for name in names:
        yield f"{name}, named in the options, never occurs in the rows: check how it is spelt"


def unlike(model: str, positive: str | None, known: Met, new: Met) -> Iterator[str]:
    """How the columns and labels of tables differ from those that a model knows."""
    columns = known.columns
    for file, found in new.tables.items():
        there, trained = set(found), set(columns)
        lacking = [name for name in columns if not _among(name, there)]
        strange = [name for name in found if not _among(name, trained)]
        has = f"{_columns(strange)}, which {model} does not know" if strange else ""
        if columns and lacking:
            told = f"{_columns(lacking)}, which {model} knows, {_are(lacking)} not in {file}"
            yield told + (f"; it has {has}" if has else ": its rows are scored without")
        elif columns and strange:
            yield f"{file} has {has}: no weight was learnt for {'it' if len(strange) == 1 else 'them'}"
    others = [label for label in new.labels if label not in known.labels]
    if positive and others and 0 < len(known.labels) < FEW:
        names = " and ".join([positive, *known.labels])
        yield f"{model} knows the labels {names}; {', '.join(others)} {_are(others)} taken for not {positive}"


def other_types(file: str, format: str, model: str, own: str) -> Iterator[str]:
    """Formats whose columns have types know truth values, which are texts in those that have none."""
    if (format in _UNTYPED) != (own in _UNTYPED):
        yield f"{file} is {format}, {model} was trained on {own}: in csv true, false and dates are texts"


def unjudged(rows: int, label: float, takes: str) -> str:
    """Labels that a loss does not take, so that predictions cannot be judged by them."""
    told = f"{counted(rows, 'row')} with labels such as {number_name(label)} cannot be judged"
    return f"{told}: the model was trained on {takes}"


def unknown_classes(rows: int, name: object) -> str:
    """Classes that a model has never met."""
    return f"{counted(rows, 'row')} of classes that the model does not know, such as {name}, counted as wrong"


def _among(name: str, names: set[str]) -> bool:
    """Whether a column is there, perhaps taken apart, or as part of another."""
    return name in names or any(n.startswith(f"{name}.") or name.startswith(f"{n}.") for n in names)


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"column{'s' * (len(names) != 1)} {shown}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"
