"""A backup of a store: of one moment, whole or not at all, and never by accident over another file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pith_builder import Issuer, Provenance
from pith_builder.errors import FileFailed, PithError, StoreFailed
from pith_builder.store import Store, backup
from pith_builder.store.backup import BackedUp, back_up
from pith_builder.store.copying import TABLES
from pith_builder.store.database import reading
from pith_builder.testing import FrozenClock, make_metadata, make_signer

PAPERS = 5


def issue(store: Store, n: int, **changes: Any) -> str:
    issuer = Issuer(make_signer(), clock=FrozenClock())
    metadata = make_metadata(arxiv_id=f"2601.{n:05}", abstract="word " * 2000, **changes)
    return store.issue(metadata, Provenance("test"), issuer).record.pith_number


@pytest.fixture
def store(store_url: str) -> Store:
    store = Store(store_url)
    for n in range(1, PAPERS + 1):
        issue(store, n)
    issue(store, 1, authors="Grace Hopper")
    return store


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "backups").mkdir()
    return tmp_path / "backups"


def back(store: Store, path: Path, *, force: bool = False, show: Callable[[str], None] = str) -> BackedUp:
    return back_up(store.engine, path, force=force, show=show)


def everything(store: Store) -> list[list[Any]]:
    with reading(store.engine) as connection:
        return [list(map(tuple, connection.execute(sa.select(t).order_by(t.columns[0])))) for t in TABLES]


def test_backup_is_one_file_that_is_the_same_store(store: Store, folder: Path) -> None:
    made = back(store, folder / "pith.backup")
    assert made == BackedUp(str(folder / "pith.backup"), PAPERS, (folder / "pith.backup").stat().st_size)
    assert os.listdir(folder) == ["pith.backup"]
    assert everything(Store(f"sqlite:///{folder / 'pith.backup'}")) == everything(store)


def test_backup_is_of_one_moment_while_others_write(
    store: Store, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "_PAGES_A_STEP", 1)
    before = everything(store)
    steps: list[str] = []

    def write(step: str) -> None:
        steps.append(step)
        if len(steps) <= 10:  # in each of the first steps, a new record and an update
            issue(store, 100 + len(steps))
            issue(store, 2, authors=f"Author {len(steps)}")

    back(store, folder / "pith.backup", show=write)
    assert len(steps) >= 4
    assert everything(Store(f"sqlite:///{folder / 'pith.backup'}")) == before


def test_backup_takes_the_place_of_no_file(store: Store, folder: Path) -> None:
    (folder / "pith.backup").write_text("precious")
    with pytest.raises(FileFailed, match="such a file already"):
        back(store, folder / "pith.backup")
    assert (folder / "pith.backup").read_text() == "precious"


def test_file_that_comes_up_meanwhile_stays(store: Store, folder: Path) -> None:
    with pytest.raises(FileFailed, match="File exists"):
        back(store, folder / "pith.backup", show=lambda _: (folder / "pith.backup").write_text("precious") and None)
    assert (folder / "pith.backup").read_text() == "precious"
    assert os.listdir(folder) == ["pith.backup"]


def test_force_replaces_an_earlier_backup(store: Store, folder: Path) -> None:
    back(store, folder / "pith.backup")
    issue(store, 50)
    assert back(store, folder / "pith.backup", force=True).records == PAPERS + 1
    assert everything(Store(f"sqlite:///{folder / 'pith.backup'}")) == everything(store)


def test_store_in_use_is_never_replaced(store: Store, folder: Path) -> None:
    back(store, folder / "other.db")
    (folder / "other.db-wal").touch()
    with pytest.raises(FileFailed, match="store in use"):
        back(store, folder / "other.db", force=True)


@pytest.mark.parametrize("ending", ["-wal", "-shm", "-journal"])
@pytest.mark.parametrize("force", [False, True])
def test_what_a_store_of_that_name_left_is_never_taken_for_the_backups(
    store: Store, folder: Path, ending: str, force: bool
) -> None:
    (folder / f"pith.backup{ending}").write_text("pages")
    with pytest.raises(FileFailed, match=f"pith.backup{ending} is there") as caught:
        back(store, folder / "pith.backup", force=force)
    assert f"move pith.backup{ending} away" in caught.value.hint
    assert os.listdir(folder) == [f"pith.backup{ending}"]


def test_store_is_not_backed_up_onto_itself(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'pith.db'}")
    (tmp_path / "link").symlink_to("pith.db")
    for name in ("pith.db", "link"):
        with pytest.raises(FileFailed, match="store in use"):
            back(store, tmp_path / name, force=True)


@pytest.mark.parametrize("force", [False, True])
def test_folder_is_no_place_for_a_backup(store: Store, folder: Path, force: bool) -> None:
    for path in (folder, Path()):
        with pytest.raises(FileFailed, match="folder"):
            back(store, path, force=force)


def test_folder_that_is_not_there_is_told(store: Store, folder: Path) -> None:
    with pytest.raises(FileFailed, match="No such file"):
        back(store, folder / "nowhere" / "pith.backup")


@pytest.mark.parametrize("error", [KeyboardInterrupt, StoreFailed("gone")])
def test_backup_that_does_not_come_to_its_end_leaves_nothing(store: Store, folder: Path, error: Any) -> None:
    def stop(_: str) -> None:
        raise error

    with pytest.raises((KeyboardInterrupt, PithError)):
        back(store, folder / "pith.backup", show=stop)
    assert os.listdir(folder) == []


def test_damaged_store_does_not_replace_a_good_backup(tmp_path: Path, folder: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'pith.db'}")
    for n in range(1, 40):
        issue(store, n)
    back(store, folder / "pith.backup")
    good = (folder / "pith.backup").read_bytes()
    with closing(sqlite3.connect(tmp_path / "pith.db")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        [(page,)] = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'current'").fetchall()
    with (tmp_path / "pith.db").open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write(b"\xff" * 4096)
    with pytest.raises(StoreFailed, match=r"no backup was made|malformed"):
        back(store, folder / "pith.backup", force=True)
    assert (folder / "pith.backup").read_bytes() == good
    assert os.listdir(folder) == ["pith.backup"]
