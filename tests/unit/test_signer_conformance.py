"""What every kind of signer does alike: one suite over key files, environment, ssh-agent and PKCS#11."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pith_builder import KeyRing, SeedSigner, canonical_record, verify
from pith_builder.errors import KeyLocked, KeyUnfit, KeyUnusable
from pith_builder.keyring import RingKey
from pith_builder.signers import SCHEMES, Checked, Deferred, Opening, key_file, open_active_signer, open_signer
from pith_builder.signing import Signer, signature_fits
from pith_builder.statements import Statement
from pith_builder.testing import FrozenClock, make_keyring, make_metadata, make_record, make_revocation, make_signer

KINDS = ("file encrypted", "file plain", "env", "agent", "pkcs11")
SEED = bytes(range(32, 64))
OWN = SeedSigner("own-v1-2026-01", SEED)
PASSPHRASE = "correct horse battery staple"


class Kind(NamedTuple):
    """How one kind of signer is opened, and what must never show."""

    uri: str
    entry: RingKey
    passphrase: str
    secrets: tuple[str, ...]

    @property
    def ring(self) -> KeyRing:
        return KeyRing.empty().with_key(self.entry)

    def open(self, ring: KeyRing | None = None) -> Signer:
        return open_active_signer(self.uri, Opening(ring or self.ring, lambda _: self.passphrase.encode()))


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Kind]:
    """Each kind of signer, with a key of its own."""
    entry = RingKey.of(OWN.key_id, OWN.public_key, "active", "receipts")
    shown_as = (SEED.hex(), base64.b64encode(SEED).decode(), repr(SEED))
    match request.param:
        case "file encrypted" | "file plain":
            passphrase = PASSPHRASE if request.param == "file encrypted" else ""
            key_file.write(tmp_path / "own.key", OWN, SEED, passphrase.encode() or None)
            yield Kind(f"file:{tmp_path / 'own.key'}", entry, passphrase, (*shown_as, PASSPHRASE))
        case "env":
            monkeypatch.setenv("MY_SEED", base64.b64encode(SEED).decode())
            yield Kind("env:MY_SEED", entry, "", shown_as)
        case "agent":
            agent = request.getfixturevalue("agent")
            lines = Path(agent.key_file).read_text().splitlines()[1:-1]
            yield Kind(f"agent:{agent.entry.key_id}", agent.entry, "", tuple(lines))
        case "pkcs11":
            token = request.getfixturevalue("token")
            yield Kind(token.uri, token.entry, token.pin, (token.pin,))


def test_every_scheme_is_in_this_suite() -> None:
    assert {kind.split()[0] for kind in KINDS} == set(SCHEMES)


def test_signer_has_the_id_and_the_key_of_the_ring(kind: Kind) -> None:
    signer = kind.open()
    assert (signer.key_id, signer.public_key) == (kind.entry.key_id, kind.entry.public_key)


@pytest.mark.parametrize("message", [b"\0", bytes(32), bytes(range(32)), b"x" * 33, b"long" * 25_000], ids=len)
def test_signature_is_the_keys_over_the_message(kind: Kind, message: bytes) -> None:
    signature = kind.open().sign(message)
    assert isinstance(signature, bytes)
    assert len(signature) == 64
    assert signature_fits(kind.entry.public_key, message, signature)


def test_signature_is_the_same_each_time(kind: Kind) -> None:
    """Ed25519 needs no randomness; a signer that adds some is another algorithm's."""
    signer = kind.open()
    assert signer.sign(bytes(32)) == signer.sign(bytes(32)) == kind.open().sign(bytes(32))


def test_signer_opens_many_times(kind: Kind) -> None:
    signers = [kind.open() for _ in range(5)]
    assert len({signer.sign(b"message") for signer in signers}) == 1


def test_record_that_it_signs_verifies(kind: Kind) -> None:
    record = make_record(signer=kind.open())  # type: ignore[arg-type]  # any signer will do
    assert record.canonical_record == canonical_record(make_metadata())
    assert verify(record, kind.ring).ok


def test_statement_that_it_signs_is_signed_by_it(kind: Kind) -> None:
    body = make_revocation("k", make_signer()).body
    statement = Statement(body, []).signed_by(kind.open())
    assert statement.is_signed_by(kind.entry.key_id, kind.entry.public_key)


