"""`pith-build keys`: rotating, retiring, revoking, and public keys that go from ring to ring."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing, follow
from pith_builder.signers import Opening, open_signer
from pith_builder.signers.ceremony import Ceremony, read_statement
from pith_builder.store import Store
from pith_builder.testing import START, make_keyring, make_metadata, make_record
from pith_builder.times import seconds

Run = Callable[..., Any]
PASSPHRASE = "correct horse battery staple"


class Clock:
    """The clock of this process: it moves a little with each reading, and as far as anyone sleeps."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def sleep(self, seconds_: float) -> None:
        self.now += timedelta(seconds=seconds_)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """A clock that tests can set, and that no one waits for."""
    clock = Clock(START)
    for module in ("signer", "papers"):
        monkeypatch.setattr(f"pith_builder.cli.{module}.now", clock)
    monkeypatch.setattr("pith_builder.cli.ceremonies.time.sleep", clock.sleep)
    return clock


@pytest.fixture
def ring_path(home: Path) -> Path:
    return home / "keys" / "keyring.json"


@pytest.fixture
def ring(ring_path: Path) -> Callable[[], KeyRing]:
    """The ring as it is now."""
    return lambda: KeyRing.from_json(ring_path.read_bytes())


@pytest.fixture
def pinned(with_key: Run, tmp_path: Path) -> Path:
    """The ring of `with_key` as others pin it before anything happens."""
    path = tmp_path / "pinned.json"
    path.write_text(with_key("keys", "export", "--ring").out)
    return path


@pytest.fixture
def recoverable(with_key: Run) -> Run:
    """`run` in a home with a signing and a recovery key."""
    assert with_key("keys", "generate", "--recovery", "--unencrypted").code == 0
    return with_key


@pytest.fixture
def issue(run: Run, papers: Run) -> Callable[[int], bytes]:
    """Issue the n-th version of a paper: its record."""

    def call(version: int) -> bytes:
        result = run("issue", "--json", "--metadata", papers(make_metadata(version=version), name=f"{version}.jsonl"))
        assert result.code == 0, result.err
        record: bytes = result.out.encode()
        return record

    return call


@pytest.fixture
def elsewhere(run: Run, tmp_path: Path) -> Run:
    """`run` in the home of someone else, who has made a key of their own: `elsewhere-v1-2026-01`."""
    home = tmp_path / "elsewhere"

    def call(*arguments: str | Path, **options: Any) -> Any:
        return run("--home", home, *arguments, **options)

    assert call("keys", "generate", "--unencrypted", "--issuer", "elsewhere").code == 0
    return call


def states(ring: KeyRing) -> dict[str, str]:
    return {key.key_id: key.state for key in ring.keys}


def files_in(home: Path) -> dict[Path, bytes]:
    """What a home holds: its ring and its private keys."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.suffix in (".json", ".key")}


def key_valid(run: Run, record: bytes, *arguments: str | Path) -> str:
    """What verify says of a record's key: `passed`, or why it does not count."""
    result = run("verify", "--json", "-", *arguments, stdin=record)
    [line] = result.lines
    assert result.code == (0 if line["ok"] else 1)
    [check] = [check for check in line["checks"] if check["name"] == "key_valid"]
    assert line["ok"] == (check["status"] == "passed"), line
    return str(check["reason"] or check["status"])


# --- generate --recovery ----------------------------------------------------------------------------------------


def test_recovery_key_is_made_beside_the_signing_key(with_key: Run, ring: Callable[[], KeyRing], home: Path) -> None:
    result = with_key("keys", "generate", "--recovery", "--unencrypted")
    assert (result.code, result.out) == (0, "local-recovery-v1-2026-01\n")
    assert "keep it offline" in result.err
    key = ring().by_id("local-recovery-v1-2026-01")
    assert key is not None
    assert (key.state, key.use) == ("active", "recovery")
    assert (home / "keys" / "private" / "local-recovery-v1-2026-01.key").is_file()


def test_recovery_key_signs_no_receipts(recoverable: Run, home: Path, papers: Run) -> None:
    uri = f"file:{home / 'keys' / 'private' / 'local-recovery-v1-2026-01.key'}"
    result = recoverable("issue", "--metadata", papers(make_metadata()), "--key", uri)
    assert (result.code, result.out) == (4, "")


# --- rotate -----------------------------------------------------------------------------------------------------


def test_rotation_makes_a_key_and_switches_to_it(with_key: Run, ring: Callable[[], KeyRing]) -> None:
    result = with_key("keys", "rotate", "--unencrypted")
    assert (result.code, result.out) == (0, "local-v2-2026-01\n")
    assert states(ring()) == {"local-v1-2026-01": "retired", "local-v2-2026-01": "active"}


def test_rotation_says_what_to_publish_and_what_comes_next(with_key: Run, ring_path: Path) -> None:
    err = with_key("keys", "rotate", "--unencrypted").err
    assert str(ring_path) in err
    assert "pith-build keys export --ring" in err
    assert "pith-build reissue" in err


def test_rotation_takes_the_key_that_waits(with_key: Run, ring: Callable[[], KeyRing]) -> None:
    with_key("keys", "generate", "--unencrypted")
    waiting = ring().by_id("local-v2-2026-01")
    assert with_key("keys", "rotate", "--unencrypted").out == "local-v2-2026-01\n"
    active = ring().active()
    assert active is not None
    assert waiting is not None
    assert active.public_key == waiting.public_key


def test_rotations_are_a_chain_that_others_follow(with_key: Run, pinned: Path, ring: Callable[[], KeyRing]) -> None:
    for _ in range(3):
        assert with_key("keys", "rotate", "--unencrypted").code == 0
    active = follow(KeyRing.from_json(pinned.read_bytes()), ring()).active()
    assert active is not None
    assert active.key_id == "local-v4-2026-01"


