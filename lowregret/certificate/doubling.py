"""Certificates of learners that restart in blocks of 1, 2, 4, … rounds: the sum of the blocks' own.

For a fixed u, Reg(u) over all rounds is the sum of Reg(u) over the blocks, each at most its block's bound. If these are
at most α√(2^m), α ≥ 0, as those of tuned rates are, the sum is at most αΣ_{m≤⌊log₂T⌋}2^{m/2} ≤ α·√2/(√2 − 1)·√T
(DOUBLING).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from lowregret.certificate import Certificate, Premise

FACTOR = math.sqrt(2) / (math.sqrt(2) - 1)  # Σ_{m≤⌊log₂T⌋}2^{m/2} ≤ FACTOR·√T


Bounds = dict[str, float]  # by theorem; NaN where its premises failed


def bounds_of(found: list[Certificate]) -> Bounds:
    """The bounds of a finished block, by theorem: all that later sums need of its certificates."""
    return {c.id: c.bound if c.premises_hold else math.nan for c in found}


def sum_blocks(latest: list[Certificate], blocks: Sequence[Bounds], rounds: int) -> list[Certificate]:
    """Add up the bounds of the blocks m = 0, 1, …, given the certificates of the latest: tightest first."""
    known = [c for c in latest if all(c.id in block for block in blocks)]
    found = [_sum(c, [block[c.id] for block in blocks]) for c in known]
    alphas = [max(_alpha(block[c.id], m) for m, block in enumerate(blocks)) for c in known]
    alpha = min(alphas)
    best, alpha = found[alphas.index(alpha)], max(alpha, 0.0)  # of bounds below 0, 0 is told: their sum is smaller
    doubling = replace(
        best,
        id="DOUBLING",
        statement=f"regret against every u in {best.comparator['set']} ≤ α·√2/(√2 − 1)·√T, α = {alpha:.6g}",
        bound=FACTOR * alpha * math.sqrt(rounds),
        details={"alpha": alpha, "blocks": len(blocks)},
    )
    return sorted([*found, doubling], key=lambda c: (not c.premises_hold, c.bound))


def _alpha(bound: float, m: int) -> float:
    return math.inf if math.isnan(bound) else bound / math.sqrt(1 << m)


def _sum(latest: Certificate, bounds: list[float]) -> Certificate:
    failed = [m for m, bound in enumerate(bounds) if math.isnan(bound)]
    everywhere = Premise("the premises hold in every block", not failed, failed[0] if failed else None)
    return replace(
        latest,
        id=f"Σ {latest.id}",
        statement=f"{latest.statement}, summed over blocks of 1, 2, 4, … rounds",
        bound=math.inf if failed else math.fsum(bounds),
        premises=(*latest.premises, everywhere),
        slack=None,
        details={"blocks": len(bounds)},
    )
