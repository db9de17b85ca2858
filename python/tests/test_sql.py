"""Runs what `pate votes sql` prints in databases, on votes that are right and on votes that are not.

DuckDB is a Python package; PostgreSQL and Spark are used where the machine has them.
"""

from __future__ import annotations

import csv
import glob
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Iterator

import numpy as np
import pytest

import pate_go

Q, T, C = 120, 70, 4  # more teachers than one number has bits
WRONG = {
    "voted twice": [(5, 3, 1)],
    "twice on one query": [(5, 66, None)],
    "more than 70 teachers": [(5, 70, 1)],
    "none of the classes": [("delete", 5, 3), (5, 3, 4)],
    "without a query or a teacher": [(None, 4, 1)],
    "not in the pool": [(Q, 4, 1)],
}


def rows() -> list[tuple]:
    """Returns votes of 70 teachers on 120 queries; some abstain, nobody votes on query 7."""
    random = np.random.default_rng(4)
    out = []
    for q in range(Q):
        for t in range(T):
            if q == 7:
                continue
            vote = (q + (random.random() < 0.3)) % C
            out.append((q, t, [int(vote), None, -1][int(random.choice(3, p=[0.9, 0.05, 0.05]))]))
    return out


def expected(votes: list[tuple]) -> list[list[int]]:
    counts = np.zeros((Q, C), int)
    for q, _, v in votes:
        if v is not None and v >= 0:
            counts[q, v] += 1
    return counts.tolist()


def damaged(change: list[tuple]) -> list[tuple]:
    """Returns the votes with rows added, the row of ("delete", q, t) taken out before."""
    votes = rows()
    for row in change:
        votes = [v for v in votes if v[:2] != tuple(row[1:])] if row[0] == "delete" else [*votes, row]
    return votes


def sql(dialect: str, part: str, file: str = "counts.csv") -> str:
    return subprocess.run(
        [pate_go.binary(), "votes", "sql", "--dialect", dialect, "--table", "votes", "--query-column", "q", "--teacher-column", "t",
         "--vote-column", "v", "--classes", str(C), "--teachers", str(T), "--pool-table", "pool", "--part", part, "--file", file],
        check=True, capture_output=True, text=True,
    ).stdout


def read(path: str) -> str:
    with open(path, newline="") as file:
        return file.read()


def parsed(text: str) -> list[list[int]]:
    return [[int(cell) for cell in line] for line in csv.reader(text.splitlines())]


def counted(votes: list[tuple], folder: Path) -> str:
    """Returns what `pate votes counts` makes of the same votes, in a file for each teacher."""
    files = []
    for t in range(T):
        column = np.full(Q, -1, np.int8)
        for q, teacher, v in votes:
            if teacher == t and v is not None:
                column[q] = v
        files.append(str(folder / f"teacher-{t:03}.npy"))
        np.save(files[-1], column)
    out = folder / "counted.csv"
    subprocess.run([pate_go.binary(), "votes", "counts", *files, "--classes", str(C), "--out", str(out), "--quiet"], check=True)
    return read(str(out))


class DuckDB:
    def __init__(self, folder: Path) -> None:
        duckdb = pytest.importorskip("duckdb")
        self.connection, self.folder = duckdb.connect(), folder

    def load(self, votes: list[tuple]) -> None:
        self.connection.execute("CREATE OR REPLACE TABLE votes (q INTEGER, t INTEGER, v INTEGER)")
        self.connection.executemany("INSERT INTO votes VALUES (?, ?, ?)", votes)
        self.connection.execute(f"CREATE OR REPLACE TABLE pool AS SELECT range AS q FROM range({Q})")

    def checks(self) -> list[str]:
        return [row[0] for row in self.connection.execute(sql("duckdb", "checks")).fetchall()]

    def export(self) -> str:
        file = str(self.folder / "counts.csv")
        self.connection.execute(sql("duckdb", "export", file))
        return read(file)


