"""A mixture after the fact: beside the plain mean, the best expert, combination and switching sequence in hindsight."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.compile.call import call
from lowregret.convex.minimise import Solution
from lowregret.experts.advice import loss_rows
from lowregret.experts.best import Path, best_combination, best_switching
from lowregret.experts.mixture import ExpertMixture, Matrix
from lowregret.words import counted

SWITCHES = (1, 5, 10)


@dataclass(frozen=True)
class Review:
    """Losses over the rounds that a mixture learnt."""

    mixture: ExpertMixture
    uniform: float  # of the mean of those awake
    combination: Solution | None  # the best fixed weights; None if somebody slept, or no solver knows the loss
    paths: list[Path]  # the best sequences with 1, 5 and 10 switches

    @classmethod
    def of(cls, mixture: ExpertMixture, forecasts: Any, outcomes: Any) -> Review:
        """Look back on all rounds that a mixture has learnt, given again: O(kTN), and a solver for the combination."""
        x = mixture.as_forecasts(forecasts)
        y = mixture.as_outcomes(outcomes, len(x))
        awake = np.all(~np.isnan(x), axis=1)
        learnt = ~np.isnan(y[:, 0]) & awake.any(1)
        x, y, awake = x[learnt], y[learnt], awake[learnt]
        losses, own = np.empty(awake.shape), np.empty((len(x), 1))
        call(loss_rows, mixture.compiled, mixture.loss_function, x, y, losses)
        call(loss_rows, mixture.compiled, mixture.loss_function, _mean(x, awake), y, own)
        paths = best_switching(losses, max(SWITCHES), mixture.compiled) if len(x) else []
        best = best_combination(mixture.loss_function, x, y) if awake.all() and len(x) else None
        return cls(mixture, float(own.sum()), best, [path for path in paths if path.switches in SWITCHES])

    @property
    def certificate(self) -> Certificate:
        """The mixture's, with the exact regret to the best combination if that is whom it speaks of."""
        found, best = self.mixture.certificate, self.combination
        if best is None or found.comparator.get("set") != "simplex" or not math.isfinite(best.value):
            return found
        return replace(found, hindsight={"loss": best.value, "gap": best.gap}, regret=self.mixture.loss - best.value)

    def to_json(self) -> dict[str, Any]:
        """For `lowregret experts --json`."""
        mixture, best = self.mixture, self.combination
        total = mixture.loss
        return {
            "experts": {
                "names": mixture.names,
                "losses": [_plain(loss) for loss in mixture.book.losses.tolist()],
                "weights": mixture.weights.tolist(),
            },
            "best": {"name": mixture.best.name, "loss": _plain(mixture.best.loss), "regret": _plain(mixture.regret)},
            "uniform": {"loss": _plain(self.uniform)},
            "combination": best and {"loss": _plain(best.value), "gap": _plain(best.gap), "weights": best.w.tolist()},
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
        whole = f"{mixture.loss:.6g} in all over {counted(mixture.rounds, 'round')}"
        lines = [_line("the mixture", mixture.loss, rounds, whole)]
        lines.append(_line("the plain mean", self.uniform, rounds, ""))
        k, awake = mixture.best.index, self._awake(mixture.best.index)
        note = f"{mixture.best.name}, weight now {mixture.weights[k]:.3g}"
        note += f", awake in {counted(awake, 'round')}" if awake < mixture.rounds else ""
        lines.append(_line("the best expert", mixture.best.loss, max(awake, 1), note))
        if self.combination is not None:
            best = self.combination
            used = int(np.count_nonzero(best.w > 1e-9))
            note = f"{counted(used, 'expert')}, known only afterwards; less at most {best.gap / rounds:.2g}"
            lines.append(_line("the best weights", best.value, rounds, note))
        for path in self.paths:
            if math.isfinite(path.loss):
                switches = counted(path.switches, "switch", "switches")
                lines.append(_line(switches, path.loss, rounds, "the best sequence of experts"))
        return "\n".join([*lines, *self._proof()])

    def _awake(self, k: int) -> int:
        """Rounds in which expert k was awake."""
        return int(self.mixture.book.awake[k])

    def _proof(self) -> list[str]:
        found, mixture = self.certificate, self.mixture
        lines = [f"regret           {mixture.regret:.6g} to the best expert"]
        if found.hindsight is not None:
            lines.append(f"                 {found.regret:.6g} to the best fixed weights")
        whom = "any fixed weights" if found.comparator.get("set") == "simplex" else "any expert"
        if found.linear_regret is not None:
            lines.append(f"                 at most {found.linear_regret:.6g} to {whom}, known at every moment")
        if found.premises_hold and math.isfinite(found.bound):
            lines.append(f"                 theory promised at most {found.bound:.6g} ({found.id}: {found.statement})")
        else:
            lines.append("                 nothing was promised")
        others = [f"{c.bound:.6g} ({c.id})" for c in mixture.certificates if c.premises_hold and c.id != found.id]
        if others:
            lines.append(f"                 other theorems: {', '.join(others)}")
        lines += [f"                 because not: {p.name} ({p.observed})" for p in found.premises if not p.holds]
        return lines


def _line(name: str, total: float, rounds: int, note: str) -> str:
    return f"{name:<16} {total / rounds:.6g} a round" + (f" ({note})" if note else "")


def _mean(x: Matrix, awake: Any) -> Matrix:
    """The mean forecast of those awake, as that of one expert."""
    said = np.where(awake[:, None], x, 0.0).sum(2, keepdims=True)
    return np.ascontiguousarray(said / np.maximum(awake.sum(1), 1)[:, None, None])


def _plain(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
