"""What is certified holds: on random, adversarial and extreme sequences, for every aggregator."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lowregret import Absolute, DataError, Quantile, Square, load
from lowregret.experts import (
    AdaHedge,
    Aggregator,
    BinaryLogScore,
    BrierSimplex,
    Calibrated,
    Descent,
    ExpertMixture,
    FixedShare,
    Hedge,
    Layered,
    LogScore,
    OnlineNewton,
    Review,
    Specialists,
    SquareOn,
)
from lowregret.loss import Cost, Loss
from tests.experts.cases import PROVED, SEQUENCES, adversarial

LOSSES: list[Loss] = [Absolute(), Square(), Quantile(0.9)]


def require_certified(panel: ExpertMixture, p: Any, x: Any, y: Any) -> None:
    """The certificate's regret is what was paid, over the rounds of each expert, and its chain holds."""
    own = np.array([panel.loss_function.at(a, b)[0] for a, b in zip(p, y, strict=True)])
    own = np.where(np.isnan(x).all(1), 0.0, own)  # where nobody was awake, nothing was said
    theirs = np.array([[panel.loss_function.at(a, b)[0] for a in row] for row, b in zip(x, y, strict=True)])
    regrets = np.nansum(np.where(np.isnan(x), 0.0, own[:, None] - theirs), 0)
    certificate = panel.certificate
    assert certificate.regret == pytest.approx(regrets.max(), rel=1e-9, abs=1e-12 * np.abs(own).sum())
    assert certificate.holds, certificate
    assert certificate.linear_regret is None or certificate.regret is not None


@pytest.mark.sampled(3)
@pytest.mark.parametrize("linearised", [True, False])
@pytest.mark.parametrize("aggregator", PROVED, ids=repr)
@pytest.mark.parametrize("name", SEQUENCES)
def test_certificates_hold(name: str, aggregator: Aggregator, linearised: bool) -> None:
    x, y = SEQUENCES[name]
    for loss in LOSSES:
        panel = ExpertMixture(x.shape[1], aggregator, loss, linearised=linearised, compiled=False)
        require_certified(panel, panel.learn(x, y).forecasts, x, y)


@pytest.mark.parametrize("aggregator", PROVED, ids=repr)
def test_certificates_hold_against_who_knows_the_weights(aggregator: Aggregator) -> None:
    x, y = adversarial(aggregator)
    panel = ExpertMixture(3, aggregator, Absolute(), compiled=False)
    require_certified(panel, panel.learn(x, y).forecasts, x, y)
    assert panel.regret > 0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [Layered, Calibrated])
@pytest.mark.parametrize("name", SEQUENCES)
def test_layers_hold_too(name: str, kind: type[Layered]) -> None:
    x, y = SEQUENCES[name]
    for loss in (Absolute(), Square()):
        panel = kind(x.shape[1], loss, compiled=False)
        require_certified(panel, panel.learn(x, y).forecasts, x, y)
        assert panel.certificate.premises_hold


@settings(max_examples=60)
@given(
    st.sampled_from(PROVED), st.integers(1, 5), st.integers(1, 40), st.integers(0, 10**6), st.floats(-8, 8),
    st.sampled_from([0.0, 0.3]), st.booleans(),
)  # fmt: skip
def test_any_costs(
    aggregator: Aggregator, experts: int, rounds: int, seed: int, size: float, asleep: float, linearised: bool
) -> None:
    """ALG-WM: forecasts are costs of either sign, the mixture pays their mean."""
    rng = np.random.default_rng(seed)
    costs = rng.choice([-1.0, 0.0, 1.0], (rounds, experts)) * 10.0 ** (size * rng.random((rounds, 1)))
    costs[rng.random(costs.shape) < asleep] = np.nan
    panel = ExpertMixture(
        experts, aggregator, Cost(), linearised=linearised, prior=rng.random(experts) + 0.1, compiled=False
    )
    panel.learn(costs, np.ones(rounds))
    assert panel.certificate.holds, panel.certificate


def paths(losses: Any, switches: int) -> float:
    """The loss of the best path with at most so many switches, by brute force over where it switches."""
    rounds = len(losses)
    alone = float(losses.sum(0).min())
    if switches == 0 or rounds == 1:
        return alone
    return min(paths(losses[:cut], 0) + paths(losses[cut:], switches - 1) for cut in range(1, rounds))


