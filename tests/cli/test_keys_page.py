"""The commands of docs/keys.md work as written, one after the other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

NEEDED = ("ssh-agent", "ssh-add", "ssh-keygen", "bash")


@pytest.fixture
def shell_environment(root: Path, tmp_path: Path) -> dict[str, str]:
    """A folder with the fixtures, a home, and the command on the path."""
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "pith-build"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pith_builder "$@"\n')
    command.chmod(0o755)
    shutil.copytree(root / "fixtures", tmp_path / "work" / "fixtures")
    return {
        "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PITH_HOME": str(tmp_path / "home"),
        "PITH_KEY_PASSPHRASE": "correct horse battery staple",
        "HOME": str(tmp_path),
    }


def commands_of(page: str) -> list[tuple[str, str]]:
    found = []
    for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
        found += re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
    return found


@pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason="needs OpenSSH's client programs")
def test_the_commands_of_the_page_work_as_written(
    root: Path, tmp_path: Path, shell_environment: dict[str, str]
) -> None:
    month = f"{datetime.now(UTC):%Y-%m}"
    commands = commands_of((root / "docs" / "keys.md").read_text().replace("YYYY-MM", month))
    assert len(commands) > 20
    marked = "\n".join(f"echo '@@@'; {command} || exit 99" for command, _ in commands)
    done = subprocess.run(
        ["ssh-agent", "bash", "-c", marked],
        cwd=tmp_path / "work",
        env=shell_environment,
        capture_output=True,
        text=True,
        check=False,
    )
    shown = done.stdout.split("@@@\n")[1:]
    for (command, expected), out in zip(commands, shown, strict=False):
        assert not expected or out == expected, (command, done.stderr)
    assert done.returncode == 0, done.stderr
