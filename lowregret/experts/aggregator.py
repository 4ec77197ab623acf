"""How much to trust whom: weights over experts, made of what each has been better or worse than the mixture.

r_t[i] = ℓ(p_t) − ℓ(x_t[i]), or linearised ⟨ℓ'(p_t), p_t − x_t[i]⟩, which is no smaller and so competes with every
convex combination of experts; R[i] and V[i] are the sums of r and r². An expert asleep has r = 0: it loses what the
mixture loses, so nobody gains or suffers by being absent. All is kept as logarithms or differences from the highest,
so nothing under- or overflows, however long the run.

An aggregator of your own is a subclass of `Aggregator` with the methods `weigh` and `absorb`.
"""

from __future__ import annotations

import math
from abc import abstractmethod

from lowregret.compile.part import Part
from lowregret.domain.simplex import project_simplex
from lowregret.errors import PartError
from lowregret.experts.state import BEFORE, ENERGY, GAPS, LARGEST, ROUNDS, SPREAD, Book

RATES = 30  # of Squint: each half the one before
NOTHING = -746.0  # e to this is 0
HUGE = 1e150  # how far behind an expert counts in a projection, or in the exponent of a weight
LEAST, MOST = 1e-140, 1e140  # sizes whose squares, and sums of them, are numbers
_LN2 = math.log(2.0)


class Aggregator(Part):
    """Weights from the past."""

    @abstractmethod
    def weigh(self, s: Book) -> None:
        """Write weights for the coming round, not yet normalised, into s.mass: O(N).

        s.mass holds 1 for the experts awake and 0 for the others, whose weights will not count.
        """

    @abstractmethod
    def absorb(self, s: Book) -> None:
        """Take in s.instant = r_t, given the normalised s.mass: O(N)."""

    def squares(self) -> bool:
        """Whether r_t² is summed, so that max |r| must lie between LEAST and MOST once it is not 0."""
        return False


class Hedge(Aggregator):
    """w[i] ∝ π[i]·e^{ηR[i]}: exponential weights (ALG-WM, ALG-HEDGE; for log loss and η = 1 the Bayes mixture)

    π[k]e^{ηR[k]} ≤ Σ π e^{ηR} = Π_t Σ_i w_t[i] e^{ηr_t[i]}, and ln of a factor is at most 0 for mixable losses, at most
    η²M_t²/8 for others, M_t the range of r_t (Hoeffding): R[k] ≤ ln(1/π[k])/η + (η/8)ΣM_t², and with the whole sum
    Σℓ(p_t) ≤ −ln(Σπe^{−ηL})/η + (η/8)ΣM_t² (THM-14.15). For losses in [0, 1] see `small_loss.py` (THM-3.1).
    """

    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    @classmethod
    def tuned(cls, experts: int, rounds: int, spread: float = 1.0) -> Hedge:
        """η = √(8 ln N/T)/M, for losses of a round that differ by M at most: regret ≤ M√(T ln N/2) (THM-1.3)."""
        return cls(_require_tuning(rounds, spread) * math.sqrt(8 * math.log(max(experts, 2)) / rounds))

    def weigh(self, s: Book) -> None:
        exponential_weights(s, self.eta)

    def absorb(self, s: Book) -> None:
        add_spread(s)
        for i in range(s.mass.size):
            s.regret[i] += s.instant[i]


