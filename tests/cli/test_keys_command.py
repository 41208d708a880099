"""`pith-build keys`, and what a signing key must be like before anything is signed with it."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import pty
import re
import stat
import termios
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing, fingerprint
from pith_builder.testing import make_keyring, make_metadata, make_signer

Run = Callable[..., Any]
PASSPHRASE = "correct horse battery staple"


@pytest.fixture
def key_path(home: Path) -> Callable[[], Path]:
    """The only key file of the home."""

    def find() -> Path:
        [path] = (home / "keys" / "private").iterdir()
        return path

    return find


@pytest.fixture
def locked(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run` in a home with an encrypted key, its passphrase no longer in the environment."""
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert run("keys", "generate").code == 0
    monkeypatch.delenv("PITH_KEY_PASSPHRASE")
    return run


@pytest.fixture
def issued(papers: Run) -> Callable[[Run], Any]:
    """What issuing a paper gives."""
    source = papers(make_metadata())
    return lambda run, *arguments: run("issue", "--metadata", source, *arguments)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# --- generate ---------------------------------------------------------------------------------------------------


def test_generated_key_is_active_and_named_after_issuer_number_and_month(run: Run, home: Path) -> None:
    result = run("keys", "generate", "--unencrypted", "--issuer", "journal.example")
    assert result.code == 0
    assert re.fullmatch(r"journal\.example-v1-\d{4}-\d\d\n", result.out)
    [key] = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes()).keys
    assert (key.key_id, key.state, key.use) == (result.out.strip(), "active", "receipts")


def test_key_file_and_its_folder_are_for_their_owner_alone(run: Run, key_path: Callable[[], Path]) -> None:
    old = os.umask(0)
    try:
        run("keys", "generate", "--unencrypted")
    finally:
        os.umask(old)
    assert mode(key_path()) == 0o600
    assert mode(key_path().parent) == 0o700


def test_key_file_is_encrypted_unless_it_is_said(locked: Run, key_path: Callable[[], Path]) -> None:
    content = json.loads(key_path().read_bytes())
    assert content["kdf"]["algorithm"] == "argon2id13"
    assert len(base64.b64decode(content["seed_b64"])) == 24 + 16 + 32


