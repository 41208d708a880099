"""The commands of docs/operations.md work as written, one after the other."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

MOVING = "## Moving to PostgreSQL"


@pytest.fixture
def work(root: Path, tmp_path: Path) -> Callable[[str, dict[str, str]], Any]:
    """Run the commands of a text in bash, in a folder with the fixtures, and compare what each prints."""
    command = tmp_path / "bin" / "pith-build"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pith_builder "$@"\n')
    command.chmod(0o755)
    shutil.copytree(root / "fixtures", tmp_path / "work" / "fixtures")
    environment = {
        "PATH": f"{command.parent}:{os.environ['PATH']}",
        "PITH_HOME": str(tmp_path / "home"),
        "PITH_KEY_PASSPHRASE": "correct horse battery staple",
        "HOME": str(tmp_path),
    }

    def call(page: str, more: dict[str, str]) -> int:
        commands = []
        for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL):
            commands += re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        script = "\n".join(f"echo '@@@'; {command} || exit 99" for command, _ in commands)
        done = subprocess.run(
            ["bash", "-c", script],
            cwd=tmp_path / "work",
            env=environment | more,
            capture_output=True,
            text=True,
            check=False,
        )
        for (command, expected), out in zip(commands, done.stdout.split("@@@\n")[1:], strict=False):
            assert not expected or out == expected, (command, done.stderr)
        assert done.returncode == 0, done.stderr
        return len(commands)

    return call


@pytest.fixture
def page(root: Path) -> str:
    text = (root / "docs" / "operations.md").read_text()
    return text.replace("YYYY-MM", f"{datetime.now(UTC):%Y-%m}")


def test_the_commands_of_the_page_work_as_written(page: str, work: Any) -> None:
    assert work(page.partition(MOVING)[0], {}) > 10


def test_moving_to_postgresql_works_as_written(page: str, work: Any, postgresql: Any) -> None:
    if shutil.which("createdb") is None:
        pytest.skip("PostgreSQL's client programs are not installed (Debian: postgresql-client)")
    before, _, moving = page.partition(MOVING)
    server = {"PGHOST": str(postgresql.folder), "PGUSER": "pith"}
    assert work(before + moving, server) > 15


def test_the_events_of_the_page_are_those_of_the_code(page: str, root: Path) -> None:
    told = set(re.findall(r"`((?:record|store|run|enrichment)_\w+)`", page.partition("| event |")[2]))
    folder = root / "builder" / "pith_builder" / "cli"
    code = "".join((folder / f"{name}.py").read_text() for name in ("issue", "imports", "withdraw", "copies"))
    logged = set(re.findall(r'logger\(\)\.\w+\(\s*f?"([\w{}.]+)"', code))
    dynamic = {event for event in logged if "{" in event}
    assert {event.partition("{")[0] for event in dynamic} == {"record_"}
    assert told == logged - dynamic | {f"record_{action}" for action in ("issued", "stored", "updated", "imported")}
