"""Ed25519 signers, fingerprints and base64 in one spelling (PROTOCOL §6)."""

from __future__ import annotations

import hashlib

import pytest

from pith_builder import SeedSigner, fingerprint
from pith_builder.signing import decode_base64, encode_base64, signature_fits
from pith_builder.testing import make_signer


def test_a_signature_fits_its_key_and_message_alone() -> None:
    signer, other = make_signer(1), make_signer(2)
    signature = signer.sign(b"message")
    assert len(signature) == 64
    assert signature_fits(signer.public_key, b"message", signature)
    assert not signature_fits(signer.public_key, b"another", signature)
    assert not signature_fits(other.public_key, b"message", signature)


@pytest.mark.parametrize("place", [0, 31, 32, 63])
def test_a_changed_signature_does_not_fit(place: int) -> None:
    signer = make_signer()
    signature = bytearray(signer.sign(b"message"))
    signature[place] ^= 1
    assert not signature_fits(signer.public_key, b"message", bytes(signature))


def test_a_signature_is_the_known_answer_of_rfc_8032() -> None:
    signer = SeedSigner("k", bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"))
    assert signer.public_key.hex() == "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    assert signer.sign(b"").hex() == (
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
        "d25bf5f0595bbe24655141438e7a100b"
    )


@pytest.mark.parametrize("length", [0, 31, 33, 64])
def test_a_seed_has_32_bytes(length: int) -> None:
    with pytest.raises(ValueError, match="32 bytes"):
        SeedSigner("k", bytes(length))


def test_the_seed_does_not_show() -> None:
    seed = hashlib.sha256(b"pith-build TEST key 1").digest()
    shown = repr(make_signer()) + str(make_signer())
    assert repr(seed) not in shown
    assert seed.hex() not in shown


def test_a_fingerprint_is_16_bytes_of_the_sha256_of_the_raw_key() -> None:
    public_key = make_signer().public_key
    assert fingerprint(public_key) == hashlib.sha256(public_key).hexdigest()[:32]


def test_base64_is_read_as_it_is_written() -> None:
    assert decode_base64(encode_base64(bytes(range(32))), 32) == bytes(range(32))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8",  # no padding
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh9=",  # bits beyond the end
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8==",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=\n",
        " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAR EhMUFRYXGBkaGxwdHh8=",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwd-_8=",  # the URL alphabet
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8é",
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg==",  # 31 bytes
        "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g",  # 33 bytes
    ],
    ids=ascii,
)
def test_base64_has_one_spelling(text: str) -> None:
    assert decode_base64(text, 32) is None
