"""Ceremonies: what they do to the ring's file and the folder of private keys, and what they refuse."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import KeyRing, SeedSigner, follow
from pith_builder.errors import FileFailed, InvalidSetting, KeyMissing, KeyUnfit
from pith_builder.keyring import RingKey
from pith_builder.public_keys import InvalidPublicKey, published, to_pem, to_ssh
from pith_builder.rotation import IllegalMove, move, retire
from pith_builder.signers import Opening, open_active_signer, open_signer, ring_file
from pith_builder.signers.ceremony import (
    Ceremony,
    InvalidStatement,
    active_authority,
    exported,
    read_statement,
    recovery_authority,
)
from pith_builder.signing import Signer
from pith_builder.statements import RotationBody
from pith_builder.testing import START, FrozenClock, make_keyring, make_revocation, make_rotation, make_signer

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


@pytest.mark.parametrize("issuer", ["", "../up", "a/b", "a b", "-x", "é", "a" * 64, "a\n"])
def test_issuer_that_cannot_be_a_name_makes_nothing(generate: Generate, ring_path: Path, issuer: str) -> None:
    with pytest.raises(InvalidSetting):
        generate(issuer)
    assert not ring_path.parent.exists()


def test_recovery_key_is_active_beside_the_signing_key(generate: Generate, ring_path: Path) -> None:
    generate()
    key = generate(recovery=True)
    assert (key.key_id, key.state, key.use) == ("local-recovery-v1-2026-01", "active", "recovery")
    active = ring_file.load(ring_path).active()
    assert active is not None
    assert active.key_id == "local-v1-2026-01"


def test_recovery_key_made_first_does_not_keep_the_signing_key_from_being_active(generate: Generate) -> None:
    generate(recovery=True)
    assert generate().state == "active"


def test_recovery_keys_are_counted_by_themselves(generate: Generate) -> None:
    ids = [generate(recovery=recovery).key_id for recovery in (False, True, True, False)]
    assert ids == [f"local{name}-2026-01" for name in ("-v1", "-recovery-v1", "-recovery-v2", "-v2")]


# --- moves ------------------------------------------------------------------------------------------------------


def test_rotation_takes_effect_with_the_next_full_second(ceremony: Callable[[], Ceremony], generate: Generate) -> None:
    """Receipts of this second stay the old key's, and no receipt of the new key is before its time."""
    generate()
    body = ceremony().prepare_rotation(generate(), "scheduled").body
    assert isinstance(body, RotationBody)
    assert body.effective_at == "2026-01-02T03:04:06Z"


def test_ring_is_moved_before_the_rotation_takes_effect_so_that_nobody_signs_with_the_old_key(
    ceremony: Callable[[], Ceremony], generate: Generate, opened: Callable[[RingKey], Signer], ring_path: Path
) -> None:
    old, new = generate(), generate()
    rites = ceremony()
    statement = rites.prepare_rotation(new, "scheduled").signed_by(opened(old)).signed_by(opened(new))
    waited: list[tuple[datetime, KeyRing]] = []
    ring = rites.carry_out(statement, lambda time: waited.append((time, ring_file.load(ring_path))))
    [(until, before)] = waited
    assert until == START.replace(microsecond=0) + timedelta(seconds=1)
    assert [key.state for key in before.keys] == [key.state for key in ring.keys] == ["retired", "active"]
    assert ring_file.load(ring_path) == rites.seen == ring


def test_statement_that_breaks_a_rule_is_refused_without_waiting(
    ceremony: Callable[[], Ceremony], generate: Generate, ring_path: Path
) -> None:
    generate()
    new = generate()
    before = ring_path.read_bytes()

    def wait(_: datetime) -> None:
        raise AssertionError("nothing to wait for")

    with pytest.raises(IllegalMove, match="no valid signature"):
        ceremony().carry_out(ceremony().prepare_rotation(new, "scheduled"), wait)
    assert ring_path.read_bytes() == before


def test_of_two_that_saw_the_same_ring_one_wins_and_the_other_is_told(
    ceremony: Callable[[], Ceremony], generate: Generate, opened: Callable[[RingKey], Signer], ring_path: Path
) -> None:
    old, new = generate(), generate()
    first, second = ceremony(), ceremony()
    statements = [
        rites.prepare_rotation(new, reason).signed_by(opened(old)).signed_by(opened(new))
        for rites, reason in ((first, "scheduled"), (second, "too"))
    ]
    won = first.carry_out(statements[0])
    with pytest.raises(IllegalMove, match="another process changed the key ring"):
        second.carry_out(statements[1])
    assert ring_file.load(ring_path) == won


