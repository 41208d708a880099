"""How long the command takes to start: CPU time over a bare interpreter, the median of several runs."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
RUNS = 15
# What issuing loads beside the product; typer loads pydantic when it parses its first option.
LIBRARIES = (
    "base32_crockford, msgspec, nacl.bindings, nacl.pwhash, nacl.secret, pydantic, sqlalchemy.dialects.sqlite, "
    "sqlite3, structlog, typer"
)
COMMAND = [sys.executable, "-m", "pith_builder"]
CATALOG = ["--catalog", str(ROOT / "fixtures" / "metadata"), "2403.07648"]


def cpu_seconds(command: list[str], environment: dict[str, str]) -> float:
    """CPU time of a command and its children; ends the benchmark if the command fails."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        environment = os.environ | {"PITH_HOME": home, "PYTHONDONTWRITEBYTECODE": ""}
        cpu_seconds([*COMMAND, "keys", "generate", "--unencrypted"], environment)
        cpu_seconds([*COMMAND, *CATALOG], environment)  # makes the store and the catalogue's index
        commands = {
            "python3 -c pass": [sys.executable, "-c", "pass"],
            "--version": [*COMMAND, "--version"],
            "--help": [*COMMAND, "--help"],
            "importing the libraries": [sys.executable, "-c", f"import {LIBRARIES}"],
            "issue one paper": [*COMMAND, *CATALOG],
        }
        taken: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(RUNS):
            for name, command in commands.items():
                taken[name].append(cpu_seconds(command, environment))
    medians = {name: statistics.median(values) for name, values in taken.items()}
    bare = medians.pop("python3 -c pass")
    print(f"\nstart, CPU seconds over a bare interpreter ({bare:.3f} s), medians of {RUNS} runs")
    for name, seconds in medians.items():
        print(f"{name:26}{seconds - bare:8.3f}")
    multiple = medians["issue one paper"] / medians["importing the libraries"]
    print(f"issue, as a multiple of importing its libraries: {multiple:.2f}")


if __name__ == "__main__":
    main()
