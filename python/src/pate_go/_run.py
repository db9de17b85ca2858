"""Runs the program and raises an exception for each exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import sysconfig
import threading
import warnings
from pathlib import Path
from typing import Any, Mapping, Sequence, TextIO

Flag = Any
"""A value of a flag: str, number, bool, path or list."""

_WARNING = "pate: warning: "
"""The prefix of every warning of the program. A warning is always one line."""

_REPEATED = {"labels", "model", "manifest"}
"""Flags that are repeated for each value of a list. Lists of all other flags are joined by commas."""


class PateWarning(UserWarning):
    """A warning of the program. The command was run, but something may be unsafe or wasted."""


class PateError(RuntimeError):
    """An error message of the program: the failure, the reason and the remedy."""

    def __init__(self, message: str, code: int, report: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.report = dict(report or {})


class UsageError(PateError):
    """A flag or an argument is not valid. Nothing was read."""


class InputError(PateError):
    """The input is not valid. Nothing was written or charged."""


class BudgetError(PateError):
    """The budget is too small. Nothing was charged except, perhaps, a pilot.

    `spent` is the epsilon of the pilot, or 0. `would_work` holds settings that would work.
    """

    @property
    def spent(self) -> float:
        return float(self.report.get("spent") or 0)

    @property
    def would_work(self) -> dict[str, Any]:
        return dict(self.report.get("would_work") or {})


class CheckError(PateError):
    """A check failed, for example of a ledger, a file of another run, or teachers with common records."""


class DeclinedError(PateError):
    """Every query was declined, because the teachers agreed on none. The charge remains."""


class Interrupted(PateError):
    """The run was interrupted. The same call continues the run at no further privacy cost."""


_ERRORS = {2: UsageError, 3: InputError, 4: BudgetError, 5: CheckError, 6: DeclinedError, 130: Interrupted}


def binary() -> str:
    """Returns the path of the program: PATE_BINARY, the program of this package, or the first in PATH."""
    name = "pate.exe" if os.name == "nt" else "pate"
    if given := os.environ.get("PATE_BINARY"):
        return given
    candidates = [Path(sysconfig.get_path("scripts")) / name, Path(sys.executable).parent / name]
    if hasattr(sysconfig, "get_preferred_scheme"):
        candidates.append(Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / name)
    # shutil.which would first search the current folder on Windows, which may be unsafe.
    candidates += [Path(folder) / name for folder in os.get_exec_path() if os.path.isabs(folder)]
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise FileNotFoundError("the program pate is not there: install the wheel of pate-go, or name it in PATE_BINARY")


def arguments(flags: Mapping[str, Flag]) -> list[str]:
    """Converts keyword arguments to flags: sigma1=40 becomes --sigma1=40, yes=True becomes --yes."""
    out = []
    for key, value in flags.items():
        name = "--" + key.rstrip("_").replace("_", "-")
        if value is None or value is False:
            continue
        if value is True:
            out.append(name)
        elif isinstance(value, (list, tuple)) and key in _REPEATED:
            out.extend(f"{name}={v}" for v in value)
        elif isinstance(value, (list, tuple)):
            out.append(f"{name}={','.join(map(str, value))}")
        else:
            out.append(f"{name}={value}")
    return out


def run(
    *words: str | os.PathLike[str], stdin: bytes | memoryview | None = None, verbose: bool = True, **flags: Flag
) -> dict[str, Any]:
    """Runs one command and returns the printed JSON.

    words: the command and its arguments. The first word that begins with -, and all later
    words, are arguments and never flags. "--" is removed; the arguments begin after it.
    flags: flags of the command, with _ in place of -.
    verbose: print messages to sys.stderr as they arrive, also in notebooks. Warnings become
    a PateWarning in any case.

    Raises a PateError with the message of the program.
    """
    texts = [os.fspath(word) for word in words]
    cut = next((i for i, word in enumerate(texts) if word.startswith("-") and word != "-"), len(texts))
    rest = texts[cut + (texts[cut : cut + 1] == ["--"]) :]
    command = [binary(), *texts[:cut], *arguments(flags), "--format=json", "--", *rest]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:
        said: list[str] = []
        reader = threading.Thread(target=_forward, args=(process.stderr, said, sys.stderr if verbose else None))
        reader.start()
        try:
            out = _exchange(process, stdin)
        except KeyboardInterrupt:
            process.wait()  # the program got the same signal and ends by itself
            raise
        finally:
            reader.join()
    for line in said:
        if line.startswith(_WARNING):
            warnings.warn(_as_arguments(line.removeprefix(_WARNING), rest), PateWarning, stacklevel=_outside())
    report = _parse(out)
    if process.returncode:
        error = _ERRORS.get(process.returncode, PateError)
        raise error(_message(said, process.returncode, rest), process.returncode, report)
    return report


def _outside() -> int:
    """Returns the stacklevel of the first caller outside this package, for warnings of the calling function."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__package__") == __package__:
        level, frame = level + 1, frame.f_back
    return level


def _exchange(process: subprocess.Popen[bytes], stdin: bytes | memoryview | None) -> bytes:
    if stdin is not None and process.stdin is not None:
        try:
            process.stdin.write(stdin)
            process.stdin.close()
        except BrokenPipeError:
            pass  # the program ended before it read all input; its exit code gives the reason
    assert process.stdout is not None
    out = process.stdout.read()
    process.wait()
    return out


def _forward(pipe: Any, said: list[str], to: TextIO | None) -> None:
    for raw in pipe:
        line = raw.decode("utf-8", "replace").rstrip("\n")
        said.append(line)
        if to is not None and not line.startswith(_WARNING):
            print(line, file=to, flush=True)


def _parse(out: bytes) -> dict[str, Any]:
    try:
        value = json.loads(out)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {"results": value}


def _message(said: Sequence[str], code: int, words: Sequence[str]) -> str:
    """Returns the error message: everything from the last line that begins with "pate: "."""
    first = max((i for i, line in enumerate(said) if line.startswith("pate: ") and not line.startswith(_WARNING)), default=None)
    if first is None:
        return "\n".join(said[-4:]) or f"the program ended with code {code}"
    return "\n".join(_as_arguments(line, words) for line in said[first:]).removeprefix("pate: ")


def _as_arguments(line: str, words: Sequence[str]) -> str:
    """Returns a message in which flags are arguments of Python: --teacher-accuracy is teacher_accuracy.

    A line that holds a command keeps its flags, because the command can be pasted into a shell.
    So do words of the call that look like flags, such as the name of a file.
    """
    if re.search(r"\bpate [a-z]", line) or any(word.startswith("-") and word != "-" and word in line for word in words):
        return line
    return re.sub(r"--([a-z][a-z0-9-]*)", lambda flag: flag[1].replace("-", "_"), line)