def test_cost_of_unlocking_is_written_in_the_file(
    run: Run, key_path: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert run("keys", "generate", "--kdf", "moderate").code == 0
    kdf = json.loads(key_path().read_bytes())["kdf"]
    assert (kdf["operations"], kdf["memory"]) == (3, 256 * 2**20)


def test_entry_as_json_is_that_of_the_ring(run: Run, home: Path) -> None:
    [entry] = run("keys", "generate", "--unencrypted", "--json").lines
    assert [entry] == json.loads((home / "keys" / "keyring.json").read_bytes())["keys"]


def test_second_key_is_next(with_key: Run) -> None:
    result = with_key("keys", "generate", "--unencrypted", "--json")
    assert result.lines[0]["state"] == "next"
    assert "pith-build keys rotate" in result.err


def test_ids_count_up_for_each_issuer(run: Run) -> None:
    issuers = ("local", "local", "other", "local")
    ids = [run("keys", "generate", "--unencrypted", "--issuer", issuer).out for issuer in issuers]
    assert [key_id[:8] for key_id in ids] == ["local-v1", "local-v2", "other-v1", "local-v3"]


@pytest.mark.parametrize("issuer", ["", "../up", "a/b", "a b", "-x", "é", "a" * 64])
def test_issuer_that_cannot_be_a_name_makes_nothing(run: Run, home: Path, issuer: str) -> None:
    result = run("keys", "generate", "--unencrypted", f"--issuer={issuer}")
    assert (result.code, result.out) == (2, "")
    assert not home.exists()


def test_without_passphrase_and_terminal_no_key_is_made(run_process: Run, home: Path) -> None:
    result = run_process("keys", "generate")
    assert (result.code, result.out) == (4, "")
    assert "PITH_KEY_PASSPHRASE_FILE" in result.err
    assert not (home / "keys").exists()


def test_ring_elsewhere_gets_the_key(run: Run, home: Path, tmp_path: Path) -> None:
    assert run("keys", "generate", "--unencrypted", "--keyring", tmp_path / "ring.json").code == 0
    assert len(KeyRing.from_json((tmp_path / "ring.json").read_bytes()).keys) == 1
    assert not (home / "keys" / "keyring.json").exists()


@pytest.mark.parametrize("content", ["", "{}", "[]", "no JSON", '{"keyring_version":"9.9","keys":[],"statements":[]}'])
@pytest.mark.parametrize("command", [("generate", "--unencrypted"), ("list",), ("export",)])
def test_damaged_ring_is_3_and_stays_as_it_is(run: Run, home: Path, content: str, command: tuple[str, ...]) -> None:
    ring = home / "keys" / "keyring.json"
    ring.parent.mkdir(parents=True)
    ring.write_text(content)
    result = run("keys", *command)
    assert (result.code, result.out) == (3, "")
    assert str(ring) in result.err
    assert ring.read_text() == content
    assert not list((home / "keys" / "private").glob("*.key"))


# --- list, show, export -----------------------------------------------------------------------------------------


def test_list_shows_the_registrys_key_without_any_home(run: Run, home: Path) -> None:
    result = run("keys", "list", "--json")
    assert [key["use"] for key in result.lines] == ["verify"]
    assert not home.exists()


def test_list_has_the_own_key_first(with_key: Run) -> None:
    assert with_key("keys", "list").out.splitlines()[0].split()[2:] == ["active", "receipts", "0"]


def test_list_counts_the_records_whose_newest_receipt_is_under_each_key(with_key: Run, papers: Run) -> None:
    with_key("issue", "--metadata", papers(make_metadata(), make_metadata(version=2)))
    assert [key["receipts"] for key in with_key("keys", "list", "--json").lines] == [2, 0]
    assert [line.split()[-1] for line in with_key("keys", "list").out.splitlines()] == ["2", "0"]


def test_list_makes_no_store(with_key: Run, home: Path) -> None:
    with_key("keys", "list")
    assert not (home / "pith.db").exists()


@pytest.mark.parametrize("by", ["key_id", "fingerprint"])
def test_show_takes_id_and_fingerprint(with_key: Run, by: str) -> None:
    key = with_key("keys", "list", "--json").lines[0]
    assert with_key("keys", "show", key[by], "--json").lines == [
        {name: value for name, value in key.items() if name != "receipts"}
    ]


def test_show_for_a_person_has_a_line_a_field(with_key: Run) -> None:
    key = with_key("keys", "list", "--json").lines[0]
    lines = with_key("keys", "show", key["key_id"]).out.splitlines()
    assert f"fingerprint: {key['fingerprint']}" in lines
    assert "state: active" in lines


def test_key_that_no_ring_has_is_1(with_key: Run) -> None:
    result = with_key("keys", "show", "nobody-v1-2026-01")
    assert (result.code, result.out) == (1, "")
    assert "nobody-v1-2026-01" in result.err


def test_export_has_the_form_in_which_the_registry_publishes_its_key(run: Run, registry: Path) -> None:
    published = json.loads((registry / "registry-key.json").read_bytes())
    [exported] = run("keys", "export", published["key_id"]).lines
    assert {name: exported[name] for name in published if name in exported} == {
        name: published[name] for name in exported if name in published
    }
    assert exported["fingerprint_sha256_b32_first128bits"] == published["fingerprint_sha256_b32_first128bits"]


def test_export_without_id_is_the_active_key(with_key: Run) -> None:
    key = with_key("keys", "list", "--json").lines[0]
    [exported] = with_key("keys", "export").lines
    assert exported["public_key_b64"] == key["public_key_b64"]
    assert fingerprint(bytes.fromhex(exported["public_key_hex"])) == key["fingerprint"]


def test_export_without_an_active_key_is_4(run: Run) -> None:
    result = run("keys", "export")
    assert result.code == 4
    assert "pith-build keys generate" in result.err


# --- unlocking --------------------------------------------------------------------------------------------------


def test_passphrase_from_the_environment(locked: Run, issued: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert issued(locked).code == 0


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_passphrase_from_a_file(
    locked: Run, issued: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    (tmp_path / "passphrase").write_bytes((PASSPHRASE + end).encode())
    monkeypatch.setenv("PITH_KEY_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert issued(locked).code == 0


def test_empty_passphrase_file_is_4(locked: Run, issued: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "passphrase").write_bytes(b"\n")
    monkeypatch.setenv("PITH_KEY_PASSPHRASE_FILE", str(tmp_path / "passphrase"))
    assert issued(locked).code == 4


def test_wrong_passphrase_is_4(locked: Run, issued: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", "wrong")
    result = issued(locked, "--json")
    assert result.code == 4
    assert result.lines[0]["error"]["code"] == "key_locked"


def test_no_passphrase_and_no_terminal_is_4(locked: Run, issued: Run, run_process: Run) -> None:
    result = issued(run_process)
    assert (result.code, result.out) == (4, "")
    assert "no terminal" in result.err


def test_paper_that_is_stored_unchanged_needs_no_passphrase(
    locked: Run, issued: Run, run_process: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    first = issued(locked, "--json")
    monkeypatch.delenv("PITH_KEY_PASSPHRASE")
    assert issued(run_process, "--json")[:2] == (0, first.out)


def _typed(start: Run, answers: list[str], *arguments: str | Path, **options: Any) -> tuple[int, bytes, str]:
    """Run on a controlling terminal, type an answer at each prompt: exit code, standard output, what was shown.

    Each answer ends with a return, unless it ends with a control character.
    """
    controller, terminal = pty.openpty()

    def take_the_terminal() -> None:
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)

    streams = {"stdin": terminal, "stderr": terminal, "start_new_session": True, "preexec_fn": take_the_terminal}
    process = start(*arguments, **streams | options)
    os.close(terminal)
    shown, waiting = b"", iter(answers)
    while True:
        try:
            part = os.read(controller, 4096)
        except OSError:  # the other side is closed
            break
        if not part:
            break
        shown += part
        if shown.endswith(b": ") and (answer := next(waiting, None)) is not None:
            os.write(controller, answer.encode() + (b"" if answer.endswith(("\x03", "\x04")) else b"\n"))
    out, _ = process.communicate(timeout=60)
    os.close(controller)
    return process.returncode, out, shown.decode()


def test_passphrase_is_asked_for_on_a_terminal_and_never_shown(start: Run, locked: Run, papers: Run) -> None:
    code, out, shown = _typed(start, [PASSPHRASE], "issue", "--metadata", papers(make_metadata()))
    assert code == 0
    assert out.startswith(b"pith:2026:")
    assert "Passphrase of local-v1" in shown
    assert PASSPHRASE not in shown


def test_new_passphrase_is_asked_for_twice(start: Run, run: Run, issued: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    code, _, shown = _typed(start, [PASSPHRASE, PASSPHRASE], "keys", "generate")
    assert code == 0
    assert PASSPHRASE not in shown
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert issued(run).code == 0


def test_passphrase_is_asked_for_on_the_terminal_even_where_standard_input_is_a_file(
    start: Run, locked: Run, papers: Run
) -> None:
    with papers(make_metadata()).open("rb") as source:
        code, out, _ = _typed(start, [PASSPHRASE], "issue", "--metadata", "-", stdin=source)
    assert (code, out[:10]) == (0, b"pith:2026:")


def test_empty_answer_is_asked_for_again(start: Run, locked: Run, papers: Run) -> None:
    code, _, shown = _typed(start, ["", PASSPHRASE], "issue", "--metadata", papers(make_metadata()))
    assert code == 0
    assert shown.count("Passphrase of local-v1") == 2


def test_two_answers_that_differ_make_no_key(start: Run, home: Path) -> None:
    code, out, shown = _typed(start, [PASSPHRASE, PASSPHRASE + "!"], "keys", "generate")
    assert (code, out) == (4, b"")
    assert "differ" in shown
    assert not (home / "keys" / "keyring.json").exists()


@pytest.mark.parametrize(("key", "code"), [("\x03", 130), ("\x04", 4)], ids=["Ctrl-C", "Ctrl-D"])
def test_giving_up_at_the_prompt_signs_nothing(start: Run, locked: Run, papers: Run, key: str, code: int) -> None:
    found, out, shown = _typed(start, [key], "issue", "--metadata", papers(make_metadata()))
    assert (found, out) == (code, b"")
    assert "Traceback" not in shown


# --- unfit keys -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o660, 0o620, 0o610, 0o777])
def test_key_file_that_others_can_use_is_4_with_the_way_to_mend_it(
    with_key: Run, issued: Run, key_path: Callable[[], Path], bits: int
) -> None:
    key_path().chmod(bits)
    result = issued(with_key)
    assert (result.code, result.out) == (4, "")
    assert f"chmod 600 {key_path()}" in result.err


def _damages(content: bytes) -> dict[str, bytes]:
    fields = json.loads(content)
    other_seed = base64.b64encode(b"\1" * 32).decode()
    return {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "not JSON": b"\xff\xfe\0",
        "oversized": content + b" " * 70_000,
        "list": b"[]",
        "nested deeply": b"[" * 60_000,
        "field missing": json.dumps({k: v for k, v in fields.items() if k != "seed_b64"}).encode(),
        "wrong type": json.dumps(fields | {"seed_b64": 7}).encode(),
        "other seed": json.dumps(fields | {"seed_b64": other_seed}).encode(),
        "seed too short": json.dumps(fields | {"seed_b64": "AAAA"}).encode(),
        "seed spelt otherwise": json.dumps(fields | {"seed_b64": fields["seed_b64"].rstrip("=")}).encode(),
        "public key damaged": json.dumps(fields | {"public_key_b64": "!"}).encode(),
        "other version": json.dumps(fields | {"pith_key_file": "2.0"}).encode(),
        "key twice": content.replace(b'"algorithm"', b'"key_id":"x","algorithm"'),
    }


@pytest.mark.parametrize("damage", _damages(b'{"seed_b64":"x","algorithm":1}').keys())
def test_damaged_key_file_is_4(with_key: Run, issued: Run, key_path: Callable[[], Path], damage: str) -> None:
    path = key_path()
    path.write_bytes(_damages(path.read_bytes())[damage])
    result = issued(with_key, "--json")
    assert result.code == 4
    assert result.lines[0]["error"]["code"] == "key_unfit"
    assert str(path) in result.lines[0]["error"]["file"]


@pytest.mark.parametrize("what", ["folder", "fifo", "device", "nothing", "path through a file"])
def test_key_that_is_no_file_is_4(with_key: Run, issued: Run, tmp_path: Path, what: str) -> None:
    path = tmp_path / "key"
    if what == "folder":
        path.mkdir(mode=0o700)
    elif what == "fifo":
        os.mkfifo(path, 0o600)
    elif what == "device":
        path = Path("/dev/null")
    elif what == "path through a file":
        path.touch()
        path = path / "key"
    result = issued(with_key, "--key", f"file:{path}")
    assert (result.code, result.out) == (4, "")


def test_encrypted_key_file_with_a_flipped_bit_is_4(
    locked: Run, issued: Run, key_path: Callable[[], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(key_path().read_bytes())
    secret = bytearray(base64.b64decode(content["seed_b64"]))
    secret[-1] ^= 1
    key_path().write_text(json.dumps(content | {"seed_b64": base64.b64encode(secret).decode()}))
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    assert issued(locked).code == 4


def test_plain_path_is_a_key_file(with_key: Run, issued: Run, key_path: Callable[[], Path], tmp_path: Path) -> None:
    moved = key_path().rename(tmp_path / "moved.key")
    assert issued(with_key, "--key", moved).code == 0


def test_key_that_is_not_the_active_one_is_4(with_key: Run, issued: Run, home: Path) -> None:
    second = with_key("keys", "generate", "--unencrypted").out.strip()
    result = issued(with_key, "--key", f"file:{home / 'keys' / 'private' / second}.key")
    assert (result.code, result.out) == (4, "")
    assert "is not the active key" in result.err


# --- env: -------------------------------------------------------------------------------------------------------


def seed_b64(n: int) -> str:
    return base64.b64encode(hashlib.sha256(f"pith-build TEST key {n}".encode()).digest()).decode()


@pytest.fixture
def ring_path(tmp_path: Path) -> Path:
    """A ring with the first TEST key active and the second next."""
    path = tmp_path / "ring.json"
    path.write_bytes(make_keyring(make_signer(1), make_signer(2)).to_json())
    return path


def test_seed_in_the_environment_is_known_by_its_fingerprint(
    run: Run, issued: Run, ring_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SEED", seed_b64(1))
    [record] = issued(run, "--json", "--key", "env:MY_SEED", "--keyring", ring_path).lines
    assert record["receipt"]["key_id"] == "TEST-v1-2026-01"


@pytest.mark.parametrize(
    "value",
    [None, "", "not base64", seed_b64(1)[:-1], base64.b64encode(b"short").decode(), seed_b64(2), seed_b64(3)],
    ids=["unset", "empty", "not base64", "not padded", "short", "next", "unknown"],
)
def test_seed_that_is_not_the_active_keys_is_4(
    run: Run, issued: Run, ring_path: Path, monkeypatch: pytest.MonkeyPatch, value: str | None
) -> None:
    if value is not None:
        monkeypatch.setenv("MY_SEED", value)
    result = issued(run, "--key", "env:MY_SEED", "--keyring", ring_path)
    assert (result.code, result.out) == (4, "")
    assert not value or value not in result.err


# --- secrets ----------------------------------------------------------------------------------------------------


def test_seed_and_passphrase_show_nowhere(
    run: Run, issued: Run, home: Path, key_path: Callable[[], Path], papers: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command that touches the key, once going well and once badly."""
    another = ("issue", "--json", "--metadata", papers(make_metadata(version=2), name="another.jsonl"))
    seed = bytes(range(32))
    monkeypatch.setattr("pith_builder.signers.key_file.new_seed", lambda: seed)
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE)
    results = [
        run("keys", "generate", "--json"),
        run("keys", "list"),
        run("keys", "export"),
        issued(run, "--json"),
        run("keys", "generate", "--kdf", PASSPHRASE[:3]),
    ]
    monkeypatch.setenv("PITH_KEY_PASSPHRASE", PASSPHRASE + "!")
    results.append(run(*another))
    key_path().chmod(0o644)
    results.append(run(*another))
    assert [result.code for result in results] == [0, 0, 0, 0, 2, 4, 4]
    shown = "".join(result.out + result.err for result in results)
    kept = b"".join(path.read_bytes() for path in home.rglob("*") if path.is_file())
    for secret in (PASSPHRASE, seed.hex(), base64.b64encode(seed).decode(), repr(seed)):
        assert secret not in shown
    for raw in (PASSPHRASE.encode(), seed, seed.hex().encode(), base64.b64encode(seed)):
        assert raw not in kept


# --- processes --------------------------------------------------------------------------------------------------


def test_processes_that_generate_at_once_all_end_up_in_the_ring(start: Run, home: Path) -> None:
    processes = [start("keys", "generate", "--unencrypted") for _ in range(6)]
    ids = {process.communicate(timeout=60)[0].decode().strip() for process in processes}
    assert [process.returncode for process in processes] == [0] * 6
    ring = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())
    assert {key.key_id for key in ring.keys} == ids
    assert sorted(key.state for key in ring.keys) == ["active"] + ["next"] * 5
    assert {path.stem for path in (home / "keys" / "private").iterdir()} == ids
