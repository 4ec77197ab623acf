"""What a session has come to, for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lowregret.class_run import ClassRun
from lowregret.classes import Name
from lowregret.cli.clock import Seconds
from lowregret.confusion import Confusion
from lowregret.metrics import NEGATIVE_RIGHT, NEGATIVE_WRONG, POSITIVE_RIGHT, POSITIVE_WRONG, Metrics
from lowregret.rule import Proximal
from lowregret.session import Session, loss_name
from lowregret.summary import describe, describe_kept, describe_risk
from lowregret.words import counted

FEW = 8  # classes whose confusions are shown in full


def show(session: Session, seconds: Seconds, model: str | None) -> str:
    """Rows and speed, loss, error against the simplest guess, the proof, and where the model is."""
    run, rounds = session.run, max(session.run.rounds, 1)
    loss = loss_name(run.learner.loss)
    lines = [
        f"learnt     {counted(run.rounds, 'row')} with {session.algorithm}, {counted(session.nonzeros, 'non-zero')}, "
        f"{counted(run.dimension, 'weight')}, in {seconds.work:.2f} s ({run.rounds / seconds.work:,.0f} rows/s)",
        *_compiled(seconds),
        f"loss       {run.loss / rounds:.4g} a row ({loss}), live: each row judged before it was learnt",
        *_judged(session, session.metrics),
    ]
    lines += describe_kept(run)
    if session.held.rows:
        lines += [f"held out   {counted(session.held.rows, 'row')}", *_judged(session, session.held)]
    lines += _proved(session, rounds)
    lines += describe_risk(run, shell=True)
    if session.dictionary is not None and len(session.dictionary):
        shared = session.dictionary.collisions
        lines.append(f"names      {len(session.dictionary):,}, of which {shared:,} share a weight with another")
    if session.unlabelled:
        lines.append(f"unlabelled {counted(session.unlabelled, 'row')} had no label: scored, not learnt")
    if session.skipped:
        lines.append(f"skipped    {counted(session.skipped, 'line')} that could not be read")
    lines += [f"note       {note}" for note in session.notes]
    if isinstance(run.learner.rule, Proximal):
        lines.append(f"sparse     {np.count_nonzero(run.weights):,} of {run.dimension:,} weights are not 0")
    if model:
        lines.append(f"model      {model}")
    return "\n".join(lines)


def _compiled(seconds: Seconds) -> list[str]:
    """What the next command will not take."""
    return [f"           and {seconds.compile:.2f} s of compiling, once on this machine"] if seconds.compile else []


def _proved(session: Session, rounds: int) -> list[str]:
    """The certificates, and what they say of fixed choices."""
    run, certificate = session.run, session.certificate
    lines = describe(run.certificate, rounds) if certificate.id != run.certificate.id else []
    lines += describe(certificate, rounds)
    if certificate.hindsight is not None:
        each = rounds if certificate.measure == "regret" else 1  # a weighted regret is a mean already
        best, gap = certificate.hindsight["loss"] / each, certificate.hindsight["gap"] / each
        told = ", weighted" * (each == 1) + ", regulariser included" * (run.learner.ridge > 0)
        lines.append(f"           the best fixed choice lost {best:.4g} a row{told}, or at most {gap:.2g} less,")
        if certificate.regret_interval is not None:
            low, high = certificate.regret_interval
            lines.append(f"           so the exact regret lies between {low:.8g} and {high:.8g}")
    elif certificate.linear_regret is not None and certificate.measure == "regret":
        least = max((run.loss - certificate.linear_regret) / rounds, 0.0)
        lines.append(f"           so no fixed choice there had a loss below {least:.4g} a row on these rows")
    return lines


def _judged(session: Session, metrics: Metrics | Confusion) -> list[str]:
    if not metrics.rows:
        return []
    if isinstance(metrics, Confusion):
        assert isinstance(session.run, ClassRun)
        return _confused(metrics, session.run.classes.names)
    if not metrics.loss.classifies:
        told = metrics.to_json()
        guess = metrics.spread
        return [
            f"error      {told['mae']:.4g} on average (mean absolute), {told['rmse']:.4g} root mean square; "
            f"always guessing the mean: {guess:.4g} root mean square"
        ]
    s = metrics.sums
    positives, negatives = s[POSITIVE_RIGHT] + s[POSITIVE_WRONG], s[NEGATIVE_RIGHT] + s[NEGATIVE_WRONG]
    common = min(positives, negatives) / metrics.rows
    lines = [
        f"error      {metrics.error:.2%} of the rows predicted wrongly; "
        f"always guessing {'+1' if positives > negatives else '-1'}: {common:.2%}",
        f"           of {positives:,.0f} labelled +1, {s[POSITIVE_RIGHT]:,.0f} were found; "
        f"of {negatives:,.0f} labelled -1, {s[NEGATIVE_RIGHT]:,.0f}",
    ]
    if metrics.auc is not None:
        area, off = metrics.auc
        lines.append(f"ranking    {area:.4f} (AUC, ± {off:.1g}): chance that a +1 scores above a -1")
    return lines


def _confused(metrics: Confusion, names: Sequence[Name]) -> list[str]:
    """Error, the classes found worst and best, and what is confused: all of it where classes are few."""
    metrics.make_room(len(names))
    common, guessing = metrics.commonest
    lines = [
        f"error      {metrics.error:.2%} of the rows predicted wrongly, of {counted(len(names), 'class', 'classes')}; "
        f"always guessing {names[common]}: {guessing:.2%}"
    ]
    recall, of_class = metrics.recall, metrics.counts[:-1].sum(axis=1)
    found = [f"{names[k]} {recall[k]:.0%} of {of_class[k]:,}" for k in np.argsort(recall, kind="stable") if of_class[k]]
    shown = found if len(found) <= FEW else [*found[: FEW // 2], "…", *found[-FEW // 2 :]]
    lines.append(f"found      {', '.join(shown)}")
    if len(names) <= FEW:
        width = max(len(str(n)) for n in (*names, int(metrics.counts.max())))
        lines.append(f"taken for  {' ' * width}  {'  '.join(f'{name!s:>{width}}' for name in names)}")
        for name, row in zip(names, metrics.matrix.tolist(), strict=True):
            lines.append(f"           {name!s:<{width}}  {'  '.join(f'{n:>{width}}' for n in row)}")
    elif worst := [f"{names[y]} for {names[guess]} {n:,}" for y, guess, n in metrics.worst()]:
        lines.append(f"mistaken   {', '.join(worst)}")
    return lines