def test_active_key_is_not_superseded_without_a_successor(ceremony: Callable[[], Ceremony], generate: Generate) -> None:
    key = generate()
    with pytest.raises(IllegalMove) as caught:
        ceremony().prepare_revocation(key.key_id, START, "superseded")
    assert "pith-build keys rotate" in caught.value.hint


def test_owners_ring_can_be_followed_from_before(
    ceremony: Callable[[], Ceremony], generate: Generate, opened: Callable[[RingKey], Signer], ring_path: Path
) -> None:
    old = generate()
    pinned = ring_file.load(ring_path)
    rites = ceremony()
    new = rites.generate(issuer="local", passphrase=None, level="interactive")
    rites.carry_out(rites.prepare_rotation(new, "scheduled").signed_by(opened(old)).signed_by(opened(new)))
    active = follow(pinned, ring_file.load(ring_path)).active()
    assert active is not None
    assert active.fingerprint == new.fingerprint


# --- who signs --------------------------------------------------------------------------------------------------


class Opened(list[str]):
    """The ids of the keys that were opened."""

    def __call__(self, key: RingKey) -> Signer:
        self.append(key.key_id)
        return make_signer()


def two_recovery_keys() -> KeyRing:
    """A ring with the recovery keys 90 and 91."""
    second = make_signer(91)
    return make_keyring(recovery=make_signer(90)).with_key(
        RingKey.of(second.key_id, second.public_key, "active", "recovery")
    )


def test_active_key_signs_for_its_own_rotation() -> None:
    opened = Opened()
    active_authority(make_keyring(recovery=make_signer(90)), opened)
    assert opened == ["TEST-v1-2026-01"]


def test_recovery_key_signs_in_an_emergency() -> None:
    opened = Opened()
    recovery_authority(make_keyring(recovery=make_signer(90)), None, opened)
    assert opened == ["TEST-v90-2026-01"]


@pytest.mark.parametrize("n", [90, 91])
def test_any_recovery_key_of_the_ring_can_be_named(n: int) -> None:
    opened, signer = Opened(), make_signer(n)
    assert recovery_authority(two_recovery_keys(), signer, opened) is signer
    assert opened == []


@pytest.mark.parametrize("n", [1, 92], ids=["the active key", "a key that the ring does not list"])
def test_named_key_that_is_no_recovery_key_is_refused(n: int) -> None:
    with pytest.raises(KeyUnfit, match=f"TEST-v{n}-2026-01 is no recovery key of the ring"):
        recovery_authority(two_recovery_keys(), make_signer(n), Opened())


def test_recovery_key_that_is_known_by_its_id_alone_is_refused() -> None:
    with pytest.raises(KeyUnfit, match="is no recovery key of the ring"):
        recovery_authority(two_recovery_keys(), SeedSigner("TEST-v90-2026-01", bytes(32)), Opened())


def test_recovery_key_that_was_retired_or_revoked_signs_nothing() -> None:
    lost, other = make_signer(90), make_signer(91)
    revoked = move(two_recovery_keys(), make_revocation(lost.key_id, other, reason="lost"))
    for ring in (retire(two_recovery_keys(), lost.key_id, START), revoked):
        with pytest.raises(KeyUnfit, match="is no recovery key of the ring"):
            recovery_authority(ring, lost, Opened())
        opened = Opened()
        recovery_authority(ring, None, opened)
        assert opened == [other.key_id]


@pytest.mark.parametrize("named", [None, make_signer()], ids=["no signer", "the active key"])
def test_emergency_without_a_recovery_key_says_what_is_left_to_do(named: Signer | None) -> None:
    with pytest.raises(KeyMissing) as caught:
        recovery_authority(make_keyring(), named, Opened())
    assert "pin" in caught.value.hint


def test_ring_without_an_active_key_has_no_one_to_sign() -> None:
    with pytest.raises(KeyMissing) as caught:
        active_authority(KeyRing.empty(), Opened())
    assert "pith-build keys generate" in caught.value.hint


# --- rings that don't hold together -----------------------------------------------------------------------------


def rotated_twice() -> KeyRing:
    """A ring that was rotated from the first TEST key to the third."""
    ring = make_keyring(recovery=make_signer(90))
    ring = move(ring, make_rotation(ring, make_signer(1), make_signer(2)))
    return move(ring, make_rotation(ring, make_signer(2), make_signer(3), START + timedelta(days=1)))


