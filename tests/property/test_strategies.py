"""What the strategies draw holds what the protocol says, and reaches the edges that it names."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import SearchStrategy, just

import pith_builder
from pith_builder import (
    ArxivId,
    CanonicalRecord,
    Enrichment,
    GraphSnapshot,
    Issuer,
    KeyRing,
    Paper,
    PaperMetadata,
    PithNumber,
    PithRecord,
    Profile,
    Provenance,
    Receipt,
    SeedSigner,
    VerificationReport,
    canonical_bytes,
    canonical_record,
    canonical_text,
    follow,
    text_sha256,
    verify,
)
from pith_builder.errors import VerificationFailed
from pith_builder.statements import RotationBody, Statement
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_signer
from pith_builder.testing import strategies as st
from pith_builder.testing.strategies.around import CLAIM_KINDS, EVENT_TYPES, SEVERITIES
from pith_builder.testing.strategies.texts import TRAPS, WHITESPACE
from pith_builder.text import excerpt, unwrap

#: For every public type, the strategy that draws it.
DRAWN: dict[str, Callable[[], SearchStrategy[Any]]] = {
    "ArxivId": st.arxiv_ids,
    "CanonicalRecord": st.canonical_records,
    "CanonicalText": st.canonical_texts,
    "Enrichment": st.enrichments,
    "GraphSnapshot": st.graph_snapshots,
    "Issuer": st.issuers,
    "KeyRing": st.keyrings,
    "Paper": st.papers,
    "PaperMetadata": st.metadata,
    "PithNumber": st.pith_numbers,
    "PithRecord": st.records,
    "Profile": st.profiles,
    "Provenance": st.provenances,
    "Receipt": st.receipts,
    "SeedSigner": st.signers,
    "VerificationReport": st.reports,
}
FEW = settings(max_examples=50)  # whole records take their time
NOT_DRAWN = {"PithError", "Signer"}  # errors are raised, and the protocol of signers is met by SeedSigner


def test_every_public_type_has_a_strategy() -> None:
    types = {name for name in pith_builder.__all__ if not name[0].islower()}
    assert types == DRAWN.keys() | NOT_DRAWN


def test_the_names_of_the_strategies_are_all_exported() -> None:
    assert {strategy.__name__ for strategy in DRAWN.values()} < set(st.__all__)


# --- papers ------------------------------------------------------------------------------------------------------


@given(st.canonical_texts())
def test_canonical_texts_are_canonical(text: str) -> None:
    assert canonical_text(text) == text


@given(st.metadata())
def test_metadata_are_what_their_own_json_says(metadata: PaperMetadata) -> None:
    assert PaperMetadata.from_mapping(msgspec.json.decode(msgspec.json.encode(metadata))) == metadata


@given(st.metadata(version=just(7)))
def test_a_field_of_metadata_is_drawn_as_one_says(metadata: PaperMetadata) -> None:
    assert metadata.version == 7


@given(st.metadata())
def test_a_canonical_record_has_the_hashes_of_its_metadata(metadata: PaperMetadata) -> None:
    hashed = canonical_record(metadata).metadata
    assert hashed.title_canon_sha256 == text_sha256(metadata.title)
    assert hashed.abstract_canon_sha256 == text_sha256(metadata.abstract)
    assert sorted([hashed.primary_cat, *hashed.cross_cats_sorted]) == sorted(metadata.categories.split())


@given(st.canonical_records())
def test_canonical_records_are_what_a_builder_writes(record: CanonicalRecord) -> None:
    assert CanonicalRecord.from_json(record.to_bytes()) == record
    assert record.to_bytes() == canonical_bytes(msgspec.to_builtins(record))
    assert record.digest() == hashlib.sha256(record.to_bytes()).digest()


@given(st.metadata())
def test_the_paper_block_of_the_same_metadata_is_the_same(metadata: PaperMetadata) -> None:
    block = Paper.of(metadata, canonical_record(metadata))
    assert len(block.abstract_excerpt) <= 600
    assert text_sha256(block.title) == canonical_record(metadata).metadata.title_canon_sha256


@given(st.papers())
def test_paper_blocks_are_what_their_own_json_says(paper: Paper) -> None:
    assert msgspec.json.decode(msgspec.json.encode(paper), type=Paper) == paper


@given(st.short_numbers())
def test_short_numbers_are_read_as_themselves(number: PithNumber) -> None:
    assert number.is_short
    assert PithNumber.parse(str(number)) == number


@given(st.provenances())
def test_provenances_are_what_their_own_json_says(provenance: Provenance) -> None:
    assert msgspec.json.decode(msgspec.json.encode(provenance), type=Provenance) == provenance


# --- records -----------------------------------------------------------------------------------------------------


@FEW
@given(st.records())
def test_records_verify_under_the_ring_of_the_factories(record: PithRecord) -> None:
    assert verify(record, make_keyring()).failed == []


@FEW
@given(st.records())
def test_records_come_back_to_the_byte(record: PithRecord) -> None:
    assert PithRecord.from_json(record.to_json()) == record
    assert PithRecord.from_json(record.to_json()).to_json() == record.to_json()


@FEW
@given(st.metadata(), st.issuers(), st.enrichments())
def test_whatever_is_issued_verifies_with_its_metadata(
    metadata: PaperMetadata, issuer: Issuer, enrichment: Enrichment
) -> None:
    assert isinstance(issuer.signer, SeedSigner)
    verify(issuer.issue(metadata, enrichment), make_keyring(issuer.signer), metadata).require()


@FEW
@given(st.records(described=st.metadata(version=just(3))))
def test_records_are_of_the_metadata_that_one_says(record: PithRecord) -> None:
    assert record.source.version == 3


@FEW
@given(st.records_and_keyrings())
def test_records_verify_under_the_ring_that_comes_with_them(pair: tuple[PithRecord, KeyRing]) -> None:
    assert verify(*pair).failed == []


@FEW
@given(st.enrichments())
def test_enrichments_come_back_and_can_be_issued(enrichment: Enrichment) -> None:
    assert Enrichment.from_json(enrichment.to_json()) == enrichment
    assert Issuer(make_signer(), clock=FrozenClock()).issue(make_metadata(), enrichment).events == enrichment.events


@FEW
@given(st.graph_snapshots())
def test_snapshots_come_back_to_the_byte(snapshot: GraphSnapshot) -> None:
    written = msgspec.json.encode(snapshot)
    assert msgspec.json.encode(msgspec.json.decode(written, type=GraphSnapshot)) == written


@given(st.receipts(make_signer(2)))
def test_receipts_are_signed_by_the_key_that_one_gives(receipt: Receipt) -> None:
    assert receipt.is_signed_by(make_signer(2).public_key, bytes.fromhex(receipt.canonical_sha256))
    assert receipt.first_computed_at <= receipt.last_reissued_at <= receipt.signed_at


@given(st.json_values())
def test_json_values_have_a_canonical_form(value: Any) -> None:
    assert canonical_bytes(msgspec.json.decode(canonical_bytes(value))) == canonical_bytes(value)


@FEW
@given(st.reports())
def test_reports_are_ok_or_raise(report: VerificationReport) -> None:
    if report.ok:
        report.require()
    else:
        with pytest.raises(VerificationFailed):
            report.require()


# --- keys --------------------------------------------------------------------------------------------------------


@given(st.key_histories())
def test_a_verifier_can_follow_the_history_of_a_ring(history: st.KeyHistory) -> None:
    followed = follow(history.pins, history.ring)
    assert followed.statements == history.ring.statements
    assert [key for key in followed.keys if history.ring.by_id(key.key_id) != key] == []
    assert {key.key_id for key in followed.keys} == {*history.named, history.recovery.key_id}


@given(st.keyrings())
def test_keyrings_come_back_to_the_byte(ring: KeyRing) -> None:
    assert KeyRing.from_json(ring.to_json()).to_json() == ring.to_json()


@given(st.statements())
def test_statements_are_signed_under_each_id_that_they_name(statement: Statement) -> None:
    known = {make_signer(n).key_id: make_signer(n) for n in range(1, 21)}
    for signature in statement.signatures:
        assert statement.is_signed_by(signature.key_id, known[signature.key_id].public_key)


# --- the edges ---------------------------------------------------------------------------------------------------

LOOK = settings(max_examples=20_000, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)


def _unwrapped_to(length: int) -> Callable[[str], bool]:
    return lambda abstract: len(unwrap(abstract)) == length


EDGES: dict[str, tuple[Callable[[], SearchStrategy[Any]], Callable[[Any], bool]]] = {
    "old id": (st.arxiv_ids, lambda found: "/" in found.id),
    "id of four digits": (st.arxiv_ids, lambda found: len(found.id) == 9 and found.id[4] == "."),
    "id without a version": (st.arxiv_ids, lambda found: found.version is None),
    "v10": (st.metadata, lambda found: found.version == 10),
    "no licence": (st.metadata, lambda found: found.license == ""),
    "many categories": (st.metadata, lambda found: len(found.categories.split()) > 8),
    "one category": (st.metadata, lambda found: len(found.categories.split()) == 1),
    "year differs from the id": (st.metadata, lambda found: found.arxiv_id[:2] != found.submitted_at[2:4]),
    "end of a year": (st.metadata, lambda found: found.submitted_at.endswith("12-31T23:59:59Z")),
    "paragraph break": (st.abstracts, lambda found: "\n  " in unwrap(found)),
    "CRLF": (st.abstracts, lambda found: "\r\n" in found),
    "excerpt cut after a blank": (st.abstracts, lambda found: len(excerpt(found)) == 600 and excerpt(found)[-1] == " "),
    "astral excerpt": (st.abstracts, lambda found: len(excerpt(found).encode("utf-16-le")) > 1200),
    **{f"excerpt of {n}": (st.abstracts, _unwrapped_to(n)) for n in (599, 600, 601)},
    "no authors": (st.author_lists, lambda found: found == ""),
    "torn affiliation": (st.author_lists, lambda found: "(MIT, USA)" in found),
    "author twice": (st.author_lists, lambda found: found.count("Lovelace") == 2),
    "zero bits first": (st.pith_numbers, lambda found: found.suffix.startswith("AAAA")),
    "review": (st.records, lambda found: found.paper.headline != "" and found.graph_snapshot.claims.count > 0),
    "shape of May": (st.records, lambda found: found.graph_snapshot.integrity is msgspec.UNSET),
    "reissued": (st.records, lambda found: found.receipt.last_reissued_at != found.receipt.first_computed_at),
    "other issuer": (st.records, lambda found: found.base_url != Profile().base_url),
    "author attested": (st.records, lambda found: found.attestation_state == "author_attested"),
    "references resolved": (st.records, lambda found: found.verification_status.references_resolved),
    "unknown field of a verdict": (st.records, lambda found: found.unknown() != []),
    "more references than shown": (st.enrichments, lambda found: len(found.references) > 5),
    "more citations than shown": (st.enrichments, lambda found: found.inbound().count > len(found.inbound().sample)),
    "keys sorted otherwise in UTF-16": (
        st.json_values,
        lambda found: isinstance(found, dict) and sorted(found) != sorted(found, key=lambda k: k.encode("utf-16-be")),
    ),
    **{
        f"event {kind}": (st.enrichments, lambda found, kind=kind: kind in [row["event_type"] for row in found.events])
        for kind in EVENT_TYPES
    },
    **{
        f"claim {kind}": (st.enrichments, lambda found, kind=kind: kind in [row["kind"] for row in found.claims])
        for kind in CLAIM_KINDS
    },
    **{
        f"finding {of}": (
            st.enrichments,
            lambda found, of=of: of in [row["severity"] for row in found.integrity.findings],
        )
        for of in SEVERITIES
    },
    **{
        f"key {state}": (st.keyrings, lambda found, state=state: state in [key.state for key in found.keys])
        for state in ("next", "active", "retired", "revoked")
    },
    "no active key": (st.keyrings, lambda found: found.active() is None),
    "others' key": (st.keyrings, lambda found: "verify" in [key.use for key in found.keys]),
    "three rotations": (
        st.keyrings,
        lambda found: sum(isinstance(statement.body, RotationBody) for statement in found.statements) == 3,
    ),
    "record of a revoked key": (
        st.records_and_keyrings,
        lambda pair: [key.state for key in pair[1].keys if key.key_id == pair[0].receipt.key_id] == ["revoked"],
    ),
    "record of a retired key": (
        st.records_and_keyrings,
        lambda pair: [key.state for key in pair[1].keys if key.key_id == pair[0].receipt.key_id] == ["retired"],
    ),
    "report that is ok": (st.reports, lambda found: found.ok),
    "report of no record": (st.reports, lambda found: found.pith_number is None),
    "report of an unknown key": (st.reports, lambda found: "key_known" in [check.name for check in found.failed]),
    "clock that stands still": (st.clocks, lambda found: found() == found()),
    "clock that runs backwards": (st.clocks, lambda found: found() > found()),
    **{f"U+{ord(c):04X}": (st.texts, lambda found, c=c: c in found) for c in WHITESPACE},
    **{f"trap {trap!a}": (st.titles, lambda found, trap=trap: trap in found) for trap in TRAPS},
}


@pytest.mark.parametrize(
    "strategy", dict.fromkeys(strategy for strategy, _ in EDGES.values()), ids=lambda found: found.__name__
)
def test_the_edges_of_the_protocol_are_drawn(strategy: Callable[[], SearchStrategy[Any]]) -> None:
    missing = {name: is_edge for name, (drawn, is_edge) in EDGES.items() if drawn is strategy}

    def sees_the_last(found: Any) -> bool:
        for name in [name for name, is_edge in missing.items() if is_edge(found)]:
            del missing[name]
        return not missing

    with contextlib.suppress(NoSuchExample):
        find(strategy(), sees_the_last, settings=LOOK)
    assert list(missing) == []


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_value_is_of_its_type(name: str) -> None:
    found = find(DRAWN[name](), lambda _: True, settings=LOOK)
    assert isinstance(found, str if name == "CanonicalText" else getattr(pith_builder, name))


def test_metadata_shrink_to_a_plain_paper() -> None:
    found = find(st.metadata(), lambda _: True)
    assert (found.arxiv_id, found.version, found.authors) == ("1501.00001", 1, "")
    assert len(found.categories.split()) == 1


def test_an_id_shrinks_to_the_simplest_of_its_kind() -> None:
    assert find(st.arxiv_ids(), lambda found: "/" in found.id) == ArxivId("acc-phys/9101001")
