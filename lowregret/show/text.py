"""A run in sentences a person understands."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from lowregret.certificate.theorems import LINEARISED
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Square
from lowregret.output import Last
from lowregret.risk.online_to_batch import DRAWN
from lowregret.words import counted, nearest, percent, percent_up, rounded_up

if TYPE_CHECKING:
    from lowregret.certificate import Certificate
    from lowregret.risk.kept_trial import Figures
    from lowregret.risk.online_to_batch import RiskCertificate
    from lowregret.show.subjects import LearntRun, RecordedRun, Supported, Weighty


_HORIZONS = {0.125: "an eighth as many", 1.0: "as many"}
LEAST = 1e-155  # an error whose square is a number, with digits to spare
BEFORE, AGAIN = "live: each row judged before it was learnt", "rows that came again having been learnt before"


def summary(run: LearntRun) -> str:
    """A run in words: what was learnt, how well, and the proof."""
    rounds, certificate = max(run.rounds, 1), run.certificate
    lines = [
        f"{counted(run.rounds, 'round')}, {counted(run.dimension, 'weight')}",
        f"loss       {run.loss:.6g} in all, {run.mean_loss:.4g} per {'round' if run.alike else 'unit of weight'}, "
        f"{AGAIN if run.tally.repeated else BEFORE}",
    ]
    if run.error is not None:
        lines.append(f"error      {percent(run.error)} of the {'rows' if run.alike else 'weight'} predicted wrongly")
    lines += [*describe_added(run), *describe_kept(run)]
    return "\n".join(
        [
            *lines,
            *describe(certificate, rounds),
            *describe_ridge(run),
            *describe_fixed(run),
            *describe_partitions(run),
            *describe_risk(run),
        ]
    )


def describe_added(run: LearntRun) -> list[str]:
    """A line about the columns that rows get before they are learnt."""
    return [] if run.expansion is None else [f"added      {run.expansion.summary}"]


def describe_kept(run: LearntRun) -> list[str]:
    """Lines about the loss of the model once it is kept, and the worth of labels that come at once."""
    kept = run.kept
    if kept is None:
        again = "kept       unknown: rows came again, so models were judged by rows that they had learnt"
        return [again] if run.trial.is_void(run.tally.repeated) else []
    roots = isinstance(run.learner.loss, Square)
    what = (
        "wrong"
        if kept.error is not None and run.alike
        else "of the weight wrong"
        if kept.error is not None
        else "root mean square"
        if roots
        else "a row"
        if run.alike
        else "per unit of weight"
    )
    near = [
        f"{_figure(figures, roots)} on {_HORIZONS[share]}" for share, figures in kept.horizons if share in _HORIZONS
    ]
    once = "once the first pass is done and the model" if kept.repeated else "once the model"
    first = f"{_figure(kept.figures, roots)} {what} {once} learns no more"
    lines = [
        f"kept       {first}, on the rows that follow {kept.stretch},",
        f"           up to half as many as it learnt ({', '.join(near)};",
        f"           {counted(kept.figures.rows, 'row')} judged, by models kept after {kept.models})",
    ]
    if kept.worth is not None:
        points = f"{100 * kept.worth:.{0 if kept.worth > 0.02 else 1}f} points"
        share = points if kept.error is not None else _share(kept.worth, kept.loss)
        when = "at once" if run.late is None else f"{counted(run.late.delay, 'row')} late"
        when = "this late" if run.late is not None and not run.late.delay else when
        lines.append(
            f"           labels that come {when} are worth {share} here: live figures need them, predict has none"
        )
    return lines


def _figure(figures: Figures, roots: bool) -> str:
    """The share of errors, or else the mean loss, or the root of it."""
    if figures.error is not None:
        return percent(figures.error)
    if not roots:
        return f"{figures.loss:.4g}"
    return f"{math.sqrt(figures.loss):.4g}" if figures.loss > LEAST**2 else f"below {LEAST:g}"


def _share(worth: float, loss: float) -> str:
    """A part of the loss, which is a share of it where it is positive."""
    return f"{percent(worth / loss, 0)} of the loss" if loss > 0 else f"{worth:.4g} of the loss a row"


def kernel_summary(run: Supported) -> str:
    """A run in kernel form in words: what was learnt, and how well."""
    return "\n".join(
        [
            f"{counted(run.rounds, 'round')}, {counted(run.support.dimension, 'feature')}, "
            f"{counted(run.mistakes, 'support row')}",
            f"error      {percent(run.error)} of the rows predicted wrongly, each judged before it was learnt",
            *describe(run.certificate, max(run.rounds, 1)),
        ]
    )


def recorded_summary(run: RecordedRun) -> str:
    """Rounds, loss, and the proof."""
    rounds = max(run.rounds, 1)
    head = f"{counted(run.rounds, 'round')} of {run.subject}, loss {run.loss:.6g} ({run.loss / rounds:.4g} a round)"
    return "\n".join([head, *describe(run.certificate, rounds)])


def describe(certificate: Certificate, rounds: int) -> list[str]:
    """The three nested numbers, and the premises that failed."""
    exact, linear = certificate.regret, certificate.measured
    kind, what, rest = certificate.measure.rpartition("regret")
    head = f"{'regret':<10} {kind.strip()}, " if what and kind and not rest else f"{certificate.measure:<10} "

    def told(value: float, show: Callable[[float, int, int], str]) -> str:
        each = f" ({show(value, 4, rounds)} per round)" if certificate.measure == "regret" else ""
        return f"{show(value, 6, 1)}{each}"

    lines, whom = [], f" against {certificate.rivals()}" if "exact" in certificate.comparator else ""
    if exact is not None:
        lines.append(f"{head}{told(exact, nearest)} against {certificate.rivals(best=True)}")
    if linear == math.inf:
        lines.append(f"{head if exact is None else ' ' * 11}no finite bound is known against {certificate.rivals()}")
    elif linear is not None and exact is None:
        lines.append(f"{head}at most {told(linear, rounded_up)} against {certificate.rivals()}")
    elif linear is not None and certificate.linear_regret != exact:
        lines.append(f"           at most {told(linear, rounded_up)}{whom}, linearised")
    if certificate.promised < math.inf and certificate.id != LINEARISED.id:  # which is the linearised regret itself
        whom = whom if lines else f" against {certificate.rivals()}"
        promised = f"{rounded_up(certificate.promised)}{whom if linear is None else ''}"
        lines.append(f"{' ' * 11 if lines else head}theory promised at most {promised} ({certificate.id})")
    lines += [
        f"           but the premise fails: {p.name} (observed {p.observed})"
        for p in certificate.premises
        if not p.holds
    ]
    return lines


def describe_ridge(run: LearntRun) -> list[str]:
    """A line that says of a regret with a ridge what it is the regret of; `loss` has no regulariser."""
    ridge = run.learner.ridge
    return [f"           of losses with the regulariser, λ = {ridge:g}"] if ridge > 0 else []


def describe_fixed(run: LearntRun) -> list[str]:
    """The certificate against fixed predictors, where that is another one."""
    fixed = run.fixed_certificate
    return describe(fixed, max(run.rounds, 1)) if fixed.id != run.certificate.id else []


def describe_partitions(run: LearntRun) -> list[str]:
    """Lines about the random partitions of a run of `auto`, if it has any, and what is proved of them."""
    forest = run.forest_certificate
    if forest is None:
        return []
    trees, cells = (forest.details[name] for name in ("trees", "cells"))
    said = f"partitions {trees:.0f} random trees with {cells:,.0f} cells: rows are narrow (--features raw does without)"
    return [said, *describe(forest, max(run.rounds, 1))]


def describe_importance(found: Weighty) -> str:
    """The rows that importance was found on, and the model, in words."""
    who = "the model as it is" if found.frozen is None else f"the model kept after {found.frozen:,} rows"
    rows = f"{counted(found.rows, 'row')} {'given' if found.frozen is None else 'that followed'}"
    return f"{who}, on {rows}:\nloss {found.loss:.4g}, with the features of other rows {found.without:.4g}"


def tell_importance(found: Weighty, most: int) -> str:
    """The features with the largest shares, in one line."""
    if not found.tells:
        return f"the loss does not fall by more than chance explains ({' '.join(describe_importance(found).split())})"
    told = [f"{name} {gain / found.total:.0%}" for name, gain in zip(found.names[:most], found.gains, strict=False)]
    left = len(found.names) - most
    return ", ".join(told) + (f", {counted(left, 'other')}" if left > 0 else "")


def describe_risk(run: LearntRun, shell: bool = False, delta: float = 0.05) -> list[str]:
    """Lines about rows yet to come, or why nothing is known; remedies as on the command line, or in Python."""
    from lowregret.risk.bounds import INDEPENDENT, headline

    found = run.risks(delta)
    best = headline(found)
    if best is None:
        failed = {p.name: p.observed for p in found[0].premises if not p.holds} if found else {}
        if INDEPENDENT in failed:
            return [
                "risk       unknown: the stream does not look independent;",
                f"           labels of independent rows would look so with probability at most {failed[INDEPENDENT]}",
            ]
        return [f"risk       unknown, for this is not so: {name}" for name in failed] or _silent(run, shell)
    if best.of == "error" and best.bound >= 1:
        return _vacuous(run, found, shell)
    size = percent_up(best.bound) if best.of == "error" else rounded_up(best.bound, 4)
    drawn = " on average over the draw" if best.output == DRAWN else ""
    lines = [
        f"risk       with probability {1 - delta:.0%} the {best.of} of {best.output} on new data of the same kind",
        f"           is at most {size}{drawn} ({best.id}, if rows are drawn independently from one source)",
    ]
    if best.of == "loss":
        lines.append(
            f"           counting as 0 the rows longer than {best.details['row']:g} or with a label beyond "
            f"±{best.details['label']:g}, at most {percent_up(best.details['outside'])} of them"
        )
    if drawn and not run.learner.output.replaces():
        lines.append(f"           nothing of the kind is known of the model that is kept{_remedy(run, shell)}")
    return lines


def _vacuous(run: LearntRun, found: list[RiskCertificate], shell: bool) -> list[str]:
    """Why the bound of an error is 1, and of which model more is known."""
    best = found[0]
    said = f"risk       of {best.output} nothing can be said: "
    if "ceiling" not in best.details:
        return [f"{said}too many errors, or too few rows ({run.rounds:,})"]
    w, x, m = (best.details[name] for name in ("iterate", "row", "ceiling"))
    lines = [
        f"{said}weights of length up to {w:,.4g} and rows",
        f"           of length up to {x:,.4g} allow losses up to {m:,.5g}, too large for {counted(run.rounds, 'row')}",
    ]
    drawn = next((c for c in found if c.of == "error" and c.output == DRAWN), None)
    if drawn is not None and drawn.bound < 1:
        lines.append(f"           more is known of {drawn.output}{_remedy(run, shell)}")
    return lines


def _silent(run: LearntRun, shell: bool) -> list[str]:
    """Why nothing is said of rows yet to come though no premise failed."""
    if not run.tally.rounds:
        return []
    if not isinstance(run.learner.output, Last):
        return ["risk       unknown: nothing is proved of this output with this learner and loss"]
    return [f"risk       nothing is proved of the model that is kept{_remedy(run, shell)}"]


def _remedy(run: LearntRun, shell: bool) -> str:
    """How to keep a model of which more is known, if that can be."""
    if not isinstance(run.learner, Linear | Multiclass):
        return f": {'--algorithm ogd --output average' if shell else 'zoo.ogd(loss, output=Average())'} keeps one"
    if not run.knows_outputs:
        return ""
    last = isinstance(run.learner.output, Last)
    if shell:
        return f": --output random{' or average' if last else ''} keeps one"
    return f": output=Random(){' or Average()' if last else ''} keeps one"
