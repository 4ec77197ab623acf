"""python -m benchmarks.gallery [--out FOLDER] [NAME …]: play all games, write docs/gallery, and say what is wrong."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.gallery.entries import EXHIBITS, missing
from benchmarks.gallery.pages import index, write

OUT = Path(__file__).resolve().parents[2] / "docs" / "gallery"


def main() -> int:
    """Measure, write, and fail if anything is not as it must be."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("names", nargs="*", metavar="NAME", help="pages to write (all, and their index)")
    arguments.add_argument("--out", type=Path, default=OUT)
    args = arguments.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    wanted = [e for e in EXHIBITS if not args.names or e.name in args.names]
    shown, wrong = [], [f"no page for {name}" for name in missing()]
    for e in wanted:
        found = e.measure()
        write(args.out, e, found)
        shown.append((e, found))
        wrong += [f"{e.name}: {problem}" for problem in found.broken]
        print(f"{e.name:<24}" + "  ".join(f"{label}: {ratio:.3f}" for label, ratio in found.ratios.items()))
    if not args.names:
        (args.out / "README.md").write_text(index(shown), encoding="utf-8")
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