class FixedShare(Aggregator):
    """Exponential weights that leak: after each round w ← (1 − α)w + απ, so that a change of the best is followed.

    s.regret holds ln w. A path with k switches has the prior weight π·(απ)^k·(1−α)^{T−1−k} at least, so against it
    R ≤ (ln 1/π + k ln 1/(απ) + (T−1−k) ln 1/(1−α))/η + (η/8)ΣM_t² (Herbster, Warmuth, Machine Learning 32, 1998).
    """

    eta: float
    share: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)
        self.require(0 < self.share < 1, f"share must lie strictly between 0 and 1, got {self.share}")

    @classmethod
    def tuned(cls, experts: int, rounds: int, spread: float = 1.0, switches: int = 1) -> FixedShare:
        """α = m/(T − 1) for m switches, η = √(8K/T)/M: regret ≤ M√(TK/2), K the price of such a path (SHARE)."""
        share = min(max(switches, 1) / max(rounds - 1, 2), 0.5)
        price = path_price(math.log(max(experts, 2)), share, switches, rounds)
        return cls(_require_tuning(rounds, spread) * math.sqrt(8 * price / rounds), share)

    def weigh(self, s: Book) -> None:
        for i in range(s.mass.size):
            s.mass[i] = math.exp(s.regret[i]) if s.counts[ROUNDS] > 0 else s.prior[i]

    def absorb(self, s: Book) -> None:
        add_spread(s)
        if s.counts[ROUNDS] == 0:
            for i in range(s.mass.size):
                s.regret[i] = math.log(s.prior[i]) if s.prior[i] > 0.0 else -math.inf
        highest = -math.inf
        for i in range(s.mass.size):
            highest = max(highest, self.grown(s, i))
        total = 0.0
        for i in range(s.mass.size):
            total += math.exp(self.grown(s, i) - highest)
        scale = highest + math.log(total)
        for i in range(s.mass.size):
            kept = (1.0 - self.share) * math.exp(self.grown(s, i) - scale)
            leaked = kept + self.share * s.prior[i]
            s.regret[i] = math.log(leaked) if leaked > 0.0 else -math.inf

    def grown(self, s: Book, i: int) -> float:
        """ln w[i] + ηr[i], a number whatever η: of infinities no difference is known, and nobody would learn again."""
        return s.regret[i] + min(max(self.eta * s.instant[i], -HUGE), HUGE)


class AdaHedge(Aggregator):
    """Exponential weights with η_t = ln N/Δ_{t−1}, Δ the sum of mixability gaps so far: no learning rate, no range

    δ_t = [Φ_t(η_t) − Φ_{t−1}(η_t)]₊ with Φ_t(η) = ln(Σ π e^{ηR_t})/η, which grows with η. As η_t falls, Σδ_t ≥ Φ_T(η_T)
    ≥ R[k] − ln(1/π[k])/η_T, so R[k] ≤ Δ_T + Δ_{T−1}·ln(1/π[k])/ln N.
    (de Rooij, van Erven, Grünwald, Koolen, "Follow the leader if you can, hedge if you must", JMLR 15, 2014.)
    """

    def weigh(self, s: Book) -> None:
        exponential_weights(s, self.eta(s))

    def eta(self, s: Book) -> float:
        """η of the coming round; infinite (follow the leaders) as long as no gap was seen."""
        return math.log(max(s.mass.size, 2)) / s.sums[GAPS] if s.sums[GAPS] > 0.0 else math.inf

    def absorb(self, s: Book) -> None:
        book_gap(s, self.eta(s))


class MLPoly(Aggregator):
    """w[i] ∝ π[i]·η[i]·[R[i]]₊ with a rate of its own for each expert, η[i] = 1/(V[i] + max r²)

    Σ w r ≤ 0 makes Φ = Σ πη[R]₊² grow by at most Σ πηr² a round while η falls: R[k] ≤ √(Σ_tΣ_i π[i]η_t[i]r_t[i]² /
    (π[k]η_T[k])), observed (Gaillard, Stoltz, van Erven, "A second-order bound with excess losses", COLT 2014). A round
    whose |r| is more than twice all before makes η fall so much that Φ is counted afresh.
    `memory` < 1 forgets: R and V shrink by that factor every round; then there is no bound.
    """

    memory: float = 1.0

    def check(self) -> None:
        self.require(0 < self.memory <= 1, f"memory must be above 0 and at most 1, got {self.memory}")

    def squares(self) -> bool:
        return True

    def weigh(self, s: Book) -> None:
        for i in range(s.mass.size):
            s.mass[i] = s.prior[i] * s.rate[i] * s.regret[i] if s.regret[i] > 0.0 else 0.0

    def absorb(self, s: Book) -> None:
        before = s.sums[LARGEST]
        largest, ruined = before, False
        for i in range(s.mass.size):
            if s.instant[i] == -math.inf:
                ruined = True
            else:
                largest = max(largest, abs(s.instant[i]))
        s.sums[LARGEST] = largest
        for i in range(s.mass.size):
            r = s.instant[i]
            s.regret[i] = self.memory * s.regret[i] + r
            if r == -math.inf:
                continue
            s.square[i] = self.memory * s.square[i] + r * r + (largest * largest - before * before)
            rate = 1.0 / s.square[i] if s.square[i] > 0.0 else 0.0
            s.sums[ENERGY] += s.prior[i] * (s.rate[i] if s.rate[i] > 0.0 else rate) * r * r
            s.rate[i] = rate
        if largest > 2.0 * before or ruined:  # an infinite loss is out of proportion to R, so Σ w r ≤ 0 says nothing
            s.sums[ENERGY] = 0.0
            for i in range(s.mass.size):
                s.sums[ENERGY] += s.prior[i] * s.rate[i] * max(s.regret[i], 0.0) ** 2


