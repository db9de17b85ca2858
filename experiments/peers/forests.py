"""Fits forests by scikit-learn on a table of tables.py, an engine of turns.py.

    forests.py prepare FOLDER-OF-CSV TABLE FOLDER
    forests.py FOLDER

The first form writes a table for both engines, shuffled, its last rows for queries. Text is coded by its order.
"""

import csv
import json
import os
import sys

import turns

QUERIES = 5000
TABLES = {  # the class, and columns that are left out, as in tables.py
    "letter": ("letter", []), "optdigits": ("digit", []), "satellite": ("classes", []), "abalone": ("rings", []),
    "adult": ("income", ["fnlwgt"]), "diabetes": ("readmitted", ["encounter_id", "patient_nbr", "diag_1", "diag_2", "diag_3"]),
}


def prepare(source, table, folder):
    import numpy

    label, drop = TABLES[table]
    with open(os.path.join(source, table + ".csv"), encoding="utf-8", newline="") as f:
        columns = dict(zip(*(lambda head, *rows: (head, zip(*rows)))(*csv.reader(f))))
    y = numpy.unique(columns.pop(label), return_inverse=True)[1].astype("<i4")

    def coded(values):
        try:
            return numpy.array([float(v or -1) for v in values])
        except ValueError:
            return numpy.unique(values, return_inverse=True)[1]

    x = numpy.stack([coded(v) for name, v in columns.items() if name not in drop], 1).astype("<f4")
    order = numpy.random.default_rng(1).permutation(len(y))
    x[order].tofile(os.path.join(folder, "x"))
    y[order].tofile(os.path.join(folder, "y"))
    queries = min(QUERIES, len(y) // 5)
    with open(os.path.join(folder, "shape.json"), "w") as f:
        json.dump({"rows": len(y) - queries, "cols": x.shape[1], "classes": int(y.max()) + 1, "queries": queries}, f)


def main(folder):
    import numpy
    from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

    with open(os.path.join(folder, "shape.json")) as f:
        shape = json.load(f)
    x = numpy.fromfile(os.path.join(folder, "x"), "<f4").reshape(-1, shape["cols"])
    y = numpy.fromfile(os.path.join(folder, "y"), "<i4")
    queries, truth, right = x[shape["rows"]:], y[shape["rows"]:], []
    kinds = {"random forest": RandomForestClassifier, "extra trees": ExtraTreesClassifier}

    def fit(q, share):
        start = share * q["rows"] % (shape["rows"] - q["rows"] + 1)
        tried = int(numpy.ceil(shape["cols"] ** 0.5))
        forest = kinds[q["kind"]](100, max_features=tried, n_jobs=1, random_state=share)
        return forest.fit(x[start:start + q["rows"]], y[start:start + q["rows"]])

    def answer(q):
        if q["do"] == "fit":
            def once():
                q["share"] += 1
                fit(q, q["share"])
                return 1
            return turns.repeat(q["seconds"], once)
        forest = fit(q, q["share"])
        right.append((forest.predict(queries) == truth).mean())
        return {**turns.repeat(q["seconds"], lambda: len(forest.predict(queries))), "one": float(numpy.mean(right))}

    turns.serve(answer)


if __name__ == "__main__":
    prepare(*sys.argv[2:]) if sys.argv[1] == "prepare" else main(sys.argv[1])
