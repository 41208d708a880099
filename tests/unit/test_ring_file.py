"""The ring's file: replaced whole or not at all, one process at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing
from pith_builder.errors import FileFailed, InvalidInput, KeyUnfit
from pith_builder.keyring import RingKey
from pith_builder.signers import Opening, open_active_signer, ring_file
from pith_builder.testing import FrozenClock, make_keyring, make_signer


@pytest.fixture
def ring_path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keyring.json"


@pytest.fixture
def generate(ring_path: Path, tmp_path: Path) -> Callable[..., RingKey]:
    """Make an unencrypted key at the frozen time."""

    def call(issuer: str = "local", **changes: Any) -> RingKey:
        arguments: dict[str, Any] = {"passphrase": None, "level": "interactive", "clock": FrozenClock()} | changes
        return ring_file.generate(ring_path, tmp_path, issuer=issuer, **arguments)

    return call


def test_ring_that_is_not_there_is_empty(ring_path: Path) -> None:
    assert ring_file.load(ring_path) == KeyRing.empty()
    assert not ring_path.parent.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"{}", b"[]", b"\xff"])
def test_ring_that_cannot_be_read_names_its_file(ring_path: Path, content: bytes) -> None:
    ring_path.parent.mkdir()
    ring_path.write_bytes(content)
    with pytest.raises(InvalidInput) as caught:
        ring_file.load(ring_path)
    assert caught.value.file == str(ring_path)


def test_folder_in_the_place_of_the_ring_is_refused(ring_path: Path) -> None:
    ring_path.mkdir(parents=True)
    with pytest.raises(FileFailed):
        ring_file.load(ring_path)


def test_change_is_on_the_disk(ring_path: Path) -> None:
    changed = ring_file.change(ring_path, lambda _: make_keyring())
    assert ring_file.load(ring_path) == changed == make_keyring()


def test_change_that_fails_keeps_the_old_ring(ring_path: Path) -> None:
    ring_file.change(ring_path, lambda _: make_keyring())
    before = ring_path.read_bytes()

    def fail(_: KeyRing) -> KeyRing:
        raise KeyUnfit("no")

    with pytest.raises(KeyUnfit):
        ring_file.change(ring_path, fail)
    assert ring_path.read_bytes() == before


def test_change_that_cannot_be_written_keeps_the_old_ring(ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ring_file.change(ring_path, lambda _: make_keyring())
    before = ring_path.read_bytes()

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pith_builder.files.os.replace", fail)
    with pytest.raises(FileFailed):
        ring_file.change(ring_path, lambda _: make_keyring(make_signer(1), make_signer(2)))
    assert ring_path.read_bytes() == before


def test_change_keeps_what_it_does_not_know(ring_path: Path) -> None:
    ring_path.parent.mkdir()
    ring_path.write_bytes(make_keyring().to_json().replace(b'"keys"', b'"note":"ours","keys"'))
    ring_file.change(ring_path, lambda ring: ring)
    assert ring_file.load(ring_path).unknown() == ["note"]


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
