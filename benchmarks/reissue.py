"""Speed of reissuing a store with durable commits, as ratios to raw libsodium in the same run.

The records of a store are reissued twice: with their receipts verified, and trusting a check of the whole store. The
batches, each one durable transaction, take turns with as many raw operations; what is printed are medians of the
batches. A ratio to raw of 0.5 means twice the time of the raw operations.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import nacl.bindings

sys.path.insert(0, str(Path(__file__).parent))
import stored

from pith_builder import Profile
from pith_builder.signing import SeedSigner
from pith_builder.store import Store
from pith_builder.store.database import writing
from pith_builder.store.reissue import BATCH, Progress, Reissue
from pith_builder.store.schema import checks, receipts
from pith_builder.testing import make_signer

#: Wall time and CPU time of one record, in µs.
Times = tuple[float, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--folder", help="where the store is made; a temporary folder without it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        store = stored.filled(Path(folder) / "pith.db", options.records)
        signers = [make_signer(n) for n in (1, 2, 3)]
        print(f"{options.records} stored records, batches of {BATCH}, medians of the batches")
        print(f"{'':28}{'µs, wall':>10}{'µs, CPU':>10}{'to raw, wall':>14}{'to raw, CPU':>13}")
        report("reissue", "raw verify + raw sign", measure(steps(store, signers[:2]), verify_and_sign(signers[0])))
        note_a_check(store, options.records)
        report(
            "reissue, trusting a check", "raw sign", measure(steps(store, signers, is_trusting=True), sign(signers[0]))
        )


def steps(store: Store, signers: list[SeedSigner], *, is_trusting: bool = False) -> Iterator[Progress]:
    """A run over all records, after a rotation to the last of these keys."""
    ring = stored.ring_after_rotations(*signers)
    clock = lambda: datetime.now(UTC)  # noqa: E731
    return Reissue(store, ring, signers[-1], Profile(), clock, trust_last_check=is_trusting).run_all()


def note_a_check(store: Store, count: int) -> None:
    """Note that the whole store was checked, as its check does."""
    with writing(store.engine) as connection:
        last = connection.execute(receipts.select().order_by(receipts.c.id.desc()).limit(1)).one().id
        row = {"checked_at": "2026-11-30T12:00:00.000000Z", "last_receipt_id": last, "records": count, "failed": 0}
        connection.execute(checks.insert().values(row))


def verify_and_sign(signer: SeedSigner) -> Callable[[], object]:
    message, secret, public = b"\x01" * 32, signer._secret_key, signer.public_key
    signed = nacl.bindings.crypto_sign(message, secret)

    def both() -> None:
        nacl.bindings.crypto_sign_open(signed, public)
        nacl.bindings.crypto_sign(message, secret)

    return both


def sign(signer: SeedSigner) -> Callable[[], object]:
    message, secret = b"\x01" * 32, signer._secret_key
    return lambda: nacl.bindings.crypto_sign(message, secret)


def measure(batches: Iterator[Progress], raw: Callable[[], object]) -> tuple[Times, Times]:
    """Median times of one record, of the batches and of the raw operation, which take turns."""
    of_batches: list[Times] = []
    of_raw: list[Times] = []
    done = 0
    while True:
        begin = time.perf_counter_ns(), time.process_time_ns()
        progress = next(batches, None)
        if progress is None:
            break
        of_batches.append(since(begin, progress.reissued - done))
        done = progress.reissued
        begin = time.perf_counter_ns(), time.process_time_ns()
        for _ in range(BATCH):
            raw()
        of_raw.append(since(begin, BATCH))
    return medians(of_batches), medians(of_raw)


def since(begin: tuple[int, int], count: int) -> Times:
    wall, cpu = time.perf_counter_ns() - begin[0], time.process_time_ns() - begin[1]
    return wall / 1000 / count, cpu / 1000 / count


def medians(times: list[Times]) -> Times:
    wall, cpu = zip(*times, strict=True)
    return statistics.median(wall), statistics.median(cpu)


def report(name: str, raw_name: str, times: tuple[Times, Times]) -> None:
    (wall, cpu), (raw_wall, raw_cpu) = times
    print(f"{raw_name:28}{raw_wall:10.1f}{raw_cpu:10.1f}")
    print(f"{name:28}{wall:10.1f}{cpu:10.1f}{raw_wall / wall:14.2f}{raw_cpu / cpu:13.2f}")


if __name__ == "__main__":
    main()
