"""scikit-learn estimators that learn in one pass and prove how well they did.

    model = OnlineClassifier().fit(X, y)  # `auto`: nothing to tune; labels of any kind, two classes or many
    model.progressive_error_              # share of rows predicted wrongly, each before it was learnt (live)
    model.kept_error_                     # the same of the model that `predict` uses, which learns no more
    model.certificate_                    # regret ≤ linearised regret ≤ the theorem's bound
    model.run_.importance().shares        # what `predict` goes by, see docs/auto.md; there are no feature_importances_
    model.run_                            # the run itself: everything else

Rows are learnt once, in the order in which they come: none is shuffled, none seen twice. So the run is that of
`lowregret.train` on the same rows, to the last bit, and its certificate speaks of exactly these rows. X may be a
matrix, sparse or not, or a pandas, polars or Arrow table, whose texts are hashed. Needs the extra `sklearn`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy.special import expit

from lowregret.auto import Auto, AutoMulticlass
from lowregret.certificate import Certificate
from lowregret.domain import Domain
from lowregret.errors import AbsentError, DataError, PartError
from lowregret.features import FeatureMap, Partitions
from lowregret.hindsight.gather import sound
from lowregret.learner.growth import grows
from lowregret.learner.kernel_perceptron import KernelPerceptron
from lowregret.learner.labels import require_labels
from lowregret.learner.linear import Linear
from lowregret.learner.multiclass import Multiclass
from lowregret.learner.validate import numbers, require_numeric
from lowregret.loss import Logistic, Margin, Softmax, Square
from lowregret.loss.chances import tells_chances
from lowregret.rows import narrow
from lowregret.run.pickling import packed, unpacked
from lowregret.stream.formats.parquet import TableFormat
from lowregret.stream.frame import SLOTS, Frame, Names, frame_rows, numbered_categories, table_form, takes_table
from lowregret.train import train
from lowregret.types import Vector
from lowregret.words import quoted
from lowregret.zoo import auto

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise AbsentError("lowregret.sklearn needs scikit-learn 1.6 or later: pip install 'lowregret[sklearn]'") from error

MANY = Multiclass | AutoMulticlass  # learners of many classes
MATRIX = {"accept_sparse": "csr", "dtype": np.float64}  # loops are compiled for each kind of number that they meet

FEW = 20  # rows that may be sorted by chance
SORTED = (
    "the rows are sorted by class and are learnt in this order, as if the world had changed: the last class would be "
    "expected from now on. Shuffle them first (sklearn.utils.shuffle), unless this is how they came."
)


class Online(BaseEstimator):  # type: ignore[misc]
    """The base of both estimators: a run that `fit` or the first `partial_fit` begins, and later ones continue."""

    run_: Any
    n_features_in_: int
    _hashed: bool  # whether rows are tables with columns that are not numbers
    _read: TableFormat  # how the run reads tables, whatever parameters are now

    def __init__(
        self, learner: Any = None, *, comparator: Domain | None = None, expand: FeatureMap | Partitions | None = None,
        delay: int = 0, text: Names = (), ngrams: int = 1, date: Names = (), categorical: Names = (),
    ) -> None:  # fmt: skip
        self.learner, self.comparator, self.expand, self.delay = learner, comparator, expand, delay
        self.text, self.ngrams, self.date, self.categorical = text, ngrams, date, categorical

    # ---- results -------------------------------------------------------------------------------------------------

    @property
    def certificate_(self) -> Certificate:
        """How far the run is at most from the best choice in hindsight, on the rows as they were learnt."""
        return self.run_.certificate

    @property
    def progressive_loss_(self) -> float:
        """Σ weight × loss / Σ weight, each row judged before it was learnt."""
        return self.run_.mean_loss

    @property
    def kept_loss_(self) -> float | None:
        """The mean loss of the model as `predict` uses it, which learns no more: of models frozen on the way, on rows
        that they never saw, before any was learnt again. None if there were too few to tell, or the run does not."""
        return getattr(getattr(self.run_, "kept", None), "loss", None)

    @property
    def coef_(self) -> Vector:
        """The weights of the features, where the learner is linear: O(d)."""
        return self._linear()[0]

    @property
    def intercept_(self) -> Any:
        """The number that is added to the weighted sum of the features."""
        return self._linear()[1]

    def _linear(self) -> tuple[Vector, Any]:
        """Coefficients, a row for each score, and intercepts."""
        learner = self.run_.learner
        if not isinstance(learner, Linear | Multiclass) or getattr(learner, "unit", False):
            raise AttributeError(f"{learner} is not linear, so there are no coefficients; predict with it instead")
        if self._hashed:
            raise AttributeError("columns are hashed, so there are no coefficients by column: see run_.weights")
        if self.run_.expansion is not None:
            raise AttributeError("columns are added to those of X, so there are no coefficients: see run_.weights")
        weights = self.run_.weights
        return weights[: self.n_features_in_].T, learner.bias * weights[-1]

    # ---- learning and scoring ------------------------------------------------------------------------------------

    def _fresh(self) -> bool:
        """Whether there is no run yet."""
        return "run_" not in vars(self)

    def _forget(self, weights: Any) -> None:
        """Before all rows are learnt from the beginning."""
        if weights is not None and not np.any(np.asarray(weights)):
            raise DataError("sample_weight is zero for every row: nothing would be learnt; leave it out, or weigh some")
        self.__dict__.pop("run_", None)

    def _checked(self, X: Any, y: Any, **how: Any) -> tuple[Any, Any]:
        """Rows that fit those before, and their labels."""
        require_labels(y)
        for note in numbered_categories(X, self._form) if self._fresh() else ():
            warnings.warn(note, stacklevel=3)
        if not self._takes_table(X):
            require_numeric(X, "features")
            X, y = validate_data(self, sound(X), y, reset=self._fresh(), **MATRIX, **how)
            return narrow(X), y
        y = column_or_1d(y, warn=True)
        check_consistent_length(X, y)
        assert_all_finite(y, input_name="y")
        return self._table(X), y

    def _takes_table(self, X: Any) -> bool:
        """Whether rows are read as a table; the first ones decide that."""
        self._hashed = takes_table(X, self._form, None if self._fresh() else self._hashed)
        return self._hashed

    @property
    def _form(self) -> TableFormat:
        """How tables are read: as the run began, or as parameters say that it will."""
        said = self.text, self.ngrams, self.date, self.categorical
        return table_form(*said) if self._fresh() else self._read

    def _table(self, X: Any) -> Any:
        """A table with rows, and with the columns of those before."""
        if not len(X):
            raise DataError("the table has no rows")
        return validate_data(self, X, reset=self._fresh(), skip_check_array=True)

    def _learn(self, X: Any, labels: Any, weights: Any, learner: Any = None, classes: Any = None) -> None:
        """Begin a run of the learner; without one, go on with the run."""
        if weights is not None:
            weights = numbers(weights, "sample_weight", len(labels))
            if isinstance(self.learner, KernelPerceptron):
                raise PartError("KernelPerceptron takes no weights: leave sample_weight out")
        given: tuple[Any, ...] = (X, labels) if weights is None else (X, labels, weights)
        if self._hashed:
            given = (Frame(X, self._form, labels, np.empty(0) if weights is None else weights),)
        if learner is None:
            self.run_.learn(*given)
            return
        self._read = self._form
        fixed = isinstance(self.expand, FeatureMap) or (isinstance(learner, Linear | Multiclass) and not grows(learner))
        said = {"classes": classes, "comparator": self.comparator, "expand": self.expand, "delay": self.delay or None}
        self.run_ = train(learner, *given, dimension=SLOTS if self._hashed and fixed else None, **said)
        for note in given[0].notices.notes if self._hashed else ():
            warnings.warn(note.sentence(), stacklevel=5)

    def _answered(self) -> Self:
        """The estimator; a `DataError` if its labels come so late that none of them has."""
        if self.delay and not self.run_.rounds and self.run_.pending:
            raise DataError(f"no label has come yet: give more rows than delay={self.delay}, or use partial_fit")
        return self

    def _scores(self, score: Callable[[Any], Vector], X: Any) -> Vector:
        """Score rows that come as a matrix or, part by part, as a table."""
        if not self._takes_table(X):
            require_numeric(X, "features")
            return score(narrow(validate_data(self, sound(X), reset=False, **MATRIX)))
        return np.concatenate([score(rows) for rows in frame_rows(self._table(X), self._form)])

    # ---- scikit-learn's own --------------------------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return not self._fresh()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """A run travels as what it would save, and so goes on to the last bit."""
        return {name: packed(value) for name, value in super().__getstate__().items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__({name: unpacked(value, "the pickle") for name, value in state.items()})


def gives_chances(model: OnlineClassifier) -> bool:
    """Whether the loss says how likely classes are: that of the run, or before there is one that of the parameter."""
    learner = model.learner if model._fresh() else model.run_.learner
    return tells_chances(getattr(learner, "loss", Logistic() if learner is None else None))


class OnlineClassifier(ClassifierMixin, Online):  # type: ignore[misc]
    """Classes of any kind, two or many.

    `learner`: None for `auto`, or a learner of two classes, such as `zoo.adagrad(Logistic())`, or of many, such as
    `Multiclass(Softmax(), AdaGrad(0.5))`. `comparator`: what the certificate compares with, by default the
    learner's own domain or the unit ball. `expand`: what gives rows further columns, if the learner is not `auto`, such
    as `Partitions()`. Of two classes, the run sees the second in `classes_` as +1, the first as −1. `delay`: by how
    many rows labels come late (docs/delay.md), those of the last rows not in `fit`: `run_.deliver()` lets them come.
    `text`, `date`, `categorical`: columns of a table whose words, parts of dates or numbers are names of features;
    `ngrams`: the most words in a row that make a feature.
    """

    classes_: Any

    @property
    def progressive_error_(self) -> float:
        """The share of rows predicted wrongly, each before it was learnt and by its weight."""
        return self.run_.error

    @property
    def kept_error_(self) -> float | None:
        """The share of rows that the model as `predict` uses it gets wrong, measured as `kept_loss_` is."""
        return getattr(getattr(self.run_, "kept", None), "error", None)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn all rows once, in their order, from the beginning. `sample_weight`: how much each row counts."""
        self._forget(sample_weight)
        X, y = self._checked(X, y)
        check_classification_targets(y)
        classes = np.unique(y)
        if len(y) >= FEW and 0 < np.count_nonzero(y[1:] != y[:-1]) < len(classes):
            warnings.warn(SORTED, stacklevel=2)
        return self._begin(X, y, classes, sample_weight)._answered()

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn more rows; all calls together do what one `fit` of all rows does, to the last bit.

        The first call names all `classes`. Only a learner of many classes, told as `learner`, can do without: it takes
        up classes as the rows go by, and `classes_` grows.
        """
        begins = self._fresh()
        X, y = self._checked(X, y)
        check_classification_targets(y)
        named = None if classes is None else np.unique(classes)
        if begins:
            return self._begin(X, y, named, sample_weight)
        if named is not None and not np.array_equal(named, self.classes_):
            first = quoted(self.classes_.tolist())
            raise DataError(f"the classes {quoted(named.tolist())} are not those of the first call: {first}")
        self._learn(X, self._encoded(y, self.run_.learner, self.classes_), sample_weight)
        return self

    def predict(self, X: Any) -> Any:
        """The class of each row."""
        made = self._decisions(X)
        return self.classes_[np.argmax(made, axis=1) if made.ndim == 2 else (made >= 0).astype(int)]

    @available_if(gives_chances)
    def predict_proba(self, X: Any) -> Vector:
        """The chance of each class, a column each in the order of `classes_`."""
        made = self._decisions(X)
        if made.ndim == 2:
            return self.run_.learner.loss.probabilities(made)
        return np.column_stack([expit(-made), expit(made)])

    def decision_function(self, X: Any) -> Vector:
        """Of two classes, a number for each row that is positive for the second; of more, a score for each class."""
        made = self._decisions(X)
        return made[:, 1] - made[:, 0] if made.ndim == 2 and made.shape[1] == 2 else made

    # ---- inside ------------------------------------------------------------------------------------------------------

    def _begin(self, X: Any, y: Any, classes: Any, weights: Any) -> Self:
        learner = self._chosen(classes)
        self.classes_ = classes
        named = classes.tolist() if classes is not None and isinstance(learner, MANY) else None
        self._learn(X, self._encoded(y, learner, classes), weights, learner, named)
        return self

    def _chosen(self, classes: Any) -> Any:
        """The learner for these classes; None: those that will be met."""
        learner, count = self.learner, 0 if classes is None else len(classes)
        if classes is None and not isinstance(learner, MANY):
            raise DataError(
                "name all classes in the first call: partial_fit(X, y, classes=[…]); only a learner of many classes, "
                "such as zoo.auto(Softmax()), can meet them as the rows go by"
            )
        if count == 1:
            raise DataError(f"there is only one class, {classes.tolist()[0]!r}: give rows of two or more")
        if learner is None:
            return auto(Logistic()) if count == 2 else auto(Softmax())
        if not isinstance(learner, MANY | KernelPerceptron) and not isinstance(getattr(learner, "loss", None), Margin):
            raise PartError(
                f"OnlineClassifier needs a learner with a loss of classes, such as zoo.adagrad(Logistic()) or "
                f"Multiclass(Softmax(), …), got {learner!r}"
            )
        if count > 2 and not isinstance(learner, MANY):
            raise PartError(
                f"Only binary classification is supported. There are {count} classes, but {learner!r} tells two apart: "
                "use Multiclass(Softmax(), …), or scikit-learn's OneVsRestClassifier around it"
            )
        return learner

    def _encoded(self, y: Any, learner: Any, classes: Any) -> Any:
        """Labels as the run takes them: by name, or ±1."""
        unknown = [] if classes is None or self._meets() else np.flatnonzero(~np.isin(y, classes)).tolist()
        if unknown:
            row, first = unknown[0], quoted(classes.tolist())
            raise DataError(f"row {row}: class {y.tolist()[row]!r} is not among those named at first: {first}")
        return y if isinstance(learner, MANY) else np.where(y == classes[1], 1.0, -1.0)

    def _meets(self) -> bool:
        """Whether classes are taken up as the rows go by."""
        return not self._fresh() and isinstance(self.run_.learner, MANY) and not self.run_.classes.fixed

    def _learn(self, *given: Any) -> None:
        try:
            super()._learn(*given)
        finally:  # also where a row was refused, after others had brought new classes
            if self._meets():
                self.classes_ = self.run_.classes.sorted()[1]

    def _order(self) -> Any:
        """Where the run has each of `classes_`."""
        return self.run_.classes.sorted()[0] if self._meets() else slice(None)

    def _decisions(self, X: Any) -> Vector:
        """Of a learner of many classes a score for each, else a number that is not negative for the second."""
        check_is_fitted(self)
        made, loss = self._scores(self.run_.decision_function, X), getattr(self.run_.learner, "loss", None)
        if isinstance(self.run_.learner, MANY):
            return made[:, self._order()]
        return made if loss is None or type(loss).decision is Margin.decision else loss.decisions(made)

    def _linear(self) -> tuple[Vector, Any]:
        coef, intercept = super()._linear()
        if coef.ndim == 1:
            decide = self.run_.learner.loss.decision
            offset, slope = decide(0.0), decide(1.0) - decide(0.0)
            return slope * coef[None], np.array([offset + slope * intercept])
        coef, intercept = coef[self._order()], intercept[self._order()]
        return (coef[1:] - coef[:1], intercept[1:] - intercept[:1]) if len(coef) == 2 else (coef, intercept)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self.learner is None or isinstance(self.learner, MANY)
        return tags


class OnlineRegressor(RegressorMixin, Online):  # type: ignore[misc]
    """Numbers.

    `learner`: None for `auto`, which minimises squares, or another, such as `zoo.adagrad(Absolute())`. `comparator`:
    what the certificate compares with, by default the learner's own domain or the unit ball. `expand`, `delay`,
    `text`, `ngrams`, `date`, `categorical`: as of `OnlineClassifier`.
    """

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn all rows once, in their order, from the beginning. `sample_weight`: how much each row counts."""
        self._forget(sample_weight)
        return self.partial_fit(X, y, sample_weight)._answered()

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn more rows; all calls together do what one `fit` of all rows does, to the last bit."""
        learner = self._chosen() if self._fresh() else None
        X, y = self._checked(X, y, y_numeric=True)
        self._learn(X, numbers(y, "y", len(y)), sample_weight, learner)
        return self

    def predict(self, X: Any) -> Vector:
        """A number for each row; with the Poisson loss e^score, the mean."""
        check_is_fitted(self)
        return self._scores(self.run_.predict, X)

    def _chosen(self) -> Any:
        learner = auto(Square()) if self.learner is None else self.learner
        if not isinstance(learner, Linear | Auto) or isinstance(learner.loss, Margin):
            raise PartError(
                f"OnlineRegressor needs a learner with a loss of numbers such as zoo.adagrad(Square()), got {learner!r}"
            )
        return learner
