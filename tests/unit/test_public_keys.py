"""Public keys as others write them, and others' own programs reading ours."""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder.keyring import RingKey
from pith_builder.public_keys import InvalidPublicKey, published, read, to_pem, to_ssh
from pith_builder.signing import encode_base64
from pith_builder.testing import make_record, make_signer

SIGNER = make_signer()
KEY = RingKey.of(SIGNER.key_id, SIGNER.public_key, "active", "receipts")
SPKI = bytes.fromhex("302a300506032b6570032100")

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL's command line is not installed")
needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")


def pem(der: bytes, label: str = "PUBLIC KEY") -> str:
    return f"-----BEGIN {label}-----\n{base64.b64encode(der).decode()}\n-----END {label}-----\n"


def ssh(*strings: bytes, kind: str = "ssh-ed25519") -> str:
    return f"{kind} {base64.b64encode(b''.join(struct.pack('>I', len(s)) + s for s in strings)).decode()} comment"


# --- there and back ---------------------------------------------------------------------------------------------


def test_json_as_the_registry_publishes_its_key_comes_back_with_its_id() -> None:
    assert read(json.dumps(published(KEY)).encode()) == (SIGNER.public_key, SIGNER.key_id)


def test_entry_of_a_ring_comes_back_with_its_id() -> None:
    assert read(msgspec.json.encode(KEY)) == (SIGNER.public_key, SIGNER.key_id)


def test_pem_comes_back_without_an_id() -> None:
    assert read(to_pem(SIGNER.public_key).encode()) == (SIGNER.public_key, None)


def test_ssh_line_comes_back_with_its_comment_as_id() -> None:
    assert read(to_ssh(SIGNER.public_key, SIGNER.key_id).encode()) == (SIGNER.public_key, SIGNER.key_id)


def test_ssh_line_without_a_comment_has_no_id() -> None:
    assert read(to_ssh(SIGNER.public_key, "").encode()) == (SIGNER.public_key, None)


@pytest.mark.parametrize("around", [("", "\n"), ("\n\n", ""), ("", "\r\n"), (" ", " ")])
@pytest.mark.parametrize("form", ["pem", "ssh", "json"])
def test_white_space_around_a_key_does_not_count(form: str, around: tuple[str, str]) -> None:
    text = {
        "pem": to_pem(SIGNER.public_key),
        "ssh": to_ssh(SIGNER.public_key, "me"),
        "json": json.dumps(published(KEY)),
    }[form]
    assert read((around[0] + text.strip() + around[1]).encode())[0] == SIGNER.public_key


