"""Arrow's encodings undone, and how much they become: dictionaries, runs and views repeat what a file holds once.

A kilobyte of them may stand for any number of long texts or lists. So what rows become is counted before anything is
made of them, and record batches are taken in pieces that fit into memory. Needs pyarrow.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lowregret.errors import DataError
from lowregret.types import Vector

LETTERS = 16  # bytes of text that take as much memory as a field
MOST_RUNS = 1 << 26  # elements of an array with runs that are made at once
MOST_TEXT = 1 << 30  # bytes of the texts of a dictionary or of lists, where they are views of the same bytes


def pieces(table: Any, most: float) -> Iterator[Any]:
    """The rows of a record batch in order, some at a time: one, or as many as have at most `most` fields unpacked."""
    sizes = sum(_sizes(column) for column in table.columns)
    yield from _halves(table, np.broadcast_to(np.asarray(sizes, np.float64), table.num_rows), most)


def _halves(table: Any, sizes: Vector, most: float) -> Iterator[Any]:
    """A record batch, cut in half until rows times the size of the largest are at most this."""
    if table.num_rows <= 1 or table.num_rows * float(sizes.max()) <= most:
        yield table
        return
    middle = table.num_rows // 2
    yield from _halves(table.slice(0, middle), sizes[:middle], most)
    yield from _halves(table.slice(middle), sizes[middle:], most)


def _sizes(array: Any) -> Any:
    """Fields that each element becomes, its text counted by `LETTERS`; a number if it is the same for all."""
    import pyarrow as pa

    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return _sizes(array.storage)
    if is_encoded(kind):
        return _sizes_encoded(array)
    if pa.types.is_struct(kind):
        return 1.0 + sum(_sizes(array.field(k)) for k in range(kind.num_fields))
    if is_list(kind):
        values, begins, lengths = elements(array)
        inner = _sizes(values)
        if np.ndim(inner) == 0:
            return 1.0 + lengths * float(inner)
        before = np.concatenate([[0.0], np.cumsum(inner)])
        return 1.0 + before[begins + lengths] - before[begins]
    return 1.0 + _lengths(array) / LETTERS if is_text(kind) else 1.0


def _sizes_encoded(array: Any) -> Any:
    """`_sizes` of an array with a dictionary or runs."""
    import pyarrow as pa

    has_runs = pa.types.is_run_end_encoded(array.type)
    values = array.values if has_runs else array.dictionary
    inner: Any = _sizes(values) if len(values) else 1.0
    return inner if np.ndim(inner) == 0 else inner[_runs(array) if has_runs else codes(array)]


def _lengths(array: Any) -> Any:
    """The bytes of each text."""
    import pyarrow as pa

    kind, begin = array.type, array.offset
    if pa.types.is_fixed_size_binary(kind):
        return float(kind.byte_width)
    place = array.buffers()[1]
    if place is None or not len(array):
        return 0.0
    if _is_view(kind):
        views = np.frombuffer(place, np.int32, 4 * (begin + len(array)))[4 * begin :: 4]
        return np.where(np.asarray(array.is_valid()), views, 0).astype(np.float64)
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    return np.diff(np.frombuffer(place, np.int64 if wide else np.int32, begin + len(array) + 1)[begin:]).astype(float)


def plain(array: Any) -> Any:
    """An array without extension types and encodings, but for dictionaries of texts, in which none is null."""
    import pyarrow as pa

    kind = array.type
    if isinstance(array, pa.ExtensionArray):
        return plain(array.storage)
    if is_encoded(kind) and is_text(kind.value_type):
        return _with_dictionary(array)
    if pa.types.is_run_end_encoded(kind):
        _require_few(array)
        return plain(pa.compute.run_end_decode(array))
    if pa.types.is_dictionary(kind):
        return plain(array.dictionary_decode())
    if _is_view(kind):
        size = np.sum(_lengths(array))
        if size > MOST_TEXT:
            raise DataError(f"texts of {size:,.0f} bytes in views cannot be read: store them otherwise, or drop them")
        return array.cast(pa.large_string() if pa.types.is_string_view(kind) else pa.large_binary())
    return array


def _with_dictionary(array: Any) -> Any:
    """Texts that have a dictionary or runs as ones with a dictionary that has no null."""
    import pyarrow as pa

    runs = pa.types.is_run_end_encoded(array.type)
    if not runs and len(array.dictionary) > len(array):
        array = _with_used(array)
    texts = plain(array.values if runs else array.dictionary)
    if not runs and not texts.null_count and texts.type == array.type.value_type:
        return array
    which = pa.array(_runs(array)) if runs else array.indices
    if texts.null_count:
        known = texts.is_valid().take(which).fill_null(False)
        which = pa.compute.if_else(known, which, pa.scalar(None, which.type))
        width = texts.type.byte_width if pa.types.is_fixed_size_binary(texts.type) else 0
        texts = texts.fill_null(pa.scalar(bytes(width), pa.binary(width or -1)).cast(texts.type))
    return pa.DictionaryArray.from_arrays(which, texts)


def _with_used(array: Any) -> Any:
    """An array whose dictionary has no entries but those used, and the first if null is its code."""
    import pyarrow as pa

    used, which = np.unique(codes(array), return_inverse=True)
    mask = np.asarray(array.indices.is_null())
    return pa.DictionaryArray.from_arrays(pa.array(which, mask=mask), _entries(array.dictionary, used))


def _entries(texts: Any, used: NDArray[np.int64]) -> Any:
    """Texts of a dictionary by their numbers: Arrow takes none of those that are views."""
    import pyarrow as pa

    if not _is_view(texts.type):
        return texts.take(pa.array(used))
    return pa.concat_arrays([texts.slice(0, 0), *(texts.slice(k, 1) for k in used.tolist())])


def _is_view(kind: Any) -> bool:
    """Whether texts are views of bytes that they may share."""
    import pyarrow as pa

    return bool(pa.types.is_string_view(kind) or pa.types.is_binary_view(kind))


def codes(array: Any) -> NDArray[np.int64]:
    """Which entry of its dictionary each element has; 0 for null."""
    import pyarrow as pa

    return np.asarray(array.indices.fill_null(0).cast(pa.int64()))


def _runs(array: Any) -> NDArray[np.int64]:
    """The number of the run that each element is in."""
    _require_few(array)
    first, count = array.find_physical_offset(), array.find_physical_length()
    ends = np.asarray(array.run_ends).astype(np.int64)[first : first + count] - array.offset
    return first + np.repeat(np.arange(count), np.diff(np.minimum(ends, len(array)), prepend=0))


def _require_few(array: Any) -> None:
    """Refuse runs that are too long in all."""
    if len(array) > MOST_RUNS:
        raise DataError(f"an array of {len(array):,} elements in runs cannot be read: store it in smaller batches")


def elements(array: Any) -> tuple[Any, NDArray[np.int64], NDArray[np.int64]]:
    """The values of lists, as far as they have some, where those of each list begin, and how many there are."""
    import pyarrow as pa

    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        begins = np.arange(array.offset, array.offset + len(array), dtype=np.int64) * size
        lengths = np.full(len(array), size, np.int64)
    elif is_view(array.type):
        begins, lengths = (np.asarray(extent).astype(np.int64) for extent in (array.offsets, array.sizes))
    else:
        offsets = np.asarray(array.offsets).astype(np.int64)
        begins, lengths = offsets[:-1], np.diff(offsets)
    lengths = np.where(np.asarray(array.is_valid()), lengths, 0)
    some = lengths > 0
    first, last = int(begins[some].min(initial=len(array.values))), int((begins + lengths)[some].max(initial=0))
    return array.values.slice(first, max(last - first, 0)), np.where(some, begins - first, 0), lengths


def fields_of(array: Any) -> list[Any]:
    """The fields of structs as plain arrays, null where their struct is."""
    import pyarrow as pa

    found = [plain(array.field(k)) for k in range(array.type.num_fields)]
    if not (found and array.null_count):
        return found
    names = [str(k) for k in range(len(found))]
    return list(pa.StructArray.from_arrays(found, names, mask=array.is_null()).flatten())


def value_kind(kind: Any) -> Any:
    """The type that values have once extension types and encodings are undone."""
    import pyarrow as pa

    if isinstance(kind, pa.BaseExtensionType):
        return value_kind(kind.storage_type)
    return value_kind(kind.value_type) if is_encoded(kind) else kind


def is_encoded(kind: Any) -> bool:
    """Whether arrays of this type have a dictionary or runs."""
    from pyarrow import types

    return bool(types.is_dictionary(kind) or types.is_run_end_encoded(kind))


def is_list(kind: Any) -> bool:
    """Whether a type is of lists."""
    from pyarrow import types

    known = (types.is_list, types.is_large_list, types.is_fixed_size_list, is_view)
    return any(test(kind) for test in known)


def is_view(kind: Any) -> bool:
    """Whether a type is of lists that are views, which may overlap, of their values."""
    from pyarrow import types

    return bool(types.is_list_view(kind) or types.is_large_list_view(kind))


def is_text(kind: Any) -> bool:
    """Whether a type is of texts or bytes."""
    from pyarrow import types

    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    views = (types.is_string_view, types.is_binary_view, types.is_fixed_size_binary)
    return any(test(kind) for test in (*texts, *views)) and not types.is_decimal(kind)
