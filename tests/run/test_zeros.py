"""Zeros that a row stores or leaves out: fixed models say the same to the last bit (see docs/certificates.md)."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from lowregret import train, zoo
from lowregret.learner.kernel_perceptron import Gaussian
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.loss import Hinge, Softmax
from lowregret.output import Average


@pytest.mark.parametrize("bias", [0.0, 0.5])
def test_zeros_that_are_left_out_change_no_bit_of_what_a_fixed_model_says(bias: float) -> None:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(40, 11)) * (rng.random((40, 11)) < 0.5)
    y, names = np.where(rng.random(40) < 0.5, 1.0, -1.0), rng.choice(["a", "b", "c"], 40)
    rule = zoo.ogd(Hinge(), 0.1).rule
    one = train(Linear(Hinge(), rule, Average(), bias=bias), X, y, compiled=False)
    many = train(Multiclass(Softmax(), rule, Average(), bias=bias), X, names, compiled=False)
    for run in (one, many, train(zoo.kernel_perceptron(Gaussian(0.1)), X, y, compiled=False)):
        scores = run.decision_function(X)
        assert scores.tobytes() == run.decision_function(sp.csr_matrix(X)).tobytes()
