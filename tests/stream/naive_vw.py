"""Vowpal Wabbit's text read with regular expressions, one line at a time: what the compiled parser is held against."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, field

PRIME = 16777619
_NUMBER = rb"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_PROPER = re.compile(rb" *(" + _NUMBER + rb")(?=[ \t|]|$)")
_SHAPED = re.compile(rb" *+(-?[0-9]*\.?[0-9]*)(?:[eE]-?[0-9]*)?(?=[ \t]|$)")
_BEGUN = re.compile(rb" *(?:" + _NUMBER + rb"|[+-]?(?i:inf|nan)|[\v\f])")
_NAME = re.compile(rb"[^ \t|:]*")
_WORD = re.compile(rb"[ \t]*([^ \t]+)")


class Fault(Exception):
    """The line cannot be read."""


@dataclass
class Row:
    label: float = math.nan
    weight: float = 1.0
    groups: list[tuple[int, list[tuple[int, float]]]] = field(default_factory=list)
    names: list[tuple[int, bytes]] = field(default_factory=list)

    def entries(self, bits: int, products: list[str]) -> dict[int, float]:
        """Slot and value, equal slots added up in order, products last."""
        plain = [entry for _, group in self.groups for entry in group]
        entries: dict[int, float] = {}
        for number, value in itertools.chain(plain, *(self._crossed(letters) for letters in products)):
            slot = number % 2**bits
            entries[slot] = entries[slot] + value if slot in entries else value
        return entries

    def _crossed(self, letters: str) -> list[tuple[int, float]]:
        """All combinations of entries of the groups with these first letters, equal letters next to each other."""
        choices = []
        for letter, repeated in itertools.groupby(letters):
            all_of_it = [entry for key, group in self.groups if key == ord(letter) for entry in group]
            choices.append(itertools.combinations_with_replacement(all_of_it, len(list(repeated))))
        found = []
        for combination in itertools.product(*choices):
            (number, value), *others = itertools.chain(*combination)
            for other, factor in others:
                number, value = (number * PRIME) % 2**64 ^ other, value * factor
            found.append((number, value))
        return found


def murmur3(data: bytes, seed: int) -> int:
    """MurmurHash3_x86_32 in whole numbers."""

    def rotated(x: int, by: int) -> int:
        return (x << by | x >> (32 - by)) % 2**32

    def scrambled(x: int) -> int:
        return rotated(x * 0xCC9E2D51 % 2**32, 15) * 0x1B873593 % 2**32

    h, whole = seed % 2**32, len(data) // 4 * 4
    for k in range(0, whole, 4):
        h = (rotated(h ^ scrambled(int.from_bytes(data[k : k + 4], "little")), 13) * 5 + 0xE6546B64) % 2**32
    h ^= scrambled(int.from_bytes(data[whole:], "little")) ^ len(data)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):
        h = (h ^ h >> shift) * factor % 2**32
    return h


def number_of(name: bytes, seed: int) -> int:
    """What a name is hashed to."""
    name = name.strip(bytes(range(33)))
    return (int(name or b"0") + seed) % 2**64 if not name.strip(b"0123456789") else murmur3(name, seed)


def read_line(line: bytes) -> Row | None:
    """The row of a line without its line feed; None if it is blank."""
    line = line.removeprefix(b"\xef\xbb\xbf").rstrip(b"\r")
    if not line.strip(b" \t\r"):
        return None
    head, bar, rest = line.partition(b"|")
    row = Row()
    _read_head(head.split(b"\t", 1)[-1], row)
    if b"\r" in rest:
        raise Fault
    at = 0
    while bar:
        at, bar = _read_namespace(rest, at, row)
    return row


def _read_head(head: bytes, row: Row) -> None:
    words = [word for word in head.split(b" ") if word]
    if words and (not head.endswith(b" ") or words[-1].startswith(b"'")):
        words.pop()
    if len(words) > 2 or not all(re.fullmatch(_NUMBER, word) and math.isfinite(float(word)) for word in words):
        raise Fault
    row.label, row.weight = (*map(float, words), *(math.nan, 1.0)[len(words) :])
    if row.weight < 0:
        raise Fault


def _read_namespace(text: bytes, at: int, row: Row) -> tuple[int, bytes]:
    """Read from behind a bar up to the next; returns where that ends, and the bar."""
    space = _NAME.match(text, at)[0]  # type: ignore[index]
    at += len(space)
    seed, scale, nameless = number_of(space, 0) if space else 0, 1.0, 0
    group: list[tuple[int, float]] = []
    row.groups.append((space[0] if space else ord(" "), group))
    if text[at : at + 1] == b":":
        value, at = _read_value(text, at + 1)
        if not space or value is None:
            raise Fault
        scale = value
    while at < len(text) and text[at : at + 1] != b"|":
        if text[at] in b" \t":
            at += 1
            continue
        begin, name = at, _NAME.match(text, at)[0]  # type: ignore[index]
        at += len(name)
        number, value, word = number_of(name, seed), scale, b""
        if text[at : at + 1] == b":":
            given, at = _read_value(text, at + 1)
            value = 1.0 if given is None else given * scale
            if math.isinf(value):
                raise Fault
            if given is None and (match := _WORD.match(text, at)):
                word, at = match[1], match.end()
                number = number_of(word, number)
            elif not name:
                number, nameless = seed + nameless, nameless + 1
        if value != 0.0:
            group.append((number, value))
            shown = text[begin:at] if word else name
            row.names.append((number, b"^".join([space, shown]) if space else shown))
    return at + 1, text[at : at + 1]


def _read_value(text: bytes, at: int) -> tuple[float | None, int]:
    """The number behind a colon and its end; None if there is a word or nothing."""
    tail = text[at:]
    if match := _PROPER.match(tail):
        if math.isinf(float(match[1])):
            raise Fault
        return float(match[1]), at + match.end()
    if (match := _SHAPED.match(tail)) and match.end() > 0:
        return float(match[1]) if match[1].strip(b"-.") else 0.0, at + match.end()
    if _BEGUN.match(tail):
        raise Fault
    return None, at
