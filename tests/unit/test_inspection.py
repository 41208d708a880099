"""`keys check`: each kind of problem of a ring, its statements and its private files is found."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import KeyRing, SeedSigner
from pith_builder.keyring import Revocation, RingKey
from pith_builder.rotation import move, retire
from pith_builder.signers import key_file
from pith_builder.signers.inspection import problems
from pith_builder.signing import encode_base64
from pith_builder.testing import START, make_keyring, make_revocation, make_rotation, make_signer
from pith_builder.times import seconds

SEED = bytes(range(32))
OWN = SeedSigner("own-v1-2026-01", SEED)
K1, K2, K3, OTHERS, RECOVERY, SECOND = (make_signer(n) for n in (1, 2, 3, 11, 90, 91))
NAME = f"{OWN.key_id}.key"
NOW = START + timedelta(days=10)


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """An empty folder of private keys."""
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    return folder


def found(ring: KeyRing, private: Path, pins: KeyRing | None = None, now: datetime = NOW) -> list[str]:
    return problems(ring, private, now, pins)


def own_ring(**changes: Any) -> KeyRing:
    """A ring of the key that a test has a file of."""
    key = RingKey.of(OWN.key_id, OWN.public_key, "active", "receipts", START)
    return KeyRing.empty().with_key(msgspec.structs.replace(key, **changes))


def rotated(days: int = 1) -> KeyRing:
    ring = make_keyring(K1, recovery=RECOVERY)
    return move(ring, make_rotation(ring, K1, K2, START + timedelta(days=days)))


# --- rings in order ---------------------------------------------------------------------------------------------


def rings_in_order() -> dict[str, KeyRing]:
    twice = move(rotated(), make_rotation(rotated(), K2, K3, START + timedelta(days=2)))
    others = RingKey.of(OTHERS.key_id, OTHERS.public_key, "active", "verify")
    stolen = move(make_keyring(K1, recovery=RECOVERY), make_revocation(K1.key_id, RECOVERY, reason="compromised"))
    return {
        "one key": make_keyring(K1),
        "a key that waits": make_keyring(K1, K2),
        "a recovery key": make_keyring(K1, recovery=RECOVERY),
        "a key of others": make_keyring(K1).with_key(others),
        "a key of others that was retired": retire(make_keyring(K1).with_key(others), OTHERS.key_id, NOW),
        "rotated": rotated(),
        "rotated twice": twice,
        "rotated, and a key that waits": rotated().with_key(RingKey.of(K3.key_id, K3.public_key, "next", "receipts")),
        "revoked by the key after it": move(rotated(), make_revocation(K1.key_id, K2)),
        "revoked again for the worse": move(
            move(rotated(), make_revocation(K1.key_id, K2)), make_revocation(K1.key_id, K2, reason="compromised")
        ),
        "a recovery key revoked by another": move(
            make_keyring(K1, recovery=RECOVERY).with_key(
                RingKey.of(SECOND.key_id, SECOND.public_key, "active", "recovery")
            ),
            make_revocation(RECOVERY.key_id, SECOND, reason="lost"),
        ),
        "recovered": move(stolen, make_rotation(stolen, RECOVERY, K2, NOW, "compromised")),
        "a waiting key that was retired": retire(make_keyring(K1, K2), K2.key_id, NOW),
        "a waiting key that was revoked": move(make_keyring(K1, K2), make_revocation(K2.key_id, K1)),
    }


@pytest.mark.parametrize("name", rings_in_order())
def test_ring_in_order_has_no_problem(name: str, private: Path) -> None:
    assert found(rings_in_order()[name], private) == []


def test_file_of_the_rings_key_is_no_problem(private: Path) -> None:
    key_file.write(private / NAME, OWN, SEED, None)
    assert found(own_ring(), private) == []


def test_folder_that_is_not_there_is_no_problem(tmp_path: Path) -> None:
    assert found(make_keyring(), tmp_path / "none") == []


# --- statements and marks ---------------------------------------------------------------------------------------


def test_statement_that_does_not_hold_is_found(private: Path) -> None:
    value = json.loads(rotated().to_json())
    value["statements"][0]["body"]["reason"] = "another"
    [problem] = found(KeyRing.from_json(json.dumps(value)), private)
    assert problem == f"statement 0: there is no valid signature of {K1.key_id}"


def test_statement_that_was_left_out_is_found(private: Path) -> None:
    ring = move(rotated(), make_rotation(rotated(), K2, K3, START + timedelta(days=2)))
    [problem] = found(ring.replace(statements=ring.statements[1:]), private)
    assert "previous_sha256" in problem


def test_last_statement_that_was_left_out_is_found(private: Path) -> None:
    """Two keys would be active then: the ring can't be followed at all."""
    ring = move(rotated(), make_rotation(rotated(), K2, K3, START + timedelta(days=2)))
    [problem] = found(ring.replace(statements=ring.statements[:1]), private)
    assert "a statement is missing" in problem


