"""Tests of building and reissuing at the edges of their rules (PROTOCOL §2, §4, §6)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from pith_builder.signing import encode_base64
from pith_builder.testing import make_metadata, make_record, make_signer
from pith_builder.testing.vectors import records
from pith_builder.testing.vectors.model import Case, invalid, undecided, valid
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.records import NEW_READINGS, building, reissuing
from pith_builder.testing.vectors.samples import dumps

_PAPERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a category of one letter, and one of letters, digits and hyphens", {"categories": "a q-b1.C-2 Z9"}),
    ("categories parted by whitespace beyond ASCII", {"categories": "\u3000cs.DL\u00a0cs.CR\x1ccs.LG\u2028"}),
    ("a licence of one character behind its scheme", {"license": "https://x"}),
    ("the first second of 1900", {"submitted_at": "1900-01-01T00:00:00Z"}),
    ("the last second of 2099", {"submitted_at": "2099-12-31T23:59:59Z"}),
    ("a leap day", {"submitted_at": "2000-02-29T23:59:59Z"}),
    ("a title that is U+FEFF: no whitespace", {"title": "\ufeff"}),
)

_NO_PAPERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a category that ends with a full stop", {"categories": "cs."}),
    ("a category with two full stops", {"categories": "cs.A.B"}),
    ("a category that begins with a full stop", {"categories": ".cs"}),
    ("a category that begins with a hyphen", {"categories": "-cs"}),
    ("a category with an underscore", {"categories": "cs_DL"}),
    ("categories parted by a zero-width space", {"categories": "cs.DL\u200bcs.CR"}),
    ("a licence whose scheme is in capitals", {"license": "HTTP://example.org/"}),
    ("a licence of a scheme alone", {"license": "https://"}),
    ("a licence with a blank", {"license": "http://example.org/a b"}),
    ("a licence with a newline at its end", {"license": "http://example.org/\n"}),
    ("a licence that is a boolean", {"license": False}),
    ("no leap day in 1900", {"submitted_at": "1900-02-29T00:00:00Z"}),
    ("a leap second", {"submitted_at": "2016-12-31T23:59:60Z"}),
    ("24 o'clock", {"submitted_at": "2026-01-01T24:00:00Z"}),
    ("a small z", {"submitted_at": "2026-01-01T12:00:00z"}),
    ("a time with a blank at its end", {"submitted_at": "2026-01-01T12:00:00Z "}),
    ("a time that is null", {"submitted_at": None}),
    ("authors with U+0000", {"authors": "A\0"}),
    ("authors with a lone surrogate", {"authors": "A\udc00"}),
    ("version -1", {"version": -1}),
)

_ENRICHMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("6 pieces of formal evidence: 5 are shown", {"formal_canon": {"evidence": [{"n": n} for n in range(6)]}}),
    (
        "nulls in a verdict",
        {"verdict": dict.fromkeys(("id", "created_at", "strongest_claim", "one_line_summary", "pipeline_version"))},
    ),
    (
        "event_summary by code point, not by UTF-16",
        {"events": [{"event_type": t} for t in ("\U0001f600", "\uffee", "b", "B")]},
    ),
    (
        "by_detector in JSONB order",
        {
            "integrity": {
                "findings": [{"detector": d, "severity": "advisory"} for d in ("bb", "\u00e9\u00e9", "c", "aaa")]
            }
        },
    ),
    ("56 levels", {"paper_claims": json.loads("[" * 55 + "]" * 55)}),
    ("counts of citations that are null", {"inbound_citations": {"count": None, "internal_anchor_count": None}}),
    ("an empty object of citations", {"inbound_citations": {}}),
    ("parts of formal_canon and integrity that are absent", {"formal_canon": {}, "integrity": {}}),
    ("a float in what isn't hashed", {"events": [{"event_type": "x", "weight": 0.5}]}),
)

_NO_ENRICHMENTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("57 levels", {"paper_claims": json.loads("[" * 56 + "]" * 56)}),
    ("model_set that is null", {"verdict": {"model_set": None}}),
    ("model_set that is a list", {"verdict": {"model_set": []}}),
    ("a verdict that is null", {"verdict": None}),
    ("a verdict's id that is a boolean", {"verdict": {"id": True}}),
    ("citations that are null", {"inbound_citations": None}),
    ("a sample of citations that is null", {"inbound_citations": {"sample": None}}),
    ("anchors that are null", {"formal_canon": {"anchors": None}}),
    ("fewer than no citations", {"inbound_citations": {"count": -1}}),
    ("resolved that is null", {"references": [{"resolved": None}]}),
    ("an event type that is null", {"events": [{"event_type": None}]}),
    ("a detector whose name is a number", {"integrity": {"detectors_run": [{"name": 1}]}}),
)


def record(real: Real) -> Iterator[Case]:
    yield from records.record(real)
    plain = msgspec.to_builtins(make_metadata())
    for comment, changes in _PAPERS:
        yield valid(comment, "Edge", **building(plain | changes))
    for comment, changes in _NO_PAPERS:
        yield invalid(comment, "Edge", **building(plain | changes))
    for comment, enrichment in _ENRICHMENTS:
        yield valid(comment, "Edge", **building(plain, enrichment))
    for comment, enrichment in _NO_ENRICHMENTS:
        yield invalid(comment, "Edge", **building(plain, enrichment))
    text = dumps(plain)[:-1]
    yield valid(
        "a number that is less than any double, in a field that is ignored", "Edge", **building(text + ',"x":1e-400}')
    )
    yield invalid(
        "a number that no double can hold, in a field that is ignored", "Edge", **building(text + ',"x":1e400}')
    )
    yield valid("slashes at the end of the base URL", "Edge", **building(plain, base_url="https://example.org///"))
    yield valid("a builder version that is empty", "Edge", **building(plain, builder_version=""))
    yield undecided(
        "a base URL of a scheme alone, whose links can't be verified", "Edge", **building(plain, base_url="http://")
    )
    yield undecided("a base URL of another scheme", "Edge", **building(plain, base_url="ftp://example.org"))
    yield undecided("a key id that no ring can list", "Edge", **building(plain, key_id="a b"))
    early = ["0000-01-01T00:00:00.000000Z"] * 3
    yield invalid("a reading in the year 0", "Edge", **building(plain, readings=early))


def reissue(real: Real) -> Iterator[Case]:
    yield from records.reissue(real)
    value = json.loads(make_record().to_json())
    for comment, changed in _reissued(value):
        flags = ("Edge", "NotJudged") if comment.endswith("not looked at") else ("Edge",)
        yield valid(comment, *flags, **reissuing(dumps(changed)))
    for comment, changed in _not_reissued(value):
        yield invalid(comment, "Edge", **reissuing(dumps(changed)))
    yield valid("a builder version that is empty", "Edge", **reissuing(dumps(value), builder_version=""))
    yield undecided("a key id that no ring can list", "Edge", **reissuing(dumps(value), key_id="a b"))
    yield invalid(
        "a time of the clock that is none", "Edge", **reissuing(dumps(value), readings=[*NEW_READINGS[:2], "soon"])
    )


def _reissued(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    receipt = value["receipt"]
    later = "2028-01-01T00:00:00.000000"
    yield "updated later than the clock says: raised to that", {**value, "updated_at": later + "+00:00"}
    signed = {**receipt, "signed_at": later + "Z"}
    yield "signed later than the clock says: raised to that", {**value, "receipt": signed}
    first = {**receipt, "first_computed_at": later + "Z"}
    yield "computed later than it was signed: raised to that, and the order is not judged", {**value, "receipt": first}
    yield "created later than the clock says: not looked at", {**value, "created_at": later + "+00:00"}
    yield "created at no time: not looked at", {**value, "created_at": "soon"}
    aliases = [{**alias, "created_at": "soon"} for alias in value["aliases"]]
    yield "aliases of no time: not looked at", {**value, "aliases": aliases}
    broken = {**receipt, "signature_b64": "?", "public_key_fingerprint": "", "key_id": ""}
    yield "an earlier signature that is none, of a key that is none", {**value, "receipt": broken}
    yield (
        "flags, links and aliases that don't follow",
        {
            **value,
            "verification_status": {**value["verification_status"], "storage_verified": True},
            "links": {**value["links"], "html": "x"},
            "aliases": [],
            "short_pith_number": "pith:AAAAAAAA",
        },
    )


def _not_reissued(value: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    receipt = value["receipt"]
    for name in ("first_computed_at", "last_reissued_at"):
        yield f"{name} that is no time", {**value, "receipt": {**receipt, name: "soon"}}
    yield "updated_at that is no time", {**value, "updated_at": "soon"}
    yield "an event that is no object", {**value, "events": [1]}
    yield "a version that is text", {**value, "source": {**value["source"], "version": "1"}}
    yield "event_summary with a text for a count", {**value, "event_summary": {"x": "1"}}
    yield "a receipt of another kind", {**value, "receipt": {**receipt, "kind": "receipt"}}
    made = make_record()
    metadata = msgspec.structs.replace(made.canonical_record.metadata, submitted_at="soon")
    canonical = msgspec.structs.replace(made.canonical_record, metadata=metadata)
    digest = canonical.digest()
    signed = {"canonical_sha256": digest.hex(), "signature_b64": encode_base64(make_signer(1).sign(digest))}
    yield (
        "a canonical record that has no number",
        {
            **value,
            "canonical_record": msgspec.to_builtins(canonical),
            "canonical_sha256": digest.hex(),
            "receipt": {**receipt, **signed},
        },
    )
