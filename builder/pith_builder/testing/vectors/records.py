"""Tests of whole records: building one, and making its receipt anew (PROTOCOL §4, §6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import msgspec

from pith_builder.enrichment import Enrichment
from pith_builder.published import DEFAULT_PROFILE, PithRecord
from pith_builder.signing import encode_base64
from pith_builder.testing import FrozenClock, make_metadata, make_record, make_seed, make_signer
from pith_builder.testing.vectors.model import Case, invalid, valid
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.samples import ENRICHMENT, dumps

READINGS = ["2026-01-02T03:04:05.678901Z", "2026-01-02T03:04:05.700000Z", "2026-01-02T03:04:06.000000Z"]
NEW_READINGS = ["2027-01-02T03:04:05.678901Z", "2027-01-02T03:04:05.700000Z", "2027-01-02T03:04:06.000000Z"]


def building(
    metadata: dict[str, Any] | str, enrichment: dict[str, Any] | None = None, **changes: Any
) -> dict[str, Any]:
    given = {
        "metadata": metadata if isinstance(metadata, str) else dumps(metadata),
        "enrichment": None if enrichment is None else dumps(enrichment),
        "seed_b64": encode_base64(make_seed(1)),
        "key_id": make_signer(1).key_id,
        "base_url": DEFAULT_PROFILE.base_url,
        "builder_version": DEFAULT_PROFILE.builder_version,
        "readings": READINGS,
    }
    return given | changes


def record(real: Real) -> Iterator[Case]:
    for name in ("2403.07648v2", "2407.14645v1"):
        metadata, published = real.value(f"seeds/{name}.metadata.json"), real.value(f"seeds/{name}.record.json")
        comment = "a complete published record, under a TEST key: all but receipt.key_id, signature and fingerprint"
        yield valid(comment, "Proven", "Real", **building(metadata, _around(published), readings=_readings(published)))
    plain = msgspec.to_builtins(make_metadata())
    yield valid("a made-up paper", **building(plain))
    for comment, changes in _PAPERS:
        yield valid(comment, **building(plain | changes))
    yield valid("further fields of metadata are ignored", **building(plain | {"doi": "10.1000/1", "comments": None}))
    yield valid("an empty enrichment is none", **building(plain, {}))
    yield valid("an enrichment with everything", **building(plain, ENRICHMENT))
    for comment, enrichment in _ENRICHMENTS:
        yield valid(comment, **building(plain, enrichment))
    yield valid("another base URL, its slash taken away", **building(plain, base_url="https://registry.example.org/"))
    yield valid("a base URL with a path", **building(plain, base_url="http://localhost:8000/a"))
    yield valid("another builder version", **building(plain, builder_version="TEST-builder-1"))
    yield valid("another key", **building(plain, key_id="TEST-v2-2026-01", seed_b64=encode_base64(make_seed(2))))
    yield valid("a clock that stands still", **building(plain, readings=[READINGS[0]] * 3))
    yield valid("a clock that goes back: raised to the reading before", **building(plain, readings=READINGS[::-1]))
    yield valid("whole seconds have six zeros", **building(plain, readings=["2026-01-02T03:04:05.000000Z"] * 3))
    for comment, changes in _NO_PAPERS:
        yield invalid(comment, **building(plain | changes))
    for name in plain:
        yield invalid(f"metadata without {name}", **building({k: v for k, v in plain.items() if k != name}))
    yield invalid("metadata with a key twice", "DuplicateKey", **building(dumps(plain)[:-1] + ',"version":1}'))
    yield invalid("metadata that are no object", **building(f"[{dumps(plain)}]"))
    for comment, enrichment in _NO_ENRICHMENTS:
        yield invalid(comment, **building(plain, enrichment))
    yield invalid("a seed of 31 bytes", **building(plain, seed_b64=encode_base64(make_seed(1)[:31])))
    yield invalid("a reading that is no receipt time", **building(plain, readings=["2026-01-02T03:04:05Z"] * 3))


def _around(record: dict[str, Any]) -> dict[str, Any]:
    """The enrichment of a published record: what in it isn't the default."""
    integrity = record["graph_snapshot"]["integrity"]
    return {
        "integrity": {name: integrity[name] for name in ("detectors_run", "findings")},
        "inbound_citations": record["inbound_citations"],
    }


