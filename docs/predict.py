"""Predict new rows with a student that pate exported as JSON, using only numpy.

    pate student public.csv --labels labels.csv --out student.model --export student.json
    python3 docs/predict.py student.json new.csv > predictions.csv

The file may also be student.model, which holds the same JSON between a line and a hash, or the
model of pate publish --method dpsgd. "rows" defines how cells become features. The model is a
mean of softmax regression, trees and kernels. Images are not supported, because pate computes
their features.
"""
import base64
import csv
import json
import re
import sys
from collections import Counter
from datetime import datetime, timezone

import numpy as np

MISSING = {"", "?", "NA"}


def missing(cell):
    return cell in MISSING or cell.lower() in ("nan", "n/a", "null")


# Parts of a date layout of Go, each with the same part in Python and the text that it matches.
PARTS = {"2006": ("%Y", r"\d{4}"), "Jan": ("%b", "[A-Za-z]{3}"), "01": ("%m", r"\d\d"), "02": ("%d", r"\d\d"), "2": ("%d", r"\d\d?"),
         "15": ("%H", r"\d\d"), "04": ("%M", r"\d\d"), "05": ("%S", r"\d\d"), "Z07:00": ("%z", r"(Z|[+-]\d\d:\d\d)")}


def days(layout, cell):
    """Returns the days from 1970 to a date. Any other text is a ValueError."""
    python, like = (re.sub("|".join(PARTS), lambda part: PARTS[part[0]][i], text) for i, text in enumerate((layout, re.escape(layout))))
    if not re.fullmatch(like, cell):
        raise ValueError(cell)
    when = datetime.strptime(cell, python)
    return (when if when.tzinfo else when.replace(tzinfo=timezone.utc)).timestamp() / 86400


def number(column, cell):
    """Returns the value of a cell in a numeric column."""
    if "date" in column:
        return days(column["date"], cell)
    cell = cell.lstrip("<>≤≥= ")
    if column.get("decimal_comma") or re.fullmatch(r"[+-]?\d+,\d+", cell) and not re.fullmatch(r"[+-]?\d{1,3},\d{3}", cell):
        if not re.fullmatch(r"[+-]?(\d{1,3}(\.\d{3})*|\d+)(,\d+)?", cell):
            raise ValueError(cell)
        cell = cell.replace(".", "").replace(",", ".")
    return float(cell)


def texts(space, cells):
    """Encodes texts by the words of public texts: TF-IDF, projected on directions, of one length."""
    at = {word: i for i, word in enumerate(space["words"])}
    directions = np.frombuffer(base64.b64decode(space["directions"]), "<i2").reshape(len(at), -1).astype(float)
    out = np.zeros((len(cells), space["features"]))
    for row, cell in zip(out, cells):
        words = [w for w in re.findall(r"[^\W_]+", cell) if 2 <= len(w) <= 40][:10000]
        for i, n in Counter(at[w.lower()] for w in words if w.lower() in at and not missing(cell)).items():
            row += (1 + np.log(n)) * space["weights"][i] * directions[i]
    lengths = np.sqrt((out * out).sum(axis=1, keepdims=True))
    return space["length"] * out / np.where(lengths > 0, lengths, 1)


def table(rows, lines):
    """Encodes the columns of a table in the same way as the public rows."""
    out = []
    for column in rows["encoder"]:
        cells = [line.get(column["name"], "").strip() for line in lines]
        cells = ["" if cell in rows.get("missing", []) else cell for cell in cells]
        unknown = np.array([float(missing(cell)) for cell in cells])
        if "text" in column:
            out.extend(texts(column["text"], cells).T)
        if "sd" in column:
            feature = np.zeros(len(cells))
            for i, cell in enumerate(cells):
                try:
                    value = number(column, cell)
                except ValueError:
                    unknown[i] = 1
                    continue
                if not np.isnan(value):
                    feature[i] = np.clip((value - column.get("mean", 0)) / column["sd"], -3, 3)
            out.append(feature)
        for category in column.get("categories", []):
            out.append(np.array([float(cell == category) for cell in cells]))
        if column.get("missing"):
            out.append(unknown)
    return np.array(out).T


def matrix(rows, x):
    """Scales a matrix of numbers in the same way as the public rows."""
    mean, sd = np.array(rows["scale"]["mean"]), np.array(rows["scale"]["sd"])
    z = np.clip((x - mean) / np.where(sd > 0, sd, 1), -6, 6)
    return np.where((sd > 0) & ~np.isnan(z), z, 0)


