"""Runs the program and turns its exit codes into exceptions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import threading
import warnings
from pathlib import Path
from typing import Any, Mapping, Sequence, TextIO

Flag = Any
"""A value of a flag: text, number, truth value, path, or a list."""

_WARNING = "pate: warning: "
"""How the program begins each warning, which is one line whatever is in it."""

_REPEATED = {"labels", "model", "manifest"}
"""Flags that are given once for each value of a list; other lists are joined by commas."""


class PateWarning(UserWarning):
    """Says what may be unsafe, or wasted, in what the program did all the same."""


class PateError(RuntimeError):
    """Says what the program could not do: what, why and how to mend it, in its own words."""

    def __init__(self, message: str, code: int, report: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.report = dict(report or {})


class UsageError(PateError):
    """A flag or an argument that makes no sense. Nothing was read."""


class InputError(PateError):
    """The input is not valid. Nothing was written or charged."""


class BudgetError(PateError):
    """The budget does not carry this. `spent` is the epsilon of a pilot; nothing else was charged. `would_work` says what would do."""

    @property
    def spent(self) -> float:
        return float(self.report.get("spent") or 0)

    @property
    def would_work(self) -> dict[str, Any]:
        return dict(self.report.get("would_work") or {})


class CheckError(PateError):
    """A check failed: a ledger, a file of another run, teachers that are not disjoint."""


class DeclinedError(PateError):
    """Every query was declined: the teachers agreed on none. The charge stands."""


class Interrupted(PateError):
    """Stopped half-way. The same call goes on, at no further cost."""


_ERRORS = {2: UsageError, 3: InputError, 4: BudgetError, 5: CheckError, 6: DeclinedError, 130: Interrupted}


def binary() -> str:
    """Returns the path of the program: PATE_BINARY, that of this package, or that of PATH."""
    name = "pate.exe" if os.name == "nt" else "pate"
    if given := os.environ.get("PATE_BINARY"):
        return given
    candidates = [Path(sysconfig.get_path("scripts")) / name, Path(sys.executable).parent / name]
    if hasattr(sysconfig, "get_preferred_scheme"):
        candidates.append(Path(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user"))) / name)
    # Not shutil.which: on Windows it looks into the current folder first, which may be anybody's.
    candidates += [Path(folder) / name for folder in os.get_exec_path() if os.path.isabs(folder)]
    for path in candidates:
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    raise FileNotFoundError("the program pate is not there: install the wheel of pate-go, or name it in PATE_BINARY")


def arguments(flags: Mapping[str, Flag]) -> list[str]:
    """Returns keyword arguments as flags: sigma1=40 is --sigma1=40, yes=True is --yes."""
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
    """Runs one command and returns the JSON it prints.

    words are the command and its arguments, flags its options with _ in place of -. What
    begins with - among words, and all behind it, is an argument and never a flag; "--"
    itself only marks where the arguments begin.
    Its messages go to sys.stderr as they come, also in notebooks, unless verbose is False.
    What it warns of is a PateWarning, whatever verbose is.
    Raises a PateError that carries the program's own words.
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
            process.wait()  # the program has had the same signal, and ends in order
            raise
        finally:
            reader.join()
    for line in said:
        if line.startswith(_WARNING):
            warnings.warn(line.removeprefix(_WARNING), PateWarning, stacklevel=_outside())
    report = _parse(out)
    if process.returncode:
        error = _ERRORS.get(process.returncode, PateError)
        raise error(_message(said, process.returncode), process.returncode, report)
    return report


def _outside() -> int:
    """Returns the stacklevel, for the function that calls this one, of the first caller outside of this package."""
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
            pass  # it ended before it had read all: its exit code says why
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


def _message(said: Sequence[str], code: int) -> str:
    """Returns the error among the messages: from its first line, which begins with the name."""
    first = max((i for i, line in enumerate(said) if line.startswith("pate: ") and not line.startswith(_WARNING)), default=None)
    if first is None:
        return "\n".join(said[-4:]) or f"the program ended with code {code}"
    return "\n".join(said[first:]).removeprefix("pate: ")