def _readings(record: dict[str, Any]) -> list[str]:
    created = record["created_at"].replace("+00:00", "Z")
    return [record["receipt"]["first_computed_at"], created, record["receipt"]["signed_at"]]


_PAPERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("many categories: the first is primary, the others sorted", {"categories": "math.CO stat.ML cs.LG math-ph cs.CC"}),
    ("capitals before small letters in cross categories", {"categories": "cs.DL q-bio.QM Z-a a-Z"}),
    ("an old id", {"arxiv_id": "hep-th/9901001", "submitted_at": "1998-12-31T23:59:59Z"}),
    ("an old id with subject class, which is dropped", {"arxiv_id": "math.GT/0309136"}),
    ("an id with its version", {"arxiv_id": "2601.00001v1"}),
    ("no licence", {"license": ""}),
    ("version 10", {"version": 10}),
    ("the year is that of the submission, not of the id", {"submitted_at": "2025-12-31T23:59:59Z"}),
    ("a title with TeX and wraps", {"title": 'On $\\mathcal{N}=4$ and\n  Schr\\"odingers "Cat" <x> & </y>'}),
    ("a title beyond ASCII", {"title": "\u00c9tude \u039f\u0394\u039f\u03a3 \u0130 \u4e2d\u6587 \U0001d538 \u2028x"}),
    ("control characters in a title", {"title": "a\u0001b\u007fc\bd"}),
    ("an abstract with paragraph breaks", {"abstract": "  One\nwrapped.\n  Two.\n\n  Three.\n"}),
    ("an abstract of 601 code points", {"abstract": "x" * 601}),
    ("no authors", {"authors": ""}),
    ("authors with torn affiliations", {"authors": "B A (1, 2), A B (5 and 6)"}),
    ("authors beyond ASCII", {"authors": "\u00d8rsted, \u00c9mile, Zo\u00eb, Abel"}),
)

_NO_PAPERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("an unknown licence", {"license": None}),
    ("a licence that is no URI", {"license": "CC-BY"}),
    ("a licence beyond ASCII", {"license": "http://example.org/\u00e9"}),
    ("a licence of another scheme", {"license": "ftp://example.org/"}),
    ("no title", {"title": ""}),
    ("a title of whitespace", {"title": " \n\u00a0"}),
    ("no abstract", {"abstract": "\t"}),
    ("a title with U+0000", {"title": "a\0b"}),
    ("an abstract with a lone surrogate", {"abstract": "a\ud800"}),
    ("authors that are null", {"authors": None}),
    ("no category", {"categories": " "}),
    ("a category twice", {"categories": "cs.DL cs.CR cs.DL"}),
    ("a category that can't be", {"categories": "cs.DL 1a"}),
    ("categories with commas", {"categories": "cs.DL, cs.CR"}),
    ("an id that can't be", {"arxiv_id": "2601.0001"}),
    ("an id with another version", {"arxiv_id": "2601.00001v2"}),
    ("version 0", {"version": 0}),
    ("version 10000", {"version": 10000}),
    ("a version that is text", {"version": "1"}),
    ("a version that is a boolean", {"version": True}),
    ("a version that is a float", {"version": 1.0}),
    ("submitted at a time with a fraction", {"submitted_at": "2026-01-01T12:00:00.000000Z"}),
    ("submitted at a time with +00:00", {"submitted_at": "2026-01-01T12:00:00+00:00"}),
    ("submitted on a day that isn't", {"submitted_at": "2025-02-29T12:00:00Z"}),
    ("submitted in 1899", {"submitted_at": "1899-12-31T23:59:59Z"}),
    ("submitted in 2100", {"submitted_at": "2100-01-01T00:00:00Z"}),
)

_ENRICHMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a headline beyond ASCII", {"headline": "\u00c9tude \U0001d538"}),
    ("a part of a verdict: the rest has its defaults", {"verdict": {"one_line_summary": "x", "id": 7}}),
    ("a verdict with a further field, which is kept", {"verdict": {"zz": 1, "a": {"b": 2, "a": [1.5]}}}),
    ("claims come out in JSONB order", {"claims": [{"bb": 1, "a": 2, "\u00e9": 3, "ccc": {"z": 1, "aa": 2}}]}),
    ("6 references: 5 are shown, all are hashed", {"references": [{"ref_index": n} for n in range(6)]}),
    ("references, not all resolved", {"references": [{"resolved": True}, {}]}),
    ("anchors alone", {"formal_canon": {"anchors": ["a", {"b": 1}]}}),
    ("inbound citations as rows", {"inbound_citations": [{"is_internal_anchor": True}, {"title": "x"}]}),
    ("inbound citations with counts", {"inbound_citations": {"sample": [{}], "count": 9, "internal_anchor_count": 3}}),
    ("events are counted by type", {"events": [{"event_type": t} for t in ("b", "a", "b", "replication_record")]}),
    ("events that set flags", {"events": [{"event_type": t} for t in ("timestamp_anchor", "storage_attestation")]}),
    ("paper claims are anything", {"paper_claims": ["x", 1.5, None, {"b": 1, "a": 2}]}),
    ("findings set the summary", {"integrity": {"findings": [{"detector": "a", "severity": "critical"}]}}),
    ("further fields of an enrichment are ignored", {"note": {"a": 1}, "integrity": {"note": 1}}),
)

_NO_ENRICHMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a headline that is null", {"headline": None}),
    ("a verdict that is a list", {"verdict": []}),
    ("a verdict with a wrong type", {"verdict": {"one_line_summary": 1}}),
    ("claims that are an object", {"claims": {}}),
    ("a float in a claim, which is hashed", {"claims": [{"x": 1.5}]}),
    ("an integer of 2^53 in a reference, which is hashed", {"references": [{"x": 2**53}]}),
    ("an event without a type", {"events": [{"kind": "x"}]}),
    ("fewer citations counted than shown", {"inbound_citations": {"sample": [{}, {}], "count": 1}}),
    ("more internal anchors than there can be", {"inbound_citations": {"count": 1, "internal_anchor_count": 2}}),
    (
        "fewer internal anchors than shown",
        {"inbound_citations": {"sample": [{"is_internal_anchor": True}], "internal_anchor_count": 0}},
    ),
    ("a further field of inbound citations", {"inbound_citations": {"total": 1}}),
    ("a finding of another severity", {"integrity": {"findings": [{"detector": "a", "severity": "bad"}]}}),
)


# --- reissuing ---------------------------------------------------------------------------------------------------


def reissuing(record: str, **changes: Any) -> dict[str, Any]:
    given = {
        "record": record,
        "seed_b64": encode_base64(make_seed(2)),
        "key_id": make_signer(2).key_id,
        "builder_version": DEFAULT_PROFILE.builder_version,
        "readings": NEW_READINGS,
    }
    return given | changes


def reissue(real: Real) -> Iterator[Case]:
    for name in ("2403.07648v2", "2407.14645v1"):
        yield valid(
            "a complete published record, under a TEST key", "Real", **reissuing(real.text(f"seeds/{name}.record.json"))
        )
    made = make_record()
    plain = made.to_json().decode()
    yield valid("a made-up record, under the next key", **reissuing(plain))
    yield valid(
        "under the same key", **reissuing(plain, key_id=made.receipt.key_id, seed_b64=encode_base64(make_seed(1)))
    )
    yield valid(
        "the receipt names the new builder, the snapshot keeps its own", **reissuing(plain, builder_version="B-2")
    )
    yield valid(
        "a clock that goes back: raised to the record's latest time",
        **reissuing(plain, readings=["2020" + r[4:] for r in NEW_READINGS]),
    )
    yield valid("a clock that goes back between readings", **reissuing(plain, readings=NEW_READINGS[::-1]))
    twice = make_reissued(made).to_json().decode()
    yield valid(
        "reissued twice: first_computed_at stays", **reissuing(twice, readings=["2028" + r[4:] for r in NEW_READINGS])
    )
    value = json.loads(plain)
    yield valid(
        "keys in another order, whitespace between: the published form comes out",
        **reissuing(json.dumps(_turned(value), indent=1)),
    )
    yield valid(
        "escapes that needn't be are taken away", **reissuing(plain.replace("A Made-Up", "\\u0041 Made\\u002dUp"))
    )
    may = {**value, "graph_snapshot": {k: v for k, v in value["graph_snapshot"].items() if k != "integrity"}}
    yield valid("the shape of May 2026, without integrity", **reissuing(dumps(may)))
    for comment, changed in _with_unknown_fields(value):
        yield valid(comment, "Open", **reissuing(dumps(changed)))
    reviewed = json.loads(make_record(enrichment=Enrichment.from_json(dumps(ENRICHMENT))).to_json())
    comment = "rows with their keys turned round: JSONB order in the four blocks, as given elsewhere"
    yield valid(comment, **reissuing(dumps(_turned(reviewed))))
    yield valid(
        "another paper block: nothing judges it",
        **reissuing(dumps({**value, "paper": {**value["paper"], "headline": "x"}})),
    )
    for comment, changed in _not_reissued(value):
        yield invalid(comment, **reissuing(dumps(changed)))
    yield invalid("a key twice", "DuplicateKey", **reissuing(plain[:-1] + ',"events":[]}'))
    yield invalid("no JSON", **reissuing(plain[:-1]))


