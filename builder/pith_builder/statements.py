"""Key statements: signed rotations and revocations (DESIGN "Statement").

A statement is signed over the DSSE encoding of its type and its canonical body. That encoding begins with `DSSEv1` and
is longer than 32 bytes, so that a statement's signature can never be taken for a receipt's, nor the other way round.
"""

from __future__ import annotations

import hashlib
from typing import Literal, Self

import msgspec

from pith_builder.canonical import canonical_bytes
from pith_builder.signing import SIGNATURE_BYTES, Signer, decode_base64, encode_base64, signature_fits

PAYLOAD_TYPE = "application/vnd.pith.key-statement.v1+json"

Reason = Literal["superseded", "compromised", "lost"]

#: Reasons after which the old key's word is worth nothing: the recovery key signs in its place.
EMERGENCIES = ("compromised", "lost")


class RotationBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="pith-key-rotation/1"
):
    """The signed body of a rotation, a closed object.

    `effective_at` is `YYYY-MM-DDTHH:MM:SSZ`; `previous_sha256` is of the canonical body of the statement before this
    one in the ring, 64 hex digits, None for the first.
    """

    from_: str = msgspec.field(name="from")
    from_fingerprint: str
    to: str
    to_public_key_b64: str
    effective_at: str
    reason: str
    previous_sha256: str | None

    @property
    def is_emergency(self) -> bool:
        """Whether the recovery key signs in the place of the old one."""
        return self.reason in EMERGENCIES


class RevocationBody(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag="pith-key-revocation/1"
):
    """The signed body of a revocation, a closed object; `since` is `YYYY-MM-DDTHH:MM:SSZ`."""

    key_id: str
    since: str
    reason: Reason


Body = RotationBody | RevocationBody


class StatementSignature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One signature of a statement, and the id of the key that made it."""

    key_id: str
    signature_b64: str


class Statement(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A body and its signatures, a closed object."""

    body: Body
    signatures: list[StatementSignature]

    def signed_by(self, signer: Signer) -> Self:
        """The statement with one more signature. Raises what the signer raises."""
        signature = StatementSignature(signer.key_id, encode_base64(signer.sign(signed_bytes(self.body))))
        return msgspec.structs.replace(self, signatures=[*self.signatures, signature])

    def is_signed_by(self, key_id: str, public_key: bytes) -> bool:
        """Whether there is exactly one signature under this id, and it is this key's (32 bytes)."""
        made = [signature for signature in self.signatures if signature.key_id == key_id]
        raw = decode_base64(made[0].signature_b64, SIGNATURE_BYTES) if len(made) == 1 else None
        return raw is not None and signature_fits(public_key, signed_bytes(self.body), raw)


def canonical_body(body: Body) -> bytes:
    """The canonical JSON of a statement's body."""
    return canonical_bytes(msgspec.to_builtins(body))


def body_sha256(body: Body) -> str:
    """SHA-256 of the canonical body, 64 hex digits: what the next statement names as its previous one."""
    return hashlib.sha256(canonical_body(body)).hexdigest()


def signed_bytes(body: Body) -> bytes:
    """What a statement's signatures are over: the DSSE pre-authentication encoding of type and canonical body."""
    kind, payload = PAYLOAD_TYPE.encode(), canonical_body(body)
    return b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(payload), payload)
