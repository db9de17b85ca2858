"""Writes the fixtures of this folder: pip install pandas pyarrow && python make.py

wide.csv holds what wide-*.parquet must read as, in the words of the package's comment.
"""
import datetime
import itertools
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

out = sys.argv[1] if len(sys.argv) > 1 else "."
rng = np.random.default_rng(1)
n = 67


def gaps(values, every):
    return [None if i % every == 3 else v for i, v in enumerate(values)]


def text(v):
    if v is None:
        return ""
    if isinstance(v, (bool, np.bool_)):
        return str(bool(v))
    if isinstance(v, (float, np.floating)):
        if v != v:
            return ""
        if np.isinf(v):
            return "inf" if v > 0 else "-inf"
        s = repr(float(v)) if isinstance(v, float) else str(v)
        return s[:-2] if s.endswith(".0") else s
    return str(v)


words = ["", "a,b", 'say "hi"', "Zürich", "日本", "line\nbreak", "x" * 40] + ["w%d" % i for i in range(9)]
columns = {
    "int8": pa.array(gaps([int(v) for v in rng.integers(-128, 128, n)], 5), pa.int8()),
    "int16": pa.array([int(v) for v in rng.integers(-30000, 30000, n)], pa.int16()),
    "int32": pa.array([(-2**31, 2**31 - 1)[i % 2] if i < 4 else i * i for i in range(n)], pa.int32()),
    "int64": pa.array(gaps([(-2**63, 2**63 - 1)[i % 2] if i < 8 else -i for i in range(n)], 7), pa.int64()),
    "uint8": pa.array([i * 3 % 256 for i in range(n)], pa.uint8()),
    "uint16": pa.array(gaps([65535 - i for i in range(n)], 6), pa.uint16()),
    "uint32": pa.array([2**32 - 1 - i for i in range(n)], pa.uint32()),
    "uint64": pa.array(gaps([2**64 - 1 - i for i in range(n)], 4), pa.uint64()),
    "float": pa.array(gaps([np.float32(v) for v in rng.normal(size=n)], 9), pa.float32()),
    "double": pa.array([float("nan"), float("inf"), -float("inf"), 0.0, 3.0, 1e15, 1e16, 1e-4, 1e-5, 123456.75, 5e-324, 1.7976931348623157e308]
                       + [float(v) for v in rng.normal(size=n - 12)], pa.float64()),
    "bool": pa.array(gaps([bool(v) for v in rng.integers(0, 2, n)], 8), pa.bool_()),
    "date": pa.array(gaps([datetime.date(1969, 12, 25) + datetime.timedelta(days=37 * i) for i in range(n)], 11), pa.date32()),
    "text": pa.array(gaps([words[int(v)] for v in rng.integers(0, len(words), n)], 10), pa.string()),
    "always": pa.array([words[i % 7] for i in range(n)], pa.large_string()),
    "category": pa.array(gaps([("red", "green", "blue")[i % 3] for i in range(n)], 13), pa.string()).dictionary_encode(),
    "nothing": pa.nulls(n),
    "missing": pa.array([None] * n, pa.float64()),
}
table = pa.table(columns)
pd.DataFrame({k: [text(np.float32(v) if k == "float" and v is not None else v) for v in c.to_pylist()] for k, c in columns.items()}).to_csv(f"{out}/wide.csv", index=False)

plain = dict(use_dictionary=False)
delta = {k: ("DELTA_BINARY_PACKED" if pa.types.is_integer(c.type) or pa.types.is_date(c.type) else "BYTE_STREAM_SPLIT" if pa.types.is_floating(c.type)
             else "RLE" if pa.types.is_boolean(c.type) else "DELTA_LENGTH_BYTE_ARRAY" if k == "text" else "DELTA_BYTE_ARRAY") for k, c in columns.items() if k not in ("nothing", "category")}
split = {k: "BYTE_STREAM_SPLIT" for k, c in columns.items() if pa.types.is_integer(c.type) and c.type.bit_width >= 32}
for name, options in {
    "default": {},
    "none": dict(compression="none", **plain),
    "gzip": dict(compression="gzip", row_group_size=20),
    "zstd": dict(compression="zstd", data_page_version="2.0", row_group_size=33),
    "lz4": dict(compression="lz4", data_page_size=64, write_page_checksum=True),
    "delta": dict(compression="snappy", column_encoding=delta, data_page_version="2.0", data_page_size=100, **plain),
    "split": dict(compression="none", column_encoding=split, data_page_version="1.0", version="1.0" if False else "2.6", **plain),
}.items():
    pq.write_table(table, f"{out}/wide-{name}.parquet", **options)

# What is refused, each beside a column that is read.
import decimal
odd = {
    "timestamps": pa.array([datetime.datetime(2020, 1, 1)] * 3, pa.timestamp("us")),
    "times": pa.array([datetime.time(1, 2)] * 3, pa.time64("us")),
    "decimals": pa.array([decimal.Decimal("1.50")] * 3, pa.decimal128(9, 2)),
    "lists": pa.array([[1], [2, 3], None], pa.list_(pa.int64())),
    "structures": pa.array([{"a": 1, "b": 2}] * 3),
    "bytes": pa.array([b"x"] * 3, pa.binary()),
    "half": pa.array([np.float16(1.5)] * 3, pa.float16()),
}
pq.write_table(pa.table({**odd, "fine": pa.array([1, 2, 3])}), f"{out}/odd.parquet", compression="none")
pq.write_table(pa.table({"a": pa.array([1, 2, 3])}), f"{out}/brotli.parquet", compression="brotli")
