"""Arrow's files and streams: read as Parquet."""

from __future__ import annotations

from lowregret.stream.columns import MEANING, OPTIONS
from lowregret.stream.formats import Format
from lowregret.stream.formats.parquet import TableFormat

FORMAT = Format(
    "arrow",
    ("arrow", "arrows", "feather", "ipc"),
    TableFormat,
    OPTIONS,
    "a table (`pip install 'lowregret[arrow]'`), or one in memory",
    MEANING,
    magic=(b"ARROW1", b"\xff\xff\xff\xff"),
    certain=True,
)
