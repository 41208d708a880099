"""`make bench`: one process, one paper at a time, over 100 real rows of the arXiv metadata snapshot.

Each operation runs interleaved with raw libsodium and with a plain script, in at least 30 rounds; what is printed
are medians in CPU time and their ratios. A ratio to raw of 0.5 means twice the time of the raw operation.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import nacl.bindings
from nacl.signing import SigningKey

sys.path.insert(0, str(Path(__file__).parent))
import plain

from pith_builder import Issuer, KeyRing, PithNumber, canonical_record, verify
from pith_builder.documents import loads
from pith_builder.signing import encode_base64
from pith_builder.sources.rows import read_metadata
from pith_builder.testing import START, make_keyring, make_signer

ROUNDS = 40
ROWS = Path(__file__).parent.parent / "fixtures" / "registry" / "snapshot_rows.jsonl"


def compute(line: bytes) -> str:
    return str(canonical_record(read_metadata(loads(line))).number())


def main() -> None:
    lines = ROWS.read_bytes().splitlines()
    signer = make_signer()
    seed = signer._secret_key[:32]
    key = SigningKey(seed)
    message = b"\x01" * 32
    secret, public = signer._secret_key, signer.public_key
    signed_message = nacl.bindings.crypto_sign(message, secret)
    issuer = Issuer(signer, clock=lambda: datetime.now(UTC))
    ring: KeyRing = make_keyring(signer)
    records = [issuer.issue(read_metadata(loads(line))).to_json() for line in lines]
    check_that_both_agree(lines, key, signer.key_id)

    def compute_and_sign(line: bytes) -> tuple[str, str]:
        record = canonical_record(read_metadata(loads(line)))
        digest = record.digest()
        return str(PithNumber.from_digest(digest, record.year)), encode_base64(signer.sign(digest))

    operations: dict[str, tuple[Callable[[bytes], object], list[bytes]]] = {
        "raw sign": (lambda _: nacl.bindings.crypto_sign(message, secret), lines),
        "raw verify": (lambda _: nacl.bindings.crypto_sign_open(signed_message, public), lines),
        "compute": (compute, lines),
        "compute, plain": (plain.compute, lines),
        "compute+sign": (compute_and_sign, lines),
        "compute+sign, plain": (lambda line: plain.compute_and_sign(line, key), lines),
        "issue": (lambda line: issuer.issue(read_metadata(loads(line))).to_json(), lines),
        "issue, plain": (lambda line: plain.issue(line, key, signer.key_id), lines),
        "verify": (lambda data: verify(data, ring), records),
        "verify, plain": (lambda data: plain.verify(data, key.verify_key), records),
    }
    times = measure(operations)
    print(f"medians of {ROUNDS} rounds of {len(lines)} papers, CPU time")
    print(f"{'':22}{'µs':>8}{'to raw':>9}{'to plain':>10}")
    for name, microseconds in times.items():
        raw = times["raw verify" if name.startswith(("verify", "raw verify")) else "raw sign"]
        base = times.get(f"{name}, plain")
        to_plain = f"{base / microseconds:10.2f}" if base else ""
        print(f"{name:22}{microseconds:8.1f}{raw / microseconds:9.2f}{to_plain}")


def measure(operations: dict[str, tuple[Callable[[bytes], object], list[bytes]]]) -> dict[str, float]:
    """Name -> median CPU time of one item, in µs, the operations taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in operations}
    for _ in range(ROUNDS):
        for name, (operation, items) in operations.items():
            begin = time.process_time_ns()
            for item in items:
                operation(item)
            taken[name].append((time.process_time_ns() - begin) / 1000 / len(items))
    return {name: statistics.median(values) for name, values in taken.items()}


def check_that_both_agree(lines: list[bytes], key: SigningKey, key_id: str) -> None:
    """The plain script is a fair baseline only while it makes the same bytes."""
    issuer = Issuer(make_signer(), clock=lambda: START)
    for line in lines:
        row = loads(line)
        record = plain.canonical(row)
        digest = plain.digest_of(record)
        signature = encode_base64(key.sign(digest).signature)
        theirs = plain.assemble(row, record, digest, signature, key, key_id, (START, START, START))
        if issuer.issue(read_metadata(row)).to_json() != theirs or compute(line) != plain.compute(line):
            raise SystemExit(f"the plain script and the product differ on {row['id']}")


if __name__ == "__main__":
    main()
