"""The pytest plugin: what it gives to tests, and what it costs those who never ask for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import pith_builder_pytest
from pith_builder.testing.vectors.files import load_vectors

PLUGIN = "pith_builder_pytest"
FIXTURES = ("pith_issuer", "pith_keyring", "pith_record", "pith_vectors")

Pytest = Callable[..., str]


@pytest.fixture
def run_pytest(tmp_path: Path) -> Pytest:
    """Run a test file in a process of its own, with no other plugin; its output."""

    def call(test: str, *options: str, plugin: bool = True) -> str:
        (tmp_path / "test_it.py").write_text(test)
        strict = [sys.executable, "-W", "error", "-m", "pytest", "-W", "error", "-p", "no:cacheprovider", "-q"]
        done = subprocess.run(
            [*strict, *(["-p", PLUGIN] if plugin else []), *options],
            cwd=tmp_path,
            env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def test_the_entry_point_names_the_plugin_by_its_module(root: Path) -> None:
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {PLUGIN: PLUGIN}


def test_loading_the_plugin_imports_nothing_but_itself(run_pytest: Pytest, tmp_path: Path) -> None:
    write = "import sys, pathlib\ndef test_it(): pathlib.Path({!r}).write_text('\\n'.join(sys.modules))\n"

    def modules(name: str, *, plugin: bool) -> set[str]:
        run_pytest(write.format(name), plugin=plugin)
        return set((tmp_path / name).read_text().splitlines())

    assert modules("with", plugin=True) - modules("without", plugin=False) == {PLUGIN}


def test_the_record_of_the_fixture_verifies_under_its_ring(run_pytest: Pytest) -> None:
    run_pytest(
        "from pith_builder import verify\n"
        "def test_it(pith_record, pith_keyring): verify(pith_record, pith_keyring).require()\n"
    )


def test_what_the_issuer_of_the_fixture_issues_verifies_under_the_ring(run_pytest: Pytest) -> None:
    run_pytest(
        "from pith_builder import verify\n"
        "from pith_builder.testing import make_metadata\n"
        "def test_it(pith_issuer, pith_keyring):\n"
        "    verify(pith_issuer.issue(make_metadata(version=3)), pith_keyring).require()\n"
    )


def test_a_record_that_a_test_damages_is_whole_in_the_next(run_pytest: Pytest) -> None:
    run_pytest(
        "def test_one(pith_record): pith_record.events.append({})\n"
        "def test_two(pith_record): assert pith_record.events == []\n"
    )


def test_the_plugin_works_without_hypothesis(run_pytest: Pytest) -> None:
    run_pytest(
        "import sys\n"
        "sys.modules['hypothesis'] = None\n"
        "import pytest\n"
        "def test_it(pith_record, pith_keyring, pith_issuer):\n"
        "    with pytest.raises(ImportError, match=r\"pip install 'pith-build\\[testing\\]'\"):\n"
        "        import pith_builder.testing.strategies\n"
    )


def test_the_plugin_works_in_several_processes(run_pytest: Pytest) -> None:
    run_pytest("def test_it(pith_record): pass\n", "-p", "xdist", "-n", "2")


def test_the_vectors_are_those_of_the_files_by_their_rule(root: Path) -> None:
    found = load_vectors()
    for rule, file in found.items():
        assert file == json.loads((root / "fixtures" / "vectors" / f"{rule}.json").read_bytes())
    assert {"number", "text", "verify"} <= found.keys()


def test_the_fixtures_are_those_that_the_page_tells_of(root: Path) -> None:
    page = (root / "docs" / "testing.md").read_text()
    defined = sorted(name for name in vars(pith_builder_pytest) if name.startswith("pith_"))
    assert defined == list(FIXTURES)
    assert [name for name in defined if f"`{name}`" not in page] == []
