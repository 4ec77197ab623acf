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
from lowregret.learner.late import DRIFT, LAGGED, LEDGER
from lowregret.learner.linear import Linear
from lowregret.learner.schema import SLACK, UNSIGNED, Demands, are_linear, cost_demands, ledger_slots, state_arrays
from lowregret.loss import Cost
from lowregret.rule import Rule
from lowregret.state import COUNT_NAMES, ROUNDS, SUM_NAMES, TOTAL
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
            seat |= {"due": wholes("due", high=1 << 62), "heights": extended("due", low=0.0), "late": extended(LEDGER)}
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
            yield _follows(player, arrays), "drops and steps of minima, but for their gaps"
            return
        yield from cost_demands(_learner(player), arrays, d, "seat.")
        marks = list(_marks(rounds))
        yield len(arrays["ledger"]) == len(marks) and _are_ledgers(arrays["ledger"]), f"ledgers at {len(marks)} marks"
        yield are_linear(_learner(player), arrays["ledger"][:, : len(SUM_NAMES)]), "ledgers of costs that are linear"
        if not isinstance(player, Doubling):
            yield _are_kept(arrays, marks, isinstance(player, Delayed)), "ledgers: what points and sub-gradients say"
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


def _are_kept(arrays: Arrays, marks: list[int], late: bool) -> bool:
    """Whether Σ⟨w_t, z_t⟩ of the record is that of the ledgers and of the seat, with the drift of late answers.

    Ledgers speak of all rounds as if all were answered, the seat of those answered. Where answers came late, ⟨v_t, z_t⟩
    of the points v_t that they found is in the sums, not in the record, and may cancel in all of them: its size is at
    most that of weights as far from those of the record as LAGGED says, or 1.
    """
    with np.errstate(all="ignore"):
        terms, slopes = arrays["points"] * arrays["gradients"], np.cumsum(np.abs(arrays["gradients"]).sum(1))
        scores, sizes = np.cumsum(terms.sum(1)), np.cumsum(np.abs(terms).sum(1))
        rows, at = arrays["ledger"], np.array(marks, int) - 1
        found, wanted, size = rows[:, TOTAL], scores[at], sizes[at] + np.abs(rows[:, TOTAL])
        now, then = arrays["seat.sums"][TOTAL], scores[-1] if scores.size else 0.0
        extent = abs(now) + (sizes[-1] if sizes.size else 0.0)
        if late:
            drift, lagged = rows[:, len(ROW) + DRIFT], rows[:, len(ROW) + LAGGED]
            widest = 1 + np.max(np.abs(arrays["points"]), initial=0.0)
            found, size = found + drift, size + np.abs(drift) + lagged + slopes[at] * widest
            now += arrays["seat.late"][DRIFT]
            then -= np.sum(arrays["seat.points"] * arrays["seat.gradients"])
            extent += abs(arrays["seat.late"][DRIFT]) + arrays["seat.late"][LAGGED] + slopes[-1:].sum() * widest
        return not (np.any(np.abs(found - wanted) > SLACK * size) or abs(now - then) > SLACK * extent)


def _follows(player: Follower, arrays: Arrays) -> bool:
    """Whether what a follower booked is of minima: F_t(w_t) ≤ F_t(w) + gap of w_t for all w, but for rounding.

    So F_{t+1}(w_t) − F_{t+1}(w_{t+1}) is below 0 by the gap of w_{t+1} at most, f_t(w_t) − f_t(w_{t+1}) by both.
    """
    drops, steps, gaps = (arrays[f"seat.{name}"] for name in ("drops", "steps", "gaps"))
    with np.errstate(all="ignore"):
        far = np.max(np.abs(arrays["points"]), initial=0.0) + np.max(np.abs(arrays["seat.next"]), initial=0.0)
        size = np.sum(np.abs(arrays["losses"])) + np.sum(np.abs(arrays["gradients"])) * far
        size += np.max(np.abs(drops), initial=0.0) + np.max(np.abs(steps), initial=0.0)
        size += abs(player.penalty(player.first(arrays["points"].shape[1]))) + abs(player.penalty(arrays["seat.next"]))
        above = np.any(steps < -gaps[1:] - SLACK * size) or np.any(drops < -gaps[1:] - gaps[:-1] - SLACK * size)
    return not above


def _block_demands(arrays: Arrays, rounds: int, played: int) -> Demands:
    """Blocks of 1, 2, 4, … rounds, and those of the present one."""
    blocks, width = arrays["seat.thetas"].shape
    yield rounds == (1 << min(blocks, 62)) - 1 + played and played <= 1 << min(blocks, 62), "rounds in blocks"
    yield width in (0, arrays["seat.counts"][-1]), "sums of sub-gradients for each block, or none"
    yield _are_ledgers(arrays["seat.finished"]), "ledgers of the finished blocks"
