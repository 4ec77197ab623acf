"""All that `auto` shows under attack: python -m benchmarks.fuzz_auto --runs 500

Runs of signs, numbers and classes learn nasty rows one by one, at once or late, while the score of every expert is
taken down. From these, and from models that are kept where the run freezes its own, all figures are computed again in
exact arithmetic or by a slow loop: losses of the mixture and of each expert, eras, the kept model's loss and error, and
the regret that each certificate speaks of. Then the same rows in batches, sparse, through files, with refused rows in
between, compiled in a share of the runs, must leave the same bits.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.comparators import points_of
from benchmarks.exact import Exact, inner, log, loss_at, multi_loss_at
from benchmarks.fuzzing import Falsehood, main, require
from benchmarks.nasty import Draw, size
from benchmarks.row_runs import with_zeros
from lowregret import load, zoo
from lowregret.auto.classes import DOUBT
from lowregret.auto.learner import EXPERTS, ORIGIN, PARTITIONS, UNIT
from lowregret.auto.row_loop import ASKED, THEN, THEN_LANES, THEN_UNIT
from lowregret.certificate import Certificate
from lowregret.errors import LowRegretError
from lowregret.features import Partitions
from lowregret.loss import Logistic, Softmax, Square
from lowregret.risk.kept_trial import FIRST
from lowregret.run.begin import begin

FAINT = Fraction(1e-320)  # the steps of so many of the least numbers as a run has roundings
FINE = 1e-12  # what the logarithm of a likelihood may be off, beside rounding: docs/auto.md


@dataclass
class Told:
    """Rows that were learnt, what was announced of each, and what was found out about each expert."""

    learner: Any
    how: dict[str, Any]
    x: list[Any] = field(default_factory=list)
    y: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    scores: list[Any] = field(default_factory=list)  # of classes a list
    experts: list[Any] = field(default_factory=list)  # what each said; of classes the chances of those met
    models: dict[int, Any] = field(default_factory=dict)  # predictors, by the rounds after which they were made


# ---- rows -----------------------------------------------------------------------------------------------------------


def some_rows(r: Draw, kind: str, count: int, features: int) -> tuple[Any, Any, Any]:
    """Rows, labels and weights: ties, constant and late columns, labels in runs, wild ones, weights of all sizes."""
    g = np.random.default_rng(r.randrange(1 << 32))
    x = g.normal(size=(count, features)) * 10.0 ** g.choice([0, 0, 0, 3, -3, 9], features)
    for j in range(features):
        way = r.choice(["", "", "", "constant", "ties", "late", "rare", "far"])
        if way == "constant":
            x[:, j] = r.choice([0.0, 1.0, 1e8])
        elif way == "ties":
            x[:, j] = np.round(x[:, j] / (np.abs(x[:, j]).max() or 1.0) * 2)
        elif way == "late":
            x[: r.randrange(count), j] = 0.0
        elif way == "rare":
            x[g.random(count) < 0.9, j] = 0.0
        elif way == "far":
            x[:, j] += 1e9
    signal = np.nan_to_num(x / (np.abs(x).max(axis=0) + 1e-300)) @ g.normal(size=features)
    signal += r.choice([0.0, 0.1, 1.0]) * g.normal(size=count)
    return x, some_labels(r, g, kind, signal), some_weights(r, g, count)


def some_labels(r: Draw, g: Any, kind: str, signal: Any) -> Any:
    count = len(signal)
    if r.random() < 0.2:
        signal = np.repeat(g.normal(size=count), r.choice([5, 20]))[:count]
    if kind == "signs":
        return np.where(signal > np.quantile(signal, r.choice([0.5, 0.5, 0.02])), 1.0, -1.0)
    if kind == "classes":
        names = np.array(["a", "b", "c", "d", "e", "f", "g"])[: r.choice([1, 2, 3, 7])]
        cuts = np.quantile(signal, np.linspace(0, 1, len(names) + 1)[1:-1]) if len(names) > 1 else []
        return names[np.searchsorted(cuts, signal)]
    y = signal * size(r) + r.choice([0.0, 0.0, size(r), 1e8])
    way = r.choice(["", "", "rare", "wild", "two wild", "same", "growing"])
    if way == "rare":
        y = np.where(g.random(count) < 0.02, 1.0, 0.0)
    elif way in ("wild", "two wild"):
        for _ in range(1 + (way == "two wild")):
            y[r.choice([0, 1, 40, 62, 63, 64, 65, r.randrange(count)]) % count] = r.choice([1e10, -1e6, 1e30, 3e3])
    elif way == "same":
        y[: r.randrange(count)] = y[0]
    elif way == "growing":
        y *= 10.0 ** np.linspace(0, r.choice([6, 20]), count)
    return y


def some_weights(r: Draw, g: Any, count: int) -> Any:
    way = r.choice(["one"] * 4 + ["few", "small", "tiny", "all"])
    choices = {"one": [1.0], "few": [0.0, 1.0, 0.5, 3.0], "small": [1e-9, 1e-3], "tiny": [1e-300, 1e-310, 1e-290]}
    return g.choice(choices.get(way, [0.0, 1.0, 1e-20, 1e6, 7.0]), count)


def learn_one_by_one(told: Told, run: Any, x: Any, y: Any, weights: Any) -> None:
    """Learn rows, none of which `auto` may refuse, and take down what experts said."""
    classes, late = run.classes is not None, run.late is not None
    for row, label, weight in zip(x.tolist(), y.tolist(), weights.tolist(), strict=True):
        before, met = run.rounds, len(run.classes) if classes else 0
        run.keep_scores = True
        run.learn([row], [label], [weight])
        told.x.append(row)
        told.y.append(label)
        told.weights.append(weight)
        told.scores.append(run.scores[0].tolist())
        told.experts.append(_asked(run) if late else _heard(run, met, before))
        if run.rounds != before and run.rounds >= FIRST and not run.rounds & (run.rounds - 1):
            told.models[run.rounds] = run.predictor()


def _heard(run: Any, met: int, before: int) -> Any:
    """What each expert said of the row that was learnt last: numbers, or the chance of each class met."""
    desk = run.record._desks[True][2]
    if run.classes is not None:
        return desk.chances.reshape(EXPERTS, -1)[:, :met].tolist()
    if not isinstance(run.learner.loss, Square):
        return desk.experts[:EXPERTS].tolist()
    past = run.record.mind.past if before else {ORIGIN: 0.0, UNIT: 1.0}
    return [Fraction(past[ORIGIN]) + Fraction(past[UNIT]) * Fraction(e) for e in desk.experts[:EXPERTS].tolist()]


def _asked(run: Any) -> Any:
    """What each expert said of the row that was asked last, which waits; nothing of classes, lanes being scores."""
    if not run.late.table.size or run.classes is not None:
        return None
    then = run.late.table.past[-1]
    said = then[THEN_LANES:THEN].tolist()
    if not isinstance(run.learner.loss, Square):
        return said
    if then[ASKED] == 1.0:  # no label was known, and all experts said 0
        return [Fraction(0)] * PARTITIONS
    return [Fraction(run.record.mind.past[ORIGIN]) + Fraction(then[THEN_UNIT]) * Fraction(e) for e in said]


# ---- what must be so ------------------------------------------------------------------------------------------------


def answered(told: Told, run: Any) -> list[int]:
    """The rows whose labels were learnt, in order of arrival, if all are as late."""
    played = [i for i, w in enumerate(told.weights) if w != 0]
    return played[: run.rounds]


def mixture_loss(told: Told, i: int) -> Fraction:
    """The loss of the score that row i was given."""
    return exact_loss(told, told.scores[i], told.y[i])


def exact_loss(told: Told, score: Any, y: Any) -> Fraction:
    return loss_at(told.learner.loss, Fraction(score), Fraction(y))


def near(a: float, b: Any, slack: float) -> bool:
    """Whether numbers are equal but for the rounding of sums, and this much; and but for steps of the least numbers."""
    return abs(Fraction(a) - Fraction(b)) <= Fraction(1e-11) * abs(Fraction(b)) + Fraction(slack) + FAINT


def check_experts(told: Told, run: Any) -> int:
    """The losses of the mixture and of each expert, and the certificate that compares them; returns claims made."""
    rows, count = answered(told, run), len(run.contest.names)
    if count != PARTITIONS or any(told.experts[i] is None for i in rows):
        return 0
    mine, sums, weight = Fraction(0), [Fraction(0)] * count, Fraction(0)
    for i in rows:
        w = Fraction(told.weights[i])
        mine, weight = mine + w * mixture_loss(told, i), weight + w
        for k in range(count):
            sums[k] += w * exact_loss(told, told.experts[i][k], told.y[i])
    slack = 0.0 if isinstance(told.learner.loss, Square) else FINE * float(weight)
    require(near(run.loss, mine, 0.0), f"the loss is {run.loss!r}, exactly {float(mine)!r}")
    for name, shown, true in zip(run.contest.names, run.contest.losses.tolist(), sums, strict=True):
        require(near(shown, true, slack), f"{name} lost {shown!r}, exactly {float(true)!r}")
    return check_claim(run.certificate, mine - min(sums))


def check_classes(told: Told, run: Any) -> int:
    """The losses of experts and of the mixture where classes came at once, and the certificate of these."""
    names, rows, doubt = list(run.classes.names), answered(told, run), Fraction(DOUBT)
    if run.late is not None or len(run.contest.names) != PARTITIONS:
        return check_claim(run.certificate, Fraction(run.certificate.regret or 0.0))
    mine, sums, weight = Fraction(0), [Fraction(0)] * PARTITIONS, Fraction(0)
    for i in rows:
        w, code, met = Fraction(told.weights[i]), names.index(told.y[i]), len(told.experts[i][0])
        mixed = [Fraction(s) for s in told.scores[i][:met]]
        mixed += [log(doubt / (met + 1))] * (code + 1 - met)
        mine += w * multi_loss_at(told.learner.loss, mixed, code, mixed)
        for k in range(PARTITIONS):
            given = [*map(Fraction, told.experts[i][k]), *[doubt / (met + 1)] * (code + 1 - met)]
            sums[k] -= w * log(given[code] / sum(given))
        weight += w
    slack = FINE * float(weight)
    require(near(run.loss, mine, slack), f"the loss is {run.loss!r}, exactly {float(mine)!r}")
    for name, shown, true in zip(run.contest.names, run.contest.losses.tolist(), sums, strict=True):
        require(near(shown, true, slack), f"{name} lost {shown!r}, exactly {float(true)!r}")
    return check_claim(run.certificate, mine - min(sums))


def check_claim(c: Certificate, regret: Fraction) -> int:
    """An exact regret and what a certificate says of it."""
    require(not c.premises_hold or c.holds, f"premises hold, and {c} does not")
    if c.holds and math.isfinite(c.proved) and regret > Fraction(c.proved):
        raise Falsehood(f"the exact regret {float(regret)!r} is above {c.proved!r}: {c}")
    return int(c.holds)


def check_fixed(r: Draw, told: Told, run: Any) -> int:
    """LINEARISED, against fixed linear predictors."""
    rows = answered(told, run)
    own = [(i, Fraction(told.weights[i])) for i in rows]
    mine = sum((w * mixture_loss(told, i) for i, w in own), Fraction(0))

    def regret(u: Exact) -> Fraction:
        theirs = Fraction(0)
        for i, w in own:
            score = inner([Fraction(v) for v in [*told.x[i], 1.0]], u)
            theirs += w * exact_loss(told, score, told.y[i])
        return mine - theirs

    points = points_of(r, run.comparator, run.state.dimension, run.books.theta)[:3]
    return sum(check_claim(run.fixed_certificate, regret(u)) for u in points)


def check_eras(told: Told, run: Any) -> int:
    """Eras: what the mixture lost in each, and their certificate."""
    eras, rows, begin_at, total = run.eras(), answered(told, run), 0, run.loss
    for end, lost in zip(eras.ends.tolist(), eras.mixture.tolist(), strict=True):
        parts = [Fraction(told.weights[i]) * mixture_loss(told, i) for i in rows[begin_at:end]]
        true = sum(parts, Fraction(0))
        require(near(lost, true, 1e-11 * total), f"the mixture lost {lost!r} up to {end}, exactly {float(true)!r}")
        begin_at = end
    return check_claim(eras.certificate, Fraction(eras.certificate.regret or 0.0))


def check_kept(told: Told, run: Any) -> int:
    """The figures of kept models, by models that were kept where the run froze its own."""
    rows, kept = answered(told, run), run.kept
    if kept is None or run.late is not None:
        return 0
    sums, wrong, weight = 0.0, 0.0, 0.0
    for start in kept.frozen:
        for t in range(start, min(start + start // 2, run.rounds)):
            part = (t - start) * 8 // start
            if 2 * (start + start * (part + 1) / 8) > run.rounds:
                value, missed = _judged(told, told.models[start], rows[t])
                w = told.weights[rows[t]]
                sums, wrong, weight = sums + w * value, wrong + w * missed, weight + w
    require(near(kept.loss, sums / weight, 1e-12), f"the kept loss is {kept.loss!r}, by a slow loop {sums / weight!r}")
    if kept.error is not None:
        require(near(kept.error, wrong / weight, 1e-12), f"the kept error is {kept.error!r}, not {wrong / weight!r}")
    check_claim(run.keeper.certificate, Fraction(run.keeper.certificate.regret or 0.0))
    return 1


def _judged(told: Told, model: Any, i: int) -> tuple[float, bool]:
    """The loss of a model on row i, and whether it was wrong."""
    scores, y = model.decision_function([told.x[i]])[0], told.y[i]
    if isinstance(told.learner.loss, Softmax):
        names = list(model.classes.names) if hasattr(model.classes, "names") else list(model.classes)
        chances = np.exp(scores) if np.ndim(scores) else np.ones(1)
        if y not in names:
            return -math.log(1e-6 / (len(names) + 1)), True
        return -math.log(chances[names.index(y)]), names[int(np.argmax(chances))] != y
    value, _ = told.learner.loss.at(float(scores), y)
    return float(value), bool(told.learner.loss.wrong(float(scores), y))


def check_bits(r: Draw, told: Told, run: Any, again: Any, folder: Path) -> None:
    """Learn the same rows in batches, sparse, through files, with refused ones in between: all bits are the same."""
    at, thin, features = 0, r.random() < 0.5, len(told.x[0]) if told.x else 0
    while at < len(told.y):
        end = min(len(told.y), at + r.choice([1, 2, 5, 40, 300]))
        x = np.array(told.x[at:end]).reshape(-1, features)
        again.learn(with_zeros(x) if thin else x, told.y[at:end], told.weights[at:end])
        if r.random() < 0.3:
            with suppress(LowRegretError):
                again.learn([[math.nan] * features], told.y[:1], [1.0])
        if r.random() < 0.3:
            again.save(folder / "run")
            again = load(folder / "run")
        at = end
    (_, arrays), (_, others) = run.contents(), again.contents()
    require(sorted(arrays) == sorted(others), f"arrays {sorted(set(arrays) ^ set(others))} depend on the batches")
    for name, array in arrays.items():
        if thin and name.startswith("tally."):  # how rows are recognised that come again hangs on their form
            continue
        same = np.array_equal(array, others[name], equal_nan=array.dtype.kind == "f")
        require(same, f"{name} depends on the batches")
    require(repr(run.certificates) == repr(again.certificates), "certificates depend on the batches")


# ---- one run of each kind -------------------------------------------------------------------------------------------


def fuzz_auto(r: Draw, folder: Path, shown: list[Any]) -> int:
    """One run, all its figures and certificates; returns how many claims were checked."""
    kind, features = r.choice(["signs", "numbers", "numbers", "classes"]), r.randint(1, 4)
    loss: Any = {"signs": Logistic(), "numbers": Square(), "classes": Softmax()}[kind]
    learner = zoo.auto(loss, "raw")
    if r.random() < 0.15:
        learner = type(learner)(loss, Partitions(trees=r.choice([1, 3]), cells=64, seed=r.randrange(9)))
    how: dict[str, Any] = {"compiled": r.random() < 0.1}
    if r.random() < 0.3:
        how["delay"] = r.choice([1, 3, 20, 70])
    run, again = (begin(learner, features, **how) for _ in range(2))
    told = Told(learner, how)
    shown += [learner, how]
    x, y, weights = some_rows(r, kind, r.choice([5, 40, 70, 140, 140, 300]), features)
    learn_one_by_one(told, run, x, y, weights)
    claims = check_kept(told, run)
    if kind != "classes":
        claims += check_experts(told, run) + check_fixed(r, told, run) + check_eras(told, run)
    else:
        claims += check_classes(told, run)
    again.compiled = r.random() < 0.1
    check_bits(r, told, run, again, folder)
    return claims


if __name__ == "__main__":
    main(__doc__, [fuzz_auto], 500, refuses=False)