class Postgres:
    """A server of its own in a folder, which listens on a socket there only."""

    def __init__(self, _: Path) -> None:
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
        if not found or not shutil.which("psql"):
            pytest.skip("there is no PostgreSQL server")
        if os.geteuid() == 0 and not shutil.which("runuser"):
            pytest.skip("PostgreSQL does not run as root, and there is no runuser")
        # Not in pytest's folder, which another user may not enter; and the name of a socket is short.
        folder = Path(tempfile.mkdtemp(prefix="pate-", dir="/tmp"))
        self.bin, self.folder, self.data = Path(found[-1]).parent, folder, folder / "data"
        self.user = []
        if os.geteuid() == 0:
            self.user = ["runuser", "-u", "postgres", "--"]
            shutil.chown(folder, "postgres")
        self.call(str(self.bin / "initdb"), "-D", str(self.data), "-A", "trust", "-U", "postgres")
        self.call(str(self.bin / "pg_ctl"), "-D", str(self.data), "-w", "-l", str(folder / "log"), "-o", f"-c listen_addresses='' -k {folder}", "start")

    def call(self, *command: str, stdin: str | None = None) -> str:
        done = subprocess.run([*self.user, *command], input=stdin, capture_output=True, text=True, cwd=self.folder)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout

    def stop(self) -> None:
        self.call(str(self.bin / "pg_ctl"), "-D", str(self.data), "-m", "immediate", "stop")
        shutil.rmtree(self.folder)

    def run(self, text: str) -> str:
        return self.call("psql", "-qAt", "-v", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", "postgres", stdin=text)

    def load(self, votes: list[tuple]) -> None:
        cell = lambda value: r"\N" if value is None else str(value)  # noqa: E731
        self.run("DROP TABLE IF EXISTS votes, pool; CREATE TABLE votes (q integer, t integer, v integer); CREATE TABLE pool (q integer);"
                 f"INSERT INTO pool SELECT generate_series(0, {Q - 1});\nCOPY votes FROM STDIN;\n"
                 + "".join("\t".join(map(cell, row)) + "\n" for row in votes) + "\\.\n")

    def checks(self) -> list[str]:
        return [line.split("|")[0] for line in self.run(sql("postgres", "checks")).splitlines()]

    def export(self) -> str:
        return self.run(sql("postgres", "export"))


class Spark:
    """A local cluster of two workers in two processes of their own."""

    def __init__(self, folder: Path) -> None:
        if not shutil.which("java"):
            pytest.skip("there is no Java")
        session = pytest.importorskip("pyspark.sql").SparkSession
        self.folder = folder
        self.session = (
            session.builder.master("local-cluster[2,1,512]" if os.environ.get("SPARK_HOME") else "local[2]")
            .config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "4").config("spark.sql.ansi.enabled", "true")
            .config("spark.sql.warehouse.dir", str(folder / "warehouse")).config("spark.driver.memory", "1g").getOrCreate()
        )
        self.session.sparkContext.setLogLevel("OFF")

    def stop(self) -> None:
        self.session.stop()

    def load(self, votes: list[tuple]) -> None:
        self.session.createDataFrame(votes, "q int, t int, v int").createOrReplaceTempView("votes")
        self.session.range(Q).selectExpr("id AS q").createOrReplaceTempView("pool")

    def checks(self) -> list[str]:
        return [row[0] for row in self.session.sql(sql("spark", "checks").rstrip().rstrip(";")).collect()]

    def export(self) -> str:
        out = self.folder / "counts.csv"
        self.session.sql(sql("spark", "export", str(out)).rstrip().rstrip(";"))
        files = sorted(out.glob("part-*"))
        assert len(files) == 1
        return read(str(files[0]))


@pytest.fixture(scope="module", params=[DuckDB, Postgres, Spark], ids=lambda kind: kind.__name__)
def database(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    opened = request.param(tmp_path_factory.mktemp(request.param.__name__))
    yield opened
    if hasattr(opened, "stop"):
        opened.stop()


def test_counts_are_those_of_the_votes(database, tmp_path: Path) -> None:
    votes = rows()
    database.load(votes)
    assert database.checks() == []
    text = database.export()
    assert text == counted(votes, tmp_path)
    counts = parsed(text)
    assert counts == expected(votes) and sum(counts[7]) == 0
    file = tmp_path / "counts.csv"
    file.write_text(text)
    released = pate_go.label(file, counts=True, classes=C, teachers=T, epsilon=20, mechanism="gnmax", sigma=6,
                             ledger=tmp_path / "run.jsonl", verbose=False, seed=1)
    assert (released.labels[:Q] == np.argmax(counts, axis=1)).mean() > 0.6


@pytest.mark.parametrize("problem", WRONG)
def test_what_would_break_the_claim_is_refused(database, problem: str) -> None:
    database.load(damaged(WRONG[problem]))
    assert any(problem in found for found in database.checks())
    with pytest.raises(Exception, match=f"pate: .*{problem}"):
        database.export()
