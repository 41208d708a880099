"""A store in files: the same bytes as elsewhere, of one moment, in order, there whole or not at all."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import zstandard

from pith_builder import Enrichment, Issuer, PithRecord, Provenance, files
from pith_builder.corpus.export import Exported, export
from pith_builder.corpus.manifest import Manifest, Withdrawn
from pith_builder.corpus.shards import ExportForm
from pith_builder.errors import FileFailed, NotFound, StorageFailed, StoreFailed
from pith_builder.store import Store, ordered
from pith_builder.store.database import writing
from pith_builder.store.store import insert_record
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import FrozenClock, make_metadata, make_record, make_signer

Sql = Callable[..., list[Any]]
Files = dict[str, bytes]
PAPERS = 40
REVIEW = Enrichment.from_json(json.dumps({"headline": "Reviewed", "claims": [{"kind": "other", "text": "é"}]}))
FORMS: tuple[ExportForm, ...] = ("records", "table")


def issued(store: Store, n: int, enrichment: Enrichment | None = None) -> str:
    metadata = make_metadata(arxiv_id=f"2601.{n:05}", title=f"Paper {n}", authors="Émilie du Châtelet")
    issuer = Issuer(make_signer(), clock=FrozenClock())
    return store.issue(metadata, Provenance("test"), issuer, enrichment).record.pith_number


@pytest.fixture
def store(store_url: str) -> Store:
    """A store of records, one of them reviewed, one with fields that we don't know."""
    store = Store(store_url)
    for n in range(1, PAPERS):
        issued(store, n, REVIEW if n == 1 else None)
    theirs = json.loads(make_record(make_metadata(arxiv_id="2601.09999")).to_json())
    record = PithRecord.from_json(json.dumps({"note": {"shelf": 7}, **theirs, "zz": "ü"}))
    with writing(store.engine) as connection:
        insert_record(connection, record, None, Provenance("test"), record.receipt.signed_at)
    return store


def run(store_url: str, folder: Path, form: ExportForm = "records", workers: int = 1) -> Exported:
    *_, counts = export(store_url, folder, form, workers)
    return counts


