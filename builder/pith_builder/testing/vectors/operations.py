"""Each rule of the vectors as a function from input to output: the answers of this implementation (docs/vectors.md).

What is refused raises PithError. The functions call the code that builds and verifies, and add nothing to it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any

import msgspec

from pith_builder import times
from pith_builder.arxiv_id import ArxivId
from pith_builder.canonical import canonical_bytes
from pith_builder.documents import loads, typed
from pith_builder.enrichment import Enrichment
from pith_builder.errors import InvalidInput, InvalidRecord, VerificationFailed
from pith_builder.issue import Issuer, reissue
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.metadata import PaperMetadata
from pith_builder.number import PithNumber
from pith_builder.published import PithRecord, Profile, build_aliases
from pith_builder.receipt import Receipt
from pith_builder.record import Paper, canonical_record
from pith_builder.rotation import follow
from pith_builder.signing import PUBLIC_KEY_BYTES, SEED_BYTES, SeedSigner, decode_base64
from pith_builder.snapshot import build_snapshot
from pith_builder.text import authors_text, canonical_text, check_text, excerpt, text_sha256
from pith_builder.verify import verify

Values = dict[str, Any]


def answer(rule: str, given: Values) -> Values:
    """The output of a rule for an input. Raises PithError where it is refused, KeyError for a rule that isn't known."""
    return RULES[rule](given)


# --- text and names ----------------------------------------------------------------------------------------------


def _text(given: Values) -> Values:
    return {"canonical": canonical_text(given["text"]), "sha256": text_sha256(given["text"])}


def _authors(given: Values) -> Values:
    check_text(given["authors"])
    return {"authors_text": authors_text(given["authors"])}


def _excerpt(given: Values) -> Values:
    check_text(given["abstract"])
    return {"excerpt": excerpt(given["abstract"])}


def _arxiv_id(given: Values) -> Values:
    parsed = ArxivId.parse(given["text"])
    return {"id": parsed.id, "version": parsed.version}


def _number(given: Values) -> Values:
    if "text" in given:
        number = PithNumber.parse(given["text"])
        return {"suffix": number.suffix, "year": number.year}
    return {"number": str(PithNumber.from_digest(_digest(given["sha256"]), given["year"]))}


def _short_forms(given: Values) -> Values:
    number = PithNumber.from_digest(_digest(given["sha256"]), given["year"])
    paper = ArxivId(ArxivId.parse(given["id"]).id, given["version"])
    aliases = [[alias.alias_kind, alias.alias_value] for alias in build_aliases(paper, number, "")]
    return {"short_pith_number": f"pith:{number.short(8)}", "aliases": aliases}


def _transcription(given: Values) -> Values:
    if "transcription" in given:
        return {"suffix": PithNumber.from_transcription(given["transcription"]).suffix}
    return {"transcription": PithNumber.parse(given["suffix"]).transcription()}


_HEX_SHA256 = re.compile(r"[0-9a-f]{64}", re.ASCII)


def _digest(text: str) -> bytes:
    if not _HEX_SHA256.fullmatch(text):
        raise InvalidInput("is not 64 lower-case hex digits", field="sha256")
    return bytes.fromhex(text)


# --- what is hashed ----------------------------------------------------------------------------------------------


def _canonical_json(given: Values) -> Values:
    canonical = canonical_bytes(loads(given["json"]))
    return {"canonical": canonical.decode(), "sha256": hashlib.sha256(canonical).hexdigest()}


def _snapshot(given: Values) -> Values:
    section = given["section"]
    rows: Any = given.get("rows")
    if section == "integrity":
        rows = {"detectors_run": given["detectors_run"], "findings": given["findings"]}
    elif section == "formal_canon":
        rows = {"evidence": rows}
    enrichment = Enrichment.from_value({section: rows})
    metadata = PaperMetadata("2601.00001", 1, "T", "A", "", "cs.DL", "", "2026-01-01T12:00:00Z")
    canonical = canonical_record(metadata)
    built = getattr(build_snapshot(Paper.of(metadata, canonical), canonical, enrichment, ""), section)
    return {name: msgspec.to_builtins(getattr(built, name)) for name in _SECTIONS[section]}


_SECTIONS = {
    "claims": ("snapshot_sha256", "count"),
    "integrity": ("snapshot_sha256", "clean", "summary"),
    "references": ("snapshot_sha256", "count", "resolved_work", "internal_anchors"),
    "formal_canon": ("snapshot_sha256", "evidence_count"),
    "author_claims": ("snapshot_sha256", "count", "strong_count"),
}


