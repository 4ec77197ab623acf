"""Tables in text whose fields are separated by tabs: read as CSV."""

from __future__ import annotations

from lowregret.stream.columns import MEANING
from lowregret.stream.formats import Format
from lowregret.stream.formats.csv import FORMAT as CSV
from lowregret.stream.formats.csv import DelimitedText

FORMAT = Format(
    "tsv",
    ("tsv", "tab"),
    DelimitedText,
    CSV.options,
    "as csv, with tabs",
    MEANING,
    settled={"delimiter": "\t"},
    sample="y\ta\tb\n1\t0.5\tx\n-1\t1\tz\n",
)
