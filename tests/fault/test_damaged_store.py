"""A store that is none, a folder that can't be written, a schema from the future: exit 5 with a next step."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pith_builder.testing import make_metadata

Run = Callable[..., Any]
ROOT = os.geteuid() == 0


@pytest.fixture
def issue(with_key: Run, papers: Run) -> Callable[[], Any]:
    """Issue a paper in a home that has a key."""
    source = papers(make_metadata())
    return lambda: with_key("issue", "--metadata", source)


@pytest.mark.parametrize("content", [b"hello, world\n" * 1000, b"\0" * 8192], ids=["text", "zeros"])
def test_file_that_is_no_database_is_5_and_stays(issue: Callable[[], Any], home: Path, content: bytes) -> None:
    (home / "pith.db").write_bytes(content)
    result = issue()
    assert (result.code, result.out) == (5, "")
    assert "backup" in result.err
    assert (home / "pith.db").read_bytes() == content


def test_damaged_database_is_5(issue: Callable[[], Any], with_key: Run, home: Path) -> None:
    assert issue().code == 0
    size = (home / "pith.db").stat().st_size
    with (home / "pith.db").open("r+b") as file:
        file.seek(100)
        file.write(b"\xff" * (size - 100))
    result = with_key("show", "2601.00001")
    assert (result.code, result.out) == (5, "")
    assert "Traceback" not in result.err


def test_folder_in_the_place_of_the_store_is_5(issue: Callable[[], Any], home: Path) -> None:
    (home / "pith.db").mkdir()
    result = issue()
    assert (result.code, result.out) == (5, "")


@pytest.mark.usefixtures("at_store")
def test_schema_newer_than_known_is_5_and_stays(issue: Callable[[], Any], with_key: Run, sql: Run) -> None:
    assert issue().code == 0
    sql("UPDATE alembic_version SET version_num = '9999'")
    result = with_key("resolve", "2601.00001")
    assert (result.code, result.out) == (5, "")
    assert "the version of pith-build that wrote it, or a newer one" in result.err
    assert sql("SELECT version_num FROM alembic_version") == [("9999",)]


def test_empty_file_becomes_a_store(issue: Callable[[], Any], home: Path) -> None:
    (home / "pith.db").touch()
    assert issue().code == 0


def test_store_is_wal_with_a_whole_schema(issue: Callable[[], Any], home: Path) -> None:
    assert issue().code == 0
    with closing(sqlite3.connect(home / "pith.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchall() == [("wal",)]


def test_home_that_cannot_be_made_is_5(run: Run, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    result = run("keys", "generate", "--unencrypted", "--home", tmp_path / "file" / "home")
    assert (result.code, result.out) == (5, "")
    assert str(tmp_path / "file") in result.err


@pytest.mark.skipif(ROOT, reason="root may write into every folder")
def test_home_that_is_read_only_is_5(run: Run, home: Path) -> None:
    home.mkdir(mode=0o500)
    result = run("keys", "generate", "--unencrypted")
    assert (result.code, result.out) == (5, "")
    assert "Permission denied" in result.err


@pytest.mark.skipif(ROOT, reason="root may read every file")
@pytest.mark.parametrize(
    ("name", "code"), [("keyring.json", 5), ("private", 4)], ids=["ring", "folder of the private keys"]
)
def test_key_that_may_not_be_read_is_told(issue: Callable[[], Any], home: Path, name: str, code: int) -> None:
    path = home / "keys" / name
    path.chmod(0)
    result = issue()
    path.chmod(0o700)
    assert (result.code, result.out) == (code, "")


def test_read_only_home_still_computes_and_verifies(run: Run, home: Path, papers: Run, registry: Path) -> None:
    home.mkdir(mode=0o500)
    assert run("compute", "--metadata", papers(make_metadata())).code == 0
    assert run("compute", "2601.00001", "--catalog", papers(make_metadata())).code == 0
    assert run("verify", registry / "seeds" / "2403.07648v2.record.json").code == 0


def test_cache_that_cannot_be_written_costs_nothing_but_time(run: Run, home: Path, papers: Run) -> None:
    home.mkdir()
    (home / "cache").touch()  # a file stands where the folder would be
    result = run("compute", "2601.00001", "--catalog", papers(make_metadata()))
    assert (result.code, result.err) == (0, "")
