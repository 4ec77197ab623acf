"""A run in sentences a person understands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowregret.certificate import Certificate
    from lowregret.kernel_run import KernelRun
    from lowregret.run import Run


def summary(run: Run) -> str:
    """What was learnt, how well, and the proof."""
    rounds, certificate = max(run.rounds, 1), run.certificate
    lines = [
        f"{run.rounds:,} rounds, {run.dimension:,} weights",
        f"loss       {run.loss:.6g} in all, {run.loss / rounds:.4g} per round, each row judged before it was learnt",
    ]
    if run.error is not None:
        lines.append(f"error      {run.error:.2%} of the rows predicted wrongly")
    return "\n".join([*lines, *describe(certificate, rounds)])


def kernel_summary(run: KernelRun) -> str:
    """What was learnt, and how well."""
    return "\n".join(
        [
            f"{run.rounds:,} rounds, {run.support.dimension:,} features, {run.mistakes:,} support rows",
            f"error      {run.error:.2%} of the rows predicted wrongly, each judged before it was learnt",
        ]
    )


def describe(certificate: Certificate, rounds: int) -> list[str]:
    """The three nested numbers, and the premises that failed."""
    name, measure = _comparators(certificate), certificate.measure
    lines = []
    if certificate.regret is not None:
        lines.append(f"{measure:<10} {certificate.regret:.6g} against {name}")
    if certificate.linear_regret is not None:
        share = f" ({certificate.linear_regret / rounds:.4g} per round)" if measure == "regret" else ""
        lines.append(f"{measure:<10} at most {certificate.linear_regret:.6g}{share} against {name}")
    lines.append(f"           theory promised at most {certificate.bound:.6g} ({certificate.id})")
    lines += [
        f"           but the premise fails: {p.name} (observed {p.observed})"
        for p in certificate.premises
        if not p.holds
    ]
    return lines


def _comparators(certificate: Certificate) -> str:
    described = certificate.comparator
    size = f" of radius {described['radius']:g}" if "radius" in described else ""
    return f"every fixed choice in the {described['set']}{size}"