# --- keys --------------------------------------------------------------------------------------------------------


def _receipt(given: Values) -> Values:
    receipt = typed(Receipt, loads(given["receipt"]), InvalidRecord)
    digest = _digest(given["canonical_sha256"])
    public_key = decode_base64(given["public_key_b64"], PUBLIC_KEY_BYTES)
    if public_key is None:
        raise InvalidInput("is not the canonical base64 of 32 bytes", field="public_key_b64")
    ring = KeyRing("1.0", [RingKey.of(given["key_id"], public_key, "active", "receipts")], [])
    if receipt.canonical_sha256 != digest.hex():
        raise VerificationFailed("the receipt is of another digest")
    known = ring.find(receipt.key_id, receipt.public_key_fingerprint)
    if known is None or not receipt.is_signed_by(known.public_key, digest):
        raise VerificationFailed("the receipt is not this key's")
    first, reissued, signed = map(
        times.parse_receipt_time, (receipt.first_computed_at, receipt.last_reissued_at, receipt.signed_at)
    )
    if first is None or reissued is None or signed is None or not first <= reissued <= signed:
        raise VerificationFailed("the times are no receipt times, or not in order")
    return {"valid": True}


def _keyring(given: Values) -> Values:
    ring = KeyRing.from_json(given["keyring"])
    active = ring.active()
    keys = [[key.key_id, key.state, key.use] for key in ring.keys]
    return {"active": None if active is None else active.key_id, "keys": keys}


def _rotation(given: Values) -> Values:
    trusted = follow(KeyRing.from_json(given["pins"]), KeyRing.from_json(given["ring"]))
    return {"trusted": [[key.key_id, key.state, key.not_before, key.not_after] for key in trusted.keys]}


# --- whole records -----------------------------------------------------------------------------------------------


def _record(given: Values) -> Values:
    enrichment = None if given["enrichment"] is None else Enrichment.from_json(given["enrichment"])
    profile = Profile(given["base_url"], given["builder_version"])
    issuer = Issuer(_signer(given), profile, _clock(given["readings"]))
    return {"record": issuer.issue(_metadata(given["metadata"]), enrichment).to_json().decode()}


def _reissue(given: Values) -> Values:
    record = PithRecord.from_json(given["record"])
    profile = Profile(builder_version=given["builder_version"])
    new = reissue(record, _signer(given), profile, _clock(given["readings"]))
    return {"record": new.to_json().decode()}


def _verify(given: Values) -> Values:
    metadata = None if given["metadata"] is None else _metadata(given["metadata"])
    at = None if given["at"] is None else times.parse_seconds(given["at"])
    if at is None and given["at"] is not None:
        raise InvalidInput("is no time of the form 2024-03-12T13:31:14Z", field="at")
    report = verify(given["record"].encode(), KeyRing.from_json(given["keyring"]), metadata, at)
    return {"ok": report.ok, "failed": [check.name for check in report.failed]}


def _metadata(text: str) -> PaperMetadata:
    return PaperMetadata.from_mapping(typed(dict[str, Any], loads(text), InvalidInput))


def _signer(given: Values) -> SeedSigner:
    seed = decode_base64(given["seed_b64"], SEED_BYTES)
    if seed is None:
        raise InvalidInput("is not the canonical base64 of 32 bytes", field="seed_b64")
    return SeedSigner(given["key_id"], seed)


def _clock(readings: list[str]) -> times.Clock:
    left = iter(readings)

    def read() -> datetime:
        if (time := times.parse_receipt_time(next(left, ""))) is None:
            raise InvalidInput("three times such as 2026-01-02T03:04:05.678901Z are needed", field="readings")
        return time

    return read


#: Rule -> its function.
RULES: dict[str, Callable[[Values], Values]] = {
    "text": _text,
    "authors": _authors,
    "excerpt": _excerpt,
    "arxiv-id": _arxiv_id,
    "canonical-json": _canonical_json,
    "number": _number,
    "short-forms": _short_forms,
    "transcription": _transcription,
    "snapshot": _snapshot,
    "receipt": _receipt,
    "keyring": _keyring,
    "rotation": _rotation,
    "record": _record,
    "reissue": _reissue,
    "verify": _verify,
}
