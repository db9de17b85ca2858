"""The examples of `pate serve`, on small tables."""

import os
import pathlib
import random
import subprocess
import sys

import pytest

from pate_go._run import binary

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples" / "online"


def example(name: str, *arguments: object) -> list[list[str]]:
    """Runs an example, and returns the words of its lines."""
    found = subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        env={**os.environ, "PATE": binary()}, capture_output=True, text=True, check=True, timeout=300)
    return [line.split() for line in found.stdout.splitlines()]


def test_active_learning(tmp_path: pathlib.Path) -> None:
    datasets = pytest.importorskip("sklearn.datasets")
    datasets.load_digits(as_frame=True).frame.to_csv(tmp_path / "digits.csv", index=False)
    rows = example("active.py", tmp_path / "digits.csv", "target")
    assert [row[0] for row in rows] == ["random", "uncertain"]
    assert all(len(row) == 9 and 0 < float(row[-1]) <= 100 for row in rows)


def test_retrieval(tmp_path: pathlib.Path) -> None:
    draw, words = random.Random(1), {"sea": ["ship", "port", "cargo", "wave"], "farm": ["wheat", "cow", "barn", "field"]}
    for name, count in ("private", 2000), ("public", 400), ("questions", 50):
        lines = [f"{topic},{' '.join(draw.choices(words[topic], k=6))}" for topic in draw.choices(list(words), k=count)]
        (tmp_path / f"{name}.csv").write_text("topic,text\n" + "\n".join(lines))
    rows = example("retrieval.py", *(tmp_path / f"{name}.csv" for name in ("private", "public", "questions")), "topic", "text")
    assert [row[1] for row in rows] == ["1:", "2:", "4:", "8:"]
    assert all(int(row[2]) > 30 and float(row[6]) > 90 for row in rows), rows
