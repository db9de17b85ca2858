#!/usr/bin/env python3
"""Makes the tables that the rule of `pate publish` was fitted on and judged by.

Each becomes a folder with private.csv (65 %), public.csv (20 %, without the class), test.csv (15 %) and
about.json. Rows are drawn by a seed, and column "row" names the unit. A table is a CSV file of an R or Python
package; R writes one by `write.csv(d, file, row.names=FALSE, na="")`.

    python3 experiments/peers/tables.py FOLDER-OF-CSV --out tables --seed 1
"""

import argparse
import json
import os

import pandas as pd

# name: (package and data, class, dropped columns, most rows)
FIT = {
    "adult": ("UCI adult", "income", ["fnlwgt"], 0),
    "abalone": ("UCI abalone", "rings", [], 0),
    "letter": ("UCI letter recognition", "letter", [], 0),
    "optdigits": ("UCI optdigits", "digit", [], 0),
    "diabetes": ("UCI diabetes-130", "readmitted", ["encounter_id", "patient_nbr", "diag_1", "diag_2", "diag_3"], 20_000),
    "satellite": ("R mlbench Satellite", "classes", [], 0),
    "dna": ("R mlbench DNA", "Class", [], 0),
    "digits": ("sklearn load_digits", "digit", [], 0),
    "gss": ("R forcats gss_cat", "marital", [], 0),
    "chile": ("R carData Chile", "vote", [], 0),
    "lending": ("R modeldata lending_club", "Class", [], 0),
    "fair": ("statsmodels fair", "affair", [], 0),
    "bananas": ("river Bananas", "class", [], 0),
    "waveform": ("R mlbench.waveform(5000), seed 1", "class", [], 0),
    "ringnorm": ("R mlbench.ringnorm(5000, 20), seed 1", "class", [], 0),
    "rotterdam": ("R survival rotterdam", "class", [], 0),
    "flchain": ("R survival flchain", "class", [], 0),
}
HELD_BACK = {
    "spam": ("R kernlab spam", "type", [], 0),
    "income": ("R kernlab income", "INCOME", [], 0),
    "churn": ("R modeldata mlc_churn", "churn", [], 0),
    "hpc": ("R modeldata hpc_data", "class", [], 0),
    "cells": ("R modeldata cells", "class", ["case"], 0),
    "credit": ("R modeldata credit_data", "Status", [], 0),
    "storms": ("R dplyr storms", "status", ["name", "category"], 0),
    "segments": ("river ImageSegments", "category", [], 0),
    "shuttle": ("R mlbench Shuttle", "Class", [], 50_000),
    "wvs": ("R carData WVS", "poverty", [], 0),
    "verbagg": ("R lme4 VerbAgg", "resp", ["id", "r2"], 0),
    "diamonds": ("R ggplot2 diamonds", "cut", [], -30_000),
}


def read(path, label, drop, most):
    """Returns a table with column "row"; a negative limit draws rows instead of taking the first."""
    d = pd.read_csv(path, dtype=str, keep_default_na=False)
    d = d[~d[label].isin(["", "No answer"])].drop(columns=drop)
    if most > 0:
        d = d.head(most)
    if most < 0 and len(d) > -most:
        d = d.sample(-most, random_state=1)
    d[label] = d[label].str.strip("[)-")  # "-10.000)" would be a formula in a spreadsheet
    d = d.reset_index(drop=True)
    return d.rename(columns={label: "class"})


def parts(d, seed):
    """Returns private, public and test rows."""
    d = d.sample(frac=1, random_state=seed).reset_index(drop=True)
    d.insert(0, "row", [f"s{seed}r{i}" for i in range(len(d))])
    a, b = round(0.65 * len(d)), round(0.85 * len(d))
    return d[:a], d[a:b], d[b:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("csv", help="folder with NAME.csv of each table")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="also write all.csv, for pate compare --unit row")
    args = parser.parse_args()
    for name, (source, label, drop, most) in {**FIT, **HELD_BACK}.items():
        path = os.path.join(args.csv, name + ".csv")
        if not os.path.exists(path):
            print(f"{name}: no {path}; source: {source}")
            continue
        d = read(path, label, drop, most)
        private, public, test = parts(d, args.seed)
        folder = os.path.join(args.out, name)
        os.makedirs(folder, exist_ok=True)
        private.to_csv(os.path.join(folder, "private.csv"), index=False)
        public.drop(columns="class").to_csv(os.path.join(folder, "public.csv"), index=False)
        test.to_csv(os.path.join(folder, "test.csv"), index=False)
        if args.whole:
            pd.concat([private, public, test]).to_csv(os.path.join(folder, "all.csv"), index=False)
        about = {"source": source, "classes": sorted(d["class"].unique()), "size": len(private), "held_back": name in HELD_BACK}
        with open(os.path.join(folder, "about.json"), "w", encoding="utf-8") as file:
            json.dump(about, file, indent=1)
        print(f"{name}: {len(d)} rows, {d.shape[1] - 1} columns, {len(about['classes'])} classes")


if __name__ == "__main__":
    main()
