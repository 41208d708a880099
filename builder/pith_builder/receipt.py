"""The receipt: a signature over the digest, and the times around it (PROTOCOL §6)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

from pith_builder import times
from pith_builder.signing import (
    SIGNATURE_BYTES,
    Signer,
    decode_base64,
    encode_base64,
    fingerprint,
    signature_fits,
)


class Receipt(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A receipt, a closed object; fields in JSONB order.

    The signature covers the 32 bytes of the digest and nothing else: not the key id, not the times, not the
    builder version.
    """

    kind: Literal["pith_receipt"]
    key_id: str
    algorithm: Literal["ed25519"]
    signed_at: str
    signature_b64: str
    signed_message: Literal["canonical_sha256_bytes"]
    builder_version: str
    receipt_version: Literal["0.3"]
    canonical_sha256: str
    last_reissued_at: str
    signature_status: Literal["signed_v1"]
    first_computed_at: str
    public_key_fingerprint: str

    def signature(self) -> bytes | None:
        """The signature, 64 bytes; None if it isn't the canonical base64 of that."""
        return decode_base64(self.signature_b64, SIGNATURE_BYTES)

    def is_signed_by(self, public_key: bytes, digest: bytes) -> bool:
        """Whether the signature is this key's (32 bytes) over this digest (32 bytes)."""
        signature = self.signature()
        return signature is not None and signature_fits(public_key, digest, signature)


def sign_receipt(
    digest: bytes,
    signer: Signer,
    *,
    first_computed_at: str,
    last_reissued_at: str,
    signed_at: datetime,
    builder_version: str,
) -> Receipt:
    """A receipt over `digest` (32 bytes). The two times given as text are in receipt form (PROTOCOL §4)."""
    return Receipt(
        kind="pith_receipt",
        key_id=signer.key_id,
        algorithm="ed25519",
        signed_at=times.receipt_time(signed_at),
        signature_b64=encode_base64(signer.sign(digest)),
        signed_message="canonical_sha256_bytes",
        builder_version=builder_version,
        receipt_version="0.3",
        canonical_sha256=digest.hex(),
        last_reissued_at=last_reissued_at,
        signature_status="signed_v1",
        first_computed_at=first_computed_at,
        public_key_fingerprint=fingerprint(signer.public_key),
    )
