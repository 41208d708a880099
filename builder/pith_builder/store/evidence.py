"""What vouches for a stored record, so that a new receipt may be made for it.

Reissuing must not launder a forgery. A record is signed again only if its receipts, the time it came in, or its
metadata say that it is what it claims to be.
"""

from __future__ import annotations

from typing import Any

import msgspec
import sqlalchemy as sa

from pith_builder import times
from pith_builder.errors import Refused
from pith_builder.keyring import KeyRing, RingKey
from pith_builder.receipt import Receipt


class NoEvidence(Refused):
    """Nothing vouches for a record: its receipt is worth nothing, and there are no metadata to recompute it from."""

    code = "no_evidence"


class Evidence:
    """The judge of stored receipts under one key ring."""

    def __init__(self, ring: KeyRing, checked_receipt: int) -> None:
        """Receipts with a row id up to `checked_receipt` passed a check of the store and are not verified again."""
        self._ring = ring
        self._checked_receipt = checked_receipt

    @property
    def needs_origin(self) -> bool:
        """Whether a record's first receipt must be looked at too."""
        return has_compromised(self._ring)

    def objection(self, row: sa.Row[Any], digest: bytes, receipt: Receipt, key: RingKey | None) -> str | None:
        """Why the earlier receipts do not vouch for the record; None if they do.

        The newest must be good. But where the first was made by a key that is known as compromised now, the later ones
        only repeat what that one said: then the record's own origin must be vouched for.
        """
        if objection := self._origin_objection(row):
            return objection
        if key is None:
            return f"the ring does not know the key of its receipt, {receipt.key_id}; give its metadata to recompute it"
        if _is_compromised(key):
            return _late_objection(row, key) or self._signature_objection(row, digest, receipt, key)
        signed_at = times.parse_receipt_time(receipt.signed_at)
        if signed_at is None:
            return "its receipt has no time that can be read"
        if objection := key.objection(signed_at):
            return objection
        return self._signature_objection(row, digest, receipt, key)

    def _origin_objection(self, row: sa.Row[Any]) -> str | None:
        if row.first_receipt is None:
            return None
        try:
            first = msgspec.json.decode(row.first_receipt, type=Receipt)
        except (msgspec.MsgspecError, UnicodeError):
            return "its first receipt can't be read"
        key = self._ring.find(first.key_id, first.public_key_fingerprint)
        return _late_objection(row, key) if key is not None and _is_compromised(key) else None

    def _signature_objection(self, row: sa.Row[Any], digest: bytes, receipt: Receipt, key: RingKey) -> str | None:
        if row.receipt_id <= self._checked_receipt or receipt.is_signed_by(key.public_key, digest):
            return None
        return f"the signature of its receipt is not {key.key_id}'s"


def has_compromised(ring: KeyRing) -> bool:
    """Whether a key of the ring is known as compromised."""
    return any(_is_compromised(key) for key in ring.keys)


def _is_compromised(key: RingKey) -> bool:
    return key.revoked is not None and key.revoked.reason == "compromised"


def _late_objection(row: sa.Row[Any], key: RingKey) -> str | None:
    """Why a record is doubtful that came in under a key known as compromised; None if it came in before."""
    since = times.parse_seconds(key.revoked.since) if key.revoked else None
    recorded = times.parse_receipt_time(row.recorded_at)
    if since is not None and recorded is not None and recorded < since:
        return None
    told = key.revoked.since if key.revoked else "?"
    return (
        f"{key.key_id} is compromised since {told} and the record came in later, so its receipt is evidence of "
        "nothing; give its metadata to recompute it"
    )
