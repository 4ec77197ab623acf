"""docs/book.md: what of the five source texts is where. `python -m tests.test_tables` makes its tables of rows."""

from __future__ import annotations

from tests.book.monograph import MONOGRAPH
from tests.book.others import CHAPTER, LECTURE, NOTES, SVM
from tests.book.row import Row

TEXTS: dict[str, tuple[Row, ...]] = {
    "Monograph": MONOGRAPH,
    "Lecture": LECTURE,
    "Chapter": CHAPTER,
    "Notes": NOTES,
    "SVM lecture": SVM,
}
