"""What is installed: the program as a command, and as a module."""

import json
import subprocess
import sys

import pate_go


def test_the_program_answers() -> None:
    for command in ([pate_go.binary()], [sys.executable, "-m", "pate_go"]):
        out = subprocess.run([*command, "version", "--format", "json"], check=True, capture_output=True).stdout
        about = json.loads(out)
        assert about["schema"] == "pate.version/1" and about["version"] != "(devel)"


def test_exit_codes_pass_through() -> None:
    assert subprocess.run([sys.executable, "-m", "pate_go", "label"], capture_output=True).returncode == 2
