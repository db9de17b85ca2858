"""Label public data with the knowledge in private data, privately.

The work is done by the program `pate`, which comes with this package; what is here hands
it arrays and reads its answers. Privacy, noise and accounting are the program's alone.

    import pate_go
    labels = pate_go.label(votes, classes=10, epsilon=2, ledger="run.jsonl")
    labels.labels      # an array, -1 where the teachers did not agree
    labels.epsilon     # what was charged
"""

from ._api import Labels, account, calibrate, compare, label, plan, predict, statement, train, verify
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
    "BudgetError", "CheckError", "DeclinedError", "InputError", "Interrupted", "Labels", "PateError",
    "PateWarning", "UsageError", "account", "binary", "calibrate", "compare", "label", "plan", "predict", "run",
    "statement", "train", "verify",
]
