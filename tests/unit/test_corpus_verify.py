"""The check of many records finds whatever was altered in a corpus in files, or in a store."""

from __future__ import annotations

import errno
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pith_builder import Issuer, KeyRing, Provenance
from pith_builder.corpus import listed as listed_files
from pith_builder.corpus import once
from pith_builder.corpus.export import export
from pith_builder.corpus.manifest import ListedFile, Manifest
from pith_builder.corpus.numbered import NumberedReceipt
from pith_builder.corpus.verification import Failure, Verified, verify_folder, verify_store
from pith_builder.documents import MAX_DOCUMENT
from pith_builder.errors import FileFailed, InvalidInput, NotFound
from pith_builder.store import Store, check
from pith_builder.store.withdraw import withdraw
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer

Sql = Callable[..., list[Any]]
RING = make_keyring()
PAPERS = 12
ISSUER = Issuer(make_signer(), clock=FrozenClock())


def paper(n: int) -> Any:
    return make_metadata(arxiv_id=f"2601.{n:05}", title=f"Paper {n}")


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, bytes]]:
    """The files of an export of a store with one withdrawn record, in either form."""
    folder = tmp_path_factory.mktemp("exports")
    url = f"sqlite:///{folder / 'pith.db'}"
    store = Store(url)
    for n in range(1, PAPERS + 1):
        store.issue(paper(n), Provenance("test"), ISSUER)
    withdraw(store, "2601.00001", "wrong title", FrozenClock())
    for form in ("records", "table"):
        list(export(url, folder / form, form))

    def call(form: str) -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in (folder / form).iterdir()}

    return call


