"""Writes the votes of this folder: pip install pyarrow numpy && python make.py

All but odd, grows and timestamps mean the same votes of 4 teachers on 5 queries, of 3 classes.
"""
import sys

import numpy as np
import pyarrow as pa
from pyarrow import feather, ipc

out = sys.argv[1] if len(sys.argv) > 1 else "."
votes = np.array([[0, 1, 2, 2], [1, 1, 1, 0], [2, 2, 0, 2], [0, 0, 0, 1], [2, 1, 2, 2]])
names = ["t0", "t1", "t2", "t3"]
words = np.array(["flu", "hay fever", "gout"])


def table(types, cells=votes):
    return pa.table([pa.array(list(cells[:, t]), type) for t, type in enumerate(types)], names=names)


def stream(name, t, rows=None, **options):
    with ipc.new_stream(f"{out}/{name}", t.schema, options=ipc.IpcWriteOptions(**options)) as w:
        w.write_table(t, max_chunksize=rows)


def file(name, t, rows=None, **options):
    with ipc.new_file(f"{out}/{name}", t.schema, options=ipc.IpcWriteOptions(**options)) as w:
        w.write_table(t, max_chunksize=rows)


stream("whole.arrows", table([pa.int8(), pa.uint16(), pa.int64(), pa.uint64()]), rows=2)
file("floats.arrow", table([pa.float16(), pa.float32(), pa.float64(), pa.int32()]), rows=3)
feather.write_feather(table([pa.int64()] * 4), f"{out}/lz4.feather", compression="lz4")
file("zstd.arrow", table([pa.int64(), pa.uint8(), pa.int16(), pa.uint32()]), compression="zstd")
file("words.arrow", table([pa.string(), pa.large_string(), pa.string(), pa.large_string()], words[votes]), rows=2)
dictionary = pa.dictionary(pa.int8(), pa.string())
stream("dictionary.arrows", table([dictionary, pa.dictionary(pa.uint32(), pa.large_string()), pa.string(), dictionary], words[votes]), rows=2, compression="lz4")
counts = np.array([np.bincount(row, minlength=3) for row in votes])
stream("counts.arrows", pa.table([pa.array(counts[:, k]) for k in range(3)], names=["a", "b", "c"]))
missing = [pa.array([1, None, 0]), pa.array([None, None, None]), pa.array([True, False, None]), pa.array(["0", "1", None])]
file("missing.arrow", pa.table(missing, names=names), compression="zstd")
feather.write_feather(pa.table([pa.array([.2, .9]), pa.array([.8, .1]), pa.array([.3, .6])], names=["p0", "p1", "p2"]), f"{out}/odd.feather", compression="uncompressed")
stream("timestamps.arrows", pa.table([pa.array([1, 2], pa.timestamp("s"))], names=["when"]))
schema = pa.schema([("t0", pa.dictionary(pa.int8(), pa.string()))])
with ipc.new_stream(f"{out}/grows.arrows", schema, options=ipc.IpcWriteOptions(emit_dictionary_deltas=True)) as w:
    for names in (["flu"], ["flu", "gout"]):
        w.write_batch(pa.record_batch([pa.DictionaryArray.from_arrays(pa.array([len(names) - 1], pa.int8()), pa.array(names))], schema=schema))
