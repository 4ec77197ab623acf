"""A run of `auto` on many classes: learning, predicting, its proof, its file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from lowregret.auto.classes import SHARES, AutoMulticlass, ClassMind, ClassWorkspace, learn_classes
from lowregret.auto.frozen import Frozen
from lowregret.auto.frozen_classes import foretell_classes
from lowregret.auto.learner import require_light
from lowregret.auto.linear_view import class_weights
from lowregret.compile.call import call
from lowregret.learner.growth import Shape, Together
from lowregret.learner.multiclass import Multiclass, Room
from lowregret.risk.kept_trial import Foretold
from lowregret.rows import Rows
from lowregret.run.auto_experts import Keeping, Standings
from lowregret.run.auto_record import Mixture, frozen_of
from lowregret.run.eras import Eras
from lowregret.run.models import AutoClassModel
from lowregret.run.multiclass import MulticlassRun
from lowregret.run.schema_classes import AutoClassSchema
from lowregret.store.file import Arrays
from lowregret.types import Vector


class AutoMulticlassRun(MulticlassRun):
    """A `MulticlassRun` of `zoo.auto(Softmax())`. `certificate` compares with the best of its eleven experts, whose
    losses are exact; `linear_regret` and `regret` with fixed linear predictors, with a bias."""

    kind = "auto-class-run"
    schema = AutoClassSchema(AutoMulticlass)
    learns = AutoMulticlass
    learner: AutoMulticlass  # type: ignore[assignment]
    record: Mixture

    # ---- learning and predicting ---------------------------------------------------------------------------------

    def _pass(self, x: Rows, y: Any, w: Vector, i: int, goal: int, limit: float) -> int:
        desk = self.record.desk(self, x, True)
        given = self.learner, self.state, self.record.mind, desk, x, y, w, self._room, self.guesses
        return int(call(learn_classes, self.compiled, *given, i, goal))

    def _carried(self) -> Sequence[Any]:
        return *super()._carried(), *self.record.mind

    def _refuse(self, x: Rows, label: Any, w: Vector, i: int, place: str) -> NoReturn:
        require_light(w, i, place)
        super()._refuse(x, label, w, i, place)

    @property
    def _model(self) -> AutoClassModel:
        self._require_classes()
        return AutoClassModel(self.learner, self.record.model(self), len(self.classes), self.lanes)

    def _foretold(self, x: Rows, y: Any, picked: Any, weights: Vector) -> Foretold:
        codes, room, kept = y[picked], Room.of(np.array([self._frozen_known]), self.lanes), self.record
        values, guesses = np.empty(picked.size), np.empty(picked.size, np.int64)
        judged = codes, weights / self.trial.share, values, guesses, kept.votes, kept.means, kept.priors
        self._call(foretell_classes, self.learner, self.frozen, kept.desk(self, x, False), x, room, picked, *judged)
        return self._compared(values, guesses, codes, picked)

    def _freeze(self) -> None:
        self.frozen, self._frozen_known = self.record.freeze(self), int(self._known[0])

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def linear(self) -> Multiclass:
        return self.learner.linear

    @property
    def contest(self) -> Standings:
        """The experts of the mixture: their losses, and how far each is trusted."""
        return self.record.contest(self)

    @property
    def keeper(self) -> Keeping:
        """The experts of the kept model: the loss of each while it was frozen, and how far each is trusted."""
        return self.record.keeper

    def eras(self, count: int | None = None) -> Eras:
        """The run in up to 64 eras, or in `count`: the losses of the mixture and of each expert in each era."""
        return self.record.eras(self, count)

    @property
    def fixed_trace(self) -> tuple[Any, Vector]:
        """Rounds, and the linearised regret against fixed linear predictors after each of them."""
        return self.record.fixed_trace(self)

    @classmethod
    def _given(cls, learner: AutoMulticlass, description: dict[str, Any], arrays: Arrays) -> dict[str, Any]:
        mixture = Mixture.of(ClassMind, learner.spread, description, arrays)
        found = super()._given(learner, description, arrays)
        return found | {"record": mixture, "frozen": frozen_of(ClassMind, description, arrays)}

    # ---- inside ------------------------------------------------------------------------------------------------------

    @property
    def measures(self) -> Vector:
        """Statistics of each feature, laid out as `auto/view.py` says."""
        return self.record.mind.measures

    @property
    def lots(self) -> int:
        """The number of scores that a row has room for."""
        return self.lanes

    def new_desk(self, entries: int) -> ClassWorkspace:
        """Memory for one row of up to this many entries."""
        return ClassWorkspace.of(entries, self.lanes)

    def _of(self) -> str:
        return ""

    @property
    def placed_weights(self) -> Vector:
        return class_weights(self.record.mind, self.lanes)[:, : len(self.classes)]

    def _regrown(self, before: Shape, after: Shape, together: Together) -> Callable[[], None]:
        kept = self.record
        live = spread(Frozen(kept.mind.measures, kept.average, kept.mind), before, after, together)
        frozen = None if self.frozen is None else spread(self.frozen, before, after, together)

        def take() -> None:
            kept.mind, kept.average, self.frozen = live.mind, live.average, frozen

        return take


def spread(model: Frozen, old: Shape, new: Shape, together: Together) -> Frozen:
    """A model with room for more features and classes; the bias stays last: O(d) if there are more classes."""
    mind, past = model.mind, np.zeros(SHARES + 2 * new[1])
    past[:SHARES] = mind.past[:SHARES]
    shares = mind.past[SHARES:].reshape(2, old[1])
    past[SHARES:].reshape(2, new[1])[:, : old[1]] = shares
    cells = {"past": past}
    for name in mind.by_feature():
        shapes = (old, new) if name in mind.by_class() else ((old[0], 1), (new[0], 1))
        cells[name] = together.refit(getattr(mind, name), *shapes, True)
    mind = mind._replace(**cells)
    return Frozen(mind.measures, together.refit(model.average, old, new, True), mind)
