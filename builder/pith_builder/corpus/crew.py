"""The processes that sign: each takes the key from its own source, and gives what came of a chunk.

Chunks go out ahead and come back in their order. A worker that is killed takes nothing along: the chunks that were out
are given out again. Workers end with their parent, however it ends.
"""

from __future__ import annotations

import contextlib
import gc
import itertools
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Lock

import msgspec

from pith_builder.corpus.snapshot import Chunk
from pith_builder.corpus.work import Done, Shape, work
from pith_builder.errors import KeyUnfit, KeyUnusable, StorageFailed
from pith_builder.published import Profile
from pith_builder.signers import Deferred
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint

_AHEAD = 3  # chunks given out for each worker
_DEATHS_IN_A_ROW = 3


class WorkersDied(StorageFailed):
    """Workers ended again and again before they had done anything: killed, or out of memory."""

    code = "workers_died"


class Plan(msgspec.Struct, frozen=True):
    """What every worker is told: where the key is, the profile, what an item is, and the name of the input."""

    keys: KeySource
    key_fingerprint: str
    profile: Profile
    shape: Shape
    name: str


class Crew:
    """`count` workers. `passphrases` are those that the parent was given, by key id; they go through a pipe."""

    def __init__(self, plan: Plan, count: int, passphrases: dict[str, bytes]) -> None:
        self._plan, self.count, self._passphrases = plan, count, passphrases
        self._pool: ProcessPoolExecutor | None = None

    def results(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        """What comes of the chunks, in their order. Raises KeyUnusable, WorkersDied, and what reading raises."""
        taken: deque[Chunk] = deque()
        out: deque[Future[Done]] = deque()
        deaths = 0
        while True:
            taken.extend(itertools.islice(chunks, _AHEAD * self.count - len(taken)))
            if not taken:
                return
            try:
                pool = self._running()
                out.extend(pool.submit(_work, chunk) for chunk in itertools.islice(taken, len(out), None))
                done = out[0].result()
            except BrokenProcessPool:
                out.clear()
                self.stop()
                deaths += 1
                if deaths == _DEATHS_IN_A_ROW:
                    raise WorkersDied(
                        "the workers were killed several times in a row",
                        hint="look at the machine's memory; the same command goes on, with fewer --workers",
                    ) from None
                continue
            deaths = 0
            out.popleft()
            yield taken.popleft(), done

    def process_ids(self) -> list[int]:
        """The workers that run now."""
        return [] if self._pool is None else list(self._pool._processes or ())

    def stop(self) -> None:
        """End the workers; what they are at is lost."""
        if self._pool is not None:
            processes = list((self._pool._processes or {}).values())
            self._pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.kill()
            for process in processes:
                process.join()
            self._pool = None

    def _running(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            receiving, sending = context.Pipe(duplex=False)
            self._pool = ProcessPoolExecutor(self.count, context, _begin, (self._plan, receiving, context.Lock()))
            with _interrupts_ignored():  # which the workers inherit: only the parent is to be told
                for future in [self._pool.submit(_nothing) for _ in range(self.count)]:
                    sending.send(self._passphrases)
                    future.result()
            receiving.close()
            sending.close()
        return self._pool


@contextlib.contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


# --- in a worker ------------------------------------------------------------------------------------------------


class _Worker:
    """What a worker has: its plan and the signer, or why there is none."""

    def __init__(self, plan: Plan, passphrases: dict[str, bytes]) -> None:
        self._plan = plan
        self._signer: Deferred | KeyUnusable
        try:
            self._signer = plan.keys.signer(passphrases.__getitem__, _now)
            if fingerprint(self._signer.public_key) != plan.key_fingerprint:
                raise KeyUnfit("the ring has another active key now", hint="run the command again")
            self._signer.opened()
        except KeyUnusable as error:
            self._signer = error

    def work(self, chunk: Chunk) -> Done:
        """Do a chunk. Raises KeyUnusable."""
        if isinstance(self._signer, KeyUnusable):
            raise self._signer
        self._signer.confirm()
        plan = self._plan
        return work(chunk, self._signer.opened(), plan.profile, _now, plan.shape, plan.name)


_worker: _Worker | None = None


def _begin(plan: Plan, passphrases: Connection, one_at_a_time: Lock) -> None:
    """Make this process a worker. Keys are unlocked one after another, since that takes memory."""
    global _worker  # noqa: PLW0603  # a process is one worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()  # rows hold no cycles: looking for some among many new objects would take a tenth of the time
    gc.set_threshold(200_000)
    with one_at_a_time:
        _worker = _Worker(plan, passphrases.recv())


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _nothing() -> None:
    pass


def _work(chunk: Chunk) -> Done:
    assert _worker is not None  # noqa: S101  # _begin has run
    return _worker.work(chunk)


def _now() -> datetime:
    return datetime.now(UTC)
