"""Builds the Go program and puts it into the wheel, as the command `pate`.

GOOS and GOARCH select the platform; the default is this machine. The program is linked without
C, so one wheel works on every Linux with this processor. The program does not embed the MNIST
database, which would take two thirds of the allowed size of a wheel.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

PLATFORMS = {
    ("linux", "amd64"): "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    ("linux", "arm64"): "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    ("darwin", "amd64"): "macosx_12_0_x86_64",
    ("darwin", "arm64"): "macosx_12_0_arm64",
    ("windows", "amd64"): "win_amd64",
    ("windows", "arm64"): "win_arm64",
}


class CustomBuildHook(BuildHookInterface):
    """Compiles the program before a wheel is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":
            return  # an editable install uses the program of PATE_BINARY or PATH
        repository = Path(self.root).parent
        if not (repository / "go.mod").is_file():
            raise RuntimeError("the wheel is built inside the repository of pate: its Go source lies one folder above")
        environment = {**os.environ, "CGO_ENABLED": "0"}
        system, machine = subprocess.run(
            ["go", "env", "GOOS", "GOARCH"], check=True, capture_output=True, text=True, env=environment
        ).stdout.split()
        if (system, machine) not in PLATFORMS:
            raise RuntimeError(f"there is no name for wheels of {system}/{machine}")
        binary = Path(self.root) / "build" / f"{system}-{machine}" / ("pate.exe" if system == "windows" else "pate")
        subprocess.run(
            ["go", "build", "-trimpath", "-tags", "nomnist", "-o", str(binary), "-ldflags",
             f"-s -w -X github.com/pate-go/pate/internal/buildinfo.version=v{self.metadata.version}", "./cmd/pate"],
            check=True, cwd=repository, env=environment,
        )
        build_data["shared_scripts"] = {str(binary): binary.name}
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-" + PLATFORMS[system, machine]
