"""`env:NAME`: a seed in the environment, known to the ring by its fingerprint."""

from __future__ import annotations

import base64
import hashlib

import pytest

from pith_builder import KeyRing
from pith_builder.errors import KeyMissing, KeyUnfit
from pith_builder.signers import Opening, open_signer
from pith_builder.testing import make_keyring, make_signer

SEED = base64.b64encode(hashlib.sha256(b"pith-build TEST key 1").digest()).decode()


def opening(ring: KeyRing) -> Opening:
    def ask(_: str) -> bytes:
        raise AssertionError("no passphrase is needed here")

    return Opening(ring, ask)


def test_id_comes_from_the_ring(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SEED", SEED)
    signer = open_signer("env:MY_SEED", opening(make_keyring(make_signer(2), make_signer(1))))
    assert (signer.key_id, signer.public_key) == (make_signer().key_id, make_signer().public_key)


def test_white_space_around_the_seed_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SEED", f" {SEED}\n")
    assert open_signer("env:MY_SEED", opening(make_keyring())).key_id == make_signer().key_id


def test_key_that_the_ring_does_not_list_is_unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_SEED", SEED)
    with pytest.raises(KeyUnfit, match="MY_SEED") as caught:
        open_signer("env:MY_SEED", opening(make_keyring(make_signer(2))))
    assert "--keyring" in caught.value.hint


def test_variable_that_is_not_set_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_SEED", raising=False)
    with pytest.raises(KeyMissing, match="MY_SEED"):
        open_signer("env:MY_SEED", opening(make_keyring()))


@pytest.mark.parametrize("value", [SEED[:-1], SEED[:-4], SEED + SEED, SEED.replace("=", "A"), "é", "AAAA", "!" * 44])
def test_what_is_no_seed_is_unfit_and_not_shown(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("MY_SEED", value)
    with pytest.raises(KeyUnfit) as caught:
        open_signer("env:MY_SEED", opening(make_keyring()))
    assert value not in str(caught.value.to_dict())
