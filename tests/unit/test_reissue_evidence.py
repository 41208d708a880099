"""Reissuing launders nothing, and damage to one row stops no run."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pith_builder import ArxivId, Issuer, KeyRing, Provenance, reissue
from pith_builder.keyring import Revocation
from pith_builder.published import DEFAULT_PROFILE
from pith_builder.store import Store
from pith_builder.store.reissue import Recompute, Refusal, Reissue
from pith_builder.store.reissue_files import FileReissue
from pith_builder.testing import START, FrozenClock, make_keyring, make_metadata, make_record, make_signer

K1, K2, K3 = (make_signer(n) for n in (1, 2, 3))
LATER = FrozenClock(START + timedelta(days=1))


def ring_with(*, compromised: bool) -> KeyRing:
    """K1 and K2 are old, K3 signs; K1 may be known as compromised."""
    first, second, third = make_keyring(K1, K2, K3).keys
    revoked = Revocation("2026-01-01T00:00:00Z", "compromised")
    old = {"state": "revoked", "revoked": revoked} if compromised else {"state": "retired"}
    return KeyRing(
        "1.0",
        [
            msgspec.structs.replace(first, **old),
            msgspec.structs.replace(second, state="retired"),
            msgspec.structs.replace(third, state="active"),
        ],
        [],
    )


def run_file(
    tmp_path: Path, record: bytes, ring: KeyRing, recompute: Recompute | None = None
) -> tuple[int, list[Refusal]]:
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(record + b"\n")
    refusals: list[Refusal] = []
    *_, last = FileReissue(
        source, target, ring, K3, DEFAULT_PROFILE, LATER, recompute=recompute, refused=refusals.append
    ).run()
    return last.reissued, refusals


@pytest.mark.parametrize("compromised", [False, True])
def test_a_file_record_that_was_reissued_before_needs_metadata_after_a_compromise(
    tmp_path: Path, compromised: bool
) -> None:
    twice = reissue(make_record(signer=K1), K2, clock=LATER)
    reissued, refusals = run_file(tmp_path, twice.to_json(), ring_with(compromised=compromised))
    assert (reissued, len(refusals)) == ((0, 1) if compromised else (1, 0))


@pytest.mark.parametrize(
    ("field", "value"), [("short_pith_number", "pith:AAAAAAAA"), ("updated_at", "1991-01-01T00:00:00.000000+00:00")]
)
def test_metadata_vouch_for_the_digest_and_nothing_else(tmp_path: Path, field: str, value: str) -> None:
    record = make_record(signer=K1)
    broken = json.dumps(json.loads(record.to_json()) | {field: value}).encode()

    def recompute(papers: list[ArxivId]) -> dict[ArxivId, bytes]:
        return dict.fromkeys(papers, record.canonical_record.digest())

    assert run_file(tmp_path, broken, ring_with(compromised=True), recompute)[0] == 0
    (tmp_path / "in.jsonl").unlink()
    for left in tmp_path.glob("out*"):
        left.unlink()
    assert run_file(tmp_path, record.to_json(), ring_with(compromised=True), recompute)[0] == 1


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE current SET updated_at = 'soon' WHERE record_id = 1",
        "UPDATE current SET receipt_id = 999 WHERE record_id = 1",
        "UPDATE records SET canonical = :damage WHERE id = 1",
    ],
)
def test_a_damaged_row_is_refused_and_the_others_go_on(
    store_url: str, sql: Callable[..., list[Any]], damage: str
) -> None:
    store = Store(store_url)
    issuer = Issuer(K1, clock=FrozenClock())
    for n in (1, 2, 3):
        store.issue(make_metadata(arxiv_id=f"2601.{n:05}"), Provenance("test"), issuer)
    sql(damage, **({"damage": b"\xff"} if ":damage" in damage else {}))
    refusals: list[Any] = []
    run = Reissue(store, ring_with(compromised=False), K3, DEFAULT_PROFILE, LATER, refused=refusals.append)
    *_, last = run.run_all()
    assert (last.reissued, last.refused, len(refusals)) == (2, 1, 1)
