#!/usr/bin/env python3
"""Judges what `pate publish` chooses on the held-back tables of tables.py, beside models without privacy and DP-EBM.

    venv/bin/pip install "interpret-core==0.7.8" scikit-learn pandas
    for s in 1 2 3 4 5; do venv/bin/python experiments/peers/tables.py CSV --out tables/$s --seed $s; done
    venv/bin/python experiments/peers/judge.py pate tables --seeds 5 --out results

Every method publishes a model of private.csv and public.csv, which is scored on test.csv. A seed has its own split.
One file a run is kept in --out, and a repeated call goes on. DP-EBM (Nori, Bu, Nagarajan, Caruana 2021; its
defaults) offers two classes alone; the range of a public column is its privacy bound.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import tempfile

METHODS = ["dpsgd", "nearest", "sample", "pate"]
EPSILONS = ["1", "2", "8"]


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def publish(pate, folder, about, seed, epsilon, method):
    """Returns the method of a publication and the share of test rows that its model predicts; None if it was refused."""
    with tempfile.TemporaryDirectory() as out:
        run = subprocess.run(
            [pate, "publish", f"{folder}/private.csv", "--public", f"{folder}/public.csv", "--label", "class", "--unit", "row",
             "--class-names", ",".join(about["classes"]), "--size", str(about["size"]), "--epsilon", epsilon,
             "--method", method, "--seed", str(seed), "--format", "json", "--out", f"{out}/run"], capture_output=True, text=True)
        if run.returncode == 4:  # no plan is good enough, and nothing was charged
            return {"method": method, "accuracy": None}
        run.check_returncode()
        model = next(os.path.join(at, f) for at, _, files in os.walk(f"{out}/run") for f in files if f == "student.model")
        subprocess.run([pate, "predict", model, f"{folder}/test.csv", "--out", f"{out}/p.csv"], check=True, capture_output=True)
        predicted = [r["label"] for r in rows(f"{out}/p.csv")]
        return {"method": json.loads(run.stdout)["method"], "accuracy": right(predicted, [r["class"] for r in rows(f"{folder}/test.csv")])}


def right(predicted, labels):
    return statistics.mean(a == b for a, b in zip(predicted, labels, strict=True))


def encode(folder):
    """Returns private and test features, labels, and the columns: names, kinds and public ranges."""
    import numpy as np
    import pandas as pd

    private, public, test = (pd.read_csv(f"{folder}/{f}.csv", dtype=str, keep_default_na=False) for f in ("private", "public", "test"))
    names, kinds, bounds, plain, mixed = [], [], {}, [], []
    for c in public.columns.drop("row"):
        numbers, given = pd.to_numeric(public[c], errors="coerce"), public[c] != ""
        names.append(c)
        if numbers[given].notna().all() and public[c].nunique() > 2:
            bounds[c] = (float(numbers.min()), float(numbers.max()))
            cells = [np.clip(pd.to_numeric(d[c], errors="coerce").fillna(numbers.median()).to_numpy(float), *bounds[c]) for d in (private, test)]
            scaled = [(x - numbers.mean()) / (numbers.std() or 1) for x in cells]
            kinds.append("continuous")
            plain.append([x[:, None] for x in scaled])
            mixed.append([x.astype(object) for x in cells])
        else:
            kinds.append("nominal")
            plain.append([np.stack([d[c] == v for v in public[c].value_counts().index[:64]], 1) for d in (private, test)])
            mixed.append([d[c].to_numpy(object) for d in (private, test)])
    x = [np.concatenate([p[i] for p in plain], 1).astype(float) for i in range(2)]
    m = [np.stack([p[i] for p in mixed], 1) for i in range(2)]
    return x, m, private["class"], test["class"], {"feature_names": names, "feature_types": kinds, "privacy_bounds": bounds}


def peers(folder, seed):
    """Returns the accuracy of the most frequent class, of models without privacy, and of DP-EBM."""
    from interpret.privacy import DPExplainableBoostingClassifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression

    x, mixed, y, test, columns = encode(folder)
    r = {"majority": float((test == y.value_counts().index[0]).mean())}
    for name, model in ("forest", RandomForestClassifier(200, random_state=seed)), ("logistic", LogisticRegression(max_iter=500)):
        r[name] = float(model.fit(x[0], y).score(x[1], test))
    for epsilon in EPSILONS if y.nunique() == 2 else []:
        model = DPExplainableBoostingClassifier(epsilon=float(epsilon), delta=1e-5, random_state=seed, n_jobs=1, **columns)
        r["ebm" + epsilon] = right(model.fit(mixed[0], y).predict(mixed[1]), test)
    return r


def kept(path, run):
    """Returns the result in a file, or runs and keeps it."""
    if not os.path.exists(path):
        result = run()
        with open(path, "w", encoding="utf-8") as file:
            json.dump(result, file)
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def percent(values):
    values = [v for v in values if v is not None]
    return f"{100 * statistics.mean(values):.1f}" if values else "-"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pate")
    parser.add_argument("tables", help="folder with a folder of tables for each seed")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    print("| table, private rows, classes | most frequent | " + " | ".join(f"`{m}`" for m in METHODS) + " | DP-EBM | logistic, forest |")
    print("|---|---:|" + "---|" * 6)
    near = cells = 0
    for t in sorted(os.listdir(os.path.join(args.tables, "1"))):
        with open(os.path.join(args.tables, "1", t, "about.json"), encoding="utf-8") as file:
            about = json.load(file)
        if not about["held_back"]:
            continue
        seeds = range(1, args.seeds + 1)
        at = {s: os.path.join(args.tables, str(s), t) for s in seeds}
        others = [kept(f"{args.out}/sk.{t}.{s}.json", lambda s=s: peers(at[s], s)) for s in seeds]
        shown = {m: [] for m in [*METHODS, "ebm"]}
        for e in EPSILONS:
            def run(m, s, e=e):
                return kept(f"{args.out}/{t}.{s}.{e}.{m}.json", lambda: publish(args.pate, at[s], about, s, e, m))
            auto = run("auto", 1)["method"]
            got = {m: percent(run(m, s).get("accuracy") for s in seeds) for m in METHODS}
            cells, best = cells + 1, max(float(v) for v in got.values() if v != "-")
            near += float(got[auto]) >= best - 1
            for m in METHODS:
                shown[m].append(f"**{got[m]}**" if m == auto else got[m])
            shown["ebm"].append(percent(o.get("ebm" + e) for o in others))
        ebm = "" if shown["ebm"][0] == "-" else " ".join(shown["ebm"])
        line = [percent(o["majority"] for o in others), *(" ".join(shown[m]) for m in METHODS), ebm]
        line.append(", ".join(percent(o[k] for o in others) for k in ("logistic", "forest")))
        print(f"| {t}, {about['size']}, {len(about['classes'])} | " + " | ".join(line) + " |", flush=True)
    print(f"\nWithin 1.0 point of the best of the four: {near} of {cells}.")


if __name__ == "__main__":
    main()
