"""What the functions keep apart: arguments from flags, votes from files, warnings from silence."""

import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification

import pate_go
from pate_go.sklearn import PATEClassifier


@pytest.mark.parametrize("name", ["--help", "-h", "--out=elsewhere"])
def test_a_name_that_looks_like_a_flag_is_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for call in [
        lambda: pate_go.verify(name),
        lambda: pate_go.statement(name),
        lambda: pate_go.statement(name, out="page.html"),
        lambda: pate_go.label(name, classes=2, epsilon=1, ledger="run.jsonl", verbose=False),
        lambda: pate_go.train(name, public="public.csv", label="y", out="votes.npy", verbose=False),
        lambda: pate_go.run("ledger", "show", name, verbose=False),
    ]:
        with pytest.raises(pate_go.InputError, match="no such file|no file has this name") as error:
            call()
        assert name in str(error.value) or "public.csv" in str(error.value)
    with pytest.raises(pate_go.UsageError):
        pate_go.calibrate(name)
    assert list(tmp_path.glob("*.*")) == []


def test_what_the_program_warns_of_is_a_warning(votes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for verbose in (False, True):
        with pytest.warns(pate_go.PateWarning, match="assumes that teachers are right 88 %") as found:
            pate_go.label(votes, classes=4, epsilon=2, ledger=tmp_path / f"{verbose}.jsonl", verbose=verbose, pilot="no")
        assert len(found) == 1 and found[0].filename == __file__
        assert "right 88 %" not in capsys.readouterr().err  # once, not twice
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pate_go.label(votes, classes=4, epsilon=2, ledger=tmp_path / "said.jsonl", verbose=False, teacher_accuracy=0.85)
    same = votes.copy()
    same[:, 1] = same[:, 0]
    with pytest.raises(pate_go.CheckError, match="duplicates"):
        pate_go.label(same, classes=4, epsilon=2, ledger=tmp_path / "two.jsonl", verbose=False, teacher_accuracy=0.85)
    with pytest.warns(pate_go.PateWarning, match="epsilon may be wrong"):
        pate_go.label(same, classes=4, epsilon=2, ledger=tmp_path / "two.jsonl", verbose=False, teacher_accuracy=0.85, force=["duplicates", "few"])


def test_a_plan_by_private_votes_is_refused_or_marked(votes, tmp_path: Path) -> None:
    truth = np.random.default_rng(0).integers(4, size=400)  # as in conftest.py
    np.save(tmp_path / "known.npy", votes[:300])
    np.savetxt(tmp_path / "right.csv", truth[:300], fmt="%d")
    calls = {"classes": 4, "epsilon": 2, "ledger": tmp_path / "run.jsonl", "verbose": False, "calibrate_on": [tmp_path / "known.npy", tmp_path / "right.csv"]}
    with pytest.raises(pate_go.UsageError, match="private votes"):
        pate_go.label(votes, **calls)
    assert not (tmp_path / "run.jsonl").exists()
    with pytest.warns(pate_go.PateWarning, match="come from votes"):
        got = pate_go.label(votes, **calls, force=("calibration",))
    assert got.answered.any() and not got.releasable


def test_warnings_of_a_refusal(votes, tmp_path: Path) -> None:
    with pytest.warns(pate_go.PateWarning, match="epsilon 30"), pytest.raises(pate_go.InputError, match="no such file|no file has this name") as error:
        pate_go.label("nowhere.npy", classes=4, epsilon=30, ledger=tmp_path / "run.jsonl", verbose=False)
    assert "warning" not in str(error.value)


def test_a_classifier_warns(tmp_path: Path) -> None:
    X, y = make_classification(5000, 10, n_informative=6, n_classes=3, class_sep=2, random_state=1)
    model = PATEClassifier(classes=[0, 1, 2], n_teachers=80, epsilon=2, ledger=tmp_path / "run.jsonl", options={"pilot": "no"})
    with pytest.warns(pate_go.PateWarning, match="assumes that teachers are right 88 %") as found:
        model.fit(X[:4000], y[:4000], pool=X[4000:])
    assert {warning.filename for warning in found} == {__file__}


def test_a_statement_is_returned_beside_its_page(votes, tmp_path: Path) -> None:
    got = pate_go.label(votes, classes=4, epsilon=2, ledger=tmp_path / "run.jsonl", verbose=False, teacher_accuracy=0.85)
    page = tmp_path / "page.html"
    assert pate_go.statement(got.ledger, out=page)["claims"][0]["epsilon"] == got.epsilon
    assert page.read_text().startswith("<!")


def test_messages_name_no_temporary_file(votes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pate_go.label(votes, classes=4, epsilon=2, ledger=tmp_path / "run.jsonl", teacher_accuracy=0.85)
    said = capsys.readouterr().err
    assert "pate label - --classes 4" in said and "votes.npy" not in said


def test_votes_outlive_no_process(tmp_path: Path) -> None:
    """Ends a process that waits, after the votes were handed over, as a batch system does."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    waits = tmp_path / "waits"
    waits.write_text("#!/bin/sh\ncat > /dev/null\necho $$ > new\nmv new pid\nexec sleep 60\n")
    waits.chmod(0o755)
    process = subprocess.Popen(
        [sys.executable, "-c", "import numpy, pate_go; pate_go.label(numpy.zeros((9, 9), int), classes=2, epsilon=1, ledger='run.jsonl')"],
        env={**os.environ, "PATE_BINARY": str(waits), "TMPDIR": str(folder)}, cwd=tmp_path,
    )
    while not (tmp_path / "pid").exists() and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    os.kill(int((tmp_path / "pid").read_text()), signal.SIGKILL)
    assert list(folder.iterdir()) == []
