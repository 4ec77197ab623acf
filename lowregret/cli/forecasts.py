"""Forecasts and outcomes from a table: which columns are experts, and what their numbers mean."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowregret.cli.forecast_losses import forecast_loss, names_where
from lowregret.cli.relatives import relatives_of
from lowregret.errors import DataError, PartError
from lowregret.experts.columns import off_scale, times, unused_origin, why_by_name, why_by_numbers
from lowregret.experts.scale import naive_scales
from lowregret.stream.table import Table
from lowregret.types import Vector
from lowregret.words import listed

OFF = 1e-6  # by how much probabilities may miss a sum of 1; they are made to have it


@dataclass
class Forecasts:
    """x[t, i] (with classes, x[t, i, k]) and y[t]; NaN is missing."""

    table: Table
    names: list[str]
    x: Any
    y: Vector
    parts: int = 1
    left_out: dict[str, str] = field(default_factory=dict)  # columns that are nobody's forecasts, and why not
    scale: Vector | None = None  # by which x and y were divided, row by row

    def place(self, row: int) -> str:
        return self.table.place(row)

    def unscaled(self, values: Any) -> Any:
        """Forecasts or outcomes in the units of the table."""
        return values if self.scale is None else (values.T * self.scale).T

    @property
    def warnings(self) -> list[str]:
        """Doubts about what the columns mean."""
        found = []
        if all(map(_is_number, self.table.columns)) and self.table.first > 1:
            found.append("all columns are called by numbers: if the first line is no header, say --no-header")
        found += [w for name in self.left_out if (w := unused_origin(name, self.table.columns[name]))]
        if self.parts == 1:
            said, came = self.unscaled(self.x), self.unscaled(self.y)
            found += [w for i, name in enumerate(self.names) if (w := off_scale(name, said[:, i], came))]
        return found

    @property
    def times(self) -> Any:
        """When the rows are, as `datetime64`, by the first column that says; None if none does."""
        told = {*self.names, *self.table.odd}
        others = (name for name in self.table.columns if name not in told)
        return next((found for name in others if (found := times(self.table.columns[name])) is not None), None)

    @property
    def unknown(self) -> int:
        return int(np.isnan(self.y).sum())

    @property
    def naps(self) -> int:
        """Rows in which some expert has no forecast."""
        return int(np.isnan(self.x.reshape(len(self.y), -1)).any(1).sum())


def read_forecasts(args: Namespace, table: Table) -> Forecasts:
    """The forecasts and outcomes of a table, read as the options say."""
    named = forecast_loss(args.loss)
    if args.classes and not named.many:
        raise PartError(f"--classes is for --loss {' and '.join(names_where('many'))}, not {args.loss}: leave it out")
    if args.odds and not args.classes:
        raise PartError("--odds needs --classes: the outcomes that the odds are for, such as --classes H,D,A")
    if named.is_portfolio:
        if args.target:
            raise PartError("a portfolio has no target: its columns are assets; leave --target out")
        names, left_out = _numeric(args, table, ())
        x = np.column_stack([table.numbers(name) for name in names])
        _require(table, names, x, x >= 0, "a price relative, price after / price before, from 0 on")
        rows, x = relatives_of(table, names, x, args.prices)
        return Forecasts(rows, names, x, np.ones(len(x)), left_out=left_out)
    if not args.target:
        raise PartError("say which column holds the outcome: --target COL")
    if args.classes:
        return _classes(args, table)
    names, left_out = _numeric(args, table, (args.target,))
    x, y = np.column_stack([table.numbers(name) for name in names]), table.numbers(args.target)
    if named.many:
        _require(table, names, x, (x >= 0) & (x <= 1), "a probability")
        _require(table, [args.target], y[:, None], np.isin(y, (0, 1))[:, None], "0 or 1, or classes: see --classes")
    if named.divides:
        _require(table, [args.target], y[:, None], (y != 0)[:, None], f"a number other than 0, for --loss {args.loss}")
    if named.season:
        scale = naive_scales(y, named.season)
        unit = np.where(np.isnan(scale), 1.0, scale)  # forecasts are mixed whatever their unit
        return Forecasts(table, names, x / unit[:, None], y / scale, left_out=left_out, scale=unit)
    return Forecasts(table, names, x, y, left_out=left_out)


def _numeric(args: Namespace, table: Table, taken: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """The columns that are experts, and those that are left out, with the reason."""
    for name in (*taken, *args.drop, *args.experts):
        table.column(name)
    others = [name for name in table.columns if name not in (*taken, *args.drop)]
    if args.experts:
        return list(args.experts), {name: "not named" for name in others if name not in args.experts}
    came, left_out = table.numbers(taken[0]) if taken else None, {}
    for name in others:
        why = why_by_name(name, table.columns, table.kinds.get(name, ""))
        if why is None and not table.is_numeric(name):
            why = "not numbers"
        why = why or why_by_numbers(name, table.numbers(name), came)
        if why:
            left_out[name] = why
    names = [name for name in others if name not in left_out]
    if not names:
        reasons = listed([f"{name} ({why})" for name, why in left_out.items()]) or "none"
        raise DataError(
            f"{table.name} has no column of forecasts besides {listed(taken) or 'none'}: name --experts. "
            f"Left out: {reasons}"
        )
    return names, left_out


def _classes(args: Namespace, table: Table) -> Forecasts:
    """Columns are called after expert and class: B365H, B365D, B365A."""
    classes = list(args.classes)
    if len(classes) < 2:
        raise PartError(f"--classes needs at least two classes with commas, got {','.join(classes)!r}")
    words = table.words(args.target)
    number = {name: float(k) for k, name in enumerate(classes)}
    for row, word in enumerate(words):
        if word and word not in number:
            raise DataError(
                f"{table.place(row)}: {word!r} in column {args.target!r} is none of the classes {listed(classes)}"
            )
    first = classes[0]
    found = [name.removesuffix(first) for name in table.columns if name.endswith(first) and name != first]
    names = list(args.experts) or [e for e in found if all(e + c in table.columns for c in classes)]
    if not names:
        raise DataError(
            f"{table.name} has no expert with a column for each class: expected names such as "
            f"{listed(['NAME' + c for c in classes])}"
        )
    x = np.stack([np.column_stack([table.numbers(e + c) for c in classes]) for e in names], axis=1)
    x[np.isnan(x).any(2)] = math.nan
    y = np.array([number.get(word, math.nan) for word in words])
    used = {args.target, *(e + c for e in names for c in classes)}
    left_out = {name: "of no expert" for name in table.columns if name not in used}
    columns = [e + c for e in names for c in classes]
    return Forecasts(table, names, _proper(args, table, columns, x), y, len(classes), left_out)


def _proper(args: Namespace, table: Table, columns: list[str], x: Any) -> Any:
    """Probabilities that sum to 1."""
    flat = x.reshape(len(x), -1)
    if args.odds:
        _require(table, columns, flat, flat >= 1, "decimal odds, at least 1")
        x = 1 / x
    else:
        _require(table, columns, flat, (flat >= 0) & (flat <= 1), "a probability; are these --odds?")
    sums = x.sum(2, keepdims=True)
    wrong = np.argwhere(np.abs(sums - 1) > OFF) if not args.odds else np.empty((0, 3), int)
    if wrong.size:
        row, i, _ = wrong[0].tolist()
        raise DataError(
            f"{table.place(row)}: the probabilities of {columns[i * x.shape[2]]!r} and the other classes sum to "
            f"{sums[row, i, 0]:g}, not to 1: are these --odds?"
        )
    return x / sums


def _is_number(word: str) -> bool:
    try:
        return math.isfinite(float(word))
    except ValueError:
        return False


def _require(table: Table, columns: Sequence[str], x: Any, fits: Any, expected: str) -> None:
    """Refuse the first number that is there and does not fit."""
    bad = np.argwhere(~fits & ~np.isnan(x))
    if bad.size:
        row, i = bad[0].tolist()
        raise DataError(f"{table.place(row)}: {x[row, i]:g} in column {columns[i]!r}: expected {expected}")
