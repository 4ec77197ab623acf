"""Arrow's library, which need not be installed, and its errors as ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lowregret.errors import DataError, LowRegretError

OLDEST = 25  # version that tells which file is open, and takes texts of views


def pyarrow() -> Any:
    """The module, imported when it is asked for."""
    try:
        import pyarrow
    except ImportError:
        raise DataError(
            "tables, caches, Parquet and Arrow files need pyarrow: pip install 'lowregret[arrow]'"
        ) from None
    if int(pyarrow.__version__.partition(".")[0]) < OLDEST:
        raise DataError(
            f"pyarrow {pyarrow.__version__} cannot read all that tables may hold: pip install -U 'pyarrow>={OLDEST}'"
        )
    return pyarrow


@contextmanager
def arrow_errors(name: str) -> Iterator[None]:
    """Turn errors of Arrow, in reading or making use of the file or table of this name, into ours."""
    pa = pyarrow()
    try:
        yield
    except LowRegretError:
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {name}: {getattr(error, 'strerror', None) or error}") from None
    except ArithmeticError:
        raise DataError(f"cannot read {name}: a decimal number has no digits, or too many") from None
