"""Text about a bandit for people: rounds, loss and certificates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowregret.certificate import Certificate
from lowregret.words import counted, nearest, rounded_up

if TYPE_CHECKING:
    from lowregret.bandit.bandit import Bandit


def tell_bandit(bandit: Bandit) -> str:
    """Rounds, loss, and what is proved."""
    rounds = max(bandit.rounds, 1)
    waiting = _waiting(len(bandit.pending))
    lines = [
        f"{counted(bandit.rounds, 'round')} of {bandit.algorithm.name} on {counted(bandit.arms, 'arm')}, "
        f"loss {bandit.loss:.6g} ({bandit.loss / rounds:.4g} a round){waiting}"
    ]
    for certificate in bandit.certificates:
        lines += tell_certificate(certificate, bandit.rounds * bandit.unit)
    return "\n".join(lines)


def _waiting(choices: int) -> str:
    wait = "waits for its cost" if choices == 1 else "wait for their costs"
    return f", {counted(choices, 'choice')} {wait}" if choices else ""


def tell_certificate(certificate: Certificate, most: float) -> list[str]:
    """One theorem: what is known, what it promised, and which premise fails. No more than `most` can be lost anyway."""
    if certificate.id == "NONE":
        return ["no theorem here speaks of this algorithm against any costs whatever"]
    known = certificate.linear_regret
    seen = "is not observed"
    if known is not None:
        seen = f"at most {rounded_up(known)}" if "probability" in certificate.measure else nearest(known)
    empty = (
        f", which says nothing yet: more than {rounded_up(most)} cannot be lost" if certificate.bound >= most else ""
    )
    lines = [
        f"{certificate.measure}: {seen}; {certificate.id} promises at most {rounded_up(certificate.promised)}{empty}"
    ]
    lines += [f"  but the premise fails: {p.name} (observed {p.observed})" for p in certificate.premises if not p.holds]
    return lines
