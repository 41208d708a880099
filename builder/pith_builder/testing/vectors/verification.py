"""Tests of verification: which checks of a record fail, and why (PROTOCOL, docs/protocol.md §11).

Each change of a record says here which checks must fail; the answers of this implementation are compared with that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import msgspec

from pith_builder.enrichment import Enrichment
from pith_builder.keyring import KeyRing, Revocation, RingKey
from pith_builder.snapshot import EMPTY_SHA256
from pith_builder.testing import START, make_keyring, make_metadata, make_record, make_signer
from pith_builder.testing.vectors.model import Case, NotAsWritten, invalid, valid
from pith_builder.testing.vectors.operations import answer
from pith_builder.testing.vectors.real import Real
from pith_builder.testing.vectors.records import make_reissued
from pith_builder.testing.vectors.samples import ENRICHMENT, dumps
from pith_builder.times import seconds

K1, K2 = make_signer(1), make_signer(2)
RING = make_keyring(K1)


def altered(comment: str, failed: str, record: Any, *flags: str, **changes: Any) -> Case:
    """A record, and the names of the checks that must fail, in their order."""
    given: dict[str, Any] = {"keyring": RING.to_json().decode(), "metadata": None, "at": None} | changes
    given["record"] = record if isinstance(record, str) else dumps(record)
    found = answer("verify", given)["failed"]
    if found != failed.split():
        raise NotAsWritten(f"{comment}: {' '.join(found)}")
    return valid(comment, *flags, **given)


def verify(real: Real) -> Iterator[Case]:
    registry = {"keyring": KeyRing.registry().to_json().decode()}
    for name in ("2403.07648v2", "2407.14645v1"):
        text = real.text(f"seeds/{name}.record.json")
        metadata = dumps(real.value(f"seeds/{name}.metadata.json"))
        yield altered("a complete published record", "", text, "Proven", "Real", **registry)
        yield altered("the same, with its metadata", "", text, "Proven", "Real", **registry, metadata=metadata)
    yield altered("a published record under a ring that lacks its key", "key_known", text, "Real")
    plain, reviewed = _plain(), _reviewed()
    yield altered("a made-up record", "", plain)
    yield altered("a reviewed record", "", reviewed)
    yield altered("keys in another order, whitespace between, escapes", "", json.dumps(_turned(plain), indent=1))
    again = make_reissued(make_record()).to_json().decode()
    yield altered("reissued, under a ring with both keys", "", again, keyring=ring_of(K1, K2, active=K2))
    yield altered("reissued, under a ring with the old key alone", "key_known", again)
    for comment, failed, place, value in _CHANGES:
        yield altered(comment, failed, changed_at(plain, place, value), *_flags(failed))
    for comment, failed, place, value in _REVIEWED_CHANGES:
        yield altered(comment, failed, changed_at(reviewed, place, value), *_flags(failed))
    yield from _taken_away(plain)
    yield from _with_metadata(plain)
    yield from _with_keys(plain)
    yield from _unreadable(plain)


def _plain() -> dict[str, Any]:
    return dict(json.loads(make_record().to_json()))


def _reviewed() -> dict[str, Any]:
    return dict(json.loads(make_record(enrichment=Enrichment.from_json(dumps(ENRICHMENT))).to_json()))


def _flags(failed: str) -> tuple[str, ...]:
    return ("Altered",) if failed else ("NotBound",)


def changed_at(value: Any, place: str, new: Any) -> Any:
    """`value` with another value at a place such as `aliases.0.alias_value`; a function gets the old one."""
    if not place:
        return new(value)
    head, _, rest = place.partition(".")
    if isinstance(value, list):
        items = list(value)
        items[int(head)] = changed_at(items[int(head)], rest, new) if rest else _new(items[int(head)], new)
        return items
    return {**value, head: changed_at(value[head], rest, new) if rest else _new(value.get(head), new)}


def _new(old: Any, new: Any) -> Any:
    return new(old) if callable(new) else new


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


_Z = "0" * 64
_LATER = "2026-01-03T00:00:00.000000"
#: What fails where the canonical record is altered: all that follows from the digest, and the signature over it.
_PAPER_MOVED = "digest number short_forms aliases links paper signature"
_SOURCE_MOVED = "digest number short_forms source aliases links signature"

#: Comment, the checks that must fail, the place, the new value.
_CHANGES: tuple[tuple[str, str, str, Any], ...] = (
    ("a float for an integer", "form", "source.version", 1.5),
    ("an unknown field in the receipt", "form", "receipt.note", 1),
    ("an unknown field in the canonical record", "form", "canonical_record.note", 1),
    ("an unknown field in its metadata", "form", "canonical_record.metadata.note", 1),
    ("version 10000", "form", "canonical_record.source.version", 10000),
    ("a digest in another place", "digest", "canonical_sha256", _Z),
    ("the digest in capitals", "digest", "canonical_sha256", str.upper),
    ("the receipt of another digest", "digest", "receipt.canonical_sha256", _Z),
    ("another number", "number", "pith_number", lambda n: n[:-1] + ("A" if n[-1] != "A" else "B")),
    ("another short number", "short_forms", "short_pith_number", "pith:AAAAAAAA"),
    ("another id in source", "source", "source.id", "2601.00002"),
    ("another alias", "aliases", "aliases.2.alias_value", "10.48550/arXiv.2601.00001"),
    ("an alias of another time", "aliases", "aliases.5.created_at", _LATER + "+00:00"),
    ("an alias too many", "aliases", "aliases", lambda a: [*a, a[0]]),
    ("another page", "links", "links.paper", "https://pith.science/paper/AAAAAAAA"),
    ("another base in one link", "links", "links.json", lambda u: u.replace("pith.science", "example.org")),
    ("links.html of another number", "links", "links.html", "https://pith.science/pith/" + "A" * 26),
    ("another schema URL", "links", "schema_url", "https://pith.science/schemas/pith-number/v2.json"),
    ("another title in both paper blocks", "paper", "", lambda r: in_both(r, "title", "Another")),
    ("a title that is not collapsed, in both", "paper", "", lambda r: in_both(r, "title", "A  Made-Up Paper")),
    ("another case in the title, in both: nothing binds it", "", "", lambda r: in_both(r, "title", "A MADE-UP PAPER")),
    ("another excerpt in both, of a whole abstract", "paper", "", lambda r: in_both(r, "abstract_excerpt", "Another.")),
    ("an excerpt of 601 in both", "paper", "", lambda r: in_both(r, "abstract_excerpt", "x" * 601)),
    (
        "an excerpt of 600 in both: the abstract isn't shown",
        "",
        "",
        lambda r: in_both(r, "abstract_excerpt", "x" * 600),
    ),
    ("integrity's hash", "snapshot_hashes", "graph_snapshot.integrity.snapshot_sha256", _Z),
    ("references' hash", "snapshot_hashes", "graph_snapshot.references.snapshot_sha256", _Z),
    ("a claim put in", "snapshot_hashes counts", "graph_snapshot.claims.items", [{"text": "x"}]),
    ("a float in a claim", "snapshot_hashes counts", "graph_snapshot.claims.items", [{"x": 1.5}]),
    ("references counted wrongly", "snapshot_hashes counts", "graph_snapshot.references.count", 1),
    ("another endpoint", "counts", "graph_snapshot.integrity.endpoint", "/pith/x/integrity.json"),
    ("a summary that doesn't fit", "counts", "graph_snapshot.integrity.summary.critical", 1),
    ("a reference resolved that isn't there", "counts", "graph_snapshot.references.resolved_work", 1),
    ("evidence counted in one place", "counts", "formal_canon.evidence_count", 1),
    (
        "evidence counted in the snapshot",
        "snapshot_hashes counts flags",
        "graph_snapshot.formal_canon.evidence_count",
        1,
    ),
    ("more strong author claims than there are", "counts flags", "graph_snapshot.author_claims.strong_count", 1),
    ("author claims counted under the empty hash", "snapshot_hashes flags", "graph_snapshot.author_claims.count", 1),
    ("an event that isn't summed up", "event_summary", "events", [{"event_type": "x"}]),
    ("an event that is no object", "form", "events", [None]),
    ("a flag that doesn't follow", "flags", "verification_status.storage_verified", True),
    ("another attestation state", "flags", "attestation_state", "author_attested"),
    ("another builder in the receipt", "builder_version", "receipt.builder_version", "B"),
    ("signed later: nothing binds it", "", "receipt.signed_at", _LATER + "Z"),
    ("signed before it was reissued", "times_in_order", "receipt.signed_at", "2026-01-02T03:04:05.678900Z"),
    ("first computed after it was created", "times_in_order", "receipt.first_computed_at", _LATER + "Z"),
    ("created_at in the form of a receipt", "aliases times_in_order", "created_at", _LATER + "Z"),
    ("signed_at in the form of a record", "times_in_order key_valid", "receipt.signed_at", _LATER + "+00:00"),
    ("a signature without padding", "signature", "receipt.signature_b64", lambda s: s.rstrip("=")),
    ("an unknown key id", "key_known", "receipt.key_id", "TEST-v9-2026-01"),
    ("the key id right and the fingerprint wrong", "key_known", "receipt.public_key_fingerprint", "0" * 32),
    ("another licence in the canonical record", _PAPER_MOVED, "canonical_record.metadata.license", ""),
    ("another version there", _SOURCE_MOVED, "canonical_record.source.version", 2),
    ("an unknown field in the paper block is reported, not judged", "", "graph_snapshot.paper.note", 1),
    ("an unknown field at the top", "", "note", {"a": 1.5}),
)

_REVIEWED_CHANGES: tuple[tuple[str, str, str, Any], ...] = (
    ("a claim altered", "snapshot_hashes", "graph_snapshot.claims.items.0.text", "It fails."),
    ("a claim taken out", "snapshot_hashes counts", "graph_snapshot.claims.items", []),
    (
        "a finding of another severity",
        "snapshot_hashes counts",
        "graph_snapshot.integrity.findings.0.severity",
        "critical",
    ),
    ("clean though there is a finding", "counts", "graph_snapshot.integrity.clean", True),
    (
        "a reference of the sample altered: 7 are hashed and 5 shown",
        "",
        "graph_snapshot.references.sample.0.title",
        "x",
    ),
    ("references' hash is the empty one", "snapshot_hashes", "graph_snapshot.references.snapshot_sha256", EMPTY_SHA256),
    ("fewer references resolved than shown", "counts flags", "graph_snapshot.references.resolved_work", 4),
    ("fewer references resolved than there are", "flags", "graph_snapshot.references.resolved_work", 6),
    ("a verdict altered: nothing binds it", "", "graph_snapshot.verdict.one_line_summary", "x"),
    ("a verdict of a wrong type", "form", "graph_snapshot.verdict.one_line_summary", 1),
    ("an event altered", "event_summary flags", "events.0.event_type", "timestamp_anchor"),
)


def in_both(record: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """The record with a field of both paper blocks altered."""
    graph = record["graph_snapshot"]
    paper = {**record["paper"], name: value}
    return {**record, "paper": paper, "graph_snapshot": {**graph, "paper": paper}}


def _taken_away(plain: dict[str, Any]) -> Iterator[Case]:
    for name in ("receipt", "agent_actions"):
        yield altered(f"without {name}", "form", {k: v for k, v in plain.items() if k != name}, "Altered")
    graph = {k: v for k, v in plain["graph_snapshot"].items() if k != "integrity"}
    yield altered("the shape of May 2026, without integrity", "", {**plain, "graph_snapshot": graph})
    yield altered("integrity that is null", "form", changed_at(plain, "graph_snapshot.integrity", None), "Altered")


def _with_metadata(plain: dict[str, Any]) -> Iterator[Case]:
    given = msgspec.to_builtins(make_metadata())
    yield altered("with its metadata", "", plain, metadata=dumps(given))
    for comment, failed, changes in (
        ("metadata with another licence", "metadata", {"license": ""}),
        ("metadata whose licence isn't known: not compared", "", {"license": None}),
        ("metadata of another version", "metadata", {"version": 2}),
        ("metadata of another paper", "metadata", {"arxiv_id": "2601.00002"}),
        ("metadata with another order of categories", "metadata", {"categories": "cs.CR cs.DL"}),
        ("metadata of another time", "metadata", {"submitted_at": "2026-01-01T12:00:01Z"}),
        ("metadata with another title", "title", {"title": "Another"}),
        ("metadata whose title differs in case", "title", {"title": "A made-up paper"}),
        ("metadata whose title differs in wraps", "", {"title": "A\n  Made-Up  Paper"}),
        ("metadata with another abstract", "abstract excerpt", {"abstract": "Another."}),
        ("metadata whose abstract differs in case", "excerpt", {"abstract": str.upper(given["abstract"])}),
        ("metadata whose abstract differs in wraps", "", {"abstract": "  " + given["abstract"].replace(" ", "\n", 1)}),
        ("metadata with another author", "authors", {"authors": "Ada Lovelace"}),
        ("metadata whose authors are in another order", "", {"authors": "Emmy Noether, Charles Babbage, Ada Lovelace"}),
    ):
        yield altered(comment, failed, plain, "Metadata", metadata=dumps(given | changes))
    text = dumps(plain)
    yield invalid("metadata that can't be", "Metadata", **input_of(text, metadata=dumps(given | {"version": 0})))


def input_of(record: str, **changes: Any) -> dict[str, Any]:
    return {"record": record, "keyring": RING.to_json().decode(), "metadata": None, "at": None} | changes


def ring_of(*signers: Any, active: Any, **changes: Any) -> str:
    entries = [RingKey.of(s.key_id, s.public_key, "active" if s is active else "retired", "receipts") for s in signers]
    entries[0] = msgspec.structs.replace(entries[0], **changes)
    return KeyRing("1.0", entries, []).to_json().decode()


def at_second(seconds_later: int) -> str:
    return seconds((START + timedelta(seconds=seconds_later)).replace(microsecond=0))


def _with_keys(plain: dict[str, Any]) -> Iterator[Case]:
    revoked = {"state": "revoked"}
    for comment, failed, changes, at in (
        ("a retired key, signed before its end", "", {"state": "retired", "not_after": at_second(1)}, None),
        ("a retired key, signed after its end", "key_valid", {"state": "retired", "not_after": at_second(0)}, None),
        ("a retired key without an end", "", {"state": "retired"}, None),
        ("a key that is not active yet", "key_valid", {"state": "next"}, None),
        ("a recovery key", "key_valid", {"use": "recovery"}, None),
        ("another issuer's key", "", {"use": "verify"}, None),
        ("signed before the key became valid", "key_valid", {"not_before": at_second(1)}, None),
        ("signed after the key became valid", "", {"not_before": at_second(0)}, None),
        ("revoked as lost, signed before", "", revoked | {"revoked": Revocation(at_second(1), "lost")}, None),
        ("revoked as lost, signed after", "key_valid", revoked | {"revoked": Revocation(at_second(0), "lost")}, None),
        ("superseded, signed before", "", revoked | {"revoked": Revocation(at_second(1), "superseded")}, None),
        (
            "compromised, though signed before",
            "key_valid",
            revoked | {"revoked": Revocation(at_second(9), "compromised")},
            None,
        ),
        (
            "compromised later than asked for",
            "",
            revoked | {"revoked": Revocation(at_second(9), "compromised")},
            at_second(8),
        ),
        (
            "compromised at the time asked for",
            "key_valid",
            revoked | {"revoked": Revocation(at_second(9), "compromised")},
            at_second(9),
        ),
        ("signed later than asked for", "key_valid", {}, at_second(-1)),
        ("signed before the time asked for", "", {}, at_second(1)),
        (
            "retired later than asked for, signed after its end",
            "key_valid",
            {"state": "retired", "not_after": at_second(0)},
            at_second(1),
        ),
    ):
        active = make_signer(3) if changes.get("state") else K1
        yield altered(comment, failed, plain, "Key", keyring=ring_of(K1, active=active, **changes), at=at)
    other = ring_of(K1, active=K1, **msgspec.to_builtins(RingKey.of(K1.key_id, K2.public_key, "active", "receipts")))
    yield altered("another key under the right id", "key_known", plain, "Key", keyring=other)
    renamed = ring_of(K1, active=K1, key_id="TEST-other")
    yield altered("the right key under another id", "key_known", plain, "Key", keyring=renamed)
    yield altered("an empty ring", "key_known", plain, "Key", keyring=KeyRing.empty().to_json().decode())
    thief = changed_at(
        plain, "receipt.signature_b64", json.loads(make_record(signer=K2).to_json())["receipt"]["signature_b64"]
    )
    yield altered("another key's signature under the right id", "signature", thief, "Key")
    bad = changed_at(thief, "receipt.key_id", "TEST-v9-2026-01")
    yield altered("an unknown key is not a bad signature", "key_known", bad, "Key")
    yield invalid("a ring that can't be", "Key", **input_of(dumps(plain), keyring="{}"))


def _unreadable(plain: dict[str, Any]) -> Iterator[Case]:
    text = dumps(plain)
    yield invalid("no JSON", **input_of(text[:-1]))
    yield invalid("nothing", **input_of(""))
    yield invalid("a key twice", "DuplicateKey", **input_of(text[:-1] + ',"events":[]}'))
    yield invalid(
        "a key twice in the canonical record",
        "DuplicateKey",
        **input_of(text.replace('"source":{"id"', '"source":{"id":"2601.00002","id"', 1)),
    )
    yield invalid("trailing data", **input_of(text + text))
    yield invalid("NaN", **input_of(text[:-1] + ',"note":NaN}'))
    yield invalid("a lone surrogate", **input_of(text[:-1] + ',"note":"\\ud800"}'))
    yield invalid("nested deeper than 64", **input_of(text[:-1] + ',"note":' + "[" * 64 + "]" * 64 + "}"))
    yield altered("nested 64 deep", "", text[:-1] + ',"note":' + "[" * 63 + "]" * 63 + "}", "Depth")
    yield altered("a list", "form", f"[{text}]")
    yield altered("null", "form", "null")
    yield altered("an empty object", "form", "{}")
