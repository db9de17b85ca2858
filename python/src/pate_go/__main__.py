"""Hands the command line to the program: `python -m pate_go`, `pate-go`."""

import os
import subprocess
import sys

from ._run import binary


def main() -> None:
    """Becomes the program, or waits for it where a process cannot be replaced."""
    command = [binary(), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command).returncode)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
