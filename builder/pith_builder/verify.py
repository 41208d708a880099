"""Verification: a record, and what else is at hand, to a report of named checks (`checks.py`)."""

from __future__ import annotations

from datetime import datetime

import msgspec

from pith_builder.case import Case, Check, run
from pith_builder.checks import CHECKS
from pith_builder.errors import InvalidInput, InvalidJson, VerificationFailed
from pith_builder.keyring import KeyRing
from pith_builder.metadata import PaperMetadata
from pith_builder.published import PithRecord

#: What no hash and no signature binds, whatever the checks say (docs/protocol.md has the table).
NOT_BOUND = (
    "paper.title (case and wraps)",
    "paper.headline",
    "paper.authors_text",
    "paper.abstract_excerpt (where the abstract is longer)",
    "graph_snapshot.verdict",
    "graph_snapshot.*.snapshot_sha256 and what they cover",
    "events",
    "paper_claims",
    "inbound_citations",
    "formal_canon",
    "links",
    "receipt.key_id, times and builder_version",
    "created_at, updated_at and alias times",
)


class VerificationReport(msgspec.Struct, frozen=True):
    """What was checked of a record and how it came out.

    `not_bound` lists what neither hash nor signature binds; `unknown_fields` what the record has beyond schema
    1.0; `issuer` is the base URL of its links, reported and not judged; `key_id` the key that the receipt names.
    """

    pith_number: str | None
    checks: list[Check]
    issuer: str | None = None
    key_id: str | None = None
    unknown_fields: list[str] = []
    not_bound: tuple[str, ...] = NOT_BOUND

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> list[Check]:
        return [check for check in self.checks if check.status == "failed"]

    def require(self) -> None:
        """Raise VerificationFailed if a check failed."""
        if self.failed:
            raise VerificationFailed("; ".join(f"{check.name}: {check.reason}" for check in self.failed))


def verify(
    record: PithRecord | bytes,
    keyring: KeyRing,
    metadata: PaperMetadata | None = None,
    at: datetime | None = None,
) -> VerificationReport:
    """Check a record offline against a key ring and, where given, the paper's metadata.

    `at` (aware) asks what held then. Raises InvalidJson for bytes that are no JSON; JSON that is no record is a
    report in which `form` failed.
    """
    if at is not None and at.tzinfo is None:
        raise ValueError("`at` must be an aware datetime: the zone of a naive one would be a guess")
    if not isinstance(record, PithRecord):
        try:
            record = PithRecord.from_json(record)
        except InvalidJson:
            raise
        except InvalidInput as error:
            return _malformed(error)
    case = Case(record, keyring, metadata, at)
    checks = [run(check, case) for check in CHECKS]
    return VerificationReport(record.pith_number, checks, record.base_url, record.receipt.key_id, record.unknown())


def _malformed(error: InvalidInput) -> VerificationReport:
    reason = f"{error.field}: {error.message}" if error.field else error.message
    rest = [Check(check.name, "not_checked", "the record has not the form of one") for check in CHECKS[1:]]
    return VerificationReport(None, [Check("form", "failed", reason), *rest])