@pytest.mark.parametrize("label", ["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_private_key_is_told_as_one_without_showing_it(label: str) -> None:
    secret = bytes(range(48))
    with pytest.raises(InvalidPublicKey, match="private key") as caught:
        read(pem(secret, label).encode())
    assert "public half" in caught.value.message
    assert base64.b64encode(secret).decode() not in str(caught.value) + caught.value.hint


def test_pem_may_have_the_line_ends_of_windows() -> None:
    assert read(to_pem(SIGNER.public_key).replace("\n", "\r\n").encode())[0] == SIGNER.public_key


def test_json_needs_no_more_than_the_key() -> None:
    assert read(json.dumps({"public_key_b64": KEY.public_key_b64}).encode()) == (SIGNER.public_key, None)


def test_the_registrys_own_publication_is_read(registry: Path) -> None:
    value = json.loads((registry / "registry-key.json").read_bytes())
    assert read((registry / "registry-key.json").read_bytes()) == (
        bytes.fromhex(value["public_key_hex"]),
        value["key_id"],
    )


def test_end_of_a_key_is_when_it_rotates() -> None:
    ending = msgspec.structs.replace(KEY, not_after="2027-01-01T00:00:00Z")
    assert (published(KEY)["rotates_at"], published(ending)["rotates_at"]) == (None, "2027-01-01T00:00:00Z")


NO_KEYS = {
    "nothing": "",
    "no key": "hello",
    "list": "[]",
    "no public key": "{}",
    "public key is no text": '{"public_key_b64":1}',
    "not padded": json.dumps({"public_key_b64": KEY.public_key_b64.rstrip("=")}),
    "31 bytes": json.dumps({"public_key_b64": encode_base64(bytes(31))}),
    "fingerprint of another": json.dumps({**published(KEY), "fingerprint_sha256_hex": "0" * 32}),
    "ring fingerprint of another": json.dumps({"public_key_b64": KEY.public_key_b64, "fingerprint": "0" * 32}),
    "fingerprint is null": json.dumps({"public_key_b64": KEY.public_key_b64, "fingerprint": None}),
    "other algorithm": json.dumps({**published(KEY), "algorithm": "rsa"}),
    "key twice": '{"public_key_b64":"x","public_key_b64":"y"}',
    "PEM of X25519": pem(bytes.fromhex("302a300506032b656e032100") + SIGNER.public_key),
    "PEM cut": pem(SPKI + SIGNER.public_key[:-1]),
    "PEM too long": pem(SPKI + SIGNER.public_key + b"\0"),
    "PEM of a private key": pem(SPKI + SIGNER.public_key, "PRIVATE KEY"),
    "PEM of nothing": "-----BEGIN PUBLIC KEY-----\n\n-----END PUBLIC KEY-----\n",
    "PEM without end": to_pem(SIGNER.public_key)[:70],
    "two PEMs": to_pem(SIGNER.public_key) * 2,
    "ssh-rsa": ssh(b"ssh-rsa", b"\1\0\1", b"\0" * 256, kind="ssh-rsa"),
    "ssh-rsa inside": ssh(b"ssh-rsa", SIGNER.public_key),
    "ssh cut": ssh(b"ssh-ed25519", SIGNER.public_key[:-1]),
    "ssh too long": ssh(b"ssh-ed25519", SIGNER.public_key, b""),
    "ssh not padded": "ssh-ed25519 AAAAC",
    "two ssh lines": f"{to_ssh(SIGNER.public_key, 'a')}\n{to_ssh(SIGNER.public_key, 'b')}\n",
}


@pytest.mark.parametrize("name", NO_KEYS)
def test_what_is_no_ed25519_key_is_refused(name: str) -> None:
    with pytest.raises(InvalidPublicKey):
        read(NO_KEYS[name].encode())


@pytest.mark.parametrize("data", [b"\xff", b"\xef\xbb\xbf", b"\0" * 100, b"[" * 100_000])
def test_bytes_that_are_no_text_are_refused(data: bytes) -> None:
    with pytest.raises(InvalidPublicKey):
        read(data)


@pytest.mark.parametrize("key_id", [None, 7, ["a"]])
def test_id_that_is_no_text_counts_as_none(key_id: Any) -> None:
    assert read(json.dumps({"public_key_b64": KEY.public_key_b64, "key_id": key_id}).encode())[1] is None


# --- others' programs -------------------------------------------------------------------------------------------


def output_of(*command: str | Path) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True).stdout


@needs_openssl
def test_openssl_reads_our_pem(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(to_pem(SIGNER.public_key))
    shown = output_of("openssl", "pkey", "-pubin", "-in", tmp_path / "key.pem", "-noout", "-text")
    assert "ED25519 Public-Key" in shown
    assert SIGNER.public_key.hex(":") in "".join(shown.split())


@needs_openssl
def test_openssl_writes_the_same_pem(tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text(to_pem(SIGNER.public_key))
    assert output_of("openssl", "pkey", "-pubin", "-in", tmp_path / "key.pem") == to_pem(SIGNER.public_key)


@needs_openssl
def test_key_that_openssl_made_is_read(tmp_path: Path) -> None:
    output_of("openssl", "genpkey", "-algorithm", "ed25519", "-out", tmp_path / "private.pem")
    public = output_of("openssl", "pkey", "-in", tmp_path / "private.pem", "-pubout")
    assert to_pem(read(public.encode())[0]) == public


@needs_openssl
@pytest.mark.parametrize("changed", [False, True])
def test_openssl_verifies_a_receipts_signature_over_the_32_bytes_of_the_digest(tmp_path: Path, changed: bool) -> None:
    record = make_record(signer=SIGNER)
    signature = record.receipt.signature()
    assert signature is not None
    digest = bytearray.fromhex(record.canonical_sha256)
    digest[0] ^= changed
    (tmp_path / "key.pem").write_text(to_pem(SIGNER.public_key))
    (tmp_path / "signature").write_bytes(signature)
    (tmp_path / "digest").write_bytes(digest)
    command = ["openssl", "pkeyutl", "-verify", "-rawin", "-pubin", "-inkey", str(tmp_path / "key.pem")]
    command += ["-sigfile", str(tmp_path / "signature"), "-in", str(tmp_path / "digest")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ("Verified Successfully" in done.stdout) is not changed
    assert (done.returncode == 0) is not changed


@needs_ssh_keygen
def test_ssh_keygen_reads_our_line(tmp_path: Path) -> None:
    (tmp_path / "key.pub").write_text(to_ssh(SIGNER.public_key, SIGNER.key_id) + "\n")
    blob = base64.b64decode(to_ssh(SIGNER.public_key, "").split()[1])
    fingerprint = base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    shown = output_of("ssh-keygen", "-l", "-f", tmp_path / "key.pub").split()
    assert shown == ["256", f"SHA256:{fingerprint}", SIGNER.key_id, "(ED25519)"]


@needs_ssh_keygen
def test_key_that_ssh_keygen_made_is_read(tmp_path: Path) -> None:
    output_of("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "my-key", "-f", tmp_path / "key")
    line = (tmp_path / "key.pub").read_text()
    public_key, key_id = read(line.encode())
    assert key_id == "my-key"
    assert to_ssh(public_key, "my-key") + "\n" == line
