#!/usr/bin/env python3
"""Compares the labelled table of `pate publish --pool tree` with the synthetic tables of MST and AIM of opendp.

    venv/bin/pip install "opendp[mbi]==0.16.0" scikit-learn pandas
    venv/bin/python experiments/peers/synthetic.py pate private.csv test.csv --ranges ranges.csv --label income --seeds 3 --out results

A forest is trained on each table and scored on the rows of test.csv. All have the same epsilon and delta, and the bins
that ranges.csv declares. For MST and AIM (McKenna, Miklau, Sheldon 2021; McKenna, Mullins, Sheldon, Miklau 2022) the label
is a column of the table, and numbers are drawn uniformly from their bin. The unit is a row that is added or removed.
Seconds are processor time; time on the wall is kept, too. --out keeps every run, and a repeated call goes on. `real` has
the private rows themselves.
"""

import argparse
import csv
import functools
import math
import os
import re
import statistics
import subprocess
import tempfile
import time
from fractions import Fraction

for name in "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS":
    os.environ[name] = "1"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import numpy as np
import pandas as pd
from judge import kept
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import roc_auc_score

METHODS = ["pate", "mst", "aim", "real"]
BINS = 32
read = functools.partial(pd.read_csv, dtype=str, keep_default_na=False, skipinitialspace=True)


class Column:
    """Is a line of the ranges: edges of numeric bins or categories, and whether the last bin is a missing value."""

    def __init__(self, name, cells):
        given = [c for c in cells if c not in ("", "?")]
        self.name, self.missing, self.values, self.edges, self.whole = name, len(given) < len(cells), given, None, False
        if len(given) == 1 and ".." in given[0]:
            texts = re.split(r"(?<!\.)\.\.(?!\.)", given[0])
            self.edges, self.whole = [float(t) for t in texts], not any("." in t for t in texts)
            low, high = self.edges[0], self.edges[-1] + self.whole
            if len(self.edges) == 2:
                n = min(BINS, int(high - low)) if self.whole else BINS
                self.edges = [low + (high - low) * i / n for i in range(n)] + [high]
            self.edges[-1] = high
        self.size = (len(self.values) if self.edges is None else len(self.edges) - 1) + self.missing

    def bins(self, cells):
        if self.edges is None:
            bins = cells.map({v: i for i, v in enumerate(self.values)})
        else:
            numbers = pd.to_numeric(cells, errors="coerce")
            found = np.searchsorted(self.edges, numbers.to_numpy(float), side="right") - 1
            bins = pd.Series(np.clip(found, 0, len(self.edges) - 2), cells.index).where(numbers.notna())
        return bins.fillna(self.size - 1).to_numpy(int)

    def cells(self, bins, rng):
        if self.edges is None:
            return np.array(self.values + ["?"])[bins]
        edges = np.array([*self.edges, self.edges[-1]])
        low, high = edges[bins], edges[bins + 1]
        if self.whole:
            low, high = np.ceil(low), np.maximum(np.ceil(high), np.ceil(low) + 1)
        drawn = low + (high - low) * rng.random(len(bins))
        cells = np.floor(drawn).astype(int).astype(str) if self.whole else drawn.astype(str)
        return np.where(bins == self.size - 1, "?", cells) if self.missing else cells


def rho(epsilon, delta, columns):
    """Returns the rho of concentrated differential privacy that implies epsilon and delta (Canonne, Kamath, Steinke 2020)."""

    def above(r):
        return min((a - 1) * (a * r - epsilon) + a * math.log1p(-1 / a) - math.log(a - 1) for a in (1 + 1.01**i / 100 for i in range(1500)))

    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if above(middle) <= math.log(delta) else (low, middle)
    while not splits(low, columns - 1):
        low *= 1 - 1e-6
    return low


def splits(r, edges):
    """Reports whether the parts of rho for MST's edges do not exceed their whole by rounding. If they do, opendp 0.16.0 fails."""
    def below(x):
        return math.nextafter(x, -math.inf)

    half = below(below(r - r * 0.5))
    whole, summed = below(below(half - half * 0.9)), 0.0
    part = below(whole / edges)
    for _ in range(edges):
        exact = Fraction(summed) + Fraction(part)
        summed = float(exact) if float(exact) >= exact else math.nextafter(float(exact), math.inf)
    return summed <= whole


