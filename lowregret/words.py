"""Words for people."""

from __future__ import annotations


def counted(count: float, thing: str, things: str = "") -> str:
    """`1 round`, `2,000 rounds`; plurals that are not made by an s are given."""
    return f"{count:,.0f} {thing if count == 1 else things or thing + 's'}"
