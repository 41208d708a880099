"""`pkcs11:MODULE?token=LABEL&object=LABEL`: a token of SoftHSM2, and what can be wrong with a token."""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import quote

import pytest

from pith_builder import KeyRing
from pith_builder.errors import KeyLocked, KeyMissing, KeyUnusable
from pith_builder.signers import Opening, open_signer
from pith_builder.signing import Signer, signature_fits
from pith_builder.testing import make_keyring

from .conftest import Token


def opened(token: Token, uri: str | None = None, *, pin: str | None = None, ring: KeyRing | None = None) -> Signer:
    ring = KeyRing.empty().with_key(token.entry) if ring is None else ring
    secret = (token.pin if pin is None else pin).encode()
    return open_signer(uri or token.uri, Opening(ring, lambda _: secret))


def test_key_of_the_token_signs(token: Token) -> None:
    assert signature_fits(token.entry.public_key, b"message", opened(token).sign(b"message"))


def test_pin_is_asked_for_by_key_id(token: Token) -> None:
    asked: list[str] = []

    def ask(key_id: str) -> bytes:
        asked.append(key_id)
        return token.pin.encode()

    open_signer(token.uri, Opening(KeyRing.empty().with_key(token.entry), ask))
    assert asked == [token.entry.key_id]


def test_key_need_not_be_named_where_the_ring_lists_one_of_the_token(token: Token) -> None:
    assert opened(token, f"pkcs11:{token.module}?token={token.label}").key_id == token.entry.key_id


@pytest.mark.parametrize("query", ["", "?object=hsm-v1-2026-01"])
def test_token_is_to_be_named_where_there_are_several(token: Token, query: str) -> None:
    """SoftHSM2 always shows one more, for the next to be made."""
    with pytest.raises(KeyMissing, match="2 tokens fit") as caught:
        opened(token, f"pkcs11:{token.module}{query}")
    assert "token=LABEL" in caught.value.hint


def test_names_may_be_percent_encoded(token: Token) -> None:
    uri = f"pkcs11:{quote(token.module, safe='')}?token={quote(token.label)}&object=hsm%2Dv1-2026-01"
    assert opened(token, uri).key_id == token.entry.key_id


@pytest.mark.parametrize("query", ["?token=other", "?object=other", "?token=pith&object=other"])
def test_names_that_are_not_there_are_missing(token: Token, query: str) -> None:
    with pytest.raises(KeyMissing):
        opened(token, f"pkcs11:{token.module}{query}")


@pytest.mark.parametrize("pin", ["wrong", "", "é"])
def test_wrong_pin_is_locked(token: Token, pin: str) -> None:
    token.log_out()
    with pytest.raises(KeyLocked) as caught:
        opened(token, pin=pin)
    assert token.pin not in str(caught.value.to_dict())


def test_key_that_the_ring_does_not_list_is_missing(token: Token) -> None:
    with pytest.raises(KeyMissing, match="no key of the key ring") as caught:
        opened(token, ring=make_keyring())
    assert "keys import" in caught.value.hint


def test_module_that_is_not_there_is_missing(token: Token, tmp_path: Path) -> None:
    with pytest.raises(KeyMissing) as caught:
        opened(token, f"pkcs11:{tmp_path / 'none.so'}")
    assert "check module" in caught.value.hint


def test_file_that_is_no_module_is_unusable(token: Token, tmp_path: Path) -> None:
    (tmp_path / "module.so").write_bytes(b"no library")
    with pytest.raises(KeyUnusable):
        opened(token, f"pkcs11:{tmp_path / 'module.so'}")


def test_without_the_extra_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PyKCS11", None)
    with pytest.raises(KeyMissing) as caught:
        open_signer("pkcs11:/any.so", Opening(make_keyring(), lambda _: b""))
    assert "pith-build[hsm]" in caught.value.hint
