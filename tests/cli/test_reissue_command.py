"""`pith-build reissue`: what it chooses, what it prints, and how it ends."""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import Issuer, KeyRing, PithRecord, Provenance, verify
from pith_builder.errors import KeyLocked, StoreFailed
from pith_builder.keyring import Revocation, RingKey
from pith_builder.store import Store
from pith_builder.store import reissue as reissue_module
from pith_builder.testing import START, FrozenClock, make_metadata, make_signer

Run = Callable[..., Any]
OLD, NEW, OTHERS = make_signer(1), make_signer(2), make_signer(3)
AFTER = START + timedelta(days=20)
NEW_RING = KeyRing.empty().with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts"))
OLD_KEY = RingKey.of(OLD.key_id, OLD.public_key, "retired", "receipts")
OTHERS_KEY = RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "verify")
RING = KeyRing.empty().with_key(OLD_KEY).with_key(NEW_RING.keys[0]).with_key(OTHERS_KEY)


def revoked(reason: Any) -> KeyRing:
    """The ring in which the old key is revoked since ten days after `START`."""
    revocation = Revocation("2026-01-12T00:00:00Z", reason)
    return RING.with_key(msgspec.structs.replace(OLD_KEY, state="revoked", revoked=revocation))


@pytest.fixture
def put_ring(home: Path) -> Callable[[KeyRing], None]:
    def call(ring: KeyRing) -> None:
        (home / "keys").mkdir(parents=True, exist_ok=True)
        (home / "keys" / "keyring.json").write_bytes(ring.to_json())

    return call


