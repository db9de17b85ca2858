"""A scikit-learn classifier whose student never sees a private row.

    from pate_go.sklearn import PATEClassifier
    model = PATEClassifier(classes=[0, 1], epsilon=2, ledger="run.jsonl")
    model.fit(X_private, y_private, pool=X_public)
    model.predict(X_new)

What is released are the labels of the pool, and whatever is made of them: the student.
Any classifier of scikit-learn can be a teacher, any other the student.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import tempfile
from pathlib import Path
from typing import Any, Sequence

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from ._api import label


class PATEClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Trains teachers on disjoint shares of private rows, and a student on their noisy votes.

    classes: the labels there can be, public knowledge. None takes those of y, which tells
    that each of them occurs: it is allowed with random_state only.
    epsilon, delta: the budget, for all that is released about these people on one ledger.
    ledger: the file that is charged. Without it the run must be seeded by random_state,
    and is then an experiment: releasable_ is False.
    n_teachers: public. More of them outvote more noise; each then knows less.
    teacher, student: classifiers; a small forest and a logistic regression unless given.
    pool: "uniform" asks n_queries random points of feature_range where fit is given no
    public rows; a model learned on such points is rarely good.
    options: flags of `pate label`, as {"teacher_accuracy": 0.8}: how often a teacher is right,
    known from public data. Without it a pilot is charged and released before the plan.

    Scaling and encoding go into teacher and student, as pipelines: a step before this one in a
    pipeline is fitted to private rows, which epsilon does not cover. It changes the pool only if
    the pipeline has transform_input=["pool"]; fit refuses a pool on another scale than the rows.

    With a ledger, keys and votes are kept in LEDGER.fit, which is as secret as the private rows.
    The same fit again returns the same labels at no cost.

    Every fit is a release: cross_val_score or a grid search makes one for each fold and
    setting, which one ledger does not pay for, and a score on private rows is private too.
    Try settings with random_state and no ledger, on data that are public.

    After fit: student_, labels_ (-1 in codes of classes_ where there is none), epsilon_,
    delta_, releasable_. The teachers are not kept.
    """

    def __init__(
        self,
        teacher: Any = None,
        student: Any = None,
        *,
        classes: Sequence[Any] | None = None,
        epsilon: float = 2.0,
        delta: float = 1e-5,
        n_teachers: int = 100,
        ledger: str | os.PathLike[str] | None = None,
        pool: str | None = None,
        feature_range: tuple[float, float] = (0.0, 1.0),
        n_queries: int = 1000,
        options: dict[str, Any] | None = None,
        random_state: int | None = None,
    ) -> None:
        self.teacher = teacher
        self.student = student
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.n_teachers = n_teachers
        self.ledger = ledger
        self.pool = pool
        self.feature_range = feature_range
        self.n_queries = n_queries
        self.options = options
        self.random_state = random_state

    def fit(self, X: Any, y: Any, pool: Any = None, groups: Any = None) -> PATEClassifier:
        """Labels the public rows of pool with what the private rows (X, y) know.

        groups says whose row each is: all rows of one person go to one teacher. Without
        it a row is a person.
        """
        if self.random_state is None and self.ledger is None:
            raise ValueError("a run without a ledger forgets what it spent: give ledger=FILE, or random_state for an experiment")
        X, y = validate_data(self, X, y)
        check_classification_targets(y)
        self.classes_ = self._classes(y)
        if not np.isin(y, self.classes_).all():
            raise ValueError("y holds a label that is none of the classes")
        if len(self.classes_) < 2:
            raise ValueError("there is 1 class: there is nothing to label")
        kept: dict[str, Any] = {}
        if self.random_state is not None:
            kept["key"] = np.frombuffer(hashlib.sha256(b"%d" % int(self.random_state)).digest(), np.uint8)
        elif self._kept().exists():
            with np.load(self._kept()) as file:
                kept = dict(file)
        else:
            kept["key"] = np.frombuffer(secrets.token_bytes(32), np.uint8)
        key = kept["key"].tobytes()
        queries = self._queries(pool, key)
        if pool is not None:
            _alike(X, queries)
        shares = self._shares(len(X), groups, key)
        fit = "votes " + self._fingerprint(key, X, y, queries, shares)
        if fit not in kept:
            kept[fit] = self._votes(X, y, queries, shares, key)
            if self.random_state is None:
                self._keep(kept)
        votes = kept[fit]
        with tempfile.TemporaryDirectory() as folder:
            released = label(
                votes, classes=len(self.classes_), epsilon=self.epsilon, delta=self.delta,
                ledger=Path(folder) / "experiment.jsonl" if self.ledger is None else self.ledger,
                seed=self.random_state, verbose=False, **(self.options or {}),
            )
        self.labels_ = released.labels
        self.epsilon_, self.delta_, self.releasable_ = released.epsilon, released.delta, released.releasable
        known = released.answered
        self.student_ = self._student(queries[known], self.classes_[released.labels[known]])
        return self

    def _kept(self) -> Path:
        """Returns the file with the keys and votes of all fits on a ledger."""
        assert self.ledger is not None
        return Path(f"{os.fspath(self.ledger)}.fit")

    def _keep(self, kept: dict[str, Any]) -> None:
        """Replaces the file of keys and votes as a whole. Only its owner may read it."""
        path = self._kept()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:  # mode 0600
            np.savez_compressed(file, **kept)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)

    def _fingerprint(self, key: bytes, *arrays: Any) -> str:
        """Returns a keyed hash of everything that decides the votes."""
        mac = hmac.new(key, repr((self.teacher, self.n_teachers, list(self.classes_))).encode(), hashlib.sha256)
        for array in arrays:
            values = np.asarray(array)
            text = repr(values.tolist()) if values.dtype == object else np.ascontiguousarray(values).tobytes()
            mac.update(repr((values.dtype.str, values.shape)).encode() + (text if isinstance(text, bytes) else text.encode()))
        return mac.hexdigest()

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Returns the student's answers. They cost nothing, however many are asked."""
        check_is_fitted(self)
        return np.asarray(self.student_.predict(validate_data(self, X, reset=False)))

    @available_if(lambda self: hasattr(getattr(self, "student_", _student_of(self)), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Returns the student's probabilities, a column for each of classes_."""
        check_is_fitted(self)
        out = np.zeros((len(X), len(self.classes_)))
        columns = np.searchsorted(self.classes_, self.student_.classes_)
        out[:, columns] = self.student_.predict_proba(validate_data(self, X, reset=False))
        return out

    def _classes(self, y: npt.NDArray[Any]) -> npt.NDArray[Any]:
        if self.classes is not None:
            return np.unique(np.asarray(self.classes))
        if self.random_state is None:
            raise ValueError("classes are public knowledge, and which of them occur is not: give classes=[...]")
        return np.unique(y)

    def _queries(self, pool: Any, key: bytes) -> npt.NDArray[Any]:
        if pool is not None:
            queries: npt.NDArray[Any] = check_array(pool)
            if queries.shape[1] != self.n_features_in_:
                raise ValueError(f"the pool has {queries.shape[1]} features, the private rows have {self.n_features_in_}")
            return queries
        if self.pool != "uniform":
            raise ValueError('PATE needs public rows to label: fit(X, y, pool=X_public), or pool="uniform" with feature_range')
        low, high = self.feature_range
        return _stream(key, "pool").uniform(low, high, size=(self.n_queries, self.n_features_in_))

    def _shares(self, rows: int, groups: Any, key: bytes) -> npt.NDArray[np.int64]:
        """Returns the teacher of each row: a keyed hash of its unit, or a draw of its own.

        No row moves when another is added or removed at the end, and equal groups stay
        together: one person is in one share, so one person moves one teacher's votes.
        """
        if self.n_teachers < 1:
            raise ValueError("n_teachers is at least 1")
        units = range(rows) if groups is None else list(groups)
        if len(units) != rows:
            raise ValueError(f"{len(units)} groups for {rows} rows")
        return np.array([_number(key, f"unit/{unit}") % self.n_teachers for unit in units], dtype=np.int64)

    def _votes(
        self, X: npt.NDArray[Any], y: npt.NDArray[Any], queries: npt.NDArray[Any], shares: npt.NDArray[np.int64], key: bytes
    ) -> npt.NDArray[np.int64]:
        model = ExtraTreesClassifier(n_estimators=25) if self.teacher is None else self.teacher
        if len(queries) >= 2:
            trial = np.resize(self.classes_, len(queries))
            clone(model).fit(queries, trial).predict(queries[:1])  # a mistake shows on public rows, not on private ones
        votes = np.full((len(queries), self.n_teachers), -1, dtype=np.int64)
        for i in range(self.n_teachers):
            mine = shares == i
            votes[:, i] = self._vote(model, X[mine], y[mine], queries, _number(key, f"teacher/{i}") % 2**31)
        return votes

    def _vote(self, model: Any, X: npt.NDArray[Any], y: npt.NDArray[Any], queries: npt.NDArray[Any], seed: int) -> Any:
        """Returns one teacher's votes; what it cannot learn from its share is an abstention."""
        if len(y) == 0:
            return -1
        if (y == y[0]).all():
            return np.searchsorted(self.classes_, y[0])
        teacher = clone(model)
        random = {name: seed for name in teacher.get_params() if name == "random_state" or name.endswith("__random_state")}
        teacher.set_params(**random)
        try:
            return np.searchsorted(self.classes_, teacher.fit(X, y).predict(queries))
        except Exception:  # its words would be about private rows
            return -1

    def _student(self, X: npt.NDArray[Any], y: npt.NDArray[Any]) -> Any:
        if len(np.unique(y)) < 2:
            return DummyClassifier(strategy="most_frequent").fit(X, y)
        return clone(_student_of(self)).fit(X, y)


def _student_of(model: PATEClassifier) -> Any:
    if model.student is not None:
        return model.student
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))


def _alike(X: npt.NDArray[Any], pool: npt.NDArray[Any]) -> None:
    """Refuses a pool on another scale than the private rows. The message is for their owner alone."""
    if min(len(X), len(pool)) < 20 or X.dtype.kind not in "fiu" or pool.dtype.kind not in "fiu":
        return
    sd, other = X.std(axis=0), pool.std(axis=0)
    varies = (sd > 0) & (other > 0)
    far = (np.maximum(sd, other) > 4 * np.minimum(sd, other)) | (np.abs(X.mean(axis=0) - pool.mean(axis=0)) > 4 * np.maximum(sd, other))
    if 2 * (far & varies).sum() > varies.sum():
        raise ValueError(
            "the pool is on another scale than the private rows in most columns: put scaling into teacher= and student=, "
            'or give the pipeline transform_input=["pool"]'
        )


def _number(key: bytes, what: str) -> int:
    return int.from_bytes(hmac.new(key, what.encode(), hashlib.sha256).digest()[:8], "big")


def _stream(key: bytes, what: str) -> np.random.Generator:
    return np.random.default_rng(_number(key, what))
