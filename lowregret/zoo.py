"""The textbook's algorithms, each a composition of parts. Names are those of the theory in lower case.

    from lowregret import zoo, train
    run = train(zoo.ogd_lazy(Hinge(), eta=0.1, radius=10), X, y)

`ZOO` lists them with what each is for and the certificates that speak of it. docs/book.md says which text has each, and
tests/naive.py has each in plain NumPy, which is the best place to read what it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import Parameter, signature
from typing import Any, overload

from lowregret.auto import Auto, AutoClassifier, AutoMulticlass, AutoRegressor
from lowregret.compile.part import Part
from lowregret.domain import Domain, L2Ball, Reals
from lowregret.errors import PartError
from lowregret.features import Partitions
from lowregret.learner.kernel_perceptron import Kernel, KernelPerceptron
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import (
    Affine,
    Hinge,
    Logistic,
    Loss,
    MultiLoss,
    NamedLoss,
    OnMistakes,
    PerceptronLoss,
    Softmax,
    Square,
)
from lowregret.mirror import Entropy, Euclidean, Mirror, PNorm, UnnormalisedEntropy
from lowregret.output import Average, Last, Output, WeightedAverage
from lowregret.rule import (
    AROW,
    COCOB,
    KT,
    NAG,
    AdaGrad,
    DiagonalNewton,
    FreeGrad,
    FTRLProximal,
    MirrorDescent,
    Newton,
    ProjectedGradient,
)
from lowregret.step import Adaptive, Constant, InverseSqrt, InverseTime, PassiveAggressive, WeightedInverseTime


def ogd(loss: Loss, eta: float | None = None, output: Output = Last()) -> Linear:
    """w ← w − ηz on R^d, that is w = ηθ (ALG-OGD). Without η the step adapts: w_t = θ_t/√(Σ_{s<t}‖z_s‖²)."""
    return Linear(loss, MirrorDescent(Euclidean(), Adaptive() if eta is None else Constant(eta)), output)


def ogd_lazy(loss: Loss, eta: float, radius: float = 1.0, output: Output = Last()) -> Linear:
    """w = Π(ηθ) on the L2 ball, θ the negated sum of sub-gradients (ALG-OGD-LAZY)."""
    return Linear(loss, MirrorDescent(Euclidean(L2Ball(radius)), Constant(eta)), output)


def ogd_eager(loss: Loss, eta: float, radius: float = 1.0, output: Output = Last()) -> Linear:
    """w ← Π(w − ηz) on the L2 ball (ALG-OGD-EAGER)."""
    return Linear(loss, ProjectedGradient(L2Ball(radius), Constant(eta)), output)


def ogd_delay(
    loss: Loss, delay: int, horizon: int, lipschitz: float, radius: float = 1.0, output: Output = Last()
) -> Linear:
    """`ogd_eager` for answers `delay` rounds late: η = U/(G√((1+2τ)T)), sub-gradients up to G (ALG-OGD-DELAY)."""
    for name, value in {"delay": delay + 1, "horizon": horizon, "lipschitz": lipschitz}.items():
        loss.require(value > 0, f"ogd_delay needs delay ≥ 0, horizon > 0 and lipschitz > 0; check {name}")
    return ogd_eager(loss, radius / (lipschitz * math.sqrt((1 + 2 * delay) * horizon)), radius, output)


def ogd_sqrt(loss: Loss, eta: float, radius: float = 1.0, output: Output = Last()) -> Linear:
    """w ← Π(w − (η/√t)z) on the L2 ball (ALG-OGD-SQRT); η = √2·U/G for sub-gradients up to G."""
    return Linear(loss, ProjectedGradient(L2Ball(radius), InverseSqrt(eta)), output)


def ogd_sc(loss: Loss, lam: float, domain: Domain = Reals(), output: Output = Average()) -> Linear:
    """η_t = 1/(λt) on ℓ + (λ/2)‖w‖² (ALG-OGD-SC)."""
    return Linear(loss, ProjectedGradient(domain, InverseTime(lam)), output, ridge=lam)


def ogd_scw(loss: Loss, lam: float, domain: Domain = Reals(), output: Output = WeightedAverage()) -> Linear:
    """η_t = 2/(λ(t+1)) on ℓ + (λ/2)‖w‖², later rounds weighing more (ALG-OGD-SCW)."""
    return Linear(loss, ProjectedGradient(domain, WeightedInverseTime(lam)), output, ridge=lam)


def svm_online(radius: float = 1.0, output: Output = Average()) -> Linear:
    """Hinge loss on [x, 1], eager with η_t = 1/√t, bias inside the ball (ALG-SVM-ONLINE)."""
    return Linear(Hinge(), ProjectedGradient(L2Ball(radius), InverseSqrt(1.0)), output, bias=1.0)


def omd(loss: Loss, mirror: Mirror, eta: float, output: Output = Last()) -> Linear:
    """w = ∇R*(ηθ) for any mirror map (ALG-OMD)."""
    return Linear(loss, MirrorDescent(mirror, Constant(eta)), output)


def eg(loss: Loss, eta: float, total: float = 1.0, output: Output = Last()) -> Linear:
    """w ∝ e^{ηθ} on {w ≥ 0, Σw = total} (ALG-EG)."""
    return omd(loss, Entropy(total), eta, output)


def ueg(loss: Loss, eta: float, dimension: int, output: Output = Last()) -> Linear:
    """w = e^{ηθ}/d on {w ≥ 0} (ALG-UEG)."""
    return omd(loss, UnnormalisedEntropy(1 / dimension), eta, output)


def pnorm(loss: Loss, eta: float, p: float, output: Output = Last()) -> Linear:
    """w[i] = η·sgn(θ[i])|θ[i]|^{p−1}/‖θ‖_p^{p−2}: Euclidean at p = 2, like EG at p = 2 ln d (ALG-PNORM)."""
    return omd(loss, PNorm(p), eta, output)


def mc_perceptron(output: Output = Last()) -> Multiclass:
    """w_y ← w_y + x, w_ŷ ← w_ŷ − x on mistakes, ŷ the class of the highest score (ALG-MC-PERCEPTRON)."""
    return Multiclass(PerceptronLoss(), MirrorDescent(Euclidean(), Constant(1.0)), output)


def perceptron(output: Output = Last()) -> Linear:
    """w ← w + yx on mistakes (ALG-PERCEPTRON)."""
    return Linear(OnMistakes(Hinge()), MirrorDescent(Euclidean(), Constant(1.0)), output)


def perceptron_or(dimension: int, k: int | None = None, output: Output = Last()) -> Linear:
    """The Perceptron on [2x, −1] for disjunctions (ALG-PERCEPTRON-OR): the same mistakes as on [x, ½], which this is.

    With at most k variables known beforehand the constant feature is b = (d/(4k))^¼ instead, which suits them best.
    """
    size = 0.5 if k is None else (dimension / (4 * k)) ** 0.25
    return replace(perceptron(output), bias=size)


def winnow(dimension: int, eta: float = 0.25, output: Output = Last()) -> Linear:
    """w[i] ← w[i]·e^{2ηyx[i]} on mistakes, predicting sign(2⟨w,x⟩ − 1) (ALG-WINNOW, with its sign corrected)."""
    part = UnnormalisedEntropy(1 / dimension)
    part.require(eta < 0.5, f"Winnow needs η < ½, got {eta}: its bound divides by 1 − 2η")
    return Linear(OnMistakes(Affine(Hinge(), 2.0, -1.0)), MirrorDescent(part, Constant(eta)), output)


def kernel_perceptron(kernel: Kernel) -> KernelPerceptron:
    """score Σ_{i∈M} y_i K(x_i, x), M the mistakes so far (ALG-PERCEPTRON in kernel form)."""
    return KernelPerceptron(kernel)


# What `auto` goes by besides the features of narrow rows, or instead of them.
FEATURES = {"both": Partitions(), "raw": Partitions(trees=0), "partitions": Partitions(alone=True)}

# What `auto` learns with, by the loss.
AUTO: dict[type[NamedLoss], Callable[..., Auto | AutoMulticlass]] = {
    Logistic: AutoClassifier,
    Square: AutoRegressor,
    Softmax: AutoMulticlass,
}


@overload
def auto(loss: Loss = Logistic(), features: str = "both") -> Auto: ...


@overload
def auto(loss: MultiLoss, features: str = "both") -> AutoMulticlass: ...


def auto(loss: Loss | MultiLoss = Logistic(), features: str = "both") -> Auto | AutoMulticlass:
    """Eleven experts and their mixture, for the logistic, square or softmax loss, without a parameter (ALG-AUTO).

    If rows are narrow, random partitions of them join as a twelfth; `features` is "raw" for none, "partitions" for
    them alone.
    """
    if features not in FEATURES:
        raise PartError(f"features must be {', '.join(FEATURES)}, got {features!r}")
    for kind, learner in AUTO.items():
        if isinstance(loss, kind):
            return learner(loss, FEATURES[features])
    raise PartError(f"auto learns with the logistic, square or softmax loss, not {loss}: use ogd for others")


def adagrad(loss: Loss, eta: float = 0.5, domain: Domain = Reals(), output: Output = Last()) -> Linear:
    """w ← Π(w − ηz/√Σz²), each coordinate with a rate of its own (ALG-ADAGRAD), on R^d or a box."""
    return Linear(loss, AdaGrad(eta, domain), output)


def ftrl_proximal(
    loss: Loss, alpha: float = 0.1, beta: float = 1.0, l1: float = 1.0, l2: float = 1.0, output: Output = Last()
) -> Linear:
    """Follow the regularised leader around past iterates, with L1 and L2 penalties (ALG-FTRL-PROXIMAL): sparse models.

    A coordinate's rate is α/(β + √Σz²); it is 0 exactly until its gradient sum exceeds l1.
    """
    return Linear(loss, FTRLProximal(alpha, beta, l1, l2), output)


def kt(loss: Loss, clip: float = 1.0, wealth: float = 1.0, output: Output = Last()) -> Linear:
    """Bet the share (Σ coins)/(n + 1) of each coordinate's wealth (ALG-KT); sub-gradients up to `clip` in size."""
    return Linear(loss, KT(clip, wealth), output)


