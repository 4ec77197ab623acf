"""Caches of rows that were read before, by `lowregret convert`: see `stream/cache.py`."""

from __future__ import annotations

from lowregret.compile.part import Part
from lowregret.stream.formats import Format


class Cached(Part):
    """Rows of a cache, read as those it was made of; labels as these options say."""

    positive: str = ""  # the label that counts as +1; none: labels are as they are
    classes: bool = False

    @classmethod
    def from_options(cls, options: dict[str, object]) -> Cached:
        """The part for options of `read` that fit."""
        return cls(**options)  # type: ignore[arg-type]


FORMAT = Format(
    "lrc",
    ("lrc",),
    Cached,
    ("positive", "classes"),
    "a cache that `lowregret convert` made of other files (`pip install 'lowregret[arrow]'`)",
    "those of the files it was made of",
    certain=True,
    brings_form=True,
)
