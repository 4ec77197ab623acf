"""Training from files: a session is a run, the format its rows are read in, and figures on its predictions.

The command line keeps a session in a model file: enough to go on, to predict, and to tell what was learnt.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.rounding import EXTRA
from lowregret.compile.numerics import EPSILON
from lowregret.compile.spec import from_json, to_json
from lowregret.compile.turns import in_turn
from lowregret.errors import PartError, StoreError
from lowregret.risk.bounds import risk_json
from lowregret.rule import FTRLProximal
from lowregret.run import notes
from lowregret.run.auto import AutoRun
from lowregret.run.auto_multiclass import AutoMulticlassRun
from lowregret.run.averaged import AveragedRun
from lowregret.run.blocks import BlockRun
from lowregret.run.confusion import Confusion
from lowregret.run.free import FreeRun
from lowregret.run.judge import Judged, judge, loss_json, no_rows
from lowregret.run.linear import LinearRun
from lowregret.run.metrics import Metrics
from lowregret.run.multiclass import MulticlassRun
from lowregret.run.outcome import NOTHING, Learnt, Steps
from lowregret.run.passes import Earlier, Pass, best_of, best_pass, weighed
from lowregret.run.predictor import Predictor
from lowregret.run.served import Served, read_served
from lowregret.run.spread import SpreadRun
from lowregret.state import RIDGE, TOTAL, WEIGHTED
from lowregret.store import file as store
from lowregret.stream.batch import Batch
from lowregret.stream.dictionary import Dictionary
from lowregret.stream.read import positive_name
from lowregret.types import Vector

if TYPE_CHECKING:
    from lowregret.convex.minimise import Solution
    from lowregret.hindsight import Pass as Rereading
    from lowregret.hindsight import Report

Observer = Callable[[Batch, Learnt], object]  # what wants to know of each batch


@dataclass
class Session(Served):
    """A run fed from a stream, with counts of the rows read and figures on its predictions."""

    run: LinearRun | AutoRun | MulticlassRun
    rows: int = 0  # read, with those held out or without a label
    reread: int = 0  # in passes after the first
    nonzeros: int = 0
    unlabelled: int = 0
    skipped: int = 0  # lines that could not be read
    seconds: float = 0.0  # of learning, waiting for rows not counted
    again: Vector = field(default_factory=lambda: np.zeros(3))  # loss, weight, weight of mistakes after the first pass
    metrics: Judged = field(init=False)  # of rows learnt, in their first pass
    held: Judged = field(init=False)  # of rows held out, in the latest pass
    held_last: bool = False  # whether these are the last rows
    passes: list[Pass] = field(default_factory=list)  # made since the session was begun or loaded
    dictionary: Dictionary | None = None  # names of features, if they are kept
    remarks: list[str] = field(default_factory=list)  # on columns of which little is learnt
    best: Solution | None = None  # the best fixed choice in hindsight
    earlier: Earlier = Earlier()  # of the commands before
    theirs: Vector | None = None  # its losses at the rounds of the run's trace

    def __post_init__(self) -> None:
        self.metrics, self.held = no_rows(self.run), no_rows(self.run)
        self._begun, self._steps = self.again, Steps()  # sums when the present pass began, and steps of a batch
        self._kept: Any = None  # a copy of the run after the best pass

    # ---- learning ----------------------------------------------------------------------------------------------

    @in_turn
    def learn(self, batch: Batch, *observers: Observer) -> None:
        """Learn a batch, or judge it if its rows are the last ones held out, and let all observers know of it.

        If a row cannot be learnt, or something else goes wrong, the rows before it are learnt, and observers know it.
        """
        begin, before, learnt = time.perf_counter(), self._sums(), NOTHING
        try:
            if batch.last:
                learnt = self._judged_last(batch)
            else:
                self.met.join(batch.met)
                self.run.learn_batch(batch)
        finally:
            if not batch.last:
                learnt = self.run.learnt
                self._steps.add(*self._counting(batch, learnt))
            self._steps.add(partial(self._count, batch, learnt.done, before, begin))
            self._steps.add(*(partial(see, batch, learnt) for see in observers))
            self._steps.finish()

    def _judged_last(self, batch: Batch) -> Learnt:
        """Score rows that are held out with the present model, and count them."""
        if not self.run.rounds:
            return NOTHING
        assert batch.held is not None
        scores = judge(self.run, batch, batch.held, self.held)
        return Learnt(len(batch), batch.labels, scores, scores)

    def _counting(self, batch: Batch, learnt: Learnt) -> Iterator[Callable[[], None]]:
        """Steps that add the predictions made in a batch to the figures."""
        done = learnt.done
        if self.run.late is not None:
            yield partial(self._see, self.metrics, *self.run.late.answers)
        elif not self.passes:
            yield partial(self._see, self.metrics, batch.weights[:done], learnt)
        if batch.held is not None:
            yield partial(self._see, self.held, batch.held[:done], learnt)

    def _see(self, found: Judged, weights: Vector, learnt: Learnt) -> None:
        if isinstance(self.run, MulticlassRun) and isinstance(found, Confusion):
            found.see(len(self.run.classes), learnt.labels, learnt.guesses, weights)
        elif isinstance(found, Metrics):
            found.see(learnt.labels, weights, learnt.guesses)

    def _count(self, batch: Batch, done: int, before: Vector, begin: float) -> None:
        """Count the rows read, each once; `before` and `begin` are the sums and the time before the batch."""
        learnt = 0 if batch.last else batch.nonzeros(done)
        unlabelled = batch.unlabelled if done == len(batch) else int(np.count_nonzero(np.isnan(batch.labels[:done])))
        if self.passes:
            self.reread += done
            self.again += self._sums() - before
        else:
            self.rows += done
            self.unlabelled += unlabelled
            self.skipped += len(batch.faults)
        self.nonzeros += learnt
        self.seconds += time.perf_counter() - begin

    # ---- passes ------------------------------------------------------------------------------------------------

    def begin_pass(self, held_last: bool = False, several: bool = False) -> None:
        """Begin a pass; to be called before the rows are read, the first time or again.

        `held_last`: the last rows are held out. Rows held out are judged afresh in each of `several` passes.
        """
        if self.passes:
            self.run.end_trial()
            self.run.tally.repeat()
        if several or held_last:
            self.held = no_rows(self.run)
        self.held_last, self._begun = held_last, self._sums() if self.passes else self.again.copy()

    def end_pass(self, more: bool = False) -> bool:
        """End a pass after all rows were read; returns whether another, if `more` are wanted, may improve the model.

        None does once the rows held out are predicted worse than before. A copy of the run after the best pass is kept.
        """
        loss, weight, wrong = (self._sums() - self._begun).tolist()
        error = wrong / (weight or 1.0) if self.run.learner.loss.classifies else None
        held = self.held if self.held.rows else None
        self.passes.append(Pass(len(self.passes) + 1, loss / (weight or 1.0), error, held))
        best = best_pass(self.passes)
        if held is not None and best is self.passes[-1]:
            self._kept = copy.deepcopy((self.run.contents(), self.again, self.nonzeros)) if more else None
        return more and (held is None or best.merit == self.passes[-1].merit)

    def keep_best(self) -> None:
        """Go back to the run as it was after the best pass, if other passes followed it."""
        if self._kept is not None:
            contents, self.again, self.nonzeros = self._kept
            self.run = type(self.run).of("the best pass", *contents)
            self.held = self.passes[self.best_pass - 1].held or self.held
        self._kept = None

    @property
    def best_pass(self) -> int:
        """The pass whose model is kept, from 1."""
        return best_pass(self.passes).number if self.passes else 1

    def _sums(self) -> Vector:
        """The loss, the weight, and the weight of mistakes, over all rounds."""
        return np.array([self.run.loss, self.run.weight, self.run.wrong])

    # ---- in hindsight ------------------------------------------------------------------------------------------

    @property
    def single(self) -> LinearRun | AutoRun:
        """The run, which must have one score a row, for exact regret is not found for many classes."""
        if isinstance(self.run, MulticlassRun):
            raise PartError("--certify exact speaks of one score, not of many classes: use --certify stream")
        return self.run

    def require_answer(self) -> None:
        """Raise an error if the best fixed choice in hindsight cannot be found for the run's loss and comparators."""
        from lowregret.hindsight import require_answer  # with SciPy, which few commands need

        require_answer(self.single.learner.loss, self.single.comparator)

    def look_back(self, rows: Rereading, report: Report | None = None) -> None:
        """Find the best fixed choice in hindsight on all rows that were learnt, which `rows` gives `run.located`.

        Where the step schedule weighs the rounds, each row counts as often as its rounds did.
        """
        from lowregret.hindsight import best_fixed
        from lowregret.hindsight.best import silent
        from lowregret.hindsight.fixed_comparator import is_plain, losses_at

        run = self.single
        learner, u, passes = run.linear, run.comparator, self.best_pass
        step = learner.rule.schedule()
        counted = partial(weighed, rows, step, run.rounds, passes)
        kappa = learner.ridge * step.total_importance(run.rounds)
        self.best = best_fixed(learner, u, counted, run.placed_weights, kappa, run.compiled, report=report or silent)
        if is_plain(learner):
            again = (piece for _ in range(passes) for piece in rows())
            self.theirs = losses_at(learner, self.best.w, again, run.trace.rounds, run.compiled)

    @property
    def certificate(self) -> Certificate:
        """The certificate against fixed choices; after `look_back` with the exact regret (`regret_interval`)."""
        run, best = self.run, self.best
        if best is None:
            return run.fixed_certificate
        step, sums = run.learner.rule.schedule(), run.state.sums
        mine = float(sums[WEIGHTED] if step.weighted() else sums[TOTAL]) + run.learner.ridge / 2 * float(sums[RIDGE])
        share = 1 / step.total_importance(run.rounds) if step.weighted() else 1.0  # weighted regret is a mean
        found = run.fixed_certificate
        off = max(share * EPSILON * (run.rounds + EXTRA) * abs(mine), found.rounding)  # scores may have cancelled
        told = {"loss": share * best.value, "gap": share * best.gap, "rounding": share * best.rounding + off}
        return replace(found, hindsight=told, regret=share * (mine - best.value))

    # ---- results -----------------------------------------------------------------------------------------------

    @property
    def loss(self) -> float:
        """Σ c·ℓ over rows in their first pass, each judged before it was learnt."""
        return float((self._sums() - self.again)[0])

    @property
    def mean_loss(self) -> float:
        """Σ c·ℓ / Σ c over rows in their first pass, each judged before it was learnt."""
        loss, weight, _ = self._sums() - self.again
        return float(loss / (weight or 1.0))

    @property
    def error(self) -> float | None:
        """Σ c·[wrong] / Σ c over rows in their first pass; None for regression."""
        _, weight, wrong = self._sums() - self.again
        return float(wrong / (weight or 1.0)) if self.run.learner.loss.classifies else None

    @property
    def lacks_positive(self) -> bool:
        """Whether a positive label was named that no row had so far."""
        return self.signs is not None and isinstance(self.metrics, Metrics) and self.metrics.constant == -1

    @property
    def one_label(self) -> str | None:
        """A note that all labels were the same, if they were: then nothing is known of rows with other labels."""
        if not isinstance(self.run, MulticlassRun):
            return notes.one_label(self.metrics, self.signs) if isinstance(self.metrics, Metrics) else None
        met = np.flatnonzero(self.run.confusion.counts.sum(axis=1)[:-1])
        return notes.one_class(self.run.rounds, self.run.classes.names[int(met[0])]) if met.size == 1 else None

    @property
    def came_again(self) -> bool:
        """Whether rows came again unasked, so that those learnt before cannot be told from others."""
        return bool(self.run.tally.unasked)

    @property
    def notes(self) -> list[str]:
        """Notes on the labels and columns that the figures do not show."""
        found = [*self.remarks, *notes.idle(self.met.idle), *([self.one_label] if self.one_label is not None else [])]
        found += [notes.HELD_AGAIN] if self.held.rows and self.came_again else []
        if isinstance(self.run, MulticlassRun):
            found += notes.many_classes(self.run.rounds, len(self.run.classes))
        if isinstance(self.run, BlockRun):
            found += notes.cores(**self.run.crew_json(), alike=self.run.size.measured and self.run.block == 1)
        elif isinstance(self.run, AutoRun):
            found += notes.cores(**self.run.crew_json())
        found += [f"workers learnt at once: {self.run.stale}"] if isinstance(self.run, SpreadRun) else []
        if self.origin is not None:
            found += notes.unlike(self.origin[0], positive_name(self.form), self.origin[1], self.met, learnt=True)
        return found

    def to_json(self, seconds: dict[str, float], model: str | None) -> dict[str, Any]:
        """The public form of the session: the learner, its figures and its certificates."""
        run, metrics = self.run, self.judged(self.metrics)
        metrics |= {"rows": self.rows, "unlabelled": self.unlabelled, "skipped": self.skipped}
        if isinstance(run.learner.rule, FTRLProximal):
            metrics["nonzero_weights"] = int(np.count_nonzero(run.placed_weights))
        found: dict[str, Any] = {
            "algorithm": self.algorithm,
            "spec": to_json(run.learner),
            "rounds": run.rounds,
            "nonzeros": self.nonzeros,
            "dimension": run.dimension,
            "loss": loss_json(run, self.loss, self.mean_loss),
            "error": self.error if run.rounds else None,
            "kept": None if run.kept is None else run.kept.to_json(),
            "metrics": metrics,
            "passes": [done.to_json() for done in self.passes],
            "best_pass": self.best_pass,
            "certificate": self.certificate.to_json() | self._risk_json(),
            "seconds": {**seconds, "learn": self.seconds},
            "model": model,
            "notes": self.notes,
            "delay": None if run.late is None else run.late.to_json(),
        }
        found |= self._work_json()
        if run.expansion is not None:
            found["expand"] = {"map": to_json(run.expansion.part), "summary": run.expansion.summary}
        if isinstance(run, AutoRun | AutoMulticlassRun):
            found |= run.contest.to_json()
            found |= {"mixture": run.certificate.to_json(), "partitions": run.curve.to_json(run)}
            if found["kept"] is not None:
                found["kept"] |= {"experts": run.keeper.to_json(), "certificate": run.keeper.certificate.to_json()}
        if self.dictionary is not None and len(self.dictionary):  # LIBSVM has numbers for names
            metrics |= {"names": len(self.dictionary), "collisions": self.dictionary.collisions}
        if self.held.rows:
            kind = "last" if self.held_last else "every"
            told = {"kind": kind, "rows": self.held.rows, "loss": self.held.mean_loss, "error": self.held.error}
            metrics["holdout"] = told | self.judged(self.held) | {"best_of": best_of(self.passes)}
        return found

    def _work_json(self) -> dict[str, Any]:
        """The public form of how several threads or workers learnt, if they did."""
        run = self.run
        if isinstance(run, BlockRun) or (isinstance(run, AutoRun) and run.learners > 1):
            return {"learners": run.crew_json()}
        if isinstance(run, SpreadRun):
            return {"staleness": {"most": run.staleness, "mean": run.mean_staleness, "rows": run.lags.tolist()}}
        return {}

    def _risk_json(self) -> dict[str, Any]:
        """The public form of risk, the bounds for future rows; None where all labels were the same."""
        return risk_json(self.run.risks()) | ({"risk": None} if self.one_label is not None else {})

    # ---- files -------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], store.Arrays]:
        description, arrays = super().contents()
        description["session"] |= {name: getattr(self, name) for name in _COUNTS} | {"again": self.again.tolist()}
        held = no_rows(self.run) if self.held_last else self.held  # a later model would judge the last rows otherwise
        for name, found in (("metrics", self.metrics), ("held", held)):
            arrays |= {f"{name}.{key}": array for key, array in found.arrays().items()}
        if self.dictionary is not None:
            arrays |= self.dictionary.save()
        if self.unwritten:
            arrays["unwritten"] = np.frombuffer(self.unwritten.encode(), np.uint8)
        return description, arrays

    def predictor(self) -> Served:
        """The model as it is now, for prediction alone: a small file, which cannot be resumed."""
        return Served(self.run.predictor(), self.form, self.algorithm, met=self.met)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Session:
        """Read a session written by `save`."""
        if store.kind_of(path) == Predictor.kind:
            raise StoreError(
                f"{path} was written for prediction alone: resume the model of a training without --predict-only"
            )
        run, told, arrays = read_served(path, _RUNS)
        counts = {name: told[name] for name in _COUNTS} | {"again": np.array(told["again"], float)}
        session = cls(run, from_json(told["form"]), told["algorithm"], **counts)
        session.remember(path, told)
        for name in ("metrics", "held"):
            if isinstance(run, MulticlassRun):
                found: Judged = Confusion(arrays[f"{name}.confusion"], arrays[f"{name}.sums"])
            else:
                found = Metrics(run.learner.loss, arrays[f"{name}.sums"], arrays[f"{name}.bins"])
            found.unlike = not run.alike
            setattr(session, name, found)
        session.earlier = Earlier(session.rows, session.metrics.rows)
        if "unwritten" in arrays:
            session.unwritten = arrays["unwritten"].tobytes().decode()
        if "names" in arrays:
            session.dictionary = Dictionary.load(arrays)
        return session


def load_served(path: str | os.PathLike[str]) -> Served:
    """Whatever a file holds that can score rows from files: a predictor, or a session."""
    return (Served if store.kind_of(path) == Predictor.kind else Session).load(path)


_ALL: tuple[type[LinearRun | AutoRun | MulticlassRun], ...] = (
    *(LinearRun, BlockRun, FreeRun, SpreadRun),
    *(AutoRun, AveragedRun, MulticlassRun, AutoMulticlassRun),
)
_RUNS = {run.kind: run for run in _ALL}
_COUNTS = ("rows", "nonzeros", "unlabelled", "skipped", "seconds")
