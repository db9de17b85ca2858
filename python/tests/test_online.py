"""The examples of `pate serve`, on a small table."""

import os
import pathlib
import subprocess
import sys

import pytest

from pate_go._run import binary

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "online"


def test_active_learning(tmp_path: pathlib.Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    digits = datasets.load_digits(as_frame=True).frame
    digits.to_csv(tmp_path / "digits.csv", index=False)
    found = subprocess.run(
        [sys.executable, EXAMPLES / "active.py", tmp_path / "digits.csv", "target"],
        env={**os.environ, "PATE": binary()}, capture_output=True, text=True, check=True, timeout=300)
    rows = [line.split() for line in found.stdout.splitlines()]
    assert [row[0] for row in rows] == ["random", "uncertain"]
    assert all(len(row) == 9 and 0 < float(row[-1]) <= 100 for row in rows)
