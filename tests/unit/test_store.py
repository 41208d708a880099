"""The store: what is issued into it, what it gives back, and what it never lets go."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError

from pith_builder import Enrichment, Issuer, KeyRing, PaperMetadata, PithRecord, Profile, Provenance, verify
from pith_builder.errors import Ambiguous, LicenseUnknown, NotFound, StoreFailed
from pith_builder.store import Outcome, Store
from pith_builder.store import store as store_module
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_record, make_signer

Issue = Callable[..., Outcome]
Sql = Callable[..., list[Any]]
LATER = START + timedelta(days=40)
VERDICT = {"id": "v1", "model_set": {"z": 1, "a": 2}, "novelty": "high", "a": {"é": [1, {"b": None, "a": True}]}}
ENRICHMENTS = {
    "none": None,
    "empty": "{}",
    "headline": '{"headline":"A reviewed paper"}',
    "unknown verdict fields": json.dumps({"verdict": VERDICT}),
    "nothing but unknown verdict fields": json.dumps({"verdict": {"zz": 1, "z": 2}}),
    "unknown fields in rows": json.dumps({"references": [{"resolved": True, "is_internal_anchor": False, "zz": "ü"}]}),
    "citations with a count": json.dumps({"inbound_citations": [{"citing_arxiv_id": "2602.00001"}]}),
}


@pytest.fixture
def store(store_url: str) -> Store:
    return Store(store_url)


@pytest.fixture
def issue(store: Store) -> Issue:
    """Issue into the store with the first TEST key, at `START` or the time of `clock`."""

    def call(
        metadata: PaperMetadata | None = None,
        enrichment: str | None = None,
        *,
        clock: FrozenClock | None = None,
        profile: Profile = Profile(),  # noqa: B008  # frozen
        source_time: str | None = None,
    ) -> Outcome:
        issuer = Issuer(make_signer(), profile, clock=clock or FrozenClock(step=timedelta(seconds=1)))
        around = None if enrichment is None else Enrichment.from_json(enrichment)
        return store.issue(metadata or make_metadata(), Provenance("test", source_time), issuer, around)

    return call


# --- issuing ----------------------------------------------------------------------------------------------------


def test_new_paper_is_issued(issue: Issue) -> None:
    outcome = issue()
    assert (outcome.action, outcome.follows) == ("issued", None)
    assert outcome.record == make_record(clock=FrozenClock(step=timedelta(seconds=1)))


def test_same_metadata_give_the_stored_record(issue: Issue, store: Store) -> None:
    first = issue()
    again = issue(clock=FrozenClock(LATER))
    assert again.action == "stored"
    assert again.record.to_json() == first.record.to_json()
    assert store.count() == 1


@pytest.mark.parametrize(
    "same",
    [
        {"title": "A Made-Up\n  Paper"},
        {"authors": "Emmy Noether, Ada Lovelace and Charles Babbage"},
        {"abstract": "  Nothing is shown here,\nand nothing else follows.\n"},
    ],
)
def test_spelling_that_no_record_shows_is_the_same(issue: Issue, same: dict[str, str]) -> None:
    issue()
    assert issue(make_metadata(**same)).action == "stored"


@pytest.mark.parametrize("other", [{"authors": "Grace Hopper"}, {"title": "A MADE-UP PAPER"}])
def test_other_paper_block_with_the_same_digest_updates(issue: Issue, store: Store, other: dict[str, str]) -> None:
    old = issue().record
    outcome = issue(make_metadata(**other), clock=FrozenClock(LATER))
    new = outcome.record
    assert outcome.action == "updated"
    assert (new.pith_number, new.receipt, new.created_at) == (old.pith_number, old.receipt, old.created_at)
    assert new.updated_at == "2026-02-11T03:04:05.678901+00:00"
    assert new.paper != old.paper
    assert store.get("2601.00001").record.to_json() == new.to_json()
    assert store.count() == 1


def test_updated_at_is_never_before_that_of_the_stored_record(issue: Issue) -> None:
    old = issue(clock=FrozenClock(LATER)).record
    new = issue(make_metadata(authors="Grace Hopper"), clock=FrozenClock(START)).record
    assert new.updated_at >= old.updated_at


def test_earlier_block_is_kept(issue: Issue, sql: Sql) -> None:
    old = issue(enrichment='{"headline":"First"}').record
    new = issue(make_metadata(authors="Grace Hopper"), '{"headline":"Second"}', clock=FrozenClock(LATER)).record
    [(paper, enrichment, updated_at, replaced_at)] = sql(
        "SELECT paper, enrichment, updated_at, replaced_at FROM earlier_blocks"
    )
    assert json.loads(paper)["authors_text"] == old.paper.authors_text
    assert json.loads(enrichment)["headline"] == "First"
    assert (updated_at, replaced_at) == (old.updated_at, new.updated_at)


def test_every_earlier_block_is_kept(issue: Issue, sql: Sql) -> None:
    for authors in ("A", "B", "C", "C", "A"):
        issue(make_metadata(authors=authors))
    papers = [json.loads(paper)["authors_text"] for (paper,) in sql("SELECT paper FROM earlier_blocks ORDER BY id")]
    assert papers == ["A", "B", "C"]


@pytest.mark.parametrize("given", [name for name in ENRICHMENTS if name != "none"])
def test_without_enrichment_the_stored_one_stays(issue: Issue, store: Store, given: str) -> None:
    first = issue(enrichment=ENRICHMENTS[given])
    again = issue()
    assert (again.action, again.record.to_json()) == ("stored", first.record.to_json())
    assert store.get("2601.00001").enrichment is not None


def test_other_authors_without_enrichment_keep_the_review(issue: Issue) -> None:
    issue(enrichment=ENRICHMENTS["unknown verdict fields"])
    record = json.loads(issue(make_metadata(authors="Grace Hopper")).record.to_json())
    assert record["paper"]["authors_text"] == "Grace Hopper"
    assert record["graph_snapshot"]["verdict"]["novelty"] == "high"


def test_other_enrichment_replaces_the_stored_one(issue: Issue, store: Store) -> None:
    issue(enrichment=ENRICHMENTS["unknown verdict fields"])
    outcome = issue(enrichment='{"headline":"New"}', clock=FrozenClock(LATER))
    assert outcome.action == "updated"
    record = json.loads(store.get("2601.00001").record.to_json())
    assert record["paper"]["headline"] == "New"
    assert "novelty" not in record["graph_snapshot"]["verdict"]


def test_base_url_of_an_updated_record_stays(issue: Issue) -> None:
    issue(profile=Profile("https://first.example"))
    record = issue(make_metadata(authors="Grace Hopper"), profile=Profile("https://second.example")).record
    assert record.base_url == "https://first.example"


def test_updated_record_has_the_builder_version_of_its_snapshot_and_keeps_that_of_its_receipt(issue: Issue) -> None:
    issue(profile=Profile(builder_version="old"))
    record = issue(make_metadata(authors="Grace Hopper"), profile=Profile(builder_version="new")).record
    assert (record.receipt.builder_version, record.graph_snapshot.builder_version) == ("old", "new")


def test_new_builder_version_alone_updates_nothing(issue: Issue) -> None:
    issue(profile=Profile(builder_version="old"))
    assert issue(profile=Profile(builder_version="new")).action == "stored"


@pytest.mark.parametrize("other", [{"version": 2}, {"license": ""}, {"title": "Another"}, {"categories": "cs.DL"}])
def test_other_digest_is_a_new_number_that_names_the_earlier(issue: Issue, store: Store, other: dict[str, Any]) -> None:
    first = issue().record
    outcome = issue(make_metadata(**other))
    assert outcome.action == "issued"
    assert outcome.follows == first.pith_number != outcome.record.pith_number
    assert store.count() == 2


def test_papers_do_not_follow_each_other(issue: Issue) -> None:
    issue()
    assert issue(make_metadata(arxiv_id="2601.00002")).follows is None


def test_unknown_licence_leaves_nothing(issue: Issue, store: Store) -> None:
    with pytest.raises(LicenseUnknown):
        issue(make_metadata(license=None))
    assert store.count() == 0


def test_signer_that_fails_leaves_nothing(store: Store) -> None:
    class Broken:
        key_id, public_key = "broken", make_signer().public_key

        def sign(self, message: bytes) -> bytes:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        store.issue(make_metadata(), Provenance("test"), Issuer(Broken(), clock=FrozenClock()))
    assert store.count() == 0


# --- rebuilding -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("enrichment", ENRICHMENTS.values(), ids=ENRICHMENTS.keys())
@pytest.mark.parametrize(
    "metadata",
    [
        make_metadata(),
        make_metadata(arxiv_id="hep-th/9901001", license="", submitted_at="1998-12-31T23:59:59Z"),
        make_metadata(title='Schr\\"odinger "é" \U0001f600', authors="Émilie du Châtelet, \U00010400"),
    ],
    ids=["plain", "old", "beyond ASCII"],
)
def test_rebuilt_record_is_the_issued_one_byte_for_byte(
    store_url: str, issue: Issue, metadata: PaperMetadata, enrichment: str | None
) -> None:
    issued = issue(metadata, enrichment, profile=Profile("https://mirror.example/base")).record
    rebuilt = Store(store_url).get(issued.pith_number).record
    assert rebuilt.to_json() == issued.to_json()
    assert PithRecord.from_json(issued.to_json()).to_json() == issued.to_json()


@pytest.mark.parametrize("enrichment", ENRICHMENTS.values(), ids=ENRICHMENTS.keys())
def test_rebuilt_record_verifies(issue: Issue, store: Store, enrichment: str | None) -> None:
    issue(enrichment=enrichment)
    assert verify(store.get("2601.00001").record, make_keyring(), make_metadata()).ok


def test_updated_record_is_rebuilt_byte_for_byte_too(store_url: str, issue: Issue) -> None:
    issue(enrichment='{"headline":"First"}')
    new = issue(make_metadata(authors="Grace Hopper"), ENRICHMENTS["unknown verdict fields"]).record
    assert Store(store_url).get("2601.00001").record.to_json() == new.to_json()


def test_seeds_metadata_go_through_the_store(store: Store, seed: tuple[PaperMetadata, bytes]) -> None:
    metadata, published = seed
    store.issue(metadata, Provenance("test"), Issuer(make_signer(), clock=FrozenClock()))
    record = store.get(metadata.arxiv_id).record
    assert json.loads(record.to_json())["canonical_record"] == json.loads(published)["canonical_record"]


def test_provenance_comes_back(store: Store) -> None:
    provenance = Provenance("json:x", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "0" * 64, withdrawn=True)
    store.issue(make_metadata(), provenance, Issuer(make_signer(), clock=FrozenClock()))
    stored = store.get("2601.00001")
    assert (stored.provenance, stored.withdrawn) == (provenance, None)
    assert stored.recorded_at == "2026-01-02T03:04:05.678901Z"


def test_receipts_of_a_number(issue: Issue, store: Store) -> None:
    record = issue().record
    assert store.receipts_of(record.number) == [record.receipt]
    assert store.receipts_of(make_record(make_metadata(version=2)).number) == []


# --- append-only ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("table", ["receipts", "earlier_blocks"])
@pytest.mark.parametrize("statement", ["UPDATE {} SET record_id = record_id", "DELETE FROM {}"])
def test_receipts_and_earlier_blocks_refuse_every_change(issue: Issue, sql: Sql, table: str, statement: str) -> None:
    issue()
    issue(make_metadata(authors="Grace Hopper"))
    with pytest.raises(IntegrityError, match="append-only"):
        sql(statement.format(table))
    assert sql(f"SELECT count(*) FROM {table}") == [(1,)]


# --- finding ----------------------------------------------------------------------------------------------------


def test_newest_of_a_paper_is_the_highest_version(issue: Issue, store: Store) -> None:
    for version, time in ((1, "2026-03-01"), (10, "2026-01-01"), (9, "2026-02-01")):
        issue(make_metadata(version=version), source_time=f"{time}T00:00:00Z")
    assert store.get("2601.00001").record.source.version == 10


def test_newest_of_a_version_is_what_the_source_said_last(issue: Issue, store: Store) -> None:
    for title, time in (("First", "2026-01-01"), ("Last", "2026-03-01"), ("Middle", "2026-02-01")):
        issue(make_metadata(title=title), source_time=f"{time}T00:00:00Z")
    assert store.get("2601.00001").record.paper.title == "Last"


def test_newest_of_a_version_is_what_was_read_last_where_the_source_has_no_time(store: Store) -> None:
    for title, fetched_at in (("Later", "2026-03-01T00:00:00Z"), ("Earlier", "2026-02-01T00:00:00Z")):
        issuer = Issuer(make_signer(), clock=FrozenClock())
        store.issue(make_metadata(title=title), Provenance("test", fetched_at=fetched_at), issuer)
    assert store.get("2601.00001").record.paper.title == "Later"


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"version": 2}, ("version",)),
        ({"license": ""}, ("license",)),
        ({"title": "Another"}, ("title_canon_sha256",)),
    ],
)
def test_number_that_follows_names_the_fields_that_differ(
    issue: Issue, other: dict[str, Any], differs: tuple[str, ...]
) -> None:
    issue()
    assert issue(make_metadata(**other)).differs == differs


def test_records_are_counted_by_the_key_of_their_newest_receipt(issue: Issue, store: Store) -> None:
    issue()
    issue(make_metadata(version=2))
    assert store.count_by_key() == {make_keyring().keys[0].fingerprint: 2}


def test_all_records_of_a_paper_are_found_newest_first(issue: Issue, store: Store) -> None:
    for version in (2, 3, 1):
        issue(make_metadata(version=version))
    assert [stored.record.source.version for stored in store.find("2601.00001")] == [3, 2, 1]


def test_follows_names_the_newest(issue: Issue) -> None:
    numbers = [issue(make_metadata(version=version)).record.pith_number for version in (1, 3, 2)]
    assert issue(make_metadata(version=4)).follows == numbers[1]


def test_year_that_does_not_fit_finds_nothing(issue: Issue, store: Store) -> None:
    number = issue().record.number
    assert store.find(f"pith:2026:{number.suffix}")
    assert store.find(f"pith:2025:{number.suffix}") == []


def test_nothing_found_says_so_with_a_next_step(store: Store) -> None:
    with pytest.raises(NotFound, match=r"no record of 2601\.00001") as caught:
        store.get("2601.00001")
    assert "pith-build issue" in caught.value.hint


def test_short_form_of_two_papers_is_ambiguous(issue: Issue, store: Store, sql: Sql) -> None:
    first, second = issue().record, issue(make_metadata(arxiv_id="2601.00002")).record
    sql(f"UPDATE records SET suffix = '{first.number.suffix[:12]}' || substr(suffix, 13) WHERE arxiv_id = '2601.00002'")
    with pytest.raises(Ambiguous) as caught:
        store.get(first.number.suffix[:12])
    assert set(caught.value.candidates) == {f"{first.pith_number} 2601.00001v1", f"{second.pith_number} 2601.00002v1"}
    assert store.get(first.number.suffix[:16]).record.to_json() == first.to_json()


# --- opening ----------------------------------------------------------------------------------------------------


def test_store_is_made_in_a_folder_for_its_owner_alone(tmp_path: Path) -> None:
    Store(f"sqlite:///{tmp_path / 'a' / 'b' / 'pith.db'}")
    assert (tmp_path / "a" / "b").stat().st_mode & 0o777 == 0o700


def test_store_opens_again(store_url: str, issue: Issue) -> None:
    issue()
    assert Store(store_url).count() == 1


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///:memory:", "mysql://u:pw@h/db", "what", "sqlite:x"])
def test_url_of_no_known_store_is_refused_with_the_right_form(url: str) -> None:
    with pytest.raises(StoreFailed) as caught:
        Store(url)
    assert "sqlite:////absolute/path" in caught.value.hint
    assert "pw" not in str(caught.value)


def test_registrys_key_signs_nothing_here(issue: Issue) -> None:
    assert not verify(issue().record, KeyRing.registry()).ok


# --- descriptions that come again -------------------------------------------------------------------------------


def test_same_description_later_moves_only_its_time(issue: Issue, store: Store, sql: Sql) -> None:
    issue(source_time="2026-01-01T00:00:00Z")
    assert issue(source_time="2026-02-01T00:00:00Z").action == "stored"
    assert sql("SELECT said_at FROM records") == [("2026-02-01T00:00:00Z",)]
    assert store.get("2601.00001").provenance.source_time == "2026-01-01T00:00:00Z"


def test_older_description_does_not_take_the_place_of_a_newer(issue: Issue, store: Store) -> None:
    newer = issue(make_metadata(authors="Newer Author"), source_time="2026-02-01T00:00:00Z").record
    assert issue(make_metadata(authors="Older Author"), source_time="2026-01-01T00:00:00Z").action == "stored"
    assert store.get("2601.00001").record.to_json() == newer.to_json()


def test_number_that_the_source_went_back_to_is_the_newest(issue: Issue, store: Store) -> None:
    first = issue(source_time="2026-01-01T00:00:00Z").record
    issue(make_metadata(title="Another Title"), source_time="2026-02-01T00:00:00Z")
    issue(source_time="2026-03-01T00:00:00Z")
    assert store.get("2601.00001").record.pith_number == first.pith_number


def test_earlier_version_issued_late_follows_no_later_one(issue: Issue) -> None:
    issue(make_metadata(version=2))
    assert issue(make_metadata(version=1)).follows is None


def test_short_form_of_two_numbers_of_one_paper_is_ambiguous(issue: Issue, store: Store, sql: Sql) -> None:
    suffix = issue().record.number.suffix
    issue(make_metadata(version=2))
    sql(f"UPDATE records SET suffix = '{suffix[:8]}' || substr(suffix, 9) WHERE version = 2")
    with pytest.raises(Ambiguous):
        store.get(suffix[:8])


def test_store_that_only_reads_is_not_made(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="no store yet"):
        Store(f"sqlite:///{tmp_path / 'pith.db'}", create=False)
    assert list(tmp_path.iterdir()) == []


def test_record_that_came_in_while_we_signed_is_the_stored_one(
    issue: Issue, store: Store, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = issue().record
    monkeypatch.setattr(Store, "_has", lambda *_: False)
    outcome = issue(clock=FrozenClock(LATER))
    assert (outcome.action, outcome.record.to_json()) == ("stored", first.to_json())
    assert len(sql("SELECT id FROM receipts")) == 1


def test_description_that_came_in_while_we_looked_is_not_replaced_by_its_twin(
    issue: Issue, store: Store, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue()
    other = make_metadata(authors="Grace Hopper")
    real = store_module.reading
    calls = []

    @contextmanager
    def reading(engine: Any) -> Any:
        with real(engine) as connection:
            yield connection
        if len(calls) == 1:  # after our look at the blocks, before we write
            calls.append("the other process")
            issue(other)
        calls.append("read")

    monkeypatch.setattr(store_module, "reading", reading)
    assert issue(other).action == "stored"
    assert len(sql("SELECT id FROM earlier_blocks")) == 1


def test_updates_of_one_record_at_once_lose_no_block(store: Store, store_url: str, issue: Issue, sql: Sql) -> None:
    """Each must see what the one before it wrote, or a block is kept twice and another never."""
    issue(make_metadata(authors="Author 0"))
    writers, rounds = 4, 5
    actions: list[str] = []

    def update(writer: int) -> None:
        own = Store(store_url)
        issuer = Issuer(make_signer(), clock=FrozenClock(LATER))
        for n in range(rounds):
            paper = make_metadata(authors=f"Author {1 + writer * rounds + n}")
            actions.append(own.issue(paper, Provenance("test"), issuer).action)

    threads = [threading.Thread(target=update, args=[n]) for n in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert actions == ["updated"] * writers * rounds
    papers = [json.loads(paper)["authors_text"] for (paper,) in sql("SELECT paper FROM earlier_blocks")]
    papers.append(store.get("2601.00001").record.paper.authors_text)
    assert sorted(papers) == sorted(f"Author {n}" for n in range(writers * rounds + 1))
