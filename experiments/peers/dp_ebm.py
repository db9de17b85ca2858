#!/usr/bin/env python3
"""Trains DP-EBM (Nori, Bu, Nagarajan, Caruana 2021, package interpret-core) on Adult.

Private and test rows are those of `pate compare --data adult`: a row goes where a hash of
its cells falls (dataset/split.go). Accuracy and the area under the curve on the test rows,
at the same delta, beside those of a committed sweep of DP-SGD.

    venv/bin/pip install "interpret-core==0.7.8" scikit-learn
    venv/bin/python experiments/peers/dp_ebm.py adult.data.gz docs/results/adult.json --out experiments/peers/dp_ebm.md

DP-EBM is given ranges of the numbers as its privacy bounds, which cost it nothing; epsilon is
that of its own accountant, for a row that is added or removed. A seed takes the privacy away.
"""

import argparse
import csv
import gzip
import hashlib
import hmac
import json
import statistics

COLUMNS = [
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation", "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", "income",
]
RANGES = {
    "age": (17, 90), "education-num": (1, 16), "capital-gain": (0, 99999), "capital-loss": (0, 5000), "hours-per-week": (1, 99),
}


def side(cells):
    """Returns where a row stands in [0, 1): below .7 it is private, from .9 on it scores."""
    content = hashlib.sha256(b"".join(b"%d:%s" % (len(c), c) for c in cells)).digest()[:16]
    name = b"content/" + content.hex().encode()
    digest = hmac.new(b"pate dataset split 1 literature", name, hashlib.sha256).digest()
    return (int.from_bytes(digest[:8], "big") >> 11) / 2**53


def read(path):
    """Returns the features and labels of private and of test rows."""
    parts = {"private": ([], []), "test": ([], [])}
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        for cells in csv.reader(file, skipinitialspace=True):
            if not cells:
                continue
            cells = [c.strip() for c in cells]
            u = side([c.encode() for c in cells])
            if 0.7 <= u < 0.9:
                continue
            x, y = parts["private" if u < 0.7 else "test"]
            row = dict(zip(COLUMNS, cells))
            y.append(int(row.pop("income") == ">50K"))
            del row["fnlwgt"]
            x.append([float(v) if k in RANGES else v for k, v in row.items()])
    return parts["private"], parts["test"]


def dp_ebm(private, test, epsilon, delta, seed):
    """Returns accuracy and area under the curve of one model, in percent."""
    import numpy as np
    from interpret.privacy import DPExplainableBoostingClassifier
    from sklearn.metrics import roc_auc_score

    names = [c for c in COLUMNS if c not in ("fnlwgt", "income")]
    kinds = ["continuous" if c in RANGES else "nominal" for c in names]
    model = DPExplainableBoostingClassifier(
        feature_names=names, feature_types=kinds, epsilon=epsilon, delta=delta, random_state=seed, n_jobs=1,
        privacy_bounds=RANGES,
    )
    model.fit(np.array(private[0], dtype=object), np.array(private[1]))
    p = model.predict_proba(np.array(test[0], dtype=object))[:, 1]
    y = np.array(test[1])
    return 100 * float(np.mean((p > 0.5) == (y == 1))), 100 * float(roc_auc_score(y, p))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", help="adult.data.gz")
    parser.add_argument("sweep", help="results.json of pate compare --data adult")
    parser.add_argument("--epsilon", default="0.5,1,2,4,8")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", help="write the table here too")
    args = parser.parse_args()
    with open(args.sweep, encoding="utf-8") as file:
        sweep = json.load(file)
    private, test = read(args.data)
    if (len(private[1]), len(test[1])) != (sweep["private"], sweep["test"]):
        raise SystemExit(f"{len(private[1])} private and {len(test[1])} test rows, the sweep has {sweep['private']} and {sweep['test']}")
    lines = ["| ε | DP-EBM % | DP-SGD % | DP-EBM AUROC % | DP-SGD AUROC % |", "|---:|---:|---:|---:|---:|"]
    for epsilon in (float(e) for e in args.epsilon.split(",")):
        runs = [dp_ebm(private, test, epsilon, sweep["delta"], seed) for seed in range(args.seeds)]
        ours = [r for r in sweep["rows"] if r["method"] == "dpsgd/linear" and r["target_epsilon"] == epsilon]
        if not ours:
            raise SystemExit(f"the sweep has no DP-SGD at epsilon {epsilon:g}")
        cells = []
        for values in zip(*runs):
            spread = f" ± {statistics.stdev(values):.1f}" if len(values) > 1 else ""
            cells.append(f"{statistics.mean(values):.1f}{spread}")
        for name in ("accuracy", "auroc"):
            spread = ours[0].get("sd" if name == "accuracy" else "auroc_sd")
            cells.append(f"{100 * ours[0][name]:.1f}" + (f" ± {100 * spread:.1f}" if spread is not None else ""))
        lines.append(f"| {epsilon:g} | {cells[0]} | {cells[2]} | {cells[1]} | {cells[3]} |")
        print(lines[-1], flush=True)
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