def synthesize(algorithm, columns, private, budget, rows):
    """Returns the bins of rows that MST or AIM draws, as opendp runs it by default."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    table = pl.DataFrame({c.name: c.bins(private[c.name]) for c in columns}).lazy()
    context = dp.Context.compositor(data=table, privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(rho=budget))
    query = context.query(rho=budget).select(*[c.name for c in columns])
    made = query.contingency_table(keys={c.name: list(range(c.size)) for c in columns},
                                   algorithm=dp.mbi.AIM() if algorithm == "aim" else dp.mbi.MST()).release()
    drawn = made.synthesize(rows)
    return {c.name: drawn[c.name].fill_null(c.size - 1).to_numpy() for c in columns}


def publish(args, private, seed):
    """Returns the labelled table that pate publishes, and its seconds."""
    with tempfile.TemporaryDirectory() as out:
        private.assign(unit=range(len(private))).to_csv(f"{out}/private.csv", index=False)
        began, before = time.perf_counter(), os.times()
        run = subprocess.run(
            [args.pate, "publish", f"{out}/private.csv", "--pool", "tree", "--ranges", args.ranges, "--label", args.label, "--unit", "unit",
             "--class-names", ",".join(sorted(private[args.label].unique())), "--size", str(len(private)), "--epsilon", str(args.epsilon),
             "--delta", str(args.delta), "--seed", str(seed), "--out", f"{out}/run"],
            capture_output=True, text=True, env={**os.environ, "GOMAXPROCS": "1"})
        after = os.times()
        if run.returncode != 0:
            raise SystemExit(run.stderr)
        seconds = after.children_user + after.children_system - before.children_user - before.children_system
        return read(f"{out}/run/private/results/table.csv"), seconds, time.perf_counter() - began


def score(columns, label, table, test, seed):
    """Returns accuracy and AUROC of a forest that is trained on a table. AUROC is None for more than two classes."""
    def encode(rows):
        parts = []
        for c in columns:
            numbers = c.edges and pd.to_numeric(rows[c.name], errors="coerce").fillna(c.edges[0] - 1).clip(c.edges[0] - 1, c.edges[-1])
            parts.append(np.eye(c.size)[c.bins(rows[c.name])] if c.edges is None else numbers.to_numpy()[:, None])
        return np.concatenate(parts, 1).astype(np.float32)

    model = RandomForestClassifier(300, min_samples_leaf=5, random_state=seed).fit(encode(table), table[label])
    p = model.predict_proba(encode(test))
    auroc = float(roc_auc_score(test[label] == model.classes_[1], p[:, 1])) if len(model.classes_) == 2 else None
    return {"accuracy": float((model.classes_[p.argmax(1)] == test[label]).mean()), "auroc": auroc}


def measure(args, method, columns, seed):
    private, test = read(args.private), read(args.test)
    classes = Column(args.label, sorted(private[args.label].unique()))
    if method == "pate":
        table, seconds, wall = publish(args, private, seed)
    elif method == "real":
        table, seconds, wall = private, 0.0, 0.0
    else:
        rng, everything, cpu, began = np.random.default_rng(seed), [*columns, classes], time.process_time(), time.perf_counter()
        bins = synthesize(method, everything, private, rho(args.epsilon, args.delta, len(everything)), len(private))
        seconds, wall = time.process_time() - cpu, time.perf_counter() - began
        table = pd.DataFrame({c.name: c.cells(bins[c.name], rng) for c in everything})
    return {**score(columns, args.label, table, test, seed), "seconds": seconds, "wall": wall, "rows": len(table),
            "most frequent": float((test[args.label] == private[args.label].value_counts().index[0]).mean())}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pate")
    parser.add_argument("private")
    parser.add_argument("test")
    parser.add_argument("--ranges", required=True)
    parser.add_argument("--label", required=True)
    parser.add_argument("--epsilon", type=float, default=1)
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    with open(args.ranges, encoding="utf-8", newline="") as file:
        columns = [Column(line[0].strip(), [c.strip() for c in line[1:]]) for line in csv.reader(file) if line and not line[0].startswith("#")]
    print("| table | rows | accuracy | AUROC | seconds |\n|---|---:|---:|---:|---:|")
    for method in args.methods:
        runs = [kept(f"{args.out}/{method}.{args.epsilon:g}.{s}.json", lambda m=method, s=s: measure(args, m, columns, s))
                for s in range(1, args.seeds + 1)]
        accuracy, auroc, seconds = ([r[k] for r in runs if r[k] is not None] for k in ("accuracy", "auroc", "seconds"))
        spread = f" ± {100 * statistics.stdev(accuracy):.1f}" if len(runs) > 1 else ""
        area = f"{statistics.mean(auroc):.3f}" if auroc else "-"
        shown = f"{100 * statistics.mean(accuracy):.1f}{spread} | {area} | {statistics.mean(seconds):.1f}"
        print(f"| {method} | {runs[0]['rows']} | {shown} |", flush=True)
    print(f"\nThe most frequent class is right in {100 * runs[0]['most frequent']:.1f} % of the test rows.")


if __name__ == "__main__":
    main()
