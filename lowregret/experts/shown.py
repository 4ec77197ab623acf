"""How many rounds of a mixture are kept for its picture."""

from __future__ import annotations

SHOWN = 1000  # rounds whose weights are kept for a picture, at most twice as many
KEPT = 2**25  # bytes that these weights take at most, unless those of two rounds take more


def most_shown(experts: int) -> int:
    """Rounds, of a weight for each expert, that may be kept for a picture before every other one is let go."""
    return 2 * max(1, min(SHOWN, KEPT // (16 * max(experts, 1))))
