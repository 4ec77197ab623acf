"""All pages, and the rows of the certificate table that must have one."""

from __future__ import annotations

from benchmarks.gallery.batch import BATCH
from benchmarks.gallery.classes import COVER, FINITE
from benchmarks.gallery.exhibit import Exhibit
from benchmarks.gallery.failures import FAILURES
from benchmarks.gallery.regret import REGRET
from benchmarks.gallery.rows import OTHERS

EXHIBITS: tuple[Exhibit, ...] = (*FINITE, *REGRET, *OTHERS, *BATCH, *FAILURES, COVER)

# IDs of certificates that must have a page, and what must be seen to fail (docs/errata.md)
TABLE = (
    "COR-1.1", "THM-1.2", "SURR-M", "SURR-M+", "THM-1.3", "LEM-2.1", "COR-2.2", "FTL-QUAD-ID", "FTRL-ID", "LEM-2.3",
    "THM-2.11",
    "DOUBLING", "THM-2.4", "EQ-2.15", "COR-2.13", "COR-2.17", "LAZY+", "COR-2.14", "THM-2.15", "THM-2.21", "LEM-2.20",
    "THM-2.22", "THM-2.23", "COR-2.18", "THM-3.1", "THM-14.15", "LEM-3.2", "LEM-3.3", "THM-3.6", "PERC-OBS",
    "PERC-ROOT", "THM-3.9", "PERC-MARGIN", "THM-14.2", "MC-OBS", "THM-3.10", "WIN-OBS", "COR-4.2", "EXP3-PATH",
    "COR-4.5", "THM-5.1", "COR-5.2", "PROP-3", "PROP-4", "O2B-SMALL", "O2B-HP", "THM-14.9", "COR-13", "THM-14.5",
    "THM-14.6", "EQ-8", "THM-14.11", "THM-14.12", "EAGER-DEC", "DYN", "DELAY", "recalled delay bound (M)", "ONLINE-SVM",
    "STRUCT",
)  # fmt: skip
FAILING = ("DEMO-FTL-FAIL", "DEMO-COVER", "E02", "E13", "E14", "E23", "E30", "E38", "E40")


def missing() -> list[str]:
    """IDs without a page."""
    shown = {name for e in EXHIBITS for name in e.ids}
    return [name for name in TABLE + FAILING if name not in shown]
