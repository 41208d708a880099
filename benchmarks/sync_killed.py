"""Sync with a server that plays arXiv, in processes that are killed with SIGKILL at random moments.

`python benchmarks/sync_killed.py` serves 5,000 papers, kills 50 times, and lets the last run come to its end (`--store
URL` for PostgreSQL). It ends with exit code 1 and the reason where a record is lost, there twice or unsound, or where
more requests were repeated than processes killed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from arxiv_server import ArxivServer, ServedPaper  # noqa: E402
from pith_builder import KeyRing, canonical_record  # noqa: E402
from pith_builder.store import Store  # noqa: E402
from pith_builder.store.check import check_store  # noqa: E402
from pith_builder.testing import FrozenClock, make_metadata  # noqa: E402


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=5_000)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--page", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ArxivServer() as server:
        server.page_size = options.page
        expected = {}
        for n in range(options.records):
            metadata = make_metadata(arxiv_id=f"2601.{n + 1:05}", title=f"Made-Up Paper {n}")
            server.add(ServedPaper.of(metadata, f"2026-01-{1 + n * 28 // options.records:02}"))
            expected[metadata.arxiv_id] = str(canonical_record(metadata).number())
        home = Path(folder)
        environment = os.environ | {"PITH_HOME": folder, "PITH_OAI_URL": server.oai_url, "TMPDIR": folder}
        environment |= {"PITH_OAI_INTERVAL": "0", "PITH_STORE": options.store or ""}
        run(environment, "keys", "generate", "--unencrypted").wait()
        killed, progress = kill(environment, server, options.kills, random.Random(options.seed))
        last = run(environment, "sync", "--from", "2026-01-01")
        print(f"the last run: exit {last.wait()}", flush=True)
        repeats = sum(count - 1 for count in Counter(request.key for request in server.requests).values())
        print(check(home, options.store or f"sqlite:///{home / 'pith.db'}", expected))
        told = f"{killed} kills of a running process, {progress} of them after progress"
        print(f"{told}; {len(server.requests)} requests, {repeats} of them repeated")
        if repeats > killed:
            raise SystemExit("more requests were repeated than processes killed")


def run(environment: dict[str, str], *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "pith_builder", *arguments]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def kill(environment: dict[str, str], server: ArxivServer, kills: int, chance: random.Random) -> tuple[int, int]:
    """Kill so often, each time a random moment after a random number of further requests."""
    killed = progress = 0
    for _ in range(kills):
        before = len(server.requests)
        wanted = before + chance.randrange(4)
        process = run(environment, "sync", "--from", "2026-01-01")
        while process.poll() is None and len(server.requests) < wanted:
            time.sleep(0.001)
        time.sleep(chance.random() * 0.4)
        process.send_signal(signal.SIGKILL)
        process.wait()
        killed += process.returncode == -signal.SIGKILL
        progress += len(server.requests) > before + 1
    return killed, progress


def check(home: Path, url: str, expected: dict[str, str]) -> str:
    """Each paper has one record, its own, and the store passes its check."""
    store = Store(url)
    found = {arxiv_id: [stored.record.pith_number for stored in store.find(arxiv_id)] for arxiv_id in expected}
    if wrong := [arxiv_id for arxiv_id, number in expected.items() if found[arxiv_id] != [number]]:
        raise SystemExit(f"{len(wrong)} papers have not just their own record, the first: {wrong[0]}")
    ring = KeyRing.from_json((home / "keys" / "keyring.json").read_bytes())
    faults: list[str] = []
    for counts in check_store(store, ring, FrozenClock(), lambda number, reason: faults.append(f"{number}: {reason}")):
        checked = counts.checked
    if faults or checked != len(expected):
        raise SystemExit(f"{checked} records, {len(faults)} unsound: {faults[:1]}")
    return f"all {checked} records are there once and verify"


if __name__ == "__main__":
    main()
