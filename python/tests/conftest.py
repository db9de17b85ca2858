"""Keeps the state that the program writes for a user in a folder of the test."""

from pathlib import Path

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def votes() -> np.ndarray:
    """Returns 400 queries x 100 teachers of 4 classes; teachers are right 89 % of the time."""
    random = np.random.default_rng(0)
    truth = random.integers(4, size=400)
    right = random.random((400, 100)) < 0.85
    return np.where(right, truth[:, None], random.integers(4, size=(400, 100)))
