"""Issue a corpus in processes that are killed with SIGKILL at random moments, and compare with an undisturbed run.

`python benchmarks/corpus_killed.py` makes 200,000 rows, some of them damaged or repeated, and kills 100 times: in turn
a worker, after which the run must go on by itself, the process that writes, and all processes at once, after which the
same command is given again. `--store URL` names an empty PostgreSQL database; `--folder` issues into a folder. It ends
with exit code 1 and the reason where the two results differ in more than times.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from corpus_jobs import RING, Job, differences, workers_of
from pith_builder import verify
from pith_builder.store import Store
from pith_builder.testing.corpus import with_faults

FAULTY = 50  # one row after so many others
MOMENT = 0.6  # of the time to the first checkpoint: so the run moves on about as fast as there are kills
SAMPLE = 1_000  # records that are verified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", metavar="URL", help="of the run that is killed")
    parser.add_argument("--folder", action="store_true", help="into folders, not into stores")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        undisturbed, killed = Path(folder) / "undisturbed", Path(folder) / "killed"
        stores = [f"sqlite:///{undisturbed}.db", options.store or f"sqlite:///{killed}.db"]
        one, other = (
            Job(home, None if options.folder else store)
            for home, store in zip((undisturbed, killed), stores, strict=True)
        )
        snapshot = Path(folder) / "snapshot.jsonl"
        with open(snapshot, "wb") as file:
            file.writelines(row.line for row in with_faults(options.rows, every=FAULTY))
        print(f"{options.rows} rows, and a faulty one after each {FAULTY}", flush=True)
        first = undisturbed_run(one, snapshot)
        told = Killing(other, snapshot, options.kills, random.Random(options.seed), first).all()
        print(check(one, other), "after", told)


def undisturbed_run(job: Job, snapshot: Path) -> float:
    """Let a process come to its end; gives the seconds to its first checkpoint."""
    begun, process = time.monotonic(), job.start(snapshot)
    while job.done() == 0 and process.poll() is None:
        time.sleep(0.02)
    first = time.monotonic() - begun
    end(job, process)
    print(f"undisturbed: {time.monotonic() - begun:.1f} s, {first:.1f} s to the first checkpoint", flush=True)
    return first


def end(job: Job, process: subprocess.Popen[bytes]) -> None:
    """Wait for the end that a run comes to by itself, with rejects."""
    ended = job.end(process)
    if ended.code != 1 or not job.is_finished():
        raise SystemExit(f"a run ended by itself: {ended}")
    print(ended.out.strip(), flush=True)


class Killing:
    """Kills of one run, spread over it: most of them before a checkpoint is reached, some right behind one."""

    def __init__(self, job: Job, snapshot: Path, kills: int, chance: random.Random, first: float) -> None:
        self._job, self._snapshot, self._kills, self._chance, self._first = job, snapshot, kills, chance, first
        self._process = job.start(snapshot)
        self._total = snapshot.read_bytes().count(b"\n")
        self._seen = [0]
        self._killed: dict[str, int] = {}

    def all(self) -> str:
        for n, kind in zip(range(self._kills), itertools.cycle(("worker", "writer", "all")), strict=False):
            if not self._wait_for(self._total * n // self._kills):
                break
            if not self._kill(kind):
                break
            self._seen.append(self._job.done())
            print(f"kill {n + 1}, {kind}: {self._seen[-1]} rows done", flush=True)
        end(self._job, self._process)
        if self._seen != sorted(self._seen):
            raise SystemExit("what a checkpoint counted was lost again")
        moved = len(set(self._seen)) - 1
        return f"{sum(self._killed.values())} kills of a running process {self._killed}, {moved} of them after progress"

    def _wait_for(self, rows: int) -> bool:
        """Wait for so many rows, or none, and then for a random moment; whether the run goes on still."""
        while self._process.poll() is None and self._job.done() < rows:
            time.sleep(0.01)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(self._chance.random() * MOMENT * self._first)
        return self._process.returncode is None

    def _kill(self, kind: str) -> bool:
        """Kill a process, and go on where that was the one that writes; False where it has ended before."""
        victims = [self._process.pid]
        if kind == "worker":
            while not (victims := workers_of(self._process.pid)) and self._process.poll() is None:
                time.sleep(0.01)
        if not victims:
            return False
        self._killed[kind] = self._killed.get(kind, 0) + 1
        with contextlib.suppress(ProcessLookupError):
            if kind == "all":
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                os.kill(self._chance.choice(victims), signal.SIGKILL)
        if kind != "worker":
            self._process.communicate()
            if self._job.is_finished():
                raise SystemExit("the last kill came when the run had just finished; try another --seed")
            self._process = self._job.start(self._snapshot)
        return True


def check(undisturbed: Job, killed: Job) -> str:
    """Compare two runs; gives what was found, or ends with the first difference."""
    if found := next(differences(undisturbed, killed), None):
        raise SystemExit("the runs differ:\n{}\n{}".format(*found))
    told = f"{sum(1 for _ in killed.left())} rows or lines are equal but for times"
    return told if killed.store is None else f"{told}, {check_store(killed.store)} records verify"


def check_store(url: str) -> int:
    """Check a store's integrity, and verify a sample of its records."""
    if url.startswith("sqlite"):
        with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            if connection.execute("PRAGMA integrity_check").fetchall() != [("ok",)]:
                raise SystemExit("the database is damaged")
    store = Store(url)
    with store.engine.connect() as connection:
        numbers = connection.exec_driver_sql("SELECT suffix FROM records ORDER BY suffix").scalars().all()
    sample = numbers[:: max(1, len(numbers) // SAMPLE)]
    for number in sample:
        if not verify(store.get(number).record, RING).ok:
            raise SystemExit(f"{number} does not verify")
    return len(sample)


if __name__ == "__main__":
    main()
