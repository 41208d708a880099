"""kill -9 at any moment: what is in the store is whole, and a second run completes it."""

from __future__ import annotations

import random
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import KeyRing
from pith_builder.signers import ring_file

Run = Callable[..., Any]


@pytest.mark.usefixtures("at_store")
def test_kill_at_any_moment_of_issuing_leaves_no_half_record(
    with_key: Run, start: Run, registry: Path, sound_records: Callable[[], int]
) -> None:
    """The moment is a number of records that the process has told of; nothing is waited for after that."""
    chance = random.Random(2)
    seen, killed = [], 0
    for n in range(15):
        process = start("issue", "--metadata", registry / "snapshot_rows.jsonl", bufsize=0)
        for _ in range(chance.randrange(1, 6 * n + 3)):
            process.stderr.readline()
        process.send_signal(signal.SIGKILL)
        process.communicate()
        killed += process.returncode == -signal.SIGKILL
        seen.append(sound_records())
    assert killed > 10  # the last ones may be done before the signal comes
    assert seen == sorted(seen)  # no record is lost again
    assert with_key("issue", "--metadata", registry / "snapshot_rows.jsonl").code == 0
    assert sound_records() == 100


def test_kill_while_the_store_is_made_is_mended_by_the_next_run(
    with_key: Run, start: Run, home: Path, registry: Path, sound_records: Callable[[], int]
) -> None:
    """Each process is killed as soon as a further file of the store appears."""
    source = registry / "snapshot_rows.jsonl"
    for name in ("pith.db.lock", "pith.db", "pith.db-wal"):
        process = start("issue", "--metadata", source)
        while not (home / name).exists() and process.poll() is None:
            pass
        process.kill()
        process.communicate()
    assert with_key("issue", "--metadata", source).code == 0
    assert sound_records() == 100


def test_kill_while_keys_are_made_leaves_a_ring_that_can_be_read_and_no_lock(start: Run, run: Run, home: Path) -> None:
    chance = random.Random(3)
    folder = home / "keys" / "private"
    for n in range(8):
        process = start("keys", "generate", "--unencrypted")
        if chance.random() < 0.7:
            while process.poll() is None and len(list(folder.glob("*"))) <= n // 2:
                pass
        process.kill()
        process.communicate()
        listed = {key.key_id for key in ring_file.load(home / "keys" / "keyring.json").keys}
        assert listed <= {path.stem for path in folder.glob("*.key")}
    before = len(ring_file.load(home / "keys" / "keyring.json").keys)
    assert run("keys", "generate", "--unencrypted").code == 0
    assert len(KeyRing.from_json((home / "keys" / "keyring.json").read_bytes()).keys) == before + 1
