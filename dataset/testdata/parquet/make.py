"""Writes the tables of this folder: pip install pandas pyarrow && python make.py

people.csv and people.parquet are one table. groups.parquet is the same in many row groups,
otherwise compressed. gap.parquet has one more row, in which an integer is missing, so that
pandas makes floats of its column. index.parquet has the row numbers of a table that was
shuffled. dates.parquet has a column of timestamps more.
labels.parquet and units.parquet have one column each, for thirty rows of numbers.
"""
import sys

import numpy as np
import pandas as pd

out = sys.argv[1] if len(sys.argv) > 1 else "."
rng = np.random.default_rng(7)
n = 60
people = pd.DataFrame({
    "patient": ["p%02d" % v for v in rng.integers(0, 30, n)],
    "age": rng.integers(20, 90, n),
    "weight": np.round(rng.normal(70, 12, n), 3) + 0.0005,
    "ward": rng.choice(["north", "south, old", 'the "new"'], n),
    "smoker": rng.integers(0, 2, n).astype(bool),
    "visits": rng.integers(0, 9, n).astype("int8"),
    "outcome": rng.choice(["ill", "well"], n),
})
people.loc[5, "ward"] = None
people.loc[9, "weight"] = np.nan
people.to_csv(f"{out}/people.csv", index=False)
people.to_parquet(f"{out}/people.parquet")
people.to_parquet(f"{out}/groups.parquet", row_group_size=7, compression="zstd", use_dictionary=False, data_page_version="2.0")
more = pd.concat([people.astype({"age": "Int64"}), pd.DataFrame({"patient": ["p99"], "age": [None], "weight": [61.0625], "ward": ["north"], "smoker": [True], "visits": [1], "outcome": ["ill"]})], ignore_index=True)
more.astype({"age": "float64", "visits": "int8", "smoker": bool}).to_parquet(f"{out}/gap.parquet")
people.sample(frac=1, random_state=1).to_parquet(f"{out}/index.parquet")
people.assign(seen=pd.Timestamp("2024-02-03")).to_parquet(f"{out}/dates.parquet")
pd.DataFrame({"y": np.arange(30) % 3}).to_parquet(f"{out}/labels.parquet")
pd.DataFrame({"unit": ["p%02d" % (i // 2) for i in range(30)]}).to_parquet(f"{out}/units.parquet")
