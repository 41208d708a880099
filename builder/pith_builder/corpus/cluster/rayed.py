"""Workers as actors of Ray Data: on the cluster at RAY_ADDRESS, or on a local one that lives as long as the run."""

from __future__ import annotations

import contextlib
import io
import logging
import os
import pickle
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Generator, Iterator
from typing import Any

import msgspec

from pith_builder.corpus.cluster.extra import missing
from pith_builder.corpus.cluster.inputs import Shard
from pith_builder.corpus.cluster.parts import Part
from pith_builder.corpus.cluster.worker import Job, Worker
from pith_builder.errors import PithError, StorageFailed, cleaned, cut

#: Where the cluster is; without it, a local one is made.
ADDRESS = "RAY_ADDRESS"

_SECONDS_TO_START, _SECONDS_TO_ANSWER = 600, 10
_LONGEST_FOLDER = 40  # Ray puts sockets below it, and the name of a socket may have no more than 107 bytes
_MEMORY_FOR_OBJECTS = 100 * 2**20  # what goes through Ray is small: where shards are, and notes on them
_QUIET = {"RAY_BACKEND_LOG_LEVEL": "fatal", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_OF_ACCESS = ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@contextlib.contextmanager
def answers(
    job: Job, shards: list[tuple[int, Shard]], workers: int | None
) -> Iterator[Iterator[tuple[int, Part | PithError]]]:
    """While it is entered, the workers are at these shards: what they answer, with the shard's number, as it comes.

    Ray begins a worker that died anew, and its shard with it. Raises StorageFailed where the cluster can't be reached
    or fails.
    """
    words = _Words()
    with contextlib.redirect_stdout(words), _cluster(workers) as cores, _quiet():
        from ray.exceptions import GetTimeoutError, RayError

        running = _answers(job, shards, min(workers or cores, len(shards)))
        try:
            yield running
        except GetTimeoutError:
            hint = "give fewer --workers, or more machines; each worker takes a core"
            raise StorageFailed("the cluster had no room for the workers", hint=hint) from None
        except RayError as error:
            hint = "the same command goes on"
            raise StorageFailed(f"the cluster failed: {_first_line(error)}", hint=hint) from None
        finally:
            words.are_heard = False  # that workers end now is no news
            running.close()


class _Words(io.TextIOBase):
    """What Ray says of workers that died: it goes to standard error, since standard output is for data."""

    are_heard = True

    def write(self, text: str) -> int:
        return sys.stderr.write(text) if self.are_heard else len(text)


def _answers(job: Job, shards: list[tuple[int, Shard]], workers: int) -> Generator[tuple[int, Part | PithError]]:
    """One block a shard and one shard a call, so that a small job keeps all workers busy too."""
    import ray.data

    rows = [{"n": n, "shard": msgspec.json.encode(shard)} for n, shard in shards]
    done = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        Worker,
        fn_constructor_args=(job,),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(size=workers),
        num_cpus=1,
    )
    done.context.enable_progress_bars = False
    done.context.print_on_execution_start = False
    done.context.wait_for_min_actors_s = _SECONDS_TO_START  # or the first of them does it all, if it isn't much
    batches: Any = done.iter_batches(batch_size=None, batch_format="pyarrow", prefetch_batches=0)
    for batch in batches:
        for row in batch.to_pylist():
            yield row["n"], pickle.loads(row["answer"])  # noqa: S301  # our own, from workers that run our code


@contextlib.contextmanager
def _cluster(workers: int | None) -> Iterator[int]:
    """The cluster, and how many cores it has; one that was not here before is left or ended. Raises StorageFailed."""
    address = os.environ.get(ADDRESS)
    access = {} if any(name in os.environ for name in _OF_ACCESS) else _access()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_environment(_QUIET | ({} if address else access | {"RAY_USAGE_STATS_ENABLED": "0"})))
        try:
            import ray
        except ImportError as error:
            raise missing(error) from None
        if not ray.is_initialized():
            options: dict[str, Any] = {"address": address}
            if not address:
                options = {
                    "address": "local",
                    "num_cpus": workers or len(os.sched_getaffinity(0)),
                    "include_dashboard": False,
                    "object_store_memory": _MEMORY_FOR_OBJECTS,
                    "_temp_dir": f"{stack.enter_context(_folder())}/ray",
                }
            stack.callback(ray.shutdown)
            try:
                _knock(address)
                with _handler_of_sigterm_kept():
                    ray.init(log_to_driver=False, logging_level=logging.CRITICAL, **options)
            except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
                where = f"the cluster at {cleaned(address)} can't be reached" if address else "no cluster can be begun"
                hint = f"{ADDRESS} is where Ray's head listens, such as 10.0.0.1:6379; without it, one is begun here"
                raise StorageFailed(f"{where}: {_first_line(error)}", hint=hint) from None
        cores: Any = ray.cluster_resources()  # type: ignore[no-untyped-call]  # as Ray has it
        yield max(1, int(cores.get("CPU", 1)))


@contextlib.contextmanager
def _handler_of_sigterm_kept() -> Iterator[None]:
    """Give a program its own way to end back, where it has one: Ray takes it away."""
    before = signal.getsignal(signal.SIGTERM)
    yield
    if callable(before) and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, before)


def _knock(address: str | None) -> None:
    """Raise OSError where nobody listens at `host:port`: Ray itself would wait for minutes."""
    host, _, port = (address or "").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), _SECONDS_TO_ANSWER).close()


def _access() -> dict[str, str]:
    """A secret for a local cluster, which keeps other users of the machine out; Ray's own goes into the user's home."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32)}


@contextlib.contextmanager
def _folder() -> Iterator[str]:
    """A folder for what a local cluster writes: its sockets, its logs. Ray opens its own, below it, to everybody."""
    below = tempfile.gettempdir()
    folder = tempfile.mkdtemp(prefix="pith-", dir=below if len(below) <= _LONGEST_FOLDER else "/tmp")  # noqa: S108
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """While it is entered, this process and those that it starts have these variables, if they have no others."""
    new = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(new)
    try:
        yield
    finally:
        for name in new:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """While it is entered, Ray Data tells nothing of how a data set goes."""
    import ray.data  # noqa: F401  # it sets the level when it is first imported

    logger = logging.getLogger("ray.data")
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return cleaned(cut(lines[0]))
