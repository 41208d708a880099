"""The wheel works outside the checkout, in an environment that holds nothing but what it asks for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def installed(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of the wheel, installed in a venv of its own."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=root,
        check=True,
        capture_output=True,
    )
    (wheel,) = folder.glob("pith_build-*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--require-hashes", "-r", str(root / "requirements.lock")], check=True)
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "venv" / "bin" / "pith-build"


def test_the_wheel_issues_and_verifies(installed: Path, registry: Path, tmp_path: Path) -> None:
    row = (registry / "seeds" / "2407.14645v1.kaggle.jsonl").read_bytes()
    environment = {"PATH": os.defpath, "PITH_HOME": str(tmp_path / "home"), "LC_ALL": "C"}

    def run(*arguments: str, stdin: bytes = b"") -> bytes:
        return subprocess.run(
            [installed, *arguments], input=stdin, env=environment, cwd=tmp_path, check=True, stdout=subprocess.PIPE
        ).stdout

    run("keys", "generate", "--unencrypted")
    record = run("issue", "--json", "--metadata", "-", stdin=row)
    assert json.loads(record)["pith_number"] == "pith:2024:YRUNQITD2RKQXO2YH7SDTYYAQ3"
    assert json.loads(run("verify", "--json", "-", stdin=record))["ok"]
    assert run("show", "2407.14645", "--json") == record


def test_the_wheel_holds_the_vectors_and_passes_them(installed: Path, root: Path, tmp_path: Path) -> None:
    environment = {"PATH": os.defpath, "PITH_HOME": str(tmp_path / "home"), "LC_ALL": "C"}
    command = [installed, "vectors", "check", "--rule", "number", "--json", "--with", f"'{installed}' vectors serve"]
    done = subprocess.run(command, env=environment, cwd=tmp_path, check=True, stdout=subprocess.PIPE)
    _, sums = map(json.loads, done.stdout.splitlines())
    committed = json.loads((root / "fixtures" / "vectors" / "number.json").read_bytes())
    assert sums == {"passed": len(committed["tests"]), "failed": 0, "unsupported": 0}


def test_the_wheel_generates_the_committed_fixtures_without_test_tools(
    installed: Path, root: Path, tmp_path: Path
) -> None:
    python = installed.with_name("python")
    for tool in ("pytest", "hypothesis"):
        assert subprocess.run([python, "-c", f"import {tool}"], check=False, capture_output=True).returncode == 1
    generate = [installed, "fixtures", "generate", "--out", tmp_path / "out"]
    subprocess.run(generate, env={"PATH": os.defpath, "PITH_HOME": str(tmp_path)}, cwd=tmp_path, check=True)
    manifest = (tmp_path / "out" / "manifest.json").read_bytes()
    assert manifest == (root / "fixtures" / "manifest.json").read_bytes()
