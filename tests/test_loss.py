"""Losses: convexity, sub-gradients, the facts they state, their labels, and compiled = interpreted."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lowregret import zoo
from lowregret.compile.kernel import kernel
from lowregret.errors import PartError
from lowregret.loss import (
    LOSSES,
    Absolute,
    Affine,
    Cost,
    EpsilonInsensitive,
    Hinge,
    Huber,
    Logistic,
    LogWealth,
    Loss,
    Margin,
    MultiLoss,
    NamedLoss,
    OneAgainstAll,
    OnMistakes,
    Poisson,
    Quantile,
    Square,
    SquaredHinge,
)
from lowregret.loss.name import loss_name
from lowregret.types import Vector

NAMED = [kind() for kind in LOSSES.values() if issubclass(kind, Loss)]
SPECIAL: list[Loss] = [
    Hinge(0.0),
    Hinge(2.5),
    Affine(Hinge(), 2.0, -1.0),
    Affine(Logistic(), -0.5, 0.25),
    Affine(Affine(SquaredHinge(), 2.0, 1.0), 3.0, -1.0),
    Quantile(0.1),
    Quantile(0.9),
    Huber(0.2),
    EpsilonInsensitive(0.0),
    Cost(),
    LogWealth(),
]
CONVEX = [*NAMED, *SPECIAL]
ALL = [*CONVEX, OnMistakes(Hinge()), OnMistakes(Affine(Hinge(), 2.0, -1.0))]

each = pytest.mark.parametrize("loss", CONVEX, ids=repr)


def kinks(loss: Loss, y: float) -> list[float]:
    """Scores where the slope jumps."""
    match loss:
        case Hinge(margin):
            return [margin * y]
        case Absolute() | Quantile():
            return [y]
        case EpsilonInsensitive(epsilon):
            return [y - epsilon, y + epsilon]
        case Affine(inner, slope, offset):
            return [(k - offset) / slope for k in kinks(inner, y)]
    return []


@st.composite
def cases(draw: st.DrawFn, loss: Loss, scores: int) -> tuple[float, ...]:
    """A label and some scores."""
    if isinstance(loss, Margin):
        y = draw(st.sampled_from([-1.0, 1.0]))
    else:
        y = draw(st.floats(-5, 5)) if loss.accepts(-1.0) else draw(st.integers(0, 40).map(float))
    low, high = (0.01, 10.0) if isinstance(loss, LogWealth) else (-8.0, 8.0)
    return y, *(draw(st.floats(low, high)) for _ in range(scores))


@each
@given(data=st.data())
def test_convex_along_chords(loss: Loss, data: st.DataObject) -> None:
    y, a, b = data.draw(cases(loss, 2))
    t = data.draw(st.floats(0, 1))
    (left, _), (right, _), (middle, _) = loss.at(a, y), loss.at(b, y), loss.at((1 - t) * a + t * b, y)
    assert middle <= (1 - t) * left + t * right + 1e-12 * (1 + abs(left) + abs(right))


@each
@given(data=st.data())
def test_slope_is_a_subgradient(loss: Loss, data: st.DataObject) -> None:
    y, p, q = data.draw(cases(loss, 2))
    for at in (p, *kinks(loss, y)):
        value, slope = loss.at(at, y)
        assert loss.at(q, y)[0] >= value + slope * (q - at) - 1e-12 * (1 + abs(value) + abs(slope * (q - at)))


@each
@given(data=st.data())
def test_slope_is_the_derivative_off_kinks(loss: Loss, data: st.DataObject) -> None:
    y, p = data.draw(cases(loss, 1))
    h = 1e-5
    if any(abs(p - k) <= 2 * h for k in kinks(loss, y)):
        return
    slope = loss.at(p, y)[1]
    numeric = (loss.at(p + h, y)[0] - loss.at(p - h, y)[0]) / (2 * h)
    bend = loss.smoothness * h if math.isfinite(loss.smoothness) else 0.0  # where p ± h straddle a change of curvature
    assert numeric == pytest.approx(slope, rel=1e-6, abs=1e-6 + bend)


@pytest.mark.parametrize(
    ("loss", "p", "y", "expected"),
    [
        (Hinge(), 1.0, 1.0, (0.0, 0.0)),
        (Hinge(), -1.0, -1.0, (0.0, 0.0)),
        (Hinge(), 0.0, 1.0, (1.0, -1.0)),
        (Hinge(0.0), 0.0, -1.0, (0.0, 0.0)),
        (SquaredHinge(), 1.0, 1.0, (0.0, 0.0)),
        (SquaredHinge(), 0.0, -1.0, (1.0, 2.0)),
        (Absolute(), 2.0, 2.0, (0.0, 0.0)),
        (Absolute(), 1.0, 2.0, (1.0, -1.0)),
        (Quantile(0.3), 2.0, 2.0, (0.0, 0.0)),
        (Quantile(0.3), 4.0, 2.0, (1.4, 0.7)),
        (Quantile(0.3), 0.0, 2.0, (0.6, -0.3)),
        (EpsilonInsensitive(0.5), 1.5, 1.0, (0.0, 0.0)),
        (EpsilonInsensitive(0.5), 0.0, 1.0, (0.5, -1.0)),
        (Square(), 1.0, 3.0, (4.0, -4.0)),
        (Huber(2.0), 2.0, 0.0, (2.0, 2.0)),
        (Huber(2.0), -5.0, 0.0, (8.0, -2.0)),
        (Logistic(), 0.0, 1.0, (math.log(2), -0.5)),
        (Poisson(), 0.0, 3.0, (1 + math.log(6), -2.0)),
        (Cost(), 0.25, 1.0, (0.25, 1.0)),
        (LogWealth(), math.e, 1.0, (-1.0, -1 / math.e)),
        (LogWealth(), 0.0, 1.0, (math.inf, -math.inf)),
    ],
)
def test_values_and_the_conventions_at_kinks(loss: Loss, p: float, y: float, expected: tuple[float, float]) -> None:
    assert loss.at(p, y) == pytest.approx(expected, rel=1e-14, abs=1e-14)


@each
@given(data=st.data())
def test_stated_facts_hold(loss: Loss, data: st.DataObject) -> None:
    """|slope| ≤ lipschitz, and curvature ≤ slope of the slope ≤ smoothness."""
    y, p, q = data.draw(cases(loss, 2))
    low, high = min(p, q), max(p, q)
    rise, run = loss.at(high, y)[1] - loss.at(low, y)[1], high - low
    rounding = 1e-12 * (1 + abs(loss.at(low, y)[1]) + abs(loss.at(high, y)[1]))
    assert abs(loss.at(p, y)[1]) <= loss.lipschitz * (1 + 1e-15)
    assert rise >= loss.curvature * run - rounding
    assert rise <= (loss.smoothness * run if math.isfinite(loss.smoothness) else math.inf) + rounding


@pytest.mark.parametrize(
    ("loss", "lipschitz", "smoothness"),
    [
        (Hinge(), 1.0, math.inf),
        (SquaredHinge(), math.inf, 2.0),
        (Logistic(), 1.0, 0.25),
        (Square(), math.inf, 2.0),
        (Absolute(), 1.0, math.inf),
        (Quantile(0.2), 0.8, math.inf),
        (Huber(3.0), 3.0, 1.0),
        (EpsilonInsensitive(), 1.0, math.inf),
        (Poisson(), math.inf, math.inf),
        (Affine(Logistic(), -2.0, 1.0), 2.0, 1.0),
        (OnMistakes(Affine(Hinge(), 2.0, -1.0)), 2.0, math.inf),
    ],
)
def test_stated_facts_are_tight(loss: Loss, lipschitz: float, smoothness: float) -> None:
    """The constants are approached on a fine grid of scores and labels."""
    assert (loss.lipschitz, loss.smoothness) == (lipschitz, smoothness)
    grid = np.linspace(-20, 20, 4001)
    slopes = np.array([[loss.at(p, y)[1] for p in grid] for y in (-1.0, 1.0) if loss.accepts(y)])
    if math.isfinite(lipschitz):
        assert np.abs(slopes).max() == pytest.approx(lipschitz, rel=1e-6)
    if math.isfinite(smoothness):
        assert (np.diff(slopes, axis=1) / np.diff(grid)).max() == pytest.approx(smoothness, rel=1e-3)


@pytest.mark.parametrize("loss", [loss for loss in CONVEX if not isinstance(loss, Poisson | LogWealth)], ids=repr)
@pytest.mark.parametrize("p", [-1e3, 1e3])
@pytest.mark.parametrize("y", [-1.0, 1.0])
def test_large_scores_do_not_overflow(loss: Loss, p: float, y: float) -> None:
    value, slope = loss.at(p, y)
    assert math.isfinite(value)
    assert math.isfinite(slope)


@pytest.mark.parametrize("p", [1e3, 1e155, 1e308])
def test_logistic_at_the_end_of_the_number_range(p: float) -> None:
    assert Logistic().at(p, 1.0) == (0.0, 0.0)
    assert Logistic().at(-p, 1.0) == (p, -1.0)
    assert Logistic().at(-p, -1.0) == (0.0, 0.0)
    assert Logistic().at(p, -1.0) == (p, 1.0)


@given(st.floats(-30, 700), st.integers(0, 200))
def test_poisson_is_the_negative_log_likelihood(p: float, y: int) -> None:
    value, slope = Poisson().at(p, float(y))
    exact = math.exp(p) - y * p + math.lgamma(y + 1)
    assert value == pytest.approx(exact, rel=1e-12, abs=1e-12)
    assert slope == math.exp(p) - y


def test_poisson_beyond_the_number_range_is_infinite_and_does_not_raise() -> None:
    assert Poisson().at(1e3, 2.0) == (math.inf, math.inf)
    assert Poisson().at(-1e3, 2.0) == pytest.approx((2e3 + math.log(2), -2.0))


# ---- labels and mistakes ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_labels(loss: Loss) -> None:
    for y in (math.nan, math.inf, -math.inf):
        assert not loss.accepts(y)
    assert loss.accepts(1.0)
    assert loss.accepts(-1.0) != isinstance(loss, Poisson)
    for y in (0.0, 2.0):
        assert loss.accepts(y) != isinstance(loss, Margin)
    assert loss.classifies == isinstance(loss, Margin)
    assert loss.labels


@given(st.floats(-3, 3), st.sampled_from([-1.0, 1.0]))
@example(0.0, 1.0)
@example(0.0, -1.0)
@example(0.5, 1.0)
@example(0.5, -1.0)
def test_a_zero_decision_is_a_mistake_only_where_updates_need_it(p: float, y: float) -> None:
    assert Hinge().wrong(p, y) == ((p >= 0) != (y > 0))  # sign(0) = +1 predicts
    assert Square().wrong(p, y) is False
    perceptron, winnow = OnMistakes(Hinge()), OnMistakes(Affine(Hinge(), 2.0, -1.0))
    assert perceptron.wrong(p, y) == (y * p <= 0)
    assert winnow.wrong(p, y) == (y * (2 * p - 1) <= 0)
    assert perceptron.at(p, y) == (Hinge().at(p, y) if y * p <= 0 else (0.0, 0.0))
    # f_t = [1 − y(2p − 1)]₊ on mistakes, its slope −2y (ALG-WINNOW)
    assert winnow.at(p, y) == ((max(1 - y * (2 * p - 1), 0.0), -2 * y) if y * (2 * p - 1) <= 0 else (0.0, 0.0))


@given(st.floats(-3, 3), st.sampled_from([-1.0, 1.0]))
def test_affine_losses_nest(p: float, y: float) -> None:
    outer = Affine(Affine(Logistic(), 2.0, 1.0), 3.0, -1.0)
    flat = Affine(Logistic(), 6.0, -1.0)
    assert outer.at(p, y) == pytest.approx(flat.at(p, y), rel=1e-12, abs=1e-12)
    assert outer.decision(p) == pytest.approx(flat.decision(p), rel=1e-12, abs=1e-12)
    assert (outer.lipschitz, outer.smoothness) == (flat.lipschitz, flat.smoothness)
    mistaken = Affine(OnMistakes(Hinge()), 2.0, -1.0)
    assert mistaken.wrong(p, y) == OnMistakes(Affine(Hinge(), 2.0, -1.0)).wrong(p, y)
    assert mistaken.at(p, y) == OnMistakes(Affine(Hinge(), 2.0, -1.0)).at(p, y)


# ---- parameters ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Hinge(-1.0), "margin must be ≥ 0"),
        (lambda: Hinge(math.inf), "margin must be ≥ 0"),
        (lambda: Hinge(math.nan), "must be a number"),
        (lambda: Quantile(0.0), "strictly between 0 and 1"),
        (lambda: Quantile(1.0), "strictly between 0 and 1"),
        (lambda: Huber(0.0), "delta must be positive"),
        (lambda: EpsilonInsensitive(-0.1), "epsilon must be ≥ 0"),
        (lambda: Affine(Hinge(), 0.0), "slope must be"),
        (lambda: Affine(Hinge(), math.inf), "slope must be"),
        (lambda: Affine(Hinge(), 1.0, -math.inf), "offset must be finite"),
        (lambda: Affine(Square()), "loss of the margin"),  # type: ignore[arg-type]
        (lambda: OnMistakes(Square()), "loss of the margin"),  # type: ignore[arg-type]
        (lambda: OnMistakes(Hinge(0.0)), "flat at a zero decision"),
        (lambda: OnMistakes(Affine(Hinge(0.0), 2.0)), "flat at a zero decision"),
    ],
)
def test_senseless_parameters_are_refused(make: Any, words: str) -> None:
    with pytest.raises(PartError, match=words):
        make()


# ---- compiled = interpreted ------------------------------------------------------------------------------------------


@kernel
def _evaluate(loss: Loss, p: Vector, y: Vector, out: Any) -> None:
    for i in range(p.size):
        value, slope = loss.at(p[i], y[i])
        out[i, 0] = value
        out[i, 1] = slope
        out[i, 2] = loss.wrong(p[i], y[i])
        out[i, 3] = loss.accepts(y[i])


@pytest.mark.parametrize("loss", ALL, ids=repr)
def test_compiled_is_interpreted_bit_for_bit(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    near, far = rng.normal(size=300) * 3, rng.normal(size=300) * 10.0 ** rng.uniform(-300, 300, 300)
    p = np.concatenate([near, far, [0.0, 1.0, -1.0, 0.5, 709.0, 710.0, 1e308, -1e308]])
    if isinstance(loss, Margin):
        y = rng.choice([-1.0, 1.0], p.size)
    else:
        y = rng.normal(size=p.size) if loss.accepts(-1.0) else rng.integers(0, 50, p.size).astype(float)
    compiled, interpreted = np.empty((p.size, 4)), np.empty((p.size, 4))
    _evaluate(loss, p, y, compiled)
    # Python floats, not NumPy scalars: those would warn of an overflow where floats and compiled code go to infinity.
    for i in range(p.size):
        at, label = float(p[i]), float(y[i])
        interpreted[i] = *loss.at(at, label), loss.wrong(at, label), loss.accepts(label)
    assert compiled.tobytes() == interpreted.tobytes()


def test_a_loss_of_your_own_needs_only_at() -> None:
    class Cubic(Loss):
        def at(self, p: float, y: float) -> tuple[float, float]:
            r = abs(p - y)
            return r * r * r, math.copysign(3 * r * r, p - y)

    out = np.empty((1, 4))
    _evaluate(Cubic(), np.array([3.0]), np.array([1.0]), out)
    assert out.tolist() == [[8.0, 12.0, 0.0, 1.0]]
    assert (Cubic().lipschitz, Cubic().curvature, Cubic().smoothness) == (math.inf, 0.0, math.inf)


# ---- records --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LOSSES.values(), ids=LOSSES)
def test_a_recorded_loss_says_what_it_is_and_can_be_made_without_parameters(kind: type[NamedLoss]) -> None:
    loss = kind()
    assert isinstance(loss, Loss | MultiLoss)
    assert LOSSES[kind.name] is kind
    assert kind.purpose
    assert kind.labels
    assert (kind.__doc__ or "").startswith(("ℓ = ", "φ = "))
    assert loss_name(loss) == (f"{kind.name}:logistic" if kind is OneAgainstAll else kind.name)
    assert len(loss.parameters) <= 1, "there is room for one parameter behind the colon"


def test_two_losses_cannot_have_one_name() -> None:
    def define() -> type[Loss]:
        class Mine(Loss):
            name: ClassVar[str] = "mine"

            def at(self, p: float, y: float) -> tuple[float, float]:
                return 0.0, 0.0

        return Mine

    try:
        first = define()
        again = define()  # as a notebook does
        assert first is not LOSSES["mine"] is again
        with pytest.raises(PartError, match="Hinge is called hinge already"):
            type("Other", (first,), {"name": "hinge"})
        assert LOSSES["hinge"] is Hinge
    finally:
        del LOSSES["mine"]


def test_a_loss_of_your_own_is_called_after_its_class_whatever_it_inherits() -> None:
    class GentleHinge(Hinge):
        pass

    assert loss_name(GentleHinge()) == "gentle-hinge"


def test_losses_of_mistakes_alone_are_not_called_as_those_of_all_rows() -> None:
    """One row scored .5, label +1: its hinge is .5, and the Perceptron's loss 0."""
    assert loss_name(zoo.perceptron().loss) == loss_name(zoo.mc_perceptron().loss) == "hinge-on-mistakes"
    assert loss_name(zoo.winnow(3).loss) == "affine-hinge-on-mistakes"
    assert loss_name(OneAgainstAll(Affine(Logistic(), 2.0, -1.0))) == "oaa:affine-logistic"


