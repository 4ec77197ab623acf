"""Eight numbers at once, the stacks and the views, each by itself."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from lowregret.auto import lanes, stack
from lowregret.auto.memory import LINE, aligned, zeros
from lowregret.auto.view import COLUMNS, PACE, Sheet, look
from lowregret.rows import Dense

single = st.floats(-30, 30, width=32)


def eight(value: float) -> lanes.Eight:
    return (np.float32(value),) * 8


@given(single)
def test_logistic(u: float) -> None:
    assert np.isclose(float(lanes.logistic(eight(u))[3]), expit(-u), rtol=2e-3)


@given(single, st.floats(0, 1e4, width=32))
def test_implicit_slope_is_the_slope_after_the_step(m: float, mu: float) -> None:
    z = brentq(lambda z: z - m - mu * expit(-z), m - 1e-9, m + mu + 1e-9)
    assert np.isclose(float(lanes.implicit(eight(m), eight(mu))[5]), expit(-z), rtol=5e-3)


@given(single, st.floats(0, 29, width=32))
def test_between(u: float, a: float) -> None:
    assert lanes.between(eight(u), np.float32(a))[0] == np.clip(np.float32(u), -np.float32(a), np.float32(a))


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(0, stack.STACKS - 1))
def test_covariances_stay_symmetric_and_below_the_prior(seed: int, k: int) -> None:
    rng, stacks, along = np.random.default_rng(seed), stack.fresh_stacks(), np.zeros(stack.STACKS * stack.INPUTS)
    for _ in range(50):
        u = rng.normal(size=stack.INPUTS) * 10.0 ** rng.integers(-2, 2)
        q = stack.stack_project(stacks, k, u, along)
        assert q >= 0
        stack.stack_learn(stacks, k, along, rng.normal(), 1 / (1 + q), stack.OPEN)
    begin = k * stack.SIZE + stack.INPUTS
    P = stacks[begin : begin + stack.INPUTS**2].reshape(stack.INPUTS, -1)
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-9
    assert np.diag(P).max() <= stack.OPEN[k]


def test_views_of_a_row() -> None:
    """The second row of (10, 4, 0), (30, 4, 9): the first feature varies, the second never did, the third is new."""
    table, pace, sheet = np.zeros(3 * COLUMNS), np.zeros(PACE), Sheet.of(3)
    rows = Dense(np.array([[10.0, 4.0, 0.0], [30.0, 4.0, 9.0]]))
    look(table, pace, rows, 0, sheet, True)
    assert not sheet.shaped.any()
    assert not sheet.plain.any()
    look(table, pace, rows, 1, sheet, True)
    np.testing.assert_allclose(sheet.shaped[:3], [1.0, 0.0, 1.0])
    np.testing.assert_allclose(sheet.plain[:3], [30 / np.sqrt(500), 0.0, 1.0], rtol=1e-6)
    assert sheet.roots[:3].tolist() == [0.0, 0.0, 1.0]


def test_looking_without_keeping_keeps_nothing() -> None:
    table, pace = np.zeros(COLUMNS), np.zeros(PACE)
    look(table, pace, Dense(np.array([[3.0]])), 0, Sheet.of(1), False)
    assert not table.any()
    assert not pace.any()


def test_memory_begins_at_a_line() -> None:
    for size in (1, 7, 1000):
        assert zeros(size, np.float32).ctypes.data % LINE == 0
        kept = aligned(np.arange(size, dtype=float))
        assert kept.ctypes.data % LINE == 0
        assert np.array_equal(kept, np.arange(size))