class Corpus:
    """A folder that may be altered: past its manifest, or with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def manifest(self) -> Manifest:
        return Manifest.read(self.folder)

    @property
    def first(self) -> str:
        return self.manifest.files[0].path

    @property
    def most(self) -> str:
        """The file with the most records."""
        return max(self.manifest.files, key=lambda file: file.records).path

    def lines(self, name: str) -> list[bytes]:
        data = (self.folder / name).read_bytes()
        data = zstandard.ZstdDecompressor().stream_reader(data).readall() if name.endswith(".zst") else data
        return data.splitlines(keepends=True)

    def put(self, name: str, lines: list[bytes]) -> None:
        data = b"".join(lines)
        self.put_raw(name, zstandard.ZstdCompressor().compress(data) if name.endswith(".zst") else data)

    def put_raw(self, name: str, data: bytes) -> None:
        (self.folder / name).write_bytes(data)

    def change(self, name: str, n: int, old: bytes, new: bytes) -> None:
        """Change something in one line."""
        lines = self.lines(name)
        assert old in lines[n]
        lines[n] = lines[n].replace(old, new)
        self.put(name, lines)

    def rewrite(self, **changes: Any) -> None:
        """The manifest with these changes, whether they make sense or not."""
        value = json.loads((self.folder / "manifest.json").read_bytes()) | changes
        (self.folder / "manifest.json").write_bytes(json.dumps(value).encode())

    def relist(self) -> None:
        """Make the manifest fit the files as they are now, but for the numbers of records."""
        listed = [ListedFile.of(self.folder, file.path, file.records) for file in self.manifest.files]
        self.rewrite(files=msgspec.to_builtins(listed))

    def verify(self, ring: KeyRing = RING, workers: int = 1) -> tuple[Verified, list[Failure]]:
        failures: list[Failure] = []
        *_, counts = verify_folder(self.folder, ring, failures.append, workers)
        return counts, failures

    def failures(self) -> list[tuple[str | None, int | None, str]]:
        """Where and why, of each."""
        return [(failure.file, failure.line, failure.reason) for failure in self.verify()[1]]

    def only(self) -> tuple[str | None, int | None, str]:
        [failure] = self.failures()
        return failure


@pytest.fixture
def corpus(tmp_path: Path, exports: Callable[[str], dict[str, bytes]]) -> Callable[[str], Corpus]:
    """An export in a form, or a folder of numbers and receipts as a run without a store makes it."""

    def call(form: str) -> Corpus:
        found = Corpus(tmp_path / form)
        found.folder.mkdir()
        if form == "receipts":
            lines = [NumberedReceipt.of(ISSUER.sign(paper(n))) for n in range(PAPERS, 0, -1)]
            found.put("receipts.jsonl", [msgspec.json.encode(line) + b"\n" for line in lines])
            found.put("rejects.jsonl", [b"{}\n"])
            Manifest.of("receipts", [ListedFile.of(found.folder, "receipts.jsonl", PAPERS)], 1).write(found.folder)
        else:
            for name, data in exports(form).items():
                found.put_raw(name, data)
        return found

    return call


@pytest.fixture
def records(corpus: Callable[[str], Corpus]) -> Corpus:
    return corpus("records")


@pytest.fixture
def receipts(corpus: Callable[[str], Corpus]) -> Corpus:
    return corpus("receipts")


@pytest.fixture
def table(corpus: Callable[[str], Corpus]) -> Corpus:
    return corpus("table")


# --- every form -------------------------------------------------------------------------------------------------

FORMS = pytest.mark.parametrize("form", ["records", "receipts", "table"])


@FORMS
def test_what_was_written_passes(corpus: Any, form: str) -> None:
    found = corpus(form)
    counts, failures = found.verify()
    assert failures == []
    assert (counts.ok, counts.total, counts.records, counts.failed) == (True, PAPERS, PAPERS, 0)
    assert (counts.files, counts.files_failed) == (len(found.manifest.files), 0)


@FORMS
def test_keys_that_are_not_known_fail_every_record(corpus: Any, form: str) -> None:
    counts, failures = corpus(form).verify(KeyRing.registry())
    assert (counts.ok, counts.failed, counts.files_failed) == (False, PAPERS, 0)
    assert {failure.reason for failure in failures} == {
        'key_known: the key ring has no key "TEST-v1-2026-01"; nothing is known of its signature'
    }
    assert all(failure.pith_number for failure in failures)


@FORMS
@pytest.mark.parametrize("place", [0, 8, 60, -1])
def test_flipped_byte_is_found_wherever_it_is(corpus: Any, form: str, place: int) -> None:
    found = corpus(form)
    data = bytearray((found.folder / found.most).read_bytes())
    data[place] ^= 1
    found.put_raw(found.most, bytes(data))
    assert (found.most, None) in {(file, line) for file, line, _ in found.failures()}
    assert "has another SHA-256 than in the manifest" in str(found.failures())


@FORMS
def test_damage_that_the_manifest_fits_is_a_failure_of_a_record_or_the_file_and_no_error(
    corpus: Any, form: str
) -> None:
    found, chance = corpus(form), random.Random(3)
    data = (found.folder / found.most).read_bytes()
    outcomes = set()
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(chance.choice((1, 8))):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        found.put_raw(found.most, bytes(damaged))
        found.relist()
        outcomes.add(found.verify()[0].ok)
    assert False in outcomes


@FORMS
def test_missing_file_is_found(corpus: Any, form: str) -> None:
    found = corpus(form)
    (found.folder / found.first).unlink()
    assert found.only() == (found.first, None, "is not there")


@FORMS
@pytest.mark.parametrize("kind", ["folder", "link", "pipe"])
def test_what_is_no_file_of_its_own_is_not_read(corpus: Any, form: str, kind: str, tmp_path: Path) -> None:
    found = corpus(form)
    path = found.folder / found.first
    path.rename(tmp_path / "elsewhere")
    if kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "elsewhere")
    reason = "is a link, or stands below one" if kind == "link" else "is no file"
    assert found.only() == (found.first, None, reason)


@FORMS
def test_file_that_is_not_listed_is_told(corpus: Any, form: str) -> None:
    found = corpus(form)
    (found.folder / "more").mkdir()
    found.put_raw("more/records.jsonl", b"")
    assert found.only() == ("more/records.jsonl", None, "is not in the manifest")


@FORMS
def test_counts_that_do_not_fit_are_told(corpus: Any, form: str) -> None:
    found = corpus(form)
    found.rewrite(records=PAPERS + 1)
    assert found.only() == ("manifest.json", None, f"says {PAPERS + 1} records, and lists {PAPERS}")
    listed = msgspec.to_builtins(found.manifest.files)
    listed[0]["records"] += 1
    found.rewrite(files=listed)
    count = listed[0]["records"]
    assert found.only() == (found.first, None, f"has {count - 1} records, {count} in the manifest")


@FORMS
@pytest.mark.parametrize(
    "path", ["../x", "/etc/passwd", "a/../../x", "", ".", "./x", "a//x", "manifest.json", ".export", "a\nb", "a/.."]
)
def test_path_that_leads_out_of_the_folder_is_refused(corpus: Any, form: str, path: str) -> None:
    found = corpus(form)
    listed = msgspec.to_builtins(found.manifest.files)
    listed[0]["path"] = path
    found.rewrite(files=listed)
    with pytest.raises(InvalidInput) as raised:
        found.verify()
    assert raised.value.code == "invalid_manifest"
    assert raised.value.file == str(found.folder / "manifest.json")


def test_file_that_is_listed_twice_is_refused(records: Corpus) -> None:
    listed = msgspec.to_builtins(records.manifest.files)
    records.rewrite(files=[*listed, listed[0]])
    with pytest.raises(InvalidInput, match="stands twice"):
        records.verify()


@pytest.mark.parametrize("form", ["records", "table"])
def test_several_processes_find_the_same(corpus: Any, form: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pith_builder.corpus.listed.BATCH", 1)
    found = corpus(form)
    listed = msgspec.to_builtins(found.manifest.files)
    found.rewrite(files=listed[::-1])
    one, two = found.verify(), found.verify(workers=2)
    assert one[1] == two[1] != []
    assert msgspec.structs.asdict(one[0]) == msgspec.structs.asdict(two[0])


# --- records ----------------------------------------------------------------------------------------------------


def test_dropped_line_is_found(records: Corpus) -> None:
    name = records.most
    count = len(records.lines(name))
    records.put(name, records.lines(name)[:-1])
    records.relist()
    assert records.only() == (name, None, f"has {count - 1} records, {count} in the manifest")


def test_swapped_lines_are_found(records: Corpus) -> None:
    name = records.most
    first, second, *rest = records.lines(name)
    records.put(name, [second, first, *rest])
    records.relist()
    assert records.only() == (name, 2, "is out of order")


def test_swapped_files_are_found(records: Corpus) -> None:
    listed = msgspec.to_builtins(records.manifest.files)
    records.rewrite(files=[listed[1], listed[0], *listed[2:]])
    assert records.only() == (listed[0]["path"], 1, "is out of order")


def test_number_that_stands_twice_is_found(records: Corpus) -> None:
    name = records.most
    first, second, *rest = records.lines(name)
    records.put(name, [first, first, *rest])
    records.relist()
    assert records.only() == (name, 2, "stands here a second time")
    assert second not in records.lines(name)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"title":"Paper', b'"title":"Another', "paper: "),
        (b'"version":1', b'"version":2', "digest: "),
        (b'"pith_number":"pith:2026:', b'"pith_number":"pith:2025:', "number: "),
        (b'"signature_b64":"', b'"signature_b64":"AAAA', "signature: "),
        (b'"schema_version":"1.0"', b'"schema_version":"9.0"', "form: "),
        (b"{", b"[", ""),
    ],
)
def test_altered_record_is_found_with_its_line(records: Corpus, old: bytes, new: bytes, reason: str) -> None:
    records.change(records.most, 1, old, new)
    records.relist()
    counts, [failure] = records.verify()
    assert (failure.file, failure.line) == (records.most, 2)
    assert failure.reason.startswith(reason)
    assert (counts.records, counts.failed, counts.files_failed) == (PAPERS, 1, 0)


def test_line_that_is_too_long_is_a_record_that_fails(records: Corpus) -> None:
    name = records.most
    lines = records.lines(name)
    records.put(name, [lines[0], b'{"x":"' + bytes(2 * MAX_DOCUMENT) + b'"}\n', *lines[2:]])
    records.relist()
    assert records.only() == (name, 2, f"longer than {MAX_DOCUMENT} bytes")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "it can't be unpacked"),
        (lambda data: data[:20], "it ends in the middle"),
        (lambda data: b"", "has 0 records"),
        (lambda data: data + b"x", "it can't be unpacked"),
        (lambda data: data[:-4] + b"xxxx", "it can't be unpacked"),
    ],
    ids=["cut", "cut more", "empty", "followed", "altered"],
)
def test_packed_file_that_is_not_whole_is_found(records: Corpus, change: Any, reason: str) -> None:
    records.put_raw(records.first, change((records.folder / records.first).read_bytes()))
    records.relist()
    assert [failure[:2] for failure in records.failures()] == [(records.first, None)]
    assert reason in records.only()[2]


def test_disk_that_can_not_be_read_ends_the_check(records: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(listed_files._Hashed, "readinto", broken)
    with pytest.raises(FileFailed, match="Input/output error"):
        records.verify()


def test_blank_lines_and_other_spellings_of_a_record_are_no_fault(records: Corpus) -> None:
    name = records.most
    first, *rest = records.lines(name)
    records.put(name, [b"\n", json.dumps(json.loads(first)).encode() + b"\r\n", *rest])
    records.relist()
    assert records.failures() == []


def test_list_of_the_withdrawn_is_looked_at(records: Corpus) -> None:
    records.put("withdrawn.jsonl", [*records.lines("withdrawn.jsonl"), b'{"pith_number":"x"}\n'])
    records.relist()
    file, line, reason = records.only()
    assert (file, line) == ("withdrawn.jsonl", None)
    assert reason.startswith("line 2: ")


@pytest.mark.parametrize(
    ("kept", "command"),
    [(".export", "corpus export"), (".checkpoint.json", "corpus issue"), ("shards/plan.json", "corpus issue")],
)
def test_folder_that_is_not_finished_is_told(records: Corpus, kept: str, command: str) -> None:
    (records.folder / kept).parent.mkdir(exist_ok=True)
    (records.folder / "manifest.json").rename(records.folder / kept)
    with pytest.raises(FileFailed, match="not finished") as caught:
        records.verify()
    assert command in caught.value.hint


def test_marker_beside_the_manifest_is_no_fault(records: Corpus) -> None:
    records.put_raw(".export", b"")
    assert records.failures() == []


def test_folder_without_manifest_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileFailed, match=r"manifest.json: can't read"):
        Corpus(tmp_path).verify()


# --- numbers and receipts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (b'"pith_number":"pith:2026:', b'"pith_number":"pith:2026:A', "number: "),
        (b'"arxiv_id":"2601', b'"arxiv_id":"2602', "id and version are not those"),
        (b'"version":1,"canonical', b'"version":2,"canonical', "id and version are not those"),
        (b'"license":"', b'"license":"x', "canonical_bytes: "),
        (b'"title_canon_sha256":"', b'"title_canon_sha256":"0', "canonical_bytes: "),
        (b'"canonical_sha256":"', b'"canonical_sha256":"0', "digest: "),
        (b'"signature_b64":"', b'"signature_b64":"AAAA', "signature: "),
        (b'"key_id":"TEST-v1', b'"key_id":"TEST-v9', "key_known: "),
        (b'"signed_at":"2026', b'"signed_at":"2024', "times_in_order: "),
        (b'"created_at":"2026', b'"created_at":"2024', "times_in_order: "),
        (b'"kind":"pith_receipt"', b'"kind":"pith_receipt","note":1', "receipt: "),
        (b'"created_at"', b'"created"', ""),
        (b"}", b"", ""),
    ],
)
def test_altered_line_is_found(receipts: Corpus, old: bytes, new: bytes, reason: str) -> None:
    receipts.change("receipts.jsonl", 3, old, new)
    receipts.relist()
    file, line, found = receipts.only()
    assert (file, line) == ("receipts.jsonl", 4)
    assert found.startswith(reason)


def test_receipt_of_another_paper_is_found(receipts: Corpus) -> None:
    first, second, *rest = map(json.loads, receipts.lines("receipts.jsonl"))
    first["receipt"] = second["receipt"]
    receipts.put("receipts.jsonl", [json.dumps(line).encode() + b"\n" for line in (first, second, *rest)])
    receipts.relist()
    file, line, reason = receipts.only()
    assert (file, line) == ("receipts.jsonl", 1)
    assert reason.startswith("digest: ")


def test_number_that_stands_twice_in_no_order_is_found(receipts: Corpus) -> None:
    lines = receipts.lines("receipts.jsonl")
    receipts.put("receipts.jsonl", [*lines, lines[3], lines[5], lines[3]])
    receipts.relist()
    files = receipts.manifest.files
    receipts.rewrite(records=PAPERS + 3, files=[msgspec.to_builtins(files[0]) | {"records": PAPERS + 3}])
    counts, failures = receipts.verify()
    assert [(failure.line, failure.reason) for failure in failures] == [
        (PAPERS + n, f"stands here a second time, after receipts.jsonl:{first}")
        for n, first in ((1, 4), (2, 6), (3, 4))
    ]
    numbers = [json.loads(lines[n])["pith_number"] for n in (3, 5, 3)]
    assert [failure.pith_number for failure in failures] == [f"pith:{number[-26:]}" for number in numbers]
    assert (counts.records, counts.failed) == (PAPERS + 3, 3)


@pytest.mark.parametrize("action", ["make", "write", "read"])
def test_folder_for_temporary_files_that_fails_is_told(
    receipts: Corpus, action: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    file: Any = SimpleNamespace(write=len, read=lambda _: b"", seek=lambda _: 0, close=lambda: None)
    setattr(file, action, full)
    monkeypatch.setattr(once.tempfile, "TemporaryFile", full if action == "make" else lambda: file)
    with pytest.raises(FileFailed, match=f"can't {action} a file in the folder: No space left"):
        receipts.verify()


def test_what_a_run_keeps_beside_its_receipts_is_no_fault(receipts: Corpus) -> None:
    for name in ("repeats.jsonl", ".checkpoint.json"):
        receipts.put_raw(name, b"")
    assert receipts.failures() == []


# --- the table --------------------------------------------------------------------------------------------------


def rewritten(table: Corpus, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the rows of a file, and let the manifest fit."""
    found = pq.ParquetFile(table.folder / name).read()
    rows = found.to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows, found.schema), table.folder / name)
    table.relist()


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("pith_number", "pith:2026:ZZZZZZZZZZZZZZZZZZZZZZZZZZ", "number: "),
        ("arxiv_id", "2602.00001", "id and version"),
        ("version", 2, "id and version"),
        ("version", None, "version: "),
        ("canonical_sha256", "0" * 64, "canonical_sha256: "),
        ("canonical_record", "{}", ""),
        ("canonical_record", None, ""),
        ("receipt", None, "receipt: "),
        ("created_at", "soon", "times_in_order: "),
    ],
)
def test_altered_row_is_found(table: Corpus, column: str, value: Any, reason: str) -> None:
    name = table.manifest.files[-2].path  # the last of the table; behind it are only the withdrawn
    rewritten(table, name, lambda rows: rows[0].update({column: value}))
    counts, [failure] = table.verify()
    assert (failure.file, failure.line) == (name, 1)
    assert failure.reason.startswith(reason)
    assert (counts.records, counts.failed, counts.files_failed) == (PAPERS, 1, 0)


