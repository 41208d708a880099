"""Issue the same papers into one store from many processes at once, and tell the time of one issue before.

`python benchmarks/writers.py --store postgresql://user@host/database` does it in an empty database made for it; without
`--store` it is SQLite in a temporary folder. It ends with exit code 1 and the reason where a record or a receipt is
missing or there twice, or where a process told of an error.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import sqlalchemy as sa

from pith_builder import Issuer, PaperMetadata, Provenance, verify
from pith_builder.store import Store
from pith_builder.store.database import reading
from pith_builder.store.schema import receipts
from pith_builder.store.store import WHOLE, stored_record
from pith_builder.testing import make_keyring, make_metadata, make_signer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", metavar="URL", help="an empty database; SQLite in a temporary folder without it")
    parser.add_argument("--papers", type=int, default=1000)
    parser.add_argument("--writers", type=int, default=8)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        url = options.store or f"sqlite:///{home / 'pith.db'}"
        store = Store(url)
        if store.count():
            raise SystemExit("the store is not empty")
        wall, cpu = issue(store, options.papers)
        print(f"one issue by one process: {wall:.0f} µs, {cpu:.0f} µs of them CPU time of the process (medians)")
        took = issue_at_once(home, url, options.papers, options.writers)
        check(store, 2 * options.papers)
        print(f"{options.papers} papers by {options.writers} processes at once: {took:.1f} s, each stored once")


def made_up(count: int, month: int) -> Iterator[PaperMetadata]:
    return (make_metadata(arxiv_id=f"26{month:02}.{n:05}", title=f"Made-Up Paper {n}") for n in range(1, count + 1))


def issue(store: Store, count: int) -> tuple[float, float]:
    """Median wall time and CPU time of one issue, in µs."""
    issuer = Issuer(make_signer(), clock=lambda: datetime.now(UTC))
    walls, cpus = [], []
    for metadata in made_up(count, 1):
        wall, cpu = time.perf_counter_ns(), time.process_time_ns()
        store.issue(metadata, Provenance("benchmark"), issuer)
        walls.append((time.perf_counter_ns() - wall) / 1000)
        cpus.append((time.process_time_ns() - cpu) / 1000)
    return statistics.median(walls), statistics.median(cpus)


def issue_at_once(home: Path, url: str, count: int, writers: int) -> float:
    """Seconds that the processes took, all of them issuing the same papers."""
    (home / "keys").mkdir()
    (home / "keys" / "keyring.json").write_bytes(make_keyring().to_json())
    papers = home / "papers.jsonl"
    papers.write_bytes(b"".join(msgspec.json.encode(metadata) + b"\n" for metadata in made_up(count, 2)))
    seed = base64.b64encode(hashlib.sha256(b"pith-build TEST key 1").digest()).decode()
    environment = os.environ | {"PITH_HOME": str(home), "PITH_STORE": url, "PITH_KEY": "env:SEED", "SEED": seed}
    command = [sys.executable, "-m", "pith_builder", "issue", "--metadata", str(papers)]
    begin = time.perf_counter()
    processes = []
    for n in range(writers):
        with open(home / f"log{n}", "wb") as log:
            processes.append(subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=log))
    codes = [process.wait() for process in processes]
    took = time.perf_counter() - begin
    logs = b"".join((home / f"log{n}").read_bytes() for n in range(writers))
    told = [line.decode() for line in logs.splitlines() if b" level=info " not in line]
    if any(codes) or told:
        raise SystemExit(f"exit codes {codes}, errors {told}")
    return took


def check(store: Store, count: int) -> None:
    ring = make_keyring()
    with reading(store.engine) as connection:
        rows = connection.execute(WHOLE).all()
        made = connection.scalar(sa.select(sa.func.count()).select_from(receipts))
        sound = sum(verify(stored_record(row).record.to_json(), ring).ok for row in rows)
    if (len(rows), made, sound) != (count, count, count):
        raise SystemExit(f"{len(rows)} records, {made} receipts, {sound} of them sound; there should be {count}")


if __name__ == "__main__":
    main()
