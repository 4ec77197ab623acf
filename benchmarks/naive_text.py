"""Words and dates as the documentation has them, in plain Python: what compiled parsers are compared with."""

from __future__ import annotations

import re
import unicodedata
from datetime import datetime, timedelta

PUNCTUATION = (range(0x2000, 0x2070), range(0x3000, 0x3040), range(0xFF00, 0xFF10), range(0xFF1A, 0xFF21))
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")

_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)(?:[Tt ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?([Zz]|[+-]\d\d(?::?\d\d)?)?)?", re.ASCII
)


def naive_words(text: str) -> list[str]:
    """The words of a text, in order."""
    return re.findall("[^\0'-]+(?:['-][^\0'-]+)*", "".join(map(_folded, text)))


def _folded(one: str) -> str:
    """A character as it is in words, or a nought byte."""
    if one in "'-\u2019\u2010\u2011":
        return "'" if one in "'\u2019" else "-"
    if ord(one) >= 0x800:
        return "\0" if any(ord(one) in block for block in PUNCTUATION) else one
    if not one.isalnum() and unicodedata.category(one)[0] != "M":
        return "\0"
    lower = one.lower()
    return lower if len(lower) == 1 and len(lower.encode()) == len(one.encode()) else one


def phrases(text: str, ngrams: int) -> list[str]:
    """All runs of up to so many words."""
    words = naive_words(text)
    return [" ".join(words[i : i + n]) for n in range(1, ngrams + 1) for i in range(len(words) - n + 1)]


def naive_date(text: str) -> dict[str, float]:
    """The features of a date, without the name of its column; ValueError if it is none."""
    found = _DATE.fullmatch(text.strip(" \t"))
    if not found:
        raise ValueError(f"{text!r} is no date")
    year, month, day, hour, minute, second = (int(part or 0) for part in found.groups()[:6])
    when = datetime(year, month, day, hour, minute, min(second, 59))
    if second > 60:
        raise ValueError(f"{text!r} has too many seconds")
    told = {f"weekday={WEEKDAYS[when.weekday()]}": 1.0, f"month={month}": 1.0}
    told |= {f"hour={hour}": 1.0} if found[4] else {}
    since = when - datetime(2000, 1, 1) + timedelta(seconds=second // 60) - _offset(found[8] or "")
    days = since.days + (since.seconds + int(f"{found[7] or ''}000000000"[:9]) / 1e9) / 86_400
    return told | ({"days": days} if days else {})


def _offset(text: str) -> timedelta:
    digits = re.sub("[^0-9]", "", text).ljust(4, "0")
    hours, minutes = int(digits[:2]), int(digits[2:4])
    if hours > 23 or minutes > 59:
        raise ValueError(f"{text!r} is no offset")
    return (-1 if text.startswith("-") else 1) * timedelta(hours=hours, minutes=minutes)
