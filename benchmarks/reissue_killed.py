"""Reissue many stored records in processes that are killed with SIGKILL at random moments, and check all of them.

`python benchmarks/reissue_killed.py` makes 100,000 records, rotates, and kills 50 times; then the run is continued
until it is done. It ends with exit code 1 and the reason where anything was lost or made twice.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).parent))
import stored

from pith_builder import PithRecord, verify
from pith_builder.receipt import Receipt
from pith_builder.store import Store
from pith_builder.store.database import reading
from pith_builder.store.store import WHOLE, stored_record
from pith_builder.testing import make_signer

OLD, NEW = make_signer(1), make_signer(2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        stored.filled(home / "pith.db", options.records)
        (home / "keys").mkdir()
        (home / "keys" / "keyring.json").write_bytes(stored.ring_after_rotations(OLD, NEW).to_json())
        print(f"{options.records} records stored", flush=True)
        told = kill(home, options.kills, random.Random(options.seed), options.records)
        finish(home)
        print(check(home, options.records), "after", told)


def start(home: Path) -> subprocess.Popen[bytes]:
    seed = base64.b64encode(hashlib.sha256(b"pith-build TEST key 2").digest()).decode()
    environment = os.environ | {"PITH_HOME": str(home), "PITH_KEY": "env:THE_SEED", "THE_SEED": seed}
    return subprocess.Popen([sys.executable, "-m", "pith_builder", "reissue"], env=environment, stdout=subprocess.PIPE)


def kill(home: Path, kills: int, chance: random.Random, count: int) -> str:
    """Kill so often: each time after a random share of what is left for that kill, and then a random moment later."""
    seen = [done(home)]
    running = 0
    for n in range(kills):
        process = start(home)
        wanted = seen[-1] + chance.randrange(max(1, 2 * (count - seen[-1]) // (kills - n + 1)))
        if chance.random() < 0.8:
            while process.poll() is None and done(home) <= wanted:
                pass
        time.sleep(chance.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        running += process.returncode == -signal.SIGKILL
        seen.append(done(home))
        print(f"kill {n + 1}: {seen[-1]} reissued", flush=True)
    if seen != sorted(seen):
        raise SystemExit("receipts were lost again")
    return f"{running} kills of a running process, {len(set(seen)) - 1} of them after progress"


def done(home: Path) -> int:
    with closing(sqlite3.connect(home / "pith.db")) as connection:
        newest = connection.execute("SELECT max(id) FROM receipts").fetchone()[0]
        return int(newest) - int(connection.execute("SELECT max(id) FROM records").fetchone()[0])


def finish(home: Path) -> None:
    process = start(home)
    out, _ = process.communicate()
    print(f"the last run: exit {process.returncode}, {out.decode().strip()}", flush=True)


def check(home: Path, count: int) -> str:
    """Every record verifies under the new key alone, with one new receipt and the old one in its history."""
    ring = stored.ring_after_rotations(NEW)
    with closing(sqlite3.connect(home / "pith.db")) as connection:
        if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
            raise SystemExit("the database is damaged")
        history: dict[int, list[Receipt]] = {}
        for record_id, receipt in connection.execute("SELECT record_id, receipt FROM receipts ORDER BY id"):
            history.setdefault(record_id, []).append(msgspec.json.decode(receipt, type=Receipt))
    issued = {record.pith_number: record for record in stored.made_up(count)}
    found: Counter[str] = Counter()
    with reading(Store(f"sqlite:///{home / 'pith.db'}").engine) as connection:
        for row in connection.execute(WHOLE).all():
            record = stored_record(row).record
            found[fault(record, issued[record.pith_number], history[row.id]) or "sound"] += 1
            if not verify(record.to_json(), ring).ok:
                found["does not verify"] += 1
    if found != {"sound": count}:
        raise SystemExit(str(dict(found)))
    return f"all {count} records verify under the new key, with their first receipt and one new one each"


def fault(record: PithRecord, issued: PithRecord, history: list[Receipt]) -> str | None:
    if len(history) != 2:
        return f"{len(history)} receipts"
    if history[0] != issued.receipt or history[1] != record.receipt:
        return "another history"
    if record.receipt.first_computed_at != issued.receipt.first_computed_at:
        return "another first_computed_at"
    if record.replace(receipt=issued.receipt, updated_at=issued.updated_at) != issued:
        return "another record"
    return None


if __name__ == "__main__":
    main()