def test_key_that_is_not_in_the_ring_is_refused(kind: Kind) -> None:
    with pytest.raises(KeyUnusable):
        kind.open(make_keyring())


def test_key_that_is_not_the_active_one_is_refused(kind: Kind) -> None:
    beside = RingKey.of(kind.entry.key_id, kind.entry.public_key, "next", "receipts")
    with pytest.raises(KeyUnfit, match="is not the active key"):
        kind.open(make_keyring().with_key(beside))


def test_other_key_under_the_same_id_is_refused(kind: Kind) -> None:
    other = RingKey.of(kind.entry.key_id, make_signer().public_key, "active", "receipts")
    with pytest.raises(KeyUnusable):
        kind.open(KeyRing.empty().with_key(other))


def test_no_secret_shows(kind: Kind) -> None:
    signer = kind.open()
    shown = repr(signer) + str(signer)
    try:
        kind.open(make_keyring())
    except KeyUnusable as error:
        shown += repr(error) + str(error.to_dict())
    assert not [secret for secret in kind.secrets if secret in shown]


# --- what stands around signers ---------------------------------------------------------------------------------


class Faulty:
    """A signer whose answers can be changed."""

    def __init__(self, answer: Callable[[bytes], bytes]) -> None:
        self.key_id, self.public_key = make_signer().key_id, make_signer().public_key
        self.sign = answer


WRONG_ANSWERS: dict[str, Callable[[bytes], bytes]] = {
    "of another key": lambda message: make_signer(2).sign(message),
    "of another message": lambda message: make_signer().sign(message + b"x"),
    "of the hash of the message": lambda message: make_signer().sign(hashlib.sha512(message).digest()),
    "empty": lambda _: b"",
    "cut": lambda message: make_signer().sign(message)[:-1],
    "too long": lambda message: make_signer().sign(message) + b"\0",
    "zeros": lambda _: bytes(64),
}


@pytest.mark.parametrize("name", WRONG_ANSWERS)
def test_wrong_answer_of_a_signer_outside_is_seen_by_no_one(name: str) -> None:
    with pytest.raises(KeyUnfit):
        Checked(Faulty(WRONG_ANSWERS[name])).sign(b"message")


def test_signer_outside_is_checked_each_time() -> None:
    answers = iter([make_signer().sign(b"first"), bytes(64)])
    checked = Checked(Faulty(lambda _: next(answers)))
    assert signature_fits(checked.public_key, b"first", checked.sign(b"first"))
    with pytest.raises(KeyUnfit):
        checked.sign(b"second")


@pytest.mark.parametrize("scheme", ["agent", "pkcs11"])
def test_signer_outside_is_tried_when_it_is_opened(monkeypatch: pytest.MonkeyPatch, scheme: str) -> None:
    monkeypatch.setattr(f"{SCHEMES[scheme]}.open_signer", lambda *_: Faulty(lambda _: bytes(64)))
    with pytest.raises(KeyUnfit):
        open_signer(f"{scheme}:x", Opening(KeyRing.empty(), lambda _: b""))


def deferred(opened: list[str]) -> Deferred:
    def open_it() -> Signer:
        opened.append("opened")
        return make_signer()

    return Deferred(make_keyring().keys[0], open_it)


def test_key_is_opened_when_it_first_signs_and_only_then() -> None:
    opened: list[str] = []
    signer = deferred(opened)
    assert (signer.key_id, signer.public_key, opened) == (make_signer().key_id, make_signer().public_key, [])
    assert signer.sign(b"a") == make_signer().sign(b"a")
    assert signer.sign(b"b") == make_signer().sign(b"b")
    assert opened == ["opened"]


def test_key_that_does_not_open_is_tried_again() -> None:
    answers: Any = iter([KeyLocked("wrong passphrase"), make_signer()])

    def open_it() -> Signer:
        if isinstance(answer := next(answers), KeyLocked):
            raise answer
        signer: Signer = answer
        return signer

    signer = Deferred(make_keyring().keys[0], open_it)
    with pytest.raises(KeyLocked):
        signer.sign(b"message")
    assert signer.sign(b"message") == make_signer().sign(b"message")


def test_deferred_signer_issues_as_the_key_itself() -> None:
    record = make_record(signer=deferred([]), clock=FrozenClock())  # type: ignore[arg-type]  # any signer will do
    assert record == make_record()
