#!/usr/bin/env python3
"""Adds a column "hospital" to a CSV table: hospitals.py TABLE LABEL [UNIT COLUMN] > NEW.

Without UNIT there are five hospitals of unequal size, with different mixes of classes: a row of class k (in
sorted order) goes to hospital int(5 u^(1 + k mod 3)), for u uniform in [0, 1). Otherwise the hospital of a
unit is the value of COLUMN in its first row, or "other" for values of less than 2 % of the rows.
"""
import collections, csv, random, sys

table, label, *of = sys.argv[1:]
rows = list(csv.DictReader(open(table, newline="")))
classes, rnd, first = sorted({r[label] for r in rows}), random.Random(1), {}
often = collections.Counter(r[of[1]] for r in rows) if of else {}
out = csv.DictWriter(sys.stdout, [*rows[0], "hospital"], lineterminator="\n")
out.writeheader()
for r in rows:
    if of:
        r["hospital"] = first.setdefault(r[of[0]], r[of[1]] if often[r[of[1]]] >= len(rows) / 50 else "other")
    else:
        r["hospital"] = "abcde"[int(5 * rnd.random() ** (1 + classes.index(r[label]) % 3))]
    out.writerow(r)
