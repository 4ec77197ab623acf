"""Learning on several cores: a run whose rows are scored and learnt by several threads, a block at a time.

    run = train(zoo.adagrad(Logistic(), eta=0.1), X, y, learners=2)

What it learns depends on the size of a block, not on the number of threads, nor on how rows come in batches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn, Self

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.blocks import BLOCK, BOOK, PATIENCE, block_certificates
from lowregret.certificate.trace import Trace
from lowregret.errors import PartError
from lowregret.learner.growth import Together, join
from lowregret.learner.linear import Linear, write_point
from lowregret.rows import Features, Rows, Sparse
from lowregret.run.block_loop import APART, OPEN, Crew, Findings, learn_blocks
from lowregret.run.block_size import LONGEST_BLOCK, BlockSize
from lowregret.run.helpers import Helpers
from lowregret.run.linear import LinearRun
from lowregret.run.pace import Pace
from lowregret.run.schema_blocks import BlockSchema
from lowregret.state import TOTAL, State
from lowregret.store.file import Arrays
from lowregret.types import Cells, Vector

WORTH = 8  # blocks for which it is worth while to call others
LEAST = 1 << 16  # entries for which it is
TURN = 1 << 20  # entries after which it is decided anew whether to call them
GLANCE = 4096  # entries from which it is seen how features divide
LINE = 8  # coordinates: workers do not write to the same cache line


class BlockRun(LinearRun):
    """A `LinearRun` of which `learners` threads score and learn the rows, some rounds at a time: a block.

    `block`: how many rounds; None: as many as cost little, see `block_size.py`.

    All rows of a block are decided with the iterate before the block; then each worker learns them in order, moving
    the features that are his. O(nnz/learners) per row and two meetings per block; O(d) per call that does not end with
    a block, for the iterate that decides the rest of it is kept.
    """

    kind = "block-run"
    knows_outputs = False  # blocks keep the last iterate alone
    schema = BlockSchema(Linear)

    def __init__(self, *args: Any, learners: int = 1, block: int | None = None, **options: Any) -> None:
        super().__init__(*args, **options)
        self.learners = learners
        self.ledger: Vector = np.zeros(BOOK)
        self.ledger[BLOCK], self.ledger[PATIENCE] = block or 1, 1
        self.size = BlockSize(self.ledger, measured=block is None)
        self._decided: State | None = None  # the state before the present block, if that is begun
        self._paces: dict[int, Pace] = {}  # by the size of blocks
        self._found = found_room(block or LONGEST_BLOCK)
        self._gate = np.zeros(APART, np.int64)

    @property
    def block(self) -> int:
        """The size of blocks, as it is now."""
        return self.size.settled

    @property
    def pace(self) -> Pace:
        """How fast one and several learn in blocks of the present size."""
        return self._paces.setdefault(self.block, Pace())

    def crew_json(self) -> dict[str, Any]:
        """The public form of who learnt, in which blocks, and how much faster than one (None: that is not known)."""
        return {"threads": self.learners, "block": self.block, "gain": self.pace.gain, "lag": None}

    # ---- learning ------------------------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        if w.size > self._found.values.size:  # rows without weight, which are no rounds, may lie within a block
            self._found = found_room(w.size)
        while i < y.size and self.state.rounds < goal:
            rounds, begin = self.state.rounds, i
            probe, until = self.size.probing(rounds), self.size.until(rounds)
            i = self._stage(x, y, w, i, min(goal, until), limit)
            if probe and self.state.rounds == until:
                self.size.decide(until, float(self.state.sums[TOTAL]))
            if i == begin:
                break
        return i

    def _stage(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        """Learn some rows in blocks of one size; returns the first row not learnt."""
        size, begin = self.size.now(self.state.rounds), i
        if self.state.rounds % size == 0:
            self._decided = None
            i = self._turn(x, y, w, i, goal, limit)
            if i > begin:
                return i
            self._decided = self.state.copy()
        assert self._decided is not None
        i = self._work(1, x, y, w, i, goal, limit, self._decided)
        if self.state.rounds % size == 0:
            self._decided = None
        return i

    def _turn(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        """Learn some whole blocks, alone or together; returns the first row not learnt."""
        entries = max(number_of_entries(x, i, y.size) // (y.size - i), 1)  # of a row, on the average
        rounds, size = self.state.rounds, self.size.now(self.state.rounds)
        blocks = max(TURN // (entries * size), WORTH)
        until = min(goal, rounds + blocks * size)
        many = self.learners > 1 and self.compiled and min(y.size - i, until - rounds) >= WORTH * size
        many = many and not self.size.probing(rounds) and self._pays(x, i, min(y.size, i + until - rounds))
        together = many and self.pace.together()
        if many:  # compiled before time is taken, and before threads wait for each other
            self._work(1, x, y[:i], w, i, until, limit, self.state)
        begun = time.perf_counter()
        reached = self._work(self.learners if together else 1, x, y, w, i, until, limit, self.state)
        if many:
            self.pace.took(together, time.perf_counter() - begun, number_of_entries(x, i, reached))
        return reached

    def _pays(self, x: Rows, i: int, stop: int) -> bool:
        """Whether rows i … stop − 1 may be worth the trouble of calling others."""
        return number_of_entries(x, i, stop) >= LEAST

    def _work(self, workers: int, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float, seen: State) -> int:
        """Learn whole blocks if all are decided with the present state, else the rest of the present one."""
        whole, told = seen is self.state, np.zeros(workers * APART, np.int64)
        cuts, widest = self._cuts(x, i, y.size, workers), np.zeros(workers * APART)
        crew = Crew(self.size.now(self.state.rounds), workers, cuts, self._gate, told, widest)
        given = learn_blocks, self.learner, self.state, seen, self.ledger, x, y, w, self.scores, self._found, crew
        until = goal, whole, self.size.probing(self.state.rounds), limit
        self._gate[0] = 0
        helpers = Helpers(lambda k: self._call(*given, k, i, *until), workers - 1, lambda: self._gate.fill(OPEN))
        if not helpers.there:  # the outcome is the same
            return self._work(1, x, y, w, i, goal, limit, seen)
        with helpers:
            return int(self._call(*given, 0, i, *until))

    def _cuts(self, x: Rows, i: int, stop: int, workers: int) -> Cells:
        """Where the features of one worker end and those of the next begin, such that each has as many entries."""
        d = self.state.dimension
        cuts = np.linspace(0, d, workers + 1).astype(np.int64)
        if isinstance(x, Sparse) and workers > 1:
            entries = x.indices[x.indptr[i] : x.indptr[stop]]
            glance = np.sort(entries[:: max(entries.size // GLANCE, 1)]).astype(np.int64)
            if glance.size >= workers:
                cuts[1:-1] = glance[np.arange(1, workers) * glance.size // workers]
        cuts[1:-1] -= cuts[1:-1] % LINE if d >= LINE * workers else 0
        return cuts

    def _carried(self) -> Any:
        return (*self.state, self.ledger)

    def _undoing(self) -> Callable[[], None]:
        decided, undo = self._decided, super()._undoing()

        def undo_block() -> None:
            undo()
            self._decided = decided

        return undo_block

    def _learn_alone(self, x: Rows, y: Vector, w: Vector, i: int) -> bool:
        """Learn row i on trial; one that is not learnt does not end a block either."""
        decided, learnt = self._decided, False
        try:
            learnt = super()._learn_alone(x, y, w, i)
        finally:
            if not learnt:
                self._decided = decided
        return learnt

    def _widen(self, features: int) -> None:
        decided, bias = self._decided, self.learner.bias > 0
        if decided is not None:
            with Together() as together:
                decided = together.grow(decided, features, bias)
        super()._widen(features)
        self._decided = decided

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def point(self) -> Vector:
        """The iterate that decides the next row: in a block that is begun, the one before it. O(d)."""
        w = np.empty(self.state.dimension)
        self._call(write_point, self.learner, self._decided or self.state, w)
        return self._by_column(w)

    @property
    def certificates(self) -> list[Certificate]:
        """All certificates that speak of this learner in blocks, tightest first."""
        return block_certificates(self.learner, self.state, self.comparator, self.met, self.ledger)

    @property
    def trace(self) -> Trace:
        """Loss and linearised regret over the rounds; the regret is its own bound (LEM-2.5)."""
        found = super().trace
        return replace(found, bound=found.linear_regret, theorem="LEM-2.5")

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> NoReturn:
        """Raise a `PartError`: no mistake bound speaks of blocks."""
        raise PartError("the mistake bounds hold for rows learnt one by one: leave learners out, or see certificates")

    def promised_risks(self, u: Any, features: Features, labels: Any, delta: float = 0.05) -> NoReturn:
        """Raise a `PartError`: these promises are made for rows learnt one by one."""
        raise PartError("these bounds hold for rows learnt one by one: leave learners out, or see risks")

    # ---- files -----------------------------------------------------------------------------------------------------

    def contents(self) -> tuple[dict[str, Any], Arrays]:
        description, arrays = super().contents()
        arrays |= {"ledger": self.ledger}
        if self._decided is not None:
            arrays |= self.split("decided", self._decided.table) | {"decided.sums": self._decided.sums}
        return description | {"measured": self.size.measured, "learners": self.learners}, arrays

    @classmethod
    def of(cls, path: str | os.PathLike[str], description: dict[str, Any], arrays: Arrays) -> Self:
        run = super().of(path, description, arrays)
        run.learners, run.ledger = description["learners"], arrays["ledger"]
        run.size = BlockSize(run.ledger, description["measured"])
        run._found = found_room(max(run.block, LONGEST_BLOCK))
        if "decided" in arrays:
            table = join("decided", arrays, description["room"])
            run._decided = run.state._replace(table=table, sums=arrays["decided.sums"])
        return run


def found_room(rows: int) -> Findings:
    """Room for what is found of this many rows."""
    return Findings(*np.zeros((len(Findings._fields), rows)))


def number_of_entries(x: Rows, i: int, stop: int) -> int:
    """How many entries rows i … stop − 1 have."""
    return int(x.indptr[stop] - x.indptr[i]) if isinstance(x, Sparse) else (stop - i) * x.shape[1]
