"""The baseline: what a careful person's script does for one paper, with json, hashlib, strptime and PyNaCl.

It builds the same bytes as the product (`bench.py` compares them before it measures), without checking its input.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from datetime import UTC, datetime
from typing import Any

from nacl.signing import SigningKey, VerifyKey

EMPTY = hashlib.sha256(b'{"payload":[]}').hexdigest()
CLEAN = hashlib.sha256(b'{"payload":{"detectors":[],"findings":[]}}').hexdigest()
BUILDER = "pith-number-builder-2026-05-17-v1"
WRAP = re.compile(r"(\n {2,})|[ \t]*\n(?! {2})[ \t]*")


def text_hash(text: str) -> str:
    return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()


def canonical(row: dict[str, Any]) -> dict[str, Any]:
    versions = {int(entry["version"][1:]): entry["created"] for entry in row["versions"]}
    submitted = datetime.strptime(versions[1], "%a, %d %b %Y %H:%M:%S GMT").replace(tzinfo=UTC)
    primary, *others = row["categories"].split()
    return {
        "metadata": {
            "abstract_canon_sha256": text_hash(row["abstract"]),
            "cross_cats_sorted": sorted(others),
            "license": row["license"] or "",
            "primary_cat": primary,
            "submitted_at": submitted.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "title_canon_sha256": text_hash(row["title"]),
        },
        "schema_version": "1.0",
        "source": {"id": row["id"], "kind": "arxiv", "version": max(versions)},
    }


def digest_of(record: dict[str, Any]) -> bytes:
    text = json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).digest()


def suffix_of(digest: bytes) -> str:
    return base64.b32encode(digest).decode()[:26]


def compute(line: bytes) -> str:
    record = canonical(json.loads(line))
    return f"pith:{record['metadata']['submitted_at'][:4]}:{suffix_of(digest_of(record))}"


def compute_and_sign(line: bytes, key: SigningKey) -> tuple[str, str]:
    record = canonical(json.loads(line))
    digest = digest_of(record)
    number = f"pith:{record['metadata']['submitted_at'][:4]}:{suffix_of(digest)}"
    return number, base64.b64encode(key.sign(digest).signature).decode()


def verify(data: bytes, key: VerifyKey) -> bool:
    record = json.loads(data)
    digest = digest_of(record["canonical_record"])
    key.verify(digest, base64.b64decode(record["receipt"]["signature_b64"]))
    return digest.hex() == record["canonical_sha256"] and record["pith_number"].endswith(suffix_of(digest))


def jsonb(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: jsonb(value[key]) for key in sorted(value, key=lambda k: (len(k.encode()), k.encode()))}
    return [jsonb(item) for item in value] if isinstance(value, list) else value


def authors(raw: str) -> str:
    names = {name.strip() for name in " ".join(raw.split()).replace(" and ", ",").split(",")} - {""}
    return ", ".join(sorted(names, key=lambda name: ("".join(c for c in name if c.isalnum()).lower(), name)))


def issue(line: bytes, key: SigningKey, key_id: str) -> bytes:
    row = json.loads(line)
    first = datetime.now(UTC)
    record = canonical(row)
    digest = digest_of(record)
    created = datetime.now(UTC)
    signature = base64.b64encode(key.sign(digest).signature).decode()
    signed = datetime.now(UTC)
    return assemble(row, record, digest, signature, key, key_id, (first, created, signed))


def assemble(
    row: dict[str, Any],
    record: dict[str, Any],
    digest: bytes,
    signature: str,
    key: SigningKey,
    key_id: str,
    clock: tuple[datetime, datetime, datetime],
) -> bytes:
    first, created, signed = (time.isoformat(timespec="microseconds") for time in clock)
    metadata, source = record["metadata"], record["source"]
    suffix, base = suffix_of(digest), "https://pith.science"
    unwrapped = WRAP.sub(lambda m: m[1] or " ", row["abstract"].strip())
    paper = {
        "title": " ".join(row["title"].split()),
        "license": metadata["license"],
        "headline": "",
        "cross_cats": metadata["cross_cats_sorted"],
        "primary_cat": metadata["primary_cat"],
        "authors_text": authors(row["authors"]),
        "submitted_at": metadata["submitted_at"],
        "abstract_excerpt": unwrapped[:600],
    }
    none = {"snapshot_sha256": EMPTY}
    snapshot = {
        "paper": paper,
        "claims": {"count": 0, "items": []} | none,
        "source": source,
        "verdict": {
            "id": None,
            "model_set": {},
            "created_at": None,
            "strongest_claim": "",
            "one_line_summary": "",
            "pipeline_version": None,
            "weakest_assumption": "",
            "pith_extraction_headline": "",
        },
        "integrity": {
            "clean": True,
            "summary": {"advisory": 0, "critical": 0, "by_detector": {}, "informational": 0},
            "endpoint": f"/pith/{source['id']}/integrity.json",
            "findings": [],
            "available": True,
            "detectors_run": [],
            "snapshot_sha256": CLEAN,
        },
        "references": {"count": 0, "sample": [], "resolved_work": 0, "internal_anchors": 0} | none,
        "formal_canon": {"evidence_count": 0} | none,
        "author_claims": {"count": 0, "strong_count": 0} | none,
        "builder_version": BUILDER,
    }
    receipt = {
        "kind": "pith_receipt",
        "key_id": key_id,
        "algorithm": "ed25519",
        "signed_at": signed[:-6] + "Z",
        "signature_b64": signature,
        "signed_message": "canonical_sha256_bytes",
        "builder_version": BUILDER,
        "receipt_version": "0.3",
        "canonical_sha256": digest.hex(),
        "last_reissued_at": first[:-6] + "Z",
        "signature_status": "signed_v1",
        "first_computed_at": first[:-6] + "Z",
        "public_key_fingerprint": hashlib.sha256(bytes(key.verify_key)).digest()[:16].hex(),
    }
    aliases = (
        ("arxiv", source["id"]),
        ("arxiv_version", f"{source['id']}v{source['version']}"),
        ("doi", f"10.48550/arxiv.{source['id']}".lower()),
        ("pith_short_12", suffix[:12]),
        ("pith_short_16", suffix[:16]),
        ("pith_short_8", suffix[:8]),
    )
    html, api, short = f"{base}/pith/{suffix}", f"{base}/api/pith-number/{suffix}", f"{base}/paper/{suffix[:8]}"
    whole = {
        "record_type": "pith_number_record",
        "schema_url": f"{base}/schemas/pith-number/v1.json",
        "pith_number": f"pith:{metadata['submitted_at'][:4]}:{suffix}",
        "short_pith_number": f"pith:{suffix[:8]}",
        "schema_version": "1.0",
        "canonical_sha256": digest.hex(),
        "source": {"kind": "arxiv", "id": source["id"], "version": source["version"]},
        "attestation_state": "computed",
        "paper": jsonb(paper),
        "verification_status": {
            "content_addressed": True,
            "pith_receipt": True,
            "author_attested": False,
            "weak_author_claims": 0,
            "strong_author_claims": 0,
            "externally_anchored": False,
            "storage_verified": False,
            "citation_signatures": 0,
            "replication_records": 0,
            "graph_snapshot": True,
            "references_resolved": False,
            "formal_links_present": False,
        },
        "canonical_record": jsonb(record),
        "receipt": jsonb(receipt),
        "graph_snapshot": jsonb(snapshot),
        "aliases": [{"alias_kind": kind, "alias_value": value, "created_at": created} for kind, value in aliases],
        "events": [],
        "event_summary": {},
        "paper_claims": [],
        "inbound_citations": {"count": 0, "internal_anchor_count": 0, "sample": []},
        "formal_canon": {"evidence_count": 0, "sample": [], "anchors": []},
        "links": {
            "html": html,
            "json": f"{html}.json",
            "graph_json": f"{api}/graph.json",
            "events_json": f"{api}/events.json",
            "paper": short,
        },
        "agent_actions": {
            "view_html": html,
            "download_json": f"{html}.json",
            "view_paper": short,
            "resolve_alias": f"{base}/api/pith-number/resolve?arxiv={source['id']}&json=true",
            "fetch_graph": f"{api}/graph.json",
            "fetch_events": f"{api}/events.json",
            "actions": {
                "anchor_timestamp": f"{html}/action/timestamp_anchor",
                "attest_storage": f"{html}/action/storage_attestation",
                "attest_author": f"{html}/action/author_attestation",
                "sign_citation": f"{html}/action/citation_signature",
                "submit_replication": f"{html}/action/replication_record",
            },
        },
        "created_at": created,
        "updated_at": created,
    }
    return json.dumps(whole, separators=(",", ":"), ensure_ascii=False).encode()