class Squint(Aggregator):
    """w[i] ∝ π[i]·Σ_j γ_j η_j e^{η_jR[i] − η_j²V[i]} over rates η_j = 2^{−j}/(2 max|r|): a second-order bound

    For Φ = Σ_i Σ_j π[i]γ_j e^{η_jR[i] − η_j²V[i]} (≤ 1 while the largest |r| stays the same) and every j,
    R[k] ≤ (ln Φ + ln 1/(π[k]γ_j))/η_j + η_jV[k]: with V small it is far below √T.
    (Koolen, van Erven, "Second-order quantile methods for experts and combinatorial games", COLT 2015.)
    """

    def squares(self) -> bool:
        return True

    def weigh(self, s: Book) -> None:
        if weigh_at_first(s):
            return
        highest = -math.inf
        for i in range(s.mass.size):
            s.mass[i] = self.trust(s, i) if s.mass[i] > 0.0 else -math.inf
            highest = max(highest, s.mass[i])
        for i in range(s.mass.size):
            s.mass[i] = math.exp(s.mass[i] - highest) if s.mass[i] > -math.inf else 0.0

    def trust(self, s: Book, i: int) -> float:
        """ln of the weight of expert i, up to a constant."""
        if s.prior[i] == 0.0 or s.regret[i] == -math.inf:
            return -math.inf
        highest, total = -math.inf, 0.0
        eta = 0.5 / s.sums[LARGEST]
        for j in range(RATES):
            highest = max(highest, eta * s.regret[i] - eta * eta * s.square[i] - j * _LN2)
            eta *= 0.5
        eta = 0.5 / s.sums[LARGEST]
        for j in range(RATES):
            total += decay(1.0, eta * s.regret[i] - eta * eta * s.square[i] - j * _LN2 - highest)
            eta *= 0.5
        return math.log(s.prior[i]) + highest + math.log(total)

    def absorb(self, s: Book) -> None:
        for i in range(s.mass.size):
            if abs(s.instant[i]) < math.inf:
                s.sums[LARGEST] = max(s.sums[LARGEST], abs(s.instant[i]))
                s.square[i] += s.instant[i] * s.instant[i]
            s.regret[i] += s.instant[i]


class Descent(Aggregator):
    """w = Π_Δ(π + ηR): lazy gradient descent on the simplex (ALG-OGD-LAZY)

    Weights and regrets stay the same if a constant is added to all of r_t, so with r̄_t the mean of r_t
    R[k] ≤ ‖e_k − π‖²/(2η) + (η/2)Σ‖r_t − r̄_t‖² (LAZY+).
    """

    eta: float

    def check(self) -> None:
        _require_positive(self, "eta", self.eta)

    @classmethod
    def tuned(cls, experts: int, rounds: int, spread: float = 1.0) -> Descent:
        """η = √(1 − 1/N)/((M/2)√(NT)): regret ≤ (M/2)√((N − 1)T), as ‖r_t − r̄_t‖² ≤ NM²/4 (LAZY+)."""
        steep = math.sqrt(experts * rounds) / 2
        return cls(_require_tuning(rounds, spread) * math.sqrt(1 - 1 / max(experts, 2)) / steep)

    def weigh(self, s: Book) -> None:
        highest = leading(s)
        for i in range(s.mass.size):
            s.mass[i] = s.prior[i] + self.eta * max(s.regret[i] - highest, -HUGE)
        project_simplex(s.mass, 1.0)

    def absorb(self, s: Book) -> None:
        mean = 0.0
        for i in range(s.mass.size):
            mean += s.instant[i] / s.mass.size if s.instant[i] > -math.inf else 0.0
        for i in range(s.mass.size):
            s.sums[ENERGY] += (s.instant[i] - mean) ** 2
            s.regret[i] += s.instant[i]