@pytest.mark.parametrize("kept", [slice(1, 2), slice(0, 1), slice(0, 0)], ids=["the last", "the first", "none"])
@pytest.mark.parametrize("moved_by", ["rotation", "revocation"])
def test_ring_that_lacks_a_statement_is_not_moved(
    ceremony: Callable[[], Ceremony], ring_path: Path, kept: slice, moved_by: str
) -> None:
    """Else the fault would be covered by one statement more, and no one could follow."""
    whole = rotated_twice()
    ring_file.change(ring_path, lambda _: whole.replace(statements=whole.statements[kept]))
    before = ring_path.read_bytes()
    rites = ceremony()
    if moved_by == "rotation":
        statement = make_rotation(rites.seen, make_signer(3), make_signer(4), START + timedelta(seconds=1))
    else:
        statement = make_revocation(make_signer(1).key_id, make_signer(3))
    with pytest.raises(IllegalMove, match="statements don't hold together") as caught:
        rites.carry_out(statement)
    assert "backup" in caught.value.hint
    assert ring_path.read_bytes() == before


# --- public keys ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("use", ["verify", "receipts", "recovery"])
@pytest.mark.parametrize("form", ["json", "pem", "ssh"])
def test_exported_key_is_taken_in(ceremony: Callable[[], Ceremony], ring_path: Path, form: str, use: Any) -> None:
    key = RingKey.of("theirs", make_signer(5).public_key, "active", "receipts")
    taken = ceremony().take_in(exported(key, form), use=use, key_id="theirs" if form == "pem" else None)
    assert (taken.key_id, taken.public_key, taken.use) == ("theirs", key.public_key, use)
    assert taken.state == ("next" if use == "receipts" else "active")
    assert ring_file.load(ring_path).keys == [taken]


def test_forms_are_those_that_others_read() -> None:
    key = RingKey.of("k", make_signer().public_key, "active", "receipts")
    assert exported(key, "pem") + b"\n" == to_pem(key.public_key).encode()
    assert exported(key, "ssh") == to_ssh(key.public_key, "k").encode()
    assert msgspec.json.decode(exported(key, "json")) == published(key)


def test_key_without_an_id_needs_one(ceremony: Callable[[], Ceremony]) -> None:
    with pytest.raises(InvalidSetting) as caught:
        ceremony().take_in(to_pem(make_signer().public_key).encode(), use="verify", key_id=None)
    assert "--id" in caught.value.hint


@pytest.mark.parametrize("key_id", ["k", "me@here", "a.b_c-D9", "0", "a" * 127])
def test_id_of_letters_digits_and_a_few_signs_is_taken_in(ceremony: Callable[[], Ceremony], key_id: str) -> None:
    line = to_ssh(make_signer().public_key, key_id).encode()
    assert ceremony().take_in(line, use="verify", key_id=None).key_id == key_id


@pytest.mark.parametrize(
    "key_id", ["../up", ".hidden", "-x", "_x", "@x", "a/b", "a b", "a\tb", "a\x1b[31m", "é", "a" * 200]
)
@pytest.mark.parametrize("named_by", ["--id", "the file"])
def test_id_that_cannot_be_a_files_name_is_not_taken_in(
    ceremony: Callable[[], Ceremony], ring_path: Path, key_id: str, named_by: str
) -> None:
    name = key_id if named_by == "--id" else None
    line = to_ssh(make_signer().public_key, "mine" if name else key_id).encode()
    with pytest.raises(InvalidSetting, match="can't be a key's id"):
        ceremony().take_in(line, use="receipts", key_id=name)
    assert not ring_path.exists()


def test_id_that_is_given_goes_before_that_of_the_file(ceremony: Callable[[], Ceremony]) -> None:
    line = to_ssh(make_signer().public_key, "me@here").encode()
    assert ceremony().take_in(line, use="verify", key_id="mine").key_id == "mine"


@pytest.mark.parametrize(("n", "key_id"), [(1, "another"), (2, "TEST-v1-2026-01"), (1, "TEST-v1-2026-01")])
def test_key_that_is_known_already_is_not_taken_in(
    ceremony: Callable[[], Ceremony], ring_path: Path, n: int, key_id: str
) -> None:
    ring_file.change(ring_path, lambda _: make_keyring())
    with pytest.raises(IllegalMove, match="in the ring already"):
        ceremony().take_in(to_pem(make_signer(n).public_key).encode(), use="verify", key_id=key_id)
    assert ring_file.load(ring_path) == make_keyring()


def test_what_is_no_key_is_not_taken_in(ceremony: Callable[[], Ceremony], ring_path: Path) -> None:
    with pytest.raises(InvalidPublicKey):
        ceremony().take_in(b"hello", use="verify", key_id="k")
    assert not ring_path.exists()


@pytest.mark.parametrize("data", [b"{}", b"[]", b'{"body":{},"signatures":[]}'])
def test_what_is_no_statement_is_not_read(data: bytes) -> None:
    with pytest.raises(InvalidStatement):
        read_statement(data)
