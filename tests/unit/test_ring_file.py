"""The ring's file: replaced whole or not at all, one process at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from pith_builder import KeyRing
from pith_builder.errors import FileFailed, InvalidInput, KeyUnfit
from pith_builder.signers import ring_file
from pith_builder.testing import make_keyring, make_signer


@pytest.fixture
def ring_path(tmp_path: Path) -> Path:
    return tmp_path / "keys" / "keyring.json"


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