@pytest.mark.parametrize("reason", ["scheduled", "superseded", "compromised", "lost"])
def test_reason_stands_in_the_statement(recoverable: Run, ring: Callable[[], KeyRing], reason: str) -> None:
    assert recoverable("keys", "rotate", "--unencrypted", "--reason", reason).code == 0
    [statement] = json.loads(ring().to_json())["statements"]
    assert statement["body"]["reason"] == reason


@pytest.mark.parametrize("reason", ["new machine", "", "Compromised", "stolen"])
def test_reason_that_is_none_of_the_four_is_2_and_changes_nothing(recoverable: Run, home: Path, reason: str) -> None:
    """`stolen` would be an ordinary rotation, and the stolen key would count for good."""
    before = files_in(home)
    result = recoverable("keys", "rotate", "--unencrypted", "--reason", reason)
    assert (result.code, result.out) == (2, "")
    assert "compromised" in result.err
    assert files_in(home) == before


@pytest.mark.parametrize("reason", ["compromised", "lost"])
def test_emergency_may_have_begun_earlier(
    recoverable: Run, ring: Callable[[], KeyRing], issue: Callable[[int], bytes], tmp_path: Path, reason: str
) -> None:
    pinned = tmp_path / "pinned.json"
    pinned.write_text(recoverable("keys", "export", "--ring").out)
    record, since = issue(1), "2026-01-01T00:00:00Z"
    rotated = recoverable("keys", "rotate", "--unencrypted", "--reason", reason, "--since", since)
    assert (rotated.code, rotated.out) == (0, "local-v2-2026-01\n")
    key = ring().by_id("local-v1-2026-01")
    assert key is not None
    assert key.revoked is not None
    assert (key.revoked.since, key.revoked.reason) == (since, reason)
    revocation, rotation = json.loads(ring().to_json())["statements"]
    assert revocation["body"].items() >= {"key_id": key.key_id, "since": since, "reason": reason}.items()
    assert [s["key_id"] for s in revocation["signatures"]] == ["local-recovery-v1-2026-01"]
    assert rotation["body"]["to"] == "local-v2-2026-01"
    assert recoverable("keys", "check", "--pin", pinned).code == 0
    for pin in ((), ("--pin", pinned)):  # lost since before the record was signed: it counts no more
        assert key_valid(recoverable, record, *pin) != "passed"
        assert key_valid(recoverable, issue(2), *pin) == "passed"


