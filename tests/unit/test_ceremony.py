"""Ceremonies: what they do to the ring's file and the folder of private keys, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import KeyRing, SeedSigner, follow
from pith_builder.errors import FileFailed, InvalidSetting, KeyMissing
from pith_builder.keyring import RingKey
from pith_builder.public_keys import InvalidPublicKey, published, to_pem, to_ssh
from pith_builder.rotation import IllegalMove
from pith_builder.signers import Opening, open_active_signer, open_signer, ring_file
from pith_builder.signers.ceremony import (
    Ceremony,
    InvalidStatement,
    authority,
    exported,
    read_statement,
    write_statement,
)
from pith_builder.signing import Signer
from pith_builder.statements import RotationBody
from pith_builder.testing import START, FrozenClock, make_keyring, make_signer

Generate = Callable[..., RingKey]


@pytest.fixture
def ring_path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keyring.json"


@pytest.fixture
def ceremony(ring_path: Path, tmp_path: Path) -> Callable[[], Ceremony]:
    """A ceremony that has seen the ring as it is now, at the frozen time."""
    return lambda: Ceremony(ring_path, tmp_path, FrozenClock())


@pytest.fixture
def generate(ceremony: Callable[[], Ceremony]) -> Generate:
    """Make an unencrypted key at the frozen time."""

    def call(issuer: str = "local", **changes: Any) -> RingKey:
        arguments: dict[str, Any] = {"passphrase": None, "level": "interactive"} | changes
        return ceremony().generate(issuer=issuer, **arguments)

    return call


@pytest.fixture
def opened(ring_path: Path, tmp_path: Path) -> Callable[[RingKey], Signer]:
    """The signer of a generated key."""

    def call(key: RingKey) -> Signer:
        uri = f"file:{ring_file.key_path(tmp_path, key.key_id)}"
        return open_signer(uri, Opening(ring_file.load(ring_path), lambda _: b"secret"))

    return call


# --- generate ---------------------------------------------------------------------------------------------------


def test_first_key_is_active_and_the_next_ones_are_next(generate: Callable[..., RingKey], ring_path: Path) -> None:
    made = [generate() for _ in range(3)]
    assert [key.state for key in made] == ["active", "next", "next"]
    assert ring_file.load(ring_path).keys == made


def test_id_has_issuer_number_and_month(generate: Callable[..., RingKey]) -> None:
    ids = [generate(issuer).key_id for issuer in ("local", "journal", "local")]
    assert ids == ["local-v1-2026-01", "journal-v1-2026-01", "local-v2-2026-01"]


def test_id_of_a_lost_ring_is_not_used_again(generate: Callable[..., RingKey], ring_path: Path) -> None:
    generate()
    ring_path.unlink()
    assert generate().key_id == "local-v2-2026-01"


def test_ids_count_past_nine(generate: Callable[..., RingKey], tmp_path: Path) -> None:
    generate()
    (tmp_path / "keys" / "private" / "local-v10-2025-01.key").touch()
    assert generate().key_id == "local-v11-2026-01"


@pytest.mark.parametrize("near", ["local-v7-2026-01-old", "xlocal-v7-2026-01", "local-v7", "localxv7-2026-01"])
def test_names_of_another_form_do_not_count(generate: Callable[..., RingKey], tmp_path: Path, near: str) -> None:
    generate()
    (tmp_path / "keys" / "private" / f"{near}.key").touch()
    assert generate().key_id == "local-v2-2026-01"


def test_key_is_valid_from_when_it_was_made(generate: Callable[..., RingKey]) -> None:
    assert generate().not_before == "2026-01-02T03:04:05Z"


def test_generated_key_signs(generate: Callable[..., RingKey], ring_path: Path, tmp_path: Path) -> None:
    key = generate(passphrase=b"secret")
    path = ring_file.key_path(tmp_path, key.key_id)
    signer = open_active_signer(f"file:{path}", Opening(ring_file.load(ring_path), lambda _: b"secret"))
    assert signer.public_key == key.public_key


def test_private_half_is_on_the_disk_before_the_ring_names_it(
    generate: Callable[..., RingKey], ring_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the ring can't be written, the key is there and unused; the other way round, a ring without its key."""

    def fail(*_: object) -> None:
        raise FileFailed("no")

    monkeypatch.setattr("pith_builder.files.replace", fail)
    with pytest.raises(FileFailed):
        generate()
    assert ring_file.key_path(tmp_path, "local-v1-2026-01").is_file()
    assert not ring_path.exists()