def cosines(name, x):
    """Returns columns with the cosines and sines of fixed random projections, as features/cosines.go."""
    _, count, width = name.split(":")
    pairs = int(count) // 2
    z = np.uint64(0x9E3779B97F4A7C15) * np.arange(1, 2 * x.shape[1] * pairs + 1, dtype=np.uint64)
    z = (z ^ z >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ z >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    u = ((z ^ z >> np.uint64(31)) >> np.uint64(11)) / 2.0**53
    normal = np.sqrt(-2 * np.log1p(-u[0::2])) * np.cos(2 * np.pi * u[1::2])
    angles = x @ normal.reshape(-1, pairs) / float(width)
    return np.hstack([x, np.sqrt(x.shape[1] / pairs) * np.hstack([np.cos(angles), np.sin(angles)])])


def softmax(z):
    e = np.exp(z - z.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def squared(x):
    return (x * x).sum(axis=1)


def linear(m, x):
    return softmax(x @ np.array(m["weights"]).T + np.array(m["bias"]))


def kernel(m, x):
    if "centre" in m:
        z = np.clip((x - np.array(m["centre"])) * m["scale"], -m["limit"], m["limit"]) @ np.array(m["directions"])
    else:
        z = x
    landmarks = np.array(m["landmarks"])
    distance = np.maximum(0, squared(z)[:, None] + squared(landmarks)[None, :] - 2 * z @ landmarks.T)
    return np.exp(-m["gamma"] * distance) @ np.array(m["coefficients"]) + np.array(m["intercept"])


def trees(m, x):
    column, threshold, right = (np.array(m[k]) for k in ("column", "threshold", "right"))
    prior = m.get("prior", [])
    scores = np.tile(np.array(prior) if prior else np.zeros(len(m["classes"])), (len(x), 1))
    ends = np.concatenate([[0], m.get("ends", [])]).astype(int)
    for t, root in enumerate(m["roots"]):
        node = np.full(len(x), root)
        while True:
            inner = np.flatnonzero(column[node] >= 0)
            if len(inner) == 0:
                break
            at = node[inner]
            node[inner] = np.where(x[inner, column[at]] <= threshold[at], at + 1, right[at])
        if prior:
            scores[:, t % len(prior)] += threshold[node]
            continue
        for i, leaf in enumerate(right[node]):
            for e in range(ends[leaf], ends[leaf + 1]):
                scores[i, m["leaf_class"][e]] += m["share"][e] / len(m["roots"])
    if len(prior) == 1:
        scores = np.column_stack([np.zeros(len(x)), scores])
    return softmax(scores) if prior else scores


def score(model, x, classes):
    """Returns a score for each row and class."""
    (kind, m), = model.items()
    out = np.zeros((len(x), classes))
    if kind == "constant":
        out[:, m["class"]] = 1
    elif kind == "mean":
        for member in m["members"]:
            p = np.clip(score(member["model"], x, classes), 0, 1)
            total = p.sum(axis=1, keepdims=True)
            p = np.where(total > 0, p / np.where(total > 0, total, 1), p)
            p = (p + m["doubt"]) ** member["power"]
            out += member["weight"] * p / p.sum(axis=1, keepdims=True)
    else:
        out[:, m["classes"]] = {"linear": linear, "kernel": kernel, "trees": trees}[kind](m, x)
    return out


def predict(document, path):
    """Returns the probabilities of all classes for each row of a CSV or NPY file."""
    rows = document["rows"]
    if not re.fullmatch(r"raw(\+cosines:.*)?", document["features"]):
        raise ValueError("features %s are made by pate" % document["features"])
    if path.endswith(".npy"):
        x = matrix(rows, np.load(path))
    else:
        with open(path, newline="") as f:
            x = table(rows, list(csv.DictReader(f)))
    # Trees compare features in float32. The arithmetic is float64.
    x = x.astype(np.float32).astype(np.float64)
    if document["features"] != "raw":
        x = cosines(document["features"], x)
    return score(document["model"], x, len(document["classes"]))


def load(path):
    """Reads a model file or a JSON file."""
    magic = b"pate student 1\n"
    with open(path, "rb") as f:
        text = f.read()
    return json.loads(text[len(magic):-32] if text.startswith(magic) else text)


if __name__ == "__main__":
    document = load(sys.argv[1])
    probabilities = predict(document, sys.argv[2])
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["row", "label"] + ["p(%s)" % c for c in document["classes"]])
    for i, p in enumerate(probabilities):
        out.writerow([i, document["classes"][int(p.argmax())]] + ["%.6f" % v for v in p])
