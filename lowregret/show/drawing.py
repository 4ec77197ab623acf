"""Figures drawn as files. Needs the extra `plot` (matplotlib), which is imported only here."""

from __future__ import annotations

import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from lowregret.errors import LowRegretError, StoreError
from lowregret.store.replacing import with_ending, write_result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETTINGS = "matplotlibrc"
BY_LATEX = "pgf"  # a kind of picture of which LaTeX is asked how wide texts are


def figure_class() -> type[Figure]:
    """The class of figures, of Matplotlib without settings of the folder where one is.

    Matplotlib takes a `matplotlibrc` there for the user's, though whoever made the folder may have put it there, and
    draws by LaTeX if it says so. One that the program imported before has the settings that it has.
    """
    try:
        with _without_settings_here() if "matplotlib" not in sys.modules else nullcontext():
            from matplotlib.figure import Figure
    except ImportError:
        raise LowRegretError("plots need matplotlib: pip install 'lowregret[plot]'") from None
    except (ValueError, RuntimeError) as error:  # of settings that cannot be read
        raise LowRegretError(f"Matplotlib cannot begin: {error}; mend your {SETTINGS}") from None
    return Figure


def require_kind(figure: Figure, path: str | os.PathLike[str] | None) -> None:
    """Raise `StoreError` if a picture's ending names no kind of picture that is drawn."""
    known, ending = figure.canvas.get_supported_filetypes(), os.path.splitext(path or "")[1][1:].lower()
    if ending and (ending not in known or ending == BY_LATEX):
        raise StoreError(f"cannot write {path}: there is no kind of picture .{ending}; use .png, .svg or .pdf")


def write_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Draw a figure into a file, a PNG if its name does not say."""
    require_kind(figure, path)
    place = with_ending(path, ".png")
    write_result(place, drawn(figure, os.path.splitext(place)[1][1:].lower() or "png", dpi=150))


def drawn(figure: Figure, kind: str, **how: Any) -> bytes:
    """A figure as a picture of a kind; raises `StoreError` if settings of the user's make that impossible."""
    import matplotlib
    from matplotlib.text import Text

    drawing = io.BytesIO()
    try:
        with _quiet(), matplotlib.rc_context({"text.usetex": False}):
            for text in figure.findobj(Text):
                text.set_usetex(False)  # names of columns are no formulas, nor anything else that LaTeX is to run
            figure.savefig(drawing, format=kind, **how)
    except (MemoryError, OSError):
        raise
    except Exception as error:
        raise StoreError(
            f"cannot draw: {error}; are your settings of Matplotlib ({SETTINGS}) as they should be?"
        ) from None
    return drawing.getvalue()


@contextmanager
def _without_settings_here() -> Iterator[None]:
    """Let a file of settings in this folder seem not to be there."""
    known = os.path.exists
    os.path.exists = lambda path: path != SETTINGS and known(path)
    try:
        yield
    finally:
        os.path.exists = known


@contextmanager
def _quiet() -> Iterator[None]:
    """Say nothing of letters that fonts lack, or of transparency that a kind of picture lacks."""
    log = logging.getLogger("matplotlib")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            yield
    finally:
        log.setLevel(level)
