"""Rewards that come late: what is certified holds in every order, and where somebody picks which come it says so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lowregret import DataError, PartError, load
from lowregret.bandit import Bandit, Exp3, Exp3IX, Exp4, TsallisInf, bandit_log, replay
from lowregret.cli import main
from lowregret.store.migrate import from_9

T, K = 400, 3
RNG = np.random.default_rng(6)
COSTS = {
    "random": RNG.random((T, K)),
    "turning": (np.arange(T)[:, None] // 100 % K == np.arange(K)).astype(float),
    "rare": (RNG.random((T, K)) < [0.9, 0.95, 0.97]).astype(float),
}
ORDERS = {
    "at once": np.arange(T),
    "fixed": np.arange(T) + 30,
    "random": np.arange(T) + RNG.integers(0, 120, T),
    "bursts": np.arange(T) // 50 * 50 + 50,
    "permuted": RNG.permutation(T) + T,
    "last in, first out": 2 * T - np.arange(T),
}
ALGORITHMS = (Exp3(0.1), Exp3(0.1, False), Exp3IX(0.1, 0.05), TsallisInf())


def played(algorithm: Any, costs: Any, due: Any, seed: int, until: int = 4 * T) -> tuple[Bandit, Any]:
    """A bandit to which the cost of choice t is told after choice due[t]; and the arms it chose."""
    bandit, arms, numbers = Bandit(K, algorithm, seed=seed), np.zeros(T, int), np.zeros(T, int)
    order = sorted(range(T), key=lambda t: (due[t], t))
    for now in range(2 * T + 200):
        if now < T:
            numbers[now], arms[now] = bandit.choose()
        while order and due[order[0]] <= now and due[order[0]] <= until:
            t = order.pop(0)
            bandit.reward(int(numbers[t]), cost=float(costs[t, arms[t]]))
    return bandit, arms


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("kind", COSTS)
def test_bounds_hold_in_every_order(order: str, kind: str) -> None:
    """Against estimated costs on every run; against the costs themselves with the confidence that is told."""
    costs, failures = COSTS[kind], 0
    for seed, algorithm in enumerate(ALGORITHMS):
        bandit, arms = played(algorithm, costs, ORDERS[order], seed)
        paid, totals = float(costs[np.arange(T), arms].sum()), costs.sum(axis=0)
        assert bandit.loss == pytest.approx(paid)
        for certificate in bandit.certificates:
            if certificate.id.endswith("PATH"):
                assert certificate.linear_regret is not None
                assert certificate.linear_regret <= certificate.bound + 1e-9
            if certificate.id == "EXP3-IX":
                assert certificate.premises_hold
                assert certificate.linear_regret is not None
                failures += paid - totals.min() > certificate.linear_regret
                assert certificate.linear_regret <= certificate.bound + 1e-9
            if certificate.measure == "expected regret":
                assert certificate.premises_hold == (order == "at once")
    assert failures == 0


def test_costs_that_somebody_holds_back_fool_no_certificate() -> None:
    """Of two kinds of rounds only the costs come that make both arms look bad: the estimates are of rounds that were
    picked, and the regret on them exceeds what EXP3-IX would have told. Once all costs came, it holds.
    """
    rounds = 1000
    odd = np.arange(rounds) % 2 == 1
    costs = np.column_stack([odd, ~odd]).astype(float)

    def told(bandit: Bandit) -> Any:
        return next(c for c in bandit.certificates if c.id == "EXP3-IX")

    fooled = Bandit(2, Exp3IX(0.001, 0.05), seed=3)
    made = [fooled.choose() for _ in range(rounds)]
    arms = np.array([arm for _, arm in made])
    seen = np.flatnonzero(costs[np.arange(rounds), arms] == 1.0)
    for t in seen:
        fooled.reward(made[t][0], cost=1.0)
    regret = seen.size - float(costs[seen].sum(axis=0).min())
    assert regret > 2 * told(fooled).linear_regret
    assert not told(fooled).premises_hold
    for t in np.setdiff1d(np.arange(rounds), seen):
        fooled.reward(made[t][0], cost=0.0)
    assert told(fooled).premises_hold
    assert fooled.loss - float(costs.sum(axis=0).min()) <= told(fooled).linear_regret


def test_order_is_known_across_files(tmp_path: Path) -> None:
    bandit = Bandit(2, Exp3IX(0.1, 0.05))
    first, second, third = (bandit.choose()[0] for _ in range(3))
    assert bandit.choices.in_order
    bandit.reward(first, 1.0)
    bandit.save(tmp_path / "b.lr")
    for told, expected in (([second], True), ([third], False)):
        again = load(tmp_path / "b.lr")
        assert again.choices.in_order
        for number in told:
            again.reward(number, 1.0)
        assert again.choices.in_order == expected
        fresh, _ = again.choose()
        assert again.choices.in_order == expected
        again.reward(fresh, 1.0)
        assert not again.choices.in_order


def test_order_is_known_though_choices_wait_from_several_loads(tmp_path: Path) -> None:
    bandit, waiting = Bandit(2, Exp3IX(0.1, 0.05), compiled=False), list[int]()
    for _ in range(5):
        waiting.append(bandit.choose()[0])
        if len(waiting) > 3:
            bandit.reward(waiting.pop(0), 1.0)
        bandit = load(bandit.save(tmp_path / "b.lr"))
        assert bandit.choices.in_order
    bandit.reward(waiting[1], 1.0)
    assert not load(bandit.save(tmp_path / "b.lr")).choices.in_order
    bandit.reward(waiting[0], 1.0)
    assert load(bandit.save(tmp_path / "b.lr")).choices.in_order


def test_order_of_files_from_before_is_what_their_numbers_tell() -> None:
    for issued, latest, numbers, places in (
        (5, 4, [2, 4], [2, 4]),  # of a run that was never loaded
        (5, 10**12 + 1, [1, 2, 10**12, 10**12 + 1], [0, 1, 3, 4]),  # of two loads: what came between is not known
        (2, -5, [1, 2], [0, 1]),
    ):
        _, arrays = from_9("bandit", {"issued": issued, "latest": latest}, {"pending.number": np.array(numbers)})
        assert arrays["pending.place"].tolist() == places


def test_a_replay_hears_late() -> None:
    """It is the replay of choices told by hand, each after so many more that count."""
    arms, rewards = RNG.integers(0, K, 3000), RNG.random(3000)
    log = bandit_log(arms, reward=rewards)
    for delay in (0, 1, 40, 5000):
        done = replay(log, Exp3(0.05), seed=5, delay=delay)
        twin, waiting, kept = Bandit(K, Exp3(0.05), seed=5), list[tuple[int, float]](), np.zeros(3000, bool)
        names = {name: k for k, name in enumerate(log.names)}
        for row in range(3000):
            number, arm = twin.choose()
            kept[row] = arm == names[str(arms[row])]
            if not kept[row]:
                twin.choices.pending.pop(number)
                twin.state.shown[arm] -= 1
                continue
            waiting.append((number, float(rewards[row])))
            if len(waiting) > delay:
                twin.reward(*waiting.pop(0))
        assert done.kept.tolist() == kept.tolist()
        assert done.bandit.state.estimates.tolist() == twin.state.estimates.tolist()
        assert len(done.bandit.pending) == len(waiting)
        assert done.bandit.rounds + len(done.bandit.pending) == kept.sum()
        late = [c.id for c in done.bandit.certificates if not c.premises_hold]
        assert bool(late) == (delay > 0)
    with pytest.raises(PartError, match="delay must be"):
        replay(log, Exp3(0.05), delay=-1)


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        f"{arm},{reward:.3f},{1 / K}" for arm, reward in zip(RNG.integers(0, K, 500), RNG.random(500), strict=True)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["arm,reward,p", *lines, ""]))
    told = ["bandit", str(path), "--action", "arm", "--reward", "reward", "--delay", "20"]
    assert main([*told, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["replay"]["delay"] == 20
    assert found["replay"]["kept"] - found["rounds"] == 20
    assert main(told) == 0
    assert "each reward was told after 20 more choices" in capsys.readouterr().out
    path.write_text(path.read_text().replace(f",{1 / K}", ",0.5", 100))
    assert main([*told, "--propensity", "p"]) != 0
    assert "needs uniform logging" in capsys.readouterr().err


@pytest.mark.parametrize("algorithm", [Exp3(0.1), Exp3IX(0.1, 0.05), TsallisInf()], ids=lambda a: a.name)
def test_costs_that_never_come_are_not_prompt(algorithm: Any) -> None:
    """If who brings nothing is never told of, only the bad arm is seen: the expected regret is all of it."""
    bandit = Bandit(2, algorithm, seed=1)
    for _ in range(2000):
        number, arm = bandit.choose()
        if arm == 0:
            bandit.reward(number, cost=1.0)
    promised = [c for c in bandit.certificates if c.id in ("COR-4.2+", "COR-4.2", "EXP3-IX-T", "TSALLIS")]
    assert promised
    assert not any(c.premises_hold for c in promised)
    for number in bandit.pending:
        bandit.reward(number, cost=0.0)
    assert not any(c.premises_hold for c in bandit.certificates if c.id in {c.id for c in promised})  # late


def test_advised_costs_that_never_come_are_not_prompt() -> None:
    bandit = Exp4(2, 2, 0.1)
    bandit.choose(np.eye(2))
    number, _ = bandit.choose(np.eye(2))
    bandit.reward(number, cost=1.0)
    by_id = {c.id: c for c in bandit.certificates}
    assert not by_id["EXP4"].premises_hold
    assert by_id["EXP4-PATH"].premises_hold


def test_the_latest_choice_may_wait() -> None:
    bandit = Bandit(2, Exp3(0.1))
    bandit.reward(bandit.choose()[0], cost=1.0)
    bandit.choose()
    assert all(c.premises_hold for c in bandit.certificates)


def test_what_is_replayed_is_looked_at() -> None:
    """Costs that are not there were read from beyond the array, and those beyond 1 or NaN were learnt."""
    arms = np.zeros(1000, np.int64)
    for costs in (np.zeros(1), np.full(1000, np.nan), np.full(1000, 7.0)):
        bandit = Bandit(2)
        with pytest.raises(DataError, match="cost"):
            bandit.replay(arms, costs)
        assert bandit.rounds == 0
    with pytest.raises(DataError, match="arms"):
        Bandit(2).replay(arms + 5, np.zeros(1000))
    assert len(Bandit(2, seed=1).replay(arms, np.zeros(1000), 10**15)) == 1000
