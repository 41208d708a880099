"""Tests of verification at the edges of its rules (PROTOCOL §11)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from pith_builder.enrichment import Enrichment
from pith_builder.keyring import Revocation
from pith_builder.signing import encode_base64
from pith_builder.snapshot import rows_sha256
from pith_builder.testing import START, FrozenClock, make_metadata, make_record, make_seed, make_signer
from pith_builder.testing.vectors import verification
from pith_builder.testing.vectors.curve import ORDER_2, Forger
from pith_builder.testing.vectors.model import Case, invalid
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.samples import ENRICHMENT, dumps
from pith_builder.testing.vectors.verification import altered, at_second, changed_at, in_both, input_of, ring_of

K1 = make_signer(1)
_GRAPH = "graph_snapshot"
_INTEGRITY = f"{_GRAPH}.integrity"
_MOVED = "digest number short_forms aliases links paper signature"
_LATER = "2026-01-03T00:00:00.000000+00:00"


def verify(real: Real) -> Iterator[Case]:
    yield from verification.verify(real)
    plain = json.loads(make_record().to_json())
    reviewed = json.loads(make_record(enrichment=Enrichment.from_json(dumps(ENRICHMENT))).to_json())
    for comment, failed, place, value in _CHANGES:
        yield altered(comment, failed, changed_at(plain, place, value), "Edge")
    for comment, failed, place, value in _REVIEWED_CHANGES:
        yield altered(comment, failed, changed_at(reviewed, place, value), "Edge")
    yield from _whole_second()
    yield from _of_another_form(plain)
    yield from _signatures(plain)
    yield from _rows(plain)
    text = dumps(plain)
    yield altered(
        "a number that is less than any double, in an unknown field", "", text[:-1] + ',"note":1e-400}', "Edge"
    )
    yield invalid("a number that no double can hold", "Edge", **input_of(text[:-1] + ',"note":1e400}'))
    for time in ("2026-01-02T03:04:05.000000Z", "yesterday", ""):
        yield invalid("a time asked for that is none", "Edge", **input_of(text, at=time))


def _unpadded(receipt: dict[str, Any]) -> dict[str, Any]:
    return {**receipt, "key_id": "TEST-v9-2026-01", "signature_b64": receipt["signature_b64"].rstrip("=")}


#: Comment, the checks that must fail, the place, the new value.
_CHANGES: tuple[tuple[str, str, str, Any], ...] = (
    (
        "no year: what needs the number fails",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.submitted_at",
        "soon",
    ),
    ("three digits are no year", "canonical_bytes " + _MOVED, "canonical_record.metadata.submitted_at", "202"),
    (
        "Arabic digits are no year",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.submitted_at",
        "\u0662\u0660\u0662\u0666-01-01T12:00:00Z",
    ),
    (
        "a cross category twice",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.cross_cats_sorted",
        ["cs.CR"] * 2,
    ),
    (
        "cross categories not sorted",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.cross_cats_sorted",
        ["b", "a"],
    ),
    (
        "the primary category among the others",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.cross_cats_sorted",
        lambda cross: sorted([*cross, "cs.DL"]),
    ),
    ("a hash in capitals", "canonical_bytes " + _MOVED, "canonical_record.metadata.title_canon_sha256", str.upper),
    (
        "a licence whose scheme is in capitals",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.license",
        "HTTP://x",
    ),
    ("a licence of a scheme alone", "canonical_bytes " + _MOVED, "canonical_record.metadata.license", "http://"),
    (
        "a category that ends with a full stop",
        "canonical_bytes " + _MOVED,
        "canonical_record.metadata.primary_cat",
        "cs.",
    ),
    ("another kind of record", "form", "record_type", "pith_number"),
    ("another kind of source", "form", "source.kind", "doi"),
    ("another kind of source in the canonical record", "form", "canonical_record.source.kind", "doi"),
    ("another kind of source in the snapshot", "form", f"{_GRAPH}.source.kind", "doi"),
    ("another kind of receipt", "form", "receipt.kind", "receipt"),
    ("another receipt version", "form", "receipt.receipt_version", "0.4"),
    ("model_set that is a list", "form", f"{_GRAPH}.verdict.model_set", []),
    ("model_set that is null", "form", f"{_GRAPH}.verdict.model_set", None),
    ("a verdict's id that is a boolean", "form", f"{_GRAPH}.verdict.id", True),
    (
        "a verdict of nulls",
        "",
        f"{_GRAPH}.verdict",
        lambda v: {name: {} if name == "model_set" else None for name in v},
    ),
    ("version 10000 in source: an integer is asked for there", "source", "source.version", 10000),
    ("version -1 in source", "source", "source.version", -1),
    ("version 10000 in the snapshot's source", "form", f"{_GRAPH}.source.version", 10000),
    ("version 0 in the snapshot's source", "form", f"{_GRAPH}.source.version", 0),
    ("a boolean for an integer", "form", "source.version", True),
    ("updated before it was created", "times_in_order", "updated_at", "2026-01-02T03:04:05.678900+00:00"),
    ("created before it was computed", "aliases times_in_order", "created_at", "2026-01-02T03:04:05.678900+00:00"),
    ("a time in the year 0", "times_in_order", "updated_at", "0000-01-02T03:04:05.678901+00:00"),
    ("a time in the year 9999", "", "updated_at", "9999-12-31T23:59:59.999999+00:00"),
    ("another builder, and updated since", "", "", lambda r: changed_at(_updated(r), "receipt.builder_version", "B")),
    (
        "another builder, and reissued since",
        "",
        "",
        lambda r: changed_at(_reissued(r), "receipt.builder_version", "B"),
    ),
    ("an unknown key and a signature without padding", "signature key_known", "receipt", _unpadded),
    ("the fingerprint in capitals", "key_known", "receipt.public_key_fingerprint", str.upper),
    ("event_summary counts what isn't there", "event_summary", "event_summary", {"x": 0}),
    ("event_summary with a text for a count", "form", "event_summary", {"x": "0"}),
    (
        "by_detector counts what isn't there",
        "counts",
        f"{_INTEGRITY}.summary.by_detector",
        {"x": dict.fromkeys(("total", "advisory", "critical", "informational"), 0)},
    ),
    ("by_detector with an integer for the counts", "form", f"{_INTEGRITY}.summary.by_detector", {"x": 0}),
    ("by_detector without one of the counts", "form", f"{_INTEGRITY}.summary.by_detector", {"x": {"total": 0}}),
    ("integrity that is not available", "counts", f"{_INTEGRITY}.available", False),
    ("strong_count below zero", "counts flags", f"{_GRAPH}.author_claims.strong_count", -1),
    ("references counted below zero", "snapshot_hashes counts", f"{_GRAPH}.references.count", -1),
    ("citations counted below zero", "counts", "inbound_citations.count", -1),
    (
        "citations counted that aren't shown",
        "",
        "inbound_citations",
        {"count": 3, "internal_anchor_count": 3, "sample": []},
    ),
    (
        "more internal citations than there are",
        "counts",
        "inbound_citations",
        {"count": 3, "internal_anchor_count": 4, "sample": []},
    ),
    ("not content-addressed", "flags", "verification_status.content_addressed", False),
    ("no receipt", "flags", "verification_status.pith_receipt", False),
    ("no snapshot", "flags", "verification_status.graph_snapshot", False),
    ("a title with U+0000 in both paper blocks", "paper", "", lambda r: in_both(r, "title", "A\0B")),
    ("an excerpt with U+0000 in both", "paper", "", lambda r: in_both(r, "abstract_excerpt", "A\0B")),
    ("an excerpt of 600 with U+0000: it isn't hashed", "", "", lambda r: in_both(r, "abstract_excerpt", "\0" * 600)),
    (
        "an excerpt of 600 code points, 1,200 UTF-16 units",
        "",
        "",
        lambda r: in_both(r, "abstract_excerpt", "\U0001d538" * 600),
    ),
    (
        "an excerpt of 599 code points, which is hashed",
        "paper",
        "",
        lambda r: in_both(r, "abstract_excerpt", "\U0001d538" * 599),
    ),
    (
        "an excerpt of 601 code points beyond the basic plane",
        "paper",
        "",
        lambda r: in_both(r, "abstract_excerpt", "\U0001d538" * 601),
    ),
    ("another base in all places", "", "", lambda r: _based(r, "http://x")),
    ("a base with a slash at its end, as it stands", "", "", lambda r: _based(r, "https://pith.science/")),
    ("a base with a path", "", "", lambda r: _based(r, "https://pith.science/pith/x")),
    ("a base of a scheme alone", "links", "", lambda r: _based(r, "http://")),
    ("a base whose scheme is in capitals", "links", "", lambda r: _based(r, "HTTPS://pith.science")),
    ("a base beyond ASCII", "links", "", lambda r: _based(r, "https://pith.sci\u00e9nce")),
    ("a base with a blank", "links", "", lambda r: _based(r, "https://pith.science/a b")),
    ("links.html in small letters", "links", "links.html", lambda u: u[:-26] + u[-26:].lower()),
)

_REVIEWED_CHANGES: tuple[tuple[str, str, str, Any], ...] = (
    (
        "a finding without severity",
        "snapshot_hashes counts",
        f"{_INTEGRITY}.findings.0",
        {"detector": "doi_compliance"},
    ),
    ("a finding without a detector", "snapshot_hashes counts", f"{_INTEGRITY}.findings.0", {"severity": "advisory"}),
    ("a detector without a name, which isn't counted", "snapshot_hashes", f"{_INTEGRITY}.detectors_run.0", {}),
    ("a further field in the counts of a detector", "", f"{_INTEGRITY}.summary.by_detector.doi_compliance.note", 1),
    ("an event without a type", "event_summary flags", "events.0", {}),
    ("an event whose type is no text", "event_summary flags", "events.0", {"event_type": None}),
    ("resolved that is no boolean", "counts", f"{_GRAPH}.references.sample.0.resolved", 1),
    ("is_internal_anchor that is null", "counts", f"{_GRAPH}.references.sample.0.is_internal_anchor", None),
    (
        "is_internal_anchor of a citation that is no boolean",
        "counts",
        "inbound_citations.sample.0.is_internal_anchor",
        1,
    ),
    ("a float in formal evidence, all of which is shown", "snapshot_hashes", "formal_canon.sample.0.x", 1.5),
    ("author claims without rows: any hash but the empty one", "", f"{_GRAPH}.author_claims.snapshot_sha256", "0" * 64),
    ("author claims whose hash is in capitals", "snapshot_hashes", f"{_GRAPH}.author_claims.snapshot_sha256", "A" * 64),
    ("fewer references in the sample than can be", "counts", f"{_GRAPH}.references.sample", lambda rows: rows[:4]),
)


def _updated(record: dict[str, Any]) -> dict[str, Any]:
    return {**record, "updated_at": _LATER}


def _reissued(record: dict[str, Any]) -> dict[str, Any]:
    time = _LATER.replace("+00:00", "Z")
    return {**record, "receipt": {**record["receipt"], "last_reissued_at": time, "signed_at": time}}


def _based(record: dict[str, Any], base: str) -> dict[str, Any]:
    return dict(json.loads(json.dumps(record).replace("https://pith.science", json.dumps(base)[1:-1])))


def _whole_second() -> Iterator[Case]:
    """A record that was signed in a whole second, so that a ring's times can be that one."""
    signed = make_record(clock=FrozenClock((START + timedelta(seconds=1)).replace(microsecond=0)))
    record = json.loads(signed.to_json())
    for comment, failed, changes, asked in (
        ("signed at the time asked for", "", {}, at_second(1)),
        ("signed a second after the time asked for", "key_valid", {}, at_second(0)),
        ("signed as the key became valid", "", {"not_before": at_second(1)}, None),
        ("signed as the key ended", "key_valid", {"not_after": at_second(1)}, None),
        (
            "signed as the key was lost",
            "key_valid",
            {"state": "revoked", "revoked": Revocation(at_second(1), "lost")},
            None,
        ),
        (
            "signed as it was superseded",
            "key_valid",
            {"state": "revoked", "revoked": Revocation(at_second(1), "superseded")},
            at_second(1),
        ),
        (
            "signed a second before it was lost",
            "",
            {"state": "revoked", "revoked": Revocation(at_second(2), "lost")},
            at_second(2),
        ),
        (
            "a key with an end that came before its beginning",
            "key_valid",
            {"not_before": at_second(1), "not_after": at_second(0)},
            None,
        ),
        (
            "compromised before it was signed, asked for before both",
            "key_valid",
            {"state": "revoked", "revoked": Revocation(at_second(-9), "compromised")},
            at_second(0),
        ),
    ):
        active = make_signer(3) if changes.get("state") else K1
        yield altered(comment, failed, record, "Key", "Edge", keyring=ring_of(K1, active=active, **changes), at=asked)


