"""Eight numbers at once, the stacks and the views, each by itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.special import expit

from lowregret.auto import logit, stack
from lowregret.auto.view import COLUMNS, PACE, Sheet, keep, look
from lowregret.compile import memory
from lowregret.compile import simd as lanes
from lowregret.compile.memory import LINE, extend, roomy, zeros
from lowregret.rows import Dense

single = st.floats(-30, 30, width=32)


def eight(value: float) -> lanes.Eight:
    return lanes.spread(np.float32(value))


@given(single)
def test_logistic(u: float) -> None:
    assert np.isclose(float(logit.logistic(eight(u))[3]), expit(-u), rtol=2e-3)


@given(single, st.floats(0, 1e4, width=32))
def test_implicit_slope_is_the_slope_after_the_step(m: float, mu: float) -> None:
    z = brentq(lambda z: z - m - mu * expit(-z), m - 1e-9, m + mu + 1e-9)
    assert np.isclose(float(logit.implicit(eight(m), eight(mu))[5]), expit(-z), rtol=5e-3)


@given(st.floats(-40, 0))
def test_exponential(u: float) -> None:
    assert np.isclose(float(logit.exponential(lanes.spread(u))[6]), np.exp(u), rtol=1e-12, atol=0)


@given(single, st.floats(0, 100, width=32), single, st.floats(0, 100, width=32))
def test_two_implicit_slopes_at_once(m: float, mu: float, n: float, nu: float) -> None:
    both = logit.both_implicit(eight(m), eight(mu), eight(n), eight(nu))
    for found, alone in zip(
        both, (logit.implicit(eight(m), eight(mu)), logit.implicit(eight(n), eight(nu))), strict=True
    ):
        assert np.isclose(float(found[0]), float(alone[0]), rtol=5e-3)


@given(single, st.floats(0, 29, width=32))
def test_between(u: float, a: float) -> None:
    assert lanes.between(eight(u), eight(a))[0] == np.clip(np.float32(u), -np.float32(a), np.float32(a))


@settings(max_examples=15)
@given(st.integers(0, 2**32), st.integers(0, stack.STACKS - 1))
def test_covariances_stay_symmetric_and_below_the_prior(seed: int, k: int) -> None:
    rng, stacks, along = (
        np.random.default_rng(seed),
        stack.fresh_stacks(stack.EVEN, stack.OPEN),
        np.zeros(stack.STACKS * stack.PADDED),
    )
    for _ in range(50):
        u = np.zeros(stack.PADDED)
        u[: stack.INPUTS] = rng.normal(size=stack.INPUTS) * 10.0 ** rng.integers(-2, 2)
        q = stack.stack_project(stacks, k, u, along)
        assert q >= 0
        stack.stack_learn(stacks, k, along, rng.normal(), 1 / (1 + q), stack.OPEN)
    P = stacks.reshape(stack.STACKS, 1 + stack.INPUTS, stack.PADDED)[k, 1:, : stack.INPUTS]
    np.testing.assert_allclose(P, P.T, atol=1e-12)
    assert np.linalg.eigvalsh(P).min() > -1e-9
    assert np.diag(P).max() <= stack.OPEN[k].max()


def test_views_of_a_row() -> None:
    """The second row of (10, 4, 0), (30, 4, 9): the first feature varies, the second never did, the third is new."""
    table, pace, sheet = np.zeros(3 * COLUMNS), np.zeros(PACE), Sheet.of(3)
    rows = Dense(np.array([[10.0, 4.0, 0.0], [30.0, 4.0, 9.0]]))
    assert look(table, pace, rows, 0, sheet)
    keep(table, pace, rows, 0, 1, sheet, 0.0)
    assert not sheet.shaped.any()
    assert not sheet.plain.any()
    assert look(table, pace, rows, 1, sheet)
    np.testing.assert_allclose(sheet.shaped[:3], [1.0, 0.0, 1.0])
    np.testing.assert_allclose(sheet.plain[:3], [30 / np.sqrt(500), 0.0, 1.0], rtol=1e-6)
    assert sheet.roots[:3].tolist() == [0.0, 0.0, 1.0]


def test_looking_without_keeping_keeps_nothing() -> None:
    table, pace, sheet, rows = np.zeros(COLUMNS), np.zeros(PACE), Sheet.of(1), Dense(np.array([[3.0]]))
    assert look(table, pace, rows, 0, sheet)
    assert not table.any()
    assert not pace.any()


def test_memory_begins_at_a_line() -> None:
    for size in (1, 7, 1000):
        assert zeros(size, np.float32).ctypes.data % LINE == 0
        longer = extend(np.arange(size, dtype=float), 2 * size)
        assert longer.ctypes.data % LINE == 0
        assert np.array_equal(longer, [*range(size), *[0] * size])


def test_large_arrays_grow_where_they_lie(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "AHEAD", 10**6)
    few, many = roomy(100, np.float32), roomy(1 << 14, np.float32)
    few[:] = many[:] = 1
    assert extend(few, 200).ctypes.data != few.ctypes.data
    longer, moved = extend(many, 10**5), extend(many, 10**6)
    assert longer.ctypes.data == many.ctypes.data
    assert moved.ctypes.data != many.ctypes.data
    for cells in (longer, moved):
        assert cells[: 1 << 14].all()
        assert not cells[1 << 14 :].any()
