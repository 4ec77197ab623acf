"""How tight the certificates are: python -m benchmarks.tightness

Plays random and adversarial sequences, measures regret (or mistakes) ÷ bound wherever the regret is positive, and
writes the largest ratio of each certificate to docs/tightness.md. The best choice in hindsight is found outside the
package. A ratio above 1 would refute a theorem or its code: the program then ends with an error.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.tightness_words import FORMULAS, PREMISES
from lowregret import zoo
from lowregret.certificate import Certificate, certificates
from lowregret.certificate.surrogate import surrogate_certificate
from lowregret.compile.part import Part
from lowregret.convex.functions import QuadraticFunction
from lowregret.convex.leader import FollowTheLeader, FollowTheRegularisedLeader
from lowregret.domain import Domain, L2Ball, LqBall, Point, Reals, Simplex
from lowregret.learner.delayed import Delayed
from lowregret.learner.doubling import Doubling
from lowregret.learner.linear import Linear
from lowregret.loss import Cost
from lowregret.mirror import Entropy, Euclidean, PNorm
from lowregret.play import Game, play
from lowregret.regret import GameRecord, Moving
from lowregret.rule import MirrorDescent, ProjectedGradient
from lowregret.run.linear import LinearRun
from lowregret.step import Constant, InverseSqrt
from lowregret.train import train
from tests.laws import classifiers, sequences
from tests.laws.cases import CASES, Case
from tests.laws.comparators import least
from tests.laws.sequences import ADVERSARIES, Matrix, Stream, Vector
from tests.laws.walk import walk

COMMAND = "python -m benchmarks.tightness"
OUT = Path(__file__).resolve().parents[1] / "docs" / "tightness.md"
ROUNDS, MARKS = 64, (1, 2, 3, 5, 8, 16, 32, 64)
RATES = (0.05, 0.3, 2**0.5)
WORTH_MEASURING = 1e-3  # smaller regrets are all rounding


class Measurement(NamedTuple):
    """regret ÷ bound of one certificate on one run; `whole`: a long run, against a whole set of comparators."""

    id: str
    ratio: float
    place: str
    rounds: int
    whole: bool = False


# ---- regret ----------------------------------------------------------------------------------------------------------


def streams(learner: Linear, d: int, seed: int) -> list[Stream]:
    """Cost vectors of d coordinates, some aimed at this learner."""
    return [
        *sequences.random_costs(ROUNDS, d, seed),
        *sequences.random_experts(ROUNDS, d, seed),
        *sequences.hard_costs(ROUNDS, d),
        *(sequences.adapted(learner, adversary, ROUNDS, d) for adversary in ADVERSARIES.values()),
    ]


def exact_regrets(learner: Linear, stream: Stream, sets: list[Domain]) -> Iterator[tuple[LinearRun, Domain, float]]:
    """At every mark: the run so far, a set of comparators (w_{T+1} is one more), and the regret against the set."""
    if learner.ridge > 0:
        for run, books in walk(learner, stream):
            if run.rounds in MARKS:
                yield from ((run, u, books.linear_regret(u)) for u in [*sets, Point(run.point)])
        return
    run, own = LinearRun(learner, learner.start(stream.x.shape[1]), compiled=False), 0.0
    rows = np.hstack([stream.x, np.full((len(stream.x), 1), learner.bias)]) if learner.bias else stream.x
    for begin, end in pairwise((0, *MARKS)):
        run.learn(stream.x[begin:end], stream.y[begin:end])
        own += float(np.sum(run.scores))
        yield from ((run, u, own - least(rows[:end].sum(axis=0), u)) for u in [*sets, Point(run.point)])


def measure_regret(case: Case) -> Iterator[Measurement]:
    """Every regret theorem that speaks of this rule."""
    for d in (2, 5):
        features = d - (case.bias > 0)
        for eta in RATES:
            learner = case.learner(Cost(), features, eta)
            for stream in streams(learner, features, seed=d):
                place = f"{stream.name}: {case.name}, η = {eta:.3g}, d = {d}"
                for run, comparators, regret in exact_regrets(learner, stream, case.comparators(d)):
                    if regret > WORTH_MEASURING:
                        found = certificates(learner, run.state, comparators)
                        point = isinstance(comparators, Point)
                        against = "one u" if point else f"the {comparators.name}"
                        whole = not point and run.rounds == ROUNDS
                        yield from _ratios(found, regret, f"{place}, against {against}", run.rounds, whole)


def _ratios(
    found: list[Certificate], measured: float, place: str, rounds: int, whole: bool = False
) -> Iterator[Measurement]:
    place = f"{place}, T = {rounds}"
    return (Measurement(c.id, measured / c.bound, place, rounds, whole) for c in found if c.premises_hold)


# ---- mistakes --------------------------------------------------------------------------------------------------------


def measure_perceptron() -> Iterator[Measurement]:
    """Mistakes of the Perceptron, against the u that minimises F(u) within each of several balls."""
    found = [
        stream
        for seed in range(3)
        for d in (2, 5)
        for stream in (
            *sequences.labelled(ROUNDS, d, seed),
            classifiers.always_wrong(ROUNDS, d, seed),
            classifiers.separable(ROUNDS, d, seed),
            classifiers.orthonormal(d, d),
        )
    ]
    for stream in found:
        wrong = classifiers.mistakes_of_perceptron(stream.x, stream.y)
        run = train(zoo.perceptron(), stream.x, stream.y, compiled=False)
        for u in classifiers.best_points(stream.x[wrong], stream.y[wrong])[::2]:
            yield from _mistakes(run, stream, u, len(wrong))
        if stream.name == "separable":
            yield from _mistakes(run, stream, classifiers.widest(stream.x, stream.y), len(wrong))


def _mistakes(run: LinearRun, stream: Stream, u: Vector, measured: float) -> Iterator[Measurement]:
    place = f"{stream.name}: d = {u.size}, ‖u‖ = {np.linalg.norm(u):.3g}"
    return _ratios(run.mistake_certificates(u, stream.x, stream.y), measured, place, len(stream.y))


def measure_winnow() -> Iterator[Measurement]:
    """Σf_t(w_t), which is at least the number of mistakes, against all short disjunctions."""
    for eta in (0.05, 0.25, 0.45):
        for stream in (
            *(
                classifiers.disjunction(200, d, k, d + k, noise)
                for d in (7, 15)
                for k in (1, 2)
                for noise in (0.0, 0.2)
            ),
            classifiers.fractional(200, 5, 0),
            Stream("one feature for ever", np.tile(np.eye(7)[0], (100, 1)), np.ones(100)),
        ):
            d = stream.x.shape[1]
            run = train(zoo.winnow(d, eta), stream.x, stream.y, compiled=False)
            _, suffered, _ = classifiers.mistakes_of_winnow(stream.x, stream.y, eta)
            for u in classifiers.binary_points(d, 2):
                yield from (m._replace(place=f"{m.place}, η = {eta:.3g}") for m in _mistakes(run, stream, u, suffered))


# ---- players that follow the leader ----------------------------------------------------------------------------------


def quadratic_streams(d: int) -> list[Stream]:
    """Centres z_t of ½‖w − z_t‖²."""
    named = sequences.random_costs(ROUNDS, d, seed=d) + sequences.hard_costs(ROUNDS, d)
    return [*named, sequences.of_costs("one turn", np.outer([1.0] * (ROUNDS - 1) + [-1.0], np.eye(d)[0]))]


def least_quadratic(z: Matrix, comparators: Domain) -> float:
    """min_u Σ½‖u − z_t‖² over R^d or a ball: at the mean, or its projection."""
    mean = z.mean(axis=0)
    if isinstance(comparators, L2Ball):
        mean = mean * min(1.0, comparators.radius / max(float(np.linalg.norm(mean)), 1e-300))
    return 0.5 * float(np.sum((mean - z) ** 2))


def measure_quadratic_games() -> Iterator[Measurement]:
    """FTL on all of R^d, FTRL in Euclidean geometry."""
    players: list[tuple[Part, Domain]] = [(FollowTheLeader(Reals()), Reals())]
    players += [(FollowTheRegularisedLeader(Euclidean(), eta), L2Ball(1.0)) for eta in RATES]
    for d in (1, 3):
        for stream in quadratic_streams(d):
            for player, comparators in players:
                game = Game(player, d, comparators)
                for begin, end in pairwise((0, *MARKS)):
                    game.learn(map(QuadraticFunction, stream.x[begin:end]))
                    regret = game.loss - least_quadratic(stream.x[:end], comparators)
                    yield from _game_ratios(game, regret, f"{stream.name} as centres: {_called(player)}, d = {d}")


def measure_linear_games() -> Iterator[Measurement]:
    """FTL on a ball, FTRL with every mirror map."""
    players: list[tuple[Part, Domain]] = [(FollowTheLeader(L2Ball(1.0)), L2Ball(1.0))]
    for eta in RATES:
        players += [
            (FollowTheRegularisedLeader(Euclidean(), eta), L2Ball(1.0)),
            (FollowTheRegularisedLeader(Euclidean(Simplex()), eta), Simplex()),
            (FollowTheRegularisedLeader(Entropy(), eta), Simplex()),
            (FollowTheRegularisedLeader(PNorm(3.0), eta), LqBall(1.0, 1.5)),
        ]
    for stream in sequences.random_costs(ROUNDS, 3, 3) + sequences.hard_costs(ROUNDS, 3):
        for player, comparators in players:
            game = Game(player, 3, comparators)
            for begin, end in pairwise((0, *MARKS)):
                game.learn(stream.x[begin:end])
                regret = game.loss - least(stream.x[:end].sum(axis=0), comparators)
                yield from _game_ratios(game, regret, f"{stream.name}: {_called(player)}, d = 3")


def _called(player: Part) -> str:
    match player:
        case FollowTheRegularisedLeader(mirror, eta):
            return f"FTRL with {type(mirror).__name__} on the {mirror.domain.name}, η = {eta:.3g}"
    return "FTL"


def _game_ratios(game: Game, regret: float, place: str) -> Iterator[Measurement]:
    if regret > WORTH_MEASURING:
        yield from _ratios(game.certificates, regret, place, game.rounds, game.rounds == ROUNDS)


def measure_wrapped() -> Iterator[Measurement]:
    """Late answers, restarts, and comparators that move, against descent and EG."""
    rules: dict[str, MirrorDescent | ProjectedGradient] = {}
    for eta in RATES:
        rules[f"eager on a ball, η = {eta:.3g}"] = ProjectedGradient(L2Ball(1.0), Constant(eta))
        rules[f"eager on a ball, η/√t, η = {eta:.3g}"] = ProjectedGradient(L2Ball(1.0), InverseSqrt(eta))
        rules[f"EG, η = {eta:.3g}"] = MirrorDescent(Entropy(), Constant(eta))
    for stream in sequences.random_costs(ROUNDS, 3, 3) + sequences.hard_costs(ROUNDS, 3):
        for name, rule in rules.items():
            players: dict[str, Part] = {f"{tau} rounds late": Delayed(rule, tau) for tau in (1, 3, 10)}
            if rule.step.constant:
                players["restarted"] = Doubling(rule)
            for how, player in players.items():
                game = play(player, stream.x, compiled=False)
                found = [c for c in game.certificates if c.id in ("DELAY", "DOUBLING")]
                if (regret := game.loss - least(stream.x.sum(axis=0), rule.domain)) > WORTH_MEASURING:
                    yield from _ratios(found, regret, f"{stream.name}: {name}, {how}, d = 3", ROUNDS, True)
            if isinstance(rule, ProjectedGradient):
                yield from _moving(play(rule, stream.x, compiled=False), stream, f"{stream.name}: {name}, d = 3")


def _moving(game: Game, stream: Stream, place: str) -> Iterator[Measurement]:
    """DYN, against the best point of every 1, 4, 16 or 64 rounds."""
    for length in (1, 4, 16, 64):
        sums = [stream.x[t : t + length].sum(axis=0) for t in range(0, ROUNDS, length)]
        best = [-z / max(float(np.linalg.norm(z)), 1e-9) for z in sums]
        found = Moving(np.repeat(best, length, axis=0)).against(GameRecord(game))
        if found.certificate is not None and found.value > WORTH_MEASURING:
            yield from _ratios([found.certificate], found.value, f"{place}, a new u every {length} rounds", ROUNDS)


def measure_surrogates() -> Iterator[Measurement]:
    """THM-14.6 for the Perceptron: g_t = −y_t x_t on mistakes, which are bounded by the hinge of u."""
    for stream in (*sequences.labelled(ROUNDS, 3, 0), classifiers.orthonormal(5, 5)):
        wrong = classifiers.mistakes_of_perceptron(stream.x, stream.y)
        mistake = np.isin(np.arange(len(stream.y)), wrong).astype(float)
        pushed = mistake[:, None] * stream.y[:, None] * stream.x
        points = np.vstack([np.zeros(stream.x.shape[1]), np.cumsum(pushed, axis=0)[:-1]])
        for u in classifiers.best_points(stream.x, stream.y)[::2]:
            for eta in (0.1, 0.3, 1.0):
                hinge = np.maximum(1 - stream.y * (stream.x @ u), 0)
                found = surrogate_certificate(eta * points, -pushed, mistake, hinge, u, eta)
                place = f"{stream.name}: d = {u.size}, ‖u‖ = {np.linalg.norm(u):.3g}, η = {eta:.3g}"
                yield from _ratios([found], len(wrong), place, len(stream.y))


# ---- the table -------------------------------------------------------------------------------------------------------

HEAD = f"""# How tight the certificates are

