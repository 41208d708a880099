"""The README's commands and its Python work as written, and every --help answers."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from arxiv_server import ArxivServer, ServedPaper
from pith_builder import PaperMetadata
from pith_builder.cli import app
from pith_builder.cli.corpus import corpus
from pith_builder.cli.fixtures import fixtures
from pith_builder.cli.keys import keys
from pith_builder.cli.store import store
from pith_builder.cli.vectors import vectors
from pith_builder.testing import strategies

GROUPS = {"corpus": corpus, "keys": keys, "store": store, "fixtures": fixtures, "vectors": vectors}
SUBCOMMANDS = [
    f"{group} {command.name or getattr(command.callback, '__name__', '')}"
    for group, commands in GROUPS.items()
    for command in commands.registered_commands
]


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.fixture
def checkout(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a reader of the README has before them."""
    folder = tmp_path / "checkout"
    for name in ("fixtures", "keys"):
        shutil.copytree(root / name, folder / name, ignore=shutil.ignore_patterns("private"))
    command = tmp_path / "bin" / "pith-build"  # the reader has it on the path
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pith_builder "$@"\n')
    command.chmod(0o755)
    monkeypatch.setenv("PATH", str(command.parent), prepend=os.pathsep)
    monkeypatch.chdir(folder)
    return folder


def test_the_commands_of_the_readme_work_as_written(
    root: Path, checkout: Path, run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, arxiv: ArxivServer
) -> None:
    metadata = (root / "fixtures" / "metadata" / "2403.07648v2.json").read_bytes()
    arxiv.add(ServedPaper.of(PaperMetadata(**json.loads(metadata))))
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "correct horse battery staple")
    commands = 0
    for block in blocks((root / "README.md").read_text(), "console"):
        for command, expected in re.findall(r"^\$ pith-build (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            result = run(*shlex.split(command))
            assert result.code == 0, (command, result.err)
            shown = re.sub(r"-\d{4}-\d\d$", "-YYYY-MM", result.out, flags=re.MULTILINE)
            assert not expected or shown == re.sub(r"-\d{4}-\d\d$", "-YYYY-MM", expected, flags=re.MULTILINE), command
            commands += 1
    assert commands >= 8


def test_the_make_targets_of_the_readme_exist(root: Path) -> None:
    wanted = re.findall(r"^\$ make (\w+)", "".join(blocks((root / "README.md").read_text(), "console")), re.MULTILINE)
    targets = re.findall(r"^(\w+):", (root / "Makefile").read_text(), re.MULTILINE)
    assert wanted
    assert set(wanted) <= set(targets)


def test_the_python_of_the_readme_works(root: Path, checkout: Path) -> None:
    (code,) = blocks((root / "README.md").read_text(), "python")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=checkout)
    assert done.stdout == "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE\nTrue\n"


def test_the_python_of_the_page_on_testing_works(root: Path, checkout: Path) -> None:
    factories = blocks((root / "docs" / "testing.md").read_text(), "python")[1]
    subprocess.run([sys.executable, "-c", factories], check=True, cwd=checkout)


def test_the_page_on_testing_names_every_strategy(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text()
    assert [name for name in strategies.__all__ if name[0].islower() and f"`{name}(" not in page] == []


def test_the_links_of_the_pages_lead_somewhere(root: Path) -> None:
    pages = [root / "README.md", *(root / "docs").rglob("*.md"), *root.glob("*/README.md")]
    for page in pages:
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_settings_of_the_readme_are_those_of_the_code(root: Path) -> None:
    from pith_builder.cli.settings import FLAGS, VARIABLES

    pattern = r"^\| (?:`(--[a-z-]+).*? )?\| `(PITH_\w+)` \|"
    table = re.findall(pattern, (root / "README.md").read_text(), re.MULTILINE)
    flags = {variable: f"--{name.replace('_', '-')}" for name, variable in VARIABLES.items()}
    assert sorted(table) == sorted((flag if flag in FLAGS else "", variable) for variable, flag in flags.items())


@pytest.mark.parametrize("command", [*app.COMMANDS, *SUBCOMMANDS])
def test_every_command_has_help(command: str, run: Callable[..., Any]) -> None:
    result = run(*command.split(), "--help")
    assert result.code == 0
    assert f"pith-build {command}" in result.out
