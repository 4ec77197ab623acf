"""The arrays of model files that hold the counts behind risk certificates, and conditions on them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from lowregret.learner.schema import Demands
from lowregret.risk import composition, extremes, repetition
from lowregret.risk import statistics as tally
from lowregret.risk.independence import COUNT, LENGTH, LEVELS, ONES
from lowregret.store.schema import MOST, Array, Arrays, extended, floats, wholes
from lowregret.types import Vector

_SAMPLE = {
    "tally.prints": Array("uint64", ("sampled",)),
    "tally.sampled": wholes(repetition.SIZE),
    "tally.order": floats(1, low=0),
}


def tally_arrays(present: Collection[str]) -> dict[str, Array]:
    """The arrays of a tally, with a sample of rows unless the file is from before rows were sampled."""
    found = {
        "tally.sums": extended(tally.TALLIES),
        "tally.counts": wholes(tally.COUNTS),
        "tally.levels": floats(LEVELS, 4),
        "tally.frames": extended(extremes.FRAMES, extremes.FIELDS),
        "tally.chain": floats(composition.CELLS, composition.CELLS, low=0, high=MOST),
        "tally.spans": floats(composition.SPANS, composition.WIDTH, high=MOST),
    }
    return found | (_SAMPLE if any(name in present for name in _SAMPLE) else {})


def tally_demands(arrays: Arrays, warm: int) -> Demands:
    """Conditions on the sums and counts from which risk is computed."""
    sums, counts, levels = (arrays[f"tally.{name}"] for name in ("sums", "counts", "levels"))
    rounds, mistakes, ones, both, last, marked_mistakes, marked_ones = counts[: tally.MARKED_ONES + 1].tolist()
    rest = rounds % tally.BLOCK
    yield marked_mistakes <= mistakes <= rounds, "tally.counts: mistakes ≤ rounds"
    yield mistakes - marked_mistakes <= rest and 0 <= ones - marked_ones <= rest, "tally.counts of the present block"
    yield last <= 1 and last <= ones and both <= ones - last, "tally.counts of bits after bits"
    yield 2 * ones - last - both <= max(rounds - warm, 0), "tally.counts: ones ≤ rounds"
    yield counts[tally.PRINTED] <= tally.SAMPLE, "tally.counts of rows that are known again"
    sizes = [tally.WEIGHTS, tally.SQUARED_WEIGHTS, tally.SPREAD, tally.MISTAKE_SPREAD, tally.LONGEST_ROW]
    yield np.all(sums[[*sizes, tally.LARGEST_LABEL, tally.WEIGHT, tally.WRONG]] >= 0), "tally.sums ≥ 0"
    yield not rounds or sums[tally.WEIGHT] > 0, "tally.sums: weight > 0"
    yield rounds >= warm or sums[tally.THRESHOLD] == np.inf, "tally.sums: no threshold before the first block is full"
    if "tally.prints" in arrays:
        yield arrays["tally.prints"].size <= repetition.CAPACITY, f"a sample of {repetition.CAPACITY} rows"
        _, level, glances, form = arrays["tally.sampled"].tolist()
        yield glances <= min(level, repetition.QUICK) and level <= 64, "tally.sampled: a level of the sample"
        yield form <= 1 << 48, "tally.sampled: rows of fewer columns"
    inside = (levels[:, ONES] >= 0) & (levels[:, ONES] <= levels[:, COUNT]) & (levels[:, COUNT] < levels[:, LENGTH])
    yield np.all(inside), "tally.levels: ones ≤ bits < length"
    yield from frame_demands(arrays["tally.frames"])
    yield from span_demands(arrays["tally.chain"], arrays["tally.spans"])


def frame_demands(frames: Vector) -> Demands:
    """Conditions on the frames of extreme labels."""
    seen, below, above = (frames[:, k] for k in (extremes.SEEN, extremes.BELOW, extremes.ABOVE))
    lengths, done = frames[:, extremes.LENGTH], frames[:, extremes.DONE]
    yield np.all((seen > -extremes.BLOCK) & (seen <= MOST) & (seen == np.floor(seen))), "tally.frames: labels seen"
    yield np.all((below >= 0) & (above >= 0)), "tally.frames: labels below and above ≥ 0"
    yield np.all(below + above <= np.maximum(seen - extremes.BLOCK, 0)), "tally.frames: labels beyond ≤ labels tested"
    yield np.all((lengths >= extremes.FIRST) & (seen < lengths)), "tally.frames that are not full"
    yield np.all(np.abs(done) <= MOST), "tally.frames: evidence of full frames"


def span_demands(chain: Vector, spans: Vector) -> Demands:
    """Conditions on the counts of classes."""
    counts, last = spans[:, : composition.CELLS], spans[:, composition.LAST]
    yield np.all(counts >= 0), "tally.spans: counts ≥ 0"
    yield np.all(counts.sum(1) < spans[:, composition.LENGTH]), "tally.spans that are not full"
    yield np.all(counts.sum(1) <= chain.sum()), "tally.spans: no more classes than tally.chain"
    yield np.all(np.isin(last, np.arange(composition.CELLS))), "tally.spans: a cell that there is"
