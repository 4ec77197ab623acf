"""The run of a linear learner: rows learnt one by one, with certificate, trace, plot and file."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from lowregret.certificate import Certificate
from lowregret.certificate.delay import dual_exponent
from lowregret.certificate.mistakes import mistake_certificates
from lowregret.compile.call import call
from lowregret.errors import PartError
from lowregret.learner.growth import Together
from lowregret.learner.linear import Linear, learn_rows, score_rows, write_model, write_point
from lowregret.learner.validate import require_cheap
from lowregret.risk.bounds import RiskEvidence, shared_premises, trusted_premises
from lowregret.risk.kept_trial import Foretold
from lowregret.risk.online_to_batch import RiskCertificate
from lowregret.risk.promised import Against, promised_risks
from lowregret.rows import EVERY, Features, Rows, length
from lowregret.run.delayed_loop import learn_late
from lowregret.run.models import LinearModel
from lowregret.run.one_score import ScoredRun
from lowregret.run.schema import RowSchema
from lowregret.types import Vector


class LinearRun(ScoredRun):
    """A learner of one score, its state, and the proof of how well it has done so far.

    `regret ≤ run.certificate.linear_regret ≤ run.certificate.bound`, at every moment.
    """

    kind = "run"
    schema = RowSchema(Linear)
    learns = Linear
    learner: Linear

    @property
    def linear(self) -> Linear:
        return self.learner

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Vector, w: Vector, i: int, goal: int, limit: float) -> int:
        if self.slots.of.size:
            given = self.learner, self.state, x, y, w, self.slots, dual_exponent(self.learner), self.scores
            return int(call(learn_late, self.compiled, *given, i, goal, limit))
        return int(call(learn_rows, self.compiled, self.learner, self.state, x, y, w, self.scores, i, goal, limit))

    @property
    def _model(self) -> LinearModel:
        return LinearModel(self.learner, self.placed_weights)

    @property
    def point(self) -> Vector:
        """The iterate that would be played next, w_{T+1}: O(d)."""
        return self._by_column(self._written(write_point))

    # ---- results -------------------------------------------------------------------------------------------------

    def mistake_certificates(self, u: Any, features: Features, labels: Any) -> list[Certificate]:
        """Mistake bounds of the Perceptron and Winnow against u, on the rows of the latest `learn`.

        Labels are held against the mistakes made; that the features are those of the same rows is your word.
        """
        self.require_prompt()
        if not self.uniform:
            raise PartError("mistake bounds need importance weights of 1")
        fixed = self._spread(u)
        rows = self._given_again(features, labels)
        scores = rows.own_scores(rows.y.size)
        return mistake_certificates(self.learner, self.state, rows.x, rows.y, scores, fixed)

    def promised_risks(self, u: Any, features: Features, labels: Any, delta: float = 0.05) -> list[RiskCertificate]:
        """Risk bounds against u, chosen without a look at the rows, that theorems promised before the run.

        PROP-3 and PROP-4 of the Perceptron, THM-14.9 of averaged descent on a bounded set, COR-13 with a ridge.
        """
        self.require_prompt()
        if not self.uniform:
            raise PartError("these bounds need importance weights of 1")
        fixed = self._spread(u)
        rows = self._given_again(features, labels)
        rows.require_all()
        scores = np.empty(rows.y.size)
        score_rows(self.learner.scorer, fixed, rows.x, EVERY, scores)
        longest, label = math.hypot(length(rows.x), self.learner.bias), float(np.max(np.abs(rows.y), initial=0.0))
        seen = RiskEvidence.of(self)
        known = (*shared_premises(seen), *trusted_premises(seen))
        return promised_risks(self.learner, Against(fixed, scores, rows.y, longest, label), delta, known)

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def placed_weights(self) -> Vector:
        return self._written(write_model)

    def _written(self, write: Any) -> Vector:
        w = np.empty(self.state.dimension)
        self._call(write, self.learner, self.state, w)
        return w

    def _rows(self, features: Features) -> Rows:
        x = super()._rows(features)
        require_cheap(x, self.learner.rule)
        return x

    def _widen(self, features: int) -> None:
        old, bias, frozen = self.state.dimension, self.learner.bias > 0, self.frozen
        with Together() as together:
            state = together.grow(self.state, features, bias)
            if frozen is not None:
                frozen = together.lengthen(frozen, old, state.dimension, bias)
        self.state, self.frozen = state, frozen

    def _freeze(self) -> None:
        self.frozen = self.placed_weights

    def _foretold(self, x: Rows, y: Vector, picked: Any, weights: Vector) -> Foretold:
        scores = np.empty(picked.size)
        self._call(score_rows, self.learner.scorer, self.frozen, x, picked, scores)
        return self._judged(y[picked], scores, self.scores[picked])
