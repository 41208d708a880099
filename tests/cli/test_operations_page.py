"""The commands of docs/operations.md and docs/corpus.md work as written, one after the other."""

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

from arxiv_server import ArxivServer

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


def read(path: Path) -> str:
    """A page, in which keys are called after this month."""
    return path.read_text().replace("YYYY-MM", f"{datetime.now(UTC):%Y-%m}")


@pytest.fixture
def page(root: Path) -> str:
    return read(root / "docs" / "operations.md")


@pytest.fixture
def source(arxiv: ArxivServer) -> dict[str, str]:
    """The variables that lead to a server that plays arXiv."""
    return {name: os.environ[name] for name in ("PITH_OAI_URL", "PITH_OAI_INTERVAL", "TMPDIR")}


def test_the_commands_of_the_page_work_as_written(page: str, work: Any, source: dict[str, str]) -> None:
    assert work(page.partition(MOVING)[0], source) > 10


def test_the_commands_of_the_corpus_page_work_as_written(root: Path, work: Any) -> None:
    assert work(read(root / "docs" / "corpus.md"), {}) > 8


def test_moving_to_postgresql_works_as_written(page: str, work: Any, postgresql: Any, source: dict[str, str]) -> None:
    if shutil.which("createdb") is None:
        pytest.skip("PostgreSQL's client programs are not installed (Debian: postgresql-client)")
    before, _, moving = page.partition(MOVING)
    server = {"PGHOST": str(postgresql.folder), "PGUSER": "pith"}
    assert work(before + moving, server | source) > 15


def test_the_events_of_the_page_are_those_of_the_code(page: str, root: Path) -> None:
    table = re.findall(r"^\| (`.*?) \|", page.partition("| event |")[2], re.MULTILINE)
    told = {event for cell in table for event in re.findall(r"`(\w+)`", cell)}
    code = "".join(path.read_text() for path in (root / "builder" / "pith_builder" / "cli").glob("*.py"))
    logged = set(re.findall(r'logger\(\)\.\w+\(\s*f?"([\w{}.]+)"', code))
    logged |= set(re.findall(r'logger\(\)\.\w+\("\w+" if [\w.]+ else "(\w+)"', code))
    dynamic = {event for event in logged if "{" in event}
    assert {event.partition("{")[0] for event in dynamic} == {"record_"}
    assert told == logged - dynamic | {f"record_{action}" for action in ("issued", "stored", "updated", "imported")}