def content(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def lines(folder: Path) -> list[bytes]:
    """All records of an export, in the order of the manifest."""
    listed = [folder / file.path for file in Manifest.read(folder).files if file.path.endswith(".zst")]
    packed = [zstandard.ZstdDecompressor().stream_reader(path.read_bytes()) for path in listed]
    return [line for stream in packed for line in io.BufferedReader(stream)]


def rows(folder: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    listed = [folder / file.path for file in Manifest.read(folder).files if file.path.endswith(".parquet")]
    return [row for path in listed for row in pq.ParquetFile(path).read().to_pylist()]


# --- what is in it ----------------------------------------------------------------------------------------------


def test_records_are_byte_for_byte_those_of_the_store_in_the_order_of_suffixes(
    store: Store, store_url: str, tmp_path: Path, sql: Sql
) -> None:
    assert run(store_url, tmp_path / "out").records == PAPERS
    suffixes = sorted(suffix for (suffix,) in sql("SELECT suffix FROM records"))
    assert lines(tmp_path / "out") == [store.get(suffix).record.to_json() + b"\n" for suffix in suffixes]


def test_unknown_fields_and_reviews_are_in_it(store: Store, store_url: str, tmp_path: Path) -> None:
    del store
    run(store_url, tmp_path / "out")
    text = b"".join(lines(tmp_path / "out"))
    assert text.count(b'{"note":{"shelf":7},"record_type"') == 1
    assert text.count('"text":"é"'.encode()) == 1


def test_table_has_the_number_and_the_newest_receipt_of_each_record(
    store: Store, store_url: str, tmp_path: Path
) -> None:
    run(store_url, tmp_path / "out", "table")
    found = rows(tmp_path / "out")
    assert [row["pith_number"][-26:] for row in found] == sorted(row["pith_number"][-26:] for row in found)
    assert len(found) == PAPERS
    for row in found:
        record = store.get(row["pith_number"]).record
        assert row["receipt"] == msgspec.to_builtins(record.receipt)
        assert row["canonical_record"].encode() == record.canonical_record.to_bytes()
        assert (row["canonical_sha256"], row["created_at"]) == (record.canonical_sha256, record.created_at)
        assert (row["arxiv_id"], row["version"]) == (record.source.id, record.source.version)


@pytest.mark.parametrize("form", FORMS)
def test_each_first_symbol_has_its_file_and_each_file_its_entry(
    store: Store, store_url: str, tmp_path: Path, sql: Sql, form: ExportForm
) -> None:
    del store
    run(store_url, tmp_path / "out", form)
    found = content(tmp_path / "out")
    manifest = Manifest.from_json(found.pop("manifest.json"))
    name = "records-{}.jsonl.zst" if form == "records" else "numbers-{}.parquet"
    firsts = sorted({suffix[0] for (suffix,) in sql("SELECT suffix FROM records")})
    assert [file.path for file in manifest.files] == [name.format(first) for first in firsts]
    assert sorted(found) == sorted(file.path for file in manifest.files)
    assert {file.path: (file.bytes, file.sha256) for file in manifest.files} == {
        path: (len(data), hashlib.sha256(data).hexdigest()) for path, data in found.items()
    }
    assert (manifest.form, manifest.records) == (form, PAPERS)


@pytest.mark.parametrize("form", FORMS)
def test_same_records_give_the_same_files_however_many_processes_write_them(
    store: Store, store_url: str, tmp_path: Path, form: ExportForm
) -> None:
    del store
    assert run(store_url, tmp_path / "one", form).records == PAPERS
    assert run(store_url, tmp_path / "two", form, workers=2).records == PAPERS
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_batches_end_nowhere_in_the_files(
    store: Store, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store
    run(store_url, tmp_path / "one")
    monkeypatch.setattr(ordered, "BATCH", 1)
    run(store_url, tmp_path / "two")
    assert content(tmp_path / "one") == content(tmp_path / "two")


def test_groups_of_a_table_hold_several_batches(
    store: Store, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store
    run(store_url, tmp_path / "one", "table")
    monkeypatch.setattr(ordered, "BATCH", 1)
    monkeypatch.setattr("pith_builder.corpus.shards._GROUP", 2)
    run(store_url, tmp_path / "two", "table")
    assert rows(tmp_path / "one") == rows(tmp_path / "two")


@pytest.mark.parametrize("form", FORMS)
def test_withdrawn_records_are_there_and_listed_with_the_reason(
    store: Store, store_url: str, tmp_path: Path, form: ExportForm
) -> None:
    first, second = sorted((issued(store, 101), issued(store, 102)), key=lambda number: number[-26:])
    for number in (second, first):
        withdraw(store, number, f"wrong: {number}", FrozenClock())
    counts = run(store_url, tmp_path / "out", form)
    assert (counts.records, counts.withdrawn) == (PAPERS + 2, 2)
    notices = [
        msgspec.json.decode(line, type=Withdrawn) for line in content(tmp_path / "out")["withdrawn.jsonl"].splitlines()
    ]
    assert [(notice.pith_number, notice.reason) for notice in notices] == [
        (number, f"wrong: {number}") for number in (first, second)
    ]
    assert Manifest.read(tmp_path / "out").files[-1].path == "withdrawn.jsonl"
    assert Manifest.read(tmp_path / "out").records == PAPERS + 2


@pytest.mark.parametrize("form", FORMS)
def test_empty_store_is_a_manifest_alone(store_url: str, tmp_path: Path, form: ExportForm) -> None:
    Store(store_url)
    list(export(store_url, tmp_path / "out", form))
    assert list(content(tmp_path / "out")) == ["manifest.json"]
    assert Manifest.read(tmp_path / "out").records == 0


# --- one moment -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2])
def test_what_comes_in_meanwhile_is_no_part_of_it(store: Store, store_url: str, tmp_path: Path, workers: int) -> None:
    run(store_url, tmp_path / "before")
    steps = export(store_url, tmp_path / "out", "records", workers)
    next(steps)
    for n in range(201, 240):
        issued(store, n)
    withdraw(store, issued(store, 1, Enrichment.from_json("{}")), "meanwhile", FrozenClock())
    *_, counts = steps
    assert counts.records == counts.total == PAPERS
    assert content(tmp_path / "out") == content(tmp_path / "before")


# --- the folder -------------------------------------------------------------------------------------------------


def test_folder_with_other_files_is_left_alone(store: Store, store_url: str, tmp_path: Path) -> None:
    del store
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    with pytest.raises(FileFailed, match=r"thesis.tex is there"):
        run(store_url, tmp_path / "out")
    assert content(tmp_path / "out") == {"thesis.tex": b"x"}


def test_finished_export_is_never_overwritten(store: Store, store_url: str, tmp_path: Path) -> None:
    run(store_url, tmp_path / "out")
    before = content(tmp_path / "out")
    issued(store, 300)
    with pytest.raises(FileFailed, match="a corpus is there already"):
        run(store_url, tmp_path / "out")
    assert content(tmp_path / "out") == before


@pytest.mark.parametrize("steps", [1, 3])
def test_export_that_stopped_is_no_export_and_starts_over(
    store: Store, store_url: str, tmp_path: Path, steps: int
) -> None:
    stopped = export(store_url, tmp_path / "out", "records")
    for _ in range(steps):
        next(stopped)
    stopped.close()
    assert "manifest.json" not in content(tmp_path / "out")
    (tmp_path / "out" / "records-A.jsonl.zst.partial").write_bytes(b"half")
    (tmp_path / "out" / ".manifest.json.0f0f.partial").write_bytes(b"half")
    issued(store, 300)
    run(store_url, tmp_path / "out")
    run(store_url, tmp_path / "other")
    assert content(tmp_path / "out") == content(tmp_path / "other")


def test_other_files_beside_an_export_that_stopped_stay(store: Store, store_url: str, tmp_path: Path) -> None:
    del store
    stopped = export(store_url, tmp_path / "out", "records")
    next(stopped)
    stopped.close()
    (tmp_path / "out" / "thesis.tex").write_text("x")
    before = content(tmp_path / "out")
    with pytest.raises(FileFailed, match=r"thesis.tex is there"):
        run(store_url, tmp_path / "out")
    assert content(tmp_path / "out") == before


def test_two_exports_never_write_into_one_folder(store: Store, store_url: str, tmp_path: Path) -> None:
    del store
    first = export(store_url, tmp_path / "out", "records")
    next(first)
    with pytest.raises(FileFailed) as raised:
        run(store_url, tmp_path / "out")
    assert raised.value.hint == "another export writes into this folder"
    *_, counts = first
    assert counts.records == PAPERS


# --- what makes none of it --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("UPDATE records SET canonical = :brace WHERE id = 2", "don't give its digest"),
        ("UPDATE records SET suffix = 'A234567A234567A234567A2345' WHERE id = 2", "under another number"),
        ("UPDATE records SET suffix = '0000000000000000000000000A' WHERE id = 2", "1 records stand under what is no"),
        ("UPDATE current SET receipt_id = 9999 WHERE record_id = 2", "is damaged"),
        ("DELETE FROM current WHERE record_id = 2", "has no newest receipt"),
    ],
)
def test_row_that_is_damaged_is_never_left_out_but_ends_the_export(
    store: Store, store_url: str, tmp_path: Path, sql: Sql, statement: str, reason: str, form: ExportForm
) -> None:
    del store
    sql(statement, **({"brace": b"{"} if ":brace" in statement else {}))
    with pytest.raises(StoreFailed, match=reason):
        run(store_url, tmp_path / "out", form)
    assert ".export" in content(tmp_path / "out")
    assert "manifest.json" not in content(tmp_path / "out")


def test_disk_that_is_full_at_the_end_leaves_no_manifest(
    store: Store, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store

    def full(path: Path, *_: object, **__: object) -> None:
        raise FileFailed("can't write the file: No space left on device").at(file=str(path))

    monkeypatch.setattr(files, "replace", full)
    with pytest.raises(FileFailed, match="No space left"):
        run(store_url, tmp_path / "out")
    assert "manifest.json" not in content(tmp_path / "out")


def test_no_store_is_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        run(f"sqlite:///{tmp_path / 'pith.db'}", tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_table_without_pyarrow_says_what_to_install(
    store: Store, store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del store
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.delitem(sys.modules, "pith_builder.corpus.table", raising=False)
    with pytest.raises(StorageFailed) as raised:
        run(store_url, tmp_path / "out", "table")
    assert raised.value.hint == "pip install 'pith-build[arrow]'"
    assert not (tmp_path / "out").exists()