The largest measured regret (or number of mistakes) ÷ bound, over random and adversarial sequences: 1 means that the
bound was met, and nothing may exceed it. The last but one column is the largest ratio after {ROUNDS} rounds against a
whole set of comparators, which is what a run is usually asked. The best choice in hindsight is exact, a closed form
outside the package; mistakes are counted by a few lines of plain NumPy.

Written by `{COMMAND}`, which fails if a ratio exceeds 1.

| certificate | premises | bound | worst ratio | T = {ROUNDS}, whole set | on which sequence |
|---|---|---|---|---|---|
"""


def measure() -> Iterator[Measurement]:
    """Everything."""
    for case in CASES:
        yield from measure_regret(case)
    yield from measure_quadratic_games()
    yield from measure_linear_games()
    yield from measure_wrapped()
    yield from measure_surrogates()
    yield from measure_perceptron()
    yield from measure_winnow()


Best = dict[str, Measurement]


def worst() -> tuple[Best, Best]:
    """The largest ratio of each certificate, on the longest run if several are equal; and on `whole` runs alone."""
    of_all: Best = {}
    of_whole: Best = {}
    for m in measure():
        for best in (of_all, of_whole) if m.whole else (of_all,):
            if m.id not in best or _rank(m) > _rank(best[m.id]):
                best[m.id] = m
    return of_all, of_whole


def _rank(m: Measurement) -> tuple[float, int]:
    return round(m.ratio, 9), m.rounds


def table(of_all: Best, of_whole: Best) -> str:
    """The page."""
    rows = []
    for name, premises in PREMISES.items():
        usual = f"{of_whole[name].ratio:.3f}" if name in of_whole else "–"
        rows.append((name, premises, FORMULAS[name], f"{of_all[name].ratio:.3f}", usual, of_all[name].place))
    return HEAD + "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in row)} |\n" for row in rows)


def main() -> int:
    """Measure, write the page, and say whether everything held."""
    of_all, of_whole = worst()
    if odd := set(of_all) ^ set(PREMISES):
        print(f"error: not measured, or without a description: {', '.join(sorted(odd))}", file=sys.stderr)
        return 1
    OUT.parent.mkdir(exist_ok=True)
    OUT.write_text(table(of_all, of_whole), encoding="utf-8")
    print(f"{len(of_all)} certificates measured, see {OUT}")
    refuted = [m for m in of_all.values() if not m.ratio <= 1 + 1e-9]
    for m in refuted:
        print(f"error: {m.id} is exceeded, ratio {m.ratio}: {m.place}", file=sys.stderr)
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
