"""The commands as functions of arrays."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ._run import InputError, run

if TYPE_CHECKING:
    import pandas as pd



@dataclass(frozen=True)
class Labels:
    """What `label` released.

    labels has one entry for each query: a class number, or a name where names were given;
    -1, or None among names, where the mechanism declined or the query was not asked.
    epsilon and delta are the claim; releasable is False for a seeded experiment.
    report is what the program said, path and ledger the files it wrote.
    """

    labels: npt.NDArray[Any]
    epsilon: float
    delta: float
    releasable: bool
    path: Path
    ledger: Path
    report: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        """Returns one line; epsilon is rounded up."""
        claim = f"epsilon={math.ceil(self.epsilon * 1000) / 1000:g}, {'releasable' if self.releasable else 'NOT releasable'}"
        return f"Labels({self.answered.sum()} of {len(self.labels)}, {claim}, {str(self.ledger)!r})"

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Returns which queries have a label."""
        if self.labels.dtype == object:
            return np.array([name is not None for name in self.labels], dtype=bool)
        return np.asarray(self.labels >= 0)

    def to_pandas(self, index: Any = None) -> pd.Series[Any]:
        """Returns the labels as a nullable series; index is that of the public table."""
        import pandas as pd

        missing = self.labels.astype(object)
        missing[~self.answered] = None
        return pd.Series(missing, index=index, name="label").convert_dtypes()


def label(
    votes: Any,
    *,
    epsilon: float,
    ledger: str | os.PathLike[str],
    classes: int | Sequence[Any] | None = None,
    counts: bool = False,
    out: str | os.PathLike[str] | None = None,
    verbose: bool = True,
    **options: Any,
) -> Labels:
    """Releases labels of public queries from the votes of teachers, and charges the ledger.

    votes: queries x teachers, an array or a table, of class numbers from 0 (-1, NaN or None
    abstains) or of class names; with counts=True queries x classes. An array of queries x
    teachers x classes is class probabilities: each teacher votes for the largest, the first
    of equals. A path is read as it is.
    classes: how many there are, or their names in order. Both are public knowledge: the
    classes that happen to be voted for are not.
    out: where the labels are kept, LEDGER.labels.csv unless given. The same call again
    returns the same labels at no further cost.
    options: flags of `pate label` with _ for -: delta, teacher_accuracy, mechanism, sigma, ...
    calibrate_on=[VOTES, LABELS] names two files by which a plan is made: that is a use of private
    votes, refused (UsageError) unless force=["calibration"] waives it. force waives other
    refusals by name, too; where epsilon may then not be true, releasable is False.

    Without mechanism the labels are planned, and nobody is asked before the plan is charged.
    Give teacher_accuracy, known from public data. Without it a pilot is charged first: a noisy
    mean of the largest vote counts, from which the plan follows (report["pilot"]). pilot="no"
    assumes a number instead, and a PateWarning says which.

    Raises BudgetError where the budget carries too few good labels: at most the pilot is charged
    then, whose epsilon is error.spent.
    """
    ledger = Path(ledger)
    out = Path(out) if out is not None else ledger.with_name(ledger.stem + ".labels.csv")
    names = None if classes is None or isinstance(classes, (int, np.integer)) else [str(c) for c in classes]
    if any("," in name for name in names or []):
        raise InputError("names of classes may hold no comma", 3)
    flags: dict[str, Any] = {"counts": counts, "class_names": names, "yes": "mechanism" not in options}
    if names is None:
        flags["classes"] = None if counts else classes
    words: list[str | os.PathLike[str]] = ["label", "--"]
    stdin = None
    if isinstance(votes, (str, os.PathLike)):
        words.append(votes)
    else:  # votes are secret: they go through a pipe, and lie in no file that a stopped process would leave
        words.append("-")
        array = io.BytesIO()
        if np.ndim(votes) == 3:
            flags["probabilities"] = True
            np.save(array, np.asarray(votes, dtype=np.float64))
        else:
            np.save(array, _numbers(votes, names, counts))
        stdin = array.getbuffer()
    report = run(*words, stdin=stdin, verbose=verbose, epsilon=epsilon, ledger=ledger, out=out, **flags, **options)
    labels = _read(out, names, None if isinstance(votes, (str, os.PathLike)) else len(votes))
    return Labels(labels, report["epsilon"], report["delta"], report["releasable"], out, ledger, report)


def _rows(path: Path) -> list[tuple[int, str]]:
    """Returns query and label of each line; the header of a seeded run has another name."""
    with open(path, newline="") as file:
        lines = csv.reader(file)
        next(lines, None)
        return [(int(query), name) for query, name in lines]


