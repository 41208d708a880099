"""The receipt and what its signature covers (PROTOCOL §6)."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from pith_builder import Receipt, fingerprint
from pith_builder.receipt import sign_receipt
from pith_builder.signing import encode_base64
from pith_builder.testing import START, make_signer

DIGEST = bytes(range(32))


@pytest.fixture
def receipt() -> Receipt:
    return sign_receipt(
        DIGEST,
        make_signer(),
        first_computed_at="2026-01-02T03:04:05.000000Z",
        last_reissued_at="2026-01-02T03:04:05.000001Z",
        signed_at=START,
        builder_version="builder",
    )


def test_a_receipt_holds_what_the_protocol_names(receipt: Receipt) -> None:
    signer = make_signer()
    assert msgspec.to_builtins(receipt) == {
        "kind": "pith_receipt",
        "key_id": signer.key_id,
        "algorithm": "ed25519",
        "signed_at": "2026-01-02T03:04:05.678901Z",
        "signature_b64": encode_base64(signer.sign(DIGEST)),
        "signed_message": "canonical_sha256_bytes",
        "builder_version": "builder",
        "receipt_version": "0.3",
        "canonical_sha256": DIGEST.hex(),
        "last_reissued_at": "2026-01-02T03:04:05.000001Z",
        "signature_status": "signed_v1",
        "first_computed_at": "2026-01-02T03:04:05.000000Z",
        "public_key_fingerprint": fingerprint(signer.public_key),
    }


def test_the_fields_of_a_receipt_stand_in_jsonb_order() -> None:
    fields = Receipt.__struct_fields__
    assert list(fields) == sorted(fields, key=lambda name: (len(name), name))


def test_a_receipt_is_signed_over_the_digest_by_its_key(receipt: Receipt) -> None:
    assert receipt.is_signed_by(make_signer().public_key, DIGEST)


def test_a_receipt_is_signed_by_no_other_key(receipt: Receipt) -> None:
    assert not receipt.is_signed_by(make_signer(2).public_key, DIGEST)


@pytest.mark.parametrize("message", [DIGEST[::-1], DIGEST.hex().encode(), b"", DIGEST + b"\0"])
def test_a_receipt_is_signed_over_nothing_else(receipt: Receipt, message: bytes) -> None:
    assert not receipt.is_signed_by(make_signer().public_key, message)


def test_the_signature_does_not_cover_key_id_times_and_builder(receipt: Receipt) -> None:
    other = msgspec.structs.replace(
        receipt, key_id="another", signed_at="never", first_computed_at="never", builder_version="another"
    )
    assert other.is_signed_by(make_signer().public_key, DIGEST)


@pytest.mark.parametrize("change", ["no padding", "short", "blank", "empty"])
def test_a_signature_in_another_spelling_is_none(receipt: Receipt, change: str) -> None:
    text = receipt.signature_b64
    spelled = {"no padding": text.rstrip("="), "short": encode_base64(bytes(63)), "blank": text + " ", "empty": ""}
    other = msgspec.structs.replace(receipt, signature_b64=spelled[change])
    assert other.signature() is None
    assert not other.is_signed_by(make_signer().public_key, DIGEST)


def test_a_receipt_time_is_in_utc() -> None:
    receipt = sign_receipt(
        DIGEST,
        make_signer(),
        first_computed_at="",
        last_reissued_at="",
        signed_at=START + timedelta(microseconds=-678901),
        builder_version="",
    )
    assert receipt.signed_at == "2026-01-02T03:04:05.000000Z"
