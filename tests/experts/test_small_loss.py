"""THM-3.1 and THM-14.15 of exponential weights, against the textbook's formulas over whole records."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lowregret import Absolute, Certificate, Square, load
from lowregret.experts import Drawing, ExpertMixture, FixedShare, Hedge, Layered, Specialists
from lowregret.finite import WeightedMajority, make_hypotheses
from lowregret.loss import Cost, Loss
from tests.store.test_models import FOLDER

SMALL = ("THM-3.1(1)", "THM-3.1(2)", "THM-3.1+(1)", "THM-3.1+(2)")


def by_id(found: list[Certificate]) -> dict[str, Certificate]:
    return {c.id: c for c in found}


def textbook(costs: Any, prior: Any, eta: float) -> tuple[float, dict[str, float]]:
    """Σ⟨w_t, z_t⟩ of exponential weights, and right-hand sides that bound it, over the whole record."""
    before = np.vstack([np.zeros(costs.shape[1]), np.cumsum(costs, 0)[:-1]])
    w = prior * np.exp(-eta * (before - before.min(1, keepdims=True)))
    w /= w.sum(1, keepdims=True)
    paid, total, rounds = float(np.sum(w * costs)), costs.sum(0), len(costs)
    ranges = np.sum((costs.max(1) - costs.min(1)) ** 2)
    owed = float(np.min(total + np.log(1 / prior) / eta))
    gibbs = -math.log(float(np.sum(prior * np.exp(-eta * (total - total.min()))))) / eta + total.min()
    second = float(np.sum(w * costs**2))
    return paid, {
        "THM-3.1(1)": owed + eta * rounds,
        "THM-3.1(2)": owed / (1 - eta) if eta < 1 else math.inf,
        "THM-3.1+(1)": owed + min(eta * rounds / 8, eta / 2 * second),
        "THM-3.1+(2)": eta * owed / (1 - math.exp(-eta)),
        "THM-14.15": gibbs + eta / 8 * ranges,
        "THM-14.15 (single)": total.min() + math.log(1 / prior[int(np.argmin(total))]) / eta + eta / 8 * ranges,
    }


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 6), st.integers(1, 60), st.floats(0.01, 3.0), st.integers(0, 10**6),
    st.sampled_from(["uniform", "bits", "one is free", "nearly all the same"]), st.booleans(),
)  # fmt: skip
def test_the_bounds_are_the_textbooks_and_hold(
    experts: int, rounds: int, eta: float, seed: int, kind: str, linearised: bool
) -> None:
    rng = np.random.default_rng(seed)
    costs = rng.random((rounds, experts))
    if kind == "bits":
        costs = np.round(costs)
    elif kind == "one is free":
        costs = np.ones((rounds, experts))
        costs[:, -1] = 0.0
    elif kind == "nearly all the same":
        costs = np.clip(costs * 1e-3 + 0.5, 0, 1)
    prior = rng.random(experts) + 0.05
    panel = ExpertMixture(experts, Hedge(eta), Cost(), linearised=linearised, prior=prior, compiled=False)
    panel.learn(costs, np.ones(rounds))
    paid, expected = textbook(costs, prior / prior.sum(), eta)
    found, least = by_id(panel.certificates), float(costs.sum(0).min())
    assert panel.loss == pytest.approx(paid)
    assert set(found) == {*expected}
    single, best = "THM-14.15 (single)", costs.sum(0) <= least + 1e-9  # several if they tie: any of them is the best
    each = eta / 8 * (np.ptp(costs, axis=1) ** 2).sum() - np.log(prior[best] / prior.sum()) / eta
    expected[single] = least + float(each[np.argmin(np.abs(each - found[single].bound))])
    for name, value in expected.items():
        assert found[name].bound == pytest.approx(value - least, rel=1e-9, abs=1e-9), name
        assert paid <= value + 1e-9, name
        assert found[name].premises_hold == (name != "THM-3.1(2)" or eta < 1)
        assert found[name].holds or not found[name].premises_hold
        assert name not in SMALL or found[name].details["loss"] == pytest.approx(value)
    assert found["THM-14.15"].bound <= found["THM-14.15 (single)"].bound + 1e-9
    assert panel.certificate.bound == min(c.bound for c in found.values() if c.premises_hold)


def test_a_prior_that_trusts_nobody_in_particular_costs_less_than_the_best_expert_alone() -> None:
    """Many experts nearly as good as the best: the infimum over mixtures is far below any single one's."""
    costs = np.random.default_rng(0).random((400, 50)) * 0.1 + 0.4
    found = by_id(ExpertMixture(50, Hedge(0.05), Cost()).learn(costs, np.ones(400)).certificates)
    assert found["THM-14.15"].bound < 0.5 * found["THM-14.15 (single)"].bound


@pytest.mark.parametrize("loss", [Absolute(), Square()])
def test_convex_losses_of_means_are_bounded_too(loss: Loss) -> None:
    rng = np.random.default_rng(1)
    y = np.round(rng.random(300))
    x = np.clip(y[:, None] + rng.normal(size=(300, 4)) * [0.05, 0.4, 0.5, 0.6], 0, 1)
    panel = ExpertMixture(4, Hedge(0.5), loss, linearised=False, compiled=False).learn(x, y)
    found = by_id(panel.certificates)
    assert all(found[name].holds for name in SMALL)
    assert panel.certificate.id.startswith("THM-3.1+")  # the best expert loses little
    assert not set(SMALL) & set(by_id(ExpertMixture(4, Hedge(0.5), loss).learn(x, y).certificates))  # linearised


