"""The processes that sign: each takes the key from its own source, and gives what came of a chunk.

Chunks go out ahead and come back in their order. A worker that is killed takes nothing along: another one takes its
place, and its chunk. Workers end with their parent, however it ends.

Every worker has a pipe of its own, whose other end nobody else holds, and so its death is seen even in the middle of a
message. (A pool of the standard library has one pipe for all results, and waits for ever for the rest of a message.)
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import pickle
import signal
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from queue import SimpleQueue

import msgspec

from pith_builder.corpus.processes import WorkerLost, started
from pith_builder.corpus.snapshot import CHUNK, Chunk
from pith_builder.corpus.work import Done, Shape, work
from pith_builder.errors import KeyUnfit, PithError
from pith_builder.published import Profile
from pith_builder.signers import Deferred
from pith_builder.signers.active import KeySource
from pith_builder.signing import fingerprint

_AHEAD = 3  # chunks given out for each worker, fewer where lines are long
_USUAL = CHUNK + 2**18  # bytes
_TRIES = 3  # for a chunk

_ROTATED = "a run has one key: begin anew with --restart; what is issued stays, and is not issued twice"


class Plan(msgspec.Struct, frozen=True):
    """What every worker is told: where the key is, the profile, what an item is, and the name of the input."""

    keys: KeySource
    key_fingerprint: str
    profile: Profile
    shape: Shape
    name: str


class Crew:
    """`count` workers. `passphrases` are those that the parent was given, by key id; they go through the pipes."""

    def __init__(self, plan: Plan, count: int, passphrases: dict[str, bytes]) -> None:
        self._plan, self.count, self._passphrases = plan, count, passphrases
        # Twice as many, so that one is ready for each worker while another reads its answer.
        self._threads = ThreadPoolExecutor(2 * count)
        self._workers: set[_Worker] = set()
        self._idle: SimpleQueue[_Worker | None] = SimpleQueue()  # None stands for one that is still to be started
        for _ in range(count):
            self._idle.put(None)
        self._unlocking = threading.Lock()
        self._stopped = False

    def results(self, chunks: Iterator[Chunk]) -> Iterator[tuple[Chunk, Done]]:
        """What comes of the chunks, in their order. Raises KeyUnusable, WorkerLost, and what reading raises."""
        out: deque[tuple[Chunk, Future[Done]]] = deque()
        room = _AHEAD * self.count
        while True:
            while len(out) < room and sum(len(chunk.data) for chunk, _ in out) < room * _USUAL:
                if (next_ := next(chunks, None)) is None:
                    break
                out.append((next_, self._threads.submit(self._do, next_)))
            if not out:
                return
            chunk, future = out.popleft()
            yield chunk._replace(data=b""), future.result()  # which nobody needs any more

    def process_ids(self) -> list[int]:
        """The workers that run now."""
        return [worker.process_id for worker in self._workers.copy()]

    def stop(self) -> None:
        """End the workers; what they are at is lost."""
        self._stopped = True
        for worker in self._workers.copy():
            worker.kill()
        for _ in range(2 * self.count):  # for threads that wait
            self._idle.put(None)
        self._threads.shutdown(cancel_futures=True)
        for worker in self._workers.copy():
            self._remove(worker)

    # --- in a thread ---

    def _do(self, chunk: Chunk) -> Done:
        for _ in range(_TRIES):
            worker = self._taken()
            try:
                answer = worker.answer(chunk)
            except (EOFError, OSError):  # it was killed
                self._remove(worker)
                self._idle.put(None)
                continue
            self._idle.put(worker)
            done: Done | Exception = pickle.loads(answer)  # noqa: S301  # from a process of our own
            if isinstance(done, Exception):
                raise done
            return done
        raise WorkerLost(
            f"the workers were killed several times over the rows behind line {chunk.begin.line}",
            hint="look at the machine's memory; the same command goes on, with fewer --workers",
        )

    def _taken(self) -> _Worker:
        """A worker that has nothing to do, or a new one."""
        worker = self._idle.get()
        if self._stopped:
            raise CancelledError
        if worker is not None and worker.is_alive():
            return worker
        if worker is not None:
            self._remove(worker)
        worker = _Worker(self._plan)
        self._workers.add(worker)
        with self._unlocking, contextlib.suppress(EOFError, OSError):  # killed already, as the next question will tell
            worker.unlock(self._passphrases)
        return worker

    def _remove(self, worker: _Worker) -> None:
        worker.kill()
        worker.join()
        self._workers.discard(worker)


class _Worker:
    """A process that signs, seen from the parent."""

    def __init__(self, plan: Plan) -> None:
        self._process, self._connection = started(_serve, plan)
        self.process_id = self._process.pid or 0

    def unlock(self, passphrases: dict[str, bytes]) -> None:
        """Let it open the key, and wait until it has. Raises OSError or EOFError where it has ended."""
        self._connection.send(passphrases)
        self._connection.recv()

    def answer(self, chunk: Chunk) -> bytes:
        """What comes of a chunk, pickled. Raises OSError or EOFError where the process has ended."""
        self._connection.send(chunk)
        return self._connection.recv_bytes()

    def is_alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        self._process.kill()

    def join(self) -> None:
        self._process.join()
        self._connection.close()


# --- in a worker ------------------------------------------------------------------------------------------------


def _serve(connection: Connection, plan: Plan) -> None:
    """Make this process a worker. Keys are unlocked one after another, since that takes memory."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.freeze()  # rows hold no cycles: looking for some among many new objects would take a tenth of the time
    gc.set_threshold(200_000)
    with contextlib.suppress(EOFError, OSError):  # the parent has ended
        signs = _Signs(plan, connection.recv())
        connection.send(None)
        while True:
            connection.send(signs.answer(connection.recv()))


class _Signs:
    """What does the work in a worker: its plan and the signer, or why there is none."""

    def __init__(self, plan: Plan, passphrases: dict[str, bytes]) -> None:
        self._plan = plan
        self._signer: Deferred | PithError
        try:
            self._signer = plan.keys.signer(passphrases.__getitem__, _now)
            if fingerprint(self._signer.public_key) != plan.key_fingerprint:
                raise KeyUnfit("the ring has another active key now", hint=_ROTATED)
            self._signer.opened()
        except PithError as error:
            self._signer = error

    def answer(self, chunk: Chunk) -> Done | Exception:
        """What comes of a chunk, or what is to be raised in the parent."""
        if isinstance(self._signer, PithError):
            return self._signer
        try:
            self._signer.confirm()
            plan = self._plan
            return work(chunk, self._signer.opened(), plan.profile, _now, plan.shape, plan.name)
        except KeyUnfit as error:
            return KeyUnfit(error.message, hint=_ROTATED)
        except Exception as error:
            return error


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _now() -> datetime:
    return datetime.now(UTC)