@pytest.mark.parametrize(
    "arguments",
    [
        ("rotate", "--unencrypted", "--reason", "compromised", "--since", "2026-01-03T00:00:00Z"),
        ("rotate", "--unencrypted", "--reason", "lost", "--since", "yesterday"),
        ("rotate", "--unencrypted", "--since", "2026-01-01T00:00:00Z"),
        ("rotate", "--unencrypted", "--reason", "superseded", "--since", "2026-01-01T00:00:00Z"),
        ("revoke", "local-v1-2026-01", "--reason", "compromised", "--since", "2026-01-03T00:00:00Z"),
        ("revoke", "local-v1-2026-01", "--reason", "lost", "--since", "yesterday"),
        ("rotate", "--unencrypted", "--prepare", "s", "--effective-at", "2026-01-02T03:04:05Z"),
        ("rotate", "--unencrypted", "--prepare", "s", "--effective-at", "2025-01-01T00:00:00Z"),
        ("rotate", "--unencrypted", "--prepare", "s", "--effective-at", "tomorrow"),
        ("rotate", "--unencrypted", "--effective-at", "2026-01-03T00:00:00Z"),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("waiting", [True, False], ids=["a key waits", "no key waits"])
def test_time_that_does_not_fit_is_2_and_changes_nothing(
    recoverable: Run,
    home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[str, ...],
    waiting: bool,
) -> None:
    monkeypatch.chdir(tmp_path)
    if waiting:
        recoverable("keys", "generate", "--unencrypted")
    before = files_in(home)
    result = recoverable("keys", *arguments)
    assert (result.code, result.out) == (2, "")
    assert files_in(home) == before
    assert not (tmp_path / "s").exists()


def test_encrypted_keys_rotate_with_their_passphrase(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert run("keys", "generate").code == 0
    assert run("keys", "rotate").code == 0
    assert run("keys", "check").code == 0


def test_wrong_passphrase_changes_nothing(run: Run, ring_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    run("keys", "generate")
    before = ring_path.read_bytes()
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "wrong")
    assert run("keys", "rotate").code == 4
    assert ring_path.read_bytes() == before
    assert len(list((ring_path.parent / "private").iterdir())) == 1


def test_without_any_key_there_is_nothing_to_rotate(run: Run, home: Path) -> None:
    result = run("keys", "rotate", "--unencrypted")
    assert (result.code, result.out) == (4, "")
    assert "pith-build keys generate" in result.err
    assert not home.exists()


@pytest.mark.parametrize("microsecond", [0, 1, 500_000, 999_000, 999_999])
def test_receipts_right_before_and_right_after_a_rotation_are_valid(
    with_key: Run, issue: Callable[[int], bytes], clock: Clock, microsecond: int
) -> None:
    clock.now = clock.now.replace(microsecond=microsecond) + timedelta(hours=1)
    before = issue(1)
    assert with_key("keys", "rotate", "--unencrypted").code == 0
    after = issue(2)
    assert [json.loads(record)["receipt"]["key_id"][:8] for record in (before, after)] == ["local-v1", "local-v2"]
    assert [key_valid(with_key, record) for record in (before, after)] == ["passed", "passed"]


def test_no_receipt_is_made_with_a_key_that_is_rotated_away_during_a_run(
    with_key: Run, papers: Run, home: Path, ring_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run may go on with the new key or end; what it has printed by then is valid."""
    with_key("keys", "generate", "--unencrypted")
    issue_one, calls = Store.issue, iter(range(3))

    def rotate_before_the_second(*arguments: Any) -> Any:
        if next(calls) == 1:
            rites = Ceremony(ring_path, home, clock)
            old, new = rites.seen.keys
            statement = rites.prepare_rotation(new, "scheduled")
            for key in (old, new):
                uri = f"file:{home / 'keys' / 'private' / key.key_id}.key"
                statement = statement.signed_by(open_signer(uri, Opening(rites.seen, lambda _: b"")))
            rites.carry_out(statement)
            clock.now += timedelta(hours=1)
        return issue_one(*arguments)

    monkeypatch.setattr(Store, "issue", rotate_before_the_second)
    rows = [make_metadata(version=version) for version in (1, 2, 3)]
    result = with_key("issue", "--json", "--metadata", papers(*rows))
    printed = [line for line in result.out.splitlines() if "receipt" in json.loads(line)]
    assert [key_valid(with_key, record.encode()) for record in printed] == ["passed"] * len(printed)
    assert result.code == (0 if len(printed) == 3 else 4)


def test_list_tells_what_the_old_key_still_carries(with_key: Run, issue: Callable[[int], bytes]) -> None:
    issue(1)
    issue(2)
    with_key("keys", "rotate", "--unencrypted")
    issue(3)
    assert {key["key_id"]: key["receipts"] for key in with_key("keys", "list", "--json").lines} == {
        "local-v1-2026-01": 2,
        "local-v2-2026-01": 1,
        "pith-v1-2026-05": 0,
    }


@pytest.mark.parametrize(
    ("reason", "said"), [("compromised", "no receipt of it counts"), ("lost", "passed")], ids=["compromised", "lost"]
)
def test_emergency_is_signed_by_the_recovery_key(
    recoverable: Run, pinned: Path, ring: Callable[[], KeyRing], issue: Callable[[int], bytes], reason: str, said: str
) -> None:
    earlier = issue(1)
    pinned.write_text(recoverable("keys", "export", "--ring").out)
    assert recoverable("keys", "rotate", "--unencrypted", "--reason", reason).out == "local-v2-2026-01\n"
    assert states(ring()) == {
        "local-v1-2026-01": "revoked",
        "local-recovery-v1-2026-01": "active",
        "local-v2-2026-01": "active",
    }
    for pin in ((), ("--pin", pinned)):
        assert said in key_valid(recoverable, earlier, *pin)
        assert key_valid(recoverable, issue(2), *pin) == "passed"


def test_emergency_does_not_need_the_key_that_is_gone(recoverable: Run, home: Path) -> None:
    (home / "keys" / "private" / "local-v1-2026-01.key").unlink()
    assert recoverable("keys", "rotate", "--unencrypted", "--reason", "lost").code == 0


def test_recovery_key_may_be_kept_elsewhere(recoverable: Run, home: Path, tmp_path: Path) -> None:
    kept = (home / "keys" / "private" / "local-recovery-v1-2026-01.key").rename(tmp_path / "offline.key")
    missing = recoverable("keys", "rotate", "--unencrypted", "--reason", "lost")
    assert (missing.code, missing.out) == (4, "")
    given = recoverable("keys", "rotate", "--unencrypted", "--reason", "lost", "--recovery", f"file:{kept}")
    assert given.code == 0


@pytest.mark.parametrize("version", [1, 2])
def test_emergency_is_signed_by_the_recovery_key_that_is_named(
    recoverable: Run, ring: Callable[[], KeyRing], home: Path, version: int
) -> None:
    recoverable("keys", "generate", "--recovery", "--unencrypted")
    key_id = f"local-recovery-v{version}-2026-01"
    uri = f"file:{home / 'keys' / 'private' / key_id}.key"
    result = recoverable("keys", "rotate", "--unencrypted", "--reason", "compromised", "--recovery", uri)
    assert result.code == 0
    [statement] = ring().statements
    assert [signature.key_id for signature in statement.signatures] == [key_id, "local-v2-2026-01"]


def test_missing_key_file_says_what_to_do_about_a_lost_key(recoverable: Run, home: Path, papers: Run) -> None:
    (home / "keys" / "private" / "local-v1-2026-01.key").unlink()
    for command in (("issue", "--metadata", papers(make_metadata())), ("keys", "rotate", "--unencrypted")):
        result = recoverable(*command)
        assert result.code == 4
        assert "keys rotate --reason lost" in result.err
        assert "keys generate" not in result.err


def test_emergency_followed_by_who_did_not_pin_the_recovery_key_is_refused(recoverable: Run, pinned: Path) -> None:
    value = json.loads(pinned.read_bytes())
    value["keys"] = [key for key in value["keys"] if key["use"] != "recovery"]
    pinned.write_text(json.dumps(value))
    recoverable("keys", "rotate", "--unencrypted", "--reason", "compromised")
    result = recoverable("keys", "check", "--pin", pinned)
    assert result.code == 1
    assert "no recovery key that is trusted here signed it" in result.out


@pytest.mark.parametrize("reason", ["compromised", "lost"])
def test_emergency_without_a_recovery_key_changes_nothing(with_key: Run, ring_path: Path, reason: str) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "rotate", "--unencrypted", "--reason", reason)
    assert (result.code, result.out) == (4, "")
    assert "no recovery key" in result.err
    assert ring_path.read_bytes() == before


def test_key_that_does_not_have_to_sign_is_refused(recoverable: Run, home: Path, ring_path: Path) -> None:
    recoverable("keys", "generate", "--unencrypted")
    before = ring_path.read_bytes()
    other = f"file:{home / 'keys' / 'private' / 'local-v2-2026-01.key'}"
    for arguments, said in (
        (("--key", other), "local-v1-2026-01 has to sign"),
        (("--reason", "lost", "--recovery", other), "local-v2-2026-01 is no recovery key of the ring"),
    ):
        result = recoverable("keys", "rotate", *arguments)
        assert (result.code, result.out) == (4, "")
        assert said in result.err
    assert ring_path.read_bytes() == before


# --- a next key made elsewhere ----------------------------------------------------------------------------------


@pytest.fixture
def imported(with_key: Run, elsewhere: Run, tmp_path: Path) -> Run:
    """`run` in a home whose next key lives elsewhere."""
    (tmp_path / "next.json").write_text(elsewhere("keys", "export").out)
    assert with_key("keys", "import", "--use", "receipts", tmp_path / "next.json").out == "elsewhere-v1-2026-01\n"
    return with_key


@pytest.fixture
def signed(elsewhere: Run, tmp_path: Path) -> Callable[[Path], Any]:
    """Sign a prepared statement where the next key lives."""
    uri = f"file:{tmp_path / 'elsewhere' / 'keys' / 'private' / 'elsewhere-v1-2026-01.key'}"
    return lambda statement: elsewhere("keys", "sign", statement, "--key", uri)


def test_next_key_made_elsewhere_signs_there(
    imported: Run, signed: Callable[[Path], Any], pinned: Path, ring: Callable[[], KeyRing], tmp_path: Path
) -> None:
    statement = tmp_path / "statement.json"
    prepared = imported("keys", "rotate", "--prepare", statement)
    assert (prepared.code, prepared.out) == (0, "")
    assert f"pith-build keys sign {statement}" in prepared.err
    assert states(ring())["elsewhere-v1-2026-01"] == "next"
    assert signed(statement).code == 0
    completed = imported("keys", "rotate", "--complete", statement)
    assert (completed.code, completed.out) == (0, "elsewhere-v1-2026-01\n")
    assert "pith-build reissue" in completed.err
    assert states(ring()) == {"local-v1-2026-01": "retired", "elsewhere-v1-2026-01": "active"}
    assert imported("keys", "check", "--pin", pinned).code == 0


def test_prepared_statement_is_signed_by_our_key_alone(imported: Run, tmp_path: Path) -> None:
    imported("keys", "rotate", "--prepare", tmp_path / "statement.json")
    statement = read_statement((tmp_path / "statement.json").read_bytes())
    assert [signature.key_id for signature in statement.signatures] == ["local-v1-2026-01"]


def test_receipts_until_a_prepared_rotation_takes_effect_stay_valid(
    imported: Run, signed: Callable[[Path], Any], issue: Callable[[int], bytes], clock: Clock, tmp_path: Path
) -> None:
    """The next key is a day's travel away, and the daily run goes on."""
    statement = tmp_path / "statement.json"
    effective_at = clock.now.replace(microsecond=0) + timedelta(days=2)
    imported("keys", "rotate", "--prepare", statement, "--effective-at", f"{effective_at:%Y-%m-%dT%H:%M:%SZ}")
    clock.now += timedelta(days=1)
    meanwhile = issue(1)
    signed(statement)
    early = imported("keys", "rotate", "--complete", statement)
    assert (early.code, "carry it out then" in early.err) == (4, True)
    clock.now = effective_at
    assert imported("keys", "rotate", "--complete", statement).code == 0
    assert key_valid(imported, meanwhile) == "passed"


def test_nothing_is_signed_between_a_prepared_rotation_and_its_completion(
    imported: Run, clock: Clock, tmp_path: Path, papers: Callable[..., Path]
) -> None:
    imported("keys", "rotate", "--prepare", tmp_path / "statement.json")
    clock.now += timedelta(days=1)
    source = papers(make_metadata())
    refused = imported("issue", "--metadata", source)
    assert (refused.code, "complete a rotation that is prepared" in refused.err) == (4, True)
    assert imported("keys", "rotate", "--abandon").code == 0
    assert imported("issue", "--metadata", source).code == 0


def test_list_tells_until_when_the_active_key_signs(imported: Run, tmp_path: Path) -> None:
    def listed() -> str:
        [line] = [line for line in imported("keys", "list").out.splitlines() if line.startswith("local-v1-2026-01 ")]
        return str(line)

    assert "until" not in listed()
    imported("keys", "rotate", "--prepare", tmp_path / "statement.json", "--effective-at", "2026-01-05T00:00:00Z")
    assert listed().endswith("  until 2026-01-05T00:00:00Z")
    imported("keys", "rotate", "--abandon")
    assert "until" not in listed()


def test_preparation_that_was_taken_back_is_not_carried_out(
    imported: Run, signed: Callable[[Path], Any], ring_path: Path, tmp_path: Path
) -> None:
    statement = tmp_path / "statement.json"
    imported("keys", "rotate", "--prepare", statement)
    signed(statement)
    assert imported("keys", "rotate", "--abandon").code == 0
    before = ring_path.read_bytes()
    result = imported("keys", "rotate", "--complete", statement)
    assert (result.code, result.out) == (4, "")
    assert "taken back" in result.err
    assert ring_path.read_bytes() == before


def test_without_a_preparation_there_is_nothing_to_abandon(with_key: Run, ring_path: Path) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "rotate", "--abandon")
    assert (result.code, "no rotation is prepared" in result.err) == (4, True)
    assert ring_path.read_bytes() == before


def test_statement_that_the_next_key_has_not_signed_is_not_carried_out(
    imported: Run, ring_path: Path, tmp_path: Path
) -> None:
    imported("keys", "rotate", "--prepare", tmp_path / "statement.json")
    before = ring_path.read_bytes()
    result = imported("keys", "rotate", "--complete", tmp_path / "statement.json")
    assert (result.code, result.out) == (4, "")
    assert "no valid signature of elsewhere-v1-2026-01" in result.err
    assert ring_path.read_bytes() == before


def test_statement_that_was_altered_on_its_way_is_not_carried_out(
    imported: Run, signed: Callable[[Path], Any], tmp_path: Path
) -> None:
    path = tmp_path / "statement.json"
    imported("keys", "rotate", "--prepare", path)
    path.write_text(path.read_text().replace("scheduled", "whatever"))
    signed(path)
    result = imported("keys", "rotate", "--complete", path)
    assert result.code == 4
    assert "no valid signature of local-v1-2026-01" in result.err


def test_statement_that_another_rotation_came_before_is_not_carried_out(
    imported: Run, signed: Callable[[Path], Any], tmp_path: Path
) -> None:
    statements = [tmp_path / "first.json", tmp_path / "second.json"]
    for statement in statements:
        imported("keys", "rotate", "--prepare", statement)
        signed(statement)
    codes = [imported("keys", "rotate", "--complete", statement).code for statement in statements]
    assert codes == [0, 4]


def test_without_a_next_key_there_is_nothing_to_prepare(with_key: Run, ring_path: Path, tmp_path: Path) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "rotate", "--prepare", tmp_path / "statement.json")
    assert (result.code, result.out) == (2, "")
    assert not (tmp_path / "statement.json").exists()
    assert ring_path.read_bytes() == before


@pytest.mark.parametrize("command", [("rotate", "--complete"), ("sign", "--key", "env:NONE")])
@pytest.mark.parametrize(("content", "code"), [("{", 3), ("{}", 3), (None, 5)])
def test_statement_that_cannot_be_read_is_3_or_5(
    with_key: Run, tmp_path: Path, command: tuple[str, ...], content: str | None, code: int
) -> None:
    path = tmp_path / "statement.json"
    if content is not None:
        path.write_text(content)
    assert with_key("keys", *command, path).code == code


def test_statement_is_signed_by_a_key_that_is_named(imported: Run, tmp_path: Path) -> None:
    imported("keys", "rotate", "--prepare", tmp_path / "statement.json")
    result = imported("keys", "sign", tmp_path / "statement.json")
    assert result.code == 4
    assert "--key URI" in result.err


def test_imported_key_whose_signer_is_at_hand_needs_no_preparing(imported: Run, tmp_path: Path) -> None:
    uri = f"file:{tmp_path / 'elsewhere' / 'keys' / 'private' / 'elsewhere-v1-2026-01.key'}"
    assert imported("keys", "rotate", "--next-key", uri).out == "elsewhere-v1-2026-01\n"


# --- two at once ------------------------------------------------------------------------------------------------


def test_of_two_processes_that_rotate_at_once_one_wins_and_the_other_is_told(
    run: Run, start: Run, ring: Callable[[], KeyRing], home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have read the ring once they ask for the passphrase, each at a pipe of its own."""
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    run("keys", "generate")
    monkeypatch.delenv("PITH_KEY_PASSPHRASE")
    run("keys", "generate", "--unencrypted")
    pipes = [tmp_path / "first", tmp_path / "second"]
    for pipe in pipes:
        os.mkfifo(pipe)
    processes = [start("keys", "rotate", env={"PITH_KEY_PASSPHRASE_FILE": str(pipe)}) for pipe in pipes]
    writers = [_opened_for(pipe, process) for pipe, process in zip(pipes, processes, strict=True)]
    for writer in writers:
        os.write(writer, PASSPHRASE.encode())
        os.close(writer)
    answers = [process.communicate(timeout=60) for process in processes]
    codes = [process.returncode for process in processes]
    assert sorted(codes) == [0, 4]
    assert b"another process changed the key ring" in answers[codes.index(4)][1]
    assert list(states(ring()).values()) == ["retired", "active"]
    assert len(ring().statements) == 1


def _opened_for(pipe: Path, process: Any) -> int:
    """The writing end of a pipe, as soon as the process reads from the other."""
    while process.poll() is None:
        try:
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            continue
    raise AssertionError(process.communicate())


# --- retire and revoke ------------------------------------------------------------------------------------------


def test_key_that_waits_can_be_retired(with_key: Run, ring: Callable[[], KeyRing]) -> None:
    with_key("keys", "generate", "--unencrypted")
    assert with_key("keys", "retire", "local-v2-2026-01").code == 0
    assert states(ring()) == {"local-v1-2026-01": "active", "local-v2-2026-01": "retired"}
    assert with_key("keys", "check").code == 0


@pytest.mark.parametrize(("key_id", "said"), [("local-v1-2026-01", "keys rotate"), ("nobody", "nothing is known")])
def test_key_that_cannot_be_retired_is_4_with_the_reason(
    with_key: Run, ring_path: Path, key_id: str, said: str
) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "retire", key_id)
    assert result.code == 4
    assert said in result.err
    assert ring_path.read_bytes() == before


@pytest.mark.parametrize(
    ("reason", "said"),
    [("superseded", "passed"), ("lost", "passed"), ("compromised", "no receipt of it counts")],
)
def test_revocation_of_an_old_key_means_what_its_reason_says(
    with_key: Run, pinned: Path, issue: Callable[[int], bytes], reason: str, said: str
) -> None:
    earlier = issue(1)
    with_key("keys", "rotate", "--unencrypted")
    result = with_key("keys", "revoke", "local-v1-2026-01", "--reason", reason)
    assert result.code == 0
    assert "pith-build keys export --ring" in result.err
    assert "pith-build reissue" in result.err
    assert said in key_valid(with_key, earlier)
    assert said in key_valid(with_key, earlier, "--pin", pinned)


def test_what_held_before_a_revocation_can_be_asked(with_key: Run, issue: Callable[[int], bytes], clock: Clock) -> None:
    record = issue(1)
    between = seconds(clock.now + timedelta(hours=1))
    with_key("keys", "rotate", "--unencrypted")
    clock.now += timedelta(days=1)
    with_key("keys", "revoke", "local-v1-2026-01", "--reason", "compromised")
    assert "no receipt of it counts" in key_valid(with_key, record)
    assert key_valid(with_key, record, "--at", between) == "passed"


def test_revocation_may_have_begun_earlier(with_key: Run, ring: Callable[[], KeyRing]) -> None:
    with_key("keys", "rotate", "--unencrypted")
    since = "2026-01-01T00:00:00Z"
    with_key("keys", "revoke", "local-v1-2026-01", "--reason", "compromised", "--since", since)
    key = ring().by_id("local-v1-2026-01")
    assert key is not None
    assert key.revoked is not None
    assert (key.revoked.since, key.revoked.reason) == (since, "compromised")


def test_active_key_is_revoked_by_the_recovery_key_and_then_replaced(
    recoverable: Run, pinned: Path, ring: Callable[[], KeyRing], issue: Callable[[int], bytes]
) -> None:
    stolen = issue(1)
    pinned.write_text(recoverable("keys", "export", "--ring").out)
    revoked = recoverable("keys", "revoke", "local-v1-2026-01", "--reason", "compromised")
    assert revoked.code == 0
    assert "pith-build keys rotate --reason compromised" in revoked.err
    assert ring().active() is None
    assert recoverable("issue", "2601.00001").code == 4
    assert recoverable("keys", "rotate", "--unencrypted", "--reason", "compromised").code == 0
    for pin in ((), ("--pin", pinned)):
        assert "no receipt of it counts" in key_valid(recoverable, stolen, *pin)
        assert key_valid(recoverable, issue(2), *pin) == "passed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("local-v1-2026-01", "--reason", "compromised"), "no recovery key"),
        (("local-v1-2026-01", "--reason", "superseded"), "keys rotate"),
        (("nobody", "--reason", "lost"), "nothing is known of nobody"),
        (("pith-v1-2026-05", "--reason", "lost"), "nothing is known of pith-v1-2026-05"),
    ],
    ids=["active without a recovery key", "active is superseded", "unknown", "the registry's"],
)
def test_key_that_cannot_be_revoked_is_4_with_the_reason(
    with_key: Run, ring_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "revoke", *arguments)
    assert result.code == 4
    assert said in result.err
    assert ring_path.read_bytes() == before


@pytest.mark.parametrize("reason", ["superseded", "lost", "compromised"])
def test_key_is_revoked_once(with_key: Run, reason: str) -> None:
    with_key("keys", "rotate", "--unencrypted")
    arguments = ("local-v1-2026-01", "--reason", reason, "--since", "2026-01-01T00:00:00Z")
    results = [with_key("keys", "revoke", *arguments) for _ in range(2)]
    assert [result.code for result in results] == [0, 4]
    assert "revoked already" in results[1].err


EARLY, LATE = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


@pytest.mark.parametrize(
    ("first", "second", "is_worse"),
    [
        (("superseded", LATE), ("compromised", LATE), True),
        (("lost", LATE), ("compromised", LATE), True),
        (("lost", EARLY), ("compromised", LATE), True),
        (("compromised", LATE), ("compromised", EARLY), True),
        (("compromised", EARLY), ("compromised", LATE), False),
        (("compromised", LATE), ("lost", EARLY), False),
        (("compromised", LATE), ("superseded", EARLY), False),
        (("lost", LATE), ("superseded", EARLY), False),
        (("lost", LATE), ("lost", EARLY), False),
        (("superseded", LATE), ("lost", EARLY), False),
    ],
)
def test_key_is_revoked_again_for_the_worse_alone(
    with_key: Run,
    pinned: Path,
    ring: Callable[[], KeyRing],
    first: tuple[str, str],
    second: tuple[str, str],
    is_worse: bool,
) -> None:
    with_key("keys", "rotate", "--unencrypted")
    results = [
        with_key("keys", "revoke", "local-v1-2026-01", "--reason", reason, "--since", since)
        for reason, since in (first, second)
    ]
    assert [result.code for result in results] == [0, 0 if is_worse else 4]
    assert is_worse or "revoked already" in results[1].err
    for seen in (ring(), follow(KeyRing.from_json(pinned.read_bytes()), ring())):
        key = seen.by_id("local-v1-2026-01")
        assert key is not None
        assert key.revoked is not None
        assert (key.revoked.reason, key.revoked.since) == (second if is_worse else first)
    assert with_key("keys", "check", "--pin", pinned).code == 0


def test_recovery_key_is_revoked_by_another(
    recoverable: Run, ring: Callable[[], KeyRing], home: Path, tmp_path: Path
) -> None:
    recoverable("keys", "generate", "--recovery", "--unencrypted")
    pinned = tmp_path / "pinned.json"
    pinned.write_text(recoverable("keys", "export", "--ring").out)
    first, second = (f"file:{home / 'keys' / 'private'}/local-recovery-v{n}-2026-01.key" for n in (1, 2))
    by_active = recoverable("keys", "revoke", "local-recovery-v1-2026-01", "--reason", "compromised")
    assert by_active.code == 4  # who stole the active key could keep the owner out
    arguments = ("local-recovery-v1-2026-01", "--reason", "compromised", "--recovery", second)
    assert recoverable("keys", "revoke", *arguments).code == 0
    assert states(ring())["local-recovery-v1-2026-01"] == "revoked"
    assert recoverable("keys", "check", "--pin", pinned).code == 0
    emergency = ("keys", "rotate", "--unencrypted", "--reason", "lost")
    assert recoverable(*emergency, "--recovery", first).code == 4
    assert recoverable(*emergency).code == 0
    assert recoverable("keys", "check", "--pin", pinned).code == 0


@pytest.mark.parametrize("kept", [slice(1, 2), slice(0, 1), slice(0, 0)], ids=["the last", "the first", "none"])
@pytest.mark.parametrize(
    "command", [("rotate", "--unencrypted"), ("revoke", "local-v1-2026-01", "--reason", "lost")], ids=" ".join
)
def test_ring_that_lacks_a_statement_is_found_and_not_moved(
    with_key: Run, ring: Callable[[], KeyRing], ring_path: Path, kept: slice, command: tuple[str, ...]
) -> None:
    for _ in range(2):
        with_key("keys", "rotate", "--unencrypted")
    damaged = ring().replace(statements=ring().statements[kept])
    ring_path.write_bytes(damaged.to_json())
    assert with_key("keys", "check").code == 1
    result = with_key("keys", *command)
    assert (result.code, result.out) == (4, "")
    assert "don't hold together" in result.err
    assert ring().statements == damaged.statements
    assert ring().active() == damaged.active()


def test_private_folder_that_others_can_look_into_is_found(with_key: Run, home: Path) -> None:
    assert with_key("keys", "check").code == 0
    (home / "keys" / "private").chmod(0o755)
    result = with_key("keys", "check")
    assert result.code == 1
    assert f"chmod 700 {home / 'keys' / 'private'}" in result.out


def test_waiting_key_that_is_revoked_leaves_the_ring_in_order(with_key: Run, pinned: Path) -> None:
    with_key("keys", "generate", "--unencrypted")
    assert with_key("keys", "revoke", "local-v2-2026-01", "--reason", "lost").code == 0
    assert with_key("keys", "check").code == 0
    assert with_key("keys", "rotate", "--unencrypted").out == "local-v3-2026-01\n"
    assert with_key("keys", "check", "--pin", pinned).code == 0


# --- import and export ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["json", "pem", "ssh"])
def test_exported_key_is_imported_for_verifying(
    with_key: Run, elsewhere: Run, issue: Callable[[int], bytes], tmp_path: Path, form: str
) -> None:
    (tmp_path / "key").write_text(with_key("keys", "export", "--format", form).out)
    record = issue(1)
    assert elsewhere("verify", "-", stdin=record).code == 1
    assert elsewhere("keys", "import", tmp_path / "key", "--id", "local-v1-2026-01").out == "local-v1-2026-01\n"
    assert elsewhere("verify", "-", stdin=record).code == 0
    assert elsewhere("keys", "show", "local-v1-2026-01", "--json").lines[0]["use"] == "verify"


@pytest.mark.parametrize(("form", "code"), [("json", 0), ("ssh", 0), ("pem", 2)])
def test_id_comes_with_the_forms_that_have_a_place_for_it(with_key: Run, elsewhere: Run, form: str, code: int) -> None:
    exported = with_key("keys", "export", "--format", form).out.encode()
    result = elsewhere("keys", "import", "-", stdin=exported)
    assert (result.code, result.out) == (code, "" if code else "local-v1-2026-01\n")
    assert code == 0 or "--id" in result.err


def test_exported_ring_is_the_ring(with_key: Run, ring: Callable[[], KeyRing]) -> None:
    with_key("keys", "rotate", "--unencrypted")
    assert KeyRing.from_json(with_key("keys", "export", "--ring").out.encode()) == ring()


@pytest.mark.parametrize("form", ["pem", "ssh"])
def test_ring_has_no_form_but_json(with_key: Run, form: str) -> None:
    result = with_key("keys", "export", "--ring", "--format", form)
    assert (result.code, result.out) == (2, "")
    assert "--format" in result.err
    assert with_key("keys", "export", "--ring", "--format", "json").out == with_key("keys", "export", "--ring").out


@pytest.mark.parametrize("key_id", ["../up", "a b", ".x", "a/b", "-"])
def test_id_that_can_not_be_a_keys_is_2_and_changes_nothing(
    with_key: Run, elsewhere: Run, ring_path: Path, key_id: str
) -> None:
    exported, before = elsewhere("keys", "export").out.encode(), ring_path.read_bytes()
    result = with_key("keys", "import", "-", f"--id={key_id}", stdin=exported)
    assert (result.code, result.out) == (2, "")
    assert ring_path.read_bytes() == before


@pytest.mark.parametrize("label", ["PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY"])
def test_private_key_is_told_from_a_public_one(with_key: Run, ring_path: Path, label: str) -> None:
    before = ring_path.read_bytes()
    pem = f"-----BEGIN {label}-----\nMC4CAQAwBQYDK2VwBCIEIA\n-----END {label}-----\n"
    result = with_key("keys", "import", "-", "--id", "k", stdin=pem.encode())
    assert (result.code, result.out) == (3, "")
    assert "this is a private key" in result.err
    assert "MC4CAQ" not in result.err
    assert ring_path.read_bytes() == before


def test_no_private_half_is_exported(with_key: Run, home: Path) -> None:
    [path] = (home / "keys" / "private").iterdir()
    seed = json.loads(path.read_bytes())["seed_b64"]
    shown = [with_key("keys", "export", "--format", form).out for form in ("json", "pem", "ssh")]
    shown.append(with_key("keys", "export", "--ring").out)
    assert not [text for text in shown if seed in text or base64.b64decode(seed).hex() in text]


@pytest.mark.parametrize("content", [b"", b"hello", b"{}", b"ssh-rsa AAAA me", b"\xff\xfe"])
def test_what_is_no_public_key_is_3_and_changes_nothing(with_key: Run, ring_path: Path, content: bytes) -> None:
    before = ring_path.read_bytes()
    result = with_key("keys", "import", "-", "--id", "k", stdin=content)
    assert (result.code, result.out) == (3, "")
    assert ring_path.read_bytes() == before


def test_key_that_is_known_already_is_4(with_key: Run) -> None:
    exported = with_key("keys", "export").out.encode()
    assert with_key("keys", "import", "-", stdin=exported).code == 4
    assert with_key("keys", "import", "-", "--id", "another", stdin=exported).code == 4


def test_key_file_that_is_not_there_is_5(with_key: Run, tmp_path: Path) -> None:
    assert with_key("keys", "import", tmp_path / "none.pem").code == 5


def test_imported_recovery_key_counts(with_key: Run, elsewhere: Run, tmp_path: Path) -> None:
    exported = elsewhere("keys", "export").out.encode()
    assert with_key("keys", "import", "-", "--use", "recovery", stdin=exported).code == 0
    uri = f"file:{tmp_path / 'elsewhere' / 'keys' / 'private' / 'elsewhere-v1-2026-01.key'}"
    assert with_key("keys", "rotate", "--unencrypted", "--reason", "lost", "--recovery", uri).code == 0


# --- check ------------------------------------------------------------------------------------------------------


def test_ring_in_order_is_told_on_standard_error(with_key: Run) -> None:
    with_key("keys", "rotate", "--unencrypted")
    result = with_key("keys", "check")
    assert (result.code, result.out) == (0, "")
    assert "2 keys, 1 statements: all in order" in result.err


def test_each_problem_is_a_line(with_key: Run, home: Path) -> None:
    (home / "keys" / "private" / "local-v1-2026-01.key").chmod(0o644)
    (home / "keys" / "private" / "broken.key").touch(0o600)
    assert with_key("keys", "check").code == 1
    assert len(with_key("keys", "check").out.splitlines()) == 2
    assert all(set(line) == {"problem"} for line in with_key("keys", "check", "--json").lines)


def test_ring_that_was_pinned_later_is_a_problem(with_key: Run, pinned: Path, ring_path: Path) -> None:
    """Someone gives us an old ring."""
    old = ring_path.read_bytes()
    with_key("keys", "rotate", "--unencrypted")
    pinned.write_text(with_key("keys", "export", "--ring").out)
    ring_path.write_bytes(old)
    result = with_key("keys", "check", "--pin", pinned)
    assert result.code == 1
    assert "from the pinned ring: statement 0" in result.out


@pytest.mark.parametrize("command", [("keys", "check"), ("verify", "-")])
@pytest.mark.parametrize(("content", "code"), [("{", 3), ("{}", 3), (None, 5)])
def test_pinned_ring_that_cannot_be_read_is_3_or_5(
    with_key: Run, tmp_path: Path, command: tuple[str, ...], content: str | None, code: int
) -> None:
    if content is not None:
        (tmp_path / "pin.json").write_text(content)
    result = with_key(*command, "--pin", tmp_path / "pin.json", stdin=make_record().to_json())
    assert (result.code, result.out) == (code, "")


# --- verify --pin -----------------------------------------------------------------------------------------------


def test_record_under_the_newest_key_verifies_for_who_pinned_the_oldest(
    with_key: Run, pinned: Path, ring_path: Path, issue: Callable[[int], bytes]
) -> None:
    with_key("keys", "rotate", "--unencrypted")
    with_key("keys", "rotate", "--unencrypted")
    record = issue(1)
    assert with_key("verify", "-", "--keyring", pinned, stdin=record).code == 1
    assert with_key("verify", "-", "--keyring", ring_path, "--pin", pinned, stdin=record).code == 0


def test_key_that_no_statement_leads_to_is_not_known(with_key: Run, pinned: Path, tmp_path: Path) -> None:
    (tmp_path / "theirs.json").write_bytes(make_keyring().to_json())
    record = make_record().to_json()
    assert with_key("verify", "-", "--keyring", tmp_path / "theirs.json", stdin=record).code == 0
    result = with_key("verify", "--json", "-", "--keyring", tmp_path / "theirs.json", "--pin", pinned, stdin=record)
    assert result.code == 1
    assert {check["name"] for check in result.lines[0]["checks"] if check["status"] == "failed"} == {"key_known"}


def test_chain_that_is_broken_ends_the_command_with_the_link_at_fault(
    with_key: Run, pinned: Path, ring_path: Path, issue: Callable[[int], bytes]
) -> None:
    record = issue(1)
    with_key("keys", "rotate", "--unencrypted")
    with_key("keys", "rotate", "--unencrypted")
    value = json.loads(ring_path.read_bytes())
    ring_path.write_text(json.dumps({**value, "statements": value["statements"][1:]}))
    result = with_key("verify", "--json", "-", "--pin", pinned, stdin=record)
    assert result.code == 1
    assert [(line["error"]["code"], line["error"]["field"]) for line in result.lines] == [
        ("broken_chain", "statements[0]")
    ]


def test_registrys_records_verify_beside_a_pinned_ring(with_key: Run, pinned: Path, registry: Path) -> None:
    record = registry / "seeds" / "2403.07648v2.record.json"
    assert with_key("verify", record, "--pin", pinned).code == 0


def test_ring_that_is_named_and_not_there_is_5_beside_a_pinned_one(
    with_key: Run, pinned: Path, issue: Callable[[int], bytes], tmp_path: Path
) -> None:
    record = issue(1)
    result = with_key("verify", "-", "--keyring", tmp_path / "none.json", "--pin", pinned, stdin=record)
    assert (result.code, result.out) == (5, "")


# --- secrets ----------------------------------------------------------------------------------------------------


def test_no_secret_shows_in_a_rotation(run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every command that opens a key, once going well and once badly."""
    seeds = [bytes([n]) * 32 for n in range(1, 6)]
    remaining = iter(seeds)
    monkeypatch.setattr("pith_builder.signers.key_file.new_seed", lambda: next(remaining))
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    results = [
        run("keys", "generate"),
        run("keys", "generate", "--recovery"),
        run("keys", "rotate"),
        run("keys", "revoke", "local-v1-2026-01", "--reason", "lost"),
        run("keys", "rotate", "--reason", "compromised"),
        run("keys", "check"),
    ]
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE + "!")
    results += [run("keys", "rotate"), run("keys", "rotate", "--reason", "lost")]
    assert [result.code for result in results] == [0, 0, 0, 0, 0, 0, 4, 4]
    shown = "".join(result.out + result.err for result in results)
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in (PASSPHRASE, *(text for seed in seeds for text in (seed.hex(), base64.b64encode(seed).decode()))):
        assert secret not in shown
        assert secret.encode() not in kept