# ---- the dual side --------------------------------------------------------------------------------------------------


@each
@given(data=st.data())
def test_fenchel_young(loss: Loss, data: st.DataObject) -> None:
    """ℓ(p) + ℓ*(a) ≥ a·p for the slope a at any score, with equality if p is that score."""
    y, p, q = data.draw(cases(loss, 2))
    value, a = loss.at(q, y)
    conjugate = loss.conjugate(a, y)
    size = 1 + abs(value) + abs(a * q)
    assert value + conjugate == pytest.approx(a * q, abs=1e-12 * size)
    assert loss.at(p, y)[0] + conjugate >= a * p - 1e-12 * (size + abs(loss.at(p, y)[0]) + abs(a * p))


@pytest.mark.parametrize(
    ("loss", "a", "y"),
    [(Hinge(), 0.1, 1.0), (Hinge(), -1.1, 1.0), (SquaredHinge(), -0.1, -1.0), (Logistic(), 1.01, -1.0),
     (Absolute(), 1.1, 0.0), (Quantile(0.3), 0.71, 0.0), (Huber(0.5), -0.6, 0.0), (EpsilonInsensitive(), 1.1, 0.0),
     (Poisson(), -3.1, 3.0), (Cost(), 0.9, 1.0), (LogWealth(), 0.0, 1.0), (Affine(Hinge(), 2.0, 0.0), -2.1, 1.0)],
)  # fmt: skip
def test_conjugates_end_where_slopes_do(loss: Loss, a: float, y: float) -> None:
    assert loss.conjugate(a, y) == math.inf