def test_what_a_faulty_row_claims_to_be_says_nothing_of_the_next(table: Corpus) -> None:
    name = table.most
    claimed = "pith:2026:" + "Z" * 26
    rewritten(table, name, lambda rows: rows[0].update(pith_number=claimed))
    file, line, reason = table.only()
    assert (file, line, reason.split(":")[0]) == (name, 1, "number")


def test_rows_out_of_order_are_found(table: Corpus) -> None:
    name = table.most
    rewritten(table, name, lambda rows: rows.reverse())
    assert {failure[2] for failure in table.failures()} == {"is out of order"}


def test_table_of_other_columns_is_found(table: Corpus) -> None:
    pq.write_table(pa.table({"pith_number": ["x"]}), table.folder / table.first)
    table.relist()
    file, line, reason = table.only()
    assert (file, line) == (table.first, None)
    assert reason.startswith("has other columns")


def test_text_that_is_no_utf8_fails_its_row_alone(table: Corpus) -> None:
    name = table.most
    found = pq.ParquetFile(table.folder / name).read()
    texts = [value.encode() for value in found["created_at"].to_pylist()]
    texts[0] = b"\xff"
    broken = pa.array(texts, pa.binary()).view(pa.string())
    pq.write_table(
        found.set_column(found.schema.get_field_index("created_at"), "created_at", broken), table.folder / name
    )
    table.relist()
    assert table.only() == (name, 1, "holds text that is no UTF-8")