@pytest.mark.parametrize("linearised", [True, False])
def test_shares_follow_switches(linearised: bool) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.random((12, 3)) + np.eye(3)[k] for k in range(3)])
    panel = ExpertMixture(3, FixedShare(0.8, 0.1), Absolute(), linearised=linearised, compiled=False)
    own = panel.learn(x, np.zeros(len(x))).forecasts.sum()
    for switches in range(4):
        assert own - paths(x, switches) <= panel.bound(switches)
    assert math.isinf(ExpertMixture(3, Hedge(0.1)).bound(1))


# ---- mixable losses ------------------------------------------------------------------------------------------------


def probabilities(rounds: int, experts: int, classes: int, seed: int) -> Any:
    return np.random.default_rng(seed).dirichlet(np.full(classes, 0.3), (rounds, experts))


@settings(max_examples=30)
@given(st.integers(1, 5), st.integers(2, 4), st.integers(1, 60), st.integers(0, 10**6))
@example(experts=1, classes=2, rounds=1, seed=181689)  # the one forecast, once more rounded
def test_mixable_losses_cost_ln_n_once(experts: int, classes: int, rounds: int, seed: int) -> None:
    x, rng = probabilities(rounds, experts, classes, seed), np.random.default_rng(seed + 1)
    prior, y = rng.random(experts) + 0.05, rng.integers(0, classes, rounds).astype(float)
    log = ExpertMixture(experts, Hedge(1.0), LogScore(), parts=classes, linearised=False, prior=prior, compiled=False)
    brier = ExpertMixture(
        experts, Hedge(1.0), Square(), parts=classes, linearised=False, substitution=BrierSimplex(), prior=prior,
        compiled=False,
    )  # fmt: skip
    square = ExpertMixture(
        experts, Hedge(0.5), linearised=False, substitution=SquareOn(-1.0, 1.0), prior=prior, compiled=False
    )
    for panel, forecasts, outcomes in (
        (log, np.maximum(x, 1e-9), y),
        (brier, x, y),
        (square, rng.uniform(-1, 1, (rounds, experts)), rng.uniform(-1, 1, rounds)),
    ):
        panel.learn(forecasts, outcomes)
        regrets = panel.book.owed - panel.book.losses
        eta = panel.aggregator.eta  # type: ignore[attr-defined]
        assert np.all(regrets <= -np.log(panel.book.prior) / eta + 1e-9)
        assert panel.certificate.id == "MIX"
        assert panel.certificate.holds


@settings(max_examples=50)
@given(st.integers(1, 6), st.integers(2, 5), st.integers(0, 10**6))
def test_substitutions_are_mixable_whatever_comes(experts: int, classes: int, seed: int) -> None:
    """ℓ(p, y) ≤ −(1/η) ln Σ w e^{−ηℓ(x, y)} for every y."""
    rng = np.random.default_rng(seed)
    w, x = rng.dirichlet(np.ones(experts)), probabilities(1, experts, classes, seed)[0]
    panel = ExpertMixture(experts, Hedge(1.0), parts=classes, linearised=False, substitution=BrierSimplex(), prior=w)
    panel.compiled = False
    p = panel.ask(x)[1]
    assert p.sum() == pytest.approx(1)
    for y in np.eye(classes):
        assert ((p - y) ** 2).sum() <= -np.log(w @ np.exp(-((x - y) ** 2).sum(1))) + 1e-12
    low, high = sorted(rng.normal(size=2) * 10)
    eta, numbers = 2 / (high - low) ** 2, rng.uniform(low, high, experts)
    panel = ExpertMixture(
        experts, Hedge(eta), linearised=False, substitution=SquareOn(low, high), prior=w, compiled=False
    )
    p = panel.ask(numbers)[1]
    for outcome in np.linspace(low, high, 21):
        mixed = -np.log(w @ np.exp(-eta * (numbers - outcome) ** 2)) / eta
        assert (p - outcome) ** 2 <= mixed + 1e-9 * (high - low) ** 2


