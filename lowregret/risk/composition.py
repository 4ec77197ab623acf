"""Do classes come in the same shares all the time, whatever class came before?

From row 65 on classes become one of eight cells: those up to the largest number in the first block their number modulo
7, all others the last cell. A class has a number from when it is first met: so what its cell is was settled by then.
If rows are independent, cells are throws of one die, whatever its shares, and E = Q(cells)/max_p P_p(cells) is an
e-process, like that of bits in `independence.py`. Q is a mixture of

- Markov, share ½: the die depends on the cell before (sees spells);
- blocks of 256 and of lengths that double, share ¼ each: a new die for each (sees drift),

each die guessed by Krichevsky and Trofimov's rule, (n_c + ½)/(n + 4).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.compile.numerics import log_factorial
from lowregret.types import Vector

CELLS = 8
SHARES = (0.5, 0.25, 0.25)
LENGTHS = (256.0, 64.0)
SPANS = len(LENGTHS)
GROWING = 1  # the span whose length doubles after each block
DONE, LENGTH, LAST = CELLS, CELLS + 1, CELLS + 2  # of a span, behind its counts: ln Q of full blocks; the latest cell
WIDTH = CELLS + 3
_PRIOR = math.log(6.0) - 4.0 * math.log(math.pi)  # ln Γ(8/2) − 8 ln Γ(½)


def first_chain() -> Any:
    """How often cells came after cells, before the first: it counts as one that comes after cell 0."""
    return np.zeros((CELLS, CELLS))


def first_spans() -> Any:
    """The blocks before the first cell."""
    spans = np.zeros((SPANS, WIDTH))
    spans[:, LENGTH] = LENGTHS
    return spans


def count_classes(chain: Any, spans: Any, y: Vector, high: float, begin: int, end: int) -> None:
    """Count classes by number, from row `begin` to `end`; `high` is the largest of the first block."""
    last = int(spans[0, LAST])
    for i in range(begin, end):
        now = CELLS - 1 if y[i] > high else int(y[i]) % (CELLS - 1)
        chain[last, now] += 1.0
        for k in range(SPANS):
            spans[k, now] += 1.0
        last = now
    spans[:, LAST] = last


def end_spans(spans: Any) -> None:
    """Close blocks that are full, now that 64 rounds have ended."""
    for k in range(SPANS):
        total = 0.0
        for cell in range(CELLS):
            total += spans[k, cell]
        if total >= spans[k, LENGTH]:
            spans[k, DONE] += die(spans[k])
            spans[k, :CELLS] = 0.0
            if k == GROWING:
                spans[k, LENGTH] *= 2.0


def die(counts: Any) -> float:
    """ln of the chance of throws with these counts in the first eight places, by Krichevsky and Trofimov's rule."""
    total, found = 0.0, _PRIOR
    for cell in range(CELLS):
        total += counts[cell]
        found += log_factorial(counts[cell] - 0.5)
    return found - log_factorial(total + 3.0)


def composition_evidence(chain: Any, spans: Any) -> float:
    """ln E against classes that are independent and alike."""
    totals = chain.sum(axis=0)
    n = float(totals.sum())
    if n == 0.0:
        return 0.0
    guesses = [float(sum(die(row) for row in chain)), *(float(span[DONE] + die(span)) for span in spans)]
    logs = [q + math.log(share) for q, share in zip(guesses, SHARES, strict=True)]
    top = max(logs)
    best = sum(float(m) * math.log(float(m) / n) for m in totals if m)
    return top + math.log(sum(math.exp(q - top) for q in logs)) - best