def make_reissued(record: PithRecord) -> PithRecord:
    """The record once reissued, under the second TEST key."""
    from pith_builder.issue import reissue

    return reissue(record, make_signer(2), clock=FrozenClock(datetime(2026, 6, 1, tzinfo=UTC)))


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _with_unknown_fields(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    paper, graph = value["paper"], value["graph_snapshot"]
    yield "an unknown field at the beginning", {"0": {"b": 1, "a": 2}, **value}
    yield "an unknown field at the end", {**value, "note": [1.5, {"bb": 1, "a": 2}]}
    behind = {}
    for key, part in value.items():
        behind[key] = part
        if key == "pith_number":
            behind |= {"z": 1, "y": {"d": 1, "c": 2}}
    yield "unknown fields stay behind the field that they followed", behind
    moved = {key: behind[key] for key in ("updated_at", "pith_number", "z", "y")} | behind
    yield "also where the known ones are out of order", moved
    yield (
        "an unknown field in the paper block takes its place in JSONB order",
        {**value, "paper": {"zz": 1, **paper, "a": {"bb": 1, "a": 2}}},
    )
    yield (
        "unknown fields in the snapshot",
        {**value, "graph_snapshot": {**graph, "aa": 1, "claims": {"z": None, **graph["claims"]}}},
    )
    yield (
        "unknown fields in links, aliases and flags",
        {
            **value,
            "links": {"first": "x", **value["links"]},
            "aliases": [{**value["aliases"][0], "note": 1}, *value["aliases"][1:]],
            "verification_status": {**value["verification_status"], "more": True},
        },
    )
    yield "a float in an unknown field is written as it is read", {**value, "note": {"x": 0.5, "n": -3}}


def _not_reissued(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    canonical, receipt = value["canonical_record"], value["receipt"]
    yield "another digest", {**value, "canonical_sha256": "0" * 64}
    yield "another number", {**value, "pith_number": value["pith_number"][:-1] + "A"}
    yield "another year in the number", {**value, "pith_number": value["pith_number"].replace("2026", "2025")}
    metadata = {**canonical["metadata"], "primary_cat": "cs.LG"}
    yield "another canonical record", {**value, "canonical_record": {**canonical, "metadata": metadata}}
    yield "a receipt of another digest", {**value, "receipt": {**receipt, "canonical_sha256": "0" * 64}}
    yield "a receipt with an unknown field", {**value, "receipt": {**receipt, "note": 1}}
    yield "a canonical record with an unknown field", {**value, "canonical_record": {**canonical, "note": 1}}
    yield "a time of the receipt that is none", {**value, "receipt": {**receipt, "signed_at": "soon"}}
    yield "an updated_at in the form of a receipt", {**value, "updated_at": receipt["signed_at"]}
    yield "without links", {k: v for k, v in value.items() if k != "links"}
    yield "another schema version", {**value, "schema_version": "1.1"}
