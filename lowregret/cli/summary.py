"""A session's results as text for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from lowregret.cli.clock import Seconds
from lowregret.learner.labels import Name
from lowregret.loss.name import loss_name
from lowregret.rule import FTRLProximal
from lowregret.run.confusion import Confusion
from lowregret.run.judge import Judged
from lowregret.run.metrics import NEGATIVE_RIGHT, NEGATIVE_WRONG, POSITIVE_RIGHT, POSITIVE_WRONG, SIGNS
from lowregret.run.passes import best_of
from lowregret.run.served import Served
from lowregret.run.session import Session
from lowregret.show.text import (
    AGAIN,
    BEFORE,
    describe,
    describe_added,
    describe_kept,
    describe_partitions,
    describe_ridge,
    describe_risk,
)
from lowregret.state import RIDGE
from lowregret.stream.columns import has_lags
from lowregret.words import counted, in_lines, one_line, percent, rounded_down, rounded_up

SHOWN_CLASSES = 8  # classes whose confusions are shown in full
_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"), (1, "seconds"))
_ONE_LABEL = "risk       nothing can be said of rows yet to come: all labels were the same"


def show(session: Session, seconds: Seconds, model: str | None) -> str:
    """Rows and speed, loss, error against the simplest guess, the proof, and where the model is."""
    run, read = session.run, session.rows + session.reread - session.earlier.read
    lines = [
        f"learnt     {_tell_rows(session)} with {session.algorithm}, "
        f"{counted(session.nonzeros, 'non-zero')}, {counted(run.dimension, 'weight')}, "
        f"in {seconds.work:.2f} s ({read / seconds.work:,.0f} rows/s)",
        *_tell_compiling(seconds),
        f"loss       {tell_loss(session, session.metrics, session.mean_loss)}, {_when(session)}",
        *tell_metrics(session, session.metrics),
        *_tell_delay(session),
        *describe_added(run),
        *describe_kept(run),
        *_tell_lateness(session),
        *_tell_passes(session),
        *_tell_held_out(session),
        *_tell_proof(session),
        *(describe_risk(run, shell=True) if session.one_label is None else [_ONE_LABEL]),
    ]
    if session.dictionary is not None and len(session.dictionary):
        shared = session.dictionary.collisions
        lines.append(f"names      {len(session.dictionary):,}, of which {shared:,} share a weight with another")
    if session.unlabelled:
        lines.append(f"unlabelled {counted(session.unlabelled, 'row')} had no label: scored, in no figure, not learnt")
    if session.skipped:
        lines.append(f"skipped    {counted(session.skipped, 'line')} that could not be read")
    if isinstance(run.learner.rule, FTRLProximal):
        lines.append(f"sparse     {np.count_nonzero(run.placed_weights):,} of {run.dimension:,} weights are not 0")
    lines += [f"note       {note}" for note in session.notes]
    if model:
        lines.append(f"model      {model}")
    return in_lines(lines)


def _tell_rows(session: Session) -> str:
    """The rows learnt, those of this command apart from those that a resumed model had learnt, and the passes."""
    several = f"{session.best_pass} passes over " if session.best_pass > 1 else ""
    if not session.earlier.learnt:
        return f"{several}{counted(session.metrics.rows, 'row')}"
    more = counted(session.metrics.rows - session.earlier.learnt, "more row")
    return f"{several}{more}, {session.metrics.rows:,} in all,"


def _tell_compiling(seconds: Seconds) -> list[str]:
    """The time compiling took, which the next command will not take."""
    return [f"           and {seconds.compile:.2f} s of compiling, once on this machine"] if seconds.compile else []


def _tell_delay(session: Session) -> list[str]:
    """How late labels came, and whose have not come yet; or how to find out what late ones are worth."""
    late = session.run.late
    if late is None:
        return []
    last = "" if has_lags(session.form) else "the last "
    waits = f"those of {last}{counted(late.table.size, 'row')} have not come yet" if late.table.size else "all came"
    if not has_lags(session.form):
        return [f"late       each label came after {counted(late.delay, 'more row')}; {waits}"]
    told = late.to_json()
    lag, time = told["lag"], told.get("seconds")
    said = "" if time is None else f" ({_lasting(time['mean'])}, at most {_lasting(time['largest'])})"
    return [
        f"late       labels came {lag['mean']:,.4g} rows after their own on average, at most {lag['largest']:,}{said};",
        f"           {waits}",
    ]


def _lasting(seconds: float) -> str:
    """A time in the largest unit of which there are two."""
    size, unit = next((size, unit) for size, unit in _UNITS if seconds >= 2 * size or size == 1)
    return f"{seconds / size:,.4g} {unit}"


def _tell_lateness(session: Session) -> list[str]:
    """How to find out what labels that come late are worth, where those that come at once are worth something."""
    kept = session.run.kept
    if session.run.late is not None or kept is None or kept.worth is None:
        return []
    return ["           (--delay N tells live figures for labels that come N rows late)"]


def _when(session: Session) -> str:
    """When rows were judged."""
    if session.came_again:
        return AGAIN
    return BEFORE + (", in the first pass" if len(session.passes) > 1 else "")


def _tell_passes(session: Session) -> list[str]:
    """A line for each pass, if there are several, and whose model is kept."""
    if len(session.passes) < 2:
        return []
    lines = []
    for done in session.passes:
        said = f"{'passes' if done.number == 1 else '':<10} {done.number}: {_tell_scores(done.loss, done.error)}"
        said += " before learning" if done.number == 1 else " in training"
        lines.append(
            said if done.held is None else f"{said}; held out {_tell_scores(done.held.mean_loss, done.held.error)}"
        )
    if session.passes[-1].held is not None:
        best = f"pass {session.best_pass} of {len(session.passes)}"
        lines.append(f"           {best} was best on the rows held out: its model is kept")
    return lines


def _tell_scores(loss: float | None, error: float | None) -> str:
    """Loss and error, as far as they are known."""
    known = [] if loss is None else [f"loss {loss:.4g}"]
    return ", ".join(known if error is None else [*known, f"error {percent(error)}"])


def _tell_held_out(session: Session) -> list[str]:
    """The rows held out, and how they were predicted."""
    held = session.held
    if not held.rows:
        return []
    rows, many = counted(held.rows, "row"), held.rows > 1
    last = f"the last {rows if many else 'row'}"
    if held.rows < held.given:  # others have no label, or weight 0
        last = f"{held.rows:,} of the last {counted(held.given, 'row')}"
    who = (
        f"{last}, scored by the model as predict would"
        if session.held_last
        else f"{rows}, {'each ' if many else ''}scored when it came, and not learnt"
    )
    lines = [f"held out   {who}"]
    if (passes := best_of(session.passes)) > 1:
        lines[0] += ","
        lines.append(
            f"           which chose the best of {passes} passes: these figures flatter it, new rows tend to fare worse"
        )
    loss = [f"loss       {tell_loss(session, held, held.mean_loss)}"] if held.mean_loss is not None else []
    return [*lines, *(f"  {line}" for line in [*loss, *tell_metrics(session, held)])]


def tell_loss(session: Served, metrics: Judged, mean: float | None) -> str:
    """A mean loss by name, and whose it is if not that of all rows."""
    told = f"{mean:.4g} {_each(metrics)} ({loss_name(session.run.learner.loss)})"
    if isinstance(metrics, Confusion) and metrics.unknown:
        told += f", of {counted(metrics.rows - metrics.unknown, 'row')} whose class the model knows"
    return told


def _each(metrics: Judged) -> str:
    return "a row" if metrics.alike else "per unit of weight"


def _tell_proof(session: Session) -> list[str]:
    """The certificates, and what they say of fixed choices, over all rounds of all passes."""
    run, certificate, each = session.run, session.certificate, _each(session.metrics)
    rounds, weight = max(run.rounds, 1), run.weight or 1.0
    lines = describe(run.certificate, rounds) if certificate.id != run.certificate.id else []
    lines += [*describe(certificate, rounds), *describe_ridge(run)]
    if certificate.hindsight is not None:
        mean = certificate.measure != "regret"  # a weighted regret
        best, gap = (certificate.hindsight[name] / (1.0 if mean else weight) for name in ("loss", "gap"))
        told = ", weighted" * mean + ", regulariser included" * (run.learner.ridge > 0)
        lines.append(
            f"           the best fixed choice lost {best:.4g} {each}{told}, or at most {rounded_up(gap, 2)} less,"
        )
        if certificate.regret_interval is not None:
            low, high = certificate.regret_interval
            lines.append(
                f"           so the exact regret lies between {rounded_down(low, 8)} and {rounded_up(high, 8)}"
            )
    elif certificate.measured is not None and certificate.measured < math.inf and certificate.measure == "regret":
        mine = run.loss + run.learner.ridge / 2 * float(run.state.sums[RIDGE])
        least = max((mine - certificate.measured) / weight, 0.0)
        told = ", regulariser included," * (run.learner.ridge > 0)
        lines.append(
            f"           so no fixed choice there had a loss{told} below {rounded_down(least, 4)} {each} on these rows"
        )
    if session.best_pass > 1:
        lines.append(f"           over all {run.rounds:,} rounds of {session.best_pass} passes against one choice")
    return lines + describe_partitions(run)


def tell_metrics(session: Served, metrics: Judged) -> list[str]:
    """Error against the simplest guess, and what was taken for what."""
    if not metrics.rows:
        return []
    if isinstance(metrics, Confusion):
        assert session.run.classes is not None
        return _tell_confusion(metrics, session.run.classes.names)
    if not metrics.loss.classifies:
        told = metrics.to_json()
        own, guess = ("beyond numbers" if v is None else f"{v:.4g}" for v in (told["rmse"], metrics.spread))
        return [
            f"error      {told['mae']:.4g} on average (mean absolute), {own} root mean square; "
            f"always guessing the mean: {guess} root mean square"
        ]
    s, share, (up, down) = metrics.sums, metrics.positives, session.signs or SIGNS
    positives, negatives = s[POSITIVE_RIGHT] + s[POSITIVE_WRONG], s[NEGATIVE_RIGHT] + s[NEGATIVE_WRONG]
    lines = [
        f"error      {percent(metrics.error)} of the {_what(metrics)} predicted wrongly; "
        f"always guessing {up if share > 0.5 else down}: {percent(min(share, 1 - share))}",
        f"           of {positives:,.0f} labelled {up}, {s[POSITIVE_RIGHT]:,.0f} were found; "
        f"of {negatives:,.0f} labelled {down}, {s[NEGATIVE_RIGHT]:,.0f}",
    ]
    if metrics.auc is not None:
        area, off = metrics.auc
        near = rounded_up(off + abs(area - round(area, 4)), 1)  # that of the digits shown
        lines.append(f"ranking    {area:.4f} (AUC, ± {near}): chance that a {up} scores above a {down}")
    return lines


def _what(metrics: Judged) -> str:
    return "rows" if metrics.alike else "weight"


def _tell_confusion(metrics: Confusion, classes: Sequence[Name]) -> list[str]:
    """Error, the classes found worst and best, and what is confused: all of it where classes are few."""
    names = [one_line(str(name)) for name in classes]
    metrics.make_room(len(names))
    common, guessing = metrics.commonest
    lines = [
        f"error      {percent(metrics.error)} of the {_what(metrics)} predicted wrongly, "
        f"of {counted(len(names), 'class', 'classes')}; always guessing {names[common]}: {percent(guessing)}"
    ]
    recall, of_class, form = metrics.recall, metrics.of_class, ",.0f" if metrics.alike else ",.6g"
    order = [k for k in np.argsort(recall, kind="stable") if of_class[k]]
    found = [f"{names[k]} {percent(float(recall[k]), 0)} of {of_class[k]:{form}}" for k in order]
    shown = found if len(found) <= SHOWN_CLASSES else [*found[: SHOWN_CLASSES // 2], "…", *found[-SHOWN_CLASSES // 2 :]]
    lines += [f"found      {'' if metrics.alike else 'by weight: '}{', '.join(shown)}"] if shown else []
    if len(names) <= SHOWN_CLASSES:
        width = max(len(n) for n in (*names, str(metrics.counts.max())))
        lines.append(f"taken for  {' ' * width}  {'  '.join(f'{name:>{width}}' for name in names)}")
        for name, row in zip(names, metrics.matrix.tolist(), strict=True):
            lines.append(f"           {name:<{width}}  {'  '.join(f'{n:>{width}}' for n in row)}")
    elif worst := [f"{names[y]} for {names[guess]} {n:,}" for y, guess, n in metrics.worst()]:
        lines.append(f"mistaken   {', '.join(worst)}")
    return lines
