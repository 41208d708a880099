"""Corpus runs in processes of their own, and what they leave but for the times: to be compared with each other."""

from __future__ import annotations

import base64
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import sqlalchemy as sa

from pith_builder import KeyRing
from pith_builder.corpus.checkpoint import Checkpoint
from pith_builder.corpus.into_folder import CHECKPOINT, read_checkpoint
from pith_builder.corpus.into_store import newest_run
from pith_builder.store import Store
from pith_builder.store.database import reading
from pith_builder.store.schema import current, earlier_blocks, receipts, records
from pith_builder.testing import make_keyring, make_seed, make_signer

RING: KeyRing = make_keyring(make_signer())
PITH_BUILD = (sys.executable, "-m", "pith_builder")
_SMALL = """
import os, signal, sys, time
from pith_builder.cli import main
from pith_builder.corpus import into_store, run, snapshot

def go(self, go=run.Run.go):
    for checkpoint in go(self):
        yield checkpoint
        time.sleep(float(os.environ.get("SECONDS_A_BATCH", "0")))
        if os.environ.pop("STOPS_BEHIND_A_BATCH", None):
            os.kill(os.getpid(), signal.SIGSTOP)

snapshot.CHUNK = run.CHUNK = 2**14
run.BATCH = 4
run.Run.go = go
into_store.MERGE = 2**19
sys.exit(main())
"""
#: The same with about ten rows in a chunk, four chunks in a batch, and a merge after eight batches. The environment may
#: say how long it waits behind each batch, or that it stops there once, until SIGCONT.
IN_SMALL_BATCHES = (sys.executable, "-c", _SMALL)

#: Only a clock that was read in the run gives such times: those of papers and their sources have no fraction.
_TIMES = re.compile(rb'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}(Z|\+00:00)|(?<="fetched_at":")[^"]+')

_OF_NUMBER = sa.select(records.c.suffix)
_ROWS: dict[str, sa.Select[Any]] = {
    "records": sa.select(records).order_by(records.c.suffix),
    "receipts": _OF_NUMBER.add_columns(receipts.c.receipt)
    .join(receipts, receipts.c.record_id == records.c.id)
    .order_by(records.c.suffix, receipts.c.id),
    "current": _OF_NUMBER.add_columns(current, receipts.c.receipt)
    .join(current, current.c.record_id == records.c.id)
    .join(receipts, receipts.c.id == current.c.receipt_id)
    .order_by(records.c.suffix),
    "earlier_blocks": _OF_NUMBER.add_columns(earlier_blocks)
    .join(earlier_blocks, earlier_blocks.c.record_id == records.c.id)
    .order_by(records.c.suffix, earlier_blocks.c.id),
}
_IDS = {"id", "record_id", "receipt_id"}


def of_store(url: str) -> Iterator[tuple[str, dict[str, bytes]]]:
    """The rows of all tables, in the order of the numbers; what ids connect is put together, and they are left out."""
    with reading(Store(url).engine) as connection:
        for table, query in _ROWS.items():
            for row in connection.execute(query).mappings():
                yield table, {name: timeless(_bytes(row[name])) for name in row if name not in _IDS}


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | memoryview) else str(value).encode()


def of_folder(folder: Path) -> Iterator[tuple[str, bytes]]:
    """The lines of the files in a folder; the manifest without the sums of files that have times in them."""
    for path in sorted(folder.iterdir()):
        if not path.name.startswith("."):
            data = re.sub(rb'(?<="sha256": ")[0-9a-f]+', b"", path.read_bytes())
            yield from ((path.name, timeless(line)) for line in data.splitlines())


def timeless(data: bytes) -> bytes:
    """`data` with one word in the place of every time at which a run did something."""
    return _TIMES.sub(b"TIME", data)


class Ended(NamedTuple):
    """How a process ended."""

    code: int
    out: str
    err: str


