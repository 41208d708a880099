"""Key files, and the test that every signer passes before it signs."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nacl.bindings
import pytest

from pith_builder import KeyRing, SeedSigner, files
from pith_builder.errors import FileFailed, KeyLocked, KeyMissing, KeyUnfit, KeyUnusable
from pith_builder.signers import Opening, key_file, open_active_signer, open_signer
from pith_builder.testing import make_keyring, make_signer

SEED = bytes(range(32))
SIGNER = SeedSigner("TEST-v9-2026-01", SEED)
PASSPHRASE = "pässword".encode()


def no_passphrase(_: str) -> bytes:
    raise AssertionError("no passphrase is needed here")


@pytest.fixture
def plain(tmp_path: Path) -> Path:
    """An unencrypted key file."""
    path = tmp_path / "plain.key"
    key_file.write(path, SIGNER, SEED, None)
    return path


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An encrypted key file."""
    path = tmp_path_factory.mktemp("keys") / "encrypted.key"
    key_file.write(path, SIGNER, SEED, PASSPHRASE)
    return path


def opened(path: Path | str, passphrase: bytes | None = None) -> Any:
    ask: Callable[[str], bytes] = no_passphrase if passphrase is None else lambda _: passphrase
    return open_signer(str(path), Opening(KeyRing.empty(), ask))


def test_unencrypted_key_opens_without_asking(plain: Path) -> None:
    signer = opened(plain)
    assert (signer.key_id, signer.public_key) == (SIGNER.key_id, SIGNER.public_key)
    assert signer.sign(b"message") == SIGNER.sign(b"message")


def test_encrypted_key_opens_with_its_passphrase(encrypted: Path) -> None:
    assert opened(encrypted, PASSPHRASE).public_key == SIGNER.public_key


def test_passphrase_is_asked_for_by_key_id(encrypted: Path) -> None:
    asked: list[str] = []

    def ask(key_id: str) -> bytes:
        asked.append(key_id)
        return PASSPHRASE

    open_signer(f"file:{encrypted}", Opening(KeyRing.empty(), ask))
    assert asked == [SIGNER.key_id]


@pytest.mark.parametrize("wrong", [b"", b"wrong", PASSPHRASE + b"\n", PASSPHRASE.upper()])
def test_wrong_passphrase_is_locked(encrypted: Path, wrong: bytes) -> None:
    with pytest.raises(KeyLocked) as caught:
        opened(encrypted, wrong)
    assert caught.value.file == str(encrypted)


def test_two_files_of_one_key_and_passphrase_differ(encrypted: Path, tmp_path: Path) -> None:
    key_file.write(tmp_path / "again.key", SIGNER, SEED, PASSPHRASE)
    first, second = (json.loads(path.read_bytes()) for path in (encrypted, tmp_path / "again.key"))
    assert first["kdf"]["salt_b64"] != second["kdf"]["salt_b64"]
    assert first["seed_b64"] != second["seed_b64"]


def test_new_seeds_differ() -> None:
    seeds = {key_file.new_seed() for _ in range(100)}
    assert (len(seeds), {len(seed) for seed in seeds}) == (100, {32})


def test_file_is_for_its_owner_alone(plain: Path) -> None:
    assert stat.S_IMODE(plain.stat().st_mode) == 0o600


def test_file_never_takes_the_place_of_another(plain: Path) -> None:
    before = plain.read_bytes()
    with pytest.raises(FileFailed, match="File exists"):
        key_file.write(plain, make_signer(), SEED, None)
    assert plain.read_bytes() == before


def test_file_with_unknown_fields_opens(plain: Path) -> None:
    content = json.loads(plain.read_bytes())
    plain.write_text(json.dumps(content | {"note": "in the safe"}))
    assert opened(plain).public_key == SIGNER.public_key


@pytest.mark.parametrize(
    "absurd",
    [
        {"operations": 0},
        {"operations": -1},
        {"operations": 17},
        {"operations": 2**62},
        {"operations": 2**70},
        {"operations": 1.5},
        {"memory": 0},
        {"memory": 8191},
        {"memory": 2**30 + 1},
        {"memory": 2**62},
        {"salt_b64": ""},
        {"salt_b64": "AAAA"},
        {"algorithm": "scrypt"},
        {"rounds": 3},
    ],
    ids=str,
)
def test_absurd_kdf_is_refused_before_any_work(
    encrypted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, absurd: dict[str, Any]
) -> None:
    content = json.loads(encrypted.read_bytes())
    content["kdf"] |= absurd
    path = tmp_path / "absurd.key"
    files.create(path, json.dumps(content).encode())

    def work(*_: object, **__: object) -> bytes:
        raise AssertionError("the passphrase was stretched")

    monkeypatch.setattr("pith_builder.signers.key_file.argon2id.kdf", work)
    with pytest.raises(KeyUnfit):
        opened(path)  # and no passphrase is asked for


