"""The example project works outside the checkout, with the wheel installed: plugin, factories, strategies, vectors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def python(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python of a new environment that has the wheel, and the packages of this one behind it: no index is asked."""
    folder = tmp_path_factory.mktemp("example")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    (wheel,) = folder.glob("pith_build-*.whl")
    venv.create(folder / "venv", with_pip=False)
    (site,) = (folder / "venv").glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", "--no-index"]
    subprocess.run([*pip, "--target", str(site), str(wheel)], check=True)
    present = [path for path in sys.path if Path(path).name == "site-packages"]
    (site / "present.pth").write_text("\n".join(present) + "\n")
    return folder / "venv" / "bin" / "python"


@pytest.fixture
def project(root: Path, tmp_path: Path) -> Path:
    """A copy of the example project."""
    copied = shutil.copytree(
        root / "examples" / "pytest-project",
        tmp_path / "project",
        ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache", ".hypothesis"),
    )
    if not (root / "fixtures" / "vectors").is_dir():
        (copied / "tests" / "test_vectors.py").unlink()
    return copied


def run(python: Path, *arguments: str, cwd: Path) -> str:
    done = subprocess.run(
        [python, *arguments], cwd=cwd, env={"PATH": os.defpath}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_environment_has_the_wheel_and_not_the_checkout(python: Path, root: Path, project: Path) -> None:
    where = run(python, "-c", "import pith_builder; print(pith_builder.__file__)", cwd=project)
    assert where.startswith(str(python.parent.parent))
    assert str(root) not in where


PARALLEL = ["-n", "2", "-p", "no:benchmark"]  # where that plugin is about, it warns that it can't measure so


@pytest.mark.parametrize("options", [[], PARALLEL, ["-p", "no:hypothesispytest"]], ids=" ".join)
def test_the_tests_of_the_example_pass(python: Path, project: Path, options: list[str]) -> None:
    shown = run(python, "-W", "error", "-m", "pytest", "-W", "error", *options, cwd=project)
    assert " passed" in shown
    assert "skipped" not in shown


def test_a_program_that_has_loaded_the_package_may_start_pytest(python: Path, project: Path) -> None:
    program = "import pith_builder, pytest; raise SystemExit(pytest.main(['-W', 'error', '-k', 'two_papers']))"
    assert "1 passed" in run(python, "-c", program, cwd=project)
