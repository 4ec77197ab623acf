"""One function for all formats: which one it is follows from the names of files, or else from how they begin.

    stream = read("data/*.csv.gz", target="price", drop=["id"])

`format_part` makes of the options a part that a model can keep; `stream_of` reads other files the same way.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, TypedDict, Unpack, cast

from lowregret.compile.part import Part
from lowregret.compile.spec import from_json
from lowregret.errors import DataError, StoreError
from lowregret.stream.batch import Stream, has_arrow_stream
from lowregret.stream.columns import Tabular
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.follow import Follow
from lowregret.stream.formats import FORMATS, HEAD, by_content, by_ending, is_binary
from lowregret.stream.formats.lrc import Cached
from lowregret.stream.names import number_name
from lowregret.stream.notice import Notices
from lowregret.stream.source import CACHE, STDIN, Source, expand, is_pipe
from lowregret.stream.text import TextStream
from lowregret.stream.text_format import TextFormat

OnError = Literal["stop", "skip"]

_FEW = 1 << 10  # bytes to tell by whether it is text
_COMPRESSED = ("gz", "xz", "bz2", "zst")
_DEFAULTS = {"one_based": False, "header": True, "classes": False, "ngrams": 1, "decimal": "."}


class OneLabel(Part):
    """A format whose labels are numbers, of which this one becomes +1 and all others −1."""

    form: TextFormat
    positive: float


class Options(TypedDict, total=False):
    """How rows are to be read; which of these fit depends on the format."""

    target: str | None  # the column with the label
    weight: str | None  # the column with the rows' importance
    drop: Sequence[str]  # columns to leave out
    categorical: Sequence[str]  # columns whose numbers are categories
    text: Sequence[str]  # columns whose words are features
    ngrams: int  # up to this many words in a row are one feature
    date: Sequence[str]  # columns of dates, whose parts are features; Arrow's own dates are without being named
    positive: str | float | None  # the label or class that becomes +1
    interactions: Iterable[Sequence[str]]  # columns (in VW text: namespaces) to multiply
    delay_column: str | None  # the column that says how late labels come: see docs/delay.md
    time_column: str | None  # the column with the rows' times, if that is in seconds
    bits: int | None  # 2^bits slots: 18 unless given, while LIBSVM's columns stay as they are
    one_based: bool  # LIBSVM's columns are its indices less one
    classes: bool  # labels are classes: texts as well as numbers
    delimiter: str | None
    decimal: str  # what stands before the fraction of a number: a point or a comma
    header: bool


def read(
    data: Any, *, format: str | None = None, threads: int = 0, on_error: OnError = "stop", **options: Unpack[Options]
) -> Stream:
    """The rows of a file, several, a pattern, `-` (standard input) or an Arrow table, in batches.

    See `Options`; those that do not fit the format are refused.
    """
    return stream_of(data, format_part(format or detect(data), **options), threads, on_error)


def format_part(format: str, **options: Unpack[Options]) -> Part:
    """How to read a format with these options (see `read`), as a part."""
    told: dict[str, Any] = dict(options)
    for name in ("drop", "categorical", "text", "date"):
        told[name] = _names(told.get(name, ()))
    told["interactions"] = tuple(tuple(group) for group in told.get("interactions", ()))
    if told.get("positive") is not None:
        told["positive"] = str(told["positive"])
    given = {name: value for name, value in told.items() if value not in (None, ()) and value != _DEFAULTS.get(name)}
    _check_options(format, given)
    if given.get("classes") and "positive" in given:
        raise DataError("positive makes two classes of many: leave it out, or use a loss of two classes")
    form = FORMATS[format]
    positive = given.pop("positive", None) if form.numbered else None
    if form.numbered:
        given.pop("classes", None)  # which are numbers, too
    return _with_positive(form.reader.from_options({**form.settled, **given}), positive)


def form_from_json(spec: Any) -> Part:
    """The format that a file says rows are read in; a `StoreError` if that is something else.

    Parsers are parts, too, whose arrays tell compiled code where to write: those are made of a header, never of a file.
    """
    know_formats()
    part = from_json(spec)
    form = part.form if isinstance(part, OneLabel) else part
    if isinstance(form, Cached) or not any(known.reads_as(form) for known in FORMATS.values()):
        raise StoreError(f"is a {type(form).__name__}, expected a format of data")
    return part


def positive_name(part: Part) -> str | None:
    """The label that becomes +1, as people write it; None where labels are taken as they are."""
    return number_name(part.positive) if isinstance(part, OneLabel) else part.parameters.get("positive") or None


def read_alike(part: Part, data: Any, format: str | None = None) -> Part:
    """How to read data of perhaps another format so that rows mean the same: tables have the same columns in all.

    Without a format, it is the one that names or beginnings of files tell beyond doubt, if they do.
    """
    own, name = FORMATS[format_of(part)], format or _told_format(data)
    other = own if name is None else FORMATS[name]
    if other.brings_form or other == own or (other.reader, other.settled) == (own.reader, own.settled):
        return part
    if own.numbered or other.numbered:
        raise DataError(
            f"{expand(data)[0]} is {other.name}, but the model was trained on {own.name}, where features have other "
            f"names: give it {own.name}, or say --format {own.name} if it is that after all"
        )
    kept = [name for name in other.options if name in own.options and name not in {*own.settled, *other.settled}]
    alike = {name: part.parameters[name] for name in (*kept, "labelled")}
    return cast(Part, other.reader(**alike, **other.settled))


def format_of(part: Part) -> str:
    """The format that a part reads."""
    inner = part.form if isinstance(part, OneLabel) else part
    fitting = (form for form in FORMATS.values() if form.reads_as(inner))
    return max(fitting, key=lambda form: (len(form.settled), form.owns_reader)).name


def _told_format(data: Any) -> str | None:
    """The format that names or beginnings of files tell beyond doubt."""
    paths = expand(data)
    if any(_by_name(path) for path in paths):
        return detect(paths)
    found = by_content(head_of(paths[0]) or b"")
    return found if FORMATS[found].certain else None


def stream_of(
    data: Any,
    part: Part,
    threads: int = 0,
    on_error: OnError = "stop",
    *,
    dictionary: Dictionary | None = None,
    labelled: bool = True,
    whole: bool = True,
    notices: Notices | None = None,
    follow: Follow | None = None,
) -> Stream:
    """The rows of data that are to be read as this part says. A table fits every format that has named columns.

    A `dictionary` takes up the names of features, `notices` what the first rows show of columns. With
    `labelled=False` tables may lack target and weight, with `whole=False` the other columns that the part names. The
    last file is read as it grows until `follow` is ended; that must be text.
    """
    if on_error not in ("stop", "skip"):
        raise DataError(f"on_error must be 'stop' or 'skip', got {on_error!r}")
    skip = on_error == "skip"
    if isinstance(part, Cached):
        part = form_of_caches(expand(data), part)
    if "labelled" in part.parameters:
        part = replace(cast(Any, part), labelled=labelled and cast(Any, part).labelled, whole=whole)
    if has_arrow_stream(data):
        return _table_stream((data,), part, threads, skip, notices, dictionary)
    paths = tuple(expand(data))
    caches = all(_by_name(path) == CACHE for path in paths)
    if follow is not None and (caches or not isinstance(part, OneLabel | TextFormat)):
        raise DataError(f"{paths[-1]} is no text, which alone can be followed while it is written")
    if caches:
        return _cache_stream(paths, part, skip, dictionary, notices)
    if isinstance(part, OneLabel):
        return TextStream(paths, part.form, threads, skip, dictionary, part.positive, follow=follow)
    if isinstance(part, TextFormat):
        return TextStream(paths, part, threads, skip, dictionary, notices=notices, follow=follow)
    if isinstance(part, Tabular):
        return _table_stream(paths, part, threads, skip, notices, dictionary)
    raise DataError(f"{part!r} is no format of data")


# ---- options --------------------------------------------------------------------------------------------------------


def _names(names: Sequence[str]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names)


def _check_options(format: str, given: dict[str, Any]) -> None:
    if format not in FORMATS:
        raise DataError(f"unknown format {format!r}: it must be one of {', '.join(FORMATS)}")
    for name in given:
        if name not in FORMATS[format].options:
            fitting = ", ".join(FORMATS[format].options)
            raise DataError(f"{name} does not fit {format} data, whose options are {fitting}")


def _with_positive(form: Any, positive: str | None) -> Part:
    if positive is None:
        return cast(Part, form)
    try:
        value = float(positive)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"positive must be a number, as all labels of this format are; got {positive!r}")
    return OneLabel(form, value)


def form_of_caches(paths: Sequence[str], wanted: Cached) -> Part:
    """How the rows of caches were read, with labels as is wanted."""
    from lowregret.stream.cache import cached_form

    know_formats()
    found = cached_form(paths, wanted)
    return found if isinstance(found, Tabular) else _with_positive(found, wanted.positive or None)


def _cache_stream(
    paths: tuple[str, ...], part: Part, skip: bool, dictionary: Dictionary | None, notices: Notices | None
) -> Stream:
    from lowregret.stream.cache import CacheStream

    know_formats()
    form, positive = (part.form, part.positive) if isinstance(part, OneLabel) else (part, None)
    return CacheStream(paths, form, skip, dictionary, positive, notices)


def _table_stream(
    tables: tuple[Any, ...],
    part: Part,
    threads: int,
    skip: bool,
    notices: Notices | None,
    dictionary: Dictionary | None,
) -> Stream:
    from lowregret.stream.arrow_rows import TableStream
    from lowregret.stream.formats.parquet import TableFormat

    if not isinstance(part, TableFormat):
        if not isinstance(part, Tabular):
            raise DataError(f"a table has named columns and cannot be read as {type(part).__name__}")
        part = TableFormat(**{name: part.parameters[name] for name in Tabular.__dataclass_fields__})
    return TableStream(tables, part, threads, skip, notices, dictionary)


# ---- which format ---------------------------------------------------------------------------------------------------


def know_formats() -> None:
    """Import all formats, so that a stored one can be made again."""
    tuple(FORMATS.values())


def detect(data: Any) -> str:
    """The format of data, by the names of files or else by how the first begins."""
    if has_arrow_stream(data):
        return "arrow"
    paths = expand(data)
    named = {form: path for path in paths if (form := _by_name(path))}
    if len(named) > 1:
        one, other = list(named.values())[:2]
        raise DataError(f"{one} and {other} seem to be of different formats: read them separately, or say which it is")
    if named:
        return next(iter(named))
    head = head_of(paths[0])
    if head is None:
        name = "standard input" if paths[0] == STDIN else paths[0]
        raise DataError(f"say which format {name} has: {', '.join(FORMATS)}")
    return by_content(head)


def _by_name(path: str) -> str | None:
    parts = os.path.basename(path).lower().split(".")[1:]
    while parts and parts[-1] in _COMPRESSED:
        parts.pop()
    return by_ending(parts[-1]) if parts else None


def head_of(path: str) -> bytes | None:
    """How a file begins, decompressed; None for a pipe, whose bytes come only once. Refuses what holds no rows."""
    if is_pipe(path):
        return None
    source = Source(path)
    head = bytearray(HEAD)
    with memoryview(head) as view:
        end = source.readinto(view)
    source.close()
    text = bytes(head[:end])
    if b"\0" in text[:_FEW] and not is_binary(text):
        raise DataError(f"{path} holds no rows: it is no text, for it has zero bytes (formats: {', '.join(FORMATS)})")
    return text
