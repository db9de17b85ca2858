"""Counts the votes of 100 teachers on many queries twice: in DuckDB, by the SQL of `pate votes sql`,
and from a file, by `pate votes counts`; the counts must be the same bytes.

    pip install duckdb numpy
    python docs/many-votes.py 1000000             # queries; 100 votes each
    python docs/many-votes.py 10000000 --files    # without DuckDB

Votes are made on the fly by one formula, in SQL and in NumPy. For each step it prints the
seconds of processor and of clock, and the most memory that its process held.
"""

import os
import subprocess
import sys
import tempfile
import time

TEACHERS, CLASSES, BLOCK = 100, 10, 100_000


def in_duckdb(queries: int, folder: str) -> None:
    """Runs the SQL on a view of the votes."""
    import duckdb

    text = subprocess.run(
        ["pate", "votes", "sql", "--dialect", "duckdb", "--table", "votes", "--query-column", "q", "--teacher-column", "t", "--vote-column", "v",
         "--classes", str(CLASSES), "--teachers", str(TEACHERS), "--pool-table", "pool", "--part", "export", "--file", f"{folder}/duckdb.csv"],
        check=True, capture_output=True, text=True,
    ).stdout
    base = duckdb.connect(f"{folder}/votes.duckdb")
    base.execute(f"SET memory_limit='1200MB'; SET threads=2; SET temp_directory='{folder}/spill'")
    base.execute(f"CREATE VIEW pool AS SELECT range AS q FROM range({queries})")
    base.execute(f"""CREATE VIEW votes AS SELECT q, t, CASE WHEN x % 1000 < 20 THEN -1 WHEN x % 1000 < 300 THEN x // 1000 % {CLASSES} ELSE q % {CLASSES} END AS v
        FROM (SELECT a.range AS q, b.range AS t, (((a.range * {TEACHERS} + b.range)::UBIGINT * 2654435761) % 4294967296) // 4096 AS x
              FROM range({queries}) a, range({TEACHERS}) b)""")
    base.execute(text)


def to_npy(queries: int, folder: str) -> None:
    """Writes the votes as NPY, a block at a time."""
    import numpy as np

    with open(f"{folder}/votes.npy", "wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|i1", "fortran_order": False, "shape": (queries, TEACHERS)})
        for first in range(0, queries, BLOCK):
            q = np.arange(first, min(first + BLOCK, queries), dtype=np.uint64)[:, None]
            x = (q * np.uint64(TEACHERS) + np.arange(TEACHERS, dtype=np.uint64)) * np.uint64(2654435761) % np.uint64(1 << 32) >> np.uint64(12)
            vote = np.where(x % 1000 < 300, x // 1000 % CLASSES, q % CLASSES).astype(np.int8)
            vote[x % 1000 < 20] = -1
            file.write(vote.tobytes())


def measured(what: str, command: list[str]) -> None:
    """Runs a command and prints what it took."""
    began = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    assert status == 0, command
    print(f"{what}: {usage.ru_utime + usage.ru_stime:.1f} s of processor, {time.monotonic() - began:.1f} s, {usage.ru_maxrss / 1024:.0f} MB", flush=True)


def main(queries: int, files: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        step = [sys.executable, __file__, str(queries), folder]
        measured("votes by NumPy", [*step, "npy"])
        measured("pate votes counts", ["pate", "votes", "counts", f"{folder}/votes.npy", "--classes", str(CLASSES), "--out", f"{folder}/counts.csv", "--quiet"])
        os.remove(f"{folder}/votes.npy")
        if not files:
            measured("DuckDB", [*step, "duckdb"])
            same = subprocess.run(["cmp", f"{folder}/counts.csv", f"{folder}/duckdb.csv"]).returncode == 0
            print(f"the counts of {queries * TEACHERS:.0e} votes are the same bytes" if same else "THE COUNTS DIFFER", flush=True)
            assert same
        measured("pate label", ["pate", "label", f"{folder}/counts.csv", "--counts", "--teachers", str(TEACHERS), "--classes", str(CLASSES), "--mechanism", "gnmax",
                                "--sigma", "1000", "--epsilon", str(queries), "--force", "--ledger", f"{folder}/run.jsonl", "--out", f"{folder}/labels.csv", "--quiet"])


if __name__ == "__main__":
    if len(sys.argv) == 4:
        {"npy": to_npy, "duckdb": in_duckdb}[sys.argv[3]](int(sys.argv[1]), sys.argv[2])
    else:
        main(int(sys.argv[1]), sys.argv[2:] == ["--files"])
