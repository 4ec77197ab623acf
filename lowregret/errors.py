"""All errors raised on purpose: a `LowRegretError` names cause and remedy, and what was learnt before stands."""

from __future__ import annotations


class LowRegretError(Exception):
    """Base of all errors raised on purpose."""


class PartError(LowRegretError, ValueError):
    """A part was given a parameter, or a partner, that makes no sense."""


class DataError(LowRegretError, ValueError):
    """The data cannot be learnt from: says which row, feature and value."""


class DivergedError(LowRegretError, ArithmeticError):
    """The iterate overflowed although the data are finite."""


class StoreError(LowRegretError, OSError):
    """A model file cannot be read or written."""


class CheckError(StoreError):
    """A model fails its own check, which is a fault of this package: as `load` would refuse it, it is not written."""


class AbsentError(LowRegretError, ImportError):
    """An extra that is needed is not installed."""


class BoundsError(IndexError):
    """Compiled code was about to read or write outside an array, and did not: what it was changing is lost.

    It is no `LowRegretError`: nothing that goes on, or keeps the rows before, when a row is refused may do so here.
    """