@each
@given(data=st.data(), mu=st.sampled_from([1e-6, 0.01, 1.0, 100.0]))
def test_envelope(loss: Loss, data: st.DataObject, mu: float) -> None:
    """Its slope is a slope of ℓ at q = p − μa, where ℓ(q) + (q − p)²/(2μ) is least; its bend is the slope's slope."""
    y, p, other = data.draw(cases(loss, 2))
    a, bend = loss.envelope(p, y, mu)
    q = p - mu * a

    def lifted(at: float) -> float:
        return loss.at(at, y)[0] + (at - p) ** 2 / (2 * mu)

    size = 1 + abs(lifted(q)) + abs(a * q)
    assert loss.at(q, y)[0] + loss.conjugate(a, y) <= a * q + 1e-9 * size
    assert lifted(q) <= lifted(other) + 1e-9 * size
    assert 0 <= bend <= (1 + 1e-9) / mu
    h = 1e-5 * min(1.0, mu)
    left, right = (loss.envelope(p + s * h, y, mu) for s in (-1, 1))
    if max(left[1], right[1]) - min(left[1], right[1]) <= 0.01 * bend:  # no change of piece nearby
        assert (right[0] - left[0]) / (2 * h) == pytest.approx(bend, rel=0.02, abs=1e-4 + 1e-9 / h)