def freegrad(loss: Loss, wealth: float = 1.0, output: Output = Last()) -> Linear:
    """Bet on each coordinate, with neither a rate nor a bound on sub-gradients known (ALG-FREEGRAD)."""
    return Linear(loss, FreeGrad(wealth), output)


def cocob(loss: Loss, alpha: float = 100.0, output: Output = Last()) -> Linear:
    """COCOB-Backprop: bet on each coordinate, slowly at first (ALG-COCOB)."""
    return Linear(loss, COCOB(alpha), output)


def nag(loss: Loss, eta: float = 0.5, output: Output = Last()) -> Linear:
    """Normalised adaptive gradient: the units of features do not matter (ALG-NAG)."""
    return Linear(loss, NAG(eta), output)


def newton(loss: Loss, eta: float = 1.0, epsilon: float = 1.0, output: Output = Last()) -> Linear:
    """w ← w − ηA⁻¹z, A = εI + Σzz', the online Newton step (ALG-NEWTON) with γ = 1/η; O(d²), d ≤ 600."""
    return Linear(loss, Newton(1 / eta, epsilon), output)


def newton_diagonal(loss: Loss, eta: float = 1.0, epsilon: float = 1.0, output: Output = Last()) -> Linear:
    """w ← w − ηz/(ε + Σz²) per coordinate: the diagonal of the Newton step (ALG-NEWTON-DIAGONAL)."""
    return Linear(loss, DiagonalNewton(1 / eta, epsilon), output)