@pytest.mark.parametrize("field", ["pith_key_file", "key_id", "algorithm", "public_key_b64", "kdf", "seed_b64"])
@pytest.mark.parametrize("change", ["missing", "number", "list"])
def test_damaged_field_is_unfit(plain: Path, field: str, change: str) -> None:
    content = json.loads(plain.read_bytes())
    if change == "missing":
        del content[field]
    else:
        content[field] = 7 if change == "number" else []
    plain.write_text(json.dumps(content))
    with pytest.raises(KeyUnfit) as caught:
        opened(plain)
    assert caught.value.file == str(plain)


def test_every_truncation_is_unfit(plain: Path) -> None:
    content = plain.read_bytes().rstrip()
    for length in range(len(content)):
        plain.write_bytes(content[:length])
        with pytest.raises(KeyUnfit):
            opened(plain)


def test_seed_of_another_key_is_unfit(plain: Path) -> None:
    other = json.loads(plain.read_bytes()) | {"public_key_b64": make_keyring().keys[0].public_key_b64}
    plain.write_text(json.dumps(other))
    with pytest.raises(KeyUnfit, match="does not give the public key"):
        opened(plain)


def test_oversized_file_is_unfit_and_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.key"
    path.touch(mode=0o600)
    os.truncate(path, 2**40)
    with pytest.raises(KeyUnfit, match="too large"):
        opened(path)


@pytest.mark.parametrize("what", ["folder", "fifo"])
def test_what_is_no_regular_file_is_unfit(tmp_path: Path, what: str) -> None:
    path = tmp_path / "key"
    if what == "folder":
        path.mkdir(mode=0o700)
    else:
        os.mkfifo(path, 0o600)
    with pytest.raises(KeyUnfit, match="no regular file"):
        opened(path)


@pytest.mark.parametrize("uri", ["", "file:", "nowhere.key", "file:nowhere.key", "unknown:scheme", "env:"])
def test_key_that_is_nowhere_is_unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, uri: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(KeyUnusable):
        opened(uri)


def test_missing_file_says_how_to_name_the_key_or_to_replace_it(tmp_path: Path) -> None:
    """The ring lists the key; a further one would wait behind it."""
    with pytest.raises(KeyMissing) as caught:
        opened(tmp_path / "none.key")
    for said in ("--key", "--next-key", "--recovery", "backup", "pith-build keys rotate --reason lost"):
        assert said in caught.value.hint
    assert "keys generate" not in caught.value.hint


@pytest.mark.parametrize("bit", [0o040, 0o020, 0o010, 0o004, 0o002, 0o001])
def test_file_that_others_can_use_is_unfit(plain: Path, bit: int) -> None:
    plain.chmod(0o600 | bit)
    with pytest.raises(KeyUnfit) as caught:
        opened(plain)
    assert f"chmod 600 {plain}" in caught.value.hint


def test_link_to_a_key_file_is_followed(plain: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(plain)
    assert opened(tmp_path / "link").public_key == SIGNER.public_key


# --- every signer -----------------------------------------------------------------------------------------------


def test_signer_with_bad_signatures_is_refused(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SeedSigner, "sign", lambda *_: bytes(64))
    with pytest.raises(KeyUnfit, match="don't fit its public key"):
        opened(plain)


def test_signer_of_another_key_is_refused(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = make_signer()._secret_key
    monkeypatch.setattr(SeedSigner, "sign", lambda _, message: nacl.bindings.crypto_sign(message, other)[:64])
    with pytest.raises(KeyUnfit, match="don't fit its public key"):
        opened(plain)


def test_active_signer_must_be_the_rings(plain: Path) -> None:
    with pytest.raises(KeyUnfit, match="not the active key of the ring") as caught:
        open_active_signer(str(plain), Opening(make_keyring(), no_passphrase))
    assert "pith-build keys list" in caught.value.hint


def test_id_alone_does_not_make_a_signer_the_active_one(tmp_path: Path) -> None:
    impostor = SeedSigner(make_signer().key_id, SEED)
    key_file.write(tmp_path / "impostor.key", impostor, SEED, None)
    with pytest.raises(KeyUnfit):
        open_active_signer(str(tmp_path / "impostor.key"), Opening(make_keyring(), no_passphrase))


def test_ring_without_active_key_has_no_signer(plain: Path) -> None:
    with pytest.raises(KeyUnfit, match="no active key"):
        open_active_signer(str(plain), Opening(KeyRing.empty(), no_passphrase))


def test_active_signer_opens(plain: Path) -> None:
    assert open_active_signer(str(plain), Opening(make_keyring(SIGNER), no_passphrase)).key_id == SIGNER.key_id


def test_seed_shows_in_no_repr_and_no_error(plain: Path) -> None:
    content = plain.read_text()
    seed = json.loads(content)["seed_b64"]
    shown = [repr(opened(plain)), str(opened(plain))]
    for damaged in (content.replace('"kdf"', '"kdg"'), content.replace("ed25519", "x"), content[:-3]):
        plain.write_text(damaged)
        with pytest.raises(KeyUnfit) as caught:
            opened(plain)
        shown += [str(caught.value), repr(caught.value), json.dumps(caught.value.to_dict())]
    for secret in (seed, SEED.hex(), repr(SEED)):
        assert not any(secret in text for text in shown)
