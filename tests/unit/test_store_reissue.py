"""Reissuing what a store holds: which records are signed, which are refused, and what the history keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import timedelta
from itertools import zip_longest
from typing import Any, NamedTuple

import msgspec
import pytest

from pith_builder import Enrichment, Issuer, KeyRing, PithRecord, Profile, Provenance, canonical_record, verify
from pith_builder.errors import KeyLocked, NotFound, Refused, StoreFailed
from pith_builder.keyring import Revocation, RingKey, State, Use
from pith_builder.receipt import Receipt
from pith_builder.signing import SeedSigner, encode_base64
from pith_builder.store import Store
from pith_builder.store import reissue as module
from pith_builder.store.reissue import Progress, Refusal, Reissue, SignerFailed
from pith_builder.testing import START, FrozenClock, make_metadata, make_signer

OLD, NEW, OTHERS = make_signer(1), make_signer(2), make_signer(3)
DAY = timedelta(days=1)
ROTATED = START + 30 * DAY
SINCE = "2026-01-12T00:00:00Z"  # ten days after `START`, a little before the day that `AFTER` is
BEFORE, AFTER = START, START + 20 * DAY
NEXT_BUILDER = Profile(builder_version="pith-number-builder-2027-01-01-v2")

Sql = Callable[..., list[Any]]


def ring_of(state: State = "retired", reason: Any = None, use: Use = "receipts", since: str = SINCE) -> KeyRing:
    """A ring whose active key is the new one, and in which the old one is in this state."""
    revoked = None if reason is None else Revocation(since, reason)
    old = RingKey.of(OLD.key_id, OLD.public_key, "revoked" if reason else state, use, START - DAY)
    new = RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts", START - DAY)
    return KeyRing.empty().with_key(msgspec.structs.replace(old, revoked=revoked)).with_key(new)


ROTATED_RING = ring_of("retired")
NEW_RING = KeyRing.empty().with_key(RingKey.of(NEW.key_id, NEW.public_key, "active", "receipts", START - DAY))


class Ran(NamedTuple):
    """What a run did."""

    reissued: int
    refused: list[Refusal]

    @property
    def counts(self) -> tuple[int, int]:
        return self.reissued, len(self.refused)


def reissue(store: Store, ring: KeyRing = ROTATED_RING, steps: Any = Reissue.run_all, **options: Any) -> Ran:
    """Run over the store with the new key at the time of the rotation; `steps` says over what."""
    refused: list[Refusal] = []
    clock = options.pop("clock", None) or FrozenClock(ROTATED, timedelta(seconds=1))
    given = [options.pop(name, default) for name, default in (("signer", NEW), ("profile", Profile()))]
    run = Reissue(store, ring, *given, clock, refused=refused.append, **options)
    progress = Progress(0)
    for step in steps(run):
        progress = step
    assert progress.refused == len(refused)
    return Ran(progress.reissued, refused)


def named(ids: Iterable[int]) -> Callable[[Reissue], Any]:
    return lambda run: run.run_named(list(ids))


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


@pytest.fixture
def issue(store: Store) -> Callable[..., list[PithRecord]]:
    """Issue so many papers more under a key, the old one unless another is named."""

    def call(
        count: int = 1,
        signer: SeedSigner = OLD,
        at: Any = START,
        profile: Profile = Profile(),  # noqa: B008  # frozen
        enrichment: bytes | None = None,
    ) -> list[PithRecord]:
        issuer = Issuer(signer, profile, FrozenClock(at))
        first = store.count() + 1
        around = None if enrichment is None else Enrichment.from_json(enrichment)
        papers = [make_metadata(arxiv_id=f"2601.{n:05}") for n in range(first, first + count)]
        return [store.issue(paper, Provenance("test"), issuer, around).record for paper in papers]

    return call


@pytest.fixture
def forge(store: Store, sql: Sql) -> Callable[..., None]:
    """Append a receipt with changed fields to a record, as its newest."""

    def call(record: PithRecord, **changes: str) -> None:
        receipt = msgspec.json.encode(msgspec.structs.replace(record.receipt, **changes))
        append_receipt(sql, row_of(store, record), receipt)

    return call


def append_receipt(sql: Sql, row: int, receipt: bytes) -> None:
    """Give a row one receipt more, as its newest."""
    sql("INSERT INTO receipts (record_id, receipt, recorded_at) VALUES (:row, :it, '')", row=row, it=receipt)
    sql("UPDATE current SET receipt_id = (SELECT max(id) FROM receipts) WHERE record_id = :row", row=row)


def row_of(store: Store, record: PithRecord) -> int:
    return store.row_of(record.pith_number)


def receipts_of(store: Store, record: PithRecord) -> list[Receipt]:
    return store.receipts_of(record.number)


def is_signed(store: Store, record: PithRecord) -> bool:
    """Whether the new key has signed the record."""
    return any(receipt.key_id == NEW.key_id for receipt in receipts_of(store, record))


WRONG = encode_base64(b"\1" * 64)

#: A check of a whole store of two records that saw the receipts up to `last`.
CHECK = (
    "INSERT INTO checks (checked_at, last_receipt_id, records, failed) "
    "VALUES ('2026-01-03T00:00:00.000000Z', :last, 2, :failed)"
)

# --- which records ----------------------------------------------------------------------------------------------


def test_record_of_a_retired_key_gets_a_receipt_of_the_new_one(store: Store, issue: Any) -> None:
    [old] = issue()
    assert reissue(store).counts == (1, 0)
    new = store.get(old.pith_number).record
    assert new.receipt.key_id == NEW.key_id
    assert verify(new.to_json(), NEW_RING, make_metadata()).failed == []


def test_only_those_that_need_it_are_reissued(store: Store, issue: Any) -> None:
    old, new, others = issue(3), issue(2, NEW), issue(2, OTHERS)
    others_key = RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "verify")
    assert reissue(store, ROTATED_RING.with_key(others_key)).counts == (3, 0)
    assert [len(receipts_of(store, record)) for record in old + new + others] == [2, 2, 2, 1, 1, 1, 1]


def test_second_run_finds_nothing(store: Store, issue: Any) -> None:
    issue(3)
    reissue(store)
    assert reissue(store).counts == (0, 0)


@pytest.mark.parametrize("before", [0, 2])
def test_nothing_to_do_is_no_step(store: Store, issue: Any, before: int) -> None:
    issue(before, NEW)
    assert list(Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock()).run_all()) == []


def test_other_builder_needs_a_receipt_under_the_same_key(store: Store, issue: Any) -> None:
    [old] = issue(1, NEW)
    assert reissue(store, profile=NEXT_BUILDER).counts == (1, 0)
    new = store.get(old.pith_number).record
    assert new.receipt.builder_version == NEXT_BUILDER.builder_version
    assert new.graph_snapshot.builder_version == Profile().builder_version


def test_pending_counts_what_a_run_will_look_at(store: Store, issue: Any) -> None:
    issue(3)
    issue(2, NEW)
    issue(1, NEW, profile=NEXT_BUILDER)
    run = Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock())
    assert (run.pending(), run.pending(OLD.key_id), run.pending(NEW.key_id)) == (4, 3, 1)


def test_run_begins_with_the_number_of_all_that_need_it(store: Store, issue: Any) -> None:
    issue(3)
    issue(2, NEW)
    steps = Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock(ROTATED)).run_all()
    assert next(steps).total == 3


@pytest.mark.parametrize("by", ["key_id", "fingerprint"])
def test_old_key_is_named_by_id_or_fingerprint(store: Store, issue: Any, by: str) -> None:
    old, third = issue(2), issue(2, OTHERS)
    ring = ROTATED_RING.with_key(RingKey.of(OTHERS.key_id, OTHERS.public_key, "retired", "receipts"))
    name = getattr(ring.keys[0], by)
    assert reissue(store, ring, lambda run: run.run_all(name)).counts == (2, 0)
    assert all(is_signed(store, record) for record in old)
    assert not any(is_signed(store, record) for record in third)


def test_key_that_the_ring_does_not_know_is_named_by_its_fingerprint(store: Store, issue: Any) -> None:
    unknown, _ = issue(1, OTHERS), issue(1)
    digest = bytes.fromhex(unknown[0].canonical_sha256)
    ran = reissue(
        store,
        steps=lambda run: run.run_all(unknown[0].receipt.public_key_fingerprint),
        recompute=lambda papers: dict.fromkeys(papers, digest),
    )
    assert ran.counts == (1, 0)
    assert is_signed(store, unknown[0])


@pytest.mark.parametrize("name", ["TEST-v1-2026-10", "", "0" * 32, OTHERS.key_id])
def test_key_that_is_neither_in_the_ring_nor_in_the_store_is_not_found(store: Store, issue: Any, name: str) -> None:
    issue()
    run = Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock(ROTATED))
    for call in (run.pending, lambda key: next(run.run_all(key))):
        with pytest.raises(NotFound, match="no key"):
            call(name)


def test_key_of_the_ring_without_records_is_nothing_to_do(store: Store, issue: Any) -> None:
    issue()
    ring = ROTATED_RING.with_key(RingKey.of(OTHERS.key_id, OTHERS.public_key, "retired", "receipts"))
    assert reissue(store, ring, lambda run: run.run_all(OTHERS.key_id)).counts == (0, 0)


def test_pending_of_named_records_counts_as_a_run_over_them_does(store: Store, issue: Any) -> None:
    old, new, others = issue(3), issue(2, NEW), issue(2, OTHERS)
    ring = ROTATED_RING.with_key(RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "verify"))
    run = Reissue(store, ring, NEW, Profile(), FrozenClock(ROTATED))
    chosen = [row_of(store, record) for record in (old[0], new[0], others[0], others[1])]
    assert (run.pending(), run.pending_named(chosen), run.pending_named([])) == (3, 3, 0)
    assert reissue(store, ring, named(chosen)).counts == (3, 0)


def test_altered_record_that_is_named_is_refused_and_the_others_are_reissued(
    store: Store, issue: Any, sql: Sql
) -> None:
    records = issue(3)
    sql("UPDATE records SET canonical = :it WHERE id = 2", it=b"{")
    ran = reissue(store, steps=named([row_of(store, record) for record in records]))
    assert (ran.counts, ran.refused[0].code) == ((2, 1), "altered_record")


def test_named_records_are_reissued_and_no_others(store: Store, issue: Any) -> None:
    first, second, third = issue(3)
    assert reissue(store, steps=named([row_of(store, third), row_of(store, first)])).counts == (2, 0)
    assert [is_signed(store, record) for record in (first, second, third)] == [True, False, True]


def test_named_record_that_does_not_need_it_stays(store: Store, issue: Any) -> None:
    [record] = issue(1, NEW)
    assert reissue(store, steps=named([row_of(store, record)])).counts == (0, 0)
    assert store.get(record.pith_number).record == record


def test_record_that_is_named_twice_is_reissued_once(store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 1)
    [record] = issue()
    assert reissue(store, steps=named([row_of(store, record)] * 3)).counts == (1, 0)
    assert len(receipts_of(store, record)) == 2


@pytest.mark.parametrize(
    ("steps", "expected"),
    [(Reissue.run_all, 0), (named([1]), 1), (lambda run: run.run_all(OLD.key_id), 2)],
    ids=["all", "by number", "by key"],
)
def test_records_under_others_keys_are_reissued_only_when_named(
    store: Store, issue: Any, steps: Any, expected: int
) -> None:
    issue(2)
    assert reissue(store, ring_of("active", use="verify"), steps).counts == (expected, 0)


def test_limit_is_the_most_that_is_reissued(store: Store, issue: Any) -> None:
    issue(5)
    assert [reissue(store, steps=lambda run: run.run_all(limit=2)).reissued for _ in range(4)] == [2, 2, 1, 0]


@pytest.mark.parametrize("batch", [1, 2, 3, 500])
@pytest.mark.parametrize("limit", [1, 2, 3, 5])
def test_refused_records_in_front_do_not_use_up_the_limit(
    store: Store, issue: Any, forge: Any, monkeypatch: pytest.MonkeyPatch, batch: int, limit: int
) -> None:
    """Else a run of that limit would meet the same ones again and again, and never come to the others."""
    monkeypatch.setattr(module, "BATCH", batch)
    *bad, _, _, _ = issue(7)
    for record in bad:
        forge(record, signature_b64=WRONG)
    done = []
    for _ in range(3):
        ran = reissue(store, steps=lambda run: run.run_all(limit=limit))
        assert len({refusal.pith_number for refusal in ran.refused}) == len(ran.refused)
        done.append(ran.reissued)
    assert done == [min(limit, max(0, 3 - n * limit)) for n in range(3)]


def test_limit_holds_over_batches_and_keys(store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    issue(4)
    issue(4, NEW, profile=NEXT_BUILDER)
    assert reissue(store, steps=lambda run: run.run_all(limit=7)).reissued == 7


@pytest.mark.parametrize("batch", [1, 2, 7, 500])
def test_batches_of_any_size_reissue_all(store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch, batch: int) -> None:
    monkeypatch.setattr(module, "BATCH", batch)
    records = issue(7)
    assert reissue(store).counts == (7, 0)
    assert all(len(receipts_of(store, record)) == 2 for record in records)


# --- what the store holds afterwards ----------------------------------------------------------------------------


def test_all_but_receipt_and_updated_at_stays_in_the_store(store: Store, store_url: str, issue: Any) -> None:
    [old] = issue(
        enrichment=b'{"headline":"Read","verdict":{"id":"v1","zz":[1]}}', profile=Profile("https://a.example")
    )
    reissue(store, profile=NEXT_BUILDER)
    new = Store(store_url).get(old.pith_number)
    assert new.record.replace(receipt=old.receipt, updated_at=old.updated_at).to_json() == old.to_json()
    assert new.enrichment is not None
    assert new.recorded_at == "2026-01-02T03:04:05.678901Z"


def test_times_of_a_reissued_record(store: Store, issue: Any) -> None:
    [old] = issue()
    reissue(store)
    new = store.get(old.pith_number).record
    assert new.receipt.first_computed_at == old.receipt.first_computed_at
    assert (new.receipt.last_reissued_at, new.updated_at, new.receipt.signed_at) == (
        "2026-02-01T03:04:05.678901Z",
        "2026-02-01T03:04:06.678901+00:00",
        "2026-02-01T03:04:07.678901Z",
    )


def test_clock_that_went_back_gives_no_time_before_the_records(store: Store, issue: Any) -> None:
    [old] = issue(at=START + 10 * DAY)
    reissue(store, clock=FrozenClock(START))
    new = store.get(old.pith_number).record
    assert (new.updated_at, new.receipt.signed_at) == (old.updated_at, old.receipt.signed_at)
    assert verify(new, NEW_RING).ok


def test_history_is_whole_and_in_order(store: Store, issue: Any) -> None:
    [record] = issue()
    signers = [OLD, NEW, OTHERS]
    for n, signer in enumerate(signers[1:], 1):
        ring = KeyRing.empty()
        for other in signers:
            state: State = "active" if other is signer else "retired"
            ring = ring.with_key(RingKey.of(other.key_id, other.public_key, state, "receipts"))
        assert reissue(store, ring, signer=signer, clock=FrozenClock(START + n * 30 * DAY)).counts == (1, 0)
    history = receipts_of(store, record)
    assert history[0] == record.receipt
    assert [receipt.key_id for receipt in history] == [signer.key_id for signer in signers]
    assert [receipt.signed_at for receipt in history] == sorted(receipt.signed_at for receipt in history)
    assert store.get(record.pith_number).record.receipt == history[-1]
    assert len({receipt.first_computed_at for receipt in history}) == 1


def test_columns_follow_the_newest_receipt(store: Store, issue: Any, sql: Sql) -> None:
    issue(3)
    reissue(store, profile=NEXT_BUILDER)
    assert sql("SELECT DISTINCT key_fingerprint, receipt_builder FROM current") == [
        (ROTATED_RING.keys[1].fingerprint, NEXT_BUILDER.builder_version)
    ]
    assert store.count_by_key() == {ROTATED_RING.keys[1].fingerprint: 3}


def test_paper_can_be_updated_after_its_record_was_reissued(store: Store, issue: Any) -> None:
    [old] = issue()
    reissue(store)
    issuer = Issuer(NEW, clock=FrozenClock(ROTATED + DAY))
    outcome = store.issue(make_metadata(authors="Grace Hopper"), Provenance("test"), issuer)
    assert outcome.action == "updated"
    assert outcome.record.receipt == receipts_of(store, old)[-1]
    assert verify(store.get(old.pith_number).record, NEW_RING).ok


# --- altered records are never signed ---------------------------------------------------------------------------


class Counting:
    """The new key, which counts how often it is asked."""

    key_id, public_key = NEW.key_id, NEW.public_key

    def __init__(self) -> None:
        self.asked = 0

    def sign(self, message: bytes) -> bytes:
        self.asked += 1
        return NEW.sign(message)


#: What becomes of the canonical bytes.
ALTERED_BYTES: dict[str, Callable[[bytes], bytes]] = {
    "title hash": lambda canonical: canonical.replace(b'title_canon_sha256":"', b"\\0"),
    "licence": lambda canonical: canonical.replace(b"licenses/by", b"licenses/zz"),
    "a space": lambda canonical: canonical + b" ",
    "order of keys": lambda _: b'{"source":1,"metadata":2}',
    "no JSON": lambda _: b"{",
    "no UTF-8": lambda _: b"\xff\0",
    "nothing": lambda _: b"",
    "of another record": lambda canonical: canonical.replace(b"2601.00001", b"2601.00002"),
    "id that is none": lambda canonical: canonical.replace(b"2601.00001", b""),
}
#: What becomes of the columns beside them, as a column and its new value.
ALTERED_COLUMNS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "suffix": ("suffix", lambda suffix: "A" + suffix[1:]),
    "digest": ("canonical_sha256", lambda _: b"\0" * 32),
    "digest cut": ("canonical_sha256", lambda digest: digest[:-1]),
}
ALTERED = {name: ("canonical", change) for name, change in ALTERED_BYTES.items()} | ALTERED_COLUMNS
#: Where the canonical bytes can't be read any more, so that nobody knows the year of the number.
UNREADABLE = ("title hash", "order of keys", "no JSON", "no UTF-8", "nothing")


@pytest.mark.parametrize("name", ALTERED)
@pytest.mark.parametrize("state", ["retired", "compromised", "recomputed", "trusted"])
def test_altered_record_is_never_signed_and_is_reported(
    store: Store, issue: Any, sql: Sql, name: str, state: str
) -> None:
    altered, sound = issue(2)
    column, change = ALTERED[name]
    [(before,)] = sql(f"SELECT {column} FROM records WHERE id = 1")
    sql(f"UPDATE records SET {column} = :it WHERE id = 1", it=change(before))
    [(suffix,)] = sql("SELECT suffix FROM records WHERE id = 1")
    options: dict[str, Any] = {}
    if state == "trusted":
        sql(CHECK, last=2, failed=0)
        options["trust_last_check"] = True
    if state == "recomputed":
        options["recompute"] = lambda papers: {
            paper: canonical_record(make_metadata(arxiv_id=paper.id)).digest() for paper in papers if paper.id
        }
    ring = ring_of(reason="compromised") if state == "compromised" else ROTATED_RING
    signer = Counting()
    ran = reissue(store, ring, signer=signer, **options)
    number = f"pith:{suffix}" if name in UNREADABLE else f"pith:2026:{suffix}"
    assert [(refusal.pith_number, refusal.code) for refusal in ran.refused] == [(number, "altered_record")]
    assert (ran.reissued, signer.asked) == (1, 1)
    assert sql("SELECT count(*) FROM receipts WHERE record_id = 1") == [(1,)]
    assert is_signed(store, sound)
    assert not is_signed(store, altered)


@pytest.mark.parametrize("store_url", ["sqlite"], indirect=True)  # the other keeps no text in a column of bytes
def test_record_with_text_in_the_place_of_bytes_is_never_signed(store: Store, issue: Any, sql: Sql) -> None:
    issue()
    sql("UPDATE records SET canonical = CAST(canonical AS TEXT)")
    signer = Counting()
    assert (reissue(store, signer=signer).counts, signer.asked) == ((0, 1), 0)


def _replaced_throughout(store: Store, sql: Sql) -> None:
    """The row becomes that of another record in canonical bytes, digest and suffix; its receipt stays."""
    other = canonical_record(make_metadata(title="Forged"))
    values = {"canonical": other.to_bytes(), "digest": other.digest(), "suffix": other.number().suffix}
    sql(
        "UPDATE records SET canonical = :canonical, canonical_sha256 = :digest, suffix = :suffix WHERE id = 1", **values
    )


@pytest.mark.parametrize("is_trusted", [False, True], ids=["checked", "trusting the last check"])
@pytest.mark.parametrize(
    "ring",
    [ROTATED_RING, ring_of(reason="compromised"), ring_of(reason="lost")],
    ids=["retired", "compromised", "lost"],
)
def test_record_replaced_throughout_is_never_signed(
    store: Store, issue: Any, sql: Sql, ring: KeyRing, is_trusted: bool
) -> None:
    issue()
    _replaced_throughout(store, sql)
    sql(CHECK, last=1, failed=0)
    signer = Counting()
    ran = reissue(store, ring, signer=signer, trust_last_check=is_trusted)
    assert (ran.counts, signer.asked) == ((0, 1), 0)


# --- the old receipt --------------------------------------------------------------------------------------------

BAD_RECEIPTS = {
    "other signature": {"signature_b64": WRONG},
    "signature that is no base64": {"signature_b64": "!"},
    "no signature": {"signature_b64": ""},
    "digest of another": {"canonical_sha256": "0" * 64},
    "signed_at that is none": {"signed_at": "yesterday"},
    "last_reissued_at that is none": {"last_reissued_at": ""},
    "other key's id": {"key_id": NEW.key_id},
    "unknown id": {"key_id": "nobody"},
    "other fingerprint": {"public_key_fingerprint": "0" * 32},
}


@pytest.mark.parametrize("changes", BAD_RECEIPTS.values(), ids=BAD_RECEIPTS.keys())
def test_record_with_a_bad_receipt_is_refused(store: Store, issue: Any, forge: Any, changes: dict[str, str]) -> None:
    bad, sound = issue(2)
    forge(bad, **changes)
    signer = Counting()
    ran = reissue(store, signer=signer)
    assert ([refusal.pith_number for refusal in ran.refused], signer.asked) == ([bad.pith_number], 1)
    assert len(receipts_of(store, bad)) == 2
    assert is_signed(store, sound)


@pytest.mark.parametrize("receipt", [b"", b"{}", b'{"kind":"pith_receipt"', b"\xff"])
def test_receipt_that_cannot_be_read_is_refused(store: Store, issue: Any, sql: Sql, receipt: bytes) -> None:
    _, sound = issue(2)
    append_receipt(sql, 1, receipt)
    assert reissue(store).counts == (1, 1)
    assert is_signed(store, sound)


def test_refusal_names_the_key_whose_signature_it_is_not(store: Store, issue: Any, forge: Any) -> None:
    [bad] = issue()
    forge(bad, signature_b64=WRONG)
    [refusal] = reissue(store).refused
    assert (refusal.code, refusal.reason) == ("no_evidence", f"the signature of its receipt is not {OLD.key_id}'s")


def test_refused_record_is_reported_again_by_the_next_run(store: Store, issue: Any, forge: Any) -> None:
    bad, _ = issue(2)
    forge(bad, signature_b64=WRONG)
    assert reissue(store).counts == (1, 1)
    assert reissue(store).counts == (0, 1)


# --- what vouches, by the state of the old key ------------------------------------------------------------------

SIGNED, REFUSED = (1, 0), (0, 1)


@pytest.mark.parametrize(
    ("ring", "at", "expected"),
    [
        (ring_of("retired"), BEFORE, SIGNED),
        (ring_of("retired"), AFTER, SIGNED),
        (ring_of(reason="superseded"), BEFORE, SIGNED),
        (ring_of(reason="superseded"), AFTER, REFUSED),
        (ring_of(reason="lost"), BEFORE, SIGNED),
        (ring_of(reason="lost"), AFTER, REFUSED),
        (ring_of(reason="compromised"), BEFORE, SIGNED),
        (ring_of(reason="compromised"), AFTER, REFUSED),
        (ring_of("next"), BEFORE, REFUSED),
        (NEW_RING, BEFORE, REFUSED),
        (ring_of("active", use="verify"), BEFORE, (0, 0)),
    ],
    ids=[
        "retired",
        "retired, long after",
        "superseded later",
        "superseded before",
        "lost later",
        "lost before",
        "compromised later",
        "compromised before",
        "next",
        "unknown",
        "others'",
    ],
)
def test_what_is_signed_by_the_state_of_the_old_key(
    store: Store, issue: Any, ring: KeyRing, at: Any, expected: tuple[int, int]
) -> None:
    issue(at=at)
    assert reissue(store, ring).counts == expected


@pytest.mark.parametrize(
    "ring",
    [ring_of(reason="superseded"), ring_of(reason="lost"), ring_of(reason="compromised"), NEW_RING, ring_of("next")],
    ids=["superseded", "lost", "compromised", "unknown", "next"],
)
def test_record_recomputed_from_metadata_is_signed_whatever_its_receipt_is_worth(
    store: Store, issue: Any, ring: KeyRing
) -> None:
    [record] = issue(at=AFTER)
    digest = bytes.fromhex(record.canonical_sha256)
    assert reissue(store, ring, recompute=lambda papers: dict.fromkeys(papers, digest)).counts == SIGNED
    assert verify(store.get(record.pith_number).record, NEW_RING).ok


@pytest.mark.parametrize(
    "recompute",
    [
        lambda papers: {},
        lambda papers: dict.fromkeys(papers, b"\0" * 32),
    ],
    ids=["paper unknown", "another digest"],
)
def test_forgery_under_a_compromised_key_is_not_laundered(store: Store, issue: Any, recompute: Any) -> None:
    [record] = issue(at=AFTER)
    signer = Counting()
    ran = reissue(store, ring_of(reason="compromised"), signer=signer, recompute=recompute)
    assert (ran.counts, ran.refused[0].code, signer.asked) == (REFUSED, "no_evidence", 0)
    assert "evidence of nothing" in ran.refused[0].reason
    assert store.get(record.pith_number).record == record


def test_backdated_receipt_does_not_help_a_forgery_under_a_compromised_key(
    store: Store, issue: Any, forge: Any
) -> None:
    [record] = issue(at=AFTER)
    early = "2026-01-02T03:04:05.678901Z"
    forge(record, signed_at=early, last_reissued_at=early, first_computed_at=early)
    assert reissue(store, ring_of(reason="compromised")).counts == REFUSED


THIRD = make_signer(4)


def laundering_ring() -> KeyRing:
    """The old key is known as compromised only after two more rotations."""
    ring = ring_of(reason="compromised")
    ring = ring.with_key(RingKey.of(NEW.key_id, NEW.public_key, "retired", "receipts", START - DAY))
    return ring.with_key(RingKey.of(THIRD.key_id, THIRD.public_key, "active", "receipts", START - DAY))


@pytest.mark.parametrize("is_trusted", [False, True], ids=["verifying", "trusting the last check"])
def test_forgery_is_not_laundered_by_a_reissue_before_the_compromise_was_known(
    store: Store, issue: Any, sql: Sql, is_trusted: bool
) -> None:
    """The newest receipt is good then, but it only repeats what the first one said."""
    early, late = issue(at=BEFORE) + issue(at=AFTER)
    assert reissue(store).counts == (2, 0)
    sql(CHECK, last=4, failed=0)
    clock = FrozenClock(ROTATED + 30 * DAY)
    ring = laundering_ring()
    ran = reissue(store, ring, signer=THIRD, clock=clock, trust_last_check=is_trusted)
    assert (ran.reissued, [(refusal.pith_number, refusal.code) for refusal in ran.refused]) == (
        1,
        [(late.pith_number, "no_evidence")],
    )
    assert "evidence of nothing" in ran.refused[0].reason
    assert [len(receipts_of(store, record)) for record in (early, late)] == [3, 2]


@pytest.mark.parametrize("at", [BEFORE, AFTER], ids=["before", "after"])
def test_record_reissued_before_the_compromise_was_known_is_signed_where_it_is_recomputed(
    store: Store, issue: Any, at: Any
) -> None:
    [record] = issue(at=at)
    assert reissue(store).counts == (1, 0)
    digest = bytes.fromhex(record.canonical_sha256)
    options: dict[str, Any] = {"signer": THIRD, "clock": FrozenClock(ROTATED + 30 * DAY)}
    ran = reissue(store, laundering_ring(), recompute=lambda papers: dict.fromkeys(papers, digest), **options)
    assert ran.counts == (1, 0)


@pytest.mark.parametrize("receipt", [b"", b"{}", b"\xff"])
def test_first_receipt_that_cannot_be_read_is_refused_once_a_key_is_compromised(
    store: Store, issue: Any, sql: Sql, unguarded: Callable[[str], None], receipt: bytes
) -> None:
    issue(at=BEFORE)
    assert reissue(store).counts == (1, 0)
    unguarded("receipts")
    sql("UPDATE receipts SET receipt = :it WHERE id = 1", it=receipt)
    clock = FrozenClock(ROTATED + 30 * DAY)
    assert reissue(store, laundering_ring(), signer=THIRD, clock=clock).counts == (0, 1)


def test_compromise_of_another_key_says_nothing_against_a_record(store: Store, issue: Any) -> None:
    issue(1, NEW, at=AFTER)
    clock = FrozenClock(ROTATED + 30 * DAY)
    assert reissue(store, laundering_ring(), signer=THIRD, clock=clock).counts == (1, 0)


def test_record_taken_in_at_the_moment_of_the_compromise_is_refused(store: Store, issue: Any) -> None:
    issue(at=START.replace(microsecond=0))
    assert reissue(store, ring_of(reason="compromised", since="2026-01-02T03:04:05Z")).counts == REFUSED


@pytest.mark.parametrize("recorded_at", ["", "2026-01-02", "long ago"])
def test_record_that_came_in_at_no_time_that_can_be_read_is_refused_after_a_compromise(
    store: Store, issue: Any, sql: Sql, recorded_at: str
) -> None:
    issue()
    sql("UPDATE records SET recorded_at = :at", at=recorded_at)
    assert reissue(store, ring_of(reason="compromised")).counts == REFUSED


def test_signature_is_checked_also_of_what_came_in_before_a_compromise(store: Store, issue: Any, forge: Any) -> None:
    """A compromise must not make reissuing less strict than it is for a sound key."""
    [record] = issue(at=BEFORE)
    forge(record, signature_b64=WRONG)
    assert reissue(store, ring_of(reason="compromised")).counts == REFUSED


def test_of_two_records_of_one_version_the_recomputed_one_is_signed(store: Store, issue: Any) -> None:
    """The source corrected a title, so that there are two numbers of one id and version; metadata describe one."""
    issuer = Issuer(OLD, clock=FrozenClock(AFTER))
    titles = ("First", "Corrected")
    first, corrected = (store.issue(make_metadata(title=title), Provenance("test"), issuer).record for title in titles)
    for described in (first, corrected):
        digest = bytes.fromhex(described.canonical_sha256)
        ran = reissue(
            store,
            ring_of(reason="compromised"),
            named([row_of(store, first), row_of(store, corrected)]),
            recompute=lambda papers, digest=digest: dict.fromkeys(papers, digest),
        )
        assert ran.reissued == 1
        assert is_signed(store, described)


def test_expired_key_vouches_for_what_it_signed_before_its_end(store: Store, issue: Any) -> None:
    early, late = issue(at=BEFORE) + issue(at=AFTER)
    ring = ROTATED_RING.with_key(msgspec.structs.replace(ROTATED_RING.keys[0], not_after=SINCE))
    assert reissue(store, ring).counts == (1, 1)
    assert (is_signed(store, early), is_signed(store, late)) == (True, False)


def test_others_key_vouches_only_with_its_own_signature(store: Store, issue: Any, forge: Any) -> None:
    sound, bad = issue(2)
    forge(bad, signature_b64=WRONG)
    assert reissue(store, ring_of("active", use="verify"), named([1, 2])).counts == (1, 1)
    assert is_signed(store, sound)


def test_clock_that_is_behind_the_rotation_leaves_no_record_without_a_valid_receipt(store: Store, issue: Any) -> None:
    """Another machine's clock may not have come to the new key's not_before yet."""
    [record] = issue()
    not_before = (START + DAY).strftime("%Y-%m-%dT%H:%M:%SZ")
    ring = ROTATED_RING.with_key(msgspec.structs.replace(ROTATED_RING.keys[1], not_before=not_before))
    reissue(store, ring, clock=FrozenClock(START + DAY / 2))
    assert verify(store.get(record.pith_number).record, ring).failed == []


# --- trusting the last check ------------------------------------------------------------------------------------


@pytest.mark.parametrize("failed", [None, 1], ids=["no check", "check with failures"])
def test_without_a_check_that_all_passed_there_is_none_to_trust(
    store: Store, issue: Any, sql: Sql, failed: int | None
) -> None:
    issue(2)
    if failed is not None:
        sql(CHECK, last=2, failed=0)
        sql(CHECK, last=2, failed=failed)
    with pytest.raises(Refused, match="no check of the whole store") as caught:
        reissue(store, trust_last_check=True)
    assert "store check" in caught.value.hint


def test_receipt_that_the_last_check_passed_is_not_verified_again(
    store: Store, issue: Any, sql: Sql, forge: Any
) -> None:
    [record] = issue()
    forge(record, signature_b64=WRONG)
    sql(CHECK, last=2, failed=0)
    assert reissue(store).counts == REFUSED
    assert reissue(store, trust_last_check=True).counts == SIGNED


def test_receipt_newer_than_the_last_check_is_verified(store: Store, issue: Any, sql: Sql, forge: Any) -> None:
    [record] = issue()
    sql(CHECK, last=1, failed=0)
    forge(record, signature_b64=WRONG)
    assert reissue(store, trust_last_check=True).counts == REFUSED


@pytest.mark.parametrize("reason", ["superseded", "lost", "compromised"])
def test_last_check_does_not_vouch_for_a_revoked_key(store: Store, issue: Any, sql: Sql, reason: str) -> None:
    issue(at=AFTER)
    sql(CHECK, last=1, failed=0)
    assert reissue(store, ring_of(reason=reason), trust_last_check=True).counts == REFUSED


def test_run_says_which_check_it_trusts(store: Store, sql: Sql) -> None:
    sql(CHECK, last=0, failed=0)
    run = Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock(), trust_last_check=True)
    assert run.trusted_check == "2026-01-03T00:00:00.000000Z"


# --- signers that fail ------------------------------------------------------------------------------------------


class Failing:
    """The new key, which is locked at these calls (from 1)."""

    key_id, public_key = NEW.key_id, NEW.public_key

    def __init__(self, *at: int, every: int = 10**9, error: BaseException | None = None) -> None:
        self.asked, self._at, self._every = 0, at, every
        self._error = error or KeyLocked("the agent is gone")

    def sign(self, message: bytes) -> bytes:
        self.asked += 1
        if self.asked in self._at or self.asked % self._every == 0:
            raise self._error
        return NEW.sign(message)


def test_signer_that_fails_now_and_then_leaves_those_records_for_the_next_run(store: Store, issue: Any) -> None:
    records = issue(25)
    ran = reissue(store, signer=Failing(every=10))
    assert ran.counts == (23, 2)
    assert {(refusal.code, refusal.reason) for refusal in ran.refused} == {("key_locked", "the agent is gone")}
    assert reissue(store).counts == (2, 0)
    assert all(len(receipts_of(store, record)) == 2 for record in records)


@pytest.mark.parametrize("batch", [1, 4, 5, 6, 500])
def test_signer_that_fails_three_times_in_a_row_ends_the_run_and_the_work_so_far_is_kept(
    store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr(module, "BATCH", batch)
    records = issue(20)
    signer = Failing(6, 7, 8)
    with pytest.raises(SignerFailed, match="3 times in a row: the agent is gone"):
        reissue(store, signer=signer)
    assert signer.asked == 8
    assert sum(is_signed(store, record) for record in records) == 5
    assert reissue(store).counts == (15, 0)
    assert all(len(receipts_of(store, record)) == 2 for record in records)


def test_progress_tells_failures_of_the_signer_from_refused_records(store: Store, issue: Any, forge: Any) -> None:
    bad, *_ = issue(5)
    forge(bad, signature_b64=WRONG)
    *_, last = Reissue(store, ROTATED_RING, Failing(2, 3), Profile(), FrozenClock(ROTATED)).run_all()
    assert (last.reissued, last.refused, last.signer_failed) == (2, 3, 2)


def test_failures_that_are_not_in_a_row_end_nothing(store: Store, issue: Any) -> None:
    issue(9)
    assert reissue(store, signer=Failing(1, 2, 4, 5, 7, 8)).counts == (3, 6)


def test_signer_that_fails_from_the_start_leaves_the_store_as_it_was(store: Store, issue: Any, sql: Sql) -> None:
    issue(5)
    tables = ("records", "current", "receipts")
    before = [sql(f"SELECT * FROM {table} ORDER BY 1") for table in tables]
    with pytest.raises(SignerFailed):
        reissue(store, signer=Failing(every=1))
    assert [sql(f"SELECT * FROM {table} ORDER BY 1") for table in tables] == before


def test_interruption_keeps_the_batches_before_it(store: Store, issue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BATCH", 4)
    records = issue(10)
    with pytest.raises(KeyboardInterrupt):
        reissue(store, signer=Failing(7, error=KeyboardInterrupt()))
    assert [len(receipts_of(store, record)) for record in records] == [2] * 4 + [1] * 6
    assert reissue(store).counts == (6, 0)


# --- several runs at once ---------------------------------------------------------------------------------------


def test_runs_that_take_turns_reissue_none_twice(
    store: Store, store_url: str, issue: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 3)
    records = issue(20)
    runs = [Reissue(Store(store_url), ROTATED_RING, NEW, Profile(), FrozenClock(ROTATED)).run_all() for _ in range(3)]
    ends = {id(step): step for together in zip_longest(*runs) for step in together if step is not None}
    assert len(ends) == 3
    assert sum(step.reissued for step in ends.values()) == 20
    assert all(len(receipts_of(store, record)) == 2 for record in records)


def test_record_that_another_run_reissued_meanwhile_is_passed_over(store: Store, store_url: str, issue: Any) -> None:
    issue(3)
    steps = Reissue(store, ROTATED_RING, NEW, Profile(), FrozenClock(ROTATED)).run_all()
    reissue(Store(store_url))
    assert [step.reissued for step in steps] == []


def test_store_that_fails_in_a_batch_loses_nothing(store: Store, issue: Any, no_room: Any) -> None:
    records = issue(3)
    with no_room(2), pytest.raises(StoreFailed, match="disk is full") as caught:
        reissue(store)
    assert "make room" in caught.value.hint
    assert [len(receipts_of(store, record)) for record in records] == [1, 1, 1]
    assert reissue(store).counts == (3, 0)