@pytest.fixture
def rotated(run: Run, put_ring: Any, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run` in a home whose ring has been rotated from the first TEST key to the second, which signs."""
    put_ring(RING)
    seed = hashlib.sha256(b"pith-build TEST key 2").digest()
    monkeypatch.setenv("THE_SEED", base64.b64encode(seed).decode())
    monkeypatch.setenv("PITH_KEY", "env:THE_SEED")
    return run


@pytest.fixture
def store(at_store: str) -> Store:
    return Store(at_store)


@pytest.fixture
def issue(store: Store) -> Callable[..., list[PithRecord]]:
    """So many papers more in the store, under the old key unless another is named."""

    def call(count: int = 1, signer: Any = OLD, at: Any = START) -> list[PithRecord]:
        first = store.count() + 1
        papers = [make_metadata(arxiv_id=f"2601.{n:05}") for n in range(first, first + count)]
        return [store.issue(p, Provenance("test"), Issuer(signer, clock=FrozenClock(at))).record for p in papers]

    return call


def signers(store: Store, records: list[PithRecord]) -> list[int]:
    """For each record the number of the TEST key that its newest receipt is of."""
    return [int(store.get(r.pith_number).record.receipt.key_id[len("TEST-v")]) for r in records]


# --- all that need it -------------------------------------------------------------------------------------------


def test_all_that_need_it_are_reissued(rotated: Run, store: Store, issue: Any) -> None:
    records = issue(3) + issue(2, NEW) + issue(2, OTHERS)
    result = rotated("reissue")
    assert result == (0, "reissued 3, refused 0\n", "")
    assert signers(store, records) == [2, 2, 2, 2, 2, 3, 3]
    assert all(verify(store.get(r.pith_number).record, RING).ok for r in records)


def test_after_a_real_rotation_records_are_reissued_and_verify(with_key: Run, papers: Run, tmp_path: Path) -> None:
    assert with_key("issue", "--metadata", papers(make_metadata(), make_metadata(version=2))).code == 0
    before = with_key("show", "2601.00001", "--json").out
    assert with_key("keys", "rotate", "--unencrypted").code == 0
    assert with_key("reissue").out == "reissued 2, refused 0\n"
    [new] = with_key("show", "2601.00001", "--json").lines
    (tmp_path / "new.json").write_text(json.dumps(new))
    assert with_key("verify", tmp_path / "new.json").code == 0
    assert new["receipt"]["first_computed_at"] == json.loads(before)["receipt"]["first_computed_at"]
    assert new["receipt"]["key_id"].startswith("local-v2-")


@pytest.mark.parametrize("before", [0, 2], ids=["empty store", "all under the active key"])
def test_nothing_to_do_is_0(rotated: Run, issue: Any, before: int) -> None:
    issue(before, NEW)
    assert rotated("reissue") == (0, "reissued 0, refused 0\n", "")


def test_again_there_is_nothing_to_do(rotated: Run, issue: Any) -> None:
    issue(2)
    rotated("reissue")
    assert rotated("reissue").out == "reissued 0, refused 0\n"


def test_nothing_to_do_asks_for_no_key(rotated: Run, issue: Any) -> None:
    issue(2, NEW)
    assert rotated("reissue", "--key", "env:NOWHERE").code == 0


def test_json_is_one_line(rotated: Run, issue: Any) -> None:
    issue(2)
    result = rotated("reissue", "--json")
    assert (result.lines, result.err) == ([{"reissued": 2, "refused": 0}], "")


def test_keys_list_tells_what_each_key_still_carries(rotated: Run, issue: Any) -> None:
    issue(3)
    rotated("reissue", "--limit", "2")
    carried = {key["key_id"]: key["receipts"] for key in rotated("keys", "list", "--json").lines}
    assert (carried[OLD.key_id], carried[NEW.key_id]) == (1, 2)


# --- a choice ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("old", "active", "expected"), [(0, 0, 0), (3, 2, 3)])
def test_dry_run_counts_and_changes_nothing(
    rotated: Run, store: Store, issue: Any, old: int, active: int, expected: int
) -> None:
    records = issue(old) + issue(active, NEW)
    assert rotated("reissue", "--dry-run") == (0, f"{expected} need a new receipt\n", "")
    assert rotated("reissue", "--dry-run", "--json").lines == [{"pending": expected}]
    assert [store.get(r.pith_number).record for r in records] == records


def test_dry_run_of_named_records_is_about_them(rotated: Run, issue: Any) -> None:
    first, *_ = issue(5)
    assert rotated("reissue", "--dry-run", "--json", first.pith_number).lines == [{"pending": 1}]


def test_dry_run_of_named_records_leaves_out_what_needs_nothing(rotated: Run, issue: Any) -> None:
    old, new, others = issue(2), issue(2, NEW), issue(1, OTHERS)
    chosen = [record.pith_number for record in (old[0], new[0], new[1], others[0])]
    assert rotated("reissue", "--dry-run", *chosen).out == "2 need a new receipt\n"
    assert rotated("reissue", "--dry-run", new[0].pith_number).out == "0 need a new receipt\n"


@pytest.mark.parametrize(("limit", "expected"), [(1, 1), (3, 3), (4, 4), (100, 4)])
def test_dry_run_heeds_the_limit(rotated: Run, issue: Any, limit: int, expected: int) -> None:
    records = issue(4)
    assert rotated("reissue", "--dry-run", "--limit", str(limit), "--json").lines == [{"pending": expected}]
    chosen = [record.pith_number for record in records]
    assert rotated("reissue", "--dry-run", "--limit", str(limit), "--json", *chosen).lines == [{"pending": expected}]


def test_dry_run_needs_no_key_that_can_be_opened(rotated: Run, issue: Any) -> None:
    issue(2)
    assert rotated("reissue", "--dry-run", "--key", "env:NOWHERE") == (0, "2 need a new receipt\n", "")


def test_dry_run_of_a_file_writes_none(rotated: Run, store: Store, tmp_path: Path, issue: Any) -> None:
    (tmp_path / "a.jsonl").write_bytes(issue()[0].to_json())
    assert rotated("reissue", "--dry-run", "--in", tmp_path / "a.jsonl", "--out", tmp_path / "b.jsonl").code == 2
    assert not (tmp_path / "b.jsonl").exists()


def test_limit(rotated: Run, store: Store, issue: Any) -> None:
    issue(5)
    assert [rotated("reissue", "--limit", "2", "--json").lines[0]["reissued"] for _ in range(4)] == [2, 2, 1, 0]


def test_limit_of_named_records(rotated: Run, store: Store, issue: Any) -> None:
    records = issue(3)
    chosen = [record.pith_number for record in records]
    assert rotated("reissue", "--limit", "2", *chosen).out == "reissued 2, refused 0\n"
    assert sorted(signers(store, records)) == [1, 2, 2]


def test_limit_of_named_records_is_not_used_up_by_refused_ones(rotated: Run, altered: list[PithRecord]) -> None:
    chosen = [record.pith_number for record in (altered[1], altered[0], altered[2])]
    result = rotated("reissue", "--limit", "1", "--json", *chosen)
    assert result.lines[-1]["reissued"] == 1


def test_limit_is_not_used_up_by_refused_records(rotated: Run, altered: list[PithRecord], sql: Any) -> None:
    sql("UPDATE records SET canonical = :it WHERE id = 1", it=b"{")
    assert rotated("reissue", "--limit", "1")[:2] == (1, "reissued 1, refused 2\n")


@pytest.mark.parametrize("limit", ["0", "-1", "many"])
def test_limit_that_is_none_is_2(rotated: Run, issue: Any, limit: str) -> None:
    assert rotated("reissue", "--limit", limit).code == 2


def test_old_key(rotated: Run, put_ring: Any, store: Store, issue: Any) -> None:
    put_ring(RING.with_key(msgspec.structs.replace(OTHERS_KEY, state="retired", use="receipts")))
    records = issue(2) + issue(2, OTHERS)
    for name in (OTHERS_KEY.key_id, OTHERS_KEY.fingerprint):
        assert rotated("reissue", "--old-key", name, "--dry-run").out == "2 need a new receipt\n"
    assert rotated("reissue", "--old-key", OTHERS_KEY.key_id).code == 0
    assert signers(store, records) == [1, 1, 2, 2]


def test_old_key_that_nobody_knows_is_told(rotated: Run, issue: Any) -> None:
    """A slip in an id must not look like a finished rotation."""
    issue()
    for arguments in ((), ("--dry-run",)):
        result = rotated("reissue", "--old-key", "TEST-v1-2026-10", *arguments)
        assert (result.code, result.out) == (1, "")
        assert "TEST-v1-2026-10" in result.err


def test_old_key_that_the_ring_does_not_know_is_named_by_its_fingerprint(
    rotated: Run, store: Store, put_ring: Any, issue: Any, papers: Run
) -> None:
    put_ring(NEW_RING.with_key(OLD_KEY))
    records = issue(2) + issue(2, OTHERS)
    described = papers(*(make_metadata(arxiv_id=record.source.id) for record in records))
    assert rotated("reissue", "--old-key", OTHERS_KEY.fingerprint, "--dry-run").out == "2 need a new receipt\n"
    result = rotated("reissue", "--old-key", OTHERS_KEY.fingerprint, "--metadata", described)
    assert result == (0, "reissued 2, refused 0\n", "")
    assert signers(store, records) == [1, 1, 2, 2]


@pytest.mark.parametrize("named", [("ALIAS",), ("--from", "-")], ids=["alias", "file"])
def test_old_key_goes_without_named_records(rotated: Run, store: Store, issue: Any, named: tuple[str, ...]) -> None:
    records = issue(2)
    number = records[0].pith_number
    arguments = [number if part == "ALIAS" else part for part in named]
    result = rotated("reissue", "--old-key", OLD.key_id, *arguments, stdin=number.encode())
    assert (result.code, result.out) == (2, "")
    assert signers(store, records) == [1, 1]


ALIASES: dict[str, Callable[[PithRecord], str]] = {
    "number": lambda record: record.pith_number,
    "suffix": lambda record: record.number.suffix,
    "short": lambda record: record.short_pith_number,
    "transcription": lambda record: record.number.transcription(),
    "id": lambda record: record.source.id,
    "id with version": lambda record: f"arXiv:{record.source.id}v1",
    "doi": lambda record: record.aliases[2].alias_value,
    "link": lambda record: record.links.html,
}


@pytest.mark.parametrize("alias", ALIASES.values(), ids=ALIASES.keys())
def test_record_is_named_by_any_alias(rotated: Run, store: Store, issue: Any, alias: Any) -> None:
    records = issue(3)
    assert rotated("reissue", alias(records[1])).out == "reissued 1, refused 0\n"
    assert signers(store, records) == [1, 2, 1]


def test_records_under_others_keys_are_reissued_when_named(rotated: Run, store: Store, issue: Any) -> None:
    records = issue(2, OTHERS)
    assert rotated("reissue").out == "reissued 0, refused 0\n"
    assert rotated("reissue", records[0].pith_number).out == "reissued 1, refused 0\n"
    assert signers(store, records) == [2, 3]


@pytest.mark.parametrize("stdin", [False, True], ids=["file", "standard input"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_numbers_from_a_file(rotated: Run, store: Store, issue: Any, tmp_path: Path, stdin: bool, end: str) -> None:
    records = issue(4)
    text = end.join([f"  {records[0].pith_number} ", records[2].source.id]).encode()
    (tmp_path / "numbers").write_bytes(text)
    result = rotated("reissue", "--from", "-" if stdin else tmp_path / "numbers", stdin=text)
    assert result.out == "reissued 2, refused 0\n"
    assert signers(store, records) == [2, 1, 2, 1]


def test_numbers_from_a_file_and_arguments_together(rotated: Run, store: Store, issue: Any) -> None:
    records = issue(3)
    assert rotated("reissue", "--from", "-", records[0].pith_number, stdin=records[1].pith_number.encode()).code == 0
    assert signers(store, records) == [2, 2, 1]


@pytest.mark.parametrize("stdin", [b"", b"\n \n"])
def test_empty_file_of_numbers_is_none_and_not_all(rotated: Run, store: Store, issue: Any, stdin: bytes) -> None:
    records = issue(2)
    assert rotated("reissue", "--from", "-", stdin=stdin).out == "reissued 0, refused 0\n"
    assert signers(store, records) == [1, 1]


@pytest.mark.parametrize(("alias", "code"), [("2601.99999", 1), ("pith:2026:" + "A" * 26, 1), ("what?", 3)])
def test_alias_that_means_nothing_here(rotated: Run, issue: Any, alias: str, code: int) -> None:
    issue()
    result = rotated("reissue", alias)
    assert (result.code, result.out) == (code, "")
    assert alias in result.err


# --- the refused ------------------------------------------------------------------------------------------------


@pytest.fixture
def altered(issue: Any, sql: Any) -> list[PithRecord]:
    """Three records, of which the second has other canonical bytes in the store."""
    records: list[PithRecord] = issue(3)
    other = records[1].canonical_record.to_bytes().replace(b"licenses/by", b"licenses/zz")
    sql("UPDATE records SET canonical = :it WHERE id = 2", it=other)
    return records


def test_refused_are_told_and_the_others_are_reissued(rotated: Run, altered: list[PithRecord], sql: Any) -> None:
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "reissued 2, refused 1\n")
    assert f"refused {altered[1].pith_number}: the stored canonical bytes" in result.err
    assert sql("SELECT record_id, count(*) FROM receipts GROUP BY 1 ORDER BY 1") == [(1, 2), (2, 1), (3, 2)]


def test_refused_go_to_a_file_with_reasons(rotated: Run, altered: list[PithRecord], tmp_path: Path) -> None:
    result = rotated("reissue", "--refused", tmp_path / "refused.jsonl", "--json")
    assert (result.code, result.lines[-1]) == (1, {"reissued": 2, "refused": 1})
    [refusal] = map(json.loads, (tmp_path / "refused.jsonl").read_text().splitlines())
    assert refusal["pith_number"] == altered[1].pith_number
    assert refusal["code"] == "altered_record"
    assert "don't give the stored digest" in refusal["reason"]


def test_refused_are_a_json_line_each(rotated: Run, altered: list[PithRecord]) -> None:
    result = rotated("reissue", "--json")
    refusal, summary = result.lines
    assert (result.code, result.err) == (1, "")
    assert summary == {"reissued": 2, "refused": 1}
    assert refusal.keys() == {"input", "error"}
    assert (refusal["input"], refusal["error"]["code"]) == (altered[1].pith_number, "altered_record")
    assert "don't give the stored digest" in refusal["error"]["message"]


def test_refused_record_whose_year_nobody_can_tell_has_the_rest_of_its_number(
    rotated: Run, altered: list[PithRecord], sql: Any
) -> None:
    sql("UPDATE records SET canonical = :it WHERE id = 2", it=b"{")
    assert rotated("reissue", "--json").lines[0]["input"] == f"pith:{altered[1].number.suffix}"


def test_file_of_the_refused_is_empty_where_none_is(rotated: Run, issue: Any, tmp_path: Path) -> None:
    issue()
    (tmp_path / "refused.jsonl").write_text("of an earlier run\n")
    assert rotated("reissue", "--refused", tmp_path / "refused.jsonl").code == 0
    assert (tmp_path / "refused.jsonl").read_bytes() == b""


def test_refused_alone_is_1(rotated: Run, altered: list[PithRecord]) -> None:
    rotated("reissue")
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "reissued 0, refused 1\n")


@pytest.mark.parametrize("canonical", [b"{}", b"\xff", None], ids=["of another form", "no JSON", "of another licence"])
def test_altered_record_that_is_named_is_refused_and_told(
    rotated: Run, altered: list[PithRecord], sql: Any, canonical: bytes | None
) -> None:
    if canonical is not None:
        sql("UPDATE records SET canonical = :it WHERE id = 2", it=canonical)
    result = rotated("reissue", altered[1].number.suffix)
    assert (result.code, result.out) == (1, "reissued 0, refused 1\n")
    assert "don't give the stored digest" in result.err


def test_file_of_the_refused_that_cannot_be_written_is_5(
    rotated: Run, altered: list[PithRecord], tmp_path: Path
) -> None:
    assert rotated("reissue", "--refused", tmp_path / "nowhere" / "refused.jsonl").code == 5


def test_run_that_ends_early_still_tells_what_it_did(
    rotated: Run, altered: list[PithRecord], issue: Any, tmp_path: Path, no_room: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reissue_module, "BATCH", 2)
    with no_room(3):
        result = rotated("reissue", "--refused", tmp_path / "refused.jsonl", "--json")
    assert result.code == 5
    assert [line for line in result.lines if "reissued" in line] == [{"reissued": 1, "refused": 1}]
    assert result.lines[-1]["error"]["code"] == "store_failed"
    [refusal] = map(json.loads, (tmp_path / "refused.jsonl").read_text().splitlines())
    assert refusal["pith_number"] == altered[1].pith_number


def test_batch_that_could_not_be_committed_is_not_counted(
    rotated: Run, store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = issue(6)
    monkeypatch.setattr(reissue_module, "BATCH", 2)
    real, batches = reissue_module.writing, iter([1, 2])

    @contextmanager
    def failing(engine: Any) -> Iterator[Any]:
        with real(engine) as connection:
            yield connection
            if next(batches, None) is None:
                raise StoreFailed("the disk is full")

    monkeypatch.setattr(reissue_module, "writing", failing)
    result = rotated("reissue")
    assert signers(store, records) == [2, 2, 2, 2, 1, 1]
    assert (result.code, result.out) == (5, "reissued 4, refused 0\n")


# --- after a compromise -----------------------------------------------------------------------------------------


def test_after_a_compromise_only_what_came_in_before_is_signed(
    rotated: Run, put_ring: Any, store: Store, issue: Any
) -> None:
    put_ring(revoked("compromised"))
    records = issue(2) + issue(2, at=AFTER)
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "reissued 2, refused 2\n")
    assert "evidence of nothing" in result.err
    assert signers(store, records) == [2, 2, 1, 1]


@pytest.mark.parametrize("source", ["--metadata", "--catalog"])
def test_after_a_compromise_what_metadata_give_is_signed(
    rotated: Run, put_ring: Any, store: Store, issue: Any, papers: Run, source: str
) -> None:
    put_ring(revoked("compromised"))
    records = issue(3, at=AFTER)
    described = papers(make_metadata(arxiv_id="2601.00001"), make_metadata(arxiv_id="2601.00002", title="Another"))
    result = rotated("reissue", source, described)
    assert (result.code, result.out) == (1, "reissued 1, refused 2\n")
    assert signers(store, records) == [2, 1, 1]


def test_metadata_named_are_the_only_ones(rotated: Run, put_ring: Any, issue: Any, papers: Run) -> None:
    put_ring(revoked("compromised"))
    issue(2, at=AFTER)
    catalog = papers(make_metadata(arxiv_id="2601.00001"), name="catalog.jsonl")
    described = papers(make_metadata(arxiv_id="2601.00002"), name="named.jsonl")
    assert rotated("reissue", "--metadata", described, "--catalog", catalog).out == "reissued 1, refused 1\n"


def test_metadata_of_which_one_row_is_bad_recompute_the_others(
    rotated: Run, put_ring: Any, issue: Any, papers: Run
) -> None:
    put_ring(revoked("compromised"))
    issue(2, at=AFTER)
    described = papers(make_metadata(arxiv_id="2601.00001"), {"arxiv_id": "2601.00002"}, {"x": 1})
    assert rotated("reissue", "--metadata", described).out == "reissued 1, refused 1\n"


def test_metadata_that_are_not_there_are_5(rotated: Run, put_ring: Any, issue: Any, tmp_path: Path) -> None:
    put_ring(revoked("compromised"))
    issue()
    result = rotated("reissue", "--metadata", tmp_path / "nowhere.jsonl")
    assert (result.code, result.out) == (5, "")


def test_metadata_from_standard_input(rotated: Run, put_ring: Any, issue: Any) -> None:
    put_ring(revoked("compromised"))
    issue(1, at=AFTER)
    result = rotated("reissue", "--metadata", "-", stdin=msgspec.json.encode(make_metadata()))
    assert (result.code, result.out) == (0, "reissued 1, refused 0\n")


def test_forgery_reissued_before_the_compromise_was_known_is_not_signed_again(
    rotated: Run, put_ring: Any, store: Store, issue: Any, papers: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = issue(1) + issue(2, at=AFTER)
    assert rotated("reissue").out == "reissued 3, refused 0\n"
    ring = revoked("compromised").with_key(RingKey.of(NEW.key_id, NEW.public_key, "retired", "receipts"))
    put_ring(ring.with_key(RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "receipts")))
    monkeypatch.setenv("THE_SEED", base64.b64encode(hashlib.sha256(b"pith-build TEST key 3").digest()).decode())
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "reissued 1, refused 2\n")
    assert signers(store, records) == [3, 2, 2]
    described = papers(make_metadata(arxiv_id=records[1].source.id))
    assert rotated("reissue", "--metadata", described).out == "reissued 1, refused 1\n"
    assert signers(store, records) == [3, 3, 2]


def test_unknown_key_vouches_for_nothing(rotated: Run, put_ring: Any, issue: Any) -> None:
    put_ring(NEW_RING)
    issue(2)
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "reissued 0, refused 2\n")
    assert f"the ring does not know the key of its receipt, {OLD.key_id}" in result.err


# --- trusting the last check ------------------------------------------------------------------------------------


def test_trusting_a_check_that_was_never_made_is_1_with_the_command(rotated: Run, issue: Any) -> None:
    issue()
    result = rotated("reissue", "--trust-last-check")
    assert (result.code, result.out) == (1, "")
    assert "pith-build store check" in result.err


def test_trusting_the_last_check_is_said(rotated: Run, issue: Any, sql: Any) -> None:
    issue()
    sql(
        "INSERT INTO checks (checked_at, last_receipt_id, records, failed) "
        "VALUES ('2026-01-03T00:00:00.000000Z', 1, 1, 0)"
    )
    result = rotated("reissue", "--trust-last-check")
    assert (result.code, result.out) == (0, "reissued 1, refused 0\n")
    assert "2026-01-03T00:00:00.000000Z" in result.err


# --- keys -------------------------------------------------------------------------------------------------------


def test_no_active_key_is_4_with_the_command_that_makes_one(run: Run, issue: Any) -> None:
    issue()
    result = run("reissue")
    assert (result.code, result.out) == (4, "")
    assert "pith-build keys generate" in result.err


UNFIT = {
    "not set": None,
    "no base64": "!",
    "of the old key": base64.b64encode(hashlib.sha256(b"pith-build TEST key 1").digest()),
}


@pytest.mark.parametrize("count", [1, 2, 3, 5])
@pytest.mark.parametrize("seed", UNFIT.values(), ids=UNFIT.keys())
def test_key_that_is_missing_or_unfit_is_4_however_many_need_it(
    rotated: Run, store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch, count: int, seed: Any
) -> None:
    records = issue(count)
    monkeypatch.delenv("THE_SEED")
    if seed is not None:
        monkeypatch.setenv("THE_SEED", seed if isinstance(seed, str) else seed.decode())
    result = rotated("reissue")
    assert result.code == 4
    assert signers(store, records) == [1] * count


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize("alias", [False, True], ids=["all", "named"])
def test_key_is_opened_before_the_store_is_held(
    rotated: Run, tmp_path: Path, issue: Any, monkeypatch: pytest.MonkeyPatch, alias: bool
) -> None:
    """A passphrase may be asked for then, and nobody else should wait for the answer."""
    [record] = issue()
    held = []

    def opening(uri: str, _: object) -> Any:
        with closing(sqlite3.connect(tmp_path / "pith.db", isolation_level=None, timeout=0)) as other:
            other.execute("BEGIN IMMEDIATE")
            held.append(uri)
        return NEW

    monkeypatch.setattr("pith_builder.signers.active.open_active_signer", opening)
    assert rotated("reissue", *([record.pith_number] if alias else [])).out == "reissued 1, refused 0\n"
    assert held == ["env:THE_SEED"]


def test_signer_that_fails_now_and_then_is_4_and_the_others_are_reissued(
    rotated: Run, issue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Failing:
        key_id, public_key = NEW.key_id, NEW.public_key
        asked = 0

        def sign(self, message: bytes) -> bytes:
            self.asked += 1
            if self.asked == 2:
                raise KeyLocked("the agent is gone")
            return NEW.sign(message)

    signer = Failing()
    monkeypatch.setattr("pith_builder.signers.active.open_active_signer", lambda *_: signer)
    issue(4)
    result = rotated("reissue")
    assert (result.code, result.out) == (4, "reissued 3, refused 1\n")
    assert "the agent is gone" in result.err
    assert rotated("reissue") == (0, "reissued 1, refused 0\n", "")


def test_locked_key_is_4(with_key: Run, home: Path, monkeypatch: pytest.MonkeyPatch, papers: Run) -> None:
    many = [make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, 6)]
    assert with_key("issue", "--metadata", papers(*many)).code == 0
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "correct horse")
    assert with_key("keys", "rotate").code == 0
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "wrong horse")
    result = with_key("reissue")
    assert result.code == 4
    assert "passphrase" in result.err
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "correct horse")
    assert with_key("reissue").out == "reissued 5, refused 0\n"


# --- stores that fail -------------------------------------------------------------------------------------------


def test_no_store_is_1_and_none_is_made(rotated: Run, home: Path) -> None:
    result = rotated("reissue")
    assert (result.code, result.out) == (1, "")
    assert "no store yet" in result.err
    assert not (home / "pith.db").exists()


def test_locked_store_is_5_and_loses_nothing(
    rotated: Run, store: Store, issue: Any, locked_store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = issue(3)
    with locked_store():
        result = rotated("reissue")
    assert (result.code, result.out) == (5, "reissued 0, refused 0\n")
    assert "another process holds it" in result.err
    assert signers(store, records) == [1, 1, 1]
    assert rotated("reissue").out == "reissued 3, refused 0\n"


def test_failure_with_json_is_a_line(rotated: Run) -> None:
    [line] = rotated("reissue", "--json").lines
    assert line["error"]["code"] == "not_found"


# --- files ------------------------------------------------------------------------------------------------------


@pytest.fixture
def from_file(rotated: Run, tmp_path: Path) -> Run:
    """Reissue these lines from a.jsonl to b.jsonl."""

    def call(lines: list[bytes], *arguments: Any) -> Any:
        (tmp_path / "a.jsonl").write_bytes(b"\n".join(lines))
        return rotated("reissue", "--in", tmp_path / "a.jsonl", "--out", tmp_path / "b.jsonl", *arguments)

    return call


def test_file_is_reissued_without_a_store(from_file: Run, tmp_path: Path, home: Path) -> None:
    records = [Issuer(OLD, clock=FrozenClock()).issue(make_metadata(arxiv_id=f"2601.{n:05}")) for n in range(1, 4)]
    assert from_file([r.to_json() for r in records]) == (0, "reissued 3, refused 0\n", "")
    out = (tmp_path / "b.jsonl").read_bytes().splitlines()
    assert all(verify(data, NEW_RING).ok for data in out)
    history = (tmp_path / "b.history.jsonl").read_bytes().splitlines()
    assert [json.loads(row)["receipt"]["signature_b64"] for row in history] == [
        r.receipt.signature_b64 for r in records
    ]
    assert not (home / "pith.db").exists()


def test_refused_lines_of_a_file_are_copied_and_told(from_file: Run, tmp_path: Path) -> None:
    sound = Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()
    bad = sound.replace(b'"version":1', b'"version":2')
    result = from_file([sound, bad], "--refused", tmp_path / "refused.jsonl")
    assert (result.code, result.out) == (1, "reissued 1, refused 1\n")
    assert "line 2" in result.err
    assert (tmp_path / "b.jsonl").read_bytes().splitlines()[1] == bad
    assert json.loads((tmp_path / "refused.jsonl").read_bytes())["pith_number"] == "line 2"


def test_file_after_a_compromise_needs_metadata(from_file: Run, put_ring: Any, papers: Run, tmp_path: Path) -> None:
    put_ring(revoked("compromised"))
    lines = [Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()]
    assert from_file(lines).code == 1
    for name in ("b.jsonl", "b.history.jsonl", "b.refused.jsonl"):
        (tmp_path / name).unlink()
    assert from_file(lines, "--metadata", papers(make_metadata())) == (0, "reissued 1, refused 0\n", "")


@pytest.mark.parametrize("arguments", [("--in", "a"), ("--out", "b")])
def test_in_and_out_go_together(rotated: Run, arguments: tuple[str, str]) -> None:
    result = rotated("reissue", *arguments)
    assert (result.code, result.out) == (2, "")
    assert "--in and --out go together" in result.err


@pytest.mark.parametrize(
    "choice",
    [
        ["2601.00009"],
        ["--from", "-"],
        ["--limit", "1"],
        ["--old-key", OLD.key_id],
        ["--dry-run"],
        ["--trust-last-check"],
    ],
    ids=lambda choice: choice[0],
)
def test_choice_of_stored_records_does_not_go_with_a_file(from_file: Run, tmp_path: Path, choice: list[str]) -> None:
    """What can't be heeded is refused and not passed over."""
    line = Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()
    result = from_file([line], *choice)
    assert (result.code, result.out) == (2, "")
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("b")] == []


@pytest.mark.parametrize("earlier", [b"of an earlier run\n", None], ids=["an earlier file", "no file"])
def test_refused_of_a_run_that_did_not_begin_are_not_written(
    from_file: Run, tmp_path: Path, earlier: bytes | None
) -> None:
    refused = tmp_path / "refused.jsonl"
    if earlier is not None:
        refused.write_bytes(earlier)
    (tmp_path / "b.jsonl").write_bytes(b"mine")
    assert from_file([], "--refused", refused).code == 5
    assert (refused.read_bytes() if refused.exists() else None) == earlier


@pytest.mark.parametrize("name", ["b.jsonl", "b.history.jsonl", "b.refused.jsonl"])
def test_existing_output_is_5_and_stays(from_file: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"mine")
    result = from_file([])
    assert (result.code, result.out) == (5, "reissued 0, refused 0\n")
    assert name in result.err
    assert (tmp_path / name).read_bytes() == b"mine"


def test_refused_lines_of_a_file_are_a_json_line_each(from_file: Run) -> None:
    sound = Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()
    result = from_file([b"{", sound], "--json")
    refusal, summary = result.lines
    assert (result.code, result.err, summary) == (1, "", {"reissued": 1, "refused": 1})
    assert (refusal["input"], refusal["error"]["code"]) == ("line 1", "invalid_json")


def test_overlong_line_is_3_and_no_output(from_file: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for changed in ("pith_builder.sources.pieces", "pith_builder.store.reissue_files"):
        monkeypatch.setattr(f"{changed}.MAX_DOCUMENT", 20_000)
    sound = Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()
    result = from_file([sound, b'"' + b"x" * 30_000 + b'"'])
    assert result.code == 3
    assert f"{tmp_path / 'a.jsonl'}:2: is longer than" in result.err
    assert not (tmp_path / "b.jsonl").exists()


def test_damaged_checkpoint_is_5_and_nothing_is_begun_anew(from_file: Run, tmp_path: Path) -> None:
    (tmp_path / ".b.jsonl.checkpoint").write_bytes(b"{")
    result = from_file([Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()])
    assert result.code == 5
    assert "can't be read" in result.err
    assert (tmp_path / ".b.jsonl.checkpoint").read_bytes() == b"{"
    assert not (tmp_path / "b.jsonl").exists()


def test_input_that_is_not_there_is_5(rotated: Run, tmp_path: Path) -> None:
    result = rotated("reissue", "--in", tmp_path / "nowhere", "--out", tmp_path / "b.jsonl")
    assert (result.code, result.out) == (5, "reissued 0, refused 0\n")
    assert "can't read the file" in result.err
    assert not (tmp_path / "b.jsonl").exists()


def test_unfit_key_for_a_file_is_4_and_no_output(from_file: Run, tmp_path: Path) -> None:
    line = Issuer(OLD, clock=FrozenClock()).issue(make_metadata()).to_json()
    result = from_file([line], "--key", "env:NOWHERE")
    assert (result.code, result.out) == (4, "")
    assert not (tmp_path / "b.jsonl").exists()


# --- streams ----------------------------------------------------------------------------------------------------


def test_progress_goes_to_no_file(rotated: Run, issue: Any) -> None:
    issue(3)
    assert rotated("reissue").err == ""


def test_help_tells_what_is_promised(run: Run) -> None:
    result = run("reissue", "--help")
    assert result.code == 0
    for option in ("--dry-run", "--limit", "--old-key", "--from", "--refused", "--in", "--out", "--metadata"):
        assert option in result.out
