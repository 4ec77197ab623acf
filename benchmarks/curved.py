"""`auto` beside forests and boosted trees on tables of numbers: python -m benchmarks.curved [--data DIR]

*Live* is the progressive error (mean square error for numbers) of one pass; *kept* that of the model learnt from the
first 70 % on the rows that follow. Rows come shuffled and in file order, nothing is tuned. LightGBM and scikit-learn's
HistGradientBoosting (HGB) are retrained on all rows so far at each doubling from 64 rows on, River's adaptive random
forest (ARF) and aggregated Mondrian forest (AMF) learn row by row, on features that River's scaler standardises as they
come; these are slow, and get the first rows only, in a table of their own. Every figure goes to out/curved.json, from
which it is taken until its code or its rows change: `--peers` says who is computed, all others are shown if known.
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from benchmarks.curved_peers import PEERS, Figures, Peer
from benchmarks.curved_sets import FILE, NAMES, SHUFFLED, Table, orders, read
from benchmarks.speed import OUT

ROWS, FOREST_ROWS = 50_000, 10_000
SLOW = {"ocr_letters": 5_000}  # at most so many beside River's forests, which are slowest there
CACHE = OUT / "curved.json"
NARROWEST, WIDEST = 8, 54  # columns of the sets whose speed is told
Results: TypeAlias = dict[tuple[str, str], "Result"]  # by set and order


class Result:
    """What is known of all peers on a table."""

    def __init__(self, table: Table) -> None:
        self.rows, self.columns = table.X.shape
        self.figures: dict[str, Figures] = {}

    def figure(self, peer: str, which: str) -> float:
        """A figure, which is not a number if it is not known."""
        return float(getattr(self.figures[peer], which)) if peer in self.figures else float("nan")

    def ratio(self, peer: str, other: str, which: str) -> float:
        """The figure of a peer by that of another."""
        return self.figure(peer, which) / (self.figure(other, which) or float("nan"))


def stored() -> dict[str, Any]:
    """All figures computed so far."""
    return json.loads(CACHE.read_text()) if CACHE.exists() else {}


def store(key: str, entry: dict[str, Any]) -> None:
    """Add a figure to the file, beside what others have added meanwhile."""
    new = CACHE.with_suffix(".new")
    new.write_text(json.dumps(dict(sorted((stored() | {key: entry}).items())), indent=1))
    new.replace(CACHE)


def known(peer: Peer, table: Table, key: str) -> Figures | None:
    """The stored figures of a peer, if code and rows are still the same."""
    entry = stored().get(key)
    if entry is None or entry["version"] != peer.version or entry["digest"] != table.digest:
        return None
    return Figures(entry["live"], entry["kept"], entry["seconds"])


def measured(names: list[str], table: Table, forests: bool) -> Result:
    """What peers do on a table; those not named are looked up only."""
    result = Result(table)
    for name, peer in PEERS.items():
        if peer.forest and not forests:
            continue
        key = f"{table.name} {table.order} {len(table.y)} {name}"
        found = known(peer, table, key)
        if found is None and name in names:
            print(f"{key} …", end=" ", file=sys.stderr, flush=True)
            found = peer.figures(table)
            store(key, asdict(found) | {"version": peer.version, "digest": table.digest})
            print(f"live {found.live:.4g}, kept {found.kept:.4g}, {found.seconds:.1f} s", file=sys.stderr, flush=True)
        if found is not None:
            result.figures[name] = found
    return result


def heading(*cells: str) -> None:
    """Print the first two lines of a table."""
    print(f"\n| {' | '.join(cells)} |\n|{'---|' * len(cells)}")


def shown(value: float, form: str = ".4g") -> str:
    """A number, or a dash for none."""
    return "–" if np.isnan(value) else f"{value:{form}}"


def print_figures(results: Results, order: str, forests: bool) -> None:
    """Print live and kept figures of all peers, a set a line."""
    names = [name for name, peer in PEERS.items() if forests or not peer.forest]
    for which in ("live", "kept"):
        print(f"\n{which}, {'shuffled' if order == SHUFFLED else 'in file order'}:")
        heading("set", "rows", "columns", *(PEERS[name].name for name in names), "auto / LightGBM")
        for (name, its), result in results.items():
            if its == order:
                cells = [shown(result.figure(peer, which)) for peer in names]
                ratio = shown(result.ratio("auto", "lightgbm", which), ".2f")
                print(f"| {name} | {result.rows:,} | {result.columns} | {' | '.join(cells)} | {ratio} |")


def print_ratios(results: Results, peer: str, other: str) -> None:
    """Print the mean and the worst of the ratios of two peers, by order and figure."""
    heading("order", "figure", f"{PEERS[peer].name} / {PEERS[other].name}: mean", "worst", "at")
    for order in (SHUFFLED, FILE):
        for which in ("live", "kept"):
            all_of = {n: r.ratio(peer, other, which) for (n, its), r in results.items() if its == order}
            found = {name: ratio for name, ratio in all_of.items() if not np.isnan(ratio)}
            if found:
                worst = max(found, key=lambda name: found[name])
                mean = np.mean(list(found.values()))
                print(f"| {order} | {which} | {mean:.3f} | {found[worst]:.3f} | {worst} |")


def print_forests(results: Results) -> None:
    """Print on which sets `auto` is below every forest of River."""
    forests = [name for name, peer in PEERS.items() if peer.forest]
    heading("set", "order", "auto below every streaming forest, live", "kept", "auto / best forest, live", "kept")
    for (name, order), result in results.items():
        if all(peer in result.figures for peer in ("auto", *forests)):
            ratios = [max(result.ratio("auto", forest, which) for forest in forests) for which in ("live", "kept")]
            words = ["yes" if ratio < 1 else "no" for ratio in ratios]
            print(f"| {name} | {order} | {' | '.join([*words, *(f'{ratio:.3f}' for ratio in ratios)])} |")


def print_file_order(results: Results) -> None:
    """Print by how much `auto` differs from `auto` on raw features in file order."""
    heading("set, in file order", "auto / auto raw, live", "kept")
    for (name, order), result in results.items():
        if order == FILE:
            ratios = [shown(result.ratio("auto", "auto-raw", which), ".3f") for which in ("live", "kept")]
            print(f"| {name} | {' | '.join(ratios)} |")


def print_speed(results: Results) -> None:
    """Print rows a second of processor time on shuffled rows."""
    names = list(PEERS)
    heading("set, rows/s on one core", "columns", *(PEERS[name].name for name in names))
    for (name, order), result in results.items():
        if order == SHUFFLED and NARROWEST <= result.columns <= WIDEST:
            speeds = [result.rows / result.figure(peer, "seconds") for peer in names]
            print(f"| {name} | {result.columns} | {' | '.join(shown(speed, ',.0f') for speed in speeds)} |")


def report(everything: Results, few: Results) -> None:
    """Print all tables."""
    print("## All rows")
    for order in (SHUFFLED, FILE):
        print_figures(everything, order, forests=False)
    print_ratios(everything, "auto", "lightgbm")
    print_ratios(everything, "auto", "hgb")
    print_file_order(everything)
    print_speed(everything)
    print("\n## The first rows, beside River's forests")
    for order in (SHUFFLED, FILE):
        print_figures(few, order, forests=True)
    print_ratios(few, "auto", "lightgbm")
    print_forests(few)
    print_speed(few)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sets", nargs="+", default=list(NAMES), choices=NAMES)
    parser.add_argument("--peers", nargs="+", default=list(PEERS), choices=list(PEERS))
    parser.add_argument("--orders", nargs="+", default=[SHUFFLED, FILE], choices=[SHUFFLED, FILE])
    parser.add_argument("--rows", type=int, default=ROWS, help="at most so many of a set")
    parser.add_argument("--forest-rows", type=int, default=FOREST_ROWS, help="at most so many beside River's forests")
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    args = parser.parse_args()
    OUT.mkdir(exist_ok=True)
    everything: Results = {}
    few: Results = {}
    for name in args.sets:
        for order in orders(name):
            if order in args.orders:
                table = read(name, order, args.rows, args.data)
                everything[name, order] = measured(args.peers, table, forests=False)
                fewer = table.first(min(args.forest_rows, SLOW.get(name, args.forest_rows)))
                few[name, order] = measured(args.peers, fewer, forests=True)
    report(everything, few)


if __name__ == "__main__":
    main()
