"""Broken documents: for every error that a document can raise, documents that raise it and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signing import encode_base64
from pith_builder.statements import Statement
from pith_builder.testing import make_keyring, make_revocation, make_rotation
from pith_builder.testing.broken import Broken
from pith_builder.testing.chain import ACTIVE, NEXT, RETIRED, RETIRED_TOO, Chain, beginning
from pith_builder.testing.plain import Document, Plain, edited

Case = tuple[str, str, str, bytes]


def broken_documents(seed: int) -> Iterator[Broken]:
    """Every code that a document can raise."""
    plain = Plain(seed)
    for case in (
        *_syntax(plain),
        *_texts(),
        *_metadata(plain),
        *_records(plain),
        *_enrichments(),
        *_rings(plain.chain),
        *_keys(plain.chain),
        *_statements(plain.chain),
    ):
        yield Broken(*case)
    versions = _lines(plain.raw, {**plain.raw, "version": 3})
    asked = f"{plain.raw['arxiv_id']}v2"
    yield Broken("version_mismatch", "versions 1 and 3 where 2 is asked for", "find", versions, asked=asked)
    twice = _lines(plain.raw, {**plain.raw, "title": "Another Title"})
    one = f"{plain.raw['arxiv_id']}v1"
    yield Broken("conflicting_metadata", "two descriptions of one version", "find", twice, asked=one)
    yesterday = "2026-05-31T00:00:00Z"
    yield Broken("record_of_the_future", "made after it is taken in", "import", _json(plain.record), at=yesterday)


def _json(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


def _lines(*values: Any) -> bytes:
    return b"".join(map(_json, values))


def _syntax(plain: Plain) -> Iterator[Case]:
    record = msgspec.json.encode(plain.record)
    twice = record.replace(b'"schema_version"', b'"schema_version":"2.0","schema_version"', 1)
    deep = edited(plain.record)
    deep["events"] = [{"event_type": "timestamp_anchor", "nested": _nested(80)}]
    for about, data in (
        ("a key stands twice", twice),
        ("cut off", record[:-100]),
        ("something behind its end", record + b" {}"),
        ("not a number", record.replace(b'"count":0', b'"count":NaN', 1)),
        ("a number beyond all bounds", record.replace(b'"count":0', b'"count":1e999', 1)),
        ("half a character as an escape", record.replace(b'"headline":""', b'"headline":"\\ud800"', 1)),
        ("not UTF-8", record.replace(b'"headline":""', b'"headline":"\xff"', 1)),
        ("a byte order mark", b"\xef\xbb\xbf" + record),
        ("nested too deep", msgspec.json.encode(deep)),
        ("nothing", b""),
    ):
        yield "invalid_json", about, "verify", data + b"\n" * bool(data)


def _nested(depth: int) -> Any:
    return "the ground" if depth == 0 else [_nested(depth - 1)]


def _texts() -> Iterator[Case]:
    yield "invalid_text", "U+0000", "text", _json("a\0b")
    for about, value in (("a float", {"x": [1.5]}), ("an integer of 2^53", 2**53), ("a float that is whole", 1.0)):
        yield "not_canonical", about, "canonical-json", _json(value)
    for about, text in (
        ("no month 13", "2513.00001"),
        ("four digits after 2014", "2501.0001"),
        ("five digits before 2015", "1412.00001"),
        ("this form began in April 2007", "0703.0001"),
        ("number 0", "2501.00000"),
        ("an archive that never was", "hep-xx/9901001"),
        ("an old id after March 2007", "hep-th/0704001"),
        ("version 0", "2501.00001v0"),
        ("digits of another script", "2501.0000１"),
        ("something behind it", "2501.00001v1.txt.exe"),
    ):
        yield "invalid_arxiv_id", about, "arxiv-id", _json(text)
    for about, text in (
        ("a symbol that base32 doesn't have", "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZ0"),
        ("25 symbols", "pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZ"),
        ("a short form with a year", "pith:2024:BMWHAH2D"),
        ("a short form of 9 symbols", "pith:BMWHAH2DR"),
        ("no year of ours", "pith:3024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"),
        ("another scheme", "pit:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE"),
        ("a letter that only looks like one", "pith:2024:ВMWHAH2DRYP4HKSVZEJ4AAHEZE"),
    ):
        yield "invalid_number", about, "number", _json(text)
    yield "invalid_number", "a wrong symbol", "transcription", _json("1CP-707-T3H-RFW-7AJ-NS4-9W0-074-S4M")
    yield "invalid_number", "two neighbours swapped", "transcription", _json("1CP-770-T3H-RFW-7AJ-NS4-9W0-074-S4N")
    yield "invalid_number", "a symbol is missing", "transcription", _json("1CP-707-T3H-RFW-7AJ-NS4-9W0-074-S4")
    yield "invalid_alias", "neither an id nor a number", "alias", _json("the paper on hashes")
    yield "invalid_alias", "a number with a symbol that it can't have", "alias", _json("pith:BMWHAH21")


def _metadata(plain: Plain) -> Iterator[Case]:
    raw = plain.raw
    without_title = {name: value for name, value in raw.items() if name != "title"}
    for about, value in (
        ("a field is missing", without_title),
        ("an empty title", {**raw, "title": " \n "}),
        ("U+0000 in the abstract", {**raw, "abstract": "a\0b"}),
        ("a version as a string", {**raw, "version": "1"}),
        ("version 0", {**raw, "version": 0}),
        ("the id names another version", {**raw, "arxiv_id": f"{raw['arxiv_id']}v2"}),
        ("no category", {**raw, "categories": ""}),
        ("a category twice", {**raw, "categories": "cs.DL cs.DL"}),
        ("a licence that is no URI", {**raw, "license": "CC BY 4.0"}),
        ("a time in another zone", {**raw, "submitted_at": "2025-01-02T03:04:05+01:00"}),
        ("a year that no number carries", {**raw, "submitted_at": "1899-01-02T03:04:05Z"}),
        ("two fields at once", {**raw, "title": "", "version": None}),
    ):
        yield "invalid_metadata", about, "build", _json(value)
    yield "license_unknown", "the licence is null", "build", _json({**raw, "license": None})
    unknown = {name: value for name, value in raw.items() if name != "license"}
    yield "license_unknown", "there is no licence field", "build", _json(unknown)


def _records(plain: Plain) -> Iterator[Case]:
    record = plain.record
    canonical = record["canonical_record"]
    for about, value in (
        ("an unknown field", {**canonical, "note": "x"}),
        ("a schema of the future", {**canonical, "schema_version": "2.0"}),
        ("cross-lists that aren't sorted", edited(canonical, metadata__cross_cats_sorted=["math.MP", "cs.AI"])),
        ("a list", [canonical]),
    ):
        yield "invalid_record", about, "read-canonical-record", _json(value)
    without = {name: value for name, value in record.items() if name != "receipt"}
    yield "invalid_record", "there is no receipt", "read-record", _json(without)
    yield "invalid_record", "only the canonical record", "read-record", _json(canonical)
    digest = "0" * 64
    for about, altered in (
        ("its digest is of something else", edited(record, canonical_sha256=digest, receipt__canonical_sha256=digest)),
        ("its number is of something else", edited(record, pith_number="pith:2025:" + "A" * 26)),
        ("its receipt is of something else", edited(record, receipt__canonical_sha256=digest)),
        ("a time of its receipt can't be read", edited(record, receipt__signed_at="today")),
    ):
        yield "altered_record", about, "reissue", _json(altered)
    unsigned = edited(record, receipt__signature_b64=encode_base64(bytes(64)))
    yield "verification_failed", "its signature is nothing but zeros", "require", _json(unsigned)


def _enrichments() -> Iterator[Case]:
    for about, value in (
        ("claims that are no list", {"claims": {}}),
        ("a finding without severity", {"integrity": {"findings": [{"detector": "x"}]}}),
        ("a severity that isn't known", {"integrity": {"findings": [{"detector": "x", "severity": "fatal"}]}}),
        ("a detector without a name", {"integrity": {"detectors_run": [{}]}}),
        ("resolved as a string", {"references": [{"resolved": "yes"}]}),
        ("an author claim without strength", {"author_claims": [{"author": "Ada Lovelace"}]}),
        ("an event without type", {"events": [{}]}),
        ("fewer citations than are shown", {"inbound_citations": {"sample": [{}, {}], "count": 1}}),
        ("a verdict with a score as id", {"verdict": {"id": 0.5}}),
    ):
        yield "invalid_enrichment", about, "read-enrichment", _json(value)


def _rings(chain: Chain) -> Iterator[Case]:
    ring = msgspec.json.decode(make_keyring(chain.signer(RETIRED)).to_json())
    [key] = ring["keys"]
    other = msgspec.to_builtins(RingKey.of("TEST-other", chain.signer(RETIRED_TOO).public_key, "active", "receipts"))
    small = bytes([1]) + bytes(31)  # the neutral element: every signature can be made to fit it
    for about, keys in (
        ("two keys are active", [key, other]),
        ("a key stands twice", [key, {**key, "state": "next"}]),
        ("an id stands twice", [key, {**other, "key_id": key["key_id"], "state": "next"}]),
        ("the fingerprint is another key's", [{**key, "fingerprint": other["fingerprint"]}]),
        ("31 bytes", [{**key, "public_key_b64": encode_base64(bytes(31))}]),
        ("a public key of small order", [{**key, "public_key_b64": encode_base64(small)}]),
        ("revoked without saying since when", [{**key, "state": "revoked"}]),
        ("a state that isn't known", [{**key, "state": "lost"}]),
        ("an id with a space", [{**key, "key_id": "TEST key"}]),
        ("a time with fractions", [{**key, "not_before": "2026-01-01T00:00:00.0Z"}]),
    ):
        yield "invalid_keyring", about, "read-keyring", _json({**ring, "keys": keys})
    yield "invalid_keyring", "a ring of the future", "read-keyring", _json({**ring, "keyring_version": "2.0"})


def _keys(chain: Chain) -> Iterator[Case]:
    key = msgspec.to_builtins(chain.ring.keys[0])
    other = chain.ring.keys[-1].fingerprint
    yield (
        "invalid_public_key",
        "the fingerprint is another key's",
        "read-public-key",
        _json({**key, "fingerprint": other}),
    )
    yield "invalid_public_key", "another algorithm", "read-public-key", _json({**key, "algorithm": "rsa"})
    unpadded = {**key, "public_key_b64": key["public_key_b64"].rstrip("=")}
    yield "invalid_public_key", "base64 without padding", "read-public-key", _json(unpadded)
    private = {
        "pith_key_file": "1.0",
        "key_id": key["key_id"],
        "algorithm": "ed25519",
        "public_key_b64": key["public_key_b64"],
        "kdf": None,
    }
    yield "invalid_key_file", "there is no seed", "read-key-file", _json(private)
    yield (
        "invalid_key_file",
        "a form of the future",
        "read-key-file",
        _json({**private, "pith_key_file": "2.0", "seed_b64": ""}),
    )


def _statements(chain: Chain) -> Iterator[Case]:
    """Statements that can't be read, that break a rule of the pinned ring, or that stand wrongly in a chain."""
    first, second, *rest = chain.statements
    built: Document = msgspec.to_builtins(first)
    body = built["body"]
    for about, value in (
        ("a type that isn't known", {**built, "body": {**body, "type": "pith-key-rotation/2"}}),
        ("an unknown field in its body", {**built, "body": {**body, "note": "x"}}),
        ("an unknown field beside its body", {**built, "note": "x"}),
        ("no signatures field", {"body": body}),
    ):
        yield "invalid_statement", about, "read-statement", _json(value)
    pins, retired, new = chain.pins, chain.signer(RETIRED), chain.signer(RETIRED_TOO)
    stranger = chain.signer(ACTIVE)
    back = make_rotation(pins, retired, new, beginning(RETIRED) - timedelta(days=40))
    elsewhere = make_rotation(make_keyring(stranger), stranger, new, beginning(RETIRED_TOO))
    for about, statement in (
        ("the second before the first", second),
        ("from a key that isn't known", elsewhere),
        ("not signed by the new key", msgspec.structs.replace(first, signatures=first.signatures[:1])),
        ("not signed by the old key", msgspec.structs.replace(first, signatures=first.signatures[1:])),
        ("signed by a stranger too", first.signed_by(stranger)),
        ("another time than the one that was signed", _with_body(first, effective_at="2026-01-15T00:00:00Z")),
        ("before its key became valid", back),
        (
            "an emergency that the old key signs",
            make_rotation(pins, retired, new, beginning(RETIRED_TOO), "compromised"),
        ),
        ("a key that revokes itself", make_revocation(retired.key_id, retired, beginning(RETIRED_TOO))),
    ):
        yield "illegal_move", about, "move", _json(statement)
    forged = _with_body(second, to=chain.signer(NEXT).key_id)
    for about, statements in (
        ("the first statement is missing", [second, *rest]),
        ("two statements are swapped", [second, first, *rest]),
        ("a statement stands twice", [first, first, second, *rest]),
        ("a statement leads to another key than was signed", [first, forged, *rest]),
    ):
        yield "broken_chain", about, "follow", _json(KeyRing("1.0", chain.ring.keys, statements))


def _with_body(statement: Statement, **changes: str) -> Statement:
    return msgspec.structs.replace(statement, body=msgspec.structs.replace(statement.body, **changes))