def test_an_eta_too_large_is_not_claimed() -> None:
    x = np.random.default_rng(0).random((20, 3))
    panel = ExpertMixture(3, Hedge(5.0), linearised=False, substitution=SquareOn(0.0, 1.0), compiled=False)
    panel.learn(x, x[:, 0])
    assert not panel.certificate.premises_hold
    panel = ExpertMixture(3, Hedge(2.0), linearised=False, substitution=SquareOn(0.0, 1.0), compiled=False)
    panel.learn(x, 3 * x[:, 0])
    assert not panel.certificate.premises_hold
    panel = ExpertMixture(2, Hedge(1.0), parts=2, linearised=False, substitution=BrierSimplex(), compiled=False)
    panel.learn([[[0.5, 0.6], [0.5, 0.5]]], [0.0])
    assert not panel.certificate.premises_hold


@pytest.mark.parametrize("aggregator", PROVED, ids=repr)
def test_one_expert_infinitely_wrong(aggregator: Aggregator) -> None:
    """Expert 0 is the best until it says that what comes is impossible."""
    rng = np.random.default_rng(1)
    y = (rng.random(80) < 0.5).astype(float)
    x = np.full((80, 3), 0.5)
    x[:, 0], x[:, 1] = np.where(y == 1, 0.9, 0.1), rng.uniform(0.2, 0.8, 80)
    x[40, 0] = 1.0 - y[40]
    x[:, 2] = np.clip(x[:, 2], 0.1, 0.9)
    for linearised in (True, False):
        panel = ExpertMixture(3, aggregator, BinaryLogScore(), linearised=linearised, compiled=False)
        panel.learn(x[:40], y[:40])
        if panel.weights[0] == 1.0:  # all weight on the one that is wrong now
            with pytest.raises(DataError, match="thought this outcome possible"):
                panel.learn(x[40:], y[40:])
            assert panel.asked == 40
            continue
        p = panel.learn(x[40:], y[40:]).forecasts
        assert np.isfinite(p).all()
        assert panel.certificate.holds, panel.certificate
        if not linearised and not isinstance(aggregator, FixedShare):
            assert panel.weights[0] == pytest.approx(0, abs=1e-6)


@pytest.mark.thorough
def test_ten_million_rounds_with_large_costs() -> None:
    rng = np.random.default_rng(2)
    costs = rng.uniform(-1e6, 1e6, (10**7, 2))
    panel = ExpertMixture(2, AdaHedge(), Cost())
    panel.learn(costs, np.ones(10**7))
    assert panel.rounds == 10**7
    assert panel.certificate.holds
    assert panel.certificate.bound < 1e6 * math.sqrt(2 * 10**7 * math.log(2)) * 1.5


@pytest.mark.usefixtures("interpreted")
def test_nothing_is_promised_to_an_expert_of_no_prior() -> None:
    """It is not trusted whatever it says, so it may be better by any amount."""
    x, y = np.tile([1.0, 0.0], (20, 1)), np.zeros(20)
    for aggregator in (AdaHedge(), Hedge(1.0), *PROVED):
        panel = ExpertMixture(2, aggregator, Absolute(), prior=[1.0, 0.0]).learn(x, y)
        if panel.regret > 0:
            assert panel.regret <= panel.certificate.proved
            assert panel.certificate.holds


@pytest.mark.parametrize("linearised", [True, False])
def test_the_mean_of_large_forecasts_is_rounded_itself(linearised: bool) -> None:
    """What it is off by is much more than the theorem allows to an expert who has nearly all of the prior."""
    low = 3e8 / 7
    x, y = np.tile([low, low * (1 + 3e-9)], (10_000, 1)), np.full(10_000, low - 1)
    panel = ExpertMixture(2, Hedge(1e-8), Square(), linearised=linearised, prior=[1 - 1e-14, 1e-14])
    p = panel.learn(x, y).forecasts
    exact = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(p.tolist(), y.tolist(), strict=True))
    exact -= 10_000 * (Fraction(low) - Fraction(y[0])) ** 2
    assert exact > 50 * panel.certificate.bound
    assert exact <= panel.certificate.proved
    assert panel.certificate.holds


