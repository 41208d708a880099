"""JSON Schemas (2020-12) of the documents, made from the models that read and write them.

The models give fields, types, and which objects are closed; a table adds the forms that texts have. What a schema
can't tell (that hashes fit, that a list is sorted) is for `verify` and for reading.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from pith_builder import enrichment
from pith_builder.enrichment import Enrichment
from pith_builder.keyring import KeyRing
from pith_builder.metadata import MAX_VERSION, PaperMetadata
from pith_builder.published import PithRecord
from pith_builder.receipt import Receipt
from pith_builder.record import CanonicalRecord
from pith_builder.statements import Statement
from pith_builder.testing.vectors.model import VectorFile
from pith_builder.verify import VerificationReport

DIALECT = "https://json-schema.org/draft/2020-12/schema"

Schema = dict[str, Any]

# --- forms of texts (PROTOCOL §2, §3, §4, §6, §9) -----------------------------------------------------------------

_HEX_SHA256 = "^[0-9a-f]{64}$"
_FINGERPRINT = "^[0-9a-f]{32}$"
_KEY = "^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$"
_SIGNATURE = "^[A-Za-z0-9+/]{85}[AQgw]==$"
_DAY_AND_TIME = "[0-9]{4}-[0-9]{2}-[0-9]{2}T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]"
_SECONDS = f"^{_DAY_AND_TIME}Z$"
_SUBMITTED = f"^(19|20)[0-9]{{2}}{_DAY_AND_TIME[8:]}Z$"
_RECEIPT_TIME = f"^{_DAY_AND_TIME}\\.[0-9]{{6}}Z$"
_RECORD_TIME = f"^{_DAY_AND_TIME}\\.[0-9]{{6}}\\+00:00$"
_CATEGORY = "^[A-Za-z][A-Za-z0-9-]*(\\.[A-Za-z0-9-]+)?$"
_LICENSE = "^(https?://[!-~]+)?$"
_KEY_ID = "^[!-\\-0-~][!-.0-~]{0,127}$"
_TEXT = "[^\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]"

#: Struct -> field -> the pattern of its text.
_PATTERNS: dict[str, dict[str, str]] = {
    "PithRecord": {
        "pith_number": "^pith:(19|20)[0-9]{2}:[A-Z2-7]{26}$",
        "short_pith_number": "^pith:[A-Z2-7]{8}$",
        "canonical_sha256": _HEX_SHA256,
        "attestation_state": "^(computed|author_attested)$",
        "created_at": _RECORD_TIME,
        "updated_at": _RECORD_TIME,
    },
    "Alias": {"created_at": _RECORD_TIME},
    "CanonicalMetadata": {
        "license": _LICENSE,
        "primary_cat": _CATEGORY,
        "submitted_at": _SUBMITTED,
        "title_canon_sha256": _HEX_SHA256,
        "abstract_canon_sha256": _HEX_SHA256,
    },
    "Receipt": {
        "signed_at": _RECEIPT_TIME,
        "signature_b64": _SIGNATURE,
        "canonical_sha256": _HEX_SHA256,
        "last_reissued_at": _RECEIPT_TIME,
        "first_computed_at": _RECEIPT_TIME,
        "public_key_fingerprint": _FINGERPRINT,
    },
    **{
        name: {"snapshot_sha256": _HEX_SHA256}
        for name in ("Claims", "Integrity", "References", "FormalCanon", "AuthorClaims")
    },
    "RingKey": {
        "key_id": _KEY_ID,
        "public_key_b64": _KEY,
        "fingerprint": _FINGERPRINT,
        "not_before": _SECONDS,
        "not_after": _SECONDS,
    },
    "Revocation": {"since": _SECONDS},
    "PaperMetadata": {"title": _TEXT, "abstract": _TEXT, "license": _LICENSE, "submitted_at": _SUBMITTED},
}

# --- what the models say in code ----------------------------------------------------------------------------------


def _enrichment(defs: dict[str, Schema]) -> None:
    """Rows of an enrichment are kept as objects, and read as what the builder counts in them."""
    rows = {
        "IntegrityInput": {"detectors_run": "Detector", "findings": "Finding"},
        "Enrichment": {"references": "Reference", "author_claims": "AuthorClaim", "events": "Event"},
        "_GivenCitations": {"sample": "InboundCitation"},
    }
    for owner, fields in rows.items():
        for field, row in fields.items():
            defs[owner]["properties"][field]["items"] = {"$ref": f"#/$defs/{row}"}
    defs["Verdict"].pop("required")
    citations = {"type": "array", "items": {"$ref": "#/$defs/InboundCitation"}}
    properties = defs["Enrichment"]["properties"]
    properties["verdict"] = {"$ref": "#/$defs/Verdict"}
    properties["inbound_citations"] = {"anyOf": [citations, {"$ref": "#/$defs/_GivenCitations"}]}


def _metadata(defs: dict[str, Schema]) -> None:
    """A licence that is absent is not known; versions and categories have bounds."""
    own = defs["PaperMetadata"]
    own["required"].remove("license")
    own["properties"]["version"] |= {"minimum": 1, "maximum": MAX_VERSION}


def _report(defs: dict[str, Schema]) -> None:
    """`verify --json` prints every field, and before them which input it was and how it came out."""
    own = defs["VerificationReport"]
    own["properties"] = {"input": {"type": "string"}, "ok": {"type": "boolean"}} | own["properties"]
    own["required"] = list(own["properties"])
    defs["Check"]["required"] = list(defs["Check"]["properties"])


def _record(defs: dict[str, Schema]) -> None:
    defs["CanonicalMetadata"]["properties"]["cross_cats_sorted"]["items"]["pattern"] = _CATEGORY


def _as_it_is(defs: dict[str, Schema]) -> None:
    del defs


class _Source(NamedTuple):
    models: tuple[type, ...]
    change: Callable[[dict[str, Schema]], None] = _as_it_is


_ROWS = (
    enrichment.Detector,
    enrichment.Finding,
    enrichment.Reference,
    enrichment.AuthorClaim,
    enrichment.Event,
    enrichment.InboundCitation,
)

#: Name -> its model first, and what else the schema needs.
_SOURCES: dict[str, _Source] = {
    "record": _Source((PithRecord,), _record),
    "canonical-record": _Source((CanonicalRecord,), _record),
    "receipt": _Source((Receipt,)),
    "keyring": _Source((KeyRing,)),
    "statement": _Source((Statement,)),
    "enrichment": _Source((Enrichment, enrichment.Verdict, enrichment._GivenCitations, *_ROWS), _enrichment),
    "metadata": _Source((PaperMetadata,), _metadata),
    "report": _Source((VerificationReport,), _report),
    "vectors": _Source((VectorFile,)),
}

#: The names of all schemas.
NAMES = tuple(_SOURCES)


def schema(name: str) -> bytes:
    """The JSON Schema of this name (one of `NAMES`), formatted, with a newline at its end."""
    models, change = _SOURCES[name]
    (root, *_), defs = msgspec.json.schema_components(models, ref_template="#/$defs/{name}")
    for struct, patterns in _PATTERNS.items():
        for field, pattern in patterns.items() if struct in defs else ():
            defs[struct]["properties"][field] |= {"pattern": pattern}  # says nothing about null
    change(defs)
    for part in defs.values():
        if "description" in part:
            part["description"] = (
                part["description"].partition("\n\n")[0].partition(". ")[0].replace("\n", " ").strip(".")
            )
    own = defs.pop(root["$ref"].rpartition("/")[2])
    whole = {"$schema": DIALECT, "$id": f"urn:pith-build:schema:{name}", **own}
    return json.dumps(whole | ({"$defs": defs} if defs else {}), indent=1, ensure_ascii=False).encode() + b"\n"


def schema_files() -> dict[str, bytes]:
    """File name -> content of every schema."""
    return {f"{name}.json": schema(name) for name in NAMES}
