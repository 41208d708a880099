"""Broken records: for every check, records in which that check fails and no other.

Where a place stands twice in a record, both are changed alike, and what follows from it is made anew, so that only the
rule that is broken shows. After a broken form no other check is made.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from datetime import timedelta

import msgspec

from pith_builder.signing import SeedSigner, encode_base64
from pith_builder.snapshot import EMPTY_SHA256
from pith_builder.testing import around, make_signer
from pith_builder.testing.broken import Broken
from pith_builder.testing.chain import ACTIVE, COMPROMISED, NEXT, RETIRED, SUPERSEDED, beginning
from pith_builder.testing.kinds import NOW
from pith_builder.testing.plain import STEP, Document, Plain, edited
from pith_builder.times import receipt_time, record_time

_GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493


def broken_records(seed: int) -> Iterator[Broken]:
    """Every check, in the order of a report."""
    plain = Plain(seed)
    metadata = msgspec.json.format(msgspec.json.encode(plain.raw), indent=1) + b"\n"
    for breaks, about, record in (
        *_shape(plain),
        *_identity(plain),
        *_addresses(plain),
        *_paper(plain),
        *_snapshot(plain),
        *_history(plain),
        *_signature(plain),
    ):
        yield Broken(breaks, about, "verify", msgspec.json.encode(record) + b"\n")
    early = "2026-05-31T00:00:00Z"
    yield Broken("key_valid", "signed after the time that is asked about", "verify", _bytes(plain.record), at=early)
    for breaks, about, record in _against_metadata(plain):
        yield Broken(breaks, about, "verify", _bytes(record), metadata)
    long = {**plain.raw, "abstract": plain.draw.text("long", 700)}
    for breaks, about, record in _against_long_abstract(plain, long["abstract"]):
        yield Broken(breaks, about, "verify", _bytes(record), msgspec.json.encode(long) + b"\n")


Case = tuple[str, str, Document]


def _shape(plain: Plain) -> Iterator[Case]:
    record = plain.record
    without = copy.deepcopy(record)
    del without["paper"]["license"]
    yield "form", "a field is missing", without
    yield "form", "a field is of another type", edited(record, pith_number=7)
    yield "form", "an unknown field in the receipt, a closed object", edited(record, receipt__note="x")
    yield "form", "an unknown field in what is hashed", edited(record, canonical_record__metadata__note="x")
    yield "form", "a schema of the future", edited(record, schema_version="2.0")
    yield "form", "an algorithm that isn't Ed25519", edited(record, receipt__algorithm="rsa")
    yield "form", "no licence as null", edited(record, canonical_record__metadata__license=None)
    yield "form", "version 0", edited(record, canonical_record__source__version=0)
    yield "form", "a version as a float", edited(record, canonical_record__source__version=1.0)


def _identity(plain: Plain) -> Iterator[Case]:
    record = plain.record
    primary, *_ = plain.raw["categories"].split()
    canonical = plain.of_canonical
    yield (
        "canonical_bytes",
        "cross-lists that aren't sorted",
        canonical(metadata={"cross_cats_sorted": ["math.MP", "cs.AI"]}),
    )
    yield (
        "canonical_bytes",
        "the primary category among the cross-lists",
        canonical(metadata={"cross_cats_sorted": [primary]}),
    )
    yield "canonical_bytes", "a licence that is no URI", canonical(metadata={"license": "CC BY 4.0"})
    yield "canonical_bytes", "an id with its subject class", canonical(source={"id": "math.GT/0309136"})
    yield "canonical_bytes", "a day that isn't", canonical(metadata={"submitted_at": "2025-02-30T12:00:00Z"})
    yield "canonical_bytes", "a time with fractions", canonical(metadata={"submitted_at": "2025-01-30T12:00:00.000Z"})
    other = "0" * 64
    digest = record["canonical_sha256"]
    yield (
        "digest",
        "the digest of something else",
        edited(record, canonical_sha256=other, receipt__canonical_sha256=other),
    )
    yield "digest", "record and receipt name different digests", edited(record, receipt__canonical_sha256=other)
    upper = digest.upper()
    yield "digest", "upper-case hex", edited(record, canonical_sha256=upper, receipt__canonical_sha256=upper)
    number = record["pith_number"]
    suffix = number[-26:]
    yield "number", "another year", edited(record, pith_number=f"pith:2026:{suffix}")
    yield "number", "no year", edited(record, pith_number=f"pith:{suffix}")
    yield "number", "in lower case", edited(record, pith_number=number.lower())
    yield "number", "a symbol too few", edited(record, pith_number=number[:-1])
    crockford = number[:10] + suffix.translate(_TO_CROCKFORD)
    yield "number", "Crockford's base32", edited(record, pith_number=crockford)
    yield "short_forms", "12 symbols", edited(record, short_pith_number=f"pith:{suffix[:12]}")
    yield "short_forms", "with the year", edited(record, short_pith_number=f"pith:2025:{suffix[:8]}")
    yield "source", "another version", edited(record, source__version=2)
    yield "source", "another paper in the snapshot", edited(record, graph_snapshot__source__id="2501.99999")


_TO_CROCKFORD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", "0123456789ABCDEFGHJKMNPQRSTVWXYZ")


def _addresses(plain: Plain) -> Iterator[Case]:
    record = plain.record
    aliases = record["aliases"]
    doi = {**aliases[2], "alias_value": aliases[2]["alias_value"].upper()}
    yield "aliases", "in another order", edited(record, aliases=aliases[::-1])
    yield "aliases", "one is missing", edited(record, aliases=aliases[:-1])
    yield "aliases", "one too many", edited(record, aliases=[*aliases, aliases[0]])
    yield "aliases", "a DOI in upper case", edited(record, aliases=[*aliases[:2], doi, *aliases[3:]])
    first = {**aliases[0], "created_at": record_time(NOW.at - timedelta(days=1))}
    yield "aliases", "one is older than the record", edited(record, aliases=[first, *aliases[1:]])
    links, other = record["links"], "https://elsewhere.example.org"
    moved = links["graph_json"].replace("https://pith.science", other)
    yield "links", "one link of another issuer", edited(record, links__graph_json=moved)
    yield "links", "the schema of another issuer", edited(record, schema_url=f"{other}/schemas/pith-number/v1.json")
    yield "links", "the page is no link", edited(record, links__html="pith.science")
    yield "links", "an action of another record", edited(record, agent_actions__actions__sign_citation=links["html"])
    escaped = plain.issued(arxiv_id="hep-th/9901901", submitted_at="1999-01-02T03:04:05Z")
    resolve = escaped["agent_actions"]["resolve_alias"].replace("hep-th/", "hep-th%2F")
    yield "links", "the slash of an old id is escaped", edited(escaped, agent_actions__resolve_alias=resolve)


def _paper(plain: Plain) -> Iterator[Case]:
    record = plain.record
    block = record["paper"]
    differs = edited(record)
    differs["paper"]["headline"] = "Only here"
    yield "paper", "the snapshot's block differs", differs
    yield "paper", "another title than the one that is hashed", edited(record, paper__title=f"{block['title']}.")
    yield "paper", "a title with its line wraps", edited(record, paper__title=block["title"].replace(" ", "\n  ", 1))
    yield "paper", "another licence than the one that is hashed", edited(record, paper__license="")
    yield "paper", "categories that aren't sorted as hashed", edited(record, paper__cross_cats=["math.AG", "cs.AI"])
    short = f"{block['abstract_excerpt']} And more."
    yield "paper", "a whole abstract that isn't the one that is hashed", edited(record, paper__abstract_excerpt=short)
    long = plain.draw.text("long", 700)
    whole = plain.issued(abstract=long)
    yield "paper", "an excerpt of 601 code points", edited(whole, paper__abstract_excerpt=long[:601])
    yield "paper", "an excerpt that ends in an ellipsis", edited(whole, paper__abstract_excerpt=long[:598] + "…")


def _snapshot(plain: Plain) -> Iterator[Case]:
    record = plain.record
    known = plain.issued(around.everything(plain.draw))
    zero, graph = "0" * 64, known["graph_snapshot"]
    yield "snapshot_hashes", "another hash of the claims", edited(known, graph_snapshot__claims__snapshot_sha256=zero)
    yield (
        "snapshot_hashes",
        "no claims, and yet another hash",
        edited(record, graph_snapshot__claims__snapshot_sha256=zero),
    )
    finding = {**graph["integrity"]["findings"][0], "note": "altered"}
    findings = [finding, *graph["integrity"]["findings"][1:]]
    yield "snapshot_hashes", "a finding is altered", edited(known, graph_snapshot__integrity__findings=findings)
    unhashed = edited(known, graph_snapshot__references__snapshot_sha256=EMPTY_SHA256)
    yield "snapshot_hashes", "seven references with the hash of none", unhashed
    items = [{**graph["claims"]["items"][0], "score": 0.5}, *graph["claims"]["items"][1:]]
    yield "snapshot_hashes", "a float among what is hashed", edited(known, graph_snapshot__claims__items=items)
    yield "counts", "one claim too many", edited(record, graph_snapshot__claims__count=1)
    yield "counts", "clean, with findings", edited(known, graph_snapshot__integrity__clean=True)
    yield "counts", "a critical finding isn't counted", edited(known, graph_snapshot__integrity__summary__critical=0)
    endpoint = "/pith/2501.99999/integrity.json"
    yield (
        "counts",
        "the integrity report of another paper",
        edited(record, graph_snapshot__integrity__endpoint=endpoint),
    )
    yield "counts", "the report isn't available", edited(record, graph_snapshot__integrity__available=False)
    sample = graph["references"]["sample"][:4]
    yield "counts", "four references are shown of seven", edited(known, graph_snapshot__references__sample=sample)
    yield (
        "counts",
        "more internal anchors than references",
        edited(known, graph_snapshot__references__internal_anchors=9),
    )
    yield "counts", "formal evidence is counted twice", edited(known, formal_canon__evidence_count=2)
    yield "counts", "fewer citations than are shown", edited(known, inbound_citations__count=1)
    yield "event_summary", "one event too many", edited(known, event_summary__timestamp_anchor=2)
    yield "event_summary", "a type that no event has", edited(record, event_summary={"timestamp_anchor": 1})
    yield "flags", "attested by an author who claims nothing", edited(record, verification_status__author_attested=True)
    yield "flags", "the state doesn't follow from the flags", edited(record, attestation_state="author_attested")
    yield "flags", "no reference, and all resolved", edited(record, verification_status__references_resolved=True)
    yield "flags", "no anchor, and yet anchored", edited(record, verification_status__externally_anchored=True)
    yield "flags", "not addressed by content", edited(record, verification_status__content_addressed=False)


def _history(plain: Plain) -> Iterator[Case]:
    record = plain.record
    yield "builder_version", "two builders of one issue", edited(record, receipt__builder_version="TEST-builder")
    late = receipt_time(NOW.at + STEP * 1.5)
    after = edited(record, receipt__first_computed_at=late, receipt__last_reissued_at=late)
    yield "times_in_order", "computed after it was created", after
    never = receipt_time(NOW.at + STEP * 3)
    yield "times_in_order", "reissued after it was signed", edited(record, receipt__last_reissued_at=never)
    before = record_time(NOW.at)
    yield "times_in_order", "updated before it was created", edited(record, updated_at=before)
    whole = record["created_at"].replace(".121314", "")
    aliases = [{**alias, "created_at": whole} for alias in record["aliases"]]
    short = edited(record, created_at=whole, updated_at=whole, aliases=aliases)
    yield "times_in_order", "a time without its six digits", short
    zulu = record["created_at"].replace("+00:00", "Z")
    aliases = [{**alias, "created_at": zulu} for alias in record["aliases"]]
    yield (
        "times_in_order",
        "created at a time that ends in Z",
        edited(record, created_at=zulu, updated_at=zulu, aliases=aliases),
    )


def _signature(plain: Plain) -> Iterator[Case]:
    record, chain = plain.record, plain.chain
    digest, active = bytes.fromhex(record["canonical_sha256"]), chain.signer(ACTIVE)

    def signed(signature: bytes) -> Document:
        return edited(record, receipt__signature_b64=encode_base64(signature))

    right = active.sign(digest)
    yield "signature", "one bit is another", signed(bytes([right[0] ^ 1]) + right[1:])
    yield "signature", "another key's", signed(chain.signer(NEXT).sign(digest))
    yield "signature", "over the hex digits of the digest", signed(active.sign(digest.hex().encode()))
    yield "signature", "over another digest", signed(active.sign(bytes(32)))
    large = int.from_bytes(right[32:], "little") + _GROUP_ORDER
    yield "signature", "the same once more: S is not reduced", signed(right[:32] + large.to_bytes(32, "little"))
    yield "signature", "nothing but zeros", signed(bytes(64))
    yield "signature", "63 bytes", signed(right[:63])
    text = encode_base64(right)
    loose = text[:-3] + _NEXT_SYMBOL[text[-3]] + "=="
    yield "signature", "base64 in another spelling", edited(record, receipt__signature_b64=loose)
    yield "signature", "base64 without padding", edited(record, receipt__signature_b64=text.rstrip("="))
    stranger = make_signer("stranger", chain.seed)
    yield "key_known", "a key that the ring doesn't have", plain.issued(signer=stranger)
    impostor = SeedSigner(active.key_id, bytes(32))
    yield "key_known", "a known id with another key", plain.issued(signer=impostor)
    yield "key_known", "a known key under another id", edited(record, receipt__key_id=chain.signer(NEXT).key_id)
    for about, signer, at in (
        ("by a key that was retired before", chain.signer(RETIRED), NOW.at),
        ("by a key before it became valid", active, beginning(ACTIVE) - timedelta(days=1)),
        ("by a key that is announced as the next", chain.signer(NEXT), NOW.at),
        ("by a recovery key", chain.recovery, NOW.at),
        (
            "by a key that is compromised, before it was",
            chain.signer(COMPROMISED),
            beginning(COMPROMISED) + timedelta(days=9),
        ),
        ("by a key that was superseded before", chain.signer(SUPERSEDED), beginning(ACTIVE) + timedelta(days=9)),
    ):
        yield "key_valid", f"signed {about}", plain.issued(signer=signer, at=at)


#: In a group of base64 with one byte the second symbol has four bits that count for nothing.
_NEXT_SYMBOL = dict(zip("AQgw", "BRhx", strict=True))


def _against_metadata(plain: Plain) -> Iterator[Case]:
    issued, raw = plain.issued, plain.raw
    yield "metadata", "another licence than the metadata have", issued(license="")
    yield "metadata", "another version than the metadata have", issued(version=2)
    primary, *others = raw["categories"].split()
    yield "metadata", "another primary category", issued(categories=" ".join([*others, primary]))
    yield "metadata", "submitted at another time", issued(submitted_at="2025-01-01T00:00:00Z")
    yield "metadata", "another paper", issued(arxiv_id="2501.99999")
    yield "title", "another title than the metadata have", issued(title=f"{raw['title']}, Revised")
    yield "title", "the metadata's title in other case: shown, not hashed", issued(title=raw["title"].upper())
    yield (
        "excerpt",
        "the metadata's abstract in other case: shown, not hashed",
        issued(abstract=raw["abstract"].upper()),
    )
    yield "authors", "an author is missing", issued(authors="Ada Lovelace")
    yield "authors", "authors in the order of the metadata", _with_authors_as_given(plain)


def _with_authors_as_given(plain: Plain) -> Document:
    shown = plain.record["paper"]["authors_text"].split(", ")
    return edited(plain.record, paper__authors_text=", ".join(reversed(shown)))


def _against_long_abstract(plain: Plain, abstract: str) -> Iterator[Case]:
    right = plain.issued(abstract=abstract)
    yield "abstract", "another abstract, behind what is shown", plain.issued(abstract=abstract[:-4] + "end.")
    yield "excerpt", "a word of the excerpt is another", edited(right, paper__abstract_excerpt="An" + abstract[2:600])


def _bytes(record: Document) -> bytes:
    return msgspec.json.encode(record) + b"\n"
