"""What a store or an index gives back is checked: damage is reported as what it is, and never served."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from pith_builder import ArxivId, Enrichment, Issuer, KeyRing, Provenance
from pith_builder.errors import ConflictingMetadata, PithError, StoreFailed
from pith_builder.keyring import RingKey
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper, PaperFile
from pith_builder.store import Store
from pith_builder.store.copying import Copy, TargetDiffers
from pith_builder.store.database import writing
from pith_builder.store.importing import Import
from pith_builder.store.resolve import resolve
from pith_builder.store.schema import records
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import START, FrozenClock, make_metadata, make_record, make_signer

Sql = Callable[..., list[Any]]
ISSUER = Issuer(make_signer(), clock=FrozenClock())
ENRICHMENT = Enrichment.from_json('{"headline":"x"}')


@pytest.fixture
def store(store_url: str) -> Store:
    """A store with one record."""
    store = Store(store_url)
    store.issue(make_metadata(), Provenance("test"), ISSUER, ENRICHMENT)
    return store


@pytest.mark.parametrize("column", ["canonical", "paper", "snapshot", "surroundings", "provenance", "enrichment"])
def test_a_damaged_column_is_the_stores_failure(store: Store, sql: Sql, column: str) -> None:
    sql(f"UPDATE records SET {column} = :damage", damage=b"{")
    with pytest.raises(StoreFailed, match="is damaged"):
        store.get("2601.00001")


@pytest.mark.parametrize("damage", [b"{", b"", b'"\xff"', b'{"at":1,"reason":2}'])
@pytest.mark.parametrize("does", ["get", "resolve", "withdraw"])
def test_a_damaged_mark_is_the_stores_failure(store: Store, sql: Sql, damage: bytes, does: str) -> None:
    sql("UPDATE records SET withdrawn = :damage", damage=damage)
    calls: dict[str, Callable[[], object]] = {
        "get": lambda: store.get("2601.00001"),
        "resolve": lambda: resolve(store, "2601.00001"),
        "withdraw": lambda: withdraw(store, "2601.00001", "wrong", FrozenClock()),
    }
    with pytest.raises(StoreFailed, match="is damaged: its mark"):
        calls[does]()


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("does", ["resolve", "issue", "import"])
def test_a_time_that_is_no_text_is_the_stores_failure(store: Store, sql: Sql, tmp_path: Path, does: str) -> None:
    """PostgreSQL keeps nothing but text there."""
    sql("UPDATE records SET said_at = :damage", damage=b"x")
    path = tmp_path / "theirs.json"
    path.write_bytes(make_record(signer=make_signer(2), clock=FrozenClock(START + timedelta(days=1))).to_json())
    ring = KeyRing.empty()
    for signer in (make_signer(1), make_signer(2)):
        ring = ring.with_key(RingKey.of(signer.key_id, signer.public_key, "active", "verify"))
    clock = FrozenClock(START + timedelta(days=9))
    calls: dict[str, Callable[[], object]] = {
        "resolve": lambda: resolve(store, "2601.00001"),
        "issue": lambda: store.issue(make_metadata(), Provenance("test", "2026-01-01T00:00:00Z"), ISSUER),
        "import": lambda: list(Import(store, ring, clock).run(str(path))),
    }
    with pytest.raises(StoreFailed, match="said_at is no text"):
        calls[does]()


def test_a_target_with_a_damaged_time_is_no_copy(tmp_path: Path) -> None:
    source, target = (Store(f"sqlite:///{tmp_path / name}") for name in ("a.db", "b.db"))
    source.issue(make_metadata(), Provenance("test", "2026-01-01T00:00:00Z"), ISSUER)
    list(Copy(source.engine, target.engine).run())
    with writing(target.engine) as connection:
        connection.execute(records.update().values(said_at=sa.literal(b"1")))
    with pytest.raises(TargetDiffers, match="row 1 of its table records"):
        list(Copy(source.engine, target.engine).run())


def test_a_damaged_earlier_number_is_told_when_the_next_is_issued(store: Store, sql: Sql) -> None:
    sql("UPDATE records SET canonical = :damage", damage=b"{")
    with pytest.raises(StoreFailed, match="don't give its digest"):
        store.issue(make_metadata(version=2), Provenance("test"), ISSUER)


def test_a_changed_canonical_record_is_not_served(store: Store, sql: Sql) -> None:
    [(canonical,)] = sql("SELECT canonical FROM records")
    sql("UPDATE records SET canonical = :changed", changed=canonical.replace(b"cs.DL", b"cs.XX"))
    with pytest.raises(StoreFailed, match="don't give its digest"):
        store.get("2601.00001")


def test_a_record_without_receipt_is_the_stores_failure(
    store: Store, sql: Sql, unguarded: Callable[[str], None]
) -> None:
    unguarded("receipts")
    sql("DELETE FROM receipts")
    with pytest.raises(StoreFailed, match="is damaged"):
        store.get("2601.00001")


@pytest.mark.parametrize("create", [False, True])
def test_a_database_of_something_else_is_left_alone(store_url: str, sql: Sql, create: bool) -> None:
    sql("CREATE TABLE notes (text TEXT)")
    with pytest.raises(StoreFailed, match="something else"):
        Store(store_url, create=create)
    with sa.create_engine(store_url.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool).begin() as c:
        assert sa.inspect(c).get_table_names() == ["notes"]


def test_a_file_of_something_else_is_left_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    with closing(sqlite3.connect(other)) as connection, connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    before = other.read_bytes()
    with pytest.raises(StoreFailed, match="something else"):
        Store(f"sqlite:///{other}")
    assert other.read_bytes() == before


def test_an_older_description_does_not_come_back_with_an_enrichment(store_url: str) -> None:
    store = Store(store_url)
    store.issue(make_metadata(), Provenance("test", "2026-02-01T00:00:00Z"), ISSUER)
    with pytest.raises(ConflictingMetadata, match="newer description"):
        store.issue(make_metadata(authors="Old Author"), Provenance("test", "2026-01-01T00:00:00Z"), ISSUER, ENRICHMENT)


def row(**changes: object) -> str:
    metadata = make_metadata()
    return json.dumps({name: getattr(metadata, name) for name in metadata.__struct_fields__} | changes)


@pytest.mark.parametrize("kind", ["file", "catalogue"])
def test_an_unreadable_newest_version_is_not_passed_over(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "papers.jsonl"
    path.write_text(row() + "\n" + row(version=2, license="CC BY 4.0") + "\n")
    source = PaperFile(str(path), FrozenClock()) if kind == "file" else Catalog([path], None, FrozenClock())
    newest, first = ArxivId("2601.00001"), ArxivId("2601.00001", 1)
    found = source.select([newest, first])
    assert isinstance(found[newest], PithError)
    assert isinstance(found[first], FoundPaper)


def test_a_damaged_index_is_made_anew(tmp_path: Path) -> None:
    path, cache = tmp_path / "papers.jsonl", tmp_path / "cache"
    path.write_text(row() + "\n")
    Catalog([path], cache, FrozenClock()).select([ArxivId("2601.00001")])
    [index] = cache.iterdir()
    with closing(sqlite3.connect(index)) as connection, connection:
        connection.execute("DROP TABLE papers")
    for _ in range(2):
        assert ArxivId("2601.00001") in Catalog([path], cache, FrozenClock()).select([ArxivId("2601.00001")])


def test_a_catalogue_passes_over_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "papers.json").write_text(row())
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "nowhere.json").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "pipe.json")
    assert ArxivId("2601.00001") in Catalog([tmp_path], None, FrozenClock()).select([ArxivId("2601.00001")])


def test_an_unreadable_place_of_a_catalogue_is_named(tmp_path: Path) -> None:
    (tmp_path / "broken.json").write_text("xx")
    catalog = Catalog([tmp_path], None, FrozenClock())
    assert catalog.select([ArxivId("2601.00001")]) == {}
    assert len(catalog.unreadable) == 1
    assert "broken.json" in catalog.unreadable[0]
