"""Runs the Python of README.md, block after block, as a reader would."""

import re
from pathlib import Path

import pytest


def test_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (Path(__file__).parent.parent / "README.md").read_text()
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", text, re.S):
        exec(compile(block, "README.md", "exec"), names)
    assert names["released"].epsilon <= 2
    assert names["student"].score(names["X"][names["public"]], names["y"][names["public"]]) > 0.75
    assert names["model"].releasable_