def pa(loss: Loss = Hinge(), C: float = math.inf, output: Output = Last()) -> Linear:
    """w ← w − min(C, ℓ/‖z‖²)z: as far as the row's loss asks, but not beyond C (ALG-PA; PA-I with a finite C)."""
    return Linear(loss, ProjectedGradient(Reals(), PassiveAggressive(C)), output)


def pa_ii(loss: Loss = Hinge(), C: float = 1.0, output: Output = Last()) -> Linear:
    """w ← w − ℓ/(‖z‖² + 1/(2C))·z, which penalises the squared loss that remains (ALG-PA-II)."""
    return Linear(loss, ProjectedGradient(Reals(), PassiveAggressive(C, squared=True)), output)


def arow(loss: Loss = Hinge(), r: float = 1.0, output: Output = Last()) -> Linear:
    """pa-ii with C = 1/(2r), in a metric in which weights that were often moved are hard to move (ALG-AROW)."""
    return Linear(loss, AROW(r), output)


# The arguments of makers that have an option of the same name on the command line.
OPTIONS = ("eta", "p", "lam", "beta", "l1", "l2", "clip", "C", "dimension", "radius", "features")


@dataclass(frozen=True)
class Entry:
    """One algorithm of the zoo. Its options are the arguments of `make` among `OPTIONS`, and those that are renamed."""

    name: str
    make: Callable[..., Part]
    purpose: str
    certificates: tuple[str, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)  # options whose argument has another name
    sized: bool = False  # the number of features must be known, although `make` does not ask for it
    classes: bool = False  # it learns many classes, with a loss of its own

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        return signature(self.make).parameters

    @property
    def arguments(self) -> dict[str, str]:
        """The argument for each option."""
        named = {option: self.renamed.get(option, option) for option in OPTIONS}
        return {option: argument for option, argument in named.items() if argument in self.parameters}

    @property
    def needs(self) -> tuple[str, ...]:
        """The options that it cannot do without."""
        asked = {option for option, name in self.arguments.items() if self.parameters[name].default is Parameter.empty}
        return tuple(option for option in OPTIONS if option in asked or (self.sized and option == "dimension"))

    @property
    def takes(self) -> tuple[str, ...]:
        """The options that it can do without; the radius of comparators is one of every algorithm."""
        known = {*self.arguments, "radius"}.difference(self.needs)
        return tuple(option for option in OPTIONS if option in known)

    @property
    def own_loss(self) -> bool:
        return "loss" not in self.parameters

    @property
    def named(self) -> bool:
        """Whether a loss and options are all that it needs, so that it can be named on the command line."""
        needed = {name for name, p in self.parameters.items() if p.default is Parameter.empty}
        return needed <= {"loss", *self.arguments.values()}

    def made(self, loss: Loss, options: Mapping[str, Any]) -> Part:
        """The learner, with those of the options that it takes."""
        given = {name: options[option] for option, name in self.arguments.items() if option in options}
        return self.make(**given) if self.own_loss else self.make(loss, **given)