def _of_another_form(plain: dict[str, Any]) -> Iterator[Case]:
    """Records that agree with themselves, of ids that aren't canonical."""
    for arxiv, comment in (
        ("math.GT/0309136", "an id with its subject class, in all places: the DOI is in lower case as a whole"),
        ("2601.00001v1", "an id with its version, in all places"),
    ):
        made = make_record(make_metadata(arxiv_id="math/0309136"))
        canonical = msgspec.structs.replace(
            made.canonical_record, source=msgspec.structs.replace(made.canonical_record.source, id=arxiv)
        )
        digest = canonical.digest()
        text = made.to_json().decode()
        for old, new in (
            (made.canonical_sha256, digest.hex()),
            (made.receipt.signature_b64, encode_base64(K1.sign(digest))),
            ("math/0309136", arxiv),
            *((made.number.suffix[:n], canonical.number().suffix[:n]) for n in (26, 16, 12, 8)),
        ):
            text = text.replace(f"arxiv.{old}", f"arxiv.{new.lower()}").replace(old, new)
        yield altered(comment, "canonical_bytes", text, "Edge")


def _signatures(plain: dict[str, Any]) -> Iterator[Case]:
    digest = bytes.fromhex(plain["canonical_sha256"])
    for comment, failed, how in (
        ("a signature that was made by hand", "", {"r": 12345}),
        ("R is the neutral element, and S fits", "signature", {}),
        (
            "R has a part of order 2: only the equation with the cofactor fits",
            "signature",
            {"r": 12345, "torsion": ORDER_2},
        ),
    ):
        forger = Forger(K1.key_id, make_seed(1), **how)
        signature = encode_base64(forger.sign(digest))
        yield altered(comment, failed, changed_at(plain, "receipt.signature_b64", signature), "Signature", "Edge")


def _rows(plain: dict[str, Any]) -> Iterator[Case]:
    rows = [{"n": n} for n in range(6)]
    for comment, failed, shown in (
        ("6 pieces of formal evidence, of which 5 are shown", "", 5),
        ("6 pieces of formal evidence, and all are shown", "counts", 6),
        ("6 pieces of formal evidence, of which 4 are shown", "counts", 4),
    ):
        record = changed_at(plain, "formal_canon", {"evidence_count": 6, "sample": rows[:shown], "anchors": []})
        record = changed_at(
            record, f"{_GRAPH}.formal_canon", {"evidence_count": 6, "snapshot_sha256": rows_sha256(rows)}
        )
        yield altered(comment, failed, changed_at(record, "verification_status.formal_links_present", True), "Edge")
    references = {
        "count": 6,
        "sample": rows,
        "resolved_work": 0,
        "snapshot_sha256": rows_sha256(rows),
        "internal_anchors": 0,
    }
    yield altered(
        "6 references, and all are shown", "counts", changed_at(plain, f"{_GRAPH}.references", references), "Edge"
    )
