"""Writes the votes of this folder: pip install pandas pyarrow && python make.py

All but twoclass, odd and long mean the same votes of 4 teachers on 5 queries, of 3 classes.
"""
import gzip
import sys

import numpy as np
import pandas as pd

out = sys.argv[1] if len(sys.argv) > 1 else "."
votes = np.array([[0, 1, 2, 2], [1, 1, 1, 0], [2, 2, 0, 2], [0, 0, 0, 1], [2, 1, 2, 2]])
names = ["t0", "t1", "t2", "t3"]
table = pd.DataFrame(votes, columns=names)
table.to_parquet(f"{out}/int64.parquet")
table.astype("int8").to_parquet(f"{out}/int8.parquet", compression="zstd", row_group_size=2, use_dictionary=False)
table.astype("float32").to_parquet(f"{out}/float32.parquet", compression="gzip")
words = table.map(lambda v: ["flu", "hay fever", "gout"][v])
words.to_parquet(f"{out}/words.parquet")
words.astype("category").sample(frac=1, random_state=2).sort_index().iloc[[0, 1, 2, 3, 4]].set_axis([7, 8, 6, 5, 9]).to_parquet(f"{out}/index.parquet")
pd.DataFrame([np.bincount(row, minlength=3) for row in votes], columns=["a", "b", "c"]).to_parquet(f"{out}/counts.parquet")
with open(f"{out}/int64.parquet.gz", "wb") as f:
    f.write(gzip.compress(open(f"{out}/int64.parquet", "rb").read(), mtime=0))
missing = table.astype("Int8")
missing.iloc[1, 2] = None
missing.to_parquet(f"{out}/missing.parquet")
(table == 1).to_parquet(f"{out}/twoclass.parquet")
pd.DataFrame({"p0": [.2, .9], "p1": [.8, .1], "p2": [.3, .6]}).to_parquet(f"{out}/odd.parquet")
table.rename_axis("query").reset_index().melt("query", var_name="teacher", value_name="vote").to_parquet(f"{out}/long.parquet")
table.to_feather(f"{out}/table.feather")
