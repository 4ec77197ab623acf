"""The words of a text, in compiled code: what they are, and what they are hashed to.

A word is a run of letters, digits and marks, apostrophes and hyphens inside it included, in lower case. Up to U+07FF
(Latin, Greek, Cyrillic, Hebrew, Arabic …) that is what Unicode says; beyond, everything is a letter and stays as it is
but for the blocks of punctuation. Typographic apostrophes and hyphens are plain ones. Bytes that are not UTF-8 are
letters, too.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from lowregret.stream.buffers import WORDS, WORDS_ESCAPED, Buffers, add, record
from lowregret.stream.columns import Columns, hash_byte, hash_end
from lowregret.stream.json_text import character

_U = np.uint64
_ZERO, _ONE, _TWO, _THREE, _SIX, _EIGHT = (_U(k) for k in (0, 1, 2, 3, 6, 8))
_APOSTROPHE, _HYPHEN, _BLANK = (_U(ord(c)) for c in "'- ")
_ASCII, _LOW_SIX = _U(0x80), _U(0x3F)


def _in_a_word(code: int) -> int:
    """A character as it is in a word: its lower case, if that has as many bytes; 0 if it is in none."""
    one = chr(code)
    if not (one in "'-" or one.isalnum() or unicodedata.category(one).startswith("M")):
        return 0
    lower = one.lower()
    return ord(lower) if len(lower) == 1 and len(lower.encode()) == len(one.encode()) else code


_FOLDED = np.array([_in_a_word(code) for code in range(0x800)], np.uint16)


def fold(text: Any, k: Any, end: Any, escaped: bool) -> tuple[Any, Any, Any]:
    """The character at k as it is in a word: its bytes, the first lowest; how many, 0 if it is in none; where it ends.

    `escaped`: the text has escapes as in JSON.
    """
    packed, count, after = _U(text[k]), _ONE, k + _ONE
    if escaped:
        packed, count, after = character(text, k)
    if packed < _ASCII:
        low = _U(_FOLDED[packed])
        return low, _ONE if low > _ZERO else _ZERO, after
    if count == _ONE:
        packed, count = _gather(text, k, end)
        after = k + count
    packed, count = _beyond_ascii(packed, count)
    return packed, count, after


def _gather(text: Any, k: Any, end: Any) -> tuple[Any, Any]:
    """The bytes of the character in UTF-8 that begins at k, and how many; only the first if it is not valid."""
    lead = _U(text[k])
    count = _ONE
    if _U(0xC2) <= lead < _U(0xF5):
        count = _TWO if lead < _U(0xE0) else _THREE if lead < _U(0xF0) else _U(4)
    if k + count > end:
        return lead, _ONE
    packed = lead
    for j in range(1, count):
        byte = _U(text[k + _U(j)])
        if byte >> _SIX != _TWO:
            return lead, _ONE
        packed |= byte << (_EIGHT * _U(j))
    return packed, count


def _beyond_ascii(packed: Any, count: Any) -> tuple[Any, Any]:
    """A character of two bytes or more as it is in a word; a single byte is none, and stays."""
    if count == _TWO:
        low = _U(_FOLDED[(packed & _U(0x1F)) << _SIX | (packed >> _EIGHT) & _LOW_SIX])
        if low == _ZERO:
            return _ZERO, _ZERO
        return _U(0xC0) | low >> _SIX | (_U(0x80) | (low & _LOW_SIX)) << _EIGHT, _TWO
    if count == _THREE:
        code = (packed & _U(15)) << _U(12) | ((packed >> _EIGHT) & _LOW_SIX) << _SIX | (packed >> _U(16)) & _LOW_SIX
        if code == _U(0x2019):
            return _APOSTROPHE, _ONE
        if code == _U(0x2010) or code == _U(0x2011):
            return _HYPHEN, _ONE
        general, cjk = _U(0x2000) <= code < _U(0x2070), _U(0x3000) <= code < _U(0x3040)
        wide = _U(0xFF00) <= code < _U(0xFF10) or _U(0xFF1A) <= code < _U(0xFF21)
        if general or cjk or wide:
            return _ZERO, _ZERO
    return packed, count


def _joins(packed: Any) -> bool:
    """Whether a character belongs to a word only between others."""
    return packed in (_APOSTROPHE, _HYPHEN)


def word_start(text: Any, k: Any, end: Any, escaped: bool) -> Any:
    """Where the first word from k on begins; `end` if there is none."""
    while k < end:
        packed, count, after = fold(text, k, end, escaped)
        if count > _ZERO and not _joins(packed):
            return k
        k = after
    return end


def letter(text: Any, k: Any, end: Any, escaped: bool) -> tuple[Any, Any, Any]:
    """The character at k of a word, as `fold` returns it; 0 bytes if the word ends before k."""
    packed, count, after = fold(text, k, end, escaped)
    if _joins(packed):
        following, size, _ = fold(text, after, end, escaped) if after < end else (_ZERO, _ZERO, after)
        if size == _ZERO or _joins(following):
            count = _ZERO
    return packed, count, after


def hash_word(
    h: Any, pending: Any, length: Any, text: Any, k: Any, end: Any, escaped: bool
) -> tuple[Any, Any, Any, Any]:
    """A hash under way after the word that begins at k, and where that ends."""
    while k < end:
        packed, count, after = letter(text, k, end, escaped)
        if count == _ZERO:
            break
        for _ in range(count):
            h, pending, length = hash_byte(h, pending, length, packed & _U(255))
            packed >>= _EIGHT
        k = after
    return h, pending, length, k


def write_words(text: Any, k: Any, end: Any, escaped: bool, to: Any, at: Any) -> Any:
    """Write the words from k to `end`, where one begins and one ends, as they are hashed; returns where they end."""
    while k < end:
        packed, count, after = letter(text, k, end, escaped)
        if count == _ZERO:
            packed, count, after = _BLANK, _ONE, word_start(text, k, end, escaped)
        for _ in range(count):
            to[at] = packed & _U(255)
            packed >>= _EIGHT
            at += _ONE
        k = after
    return at


def add_words(
    chosen: Columns,
    column: Any,
    text: Any,
    begin: Any,
    end: Any,
    escaped: bool,
    out: Buffers,
    entry: Any,
    name: Any,
    name_end: Any,
) -> Any:
    """Add `column=word` for each word of text[begin:end], and `column=word word` and so on up to n of them.

    Returns the end of the entries. Cost: O(n · length). `name`, `name_end`: the column's, as `record` wants it.
    """
    at = _U(column) * _THREE
    start = word_start(text, begin, end, escaped)
    while start < end:
        h, pending, length = chosen.states[at], chosen.states[at + _ONE], chosen.states[at + _TWO]
        k, following = start, end
        for n in range(chosen.ngrams):
            h, pending, length, stop = hash_word(h, pending, length, text, k, end, escaped)
            add(out, entry, hash_end(h, pending, length) & chosen.mask(), 1.0)
            record(out, out.columns[entry], name, name_end, start, stop, WORDS_ESCAPED if escaped else WORDS)
            entry += 1
            k = word_start(text, stop, end, escaped)
            if n == 0:
                following = k
            if k >= end:
                break
            h, pending, length = hash_byte(h, pending, length, _BLANK)
        start = following
    return entry
