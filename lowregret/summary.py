"""A run in sentences a person understands."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lowregret.certificate import Certificate
    from lowregret.kernel_run import KernelRun
    from lowregret.ledger import Ledger


def summary(run: Ledger) -> str:
    """What was learnt, how well, and the proof."""
    rounds, certificate = max(run.rounds, 1), run.certificate
    lines = [
        f"{run.rounds:,} rounds, {run.dimension:,} weights",
        f"loss       {run.loss:.6g} in all, {run.loss / rounds:.4g} per round, each row judged before it was learnt",
    ]
    if run.error is not None:
        lines.append(f"error      {run.error:.2%} of the rows predicted wrongly")
    return "\n".join([*lines, *describe(certificate, rounds), *describe_risk(run)])


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


def describe_risk(run: Ledger, delta: float = 0.05) -> list[str]:
    """What is known of rows yet to come, or why nothing is."""
    from lowregret.risk import INDEPENDENT, headline

    found = run.risks(delta)
    best = headline(found)
    if best is None:
        failed = {p.name: p.observed for p in found[0].premises if not p.holds} if found else {}
        if INDEPENDENT in failed:
            return [
                "risk       unknown: the stream does not look independent;",
                f"           labels of independent rows would look so with probability at most {failed[INDEPENDENT]}",
            ]
        return [f"risk       unknown, for this is not so: {name}" for name in failed]
    if best.of == "error" and best.bound >= 1:
        return [f"risk       of {best.output} nothing can be said: too few rows, or too large losses"]
    size = f"{best.bound:.2%}" if best.of == "error" else f"{best.bound:.4g}"
    drawn = " on average over the draw" if best.output.startswith("a model drawn") else ""
    lines = [
        f"risk       with probability {1 - delta:.0%} the {best.of} of {best.output} on new data of the same kind",
        f"           is at most {size}{drawn} ({best.id}, if rows are drawn independently from one source)",
    ]
    if best.of == "loss":
        lines.append(
            f"           counting as 0 the rows longer than {best.details['row']:g} or with a label beyond "
            f"±{best.details['label']:g}, at most {best.details['outside']:.2%} of them"
        )
    if drawn and not run.learner.output.replaces():
        lines.append(
            "           nothing of the kind is known of the model that is kept: --output random or average keeps one"
        )
    return lines


def _comparators(certificate: Certificate) -> str:
    described = certificate.comparator
    size = f" of radius {described['radius']:g}" if "radius" in described else ""
    return f"every fixed choice in the {described['set']}{size}"
