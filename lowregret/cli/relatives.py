"""Price relatives from a table: of prices, or as they are, unless they cannot be relatives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from lowregret.errors import DataError
from lowregret.stream.table import Table

FEW = 20  # rows from which on a column tells what it holds
STEEP = 25.0  # ln of what no asset has ever become
APART = 0.05  # mean of |ln x| of a column that never crosses 1, from which on it holds no relatives


def relatives_of(table: Table, names: list[str], x: Any, prices: bool) -> tuple[Table, Any]:
    """Price after / price before, NaN where an asset is not listed, and the table whose rows these are."""
    if not prices:
        _refuse_prices(table, names, x)
        return table, x
    _refuse_relatives(table, x)
    _require_prices(table, names, x)
    with np.errstate(invalid="ignore"):
        found = x[1:] / x[:-1]
    first = int(np.argmax(~np.isnan(found).all(1))) if found.size else 0
    found = found[first:]
    if not found.size or np.isnan(found).all():
        raise DataError(f"{table.name} has no asset with two prices in a row: nothing can be invested")
    empty = np.flatnonzero(np.isnan(found).all(1))
    if empty.size:
        raise DataError(f"{table.place(first + 1 + int(empty[0]))}: no asset has a price: leave such rows out")
    left = {name: cells[first + 1 :] for name, cells in table.columns.items()}  # of the moments at which they are known
    return replace(table, columns=left, first=table.first + 1 + first), found


def _require_prices(table: Table, names: list[str], x: Any) -> None:
    """Refuse prices that are not positive, and those that are missing between others."""
    bad = np.argwhere(x <= 0)
    if bad.size:
        row, i = bad[0].tolist()
        raise DataError(f"{table.place(row)}: {x[row, i]:g} in column {names[i]!r}: expected a price above 0")
    known = ~np.isnan(x)
    inside = (np.cumsum(known, axis=0) > 0) & (np.cumsum(known[::-1], axis=0)[::-1] > 0) & ~known
    if inside.any():
        row, i = np.argwhere(inside)[0].tolist()
        raise DataError(
            f"{table.place(row)}: column {names[i]!r} has no price between others that it has: fill it in "
            "(cells may be empty before an asset is listed, and after it is delisted)"
        )


def _refuse_prices(table: Table, names: list[str], x: Any) -> None:
    """Refuse columns whose numbers are not near 1, never cross it, or multiply to what nothing ever became."""
    for i, name in enumerate(names):
        column = x[:, i][x[:, i] > 0]
        if not column.size:
            continue
        logs, typical = np.log(column), float(np.median(column))
        aside = column.size >= FEW and (column.min() > 1 or column.max() < 1) and abs(logs.mean()) > APART
        if not 0.5 <= typical <= 2 or aside or abs(logs.sum()) > STEEP:
            raise DataError(
                f"{table.name}: column {name!r} holds numbers around {typical:g}, whose product over "
                f"{column.size:,} rows is e^{logs.sum():.3g}: expected price relatives, price after / price before. "
                "If these are prices, say --prices; if it is no asset, --drop it"
            )


def _refuse_relatives(table: Table, x: Any) -> None:
    """Refuse a table of prices all of which lie around 1 and forget the price before, as relatives do."""
    for column in x.T:
        logs = np.log(column[column > 0])
        if logs.size < FEW or abs(float(np.median(logs))) > 0.1 or np.ptp(logs) == 0:
            return
        away = logs - logs.mean()
        if away[1:] @ away[:-1] > 0.5 * (away @ away):
            return
    raise DataError(f"{table.name} seems to hold price relatives already: leave --prices out")
