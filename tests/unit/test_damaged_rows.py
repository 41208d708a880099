"""What a store or an index gives back is checked: damage is reported as what it is, and never served."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from pith_builder import ArxivId, Enrichment, Issuer, Provenance
from pith_builder.errors import ConflictingMetadata, PithError, StoreFailed
from pith_builder.sources.catalog import Catalog
from pith_builder.sources.papers import FoundPaper, PaperFile
from pith_builder.store import Store
from pith_builder.testing import FrozenClock, make_metadata, make_signer

ISSUER = Issuer(make_signer(), clock=FrozenClock())
ENRICHMENT = Enrichment.from_json('{"headline":"x"}')


@pytest.fixture
def path(tmp_path: Path) -> Path:
    Store(f"sqlite:///{tmp_path / 'pith.db'}").issue(make_metadata(), Provenance("test"), ISSUER, ENRICHMENT)
    return tmp_path / "pith.db"


def change(path: Path, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize("column", ["canonical", "paper", "snapshot", "surroundings", "provenance", "enrichment"])
def test_a_damaged_column_is_the_stores_failure(path: Path, column: str) -> None:
    change(path, f"UPDATE records SET {column} = ?", b"{")
    with pytest.raises(StoreFailed, match="is damaged"):
        Store(f"sqlite:///{path}").get("2601.00001")


def test_a_changed_canonical_record_is_not_served(path: Path) -> None:
    change(path, "UPDATE records SET canonical = replace(canonical, 'cs.DL', 'cs.XX')")
    with pytest.raises(StoreFailed, match="don't give its digest"):
        Store(f"sqlite:///{path}").get("2601.00001")


def test_a_record_without_receipt_is_the_stores_failure(path: Path) -> None:
    change(path, "DROP TRIGGER receipts_no_delete")
    change(path, "DELETE FROM receipts")
    with pytest.raises(StoreFailed, match="is damaged"):
        Store(f"sqlite:///{path}").get("2601.00001")


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    change(other, "CREATE TABLE notes (text TEXT)")
    before = other.read_bytes()
    for create in (False, True):
        with pytest.raises(StoreFailed, match="something else"):
            Store(f"sqlite:///{other}", create=create)
    assert other.read_bytes() == before


def test_an_older_description_does_not_come_back_with_an_enrichment(tmp_path: Path) -> None:
    store = Store(f"sqlite:///{tmp_path / 'pith.db'}")
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