class Job:
    """A run into a store, or into a folder where no store is named, under a TEST key; its processes come and go."""

    def __init__(self, folder: Path, store: str | None, command: Sequence[str] = PITH_BUILD) -> None:
        self.home = folder
        (folder / "keys").mkdir(parents=True)
        (folder / "keys" / "keyring.json").write_bytes(RING.to_json())
        self.store, self.out, self._command = store, folder / "out", command
        self.notes = self.out if store is None else folder
        self._processes: list[subprocess.Popen[bytes]] = []
        if store is not None:
            Store(store)  # so that it can be looked at from the beginning

    def start(
        self, snapshot: Path, *arguments: str, env: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Begin, or go on; `env` is added to the environment."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PITH_")}
        environment |= {"PITH_HOME": str(self.home), "PITH_STORE": self.store or "", "PITH_OFFLINE": "1"}
        environment |= {"PITH_KEY": "env:THE_SEED", "THE_SEED": base64.b64encode(make_seed()).decode()}
        environment |= env or {}
        command = [*self._command, "corpus", "issue", str(snapshot), *arguments]
        command += ["--out", str(self.out)] if self.store is None else ["--rejects", str(self.home / "rejects.jsonl")]
        with open(self.home / "stderr", "wb") as told:
            streams: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": told}
            process = subprocess.Popen(command, env=environment, start_new_session=True, **streams | options)
        self._processes.append(process)
        return process

    @contextmanager
    def stopped(self, snapshot: Path, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
        """A process that stands still behind its first batch, a small one, while the context lasts."""
        process = self.start(snapshot, *arguments, env={"STOPS_BEHIND_A_BATCH": "1"}, **options)
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)

    def end(self, process: subprocess.Popen[bytes]) -> Ended:
        """Wait for the end."""
        out, _ = process.communicate(timeout=600)
        return Ended(process.returncode, out.decode(), (self.home / "stderr").read_text())

    def run(self, snapshot: Path, *arguments: str, **options: Any) -> Ended:
        """Go on until the end."""
        return self.end(self.start(snapshot, *arguments, **options))

    def close(self) -> None:
        """End what is still running."""
        for process in self._processes:
            process.kill()
            process.communicate()

    def checkpoint(self) -> Checkpoint | None:
        """How far the newest run is."""
        if self.store is None:
            return read_checkpoint(self.out)
        return newest_run(Store(self.store))

    def wait_for(self, process: subprocess.Popen[bytes], rows: int) -> None:
        """Wait until the checkpoint counts more than so many rows, or the process has ended."""
        while process.poll() is None and self.done() <= rows:
            time.sleep(0.005)

    def done(self) -> int:
        """How many rows the checkpoint counts."""
        checkpoint = self.checkpoint()
        return 0 if checkpoint is None else checkpoint.counts.rows

    def is_finished(self) -> bool:
        checkpoint = self.checkpoint()
        return checkpoint is not None and checkpoint.finished_at is not None

    def left(self) -> Iterator[tuple[str, Any]]:
        """What a finished run left: files, rows of the store, counts, and the names of what should be gone."""
        checkpoint = self.checkpoint()
        yield "counts", checkpoint and checkpoint.counts
        hidden = {path.name for path in self.notes.iterdir() if path.name.startswith(".")}
        yield "hidden files", hidden - {CHECKPOINT}
        if self.store is None:
            yield from of_folder(self.out)
            return
        for name in ("rejects.jsonl", "repeats.jsonl"):
            yield name, (self.notes / name).read_bytes()
        yield from of_store(self.store)


def differences(one: Job, other: Job) -> Iterator[tuple[Any, Any]]:
    """Where two runs differ in what they left."""
    return ((a, b) for a, b in itertools.zip_longest(one.left(), other.left()) if a != b)


def workers_of(parent: int) -> list[int]:
    """The processes that sign for a process, which may have ended meanwhile."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            is_child = process.joinpath("stat").read_bytes().rpartition(b")")[2].split()[1] == b"%d" % parent
            if is_child and b"spawn_main" in process.joinpath("cmdline").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found