def test_costs_outside_the_unit_interval_and_sleepers_are_not_spoken_of() -> None:
    for costs, broken in (([[0.0, 2.0]], "lie in"), ([[-0.1, 1.0]], "lie in"), ([[np.nan, 1.0]], "slept")):
        panel = ExpertMixture(2, Hedge(0.5), Cost(), compiled=False).learn(costs, [1.0])
        for name in SMALL:
            premises = by_id(panel.certificates)[name].premises
            assert [broken in p.name for p in premises if not p.holds] == [True]
    assert not set(SMALL) & set(by_id(ExpertMixture(2, FixedShare(0.5, 0.1), Cost()).certificates))


def test_what_would_be_false_of_larger_costs_is_seen() -> None:
    """(2) speaks of costs up to 1: with costs of 10 it would be exceeded, and its premise says so."""
    costs = np.tile([[10.0, 0.0], [0.0, 10.0]], (50, 1))
    panel = ExpertMixture(2, Hedge(0.9), Cost(), compiled=False).learn(costs, np.ones(100))
    found = by_id(panel.certificates)["THM-3.1(1)"]
    assert panel.loss > found.details["loss"]
    assert not found.premises_hold


def test_drawings_and_specialists_report_them() -> None:
    costs = np.random.default_rng(2).random((50, 3))
    drawing = Drawing(3, Hedge(0.2)).learn(costs)
    assert set(SMALL) <= set(by_id(drawing.certificates))
    special = Specialists(3, 0.2, Cost(), compiled=False)
    special.learn(np.arange(0, 151, 3), np.tile([0, 1, 2], 50), costs.reshape(-1), np.ones(50))
    for name, c in by_id(special.certificates).items():
        assert c.bound == pytest.approx(by_id(drawing.certificates)[name].bound)


def test_weighted_majority_reports_small_losses() -> None:
    """A hypothesis that errs seldom: the small-loss bound is far below the one in √T."""
    h, rng = make_hypotheses("thresholds:16"), np.random.default_rng(3)
    learner, labels = WeightedMajority(h, 800), h.by_point[:, 5].astype(int)
    for _ in range(800):
        x = int(rng.integers(0, len(labels)))
        learner.learn(x, int(labels[x]) if rng.random() > 0.002 else 1 - int(labels[x]))
    found = by_id(learner.certificates)
    assert set(found) == {"THM-1.3", *SMALL}
    assert all(c.holds for c in found.values())
    assert learner.certificate.id.startswith("THM-3.1+")
    best, eta, n = float(learner.errors.min()), learner.eta, len(h)
    assert found["THM-3.1(2)"].bound == pytest.approx((best + math.log(n) / eta) / (1 - eta) - best)
    assert found["THM-3.1+(2)"].bound == pytest.approx((eta * best + math.log(n)) / (1 - math.exp(-eta)) - best)


def test_older_files_know_no_sizes_and_claim_nothing_of_them() -> None:
    run = load(FOLDER / "drawing.lr")
    found = by_id(run.certificates)
    for name in SMALL:
        if name in found:
            assert not found[name].premises_hold


# ---- rounds yet to come ----------------------------------------------------------------------------------------------


def drawn_costs(rng: Any, n: int) -> Any:
    """Costs of three experts in independent rounds, the first the best."""
    return np.clip(rng.normal([0.3, 0.35, 0.5], 0.2, (n, 3)), 0, 1)


def test_risks_hold_on_new_rounds(tmp_path: Path) -> None:
    """The averaged weights on many new rounds; the premise is the user's word, and without it nothing is claimed."""
    wrong = {"O2B-EB": 0, "O2B-HP": 0, "THM-14.15-HP": 0}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        panel = ExpertMixture(3, Hedge(0.3), Cost(), compiled=False).learn(drawn_costs(rng, 200), np.ones(200))
        assert not any(c.premises_hold for c in panel.risks(0.1))
        new, w = drawn_costs(rng, 20_000), panel.average_weights
        assert w is not None
        assert w.sum() == pytest.approx(1)
        for c in panel.risks(0.1, independent=True):
            assert c.premises_hold
            risk = float(np.mean(new @ w))
            excess = risk - float(new.mean(0).min())
            wrong[c.id] += (risk if c.of == "loss" else excess) > c.bound
    assert max(wrong.values()) <= 4
    again = load(panel.save(tmp_path / "panel.lr"))
    assert again.risks(0.1, independent=True) == panel.risks(0.1, independent=True)


def test_risks_of_what_is_no_mean_speak_of_a_drawn_model() -> None:
    x, rng = np.random.default_rng(0).random((60, 3)), np.random.default_rng(1)
    layered = Layered(3, Absolute(), compiled=False).learn(x, rng.random(60))
    assert layered.average_weights is None
    found = layered.risks(independent=True)
    assert {c.output for c in found} == {"a model drawn from those of the run"}
    negative = ExpertMixture(2, Hedge(0.1), Cost(), compiled=False).learn([[-1.0, 0.5]], [1.0])
    assert not any(c.premises_hold for c in negative.risks(independent=True))
    assert Drawing(2, Hedge(0.1)).risks() == []
