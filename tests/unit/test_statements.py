"""Key statements: what exactly is signed, and what counts as a signature of it (DESIGN "Statement")."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec
import pytest
import rfc8785

from pith_builder.receipt import Receipt
from pith_builder.signers.ceremony import InvalidStatement, read_statement, write_statement
from pith_builder.signing import decode_base64, encode_base64, signature_fits
from pith_builder.statements import (
    Body,
    RevocationBody,
    RotationBody,
    Statement,
    StatementSignature,
    body_sha256,
    canonical_body,
    signed_bytes,
)
from pith_builder.testing import make_keyring, make_record, make_revocation, make_rotation, make_signer

OLD, NEW, OTHER = make_signer(1), make_signer(2), make_signer(3)
ROTATION = make_rotation(make_keyring(OLD), OLD, NEW)
REVOCATION = make_revocation("TEST-v1-2026-01", OTHER, reason="lost")
STATEMENTS = pytest.mark.parametrize("statement", [ROTATION, REVOCATION], ids=["rotation", "revocation"])


def value_of(statement: Statement) -> dict[str, Any]:
    """A statement as a JSON value, to be changed."""
    value: dict[str, Any] = json.loads(write_statement(statement))
    return value


# --- what is signed ---------------------------------------------------------------------------------------------


def test_the_body_of_a_rotation_has_the_fields_of_the_design() -> None:
    assert value_of(ROTATION)["body"] == {
        "type": "pith-key-rotation/1",
        "from": OLD.key_id,
        "from_fingerprint": hashlib.sha256(OLD.public_key).hexdigest()[:32],
        "to": NEW.key_id,
        "to_public_key_b64": encode_base64(NEW.public_key),
        "effective_at": "2026-01-02T03:04:05Z",
        "reason": "scheduled",
        "previous_sha256": None,
    }


def test_the_body_of_a_revocation_has_the_fields_of_the_design() -> None:
    assert value_of(REVOCATION)["body"] == {
        "type": "pith-key-revocation/1",
        "key_id": "TEST-v1-2026-01",
        "since": "2026-01-02T03:04:05Z",
        "reason": "lost",
    }


@STATEMENTS
def test_the_canonical_body_is_canonical_json(statement: Statement) -> None:
    assert canonical_body(statement.body) == rfc8785.dumps(value_of(statement)["body"])


@STATEMENTS
def test_the_signature_is_over_the_dsse_encoding_of_type_and_canonical_body(statement: Statement) -> None:
    body = rfc8785.dumps(value_of(statement)["body"])
    assert signed_bytes(statement.body) == (
        b"DSSEv1 42 application/vnd.pith.key-statement.v1+json " + str(len(body)).encode() + b" " + body
    )


@STATEMENTS
def test_the_next_statement_names_the_sha256_of_the_canonical_body(statement: Statement) -> None:
    assert body_sha256(statement.body) == hashlib.sha256(canonical_body(statement.body)).hexdigest()


def test_signatures_do_not_change_what_the_next_statement_names() -> None:
    assert body_sha256(ROTATION.signed_by(OTHER).body) == body_sha256(ROTATION.body)


# --- who signed it ----------------------------------------------------------------------------------------------


def test_a_statement_is_signed_by_each_of_its_signers_and_no_one_else() -> None:
    assert ROTATION.is_signed_by(OLD.key_id, OLD.public_key)
    assert ROTATION.is_signed_by(NEW.key_id, NEW.public_key)
    assert not ROTATION.is_signed_by(OTHER.key_id, OTHER.public_key)
    assert not ROTATION.is_signed_by(OLD.key_id, NEW.public_key)


@pytest.mark.parametrize("name", [name for name in RotationBody.__struct_fields__ if name != "previous_sha256"])
def test_a_signature_covers_every_field_of_a_rotation(name: str) -> None:
    body = msgspec.structs.replace(ROTATION.body, **{name: getattr(ROTATION.body, name) + "x"})
    assert not msgspec.structs.replace(ROTATION, body=body).is_signed_by(OLD.key_id, OLD.public_key)


def test_a_signature_covers_the_place_in_the_chain() -> None:
    body = msgspec.structs.replace(ROTATION.body, previous_sha256="0" * 64)
    assert not msgspec.structs.replace(ROTATION, body=body).is_signed_by(OLD.key_id, OLD.public_key)


@pytest.mark.parametrize("name", RevocationBody.__struct_fields__)
def test_a_signature_covers_every_field_of_a_revocation(name: str) -> None:
    body = msgspec.structs.replace(REVOCATION.body, **{name: getattr(REVOCATION.body, name) + "x"})
    assert not msgspec.structs.replace(REVOCATION, body=body).is_signed_by(OTHER.key_id, OTHER.public_key)


def test_two_signatures_under_one_id_count_for_nothing() -> None:
    assert not ROTATION.signed_by(OLD).is_signed_by(OLD.key_id, OLD.public_key)


@pytest.mark.parametrize("spoil", [lambda s: s.rstrip("="), lambda s: s + "\n", lambda s: "", lambda s: "!" + s[1:]])
def test_a_signature_spelt_otherwise_counts_for_nothing(spoil: Any) -> None:
    [signature] = REVOCATION.signatures
    spoilt = StatementSignature(signature.key_id, spoil(signature.signature_b64))
    assert not Statement(REVOCATION.body, [spoilt]).is_signed_by(OTHER.key_id, OTHER.public_key)


# --- statements and receipts ------------------------------------------------------------------------------------


def bodies() -> list[Body]:
    """The real ones, and the shortest that can be written."""
    return [
        ROTATION.body,
        REVOCATION.body,
        RotationBody("", "", "", "", "", "", None),
        RevocationBody("", "", "lost"),
    ]


@pytest.mark.parametrize("body", bodies())
def test_what_a_statement_signs_is_never_as_long_as_what_a_receipt_signs(body: Body) -> None:
    assert len(signed_bytes(body)) > 32


@STATEMENTS
def test_a_receipt_over_any_digest_of_a_statement_is_no_signature_of_it(statement: Statement) -> None:
    """Someone has us issue a record whose digest is a hash of the statement."""
    for hashed in (canonical_body(statement.body), signed_bytes(statement.body), write_statement(statement)):
        signature = StatementSignature(OLD.key_id, encode_base64(OLD.sign(hashlib.sha256(hashed).digest())))
        assert not Statement(statement.body, [signature]).is_signed_by(OLD.key_id, OLD.public_key)


@STATEMENTS
def test_a_receipts_signature_is_no_signature_of_a_statement(statement: Statement) -> None:
    signature = StatementSignature(OLD.key_id, make_record(signer=OLD).receipt.signature_b64)
    assert not Statement(statement.body, [signature]).is_signed_by(OLD.key_id, OLD.public_key)


@STATEMENTS
def test_a_statements_signature_is_no_receipts(statement: Statement) -> None:
    signed = statement.signed_by(OLD) if statement is REVOCATION else statement
    [signature] = [s.signature_b64 for s in signed.signatures if s.key_id == OLD.key_id]
    record = make_record(signer=OLD)
    receipt: Receipt = msgspec.structs.replace(record.receipt, signature_b64=signature)
    digests = [bytes.fromhex(record.canonical_sha256), hashlib.sha256(signed_bytes(statement.body)).digest()]
    assert not any(receipt.is_signed_by(OLD.public_key, digest) for digest in digests)


@pytest.mark.parametrize("kind", [b"application/json", b"application/vnd.in-toto+json", b""])
def test_a_signature_over_another_type_of_payload_is_none(kind: bytes) -> None:
    body = canonical_body(REVOCATION.body)
    message = b"DSSEv1 %d %b %d %b" % (len(kind), kind, len(body), body)
    signature = StatementSignature(OTHER.key_id, encode_base64(OTHER.sign(message)))
    assert not Statement(REVOCATION.body, [signature]).is_signed_by(OTHER.key_id, OTHER.public_key)


# --- files of statements ----------------------------------------------------------------------------------------


@STATEMENTS
def test_a_statement_is_read_as_it_was_written(statement: Statement) -> None:
    assert read_statement(write_statement(statement)) == statement


def test_a_signature_can_be_checked_with_nothing_but_the_file() -> None:
    value = value_of(ROTATION)
    body = rfc8785.dumps(value["body"])
    message = b"DSSEv1 42 application/vnd.pith.key-statement.v1+json %d %b" % (len(body), body)
    raw = decode_base64(value["signatures"][0]["signature_b64"], 64)
    assert raw is not None
    assert signature_fits(OLD.public_key, message, raw)


@pytest.mark.parametrize(
    ("path", "field"), [((), ""), (("body",), "body"), (("signatures", 0), "signatures[0]")], ids=["whole", "b", "s"]
)
@STATEMENTS
def test_an_unknown_field_is_refused(statement: Statement, path: tuple[Any, ...], field: str) -> None:
    value = part = value_of(statement)
    for step in path:
        part = part[step]
    part["note"] = 1
    with pytest.raises(InvalidStatement, match="note") as caught:
        read_statement(json.dumps(value).encode())
    assert caught.value.field == field


@pytest.mark.parametrize("name", ["type", "from", "from_fingerprint", "to", "to_public_key_b64", "previous_sha256"])
def test_a_missing_field_is_refused(name: str) -> None:
    value = value_of(ROTATION)
    del value["body"][name]
    with pytest.raises(InvalidStatement):
        read_statement(json.dumps(value).encode())


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("type", "pith-key-rotation/2"), ("reason", "bored"), ("since", 1), ("key_id", None), ("type", "receipt")],
)
def test_a_wrong_field_is_refused(name: str, wrong: Any) -> None:
    value = value_of(REVOCATION)
    value["body"][name] = wrong
    with pytest.raises(InvalidStatement):
        read_statement(json.dumps(value).encode())
