"""A mixture after the fact: beside the plain mean, the best expert, combination and switching sequence in hindsight."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.compile.numerics import EPSILON
from lowregret.convex.minimise import Solution
from lowregret.experts.advice import loss_rows
from lowregret.experts.best import Path, best_combination, best_switching
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.experts.state import NAPS, behind_each
from lowregret.types import Vector
from lowregret.words import counted, rounded_up

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SWITCHES = (1, 5, 10)
LISTED = 6  # experts that a summary names


@dataclass(frozen=True)
class Review:
    """Losses over the rounds that a mixture learnt.

    While an expert slept, its share of fixed weights went to the mixture's own forecast, of which the certificate
    speaks: Σ_t ℓ(p_t) − ℓ(Σ_i u[i]x̃_t[i]), x̃_t[i] = p_t where i sleeps. That is convex in u, so the best u is found
    with proof. `among_awake` is the loss of these same weights if they are made to sum to 1 among those awake instead;
    the best weights for that might be others, which nobody can find with certainty.
    """

    mixture: ExpertMixture
    uniform: float  # of the mean of those awake
    combination: Solution | None  # the best fixed weights; None if no solver knows the loss, or sleepers' share is lost
    paths: list[Path]  # the best sequences with 1, 5 and 10 switches
    among_awake: float | None = None  # None if nobody slept
    curves: dict[str, Vector] = field(default_factory=dict)  # losses of each round learnt; NaN where one slept
    rows: NDArray[np.intp] = field(default_factory=lambda: np.empty(0, np.intp))  # the rows that were learnt
    root: bool = False  # whether losses a round are shown as the root of their mean

    @classmethod
    def of(
        cls, mixture: ExpertMixture, forecasts: Any, outcomes: Any, said: Any = None, *, root: bool = False
    ) -> Review:
        """Look back on all rounds that a mixture has learnt, given again in the order in which they were learnt.

        O(kTN), and a solver for the combination.

        `said`: what the mixture forecast in them; by default the forecasts of its latest `learn`, if they are as many.
        """
        x = mixture.as_forecasts(forecasts)
        y = mixture.as_outcomes(outcomes, len(x))
        said = mixture.forecasts if said is None and len(mixture.forecasts) == len(x) else said
        awake = np.all(~np.isnan(x), axis=1)
        rows = np.flatnonzero(~np.isnan(y[:, 0]) & awake.any(1))
        x, y, awake = x[rows], y[rows], awake[rows]
        own = None if said is None else np.asarray(said, float).reshape(-1, mixture.parts)[rows]
        losses = _losses(mixture, x, y)
        paths = best_switching(losses, max(SWITCHES), mixture.compiled) if len(x) else []
        curves = {"the plain mean": _losses(mixture, _mean(x, awake), y)[:, 0]}
        k = mixture.best.index
        curves[f"the best expert: {mixture.best.name}"] = np.where(awake[:, k], losses[:, k], math.nan)
        best, renormalised = _combination(mixture, x, y, awake, own, curves) if len(x) else (None, None)
        if own is not None:
            curves = {"the mixture": _losses(mixture, own[:, :, None], y)[:, 0]} | curves
        uniform = float(curves["the plain mean"].sum())
        few = [path for path in paths if path.switches in SWITCHES]
        return cls(mixture, uniform, best, few, renormalised, curves, rows, root)

    @property
    def certificate(self) -> Certificate:
        """The mixture's, with the exact regret to the best combination if that is whom it speaks of."""
        found, best = self.mixture.certificate, self.combination
        if best is None or found.comparator.get("set") != "simplex" or not math.isfinite(best.value):
            return found
        own = EPSILON * self.mixture.rounds * abs(self.mixture.loss)
        told = {"loss": best.value, "gap": best.gap, "rounding": best.rounding + max(own, found.rounding)}
        whom = {key: value for key, value in found.comparator.items() if key != "exact"}
        return replace(found, comparator=whom, hindsight=told, regret=self.mixture.loss - best.value)

    def to_json(self) -> dict[str, Any]:
        """For `lowregret experts --json`."""
        mixture, best = self.mixture, self.combination
        total = mixture.loss
        return {
            "experts": {
                "names": mixture.names,
                "losses": [_plain(loss) for loss in mixture.book.losses.tolist()],
                "rows": mixture.book.awake.astype(int).tolist(),
                "weights": mixture.weights.tolist(),
            },
            "best": {"name": mixture.best.name, "loss": _plain(mixture.best.loss), "regret": _plain(mixture.regret)},
            "uniform": {"loss": _plain(self.uniform)},
            "combination": best
            and {
                "loss": _plain(best.value),
                "gap": _plain(best.gap),
                "weights": best.w.tolist(),
                "among_awake": self.among_awake,
            },
            "switching": [
                {
                    "switches": path.switches,
                    "loss": _plain(path.loss),
                    "regret": _plain(total - path.loss),
                    "bound": _plain(mixture.bound(path.switches)),
                }
                for path in self.paths
            ],
            "certificate": self.certificate.to_json(),
            "certificates": [c.to_json() for c in mixture.certificates],
        }

    def __str__(self) -> str:
        mixture = self.mixture
        rounds = max(mixture.rounds, 1)
        whole = f"{self._clear(mixture.loss):.6g} in all over {counted(mixture.rounds, 'round')}"
        lines = [self._line("the mixture", mixture.loss, rounds, whole)]
        lines.append(self._line("the plain mean", self.uniform, rounds, ""))
        k, awake = mixture.best.index, self._awake(mixture.best.index)
        note = f"{mixture.best.name}, weight now {mixture.weights[k]:.3g}"
        if awake < mixture.rounds:
            there = self.a_round(float(mixture.book.owed[k]), max(awake, 1))
            note += f", awake in {counted(awake, 'round')}, in which the mixture had {there:.6g}"
        lines.append(self._line("the best expert", mixture.best.loss, max(awake, 1), note))
        lines += self._weights()
        for path in self.paths:
            if math.isfinite(path.loss):
                switches = counted(path.switches, "switch", "switches")
                lines.append(self._line(switches, path.loss, rounds, "the best sequence of experts"))
        return "\n".join([*lines, *self._listed(), *self._proof()])

    def plot(self, path: str | os.PathLike[str] | None = None, *, times: Any = None) -> Figure:
        """Weights, mean losses so far and the regret over the rounds; written to `path` if given.

        `times`: when the rows are, such as an array of `datetime64`, for the axis.
        """
        from lowregret.experts.plot import plot_review

        return plot_review(self, times, path)

    def a_round(self, total: float, rounds: int) -> float:
        """The mean loss of a round, or its root."""
        return self._mean(total, rounds, self._rounding)

    def of_each(self) -> list[float]:
        """The mean loss of each expert over the rounds in which it was awake, or its root."""
        book, rounding = self.mixture.book, self._rounding
        pairs = zip(book.losses.tolist(), np.maximum(book.awake, 1).tolist(), strict=True)
        return [self._mean(total, int(rounds), rounding) for total, rounds in pairs]

    def _mean(self, total: float, rounds: int, rounding: float) -> float:
        mean = (total if abs(total) > rounding else 0.0) / rounds
        return math.sqrt(mean) if self.root and mean >= 0 else mean

    def _clear(self, total: float) -> float:
        """A sum of gains and losses, or 0 where it is no more than the rounding of these."""
        return total if abs(total) > self._rounding else 0.0

    @property
    def _rounding(self) -> float:
        """The size up to which a sum of gains and losses may be no more than the rounding of these: O(experts)."""
        added = self.mixture.book.added
        return 8 * EPSILON * float(np.max(added, where=np.isfinite(added), initial=0.0))

    def _line(self, name: str, total: float, rounds: int, note: str) -> str:
        return f"{name:<16} {self.a_round(total, rounds):.6g} {self._unit}" + (f" ({note})" if note else "")

    @property
    def _unit(self) -> str:
        return "root mean square" if self.root else "a round"

    def _weights(self) -> list[str]:
        """The best fixed weights, and the same among those awake."""
        best, rounds = self.combination, max(self.mixture.rounds, 1)
        if best is None:
            return []
        used = int(np.count_nonzero(best.w > 1e-9))
        least = self.a_round(max(best.value - best.gap, 0.0), rounds) if self.root else (best.value - best.gap) / rounds
        off = self.a_round(best.value, rounds) - least
        note = f"{counted(used, 'expert')}, known only afterwards; less at most {rounded_up(off, 2)}"
        if self.among_awake is None:
            return [self._line("the best weights", best.value, rounds, note)]
        note += "; while one of them slept, its share went to the mixture's forecast"
        among = self.a_round(self.among_awake, rounds)
        return [
            self._line("the best weights", best.value, rounds, note),
            f"                 {among:.6g} {self._unit} if these weights are made to sum to 1 among those awake",
        ]

    def _listed(self) -> list[str]:
        """The experts by what they lost, the first few and the last."""
        book, names, weights = self.mixture.book, self.mixture.names, self.mixture.weights
        order = np.argsort(-behind_each(book), kind="stable").tolist()
        shown = order if len(order) <= LISTED + 1 else [*order[:LISTED], order[-1]]
        wide = max(len(str(names[i])) for i in shown)
        lines = []
        for i in shown:
            awake = self._awake(i)
            lost = f"{self.a_round(float(book.losses[i]), awake):.6g} {self._unit}" if awake else "never awake"
            lines.append(f"{names[i]:<{wide}}  {lost}, weight now {weights[i]:.3g}")
        if len(order) > len(shown):
            lines.insert(-1, f"… and {len(order) - len(shown)} between these and the last:")
        return [f"{'the experts' if at == 0 else '':<16} {line}" for at, line in enumerate(lines)]

    def _awake(self, k: int) -> int:
        """Rounds in which expert k was awake."""
        return int(self.mixture.book.awake[k])

    def _proof(self) -> list[str]:
        found, mixture = self.certificate, self.mixture
        squares = ", in squares" if self.root else ""
        lines = [f"regret           {self._clear(mixture.regret):.6g} to the best expert{squares}"]
        if mixture.book.counts[NAPS]:
            lines[0] += "; of each expert it is that over the rounds in which it was awake"
        if found.hindsight is not None:
            lines.append(f"                 {self._clear(found.regret or 0.0):.6g} to the best fixed weights")
        whom = "any fixed weights" if found.comparator.get("set") == "simplex" else "any expert"
        if (known := found.measured) is not None:
            lines.append(f"                 at most {rounded_up(known)} to {whom}, known at every moment")
        if found.premises_hold and math.isfinite(found.promised):
            lines.append(
                f"                 theory promised at most {rounded_up(found.promised)} ({found.id}: {found.statement})"
            )
        else:
            lines.append("                 nothing was promised")
        others = [
            f"{rounded_up(c.promised)} ({c.id})" for c in mixture.certificates if c.premises_hold and c.id != found.id
        ]
        if others:
            lines.append(f"                 other theorems: {', '.join(others)}")
        lines += [f"                 because not: {p.name} ({p.observed})" for p in found.premises if not p.holds]
        return lines


