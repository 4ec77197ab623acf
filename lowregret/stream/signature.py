"""Files that are no rows, told by how they begin: pictures, archives, documents."""

from __future__ import annotations

_BEGINNINGS = {
    b"\x89PNG": "a picture (PNG)",
    b"\xff\xd8\xff": "a picture (JPEG)",
    b"GIF8": "a picture (GIF)",
    b"%PDF-": "a PDF document",
    b"PK\x03\x04": "a zip archive or an office document: unpack it, or save the table as CSV",
    b"7z\xbc\xaf": "a 7z archive: unpack it",
    b"Rar!": "a rar archive: unpack it",
    b"\xd0\xcf\x11\xe0": "an office document: save the table as CSV",
    b"SQLite f": "an SQLite database: export the table as CSV",
    b"\x89HDF": "an HDF5 file: save the table as CSV or Parquet",
    b"\x93NUMPY": "a NumPy array: load it in Python, or save it as CSV",
    b"\xff\xfe": "UTF-16 text: save it as UTF-8",
    b"\xfe\xff": "UTF-16 text: save it as UTF-8",
}
LENGTH = max(map(len, _BEGINNINGS))


def no_rows(head: bytes) -> str | None:
    """The kind of file that begins like this and holds no rows, with a remedy if there is one."""
    return next((what for start, what in _BEGINNINGS.items() if head.startswith(start)), None)
