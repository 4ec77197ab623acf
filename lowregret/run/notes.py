"""Notes on labels and columns that figures do not show: one sentence each, with cause and remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lowregret.run.metrics import SIGNS, Metrics
from lowregret.stream.names import KEPT_LABELS, Met, number_name
from lowregret.stream.notice import LEAST_ROWS, NEARLY
from lowregret.words import counted

_SHOWN = 5  # names of columns
HELD_AGAIN = "rows came again: those held out may have been learnt before, and then say nothing of new ones"


def one_label(metrics: Metrics, signs: tuple[str, str] | None) -> str | None:
    """A note that all labels were the same, if they were; `signs` are the names of +1 and −1, if they have any."""
    label = metrics.constant
    if label is None:
        return None
    if not metrics.loss.classifies:
        return f"{_all(metrics.rows, number_name(label))}: nothing but this number could be learnt"
    met, other = (signs or SIGNS)[:: 1 if label > 0 else -1]
    return f"{_all(metrics.rows, met)}: nothing could be learnt about {other}"


def one_class(rows: int, name: object) -> str:
    """A note that all rows were of one class."""
    return f"{_all(rows, name)}: nothing could be learnt about other classes"


def many_classes(rows: int, classes: int) -> Iterator[str]:
    """A note that nearly every row was of a class of its own, if that is so."""
    if rows >= LEAST_ROWS and classes >= NEARLY * rows:
        yield (
            f"the target has {classes:,} classes in {rows:,} rows: it is probably a number (say --loss square) or an "
            "id, of which nothing can be learnt"
        )


def _all(rows: int, label: object) -> str:
    return f"all {rows:,} labels were {label}" if rows > 1 else f"the only label was {label}"


def idle(names: Sequence[str]) -> Iterator[str]:
    """Notes on columns or namespaces that options name and that never occurred."""
    for name in names:
        yield f"{name}, named in the options, never occurs in the rows: check how it is spelt"


def unweighted(weight: str, new: Met) -> Iterator[str]:
    """Notes on tables without the column that the model takes importance weights from."""
    for file in new.tables:
        if weight and file not in new.weighted:
            yield f"column {weight}, which the model takes weights from, is not in {file}: its figures are not weighted"


def unlike(model: str, positive: str | None, known: Met, new: Met, learnt: bool = False) -> Iterator[str]:
    """Notes on columns and labels of tables that a model does not know, or misses; `learnt`: it learns the rows."""
    columns, how = known.columns, "learnt" if learnt else "scored"
    for file, found in new.tables.items():
        there, trained = set(found), set(columns)
        lacking = [name for name in columns if not _among(name, there)]
        strange = [name for name in found if not _among(name, trained)]
        has = f"{_columns(strange)}, which {model} does not know" if strange else ""
        if columns and lacking:
            told = f"{_columns(lacking)}, which {model} knows, {_are(lacking)} not in {file}"
            yield told + (f"; it has {has}" if has else f": its rows are {how} without")
        elif columns and strange:
            yield f"{file} has {has}: no weight was learnt for {'it' if len(strange) == 1 else 'them'}"
    yield from _written_otherwise(known, new)
    if positive and (others := other_labels(known, new)):
        told, names = knows(model, positive, known), ", ".join(others)
        taken = f"; {names} {_are(others)} taken for not {positive}"
        yield told + (taken if learnt else f", not {names}: predictions are not judged")


def other_labels(known: Met, new: Met) -> list[str]:
    """New labels, besides the positive one, that a model has not met; none if it kept no labels, or not all."""
    return [label for label in new.labels if label not in known.labels] if 0 < len(known.labels) < KEPT_LABELS else []


def knows(model: str, positive: str, known: Met) -> str:
    """The beginning of a note: the labels that a model was trained on."""
    return f"{model} knows the labels {' and '.join([positive, *known.labels])}"


def _written_otherwise(known: Met, new: Met) -> Iterator[str]:
    """Notes on columns that hold something else than in training, so that no weight was learnt for it."""
    trained = known.spelling
    for file, spelt in new.spelt.items():
        unlike: dict[tuple[str, str], list[str]] = {}
        for name, what in spelt.items():
            if trained.get(name, what) != what:
                unlike.setdefault((trained[name], what), []).append(name)
        for (before, what), names in unlike.items():
            were = "was" if len(names) == 1 else "were"
            told = f"{_columns(names)} {were} {before} in training and {_are(names)} {what} in {file}"
            yield f"{told}: write {'it' if len(names) == 1 else 'them'} as there"


def unjudged(rows: int, label: float, takes: str) -> str:
    """A note on labels that the loss does not accept, so that predictions are not judged."""
    have = "has a label" if rows == 1 else "have labels"
    told = f"{counted(rows, 'row')} {have} such as {number_name(label)}, but the model was trained on {takes}"
    return f"{told}: predictions are not judged"


def taken_for_negative(rows: int) -> str:
    """A note on labels 0 and 1 where a model knows −1 and +1."""
    return f"the labels are 0 and 1, the model was trained on -1 and +1: 0, in {counted(rows, 'row')}, is taken for -1"


def no_known_class(name: object) -> str:
    """A note that the model has met none of the classes of the rows."""
    return f"no label is of a class that the model knows (there is {name}): predictions are not judged"


def unknown_classes(rows: int, name: object) -> str:
    """A note on rows of classes that the model has never met."""
    return f"{counted(rows, 'row')} of classes that the model does not know, such as {name}, counted as wrong"


def _among(name: str, names: set[str]) -> bool:
    """Whether a column is among the names, itself, split into dotted parts, or as a part of another."""
    return name in names or any(n.startswith(f"{name}.") or name.startswith(f"{n}.") for n in names)


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return f"column{'s' * (len(names) != 1)} {shown}"


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def cores(
    threads: int,
    block: int | str | None,
    gain: float | None,
    lag: tuple[float, float] | None = None,
    alike: bool = False,
) -> list[str]:
    """A note on whether several threads were faster than one; `alike`: rows were found to be too alike for blocks.

    `lag`: how many rows free learners learnt while one was at his own, on the average and at most.
    """
    if threads == 1:
        return []
    if alike:
        why = "what a row tells changes the score of the next too much for blocks of rows"
        return [f"{threads} learners had little to share: {why}, so these were learnt one by one, in the end"]
    if gain is None:
        return [f"{counted(threads, 'learner')} had too few rows at a time to work together: one learnt alone"]
    if gain > 1.0:
        how = "one of them looking at rows ahead" if block is None else f"in blocks of {block}"
        if lag is not None:
            old = f"scores were {lag[0]:.2g} rows old on the average, {lag[1]:,.0f} at most"
            how = f"without waiting for each other ({old})"
        return [f"{threads} learners were {gain:.2g} times as fast as one, reading not counted, {how}"]
    return [
        f"{threads} learners were no faster than one ({gain:.2g} times): cores are busy or rows are short; "
        f"one learnt alone most of the time{'' if block == 'free' else ', with the same outcome'}"
    ]