_DELAY = ("THM-14.5+DRIFT", "EAGER-DEC+DRIFT", "DELAY")
_OGD = ("EQ-2.15", "THM-2.21", "LEM-2.20", "LAZY-DEC", "THM-2.4", "THM-2.15")
_LAZY = ("LEM-2.20", "LAZY+", "THM-2.21", "COR-2.17", "THM-2.15")
_PNORM = ("LEM-2.20", "COR-2.18", "THM-2.21", "THM-2.15")
_SQRT = ("EQ-8+", "EAGER-DEC", "EQ-8", "THM-4.1.3")
_PERCEPTRON = ("PERC-OBS", "PERC-ROOT", "THM-3.9", "PERC-2F", "PERC-MARGIN", "THM-14.6")
_MC = ("MC-OBS", "PERC-ROOT", "THM-14.2")
_EG = ("LEM-2.20", "EG-RANGE", "THM-2.22+", "THM-2.22", "COR-2.14", "THM-2.21", "THM-2.15")
_FTRL = ("FTRL-PROXIMAL",)
_PASSIVE = ("PA+", "PA", "PA-I+", "PA-I")

ZOO = (
    Entry("auto", auto, "the default: no tuning, drift, any units", ("MIX-SHARE", "MIX-ADAHEDGE", "LINEARISED")),
    Entry("ogd", ogd, "any convex loss, no bound on the weights", _OGD),
    Entry("ogd-lazy", ogd_lazy, "weights in a ball; gradient sums kept", _LAZY),
    Entry("ogd-eager", ogd_eager, "weights in a ball; forgets faster when the ball binds", ("THM-14.5", "EAGER-DEC")),
    Entry("ogd-delay", ogd_delay, "as ogd-eager, for answers that come late (see `delayed`)", _DELAY),
    Entry("ogd-sqrt", ogd_sqrt, "as ogd-eager, for streams of unknown length", _SQRT),
    Entry("ogd-sc", ogd_sc, "L2-regularised losses: regret grows like ln T", ("THM-14.11", "EAGER-DEC")),
    Entry("ogd-scw", ogd_scw, "L2-regularised losses: average error falls like 1/T", ("THM-14.12",)),
    Entry("svm-online", svm_online, "support vector machine on a stream, with bias", (*_SQRT, "ONLINE-SVM")),
    Entry("omd", omd, "any mirror map", ("LEM-2.20", "THM-2.21", "THM-2.15")),
    Entry("eg", eg, "few relevant features among many; weights on the simplex", _EG, {"radius": "total"}, sized=True),
    Entry("ueg", ueg, "few relevant features, non-negative weights", ("LEM-2.20", "THM-2.23+", "THM-2.23")),
    Entry("pnorm", pnorm, "between ogd (p = 2) and eg (p = 2 ln d)", _PNORM),
    Entry("perceptron", perceptron, "classification, no parameter at all", _PERCEPTRON),
    Entry(
        "perceptron-or", perceptron_or, "disjunctions of 0/1 features, no parameter at all", (*_PERCEPTRON, "PERC-OR")
    ),
    Entry("kernel-perceptron", kernel_perceptron, "boundaries as curved as the kernel; costs O(mistakes)", _PERCEPTRON),
    Entry("mc-perceptron", mc_perceptron, "many classes, no parameter at all", _MC, classes=True),
    Entry("winnow", winnow, "disjunctions of few among many 0/1 features", ("WIN-OBS", "THM-3.10")),
    Entry("adagrad", adagrad, "sparse features: rare ones get larger steps", ("DIAGONAL", "ADAGRAD")),
    Entry("ftrl-proximal", ftrl_proximal, "as adagrad, with exact zeros: small models", _FTRL, {"eta": "alpha"}),
    Entry("kt", kt, "no learning rate; sub-gradients of known size", ("KT+", "KT")),
    Entry("freegrad", freegrad, "no learning rate, nothing known about sub-gradients", ("FREEGRAD",)),
    Entry("cocob", cocob, "no learning rate, often good, without a theorem", ("LEM-2.5",)),
    Entry("nag", nag, "features in different or unknown units", ("LEM-2.5",)),
    Entry("newton", newton, "few correlated features, square or logistic loss", ("NEWTON", "NEWTON-ANY"), sized=True),
    Entry("newton-diagonal", newton_diagonal, "rates that fall like 1/t, per coordinate", ("DIAGONAL",)),
    Entry("pa", pa, "rows that are nearly separable; regression with a tolerance", _PASSIVE),
    Entry("pa-ii", pa_ii, "as pa, for noisy rows", ("PA-II+", "PA-II")),
    Entry("arow", arow, "sparse rows with noisy labels", ("AROW+", "AROW")),
)
ALGORITHMS = {entry.name: entry for entry in ZOO if entry.named}