def test_costs_of_either_sign_are_rounded_though_their_sum_is_small() -> None:
    rng = np.random.default_rng(3)
    costs = rng.uniform(1e12, 2e12, (5_000, 1)) * [[1.0, -1.0]]
    x = np.stack([costs.reshape(-1), np.zeros(10_000)], axis=1)
    panel = ExpertMixture(2, Hedge(1e-30), Cost(), linearised=False, prior=[1 - 1e-9, 1e-9]).learn(x, np.ones(10_000))
    own = sum(map(Fraction, panel.forecasts.tolist()))
    assert abs(panel.book.losses).max() < 1e-3 * panel.book.added.max()
    assert own - sum(map(Fraction, x[:, 0].tolist())) <= panel.certificate.proved


class ClippedFarOut(Loss):
    """The absolute loss, clipped at 3 where outcomes are large: convex for all others."""

    def accepts(self, y: float) -> bool:
        return math.isfinite(y)

    def at(self, p: float, y: float) -> tuple[float, float]:
        slope = 1.0 if p > y else -1.0
        return (abs(p - y), slope) if abs(y) < 500 or abs(p - y) < 3 else (3.0, 0.0)


@pytest.mark.parametrize("linearised", [True, False])
def test_a_loss_is_put_to_the_test_where_specialists_met_it(linearised: bool, tmp_path: Path) -> None:
    x, y = np.tile([1000.0, 1008.0], 200), np.where(np.arange(200) % 2, 1000.0, 1008.0)
    panel = Specialists(2, 0.5, ClippedFarOut(), linearised=linearised, compiled=False)
    panel.learn(np.arange(0, 401, 2), np.tile([0, 1], 200), x, y)
    assert panel.regret > 299
    assert not panel.certificate.premises_hold
    assert not load(panel.save(tmp_path / "panel.lr")).certificate.premises_hold


def test_a_certificate_that_is_changed_changes_no_other() -> None:
    """All certificates of mixtures had one dict of comparators: whoever noted something in one noted it in all."""
    first, second = (ExpertMixture(2, AdaHedge(), Square(), compiled=False) for _ in range(2))
    for mixture in (first, second):
        mixture.learn([[0.0, 1.0]], [0.5])
    first.certificate.comparator["set"] = "experts"
    assert second.certificate.comparator["set"] == first.certificate.comparator["set"] == "simplex"


def test_the_regret_that_is_told_is_to_whom_it_is_told_to_be() -> None:
    """Experts on both sides of the outcomes: their mean is far better than the best of them."""
    y = np.zeros(40)
    x = np.tile([1.0, -1.0], (40, 1))
    mixture = Layered(2, compiled=False).learn(x, y)
    assert mixture.certificate.regret == mixture.loss - 40.0 == mixture.regret
    assert "against the best expert\n" in str(mixture)
    assert "against every fixed choice in the simplex of total 1, linearised" in str(mixture)
    known = Review.of(mixture, x, y).certificate
    assert known.regret == pytest.approx(mixture.loss)
    assert known.rivals(best=True) == "the best fixed choice in the simplex of total 1"
    relatives = np.tile([[2.0, 0.5], [0.5, 2.0]], (20, 1))
    portfolio = OnlineNewton(2).learn(relatives)
    assert portfolio.certificate.regret == pytest.approx(portfolio.loss)  # of either asset; half of both gains
    assert "against the best asset\n" in str(portfolio)
    assert "against every fixed choice in the simplex of total 1 (ONS)" in str(portfolio)


@pytest.mark.parametrize("aggregator", [Hedge(1e283), FixedShare(1e283, 0.1), Descent(1e283)], ids=repr)
def test_losses_whose_squares_vanish_cost_no_less(aggregator: Aggregator) -> None:
    """Those of differences near 1e-280 are 0, and times a rate near their inverse they are not."""
    outcomes = 1e-140 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    run = ExpertMixture(2, aggregator, compiled=False).learn(1e-140 * np.tile([1.0, -1.0], (6, 1)), outcomes)
    owed = [(Fraction(p) - Fraction(y)) ** 2 for p, y in zip(run.forecasts.tolist(), outcomes.tolist(), strict=True)]
    regret = float(sum(owed) - 3 * Fraction(2e-140) ** 2)
    assert regret > 0
    assert all(c.holds and c.bound >= regret for c in run.certificates)
