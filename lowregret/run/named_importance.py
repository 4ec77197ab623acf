"""The columns that the kept model of a session goes by, by name: all features of a table's column count as one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from lowregret.errors import DataError
from lowregret.run.dependence import Dependence
from lowregret.run.importance import Importance
from lowregret.run.session import Session


def importance_by_name(session: Session) -> Importance | str:
    """The importance of columns on rows that the run kept; or why it cannot be told."""
    try:
        return session.run.importance(names=_names(session))
    except DataError as error:
        return str(error).partition(": give rows")[0]


def dependence_by_name(session: Session, found: Importance, most: int) -> list[Dependence]:
    """Partial dependence on the most important of those columns that are one feature, such as numbers."""
    names, positive = _names(session), None if session.signs is None else session.signs[0]
    called = list(names.values())
    single = [j for j, name in zip(found.features.tolist(), found.names, strict=True) if called.count(name) == 1]
    curves = [session.run.partial_dependence(j, names=names) for j in single[:most]]
    curves = [curve for curve in curves if curve.grid.size > 1]
    return [replace(one, what=one.what.replace("+1", positive)) if positive else one for one in curves]


def _names(session: Session) -> dict[int, str]:
    """The column that each feature of the kept rows belongs to, or its own name where there are no columns."""
    slots = np.unique(session.run._tried().rows.indices).tolist()
    return {slot: _name(session, slot) for slot in slots}


def _name(session: Session, slot: int) -> str:
    known = session.dictionary.names(slot) if session.dictionary is not None else []
    return " + ".join(dict.fromkeys(_column(session, name) for name in known)) or str(slot)


def _column(session: Session, name: str) -> str:
    """The column of a table that a feature is of: `colour` for `colour=red`; the feature itself if there is none."""
    owners = [column for column in session.met.columns if name == column or name.startswith(f"{column}=")]
    return max(owners, key=len, default=name)
