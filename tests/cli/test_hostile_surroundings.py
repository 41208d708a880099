"""Arguments, streams and texts that are out to hurt: an exit code and a message, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import PithRecord
from pith_builder.testing import make_metadata, make_record

Run = Callable[..., Any]
COMMAND = [sys.executable, "-m", "pith_builder"]


def in_shell(line: str, home: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    script = f"{sys.executable} -m pith_builder {line}"
    settings = os.environ | {"PITH_HOME": str(home)} | environment
    return subprocess.run(["bash", "-c", script], env=settings, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("compute --json $'\\xff'", 3),
        ("resolve --json $'\\xff'", 1),
        ("verify --json $'r\\xff.json'", 5),
        ("compute --json 2601.00001 --home $'/tmp/\\xff'", 2),
        ("compute 2601.00001 --home '~nosuchuser/x'", 2),
        ("resolve 2601.00001 --store sqlite://h:abc/x.db", 5),
        ("resolve 2601.00001 --store sqlite+aiosqlite:////tmp/x.db", 5),
        ("resolve 2601.00001 --store 'sqlite:////tmp/x.db?timeout=abc'", 5),
        ("compute 2601.00001 >&-", 5),
        ("--version >&-", 5),
        ("--version >/dev/full", 5),
        ("compute --metadata - <&-", 3),
        ("verify - <&-", 3),
        ("keys generate <&-", 4),
        ("compute nonsense 2>&-", 3),
        ("compute 2601.00001 --base-url 'https://a b'", 2),
        ("compute 2601.00001 --base-url 'https://'", 2),
        ("compute 2601.00001 --base-url 'https://u:secret@h'", 2),
        ("compute 2601.00001 --base-url 'https://h/?q#f'", 2),
        ("compute 2601.00001 --home", 2),
    ],
)
def test_hostile_arguments_and_streams_end_in_order(line: str, code: int, home: Path) -> None:
    result = in_shell(line, home)
    assert result.returncode == code, result.stderr
    assert b"Traceback" not in result.stderr
    for out in result.stdout.splitlines():
        assert not line.endswith("--json") or json.loads(out)


def test_a_name_of_another_encoding_is_shown_escaped(home: Path) -> None:
    [line] = in_shell("compute --json $'\\xff'", home).stdout.splitlines()
    assert json.loads(line)["input"] == "\\udcff"


def test_a_metadata_file_of_another_encoding_is_read(home: Path, tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/m\xff.json"
    with open(name, "wb") as file:
        file.write(json.dumps({f: getattr(make_metadata(), f) for f in make_metadata().__struct_fields__}).encode())
    assert in_shell("keys generate --unencrypted", home).returncode == 0
    result = subprocess.run(
        [*COMMAND, "issue", "--metadata", name], env=os.environ | {"PITH_HOME": str(home)}, check=False
    )
    assert result.returncode == 0


@pytest.mark.parametrize("value", ["store = " + "[" * 3000 + "]" * 3000, "store = " + "9" * 5000, "store = 1"])
def test_a_hostile_settings_file_is_wrong_usage(value: str, run: Run, home: Path) -> None:
    home.mkdir()
    (home / "pith-build.toml").write_text(value)
    assert run("resolve", "2601.00001").code == 2


def forged(record: PithRecord, **fields: str) -> bytes:
    return json.dumps(json.loads(record.to_json()) | fields).encode()


@pytest.mark.parametrize(
    "record",
    [
        forged(make_record(), **{"note\n  passed       signature\x1b[2K": ""}),
        forged(make_record(), pith_number="pith:2026:AAAA\n  passed       signature\x1b[8m"),
        forged(make_record(), short_pith_number="\x1b[8m\u202e\n  passed       signature"),
    ],
    ids=["unknown field", "number", "a checked field"],
)
def test_a_record_can_not_forge_lines_of_its_report(record: bytes, run: Run) -> None:
    out = run("verify", "-", stdin=record).out
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not any(line.strip().startswith("passed       signature") for line in out.splitlines())


@pytest.mark.parametrize("where", ["--key", "PITH_KEY", "env"])
def test_a_seed_given_by_mistake_is_not_echoed(where: str, with_key: Run, papers: Run, monkeypatch: Any) -> None:
    seed = "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlYzE="
    source = papers(make_metadata())
    if where == "PITH_KEY":
        monkeypatch.setenv("PITH_KEY", seed)
    arguments = {"--key": ["--key", seed], "PITH_KEY": [], "env": ["--key", f"env:{seed}"]}[where]
    result = with_key("issue", "--metadata", source, *arguments)
    assert result.code == 4
    assert seed not in result.out + result.err


def test_all_folders_of_a_home_are_for_their_owner_alone(home: Path) -> None:
    done = subprocess.run(
        ["bash", "-c", f"umask 000; {sys.executable} -m pith_builder keys generate --unencrypted"],
        env=os.environ | {"PITH_HOME": str(home / "deep")},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0
    folders = (home, home / "deep", home / "deep" / "keys", home / "deep" / "keys" / "private")
    assert [folder.stat().st_mode & 0o777 for folder in folders] == [0o700] * 4


def test_a_full_disk_behind_the_log_stops_no_run(with_key: Run, papers: Run, home: Path) -> None:
    source = papers(*(make_metadata(arxiv_id=f"2601.{n:05}") for n in range(1, 6)))
    result = in_shell(f"issue --metadata {source} 2>/dev/full", home)
    assert (result.returncode, len(result.stdout.splitlines())) == (0, 5)


def test_metadata_from_a_pipe_can_be_read(home: Path, root: Path) -> None:
    source = root / "fixtures" / "metadata" / "2403.07648v2.json"
    result = in_shell(f"compute --metadata <(cat {source})", home)
    assert result.stdout == b"pith:2024:BMWHAH2DRYP4HKSVZEJ4AAHEZE\n"