@pytest.mark.parametrize("data", [b"", b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"no such thing"])
def test_what_is_no_parquet_is_found(table: Corpus, data: bytes) -> None:
    table.put_raw(table.first, data)
    table.relist()
    file, line, reason = table.only()
    assert (file, line) == (table.first, None)
    assert reason.startswith("can't be read as Parquet")


def test_table_in_too_large_groups_is_not_read(table: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listed_files, "_GROUP_BYTES", 1)
    reasons = {reason.partition(";")[0] for _, _, reason in table.failures()}
    assert reasons == {"has a row group of more than 1 bytes"}


# --- a store ----------------------------------------------------------------------------------------------------


@pytest.fixture
def store(store_url: str) -> Store:
    store = Store(store_url)
    for n in range(1, 4):
        store.issue(paper(n), Provenance("test"), ISSUER)
    return store


def verified(store_url: str, workers: int = 1) -> tuple[Verified, list[Failure]]:
    failures: list[Failure] = []
    steps = list(verify_store(store_url, RING, failures.append, workers))
    return steps[-1] if steps else Verified(0), failures


def test_sound_store_passes_and_nothing_is_remembered(store: Store, store_url: str, sql: Sql) -> None:
    counts, failures = verified(store_url)
    assert (counts.ok, counts.total, counts.records, failures) == (True, 3, 3, [])
    assert sql("SELECT * FROM checks") == []


