"""`lowregret bandit`: a log of choices, what other policies would have brought, and a learner over it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from lowregret.bandit.bandit import Bandit
from lowregret.bandit.log import COST, BanditLog, read_log
from lowregret.bandit.rejection import Replayed, expected_rounds, learn_from, make_algorithm, replay
from lowregret.bandit.text import tell_certificate
from lowregret.bandit.value import Estimate, arm_values, evaluate, logged_value, snips
from lowregret.certificate import Certificate
from lowregret.cli.arguments import THEORY
from lowregret.cli.clock import Clock
from lowregret.cli.json_output import print_json
from lowregret.compile.spec import to_json
from lowregret.errors import PartError
from lowregret.store.replacing import require_place
from lowregret.words import counted, in_lines, rounded_down, rounded_up

SHOWN = 5  # arms
UNLIKELY = 1e-6
REFUTED = f"           which the counts of arms refute (chance below {UNLIKELY:g}): no value of another policy holds"


def bandit(args: Namespace) -> int:
    """Read the log, replay and evaluate, show."""
    with Clock() as clock:
        return _study(args, clock)


def _study(args: Namespace, clock: Clock) -> int:
    for path in (args.report, args.plot):
        if path is not None:
            require_place(path)
    if args.report or args.plot:
        from lowregret.show.plot import require_picture

        require_picture(args.plot)
    log = read_log(
        args.log, args.action, reward=args.reward, cost=args.cost, propensity=args.propensity,
        low=args.low, high=args.high,
    )  # fmt: skip
    if args.delay and not log.uniform:
        raise PartError("--delay speaks of the replay, which is not possible here, for that needs uniform logging")
    study = Study(log, args.algorithm, None if args.eta == THEORY else args.eta, args.seed, args.delay or 0)
    told = study.tell()
    if args.report or args.plot:
        from lowregret.cli.bandit_page import draw, study_page
        from lowregret.cli.html_report import write_page

        if args.plot:
            draw(study, args.plot)
        if args.report:
            write_page(args.report, study_page(args.log, study, told))
    if args.json:
        print_json(study.to_json(clock.read().to_json()))
    else:
        print(told)
    return 0


@dataclass(frozen=True)
class Study:
    """All that is found out about a log."""

    log: BanditLog
    algorithm: str
    eta: float | None
    seed: int
    delay: int = 0  # of rewards in the replay

    @cached_property
    def logging(self) -> Estimate:
        return logged_value(self.log)

    @cached_property
    def best_arms(self) -> list[tuple[int, Estimate]]:
        """The arms with the best self-normalised value, each chosen always, with intervals for all arms at once."""
        each = 0.05 / len(self.log.names)
        values = arm_values(self.log) * (1 if self.log.measure == COST else -1)
        return [(arm, snips(self.log, arm, each)) for arm in np.argsort(values, kind="stable")[:SHOWN].tolist()]

    @cached_property
    def learned(self) -> tuple[Bandit, list[Estimate]] | None:
        """A policy learnt from the first half of the rows, judged on the second; None if there are not two rows."""
        half = len(self.log) // 2
        if half == 0:
            return None
        made = learn_from(self.log[:half], self._made(half), seed=self.seed)
        return made, evaluate(self.log[half:], made.policy)

    @cached_property
    def replayed(self) -> Replayed | None:
        """The learner as it would have gone online; None if the logging was not uniform."""
        if not self.log.uniform:
            return None
        return replay(self.log, self._made(expected_rounds(self.log)), seed=self.seed, delay=self.delay)

    @property
    def certificates(self) -> list[Certificate]:
        """Theorems that speak of the replay."""
        return [c for c in self.replayed.bandit.certificates if c.id != "NONE"] if self.replayed else []

    def _made(self, rounds: int) -> Any:
        return make_algorithm(self.algorithm, len(self.log.names), rounds, self.eta)

    # ---- for people --------------------------------------------------------------------------------------------------

    def tell(self) -> str:
        """The summary."""
        log = self.log
        p = log.propensities
        lines = [
            f"log        {counted(len(log), 'choice')} among {counted(len(log.names), 'arm')}, "
            f"a {log.measure} from {log.low:g} to {log.high:g} each",
            "           " + (
                f"no propensities given: every arm is assumed to be chosen with probability 1/{len(log.names)}"
                if log.assumed
                else f"logged with probability {p[0]:.4g} throughout" if log.uniform
                else f"logged with probabilities from {np.min(p):.3g} to {np.max(p):.3g}"
            ),
            *([REFUTED] if log.chance < UNLIKELY else []),
            f"logging    {line(self.logging)}",
            f"arms       always choosing one arm, the {len(self.best_arms)} best of {len(log.names):,} by SNIPS "
            "(intervals for all of them at once):",
            *(f"           {log.names[arm]:<12} {line(e)}" for arm, e in self.best_arms),
        ]  # fmt: skip
        return in_lines(lines + self._tell_learned() + self._tell_replay())

    def _tell_learned(self) -> list[str]:
        if self.learned is None:
            return []
        made, estimates = self.learned
        policy = made.policy
        top, half = int(np.argmax(policy)), made.rounds
        others = "no other arm more often" if np.count_nonzero(policy == policy[top]) > 1 else "more than any other arm"
        return [
            f"learned    {self.algorithm} on the first {counted(half, 'row')}, then fixed and judged on the other "
            f"{len(self.log) - half:,};",
            f"           it chooses {self.log.names[top]} with probability {policy[top]:.3g}, {others}",
            *(f"           {e.method:<12} {line(e)}" for e in estimates),
        ]

    def _tell_replay(self) -> list[str]:
        if self.replayed is None:
            return ["replay     not possible: rejection replay needs uniform logging"]
        n, e, waiting = self.replayed.bandit.rounds, self.replayed.estimate, len(self.replayed.bandit.pending)
        lines = [
            f"replay     {self.algorithm} as if online: in {n + waiting:,} of {counted(len(self.log), 'row')} it chose "
            "what was logged" + ("" if e is None else f"; {line(e)}")
        ]
        if self.delay:
            lines.append(f"           each {self.log.measure} was told after {counted(self.delay, 'more choice')}")
        for certificate in self.certificates:
            lines += [f"           {text}" for text in tell_certificate(certificate, n * self.log.unit)]
        if not self.certificates:
            lines.append("           no theorem here speaks of this algorithm against any costs whatever")
        return lines

    # ---- for programs ------------------------------------------------------------------------------------------------

    def to_json(self, seconds: dict[str, float]) -> dict[str, Any]:
        """The public form."""
        log, replayed = self.log, self.replayed
        made = self.learned[0] if self.learned else None
        run = replayed.bandit if replayed else made
        certificates = [c.to_json() for c in self.certificates]
        return {
            "algorithm": self.algorithm,
            "spec": to_json(run.algorithm) if run else None,
            "rows": len(log),
            "rounds": replayed.bandit.rounds if replayed else 0,
            "arms": len(log.names),
            "measure": log.measure,
            "propensity": {
                "assumed_uniform": log.assumed,
                "chance": log.chance,
                "low": float(np.min(log.propensities)),
                "high": float(np.max(log.propensities)),
            },
            "logging": self.logging.to_json(),
            "best_arms": [{"arm": log.names[arm], **e.to_json()} for arm, e in self.best_arms],
            "learned": self.learned and {
                "rows": self.learned[0].rounds,
                "policy": dict(zip(log.names, self.learned[0].policy.tolist(), strict=True)),
                "estimates": [e.to_json() for e in self.learned[1]],
            },
            "replay": replayed and {
                "kept": replayed.bandit.rounds + len(replayed.bandit.pending),
                "delay": self.delay,
                "estimate": replayed.estimate.to_json() if replayed.estimate else None,
            },
            "certificate": certificates[0] if certificates else None,
            "certificates": certificates,
            "seconds": seconds,
        }  # fmt: skip


def ends(e: Estimate) -> tuple[str, str]:
    """The ends of an interval, rounded away from it."""
    return rounded_down(e.low, 4), rounded_up(e.high, 4)


def line(e: Estimate) -> str:
    """An estimate for people."""
    rows = "" if e.effective_rows == e.rows else f", worth {counted(round(e.effective_rows), 'row')}"
    return f"{e.value:.4g} a choice (95 %: {' to '.join(ends(e))}, {e.interval}{rows})"
