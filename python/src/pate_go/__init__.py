"""Label public data by models of private data, with differential privacy.

This package includes the program `pate`. The Python functions pass arrays to the program and
read its results. Only the program draws noise and computes privacy costs.

    import pate_go
    labels = pate_go.label(votes, classes=10, epsilon=2, ledger="run.jsonl")
    labels.labels      # an array; -1 for a query without a label
    labels.epsilon     # the charged epsilon
"""

from ._api import Labels, NoisyLabels, account, calibrate, compare, label, plan, predict, read_labels, statement, train, verify
from ._run import (
    BudgetError,
    CheckError,
    DeclinedError,
    InputError,
    Interrupted,
    PateError,
    PateWarning,
    UsageError,
    binary,
    run,
)

__all__ = [
    "BudgetError", "CheckError", "DeclinedError", "InputError", "Interrupted", "Labels", "NoisyLabels",
    "PateError", "PateWarning", "UsageError", "account", "binary", "calibrate", "compare", "label", "plan", "predict",
    "read_labels", "run", "statement", "train", "verify",
]