@pytest.mark.sampled(3)
@each
@given(data=st.data())
def test_envelope_without_rounding_is_the_loss(loss: Loss, data: st.DataObject) -> None:
    y, p = data.draw(cases(loss, 1))
    assert loss.envelope(p, y, 0.0)[0] == pytest.approx(loss.at(p, y)[1], rel=1e-12, abs=1e-12)


@kernel
def dual_of(loss: Loss, p: Vector, y: Vector, mu: float, found: Vector) -> None:
    for i in range(p.size):
        found[0, i], found[1, i] = loss.envelope(p[i], y[i], mu)
        found[2, i] = loss.conjugate(found[0, i], y[i])


@pytest.mark.parametrize("loss", [Affine(Logistic(), -0.5, 0.25), Poisson(), EpsilonInsensitive()], ids=repr)
def test_dual_compiled_is_interpreted(loss: Loss) -> None:
    rng = np.random.default_rng(0)
    p, y = rng.normal(size=50), rng.choice([1.0] if isinstance(loss, Poisson) else [-1.0, 1.0], 50)
    found = np.empty((2, 3, 50))
    dual_of(loss, p, y, 0.7, found[0])
    dual_of.py_func(loss, p, y, 0.7, found[1])  # type: ignore[attr-defined]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)


def test_only_what_is_known_is_claimed() -> None:
    assert all(loss.dual for loss in CONVEX)
    assert not OnMistakes(Hinge()).dual
    assert [type(loss).__name__ for loss in (Hinge(), Logistic(), Huber(), Quantile()) if loss.kinked] == [
        "Hinge",
        "Quantile",
    ]
