"""Tests of receipts and key rings (PROTOCOL §6, §9); those of rotation are in `chains.py` and `chain_edges.py`."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from pith_builder.keyring import KeyRing, RingKey
from pith_builder.signing import SIGNATURE_BYTES, SeedSigner, encode_base64
from pith_builder.testing import (
    make_keyring,
    make_record,
    make_revocation,
    make_rotation,
    make_seed,
    make_signer,
)
from pith_builder.testing.vectors.chain_edges import rotation
from pith_builder.testing.vectors.curve import ORDER_2, Forger, L, P, decode
from pith_builder.testing.vectors.model import Case, invalid, undecided, valid
from pith_builder.testing.vectors.real import Real

__all__ = ["keyring", "receipt", "rotation"]

K1, K2, RECOVERY = make_signer(1), make_signer(2), make_signer(90)

#: The eight points of small order, as they are encoded.
SMALL_ORDER = (
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
)


# --- receipts ----------------------------------------------------------------------------------------------------


def receipt(real: Real) -> Iterator[Case]:
    registry_key = real.value("registry-key.json")["public_key_b64"]
    seeds = [real.value(f"seeds/{name}.record.json")["receipt"] for name in ("2403.07648v2", "2407.14645v1")]
    for published in seeds:
        yield valid("a published receipt", "Proven", "Real", **_of(published, public_key_b64=registry_key))
    for made in real.value("receipts.json")["receipts"]:
        changes = {name: made[name] for name in ("canonical_sha256", "signature_b64")}
        given = _of(seeds[0] | changes, public_key_b64=registry_key)
        yield valid("a published signature, in the receipt of another record", "Proven", "Real", **given)
    ours = msgspec.to_builtins(make_record().receipt)
    yield valid("a receipt of the first TEST key", "Ours", **_of(ours))
    yield valid("keys in any order", **_of(dict(reversed(ours.items()))))
    yield valid("whitespace between", **_of(ours) | {"receipt": json.dumps(ours, indent=2)})
    for comment, changes in _UNSIGNED:
        yield valid(comment, "Unsigned", **_of(ours | changes))
    for comment, changes in _BROKEN:
        yield invalid(comment, **_of(ours | changes))
    for name in ours:
        yield invalid(f"without {name}", "Closed", **_of({k: v for k, v in ours.items() if k != name}))
    yield invalid("an unknown field", "Closed", **_of(ours | {"note": ""}))
    yield from _other_signatures(ours)
    yield from _other_keys(ours)
    text = json.dumps(ours)
    yield invalid("a key twice", "DuplicateKey", **_of(ours) | {"receipt": text[:-1] + ', "kind": "pith_receipt"}'})
    yield invalid("trailing data", **_of(ours) | {"receipt": text + "{}"})
    yield invalid("not an object", **_of(ours) | {"receipt": f"[{text}]"})
    yield from _forged(ours)
    capitals = ours["public_key_fingerprint"].upper()
    yield invalid("the fingerprint in capitals", **_of(ours | {"public_key_fingerprint": capitals}))
    of_a_doubtful_key = _with_key(ours, _plus_torsion(K1))
    yield undecided("a key with a part of small order", "Key", **of_a_doubtful_key)


def _forged(ours: dict[str, Any]) -> Iterator[Case]:
    """Signatures of the first TEST key with an R of their own; S is r + k a in each."""

    def forged(**how: Any) -> dict[str, Any]:
        signature = Forger(K1.key_id, make_seed(1), **how).sign(bytes.fromhex(ours["canonical_sha256"]))
        return _of(ours | {"signature_b64": encode_base64(signature)})

    yield valid("a signature that was made by hand", "Edge", **forged(r=12345))
    for point in SMALL_ORDER:
        comment = f"R is of small order ({point[:4]}\u2026), and S fits"
        yield invalid(comment, "SmallOrder", **forged(torsion=decode(bytes.fromhex(point))))
    another = forged(spelling=(P + 1).to_bytes(32, "little"))
    yield invalid("R is the neutral element in another spelling, and S fits", "SmallOrder", **another)
    signed = forged(spelling=b"\1" + bytes(30) + b"\x80")
    yield invalid("R is the neutral element with a sign, and S fits", "SmallOrder", **signed)
    for order, torsion in ((2, ORDER_2), (4, decode(bytes(32))), (8, decode(bytes.fromhex(SMALL_ORDER[4])))):
        comment = f"R has a part of order {order}: only the equation with the cofactor fits"
        yield invalid(comment, "Signature", **forged(r=12345, torsion=torsion))


def _of(receipt: dict[str, Any], **changes: str) -> dict[str, Any]:
    given = {
        "receipt": json.dumps(receipt, separators=(",", ":")),
        "canonical_sha256": receipt.get("canonical_sha256", make_record().canonical_sha256),
        "public_key_b64": encode_base64(K1.public_key),
        "key_id": receipt.get("key_id", K1.key_id),
    }
    return given | changes


_UNSIGNED: tuple[tuple[str, dict[str, Any]], ...] = (
    ("the signature does not cover the builder version", {"builder_version": "another"}),
    ("the signature does not cover the times", {"signed_at": "2030-01-01T00:00:00.000000Z"}),
    ("the signature does not cover the key id, if the key is known under it", {"key_id": "another"}),
)

_BROKEN: tuple[tuple[str, dict[str, Any]], ...] = (
    ("another kind", {"kind": "receipt"}),
    ("another algorithm", {"algorithm": "Ed25519"}),
    ("another signed message", {"signed_message": "canonical_sha256_hex"}),
    ("another receipt version", {"receipt_version": "0.4"}),
    ("another signature status", {"signature_status": "unsigned"}),
    ("null for a text", {"builder_version": None}),
    ("a number for a text", {"key_id": 1}),
    ("a key id right, the fingerprint wrong", {"public_key_fingerprint": "0" * 32}),
    ("a fingerprint in capitals", {"public_key_fingerprint": "B" * 32}),
    ("signed_at with three digits", {"signed_at": "2026-01-02T03:04:05.678Z"}),
    ("signed_at in whole seconds", {"signed_at": "2026-01-02T03:04:06Z"}),
    ("signed_at with +00:00, the form of a record", {"signed_at": "2026-01-02T03:04:05.678901+00:00"}),
    ("signed_at on a day that isn't", {"signed_at": "2026-02-29T03:04:05.678901Z"}),
    ("signed_at at 24 o'clock", {"signed_at": "2026-02-01T24:00:00.000000Z"}),
    ("signed_at with a leap second", {"signed_at": "2026-12-31T23:59:60.000000Z"}),
    ("signed_at with a small z", {"signed_at": "2026-01-02T03:04:05.678901z"}),
    ("signed before it was reissued", {"signed_at": "2026-01-02T03:04:05.678900Z"}),
    ("reissued before it was computed", {"first_computed_at": "2026-01-02T03:04:05.678902Z"}),
)


def _other_signatures(ours: dict[str, Any]) -> Iterator[Case]:
    text = ours["signature_b64"]
    raw = base64.b64decode(text)
    digest = bytes.fromhex(ours["canonical_sha256"])
    stranger = make_signer(66)
    for comment, signature in (
        ("another key's signature", stranger.sign(digest)),
        ("a signature over the hex form of the digest", K1.sign(digest.hex().encode())),
        ("a signature over the SHA-256 of the digest", K1.sign(b"\0" * 32)),
        ("one bit of R is wrong", bytes([raw[0] ^ 1]) + raw[1:]),
        ("one bit of S is wrong", raw[:32] + bytes([raw[32] ^ 1]) + raw[33:]),
        ("S is not reduced: S + L", raw[:32] + (int.from_bytes(raw[32:], "little") + L).to_bytes(32, "little")),
        ("S is zero and R the neutral element", b"\1" + bytes(63)),
        ("all bytes zero", bytes(SIGNATURE_BYTES)),
        ("63 bytes", raw[:63]),
        ("65 bytes", raw + b"\0"),
        ("no bytes", b""),
    ):
        yield invalid(comment, "Signature", **_of(ours | {"signature_b64": encode_base64(signature)}))
    spare = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    near = spare[spare.index(text[85]) + 1]
    for comment, spelling in (
        ("base64 without padding", text.rstrip("=")),
        ("base64 whose spare bits are not zero", text[:85] + near + "=="),
        ("base64 with a newline", text[:76] + "\n" + text[76:]),
        ("base64 with blanks around it", f" {text} "),
        ("base64 of the alphabet for URLs", text.replace("+", "-").replace("/", "_")),
        ("base64 with padding in excess", text + "="),
        ("hex in place of base64", raw.hex()),
    ):
        if spelling != text:
            yield invalid(comment, "Base64", **_of(ours | {"signature_b64": spelling}))
    other = make_signer(2).sign(digest)
    yield invalid("a signature of another TEST key", "Signature", **_of(ours | {"signature_b64": encode_base64(other)}))


def _other_keys(ours: dict[str, Any]) -> Iterator[Case]:
    yield invalid("another digest", **_of(ours, canonical_sha256="0" * 64))
    both = _of(ours | {"canonical_sha256": "0" * 64}, canonical_sha256="0" * 64)
    yield invalid("another digest in both places", "Signature", **both)
    yield invalid("the digest in capitals", **_of(ours, canonical_sha256=ours["canonical_sha256"].upper()))
    yield invalid("another key under the right id", **_of(ours, public_key_b64=encode_base64(K2.public_key)))
    yield invalid("the right key under another id", **_of(ours, key_id=K2.key_id))
    yield invalid("a key that isn't base64", "Base64", **_of(ours, public_key_b64="?"))
    yield invalid("a key of 31 bytes", "Base64", **_of(ours, public_key_b64=encode_base64(K1.public_key[:31])))
    yield invalid("a key of small order", "Key", **_with_key(ours, bytes.fromhex(SMALL_ORDER[0])))
    neutral = _with_key(ours | {"signature_b64": encode_base64(b"\1" + bytes(63))}, bytes.fromhex(SMALL_ORDER[0]))
    yield invalid("a key of small order, under which one signature fits all", "Key", **neutral)


def _with_key(ours: dict[str, Any], public_key: bytes) -> dict[str, Any]:
    entry = RingKey.of(K1.key_id, public_key, "active", "receipts")
    return _of(ours | {"public_key_fingerprint": entry.fingerprint}, public_key_b64=entry.public_key_b64)


# --- key rings ---------------------------------------------------------------------------------------------------


def keyring(real: Real) -> Iterator[Case]:
    registry = KeyRing.registry().to_json().decode()
    yield valid("the registry's key, for verifying", "Seen", "Real", keyring=registry)
    ring = msgspec.to_builtins(make_keyring(K1, K2, recovery=RECOVERY))
    yield valid("active, next and a recovery key", keyring=_text(ring))
    yield valid("keys in any order, whitespace between", keyring=json.dumps(_turned(ring), indent=1))
    yield valid("no key at all", keyring=_text(ring | {"keys": []}))
    yield valid("further fields are kept in a ring", "Open", keyring=_text(ring | {"note": {"a": 1}}))
    yield valid("further fields are kept in a key", "Open", keyring=_text(_key(ring, 0, note=1)))
    for comment, changes in _GOOD_KEYS:
        yield valid(comment, keyring=_text(_key(ring, 0, **changes)))
    moved = make_keyring(K1)
    statement = msgspec.to_builtins(make_rotation(moved, K1, K2))
    yield valid(
        "a ring with a statement, which reading does not judge", keyring=_text(ring | {"statements": [statement]})
    )
    unsigned = statement | {"signatures": []}
    yield valid("a statement without signatures can be read", keyring=_text(ring | {"statements": [unsigned]}))
    revocation = msgspec.to_builtins(make_revocation(K1.key_id, K2))
    yield valid("a ring with a revocation", keyring=_text(ring | {"statements": [statement, revocation]}))
    for comment, changes in _BAD_KEYS:
        yield invalid(comment, keyring=_text(_key(ring, 0, **changes)))
    for name in ring["keys"][0]:
        without = {k: v for k, v in ring["keys"][0].items() if k != name}
        whole = _text(ring | {"keys": [without, *ring["keys"][1:]]})
        if name in ("not_before", "not_after", "revoked"):
            yield valid(f"a key without {name} has null there", keyring=whole)
        else:
            yield invalid(f"a key without {name}", keyring=whole)
    for comment, public_key in _BAD_POINTS:
        yield invalid(comment, "Key", keyring=_text(_with_point(ring, public_key)))
    yield undecided(
        "a public key with a part of small order", "Key", keyring=_text(_with_point(ring, _plus_torsion(K1)))
    )
    for comment, public_key in _OTHER_SPELLINGS:
        yield invalid(comment, "Key", keyring=_text(_with_point(ring, public_key)))
    yield from _bad_rings(ring, statement)
    yield from _edges(ring, statement)


def _edges(ring: dict[str, Any], statement: dict[str, Any]) -> Iterator[Case]:
    body = statement["body"]
    for comment, changes in (
        ("the year 1", {"not_before": "0001-01-01T00:00:00Z"}),
        ("the year 9999", {"not_after": "9999-12-31T23:59:59Z"}),
        ("a mark of revocation is open", {"state": "revoked", "revoked": _REVOKED | {"note": 1}}),
        ("a key id of digits", {"key_id": "0"}),
    ):
        yield valid(comment, "Edge", keyring=_text(_key(ring, 0, **changes)))
    two = _key(_key(ring, 0, use="verify"), 1, use="verify", state="active")
    yield valid("two active keys of use verify", "Edge", keyring=_text(two))
    for comment, changed in (
        ("previous_sha256 can be read, whatever text it is", {"previous_sha256": "soon"}),
        ("effective_at can be read, whatever text it is", {"effective_at": "soon"}),
        ("a public key in a statement can be read, whatever text it is", {"to_public_key_b64": "?"}),
        ("empty ids in a statement can be read", {"from": "", "to": ""}),
    ):
        read = _text(ring | {"statements": [statement | {"body": body | changed}]})
        yield valid(comment, "Edge", keyring=read)
    revocation: dict[str, Any] = {"type": "pith-key-revocation/1", "key_id": "", "since": "", "reason": "lost"}
    empty: dict[str, Any] = {"body": revocation, "signatures": []}
    yield valid("1,000 statements", "Edge", keyring=_text(ring | {"statements": [empty] * 1000}))
    yield invalid("1,001 statements", "Edge", keyring=_text(ring | {"statements": [empty] * 1001}))
    refused: tuple[tuple[str, dict[str, Any]], ...] = (
        ("the year 0", {"not_before": "0000-01-01T00:00:00Z"}),
        ("the key's fingerprint in capitals", {"fingerprint": ring["keys"][0]["fingerprint"].upper()}),
        ("a mark of revocation that is true", {"state": "revoked", "revoked": True}),
    )
    for comment, changes in refused:
        yield invalid(comment, "Edge", keyring=_text(_key(ring, 0, **changes)))
    refused = (
        ("a revocation for another reason", empty | {"body": revocation | {"reason": "stolen"}}),
        ("a revocation with previous_sha256", empty | {"body": revocation | {"previous_sha256": None}}),
        ("a statement without signatures, not even none", {"body": body}),
        ("a signature that is null", statement | {"signatures": [None]}),
    )
    for comment, changed in refused:
        yield invalid(comment, "Edge", "Closed", keyring=_text(ring | {"statements": [changed]}))


def _with_point(ring: dict[str, Any], public_key: bytes) -> dict[str, Any]:
    entry = RingKey.of("TEST-point", public_key, "retired", "receipts")
    return _key(ring, 0, **msgspec.to_builtins(entry))


def _text(ring: dict[str, Any]) -> str:
    return json.dumps(ring, separators=(",", ":"))


def _turned(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _turned(value[key]) for key in reversed(value)}
    return [_turned(item) for item in value] if isinstance(value, list) else value


def _key(ring: dict[str, Any], index: int, **changes: Any) -> dict[str, Any]:
    keys = list(ring["keys"])
    keys[index] = keys[index] | changes
    return ring | {"keys": keys}


_REVOKED = {"since": "2026-01-01T00:00:00Z", "reason": "lost"}

_GOOD_KEYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("a retired key with its end", {"state": "retired", "not_after": "2026-02-01T00:00:00Z"}),
    ("a ring without an active key", {"state": "retired"}),
    ("a revoked key", {"state": "revoked", "revoked": _REVOKED}),
    ("a revoked key, compromised", {"state": "revoked", "revoked": _REVOKED | {"reason": "compromised"}}),
    ("an active key of use verify is not the ring's active key", {"use": "verify"}),
    ("an active recovery key is not the ring's active key", {"use": "recovery"}),
    ("not_after before not_before can be read", {"not_after": "2000-01-01T00:00:00Z"}),
    ("a key id of 128 characters", {"key_id": "k" * 128}),
    ("a key id of one character", {"key_id": "k"}),
    ("a key id with every kind of mark", {"key_id": "a.b~!@#$%^&*()_+=-[]{}|;:'\"<>,?`"}),
)

_BAD_KEYS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("an empty key id", {"key_id": ""}),
    ("a key id of 129 characters", {"key_id": "k" * 129}),
    ("a key id with a blank", {"key_id": "a b"}),
    ("a key id with a slash", {"key_id": "a/b"}),
    ("a key id that begins with a full stop", {"key_id": ".a"}),
    ("a key id beyond ASCII", {"key_id": "cl\u00e9"}),
    ("a key id with a newline at the end", {"key_id": "a\n"}),
    ("another algorithm", {"algorithm": "ed448"}),
    ("another state", {"state": "expired"}),
    ("another use", {"use": "signing"}),
    ("a fingerprint that is not the key's", {"fingerprint": "0" * 32}),
    ("a fingerprint in capitals", {"fingerprint": "ABCDEF" + "0" * 26}),
    ("a public key without padding", {"public_key_b64": encode_base64(K1.public_key).rstrip("=")}),
    ("a public key of another key", {"public_key_b64": encode_base64(make_signer(5).public_key)}),
    ("a time with a fraction", {"not_before": "2026-01-01T00:00:00.000000Z"}),
    ("a time with +00:00", {"not_before": "2026-01-01T00:00:00+00:00"}),
    ("a time on a day that isn't", {"not_after": "2026-02-30T00:00:00Z"}),
    ("a time that is no text", {"not_after": 0}),
    ("revoked without saying since when", {"state": "revoked"}),
    ("a mark of revocation on an active key", {"revoked": _REVOKED}),
    ("revoked for another reason", {"state": "revoked", "revoked": _REVOKED | {"reason": "stolen"}}),
    ("revoked since no time", {"state": "revoked", "revoked": _REVOKED | {"since": "yesterday"}}),
    ("revoked without a reason", {"state": "revoked", "revoked": {"since": "2026-01-01T00:00:00Z"}}),
)


def _bad_rings(ring: dict[str, Any], statement: dict[str, Any]) -> Iterator[Case]:
    yield invalid("two active keys", keyring=_text(_key(ring, 1, state="active")))
    yield invalid("an id twice", keyring=_text(_key(ring, 1, key_id=K1.key_id)))
    yield invalid("a key twice", keyring=_text(ring | {"keys": [ring["keys"][0], ring["keys"][0] | {"key_id": "x"}]}))
    yield invalid("another version", keyring=_text(ring | {"keyring_version": "1.1"}))
    for name in ring:
        yield invalid(f"without {name}", keyring=_text({k: v for k, v in ring.items() if k != name}))
    body = statement["body"]
    for comment, changed in (
        ("an unknown field in a statement", statement | {"note": 1}),
        ("an unknown field in a body", statement | {"body": body | {"note": 1}}),
        ("an unknown field in a signature", statement | {"signatures": [statement["signatures"][0] | {"note": 1}]}),
        ("a body of an unknown type", statement | {"body": body | {"type": "pith-key-rotation/2"}}),
        ("a body without its type", statement | {"body": {k: v for k, v in body.items() if k != "type"}}),
        (
            "a body without previous_sha256",
            statement | {"body": {k: v for k, v in body.items() if k != "previous_sha256"}},
        ),
        ("a body whose reason is no text", statement | {"body": body | {"reason": None}}),
    ):
        yield invalid(comment, "Closed", keyring=_text(ring | {"statements": [changed]}))
    text = _text(ring)
    yield invalid("a key of an object twice", "DuplicateKey", keyring=text[:-1] + ',"keys":[]}')
    yield invalid("trailing data", keyring=text + " 1")
    yield invalid("not an object", keyring=f"[{text}]")
    yield invalid("no JSON", keyring="keyring")


# --- points of the curve -----------------------------------------------------------------------------------------


def _plus_torsion(signer: SeedSigner) -> bytes:
    """The signer's public key with the point of order 2 added: (-x, -y)."""
    raw = int.from_bytes(signer.public_key, "little")
    y, sign = raw & ((1 << 255) - 1), raw >> 255
    return ((P - y) | ((1 - sign) << 255)).to_bytes(32, "little")


_BAD_POINTS = (
    *((f"a public key of small order ({point[:4]}…)", bytes.fromhex(point)) for point in SMALL_ORDER),
    ("a public key that is no point of the curve", b"\2" + bytes(31)),
)

_OTHER_SPELLINGS = (
    ("the neutral element in another spelling, y = p + 1", (P + 1).to_bytes(32, "little")),
    ("zero in another spelling, y = p", P.to_bytes(32, "little")),
)