def test_all_statements_left_out_are_found(private: Path) -> None:
    ring = move(rotated(), make_rotation(rotated(), K2, K3, START + timedelta(days=2)))
    told = found(ring.replace(statements=[]), private)
    assert told == [f"{k.key_id} is retired, and no statement says what came after it" for k in (K1, K2)]


@pytest.mark.parametrize("used", ["valid until later", "without an end", "without a beginning"])
def test_retired_key_that_no_statement_leads_away_from_is_found(private: Path, used: str) -> None:
    key = RingKey.of(K2.key_id, K2.public_key, "retired", "receipts", START)
    if used != "without an end":
        key = msgspec.structs.replace(key, not_after=seconds(START + timedelta(days=1)))
    if used == "without a beginning":
        key = msgspec.structs.replace(key, not_before=None)
    assert found(make_keyring(K1).with_key(key), private) == [
        f"{K2.key_id} is retired, and no statement says what came after it"
    ]


@pytest.mark.parametrize("use", ["verify", "recovery"])
def test_retired_key_that_signs_no_receipts_of_ours_is_no_problem(private: Path, use: Any) -> None:
    key = RingKey.of(K2.key_id, K2.public_key, "retired", use, START)
    assert found(make_keyring(K1).with_key(key), private) == []


@pytest.mark.parametrize("use", ["receipts", "recovery"])
def test_mark_of_revocation_that_no_statement_makes_is_found(private: Path, use: Any) -> None:
    key = RingKey.of(K2.key_id, K2.public_key, "revoked", use)
    marked = msgspec.structs.replace(key, revoked=Revocation(seconds(START), "lost"))
    [problem] = found(make_keyring(K1).with_key(marked), private)
    assert f"{K2.key_id} is marked revoked, and no statement says so" in problem


def test_mark_on_a_key_of_others_is_our_own_affair(private: Path) -> None:
    key = RingKey.of(OTHERS.key_id, OTHERS.public_key, "revoked", "verify")
    marked = msgspec.structs.replace(key, revoked=Revocation(seconds(START), "lost"))
    assert found(make_keyring(K1).with_key(marked), private) == []


def test_ring_without_an_active_key_is_found(private: Path) -> None:
    assert found(KeyRing.empty(), private) == ["no key is active: nothing can be signed"]


# --- times ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "said"),
    [
        (timedelta(days=29), "expires soon"),
        (timedelta(seconds=1), "expires soon"),
        (timedelta(0), "has expired"),
        (-timedelta(days=1), "has expired"),
    ],
)
def test_end_of_the_active_key_is_told_before_and_after(private: Path, left: timedelta, said: str) -> None:
    end = NOW.replace(microsecond=0) + left
    [problem] = found(own_ring(not_after=seconds(end)), private, now=NOW.replace(microsecond=0))
    assert problem == f"{OWN.key_id} {said}: {seconds(end)}"


def test_end_that_is_far_away_is_no_problem(private: Path) -> None:
    assert found(own_ring(not_after=seconds(NOW + timedelta(days=31))), private) == []


def test_end_of_a_retired_key_is_no_problem(private: Path) -> None:
    assert found(rotated(), private, now=NOW + timedelta(days=1000)) == []


def test_active_key_of_the_future_is_found(private: Path) -> None:
    [problem] = found(own_ring(not_before=seconds(NOW + timedelta(days=1))), private)
    assert "is the clock right?" in problem


