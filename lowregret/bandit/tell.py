"""What a bandit has come to, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lowregret.certificate import Certificate

if TYPE_CHECKING:
    from lowregret.bandit.bandit import Bandit


def tell_bandit(bandit: Bandit) -> str:
    """Rounds, cost, and what is proved."""
    rounds = max(bandit.rounds, 1)
    waiting = f", {len(bandit.pending):,} choices wait for their costs" if bandit.pending else ""
    lines = [
        f"{bandit.rounds:,} rounds of {bandit.algorithm.name} on {bandit.arms:,} arms, "
        f"cost {bandit.cost:.6g} ({bandit.cost / rounds:.4g} a round){waiting}"
    ]
    found = bandit.certificates
    for certificate in found:
        lines += tell_certificate(certificate)
    if not found:
        lines.append("no theorem here speaks of this algorithm against any costs whatever")
    return "\n".join(lines)


def tell_certificate(certificate: Certificate) -> list[str]:
    """One theorem: what is known, what it promised, and which premise fails."""
    known = certificate.linear_regret
    seen = (
        "is not observed"
        if known is None
        else f"at most {known:.6g}"
        if "prob" in certificate.measure
        else f"{known:.6g}"
    )
    lines = [f"{certificate.measure}: {seen}; {certificate.id} promises at most {certificate.bound:.6g}"]
    lines += [f"  but the premise fails: {p.name} (observed {p.observed})" for p in certificate.premises if not p.holds]
    return lines
