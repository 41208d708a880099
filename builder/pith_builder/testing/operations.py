"""What can be done with a document: the operations that broken documents are broken for.

The names are for other implementations too; each stands beside the public function of ours that does it.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from pith_builder import times
from pith_builder.alias import parse_alias
from pith_builder.arxiv_id import ArxivId
from pith_builder.canonical import canonical_bytes
from pith_builder.documents import loads
from pith_builder.enrichment import Enrichment
from pith_builder.errors import PithError
from pith_builder.issue import reissue
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.number import PithNumber
from pith_builder.public_keys import read as read_public_key
from pith_builder.published import PithRecord
from pith_builder.record import CanonicalRecord, canonical_record
from pith_builder.rotation import follow, move
from pith_builder.signers.ceremony import read_statement
from pith_builder.signers.key_file import KeyFile
from pith_builder.testing import FrozenClock
from pith_builder.testing.chain import ACTIVE, Chain
from pith_builder.text import canonical_text
from pith_builder.verify import VerificationReport, verify


class Situation(NamedTuple):
    """What is at hand beside a document: the key ring, the paper's metadata, a time, the paper that is asked for."""

    chain: Chain
    metadata: bytes | None = None
    at: str | None = None
    asked: str | None = None


class Operation(NamedTuple):
    """What is done, in words, and how we do it: a verification gives a report, and all raise where they can't go on."""

    about: str
    run: Callable[[bytes, Situation], object]


def outcome(operation: str, document: bytes, situation: Situation) -> dict[str, Any]:
    """What comes of an operation: `{"report": ...}`, or `{"error": {code, field, message}}`, or neither."""
    try:
        found = OPERATIONS[operation].run(document, situation)
    except PithError as error:
        return {"error": {"code": error.code, "field": error.field or None, "message": error.message}}
    return {"report": shown(found)} if isinstance(found, VerificationReport) else {}


def shown(report: VerificationReport) -> dict[str, Any]:
    """A report as the fixtures hold it: what depends on the record."""
    return {
        "ok": report.ok,
        "pith_number": report.pith_number,
        "issuer": report.issuer,
        "key_id": report.key_id,
        "unknown_fields": report.unknown_fields,
        "checks": msgspec.to_builtins(report.checks),
    }


def _verify(document: bytes, situation: Situation) -> VerificationReport:
    given = situation.metadata
    metadata = None if given is None else PaperMetadata.from_mapping(loads(given))
    at = None if situation.at is None else times.parse_seconds(situation.at)
    return verify(document, situation.chain.ring, metadata, at)


def _import(document: bytes, situation: Situation) -> None:
    from pith_builder.store.importing import check_times

    latest = times.parse_seconds(situation.at or "")
    if latest is None:
        raise ValueError("an import needs a time")
    check_times(PithRecord.from_json(document), latest)


def _find(document: bytes, situation: Situation) -> None:
    from pith_builder.sources.papers import choose, read_piece
    from pith_builder.sources.pieces import pieces

    asked = ArxivId.parse(situation.asked or "")
    entries = [read_piece(piece, "the file", FrozenClock()) for piece in pieces(io.BytesIO(document))]
    found = choose([asked], entries, "the file").get(asked)
    if isinstance(found, PithError):
        raise found


def _reader(read: Callable[[bytes], object]) -> Callable[[bytes, Situation], object]:
    return lambda document, situation: read(document)


def _of_string(parse: Callable[[str], object]) -> Callable[[bytes, Situation], object]:
    return _reader(lambda document: parse(loads(document)))


OPERATIONS: dict[str, Operation] = {
    "verify": Operation("verify the record with keyring.json", _verify),
    "require": Operation("verify the record, and raise unless it is good", lambda d, s: _verify(d, s).require()),
    "read-record": Operation("read the record", _reader(PithRecord.from_json)),
    "read-canonical-record": Operation("read the canonical record", _reader(CanonicalRecord.from_json)),
    "read-enrichment": Operation("read the enrichment", _reader(Enrichment.from_json)),
    "read-keyring": Operation("read the key ring", _reader(KeyRing.from_json)),
    "read-statement": Operation("read the key statement", _reader(read_statement)),
    "read-public-key": Operation("read the public key", _reader(read_public_key)),
    "read-key-file": Operation("read the file of a private key", _reader(KeyFile.from_json)),
    "build": Operation(
        "build the canonical record of the metadata",
        _reader(lambda document: canonical_record(PaperMetadata.from_mapping(loads(document)))),
    ),
    "find": Operation("find the paper that is asked for in the file of metadata", _find),
    "reissue": Operation(
        "make a new receipt for the record",
        lambda d, s: reissue(PithRecord.from_json(d), s.chain.signer(ACTIVE), clock=FrozenClock()),
    ),
    "import": Operation("take the record in at the time given", _import),
    "move": Operation(
        "move the ring of pins.json by the statement", lambda d, s: move(s.chain.pins, read_statement(d))
    ),
    "follow": Operation("follow the ring from pins.json", lambda d, s: follow(s.chain.pins, KeyRing.from_json(d))),
    "text": Operation("the canonical text of the JSON string", _of_string(canonical_text)),
    "canonical-json": Operation("the canonical JSON of the value", _of_string(canonical_bytes)),
    "arxiv-id": Operation("read the JSON string as an arXiv id", _of_string(ArxivId.parse)),
    "number": Operation("read the JSON string as a pith number", _of_string(PithNumber.parse)),
    "transcription": Operation(
        "read the JSON string as a transcription form", _of_string(PithNumber.from_transcription)
    ),
    "alias": Operation("read the JSON string as the name of a paper or a record", _of_string(parse_alias)),
}