# --- private files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620, 0o602, 0o777])
def test_file_that_others_can_use_is_found_with_the_way_to_mend_it(private: Path, bits: int) -> None:
    path = private / NAME
    key_file.write(path, OWN, SEED, None)
    path.chmod(bits)
    [problem] = found(own_ring(), private)
    assert f"chmod 600 {path}" in problem


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[" * 10_000, b'{"pith_key_file":"9.9"}'])
def test_file_that_is_damaged_is_found(private: Path, content: bytes) -> None:
    path = private / NAME
    path.write_bytes(content)
    path.chmod(0o600)
    assert found(own_ring(), private) == [f"{path} is no key file, or a damaged one"]


def test_folder_in_the_place_of_a_file_is_found(private: Path) -> None:
    (private / NAME).mkdir(mode=0o700)
    assert found(own_ring(), private) == [f"{private / NAME} is no key file, or a damaged one"]


def test_link_that_leads_nowhere_is_found(private: Path) -> None:
    (private / NAME).symlink_to(private / "gone")
    assert len(found(own_ring(), private)) == 1


@pytest.mark.parametrize("bits", [0o710, 0o701, 0o740, 0o704, 0o720, 0o755, 0o777])
def test_folder_that_others_can_look_into_is_found_with_the_way_to_mend_it(private: Path, bits: int) -> None:
    key_file.write(private / NAME, OWN, SEED, None)
    private.chmod(bits)
    assert found(own_ring(), private) == [f"others can look into {private}: chmod 700 {private}"]


def test_file_under_another_name_is_found(private: Path) -> None:
    """No command would find it there."""
    key_file.write(private / "own.key", OWN, SEED, None)
    [problem] = found(own_ring(), private)
    assert problem == f"{private / 'own.key'} holds {OWN.key_id}: its name should be {NAME}"


def test_file_of_a_key_that_the_ring_does_not_list_is_found(private: Path) -> None:
    key_file.write(private / NAME, OWN, SEED, None)
    [problem] = found(make_keyring(), private)
    assert problem == f"{private / NAME} holds {OWN.key_id}, which the ring does not list"


def test_file_of_another_key_under_a_known_id_is_found(private: Path) -> None:
    other = bytes(32)
    key_file.write(private / NAME, SeedSigner(OWN.key_id, other), other, None)
    [problem] = found(own_ring(), private)
    assert "another key than the ring lists" in problem


def test_all_problems_are_told_at_once(private: Path) -> None:
    (private / "a.key").write_bytes(b"{}")
    (private / "a.key").chmod(0o640)
    key_file.write(private / "b.key", OWN, SEED, None)
    private.chmod(0o755)
    told = found(KeyRing.empty(), private)
    for said in ("chmod 700", "chmod 600", "a damaged one", "its name should be", "does not list", "no key is active"):
        assert [said in problem for problem in told].count(True) == 1, said
    assert len(told) == 6


def test_nothing_secret_is_told(private: Path) -> None:
    key_file.write(private / NAME, OWN, SEED, None)
    (private / NAME).chmod(0o644)
    shown = "".join(found(KeyRing.empty(), private))
    assert SEED.hex() not in shown
    assert encode_base64(SEED) not in shown


# --- pins -------------------------------------------------------------------------------------------------------


def test_pinned_ring_that_leads_here_is_no_problem(private: Path) -> None:
    assert found(rotated(), private, make_keyring(K1)) == []


def test_pinned_ring_that_does_not_lead_here_is_found(private: Path) -> None:
    [problem] = found(make_keyring(K1), private, rotated())
    assert problem.startswith("from the pinned ring: statement 0: ")
    assert problem.endswith("this ring is older")


def test_ring_of_a_key_that_the_pinned_ring_does_not_lead_to_is_found(private: Path) -> None:
    """Nothing is broken in a ring without statements, and still no one who pinned the other would trust it."""
    assert found(make_keyring(K2), private, make_keyring(K1)) == [
        f"no statement leads from the pinned ring to {K2.key_id}"
    ]


def test_ring_with_another_key_under_the_pinned_id_is_found(private: Path) -> None:
    told = found(make_keyring(SeedSigner(K1.key_id, SEED)), private, make_keyring(K1))
    assert told == [f"no statement leads from the pinned ring to {K1.key_id}"]


def test_pinned_ring_of_another_history_is_found(private: Path) -> None:
    [problem] = found(rotated(days=1), private, rotated(days=2))
    assert problem == "from the pinned ring: statement 0: the pinned ring has another statement here"
