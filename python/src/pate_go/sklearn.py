"""A scikit-learn classifier that is trained on private rows by PATE.

    from pate_go.sklearn import PATEClassifier
    model = PATEClassifier(classes=[0, 1], epsilon=2, ledger="run.jsonl")
    model.fit(X_private, y_private, pool=X_public)
    model.predict(X_new)

Only the labels of the pool are released, and the student is trained on these labels alone.
Teachers and student may be any classifiers of scikit-learn.
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
    """Trains teachers on disjoint partitions of private rows, and a student on their noisy votes.

    classes: all possible labels, which must be public knowledge. None uses the labels of y. This
    reveals which labels occur, so it is allowed only with random_state.
    epsilon, delta: the budget for all releases about these people on one ledger.
    ledger: the file that is charged. Without a ledger, random_state is required. Such a run is
    an experiment, and releasable_ is False.
    n_teachers: the public number of teachers. With more teachers noise matters less, but each
    teacher has fewer rows.
    teacher, student: classifiers. The defaults are a small forest and a logistic regression.
    pool: "uniform" uses n_queries random points in feature_range if fit gets no public rows. A
    model trained on such points is rarely good.
    options: flags of `pate label`, for example {"teacher_accuracy": 0.8}, known from public
    data. Without teacher_accuracy a pilot is charged and released before the plan.

    Put scaling and encoding into teacher and student, as pipelines. Any step before this
    classifier in a pipeline is fitted to private rows, and epsilon does not cover this step. The
    step transforms the pool only if the pipeline has transform_input=["pool"]. fit refuses a pool
    whose scale differs from the scale of the private rows.

    With a ledger, keys and votes are stored in LEDGER.fit, which is as secret as the private rows.
    The same fit again returns the same labels at no further privacy cost.

    Every fit is a release. cross_val_score or a grid search makes one release for each fold and
    setting, and the budget of one ledger does not cover them all. A score on private rows is
    private, too. Try settings on public data, with random_state and without a ledger.

    After fit, the attributes are student_, labels_ (indices into classes_, or -1), epsilon_,
    delta_ and releasable_. The teachers are not kept.
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
        """Labels the public rows of pool by teachers that are trained on private rows (X, y).

        groups: the person of each row. All rows of a person go to one teacher. Without groups,
        each row is assumed to be another person.
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
        """Returns the file with the keys and votes of all fits that use the ledger."""
        assert self.ledger is not None
        return Path(f"{os.fspath(self.ledger)}.fit")

    def _keep(self, kept: dict[str, Any]) -> None:
        """Replaces the file of keys and votes atomically. The new file has mode 0600."""
        path = self._kept()
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
            np.savez_compressed(file, **kept)
            file.flush()
            os.fsync(file.fileno())
        os.replace(file.name, path)

    def _fingerprint(self, key: bytes, *arrays: Any) -> str:
        """Returns a keyed hash of everything that the votes depend on."""
        mac = hmac.new(key, repr((self.teacher, self.n_teachers, list(self.classes_))).encode(), hashlib.sha256)
        for array in arrays:
            values = np.asarray(array)
            text = repr(values.tolist()) if values.dtype == object else np.ascontiguousarray(values).tobytes()
            mac.update(repr((values.dtype.str, values.shape)).encode() + (text if isinstance(text, bytes) else text.encode()))
        return mac.hexdigest()

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Returns the student's predictions. Predictions have no privacy cost."""
        check_is_fitted(self)
        return np.asarray(self.student_.predict(validate_data(self, X, reset=False)))

    @available_if(lambda self: hasattr(getattr(self, "student_", _student_of(self)), "predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> npt.NDArray[np.float64]:
        """Returns the student's class probabilities, one column for each class of classes_."""
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
        """Returns the teacher of each row, by a keyed hash of the row's group or index.

        Rows of one group have one teacher, so one person can change the votes of one teacher only.
        Adding or removing a row at the end changes the teacher of no other row.
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
            clone(model).fit(queries, trial).predict(queries[:1])  # an invalid model fails on public rows, before private rows are used
        votes = np.full((len(queries), self.n_teachers), -1, dtype=np.int64)
        for i in range(self.n_teachers):
            mine = shares == i
            votes[:, i] = self._vote(model, X[mine], y[mine], queries, _number(key, f"teacher/{i}") % 2**31)
        return votes

    def _vote(self, model: Any, X: npt.NDArray[Any], y: npt.NDArray[Any], queries: npt.NDArray[Any], seed: int) -> Any:
        """Returns the votes of one teacher. If training fails, the teacher abstains."""
        if len(y) == 0:
            return -1
        if (y == y[0]).all():
            return np.searchsorted(self.classes_, y[0])
        teacher = clone(model)
        random = {name: seed for name in teacher.get_params() if name == "random_state" or name.endswith("__random_state")}
        teacher.set_params(**random)
        try:
            return np.searchsorted(self.classes_, teacher.fit(X, y).predict(queries))
        except Exception:  # the message could reveal private rows
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
    """Refuses a pool whose scale differs from the private rows. The error is for their owner alone."""
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
