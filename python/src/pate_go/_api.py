"""Functions that run the commands of pate on arrays."""

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
    """The result of `label`.

    labels: one entry for each query: the index of a class, or a class name if names were
    given. A query without a label has -1, or None among names.
    epsilon, delta: the privacy guarantee.
    releasable: False for a seeded experiment, or if a waiver makes epsilon uncertain.
    path, ledger: the labels file and the ledger.
    report: the JSON of the program.
    """

    labels: npt.NDArray[Any]
    epsilon: float
    delta: float
    releasable: bool
    path: Path
    ledger: Path
    report: Mapping[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        """Returns one line with epsilon rounded up."""
        claim = f"epsilon={math.ceil(self.epsilon * 1000) / 1000:g}, {'releasable' if self.releasable else 'NOT releasable'}"
        return f"Labels({self.answered.sum()} of {len(self.labels)}, {claim}, {str(self.ledger)!r})"

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """Returns True for each query that has a label."""
        if self.labels.dtype == object:
            return np.array([name is not None for name in self.labels], dtype=bool)
        return np.asarray(self.labels >= 0)

    def to_pandas(self, index: Any = None) -> pd.Series[Any]:
        """Returns the labels as a nullable series. index: the index of the public table."""
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

    votes: an array or a table, queries x teachers, of class indices from 0 or of class names.
    -1, NaN or None is an abstention. With counts=True it holds counts, queries x classes. An
    array of queries x teachers x classes holds class probabilities. Each teacher then votes
    for the most probable class, and for the first one in a tie. A path is passed to the program.
    classes: the number of classes, or the class names in order. They must be public knowledge
    and must not be taken from the votes.
    out: the labels file; default LEDGER.labels.csv. The same call again returns the same labels
    at no further privacy cost.
    options: flags of `pate label` with _ for -: delta, teacher_accuracy, mechanism, sigma, ...
    calibrate_on=[VOTES, LABELS] plans from two files. This uses private votes, so it is refused
    (UsageError) unless force contains "calibration". force also waives other refusals by name.
    If epsilon may then be wrong, releasable is False.

    Without mechanism, mechanism and noise are planned and charged before any vote is used. Give
    teacher_accuracy, known from public data. Otherwise a pilot is charged first, which releases
    a noisy mean of the largest vote counts (report["pilot"]). The plan is made from this mean.
    pilot="no" assumes an accuracy instead, and a PateWarning reports it.

    Raises BudgetError if the budget allows too few good labels. Then at most the pilot was
    charged, and error.spent is the epsilon of the pilot.
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
    else:  # a pipe, because an interrupted process could leave a file of secret votes behind
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


@dataclass(frozen=True)
class NoisyLabels:
    """The result of `read_labels`. All arrays have the order of the file.

    queries: the number of each query. `pate votes nearest` numbers queries by the rows of the
    public file. Other commands number the queries in order.
    labels: the index of a class, or a class name if the file has names and no noisy votes. A
    query without a label has -1, or None among names.
    counts: the noisy votes, queries x classes, or None if the file has none.
    classes: the names of the columns of counts, or None.
    releasable: False if the file states that it must not be released.
    """

    queries: npt.NDArray[np.int64]
    labels: npt.NDArray[Any]
    counts: npt.NDArray[np.int64] | None
    classes: list[str] | None
    releasable: bool


def read_labels(path: str | os.PathLike[str]) -> NoisyLabels:
    """Reads a labels file in CSV, and its noisy votes if it has any.

    The label is then the first class with the most noisy votes. Labels by votes at the nearest
    questions are for training a model, not for people, because many may be wrong.
    """
    try:
        heading, lines = _lines(path)
        queries = np.array([int(line[0]) for line in lines], dtype=np.int64)
        answered = np.array([line[1] != "" for line in lines], dtype=bool)
        labels: npt.NDArray[Any] = np.array([line[1] or None for line in lines], dtype=object)
        counts = np.array([[int(votes) for votes in line[2:]] for line in lines], dtype=np.int64).reshape(len(lines), len(heading) - 2)
    except (ValueError, OverflowError, csv.Error) as error:
        raise InputError(f"{os.fspath(path)} is no file of labels: a line is query,label and perhaps noisy votes", 3) from error
    classes = [name[len("votes ") :] for name in heading[2:]] or None
    if classes:
        labels = np.where(answered, counts.argmax(axis=1), -1)
    elif all(name.isdecimal() for name in labels[answered]):
        labels = np.where(answered, labels, -1).astype(np.int64)
    return NoisyLabels(queries, labels, counts if classes else None, classes, heading[1] == "label")


def _lines(path: str | os.PathLike[str]) -> tuple[list[str], list[list[str]]]:
    """Returns the heading and the other lines. Seeded runs have another heading of the labels."""
    with open(path, newline="", encoding="utf-8") as file:
        heading, *lines = csv.reader(file, strict=True)
    known = heading[:1] == ["query"] and heading[1:2] in (["label"], ["label_not_releasable"])
    if not known or any(len(line) != len(heading) for line in lines) or not all(name.startswith("votes ") for name in heading[2:]):
        raise ValueError("wrong heading, or a line of another length")
    return heading, lines


def _numbers(votes: Any, names: Sequence[str] | None, counts: bool) -> npt.NDArray[Any]:
    """Returns votes as class indices, with -1 for a missing vote."""
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
    """Returns the labels by query. If queries is None, the file determines the number of queries."""
    rows = [(int(line[0]), line[1]) for line in _lines(path)[1]]
    if queries is None:
        queries = 1 + max((query for query, _ in rows), default=-1)
    labels: npt.NDArray[Any]
    labels = np.full(queries, None, dtype=object) if names else np.full(queries, -1, dtype=np.int64)
    for query, name in rows:
        if name != "":
            labels[query] = name if names else int(name)
    return labels


def plan(*, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns the best use of a budget, computed from public numbers by `pate plan`.

    plan(epsilon=2, teacher_accuracy=0.83, teachers=250, classes=10, queries=1000)
    """
    return run("plan", verbose=verbose, **options)


def account(
    events: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, delta: float = 1e-5, verbose: bool = False, **options: Any
) -> dict[str, Any]:
    """Returns the total privacy cost of releases, computed by each accountant.

    events: the JSON input of `pate account`, or a list of events for the relation add_remove.
    """
    whole = events if isinstance(events, Mapping) else {"relation": "add_remove", "events": list(events)}
    return run("account", "-", stdin=json.dumps(whole).encode(), verbose=verbose, delta=delta, **options)


def calibrate(what: str, *, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns the least noise that meets a budget: calibrate("gaussian", epsilon=1)."""
    return run("calibrate", what, verbose=verbose, **options)


def compare(data: Any = None, *, verbose: bool = True, **options: Any) -> dict[str, Any]:
    """Compares PATE and DP-SGD on one task at one epsilon by `pate compare`.

    data: a table, a matrix, a folder of images or a named set. The default is a table of random
    numbers with 8,000 rows and four classes. Each class has three clusters.
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
    """Returns the class that a model predicts for each row of a table.

    With probability=True it returns class probabilities, rows x classes.
    model: a file of `pate publish`, `pate student` or `pate dpsgd`.
    table: a file, or a data frame with the columns of the training. Other columns are ignored.
    """
    with tempfile.TemporaryDirectory() as folder:
        if hasattr(table, "to_csv"):
            path = Path(folder) / "rows.csv"
            table.to_csv(path, index=False)
            table = path
        rows = run("predict", "--", model, table, verbose=verbose, **options)["predictions"]
    return np.array([row["probabilities"] if options.get("probability") else row["label"] for row in rows])


def train(private: Any, *, public: Any, label: str, out: Any, verbose: bool = True, **options: Any) -> dict[str, Any]:
    """Trains teachers on disjoint partitions of a private file, and writes their votes on a public file."""
    return run("train", "--", private, public=public, label=label, out=out, verbose=verbose, **options)


def statement(*ledgers: Any, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Returns the privacy statement of ledgers. With out=FILE.html it also writes the page."""
    if options.get("out") is not None:
        run("ledger", "statement", "--", *ledgers, verbose=verbose, **options)
        del options["out"]
        verbose = False
    return run("ledger", "statement", "--", *ledgers, verbose=verbose, **options)


def verify(ledger: Any, *, verbose: bool = False, **options: Any) -> dict[str, Any]:
    """Recomputes every epsilon of a ledger and compares released files. A difference raises CheckError."""
    return run("verify", "--", ledger, verbose=verbose, **options)