@pytest.mark.parametrize("workers", [1, 2])
def test_fault_of_a_store_is_found_with_its_number(store: Store, store_url: str, sql: Sql, workers: int) -> None:
    number = store.get("2601.00002").record.pith_number
    sql("UPDATE records SET paper = :brace WHERE id = 2", brace=b"{")
    sql("UPDATE current SET key_fingerprint = '00' WHERE record_id = 3")
    counts, failures = verified(store_url, workers)
    assert (counts.records, counts.failed) == (3, 2)
    assert failures[0].pith_number == f"pith:{number[-26:]}"
    assert [failure.file for failure in failures] == [None, None]
    assert "is damaged" in failures[0].reason
    assert "another key or builder" in failures[1].reason


def test_store_is_looked_at_part_by_part(store: Store, store_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "BATCH", 2)
    seen = [counts.records for counts in verify_store(store_url, RING, lambda _: None)]
    assert seen == [2, store.count()]


@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
def test_every_record_is_looked_at_where_ids_are_far_apart(
    store: Store, store_url: str, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "BATCH", 2)
    sql("SELECT setval(pg_get_serial_sequence('records', 'id'), 49)")
    store.issue(paper(4), Provenance("test"), ISSUER)
    assert verified(store_url)[0].records == 4


def test_empty_store_passes(store_url: str) -> None:
    Store(store_url)
    assert verified(store_url) == (Verified(0), [])


def test_no_store_is_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound):
        verified(f"sqlite:///{tmp_path / 'pith.db'}")
    assert list(tmp_path.iterdir()) == []