def book_gap(s: Book, eta: float) -> None:
    """Take in s.instant, and book the mixability gap of the round at the rate by which it was weighed."""
    before = leading(s)
    for i in range(s.mass.size):
        s.regret[i] += s.instant[i]
    after = leading(s)
    gap = after - before
    if eta < math.inf and gap > -math.inf:
        earlier, later = 0.0, 0.0
        for i in range(s.mass.size):
            if s.regret[i] > -math.inf:
                earlier += s.prior[i] * decay(eta, s.regret[i] - s.instant[i] - before)
                later += s.prior[i] * decay(eta, s.regret[i] - after)
        gap += math.log(later / earlier) / eta
    s.sums[BEFORE] = s.sums[GAPS]
    s.sums[GAPS] += max(gap, 0.0)


def exponential_weights(s: Book, eta: float) -> None:
    """π[i]·e^{η(R[i] − max R)} for those awake; η may be infinite."""
    highest = -math.inf
    for i in range(s.mass.size):
        if s.mass[i] > 0.0 and s.prior[i] > 0.0:
            highest = max(highest, s.regret[i])
    for i in range(s.mass.size):
        if s.mass[i] > 0.0 and s.regret[i] > -math.inf:
            s.mass[i] = s.prior[i] * decay(eta, s.regret[i] - highest)
        else:
            s.mass[i] = 0.0


def weigh_at_first(s: Book) -> bool:
    """Whether nobody differed yet, so that all who have not lost everything weigh as at the beginning."""
    if s.sums[LARGEST] > 0.0:
        return False
    for i in range(s.mass.size):
        s.mass[i] = s.prior[i] if s.regret[i] > -math.inf else 0.0
    return True


def decay(eta: float, behind: float) -> float:
    """e^{η·behind}, behind ≤ 0; η may be infinite. Most experts end up where it is 0, which needs no exponential."""
    if behind >= 0.0:
        return 1.0
    return math.exp(eta * behind) if eta * behind > NOTHING else 0.0


def leading(s: Book) -> float:
    """The largest R[i] of the experts with a prior."""
    highest = -math.inf
    for i in range(s.mass.size):
        if s.prior[i] > 0.0:
            highest = max(highest, s.regret[i])
    return highest


def add_spread(s: Book) -> None:
    """Book the range of r over the experts that can have weight, however little: a weight of e^{−1000} may yet grow."""
    highest, lowest = -math.inf, math.inf
    for i in range(s.mass.size):
        if s.prior[i] > 0.0 and s.regret[i] > -math.inf:
            highest, lowest = max(highest, s.instant[i]), min(lowest, s.instant[i])
    s.sums[SPREAD] += (highest - lowest) * (highest - lowest) if highest > lowest else 0.0


def path_price(surprise: float, share: float, switches: int, rounds: int) -> float:
    """ln of one over the prior weight of a path of m switches among experts that all have this surprise, ln 1/π."""
    return surprise + switches * (surprise - math.log(share)) - max(rounds - 1 - switches, 0) * math.log1p(-share)


def _require_tuning(rounds: int, spread: float) -> float:
    """1/M, or an error."""
    if not (rounds >= 1 and 0 < spread < math.inf):
        raise PartError(f"rates are tuned for rounds ≥ 1 and a spread of losses > 0, got {rounds} and {spread}")
    return 1 / spread


def _require_positive(part: Part, name: str, value: float) -> None:
    part.require(0 < value < math.inf, f"{name} must be a positive number, got {value}")
