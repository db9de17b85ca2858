"""Runs the program with the given arguments: `python -m pate_go`, `pate-go`."""

import os
import subprocess
import sys

from ._run import binary


def main() -> None:
    """Replaces this process by the program. On Windows, runs the program and waits."""
    command = [binary(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