def _losses(mixture: ExpertMixture, x: Matrix, y: Matrix) -> Matrix:
    """ℓ(x_t[i], y_t), infinite where i sleeps."""
    losses = np.empty((len(x), x.shape[2]))
    call(loss_rows, mixture.compiled, mixture.loss_function, np.ascontiguousarray(x), y, losses)
    return losses


def _combination(
    mixture: ExpertMixture, x: Matrix, y: Matrix, awake: Any, own: Matrix | None, curves: dict[str, Vector]
) -> tuple[Solution | None, float | None]:
    """The best fixed weights and, if somebody slept, their loss among those awake; its curve is added to `curves`."""
    slept = not awake.all()
    if slept and own is None:
        return None, None
    filled = np.where(awake[:, None], x, own[:, :, None]) if own is not None and slept else x
    best = best_combination(mixture.loss_function, filled, y)
    if best is None or not math.isfinite(best.value):
        return best, None
    curves["the best weights"] = _losses(mixture, (filled @ best.w)[:, :, None], y)[:, 0]
    if not slept or own is None:
        return best, None
    there = awake @ best.w
    said = np.where(awake[:, None], x, 0.0) @ best.w
    among = np.where(there[:, None] > 0, said / np.where(there > 0, there, 1.0)[:, None], own)
    return best, float(_losses(mixture, among[:, :, None], y).sum())


def _mean(x: Matrix, awake: Any) -> Matrix:
    """The mean forecast of those awake, as that of one expert."""
    said = np.where(awake[:, None], x, 0.0).sum(2, keepdims=True)
    return np.ascontiguousarray(said / np.maximum(awake.sum(1), 1)[:, None, None])


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
