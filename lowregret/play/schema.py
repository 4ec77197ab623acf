"""The schema of files of games: the record, and the player's memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from lowregret.certificate.delay import NAMES as LATE_NAMES
from lowregret.certificate.trace import next_mark
from lowregret.convex.functions import Convex
from lowregret.convex.leader import Follower
from lowregret.domain import Domain
from lowregret.learner.delayed import Delayed
from lowregret.learner.doubling import Doubling
from lowregret.learner.late import LEDGER
from lowregret.learner.linear import Linear
from lowregret.learner.schema import UNSIGNED, Demands, ledger_slots, state_arrays, state_demands
from lowregret.loss import Cost
from lowregret.rule import Rule
from lowregret.state import COUNT_NAMES, ROUNDS, SUM_NAMES
from lowregret.store.schema import (
    FLAG,
    MOST,
    Array,
    Arrays,
    Field,
    Schema,
    Told,
    anything,
    extended,
    floats,
    items,
    maybe,
    part,
    whole,
    wholes,
)

ROW = (*SUM_NAMES, *COUNT_NAMES)  # of a ledger
LATE_ROW = (*ROW, *(f"late_{name}" for name in LATE_NAMES[:LEDGER]))


class GameSchema(Schema):
    """A `Game`."""

    def fields(self) -> dict[str, Field]:
        return {
            "player": part(Rule, Linear, Delayed, Doubling, Follower),
            "comparator": part(Domain),
            "dimension": whole(1),
            "compiled": FLAG,
            "functions": maybe(items(part(Convex))),
        }

    def slots(self, present: Collection[str]) -> dict[str, tuple[str, ...]]:
        late = {"seat.late": LATE_NAMES[:LEDGER], "ledger": LATE_ROW if "seat.late" in present else ROW}
        return ledger_slots("seat.") | {"seat.finished": ROW} | late

    def arrays(self, told: Told, present: Collection[str]) -> dict[str, Array]:
        d, player = told["dimension"], told["player"]
        found = {"losses": floats("rounds"), "points": floats("rounds", d), "gradients": floats("rounds", d)}
        if isinstance(player, Follower):
            steps = {name: anything("rounds") for name in ("drops", "steps")}
            seat = {"next": floats(d), "gaps": extended("gaps")} | steps
            return found | {f"seat.{name}": array for name, array in seat.items()}
        seat = state_arrays(_learner(player), d)
        if isinstance(player, Delayed):
            seat |= {"due": wholes("due", high=1 << 62), "heights": floats("due"), "late": extended(LEDGER)}
            seat |= {"points": floats("due", d), "gradients": floats("due", d), "rounds": wholes(1)}
        elif isinstance(player, Doubling):
            seat |= {"finished": extended("blocks", len(ROW)), "thetas": floats("blocks", "theta")}
        row = LATE_ROW if isinstance(player, Delayed) else ROW
        return found | _seated(seat) | {"ledger": extended("marks", len(row))}

    def demands(self, told: Told, arrays: Arrays) -> Demands:
        d, player, functions = told["dimension"], told["player"], told["functions"]
        rounds = len(arrays["losses"])
        told["comparator"].fits(d)
        if functions is not None:
            yield len(functions) == rounds, "a function for each round"
            yield all(f.dimension in (None, d) for f in functions), f"functions of {d} coordinates"
        if isinstance(player, Follower):
            player.fits(d)
            yield len(arrays["seat.gaps"]) == rounds + 1, "a gap for each round, and before the first"
            yield np.all(arrays["seat.gaps"] >= 0), "gaps ≥ 0"
            return
        yield from state_demands(_learner(player), arrays, d, "seat.")
        marks = sum(1 for _ in _marks(rounds))
        yield len(arrays["ledger"]) == marks and _are_ledgers(arrays["ledger"]), f"ledgers at {marks} marks"
        played = int(arrays["seat.counts"][ROUNDS])
        if isinstance(player, Delayed):
            yield arrays["seat.rounds"][0] == rounds == played + len(arrays["seat.due"]), "rounds answered or under way"
        elif isinstance(player, Doubling):
            yield from _block_demands(arrays, rounds, played)
        else:
            yield played == rounds, "a player that saw all rounds"


def _learner(player: Any) -> Linear:
    """The learner whose state sits at the game."""
    if isinstance(player, Linear):
        player = player.rule
    return Linear(Cost(), player if isinstance(player, Rule) else player.rule)


def _seated(seat: dict[str, Array]) -> dict[str, Array]:
    return {f"seat.{name}": array for name, array in seat.items()}


def _marks(rounds: int) -> Iterator[int]:
    t = 0
    while (t := next_mark(t)) <= rounds:
        yield t


def _are_ledgers(rows: Any) -> bool:
    """Whether the sums and counts of these rows can be such."""
    counts = rows[:, len(SUM_NAMES) : len(ROW)]
    return bool(np.all(rows[:, UNSIGNED] >= 0) and np.all((counts >= 0) & (counts <= MOST)))


def _block_demands(arrays: Arrays, rounds: int, played: int) -> Demands:
    """Blocks of 1, 2, 4, … rounds, and those of the present one."""
    blocks, width = arrays["seat.thetas"].shape
    yield rounds == (1 << min(blocks, 62)) - 1 + played and played <= 1 << min(blocks, 62), "rounds in blocks"
    yield width in (0, arrays["seat.counts"][-1]), "sums of sub-gradients for each block, or none"
    yield _are_ledgers(arrays["seat.finished"]), "ledgers of the finished blocks"
