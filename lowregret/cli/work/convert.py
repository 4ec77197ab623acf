"""`lowregret convert`: rows into a cache, from which they are read at the speed of memory."""

from __future__ import annotations

import json
import os
import sys
import time
from argparse import Namespace

from lowregret.cli.clock import Clock
from lowregret.cli.form import SKIPPING, form_to_keep
from lowregret.cli.progress import OFTEN, SELDOM
from lowregret.errors import DataError, StoreError
from lowregret.store.replacing import real_file, replaced, require_place
from lowregret.stream.batch import Batch, raise_faults
from lowregret.stream.cache import Recorder
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.notice import Notices
from lowregret.stream.read import CACHE, stream_of
from lowregret.stream.source import expand
from lowregret.words import counted


def convert(args: Namespace) -> int:
    """Read all rows and write them; a cache that was there before stays until the new one is whole."""
    if not args.cache.lower().endswith(f".{CACHE}"):
        raise StoreError(f"-o {args.cache}: caches are known by their names: name it {args.cache}.{CACHE}")
    require_place(args.cache)
    form, notices, dictionary = form_to_keep(args), Notices(), Dictionary()
    stream = stream_of(args.data, form, args.threads, args.on_error, dictionary=dictionary, notices=notices)
    counts = _Counts(stream.size, wanted=not args.quiet)
    try:
        with Clock() as clock, replaced(real_file(args.cache)) as file:
            recorder = Recorder(file, form, expand(args.data), dictionary, notices)
            for batch in raise_faults(stream.batches(), SKIPPING):
                recorder.see(batch)
                counts.see(batch)
            if not counts.rows:
                raise DataError(f"there are no rows in {' '.join(args.data)}")
            recorder.finish()
    except OSError as error:
        raise StoreError(f"cannot write {args.cache}: {error.strerror or error}") from None
    finally:
        counts.end()
    _tell(args, counts, clock.read().total)
    return 0


def _tell(args: Namespace, counts: _Counts, seconds: float) -> None:
    size = os.path.getsize(args.cache)
    if args.json:
        told = {"cache": args.cache, "bytes": size, "rows": counts.rows, "nonzeros": counts.entries}
        print(json.dumps(told | {"skipped": counts.skipped, "seconds": seconds}))
    elif not args.quiet:
        left = f", {counted(counts.skipped, 'line')} left out" if counts.skipped else ""
        rows = f"{counted(counts.rows, 'row')}, {counted(counts.entries, 'non-zero')}{left}"
        print(f"{args.cache}: {rows}, {size / 1e6:,.1f} MB, in {seconds:.2f} s")


class _Counts:
    """Rows and entries so far, shown on standard error now and then."""

    def __init__(self, size: int, wanted: bool) -> None:
        self.rows = self.entries = self.skipped = 0
        self._size, self._wanted, self._live = size, wanted, wanted and sys.stderr.isatty()
        self._shown = time.perf_counter()

    def see(self, batch: Batch) -> None:
        self.rows += len(batch)
        self.entries += int(batch.rows.indptr[-1])
        self.skipped += len(batch.faults)
        now = time.perf_counter()
        if self._wanted and now - self._shown >= (OFTEN if self._live else SELDOM):
            self._shown = now
            share = f", {batch.position / self._size:.0%}" if self._size else ""
            line = f"{counted(self.rows, 'row')} kept{share}"
            print(
                f"\r\x1b[2K{line}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True
            )

    def end(self) -> None:
        """Take the changing line away."""
        if self._live:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
