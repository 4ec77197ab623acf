"""FTRL-Proximal: sparse weights by an L1 penalty, with a precision for each coordinate as AdaGrad has it."""

from __future__ import annotations

import math

import numpy as np

from lowregret.rule.adagrad import Metric
from lowregret.types import Index, Vector


class FTRLProximal(Metric):
    """w_{t+1} = argmin ⟨Σz_s, w⟩ + ½Σ(P_s − P_{s−1})(w − w_s)² + ½(P_0 + l2)w² + l1·|w| per coordinate,

    P = (β + √S)/α.

    That is 0 where |v| ≤ l1, else (v − l1·sgn v)/(P_t + l2) with v = Σ(P_s − P_{s−1})w_s − Σz_s (McMahan et al. 2013,
    "Ad click prediction"). With l1 = l2 = 0 it is `AdaGrad` on R^d. The bound is that of `AdaGrad` with P_t + l2 in
    place of P_t, and ½·l2·u² + l1·|u| more: h_t = ⟨z_{1:t}, ·⟩ + penalties is (P_t + l2)-strongly convex, and w_t
    minimises it without ⟨z_t, ·⟩. O(nnz) per row.
    """

    alpha: float = 0.1
    beta: float = 1.0
    l1: float = 1.0
    l2: float = 1.0

    def check(self) -> None:
        self.require(0 < self.alpha < math.inf, f"alpha must be a positive number, got {self.alpha}")
        for name, value in (("beta", self.beta), ("l1", self.l1), ("l2", self.l2)):
            self.require(0 <= value < math.inf, f"{name} must be ≥ 0, got {value}")

    def precision(self, squares: float) -> float:
        return (self.beta + math.sqrt(squares)) / self.alpha

    def precisions(self, squares: Vector) -> Vector:
        return (self.beta + np.sqrt(squares)) / self.alpha

    def firmness(self) -> float:
        return self.l2

    def moved(self, j: Index, w: float, g: float, total: float, precision: float) -> float:
        if abs(total) <= self.l1:
            return 0.0
        return (total - math.copysign(self.l1, total)) / (precision + self.l2)
