"""20,000 damaged inputs: each is read or refused with an error of the tree, and nothing else."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pith_builder import Enrichment, KeyRing, canonical_record, verify
from pith_builder.documents import loads
from pith_builder.errors import InvalidInput, Refused
from pith_builder.sources.rows import read_metadata
from pith_builder.testing import make_keyring

HOSTILE: list[Any] = [None, True, -1, 2**64, 10**400, 1.5, "", "\x00", "\ud800", "é" * 3, [], {}, [[[[]]]], "9" * 5000]


def damaged(data: bytes, rng: random.Random) -> bytes:
    """One of: cut, a flipped bit, a part doubled or taken out, bytes put in, a value replaced, deep nesting."""
    at = rng.randrange(len(data))
    match rng.randrange(8):
        case 0:
            return data[:at]
        case 1:
            return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[at : at + 40] + data[at:]
        case 3:
            return data[:at] + data[at + rng.randrange(1, 40) :]
        case 4:
            return data[:at] + rng.randbytes(4) + data[at:]
        case 5:
            return data.replace(b'":', b'":' + rng.choice([b"[" * 5000, b"NaN,", b"1e999", b"9" * 5000]), 1)
        case _:
            return replaced(data, rng)


def replaced(data: bytes, rng: random.Random) -> bytes:
    whole = json.loads(data)
    target, key = whole, rng.choice(list(whole))
    while isinstance(target[key], dict | list) and target[key] and rng.random() < 0.7:
        target = target[key]
        key = rng.choice(list(target)) if isinstance(target, dict) else rng.randrange(len(target))
    target[key] = rng.choice(HOSTILE)
    return json.dumps(whole).encode()


def computed(data: bytes) -> None:
    canonical_record(read_metadata(loads(data))).number()


def verified(data: bytes) -> None:
    report = verify(data, make_keyring())
    json.dumps([check.reason for check in report.checks])


READERS: dict[str, tuple[str, Callable[[bytes], object]]] = {
    "compute own form": ("fixtures/metadata/2403.07648v2.json", computed),
    "compute snapshot row": ("fixtures/registry/seeds/2407.14645v1.kaggle.jsonl", computed),
    "verify": ("fixtures/records/everything-1.json", verified),
    "key ring": ("keys/keyring.json", KeyRing.from_json),
    "enrichment": ("fixtures/enrichment.json", Enrichment.from_json),
}


@pytest.mark.parametrize("name", READERS)
def test_damaged_input_is_read_or_refused(name: str, root: Path) -> None:
    path, reader = READERS[name]
    data = (root / path).read_bytes()
    rng = random.Random(name)
    messages = []
    for _ in range(4000):
        try:
            reader(damaged(data, rng))
        except (InvalidInput, Refused) as error:
            messages.append(str(error))
    assert len(messages) > 1000
    assert max(map(len, messages)) < 2000


@pytest.mark.parametrize(
    ("command", "path"),
    [
        (["compute", "--json", "--metadata", "-"], "fixtures/registry/seeds/2407.14645v1.kaggle.jsonl"),
        (["verify", "--json", "-"], "fixtures/records/everything-1.json"),
    ],
    ids=["compute", "verify"],
)
def test_the_command_ends_with_0_1_or_3_and_no_traceback(
    command: list[str], path: str, root: Path, run: Callable[..., Any]
) -> None:
    data = (root / path).read_bytes()
    rng = random.Random(str(command))
    for n in range(100):
        stdin = damaged(data, rng)
        result = run(*command, stdin=stdin)
        assert result.code in (0, 1, 3), stdin
        assert all(isinstance(line, dict) for line in result.lines)
        if n % 10 == 0:
            whole = subprocess.run(
                [sys.executable, "-m", "pith_builder", *command], input=stdin, capture_output=True, check=False
            )
            assert (whole.returncode, whole.stdout.decode()) == (result.code, result.out)
            assert b"Traceback" not in whole.stderr