def _numbers(votes: Any, names: Sequence[str] | None, counts: bool) -> npt.NDArray[Any]:
    """Returns votes as whole numbers, names as their places; what is missing is -1."""
    values = np.asarray(votes)
    if values.ndim != 2:
        raise InputError(f"votes are queries x teachers, and these have {values.ndim} dimensions", 3)
    if values.dtype.kind in "iu":
        return values
    if values.dtype.kind == "b":
        return values.astype(np.int8)
    if values.dtype.kind == "f":
        whole = np.where(np.isnan(values), 0 if counts else -1, values)
        if counts and np.isnan(values).any():
            raise InputError("counts have a missing cell", 3)
        if not (np.isfinite(whole).all() and (whole == np.rint(whole)).all()):
            raise InputError("votes are whole numbers of classes: take the class of largest probability first", 3)
        return whole.astype(np.int64)
    if names is None:
        raise InputError("votes are words: give classes=[...], the public names of all classes in order", 3)
    place = {name: i for i, name in enumerate(names)}
    out = np.full(values.shape, -1, dtype=np.int64)
    for at, vote in np.ndenumerate(values):
        if vote is None or vote != vote or vote == "":
            continue
        if str(vote) not in place:
            raise InputError(f"row {at[0]} has a vote that is none of the classes", 3)
        out[at] = place[str(vote)]
    return out


def _read(path: Path, names: Sequence[str] | None, queries: int | None) -> npt.NDArray[Any]:
    """Returns the labels by query; of a file of votes, as many as were asked."""
    rows = _rows(path)
    if queries is None:
        queries = 1 + max((query for query, _ in rows), default=-1)
    labels: npt.NDArray[Any]
    labels = np.full(queries, None, dtype=object) if names else np.full(queries, -1, dtype=np.int64)
    for query, name in rows:
        if name != "":
            labels[query] = name if names else int(name)
    return labels


def plan(*, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns what a budget allows, from public numbers: `pate plan` with its flags.

    plan(epsilon=2, teacher_accuracy=0.83, teachers=250, classes=10, queries=1000)
    """
    return run("plan", verbose=verbose, **options)


def account(
    events: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, delta: float = 1e-5, verbose: bool = False, **options: Any
) -> dict[str, Any]:
    """Returns what releases cost together, accountant by accountant.

    events: the JSON of `pate account`, or the list of its events (relation add_remove).
    """
    whole = events if isinstance(events, Mapping) else {"relation": "add_remove", "events": list(events)}
    return run("account", "-", stdin=json.dumps(whole).encode(), verbose=verbose, delta=delta, **options)


def calibrate(what: str, *, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns the least noise that a budget needs: calibrate("gaussian", epsilon=1)."""
    return run("calibrate", what, verbose=verbose, **options)


def compare(data: Any = None, *, verbose: bool = True, **options: Any) -> dict[str, Any]:
    """Returns PATE and DP-SGD on one task at one epsilon: `pate compare` with its flags.

    data is a table, a matrix, a folder of images or a named set. The default is a small table
    of random numbers: 8,000 rows of four classes, each of three clusters.
    """
    if data is not None:
        return run("compare", data=data, verbose=verbose, **options)
    with tempfile.TemporaryDirectory() as folder:
        random = np.random.default_rng(1)
        cluster = random.integers(12, size=8000)
        values = random.normal(size=(12, 10))[cluster] * 1.2 + random.normal(size=(8000, 10))
        table = Path(folder) / "clusters.csv"
        header = ",".join(f"x{i}" for i in range(10)) + ",label"
        np.savetxt(table, np.column_stack([values, cluster % 4]), ["%.4f"] * 10 + ["%d"], ",", header=header, comments="")
        return run("compare", data=table, label="label", verbose=verbose, **options)


def predict(model: Any, table: Any, *, verbose: bool = False, **options: Any) -> npt.NDArray[Any]:
    """Returns the class that a model predicts for each row of a table; with probability=True
    the probabilities, rows x classes.

    model: a file of `pate publish`, `student` or `dpsgd`. table: a data frame or a file. A
    data frame has the columns that the model was trained on; other columns are ignored.
    """
    with tempfile.TemporaryDirectory() as folder:
        if hasattr(table, "to_csv"):
            path = Path(folder) / "rows.csv"
            table.to_csv(path, index=False)
            table = path
        rows = run("predict", "--", model, table, verbose=verbose, **options)["predictions"]
    return np.array([row["probabilities"] if options.get("probability") else row["label"] for row in rows])


def train(private: Any, *, public: Any, label: str, out: Any, verbose: bool = True, **options: Any) -> dict[str, Any]:
    """Trains teachers on disjoint shares of a private file; writes their votes on a public one."""
    return run("train", "--", private, public=public, label=label, out=out, verbose=verbose, **options)


def statement(*ledgers: Any, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns the privacy statement of ledgers; with out=FILE.html it writes the page too."""
    if options.get("out") is not None:
        run("ledger", "statement", "--", *ledgers, verbose=verbose, **options)
        del options["out"]
        verbose = False
    return run("ledger", "statement", "--", *ledgers, verbose=verbose, **options)


def verify(ledger: Any, *, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Recomputes every epsilon of a ledger, and compares files with it; CheckError if one differs."""
    return run("ledger", "verify", "--", ledger, verbose=verbose, **options)
