"""`lowregret convert`: rows into a cache, from which they are read at the speed of memory."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace

from lowregret.cli.clock import Clock
from lowregret.cli.form import SKIPPING, form_to_keep
from lowregret.cli.json_output import print_json
from lowregret.cli.progress import OFTEN, SELDOM
from lowregret.cli.streams import FRESH
from lowregret.compile.part import Part
from lowregret.errors import DataError, PartError, StoreError
from lowregret.store.replacing import real_file, replaced, require_place
from lowregret.stream.batch import Batch, raise_faults
from lowregret.stream.cache import Recorder, is_cache, why_not_this
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.notice import Notices
from lowregret.stream.read import stream_of
from lowregret.stream.source import CACHE, beside, expand, is_pipe
from lowregret.words import counted, one_line


def convert(args: Namespace) -> int:
    """Read all rows and write them; a cache that was there before stays until the new one is whole."""
    if not args.cache.lower().endswith(f".{CACHE}"):
        raise StoreError(f"-o {args.cache}: caches are known by their names: name it {args.cache}.{CACHE}")
    with Clock() as clock:
        counts = _write(args, form_to_keep(args))
    _tell(args, counts, clock.read().total)
    return 0


def cached_beside(args: Namespace) -> str:
    """The cache DATA.lrc beside the one file of data, which is made if it is not there, stale or read otherwise."""
    if len(expand(args.data)) != 1 or is_pipe(args.data[0]):
        raise PartError(
            "--cache keeps the rows of one file beside it: name one, or make a cache with `lowregret convert`"
        )
    if args.resume:
        raise PartError("--resume knows how rows are read, and --cache does not: name the cache instead of the data")
    args.cache, args.one_based = beside(expand(args.data)[0]), args.dimension is not None and not args.zero_based
    form = form_to_keep(args)
    if (why := why_not_this(args.cache, form, expand(args.data))) is not None:
        _require_no_other(args.cache)
        _say(args, f"{why}: making it")
        _write(args, form)
    else:
        _say(args, f"reading {args.cache}")
    for option in ("target", "weight", "ngrams", "bits", "delimiter", "decimal", "format"):  # the cache has them
        setattr(args, option, None)
    args.drop = args.categorical = args.text = args.date = args.interactions = ()
    args.no_header = False
    return str(args.cache)


def _require_no_other(path: str) -> None:
    """Refuse to put a cache, of which nobody said the name, in the place of a file that is none."""
    if os.path.isfile(path) and os.path.getsize(path) and not is_cache(path):
        raise StoreError(f"{path}, where --cache keeps rows, is a file of another kind, or damaged: move it elsewhere")


def _say(args: Namespace, what: str) -> None:
    if not args.quiet:
        print(f"lowregret: {one_line(what)}", file=sys.stderr)


def _write(args: Namespace, form: Part) -> _Counts:
    """Write the rows of the data, read in this form."""
    require_place(args.cache)
    notices, dictionary = Notices(), Dictionary()
    stream = stream_of(args.data, form, args.threads, args.on_error, dictionary=dictionary, notices=notices)
    counts = _Counts(stream.size, wanted=not args.quiet)
    try:
        with replaced(real_file(args.cache)) as file:
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
    return counts


def _tell(args: Namespace, counts: _Counts, seconds: float) -> None:
    size = os.path.getsize(args.cache)
    if args.json:
        told = {"cache": args.cache, "bytes": size, "rows": counts.rows, "nonzeros": counts.entries}
        print_json(told | {"skipped": counts.skipped, "seconds": seconds})
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
            print(f"{FRESH}{line}" if self._live else line, end="" if self._live else "\n", file=sys.stderr, flush=True)

    def end(self) -> None:
        """Take the changing line away."""
        if self._live:
            print(FRESH, end="", file=sys.stderr, flush=True)
